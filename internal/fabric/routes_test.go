package fabric

import (
	"math/rand/v2"
	"testing"
)

// TestRoutesInShort: every destination has the group that the table says, whatever lies at
// the table's ends.
func TestRoutesInShort(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		table := make([]uint32, 1+rnd.IntN(40))
		for i := range table {
			if i == 0 || rnd.IntN(4) == 0 {
				table[i] = uint32(rnd.IntN(3)) << 8
			} else {
				table[i] = table[i-1]
			}
		}
		r := compact(table)
		for dst, want := range table {
			if got := r.to(uint32(dst)); got != want {
				t.Fatalf("%v: destination %d has group %d, want %d", table, dst, got, want)
			}
		}
	}
}

// TestRoutesOfATreeAreShort: only what differs from the way up has entries.
func TestRoutesOfATreeAreShort(t *testing.T) {
	const up = 5 << 8
	for _, c := range []struct {
		table []uint32
		want  int
	}{
		{[]uint32{up, up, 1, 2, up, up, up}, 2},
		{[]uint32{1, 2, up, up, up}, 2},
		{[]uint32{up, up, up, 1, 2}, 2},
		{[]uint32{1, 2, 3}, 2}, // the last of one run at an end needs none
		{[]uint32{up, up}, 0},
		{nil, 0},
	} {
		if r := compact(c.table); len(r.within) != c.want {
			t.Errorf("%v: %d entries, want %d", c.table, len(r.within), c.want)
		}
	}
}
