package nic

import (
	"github.com/hopscope/hopscope/internal/iwarp"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
)

// PeerWindow is the stage of a queue pair carried by TCP whose peer's receive window is full. Such a queue pair has
// the stages of a TCP connection but Nagle's, and Fenced and Reads beside them.
const PeerWindow = SlowRestart

// offloadWaits are its stages that may turn out to be waits for what tells of a loss.
var offloadWaits = [...]Stage{Handshake, SendBuffer, Window, PeerWindow, Fenced, Reads}

// control are the control bits of segments that are more than an acknowledgement.
const control = tcp.SYN | tcp.FIN | tcp.RST

// changed notes the queue pair's state after an event; the time before it must have been settled.
func (h offloads) changed(now units.Time, q uint32) {
	s := &h.qps[q]
	a, x := s.account, s.offloaded
	before := a.blocked
	switch {
	case x.has:
		a.blocked, a.rateUntil = Rate, now
	case x.soft != nil && (x.soft.making || x.soft.waits):
		a.blocked = HostKernel
	case x.why == iwarp.Pacing:
		a.blocked, a.rateUntil = Rate, x.until
	case x.why == iwarp.Starting && a.head < len(a.queue):
		a.blocked, a.rnrUntil = Handshake, units.Never
	case x.why == iwarp.Cwnd:
		a.blocked = Window
	case x.why == iwarp.ReceiveWindow:
		a.blocked = PeerWindow
	case x.why == iwarp.SendBuffer:
		a.blocked = SendBuffer
	case x.why == iwarp.Fence:
		a.blocked = Fenced
	case x.why == iwarp.ReadLimit:
		a.blocked = Reads
	case x.why == iwarp.Ahead:
		a.blocked, a.rateUntil = Rate, now
		h.awaited(now, q)
	default:
		a.blocked = Idle
	}
	if a.blocked != before {
		a.since = now
	}
	if x.why != iwarp.Ahead && a.fetchUntil > now {
		a.fetchUntil = now
	}
	h.noteRest(&x.segments)
	x.noteOut(a)
	h.look(now, s)
}

// sent notes a segment that starts now and ends at end.
func (h offloads) sent(now, end units.Time, s *qpSlot, pk *packet.Packet) {
	a, x := s.account, s.offloaded
	a.sendEnd, a.resending = end, pk.Flags&packet.Retrans != 0
	covered := h.covered(now, s, x.covers)
	switch {
	case x.qp.State() >= iwarp.Terminating: // what it is part of is flushed
		if !covered {
			return
		}
	case a.resending:
		h.noteMoment(s, Moment{At: now, Sent: true, PSN: pk.PSN, Payload: pk.Payload})
		h.sentAgain(now, end, s)
	case x.part.Kind == iwarp.Request && x.part.Last:
		h.sentLast(now, end, s)
	case x.part.Kind == iwarp.Response:
		if !h.responded(now, end, s) && !covered {
			return
		}
	case covered:
	default:
		h.cpu.Progressed()
		if x.followed[requests]++; x.followed[requests] == record.SampleFrames {
			x.followed[requests] = 0
			h.sample(now, s, pk)
		}
		return
	}
	h.stamp(now, s, pk)
}

// sentLast notes the first transmission of a message's last FPDU.
func (h offloads) sentLast(now, end units.Time, s *qpSlot) {
	a, x := s.account, s.offloaded
	m := h.note(x.part.ID)
	m.Start, m.Before = now, a.sum.minus(&m.base)
	if a.unsent < len(a.queue) && a.queue[a.unsent] == x.part.ID {
		a.unsent++
		a.lastEnd, x.lastSum = end, a.sumAt(end)
		if a.unsent < len(a.queue) {
			h.noteOf(a, a.unsent).begin(now, a)
		}
	}
}

// sentAgain notes a segment sent again: the one that completes a message at the peer may be any of them. Its wait
// began when it was taken for lost, if the last FPDU of its message had been sent by then.
func (h offloads) sentAgain(now, end units.Time, s *qpSlot) {
	a, x := s.account, s.offloaded
	if x.part.Kind == iwarp.Response {
		h.responded(now, end, s)
	}
	if a.head == len(a.queue) {
		return
	}
	from := x.lost
	if x.conn.Probing() { // nothing was taken for lost
		from = round{at: now, sum: a.sum}
	}
	if x.part.Kind == iwarp.Request {
		for k := a.head; k < a.unsent; k++ {
			if a.queue[k] == x.part.ID && h.note(x.part.ID).Start > from.at {
				from = round{at: a.lastEnd, sum: x.lastSum}
			}
		}
	}
	a.resends = append(a.resends, Resend{Rewound: from.at, Before: a.sum.minus(&from.sum), Start: now})
}

// responded notes a segment of a READ response that starts now and ends at end, and reports whether it may be the one
// with which the requester has all of it: the last, and those sent again.
func (h offloads) responded(now, end units.Time, s *qpSlot) bool {
	a, x := s.account, s.offloaded
	if a.serving == nil {
		return false
	}
	a.beginAnswer(x.part.Serial)
	if !x.part.Last && !a.resending {
		return false
	}
	for i := range a.requests {
		r := &a.requests[i]
		if r.serial != x.part.Serial {
			continue
		}
		before := a.sum.minus(&r.base)
		a.answers = append(a.answers, answered{now, h.noteAnswer(r, now, &before)})
		if !a.resending {
			a.turn, a.answerEnd, a.answerSum = r.turn, end, a.sumAt(end)
		}
	}
	return true
}

// forgetAnswered takes READs off the notes whose responses are acknowledged.
func (h offloads) forgetAnswered(s *qpSlot) {
	a := s.account
	if a.serving == nil {
		return
	}
	n, oldest := 0, s.offloaded.qp.OldestAnswer()
	for n < len(a.requests) && int32(a.requests[n].serial-oldest) < 0 {
		n++
	}
	if n > 0 {
		a.requests = a.requests[:copy(a.requests, a.requests[n:])]
	}
}

// closedBy ends the account of message id, which the packet of a way completed, or none that carried stamps; late:
// completions keep their order, and it had been acknowledged before.
func (h offloads) closedBy(now units.Time, s *qpSlot, id uint32, way Way, late bool) {
	a := s.account
	m := h.noteOf(a, a.head)
	m.Done = now
	a.pop()
	h.noteMet(s, replies, 0, id, 1)
	if m.Start == units.Never { // BUG: completed and never sent
		h.net.Part().Bug("%s: message %d is complete and its last FPDU was never sent", h.Name, id)
	}
	m.AckMade, m.Ack = now, way
	if h.hops = h.Hops(way, h.hops[:0]); len(h.hops) > 0 {
		m.AckMade = h.hops[0].In
	}
	if late {
		m.By = Behind
	}
}
