package nic

import (
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// TestPacedOrder: queue pairs leave the pacing heap by time, then number.
func TestPacedOrder(t *testing.T) {
	r := rng.New(1, "paced")
	var p port
	waiting := map[paced]bool{}
	for range 20000 {
		if len(waiting) == 0 || r.IntN(5) < 3 && len(waiting) < 200 {
			e := paced{units.Time(r.IntN(50)), uint32(r.IntN(1000))}
			if !waiting[e] {
				waiting[e] = true
				p.pushPaced(e)
			}
			continue
		}
		got := p.popPaced()
		if !waiting[got] {
			t.Fatalf("popped %v, which does not wait", got)
		}
		delete(waiting, got)
		for e := range waiting {
			if e.before(got) {
				t.Fatalf("popped %v before %v", got, e)
			}
		}
	}
	if len(p.paced) != len(waiting) {
		t.Errorf("%d in the heap, %d should be", len(p.paced), len(waiting))
	}
}

// TestRing: first in, first out, through growth and wrap.
func TestRing(t *testing.T) {
	random := rng.New(1, "ring")
	var r ring
	var want []uint32
	for k := range uint32(20000) {
		if len(want) > 0 && random.IntN(20) < 10 {
			if got := r.pop(); got != want[0] {
				t.Fatalf("popped %d, want %d", got, want[0])
			}
			want = want[1:]
			continue
		}
		r.push(k)
		want = append(want, k)
		if at := uint32(random.IntN(len(want))); r.at(at) != want[at] || r.n != uint32(len(want)) {
			t.Fatalf("entry %d of %d is %d, want %d of %d", at, r.n, r.at(at), want[at], len(want))
		}
	}
}
