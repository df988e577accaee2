package congestion

import (
	"github.com/hopscope/hopscope/internal/param"
	"github.com/hopscope/hopscope/internal/units"
)

// timely is TIMELY (SIGCOMM 2015): the card measures round trips, and the sender follows their
// gradient.
//
//	diff = (1 - alpha) diff + alpha (RTT - RTT before);  g = diff / min_rtt
//	RTT < low: rate + step;  RTT > high: rate * (1 - beta (1 - high/RTT))
//	g <= 0: rate + n * step, n 5 after 5 such samples in a row, else 1;  else rate * (1 - beta g)
//
// The patched form ("ECN or Delay", CoNEXT 2016) has one fixed point where the original keeps any
// split: between the thresholds, with w = clamp(2 g + 1/2, 0, 1),
//
//	rate = (1 - w) (rate + step) + w rate (1 - beta (RTT - low)/low)
func timely() Algorithm {
	return Algorithm{
		Name: "timely", Title: "TIMELY", Source: "TIMELY, SIGCOMM 2015",
		Text: "The card measures round trips, and the sender follows their gradient.",
		Presets: []ValueSet{
			{Name: "paper", Text: "As published.", Source: "TIMELY, SIGCOMM 2015; thresholds of the ns-3 RDMA simulators"},
			{Name: "patched", Text: "With one fixed point.", Source: "ECN or Delay, CoNEXT 2016"},
			{Name: "ns3",
				Text:   "As the ns-3 RDMA simulators have it: a sample per round trip, and a step of its own after 5.",
				Source: "ns-3 RDMA simulators, CC_MODE 7"},
		},
		New: func(preset string) Settings {
			s := &timelySettings{alpha: .875, beta: .8, low: 50 * units.Microsecond, high: 500 * units.Microsecond,
				minRTT: 20 * units.Microsecond, after: 5, segment: 16 * units.KB, minRate: 10 * units.Mbps}
			switch preset {
			case "patched":
				s.patched, s.beta = true, .008
			case "ns3":
				s.segment, s.step, s.hyper, s.minRate, s.serialised = 0, 50*units.Mbps, 100*units.Mbps, 100*units.Mbps, true
			}
			return s
		},
	}
}

type timelySettings struct {
	alpha, beta       float64
	low, high, minRTT units.Time
	step, hyper       units.Rate
	after             int
	segment           units.Bytes
	minRate           units.Rate
	patched           bool
	serialised        bool
}

func (s *timelySettings) Parameters() []param.Param {
	return []param.Param{
		{Name: "alpha", Value: &s.alpha, Min: .001, Max: 1, Text: "Weight of the latest difference of two round trips."},
		{Name: "beta", Value: &s.beta, Min: .0001, Max: 1, Text: "Weight of a decrease."},
		{Name: "low", Value: &s.low, Min: 1e5, Max: 1e12, Text: "Round trips below it only raise the rate."},
		{Name: "high", Value: &s.high, Min: 1e5, Max: 1e12, Text: "Round trips above it always lower the rate."},
		{Name: "min_rtt", Value: &s.minRTT, Min: 1e5, Max: 1e12, Text: "What gradients are measured in."},
		{Name: "ai_rate", Value: &s.step, Min: 1e5, Max: 1e11, Text: "Step of an increase.",
			Zero: "a thousandth of the line, which is the paper's 10 Mb/s at 10 Gb/s"},
		{Name: "hai_rate", Value: &s.hyper, Min: 1e5, Max: 1e11, Zero: "five times `ai_rate`",
			Text: "Step after `hai_after` increases in a row."},
		{Name: "hai_after", Value: &s.after, Min: 1, Max: 1000, Text: "Increases in a row before the step grows."},
		{Name: "segment", Value: &s.segment, Min: 256, Max: 1e6, Zero: "one round trip",
			Text: "Payload between two samples, which are `min_rtt` apart at least; the paper has 16 to 64 KB."},
		{Name: "min_rate", Value: &s.minRate, Min: 1e5, Max: 1e11, Text: "Lowest rate."},
		{Name: "patched", Value: &s.patched,
			Text: "Between the thresholds the form with one fixed point.", Source: "ECN or Delay, CoNEXT 2016"},
		{Name: "with_serialisation", Value: &s.serialised,
			Text: "Round trips count from a packet's first bit, else from its last."},
	}
}

func (s *timelySettings) Check() (key, message string) {
	if s.high <= s.low {
		return "high", "high " + s.high.String() + " is not above low " + s.low.String() + "; give a longer time"
	}
	return "", ""
}

func (s *timelySettings) Needs() Needs { return Needs{Stamps: true, EveryAck: true} }

func (s *timelySettings) Start(l *Link) RateController {
	c := &timelyFlow{p: s, line: l.Line, rate: l.Initial, step: s.step, hyper: s.hyper}
	if c.step == 0 {
		c.step = max(1, l.Line/1000)
	}
	if c.hyper == 0 {
		c.hyper = 5 * c.step
	}
	return c
}

// timelyFlow is the state of one queue pair.
type timelyFlow struct {
	p      *timelySettings
	line   units.Rate
	rate   units.Rate
	step   units.Rate
	hyper  units.Rate
	diff   float64 // of round trips, smoothed, in ps
	before units.Time
	at     units.Time // of the latest sample
	begun  bool
	next   uint64 // payload acknowledged from which the next sample is taken
	stage  int
	cause  Cause
}

func (c *timelyFlow) OnSend(*Sending) {}

func (c *timelyFlow) OnFeedback(f *Feedback) {
	if f.Kind != Acked && f.Kind != Nacked || f.Stamps.Start == f.Stamps.Out || f.Acked <= c.next {
		return
	}
	if c.begun && c.p.segment > 0 && f.Now-c.at < c.p.minRTT {
		return // "ECN or Delay": a sample per segment, at most one per min_rtt
	}
	c.at = f.Now
	rtt := f.Stamps.RTT(f.Now)
	if c.p.serialised {
		rtt = f.Now - f.Stamps.Start
	}
	if c.begun {
		c.sample(rtt)
	}
	c.begun, c.before = true, rtt
	c.next = f.Acked + uint64(c.p.segment) - 1
	if c.p.segment == 0 {
		c.next = f.Sent
	}
}

// sample follows one round trip.
func (c *timelyFlow) sample(rtt units.Time) {
	p := c.p
	c.diff = float64((1-p.alpha)*c.diff) + float64(p.alpha*float64(rtt-c.before))
	g := c.diff / float64(p.minRTT)
	was := c.rate
	switch {
	case rtt < p.low:
		c.raise()
	case rtt > p.high:
		c.lower(1 - p.beta*(1-float64(p.high)/float64(rtt)))
	case p.patched:
		w := min(max(2*g+.5, 0), 1)
		e := float64(rtt-p.low) / float64(p.low)
		r := float64(c.rate)
		c.rate = units.Rate(float64((1-w)*(r+float64(c.step))) + float64(w*r*(1-p.beta*e)))
	case g <= 0:
		c.raise()
	default:
		c.lower(max(0, 1-p.beta*g))
	}
	c.rate = min(max(c.rate, p.minRate), c.line)
	c.cause = ByProgress
	if c.rate < was {
		c.cause = ByDelay
	}
}

func (c *timelyFlow) raise() {
	step := c.step
	if c.stage >= c.p.after {
		step = c.hyper
	}
	c.rate += step
	c.stage++
}

func (c *timelyFlow) lower(factor float64) {
	c.rate = units.Rate(float64(c.rate) * factor)
	c.stage = 0
}

func (c *timelyFlow) Decide(units.Time) Decision {
	return Decision{Rate: c.rate, Again: units.Never, Cause: c.cause}
}

// Target is the upper threshold: between both the slope of round trips counts, which is 0 on an idle path.
func (s *timelySettings) Target(int) (key string, t units.Time) { return "high", s.high }
