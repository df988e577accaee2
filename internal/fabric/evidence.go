package fabric

import (
	"math/bits"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Who fills an ingress buffer is looked at when it stops its peer: as XOFF is due, or as no
// further packet of the size that arrived would fit behind its credits. The frames that came
// in there are counted by the port that they wait for. That takes as long as frames wait, so
// it is done seldom where it is due often: of every so many times twice as many, each time so
// many were looked at (record.Seldom). What was looked at does not depend on what comes later.

// filled is what was seen of one class of an ingress port.
type filled struct {
	due  record.Seldom
	seen [][]record.Fill
}

// roomForFills is how much room a list of filled is given at once.
const roomForFills = 16

// roomForShut is the same of the times that a gate was shut.
const roomForShut = 8

// rooms is memory for what is written down at ports, which get it in small pieces.
type rooms struct {
	fills  []record.Fill
	filled []filled
	ahead  []aheadOf
	acts   []record.Ahead
	shut   []record.StretchLog

	stretches []record.Stretch
}

// take cuts a piece of n zero values off a room, which is made anew when it is used up.
func take[T any](room *[]T, n int) []T {
	const pieces = 64
	if len(*room) < n {
		*room = make([]T, n*pieces)
	}
	piece := (*room)[:n:n]
	*room = (*room)[n:]
	return piece
}

// noteFill looks at what fills the ingress buffer of class c of switch port i.
func (n *Net) noteFill(now units.Time, sw *swtch, i int, c uint8) {
	f := n.cold[i].fills[c]
	if f == nil {
		f = &take(&n.rooms.filled, 1)[0]
		n.cold[i].fills[c] = f
	}
	if f.due.Now() {
		if k := len(f.seen); k == 0 || len(f.seen[k-1]) == roomForFills {
			f.seen = append(f.seen, take(&n.rooms.fills, roomForFills)[:0])
		}
		last := &f.seen[len(f.seen)-1]
		*last = append(*last, n.fillOf(now, sw, i, c))
	}
}

// waiting is a walk along an egress queue.
type waiting struct {
	slot  uint32 // the next frame; 0: none is left
	port  uint32
	bytes int64 // found so far
}

// fillOf adds up by egress port what came in at port i in class c and waits. It goes along all
// queues at once: a frame that waits has left the caches, and as those of different queues do
// not wait for each other, they come from memory together.
func (n *Net) fillOf(now units.Time, sw *swtch, i int, c uint8) record.Fill {
	walks, on := n.walks[:0], n.walksOn[:0]
	for e := sw.base; e < sw.base+sw.nports; e++ {
		ready := n.ports[e].ready
		if !sw.credited && sw.bounce == nil {
			ready &= 1 << c
		}
		for ; ready != 0; ready &= ready - 1 {
			on = append(on, uint32(len(walks)))
			walks = append(walks, waiting{slot: n.queues[bits.TrailingZeros8(ready)][e].head, port: n.ports[e].id})
		}
	}
	n.walks, n.walksOn = walks, on
	in, lifted := uint16(i-sw.base), sw.credited || sw.bounce != nil // see cameIn
	for len(on) > 0 {
		left := on[:0]
		for _, k := range on {
			w := &walks[k]
			pk := n.part.Rec(w.slot)
			if pk.In == in && (!lifted || pk.VL() == c) {
				w.bytes += int64(pk.Frame)
			}
			if w.slot = pk.Next; w.slot != 0 {
				left = append(left, k)
			}
		}
		on = left
	}
	f := record.Fill{At: now}
	for k := 0; k < len(walks); k++ {
		w := walks[k]
		for ; k+1 < len(walks) && walks[k+1].port == w.port; k++ { // the other classes of the port
			w.bytes += walks[k+1].bytes
		}
		if w.bytes > 0 {
			f.Add(w.port, w.bytes)
		}
	}
	return f
}

// inputFull reports whether a packet that has arrived leaves no room for another like it.
func (s *creditState) inputFull(pk *packet.Packet) bool {
	return uint32(s.occupied)+Blocks(pk.Frame) > uint32(s.size)
}

// aheadOf is for how long other classes of a port were on the wire while one waited.
type aheadOf struct {
	clock  [Classes]units.Time
	latest [Classes]uint8 // the class that was, by the one that waited
	acts   []record.Ahead
}

// NoteAhead notes that a frame of class c of port i starts now, while the others of those in
// avail might have: bytes is its length.
func (n *Net) NoteAhead(now units.Time, i int, c, avail uint8, bytes uint32) {
	d := n.txTime(&n.ports[i], bytes+uint32(n.ports[i].overhead))
	a := n.cold[i].ahead
	if a == nil {
		a = &take(&n.rooms.ahead, 1)[0]
		a.acts = take(&n.rooms.acts, 2)[:0] // mostly what carries data waits for what carries none
		n.cold[i].ahead = a
	}
	for w := range uint8(Classes) {
		if w != c && avail>>w&1 != 0 {
			a.clock[w] += d
			a.latest[w] = c
			a.of(n.ports[i].id, w, c, n.sched[i].before(c, w)).Add(now, int64(d))
		}
	}
}

// of is what class c of a port did ahead of class w.
func (a *aheadOf) of(port uint32, w, c uint8, strict bool) *record.Act {
	for k := range a.acts {
		if x := &a.acts[k]; x.Class == w && x.Served == c {
			return &x.Act
		}
	}
	a.acts = append(a.acts, record.Ahead{Port: port, Class: w, Served: c, Strict: strict})
	return &a.acts[len(a.acts)-1].Act
}

// before reports whether class c goes before class w whatever waits.
func (s *Scheduler) before(c, w uint8) bool {
	return s.arb == nil && s.strict>>c&1 != 0 && (c > w || s.strict>>w&1 == 0)
}

// aheadClock is for how long up to now other classes were on the wire at port i while class
// c waited and might have been.
func (n *Net) aheadClock(i int, c uint8) units.Time {
	if a := n.cold[i].ahead; a != nil {
		return a.clock[c]
	}
	return 0
}

// Far is the global number of the port at the other end of port i's link.
func (n *Net) Far(i int) uint32 {
	p := &n.ports[i]
	return n.peers[p.peerPart].ports[p.peerPort].id
}

// Evidence appends what was written down of port i.
func (n *Net) Evidence(i int, to *record.Evidence) {
	k := &n.cold[i]
	for c := range uint8(Classes) {
		if g := n.gates.of(c, i); g.log != nil {
			to.Shut = append(to.Shut, record.Shut{Port: n.ports[i].id, Class: c, Seen: g.log.Seen})
		}
	}
	for c, f := range k.fills {
		if f != nil {
			to.Fills = append(to.Fills, record.Filled{Port: n.ports[i].id, Class: uint8(c), Times: f.due.Count(), Seen: slices.Concat(f.seen...)})
		}
	}
	if k.ahead != nil {
		to.Ahead = append(to.Ahead, k.ahead.acts...)
	}
}

// flowLosses are the drops of what one connection sent, one way.
type flowLosses []record.Lost

// noteDrop notes a drop of a connection's packet at port i in class c.
func (n *Net) noteDrop(now units.Time, i int, c uint8, cause catalog.Drop, pk *packet.Packet) {
	p := &n.ports[i]
	port := p.id
	if cause.BySender() {
		port = n.peers[p.peerPart].ports[p.peerPort].id
	}
	if n.lossesOf == nil {
		n.lossesOf = make(map[uint32]*flowLosses)
	}
	list := n.lossesOf[flowBit(pk)]
	if list == nil {
		list = new(flowLosses)
		n.lossesOf[flowBit(pk)] = list
	}
	list.at(port, c, cause, pk.Flags&packet.Reverse != 0).Add(now, int64(pk.Frame))
}

func (l *flowLosses) at(port uint32, c uint8, cause catalog.Drop, answer bool) *record.Acts {
	for k := range *l {
		if x := &(*l)[k]; x.Port == port && x.Class == c && x.Cause == cause {
			return &x.Acts
		}
	}
	*l = append(*l, record.Lost{Port: port, Class: c, Cause: cause, Answer: answer})
	return &(*l)[len(*l)-1].Acts
}

// Losses appends the drops of what connection conn sent, both ways.
func (n *Net) Losses(conn uint32, to []record.Lost) []record.Lost {
	for _, way := range [...]uint32{2 * conn, 2*conn + 1} {
		if l := n.lossesOf[way]; l != nil {
			to = append(to, *l...)
		}
	}
	return to
}
