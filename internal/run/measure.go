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
	return out
}
