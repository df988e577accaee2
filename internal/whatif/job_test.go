package whatif_test

import (
	"context"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/whatif"
)

// twoJobs share the one way between two leaves.
const twoJobs = `
stack: rocev2-pfc-only
topology: {leaf_spine: {leaves: 2, hosts_per_leaf: 2, spines: 1, host_link: 100Gbps, uplink: 100Gbps}}
jobs:
- {name: a, ranks: [h0, h2], communicators: {dp: {size: 2}}, operations: [{compute: {time: 100us}}, {allreduce: {on: dp, size: 4MB, after: compute}}]}
- {name: b, ranks: [h1, h3], communicators: {dp: {size: 2}}, operations: [{compute: {time: 100us}}, {allreduce: {on: dp, size: 4MB, after: compute}}]}
`

// TestStep: what a step gains. Without computations it is shorter by just these; without the other job it takes what it
// does where that was never written; and what the report names is taken away for real.
func TestStep(t *testing.T) {
	l := open(t, twoJobs)
	s := whatif.Subject{Name: "step of a", Job: "a", Message: -1}
	whole := l.Value(&s, l.Try(context.Background()))
	if o := l.Try(context.Background(), whatif.Change{Kind: whatif.Compute, Entry: 0},
		whatif.Change{Kind: whatif.Compute, Entry: 1}); l.Value(&s, o) != whole-100*units.Microsecond {
		t.Errorf("%d without computations, %d with them", l.Value(&s, o), whole)
	}
	alone := open(t, twoJobs[:len(twoJobs)-len(lastLine(twoJobs))])
	want := alone.Value(&s, alone.Try(context.Background()))
	if got := l.Value(&s, l.Try(context.Background(), whatif.Change{Kind: whatif.Entry, Entry: 1})); got != want ||
		got >= whole*3/4 {
		t.Errorf("%d without the other job; alone it takes %d, with it %d", got, want, whole)
	}
	named, said := l.Named(s)
	if len(named) == 0 || said == "" {
		t.Fatalf("names nothing: %q", said)
	}
	study := l.Ask(context.Background(), s, named, whatif.Budget{Runs: 12, Workers: 1}, func(int, int) {})
	k := slices.IndexFunc(study.Rows, func(r whatif.Row) bool { return r.Named })
	if k < 0 || study.Rows[k].Gain < 0.25 {
		t.Errorf("%s: %+v", said, study.Rows)
	}
	if !slices.ContainsFunc(study.Rows, func(r whatif.Row) bool { return r.Changes[0].Kind == whatif.Entry }) {
		t.Error("the other job is not tried")
	}
}

// lastLine is the last line of a text.
func lastLine(text string) string {
	k := len(text) - 1
	for k > 0 && text[k-1] != '\n' {
		k--
	}
	return text[k:]
}
