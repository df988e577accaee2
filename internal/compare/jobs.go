package compare

import (
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// JobFigures are those of a job: of a step in the mean of ranks, see metrics.JobFigures.
type JobFigures struct {
	Workload  string             `json:"workload"`
	Done      Spread[int64]      `json:"done"` // steps that were over
	StepPS    Spread[units.Time] `json:"step_ps"`
	ExposedPS Spread[units.Time] `json:"exposed_ps"`
	BubblePS  Spread[units.Time] `json:"bubble_ps"`
	WaitPS    Spread[units.Time] `json:"wait_ps"`
	OverPS    Spread[units.Time] `json:"over_ps"`
	MFU       Spread[float64]    `json:"mfu"`
}

// JobRow is what a job came to with one seed.
type JobRow struct {
	Workload  string     `json:"workload"`
	StepPS    units.Time `json:"step_ps"`
	ExposedPS units.Time `json:"exposed_ps"`
	BubblePS  units.Time `json:"bubble_ps"`
	WaitPS    units.Time `json:"wait_ps"`
	OverPS    units.Time `json:"over_ps"`
	MFU       float64    `json:"mfu,omitzero"`
}

// jobs spreads each job over the runs.
func jobs(runs []*outcome) (out []JobFigures) {
	for k := range runs[0].figures.jobs {
		at := func(f *figures) *metrics.JobFigures { return &f.jobs[k] }
		whole := func(get func(*metrics.JobFigures) units.Time) Spread[units.Time] {
			return collect(runs, func(f *figures) (units.Time, bool) { return get(at(f)), at(f).Whole() })
		}
		out = append(out, JobFigures{
			Workload:  at(&runs[0].figures).Workload,
			Done:      always(runs, func(f *figures) int64 { return int64(at(f).Done) }),
			StepPS:    collect(runs, func(f *figures) (units.Time, bool) { return at(f).StepPS, at(f).Done > 0 }),
			ExposedPS: whole(func(j *metrics.JobFigures) units.Time { return j.ExposedPS }),
			BubblePS:  whole(func(j *metrics.JobFigures) units.Time { return j.BubblePS }),
			WaitPS:    whole(func(j *metrics.JobFigures) units.Time { return j.WaitPS }),
			OverPS:    whole(func(j *metrics.JobFigures) units.Time { return j.OverPS }),
			MFU:       collect(runs, func(f *figures) (float64, bool) { return at(f).MFU, at(f).MFU > 0 }),
		})
	}
	return out
}

// jobRows are those of a run, whose figures are spreads over it alone.
func jobRows(of []JobFigures) (out []JobRow) {
	for i := range of {
		f := &of[i]
		out = append(out, JobRow{f.Workload, f.StepPS.Median, f.ExposedPS.Median, f.BubblePS.Median, f.WaitPS.Median,
			f.OverPS.Median, f.MFU.Median})
	}
	return out
}

// jobs says how long the steps of jobs took.
func (t *story) jobs() (out []string) {
	for i := range t.s.Jobs {
		f := &t.s.Jobs[i]
		switch {
		case f.Done == 0:
			out = append(out, t.l.Sprintf("no step of %s was over at %s", f.Workload, t.at(t.r.EndPS)))
		case f.Steps == 1:
			out = append(out, t.l.Sprintf("the step of %s took %s", f.Workload, metrics.FormatTime(f.StepPS)))
		default:
			out = append(out, t.l.Sprintf("%s of %s took %s in the mean", number(t.l, int64(f.Done), "step", "steps"),
				f.Workload,
				metrics.FormatTime(f.StepPS)))
		}
	}
	return out
}
