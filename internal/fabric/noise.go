package fabric

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// Noise is what the times of a port's frames vary by; the zero value: nothing. See
// docs/models/noise.md for the measured values.
type Noise struct {
	Dispatch units.Time // a card takes up to this longer to bring a frame to the wire
	Pipeline units.Time // the switch that the port leads to takes up to this longer
	// Slow is how many parts per million the node's clock is slow; negative: fast.
	Slow int
}

// MaxNoise bounds Dispatch and Pipeline, and the delays of a host's kernel.
const MaxNoise = 10 * units.Microsecond

// jitter delays the frames that one port sends. It never lets one overtake another, and
// what waits for a frame before it is not delayed twice: in the long run as many frames
// pass as without. It only adds to the time that a frame is on its way, so that the
// lookahead holds. Frames of the link's own (PFC, credits) are made behind a card's
// dispatch and taken before a switch's pipeline, and have none of it.
type jitter struct {
	rnd                rng.Quick
	dispatch, pipeline uint32     // ps
	wire               units.Time // when the wire is free of the frames behind the dispatch
	last               units.Time // when the latest frame will have passed into the switch whole
}

// late returns the time from now to a frame's arrival, which would be d, for a frame that
// takes tx on the wire, of which rest comes after that arrival (cut-through).
func (j *jitter) late(now, tx, d, rest units.Time) units.Time {
	r := j.rnd.Uint64()
	at := now
	if j.dispatch > 0 {
		at = max(now+units.Time(r&0xffffffff*uint64(j.dispatch)>>32), j.wire)
		j.wire = at + tx
	}
	at += d + units.Time(r>>32*uint64(j.pipeline)>>32)
	if at <= j.last {
		at = j.last + 1
	}
	j.last = at + rest
	return at - now
}

// byteScale is the number of binary digits behind the point of Port.psByte.
const byteScale = 20

// bytePicos is the time of a byte at a rate, in 2^-20 ps, by a clock that is so many parts
// per million slow; 0 if an exact clock has no exact value.
func bytePicos(r units.Rate, slow int) uint64 {
	const million = 1_000_000
	hi, lo := bits.Mul64(8_000_000<<byteScale, uint64(million+slow))
	q, rest := bits.Div64(hi, lo, uint64(r))
	if slow == 0 && 8_000_000_000_000%uint64(r) != 0 {
		return 0
	}
	if 2*rest >= uint64(r) {
		q++
	}
	return q
}

// timeOf is the time of b bytes of psByte each, to the nearest ps.
func timeOf(b uint32, psByte uint64) units.Time {
	hi, lo := bits.Mul64(uint64(b), psByte)
	lo, carry := bits.Add64(lo, 1<<(byteScale-1), 0)
	return units.Time((hi+carry)<<(64-byteScale) | lo>>byteScale)
}
