package metrics

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Fairness is Jain's index (R. Jain et al., DEC-TR-301, 1984): the square of
// the sum of the goodputs over their number times the sum of their squares; 1
// when all are equal, 1/n when one has everything.
type Fairness struct {
	Workload string  `json:"workload"` // "": over all workload entries
	Jain     float64 `json:"jain"`
	Over     int     `json:"over"` // queue pairs compared, at least 2
	// StartPS is when their messages were posted. With a measure window it is
	// the start of the window, and the goodputs are those within it.
	StartPS  units.Time `json:"start_ps"`
	Measured bool       `json:"measured"`
}

// fairness compares queue pairs over the whole run and, when there are several
// workload entries, within each that is not the whole. Compared is the largest set that posted at the
// same instant, since flows that start at different times do not compete
// alike; with a measure window, what each responder received within it.
func fairness(r *record.Run) []Fairness {
	out := []Fairness{}
	over := func(workload string, flows []record.Message, qps []record.QP) {
		f, ok := startFairness(flows)
		if r.MeasureTo > r.MeasureFrom {
			f, ok = windowFairness(qps, r.MeasureFrom)
		}
		if ok && (len(out) == 0 || f.Over < out[0].Over) { // else the same set again
			f.Workload = workload
			out = append(out, f)
		}
	}
	over("", r.Messages, r.QPs)
	entries := groupBy(r.Messages, func(f *record.Message) string { return f.Workload })
	if len(entries) < 2 {
		return out
	}
	for _, entry := range entries {
		name := r.Messages[entry[0]].Workload
		flows := make([]record.Message, 0, len(entry))
		for _, i := range entry {
			flows = append(flows, r.Messages[i])
		}
		over(name, flows, qpsOf(r.QPs, name))
	}
	return out
}

func qpsOf(qps []record.QP, workload string) []record.QP {
	var out []record.QP
	for i := range qps {
		if qps[i].Workload == workload {
			out = append(out, qps[i])
		}
	}
	return out
}

// startFairness compares the largest set of queue pairs that posted at the same
// instant and completed.
func startFairness(flows []record.Message) (best Fairness, ok bool) {
	for _, same := range groupBy(flows, func(f *record.Message) units.Time { return f.StartPS }) {
		if len(same) <= best.Over {
			continue
		}
		goodputs := pairGoodputs(flows, same)
		if len(goodputs) >= 2 && len(goodputs) > best.Over {
			best = Fairness{Jain: Jain(goodputs), Over: len(goodputs), StartPS: flows[same[0]].StartPS}
		}
	}
	return best, best.Over >= 2
}

// pairGoodputs returns the goodput of each queue pair among the completed flows
// that index names: messages posted together on one pair count as one.
func pairGoodputs(flows []record.Message, index []int) []int64 {
	type pair struct {
		src, dst string
		qp       int
	}
	type total struct {
		bytes int64
		took  units.Time
	}
	at := map[pair]int{}
	var totals []total
	for _, i := range index {
		f := &flows[i]
		if !Completed(f) || Lost(f) || f.Bytes == 0 {
			continue
		}
		k := pair{f.Src, f.Dst, f.QP}
		n, seen := at[k]
		if !seen {
			n = len(totals)
			at[k] = n
			totals = append(totals, total{})
		}
		totals[n].bytes += f.Bytes
		totals[n].took = max(totals[n].took, took(f))
	}
	goodputs := make([]int64, len(totals))
	for n, t := range totals {
		goodputs[n] = int64(RateOf(t.bytes, t.took))
	}
	return goodputs
}

// windowFairness compares what responders received in the measure window. One
// that received something outside it only was starved, and counts.
func windowFairness(qps []record.QP, from units.Time) (Fairness, bool) {
	var got []int64
	for i := range qps {
		if q := &qps[i]; q.DeliveredBytes > 0 || q.MeasuredBytes > 0 {
			got = append(got, q.MeasuredBytes)
		}
	}
	return Fairness{Jain: Jain(got), Over: len(got), StartPS: from, Measured: true}, len(got) >= 2
}

// Jain returns Jain's fairness index of v; 0 when v is empty or all zero.
// Values are scaled to the largest first, so that their squares neither
// overflow nor lose precision.
func Jain(v []int64) float64 {
	var largest int64
	for _, x := range v {
		largest = max(largest, x)
	}
	if largest == 0 {
		return 0
	}
	var sum, squares float64
	for _, x := range v {
		share := float64(x) / float64(largest)
		sum += share
		square := share * share
		squares += float64(square) // converted, so that no fused multiply-add changes the last digit
	}
	return float64(sum*sum) / (float64(len(v)) * squares)
}
