package scenario

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// ns3Modes are the simulators' congestion controls, by CC_MODE.
func ns3Modes() []ns3Mode {
	return []ns3Mode{
		{1, "DCQCN", "", rdma.GapFixed, nil},
		{3, "HPCC", "hpcc", rdma.GapRestarts, (*resolver).ns3HPCC},
		{7, "TIMELY", "timely", rdma.GapFixed, (*resolver).ns3TIMELY},
		{8, "DCTCP", "dctcp", rdma.GapFixed, (*resolver).ns3DCTCP},
		{10, "HPCC-PINT", "", rdma.GapFixed, nil},
	}
}

// ns3Mode is one of them.
type ns3Mode struct {
	number    int64
	name      string
	algorithm string // in the registry; "": DCQCN, or not built
	gap       rdma.GapRule
	read      func(r *resolver, c *ns3Config, p *congestion.Control)
}

// ns3ModeOf is the one that a config file asks for.
func (r *resolver) ns3ModeOf(c *ns3Config) (m ns3Mode) {
	number := c.number("CC_MODE", "1", 0, 1000)
	if r.d.err != nil {
		return m
	}
	const use = "use 1 (DCQCN), 3 (HPCC), 7 (TIMELY) or 8 (DCTCP), or ENABLE_QCN 0 for none"
	for _, m := range ns3Modes() {
		if m.number != number {
			continue
		}
		if m.number != 1 && m.algorithm == "" {
			r.d.fail(c.word("CC_MODE", "").Pos, "CC_MODE %d (%s) is not built yet; %s", number, m.name, use)
		}
		return m
	}
	r.d.fail(c.word("CC_MODE", "").Pos, "CC_MODE %d is no mode of those simulators; %s", number, use)
	return m
}

// ns3Controller fills the congestion control of a mode other than DCQCN's.
func (r *resolver) ns3Controller(c *ns3Config) {
	m := r.ns3ModeOf(c)
	if r.d.err != nil || m.algorithm == "" {
		return
	}
	a := r.registry().Find(m.algorithm)
	preset := ""
	if len(a.Presets) > 0 {
		preset = "ns3"
	}
	p := a.NewControl(preset)
	p.Set("min_rate", float64(r.d.ns3Rate(c.word("MIN_RATE", "100Mb/s"), "MIN_RATE")))
	m.read(r, c, p)
	if r.d.err != nil || !c.flag("ENABLE_QCN", "1") {
		return
	}
	if key, err := p.Validate(); err != nil {
		r.d.fail(pos{}, "CC_MODE %d: %s: %v", m.number, key, err)
		return
	}
	// Headers in their order take 12 bytes of an ACK, and padding fills those to 60 in all.
	told := p.Settings.Needs().WireBytes()
	r.v.Control, r.ns3Gap = p, m.gap
	r.v.Wire.Data, r.v.Wire.Ack = wire.NS3.Data+told, max(wire.NS3.Ack, 46+told)
	r.ns3RoundTrips(c)
}

// ns3RoundTrips gives each connection the round trip that those simulators know: the longest of all
// pairs, or with GLOBAL_T 0 that of its own.
func (r *resolver) ns3RoundTrips(c *ns3Config) {
	own := func(a, b int) units.Time {
		t, _, err := ns3BaseRTT(r.v.Graph, r.v.Routes, a, b, r.mtu)
		if err != nil {
			return 0 // no flow runs between them
		}
		return t
	}
	longest, reps := units.Time(0), r.ns3Representatives()
	for _, a := range reps {
		for _, b := range reps {
			if a != b {
				longest = max(longest, own(a, b))
			}
		}
	}
	global := c.flag("GLOBAL_T", "1")
	r.v.BaseRTTs = make([]units.Time, len(r.v.Plan.Conns))
	for i := range r.v.Plan.Conns {
		r.v.BaseRTTs[i] = longest
		if !global {
			r.v.BaseRTTs[i] = own(r.v.Plan.Conns[i].Src, r.v.Plan.Conns[i].Dst)
		}
	}
}

func (r *resolver) ns3HPCC(c *ns3Config, p *congestion.Control) {
	if !c.flag("HAS_WIN", "0") {
		r.d.fail(c.word("HAS_WIN", "").Pos, "CC_MODE 3 divides by the window, and HAS_WIN 0 gives none; use HAS_WIN 1")
	}
	p.Set("ai_rate", float64(r.d.ns3Rate(c.word("RATE_AI", "5Mb/s"), "RATE_AI")))
	p.Set("eta", r.d.decimal(c.word("U_TARGET", "0.95"), "U_TARGET", 1))
	p.Set("max_stage", float64(c.number("MI_THRESH", "5", 0, 1000)))
	p.Set("int_scale", float64(c.number("INT_MULTI", "1", 1, 64)))
	p.Set("fast_react", truth(c.flag("FAST_REACT", "1")))
	p.Set("multi_rate", truth(c.flag("MULTI_RATE", "1")))
	p.Set("sample_feedback", truth(c.flag("SAMPLE_FEEDBACK", "0")))
	p.Set("window", 0) // HAS_WIN and VAR_WIN say it
}

func (r *resolver) ns3TIMELY(c *ns3Config, p *congestion.Control) {
	p.Set("ai_rate", float64(r.d.ns3Rate(c.word("RATE_AI", "5Mb/s"), "RATE_AI")))
	p.Set("hai_rate", float64(r.d.ns3Rate(c.word("RATE_HAI", "50Mb/s"), "RATE_HAI")))
}

func (r *resolver) ns3DCTCP(c *ns3Config, p *congestion.Control) {
	p.Set("ai_rate", float64(r.d.ns3Rate(c.word("DCTCP_RATE_AI", "1000Mb/s"), "DCTCP_RATE_AI")))
	p.Set("window", 0) // HAS_WIN and VAR_WIN say it
	p.Set("g", r.d.decimal(c.word("EWMA_GAIN", "0.00390625"), "EWMA_GAIN", 1))
}

// truth is 1 for true.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// ns3Told says how many bytes packets have for their congestion control.
func (r *resolver) ns3Told() string {
	if n := r.needs().WireBytes(); n > 0 {
		return fmt.Sprintf(", %d B of telemetry in each packet and ACK", n)
	}
	return ""
}
