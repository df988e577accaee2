package congestion

import (
	"math"

	"github.com/hopscope/hopscope/internal/param"
	"github.com/hopscope/hopscope/internal/units"
)

// swift is Swift (SIGCOMM 2020): two windows, one kept by the delay of the network and one by that
// of the receiving host, of which the smaller holds. Each, in packets,
//
//	delay < target: w + ai/w per acknowledged packet, w + ai * packets below one
//	else, at most once per round trip: w * max(1 - beta (delay - target)/delay, 1 - max_mdf)
//
// The network's target grows with the path and as the window shrinks, so that many flows find
// room for the queue that they need:
//
//	target = base + hops * per_hop + clamp(a/sqrt(w) + b, 0, fs_range)
//	a = fs_range / (1/sqrt(fs_min) - 1/sqrt(fs_max)),  b = -a/sqrt(fs_max)
//
// A window below one packet sends one packet every RTT/w.
func swift() Algorithm {
	return Algorithm{
		Name: "swift", Title: "Swift", Source: "Swift, SIGCOMM 2020",
		Text: "Delay held at a target that grows with the path and as flows become many; windows below one packet are paced.",
		New: func(string) Settings {
			return &swiftSettings{base: 25 * units.Microsecond, hop: units.Microsecond, fsRange: 50 * units.Microsecond,
				fsMin: .1, fsMax: 100,
				host: 50 * units.Microsecond, ai: 1, beta: .8, maxMDF: .5, minWindow: .001}
		},
	}
}

type swiftSettings struct {
	base, hop, fsRange, host units.Time
	fsMin, fsMax             float64
	ai, beta, maxMDF         float64
	minWindow, start         float64
}

func (s *swiftSettings) Parameters() []param.Param {
	return []param.Param{
		{Name: "base_target", Value: &s.base, Min: 1e5, Max: 1e12,
			Text: "Target of the network's delay for one flow on the shortest path.", Source: "Swift, SIGCOMM 2020, figure 10"},
		{Name: "per_hop", Value: &s.hop, Min: 0, Max: 1e12, Text: "Added for each switch on the path."},
		{Name: "fs_range", Value: &s.fsRange, Min: 0, Max: 1e12,
			Text: "Most that is added as the window shrinks; 0: nothing.", Source: "assumed: twice the base target"},
		{Name: "fs_min", Value: &s.fsMin, Min: .001, Max: 1000,
			Text: "Window, in packets, at which all of `fs_range` is added.", Source: "Swift, SIGCOMM 2020"},
		{Name: "fs_max", Value: &s.fsMax, Min: .001, Max: 100000,
			Text: "Window, in packets, from which on nothing is added.", Source: "Swift, SIGCOMM 2020"},
		{Name: "host_target", Value: &s.host, Min: 1e5, Max: 1e12,
			Text: "Target of the receiving host's delay.", Source: "assumed: of the order of the network's"},
		{Name: "ai", Value: &s.ai, Min: 1e-6, Max: 1000, Text: "Packets added per round trip.", Source: "htsim's Swift"},
		{Name: "beta", Value: &s.beta, Min: .001, Max: 1, Text: "Weight of a decrease.", Source: "htsim's Swift"},
		{Name: "max_mdf", Value: &s.maxMDF, Min: .001, Max: .999,
			Text: "Most of a window that one decrease takes.", Source: "htsim's Swift"},
		{Name: "min_window", Value: &s.minWindow, Min: .0001, Max: 1000,
			Text: "Smallest window in packets; 1 or more: none is paced below one."},
		{Name: "initial_window", Value: &s.start, Min: .001, Max: 100000, Zero: "one bandwidth-delay product",
			Text: "Window in packets at the start.", Source: "assumed"},
	}
}

func (s *swiftSettings) Check() (key, message string) {
	if s.fsMax <= s.fsMin {
		return "fs_max", "fs_max is not above fs_min; give a larger window"
	}
	return "", ""
}

func (s *swiftSettings) Needs() Needs { return Needs{Stamps: true, EveryAck: true} }

func (s *swiftSettings) Start(l *Link) RateController {
	c := &swiftFlow{p: s, mtu: float64(l.MTU), line: l.Line, rtt: l.BaseRTT}
	c.most = max(1, 4*float64(l.BDP())/c.mtu)
	c.network = s.start
	if s.start == 0 {
		c.network = float64(l.BDP()) / c.mtu * float64(l.Initial) / float64(l.Line)
	}
	c.network = min(max(c.network, s.minWindow), c.most)
	c.receiver = c.network
	c.a = float64(s.fsRange) / (1/math.Sqrt(s.fsMin) - 1/math.Sqrt(s.fsMax))
	c.b = -c.a / math.Sqrt(s.fsMax)
	return c
}

// swiftFlow is the state of one queue pair. Windows are in packets.
type swiftFlow struct {
	p                 *swiftSettings
	line              units.Rate
	mtu, most         float64
	a, b              float64 // of the target, in ps
	network, receiver float64
	cutNetwork        units.Time // latest decrease of each
	cutReceiver       units.Time
	rtt               units.Time // latest
	hops              int
	losses            int // in a row
	cause             Cause
}

func (c *swiftFlow) OnSend(*Sending) {}

func (c *swiftFlow) OnFeedback(f *Feedback) {
	was, rtt := c.window(), c.rtt
	switch f.Kind {
	case Acked:
		c.losses = 0
		if f.Stamps.Out == 0 {
			return
		}
		c.rtt, c.hops = f.Stamps.RTT(f.Now), f.Hops
		host := f.Stamps.Replied - f.Stamps.Arrived
		packets := float64(f.Bytes) / c.mtu
		c.adapt(&c.network, &c.cutNetwork, c.rtt-host, c.target(), packets, f.Now)
		c.adapt(&c.receiver, &c.cutReceiver, host, c.p.host, packets, f.Now)
		c.cause = ByProgress
		if w := c.window(); w < was || w < 1 && float64(c.rtt)/w > float64(rtt)/was { // a longer gap below one packet
			c.cause = ByDelay
		}
	case Nacked: // one decrease per round trip, by the most
		if f.Now-c.cutNetwork >= c.rtt {
			c.cutNetwork = f.Now
			c.network = max(c.p.minWindow, c.network*(1-c.p.maxMDF))
			c.cause = ByLoss
		}
	case TimedOut: // the second one in a row leaves the least
		c.losses++
		c.network = max(c.p.minWindow, c.network*(1-c.p.maxMDF))
		if c.losses > 1 {
			c.network = c.p.minWindow
		}
		c.cutNetwork, c.cause = f.Now, ByLoss
	}
}

// adapt holds a window's delay against its target.
func (c *swiftFlow) adapt(w *float64, cut *units.Time, delay, target units.Time, packets float64, now units.Time) {
	switch {
	case delay < target && *w >= 1:
		*w += c.p.ai / *w * packets
	case delay < target:
		*w += c.p.ai * packets
	case now-*cut >= c.rtt:
		*w *= max(1-c.p.beta*float64(delay-target)/float64(delay), 1-c.p.maxMDF)
		*cut = now
	}
	*w = min(max(*w, c.p.minWindow), c.most)
}

// target is what the network's delay is held at.
func (c *swiftFlow) target() units.Time {
	more := min(max(c.a/math.Sqrt(c.network)+c.b, 0), float64(c.p.fsRange))
	return c.p.base + units.Time(c.hops)*c.p.hop + units.Time(more)
}

// window is the smaller one.
func (c *swiftFlow) window() float64 { return min(c.network, c.receiver) }

func (c *swiftFlow) Decide(units.Time) Decision {
	w := c.window()
	d := Decision{Rate: c.line, Window: max(1, int64(w*c.mtu)), Again: units.Never, Cause: c.cause}
	if w < 1 {
		d.Gap = units.Time(float64(c.rtt) / w)
	}
	return d
}

// Target leaves out what is added for small windows, which are those of flows that are slow already.
func (s *swiftSettings) Target(hops int) (key string, t units.Time) {
	return "base_target", s.base + units.Time(hops)*s.hop
}
