package rdma

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// AwaitAck is Standing's answer when everything posted has been sent and some
// of it is not acknowledged yet.
const AwaitAck = numReasons

// Standing says, without changing anything, what keeps the requester from
// sending at now: Idle, AwaitAck, RNRWait until a time, Window, RateLimit
// until the time pacing admits the next packet (which may have passed), InError
// or NotReady. The time accounts need it (design, section 8).
func (q *QP) Standing() (Reason, units.Time) {
	switch {
	case q.state == Err:
		return InError, units.Never
	case q.state != RTS && q.state != SQD:
		return NotReady, units.Never
	case q.nxt >= q.end && q.nxt > q.una:
		return AwaitAck, units.Never
	case q.nxt >= q.end:
		return Idle, units.Never
	case q.reqState == reqRNR:
		return RNRWait, q.rnrUntil
	case q.windowFull():
		return Window, units.Never
	}
	return RateLimit, q.nextAvail
}

// Polled is the work request that the latest packet belongs to.
func (q *QP) Polled() uint32 { return q.polled }

// Rewinds counts how often the requester went back to send again.
func (q *QP) Rewinds() uint32 { return q.cold.rewinds }

// MSN is the number of messages accepted as responder, modulo 2^24.
func (q *QP) MSN() uint32 { return q.msn }

// PolledLast reports whether p, filled by Poll, is the last packet of its
// message.
func (q *QP) PolledLast(p *packet.Packet) bool {
	switch p.Opcode {
	case OpSendLast, OpSendOnly, OpWriteLast, OpWriteOnly:
		return true
	}
	return false
}
