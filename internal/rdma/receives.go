package rdma

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// ReceiveQueue holds receive work requests of one size: those of one queue pair,
// or of several that share it (SRQ, IBTA 10.2.9). They are numbered from 0 in the
// order in which they are taken.
type ReceiveQueue struct {
	waiting int64
	size    int64 // the most that were posted and not taken, at any time
	least   int64 // the fewest since then
	room    units.Bytes
	taken   uint32
	limit   int64 // 0: not armed
	reached int64
}

// NewReceiveQueue returns a queue with n receive work requests that each have
// room for so many bytes; 0: for any message.
func NewReceiveQueue(n int64, room units.Bytes) *ReceiveQueue {
	return &ReceiveQueue{waiting: n, size: n, least: n, room: room}
}

// Post adds n receive work requests.
func (r *ReceiveQueue) Post(n int64) {
	r.waiting += n
	if r.waiting > r.size {
		r.size, r.least = r.waiting, r.waiting
	}
}

// Used is the most receive work requests that were taken and not posted anew at a
// time, of how many.
func (r *ReceiveQueue) Used() (most, of int64) { return r.size - r.least, r.size }

// Waiting is the number of receive work requests that no message has taken.
func (r *ReceiveQueue) Waiting() int64 { return r.waiting }

// Arm sets the limit, at least 1: once fewer are waiting, that is an event, and the
// limit is no longer armed (IBTA 10.2.9.3, IBV_EVENT_SRQ_LIMIT_REACHED).
func (r *ReceiveQueue) Arm(limit int64) { r.limit = limit }

// LimitEvents counts how often an armed limit was reached.
func (r *ReceiveQueue) LimitEvents() int64 { return r.reached }

// take takes the next receive work request, if there is one.
func (r *ReceiveQueue) take() (id uint32, ok bool) {
	if r.waiting == 0 {
		return 0, false
	}
	r.waiting--
	r.least = min(r.least, r.waiting)
	r.taken++
	if r.waiting < r.limit {
		r.limit = 0
		r.reached++
	}
	return r.taken - 1, true
}

// Reception is what a responder keeps where receive work requests, or the
// completions of received messages, count. nil: there are always enough.
type Reception struct {
	queue  *ReceiveQueue // nil: always enough
	shared bool
	cq     *CompletionQueue // nil: none
	room   units.Bytes      // of each; 0: for any message
	conn   uint32
	id     uint32 // of the receive work request that the current message has taken
	has    bool
	used   int64 // taken by messages that are complete
	next   uint32
}

// NewReception sets up what Setup says of receives, of a connection.
func NewReception(s *Setup, conn uint32, cq *CompletionQueue) *Reception {
	if s.Attrs.Receives < 0 && s.SRQ == nil && cq == nil && s.Attrs.ReceiveSize == 0 {
		return nil
	}
	r := &Reception{queue: s.SRQ, shared: s.SRQ != nil, cq: cq, room: s.Attrs.ReceiveSize, conn: conn}
	if r.queue == nil && s.Attrs.Receives >= 0 {
		r.queue = NewReceiveQueue(s.Attrs.Receives, s.Attrs.ReceiveSize)
	}
	if r.queue != nil {
		r.room = r.queue.room
	}
	return r
}

// Take takes a receive work request for the current message, unless it has one, and
// reports whether there was one.
func (r *Reception) Take() bool {
	if r == nil || r.has {
		return true
	}
	if r.queue == nil {
		r.id, r.has = r.next, true
		r.next++
		return true
	}
	r.id, r.has = r.queue.take()
	return r.has
}

// Fits reports whether a message of n bytes fits the receive work requests.
func (r *Reception) Fits(n uint32) bool { return r == nil || r.room == 0 || units.Bytes(n) <= r.room }

// Complete completes the receive work request that the current message took, n bytes
// long; imm is its immediate data or the key that it invalidated.
func (r *Reception) Complete(now units.Time, verb Verb, n, imm uint32, status Status) {
	if r == nil || !r.has {
		return
	}
	r.has = false
	r.used++
	if r.cq != nil {
		r.cq.Entries = append(r.cq.Entries, Completion{ID: r.id, Conn: r.conn, Status: status, Time: now, Receive: true,
			Verb: verb, Bytes: units.Bytes(n), Imm: imm})
	}
}

// Flush completes the receive work request of a message that will not end, and
// those of a queue of its own that no message has taken.
func (r *Reception) Flush(now units.Time) {
	r.Complete(now, Send, 0, 0, WRFlush)
	if r == nil || r.shared || r.queue == nil || r.cq == nil {
		return
	}
	for r.Take() {
		r.Complete(now, Send, 0, 0, WRFlush)
	}
}

// Post adds n receive work requests; without effect where there are always enough.
func (r *Reception) Post(n int64) {
	if r != nil && r.queue != nil {
		r.queue.Post(n)
	}
}

// Waiting is the number of receive work requests that no message has taken;
// negative: always enough.
func (r *Reception) Waiting() int64 {
	if r == nil || r.queue == nil {
		return -1
	}
	return r.queue.waiting
}

// Used counts the receive work requests that messages have used up, where they count.
func (r *Reception) Used() int64 {
	if r == nil {
		return 0
	}
	return r.used
}

// Limits adds to what limits a queue pair how near it came to the end of its receives.
func (r *Reception) Limits(l *record.QPLimits) {
	l.Receives, l.ReceivesUsed = r.Waiting(), r.Used()
	if l.Receives < 0 {
		return
	}
	l.Receives += l.ReceivesUsed
	if r.has {
		l.Receives++
	}
	most, of := r.queue.Used()
	l.Shared, l.ReceivesPeak = r.shared, &record.Approach{Value: most, Threshold: of}
}

// forget removes, without completions, what Flush completes (IBTA 10.3.1).
func (r *Reception) forget() {
	if r == nil {
		return
	}
	r.has = false
	if r.queue != nil && !r.shared {
		r.queue.waiting, r.queue.size, r.queue.least = 0, 0, 0
	}
}

// received completes the receive work request that the current message took, n
// bytes long. side has the immediate data or the key it invalidated.
func (q *QP) received(now units.Time, verb Verb, n uint32, side *packet.Side, status Status) {
	imm := uint32(0)
	if side != nil && verb != Send {
		imm = side.Imm
	}
	q.cold.reception.Complete(now, verb, n, imm, status)
}

// PostReceive adds n receive work requests; without effect where there are
// always enough.
func (q *QP) PostReceive(n int64) { q.cold.reception.Post(n) }

// ReceivesWaiting is the number of receive work requests that no message has
// taken; negative: always enough.
func (q *QP) ReceivesWaiting() int64 { return q.cold.reception.Waiting() }

// ReceivesUsed counts the receive work requests that messages of this queue pair
// have used up, where they count.
func (q *QP) ReceivesUsed() int64 { return q.cold.reception.Used() }

// receivedVerb is the verb that the last packet of a message which takes a receive work
// request tells.
func receivedVerb(op uint8) Verb {
	switch op {
	case OpWriteLastImm, OpWriteOnlyImm:
		return WriteImm
	case OpSendLastImm, OpSendOnlyImm:
		return SendImm
	case OpSendLastInv, OpSendOnlyInv:
		return SendInv
	}
	return Send
}
