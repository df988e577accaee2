package scenario

import (
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
)

// adaptiveTimeoutKey is true, false or a section, which stands for true.
func adaptiveTimeoutKey(t *rdma.AdaptiveTimeout) key {
	inner := rdma.DefaultAdaptiveTimeout()
	return sectionKey("adaptive_timeout", []key{
		timeKey("min", &inner.Min, "The shortest timeout; at least 4us.").within(int64(rdma.MinAdaptiveTimeout), int64(units.Never), "is shorter than firmware allows; give 4us or more"),
		numberKey("spread", &inner.Spread, 1, 16, "How many timeouts, from `min` on, a connection's first is drawn from."),
		numberKey("retries", &inner.Retries, 1, 16, "How often a timeout expires before it doubles."),
		choiceKey("decrease", &inner.Decrease, []string{"half", "quarter", "reset"}, []int{2, 4, 0}, "How the timeout shrinks after a round without one; `reset`: to `min`."),
	}, "Retransmission timeouts that begin short and double, by NVIDIA's rules. `timeout` is the longest, and `retry` times that the longest time without progress "+
		"([rc](../models/rc.md#adaptive-timer-and-slow-restart)).").
		orFlag(func(on bool) {
			*t = rdma.AdaptiveTimeout{}
			if on {
				*t = inner
			}
		}).finish(func(object) { *t = inner })
}

// slowRestartKey is true, false or a section, which stands for true.
func slowRestartKey(s *rdma.SlowRestart) key {
	inner := rdma.SlowRestart{On: true}
	return sectionKey("slow_restart", []key{
		timeKey("idle", &inner.Idle, "After this time without anything outstanding a sender begins with a small window too.").otherwise("never").
			nonzero("is no time; give one such as 100us, or leave it out to restart slowly after timeouts only"),
	}, "After a timeout one packet may be outstanding, then twice as many per round trip.").
		orFlag(func(on bool) { *s = rdma.SlowRestart{On: on} }).finish(func(object) { *s = inner })
}

// adapt gives a transport profile the adaptive timer and the slow restart of s. The
// timeout caps the timer, as in firmware; a shortest one that is given must be below.
func (r *resolver) adapt(s *nicSettings, c *rdma.Config) {
	c.SlowRestart = s.slow
	if s.adaptive.Min == 0 || c.Timeout == 0 || c.TimeoutLow > 0 {
		return // see notAdaptive
	}
	c.Adaptive = s.adaptive
	if c.Adaptive.Min > c.Timeout {
		if s.obj.n != nil && s.obj.gives("adaptive_timeout.min") {
			r.d.fail(s.obj.at("adaptive_timeout"), "the shortest timeout, %v, is longer than the timeout of %v, which is the longest; give a smaller min or a larger timeout",
				s.adaptive.Min, c.Timeout)
		}
		c.Adaptive.Min = c.Timeout
	}
}

// notAdaptive says why there is no timer that could adapt.
func notAdaptive(s *nicSettings) string {
	switch {
	case s.adaptive.Min == 0:
	case s.recovery == irn:
		return "irn has two timeouts of its own; give recovery: selective-repeat or go-back-n"
	case s.timeout == 0:
		return "timeout 0 is no timer; give a timeout from 1 to 31"
	}
	return ""
}
