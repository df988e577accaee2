package record

import "github.com/hopscope/hopscope/internal/units"

// Snapshot is what a run has counted by an instant: everything before it has happened and nothing at it.
type Snapshot struct {
	At units.Time
	// Run has ports, queue pairs, the ledger of queue pairs, counters of InfiniBand ports and the priorities with PFC.
	Run    *Run
	Gauges []Gauge // what is not counted but is so much at the instant
}

// Gauge is a quantity of a class of a port, a switch or a queue pair.
type Gauge struct {
	Quantity Quantity // queue, buffer, rate or window
	Place    Place
	Value    int64 // as in series
}
