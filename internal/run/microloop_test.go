package run_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// As the link from a to d fails, a knows first and sends to b, whose shortest way was by a.
const microLoop = `
stack: rocev2-pfc-only
noise: off
topology:
  hosts: [src, dst]
  switches: [a, b, c, e, d]
  links:
    - {between: [src, a], rate: 10Gbps}
    - {between: [a, b], rate: 400Gbps}
    - {between: [b, c], rate: 400Gbps}
    - {between: [c, e], rate: 400Gbps}
    - {between: [e, d], rate: 400Gbps}
    - {between: [d, dst], rate: 400Gbps}
    - {between: [a, d], rate: 400Gbps, down_at: 1ms}
switch: {latency: 300ns}
failover: {detect: 100us, converge: 100us}
workload:
  - flow: {from: src, to: dst, size: 8MB}
`

// TestMicroLoop: what comes to a while it has new tables and b has not goes round between them. A frame of
// TTL 64 is dropped as it comes to its 64th switch, 63 links of 400 Gb/s and pipelines after the first, and
// what is on its way when b has new tables as well gets through: (fan-out - 63 hops) * rate frames are
// dropped, to one frame.
func TestMicroLoop(t *testing.T) {
	for _, c := range []struct {
		set  string
		loop units.Time
	}{
		{"failover.per_hop=1ms", units.Millisecond},
		{"failover.per_hop=350us", 350 * units.Microsecond},
		{"switches.b={programming: 2ms}", 2 * units.Millisecond},
	} {
		v := parse(t, microLoop, c.set)
		r := simulate(t, v, 1, 1)
		const wire = 4096 + 62 + 20
		frame := (10 * units.Gbps).TxTime(wire)
		round := 63 * ((400 * units.Gbps).TxTime(wire) + 300*units.Nanosecond)
		want := int64((c.loop - round) / frame)
		got := int64(0)
		for i := range r.Ports {
			for _, d := range r.Ports[i].DropCauses {
				if d.Cause == catalog.DropTTL {
					got += d.Count
				}
			}
		}
		if got < want-1 || got > want+1 {
			t.Errorf("%s: %d frames ended their TTL, not %d", c.set, got, want)
		}
		l := r.Loops[0] // a frame that just left it may end behind it
		if strings.Join(l.Nodes, " ") != "a b" || l.FromPS != 1200*units.Microsecond || l.ToPS != l.FromPS+c.loop || l.Expired < got-1 {
			t.Errorf("%s: loop %+v", c.set, l)
		}
		d, _ := metrics.Explain(r, 0)
		if text := d.How + d.Loss; !strings.Contains(text, "went round in a loop of a and b") {
			t.Errorf("%s: the explanation says nothing of the loop: %s", c.set, text)
		}
		if bad := differ(t, r, simulate(t, v, 3, 2)); bad != "" {
			t.Errorf("%s: 3 partitions give another result: %s", c.set, bad)
		}
	}
}

// TestMicroLoopDeadlock: a loop of n links of rate B holds a flow of rate r below n B / TTL, which TTLs then
// drop, and stops for ever with one above, though its tables have long been mended (HotNets 2016).
// Here n B / TTL is 12.5 Gb/s.
func TestMicroLoopDeadlock(t *testing.T) {
	for rate, stops := range map[string]bool{"10Gbps": false, "25Gbps": true} {
		v := parse(t, microLoop, "failover.per_hop=1ms", "topology.links[0].rate="+rate, "switch.buffer=1MB")
		if r := simulate(t, v, 1, 1); len(r.Cycle) > 0 != stops {
			t.Errorf("%s: a circle of %d ports, stopped by %s", rate, len(r.Cycle), r.Stopped)
		}
	}
}
