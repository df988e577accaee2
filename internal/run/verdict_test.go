package run_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
)

// A star in which two hosts send to a third; what follows says how the third takes it.
const threeHosts = `
topology: {star: {hosts: 4, link: 100Gbps}}
switch: {buffer: 2MB}
`

// The verdict names what dominates, and its cause is what the explanations of most messages
// name.
func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		kind       catalog.Verdict
		place      string
		words      string
	}{
		{"incast", "stack: rocev2-pfc-only" + threeHosts + `workload: [{incast: {from: [h0, h1], to: h3, size: 4MB}}]`,
			catalog.VerdictFull, "sw:4 prio 3", "sw:4 to h3 is full"},
		{"alone", "stack: rocev2-pfc-only" + threeHosts + `workload: [{flow: {from: h0, to: h3, size: 4MB}}]`,
			catalog.VerdictFull, "", "as fast as their way allows"},
		{"slow receiver", "stack: rocev2-pfc-only" + threeHosts + `hosts: {h3: {rx_buffer: 256KB, drain_rate: 25Gbps}}
workload: [{flow: {from: h0, to: h3, size: 4MB}}]`,
			catalog.VerdictReceiver, "receive buffer of h3", "takes data only at 25.0 Gb/s"},
		{"storm", "stack: rocev2-pfc-only" + threeHosts + `hosts: {h3: {rx_buffer: 256KB, drain_rate: 10Gbps}}
workload: [{flow: {from: h0, to: h3, size: 8MB}}, {flow: {from: h0, to: h2, size: 2MB}}]`,
			catalog.VerdictStorm, "receive buffer of h3", "1 message that it held does not go there: h0 -> h2"},
		{"storm over several messages", "stack: rocev2-pfc-only" + threeHosts + `hosts: {h3: {rx_buffer: 256KB, drain_rate: 10Gbps}}
workload: [{flow: {from: h0, to: h3, size: 8MB}}, {flow: {from: h0, to: h2, size: 1MB, count: 2}}]`,
			catalog.VerdictStorm, "receive buffer of h3", "2 messages that it held do not go there: h0 -> h2"},
		{"stopped storm", "stop: 2ms\nstack: rocev2-pfc-only" + threeHosts + `hosts: {h3: {rx_buffer: 256KB, drain_rate: 10Gbps}}
workload: [{flow: {from: h0, to: h3, size: 8MB}}, {flow: {from: h0, to: h2, size: 2MB}}]`,
			catalog.VerdictStorm, "receive buffer of h3", "1 message that it held does not go there: h0 -> h2"},
		{"deadlock", ring, catalog.VerdictDeadlock, "s0:2 prio 3", "4 ports wait for each other in a circle"},
		{"window", "stack: rocev2" + threeHosts + `nic: {window: 10KB}
workload: [{flow: {from: h0, to: h3, size: 4MB}}]`, catalog.NoVerdict, "", ""},
		{"short", "stack: rocev2" + threeHosts + `workload: [{flow: {from: h0, to: h3, size: 64B}}]`, catalog.NoVerdict, "", ""},
	} {
		r := runText(t, tt.text)
		v := metrics.Summarise(r).Verdict
		if v == nil {
			v = &metrics.Verdict{}
		}
		if v.Kind != tt.kind || v.Cause.Place.String() != tt.place || !strings.Contains(v.Text, tt.words) {
			t.Errorf("%s: %s at %q: %q; want %s at %q: %q", tt.name, v.Kind, v.Cause.Place, v.Text, tt.kind, tt.place, tt.words)
		}
		if strings.Count(v.Text, "h0 -> h2") > 1 {
			t.Errorf("%s: names a pair twice: %s", tt.name, v.Text)
		}
		if v.Kind == catalog.NoVerdict {
			continue
		}
		named := 0
		for i := range r.Messages {
			if d := metrics.DominantStage(r, i); d.Cause.Kind == v.Cause.Kind && (tt.place == "" || d.Cause.Place == v.Cause.Place) {
				named++
			}
		}
		if named != v.Messages || 2*named < len(r.Messages) {
			t.Errorf("%s: %d of %d explanations name the cause, the verdict says %d", tt.name, named, len(r.Messages), v.Messages)
		}
	}
}

// Two flows that the hashes put on one uplink, beside an idle one: the verdict names both.
func TestVerdictOnUplinks(t *testing.T) {
	const scenario = `
stack: rocev2
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 100Gbps}}
workload: [{flow: {from: h0, to: h2, size: 4MB}}, {flow: {from: h1, to: h3, size: 4MB}}]
`
	found := false
	for _, seed := range []string{"1", "2", "3", "4", "5", "6"} {
		r := runText(t, "seed: "+seed+scenario)
		v := metrics.Summarise(r).Verdict
		uplinks := map[string]int{}
		for i := range r.Ports {
			if p := &r.Ports[i]; p.Node == "leaf1" && strings.HasPrefix(p.Peer.Node, "spine") && p.TxBytes > 1e6 {
				uplinks[p.ID().String()]++
			}
		}
		uneven := v != nil && v.Kind == catalog.VerdictUplinks
		if uneven != (len(uplinks) == 1) {
			t.Errorf("seed %s: uplinks in use %v, verdict %+v", seed, uplinks, v)
		}
		if uneven {
			found = true
			if len(v.Unused) != 1 || uplinks[v.Unused[0].String()] != 0 || !strings.Contains(v.Text, "2 senders on leaf1:") {
				t.Errorf("seed %s: %s", seed, v.Text)
			}
		}
	}
	if !found {
		t.Error("no seed puts both flows on one uplink")
	}
}

// At the edge of a fat tree uplinks lead to different switches, which lead to different ones again, and to
// the same hosts: of four flows to another pod that the hashes put on one uplink the other is named.
func TestVerdictOnEdges(t *testing.T) {
	const scenario = `
stack: rocev2
topology: {fat_tree: {k: 4, link: 100Gbps}}
workload:
  - {flow: {from: h0, to: h12, size: 4MB}}
  - {flow: {from: h1, to: h13, size: 4MB}}
`
	found, even := false, false
	for seed := range 16 {
		r := runText(t, fmt.Sprintf("seed: %d%s", seed+1, scenario))
		edge := ""
		uplinks := map[string]int{}
		for i := range r.Ports {
			p := &r.Ports[i]
			if p.Peer.Node == "h0" {
				edge = p.Node
			}
		}
		for i := range r.Ports {
			if p := &r.Ports[i]; p.Node == edge && !strings.HasPrefix(p.Peer.Node, "h") && p.TxBytes > 1e6 {
				uplinks[p.ID().String()]++
			}
		}
		v := metrics.Summarise(r).Verdict
		uneven := v != nil && v.Kind == catalog.VerdictUplinks && v.Cause.Place.Node == edge
		if uneven != (len(uplinks) == 1) {
			t.Errorf("seed %d: uplinks in use of %s %v, verdict %+v", seed+1, edge, uplinks, v)
		}
		if found, even = found || uneven, even || len(uplinks) == 2; uneven && (len(v.Unused) != 1 || v.Unused[0].Node != edge) {
			t.Errorf("seed %d: %+v", seed+1, v)
		}
	}
	if !found || !even {
		t.Errorf("one uplink: %v, two: %v", found, even)
	}
}

// The tree of pauses begins at the port that is not held, has each held port behind what
// stopped it, and tells those that go to the root from those that do not.
func TestPauseTree(t *testing.T) {
	r := runText(t, `
stack: rocev2-pfc-only
topology:
  hosts: [p, q, bystander, sink, aside]
  switches: [near, middle, far]
  links:
    - {between: [p, near], rate: 50Gbps}
    - {between: [bystander, near], rate: 50Gbps}
    - {between: [near, middle], rate: 200Gbps}
    - {between: [middle, far], rate: 200Gbps}
    - {between: [far, sink], rate: 50Gbps}
    - {between: [far, q], rate: 50Gbps}
    - {between: [far, aside], rate: 50Gbps}
switch: {buffer: 2MB}
workload:
  - incast: {from: [p, q], to: sink, size: 10MB}
  - flow: {from: bystander, to: aside, size: 10MB}
`)
	trees := metrics.Summarise(r).Pauses
	if len(trees) != 1 {
		t.Fatalf("%d trees, want 1: %+v", len(trees), trees)
	}
	tree := &trees[0]
	var got []string
	for _, b := range tree.Branches {
		got = append(got, strings.Repeat(" ", b.Depth)+b.Port.PortID().String())
		if b.HeldPS <= 0 || b.HeldPS > b.PausedPS || b.FirstPS <= 0 {
			t.Errorf("%+v", b)
		}
	}
	slices.Sort(got[2:])
	if tree.Root.Place.String() != "far:2 prio 3" || tree.Through != 2 || !slices.Equal(tree.Victims, []int32{2}) {
		t.Errorf("root %s, %d through it, victims %v", tree.Root.Place, tree.Through, tree.Victims)
	}
	for _, want := range []string{"middle:2", " near:3", "  p:1", "  bystander:1", "q:1"} {
		if !slices.Contains(got, want) {
			t.Errorf("no branch %q in %q", want, got)
		}
	}
	if len(got) != 5 {
		t.Errorf("branches %q", got)
	}
}
