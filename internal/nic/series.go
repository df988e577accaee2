package nic

import "github.com/hopscope/hopscope/internal/units"

// RateAt is the rate of queue pair q at now, and the lowest it had so far; 0
// while it has not been used. Of a TCP connection it is the congestion window over
// the smoothed round trip, now. It changes nothing.
func (h *Host) RateAt(now units.Time, q uint32) (rate, least units.Rate) {
	switch s := &h.qps[q]; {
	case s.qp != nil:
		return s.qp.RateAt(now)
	case s.stream != nil:
		info := s.stream.conn.Info()
		rate = windowRate(info.Cwnd, info.SRTT, h.net.Rate(h.ports[s.port].fabricPort))
		return rate, rate
	}
	return 0, 0
}

// WindowOf is how many bytes queue pair q, or a TCP connection, may have unacknowledged; 0:
// nothing limits them, or it has not been used.
func (h *Host) WindowOf(q uint32) int64 {
	switch s := &h.qps[q]; {
	case s.qp != nil:
		return s.qp.WindowNow()
	case s.stream != nil:
		return s.stream.conn.Info().Cwnd
	}
	return 0
}

// DeliveredTo is the payload that queue pair q took in order: as responder, and of READ
// responses as requester.
func (h *Host) DeliveredTo(q uint32) int64 {
	return h.qps[q].payload()
}
