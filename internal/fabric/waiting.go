package fabric

import "github.com/hopscope/hopscope/internal/units"

// Waiting appends to a list the ways of the stamped packets, samples apart, that wait at a port now. The
// latest hop of each ends now, and its Paused is how long its class was held since the packet came. local is the
// number here of a port by its global number.
func (n *Net) Waiting(now units.Time, local func(port uint32) int, to [][]Hop) [][]Hop {
	unused := make(map[uint32]bool, len(n.records.free))
	for _, i := range n.records.free {
		unused[i] = true
	}
	for i := uint32(1); i < n.records.used; i++ {
		r := n.records.at(i)
		if unused[i] || r.stamps == 0 {
			continue
		}
		s := n.stamps.at(r.stamps)
		if s.sample || !s.waits || s.hops == 0 {
			continue
		}
		hops := n.AppendHops(nil, s)
		last := &hops[len(hops)-1]
		port := local(last.Port)
		last.Start = now
		last.Paused = min(max(0, n.PausedClock(now, port, last.Class)-s.clock), now-last.In)
		last.Ahead = min(max(0, n.aheadClock(port, last.Class)-s.ahead), now-last.In-last.Paused)
		to = append(to, hops)
	}
	return to
}
