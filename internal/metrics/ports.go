package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/record"
)

// Congested reports whether a port and class showed any sign of congestion:
// it was paused, paused others, marked or dropped.
func Congested(p *record.Port) bool {
	return p.PausedPS > 0 || p.HeldPS > 0 || p.PausesSent > 0 || p.PausesReceived > 0 || p.Marked > 0 || p.Dropped > 0
}

// Carried reports whether a port and class saw anything at all.
func Carried(p *record.Port) bool {
	return p.TxPackets > 0 || p.PeakQueueBytes > 0 || Congested(p)
}

// congestedFirst returns the indices of the ports that carried or held
// anything, by time held, pauses, marks, drops and peak queue, largest first.
// Ties keep the record's order.
func congestedFirst(ports []record.Port) []int {
	index := []int{}
	for i := range ports {
		if Carried(&ports[i]) {
			index = append(index, i)
		}
	}
	slices.SortStableFunc(index, func(i, j int) int {
		a, b := &ports[j], &ports[i] // swapped: largest first
		return cmp.Or(
			cmp.Compare(a.HeldPS, b.HeldPS),
			cmp.Compare(a.PausesSent+a.PausesReceived, b.PausesSent+b.PausesReceived),
			cmp.Compare(a.Marked, b.Marked),
			cmp.Compare(a.Dropped, b.Dropped),
			cmp.Compare(a.PeakQueueBytes, b.PeakQueueBytes),
		)
	})
	return index
}
