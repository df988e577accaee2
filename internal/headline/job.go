package headline

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
)

// jobFigure is a figure of a job and how to read it.
type jobFigure struct {
	key, title string // of the name, and for people
	unit       Unit
	better     Better
	read       func(*metrics.JobFigures) (float64, bool)
}

// jobTable lists the figures of a job: see metrics.JobFigures.
func jobTable() []jobFigure {
	whole := func(get func(*metrics.JobFigures) int64) func(*metrics.JobFigures) (float64, bool) {
		return func(f *metrics.JobFigures) (float64, bool) { return float64(get(f)), f.Whole() }
	}
	return []jobFigure{
		{"step_time_ps", "step time", Time, Lower, func(f *metrics.JobFigures) (float64, bool) {
			return float64(f.StepPS), f.Done > 0
		}},
		{"slowdown", "slowdown of steps", Ratio, Lower, func(f *metrics.JobFigures) (float64, bool) {
			return float64(f.StepPS) / float64(max(f.AlonePS, 1)), f.AlonePS > 0
		}},
		{"exposed_ps", "exposed", Time, Lower, whole(func(f *metrics.JobFigures) int64 { return int64(f.ExposedPS) })},
		{"bubble_ps", "bubble", Time, Lower, whole(func(f *metrics.JobFigures) int64 { return int64(f.BubblePS) })},
		{"idle_ps", "idle", Time, Lower, whole(func(f *metrics.JobFigures) int64 { return int64(f.IdlePS()) })},
		{"mfu", "MFU", Ratio, Higher, func(f *metrics.JobFigures) (float64, bool) { return f.MFU, f.MFU > 0 }},
	}
}

// ofJob is the figure of a job by its number in the scenario, from 0.
func (f *jobFigure) ofJob(i int, workload string) Figure {
	return Figure{fmt.Sprintf("job_%d_%s", i, f.key), workload + " " + f.title, f.unit, f.better}
}

// OfJobs lists the figures of jobs, which are called as given.
func OfJobs(workloads []string) (out []Figure) {
	for i, w := range workloads {
		for _, f := range jobTable() {
			out = append(out, f.ofJob(i, w))
		}
	}
	return out
}

// jobValues are those that job i has.
func jobValues(i int, f *metrics.JobFigures) (out Values) {
	for _, x := range jobTable() {
		if v, ok := x.read(f); ok {
			out = append(out, Value{x.ofJob(i, f.Workload), v})
		}
	}
	return out
}

// findJob is the figure of a job that a name means, of the first one where it names none.
func findJob(name string) (Figure, bool) {
	number, key := 0, name
	if n, err := fmt.Sscanf(strings.ToLower(name), "job_%d_%s", &number, &key); n < 2 || err != nil || number < 0 {
		number, key = 0, name
	}
	for _, f := range jobTable() {
		short := strings.TrimSuffix(f.key, "_ps")
		if strings.EqualFold(key, f.key) || strings.EqualFold(key, short) || strings.EqualFold(key, f.title) {
			return f.ofJob(number, fmt.Sprintf("job %d", number)), true
		}
	}
	return Figure{}, false
}
