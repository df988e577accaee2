package fabric

import (
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
)

// TestPolarisation: where two tiers with m1 and m2 uplinks choose by the same hash, of the links of
// the second tier behind one of the first only 1/gcd(m1, m2) are used. Another initial value of a
// CRC, which is linear, changes nothing for powers of two; another polynomial, or a mixing hash with
// another seed, uses them all.
func TestPolarisation(t *testing.T) {
	same := Hash{HashMix, 7}
	for _, c := range []struct {
		name   string
		a, b   Hash
		m1, m2 uint32
		used   float64
	}{
		{"same", same, same, 4, 4, 0.25},
		{"same", same, same, 8, 8, 0.125},
		{"same", same, same, 4, 6, 0.5},
		{"same", same, same, 4, 5, 1},
		{"same CRC", Hash{HashCRC32, 1}, Hash{HashCRC32, 1}, 8, 8, 0.125},
		{"CRC, another initial value", Hash{HashCRC32, 1}, Hash{HashCRC32, 0xdeadbeef}, 8, 8, 0.125},
		{"CRC-32C, another initial value", Hash{HashCRC32C, 1}, Hash{HashCRC32C, 2}, 4, 4, 0.25},
		{"another polynomial", Hash{HashCRC32, 1}, Hash{HashCRC32C, 1}, 8, 8, 1},
		{"another seed of a mixing hash", same, Hash{HashMix, 8}, 8, 8, 1},
		{"own", Hash{}, Hash{}, 8, 8, 1},
	} {
		counts := make([]int, c.m2)
		total := 0
		for k := range 200_000 {
			flow := uint32(rng.Mix64(uint64(k), 1))
			if c.a.Choose(flow, 100, 0, c.m1) == 1 {
				counts[c.b.Choose(flow, 200, 0, c.m2)]++
				total++
			}
		}
		used, most := 0, 0
		for _, n := range counts {
			if n > 0 {
				used++
			}
			most = max(most, n)
		}
		if share := float64(used) / float64(c.m2); share != c.used {
			t.Errorf("%s, %d and %d links: %.3f of the second tier's used, want %.3f", c.name, c.m1, c.m2, share, c.used)
		}
		// Those that are used share evenly, so that the second tier's throughput is that part of it.
		if mean := float64(total) / float64(used); math.Abs(float64(most)/mean-1) > 0.05 {
			t.Errorf("%s, %d and %d links: the fullest has %d flows, %.0f on average", c.name, c.m1, c.m2, most, mean)
		}
	}
}
