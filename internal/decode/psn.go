package decode

import (
	"sort"

	"github.com/hopscope/hopscope/internal/units"
)

// psnBits is the width of a packet sequence number, maxJump how far one may lie from the next that is
// expected: a requester has at most 2^23 outstanding (IBTA 9.7.1), but no card has more than this. What
// lies further away is a new connection that has the number of an old one.
const (
	psnMask = 1<<24 - 1
	maxJump = 1 << 17
)

// psnDiff is how far a lies behind b in the circle of PSNs, from -2^23.
func psnDiff(a, b uint32) int32 { return int32((a-b)<<8) >> 8 }

// hole is a range of PSNs that were passed over: from, up to before to.
type hole struct {
	from, to uint32
	at       units.Time // when it was found
}

// maxHoles bounds the holes of a sequence; the oldest is given up then.
const maxHoles = 4096

// sequence keeps which PSNs of a stream were seen: all from first to before next but the holes.
type sequence struct {
	started     bool
	first, next uint32
	// slack is by how much next may be too low, behind a READ whose packets' number is not known.
	slack int32
	holes []hole
	// given up are PSNs of holes that were too many to be kept, or of an earlier connection.
	givenUp int64
}

// fate is what a PSN is to a sequence.
type fate uint8

const (
	fresh  fate = iota // the next, or beyond it
	again              // was seen before
	filled             // fills a hole
	before             // lies before the first that was seen
	anew               // so far off that another connection begins
)

// see takes n PSNs from psn on. missed is how many were passed over; opened, of filled, is when the
// hole was found.
func (s *sequence) see(psn, n uint32, now units.Time) (f fate, missed int32, opened units.Time) {
	if !s.started {
		*s = sequence{started: true, first: psn, next: (psn + n) & psnMask, givenUp: s.givenUp}
		return fresh, 0, 0
	}
	d := psnDiff(psn, s.next)
	switch {
	case d > maxJump || d < -maxJump:
		s.givenUp += s.open()
		s.first, s.next, s.slack, s.holes = psn, (psn+n)&psnMask, 0, s.holes[:0]
		return anew, 0, 0
	case d >= 0:
		if missed = d; missed <= s.slack {
			missed = 0
		}
		if missed > 0 {
			s.addHole(hole{s.next, psn, now})
		}
		s.next, s.slack = (psn+n)&psnMask, 0
		return fresh, missed, 0
	}
	if end := psnDiff(psn+n, s.next); end > 0 { // a READ that asks for more than the one before did
		s.next, s.slack = (psn+n)&psnMask, 0
	}
	if psnDiff(psn, s.first) < 0 {
		return before, 0, 0
	}
	if at, ok := s.fill(psn); ok {
		return filled, 0, at
	}
	return again, 0, 0
}

func (s *sequence) addHole(h hole) {
	if len(s.holes) == maxHoles {
		s.givenUp += int64(psnDiff(s.holes[0].to, s.holes[0].from))
		s.holes = append(s.holes[:0], s.holes[1:]...)
	}
	s.holes = append(s.holes, h)
}

// fill takes one PSN out of the hole it lies in, if it does.
func (s *sequence) fill(psn uint32) (at units.Time, ok bool) {
	i, in := s.find(psn)
	if !in {
		return 0, false
	}
	h := &s.holes[i]
	at = h.at
	left, right := hole{h.from, psn, at}, hole{(psn + 1) & psnMask, h.to, at}
	switch {
	case left.from == left.to && right.from == right.to:
		s.holes = append(s.holes[:i], s.holes[i+1:]...)
	case left.from == left.to:
		*h = right
	case right.from == right.to:
		*h = left
	default:
		*h = left
		if len(s.holes) < maxHoles {
			s.holes = append(s.holes, hole{})
			copy(s.holes[i+2:], s.holes[i+1:])
			s.holes[i+1] = right
		} else {
			s.givenUp += int64(psnDiff(right.to, right.from))
		}
	}
	return at, true
}

// find is the place of the hole that a PSN lies in, if in one; holes are in the order of PSNs.
func (s *sequence) find(psn uint32) (i int, in bool) {
	i = sort.Search(len(s.holes), func(k int) bool { return psnDiff(s.holes[k].to, psn) > 0 })
	return i, i < len(s.holes) && psnDiff(psn, s.holes[i].from) >= 0
}

// open is how many PSNs are missing.
func (s *sequence) open() (n int64) {
	for _, h := range s.holes {
		n += int64(psnDiff(h.to, h.from))
	}
	return n
}

// acknowledged is how many PSNs up to that one are missing although it was acknowledged; they are
// taken out.
func (s *sequence) acknowledged(psn uint32) (n int64) {
	for len(s.holes) > 0 && psnDiff(s.holes[0].to, psn) <= 1 {
		n += int64(psnDiff(s.holes[0].to, s.holes[0].from))
		s.holes = append(s.holes[:0], s.holes[1:]...)
	}
	return n
}
