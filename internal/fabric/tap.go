package fabric

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// Tapped is a frame that passed a port that is looked at.
type Tapped struct {
	// At is when it began to leave, or when it was there: at a host its last bit, at a switch as it
	// decides about it (behind the pipeline; at a cut-through switch that of the header). These are
	// the times of Hop.Start and Hop.In.
	At   units.Time
	Port uint32 // global number
	Out  bool   // it leaves
	// Packet is the frame as it is on the wire there.
	Packet  packet.Packet
	Side    packet.SideCopy // counts if HasSide
	HasSide bool
}

// taps are the frames that passed ports of a partition that are looked at.
type taps struct {
	frames []Tapped
	used   int // of frames; those behind keep the memory of their sides
}

// Tap has the Net note what passes port i from now on, of which a switch then takes the slow path.
// It is called before anything happens.
func (n *Net) Tap(i int) {
	if n.taps == nil {
		n.taps = new(taps)
	}
	p := &n.ports[i]
	p.tapped = true
	if p.node < 0 {
		return
	}
	sw := &n.switches[p.node]
	for k := range sw.nports {
		n.ports[sw.base+k].plain = false
	}
	if sw.watchdog != nil { // which gives its ports back what they were
		clear(sw.watchdog.plain)
	}
}

// TakeTapped shows what passed since the call before, port by port in order of time. It is called between
// two windows; the frames are valid until the next.
func (n *Net) TakeTapped(show func(*Tapped)) {
	if n.taps == nil {
		return
	}
	for i := range n.taps.used {
		show(&n.taps.frames[i])
	}
	n.taps.used = 0
}

// tap notes a frame at a port. Flow-control packets have no place in captures: Wireshark takes them for others.
func (n *Net) tap(now units.Time, p *Port, pk *packet.Packet, out bool) {
	if pk.Kind == packet.Credit {
		return
	}
	t := n.taps
	if t == nil { // a port that stands for others is looked at as they would be
		if !out {
			n.standIn(now, p, pk)
		}
		return
	}
	if t.used == len(t.frames) {
		t.frames = append(t.frames, Tapped{})
	}
	f := &t.frames[t.used]
	t.used++
	f.At, f.Port, f.Out, f.Packet = now, p.id, out, *pk
	side := n.SideOf(pk)
	if f.HasSide = side != nil; f.HasSide {
		f.Side.Set(side)
	}
}
