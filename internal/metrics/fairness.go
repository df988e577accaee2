package metrics

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Fairness is Jain's index (R. Jain et al., DEC-TR-301, 1984): the square of
// the sum of the goodputs over their number times the sum of their squares; 1
// when all are equal, 1/n when one has everything.
type Fairness struct {
	Workload string  `json:"workload"`
	Jain     float64 `json:"jain"`
	Over     int     `json:"over"` // queue pairs compared, at least 2
	// StartPS is when their messages were posted. With a measure window it is
	// the start of the window, and the goodputs are those within it.
	StartPS  units.Time `json:"start_ps"`
	Measured bool       `json:"measured"`
}

// fairness compares, for each workload entry, the largest set of queue pairs
// that posted at the same instant; flows that start at different times do not
// compete alike. With a measure window it compares what each responder of the
// entry received within it.
func fairness(r *record.Run) []Fairness {
	if r.MeasureTo > r.MeasureFrom {
		return measuredFairness(r)
	}
	out := []Fairness{}
	for _, entry := range groupBy(r.Flows, func(f *record.Flow) string { return f.Workload }) {
		if f, ok := startFairness(r.Flows, entry); ok {
			out = append(out, f)
		}
	}
	return out
}

// startFairness finds the largest same-start set among the flows that entry
// names. Messages of one queue pair count as one flow.
func startFairness(flows []record.Flow, entry []int) (Fairness, bool) {
	type pair struct {
		src, dst string
		qp       int
	}
	type total struct {
		bytes int64
		took  units.Time
	}
	members := make([]record.Flow, 0, len(entry))
	for _, i := range entry {
		members = append(members, flows[i])
	}
	var best Fairness
	for _, same := range groupBy(members, func(f *record.Flow) units.Time { return f.StartPS }) {
		var order []pair
		totals := map[pair]total{}
		for _, i := range same {
			f := &members[i]
			if !Completed(f) {
				continue
			}
			k := pair{f.Src, f.Dst, f.QP}
			t, seen := totals[k]
			if !seen {
				order = append(order, k)
			}
			totals[k] = total{t.bytes + f.Bytes, max(t.took, f.CompletionPS)}
		}
		if len(order) < 2 || len(order) <= best.Over {
			continue
		}
		goodputs := make([]int64, 0, len(order))
		for _, k := range order {
			goodputs = append(goodputs, int64(RateOf(totals[k].bytes, totals[k].took)))
		}
		best = Fairness{Workload: members[same[0]].Workload, Jain: Jain(goodputs), Over: len(order), StartPS: members[same[0]].StartPS}
	}
	return best, best.Over >= 2
}

func measuredFairness(r *record.Run) []Fairness {
	out := []Fairness{}
	var names []string
	got := map[string][]int64{}
	for i := range r.QPs {
		q := &r.QPs[i]
		if q.DeliveredBytes == 0 && q.MeasuredBytes == 0 {
			continue
		}
		if _, seen := got[q.Workload]; !seen {
			names = append(names, q.Workload)
		}
		got[q.Workload] = append(got[q.Workload], q.MeasuredBytes)
	}
	for _, name := range names {
		if v := got[name]; len(v) >= 2 {
			out = append(out, Fairness{Workload: name, Jain: Jain(v), Over: len(v), StartPS: r.MeasureFrom, Measured: true})
		}
	}
	return out
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
