package fabric

import (
	"math/bits"
	"slices"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// maxHops is how many transmissions of one packet are written down.
const maxHops = 32

// Hop is one transmission of a stamped packet.
type Hop struct {
	Port   uint32     // global number
	Class  uint8      // in which it waited there
	In     units.Time // when the packet was there: admitted, or made by its host
	Start  units.Time // of its transmission
	Paused units.Time // part of Start-In during which PFC held its class
	Ahead  units.Time // part of Start-In during which other classes were on the wire, which it might have been
	Served uint8      // the latest of those classes
}

// stamp is a Hop of a packet on its way: times since the hop before it, so that 32
// bits are enough for 4 ms. What takes longer has its upper halves in a stamp of its
// own behind it, whose site is upper.
type stamp struct {
	site   uint32 // of what it waited for: see siteOf
	in     uint32 // since the start of the transmission before; of the first hop 0
	wait   uint32 // from in to the start of this one
	paused uint32
}

// upper and behind are no sites. A stamp with behind stands behind those of a hop for which
// other classes were sent ahead of the packet; in and wait are the halves of that time, paused is the class.
const (
	upper  = ^uint32(0)
	behind = upper - 1
)

// siteBits is the binary logarithm of Classes.
const siteBits = 3

// siteOf is a class of a port, by its global number, in one.
func siteOf(port uint32, c uint8) uint32 { return port<<siteBits | uint32(c&(Classes-1)) }

// blockStamps is how many stamps lie in one block: on most paths all of them.
const blockStamps = 8

// Stamps is the way of a packet that is written down: the last packet of a
// message, and the ACK that answers it; and samples of the others. Longer ways go on in further blocks, of which
// only stamps and next count.
type Stamps struct {
	progress
	next  uint32 // block with the following stamps; 0: none
	stamp [blockStamps]stamp
}

// progress is what the stamps of a packet have in common.
type progress struct {
	at    units.Time // of the latest hop: start of its transmission, or while it waits when it came
	clock units.Time // PausedClock then, while it waits
	ahead units.Time // aheadClock then, while it waits
	n     uint8      // stamps
	hops  uint8      // of them the hops
	waits bool       // the latest hop has not started yet
	// sample: the packet was picked to tell what packets of its queue pair meet, and no
	// account is made from it.
	sample bool
}

// stampAt returns stamp k of s.
func (n *Net) stampAt(s *Stamps, k uint8) *stamp {
	for ; k >= blockStamps; k -= blockStamps {
		s = n.stamps.at(s.next)
	}
	return &s.stamp[k%blockStamps]
}

// addStamp appends to s.
func (n *Net) addStamp(s *Stamps, x stamp) {
	k, last := s.n, s
	for s.n++; k > blockStamps; k -= blockStamps {
		last = n.stamps.at(last.next)
	}
	if k == blockStamps {
		last.next = n.stamps.alloc()
		last, k = n.stamps.at(last.next), 0
		last.next = 0
	}
	last.stamp[k] = x
}

// StampIn notes that pk, if it is stamped, waits at port i from now on.
func (n *Net) StampIn(now units.Time, i int, pk *packet.Packet) {
	s := n.stampsOf(pk)
	if s == nil || s.hops == maxHops {
		return
	}
	if s.hops == 0 {
		s.at = now
	}
	d := uint64(now - s.at)
	if x := (stamp{site: siteOf(n.ports[i].id, pk.Class), in: uint32(d)}); s.n < blockStamps { // nearly always
		s.stamp[s.n] = x
		s.n++
	} else {
		n.addStamp(s, x)
	}
	if d>>32 != 0 {
		n.addStamp(s, stamp{site: upper, in: uint32(d >> 32)})
	}
	s.hops++
	s.at, s.clock, s.ahead, s.waits = now, n.PausedClock(now, i, pk.Class), n.aheadClock(i, pk.Class), true
}

// StampOut notes that pk, if it is stamped, leaves port i, or its receive
// buffer, now.
func (n *Net) StampOut(now units.Time, i int, pk *packet.Packet) {
	s := n.stampsOf(pk)
	if s == nil || !s.waits {
		return
	}
	wait, paused := uint64(now-s.at), uint64(n.PausedClock(now, i, pk.Class)-s.clock)
	s.at, s.waits = now, false
	x := n.stampAt(s, s.n-1)
	if (wait|paused)>>32 != 0 || x.site == upper {
		x = n.stampUpper(s, x, uint32(wait>>32), uint32(paused>>32))
	}
	x.wait, x.paused = uint32(wait), uint32(paused)
	if d := uint64(n.aheadClock(i, pk.Class) - s.ahead); d != 0 {
		n.addStamp(s, stamp{site: behind, in: uint32(d), wait: uint32(d >> 32), paused: uint32(n.cold[i].ahead.latest[pk.Class&(Classes-1)])})
	}
}

// stampUpper puts the upper halves of the latest hop's times beside it; x is the
// latest stamp. It returns the hop's own.
func (n *Net) stampUpper(s *Stamps, x *stamp, wait, paused uint32) *stamp {
	if x.site != upper {
		n.addStamp(s, stamp{site: upper})
		x = n.stampAt(s, s.n-1)
	}
	x.wait, x.paused = wait, paused
	return n.stampAt(s, s.n-2)
}

// AppendHops appends the hops of s to a list, in their order.
func (n *Net) AppendHops(list []Hop, s *Stamps) []Hop {
	list = slices.Grow(list, int(s.hops))
	k := len(list) + int(s.hops)
	list = list[:k]
	var high stamp
	ahead, served := units.Time(0), uint8(0)
	at, waits := s.at, s.waits // at: of what follows the stamp
	for i := s.n; i > 0; i-- {
		x := n.stampAt(s, i-1)
		switch x.site {
		case upper:
			high = *x
			continue
		case behind:
			ahead, served = join(x.wait, x.in), uint8(x.paused)
			continue
		}
		h := Hop{Port: x.site >> siteBits, Class: uint8(x.site & (Classes - 1)), Start: at, Paused: join(high.paused, x.paused), Ahead: ahead, Served: served}
		h.In = at - join(high.wait, x.wait)
		if waits { // the latest
			h.Start, h.Paused, waits = units.Never, s.clock, false
		}
		at = h.In - join(high.in, x.in)
		k--
		list[k], high, ahead = h, stamp{}, 0
		served = 0
	}
	return list
}

// join is a time by its halves.
func join(high, low uint32) units.Time { return units.Time(uint64(high)<<32 | uint64(low)) }

// PausedClock is how long the gate of class c of port i has been shut up to now:
// by PFC, or for want of credits.
func (n *Net) PausedClock(now units.Time, i int, c uint8) units.Time {
	if i >= len(n.gates[c]) {
		return 0
	}
	g := &n.gates[c][i]
	if n.ports[i].shut>>c&1 != 0 {
		return g.paused + now - g.from
	}
	return g.paused
}

// LastPause returns when the gate of class c of port i was last shut and when it
// was opened, Never if it has not been.
func (n *Net) LastPause(i int, c uint8) (from, to units.Time) {
	g := n.gates.of(c, i)
	if n.ports[i].shut>>c&1 != 0 {
		return g.from, units.Never
	}
	return g.from, g.ended
}

// ControlClock is how long port i has sent frames that carry no data (ACKs,
// CNPs, PFC) up to now, the part in which class c was paused apart.
func (n *Net) ControlClock(now units.Time, i int, c uint8) units.Time {
	p, k := &n.ports[i], &n.cold[i]
	t := k.controlTime - k.controlPaused[c]
	if p.freeAt > now && p.lastControl && k.controlShut>>c&1 == 0 {
		t -= p.freeAt - now
	}
	return t
}

// turnControl keeps the control clock of class c of port i right when its gate
// shuts or opens while a frame without data is on the wire.
func (n *Net) turnControl(now units.Time, i int, c uint8, shut bool) {
	p, k := &n.ports[i], &n.cold[i]
	if !p.lastControl || p.freeAt <= now || k.controlShut>>c&1 != 0 == shut {
		return
	}
	rest := p.freeAt - now
	if !shut {
		rest = -rest
	}
	k.controlPaused[c] += rest
	k.controlShut ^= 1 << c
}

// bookControl counts a frame without data that takes time tx while the classes
// in shut are paused.
func (k *portCold) bookControl(tx units.Time, shut uint8) {
	k.controlTime += tx
	k.controlShut = shut
	for ; shut != 0; shut &= shut - 1 {
		k.controlPaused[bits.TrailingZeros8(shut)&(Classes-1)] += tx
	}
}

// Transmission returns start and end of the transmission in progress at port
// i, or of the last, and whether it carries no data.
func (n *Net) Transmission(i int) (start, end units.Time, control bool) {
	p := &n.ports[i]
	return p.startAt, p.freeAt, p.lastControl
}
