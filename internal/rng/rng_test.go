package rng

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"
)

// chiSquareLimit is the value a chi-square statistic with df degrees of freedom
// stays below with probability 1 - 1e-6 (Wilson and Hilferty, 1931; z = 4.7534).
func chiSquareLimit(df int) float64 {
	k := float64(df)
	x := 1 - 2/(9*k) + 4.7534*math.Sqrt(2/(9*k))
	return k * x * x * x
}

func chiSquare(counts []int) float64 {
	total := 0
	for _, c := range counts {
		total += c
	}
	expect := float64(total) / float64(len(counts))
	sum := 0.0
	for _, c := range counts {
		d := float64(c) - expect
		sum += d * d / expect
	}
	return sum
}

// TestGolden freezes the sequences: every stored result depends on them.
func TestGolden(t *testing.T) {
	s := New(1, "leaf1/ecn")
	got := []uint64{s.Uint64(), uint64(s.Uint32()), uint64(s.IntN(1000)), math.Float64bits(s.Float64()), Mix64(1, 2)}
	want := []uint64{0x128ec92264024093, 0x331b6b29, 0x38c, 0x3fd7aacd0cf6d83c, 0xbcd9dbb49673066b}
	if !slices.Equal(got, want) {
		t.Errorf("draws are %#x, want %#x", got, want)
	}
}

func TestStreamsDiffer(t *testing.T) {
	seen := make(map[uint64]string)
	for seed := range uint64(200) {
		for i := range 200 {
			name := fmt.Sprintf("h%d", i)
			s := New(seed, name)
			id := fmt.Sprintf("seed %d name %s", seed, name)
			v := s.Uint64()
			if other, ok := seen[v]; ok {
				t.Fatalf("%s and %s begin alike", id, other)
			}
			seen[v] = id
		}
	}
	a, b := New(7, "x"), New(7, "x")
	for range 10 {
		if a.Uint64() != b.Uint64() {
			t.Fatal("equal seed and name give different sequences")
		}
	}
}

// TestFirstDrawsUniform: the first draws of neighbouring streams are themselves
// uniform, as when every port draws once.
func TestFirstDrawsUniform(t *testing.T) {
	counts := make([]int, 64)
	for i := range 64000 {
		s := New(1, fmt.Sprintf("leaf%d:%d/loss", i/64, i%64))
		counts[s.IntN(64)]++
	}
	if x, limit := chiSquare(counts), chiSquareLimit(63); x > limit {
		t.Errorf("chi-square %.1f above %.1f", x, limit)
	}
}

func TestIntNUniform(t *testing.T) {
	s := New(3, "intn")
	for _, n := range []int{1, 2, 3, 7, 100} {
		counts := make([]int, n)
		for range 1000 * n {
			counts[s.IntN(n)]++
		}
		if x, limit := chiSquare(counts), chiSquareLimit(max(n-1, 1)); x > limit {
			t.Errorf("IntN(%d): chi-square %.1f above %.1f", n, x, limit)
		}
	}
	// With a bound of 3*2^61 a draw without refusal would map 8 words to 3 values:
	// two residues mod 3 get three words, one gets two.
	counts := make([]int, 3)
	for range 30000 {
		counts[s.IntN(3<<61)%3]++
	}
	if x, limit := chiSquare(counts), chiSquareLimit(2); x > limit {
		t.Errorf("IntN(3<<61): residues %v, chi-square %.1f above %.1f", counts, x, limit)
	}
}

func TestFloat64(t *testing.T) {
	s := New(5, "float")
	counts := make([]int, 128)
	sum := 0.0
	for range 128000 {
		f := s.Float64()
		if f < 0 || f >= 1 {
			t.Fatalf("Float64 = %v", f)
		}
		counts[int(f*128)]++
		sum += f
	}
	if x, limit := chiSquare(counts), chiSquareLimit(127); x > limit {
		t.Errorf("chi-square %.1f above %.1f", x, limit)
	}
	// The mean of n uniform draws has a deviation of sqrt(1/(12n)) = 0.0008.
	if mean := sum / 128000; math.Abs(mean-0.5) > 0.004 {
		t.Errorf("mean %v", mean)
	}
}

// TestShuffle: each of the 24 orders of four elements is equally likely.
func TestShuffle(t *testing.T) {
	s := New(9, "shuffle")
	counts := make([]int, 256)
	for range 24000 {
		p := [4]int{0, 1, 2, 3}
		s.Shuffle(4, func(i, j int) { p[i], p[j] = p[j], p[i] })
		counts[p[0]<<6|p[1]<<4|p[2]<<2|p[3]]++
	}
	counts = slices.DeleteFunc(counts, func(c int) bool { return c == 0 })
	if len(counts) != 24 {
		t.Fatalf("%d different orders, want 24", len(counts))
	}
	if x, limit := chiSquare(counts), chiSquareLimit(23); x > limit {
		t.Errorf("chi-square %.1f above %.1f", x, limit)
	}
}

func TestNoAllocation(t *testing.T) {
	s := New(1, "alloc")
	sum := uint64(0)
	if n := testing.AllocsPerRun(100, func() {
		sum += s.Uint64() + uint64(s.Uint32()) + uint64(s.IntN(10)) + uint64(s.Float64()*2) + Mix64(sum, 1)
	}); n != 0 {
		t.Errorf("%v allocations per draw", n)
	}
}

// TestMix64Avalanche flips each of the 128 input bits for many inputs, small
// counters among them: each output bit must change half the time. With 8000
// trials the deviation of a share is 0.0056; 5.5 of them pass for 8192 pairs.
func TestMix64Avalanche(t *testing.T) {
	const trials = 8000
	for _, inputs := range []struct {
		name string
		at   func(i uint64) (uint64, uint64)
	}{
		{"counters", func(i uint64) (uint64, uint64) { return i, i * 3 }},
		{"shifted", func(i uint64) (uint64, uint64) { return i << 40, i << 50 }},
		{"one side", func(i uint64) (uint64, uint64) { return i, 0 }},
	} {
		for in := range 128 {
			var flips [64]int
			for i := range uint64(trials) {
				a, b := inputs.at(i)
				before := Mix64(a, b)
				if in < 64 {
					a ^= 1 << in
				} else {
					b ^= 1 << (in - 64)
				}
				for d := before ^ Mix64(a, b); d != 0; d &= d - 1 {
					flips[bits.TrailingZeros64(d)]++
				}
			}
			for out, n := range flips {
				if share := float64(n) / trials; math.Abs(share-0.5) > 5.5*math.Sqrt(0.25/trials) {
					t.Errorf("%s: input bit %d flips output bit %d with %.3f", inputs.name, in, out, share)
				}
			}
		}
	}
}

// spread sends flows through tiers of switches that each choose among n uplinks
// by hash(flow, salt of the switch) % n, and returns the flows per path at the
// last tier. A flow's switch at a tier follows from its choices before.
func spread(flows, tiers, n int, choose func(flow, salt uint64) uint64) []int {
	paths := 1
	for range tiers {
		paths *= n
	}
	counts := make([]int, paths)
	for f := range flows {
		node := 1
		for range tiers {
			node = node*n + int(choose(uint64(f), uint64(node))%uint64(n))
		}
		first := 1
		for range tiers {
			first *= n
		}
		counts[node-first]++
	}
	return counts
}

// TestECMPDoesNotPolarise is the bug of ns3-rdma issue 19: with one hash for all
// switches, tier two sees only flows that all hash alike and uses one uplink.
// With a salt per switch every path gets its share.
func TestECMPDoesNotPolarise(t *testing.T) {
	for _, n := range []int{2, 3, 4, 8, 12, 16} {
		for tiers := 1; tiers <= 3; tiers++ {
			paths := int(math.Pow(float64(n), float64(tiers)))
			flows := 20 * paths
			salted := func(flow, salt uint64) uint64 { return Mix64(Mix64(flow, 0), salt) }
			if x, limit := chiSquare(spread(flows, tiers, n, salted)), chiSquareLimit(paths-1); x > limit {
				t.Errorf("%d uplinks, %d tiers: chi-square %.1f above %.1f", n, tiers, x, limit)
			}
			// 32-bit flow hashes, as packets carry them, suffice.
			narrow := func(flow, salt uint64) uint64 { return Mix64(Mix64(flow, 0)>>32, salt) }
			if x, limit := chiSquare(spread(flows, tiers, n, narrow)), chiSquareLimit(paths-1); x > limit {
				t.Errorf("%d uplinks, %d tiers, 32-bit hash: chi-square %.1f above %.1f", n, tiers, x, limit)
			}
			// The check itself: an unsalted hash uses n of the n^tiers paths, which
			// makes the statistic at least flows*(n^(tiers-1) - 1).
			unsalted := func(flow, _ uint64) uint64 { return Mix64(Mix64(flow, 0), 0) }
			x, least := chiSquare(spread(flows, tiers, n, unsalted)), float64(flows)*float64(paths/n-1)
			if x < least*(1-1e-9) || tiers > 1 && x <= chiSquareLimit(paths-1) {
				t.Errorf("%d uplinks, %d tiers: the unsalted hash has chi-square %.1f, below %.1f: the test is blind", n, tiers, x, least)
			}
		}
	}
}

func BenchmarkUint64(b *testing.B) {
	s := New(1, "bench")
	b.ReportAllocs()
	sum := uint64(0)
	for range b.N {
		sum += s.Uint64()
	}
	if sum == 1 {
		b.Log(sum)
	}
}

func BenchmarkMix64(b *testing.B) {
	x := uint64(0)
	for i := range b.N {
		x = Mix64(x, uint64(i))
	}
	if x == 1 {
		b.Log(x)
	}
}

// TestFinalise compares with the first outputs of SplitMix64, whose state is the
// seed plus a multiple of the golden constant (Steele, Lea, Flood, OOPSLA 2014;
// values as published with Vigna's reference code for seeds 0 and 1234567).
func TestFinalise(t *testing.T) {
	for _, c := range []struct{ state, want uint64 }{
		{golden, 0xe220a8397b1dcdaf},
		{1234567 + golden, 6457827717110365317},
		{1234567 + (2*golden)&math.MaxUint64, 3203168211198807973},
	} {
		if got := finalise(c.state); got != c.want {
			t.Errorf("finalise(%#x) = %d, want %d", c.state, got, c.want)
		}
	}
}

// Both halves of what a Quick draws are uniform and independent of each other, in 64 bins, and
// of one another in neighbouring streams (chi-square, 0.1 %).
func TestQuickUniform(t *testing.T) {
	const bins, draws = 64, 1 << 18
	a, b := NewQuick(1, "leaf1:1"), NewQuick(1, "leaf1:2")
	high, low, pair, next := make([]int, bins), make([]int, bins), make([]int, bins), make([]int, bins)
	last := uint64(0)
	for range draws {
		x, y := a.Uint64(), b.Uint64()
		high[x>>58]++
		low[x&0xffffffff>>26]++
		pair[x>>61<<3|y>>61]++
		next[x>>61<<3|last>>61]++
		last = x
	}
	for name, counts := range map[string][]int{"high": high, "low": low, "two streams": pair, "one after the other": next} {
		if got, limit := chiSquare(counts), chiSquareLimit(bins-1); got > limit {
			t.Errorf("%s: chi-square %.1f, above %.1f", name, got, limit)
		}
	}
}
