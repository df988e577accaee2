package fabric

import (
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// Frames keep their order, none is early, those that come apart are late by the uniform
// distribution, and in the long run as many pass as are sent.
func TestJitter(t *testing.T) {
	const tx, way, frames = 83560 * units.Picosecond, 400 * units.Nanosecond, 20000 // a full frame at 400 Gb/s
	for _, c := range []struct {
		name               string
		dispatch, pipeline units.Time
		rest               units.Time // cut-through
		gap                units.Time // between starts
	}{
		{"alone", 70 * units.Nanosecond, 150 * units.Nanosecond, 0, 2 * units.Microsecond},
		{"pipeline alone", 0, 150 * units.Nanosecond, 0, units.Microsecond},
		{"card alone", 70 * units.Nanosecond, 0, 0, units.Microsecond},
		{"saturated", 70 * units.Nanosecond, 150 * units.Nanosecond, 0, tx},
		{"cut-through", 70 * units.Nanosecond, 150 * units.Nanosecond, tx - 1000, tx},
		{"10 us", MaxNoise, MaxNoise, 0, tx},
	} {
		j := jitter{rnd: rng.NewQuick(1, c.name), dispatch: uint32(c.dispatch), pipeline: uint32(c.pipeline)}
		most := c.dispatch + c.pipeline
		var last, sum, largest units.Time
		now := units.Time(0)
		for k := range frames {
			now = units.Time(k) * c.gap
			at := now + j.late(now, tx, way, c.rest)
			late := at - now - way
			if late < 0 || late > most+units.Time(frames) { // 1 ps per frame to keep the order
				t.Fatalf("%s: frame %d is late by %d ps, of at most %d", c.name, k, late, most)
			}
			if k > 0 && at <= last {
				t.Fatalf("%s: frame %d arrives %d ps before the one ahead of it has passed", c.name, k, last-at)
			}
			last = at + c.rest
			sum, largest = sum+late, max(largest, late)
		}
		mean := float64(sum) / frames
		if c.gap >= most { // independent draws: mean and largest of the uniform distribution
			sd := math.Sqrt(float64(c.dispatch)*float64(c.dispatch)+float64(c.pipeline)*float64(c.pipeline)) / math.Sqrt(12*frames)
			if d := mean - float64(most)/2; math.Abs(d) > 5*sd {
				t.Errorf("%s: late by %.0f ps on average, not by %d +- %.0f", c.name, mean, most/2, 5*sd)
			}
			if largest < most*9/10 {
				t.Errorf("%s: never late by more than %d of %d ps", c.name, largest, most)
			}
		}
		if span := last - now; span > way+most+c.rest+frames { // nothing has piled up
			t.Errorf("%s: the last frame of %d takes %d ps", c.name, frames, span)
		}
	}
}

// A clock that is some parts per million slow takes so much longer for a byte, to 1e-9; an
// exact clock has the exact value or none.
func TestClock(t *testing.T) {
	for _, r := range []units.Rate{units.Gbps, 10 * units.Gbps, 25 * units.Gbps, 100 * units.Gbps, 400 * units.Gbps, 800 * units.Gbps, 53_125_000_000} {
		for _, slow := range []int{-1000, -100, -1, 0, 1, 37, 100, 1000} {
			got := bytePicos(r, slow)
			exact := 8e12 / float64(r) * (1 + float64(slow)*1e-6)
			if got == 0 && slow == 0 && 8_000_000_000_000%int64(r) != 0 {
				continue
			}
			if d := float64(got)/(1<<byteScale)/exact - 1; math.Abs(d) > 1e-6/exact {
				t.Errorf("%v, %d ppm: %.9f ps a byte, not %.9f", r, slow, float64(got)/(1<<byteScale), exact)
			}
			const b = 9018
			if d := float64(timeOf(b, got)) - b*exact; math.Abs(d) > 0.51+b*1e-6 {
				t.Errorf("%v, %d ppm: %d bytes take %d ps, not %.3f", r, slow, b, timeOf(b, got), b*exact)
			}
			if slow == 0 && timeOf(b, got) != units.Time(b*(8_000_000_000_000/int64(r))) {
				t.Errorf("%v: %d bytes take %d ps", r, b, timeOf(b, got))
			}
		}
	}
}
