package rdma

// Upcoming tells where the payload of the next new request lies in its local
// buffer, which is laid out as the remote one is: its address and length in
// bytes. Nothing (n is 0) of READs and atomics, which carry none, and while
// responses or packets to send again come first.
func (q *QP) Upcoming() (va uint64, n uint32) {
	if q.answering || q.need > 0 || q.nxt >= q.end {
		return 0, 0
	}
	w := q.at(q.cur)
	off := uint64(q.nxt-w.first) * uint64(q.cfg.MTU)
	if w.verb >= Read || off >= uint64(w.bytes) {
		return 0, 0
	}
	return w.va + off, uint32(min(uint64(w.bytes)-off, uint64(q.cfg.MTU)))
}
