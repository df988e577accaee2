package dma

import "github.com/hopscope/hopscope/internal/units"

// loads are the bulk copies that pass a track at less than its rate, as their own
// bottleneck lets them: each takes its share as long as it lasts, all together at most
// maxLoad, and the others have the rest.
type loads struct {
	at [8]load
	n  uint8
}

// load is a share of a track, in permille, for a time.
type load struct {
	from, until units.Time
	share       int64
}

// maxLoad is what of a track, in permille, loads take at most; the rest, or more, is left to
// the packets of cards. A copy waits for less than leastLoad, unless it needs no more.
const maxLoad, leastLoad = 875, 125

// share is what is taken from a time on at most; loads that begin later count.
func (l *loads) share(at units.Time) (sum int64) {
	for i := range int(l.n) {
		if l.at[i].until > at {
			sum += l.at[i].share
		}
	}
	return sum
}

// beside is what work takes that begins at a time, next to the loads under way then:
// maxLoad at most, because each was booked beside all that last longer than its start.
func (l *loads) beside(at, work units.Time) units.Time {
	sum := int64(0)
	for i := range int(l.n) {
		if l.at[i].from <= at && at < l.at[i].until {
			sum += l.at[i].share
		}
	}
	return work * 1000 / units.Time(1000-sum)
}

// add books work that comes over a span of time from at on, later or slower if the
// loads before it leave too little. Those that begin later count as if they had begun.
func (l *loads) add(now, at, work, span units.Time) (start, end units.Time) {
	want := int64((work*1000 + span - 1) / span)
	l.forget(now)
	for {
		room := maxLoad - l.share(at)
		if room >= min(want, leastLoad) {
			share := min(want, room)
			end = at + max(span, (work*1000+units.Time(share)-1)/units.Time(share))
			l.put(load{at, end, share})
			return at, end
		}
		next := units.Never
		for i := range int(l.n) {
			if l.at[i].until > at {
				next = min(next, l.at[i].until)
			}
		}
		at = next
	}
}

// put keeps a load, if there is no room instead of the one that is over first.
func (l *loads) put(x load) {
	if int(l.n) < len(l.at) {
		l.at[l.n] = x
		l.n++
		return
	}
	first := 0
	for i := range l.at {
		if l.at[i].until < l.at[first].until {
			first = i
		}
	}
	l.at[first] = x
}

// forget drops the loads that are over now.
func (l *loads) forget(now units.Time) {
	n := uint8(0)
	for i := range int(l.n) {
		if l.at[i].until > now {
			l.at[n] = l.at[i]
			n++
		}
	}
	l.n = n
}
