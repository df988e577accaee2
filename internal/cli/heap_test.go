package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestHeapWatch: a large heap is collected sooner, a small one and one that is collected
// sooner already as before.
func TestHeapWatch(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, c := range []struct {
		large        uint64
		before, want int
	}{{0, 100, largePercent}, {1 << 40, 100, 100}, {0, 40, 40}} {
		debug.SetGCPercent(c.before)
		w := &heapWatch{large: c.large}
		w.collected()
		runtime.SetFinalizer(w, nil)
		if got := debug.SetGCPercent(100); got != c.want {
			t.Errorf("a heap of which %d bytes are large, collected at %d %%, then is at %d %%, want %d", c.large, c.before, got, c.want)
		}
	}
}
