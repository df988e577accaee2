package metrics_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
)

// A link that failed is the verdict, or stands beside it, whatever the ways that took its data over had to do, and
// what it held up is about what the run without the failure saves. No port counts as unused that took over.
func TestFailedLinkIsNamed(t *testing.T) {
	const (
		three = `
topology: {leaf_spine: {leaves: 3, spines: 2, hosts_per_leaf: 2, link: 100Gbps}, links: [{between: [leaf2, spine1], FAULT}]}
failover: {detect: 50us, converge: 100us, per_hop: HOP}
workload:
  - flows: {size: 2MB, list: [{from: h0, to: h2}, {from: h1, to: h3}, {from: h4, to: h2}, {from: h5, to: h3}]}
`
		tree = `
topology: {fat_tree: {k: 4, link: 100Gbps}, links: [{between: [pod0-leaf0, pod0-agg1], FAULT}]}
failover: {detect: 20us, converge: 50us}
workload:
  - flows: {size: 2MB, list: [{from: h4, to: h0}, {from: h8, to: h0}, {from: h5, to: h1}, {from: h12, to: h1}]}
`
		flaps = `
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, link: 100Gbps}, links: [{between: [leaf1, spine1], FAULT}]}
nic: {timeout: 8}
workload:
  - flows: {size: 10MB, list: [{from: h0, to: h4}, {from: h1, to: h5}, {from: h2, to: h6}, {from: h3, to: h7}]}
`
	)
	for _, tt := range []struct {
		name, text, fault string
		seeds             []int
		set               []string
		words             string // of each seed's verdict
		loops             bool   // and it tells of a loop
	}{
		{"tables that come one by one", strings.Replace(three, "HOP", "300us", 1), "down_at: 80us", []int{1, 4, 6}, nil,
			"leaf2:3 - spine1:2 failed at 80.0 us", true},
		{"tables at once", strings.Replace(three, "HOP", "0s", 1), "down_at: 80us", []int{1, 5}, nil,
			"leaf2:3 - spine1:2 failed at 80.0 us", false},
		{"under pauses", strings.Replace(three, "HOP", "200us", 1), "down_at: 80us", []int{1}, []string{"stack=rocev2-pfc-only"},
			"leaf2:3 - spine1:2 failed at 80.0 us", true},
		{"InfiniBand", strings.Replace(three, "HOP", "0s", 1), "down_at: 80us", []int{2}, []string{"stack=infiniband"},
			"leaf2:3 - spine1:2 failed at 80.0 us", false},
		{"TCP", strings.Replace(three, "HOP", "0s", 1), "down_at: 80us", []int{2}, []string{"stack=tcp"},
			"leaf2:3 - spine1:2 failed at 80.0 us", false},
		{"a tree of three tiers", tree, "down_at: 60us", []int{1, 3}, nil, "failed at 60.0 us", false},
		{"silent flaps", flaps, "flap: {from: 100us, every: 1ms, down_for: 400us, times: 4, silent: true}", []int{1, 2}, nil,
			"leaf1:5 - spine1:1 failed 4 times, first at 100 us for 400 us, which nobody noticed", false},
		{"and where most lies elsewhere", flaps, "flap: {from: 100us, every: 1ms, down_for: 400us, times: 4, silent: true}",
			[]int{3}, nil, "leaf1:5 - spine1:1 failed", false},
	} {
		for _, seed := range tt.seeds {
			set := append([]string{fmt.Sprint("seed=", seed)}, tt.set...)
			name := fmt.Sprintf("%s, seed %d", tt.name, seed)
			r := simulate(t, "name: broken\n"+strings.Replace(tt.text, "FAULT", tt.fault, 1), set...)
			sound := simulate(t, "name: sound\n"+strings.Replace(tt.text, "FAULT", "length: 5m", 1), set...)
			said := verdictText(r)
			if !strings.Contains(said, tt.words) || strings.Contains(said, "loop") != tt.loops {
				t.Errorf("%s: %q", name, said)
			}
			if other := verdictText(sound); strings.Contains(other, "failed") {
				t.Errorf("%s: without the failure: %q", name, other)
			}
			if 100*lastEnd(sound) > 90*lastEnd(r) {
				t.Errorf("%s: %v, and %v without the failure", name, lastEnd(r), lastEnd(sound))
			}
			if v := metrics.Summarise(r).Verdict; v != nil {
				checkUnused(t, name, r, v)
			}
		}
	}
}

// checkUnused holds that ports which a verdict calls unused carried hardly any data beside that which it names.
func checkUnused(t *testing.T, name string, r *record.Run, v *metrics.Verdict) {
	t.Helper()
	named, most := int64(0), int64(0)
	for i := range r.Ports {
		p := &r.Ports[i]
		if p.Place() == v.Cause.Place {
			named = p.TxBytes
		}
		for _, u := range v.Unused {
			if p.ID() == u {
				most = max(most, p.TxBytes)
			}
		}
	}
	if 6*most > named {
		t.Errorf("%s: %d bytes by a port that is called unused, %d by the other: %s", name, most, named, v.Text)
	}
}

func lastEnd(r *record.Run) (end int64) {
	for i := range r.Messages {
		end = max(end, int64(r.Messages[i].StartPS+r.Messages[i].Life()))
	}
	return end
}

// What packets waited that were sent again is laid at the door of the loss, as long as that is of their time on the
// wire: about what the run gains without it.
func TestSentAgainIsTheLosss(t *testing.T) {
	const text = `
name: again
topology: {star: {hosts: 3, link: 100Gbps}, links: [{between: [h2, sw], FAULT}]}
nic: {timeout: 7}
workload: [incast: {to: h2, size: 16MB}]
`
	for _, set := range [][]string{{}, {"dcqcn=none"}, {"stack=rocev2-pfc-only", "seed=3"}} {
		r := simulate(t, strings.Replace(text, "FAULT", "flap: {from: 200us, every: 700us, down_for: 400us, times: 4, silent: true}", 1), set...)
		sound := simulate(t, strings.Replace(text, "FAULT", "length: 5m", 1), set...)
		took, total := int64(0), int64(0)
		for i := range r.Messages {
			total += int64(r.Messages[i].Life())
			if d := metrics.DominantStage(r, i); d.Cause.Kind == catalog.CauseFailure {
				took += int64(d.TimePS)
			}
		}
		gain := 1 - float64(lastEnd(sound))/float64(lastEnd(r))
		if share := float64(took) / float64(total); share < gain-0.12 || share > gain+0.12 {
			t.Errorf("%v: %.2f of the time is the failure's, and the run without gains %.2f", set, share, gain)
		}
	}
}
