package host

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/units"
)

// Moderation says when the card interrupts: a time after the first frame since the
// core last finished polling, or when so many have come. Both 0: at every frame.
type Moderation struct {
	Time   units.Time
	Frames int // 0: any number
	// Adaptive: Linux's dynamic interrupt moderation chooses both (lib/dim).
	Adaptive bool
}

func (m *Moderation) check() error {
	switch {
	case m.Time < 0 || m.Frames < 0:
		return fmt.Errorf("negative interrupt moderation")
	case m.Time == 0 && m.Frames > 1:
		return fmt.Errorf("interrupts after %d frames and no time would leave the last frames for ever", m.Frames)
	}
	return nil
}

// moderator is one queue's interrupt moderation.
type moderator struct {
	Moderation
	n       int        // frames since the last polling
	due     units.Time // of the interrupt
	adapter dim
	sample
}

// sample counts what a queue has seen.
type sample struct {
	at         units.Time
	interrupts int64
	frames     int64
	bytes      int64
}

func (m *moderator) init(given Moderation) {
	m.Moderation = given
	if given.Adaptive {
		m.adapter.profile = 1
		m.apply()
	}
}

// apply sets what the adapter's profile says.
func (m *moderator) apply() { m.Time, m.Frames = profile(m.adapter.profile) }

func (m *moderator) count(f *Frame) {
	m.frames++
	m.bytes += int64(f.Length)
}

// arrived notes a frame and returns when to interrupt for it, and whether that has
// just been decided.
func (m *moderator) arrived(now units.Time) (due units.Time, decided bool) {
	m.n++
	if m.n == 1 {
		m.due, decided = now+m.Time, true
	}
	if m.Frames > 0 && m.n >= m.Frames {
		m.due, decided = now, true
	}
	return m.due, decided
}

// leftover begins a period with n frames that came while the core polled, and
// returns when to interrupt for them.
func (m *moderator) leftover(now units.Time, n int) units.Time {
	m.n, m.due = n, now+m.Time
	if m.Frames > 0 && n >= m.Frames {
		m.due = now
	}
	return m.due
}

// polled notes that the core is through with polling: the card may interrupt again.
func (m *moderator) polled(now units.Time) {
	m.n = 0
	if !m.Adaptive {
		return
	}
	m.at = now
	if m.adapter.step(&m.sample) {
		m.apply()
	}
}

// profile is one of the profiles among which dynamic interrupt moderation chooses,
// those for completion queues whose period starts with the event (Linux
// lib/dim/net_dim.c: 256 frames, and 1, 8, 64, 128 or 256 us; it begins with the
// second).
func profile(i int) (units.Time, int) {
	return [...]units.Time{1, 8, 64, 128, 256}[i] * units.Microsecond, 256
}

const (
	numProfiles = 5
	// dimEvents is how many interrupts are between two decisions.
	dimEvents = 64
)

// tune is what dynamic interrupt moderation is doing.
type tune uint8

const (
	parkedOnTop tune = iota // both neighbours were worse; stays until traffic changes
	parkedTired             // has moved too often; stays for as many decisions
	right                   // trying longer times
	left                    // trying shorter times
)

// dim is the state of dynamic interrupt moderation of one queue: it climbs to the
// profile of the highest throughput, of equal ones that of fewest interrupts, a
// step per dimEvents interrupts.
type dim struct {
	profile           int
	tune              tune
	rights, lefts     int // steps since the last turn
	tired             int
	start             sample
	measuring         bool
	previous, current rates
}

// rates are per millisecond, rounded up.
type rates struct{ bytes, frames, interrupts int64 }

// step notes a sample and reports whether the profile has changed.
func (d *dim) step(s *sample) bool {
	if !d.measuring {
		d.start, d.measuring = *s, true
		return false
	}
	took := s.at - d.start.at
	if s.interrupts-d.start.interrupts < dimEvents || took < units.Microsecond {
		return false
	}
	d.current = rates{perMillisecond(s.bytes-d.start.bytes, took), perMillisecond(s.frames-d.start.frames, took),
		perMillisecond(dimEvents, took)}
	before := d.profile
	d.decide()
	d.start, d.measuring = *s, d.profile == before
	return d.profile != before
}

func perMillisecond(n int64, t units.Time) int64 {
	us := int64(t / units.Microsecond)
	return (n*1000 + us - 1) / us
}

// decide moves by one profile, turns, or parks.
func (d *dim) decide() {
	parked := d.tune == parkedOnTop
	switch d.tune {
	case parkedOnTop:
		if d.compare() != 0 {
			d.leavePark()
		}
	case parkedTired:
		if d.tired--; d.tired == 0 {
			d.leavePark()
		}
	default:
		d.climb()
	}
	if !parked || d.tune != parkedOnTop {
		d.previous = d.current
	}
}

// climb goes on in the direction that made things better, else turns; it parks
// where it has come back to after one step, at the ends, and when tired.
func (d *dim) climb() {
	if d.compare() <= 0 {
		if d.tune == right {
			d.tune, d.lefts = left, 0
		} else {
			d.tune, d.rights = right, 0
		}
	}
	top := d.tune == right && d.lefts > 1 && d.rights == 1 || d.tune == left && d.rights > 1 && d.lefts == 1
	switch {
	case top:
		d.park(parkedOnTop)
		d.tired = 0
	case d.tired == 2*numProfiles:
		d.park(parkedTired)
	case !d.move():
		d.park(parkedOnTop)
		d.tired = 0
	}
}

func (d *dim) park(t tune) { d.tune, d.rights, d.lefts = t, 0, 0 }

// leavePark begins to move again: to shorter times unless there are none.
func (d *dim) leavePark() {
	d.tune = left
	if d.profile == 0 {
		d.tune = right
	}
	d.move()
}

// move takes a step; false at the end of the profiles.
func (d *dim) move() bool {
	switch {
	case d.tune == right && d.profile < numProfiles-1:
		d.profile++
		d.rights++
	case d.tune == left && d.profile > 0:
		d.profile--
		d.lefts++
	default:
		return false
	}
	d.tired++
	return true
}

// compare is positive if the current rates are better than the previous: more
// bytes, then more frames, then fewer interrupts, each by more than 10 %.
func (d *dim) compare() int {
	c, p := &d.current, &d.previous
	for _, x := range [][2]int64{{c.bytes, p.bytes}, {c.frames, p.frames}} {
		switch {
		case x[1] == 0 && x[0] > 0:
			return 1
		case x[1] == 0:
			return 0
		case differ(x[0], x[1]):
			return sign(x[0] - x[1])
		}
	}
	if p.interrupts > 0 && differ(c.interrupts, p.interrupts) {
		return sign(p.interrupts - c.interrupts)
	}
	return 0
}

func differ(a, b int64) bool { return 100*max(a-b, b-a)/b > 10 }

func sign(n int64) int {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}
