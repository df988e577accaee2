package congestion

import (
	"github.com/hopscope/hopscope/internal/param"
	"github.com/hopscope/hopscope/internal/units"
)

// dctcpRate is DCTCP for RDMA, in its form with rates (ns-3 RDMA simulators, CC_MODE 8):
//
//	alpha = (1 - g) alpha + g F once per window, F the share of marked acknowledgements
//	rate  = rate (1 - alpha/2) at a mark, at most once per window
//	rate  = rate + step once per window without a cut
//
// Beside the rate stands a window of rate * RTT, so that a queue slows what makes it at once. A step takes the
// place of TCP's packet: what it adds to a window is step * RTT.
func dctcpRate() Algorithm {
	return Algorithm{
		Name: "dctcp", Title: "DCTCP", Source: "ns-3 RDMA simulators, CC_MODE 8; DCTCP, SIGCOMM 2010",
		Text: "Every ACK says whether its packet was marked, and rates shrink by the share of marks.",
		New: func(string) Settings {
			return &dctcpSettings{g: 1. / 16, step: 1000 * units.Mbps, minRate: 100 * units.Mbps, window: true}
		},
	}
}

type dctcpSettings struct {
	g             float64
	step, minRate units.Rate
	window        bool
}

func (s *dctcpSettings) Parameters() []param.Param {
	return []param.Param{
		{Name: "g", Value: &s.g, Min: 1e-6, Max: 1, Text: "Weight of the latest window in alpha.", Source: "RFC 8257 4.2"},
		{Name: "ai_rate", Value: &s.step, Min: 1e6, Max: 1e11, Text: "Step of an increase, once per window."},
		{Name: "min_rate", Value: &s.minRate, Min: 1e6, Max: 1e11, Text: "Lowest rate."},
		{Name: "window", Value: &s.window, Text: "A window of rate * RTT, the idle path's, beside the rate."},
	}
}

func (s *dctcpSettings) Check() (key, message string) { return "", "" }

func (s *dctcpSettings) Needs() Needs { return Needs{Echo: true, Step: true, EveryAck: true} }

func (s *dctcpSettings) Start(l *Link) RateController {
	return &dctcpFlow{p: s, line: l.Line, mtu: uint64(l.MTU), rate: l.Initial, alpha: 1, bdp: max(l.BDP(), int64(l.MTU))}
}

// dctcpFlow is the state of one queue pair.
type dctcpFlow struct {
	p      *dctcpSettings
	line   units.Rate
	mtu    uint64
	rate   units.Rate
	alpha  float64
	bdp    int64
	marked uint64 // acknowledgements of this window that told of a mark
	acks   uint64 // that it has in all
	end    uint64 // payload sent when it began
	begun  bool
	cut    bool   // within a window after a cut
	cutEnd uint64 // payload sent when that was
	cause  Cause
}

func (c *dctcpFlow) OnSend(*Sending) {}

func (c *dctcpFlow) OnFeedback(f *Feedback) {
	if f.Kind != Acked && f.Kind != Nacked {
		return
	}
	marked := f.Fate == Marked
	if marked {
		c.marked++
	}
	over := f.Acked > c.end
	if over {
		if c.begun {
			share := min(1, float64(c.marked)/float64(c.acks))
			c.alpha = float64((1-c.p.g)*c.alpha) + float64(c.p.g*share)
			c.marked = 0
			c.acks = (f.Sent-f.Acked)/c.mtu + 1
		} else {
			c.begun, c.acks = true, f.Sent/c.mtu+1
		}
		c.end = f.Sent
	}
	if c.cut && f.Acked > c.cutEnd {
		c.cut = false
	}
	if marked && !c.cut {
		c.rate = max(c.p.minRate, units.Rate(float64(c.rate)*(1-c.alpha/2)))
		c.cut, c.cutEnd, c.cause = true, f.Sent, ByMark
	}
	if !c.cut && over {
		c.rate, c.cause = min(c.line, c.rate+c.p.step), ByProgress
	}
}

func (c *dctcpFlow) Decide(units.Time) Decision {
	d := Decision{Rate: c.rate, Again: units.Never, Cause: c.cause}
	if c.p.window {
		d.Window = max(1, scaled(c.bdp, int64(c.rate), int64(c.line)))
	}
	return d
}
