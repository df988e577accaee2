package run_test

import (
	"context"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// A chain, a barrier and a multishot over 16 hosts in four racks.
const triggerScenario = `
name: triggers
topology: {leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 4, link: 100Gbps}}
triggers:
  one: {kind: oneshot}
  all: {kind: barrier, count: 2}
  next: {kind: multishot}
workload:
  - flow: {name: first, from: h0, to: h4, size: 100KB, start: 1us, send_done: one}
  - flow: {name: after the sender, from: h0, to: h8, size: 100KB, trigger: one, recv_done: all}
  - flow: {name: beside it, from: h1, to: h9, size: 300KB, trigger: one, recv_done: all}
  - flow: {name: after both, from: h9, to: h12, size: 50KB, trigger: all, send_done: next}
  - flow: {name: also after both, from: h13, to: h2, size: 200KB, trigger: all, send_done: next}
  - flow: {name: next 1, from: h13, to: h3, size: 10KB, trigger: next}
  - flow: {name: next 2, from: h5, to: h3, size: 10KB, trigger: next}
`

// Every triggered message starts at the very instant of what starts it, at any
// number of partitions and workers.
func TestTriggers(t *testing.T) {
	v, err := scenario.Parse("triggers", []byte(triggerScenario), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	base := simulate(t, v, 1, 1)
	for _, c := range []struct{ parts, workers int }{{2, 1}, {4, 2}, {16, 4}} {
		if bad := differ(t, base, simulate(t, v, c.parts, c.workers)); bad != "" {
			t.Errorf("%d partitions give another result: %s", c.parts, bad)
		}
	}
	r := runOf(t, v)
	flow := map[string]record.Flow{}
	for _, f := range r.Flows {
		if f.Status != "success" {
			t.Errorf("%s: %s", f.Workload, f.Status)
		}
		flow[f.Workload] = f
	}
	end := func(name string) units.Time { return flow[name].StartPS + flow[name].CompletionPS }
	for _, c := range []struct {
		name string
		want units.Time
	}{
		{"first", units.Microsecond},
		{"after the sender", end("first")},
		{"beside it", end("first")},
		{"also after both", flow["after both"].StartPS},
		{"next 1", min(end("after both"), end("also after both"))},
		{"next 2", max(end("after both"), end("also after both"))},
	} {
		if got := flow[c.name].StartPS; got != c.want {
			t.Errorf("%s started at %d ps, want %d", c.name, got, c.want)
		}
	}
	// The receiver has the last byte before the sender hears of it: by what an
	// ACK of 66+20 B takes over four links of 100 Gb/s and 5 m (25 ns) and three
	// switches of 300 ns, when nothing is in its way.
	ack := 4*(86*8*units.Time(10)+25*units.Nanosecond) + 3*300*units.Nanosecond
	if got, want := flow["after both"].StartPS, end("beside it")-ack; got != want {
		t.Errorf("the barrier opened at %d ps, want %d: the later of both received", got, want)
	}
}

func runOf(t *testing.T, v *scenario.Valid) *record.Run {
	t.Helper()
	w, err := build.New(v, build.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run.Simulate(context.Background(), w, run.Options{Workers: 1})
}

// A message that its trigger has not started by the stop time is open, and its
// start is not made up.
func TestTriggerAfterStop(t *testing.T) {
	v, err := scenario.Parse("triggers", []byte(triggerScenario), []string{"stop=5us"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := runOf(t, v)
	if r.Stopped != "stop time" || r.OpenMessages != 7 {
		t.Errorf("stopped by %q with %d open messages, want stop time and 7", r.Stopped, r.OpenMessages)
	}
	for _, f := range r.Flows[1:] {
		if f.StartPS != 5*units.Microsecond || f.CompletionPS != -1 || f.Status != "open" {
			t.Errorf("%s: start %d, completion %d, %s; want the end of the run, -1, open", f.Workload, f.StartPS, f.CompletionPS, f.Status)
		}
	}
}
