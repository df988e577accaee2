package rdma

import (
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Congestion notification. A switch marks a packet: CE in the IP header, or FECN
// in InfiniBand's BTH. The notification point answers: with a CNP (RoCEv2), a flag
// on the ACK (ns-3), or BECN (InfiniBand). The reaction point at the sender slows.

// congested handles a marked request.
func (q *QP) congested(now units.Time, out *Replies) {
	switch {
	case q.hasIB:
		q.becnDue = true
	case q.cfg.SendCNP && q.notifies():
		q.notify(now, out)
	}
}

// congestedResponse handles a marked READ response, to which no acknowledgement
// goes back.
func (q *QP) congestedResponse(now units.Time, out *Replies) {
	switch {
	case q.hasIB:
		q.sendCNP(now, out)
	case q.notifies() && (q.cfg.SendCNP || q.cfg.CNPOnAck):
		q.notify(now, out)
	}
}

// setBECN lets an acknowledgement tell of the marked packets since the one before
// (IBTA A10.2.1; the Linux driver hfi1 does so too).
func (q *QP) setBECN(now units.Time, p *packet.Packet) {
	q.becnDue = false
	p.Flags |= packet.CNPFlag
	q.noted().acts.CEOnAck.Add(now, 1)
	q.noted().counters.CNPsSent++
}

// notifies reports whether marked packets are to be told of by CNPs.
func (q *QP) notifies() bool { return q.hasCC || q.steered && q.cold.extras.steer.needs.CNP }

// Notification is how CNPs are sent and heard; nil: none are.
func (c *Config) Notification() *congestion.DCQCNParams {
	switch {
	case c.CC != nil:
		return c.CC
	case c.Control != nil && c.Control.Settings.Needs().CNP:
		return c.Control.Notification
	}
	return nil
}

// notify answers a CE-marked packet with a CNP, at once or CNPDelay later, at most one
// per interval if the notification point coalesces.
func (q *QP) notify(now units.Time, out *Replies) {
	cc := q.cfg.Notification()
	np := q.setup.Notification
	if np == nil {
		np = &q.np
	}
	if cc.CNPCoalesce == congestion.AtReceiver && !np.OnCE(cc.MinTimeBetweenCNPs, now) {
		q.noted().counters.CNPsLimited++
		return
	}
	if cc.CNPDelay > 0 {
		out.CNPAfter = cc.CNPDelay
		return
	}
	q.sendCNP(now, out)
}

// notifyLoss has the NAK of a gap bring a CNP along, as cards do whose slow restart is on;
// the packet that showed the gap may have brought one, ce, by its mark.
func (q *QP) notifyLoss(now units.Time, ce bool, out *Replies) {
	if q.cfg.NAKNotifies && q.notifies() && q.cfg.SendCNP && !ce {
		q.notify(now, out)
	}
}

// LateCNP is the CNP that Replies.CNPAfter announced; it is sent now. ok is false in
// error, which sends none.
func (q *QP) LateCNP(now units.Time) (p packet.Packet, ok bool) {
	if q.state < RTR || q.state == Err {
		return p, false
	}
	q.noteCNP(now)
	q.fillCNP(&p)
	return p, true
}

// sendCNP answers with a congestion notification packet.
func (q *QP) sendCNP(now units.Time, out *Replies) {
	q.noteCNP(now)
	q.fillCNP(&out.P[out.N])
	out.N++
}

func (q *QP) noteCNP(now units.Time) {
	q.noted().counters.CNPsSent++
	q.noted().acts.CNPSent.Add(now, 1)
}

// ReactionDelay is how long a CNP that has arrived is under way to the reaction point:
// Receive is to be called so much later.
func (q *QP) ReactionDelay() units.Time {
	if !q.notifies() {
		return 0
	}
	return q.cfg.Notification().CNPReactionDelay
}

// receiveCNP handles a congestion notification.
func (q *QP) receiveCNP(now units.Time) {
	if q.state < RTR || q.state == Err {
		q.discard()
		return
	}
	q.noted().counters.CNPsReceived++
	if q.hasIB {
		x := q.cold.extras
		x.ib.OnBECN(now)
		if x.heard = x.ib.Heard(); now < q.nextAvail && q.cfg.TimeQuantum == 0 {
			q.nextAvail = x.ib.GapEnd(x.owed)
		}
		return
	}
	if !q.notifies() {
		return
	}
	cc := q.cfg.Notification()
	if cc.CNPCoalesce == congestion.AtSender && !q.cold.rp.OnCE(cc.MinTimeBetweenCNPs, now) {
		q.noted().counters.CNPsIgnored++
		return
	}
	if q.steered {
		q.hear(now, congestion.Notified, congestion.Marked, 0)
		return
	}
	q.cc.OnCNP(cc, now)
	if now < q.nextAvail && !q.fixedGap() {
		q.nextAvail = q.cc.GapEnd(cc)
	}
}

// fixedGap reports whether the gap behind a packet stays as it was when that was sent:
// so the preset has it, and a clock of whole quanta, which only ns-3 has.
func (q *QP) fixedGap() bool { return q.cfg.CC.FixedGap || q.cfg.TimeQuantum > 0 }

// Slowed returns the acts of the reaction point and its lowest rate: DCQCN's
// cuts, or the increases of InfiniBand's CCTI and the events of its congestion
// log. ok is false without congestion control. Of queue pairs that share a
// reaction point one returns the acts, the others none.
func (q *QP) Slowed() (cuts, increases, events record.Act, least units.Rate, ok bool) {
	switch {
	case q.hasCC:
		return q.cc.Cuts, increases, events, q.cc.MinRate, true
	case q.steered:
		for i := range q.cold.extras.steer.slowed {
			cuts = cuts.And(q.cold.extras.steer.slowed[i])
		}
		return cuts, increases, events, q.cold.extras.steer.least, true
	case !q.hasIB:
		return cuts, increases, events, q.line, false
	case q.cold.extras.reports:
		increases, events = q.cold.extras.ib.Increases, q.cold.extras.ib.Events
	}
	return cuts, increases, events, q.cold.extras.ib.MinRate, true
}

// PeakCCTI is the highest index into the congestion control table so far; ok is
// false without InfiniBand's congestion control.
func (q *QP) PeakCCTI() (index int, ok bool) {
	if !q.hasIB {
		return 0, false
	}
	return q.cold.extras.ib.Peak, true
}
