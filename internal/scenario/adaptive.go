package scenario

import (
	"github.com/hopscope/hopscope/internal/rdma"
)

// switchable reads a key that is true, false or a section, which stands for true.
func switchable(parent object, key string, keys ...string) (o object, on, given bool) {
	v := parent.n.get(key)
	if v != nil && v.kind == mappingNode || parent.describing() {
		o = parent.object(key, keys...)
	}
	if v != nil && v.kind == mappingNode {
		return o, true, true
	}
	given = parent.boolean(key, &on)
	return o, on, given
}

// readAdaptiveTimeout reads adaptive_timeout.
func readAdaptiveTimeout(parent object, t *rdma.AdaptiveTimeout) {
	o, on, given := switchable(parent, "adaptive_timeout", "min", "spread", "retries", "decrease")
	if given {
		*t = rdma.AdaptiveTimeout{}
	}
	if on {
		*t = rdma.DefaultAdaptiveTimeout()
	}
	if o.n == nil {
		return
	}
	if o.time("min", &t.Min) && t.Min < rdma.MinAdaptiveTimeout {
		o.fail("min", "%v is shorter than firmware allows; give 4us or more", t.Min)
	}
	o.integer("spread", &t.Spread, 1, 16)
	o.integer("retries", &t.Retries, 1, 16)
	decrease := ""
	if o.word("decrease", &decrease, "half", "quarter", "reset") {
		t.Decrease = map[string]int{"half": 2, "quarter": 4, "reset": 0}[decrease]
	}
}

// readSlowRestart reads slow_restart.
func readSlowRestart(parent object, s *rdma.SlowRestart) {
	o, on, given := switchable(parent, "slow_restart", "idle")
	if given {
		*s = rdma.SlowRestart{On: on}
	}
	if o.n == nil {
		return
	}
	if o.time("idle", &s.Idle) && s.Idle == 0 {
		o.fail("idle", "0 is no time; give one such as 100us, or leave it out to restart slowly after timeouts only")
	}
}

// adapt gives a transport profile the adaptive timer and the slow restart of s. The
// timeout caps the timer, as in firmware; a shortest one that is given must be below.
func (r *resolver) adapt(s *nicSettings, c *rdma.Config) {
	c.SlowRestart = s.slow
	if s.adaptive.Min == 0 || c.Timeout == 0 || c.TimeoutLow > 0 {
		return // see warnNotAdaptive
	}
	c.Adaptive = s.adaptive
	if c.Adaptive.Min > c.Timeout {
		if s.obj.n != nil && s.obj.gives("adaptive_timeout.min") {
			r.d.fail(s.obj.keyPos("adaptive_timeout"), "the shortest timeout, %v, is longer than the timeout of %v, which is the longest; give a smaller min or a larger timeout",
				s.adaptive.Min, c.Timeout)
		}
		c.Adaptive.Min = c.Timeout
	}
}

// warnNotAdaptive warns where there is no timer that could adapt.
func (r *resolver) warnNotAdaptive(s *nicSettings) {
	switch {
	case s.adaptive.Min == 0 || s.obj.n == nil:
	case s.recovery == irn:
		r.ignored(s.obj, "adaptive_timeout", "irn has two timeouts of its own; give recovery: selective-repeat or go-back-n")
	case s.timeout == 0:
		r.ignored(s.obj, "adaptive_timeout", "timeout 0 is no timer; give a timeout from 1 to 31")
	}
}
