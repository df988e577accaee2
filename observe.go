package hopscope

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// Quantity is something of a port or a sender that changes in the course of a run.
type Quantity = record.Quantity

// Quantities.
const (
	QueueBytes = record.SeriesQueue   // bytes that wait in a class of a switch's port
	Pause      = record.SeriesPause   // 1 while a class of a port may not send, else 0
	PausedTime = record.SeriesPaused  // for how long that was so since the sample before, in picoseconds
	SendRate   = record.SeriesRate    // rate of a sender, in bit/s; a TCP connection's window over its round trip
	SendWindow = record.SeriesWindow  // bytes that a sender may have unacknowledged; 0: nothing limits them
	Goodput    = record.SeriesGoodput // payload that its peer took in order since the sample before, in bytes
)

// Curve says what a value is of: a class of a port, or a sender.
type Curve = record.Curve

// Observe has f shown quantities of all ports and senders every so often, at least a nanosecond of simulated
// time: values in the order of curves, which stays the same. f is called between two windows of the run, which
// takes the same course with it and without; it may keep neither slice. A run has one observer.
func Observe(every Time, f func(now Time, curves []Curve, values []int64), quantities ...Quantity) RunOption {
	return func(o *run.Options) {
		o.Watch = &run.SeriesOptions{Quantities: quantities, Every: every,
			Watch: func(now units.Time, curves []record.Curve, values []int64) { f(now, curves, values) }}
	}
}
