// Package balance holds the ways of a switch to choose among equal ports by packet or by flowlet. Each
// is a file and a row of All; the hash, by which a flow keeps its port, is part of the fabric.
package balance

import (
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/param"
)

// Kind is one way, as the key routing offers it.
type Kind struct {
	Name string
	Text string // what it does, as a clause about packets, for the docs
	// Make returns its parameters, and what makes the balancing of the values that they then have.
	Make func() ([]param.Param, func() fabric.Balancing)
}

// All is the table of the shipped ways.
func All() []Kind {
	return []Kind{
		{"adaptive", "each takes the port that would start it first", plain(Adaptive{})},
		{"spray", "each takes any of them", plain(Spray{})},
		{"round-robin", "those of a flow take them in turn", plain(RoundRobin{})},
		{"drill", "each takes the shortest queue of some that are drawn and the one that was shortest before", makeDrill},
		{"flowlet", "those of a flow take any port, and another one after a pause", makeFlowlet},
		{"dlb", "each takes a port of the best quality band, by load and queue", makeDLB},
	}
}

// plain is the Make of a way without parameters.
func plain(b fabric.Balancing) func() ([]param.Param, func() fabric.Balancing) {
	return func() ([]param.Param, func() fabric.Balancing) { return nil, func() fabric.Balancing { return b } }
}
