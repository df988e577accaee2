package congestion

import (
	"github.com/hopscope/hopscope/internal/param"
	"github.com/hopscope/hopscope/internal/units"
)

// DCQCN behind the contract. The transport keeps a DCQCN in each queue pair and calls it without
// going through RateController, as nearly every queue pair runs it; both ways lead to the same
// times, to the picosecond (internal/rdma, TestDCQCNBehindContract).

// DCQCNControl is DCQCN as an algorithm with those parameters, which the scenario's section dcqcn
// declares.
func DCQCNControl(p *DCQCNParams) *Control {
	a := Algorithm{Name: "dcqcn", Title: "DCQCN",
		Text:   "Receivers answer marked packets by CNPs, which cut rates; timers and bytes raise them.",
		Source: p.source(), New: func(string) Settings { return dcqcnSettings{p} }}
	return &Control{Algorithm: a, Settings: dcqcnSettings{p}, Preset: p.Name, Notification: p}
}

type dcqcnSettings struct{ p *DCQCNParams }

func (s dcqcnSettings) Parameters() []param.Param { return nil }

func (s dcqcnSettings) Check() (key, message string) {
	if err := s.p.Validate(); err != nil {
		return "", err.Error()
	}
	return "", ""
}

func (s dcqcnSettings) Needs() Needs { return Needs{CNP: true} }

func (s dcqcnSettings) Start(l *Link) RateController {
	c := &dcqcnFlow{p: s.p}
	c.d.Init(s.p, l.Line, l.Initial, l.Now)
	return c
}

// dcqcnFlow is a DCQCN with what the contract asks for.
type dcqcnFlow struct {
	p     *DCQCNParams
	d     DCQCN
	cuts  int64
	cause Cause
}

func (c *dcqcnFlow) OnSend(s *Sending) { c.d.OnSend(c.p, s.Now, s.Wire) }

func (c *dcqcnFlow) OnFeedback(f *Feedback) {
	if f.Kind == Notified {
		c.d.OnCNP(c.p, f.Now)
	}
}

func (c *dcqcnFlow) Decide(now units.Time) Decision {
	was := c.d.rate
	rate := c.d.Rate(c.p, now)
	switch {
	case c.d.Cuts.Count > c.cuts:
		c.cuts, c.cause = c.d.Cuts.Count, ByMark
	case rate > was:
		c.cause = ByProgress
	}
	return Decision{Rate: rate, Again: c.d.next, Cause: c.cause}
}
