package run_test

import (
	"math"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

const twoSpines = `
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 100Gbps}
  links: LINKS
failover: {detect: 100us, converge: 100us}
nic: {timeout: 10}
workload: [permutation: {size: 20MB}]
`

// TestBlackHole: a silent failure of one direction loses what that end sends and nothing else, and
// nothing is rerouted; the same one noticed is.
func TestBlackHole(t *testing.T) {
	for _, c := range []struct {
		item     string
		noticed  bool
		from, to string // whose frames are lost; "": both
	}{
		{"{at: 100us, until: 5ms, silent: true}", false, "", ""},
		{"{at: 100us, until: 5ms, silent: true, lost_from: leaf1}", false, "leaf1", "spine1"},
		{"{at: 100us, until: 5ms, silent: true, lost_from: spine1}", false, "spine1", "leaf1"},
		{"{at: 100us, until: 5ms, lost_from: leaf1}", true, "leaf1", "spine1"},
	} {
		v := parse(t, strings.Replace(twoSpines, "LINKS", "[{between: [leaf1, spine1], down: ["+c.item+"]}]", 1))
		r := simulate(t, v, 1, 1)
		f := r.Failures[0]
		if (f.NoticedPS >= 0) != c.noticed || f.Silent == c.noticed || f.LostFrom != c.from || f.LostFrames == 0 {
			t.Errorf("%s: %+v", c.item, f)
		}
		for i := range r.Ports {
			for _, d := range r.Ports[i].DropCauses {
				if p := &r.Ports[i]; d.Cause == catalog.DropLinkDown && c.from != "" && p.Node != c.from {
					t.Errorf("%s: %s lost %d frames", c.item, p.Place(), d.Count)
				}
			}
		}
		if moved := r.FlowsMoved > 0; moved && !c.noticed {
			t.Errorf("%s: %d flows were rerouted", c.item, r.FlowsMoved)
		}
		if bad := differ(t, r, simulate(t, v, 4, 2)); bad != "" {
			t.Errorf("%s: 4 partitions give another result: %s", c.item, bad)
		}
	}
}

// TestSwitchDown: a switch that is down is all of its links down, to the last frame.
func TestSwitchDown(t *testing.T) {
	const item = "down: [{at: 100us, until: 3ms}, {at: 4ms}]"
	one := simulate(t, parse(t, strings.Replace(twoSpines, "LINKS", "[]", 1), "switches.spine1={"+item+"}"), 1, 1)
	all := simulate(t, parse(t, strings.Replace(twoSpines, "LINKS", "[{between: [leaf1, spine1], "+item+"}, {between: [leaf2, spine1], "+item+"}]", 1)), 1, 1)
	if one.Fingerprint != all.Fingerprint || len(one.Failures) == 0 || len(one.Failures) != len(all.Failures) {
		t.Errorf("%s and %d failures, %s and %d", one.Fingerprint, len(one.Failures), all.Fingerprint, len(all.Failures))
	}
	for _, f := range one.Failures {
		if f.SwitchDown != "spine1" {
			t.Errorf("%+v", f)
		}
	}
}

// TestRandomFlaps: times up and down average what is asked for, and depend on the seed alone.
func TestRandomFlaps(t *testing.T) {
	text := strings.Replace(twoSpines, "LINKS", "[{between: [leaf1, spine1], flap: {from: 1ms, every: 10ms, down_for: 2ms, times: 400, random: true}}]", 1)
	outages := func(set ...string) (down, up units.Time, last units.Time) {
		for _, k := range parse(t, text, set...).Graph.Links {
			for i, o := range k.Outages {
				down += o.Up - o.Down
				if i > 0 {
					up += o.Down - last
				}
				last = o.Up
			}
		}
		return down / 400, up / 399, last
	}
	down, up, last := outages()
	if math.Abs(float64(down)/2e9-1) > 0.1 || math.Abs(float64(up)/8e9-1) > 0.1 { // 3.5 standard deviations
		t.Errorf("down for %v and up for %v on average, want 2 ms and 8 ms", down, up)
	}
	if _, _, again := outages(); again != last {
		t.Errorf("the last outage ends at %v and at %v", last, again)
	}
	if _, _, other := outages("seed=2"); other == last {
		t.Error("another seed draws the same times")
	}
}

// TestFECLoss: frames are lost as often as their codewords cannot be corrected.
func TestFECLoss(t *testing.T) {
	const ber = 1.1e-3 // 0.9 % of codewords have more than 15 wrong symbols
	r := simulate(t, parse(t, "topology: {star: {hosts: 2, link: 100Gbps, ber: 0.0011, fec: rs544}}\nstack: rocev2-lossy\nnic: {timeout: 10}\n"+
		"workload: [flow: {from: h0, to: h1, size: 20MB}]\n"), 1, 1)
	var p record.Port
	for i := range r.Ports {
		if r.Ports[i].Node == "h0" && r.Ports[i].TxBytes > p.TxBytes {
			p = r.Ports[i]
		}
	}
	right := math.Pow(1-ber, 10)
	tail := 0.0
	for k := 16; k <= 544; k++ {
		a, _ := math.Lgamma(545)
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(544 - k + 1))
		tail += math.Exp(a - b - c + float64(k)*math.Log(1-right) + float64(544-k)*math.Log(right))
	}
	frame := float64(p.TxBytes) / float64(p.TxPackets) * 8
	want := float64(p.TxPackets) * (1 - math.Pow(1-tail, 1+(frame-1)/5140))
	if got := float64(p.Dropped); math.Abs(got-want) > 4*math.Sqrt(want) {
		t.Errorf("%g of %d frames lost, want %.0f", got, p.TxPackets, want)
	}
}

// TestLossOfPriorities: links may lose frames of some priorities alone: here CNPs, of which half
// are lost, and nothing else.
func TestLossOfPriorities(t *testing.T) {
	r := simulate(t, parse(t, "topology: {star: {hosts: 3, link: 100Gbps, loss: 0.5, loss_priorities: [6]}}\nworkload: [incast: {to: h2, size: 20MB}]\n"), 1, 1)
	var sent, heard int64
	for _, q := range r.QPs {
		sent, heard = sent+q.CNPsSent, heard+q.CNPsReceived
	}
	// Two links, each of which loses half.
	if sent < 100 || math.Abs(float64(heard)-float64(sent)/4) > 4*math.Sqrt(float64(sent)) {
		t.Errorf("%d CNPs sent and %d heard, want a quarter", sent, heard)
	}
	for i := range r.Ports {
		for _, d := range r.Ports[i].DropCauses {
			if r.Ports[i].Class != 6 {
				t.Errorf("%s lost %d frames", r.Ports[i].Place(), d.Count)
			}
		}
	}
}

// TestOversize: a switch with too small an MTU lets short messages through, and of long ones what
// fits; these end when their retries are used up.
func TestOversize(t *testing.T) {
	const text = "topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, link: 100Gbps}}\nnic: {timeout: 8, retry: 3}\n" +
		"switches: {spine1: {mtu: 1500, oversize: drop}}\nworkload: [flow: {from: h0, to: h2, size: SIZE}]\n"
	for _, c := range []struct {
		size, status string
		dropped      bool
	}{
		{"1440B", "success", false}, // IP 20, UDP 8, BTH 12, RETH 16 and ICRC 4: an IP packet of 1500 B
		{"1441B", "RETRY_EXC_ERR", true},
		{"1MB", "RETRY_EXC_ERR", true},
	} {
		r := simulate(t, parse(t, strings.Replace(text, "SIZE", c.size, 1)), 1, 1)
		dropped := int64(0)
		for i := range r.Ports {
			for _, d := range r.Ports[i].DropCauses {
				if d.Cause == catalog.DropOversize && r.Ports[i].Node == "spine1" {
					dropped += d.Count
				}
			}
		}
		if m := r.Messages[0]; m.Status != c.status || (dropped > 0) != c.dropped {
			t.Errorf("%s: %s, %d frames dropped", c.size, m.Status, dropped)
		}
	}
}
