package nic

import "github.com/hopscope/hopscope/internal/units"

// RateAt is the rate of queue pair q at now, and the lowest it had so far; 0
// while it has not been used. It changes nothing.
func (h *Host) RateAt(now units.Time, q uint32) (rate, least units.Rate) {
	if s := &h.qps[q]; s.qp != nil {
		return s.qp.RateAt(now)
	}
	return 0, 0
}

// DeliveredTo is the payload that queue pair q took in order: as responder, and of READ
// responses as requester.
func (h *Host) DeliveredTo(q uint32) int64 {
	if s := &h.qps[q]; s.qp != nil {
		return s.payload()
	}
	return 0
}
