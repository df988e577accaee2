package metrics

import (
	"slices"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// mostThin is how many times of a distribution a drawing needs at most.
const mostThin = 400

// Thin sorts times in place. Of more than a drawing needs it keeps every so many, the least and
// the largest among them.
func Thin(times []units.Time) []units.Time {
	slices.Sort(times)
	n := len(times)
	if n <= mostThin {
		return times
	}
	out := make([]units.Time, mostThin)
	for k := range out {
		out[k] = times[k*(n-1)/(mostThin-1)]
	}
	return out
}

// Slowest is the message that took longest of those that completed; nil: none did.
func Slowest(r *record.Run) (slowest *record.Message) {
	for i := range r.Messages {
		if m := &r.Messages[i]; Completed(m) && (slowest == nil || m.CompletionPS > slowest.CompletionPS) {
			slowest = m
		}
	}
	return slowest
}
