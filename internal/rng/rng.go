// Package rng gives every consumer of randomness its own stream, named and
// derived from the one seed of a run, so that adding a consumer never changes
// what another one draws.
package rng

import (
	"math/bits"
	"math/rand/v2"
)

// Stream is one named sequence of pseudo-random numbers (PCG-DXSM of
// math/rand/v2). It is a small value without pointers: keep it in the owner's
// struct. A copy continues the sequence on its own. The zero Stream works but
// is the same for everybody; use New.
type Stream struct {
	pcg rand.PCG
}

// New returns the stream called name of a run's seed. Names are paths such as
// "leaf1/ecn"; different names and different seeds give unrelated sequences.
func New(seed uint64, name string) Stream {
	h := hashName(name)
	hi := Mix64(seed, h)
	lo := Mix64(hi, h^seed)
	return Stream{pcg: *rand.NewPCG(hi, lo)}
}

// Uint64 returns 64 random bits.
func (s *Stream) Uint64() uint64 { return s.pcg.Uint64() }

// Uint32 returns 32 random bits.
func (s *Stream) Uint32() uint32 { return uint32(s.pcg.Uint64() >> 32) }

// IntN returns a number in [0, n) without bias. n must be positive.
func (s *Stream) IntN(n int) int {
	if n <= 0 {
		panic("rng: BUG: IntN needs a positive bound")
	}
	// The high word of a 64x64-bit product is uniform over [0, n) once the low
	// words below 2^64 mod n are refused (Lemire, ACM TOMACS 29(1), 2019).
	bound := uint64(n)
	hi, lo := bits.Mul64(s.pcg.Uint64(), bound)
	if lo < bound {
		refuse := -bound % bound
		for lo < refuse {
			hi, lo = bits.Mul64(s.pcg.Uint64(), bound)
		}
	}
	return int(hi)
}

// Float64 returns a number in [0, 1), a multiple of 2^-53.
func (s *Stream) Float64() float64 { return float64(s.pcg.Uint64()>>11) * 0x1p-53 }

// Quick is a stream for what draws at every packet: wyrand (Wang Yi), a Weyl sequence mixed
// by one product, in half the memory and a fifth of the instructions of a Stream. Its period
// is 2^64. The zero Quick works but is the same for everybody; use NewQuick.
type Quick struct{ state uint64 }

// NewQuick returns the quick stream called name of a run's seed; see New.
func NewQuick(seed uint64, name string) Quick { return Quick{Mix64(seed, hashName(name))} }

// Uint64 returns 64 random bits.
func (q *Quick) Uint64() uint64 {
	q.state += 0xa0761d6478bd642f
	hi, lo := bits.Mul64(q.state, q.state^0xe7037ed1a0b428db)
	return hi ^ lo
}

// Shuffle puts n elements in random order (Fisher-Yates); swap exchanges two.
func (s *Stream) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, s.IntN(i+1))
	}
}

// golden is 2^64 divided by the golden ratio, made odd.
const golden = 0x9e3779b97f4a7c15

// Mix64 hashes two words into one: each input bit changes each output bit with
// a probability of one half, and for a fixed a (or b) it is a bijection of the
// other. ECMP hashes (flow hash, switch salt) and fingerprints use it.
func Mix64(a, b uint64) uint64 {
	return finalise(finalise(a+golden) ^ b + golden)
}

// finalise is the output function of SplitMix64 with the constants of
// variant 13 of Stafford's "Better bit mixing" (2011).
func finalise(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// hashName is 64-bit FNV-1a, finalised because its high bits are weak for short
// names.
func hashName(name string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return finalise(h)
}
