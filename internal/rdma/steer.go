package rdma

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// A queue pair whose Config has a Control is steered: a congestion.RateController says what its
// requester, and its responder for READs, may send. This file is all that the transport does for it:
// it tells of what is sent and what comes back, asks, and keeps rate, window and gaps. DCQCN and
// InfiniBand's congestion control are called without it.

// GapRule says what the gap behind a packet becomes when the rate changes within it.
type GapRule uint8

// Rules.
const (
	GapPaysOff  GapRule = iota // what is left of the packet's bits is paid at the new rate
	GapFixed                   // it stays
	GapRestarts                // it is what the new rate makes of the whole packet (ns-3's HPCC)
)

// steering is what a steered queue pair has.
type steering struct {
	ctl    congestion.RateController
	needs  congestion.Needs
	rate   units.Rate
	window int64 // of the controller; 0: none
	gap    units.Time
	again  units.Time // when it wants to be asked again
	askAt  units.Time // when it is to be; Never: not before something happens
	rtt    units.Time // the latest, or the base round trip
	// The latest packet: when it started, its bits on the wire and what is left of them at paidAt,
	// in bits * ps/s, and what it carries.
	sentAt, paidAt units.Time
	wire           uint32
	owed           uint64
	tells          bool
	carries        packet.Telemetry
	heard          *packet.Telemetry // what the packet that is being received brought back
	probe          bool              // one is to be sent
	fault          string            // what the controller did that none may; "": nothing
	ackNow         bool
	// What changes lowered, by their cause; the sum is bit/s taken off.
	slowed    [congestion.NumCauses]record.Act
	echoed    record.Act // acknowledgements with Telemetry
	answered  record.Act // probes
	least     units.Rate
	sending   congestion.Sending
	feedback  congestion.Feedback
	hops      [congestion.MaxINT]congestion.HopRecord
	telemetry int64 // bytes of packets and acknowledgements sent here that were the controller's
}

// startSteering begins a steered queue pair.
func (q *QP) startSteering(s *Setup, now units.Time) {
	c := s.Config.Control
	initial := s.Initial
	if initial <= 0 || initial > s.Line {
		initial = s.Line
	}
	full := s.Config.MTU + units.Bytes(s.Config.Wire.Data+s.Config.Wire.Overhead)
	l := congestion.Link{Line: s.Line, Initial: initial, BaseRTT: s.Attrs.BaseRTT, Window: q.window, MTU: s.Config.MTU,
		Frame: full, Now: now}
	if l.BaseRTT <= 0 {
		l.BaseRTT = s.Line.TxTime(full)
	}
	x := &steering{ctl: c.Start(&l), needs: c.Settings.Needs(), rate: s.Line, rtt: l.BaseRTT,
		again: units.Never, askAt: units.Never, least: s.Line}
	q.rare().steer, q.steered = x, true
	x.take(now, x.ctl.Decide(now), s.Line)
	x.least = x.allowed(q.line)
	q.fitWindow()
}

// take puts a decision into place. It stops a controller that asks for what cannot be.
func (x *steering) take(now units.Time, d congestion.Decision, line units.Rate) {
	if d.Again <= now {
		x.fault = "wants to be asked again at " + d.Again.Human() + ", which is not later"
		d.Again = units.Never
	}
	if g, watched := x.ctl.(*congestion.Guarded); watched && x.fault == "" {
		x.fault = g.Fault()
	}
	x.rate, x.window, x.gap, x.again = min(max(d.Rate, 1), line), d.Window, d.Gap, d.Again
	x.probe = x.probe || d.Probe && x.needs.Probes
	x.ackNow = x.ackNow || d.AckNow
}

// allowed is what rate, window and gap together let out, in bit/s.
func (x *steering) allowed(line units.Rate) units.Rate {
	r := x.rate
	if x.window > 0 {
		if hi, lo := bits.Mul64(uint64(x.window), 8e12); hi < uint64(x.rtt) {
			w, _ := bits.Div64(hi, lo, uint64(x.rtt))
			r = min(r, units.Rate(min(w, uint64(line))))
		}
	}
	if x.gap > 0 && x.wire > 0 {
		r = min(r, units.Rate(float64(x.wire)*8e12/float64(x.gap)))
	}
	return max(r, 1)
}

// decide asks the controller, and counts what it took off.
func (q *QP) decide(now units.Time) {
	x := q.cold.extras.steer
	rate, window, gap := x.rate, x.window, x.gap
	d := x.ctl.Decide(now)
	was := x.allowed(q.line)
	x.take(now, d, q.line)
	if x.rate < rate || x.window < window || x.gap > gap {
		is := x.allowed(q.line)
		x.slowed[d.Cause].Add(now, int64(max(0, was-is)))
		x.least = min(x.least, is)
	}
	if x.rate != rate || x.gap != gap {
		q.regap(now, rate)
	}
	q.fitWindow()
	x.askAt = units.Never
	if q.tail != q.head || q.answering {
		x.askAt = x.again
	}
}

// fitWindow keeps the window at the controller's, or at the configured one if that is smaller.
func (q *QP) fitWindow() {
	x := q.cold.extras.steer
	if x.window == 0 && q.cfg.Window == WindowNone {
		return
	}
	w := x.window
	if q.cfg.Window != WindowNone {
		own := q.window
		if q.cfg.Window == WindowVar {
			hi, lo := bits.Mul64(uint64(own), uint64(x.rate))
			v, _ := bits.Div64(hi, lo, uint64(q.line))
			own = max(1, int64(v))
		}
		if w == 0 || own < w {
			w = own
		}
	} else if q.window == 0 {
		q.window = w
	}
	q.winNow = w
}

// regap moves the end of the gap behind the latest packet to where the present rate has it; rate is
// the one before.
func (q *QP) regap(now units.Time, rate units.Rate) {
	x := q.cold.extras.steer
	if x.wire == 0 {
		return
	}
	switch q.cfg.Gap {
	case GapPaysOff:
		if now >= q.nextAvail && x.gap == 0 {
			return
		}
		hi, paid := bits.Mul64(uint64(rate), uint64(now-x.paidAt))
		if hi > 0 || paid > x.owed {
			paid = x.owed
		}
		x.owed -= paid
		x.paidAt = now
		q.nextAvail = now + units.Time((x.owed+uint64(x.rate)-1)/uint64(x.rate))
	case GapRestarts:
		q.nextAvail = x.sentAt + gap(units.Bytes(x.wire), x.rate, q.cfg.TimeQuantum)
	}
	if x.gap > 0 {
		q.nextAvail = max(q.nextAvail, x.sentAt+x.gap)
	}
}

// paceSteered is pace for a steered queue pair.
func (q *QP) paceSteered(now units.Time, wireBytes uint32) {
	x := q.cold.extras.steer
	x.sending = congestion.Sending{Now: now, Wire: units.Bytes(wireBytes), Before: q.nxtBytes, Entropy: q.hash,
		Again: q.again || q.nxt < q.high}
	x.wire = 0 // the gap behind the packet before is over
	x.ctl.OnSend(&x.sending)
	q.decide(now)
	x.wire, x.sentAt, x.paidAt, x.owed = wireBytes, now, now, uint64(wireBytes)*8e12
	q.nextAvail = now + max(gap(units.Bytes(wireBytes), x.rate, q.cfg.TimeQuantum), x.gap)
	if x.tells = x.needs.Carries(); x.tells {
		x.carries = packet.Telemetry{INT: x.needs.INT, Start: int64(now),
			Out: int64(now + q.line.TxTime(units.Bytes(wireBytes)))}
		x.telemetry += int64(x.needs.WireBytes())
	}
}

// Steered reports whether a congestion.RateController says what the queue pair may send.
func (q *QP) Steered() bool { return q.steered }

// Telemetry is what the latest packet polled carries for its congestion control; nil: nothing. It is
// valid until the next call of a method. Only of a steered queue pair.
func (q *QP) Telemetry() *packet.Telemetry {
	if !q.cold.extras.steer.tells {
		return nil
	}
	return &q.cold.extras.steer.carries
}

// Heard hands over what the packet that is received next brings back, nil if nothing; t is read during
// that call. Only of a steered queue pair, as TakeProbe.
func (q *QP) Heard(t *packet.Telemetry) { q.cold.extras.steer.heard = t }

// Echoes counts an acknowledgement that takes back what its request carried.
func (q *QP) Echoes(now units.Time) {
	if q.steered {
		x := q.cold.extras.steer
		x.telemetry += int64(x.needs.WireBytes())
		x.echoed.Add(now, 1)
	}
}

// Echoed are the acknowledgements that took back time stamps, and those that took back telemetry.
func (q *QP) Echoed() (stamps, telemetry record.Act) {
	switch {
	case !q.steered:
		return stamps, telemetry
	case q.cold.extras.steer.needs.INT:
		return stamps, q.cold.extras.steer.echoed
	}
	return q.cold.extras.steer.echoed, telemetry
}

// ProbesAnswered are the probes of the round trip that this responder answered.
func (q *QP) ProbesAnswered() (a record.Act) {
	if q.cold.extras != nil && q.cold.extras.steer != nil {
		a = q.cold.extras.steer.answered
	}
	return a
}

// hear tells the controller of an event; bytes of payload were acknowledged with it.
func (q *QP) hear(now units.Time, kind congestion.Kind, fate congestion.Fate, bytes int64) {
	x := q.cold.extras.steer
	f := &x.feedback
	*f = congestion.Feedback{Kind: kind, Fate: fate, Now: now, Acked: q.unaBytes, Sent: q.nxtBytes, Bytes: bytes,
		Entropy: q.hash}
	if t := x.heard; t != nil {
		x.heard = nil
		f.Stamps = congestion.Stamps{Start: units.Time(t.Start), Out: units.Time(t.Out), Arrived: units.Time(t.Arrived),
			Replied: units.Time(t.Replied)}
		f.Hops = int(t.Hops)
		x.rtt = max(1, now-f.Stamps.Out)
		if t.Wrote > 0 && int(t.Wrote) <= len(t.Hop) {
			for i := range t.Wrote {
				x.hops[i] = congestion.HopRecord(t.Hop[i])
			}
			f.INT = x.hops[:t.Wrote]
		}
	}
	x.ctl.OnFeedback(f)
	q.decide(now)
}

// hearAck tells of an acknowledgement p; before it unaBytes was before.
func (q *QP) hearAck(now units.Time, p *packet.Packet, before uint64) {
	kind, fate := congestion.Acked, congestion.Clean
	if uint8(p.AETH>>24)>>5 != 0 {
		kind, fate = congestion.Nacked, congestion.Disordered
	}
	if p.Flags&packet.CNPFlag != 0 {
		fate = congestion.Marked
		q.noted().counters.CNPsReceived++
	}
	q.hear(now, kind, fate, int64(q.unaBytes-before))
}

// ask has the controller asked at the time that it wanted, and when there is work again after a while
// without.
func (q *QP) ask(now units.Time) {
	if q.cold.extras.steer.again <= now {
		q.decide(now)
		return
	}
	q.cold.extras.steer.askAt = q.cold.extras.steer.again
}

// Hops is how many switches p, a request from the peer, passed: what each took off the TTL with which
// both ends of a connection send.
func (q *QP) Hops(p *packet.Packet) uint8 { return q.setup.Data.TTL - p.TTL }

// TakeProbe fills p with a probe of the round trip if one is to be sent now.
func (q *QP) TakeProbe(now units.Time, p *packet.Packet) bool {
	if !q.cold.extras.steer.probe || q.head == q.tail && !q.answering {
		return false // it waits until there is work again
	}
	q.cold.extras.steer.probe = false
	if q.state != RTS && q.state != SQD {
		return false
	}
	q.cold.extras.steer.telemetry += int64(q.probeFrame())
	q.address(p, &q.setup.Data, packet.Probe)
	p.ECN, p.Opcode, p.Frame, p.VA = q.ecn(), OpProbe, q.probeFrame(), uint64(now)
	return true
}

// probeFrame is the frame of a probe and of its answer.
func (q *QP) probeFrame() uint32 {
	return uint32(max(congestion.ProbeBytes, q.cfg.Wire.CNP, q.cfg.Wire.MinFrame))
}

// receiveProbe answers a probe, or takes the answer to one.
func (q *QP) receiveProbe(now units.Time, p *packet.Packet, out *Replies) {
	switch {
	case q.state < RTR || q.state == Err:
		q.discard()
	case p.Opcode == OpProbe:
		a := &out.P[out.N]
		out.N++
		q.address(a, &q.setup.Ack, packet.Probe)
		a.Opcode, a.Frame, a.VA = OpProbeAnswer, q.probeFrame(), p.VA
		if q.steered {
			q.cold.extras.steer.answered.Add(now, 1)
			q.cold.extras.steer.telemetry += int64(q.probeFrame())
		}
	case q.steered:
		q.cold.extras.steer.heard = nil
		f := &q.cold.extras.steer.feedback
		*f = congestion.Feedback{Kind: congestion.Answered, Now: now, Acked: q.unaBytes, Sent: q.nxtBytes, Entropy: q.hash,
			Stamps: congestion.Stamps{Start: units.Time(p.VA),
				Out: units.Time(p.VA) + q.line.TxTime(units.Bytes(q.probeFrame()))}}
		q.cold.extras.steer.rtt = max(1, now-f.Stamps.Out)
		q.cold.extras.steer.ctl.OnFeedback(f)
		q.decide(now)
	}
}

// ControlFault is what the queue pair's controller did that none may; "": nothing. Only of a steered one.
func (q *QP) ControlFault() string { return q.cold.extras.steer.fault }

// Slowdowns are the changes of a steered queue pair's controller that took something off, by cause;
// nil: it has none.
func (q *QP) Slowdowns() *[congestion.NumCauses]record.Act {
	if !q.steered {
		return nil
	}
	return &q.cold.extras.steer.slowed
}
