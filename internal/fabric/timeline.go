package fabric

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// timeline lists what a timeline shows of the ports of a partition: when gates were shut, and the frames that ended.
type timeline struct {
	most  int // of each, of a port and class
	gates perClass[shutLog]
	drops []Dropped
	ended perClass[endedLog]
}

// shutLog is when a class of a port was shut; full: from when on there was no room, 0: there was for all.
type shutLog struct {
	seen []record.GateSlice
	full units.Time
}

// endedLog is how many frames that ended at a class of a port were listed, and likewise full.
type endedLog struct {
	listed int
	full   units.Time
}

// Dropped is a frame that ended on its way.
type Dropped struct {
	At      units.Time
	Port    uint32 // global number of the port that reports count it at
	Class   uint8
	Cause   catalog.Drop
	Answer  bool // it went from the connection's responder to its requester
	Conn    uint32
	PSN     uint32
	Payload uint32 // bytes
}

// Trace has the Net list from now on when gates are shut, and what is dropped, at most so many times of each at a
// class of a port.
func (n *Net) Trace(most int) { n.timeline = &timeline{most: most} }

// noteShut notes that a class of port i was shut from one time to another, and since when a frame waited.
func (n *Net) noteShut(i int, c uint8, from, to, held units.Time) {
	g := n.timeline.gates.use(c, i, len(n.ports))
	switch {
	case to <= from || g.full > 0:
	case len(g.seen) == n.timeline.most:
		g.full = from
	default:
		g.seen = append(g.seen, record.GateSlice{Slice: record.Slice{From: from, To: to}, Held: min(held, to)})
	}
}

// noteEnd notes that a frame ended at port i.
func (n *Net) noteEnd(now units.Time, i int, c uint8, cause catalog.Drop, pk *packet.Packet) {
	e := n.timeline.ended.use(c, i, len(n.ports))
	if e.full > 0 {
		return
	}
	if e.listed == n.timeline.most {
		e.full = now
		return
	}
	e.listed++
	p := &n.ports[i]
	port := p.id
	if cause.BySender() {
		port = n.peers[p.peerPart].ports[p.peerPort].id
	}
	n.timeline.drops = append(n.timeline.drops, Dropped{At: now, Port: port, Class: c, Cause: cause,
		Answer: pk.Flags&packet.Reverse != 0, Conn: pk.Conn, PSN: pk.PSN, Payload: pk.Payload})
}

// Shut is when class c of port i was shut, and from when on that was not listed, 0: all of it was.
func (n *Net) Shut(i int, c uint8) (seen []record.GateSlice, full units.Time) {
	g := n.timeline.gates.of(c, i)
	return g.seen, g.full
}

// Ended lists the frames that ended in the partition, and calls full for classes of ports of which not all were
// listed, with the time from when on.
func (n *Net) Ended(full func(i int, c uint8, from units.Time)) []Dropped {
	for c := range uint8(Classes) {
		for i := range n.timeline.ended[c] {
			if e := &n.timeline.ended[c][i]; e.full > 0 {
				full(i, c, e.full)
			}
		}
	}
	return n.timeline.drops
}

// HeldBytes is what all that waits in the memory of the switch of port i takes; 0 of a host's port.
func (n *Net) HeldBytes(i int) int64 {
	if p := &n.ports[i]; p.node >= 0 {
		return int64(n.switches[p.node].memory.Held())
	}
	return 0
}
