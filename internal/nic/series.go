package nic

import "github.com/hopscope/hopscope/internal/units"

// RateAt is the rate of queue pair q at now, and the lowest it had so far; 0
// while it has not been used. Of a TCP connection it is the congestion window over
// the smoothed round trip, now. It changes nothing.
func (h *Host) RateAt(now units.Time, q uint32) (rate, least units.Rate) {
	if !h.qps[q].opened() {
		return 0, 0
	}
	return h.end(q).rate(now, q)
}

// WindowOf is how many bytes queue pair q, or a TCP connection, may have unacknowledged; 0:
// nothing limits them, or it has not been used.
func (h *Host) WindowOf(q uint32) int64 {
	if !h.qps[q].opened() {
		return 0
	}
	return h.end(q).window(q)
}

// DeliveredTo is the payload that queue pair q took in order: as responder, and of READ
// responses as requester; of a TCP connection what its application read.
func (h *Host) DeliveredTo(q uint32) int64 {
	if !h.qps[q].opened() {
		return 0
	}
	return h.end(q).taken(q)
}
