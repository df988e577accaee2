package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
)

// TestJobs: who slows a collective is named, where, and how many times what it takes alone it takes beside them: what a
// run of it without them takes, to the picosecond. Where jobs share no port nobody is named.
func TestJobs(t *testing.T) {
	const (
		two = `
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, link: 100Gbps}}
workload:
  - collective: {name: A, op: allreduce, size: 4MB, algorithm: ring, ranks: [h0, h1, h4, h5]}
  - collective: {name: B, op: alltoall, size: 16MiB, ranks: [h2, h3, h6, h7]}
`
		reads = `
topology: {star: {hosts: 7, link: 100Gbps}}
workload:
  - collective: {name: A, op: allreduce, size: 4MB, algorithm: ring, ranks: [h0, h1, h2]}
  - incast: {name: B, from: [h3, h4, h5, h6], to: h1, size: 4MB}
`
		apart = `
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, link: 100Gbps}}
workload:
  - collective: {name: A, op: allreduce, size: 4MB, algorithm: ring, ranks: [h0, h1, h2, h3]}
  - collective: {name: B, op: alltoall, size: 16MiB, ranks: [h4, h5, h6, h7]}
`
	)
	for _, tt := range []struct {
		name, text, off string
		set             []string
		ports           string // one of which B fills
	}{
		{"over a spine", two, "collective", nil, "leaf1:5 leaf2:5"},
		{"another seed and rate", two, "collective", []string{"seed=7", "topology.leaf_spine.link=200Gbps"}, "leaf1:5 leaf2:5"},
		{"under pauses", two, "collective", []string{"stack=rocev2-pfc-only"}, "leaf1:5 leaf2:5"},
		{"InfiniBand", two, "collective", []string{"stack=infiniband"}, "leaf1:5 leaf2:5"},
		{"TCP", two, "collective", []string{"stack=tcp", "workload[0].collective.size=4MiB"}, "leaf1:5 leaf2:5"},
		{"no collective", reads, "incast", nil, "sw:2"},
		{"apart", apart, "collective", nil, ""},
	} {
		r := simulate(t, parse(t, tt.text, tt.set...), 1, 1)
		without := append([]string{"workload[1]." + tt.off + ".enabled=false"}, tt.set...)
		alone := simulate(t, parse(t, tt.text, without...), 1, 1)
		c, said := &r.Collectives[0], ""
		v := metrics.Summarise(r).Verdict
		if v != nil {
			said = v.Text
		}
		if tt.ports == "" {
			if c.AlonePS != 0 || v != nil && v.Kind == catalog.VerdictJobs {
				t.Errorf("%s: alone %v, %q", tt.name, c.AlonePS, said)
			}
			continue
		}
		took := alone.Collectives[0].TookPS()
		if c.AlonePS != took || took == 0 {
			t.Errorf("%s: alone %v, and a run without the other %v", tt.name, c.AlonePS, took)
		}
		words := fmt.Sprintf("A takes %.1f times what it takes alone", float64(c.TookPS())/float64(took))
		_, where, _ := strings.Cut(said, "B fills ")
		where, _, _ = strings.Cut(where, ",")
		first, _, _ := strings.Cut(where, " ")
		if !strings.Contains(said, words) || first == "" || !strings.Contains(tt.ports, first) {
			t.Errorf("%s: %q; want %q", tt.name, said, words)
		}
		if other := metrics.Summarise(alone).Verdict; other != nil && strings.Contains(other.Text, "alone,") {
			t.Errorf("%s: without the other: %s", tt.name, other.Text)
		}
	}
	v := parse(t, two)
	if bad := differ(t, simulate(t, v, 1, 1), simulate(t, v, 4, 2)); bad != "" {
		t.Errorf("4 partitions give another result: %s", bad)
	}
}
