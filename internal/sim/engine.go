// Package sim is the event engine: picosecond time, one queue per partition,
// conservative windows with a barrier between them. It knows nothing of
// networks; it moves records of any type R without pointers.
//
// Time is cut into windows. In each, every partition runs its cells one after the
// other, and every cell the events of its nodes in their order.
//
// Results are a function of the events alone: neither the number of partitions, cells
// nor workers changes the order of events at a node, provided that no two cells share
// state other than through records sent with at least a window's width of delay.
package sim

import (
	"github.com/hopscope/hopscope/internal/units"
)

// MinLookahead is the least width of a window.
const MinLookahead units.Time = 2

// Engine runs a fixed set of partitions.
type Engine[R any] struct {
	parts []*Part[R]

	// Clock returns the real time in ns, by which windows are shared among workers where
	// that is faster; nil: where they have enough events.
	Clock func() int64

	limit   units.Time // end of the current window
	workers workers
	choice  choice
}

// New returns an engine of n partitions, at most MaxParts, with windows of the given
// width, at least MinLookahead. Every record sent to another cell must arrive at least
// that much later.
func New[R any](n int, width units.Time) *Engine[R] {
	e := &Engine[R]{}
	blocks := new([tableSize]*[blockSize]R)
	for i := range n {
		e.parts = append(e.parts, newPart(i, n, width, blocks))
	}
	for _, p := range e.parts {
		p.inbox = e.parts
	}
	return e
}

// Parts returns the partitions.
func (e *Engine[R]) Parts() []*Part[R] { return e.parts }

// Events counts the events executed so far.
func (e *Engine[R]) Events() (n int64) {
	for _, p := range e.parts {
		n += p.events
	}
	return n
}

// Live counts the pending events that are not Background, mail included.
func (e *Engine[R]) Live() (n int64) {
	for _, p := range e.parts {
		n += p.live + p.mailN
	}
	return n
}

// Alive counts the records in use, mail included.
func (e *Engine[R]) Alive() (n int) {
	for _, p := range e.parts {
		n += p.inUse + int(p.mailN)
	}
	return n
}

// LastWork is the latest time at which an event carried a record or noted work.
func (e *Engine[R]) LastWork() (t units.Time) {
	for _, p := range e.parts {
		t = max(t, p.last)
	}
	return t
}

// Next is the time of the earliest pending event, or Never.
func (e *Engine[R]) Next() units.Time {
	t := units.Never
	for _, p := range e.parts {
		t = min(t, p.nextAt, p.mailMin)
	}
	return t
}

// Prime tells the engine that events were scheduled outside a window.
func (e *Engine[R]) Prime() {
	for _, p := range e.parts {
		p.nextAt = p.q.next()
	}
}

// A window is too small to be shared, whatever choice has found, with less than shortWindow
// of work, in ns: the barrier takes about 2000. Where there is no clock, that is fewEvents
// of a network; a server's take several times as long.
const (
	shortWindow = 20_000
	fewEvents   = 256
)

// Run executes every event before limit on the given number of workers,
// calling check at each barrier with the time up to which everything has
// happened; it stops early when check returns false. Between calls of Run the
// state is a consistent cut at limit. A window is shared where that is faster.
func (e *Engine[R]) Run(limit units.Time, workers int, check func(upTo units.Time) bool) {
	helpers := min(workers, len(e.parts)) - 1
	stop := e.workers.start(helpers, len(e.parts), func(i int) { e.parts[i].window(e.limit) })
	defer stop()
	width := int64(fewEvents)
	for {
		at := e.Next()
		if at >= limit {
			return
		}
		e.limit = limit
		if q := &e.parts[0].q; q.window(limit-1) > q.window(at) {
			e.limit = q.startOf(q.window(at) + 1)
		}
		before := e.Events()
		switch {
		case helpers == 0:
			e.workers.run(false)
		case e.Clock == nil:
			e.workers.run(width >= fewEvents)
			width = e.Events() - before
		default:
			how, from := e.choice.next(width), e.Clock()
			e.workers.run(how == shared)
			width = e.Events() - before
			e.choice.took(how, float64(e.Clock()-from), width)
		}
		if !check(e.limit) {
			return
		}
	}
}
