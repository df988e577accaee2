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

// page is a translation that is kept, or that a walker is about to find.
type page struct {
	key, used uint64
	from      units.Time // since when it is known
}

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
		e, kept := m.look(uint64(memory)<<48 | p)
		if !kept {
			m.misses++
			e.from = max(at, m.walkers[m.next]) + m.walk
			m.walkers[m.next] = e.from
			if m.next++; m.next == len(m.walkers) {
				m.next = 0
			}
		}
		if p == addr>>m.pageBits {
			first = max(at, e.from)
		}
		last = max(last, e.from)
	}
	return first, last
}

// look returns a page's translation and whether it was kept. It is from now on,
// instead of the one that was not used for longest.
func (m *iommu) look(key uint64) (*page, bool) {
	m.clock++
	oldest := 0
	for i := range m.pages {
		if m.pages[i].key == key {
			m.pages[i].used = m.clock
			return &m.pages[i], true
		}
		if m.pages[i].used < m.pages[oldest].used {
			oldest = i
		}
	}
	if len(m.pages) < cap(m.pages) {
		oldest = len(m.pages)
		m.pages = m.pages[:oldest+1]
	}
	m.pages[oldest] = page{key: key, used: m.clock}
	return &m.pages[oldest], false
}
