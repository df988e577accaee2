package compare

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/units"
)

// Row is what came of one seed. What a run has no value of is 0, and left out of JSON.
type Row struct {
	Seed        uint64      `json:"seed"`
	Stopped     string      `json:"stopped"`
	Fingerprint string      `json:"fingerprint"`
	Messages    int64       `json:"messages"`
	Completed   int64       `json:"completed"`
	Lost        int64       `json:"lost"`
	Failed      int64       `json:"failed"`
	Open        int64       `json:"open"`
	P50PS       units.Time  `json:"completion_p50_ps,omitzero"`
	P99PS       units.Time  `json:"completion_p99_ps,omitzero"`
	MaxPS       units.Time  `json:"completion_max_ps,omitzero"`
	CallP50PS   units.Time  `json:"rpc_p50_ps,omitzero"`
	CallP99PS   units.Time  `json:"rpc_p99_ps,omitzero"`
	GoodputBps  units.Rate  `json:"goodput_bps,omitzero"`
	Jain        float64     `json:"jain,omitzero"`
	PeakQueue   int64       `json:"peak_queue_bytes"`
	HeldPS      units.Time  `json:"held_ps"`
	Pauses      int64       `json:"pauses"`
	Marked      int64       `json:"marked"`
	Dropped     int64       `json:"dropped"`
	Resent      int64       `json:"retransmitted_bytes"`
	Timeouts    int64       `json:"timeouts"`
	Collectives []TimeBusBW `json:"collectives,omitempty"`
	Jobs        []JobRow    `json:"jobs,omitempty"`
}

// TimeBusBW is what a collective of the workload took with one seed: the mean time of an
// iteration, and the bus bandwidth that nccl-tests would print.
type TimeBusBW struct {
	Workload string     `json:"workload"`
	TimePS   units.Time `json:"time_ps"`
	BusBW    float64    `json:"busbw_gbyte_s"`
}

// rowOf is the row of a run.
func rowOf(o *outcome) Row {
	f := spreads([]*outcome{o})
	r := Row{Seed: o.run.Seed, Stopped: o.run.Stopped, Fingerprint: o.run.Fingerprint,
		Messages: f.Messages.Median, Completed: f.Completed.Median, Lost: f.Lost.Median, Failed: f.Failed.Median, Open: f.Open.Median,
		P50PS: f.P50PS.Median, P99PS: f.P99PS.Median, MaxPS: f.MaxPS.Median,
		CallP50PS: f.CallP50PS.Median, CallP99PS: f.CallP99PS.Median, GoodputBps: f.GoodputBps.Median, Jain: f.Jain.Median,
		PeakQueue: f.PeakQueue.Median, HeldPS: f.HeldPS.Median, Pauses: f.Pauses.Median, Marked: f.Marked.Median,
		Dropped: f.Dropped.Median, Resent: f.Resent.Median, Timeouts: f.Timeouts.Median}
	for i := range f.Collectives {
		c := &f.Collectives[i]
		r.Collectives = append(r.Collectives, TimeBusBW{c.Workload, c.TimePS.Median, c.BusBW.Median})
	}
	r.Jobs = jobRows(f.Jobs)
	return r
}

// lotteryFrom is the range, as a part of the median, from which a figure is a lottery.
const lotteryFrom = 0.5

// lottery names the headline figures of which no single seed stands for the others: the
// largest lies above the least by more than half the median. Fairness is judged by its
// evenness. What is counted, such as
// marks and drops, may vary more and mean little; such figures are left out.
func lottery(f *Figures, runs []*outcome) (out []string) {
	add := func(name string, wide bool) {
		if wide {
			out = append(out, name)
		}
	}
	add("p50", isWide(f.P50PS))
	add("p99", isWide(f.P99PS))
	add("slowest", isWide(f.MaxPS))
	add("RPC p50", isWide(f.CallP50PS))
	add("RPC p99", isWide(f.CallP99PS))
	for i := range f.Collectives {
		c := &f.Collectives[i]
		add(fmt.Sprintf("time of %s", c.Workload), isWide(c.TimePS))
	}
	for i := range f.Jobs {
		add("step time of "+f.Jobs[i].Workload, isWide(f.Jobs[i].StepPS))
	}
	add("goodput", isWide(f.GoodputBps))
	even := collect(runs, func(f *figures) (float64, bool) { return evenness(f.jain, f.over), f.compared })
	add("fairness", isWide(even) && even.Max-even.Min > evennessFrom)
	return out
}

func isWide[T ~int64 | ~float64](s Spread[T]) bool { return Range(s) > lotteryFrom }

// evennessFrom is the range of evenness, of the whole that it may have, below which fairness
// is no lottery however low its median: runs in which one flow has nearly everything agree.
const evennessFrom = 0.1

// evenness is Jain's index of n flows on a scale from 0, where one has everything, to 1. The
// index itself begins at 1/n, so that of two flows no range exceeds half of what it may be.
func evenness(jain float64, n int) float64 {
	least := 1 / float64(n)
	return (jain - least) / (1 - least)
}

// Range is how far the largest lies above the least, as a part of the median: 0 where all
// seeds agree or none has a value, infinite where only the median is 0.
func Range[T ~int64 | ~float64](s Spread[T]) float64 {
	if s.Max == s.Min {
		return 0
	}
	return float64(s.Max-s.Min) / float64(s.Median)
}
