package fabric

import (
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// charge asks the memory of a switch for room for a frame that came in at port i in class in
// and goes out at port e in class c, and charges it. It reports the answer, and whether the peer
// of port i is to stop now.
func (n *Net) charge(now units.Time, sw *swtch, i, e int, in, c uint8, size uint32) (v mmu.Verdict, due bool) {
	m := &sw.memory
	g := m.Group(i-sw.base, int(in))
	k := m.Queue(m.Group(i-sw.base, int(c)), e-sw.base)
	cells := m.Cells(size)
	if !g.Lossless() && k.Limited() {
		m.NoteQueue(now, k, cells)
	}
	stopped, before := g.Stopped(), int32(0)
	if sw.crowd != nil {
		n.instant(now, sw)
		before = sw.crowd.Pool(g)
	}
	v, due = m.Admit(g, k, cells)
	if sw.crowd != nil {
		if v == mmu.Admitted {
			sw.crowd.Admitted(g, before)
		} else {
			sw.crowd.Refuse()
		}
	}
	if s := m.Broken(g, k); s != "" {
		n.part.Bug("%s, port %d to %d, class %d: %s", sw.name, i-sw.base+1, e-sw.base+1, c, s)
	}
	if g.Lossless() && !stopped && v == mmu.Admitted {
		m.Note(now, g)
	}
	if n.ports[i].pfc>>in&1 == 0 {
		return v, false // there is nobody to stop
	}
	if due {
		n.cold[i].xoff[in].Add(now, m.Using(g))
	}
	return v, due
}

// release returns a frame's room when its transmission at port e starts, and tells the
// upstream port to go on when enough is free: behind this frame if it leaves by the port
// that it came in by.
func (n *Net) release(now units.Time, sw *swtch, e int, c uint8, pk *packet.Packet) {
	if sw.unaccounted>>c&1 != 0 || mutantSkipRelease && pk.PSN%64 == 63 {
		return
	}
	m := &sw.memory
	in := sw.cameIn(pk)
	g := m.Group(int(pk.In), int(in))
	k := m.Queue(m.Group(int(pk.In), int(c)), e-sw.base)
	before := int32(0)
	if sw.crowd != nil {
		n.instant(n.part.Now(), sw)
		before = sw.crowd.Pool(g)
	}
	xon := m.Release(g, k, m.Cells(pk.Frame))
	if sw.crowd != nil {
		sw.crowd.Released(g, before)
	}
	if s := m.Broken(g, k); s != "" {
		n.part.Bug("%s, port %d to %d, class %d: %s", sw.name, pk.In+1, e-sw.base+1, c, s)
	}
	if sw.waiting > 0 {
		n.admitCandidate(now, sw, e, c)
	}
	if !xon {
		return
	}
	i := sw.base + int(pk.In)
	n.ports[i].wantPause(in, false)
	if i != e {
		n.kick(now, i)
	}
}
