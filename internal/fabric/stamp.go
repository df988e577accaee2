package fabric

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// maxHops is how many transmissions of one packet are written down.
const maxHops = 32

// Hop is one transmission of a stamped packet.
type Hop struct {
	Port   uint32     // global number
	In     units.Time // when the packet was there: admitted, or made by its host
	Start  units.Time // of its transmission
	Paused units.Time // part of Start-In during which PFC held its class
}

// Stamps is the way of a packet that is written down: the last packet of a
// message, and the ACK that answers it.
type Stamps struct {
	N    int
	Hops [maxHops]Hop
}

// StampIn notes that pk, if it is stamped, waits at port i from now on.
func (n *Net) StampIn(now units.Time, i int, pk *packet.Packet) {
	s := n.StampsOf(pk)
	if s == nil || s.N == maxHops {
		return
	}
	s.Hops[s.N] = Hop{Port: n.ports[i].id, In: now, Start: units.Never, Paused: n.PausedClock(now, i, pk.Class)}
	s.N++
}

// StampOut notes that pk, if it is stamped, leaves port i, or its receive
// buffer, now.
func (n *Net) StampOut(now units.Time, i int, pk *packet.Packet) {
	s := n.StampsOf(pk)
	if s == nil {
		return
	}
	if h := &s.Hops[s.N-1]; h.Start == units.Never {
		h.Start = now
		h.Paused = n.PausedClock(now, i, pk.Class) - h.Paused
	}
}

// PausedClock is how long the gate of class c of port i has been shut up to now:
// by PFC, or for want of credits.
func (n *Net) PausedClock(now units.Time, i int, c uint8) units.Time {
	g := &n.gates[c][i]
	if n.ports[i].shut>>c&1 != 0 {
		return g.paused + now - g.from
	}
	return g.paused
}

// LastPause returns when the gate of class c of port i was last shut and when it
// was opened, Never if it has not been.
func (n *Net) LastPause(i int, c uint8) (from, to units.Time) {
	g := &n.gates[c][i]
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
