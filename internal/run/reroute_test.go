package run_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// twoWays is one flow between two leaves that two spines join. %s is more of
// the scenario.
const twoWays = `
name: two-ways
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, link: 100Gbps}
%s
nic: {timeout: 6, retry: 7}
workload:
  - flow: {from: h0, to: h1, size: 8MB}
`

// spineMost returns the spine by which leaf sends most, and whether it sends by
// the other one at all.
func spineMost(r *record.Run, leaf string) (spine string) {
	most := int64(0)
	for i := range r.Ports {
		if p := &r.Ports[i]; p.Node == leaf && strings.HasPrefix(p.Peer.Node, "spine") && p.TxPackets > most {
			most, spine = p.TxPackets, p.Peer.Node
		}
	}
	return spine
}

// withFailing is twoWays with the link from leaf1 to a spine failing at 100 us.
func withFailing(stack, spine, reroute string) string {
	link := fmt.Sprintf("  links: [{between: [leaf1, %s], down_at: 100us}]\nstack: %s\n%s", spine, stack, reroute)
	return fmt.Sprintf(twoWays, link)
}

// TestReroute: a flow whose link fails ends in RETRY_EXC_ERR if nobody notices. Else
// it completes over the other spine: what the dead link loses, it
// loses before the new tables and what waited at its port then; nothing else is
// lost, and the flow is counted once for each way that changed, at the instant of
// the first packet after the change. All of it however the network is cut.
func TestReroute(t *testing.T) {
	for _, stack := range []string{"rocev2", "infiniband"} {
		t.Run(stack, func(t *testing.T) {
			whole := simulate(t, parse(t, fmt.Sprintf(twoWays, "stack: "+stack)), 0, 1)
			spine := spineMost(whole, "leaf1")
			ways := int64(1)
			if spineMost(whole, "leaf2") == spine {
				ways = 2 // acknowledgements came back by the same one
			}
			static := simulate(t, parse(t, withFailing(stack, spine, "failover: {detect: never}")), 0, 1)
			if static.Messages[0].Status != "RETRY_EXC_ERR" || len(ofQuestion(static, catalog.Rerouted)) != 0 {
				t.Errorf("static routes: %s, rerouted %v", static.Messages[0].Status, ofQuestion(static, catalog.Rerouted))
			}
			v := parse(t, withFailing(stack, spine, "failover: {detect: 400us, converge: 0s}"))
			r := simulate(t, v, 1, 1)
			if r.Messages[0].Status != "success" {
				t.Fatalf("rerouted: %s", r.Messages[0].Status)
			}
			const change = 500 * units.Microsecond
			changed := map[string]catalog.Mechanism{"rocev2": catalog.ECMPChange, "infiniband": catalog.LFTChange}[stack]
			count := int64(0)
			for _, e := range ofQuestion(r, catalog.Rerouted) {
				count += e.Count
				if e.Mechanism != changed || e.First < change || e.Actor.String() == "" {
					t.Errorf("rerouted: %+v", e)
				}
			}
			if count != ways {
				t.Errorf("%d ways of the flow are rerouted, want %d", count, ways)
			}
			checkLost(t, r, change)
			for _, parts := range []int{2, 4} {
				if bad := differ(t, r, simulate(t, v, parts, 2)); bad != "" {
					t.Errorf("%d partitions give another result: %s", parts, bad)
				}
			}
		})
	}
}

// checkLost sees that the dead link lost something, only before the change or
// out of the queue it had then.
func checkLost(t *testing.T, r *record.Run, change units.Time) {
	t.Helper()
	lost := int64(0)
	for i := range r.Ports {
		for _, d := range r.Ports[i].DropCauses {
			if d.Cause == catalog.DropCredit { // the link's own packets go on trying
				continue
			}
			lost += d.Count
			if d.Cause != catalog.DropLinkDown && d.Cause != catalog.DropPortDown || d.Last > change+100*units.Microsecond {
				t.Errorf("%s:%d lost %d frames, the last at %v: %s", r.Ports[i].Node, r.Ports[i].Port, d.Count, d.Last, d.Cause)
			}
		}
	}
	if lost == 0 {
		t.Error("the dead link lost nothing, so the test shows nothing")
	}
}

func ofQuestion(r *record.Run, q catalog.Question) (out []record.Entry) {
	for _, e := range r.Ledger {
		if e.Question == q {
			out = append(out, e)
		}
	}
	return out
}

// TestSweepTime: on InfiniBand the tables come after the subnet manager's
// time, worked out by hand: 1 ms of detection; 5 nodes less none: NodeInfo 1 + the
// linked ports of the switches, 2 + 3 + 1 + 2 with the link gone, 6 descriptions, 4
// SwitchInfo, PortInfo 4 + 4 + 3 + 3 and 2 of hosts, in windows of 4 of 50 us; 10 ns
// for each entry of the tables; a packet per block that changes.
func TestSweepTime(t *testing.T) {
	v := parse(t, withFailing("infiniband", "spine1", ""))
	smps := 1 + 2 + 3 + 1 + 2 + 6 + 4 + 4 + 4 + 3 + 3 + 2
	const entries = 4 * (6 + 1) // LIDs 0 to 6 at four switches
	window := func(n int) units.Time { return units.Time((n+3)/4) * 50 * units.Microsecond }
	least := 100*units.Microsecond + units.Millisecond + window(smps) + entries*10*units.Nanosecond
	f := v.Failures[0]
	if got := f.ReroutedPS - least; got != window(1) {
		t.Errorf("tables change %v after all but their programming, want one window of %v", got, window(1))
	}
	sum := units.Time(0)
	for _, p := range f.Phases {
		sum += p.PS
	}
	if f.NoticedPS != 1100*units.Microsecond || f.DownPS+sum != f.ReroutedPS || len(f.Phases) != 4 {
		t.Errorf("phases do not add up: %+v", f)
	}
	for i := range v.Tables {
		if v.Tables[i].At != f.ReroutedPS {
			t.Errorf("%s has its table at %v, want %v", v.Graph.Nodes[v.Tables[i].Node].Name, v.Tables[i].At, f.ReroutedPS)
		}
	}
	if len(v.Tables) == 0 {
		t.Error("no switch has a new table")
	}
}

// A manager whose own link fails notices and can do nothing: no table changes, and
// no time says that one did. On the far side of a cut nothing is noticed at all.
func TestManagerCutOff(t *testing.T) {
	fails := func(links string) *scenario.Valid {
		return parse(t, fmt.Sprintf(`
stack: infiniband
topology:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, link: 100Gbps}
  links: [%s]
workload: [flow: {from: h2, to: h3, size: 1MB}]
`, links))
	}
	said := func(v *scenario.Valid, words string) bool {
		return slices.ContainsFunc(v.Warnings, func(w string) bool { return strings.Contains(w, words) })
	}
	v := fails("{between: [h0, leaf1], down_at: 10us}")
	if f := v.Failures[0]; f.NoticedPS != 1010*units.Microsecond || f.ReroutedPS != -1 || len(f.Phases) != 1 || len(v.Tables) != 0 {
		t.Errorf("cut off: %+v, %d tables", f, len(v.Tables))
	}
	if !said(v, "cut the subnet manager at h0:1 off") {
		t.Errorf("warnings %q", v.Warnings)
	}
	v = fails("{between: [leaf2, spine1], down_at: 10us}, {between: [h2, leaf2], down_at: 5ms}")
	if f := v.Failures; f[0].ReroutedPS < 0 || f[1].NoticedPS != -1 || f[1].ReroutedPS != -1 {
		t.Errorf("split: %+v", f)
	}
	if !said(v, "1 of 3 switches out of reach of the subnet manager at h0:1, leaf2 the first") {
		t.Errorf("warnings %q", v.Warnings)
	}
}

// A second failure while the subnet manager sweeps waits for it; one that its sweep
// has found already brings no other.
func TestSecondSweep(t *testing.T) {
	two := func(second string) []record.Failure {
		return parse(t, fmt.Sprintf(`
stack: infiniband
topology:
  leaf_spine: {leaves: 2, spines: 3, hosts_per_leaf: 1, link: 100Gbps}
  links: [{between: [leaf1, spine1], down_at: 100us}, {between: [leaf1, spine2], down_at: %s}]
workload: [flow: {from: h0, to: h1, size: 1MB}]
`, second)).Failures
	}
	if f := two("500us"); f[1].ReroutedPS != f[0].ReroutedPS || f[1].NoticedPS != f[0].NoticedPS {
		t.Errorf("found by the first sweep, but rerouted at %v and %v", f[0].ReroutedPS, f[1].ReroutedPS)
	}
	f := two("1101us") // a microsecond after the sweep began; its trap is handled behind it
	if known := 2101 * units.Microsecond; f[1].NoticedPS != known || f[1].ReroutedPS <= f[0].ReroutedPS {
		t.Errorf("second failure: %+v", f[1])
	}
}
