package cli

import (
	"context"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
)

// What can be explained is known before a run: the same names as after it.
func TestNamesBeforeTheRun(t *testing.T) {
	for _, opt := range []run.Options{
		{Scenario: "one-sided"},
		{Scenario: "mixed-traffic"},
		{Scenario: "gpu-incast"},
		{Scenario: "calls", Text: []byte(`stack: tcp
topology: {star: {hosts: 3, link: 100Gbps}}
workload:
  - rpc: {between: [h0, h2], request: 1KB, reply: 4KB, count: 2, every: 50us}
  - flow: {from: h1, to: h0, size: 1KB, enabled: false}
`)},
	} {
		opt.Workers = 1
		r, v, err := run.Do(context.Background(), opt)
		if err != nil {
			t.Fatal(opt.Scenario, err)
		}
		before, after := listed(namesOf(v)), listed(report.NamesOf(r))
		if len(after) < 3 || !slices.Equal(before, after) {
			t.Errorf("%s: before the run %q, after it %q", opt.Scenario, before, after)
		}
	}
}

// listed are all names, in order, each once.
func listed(n *report.Names) (all []string) {
	for _, w := range n.Workloads {
		all = append(all, "workload:"+w)
	}
	for _, c := range n.Collectives {
		all = append(all, "collective:"+c)
	}
	for from, to := range n.Pairs {
		all = append(all, from+"->"+to)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
