package scenario

import (
	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/units"
)

// sizeRange is the section `sizes` of a collective.
type sizeRange struct {
	from, to units.Bytes
	factor   int
}

// largestSize bounds sizes far above what one run can have in operations.
const largestSize units.Bytes = 1 << 40

// maxFactor bounds the factor from size to size.
const maxFactor = 1 << 20

// keys are those of the section.
func (s *sizeRange) keys() []key {
	s.factor = 2
	size := func(name string, dst *units.Bytes, text string) key {
		return sizeKey(name, dst, text).otherwise("").within(1, int64(largestSize), "is not from 1B to "+largestSize.String())
	}
	return []key{
		size("from", &s.from, "The smallest size.").need("give the smallest size, such as from: 8B"),
		size("to", &s.to, "The largest.").need("give the largest size, such as to: 1GiB"),
		numberKey("factor", &s.factor, 2, maxFactor, "From each size to the next."),
	}
}

// checkSizes refuses a collective without a size, or with sizes that are none.
func (s *collectiveEntry) checkSizes(o object) {
	unit := s.unit()
	switch {
	case o.d.err != nil:
	case !o.has("size") && !o.has("sizes"):
		o.d.fail(o.n.Pos, "%s has no size; give the bytes of the operation, as nccl-tests does, such as size: 64MB, or sizes: {from: 8B, to: 1GiB}", o.path)
	case o.has("size") && o.has("sizes"):
		o.fail("sizes", "stands beside size; keep one")
	case !o.has("sizes"):
	case s.sizes.from > s.sizes.to:
		o.fail("sizes", "from %v is more than to %v", s.sizes.from, s.sizes.to)
	case s.sizes.from < unit:
		o.fail("sizes", "from %v is less than an element of %v for each of %d ranks; give at least %v", s.sizes.from, collective.Element, len(s.Ranks), unit)
	}
}

// unit is what a size is a multiple of: an element, of operations whose ranks have equal parts
// one for each.
func (s *collectiveEntry) unit() units.Bytes {
	switch s.Op {
	case collective.ReduceScatter, collective.AllGather, collective.AllToAll:
		return collective.Element * units.Bytes(max(len(s.Ranks), 1))
	}
	return collective.Element
}

// all lists the sizes.
func (s *collectiveEntry) all() (sizes []units.Bytes) {
	if s.sizes.from == 0 {
		return []units.Bytes{s.Bytes}
	}
	unit := s.unit()
	for n := s.sizes.from; n <= s.sizes.to; n *= units.Bytes(s.sizes.factor) {
		sizes = append(sizes, n/unit*unit)
	}
	return sizes
}

// farApart is after how many times the longest that NCCL's model expects of a size the next
// begins, so that it meets nothing of the one before also where the network is slow.
const farApart = 20

// apart is from the begin of a size to that of the next. Nothing happens meanwhile, so that
// it costs a run no time.
func (s *collectiveEntry) apart() units.Time {
	us := s.Estimate(collective.Ring, collective.Simple)
	return units.Time(float64(s.Iterations)*(farApart*us+1000)) * units.Microsecond
}
