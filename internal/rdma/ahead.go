package rdma

// A card reads payload from memory before it sends it. What it will be asked for,
// in what order, follows from the queue pair's state alone.

// Place is a packet that a requester sends when its turn comes.
type Place struct {
	seq  uint64
	work uint32
}

// Before reports whether p comes before o.
func (p Place) Before(o Place) bool { return p.seq < o.seq }

// Key numbers the packet among all that the queue pair sends a first time.
func (p Place) Key() uint64 { return p.seq }

// Work is the ordinal of the packet's work request among those posted, modulo 2^32.
func (p Place) Work() uint32 { return p.work }

// NextPlace is the place of the next packet that is not sent again alone.
func (q *QP) NextPlace() Place { return Place{q.nxt, q.cur} }

// PayloadAt returns the payload of the packet at a place, in bytes, and moves the
// place past it, and past all of a READ or an atomic, which carry none. It does
// neither, and reports false, where the packet belongs to none of the first works
// work requests.
func (q *QP) PayloadAt(at *Place, works uint32) (n uint32, ok bool) {
	if int32(at.work-works) >= 0 || int32(at.work-q.tail) >= 0 {
		return 0, false
	}
	w := q.at(at.work)
	if w.reads() {
		at.seq, at.work = w.end(), at.work+1
		return 0, true
	}
	n = q.payload(w, at.seq)
	if at.seq++; at.seq == w.end() {
		at.work++
	}
	return n, true
}

// EndAt is where the payload of the packet at a place ends, counted in bytes over all
// work requests posted; it is neither a READ nor an atomic.
func (q *QP) EndAt(at Place) int64 {
	w := q.at(at.work)
	return int64(w.base) + int64(at.seq-w.first)*int64(q.cfg.MTU) + int64(q.payload(w, at.seq))
}

// Released is the payload before the first packet that may still be sent, a first time
// or again, counted likewise.
func (q *QP) Released() int64 {
	switch {
	case q.service == RC:
		return int64(q.unaBytes)
	case q.cur == q.tail:
		return int64(q.cold.bytes)
	}
	w := q.at(q.cur)
	return int64(w.base) + int64(q.nxt-w.first)*int64(q.cfg.MTU)
}

// payload is that of packet seq of w, which is no READ or atomic.
func (q *QP) payload(w *wqe, seq uint64) uint32 {
	mtu := uint32(q.cfg.MTU)
	return min(mtu, w.bytes-uint32(seq-w.first)*mtu)
}

// MissingFrom returns the first packet at or behind a number that waits to be sent
// again alone, and its payload: that of a request for a READ is 0.
func (q *QP) MissingFrom(from uint64) (seq uint64, n uint32, ok bool) {
	s := q.cold.score
	if q.need == 0 {
		return 0, 0, false
	}
	for seq = max(from, s.next); seq < s.top; seq++ {
		if !s.at(seq).need {
			continue
		}
		if w := q.at(q.message(seq)); !w.reads() {
			n = q.payload(w, seq)
		}
		return seq, n, true
	}
	return 0, 0, false
}

// AnswerAhead returns the payload of the k-th response from now, from 0, in bytes,
// and a number that no other response has: one that is sent again has another. An
// atomic's is the value before.
func (q *QP) AnswerAhead(k uint32) (key uint64, n uint32, ok bool) {
	x := q.cold.answers
	if !q.answering {
		return 0, 0, false
	}
	mtu := uint32(q.cfg.MTU)
	for i := range x.n {
		j := x.at(i)
		packets := uint32(psnDiff(j.end, j.psn))
		if k >= packets {
			k -= packets
			continue
		}
		key = uint64(j.origin)<<24 | uint64((j.psn+k)&psnMask)
		if j.atomic {
			return key, uint32(AtomicBytes), true
		}
		return key, min(mtu, j.left-k*mtu), true
	}
	return 0, 0, false
}

// Intake is what a responder has taken up so far; see Kept.
type Intake struct {
	delivered       int64
	held, discarded uint32
}

// Intake returns what the responder has taken up so far.
func (q *QP) Intake() Intake { return Intake{q.delivered, q.held, q.cold.discarded} }

// Kept reports whether the payload of the request just received goes to memory: it
// was accepted, or is kept until what is missing before it comes. before is the
// Intake from before it.
func (q *QP) Kept(before Intake, payload uint32) bool {
	switch {
	case payload == 0:
		return false
	case q.service == RC:
		return q.delivered > before.delivered || q.held > before.held
	}
	return q.cold.discarded == before.discarded
}
