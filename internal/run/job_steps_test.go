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

// steppedJob is a job of two stages with a collective, in so many steps.
func steppedJob(t *testing.T, steps string) *scenario.Valid {
	t.Helper()
	return jobScenario(t, "[h0/gpu0, h0/gpu1, h1/gpu0, h1/gpu1]", "steps: "+steps+"\n    communicators: {tp: {size: 2}}",
		"compute: {name: f, time: 1ms, ranks: [0, 1]}", "allreduce: {on: tp, size: 1MiB, after: f, ranks: [0, 1]}",
		"send: {ranks: [0, 1], to: +2, size: 1MB, after: allreduce}", "recv: {ranks: [2, 3], from: -2, size: 1MB}",
		"compute: {name: g, time: 2ms, ranks: [2, 3], after: recv}", "mark: {name: m}")
}

// Steps are told of as they end, before the run does, and a run that is broken off has those that were over.
func TestJobStepsAreTold(t *testing.T) {
	v := steppedJob(t, "4")
	w, err := build.New(v, build.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var told []record.StepOver
	r := run.Simulate(ctx, w, run.Options{Workers: 1, Step: func(s record.StepOver) {
		if told = append(told, s); len(told) == 2 {
			stop()
		}
	}})
	j := &r.Jobs[0]
	if r.Stopped != "interrupted" || len(told) != 2 || len(j.EndPS) != 4 || j.EndPS[1] < 0 || j.EndPS[2] >= 0 {
		t.Fatalf("stopped by %s after %d steps that were told; steps end at %v", r.Stopped, len(told), j.EndPS)
	}
	before := j.StartPS
	for i, s := range told {
		if s.Step != i+1 || s.Of != 4 || s.Took != j.EndPS[i]-before || s.Last != j.LastRank[i] {
			t.Errorf("%+v is told of step %d, which took %v", s, i+1, j.EndPS[i]-before)
		}
		before = j.EndPS[i]
		shares := units.Time(0)
		for _, x := range s.Shares {
			shares += x.TimePS
		}
		if shares <= 0 || shares > s.Took+units.Millisecond {
			t.Errorf("step %d of %v: ranks did %v in the mean", s.Step, s.Took, shares)
		}
	}
	sums := make([]units.Time, j.Ranks) // what is known of the step that was under way is there as well
	for _, x := range j.Times {
		sums[x.Rank] += x.TimePS
	}
	for rank, sum := range sums {
		if sum != r.EndPS-j.StartPS {
			t.Errorf("rank %d: its times add up to %v of %v", rank, sum, r.EndPS-j.StartPS)
		}
	}
	whole := runOf(t, v)
	checkJob(t, whole)
	for i := range told {
		if j.EndPS[i] != whole.Jobs[0].EndPS[i] {
			t.Errorf("step %d ends at %v, without a stop at %v", i+1, j.EndPS[i], whole.Jobs[0].EndPS[i])
		}
	}
}

// Lanes of a page and streams of a trace say what the accounts of the ranks do, and those of a stream do not overlap.
func TestJobLanes(t *testing.T) {
	v := steppedJob(t, "2")
	w, err := build.New(v, build.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := run.Simulate(context.Background(), w, run.Options{Workers: 1, Timeline: true, Trace: true})
	checkJob(t, r)
	j := &r.Jobs[0]
	if j.LaneStep != 2 || len(j.Lanes) < j.Ranks*3 {
		t.Fatalf("%d lanes of step %d", len(j.Lanes), j.LaneStep)
	}
	drawn := map[int]units.Time{} // by rank
	for _, l := range j.Lanes {
		at := units.Time(0)
		for _, s := range l.Spans {
			if s.FromPS < at || s.PS <= 0 || s.BusyPS <= 0 || s.BusyPS > s.PS || s.Count < 1 || s.FromPS+s.PS > j.EndPS[1] {
				t.Errorf("rank %d, %q: %+v after %v", l.Rank, l.Stream, s, at)
			}
			at = s.FromPS + s.PS
			if l.Stream == "" {
				drawn[l.Rank] += s.PS
			}
		}
	}
	if len(r.Trace.Ranks) != j.Ranks {
		t.Fatalf("%d ranks of %d are traced", len(r.Trace.Ranks), j.Ranks)
	}
	for rank := range r.Trace.Ranks {
		x := &r.Trace.Ranks[rank]
		sums := map[string]units.Time{}
		for _, s := range x.States {
			sums[s.Label] += s.To - s.From
		}
		for _, want := range j.Times {
			says := record.JobSays(want.Kind, want.What)
			if want.Rank == rank && want.Kind != record.JobIdle && sums[says] != want.TimePS {
				t.Errorf("rank %d, %s: %v, on its track %v", rank, says, want.TimePS, sums[says])
			}
		}
		computes := units.Time(0)
		for _, s := range x.Streams {
			at := units.Time(0)
			for _, o := range s.Ops {
				if o.From < at || o.To <= o.From || o.Came < o.From || o.Came > o.To {
					t.Errorf("rank %d, stream %s: %+v after %v", rank, s.Name, o, at)
				}
				if at = o.To; s.Name == "compute" {
					computes += o.To - o.From
				}
			}
		}
		if computes != spent(j, rank, record.JobComputes, "") {
			t.Errorf("rank %d computes for %v, on its track %v", rank, spent(j, rank, record.JobComputes, ""), computes)
		}
		if late := x.Streams; rank == 2 && (late[0].Name != "recv" || late[0].Ops[0].Last != 0) {
			t.Errorf("rank 2 waits for rank %d in %s", late[0].Ops[0].Last, late[0].Name)
		}
	}
}
