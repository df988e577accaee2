package rdma

import "github.com/hopscope/hopscope/internal/units"

// RateAt is the sending rate at now and the lowest so far. Unlike Rate it works
// on a copy of the reaction point, so that looking never changes anything.
func (q *QP) RateAt(now units.Time) (rate, least units.Rate) {
	if q.hasIB {
		ib := *q.cold.extras.ib
		rate = ib.Rate(now)
		return rate, ib.MinRate
	}
	if q.steered {
		return q.cold.extras.steer.allowed(q.line), q.cold.extras.steer.least
	}
	if !q.hasCC {
		return q.line, q.line
	}
	cc := q.cc
	rate = cc.Rate(q.cfg.CC, now)
	return rate, cc.MinRate
}

// WindowNow is how many bytes of payload may be unacknowledged; 0: nothing limits them.
func (q *QP) WindowNow() int64 {
	w := int64(0)
	if q.window > 0 {
		w = q.winNow
	}
	if q.maxOut < maxOutstanding {
		if packets := int64(q.maxOut) * int64(q.cfg.MTU); w == 0 || packets < w {
			w = packets
		}
	}
	return w
}
