package dma

import "github.com/hopscope/hopscope/internal/units"

// tags are the requests for reads that a device may have outstanding: it keeps for
// each when the request before, with the same tag, was answered in full. Tags are
// used in turn.
type tags struct {
	answered []units.Time
	next     int
}

// first is when the next request may go out that could at a time.
func (t *tags) first(at units.Time) units.Time { return max(at, t.answered[t.next]) }

// last is when the m-th request from now may go out; m is at most their number.
func (t *tags) last(at units.Time, m int) units.Time {
	k := t.next + m - 1
	if k >= len(t.answered) {
		k -= len(t.answered)
	}
	return max(at, t.answered[k])
}

// take uses the next m tags for requests of which the first is answered at one time,
// the last at another and those between evenly.
func (t *tags) take(m int, from, to units.Time) {
	step := units.Time(0)
	if m > 1 {
		step = (to - from) / units.Time(m-1)
	}
	done := to - step*units.Time(m-1)
	for range m {
		t.answered[t.next] = done
		done += step
		if t.next++; t.next == len(t.answered) {
			t.next = 0
		}
	}
}
