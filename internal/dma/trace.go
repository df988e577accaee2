package dma

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
)

// workLog lists what a link carried, in the order in which it was booked. When there is no room, it lists neighbours
// as one, which keeps what they add up to.
type workLog struct {
	most  int
	works []work
}

// work is a transfer, or several one behind the other: when it began and what it took of the link.
type work struct{ start, time units.Time }

func (l *workLog) add(start, d units.Time) {
	if d <= 0 {
		return
	}
	if n := len(l.works); n > 0 {
		if last := &l.works[n-1]; last.start <= start && start <= last.start+last.time {
			last.time += d
			return
		}
	}
	if len(l.works) >= l.most {
		l.condense()
	}
	l.works = append(l.works, work{start, d})
}

// condense makes one of every two neighbours.
func (l *workLog) condense() {
	l.sort()
	for i := range (len(l.works) + 1) / 2 {
		w := l.works[2*i]
		if 2*i+1 < len(l.works) {
			w.time += l.works[2*i+1].time
		}
		l.works[i] = w
	}
	l.works = l.works[:(len(l.works)+1)/2]
}

func (l *workLog) sort() {
	slices.SortStableFunc(l.works, func(a, b work) int { return cmp.Compare(a.start, b.start) })
}

// Trace has the engine list from now on what PCIe links carry and when copy engines copy, at most so many times of
// each.
func (e *Engine) Trace(most int) {
	for i := range e.tree.Links {
		if e.tree.Links[i].Kind == server.PCIe {
			e.tracks[2*i].carried.trace, e.tracks[2*i+1].carried.trace = &workLog{most: most}, &workLog{most: most}
		}
	}
	for i := range e.engines {
		e.engines[i].trace = &record.SliceLog{Most: most}
	}
}

// Seen is when a link was busy: what it carried at a time stands one behind the other, so that the slices add up to
// Busy. It is nil of what is not listed.
func (c *Carried) Seen() (seen []record.Slice) {
	if c.trace == nil {
		return nil
	}
	c.trace.sort()
	end := units.Time(0)
	for _, w := range c.trace.works {
		from := max(w.start, end)
		if end = from + w.time; len(seen) > 0 && seen[len(seen)-1].To == from {
			seen[len(seen)-1].To = end
			continue
		}
		seen = append(seen, record.Slice{From: from, To: end})
	}
	return seen
}
