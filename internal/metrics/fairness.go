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
	Over     int     `json:"over"` // queue pairs compared, at least 2, which share ports of their paths
	// StartPS is when their messages were posted. With a measure window it is
	// the start of the window, and the goodputs are those within it.
	StartPS  units.Time `json:"start_ps"`
	Measured bool       `json:"measured"`
}

// fairness compares queue pairs over the whole run and, when there are several
// workload entries, within each that is not the whole. Compared is the largest set that posted at the
// same instant, since flows that start at different times do not compete
// alike; with a measure window, what each responder received within it. Of them compared is the largest
// set that ports of their paths join: those of others have no part in what one gets. Where the record does not tell
// a path, it is taken to be joined with others of which that holds.
func fairness(x *index) []Fairness {
	r, out := x.r, []Fairness{}
	over := func(workload string, flows []record.Message, of func(q *record.QP) bool) {
		f, ok := x.startFairness(flows)
		if r.MeasureTo > r.MeasureFrom {
			f, ok = x.windowFairness(of)
		}
		if ok && (len(out) == 0 || f.Over < out[0].Over) { // else the same set again
			f.Workload = workload
			out = append(out, f)
		}
	}
	over("", r.Messages, func(*record.QP) bool { return true })
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
		over(name, flows, func(q *record.QP) bool { return q.Workload == name })
	}
	return out
}

// portion is what a queue pair got.
type portion struct {
	sender int // of the data, in QPs; -1: unknown
	got    int64
}

// rivals are what those of the largest set got that ports of the data's paths join; of several as large, the first.
func (x *index) rivals(shares []portion) (got []int64) {
	group := make([]int, len(shares)) // one of the same set, itself for one of each
	root := func(i int) int {
		for group[i] != i {
			group[i] = group[group[i]]
			i = group[i]
		}
		return i
	}
	at := map[record.PortID]int{} // one whose data leave by a port
	unknown := -1
	for i, s := range shares {
		group[i] = i
		if s.sender < 0 || len(x.r.QPs[s.sender].Limits.Path) == 0 { // the record does not tell
			if unknown < 0 {
				unknown = i
			}
			group[root(i)] = root(unknown)
			continue
		}
		for _, h := range x.r.QPs[s.sender].Limits.Path {
			if k, shared := at[h.Port]; shared {
				group[root(i)] = root(k)
			} else {
				at[h.Port] = i
			}
		}
	}
	size, largest := make([]int, len(shares)), 0
	for i := range shares {
		size[root(i)]++
		largest = max(largest, size[root(i)])
	}
	of := -1
	for i, s := range shares {
		if of < 0 && size[root(i)] == largest {
			of = root(i)
		}
		if root(i) == of {
			got = append(got, s.got)
		}
	}
	return got
}

// startFairness compares the largest set of queue pairs that posted at the same
// instant and completed.
func (x *index) startFairness(flows []record.Message) (best Fairness, ok bool) {
	for _, same := range groupBy(flows, func(f *record.Message) units.Time { return f.StartPS }) {
		if len(same) <= best.Over {
			continue
		}
		goodputs := x.rivals(x.pairGoodputs(flows, same))
		if len(goodputs) >= 2 && len(goodputs) > best.Over {
			best = Fairness{Jain: Jain(goodputs), Over: len(goodputs), StartPS: flows[same[0]].StartPS}
		}
	}
	return best, best.Over >= 2
}

// pairGoodputs returns the goodput of each queue pair among the completed flows
// that index names: messages posted together on one pair count as one.
func (x *index) pairGoodputs(flows []record.Message, index []int) []portion {
	type pair struct {
		src, dst string
		qp       int
	}
	type total struct {
		bytes  int64
		took   units.Time
		sender int
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
			sender, known := x.sender(f)
			if !known {
				sender = -1
			}
			totals = append(totals, total{sender: sender})
		}
		totals[n].bytes += f.Bytes
		totals[n].took = max(totals[n].took, took(f))
	}
	goodputs := make([]portion, len(totals))
	for n, t := range totals {
		goodputs[n] = portion{t.sender, int64(RateOf(t.bytes, t.took))}
	}
	return goodputs
}

// windowFairness compares what responders received in the measure window. One
// that received something outside it only was starved, and counts.
func (x *index) windowFairness(of func(q *record.QP) bool) (Fairness, bool) {
	var shares []portion
	for i := range x.r.QPs {
		if q := &x.r.QPs[i]; of(q) && (q.DeliveredBytes > 0 || q.MeasuredBytes > 0) {
			sender, known := x.peer(q)
			if !known {
				sender = -1
			}
			shares = append(shares, portion{sender, q.MeasuredBytes})
		}
	}
	got := x.rivals(shares)
	return Fairness{Jain: Jain(got), Over: len(got), StartPS: x.r.MeasureFrom, Measured: true}, len(got) >= 2
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
