package congestion

import (
	"math"

	"github.com/hopscope/hopscope/internal/param"
	"github.com/hopscope/hopscope/internal/units"
)

// hpcc is HPCC: High Precision Congestion Control (SIGCOMM 2019). Switches write how fast each port
// sends and how long its queue is into every packet; the sender aims the busiest hop of the path
// at a utilisation below one:
//
//	u_hop = rate sent / rate of the port + min(queue, queue before) / (port * T)
//	U     = (1 - t/T) U + t/T u of the busiest hop, t the time between the two records, at most T
//	W     = Wc / (U/eta) + WAI   when U >= eta or max_stage steps have only added, else Wc + WAI
//
// Wc follows W once a round trip, and the rate is W/T. The ns-3 RDMA simulators keep the rate
// instead of the window (CC_MODE 3), which is the same with W = rate * T.
func hpcc() Algorithm {
	return Algorithm{
		Name: "hpcc", Title: "HPCC", Source: "HPCC, SIGCOMM 2019; ns-3 RDMA simulators, CC_MODE 3",
		Text: "Switches write their queues and rates into packets (INT); the sender aims its busiest hop at a " +
			"utilisation just below one.",
		Presets: []ValueSet{
			{Name: "paper", Text: "As published.", Source: "HPCC, SIGCOMM 2019"},
			{Name: "ns3",
				Text:   "As the ns-3 RDMA simulators ship it: every step is multiplicative.",
				Source: "ns-3 RDMA simulators, CC_MODE 3"},
		},
		New: func(preset string) Settings {
			s := &hpccSettings{eta: .95, maxStage: 5, ai: 50 * units.Mbps, minRate: 100 * units.Mbps, fastReact: true,
				window: true, scale: 1}
			if preset == "ns3" {
				s.maxStage, s.minRate = 0, 1000*units.Mbps
			}
			return s
		},
	}
}

type hpccSettings struct {
	eta         float64
	maxStage    int
	ai, minRate units.Rate
	baseRTT     units.Time
	fastReact   bool
	window      bool
	multi       bool
	sample      bool
	scale       int
}

func (s *hpccSettings) Parameters() []param.Param {
	return []param.Param{
		{Name: "eta", Value: &s.eta, Min: .5, Max: 1, Text: "Utilisation that the busiest hop is aimed at."},
		{Name: "max_stage", Value: &s.maxStage, Min: 0, Max: 1000,
			Text: "Round trips that may only add before the next one multiplies."},
		{Name: "ai_rate", Value: &s.ai, Min: 1e6, Max: 1e11, Text: "Added per round trip: WAI/T."},
		{Name: "min_rate", Value: &s.minRate, Min: 1e6, Max: 1e11, Text: "Lowest rate."},
		{Name: "base_rtt", Value: &s.baseRTT, Min: 1e5, Max: 1e12, Zero: "the round trip of a full packet on the idle path",
			Text: "T, the round trip without queues."},
		{Name: "fast_react", Value: &s.fastReact,
			Text: "Every ACK sets the rate, from that of the round trip before; else one ACK per round trip does."},
		{Name: "window", Value: &s.window, Text: "The window is rate * T; else the transport's own holds."},
		{Name: "multi_rate", Value: &s.multi,
			Text:   "Each hop has a rate of its own, and the lowest holds; else the busiest hop sets one.",
			Source: "ns-3 RDMA simulators, MULTI_RATE"},
		{Name: "sample_feedback", Value: &s.sample, Text: "Within a round trip only hops with a queue count.",
			Source: "ns-3 RDMA simulators, SAMPLE_FEEDBACK"},
		{Name: "int_scale", Value: &s.scale, Min: 1, Max: 64,
			Text:   "Telemetry counts bytes sent in so many times 128 bytes, and queues in so many times 80.",
			Source: "ns-3 RDMA simulators, INT_MULTI"},
	}
}

func (s *hpccSettings) Check() (key, message string) { return "", "" }

func (s *hpccSettings) Needs() Needs { return Needs{INT: true, INTScale: s.scale, EveryAck: true} }

func (s *hpccSettings) Start(l *Link) RateController {
	c := &hpccFlow{p: s, line: l.Line, t: l.BaseRTT}
	if s.baseRTT > 0 {
		c.t = s.baseRTT
	}
	if c.win = l.Window; c.win == 0 {
		c.win = scaled(int64(l.Line), int64(c.t), 8e12)
	}
	c.rate, c.path = l.Initial, hpccState{u: 1, rate: l.Initial}
	for i := range c.perHop {
		c.perHop[i] = c.path
	}
	return c
}

// hpccState is what one rate has: U, Wc/T and the round trips that only added.
type hpccState struct {
	u     float64
	rate  units.Rate
	stage int
}

// hpccFlow is the state of one queue pair. Rates are in bit/s; the window is rate * T.
type hpccFlow struct {
	p       *hpccSettings
	line    units.Rate
	t       units.Time
	win     int64      // line * T in bytes
	rate    units.Rate // W/T
	path    hpccState
	perHop  [MaxINT]hpccState // in its place with multi_rate
	started bool
	update  uint64 // payload sent when the round trip began that is being measured
	hops    int
	last    [MaxINT]HopRecord
	lastAt  units.Time
	cause   Cause
}

func (c *hpccFlow) OnSend(*Sending) {}

func (c *hpccFlow) OnFeedback(f *Feedback) {
	if f.Kind != Acked && f.Kind != Nacked || len(f.INT) == 0 {
		return
	}
	whole := f.Acked > c.update
	switch {
	case !c.started || len(f.INT) != c.hops || f.Now-c.lastAt >= c.fresh(): // nothing to compare with
		c.keep(f)
		c.started, c.update = true, f.Sent
		return
	case !whole && !c.p.fastReact:
		return
	}
	c.react(f, whole)
	c.lastAt = f.Now
	if whole {
		c.update = max(c.update, f.Sent)
	}
}

// fresh is how long all records that are kept are worth something.
func (c *hpccFlow) fresh() units.Time {
	least := units.Never
	for i := range c.hops {
		least = min(least, c.last[i].Fresh(c.p.scale))
	}
	return least
}

func (c *hpccFlow) keep(f *Feedback) {
	c.hops = copy(c.last[:], f.INT)
	c.lastAt = f.Now
}

// react measures the hops and sets the rate; whole: a round trip is over. Nanoseconds and the order of
// operations are those of the simulators, so that the same path gives the same rates to the last bit.
func (c *hpccFlow) react(f *Feedback, whole bool) {
	busiest, span := 0.0, units.Time(0)
	next, any := c.line, false
	for i, h := range f.INT {
		u, dt := c.load(i, h)
		switch {
		case c.p.sample && !whole && h.Queue(c.p.scale) == 0:
			if c.p.multi {
				next = min(next, c.perHop[i].rate)
			}
			continue
		case c.p.multi:
			next = min(next, c.step(&c.perHop[i], u, dt, whole))
		case u > busiest:
			busiest, span = u, dt
		}
		any = true
		c.last[i] = h
	}
	if !any {
		return
	}
	if !c.p.multi {
		next = c.step(&c.path, busiest, span, whole)
	}
	c.cause = ByProgress
	if next < c.rate {
		c.cause = ByTelemetry
	}
	c.rate = next
}

// load is how busy hop i was since its record before, and how long that is ago.
func (c *hpccFlow) load(i int, h HopRecord) (u float64, dt units.Time) {
	dt, sent := h.Since(c.last[i], c.p.scale)
	if dt == 0 {
		return 0, 0
	}
	port := float64(h.Rate())
	q := float64(min(h.Queue(c.p.scale), c.last[i].Queue(c.p.scale)))
	tx := float64(sent*8) / float64(float64(dt/units.Nanosecond)*1e-9)
	return float64(tx/port) + float64(q*float64(c.line)/port/float64(c.win)), dt
}

// step follows a load u over a time dt and returns the rate that it leads to; whole: it stays.
func (c *hpccFlow) step(s *hpccState, u float64, dt units.Time, whole bool) units.Rate {
	rtt := float64(c.t / units.Nanosecond)
	weight := float64(min(dt, c.t) / units.Nanosecond)
	s.u = (float64(s.u*(rtt-weight)) + float64(u*weight)) / rtt
	over, stage := s.u/c.p.eta, s.stage+1
	next := s.rate + c.p.ai
	if over >= 1 || s.stage >= c.p.maxStage {
		next, stage = units.Rate(math.Floor(float64(s.rate)/over))+c.p.ai, 0
	}
	next = min(max(next, c.p.minRate), c.line)
	if whole {
		s.rate, s.stage = next, stage
	}
	return next
}

func (c *hpccFlow) Decide(units.Time) Decision {
	d := Decision{Rate: c.rate, Again: units.Never, Cause: c.cause}
	if c.p.window {
		d.Window = max(1, scaled(c.win, int64(c.rate), int64(c.line)))
	}
	return d
}
