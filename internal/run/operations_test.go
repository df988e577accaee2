package run_test

import (
	"context"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// drawn is a plan of messages and local operations over the hosts of a scenario,
// each after up to three earlier ones that end where it starts.
func drawn(t *testing.T, seed uint64) *scenario.Valid {
	t.Helper()
	v, err := scenario.Parse("graph", []byte(`
name: graph
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 3, link: 100Gbps}}
workload: [{flow: {from: h0, to: h1, size: 1KB}}]
`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := rng.New(seed, "graph")
	p := v.Plan
	conn := map[[2]int]int{}
	type ended struct {
		op   workload.Op
		end  workload.End
		host int // by its endpoint
	}
	var all []ended
	for range 200 {
		a := s.IntN(6)
		var op workload.Op
		if s.IntN(3) == 0 {
			op = p.AddLocal(workload.Local{Host: v.Graph.HostOf(a), Start: units.Time(s.IntN(5000)), Label: p.AddLabel("step", workload.Part{Name: "wait", Time: units.Time(s.IntN(3)) * units.Microsecond}),
				From: workload.NoDevice, To: workload.NoDevice})
		} else {
			b := (a + 1 + s.IntN(5)) % 6
			c, known := conn[[2]int{a, b}]
			if !known {
				o := workload.DefaultOptions()
				o.Verb = workload.WriteImm
				if err := p.Flow(0, a, b, 1, o); err != nil {
					t.Fatal(err)
				}
				c = len(p.Conns) - 1
				conn[[2]int{a, b}] = c
			}
			op = p.AddMessage(workload.Message{Conn: c, Verb: workload.WriteImm, Bytes: units.Bytes(s.IntN(20000)), Start: units.Time(s.IntN(5000))})
		}
		for range s.IntN(4) {
			if len(all) == 0 {
				break
			}
			if e := all[s.IntN(len(all))]; e.host == a {
				p.After(op, e.op, e.end)
			}
		}
		all = append(all, ended{op, workload.Completed, a})
		if op >= 0 {
			all = append(all, ended{op, workload.Received, p.Conns[p.Series[op].Conn].Dst})
		}
	}
	return v
}

// Every operation starts the instant the last of those it is after ends, on any
// partitions.
func TestOperationsStartWhenOthersEnd(t *testing.T) {
	for seed := range uint64(8) {
		v := drawn(t, seed)
		if err := v.Plan.Finish(v.Graph); err != nil {
			t.Fatal(err)
		}
		base := simulate(t, v, 1, 1)
		for _, c := range []struct{ parts, workers int }{{2, 1}, {8, 3}} {
			if bad := differ(t, base, simulate(t, v, c.parts, c.workers)); bad != "" {
				t.Errorf("seed %d: %d partitions give another result: %s", seed, c.parts, bad)
			}
		}
		w, err := build.New(v, build.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := run.Simulate(context.Background(), w, run.Options{Workers: 1})
		if r.Stopped != "quiescence" {
			t.Fatalf("seed %d: %s", seed, r.Stopped)
		}
		g, n := v.Plan.Graph, v.Plan.Len()
		latest := make([]units.Time, n+len(v.Plan.Locals))
		note := func(op int, end workload.End, at units.Time) {
			for _, next := range g.Released(op, end) {
				latest[next] = max(latest[next], at)
			}
		}
		for i, f := range r.Messages {
			note(i, workload.Completed, f.StartPS+f.CompletionPS)
			note(i, workload.Received, f.StartPS+accepted(f.Account.Stages()))
		}
		for i, l := range w.Locals {
			if l.Done != l.Due+v.Plan.Labels[v.Plan.Locals[i].Label].Delay() {
				t.Errorf("seed %d: local operation %d ran from %d to %d ps", seed, i, l.Due, l.Done)
			}
			note(n+i, workload.Completed, l.Done)
		}
		waiting := 0
		for op, need := range g.Need {
			if need == 0 {
				continue
			}
			waiting++
			at := units.Time(0)
			if op < n {
				at = r.Messages[op].StartPS
			} else {
				at = w.Locals[op-n].Due
			}
			if at != latest[op] {
				t.Errorf("seed %d: operation %d started at %d ps, the last it was after ended at %d", seed, op, at, latest[op])
			}
		}
		if waiting < 20 {
			t.Fatalf("seed %d: only %d operations wait", seed, waiting)
		}
	}
}
