package scenario

import "github.com/hopscope/hopscope/internal/topology"

// Without is what a scenario is loaded without, as an experiment removes it: all else,
// numbers of connections, hashes and random draws included, is as it was.
type Without struct {
	Entries  []int // of the workload, by index, as `enabled: false` has it
	Failures []int // of links, by index in the graph, as `down_at: never` has it
	// Messages says how many of its first messages a connection does not send, by its
	// number; nil: none. What waits for others, or others wait for, is sent in any case.
	Messages func(conn int) int
}

// neverFail takes the outages of links away.
func (w *Without) neverFail(g *topology.Graph) {
	for _, l := range w.Failures {
		g.Links[l].Outages = nil
	}
}
