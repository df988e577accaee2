package run

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/units"
)

// warnings are the scenario's, and what became of a measure window that the run
// did not last for.
func (r *runner) warnings(end units.Time, measured bool) []string {
	v := r.Valid
	out := append([]string(nil), v.Warnings...)
	switch {
	case v.MeasureFrom == units.Never:
	case !measured:
		out = append(out, fmt.Sprintf("measure: the run ended at %v, before the window began at %v: mean queues and utilisation are those of the whole run", end, v.MeasureFrom))
	case v.MeasureTo != units.Never && end < v.MeasureTo:
		out = append(out, fmt.Sprintf("measure: the run ended at %v, so the window from %v to %v was cut off there", end, v.MeasureFrom, v.MeasureTo))
	}
	for n := range v.NICs {
		for _, f := range v.NICs[n].Faults {
			if f.From > end && (v.Stop == units.Never || f.From < v.Stop) {
				out = append(out, fmt.Sprintf("%s: the fault %s from %v was never seen: the run ended at %v",
					v.Graph.Nodes[n].Name, f.Kind, f.From, end))
			}
		}
	}
	return append(out, r.unseen(end)...)
}

// unseen warns of failures of links that the run ended before, the first of them.
func (r *runner) unseen(end units.Time) (out []string) {
	n := 0
	for _, f := range r.Valid.Failures {
		if f.DownPS > end && (r.Valid.Stop == units.Never || f.DownPS < r.Valid.Stop) {
			if n++; n == 1 {
				out = []string{fmt.Sprintf("the failure of %s at %v was never seen: the run ended at %v", f.Link, f.DownPS, end)}
			}
		}
	}
	if n > 1 {
		out[0] += fmt.Sprintf(" (and %d more like it)", n-1)
	}
	return out
}
