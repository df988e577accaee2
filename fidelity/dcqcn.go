package fidelity

import (
	"fmt"
	"math"

	"github.com/hopscope/hopscope/internal/record"
)

const renewal = "renewal fixed point of DCQCN, and a packet run of the published algorithm"

// marking is the share of the data packets of a port that were marked.
func marking(p *record.Port) float64 { return float64(p.Marked) / float64(p.TxPackets) }

// equilibrium is a setting of case F6 and what the fixed point is there; a
// share of 0 is not held.
type equilibrium struct {
	name       string
	set        []string
	queue      float64 // mean, KB
	queueShare float64
	marked     float64
	markShare  float64
	cnps       float64 // per second and flow, within 5 %
	fluid      float64 // marking by the fluid model, which is low by up to half
	long       bool
}

// equilibria are the settings of case F6: packets of 1000 B on the wire, for
// which the fixed point was derived, and the full packets of MTU 1024.
func equilibria() []equilibrium {
	n64 := func(link, each string, more ...string) []string {
		return append(more, "topology.star.hosts=65", "topology.star.link="+link, "workload[0].incast.initial_rate="+each)
	}
	thousand := "packet_payload=918B" // 82 B more on the wire
	return []equilibrium{
		{name: "40G, N 16, 1000 B", set: []string{thousand}, queue: 122.6, queueShare: 0.03, marked: 0.0150, markShare: 0.07, cnps: 3830, fluid: 0.01087},
		{name: "100G, N 64, 1000 B", set: n64("100Gbps", "1562500000bps", thousand), queue: 140.9, queueShare: 0.03, marked: 0.0273, markShare: 0.05, fluid: 0.01948, long: true},
		{name: "400G, N 64, 1000 B", set: n64("400Gbps", "6250Mbps", thousand, "switch.ecn.kmin=400KB", "switch.ecn.kmax=1600KB"), queue: 427.9, queueShare: 0.02, fluid: 0.003432, long: true},
		{name: "40G, N 16, 1106 B", marked: 0.0173, markShare: 0.07},
		{name: "100G, N 64, 1106 B", set: n64("100Gbps", "1562500000bps"), queue: 145.8, queueShare: 0.03, marked: 0.0301, markShare: 0.05, long: true},
	}
}

// fixedPoint, case F6: mean queue, marking and CNPs where increase and decrease
// balance.
func (c *checker) fixedPoint() {
	for _, e := range equilibria() {
		if !e.long || c.long(e.name) {
			c.equilibrium(e)
		}
	}
}

func (c *checker) equilibrium(e equilibrium) {
	r := c.scenario("f06-fixed-point", e.set...)
	p := c.portTo(r, "sw", "h0")
	if e.queueShare > 0 {
		c.near(e.name+": mean queue, KB", e.queue, p.MeanQueueBytes/1000, e.queueShare, renewal)
	}
	if e.markShare > 0 {
		c.near(e.name+": marked", e.marked, marking(p), e.markShare, renewal)
	}
	if e.cnps > 0 {
		cnps, flows := 0.0, 0.0
		for _, q := range r.QPs {
			cnps += float64(q.CNPsSent)
			if q.SentBytes > 0 {
				flows++
			}
		}
		c.near(e.name+": CNPs per second and flow", e.cnps, cnps/flows/(float64(r.EndPS)/1e12), 0.05, renewal)
	}
	c.inRange(e.name+": Jain", jain(received(r)), 0.998, 1, renewal)
	if e.fluid > 0 {
		c.inRange(e.name+": marked, against the fluid model", marking(p), e.fluid, 1.5*e.fluid, "fluid model of DCQCN, CoNEXT 2016")
	}
}

// stability, case F7: stable or not by the length of the control loop and the
// number of flows, and not in the order one expects.
func (c *checker) stability() {
	const source = "CoNEXT 2016, and a packet run of the published algorithm"
	const kmax = 200e3
	loop85 := "topology.star.delay=21150ns" // four of them and 0.45 us make 85 us

	r := c.scenario("f07-stability")
	p := c.portTo(r, "sw", "h0")
	c.inRange("loop 4 us, N 10: utilisation", p.Utilisation, 0.999, andMore(), source)
	c.inRange("loop 4 us, N 10: least queue, B", float64(p.MinQueueBytes), 1, andMore(), source)

	r = c.scenario("f07-stability", loop85, "topology.star.hosts=3", "workload[0].incast.initial_rate=20Gbps")
	c.inRange("loop 85 us, N 2: utilisation", c.portTo(r, "sw", "h0").Utilisation, 0.99, andMore(), source)

	r = c.scenario("f07-stability", loop85)
	c.inRange("loop 85 us, N 10: utilisation", c.portTo(r, "sw", "h0").Utilisation, upTo(), math.Nextafter(0.98, 0), source)
	for from := 100; from < 300; from += 50 { // again and again, not once
		r = c.scenario("f07-stability", loop85, fmt.Sprintf("measure.from=%dms", from), fmt.Sprintf("measure.to=%dms", from+50))
		p = c.portTo(r, "sw", "h0")
		when := fmt.Sprintf("loop 85 us, N 10, %d to %d ms: ", from, from+50)
		c.within(when+"least queue, B", 0, float64(p.MinQueueBytes), 0, source)
		c.inRange(when+"largest queue, B", float64(p.MaxQueueBytes), kmax+1, andMore(), source)
	}
}

// convergence, case F8: unequal starts become equal, except with the values
// that the paper warns of.
func (c *checker) convergence() {
	const source = "DCQCN, SIGCOMM 2015, and a packet run of the published algorithm"
	r := c.scenario("f08-convergence")
	v := received(r)
	fair := (v[0] + v[1]) / 2
	c.inRange("difference of the two over their fair share, 80 to 90 ms", math.Abs(v[0]-v[1])/fair, upTo(), 0.25, source)
	c.inRange("utilisation", c.portTo(r, "sw", "h0").Utilisation, 0.95, andMore(), source)
	r = c.scenario("f08-strawman")
	c.inRange("strawman: Jain after 200 ms", jain(received(r)), upTo(), 0.65, source)
}

// rttFairness, case F9: 2 us and 1.77 ms get the same.
func (c *checker) rttFairness() {
	const source = "NSDI 2023, appendix B, and a packet run of the published algorithm"
	r := c.scenario("f09-rtt-fairness")
	near, far := c.wireRate(r, "near", "r", 1024), c.wireRate(r, "far", "r", 1024)
	p := c.portTo(r, "s1", "r")
	pauses := 0.0
	for _, q := range r.Ports {
		pauses += float64(q.PausesSent)
	}
	c.inRange("difference of the two over the larger", math.Abs(near-far)/max(near, far), upTo(), 0.12, source)
	c.inRange("RTT 2 us, Gb/s on the wire", near, 16, 19.5, source)
	c.inRange("RTT 1.77 ms, Gb/s on the wire", far, 16, 19.5, source)
	c.inRange("largest queue, MB", float64(p.MaxQueueBytes)/1e6, 1.1, 2.0, source)
	c.within("pauses", 0, pauses, 0, source)
}
