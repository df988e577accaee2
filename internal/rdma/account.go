package rdma

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// AwaitAck is Standing's answer when everything posted has been sent and some
// of it is not acknowledged yet.
const AwaitAck = numReasons

// Standing says, without changing anything, what keeps the requester from
// sending at now: Idle, AwaitAck, RNRWait until a time, Window, Bitmap, Repair, RateLimit
// until the time pacing admits the next packet (which may have passed), InError
// or NotReady. The time accounts need it (design, section 8).
func (q *QP) Standing() (Reason, units.Time) {
	switch {
	case q.state == Err:
		return InError, units.Never
	case q.state != RTS && q.state != SQD:
		return NotReady, units.Never
	case q.answering:
		return RateLimit, q.answerAt()
	case q.need == 0 && q.nxt >= q.end && q.nxt > q.una:
		return AwaitAck, units.Never
	case q.need == 0 && q.nxt >= q.end:
		return Idle, units.Never
	case q.reqState == reqRNR:
		return RNRWait, q.rnrUntil
	case q.need == 0 && q.windowFull():
		return q.fullBy(), units.Never
	case q.need == 0 && q.reading && q.order() != Sent:
		return q.order(), units.Never
	}
	return RateLimit, q.nextAvail
}

// Polled is the work request that the latest packet belongs to.
func (q *QP) Polled() uint32 { return q.polled }

// Rewinds counts how often the requester went back to send again.
func (q *QP) Rewinds() uint32 { return q.rewinds }

// RewoundBy is what caused the latest of the Rewinds.
func (q *QP) RewoundBy() Trigger { return q.cause }

// waited keeps the longest time for which the retransmission timer ran.
func (q *QP) waited(now units.Time) {
	if q.rtoAt == units.Never {
		return
	}
	if d := now - (q.rtoAt - q.rto); d > q.longest {
		q.longest, q.cold.longAt = d, now
	}
}

// longestOf is the timeout in the longest wait for progress.
func (q *QP) longestOf(now units.Time) units.Time {
	switch {
	case !q.adapts || q.cold.extras.adaptive.timer == nil:
		return q.cfg.Timeout
	case q.cold.longAt == now:
		return q.rto // it is still going on
	}
	return q.cold.extras.adaptive.timer.longest
}

// Limits is what limits the queue pair, and how near it came to each limit up to
// now.
func (q *QP) Limits(now units.Time) record.QPLimits {
	if q.service == RC {
		q.waited(now)
	}
	c := q.cfg
	l := record.QPLimits{
		Class: int(q.setup.Data.Class), MTUBytes: int64(c.MTU), LineBps: q.line, WindowBytes: q.window, PeakOutstanding: q.peakOut,
		ECT: c.ECT || q.hasIB, CNP: q.notifies() && c.SendCNP || c.CNPOnAck || q.hasIB, CC: q.hasCC || q.hasIB || q.steered,
	}
	l.CEOnAck = c.CNPOnAck && !q.hasIB
	if q.steered {
		steer := q.cold.extras.steer
		l.Controller = &record.Controller{Title: c.Control.Title, Windowed: steer.window > 0, Bytes: steer.telemetry}
		l.InitialBps = q.setup.Initial
	}
	if q.service == RC { // the others have nothing to wait for
		l.TimeoutPS = c.Timeout
	}
	if q.longest > 0 {
		l.NearTimeout = &record.Approach{Value: int64(q.longest), Threshold: int64(q.longestOf(now)), At: q.cold.longAt}
	}
	l.SlowRestart = c.SlowRestart.On && q.service == RC
	if q.hasIB {
		if most := c.IBCC.CCT[c.IBCC.Min].Rate(q.line); most < q.line {
			l.MaxBps = most
		}
	}
	if q.selective {
		l.BitmapPackets, l.PeakPackets = int64(c.Bitmap), int64(q.peakPackets)
	}
	if x := q.cold.reads; x != nil && cap(x.asked) > 0 {
		l.MaxRdAtomic, l.PeakReads = int64(cap(x.asked)), int64(x.peak)
		l.ReadPartBytes = int64(q.part(&wqe{first: q.high, packets: q.maxOut}, q.high)) * int64(c.MTU)
	}
	if q.hasCC {
		l.InitialBps, l.MaxBps = q.setup.Initial, c.CC.RPGMaxRate
	}
	q.cold.reception.Limits(&l)
	return l
}

// MSN is the number of messages accepted as responder, modulo 2^24.
func (q *QP) MSN() uint32 { return q.msn }

// PolledLast reports whether the latest packet is the last of its message: of a
// READ the request that reaches its end, or the response that ends one.
func (q *QP) PolledLast() bool { return q.polledLast }

// AnswersTaken is how many READs and atomics the responder has taken up so far,
// modulo 2^32: new ones, and duplicates that it answers anew. With go-back-N such
// a duplicate has all later requests answered anew as well.
func (q *QP) AnswersTaken() uint32 {
	if x := q.cold.answers; x != nil {
		return x.taken
	}
	return 0
}

// PolledAnswer is which of them, counted from 1, the latest packet answers, which
// is a READ response or the ACK of an atomic.
func (q *QP) PolledAnswer() uint32 { return q.cold.answers.polled }

// AnsweredAgain reports whether that was a duplicate.
func (q *QP) AnsweredAgain() bool { return q.cold.answers.repeated }

// OldestAnswer is the first of them that is still to be answered, in part or
// whole; one more than AnswersTaken when none is.
func (q *QP) OldestAnswer() uint32 {
	x := q.cold.answers
	oldest := x.taken + 1
	for i := range x.n {
		oldest = min(oldest, x.at(i).origin)
	}
	return oldest
}

// AnswerGoesOn reports whether one of them asks for another part of the READ that
// the new request before it belongs to; it must not be answered yet.
func (q *QP) AnswerGoesOn(serial uint32) bool {
	x := q.cold.answers
	for i := range x.n {
		if j := x.at(i); j.origin == serial {
			return j.goesOn
		}
	}
	return false
}

// TookResponse is the work request that the latest READ response taken with
// selective repeat belongs to, and whether it was the last packet of it.
func (q *QP) TookResponse() (id uint32, last bool) {
	x := q.cold.reads
	return x.tookID, x.tookLast
}

// AckNext reports whether the next packet that Poll gives is an acknowledgement:
// that of an atomic, or one that waited behind READ responses.
func (q *QP) AckNext() bool {
	if !q.answering {
		return false
	}
	x := q.cold.answers
	return x.n == 0 || x.at(0).atomic
}

// Armed is when the timer that Deadline tells was set, as a timer of its own
// would have been: a retransmission timer moves with every ACK. now stands for
// an RNR timer, which is never moved.
func (q *QP) Armed(now units.Time) units.Time {
	if q.rtoAt < q.rnrUntil && (!q.steered || q.rtoAt < q.cold.extras.steer.askAt) {
		return q.rtoAt - q.rto
	}
	return now
}
