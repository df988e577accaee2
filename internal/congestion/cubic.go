package congestion

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/units"
)

// cubic is CUBIC's state (RFC 9438 4.1.2). Windows are bytes; the cubic function
// is evaluated with times in whole microseconds and products of 128 bits, so that
// trajectories are integers.
type cubic struct {
	epoch  units.Time // beginning of the congestion avoidance stage
	k      int64      // K, microseconds
	origin int64      // the plateau: W_max, or the window at the epoch if that is larger
	wMax   int64      // the window just before the latest cut, less with fast convergence
	prior  int64      // cwnd_prior
	wEst   int64      // Reno's window in the same place; CubicLinux: in segments
	estAcc int64      // what is not yet a whole byte of wEst
	per    int32      // CubicLinux: segments acknowledged per segment of growth, and
	segs   int32      // the window in segments for which it was computed; 0: none
	segsAt int32      // when, milliseconds from the epoch on
	inCA   bool       // epoch counts
}

// maxCubicUs bounds the distance from the plateau, in microseconds: the cube and
// its products stay below 2^127, and no window grows for so long.
const maxCubicUs = 1 << 38

// cut notes the window before a congestion event (RFC 9438 4.6, 4.7). After a
// timeout the next stage begins on a plateau of its own (4.8).
func (c *cubic) cut(p *WindowParams, cwnd int64, cause CutCause) {
	c.prior = cwnd
	if p.FastConvergence && cwnd < c.wMax {
		c.wMax = mulDiv(cwnd, 1000+p.CubicBeta, 2000)
	} else {
		c.wMax = cwnd
	}
	if cause == CutTimeout {
		c.wMax = 0
	}
	c.inCA = false
}

func (c *cubic) shift(idle units.Time) {
	if c.inCA {
		c.epoch += idle
	}
}

// start begins a congestion avoidance stage.
func (c *cubic) start(p *WindowParams, now units.Time, cwnd, mss int64) {
	c.inCA, c.epoch = true, now
	c.k, c.origin = 0, cwnd
	if cwnd < c.wMax {
		c.k, c.origin = cubicK(c.wMax-cwnd, p.CubicC*mss), c.wMax
	}
	c.wEst, c.estAcc = cwnd, 0
}

// growCubic is RFC 9438 4.2 to 4.5 for one acknowledgement.
func (w *Window) growCubic(p *WindowParams, now units.Time, bytes int64, srtt units.Time) {
	c := &w.cubic
	if !c.inCA {
		c.start(p, now, w.cwnd, w.mss)
		w.acc = 0
	}
	c.growEst(p, w.cwnd, w.mss, bytes)
	t := now - c.epoch
	if c.at(p, t, w.mss) < c.wEst {
		w.cwnd = max(w.cwnd, c.wEst) // Reno-friendly region (4.3)
		return
	}
	// Concave and convex regions (4.4, 4.5): towards where the cubic function
	// will be in one round trip, by at most half the window.
	target := min(max(c.at(p, t+srtt, w.mss), w.cwnd), w.cwnd+w.cwnd/2)
	w.acc += min(mulDiv(target-w.cwnd, bytes, 1), maxCubicUs)
	w.cwnd, w.acc = w.cwnd+w.acc/w.cwnd, w.acc%w.cwnd
}

// growEst advances Reno's window by alpha segments per window, alpha = 3 (1 -
// beta) / (1 + beta), and by one once it has passed the window before the cut (4.3),
// if FriendlyOne says so.
func (c *cubic) growEst(p *WindowParams, cwnd, mss, bytes int64) {
	num, den := 3*(1000-p.CubicBeta), 1000+p.CubicBeta
	if p.FriendlyOne && c.wEst >= c.prior {
		num, den = 1, 1
	}
	c.estAcc += num * bytes * mss
	step := den * cwnd
	c.wEst += c.estAcc / step
	c.estAcc %= step
}

// at is W_cubic(t) = C (t - K)^3 + W_max (4.2, figure 1), in bytes.
func (c *cubic) at(p *WindowParams, t units.Time, mss int64) int64 {
	d := int64(t/units.Microsecond) - c.k
	if d < 0 {
		return c.origin - cubeBytes(-d, p.CubicC*mss)
	}
	return c.origin + cubeBytes(d, p.CubicC*mss)
}

// cubeBytes is c d^3 for d in microseconds and c in thousandths of bytes per
// second cubed.
func cubeBytes(d, c int64) int64 {
	u := uint64(min(d, 300e6)) // five minutes: 2.7e25, and 2.7e13 after the division
	hi, lo := bits.Mul64(u*u, u)
	q, _ := bits.Div64(hi, lo, 1e12)
	return mulDiv(int64(q), c, 1e9)
}

// cubicK is the cube root of diff/c in microseconds (4.2, figure 2), for diff in
// bytes and c in thousandths of bytes per second cubed: the largest k with k^3 <=
// 10^21 diff / c.
func cubicK(diff, c int64) int64 {
	hi, lo := bits.Mul64(uint64(min(diff, 1<<50))*1000, 1e18)
	top, rem := hi/uint64(c), hi%uint64(c)
	low, _ := bits.Div64(rem, lo, uint64(c))
	var k uint64
	for step := uint64(maxCubicUs); step > 0; step >>= 1 {
		if n := k + step; n < maxCubicUs && !cubeAbove(n, top, low) {
			k = n
		}
	}
	return int64(k)
}

// cubeAbove reports whether k^3 > hi*2^64 + lo, for k below 2^38.
func cubeAbove(k, hi, lo uint64) bool {
	h2, l2 := bits.Mul64(k, k)
	h3, l3 := bits.Mul64(l2, k)
	h3 += h2 * k
	return h3 > hi || h3 == hi && l3 > lo
}

// linuxUpdate is for how many milliseconds growth stays as computed while the window
// is the same (HZ/32), linuxLeast the most segments per segment of growth before the first cut: 5 % per
// window.
const (
	linuxUpdate = 31
	linuxLeast  = 20
)

// growLinux grows the window as bictcp_update and tcp_cong_avoid_ai do: by a segment
// for a number of acknowledged ones, which is computed anew when the window has
// changed or some time has passed.
func (w *Window) growLinux(p *WindowParams, now units.Time, bytes int64) {
	c := &w.cubic
	if !c.inCA {
		c.start(p, now, w.cwnd, w.mss)
		c.wEst, c.segs = w.cwnd/w.mss, 0 // Reno's window in segments
	}
	c.estAcc += bytes
	segs := int32(max(w.cwnd/w.mss, 1))
	if ms := int32((now - c.epoch) / units.Millisecond); segs != c.segs || ms-c.segsAt > linuxUpdate {
		c.segs, c.segsAt = segs, ms
		c.per = int32(c.segmentsPer(p, int64(segs), now-c.epoch+w.hystart.delay(), w.mss))
	}
	step := int64(c.per) * w.mss
	if w.acc >= step { // credit from when growth was slower counts once
		w.acc = 0
		w.cwnd += w.mss
	}
	w.acc += bytes
	w.cwnd += w.acc / step * w.mss
	w.acc %= step
}

// delay is the least round trip, 0 before the first.
func (h *hystart) delay() units.Time {
	if h.least == units.Never {
		return 0
	}
	return h.least
}

// segmentsPer is how many segments have to be acknowledged for one of growth: so
// many that the window is at the cubic function's, or Reno's if that is larger, a
// window later. Two at least.
func (c *cubic) segmentsPer(p *WindowParams, segs int64, t units.Time, mss int64) int64 {
	per := 100 * segs
	target := c.at(p, t, mss) / mss
	if int64(t/units.Microsecond) < c.k {
		target = (c.at(p, t, mss) + mss - 1) / mss // what is missing is rounded down
	}
	if target > segs {
		per = segs / (target - segs)
	}
	if c.wMax == 0 {
		per = min(per, linuxLeast)
	}
	// Reno's window grows by 3 (1 - beta) / (1 + beta) per window; its inverse is
	// in eighths.
	delta := max(segs*(8*(1000+p.CubicBeta)/3/(1000-p.CubicBeta))>>3, 1) * mss
	c.wEst += c.estAcc / delta
	c.estAcc %= delta
	if c.wEst > segs {
		per = min(per, segs/(c.wEst-segs))
	}
	return max(per, 2)
}
