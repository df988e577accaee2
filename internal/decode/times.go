package decode

import (
	"math/bits"
	"slices"

	"github.com/hopscope/hopscope/internal/units"
)

// maxExact is how many times are kept as they are.
const maxExact = 1024

// times are many times of which quantiles are asked: exact up to maxExact of them, then to within
// 1/128 of their value.
type times struct {
	n          int64
	least, max units.Time
	sum        units.Time
	exact      []units.Time
	counts     map[uint16]int64 // by bucket
}

// bucket has seven bits of precision: the exponent, and what follows the leading bit.
func bucket(t units.Time) uint16 {
	v := uint64(max(t, 0))
	if v < 128 {
		return uint16(v)
	}
	e := bits.Len64(v) - 8
	return uint16(e<<7) + uint16(v>>e)
}

// middle is the value in the middle of a bucket.
func middle(b uint16) units.Time {
	if b < 256 {
		return units.Time(b)
	}
	e := b>>7 - 1
	v := uint64(b-e<<7) << e
	return units.Time(v + 1<<e/2)
}

func (t *times) add(v units.Time) {
	if t.n == 0 || v < t.least {
		t.least = v
	}
	if t.n == 0 || v > t.max {
		t.max = v
	}
	t.n++
	t.sum += v
	if t.counts == nil && len(t.exact) < maxExact {
		t.exact = append(t.exact, v)
		return
	}
	if t.counts == nil {
		t.counts = map[uint16]int64{}
		for _, x := range t.exact {
			t.counts[bucket(x)]++
		}
		t.exact = nil
	}
	t.counts[bucket(v)]++
}

// quantile is that of q in thousandths by nearest rank: the least value that so many are not above.
func (t *times) quantile(milli int64) units.Time {
	if t.n == 0 {
		return 0
	}
	rank := max((t.n*milli+999)/1000, 1)
	if t.counts == nil {
		slices.Sort(t.exact)
		return t.exact[rank-1]
	}
	keys := make([]uint16, 0, len(t.counts))
	for k := range t.counts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if rank -= t.counts[k]; rank <= 0 {
			return min(max(middle(k), t.least), t.max)
		}
	}
	return t.max
}
