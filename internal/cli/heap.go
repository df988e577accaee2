package cli

import (
	"os"
	"runtime"
	"runtime/debug"
)

// By default a heap may grow by its own size until it is collected. Of a large one that is
// what a machine has not got: with a million queue pairs 4 GB would become 8. Half of it
// costs little time: each collection looks at what lives, and while a heap grows there
// are log 2 / log 1.5 = 1.7 times as many.
const (
	largeHeap    = 1 << 28 // bytes that live
	largePercent = 50
)

// heapWatch is dead as soon as it is set, so that each collection comes upon it.
type heapWatch struct {
	large uint64 // bytes that live
	stats runtime.MemStats
}

// watchHeap has the heap be collected sooner once it is large, unless the user says when
// (GOGC).
func watchHeap() {
	if os.Getenv("GOGC") == "" {
		(&heapWatch{large: largeHeap}).set()
	}
}

func (w *heapWatch) set() { runtime.SetFinalizer(w, (*heapWatch).collected) }

// collected is called after each collection, until the heap was large.
func (w *heapWatch) collected() {
	runtime.ReadMemStats(&w.stats)
	if w.stats.NextGC < 2*w.large { // it may grow to twice what lives
		w.set()
		return
	}
	if percent := debug.SetGCPercent(largePercent); percent < largePercent {
		debug.SetGCPercent(percent) // it is sooner already
	}
}
