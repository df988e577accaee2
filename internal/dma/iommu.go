package dma

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/lru"
	"github.com/hopscope/hopscope/internal/units"
)

// iommu translates the addresses of what comes to a root. It keeps the translations
// of the pages used last; for another it walks the page table, in one of a few
// walkers.
type iommu struct {
	pageBits int
	walk     units.Time
	pages    lru.Set      // those it remembers
	known    []units.Time // since when, by entry of pages
	walkers  []units.Time // when each ends its walk
	next     int
	carried  Translated
}

// Translated is what an IOMMU has done.
type Translated struct {
	Pages  int64      // that transfers asked for
	Misses int64      // of these, those that it did not remember
	Waited units.Time // sum of what transfers waited for walks
}

// IOMMUUse is what the IOMMU of a root complex has done.
type IOMMUUse struct {
	Root int // index into the tree's devices
	Translated
}

// IOMMUs lists the IOMMUs that have translated anything, by root complex.
func (e *Engine) IOMMUs() (out []IOMMUUse) {
	for i, m := range e.iommus {
		if m != nil && m.carried.Pages > 0 {
			out = append(out, IOMMUUse{i, m.carried})
		}
	}
	return out
}

// newIOMMU returns an IOMMU that keeps entries translations of pages of a size, a
// power of two. A walk takes a time; walkers walks can go on at once.
func newIOMMU(entries, walkers int, size units.Bytes, walk units.Time) *iommu {
	return &iommu{pageBits: bits.TrailingZeros64(uint64(size)), walk: walk,
		pages: lru.New(entries), known: make([]units.Time, entries+1), walkers: make([]units.Time, walkers)}
}

// translate says when the first of n bytes at an address of a memory, which came at
// a time, may go on, and when the last.
func (m *iommu) translate(at units.Time, memory int, addr uint64, n units.Bytes) (first, last units.Time) {
	first, last = at, at
	for p := addr >> m.pageBits; p <= (addr+uint64(n)-1)>>m.pageBits; p++ {
		k, there := m.pages.Find(uint64(memory)<<48 | p)
		m.carried.Pages++
		if !there {
			m.carried.Misses++
			m.known[k] = max(at, m.walkers[m.next]) + m.walk
			m.walkers[m.next] = m.known[k]
			if m.next++; m.next == len(m.walkers) {
				m.next = 0
			}
		}
		if p == addr>>m.pageBits {
			first = max(at, m.known[k])
		}
		last = max(last, m.known[k])
	}
	m.carried.Waited += last - at
	return first, last
}
