package dma

import "github.com/hopscope/hopscope/internal/units"

// bulks are when bulk copies that want all of a track have it: those that are under way
// and those that were asked for ahead, in order of time.
type bulks struct {
	at [8]bulk
	n  int
}

// bulk is a copy, or several without a pause.
type bulk struct{ from, to units.Time }

// during is the copy under way at a time; -1: none.
func (b *bulks) during(at units.Time) int {
	for i := range b.n {
		if x := &b.at[i]; at < x.to {
			if at >= x.from {
				return i
			}
			return -1
		}
	}
	return -1
}

// end is when the last of them is through.
func (b *bulks) end() units.Time {
	if b.n == 0 {
		return 0
	}
	return b.at[b.n-1].to
}

// delay has copy i take longer, and those behind it begin later if they must.
func (b *bulks) delay(i int, work units.Time) {
	b.at[i].to += work
	for i++; i < b.n; i++ {
		late := b.at[i-1].to - b.at[i].from
		if late <= 0 {
			return
		}
		b.at[i].from += late
		b.at[i].to += late
	}
}

// add puts a copy behind the others. Where there are too many, what lies between the
// last two counts as a copy.
func (b *bulks) add(now, from, to units.Time) {
	over := 0
	for over < b.n && b.at[over].to <= now {
		over++
	}
	b.n = copy(b.at[:], b.at[over:b.n])
	if b.n == len(b.at) || b.n > 0 && b.at[b.n-1].to == from {
		b.at[b.n-1].to = to
		return
	}
	b.at[b.n] = bulk{from, to}
	b.n++
}
