package run_test

import (
	"context"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// Messages start the instant the last of what they are after is over, at senders or receivers, and the course is that
// which triggers written by hand take, on any number of workers.
func TestAfter(t *testing.T) {
	const net = "noise: off\ntopology: {leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 2, link: 100Gbps}}\n"
	const after = net + `
workload:
  - flow: {name: a, from: h0, to: h2, size: 100KB}
  - incast: {name: b, from: [h1, h4, h6], to: h3, size: 200KB, after: a}
  - flow: {name: c, from: h2, to: h5, size: 50KB, after: [received a, b]}
  - flow: {name: d, from: h5, to: h7, size: 10KB, count: 3, after: received c}
  - flow: {name: e, from: h2, to: h0, size: 10KB, after: received a}
`
	const triggers = net + `
triggers: {sent: {kind: oneshot}, here: {kind: oneshot}, all: {kind: barrier, count: 4}, next: {kind: oneshot}}
workload:
  - flow: {name: a, from: h0, to: h2, size: 100KB, send_done: sent, recv_done: here}
  - incast: {name: b, from: [h1, h4, h6], to: h3, size: 200KB, trigger: sent, send_done: all}
  - flow: {name: c, from: h2, to: h5, size: 50KB, start: 1s}
  - flow: {name: d, from: h5, to: h7, size: 10KB, count: 3, start: 1s}
  - flow: {name: e, from: h2, to: h0, size: 10KB, trigger: here}
`
	r := runOf(t, parsed(t, after, nil))
	end := func(k int) units.Time { return r.Messages[k].StartPS + r.Messages[k].CompletionPS }
	by, last := map[string][]int{}, units.Time(0)
	for k := range r.Messages {
		by[r.Messages[k].Workload] = append(by[r.Messages[k].Workload], k)
	}
	for _, k := range by["b"] {
		if r.Messages[k].StartPS != end(by["a"][0]) {
			t.Errorf("b starts at %d, a ends at %d", r.Messages[k].StartPS, end(by["a"][0]))
		}
		last = max(last, end(k))
	}
	if got := r.Messages[by["c"][0]].StartPS; got != last {
		t.Errorf("c starts at %d, the last of b ends at %d", got, last)
	}
	for _, k := range by["d"] {
		if got := r.Messages[k].StartPS; got <= r.Messages[by["c"][0]].StartPS || got >= end(by["c"][0]) {
			t.Errorf("d starts at %d, and c completes at its sender at %d", got, end(by["c"][0]))
		}
	}
	hand := runOf(t, parsed(t, triggers, nil))
	for _, name := range []string{"a", "b", "e"} {
		for _, k := range by[name] {
			found := false
			for i := range hand.Messages {
				found = found || hand.Messages[i].Workload == name && hand.Messages[i].StartPS == r.Messages[k].StartPS &&
					hand.Messages[i].Src == r.Messages[k].Src
			}
			if !found {
				t.Errorf("%s starts at %d, and not so by triggers", name, r.Messages[k].StartPS)
			}
		}
	}
	for _, workers := range []int{2, 4} {
		v, err := scenario.Parse("s.yaml", []byte(after), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := build.New(v, build.Options{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		if got := run.Simulate(context.Background(), w, run.Options{Workers: workers}); got.Fingerprint != r.Fingerprint {
			t.Errorf("%d workers: %s, %s on one", workers, got.Fingerprint, r.Fingerprint)
		}
	}
}
