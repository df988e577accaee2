package rdma

// Warm reads one word of each cache line that the next packet of the queue pair
// touches, so that a caller with several of them at hand has their misses
// overlap. The sum means nothing.
func (q *QP) Warm() uint64 {
	return q.una + uint64(q.gapBytes) + uint64(q.winNow) + uint64(q.epsn) + uint64(q.delivered) +
		uint64(q.conn) + uint64(q.cc.MinRate)
}
