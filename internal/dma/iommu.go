package dma

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/units"
)

// iommu translates the addresses of what comes to a root. It keeps the translations
// of the pages used last; for another it walks the page table, in one of a few
// walkers.
type iommu struct {
	pageBits int
	walk     units.Time
	pages    []page       // the translations it keeps, in no order
	clock    uint64       // counts uses
	walkers  []units.Time // when each ends its walk
	next     int
	misses   int64
	lookups  int64
}

// page is a translation that is kept.
type page struct{ key, used uint64 }

// newIOMMU returns an IOMMU that keeps entries translations of pages of a size, a
// power of two. A walk takes a time; walkers walks can go on at once.
func newIOMMU(entries, walkers int, size units.Bytes, walk units.Time) *iommu {
	return &iommu{pageBits: bits.TrailingZeros64(uint64(size)), walk: walk,
		pages: make([]page, 0, entries), walkers: make([]units.Time, walkers)}
}

// translate says when the first of n bytes at an address of a memory, which came at
// a time, may go on, and when the last.
func (m *iommu) translate(at units.Time, memory int, addr uint64, n units.Bytes) (first, last units.Time) {
	first, last = at, at
	for p := addr >> m.pageBits; p <= (addr+uint64(n)-1)>>m.pageBits; p++ {
		m.lookups++
		if m.kept(uint64(memory)<<48 | p) {
			continue
		}
		m.misses++
		end := max(at, m.walkers[m.next]) + m.walk
		m.walkers[m.next] = end
		if m.next++; m.next == len(m.walkers) {
			m.next = 0
		}
		if p == addr>>m.pageBits {
			first = end
		}
		last = max(last, end)
	}
	return first, last
}

// kept reports whether a page's translation is kept. It is from now on, instead of
// the one that was not used for longest.
func (m *iommu) kept(key uint64) bool {
	m.clock++
	oldest := 0
	for i := range m.pages {
		if m.pages[i].key == key {
			m.pages[i].used = m.clock
			return true
		}
		if m.pages[i].used < m.pages[oldest].used {
			oldest = i
		}
	}
	if len(m.pages) < cap(m.pages) {
		m.pages = append(m.pages, page{key, m.clock})
	} else {
		m.pages[oldest] = page{key, m.clock}
	}
	return false
}
