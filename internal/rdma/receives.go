package rdma

import (
	"github.com/hopscope/hopscope/internal/packet"
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

// reception is what a responder keeps where receive work requests, or the
// completions of received messages, count.
type reception struct {
	queue  *ReceiveQueue // nil: always enough
	shared bool
	cq     *CompletionQueue // nil: none
	id     uint32           // of the receive work request that the current message has taken
	has    bool
	used   int64 // taken by messages that are complete
	next   uint32
}

// startReceives sets up what Setup says of receives.
func (q *QP) startReceives(s *Setup, cq *CompletionQueue) {
	if s.Attrs.Receives < 0 && s.SRQ == nil && cq == nil && s.Attrs.ReceiveSize == 0 {
		return
	}
	r := &reception{queue: s.SRQ, shared: s.SRQ != nil, cq: cq}
	if r.queue == nil && s.Attrs.Receives >= 0 {
		r.queue = NewReceiveQueue(s.Attrs.Receives, s.Attrs.ReceiveSize)
	}
	q.cold.reception = r
}

// takeReceive takes a receive work request for the current message, unless it
// has one, and reports whether there was one.
func (q *QP) takeReceive() bool {
	r := q.cold.reception
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

// room reports whether n bytes fit the receive work requests.
func (q *QP) room(n uint32) bool {
	most := q.setup.Attrs.ReceiveSize
	if r := q.cold.reception; r != nil && r.queue != nil {
		most = r.queue.room
	}
	return most == 0 || units.Bytes(n) <= most
}

// received completes the receive work request that the current message took, n
// bytes long. side has the immediate data or the key it invalidated.
func (q *QP) received(now units.Time, verb Verb, n uint32, side *packet.Side, status Status) {
	r := q.cold.reception
	if r == nil || !r.has {
		return
	}
	r.has = false
	r.used++
	if r.cq == nil {
		return
	}
	c := Completion{ID: r.id, Conn: q.conn, Status: status, Time: now, Receive: true, Verb: verb, Bytes: units.Bytes(n)}
	if side != nil && verb != Send {
		c.Imm = side.Imm
	}
	r.cq.Entries = append(r.cq.Entries, c)
}

// flushReceives completes the receive work request of a message that will not
// end, and those of a queue of its own that no message has taken.
func (q *QP) flushReceives(now units.Time) {
	r := q.cold.reception
	if r == nil {
		return
	}
	q.received(now, Send, 0, nil, WRFlush)
	if r.shared || r.queue == nil || r.cq == nil {
		return
	}
	for q.takeReceive() {
		q.received(now, Send, 0, nil, WRFlush)
	}
}

// forgetReceives removes, without completions, what flushReceives completes (IBTA
// 10.3.1).
func (q *QP) forgetReceives() {
	r := q.cold.reception
	if r == nil {
		return
	}
	r.has = false
	if r.queue != nil && !r.shared {
		r.queue.waiting, r.queue.size, r.queue.least = 0, 0, 0
	}
}

// PostReceive adds n receive work requests; without effect where there are
// always enough.
func (q *QP) PostReceive(n int64) {
	if r := q.cold.reception; r != nil && r.queue != nil {
		r.queue.Post(n)
	}
}

// ReceivesWaiting is the number of receive work requests that no message has
// taken; negative: always enough.
func (q *QP) ReceivesWaiting() int64 {
	r := q.cold.reception
	if r == nil || r.queue == nil {
		return -1
	}
	return r.queue.waiting
}

// ReceivesUsed counts the receive work requests that messages of this queue pair
// have used up, where they count.
func (q *QP) ReceivesUsed() int64 {
	if r := q.cold.reception; r != nil {
		return r.used
	}
	return 0
}

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
