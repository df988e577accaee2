package rdma

// Upcoming tells where the payload of the next packet lies in local memory: its
// address and length in bytes. A requester's buffer is laid out as the remote one
// is; a responder reads what READs ask for. Nothing (n is 0) of requests that carry
// none, and while packets to send again come first.
func (q *QP) Upcoming() (va uint64, n uint32) {
	mtu := uint32(q.cfg.MTU)
	if q.answering {
		if x := q.cold.answers; x.n > 0 {
			return x.at(0).va, min(x.at(0).left, mtu)
		}
		return 0, 0
	}
	if q.need > 0 || q.nxt >= q.end {
		return 0, 0
	}
	w := q.at(q.cur)
	off := uint64(q.nxt-w.first) * uint64(mtu)
	if w.verb >= Read || off >= uint64(w.bytes) {
		return 0, 0
	}
	return w.va + off, uint32(min(uint64(w.bytes)-off, uint64(mtu)))
}

// Landing tells where the payload of the READ response with a PSN goes in the
// requester's buffer, which is laid out as the remote one is. ok is false where no
// READ waits for it.
func (q *QP) Landing(psn uint32) (va uint64, ok bool) {
	seq := uint64(int64(q.una) + psnDiff(psn, uint32(q.una)))
	if !q.reading || int64(seq-q.una) < 0 || int64(seq-q.high) >= 0 {
		return 0, false
	}
	w := q.at(q.message(seq))
	return w.va + (seq-w.first)*uint64(q.cfg.MTU), w.verb == Read
}
