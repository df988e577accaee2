package congestion

import (
	"math"

	"github.com/hopscope/hopscope/internal/param"
	"github.com/hopscope/hopscope/internal/units"
)

// rttProbe is a control by probes of the round trip after the template that NVIDIA publishes for
// programmable congestion control (DOCA PCC, "RTT template"). It is not the algorithm that its
// cards ship with, which is not published. On the answer to a probe, with u the decrease:
//
//	a NACK was heard and RTT >= max_delay: rate * (1 - 5u)
//	else a CNP was heard or RTT >= max_delay: rate * (1 - 2u)
//	else RTT > base_rtt: rate * (1 - u)
//	else rate + step
//
// The next probe leaves at once. One that is not answered is given up after 300 us * 2^k, k the
// number given up in a row. CNPs and NACKs act at the next answer.
func rttProbe() Algorithm {
	return Algorithm{
		Name: "rtt-probe", Title: "RTT probes", Source: "NVIDIA DOCA PCC, RTT template",
		Text: "The card probes the round trip and lowers the rate while it is above the base; CNPs and NACKs make the " +
			"cut deeper.",
		New: func(string) Settings {
			return &probeSettings{u: .1, step: .05, base: 13 * units.Microsecond, longest: 150 * units.Microsecond,
				giveUp: 300 * units.Microsecond, least: math.Ldexp(1, -14)}
		},
	}
}

type probeSettings struct {
	u, step, least        float64
	base, longest, giveUp units.Time
}

func (s *probeSettings) Parameters() []param.Param {
	return []param.Param{
		{Name: "decrease", Value: &s.u, Min: .001, Max: .2,
			Text: "u, the share of the rate that a round trip above the base takes off."},
		{Name: "increase", Value: &s.step, Min: 1e-6, Max: 1, Text: "Step, as a share of the line."},
		{Name: "base_rtt", Value: &s.base, Min: 1e5, Max: 1e12, Text: "Round trips up to it raise the rate."},
		{Name: "max_delay", Value: &s.longest, Min: 1e5, Max: 1e12, Text: "Round trips from it on count as a CNP does."},
		{Name: "give_up", Value: &s.giveUp, Min: 1e6, Max: 1e12,
			Text: "When a probe without an answer is given up for the first time; twice as late each further time in a row."},
		{Name: "min_rate", Value: &s.least, Min: 1e-6, Max: 1, Text: "Lowest rate, as a share of the line."},
	}
}

func (s *probeSettings) Check() (key, message string) {
	if s.longest <= s.base {
		return "max_delay", "max_delay " + s.longest.String() + " is not above base_rtt " + s.base.String() + "; give " +
			"a longer time"
	}
	return "", ""
}

func (s *probeSettings) Needs() Needs { return Needs{CNP: true, Probes: true} }

func (s *probeSettings) Start(l *Link) RateController {
	return &probeFlow{p: s, line: l.Line, rate: l.Initial, expires: units.Never}
}

// probeFlow is the state of one queue pair.
type probeFlow struct {
	p          *probeSettings
	line, rate units.Rate
	underWay   bool
	expires    units.Time // when the probe under way is given up
	given      int        // up, in a row
	cnp, nack  bool       // heard since the latest answer
	wanted     bool       // a probe is to leave
	sentAt     units.Time // of the packet sent latest
	cause      Cause
}

// maxGivenUp bounds the doubling of the time after which a probe is given up.
const maxGivenUp = 10

func (c *probeFlow) OnSend(s *Sending) {
	c.sentAt = s.Now
	if !c.underWay {
		c.wanted = true
	}
}

func (c *probeFlow) OnFeedback(f *Feedback) {
	switch f.Kind {
	case Notified:
		c.cnp = true
	case Nacked, TimedOut:
		c.nack = true
	case Answered:
		if !c.underWay {
			return // given up before
		}
		c.answered(f.Now - f.Stamps.Start)
		c.underWay, c.given, c.expires = false, 0, units.Never
		c.cnp, c.nack = false, false
		c.wanted = true
	}
}

// answered follows a round trip.
func (c *probeFlow) answered(rtt units.Time) {
	slow := rtt >= c.p.longest
	cut := 0.0
	switch {
	case c.nack && slow:
		cut, c.cause = 5*c.p.u, ByLoss
	case c.cnp || slow:
		cut, c.cause = 2*c.p.u, ByMark
		if !c.cnp {
			c.cause = ByDelay
		}
	case rtt > c.p.base:
		cut, c.cause = c.p.u, ByDelay
	default:
		c.rate, c.cause = c.rate+units.Rate(c.p.step*float64(c.line)), ByProgress
	}
	if cut > 0 {
		c.rate = units.Rate(float64(c.rate) * (1 - cut))
	}
	c.rate = min(max(c.rate, units.Rate(c.p.least*float64(c.line)), 1), c.line)
}

func (c *probeFlow) Decide(now units.Time) Decision {
	if c.underWay && now >= c.expires {
		c.underWay, c.expires, c.wanted = false, units.Never, true
		c.given = min(c.given+1, maxGivenUp)
	}
	d := Decision{Rate: c.rate, Cause: c.cause, Probe: c.wanted && !c.underWay}
	if d.Probe {
		c.underWay, c.wanted = true, false
		c.expires = now + c.p.giveUp<<c.given
	}
	d.Again = c.expires
	return d
}

// Target is the base round trip.
func (s *probeSettings) Target(int) (key string, t units.Time) { return "base_rtt", s.base }
