package capture

import (
	"errors"
	"fmt"
	"math"

	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Bytes of pcapng's blocks, each with most padding: a section, an interface and a packet without texts and
// data.
const (
	sectionBytes   = 28 + 4 + 2*7
	interfaceBytes = 20 + 4 + 8 + 2*7
	packetBytes    = 32
)

// recordBytes is what a frame of which n bytes are kept takes of a file.
func recordBytes(n int) int64 { return packetBytes + int64(n+3)&^3 }

// MaxTaps is the most interfaces of a capture, and MaxFrames the most packets: other programs number them
// with 32 bits.
const (
	MaxTaps   = 4096
	MaxFrames = math.MaxUint32
)

// Limit is where a capture ends.
type Limit struct {
	Frames, Bytes int64
	frame         int64 // most bytes that a frame takes of the file
}

// spare is how often what the workload sends is allowed for: frames that are sent again, notifications and
// pauses have no bound of their own. fixed is for what has nothing to do with the size of messages.
const (
	spare = 4
	fixed = 1000
)

// LimitOf is the largest that a capture may become: at each tap no more frames than its link carries until
// the run's stop time, nor than spare times those that the workload sends by there and their answers; and
// most bytes in all, unless that is 0.
func LimitOf(v *scenario.Valid, taps []Tap, snap int, most units.Bytes) Limit {
	l := Limit{frame: recordBytes(min(snap, largest(v)) + erfLen)}
	sent := messagesOf(v)
	l.Bytes = sectionBytes + 4096
	for _, t := range taps {
		l.Frames = add(l.Frames, min(byTime(v, t), byTraffic(v, t, sent)))
		l.Bytes += interfaceBytes + 2*1000
	}
	l.Bytes = add(l.Bytes, times(l.Frames, l.frame))
	if most > 0 && int64(most) < l.Bytes {
		l.Bytes = int64(most)
		l.Frames = min(l.Frames, l.Bytes/packetBytes)
	}
	return l
}

// Check says why a capture cannot be of taps up to l; nil: it can.
func (l Limit) Check(taps []Tap) error {
	switch {
	case len(taps) > MaxTaps:
		return fmt.Errorf("%d interfaces, one for each port and direction, are more than %d; "+
			"name fewer ports, or one direction of each", len(taps), MaxTaps)
	case len(taps) == 0:
		return errors.New("the network has no such port")
	case l.Frames > MaxFrames:
		return fmt.Errorf("may come to %d packets, more than the %d of a capture; name fewer ports, or limit its size",
			l.Frames, int64(MaxFrames))
	}
	return nil
}

// add is a+b, or the largest number.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// times is a*b of numbers that are not negative, likewise.
func times(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// byTime is how many frames a link carries in one direction until the run stops.
func byTime(v *scenario.Valid, t Tap) int64 {
	if v.Stop == units.Never {
		return math.MaxInt64
	}
	w := v.WireAt(t.Node, t.Local)
	least := max(min(w.Control, w.Ack, w.CNP), w.MinFrame) + w.Overhead
	per := v.Graph.LinkAt(t.Node, t.Local).RateFrom(v.Graph, sender(v.Graph, t)).TxTime(units.Bytes(least))
	return int64(v.Stop/max(per, 1)) + 1
}

// sender is the node that sends what passes a tap.
func sender(g *topology.Graph, t Tap) int {
	if t.Out {
		return t.Node
	}
	return g.Nodes[t.Node].Ports[t.Local].Peer
}

// traffic is how many packets with data are sent: in all, and by and to each endpoint.
type traffic struct {
	all int64
	of  []int64
}

// messagesOf counts what the workload sends.
func messagesOf(v *scenario.Valid) traffic {
	t := traffic{of: make([]int64, len(v.Graph.Endpoints))}
	for i := range v.Plan.Series {
		s := &v.Plan.Series[i]
		c := &v.Plan.Conns[s.Conn]
		n := times(int64(s.Count), 1+int64(s.Bytes)/payload(v, c))
		t.all = add(t.all, n)
		t.of[c.Src], t.of[c.Dst] = add(t.of[c.Src], n), add(t.of[c.Dst], n)
	}
	programs := int64(0)
	for _, p := range v.Plan.Programs {
		// Each unit of an edge is a message, and another tells that its slot is free: both have places in the order.
		messages := times(int64(min(p.Orders, math.MaxInt64)), int64(p.Iterations))
		programs = add(programs, add(int64(p.Bytes)/payload(v, &v.Plan.Conns[p.Conn]), messages))
	}
	t.all = add(t.all, programs)
	for e := range t.of {
		t.of[e] = add(t.of[e], programs)
	}
	return t
}

// payload is what a full packet of a connection carries.
func payload(v *scenario.Valid, c *workload.Conn) int64 {
	if c.Profile > 0 {
		return int64(max(v.TCP[c.Profile-1].MSS-40, 1)) // less all options
	}
	return int64(max(v.Transports[v.NICs[v.Graph.Endpoints[c.Src].Node].Transport].MTU, 1))
}

// byTraffic is how many frames the workload may have pass a tap: at a host, or next to one, those of the
// host alone.
func byTraffic(v *scenario.Valid, t Tap, sent traffic) int64 {
	n := sent.all
	at, local := t.Node, t.Local
	if v.Graph.Nodes[at].Kind == topology.Switch {
		p := v.Graph.Nodes[at].Ports[local]
		at, local = p.Peer, p.PeerPort
	}
	if v.Graph.Nodes[at].Kind == topology.Host {
		n = sent.of[v.Graph.First[at]+local]
	}
	return add(times(spare, n), fixed)
}

// largest is the longest frame that the workload may send.
func largest(v *scenario.Valid) int {
	most := 0
	for i := range v.Plan.Conns {
		most = max(most, int(payload(v, &v.Plan.Conns[i])))
	}
	return most + headers
}

// headers are more bytes than any frame has beside its payload.
const headers = 400
