package fidelity

import (
	"fmt"
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
)

const renewal = "renewal fixed point of DCQCN, and a packet run of the published algorithm"

// marking is the share of the data packets of a port that were marked.
func marking(p *record.Port) float64 { return float64(p.Marked) / float64(p.TxPackets) }

// fixedPoint, case F6: mean queue, marking and CNPs where increase and decrease
// balance.
func (c *checks) fixedPoint(t *testing.T) {
	t.Run("40G, packets of 1000 B", c.thousandBytes)
	r := runCase(t, "f06-fixed-point")
	p := portTo(t, r, "sw", "h0")
	c.hold(t, c.book.Near("F6", "40G, N 16, 1106 B: marked", 0.0173, marking(p), 0.07, renewal),
		c.book.Between("F6", "40G, N 16, 1106 B: Jain", jain(received(r)), 0.998, 1, renewal))

	t.Run("100G", func(t *testing.T) {
		long(t)
		r := runCase(t, "f06-fixed-point", "topology.star.hosts=65", "topology.star.link=100Gbps", "workload[0].incast.initial_rate=1562500000bps")
		p := portTo(t, r, "sw", "h0")
		c.hold(t, c.book.Near("F6", "100G, N 64, 1106 B: mean queue, KB", 145.8, p.MeanQueueBytes/1000, 0.03, renewal),
			c.book.Near("F6", "100G, N 64, 1106 B: marked", 0.0301, marking(p), 0.05, renewal),
			c.book.Between("F6", "100G, N 64, 1106 B: Jain", jain(received(r)), 0.998, 1, renewal))
	})
	t.Run("400G", func(t *testing.T) {
		long(t)
		r := runCase(t, "f06-fixed-point", "topology.star.hosts=65", "topology.star.link=400Gbps", "workload[0].incast.initial_rate=6250Mbps",
			"switch.ecn.kmin=400KB", "switch.ecn.kmax=1600KB")
		p := portTo(t, r, "sw", "h0")
		c.hold(t, c.book.Near("F6", "400G, N 64, 1106 B: mean queue, KB", 427.9, p.MeanQueueBytes/1000, 0.02, renewal),
			c.book.Between("F6", "400G, N 64, 1106 B: Jain", jain(received(r)), 0.998, 1, renewal))
	})
}

// thousandBytes is F6 with the packets it is stated for.
func (c *checks) thousandBytes(t *testing.T) {
	long(t)
	r := runCase(t, "f06-thousand-bytes")
	p := portTo(t, r, "sw", "h0")
	cnps := 0.0
	for _, q := range r.QPs {
		cnps += float64(q.CNPsSent)
	}
	const flows, fluid = 16, 0.01087
	perFlow := cnps / flows / (float64(r.EndPS) / 1e12)
	c.hold(t, c.book.Near("F6", "40G, N 16, 1000 B: mean queue, KB", 122.6, p.MeanQueueBytes/1000, 0.03, renewal),
		c.book.Near("F6", "40G, N 16, 1000 B: marked", 0.0150, marking(p), 0.07, renewal),
		c.book.Near("F6", "40G, N 16, 1000 B: CNPs per second and flow", 3830, perFlow, 0.05, renewal),
		c.book.Between("F6", "40G, N 16, 1000 B: Jain", jain(received(r)), 0.998, 1, renewal),
		c.book.Between("F6", "40G, N 16, 1000 B: marked, against the fluid model", marking(p), fluid, 1.5*fluid, "fluid model of DCQCN, CoNEXT 2016"))
}

// stability, case F7: stable or not by the length of the control loop and the
// number of flows, and not in the order one expects.
func (c *checks) stability(t *testing.T) {
	const source = "CoNEXT 2016, and a packet run of the published algorithm"
	const kmax = 200e3
	loop85 := "topology.star.delay=21150ns" // four of them and 0.45 us make 85 us

	r := runCase(t, "f07-stability")
	p := portTo(t, r, "sw", "h0")
	c.hold(t, c.book.Between("F7", "loop 4 us, N 10: utilisation", p.Utilisation, 0.999, andMore(), source),
		c.book.Between("F7", "loop 4 us, N 10: least queue, B", float64(p.MinQueueBytes), 1, andMore(), source))

	r = runCase(t, "f07-stability", loop85, "topology.star.hosts=3", "workload[0].incast.initial_rate=20Gbps")
	c.hold(t, c.book.Between("F7", "loop 85 us, N 2: utilisation", portTo(t, r, "sw", "h0").Utilisation, 0.99, andMore(), source))

	r = runCase(t, "f07-stability", loop85)
	c.hold(t, c.book.Between("F7", "loop 85 us, N 10: utilisation", portTo(t, r, "sw", "h0").Utilisation, upTo(), math.Nextafter(0.98, 0), source))
	for from := 100; from < 300; from += 50 { // again and again, not once
		r = runCase(t, "f07-stability", loop85, fmt.Sprintf("measure.from=%dms", from), fmt.Sprintf("measure.to=%dms", from+50))
		p = portTo(t, r, "sw", "h0")
		when := fmt.Sprintf("loop 85 us, N 10, %d to %d ms: ", from, from+50)
		c.hold(t, c.book.Within("F7", when+"least queue, B", 0, float64(p.MinQueueBytes), 0, source),
			c.book.Between("F7", when+"largest queue, B", float64(p.MaxQueueBytes), kmax+1, andMore(), source))
	}
}

// convergence, case F8: unequal starts become equal, except with the values
// that the paper warns of.
func (c *checks) convergence(t *testing.T) {
	const source = "DCQCN, SIGCOMM 2015, and a packet run of the published algorithm"
	r := runCase(t, "f08-convergence")
	v := received(r)
	fair := (v[0] + v[1]) / 2
	c.hold(t, c.book.Between("F8", "difference of the two over their fair share, 80 to 90 ms", math.Abs(v[0]-v[1])/fair, upTo(), 0.25, source),
		c.book.Between("F8", "utilisation", portTo(t, r, "sw", "h0").Utilisation, 0.95, andMore(), source))
	r = runCase(t, "f08-strawman")
	c.hold(t, c.book.Between("F8", "strawman: Jain after 200 ms", jain(received(r)), upTo(), 0.65, source))
}

// rttFairness, case F9: 2 us and 1.77 ms get the same.
func (c *checks) rttFairness(t *testing.T) {
	const source = "NSDI 2023, appendix B, and a packet run of the published algorithm"
	r := runCase(t, "f09-rtt-fairness")
	near, far := wireRate(t, r, "near", "r", 1024), wireRate(t, r, "far", "r", 1024)
	p := portTo(t, r, "s1", "r")
	pauses := 0.0
	for _, q := range r.Ports {
		pauses += float64(q.PausesSent)
	}
	c.hold(t, c.book.Between("F9", "difference of the two over the larger", math.Abs(near-far)/max(near, far), upTo(), 0.12, source),
		c.book.Between("F9", "RTT 2 us, Gb/s on the wire", near, 16, 19.5, source),
		c.book.Between("F9", "RTT 1.77 ms, Gb/s on the wire", far, 16, 19.5, source),
		c.book.Between("F9", "largest queue, MB", float64(p.MaxQueueBytes)/1e6, 1.1, 2.0, source),
		c.book.Within("F9", "pauses", 0, pauses, 0, source))
}
