package fidelity

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// infinibandGoodput, case F2: LRH 8, BTH 12, ICRC 4 and VCRC 2 around 4096 bytes
// leave 99.37 % of the line; the two delimiters, 99.32 %.
func (c *checker) infinibandGoodput() {
	const source = "byte count: IBTA 7.7, 9.2, 7.8"
	for speed, expected := range []float64{99.37, 198.74, 397.48} {
		name := []string{"EDR", "HDR", "NDR"}[speed]
		r := c.scenario("f02-goodput", "topology.star.link="+name)
		last := len(r.Messages) - 2
		span := float64(r.Messages[last].CompletionPS - r.Messages[0].CompletionPS) // all were posted at 0
		goodput := float64(last) * (1 << 20) * 8 / span * 1000
		c.near(fmt.Sprintf("goodput, %s, MTU 4096, %d messages, Gb/s", name, last), expected, goodput, 0.001, source)
		line := expected / 0.9937
		c.near(fmt.Sprintf("the same, delimiters counted, %s, Gb/s", name), line*4096/4124, goodput, 0.0002, source+", volume 2: a symbol before and behind")
	}
}

// credits, case F22: blocks per credit loop, and VL arbitration.
func (c *checker) credits() {
	const source = "blocks * 64 B / 20 us (IBTA 7.9.4)"
	for _, one := range []struct {
		buffer   string
		expected float64
	}{{"64KiB", 26.2144}, {"128KiB", 52.4288}} {
		r := c.scenario("f22-credits", "infiniband.buffer="+one.buffer)
		_, q := c.pair(r, "h0", "h1")
		goodput := float64(q.MeasuredBytes) * 8 / (float64(r.MeasureTo-r.MeasureFrom) / float64(units.Second)) / 1e9
		c.near(fmt.Sprintf("%s of one VL, credit loop 20 us, Gb/s of packets", one.buffer), one.expected, goodput*2048/2022, 0.02, source)
		c.within("packets dropped, "+one.buffer, 0, dropped(r), 0, "IBTA 7.9: nothing is sent without room")
	}
	r := c.scenario("f22-weights")
	got := received(r)
	if len(got) != 2 {
		c.abort("%d flows received something, want 2", len(got))
	}
	c.within("share of the VL with weight 3 of 4", 0.75, got[0]/(got[0]+got[1]), 0.01, "IBTA 7.6.9: in proportion to the weights")
}

// ring, case F23: a credit loop deadlocks, routes that turn no corner of it do
// not (Dally and Seitz 1987).
func (c *checker) ring() {
	const source = "a cycle of channel dependencies (Dally and Seitz 1987)"
	r := c.scenario("f23-ring")
	c.same("all two hops clockwise: the run ends by", "deadlock", r.Stopped, source)
	c.within("messages open", 4, float64(r.OpenMessages), 0, source)
	c.same("the cycle", "s0:2 s1:3 s2:3 s3:3", strings.Join(portsOf(r.Cycle), " "), source)
	r = c.scenario("f23-updown")
	c.same("up and down: the run ends by", "quiescence", r.Stopped, source)
	c.within("messages open, up and down", 0, float64(r.OpenMessages), 0, source)
}

// portsOf cuts the class off the names of ports and classes.
func portsOf(r []record.Waiting) (names []string) {
	for _, w := range r {
		names = append(names, w.Port.String())
	}
	return names
}

// congestionControl, case F24: the rate that an index leaves, and how the index
// falls when no more BECNs come.
func (c *checker) congestionControl() {
	const source = "injection rate delay (packet time >> shift) * multiplier (IBTA A10.2.2.1.1)"
	for _, i := range []int{0, 1, 2, 7, 31} {
		r := c.scenario("f24-held", fmt.Sprintf("infiniband.congestion_control.ccti_min=%d", i))
		last := len(r.Messages) - 1
		span := float64(r.Messages[last].CompletionPS - r.Messages[0].CompletionPS)
		goodput := float64(last) * (1 << 20) * 8 / span * 1000
		c.near(fmt.Sprintf("CCTI held at %d: goodput, EDR, Gb/s", i), 99.37/float64(1+i), goodput, 0.01, source)
	}
	c.fall()
}

// fall: the time from one message's completion to the next says at which index it
// was sent, and when the index came to be one less.
func (c *checker) fall() {
	const timer = 500 * 1.024e-3 // ms
	r := c.scenario("f24-fall")
	var steps []float64 // times of the falls, ms
	index, whole := -1, 0.0
	for k, f := range r.Messages {
		if f.Src != "h1" || r.Messages[k-1].Src != "h1" || f.CompletionPS < 2*r.Messages[0].CompletionPS {
			continue // h0 still sends, or has just ended
		}
		end := float64(f.CompletionPS) / 1e9
		gap := end - float64(r.Messages[k-1].CompletionPS)/1e9
		now := int(gap/(4*4124*8/100e6) - 0.5) // 4 packets at 100 Gb/s for each of 1+CCTI
		if index < 0 {
			index, whole = now, float64(now)
		}
		if now < index {
			index = now
			steps = append(steps, end)
		}
	}
	c.inRange("CCTI a while after h0's message", whole, 3, 9, "CCTI_Limit is 9")
	c.within("CCTI at the end", 0, float64(index), 0, "CCTI_Min is 0")
	if len(steps) < 3 {
		c.abort("the index fell %d times, want 3 at least", len(steps))
		return
	}
	n := len(steps) - 1
	c.within("falls, each by one", whole, float64(len(steps)), 0, "one per expiry of the timer (IBTA A10.4.3.8)")
	c.near("time from one fall to the next, ms", timer, (steps[n]-steps[0])/float64(n), 0.01, "CCTI_Timer * 1.024 us")
}
