package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// JobShare is how long ranks of a job did something, each rank in all its steps.
type JobShare struct {
	Kind, What        string // as of record.JobTime
	Mean              units.Time
	Least, Most       units.Time
	LeastRank, MostOf int // ranks
}

// jobKinds is the order in which shares are told.
func jobKinds() []string {
	return []string{
		record.JobComputes,
		record.JobExposed,
		record.JobCopies,
		record.JobHost,
		record.JobWaits,
		record.JobMessage,
		record.JobIdle,
		record.JobStuck,
	}
}

// JobShares adds up what the ranks of a job did, computations first. A rank that did not do something
// counts with no time.
func JobShares(j *record.Job) []JobShare {
	type key struct{ kind, what string }
	index := make(map[key]int) // looked up, never iterated
	var out []JobShare
	var seen []int // by share: ranks that did it
	for i := range j.Times {
		t := &j.Times[i]
		k := key{t.Kind, t.What}
		n, known := index[k]
		if !known {
			n = len(out)
			index[k] = n
			out, seen = append(out, JobShare{Kind: t.Kind, What: t.What, Least: t.TimePS, LeastRank: t.Rank,
				MostOf: t.Rank}), append(seen, 0)
		}
		s := &out[n]
		seen[n]++
		s.Mean += t.TimePS
		if t.TimePS > s.Most {
			s.Most, s.MostOf = t.TimePS, t.Rank
		}
		if t.TimePS < s.Least {
			s.Least, s.LeastRank = t.TimePS, t.Rank
		}
	}
	for n := range out {
		if seen[n] < j.Ranks {
			out[n].Least, out[n].LeastRank = 0, -1
		}
		out[n].Mean /= units.Time(j.Ranks)
	}
	order := jobKinds()
	slices.SortStableFunc(out, func(a, b JobShare) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	return out
}

// JobBubble is how long ranks of a job with a pipeline have nothing to do, in the mean, as a share of the rest of the
// time, and what the schedule's closed form says, (p-1)/(m v) of p stages with m micro-batches and v chunks; 0, 0: it
// has no pipeline, or no step of it is over.
func JobBubble(j *record.Job) (share, closed float64) {
	total := JobTotal(j) * units.Time(j.Ranks)
	if j.Stages < 2 || total == 0 || len(StepTimes(j)) == 0 {
		return 0, 0
	}
	idle := units.Time(0)
	for i := range j.Times {
		if k := j.Times[i].Kind; k == record.JobMessage || k == record.JobIdle {
			idle += j.Times[i].TimePS
		}
	}
	return float64(idle) / float64(total-idle), float64(j.Stages-1) / float64(j.MicroBatches*j.Chunks)
}

// JobTotal is the time that a job's records cover: from its start to its last step's end, or to the
// end of the run.
func JobTotal(j *record.Job) (total units.Time) {
	if len(j.Times) == 0 {
		return 0
	}
	for i := range j.Times {
		if j.Times[i].Rank == j.Times[0].Rank {
			total += j.Times[i].TimePS
		}
	}
	return total
}

// StepTimes are how long the steps of a job took that are over: from the end of the one before.
func StepTimes(j *record.Job) (out []units.Time) {
	at := j.StartPS
	for _, end := range j.EndPS {
		if end < 0 {
			break
		}
		out = append(out, end-at)
		at = end
	}
	return out
}

// JobFigures are how fast the steps of a job are, and where the time of its ranks goes: times behind StepPS are of a step
// in the mean of ranks, add up to StepPS but for rounding, and are absent where a step was not over.
type JobFigures struct {
	Workload  string     `json:"workload"`
	Ranks     int        `json:"ranks"`
	Steps     int        `json:"steps"`               // that were asked for
	Done      int        `json:"done"`                // steps that were over
	StepPS    units.Time `json:"step_ps"`             // mean of those
	ComputePS units.Time `json:"compute_ps,omitzero"` // in computations
	ExposedPS units.Time `json:"exposed_ps,omitzero"` // in communication beside none
	CopyPS    units.Time `json:"copy_ps,omitzero"`    // in copies inside the host beside neither
	HostPS    units.Time `json:"host_ps,omitzero"`    // in work of the host beside none of these
	WaitPS    units.Time `json:"wait_ps,omitzero"`    // waiting for a rank that came late to a collective
	BubblePS  units.Time `json:"bubble_ps,omitzero"`  // waiting for the other rank of a message
	OverPS    units.Time `json:"over_ps,omitzero"`    // through with the step, and others not
	// AlonePS is StepPS where nothing else runs; 0: it was not run alone.
	AlonePS units.Time `json:"alone_ps,omitzero"`
	// MFU is the share of the GPUs' peak that the model's own operations take; 0: not known.
	MFU float64 `json:"mfu,omitzero"`
}

// Whole reports whether all steps were over.
func (f *JobFigures) Whole() bool { return f.Done == f.Steps }

// IdlePS is what ranks do nothing in, of a step.
func (f *JobFigures) IdlePS() units.Time { return f.WaitPS + f.BubblePS + f.OverPS }

// Jobs condenses the jobs of a run.
func Jobs(r *record.Run) (out []JobFigures) {
	for i := range r.Jobs {
		out = append(out, jobFigures(&r.Jobs[i]))
	}
	return out
}

func jobFigures(j *record.Job) JobFigures {
	steps := StepTimes(j)
	f := JobFigures{Workload: j.Workload, Ranks: j.Ranks, Steps: len(j.EndPS), Done: len(steps), AlonePS: j.AlonePS}
	if f.Done == 0 {
		return f
	}
	for _, d := range steps {
		f.StepPS += d
	}
	f.StepPS /= units.Time(f.Done)
	if j.Peak > 0 && f.StepPS > 0 {
		f.MFU = j.Flops / float64(j.Ranks) / j.Peak / (float64(f.StepPS) / float64(units.Second))
	}
	if !f.Whole() {
		return f
	}
	sums := map[string]units.Time{}
	for i := range j.Times {
		sums[j.Times[i].Kind] += j.Times[i].TimePS
	}
	each := func(kind string) units.Time { return sums[kind] / units.Time(j.Ranks*f.Steps) }
	f.ComputePS, f.ExposedPS = each(record.JobComputes), each(record.JobExposed)
	f.CopyPS, f.HostPS = each(record.JobCopies), each(record.JobHost)
	f.WaitPS, f.BubblePS, f.OverPS = each(record.JobWaits), each(record.JobMessage), each(record.JobIdle)
	return f
}
