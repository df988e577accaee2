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

// LoadWithout is LoadStack, and parses src unless that is nil, without something.
func LoadWithout(nameOrFile string, src []byte, stack string, set []string, seed *uint64, w Without) (*Valid, error) {
	file := nameOrFile
	if src == nil {
		var bad *Error
		if file, src, bad = open(nameOrFile); bad != nil {
			return nil, bad
		}
	}
	return parseChanged(file, src, changes{stack: stack, set: set, seed: seed, without: w})
}

// neverFail takes the outages of links away.
func (w *Without) neverFail(g *topology.Graph) {
	for _, l := range w.Failures {
		g.Links[l].Outages = nil
	}
}
