package dma

import "github.com/hopscope/hopscope/internal/units"

// tags are the requests for reads that a device may have outstanding: it keeps for
// each when the request before, with the same tag, was answered in full. Tags are
// used in turn, and requests go out in the order in which they are asked for.
type tags struct {
	answered []units.Time
	next     int
	out      units.Time // when the last request went out that waited for a tag
}

// take uses the next m tags, at most all, for requests that could go out at a time,
// and says when the first and the last of them do.
func (t *tags) take(at units.Time, m int) (first, last units.Time) {
	k, asked := t.next, at
	at = max(at, t.out)
	for range m {
		at = max(at, t.answered[k])
		t.answered[k] = at // until answer says more: when it goes out
		if k++; k == len(t.answered) {
			k = 0
		}
	}
	if at > asked {
		t.out = at
	}
	return t.answered[t.next], at
}

// answer notes when the m requests of the last take are answered: the first at one
// time, the last at another and those between evenly, but none sooner after it went out
// than the first.
func (t *tags) answer(m int, from, to units.Time) {
	step := units.Time(0)
	if m > 1 {
		step = (to - from) / units.Time(m-1)
	}
	least := from - t.answered[t.next]
	done := to - step*units.Time(m-1)
	for range m {
		t.answered[t.next] = min(max(done, t.answered[t.next]+least), to)
		done += step
		if t.next++; t.next == len(t.answered) {
			t.next = 0
		}
	}
}
