package fabric

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/units"
)

// pauseState is what one class of one port knows about its pauses: as the port
// that was stopped, and as the one that stopped its peer.
type pauseState struct {
	until    units.Time // when the pause runs out; Never without a timer
	expiry   bool       // an expiry timer is pending
	quanta   uint16     // of the latest PFC frame; 0: no timer
	received record.Act // XOFFs that began a pause
	sent     record.Act // XOFFs that began a pause of the peer
	refresh  int64
	resumes  int64
	frames   int64 // PFC frames received that name the class, whatever they say
	ended    int64 // pauses that ended: resumed or run out
	// For how long the port asked its peer to pause, up to askedAt, when it did so last.
	asked, askedAt units.Time
}

// setPause notes that class c of port i wants its peer paused or not, and
// sends a PFC frame as soon as the transmitter allows.
func (n *Net) setPause(now units.Time, i int, c uint8, xoff bool) {
	if n.cold[i].pfc.Silent>>c&1 != 0 {
		return
	}
	n.ports[i].wantPause(c, xoff)
	n.kick(now, i)
}

// wantPause notes that the port wants class c of its peer paused or not.
func (p *Port) wantPause(c uint8, xoff bool) {
	if xoff {
		p.want |= 1 << c
	} else {
		p.want &^= 1 << c
	}
	p.control = true
}

// pauseFrame returns a PFC frame that carries the state of port i now
// (IEEE 802.1Qbb: class-enable vector and one time per class), or 0 when the
// peer knows it already.
func (n *Net) pauseFrame(now units.Time, i int) uint32 {
	p := &n.ports[i]
	p.control = false
	vector := p.want ^ p.told
	if p.refresh {
		vector |= p.want
		p.refresh = false
	}
	if vector == 0 {
		return 0
	}
	for v := vector; v != 0; v &= v - 1 {
		c := bits.TrailingZeros8(v)
		s := n.pauses.use(uint8(c), i, len(n.ports))
		if p.told>>c&1 != 0 {
			s.asked += n.lasted(now, i, s)
		}
		s.askedAt = now
		switch {
		case p.want>>c&1 == 0:
			s.resumes++
		case p.told>>c&1 != 0 && !mutantCountRefresh:
			s.refresh++
		default:
			s.sent.Add(now, 0)
		}
	}
	p.told = p.want
	if pfc := &n.cold[i].pfc; p.told != 0 && pfc.Refresh > 0 && !p.armed {
		p.armed = true
		n.part.At(now+pfc.Refresh, sim.Order(pfc.Refresh, p.source+2*uint32(p.ports)), sim.Background|sim.MakeRef(evRefresh|uint32(i), 0))
	}
	n.linkFrames++
	slot := n.part.Alloc()
	*n.part.Rec(slot) = packet.Packet{
		Kind: packet.Pause, Frame: uint32(n.cold[i].wire.Control),
		Payload: uint32(vector) | uint32(vector&p.told)<<8, DMALen: uint32(n.cold[i].pfc.Quanta),
	}
	return slot
}

// lasted is how much of the pause that port i asked for last has passed.
func (n *Net) lasted(now units.Time, i int, s *pauseState) units.Time {
	d := max(0, now-s.askedAt)
	if q := n.cold[i].pfc.Quanta; q > 0 {
		d = min(d, n.pauseTime(i, q))
	}
	return d
}

// askedFor is for how long port i asked its peer to pause class c, in a run that lasted to end.
func (n *Net) askedFor(end units.Time, i int, c uint8) units.Time {
	s := n.pauses.of(c, i)
	if n.ports[i].told>>c&1 != 0 {
		s.asked += n.lasted(end, i, &s)
	}
	return s.asked
}

// refreshPauses sends pauses that are still needed again before they run out.
func (n *Net) refreshPauses(now units.Time, i int) {
	p := &n.ports[i]
	p.armed = false
	if p.want|p.told != 0 { // an XON still to be sent may yet be taken back
		p.control, p.refresh = true, true
		n.kick(now, i)
	}
}

// receivePause lets a PFC frame take effect after the response time.
func (n *Net) receivePause(now units.Time, i int, slot uint32) {
	if r := n.cold[i].pfc.Response; r > 0 {
		p := &n.ports[i]
		n.part.At(now+r, sim.Order(r, p.source+2*uint32(p.ports)), sim.MakeRef(evPause|uint32(i), slot))
		return
	}
	n.obey(now, i, slot)
}

// obey shuts and opens the gates of port i as a PFC frame says.
func (n *Net) obey(now units.Time, i int, slot uint32) {
	word, quanta := n.part.Rec(slot).Payload, uint16(n.part.Rec(slot).DMALen)
	n.linkFrames--
	n.part.Free(slot)
	p := &n.ports[i]
	if n.knownDown(i) {
		return
	}
	opened := false
	for v := uint8(word) & p.pfc; v != 0; v &= v - 1 {
		c := uint8(bits.TrailingZeros8(v))
		if s := n.pauses.use(c, i, len(n.ports)); !n.deaf(now, p) {
			s.frames++
		}
		if p.stormed>>c&1 != 0 {
			continue
		}
		if word>>8>>c&1 != 0 {
			if mutantIgnoreXOFF {
				n.pauses.use(c, i, len(n.ports)).received.Add(now, 0)
				continue
			}
			n.shut(now, i, c, quanta)
		} else if p.shut>>c&1 != 0 {
			n.open(now, i, c)
			opened = true
		}
	}
	if opened {
		n.kick(now, i)
	}
}

// shut closes the gate of class c for a number of quanta, or prolongs the pause
// that closed it.
func (n *Net) shut(now units.Time, i int, c uint8, quanta uint16) {
	p := &n.ports[i]
	s := n.pauses.use(c, i, len(n.ports))
	if p.shut>>c&1 == 0 {
		n.closeGate(now, i, c)
		s.received.Add(now, 0)
		n.trace.add(now, i, c, true)
	}
	n.awaken(now, p)
	s.until, s.quanta = units.Never, quanta
	if quanta > 0 {
		d := n.pauseTime(i, quanta)
		s.until = now + d
		if !s.expiry {
			s.expiry = true
			n.part.At(s.until, sim.Order(d, p.source+2*uint32(p.ports)), sim.Background|sim.MakeRef(evExpire|uint32(i), uint32(c)))
		}
	}
}

// pauseTime is how long q quanta last at port i: 512 bit times each (IEEE 802.3 31B.2).
func (n *Net) pauseTime(i int, q uint16) units.Time {
	return n.cold[i].nominal.TxTimeLong(units.Bytes(q) * 64)
}

// expire ends a pause whose time ran out without a refresh.
func (n *Net) expire(now units.Time, i int, c uint8) {
	p := &n.ports[i]
	s := &n.pauses[c][i]
	s.expiry = false
	if p.shut>>c&1 == 0 {
		return
	}
	if s.until > now {
		if s.until != units.Never {
			s.expiry = true
			d := n.pauseTime(i, s.quanta)
			n.part.At(s.until, sim.Order(d, p.source+2*uint32(p.ports)), sim.Background|sim.MakeRef(evExpire|uint32(i), uint32(c)))
		}
		return
	}
	n.open(now, i, c)
	n.kick(now, i)
}

// open ends a pause.
func (n *Net) open(now units.Time, i int, c uint8) {
	n.openGate(now, i, c)
	n.pauses[c][i].ended++
	n.trace.add(now, i, c, false)
}
