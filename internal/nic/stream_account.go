package nic

import (
	"sort"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
)

// Stages of a TCP connection's time. They stand in the places of those that only
// a queue pair has; Window is the congestion window's, Rate that of pacing.
const (
	Handshake     = RNRWait
	SendBuffer    = AwaitAck    // the application has more to write than there is room for
	ReceiveWindow = Fenced      // the peer's window is full
	Nagle         = Reads       // a small segment waits for an acknowledgement
	Kernel        = SlowRestart // a core makes the segment, or is to, or writes to the socket
	Detection     = Lost        // nothing came until time or a probe told of a loss
	Timeout       = Bitmap      // nothing came until the retransmission timer expired
)

// streamChanged notes a connection's state after an event; the time before it
// must have been settled.
func (h *Host) streamChanged(now units.Time, s *qpSlot) {
	a, st := s.account, s.stream
	switch {
	case st.cut < st.frames:
		a.blocked, a.rateUntil = Rate, now
	case st.path != nil && st.kernel.frames > 0:
		a.blocked, a.rateUntil = Rate, now
		a.fetchUntil, a.fetchStage = st.path.here, WorkFetch
	case st.kernel.making, st.kernel.frames > 0:
		a.blocked = Kernel
	case st.why == tcp.Pacing:
		a.blocked, a.rateUntil = Rate, st.until
	case st.why == tcp.Connecting:
		a.blocked, a.rnrUntil = Handshake, units.Never
	case st.why == tcp.ReceiveWindow, st.why == tcp.TSODefer && st.conn.DeferredBy() == tcp.ReceiveWindow:
		a.blocked = ReceiveWindow
	case st.why == tcp.Cwnd, st.why == tcp.TSODefer:
		a.blocked = Window
	case st.why == tcp.NagleWait:
		a.blocked = Nagle
	case st.copying(now) && !st.kernel.calling:
		a.blocked, a.rateUntil = Rate, now
		a.fetchUntil, a.fetchStage = st.path.stage.until, Copying
	case st.kernel.calling && st.first < len(st.calls):
		a.blocked = Kernel
	case st.first < len(st.calls):
		a.blocked = SendBuffer
	default:
		a.blocked = Idle
	}
	h.noteRest(&st.segments)
	st.noteOut(a)
	h.look(now, s)
}

// noteOut notes how much is outstanding.
func (st *segments) noteOut(a *account) {
	out := st.conn.Outstanding()
	if st.out == 0 && out > 0 {
		st.progress = a.sum
	}
	st.out = out
}

// noteLosses notes that the connection has just taken segments for lost, or found that
// a probe replaced one. silent says that a timer told, or what answers the probe that a
// timer sent: what the connection waited since its last progress, it waited for that.
func (h *Host) noteLosses(now units.Time, s *qpSlot, st *segments, silent bool) {
	n, acts := st.conn.Losses(), st.conn.Acts()
	switch {
	case acts.RTO.Count != st.rtos:
		st.rtos = acts.RTO.Count
		st.timeouts = append(st.timeouts, now)
		h.noteMoment(s, Moment{At: now, By: rdma.ByTimer})
		h.waitedFor(Timeout, s, st)
	case silent && (n != st.losses || acts.CutLoss.Count != st.cuts):
		h.waitedFor(Detection, s, st)
	}
	st.cuts = acts.CutLoss.Count
	if n != st.losses {
		h.noteMoment(s, Moment{At: now, By: rdma.ByNAK})
		st.losses = n
		st.lost = round{at: now, sum: s.account.sum}
	}
}

// waitedFor books what held the connection since its last progress as the wait for
// what told of a loss: without the loss an acknowledgement would have come. What was
// noted in between follows, so that differences to it stay what they were in sum.
func (h *Host) waitedFor(stage Stage, s *qpSlot, st *segments) {
	a, from := s.account, &st.progress
	if a.trace != nil {
		for _, w := range st.waits {
			a.trace.Rebook(uint8(w), uint8(stage), a.sum[w]-from[w])
		}
	}
	a.sum.rebook(from, st.waits, stage)
	st.lastSum.rebook(from, st.waits, stage)
	st.lost.sum.rebook(from, st.waits, stage)
	if a.unsent < len(a.queue) {
		h.noteOf(a, a.unsent).base.rebook(from, st.waits, stage)
	}
	if a.serving != nil {
		a.serving.rebook(from, st.waits, stage)
	}
}

// waits are the stages that may turn out to be waits for what tells of a loss.
var waits = [...]Stage{Handshake, SendBuffer, Window, ReceiveWindow, Nagle}

// rebook moves to a stage the waits for windows, room and acknowledgements that t has
// more of than from.
func (t *Times) rebook(from *Times, waits []Stage, to Stage) {
	for _, s := range waits {
		if d := t[s] - from[s]; d > 0 {
			t[s] -= d
			t[to] += d
		}
	}
}

// rebook does so with what a responder of READs noted of its time.
func (a *serving) rebook(from *Times, waits []Stage, to Stage) {
	a.answerSum.rebook(from, waits, to)
	a.turn.base.rebook(from, waits, to)
	for i := range a.requests {
		a.requests[i].sum.rebook(from, waits, to)
		a.requests[i].base.rebook(from, waits, to)
	}
}

// sentFrame notes a frame that starts now and ends at end. The frame that brings
// the last byte of a message, and every one sent again, carries stamps.
func (h *Host) sentFrame(now, end units.Time, s *qpSlot, pk *packet.Packet) {
	a, st := s.account, s.stream
	a.sendEnd, a.resending = end, pk.Flags&packet.Retrans != 0
	switch {
	case pk.Payload == 0:
		h.sampleFrame(now, s, pk, replies)
	case a.resending:
		h.noteMoment(s, Moment{At: now, Sent: true, PSN: pk.PSN, Payload: pk.Payload})
		h.sentAgainFrame(now, s, pk)
	default:
		h.cpu.Progressed()
		st.sent += int64(pk.Payload)
		if a.unsent < len(a.queue) && st.ends[a.unsent] <= st.sent {
			h.sentLasts(now, end, s)
			h.stamp(now, s, pk)
		} else {
			h.sampleFrame(now, s, pk, requests)
		}
	}
}

// sentLasts notes the first transmission of the last byte of one message or
// several, which a frame brings.
func (h *Host) sentLasts(now, end units.Time, s *qpSlot) {
	a, st := s.account, s.stream
	for first := true; a.unsent < len(a.queue) && st.ends[a.unsent] <= st.sent; first = false {
		m := h.noteOf(a, a.unsent)
		if first {
			m.Before = a.sum.minus(&m.base)
		} else {
			m.begun, m.After, m.Before = true, now, Times{}
		}
		m.Start = now
		a.unsent++
	}
	a.lastEnd, st.lastSum = end, a.sumAt(end)
	if a.unsent < len(a.queue) {
		h.noteOf(a, a.unsent).begin(now, a)
	}
}

// sentAgainFrame notes a frame sent again: the one that completes a message at the
// peer may be any of them. Its wait began when it was taken for lost, if the last
// byte of its message had been sent by then.
func (h *Host) sentAgainFrame(now units.Time, s *qpSlot, pk *packet.Packet) {
	a, st := s.account, s.stream
	if a.head == len(a.queue) {
		return
	}
	from := st.lost
	if st.conn.Probing() { // nothing was taken for lost
		from = round{at: now, sum: a.sum}
	}
	at := st.offset(pk)
	k := a.head + sort.Search(len(st.ends)-a.head, func(k int) bool { return st.ends[a.head+k] > at })
	if k < a.unsent && h.note(a.queue[k]).Start > from.at {
		from = round{at: a.lastEnd, sum: st.lastSum}
	}
	a.resends = append(a.resends, Resend{Rewound: from.at, Before: a.sum.minus(&from.sum), Start: now})
	h.stamp(now, s, pk)
}

// offset is where in the stream the payload of a segment sent again begins.
func (st *stream) offset(pk *packet.Packet) int64 {
	return st.sent - int64(int32(st.iss+1+uint32(st.sent)-pk.PSN))
}
