package record

import (
	"sort"

	"github.com/hopscope/hopscope/internal/units"
)

// Stretch is a time in which something lasted without a break: a gate was shut, or a core busy. Sum is
// for how long it had lasted in all by its end.
type Stretch struct {
	From units.Time `json:"from_ps"` // when it began
	To   units.Time `json:"to_ps"`   // when it ended
	Sum  units.Time `json:"sum_ps"`  // for how long it had lasted in all by then
}

// Stretches are those that were written down, see Seldom, in order. What stands there of the past does
// not depend on what follows.
type Stretches []Stretch

// Within is for how long it lasted from one instant to another, as far as it is known by the latter:
// what was not written down is taken to go on as it did before, for as long as between the two
// stretches before.
func (s Stretches) Within(from, to units.Time) units.Time { return max(0, s.by(to)-s.by(from)) }

// by is for how long it had lasted by an instant.
func (s Stretches) by(t units.Time) units.Time {
	n := sort.Search(len(s), func(i int) bool { return s[i].From > t })
	if n == 0 {
		return 0
	}
	last := &s[n-1]
	if t < last.To {
		return last.Sum - (last.To - t)
	}
	if n < apart { // all were written down
		return last.Sum
	}
	before := &s[n-2]
	share := float64(last.Sum-before.Sum) / float64(last.To-before.To)
	return last.Sum + units.Time(share*float64(min(t-last.To, last.To-before.To)))
}

// StretchLog writes stretches down.
type StretchLog struct {
	due  Seldom
	sum  units.Time
	Seen Stretches
}

// End writes the last one down, which the run ended.
func (l *StretchLog) End(from, to units.Time) {
	if n := len(l.Seen); to > from && (n == 0 || l.Seen[n-1].To < to) {
		l.Seen = append(l.Seen, Stretch{from, to, l.sum})
	}
}

// long is the part of the time so far, one in so many, from which on each stretch is written down.
const long = 16

// Add notes one, which begins after those before.
func (l *StretchLog) Add(from, to units.Time) {
	l.sum += to - from
	if to > from && (l.due.Now() || long*(to-from) >= to) {
		l.Seen = append(l.Seen, Stretch{from, to, l.sum})
	}
}
