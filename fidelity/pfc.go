package fidelity

import (
	"fmt"
	"math"

	"github.com/hopscope/hopscope/internal/record"
)

// Numbers of case F10: 100 Gb/s over 100 m, SENDs of MTU 4096.
const (
	headroomFrame = 4096 + 62
	// C*2*tprop is 12500 B; a frame that h0 has just begun, one that the XOFF
	// waits behind, the one that crosses XOFF, and the XOFF itself.
	headroomBound = 12500 + 3*headroomFrame + 84
	headroomXOFF  = 48 * headroomFrame // frame 49 crosses it
)

// headroom, case F10: what arrives after XOFF, over all phases of the frame
// that crosses XOFF and of the frame that the XOFF waits behind.
func (c *checker) headroom() {
	const source = "C*(2*tprop + tresp) + 3 frames + 84 B; worst and best of an independent calculation"
	use := c.sweepHeadroom(headroomBound)
	c.within("drops with the bound as headroom", 0, use.drops, 0, source)
	c.within("most headroom used, B", 24900, use.most, headroomFrame, source)
	c.within("least beyond XOFF, idle reverse direction, B", 12700, use.least, headroomFrame, source)
	short := c.sweepHeadroom(headroomBound - 2*headroomFrame)
	c.inRange("drops with two frames less", short.drops, 1, andMore(), source)
}

// headroomUse is what the phases of a sweep needed.
type headroomUse struct {
	most  float64 // headroom, any phase
	least float64 // beyond XOFF, idle reverse direction
	drops float64 // all phases
}

// sweepHeadroom runs case F10 over both phases. Buffers hold whole frames, so
// that the frame which crosses XOFF counts as headroom however little of it
// lies beyond; the reverse frames shift in steps that are shorter than the
// XOFF on the wire.
func (c *checker) sweepHeadroom(size int) headroomUse {
	const steps = 96
	use := headroomUse{least: math.Inf(1)}
	for _, beyond := range []int{headroomFrame, headroomFrame / 2, 1} { // bytes of the crossing frame above XOFF
		xoff := headroomXOFF + headroomFrame - beyond
		set := []string{fmt.Sprintf("switch.pfc.xoff=%dB", xoff), fmt.Sprintf("switch.pfc.headroom=%dB", size)}
		for step := range steps {
			start := fmt.Sprintf("workload[1].flow.start=%dps", step*(headroomFrame+20)*80/steps)
			ingress, drops := c.headroomRun(append(set, start))
			use.most = max(use.most, float64(ingress.PeakHeadroom))
			use.drops += drops
		}
		ingress, drops := c.headroomRun(append(set, "workload[1].flow.start=1s")) // after the end
		use.least = min(use.least, float64(ingress.PeakIngress-int64(xoff)))
		use.drops += drops
	}
	return use
}

// headroomRun returns the switch port that faces the blocked sender, and the
// frames lost.
func (c *checker) headroomRun(set []string) (*record.Port, float64) {
	r := c.scenario("f10-headroom", set...)
	return c.portTo(r, "sw", "h0"), dropped(r)
}

// portFairness, case F11: PFC shares a receiver among ports, DCQCN among flows.
func (c *checker) portFairness() {
	const source = "DCQCN, SIGCOMM 2015, figure 3, and shares by port"
	hold := func(what string, share float64, set []string, file string, expected ...float64) {
		r := c.scenario(file, set...)
		for i, want := range expected {
			from := fmt.Sprintf("h%d", i+1)
			c.near(fmt.Sprintf("%s: %s, Gb/s on the wire", what, from), want, c.wireRate(r, from, "r", 4096), share, source)
		}
		c.within(what+": drops", 0, dropped(r), 0, source)
	}
	hold("one uplink, PFC", 0.05, nil, "f11-one-uplink", 6.67, 6.67, 6.67, 20)
	hold("two uplinks, PFC", 0.05, nil, "f11-two-uplinks", 13.33, 6.67, 6.67, 13.33)
	hold("two uplinks, DCQCN", 0.1, withDCQCN(), "f11-two-uplinks", 10, 10, 10, 10)
}

// withDCQCN turns congestion control on and waits until it has converged.
func withDCQCN() []string {
	return []string{"stack=rocev2", "dcqcn=paper", "stop=200ms", "measure.from=100ms", "measure.to=200ms"}
}

// victim, case F12: a flow whose path is free is held by an incast it has
// nothing to do with.
func (c *checker) victim() {
	const source = "DCQCN, SIGCOMM 2015, figure 4 (10 falls to 4.5 Gb/s)"
	const free = 20 // Gb/s that two incasters at 10 leave on the uplink
	four := c.wireRate(c.scenario("f12-victim"), "h4", "h5", 4096)
	six := c.wireRate(c.scenario("f12-elsewhere"), "h4", "h5", 4096)
	cc := c.wireRate(c.scenario("f12-victim", withDCQCN()...), "h4", "h5", 4096)
	c.inRange("victim with PFC, four incasters, Gb/s", four, upTo(), 0.6*free, source)
	c.inRange("with two more elsewhere, over that", six/four, upTo(), 0.6, source)
	c.inRange("victim with DCQCN, Gb/s", cc, 18, andMore(), source)
}

// dynamicThreshold, case F16: k groups settle at alpha*B/(1+k*alpha).
func (c *checker) dynamicThreshold() {
	const (
		source = "Choudhury and Hahne: alpha*B/(1+k*alpha), B 18 MB, alpha 1/8"
		frame  = 4096 + 62 + 16
	)
	first := map[int]int{1: 1, 2: 2, 4: 3, 16: 4} // workload entries from this one on start after the end
	for _, k := range []int{1, 2, 4, 16} {
		var set []string
		for i := first[k]; i < 4; i++ {
			set = append(set, fmt.Sprintf("workload[%d].flows.start=1s", i))
		}
		r := c.scenario("f16-dynamic-threshold", set...)
		expected := 18e6 / 8 / (1 + float64(k)/8)
		low, high, n := math.Inf(1), 0.0, 0
		for i := range r.Ports {
			if p := &r.Ports[i]; p.Node == "sw" && p.PausesSent > 0 {
				used := float64(p.PeakIngress - p.PeakHeadroom)
				low, high, n = min(low, used), max(high, used), n+1
			}
		}
		name := fmt.Sprintf("k %d: ", k)
		c.within(name+"ports that reached XOFF", float64(k), float64(n), 0, source)
		c.within(name+"least ingress peak below headroom, B", expected, low, frame, source)
		c.within(name+"largest, B", expected, high, frame, source)
	}
}
