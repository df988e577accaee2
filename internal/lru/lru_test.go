package lru

import (
	"math"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
)

// The cache does what a list does that is searched from one end to the other.
func TestLRUAgainstList(t *testing.T) {
	s := rng.New(1, "lru")
	for _, size := range []int{1, 2, 3, 7, 64} {
		c := New(size)
		var list []uint64 // newest first
		for range 20000 {
			key := uint64(s.IntN(2*size+1)) << (s.IntN(3) * 20)
			i := slices.Index(list, key)
			if got := c.Touch(key); got != (i >= 0) {
				t.Fatalf("size %d: key %d is there: %v, want %v", size, key, got, i >= 0)
			}
			if i >= 0 {
				list = slices.Delete(list, i, i+1)
			}
			list = slices.Insert(list, 0, key)
			list = list[:min(len(list), size)]
		}
	}
}

// Uniform access to P pages finds C of them whatever is replaced: misses are
// 1 - C/P of what follows the first touches.
func TestLRUMissesUniform(t *testing.T) {
	const c, n = 2048, 200000
	s := rng.New(1, "uniform")
	for _, pages := range []int{1024, 2048, 4096, 16384} {
		l := New(c)
		for i := range pages {
			l.Touch(uint64(i))
		}
		misses := 0
		for range n {
			if !l.Touch(uint64(s.IntN(pages))) {
				misses++
			}
		}
		want := max(0, 1-float64(c)/float64(pages))
		if sigma := math.Sqrt(want * (1 - want) / n); math.Abs(float64(misses)/n-want) > 4*sigma {
			t.Errorf("%d pages: %d of %d miss, want %g +- %g", pages, misses, n, want, 4*sigma)
		}
	}
	l := New(c)
	if a := testing.AllocsPerRun(1000, func() { l.Touch(s.Uint64()) }); a != 0 {
		t.Errorf("%v allocations per look-up", a)
	}
}
