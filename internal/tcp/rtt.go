package tcp

import "github.com/hopscope/hopscope/internal/units"

// estimator is the round-trip estimate of RFC 6298 in picoseconds; the clock
// granularity G is nothing beside that.
type estimator struct {
	srtt, rttvar, min units.Time
	initial           units.Time // retransmission timeout before the first sample
}

func (e *estimator) init(cfg *Config) {
	*e = estimator{min: units.Never, initial: cfg.InitialRTO}
}

// sample takes one round trip (RFC 6298 2.2, 2.3).
func (e *estimator) sample(r units.Time) {
	r = max(r, 1)
	if e.srtt == 0 {
		e.srtt, e.rttvar = r, r/2
		return
	}
	d := e.srtt - r
	if d < 0 {
		d = -d
	}
	e.rttvar += (d - e.rttvar) / 4
	e.srtt += (r - e.srtt) / 8
	e.srtt = max(e.srtt, 1)
}

// least is the smallest sample; 0 before the first.
func (e *estimator) least() units.Time {
	if e.min == units.Never {
		return 0
	}
	return e.min
}

// rto is the retransmission timeout without back-off.
func (c *Conn) rto() units.Time {
	e := &c.rtt
	if e.srtt == 0 {
		return e.initial
	}
	t := max(e.srtt+4*e.rttvar, c.cfg.MinRTO)
	if c.cfg.MinOnVariance {
		t = e.srtt + max(4*e.rttvar, c.cfg.MinRTO)
	}
	return min(t, c.cfg.MaxRTO)
}

// backedOff is the timeout with back-off (RFC 6298 5.5).
func (c *Conn) backedOff() units.Time {
	t := c.rto()
	for range c.backoff {
		if t >= c.cfg.MaxRTO/2 {
			return c.cfg.MaxRTO
		}
		t *= 2
	}
	return t
}
