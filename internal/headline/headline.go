// Package headline is the list of figures by which runs are told apart where there are many of them: in the
// tables of sweeps, as objectives of tuning, in the differences of two runs. Each has a name, which is that in
// JSON and CSV files, a title for people, a unit, and says which of two values is the better one.
package headline

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Unit is what a figure is measured in.
type Unit uint8

// Units of figures.
const (
	Count     Unit = iota // whole things
	Time                  // picoseconds
	Rate                  // bit/s
	Size                  // bytes
	Ratio                 // a number without a unit
	Bandwidth             // 10^9 byte/s, as nccl-tests has it
)

// Whole reports whether values of the unit are whole numbers.
func (u Unit) Whole() bool { return u != Ratio && u != Bandwidth }

// Format writes a value for people.
func (u Unit) Format(x float64) string {
	switch u {
	case Time:
		return metrics.FormatTime(units.Time(x))
	case Rate:
		return metrics.FormatRate(units.Rate(x))
	case Size:
		return metrics.FormatBytes(int64(x))
	case Ratio:
		return fmt.Sprintf("%.4g", x)
	case Bandwidth:
		return fmt.Sprintf("%.2f GB/s", x)
	}
	return metrics.FormatCount(int64(x))
}

// Better says which of two values of a figure is the better one.
type Better int8

// Directions.
const (
	Lower   Better = -1
	Neither Better = 0 // it depends on what is wanted
	Higher  Better = +1
)

// Figure is one number of a run.
type Figure struct {
	Name   string // as in JSON and CSV, with its unit: completion_p99_ps
	Title  string // for people: p99
	Unit   Unit
	Better Better
}

// OfCompleted reports whether the figure is of the messages or calls that completed, so that those that were open at
// the end or failed are not in it.
func (f Figure) OfCompleted() bool {
	group, _, _ := strings.Cut(f.Name, "_")
	return group == "completion" || group == "slowdown" || group == "rpc"
}

// Value is what a run has of a figure.
type Value struct {
	Figure
	X float64 // in the figure's unit; whole numbers are exact up to 2^53
}

// Values are all that a run has, in the order of Figures, then those of its collectives and jobs.
type Values []Value

// Get returns the value of the figure of a name; ok is false where the run has none.
func (v Values) Get(name string) (x float64, ok bool) {
	for i := range v {
		if v[i].Name == name {
			return v[i].X, true
		}
	}
	return 0, false
}

// of is a figure and how to read it.
type of struct {
	Figure
	read func(*run) (float64, bool)
}

// run is what figures are read from.
type run struct {
	*record.Run
	*metrics.Summary
	calls metrics.Quantiles
}

// table lists the figures that do not depend on what the workload is called. Names and meanings are those of
// compare.Row, as far as it has them; a test holds that.
func table() []of {
	count := func(name, title string, better Better, get func(r *run) int64) of {
		return of{Figure{name, title, Count, better}, func(r *run) (float64, bool) { return float64(get(r)), true }}
	}
	sum := func(name, title string, unit Unit, get func(r *run) int64) of {
		return of{Figure{name, title, unit, Lower}, func(r *run) (float64, bool) { return float64(get(r)), true }}
	}
	some := func(name, title string, unit Unit, better Better, get func(r *run) (int64, int)) of {
		return of{Figure{name, title, unit, better}, func(r *run) (float64, bool) {
			x, n := get(r)
			return float64(x), n > 0
		}}
	}
	took := func(r *run) *metrics.Quantiles { return &r.Summary.Messages.CompletionPS }
	slower := func(name, title string, get func(q *metrics.Quantiles) int64) of {
		return of{Figure{name, title, Ratio, Lower}, func(r *run) (float64, bool) {
			q := &r.Summary.Messages.SlowdownMilli
			return float64(get(q)) / 1000, q.N > 0
		}}
	}
	return []of{
		count("messages", "messages", Neither, func(r *run) int64 { return int64(r.Summary.Messages.Messages) }),
		count("completed", "completed", Higher, func(r *run) int64 { return int64(r.Summary.Messages.Completed) }),
		count("lost", "never delivered", Lower, func(r *run) int64 { return int64(r.Summary.Messages.Lost) }),
		count("failed", "failed", Lower, func(r *run) int64 { return int64(r.Summary.Messages.Failed) }),
		count("open", "open", Lower, func(r *run) int64 { return int64(r.Summary.Messages.Open) }),
		some("makespan_ps", "makespan", Time, Lower, makespan),
		some("completion_p50_ps", "p50", Time, Lower, func(r *run) (int64, int) { return took(r).P50, took(r).N }),
		some("completion_p99_ps", "p99", Time, Lower, func(r *run) (int64, int) { return took(r).P99, took(r).N }),
		some("completion_max_ps", "slowest", Time, Lower, func(r *run) (int64, int) { return took(r).Worst, took(r).N }),
		slower("slowdown_p50", "p50 slowdown", func(q *metrics.Quantiles) int64 { return q.P50 }),
		slower("slowdown_p99", "p99 slowdown", func(q *metrics.Quantiles) int64 { return q.P99 }),
		slower("slowdown_max", "largest slowdown", func(q *metrics.Quantiles) int64 { return q.Worst }),
		some("rpc_p50_ps", "RPC p50", Time, Lower, func(r *run) (int64, int) { return r.calls.P50, r.calls.N }),
		some("rpc_p99_ps", "RPC p99", Time, Lower, func(r *run) (int64, int) { return r.calls.P99, r.calls.N }),
		some("goodput_bps", "goodput", Rate, Higher, func(r *run) (int64, int) {
			return int64(r.Summary.Messages.GoodputBps), r.Summary.Messages.Completed
		}),
		{Figure{"jain", "fairness (Jain)", Ratio, Higher}, jain},
		{Figure{"peak_queue_bytes", "peak queue", Size, Lower}, peakQueue},
		count("marked", "marks", Neither, func(r *run) int64 { return r.Totals.Marked }),
		count("cnps_sent", "CNPs", Neither, func(r *run) int64 { return r.Totals.CNPsSent }),
		count("pauses", "pauses", Lower, func(r *run) int64 { return r.Totals.PausesSent }),
		sum("held_ps", "time held", Time, func(r *run) int64 { return int64(r.Totals.HeldPS) }),
		sum("paused_ps", "time paused", Time, func(r *run) int64 { return int64(r.Totals.PausedPS) }),
		count("dropped", "drops", Lower, func(r *run) int64 { return r.Totals.Dropped }),
		count("retransmitted_packets", "packets resent", Lower, func(r *run) int64 { return r.Totals.Retransmitted }),
		sum("retransmitted_bytes", "resent", Size, func(r *run) int64 { return r.Totals.ResentBytes }),
		count("timeouts", "timeouts", Lower, func(r *run) int64 { return r.Totals.Timeouts }),
		{Figure{"wire_bytes_per_payload_byte", "wire per payload", Ratio, Lower}, func(r *run) (float64, bool) {
			return float64(r.Totals.HostWireBytes) / float64(max(r.Totals.Delivered, 1)), r.Totals.Delivered > 0
		}},
	}
}

// makespan is from the first post to the last completion of a message, collective or step, to the end of the run
// where a message is open.
func makespan(r *run) (int64, int) {
	n, last := r.Summary.Messages.Completed, r.LastCompletion()
	for i := range r.Run.Jobs {
		for _, end := range r.Run.Jobs[i].EndPS {
			if end >= 0 {
				n, last = n+1, max(last, end)
			}
		}
	}
	for i := range r.Run.Collectives {
		for _, end := range r.Run.Collectives[i].EndPS {
			if end >= 0 {
				n, last = n+1, max(last, end)
			}
		}
	}
	return int64(last - r.FirstPost()), n
}

// jain is the index over all workload entries.
func jain(r *run) (float64, bool) {
	if len(r.Fairness) == 0 || r.Fairness[0].Workload != "" {
		return 0, false
	}
	return r.Fairness[0].Jain, true
}

// peakQueue is that of the deepest queue.
func peakQueue(r *run) (float64, bool) {
	peak := int64(0)
	for i := range r.Run.Ports {
		peak = max(peak, r.Run.Ports[i].PeakQueueBytes)
	}
	return float64(peak), true
}

// Figures lists what any run may have; a run with collectives or jobs has more of each: see ofCollective and ofJob.
func Figures() (out []Figure) {
	for _, f := range table() {
		out = append(out, f.Figure)
	}
	return out
}

// Named lists the figures that Find knows by title: Figures, then those of the first collective and the first job.
func Named() []Figure {
	out := Figures()
	_, busbw := ofCollective(0, "")
	for _, f := range append([]Figure{busbw}, OfJobs([]string{""})...) {
		f.Title = strings.TrimSpace(f.Title)
		out = append(out, f)
	}
	return out
}

// ofCollective are the figures of a collective by its number in the workload, from 0: the mean time of an
// iteration and the bus bandwidth that nccl-tests would print.
func ofCollective(i int, workload string) (time, busbw Figure) {
	return Figure{fmt.Sprintf("collective_%d_time_ps", i), workload, Time, Lower},
		Figure{fmt.Sprintf("collective_%d_busbw_gbyte_s", i), workload + " busbw", Bandwidth, Higher}
}

// OfCollectives lists the figures of collectives, which are called as given.
func OfCollectives(workloads []string) (out []Figure) {
	for i, w := range workloads {
		time, busbw := ofCollective(i, w)
		out = append(out, time, busbw)
	}
	return out
}

// Of reads the figures of a run. s is its summary.
func Of(r *record.Run, s *metrics.Summary) Values {
	from := &run{r, s, metrics.CallLatency(r)}
	var out Values
	for _, f := range table() {
		if x, ok := f.read(from); ok {
			out = append(out, Value{f.Figure, x})
		}
	}
	for i := range s.Collectives {
		if c := &s.Collectives[i]; c.Done > 0 {
			time, busbw := ofCollective(i, c.Workload)
			out = append(out, Value{time, float64(c.TimePS)}, Value{busbw, c.BusBW})
		}
	}
	for i := range s.Jobs {
		out = append(out, jobValues(i, &s.Jobs[i])...)
	}
	return out
}

// Find returns the figure that a name or title means, whatever its case; "busbw" is that of the first
// collective, "step time", "exposed", "bubble", "idle" and "MFU" are those of the first job. ok is false where it means
// none.
func Find(name string) (f Figure, ok bool) {
	name = strings.Join(strings.Fields(name), " ")
	for _, f := range Figures() {
		if strings.EqualFold(name, f.Name) || strings.EqualFold(name, f.Title) {
			return f, true
		}
	}
	time, busbw := ofCollective(0, "collective")
	for _, f := range []Figure{time, busbw} {
		if strings.EqualFold(name, f.Name) || strings.EqualFold(name, f.Title) {
			return f, true
		}
	}
	if strings.EqualFold(name, "busbw") {
		return busbw, true
	}
	return findJob(name)
}
