package congestion

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// WindowAlgorithm is how a TCP congestion window grows and shrinks.
type WindowAlgorithm uint8

// Window algorithms.
const (
	Reno     WindowAlgorithm = iota // RFC 5681
	Cubic                           // RFC 9438
	DCTCP                           // RFC 8257; grows as Reno does
	NoWindow                        // none: the window never limits what is sent
	numWindowAlgorithms
)

func (a WindowAlgorithm) String() string { return [...]string{"reno", "cubic", "dctcp", "none"}[a] }

// WindowAlgorithmNamed returns the algorithm of that name.
func WindowAlgorithmNamed(name string) (WindowAlgorithm, error) {
	var names []string
	for a := range numWindowAlgorithms {
		if a.String() == name {
			return a, nil
		}
		names = append(names, a.String())
	}
	return 0, fmt.Errorf("congestion control: unknown algorithm %q, want one of %s", name, strings.Join(names, ", "))
}

// WindowParams configures a congestion window; one value is shared by many
// connections and read-only while they run.
type WindowParams struct {
	Algorithm WindowAlgorithm
	// InitialWindow is where slow start begins, in segments; at least 1 (RFC 6928: 10).
	InitialWindow int
	// ABCLimit is how many segments one ACK may add in slow start; 0: as many as
	// it acknowledges (Linux). RFC 5681: 1, RFC 9406: 8 without pacing.
	ABCLimit int
	// HyStart is when the first slow start ends before anything is lost.
	HyStart HyStart
	// CubicLinux is CUBIC as in Linux (bictcp_update), in whole segments, where RFC
	// 9438 has bytes: see docs/models/tcp.md. FriendlyOne has no effect then.
	CubicLinux bool
	// CubicC is CUBIC's C in thousandths of a segment per second cubed (RFC 9438
	// 5: 400); CubicBeta is what a cut leaves, in thousandths (4.6: 700).
	CubicC, CubicBeta int64
	// FriendlyOne makes Reno's window within CUBIC grow by a whole segment per window
	// once it has passed the window before the cut (RFC 9438 4.3); without it by alpha
	// throughout (RFC 8312 4.2, Linux).
	FriendlyOne bool
	// FastConvergence lets a flow whose window shrinks give up more (RFC 9438 4.7).
	FastConvergence bool
	// DCTCPShift gives the gain g = 2^-DCTCPShift (RFC 8257 4.2: 4).
	DCTCPShift uint8
}

// DefaultWindowParams are the values that the RFCs recommend.
func DefaultWindowParams(a WindowAlgorithm) WindowParams {
	return WindowParams{Algorithm: a, InitialWindow: 10, CubicC: 400, CubicBeta: 700, FriendlyOne: true, FastConvergence: true, DCTCPShift: 4}
}

// Validate reports the first value out of range.
func (p *WindowParams) Validate() error {
	checks := []struct {
		bad        bool
		key, right string
		value      any
	}{
		{p.Algorithm >= numWindowAlgorithms, "algorithm", "reno, cubic, dctcp or none", uint8(p.Algorithm)},
		{p.InitialWindow < 1 || p.InitialWindow > 10000, "initial_window", "1 to 10000 segments", p.InitialWindow},
		{p.ABCLimit < 0, "abc_limit", "0 (none) or a number of segments", p.ABCLimit},
		{p.HyStart >= numHyStarts, "hystart", "off, rfc9406 or linux", uint8(p.HyStart)},
		{p.CubicC < 1 || p.CubicC > 100000, "cubic_c", "1 to 100000 thousandths", p.CubicC},
		{p.CubicBeta < 1 || p.CubicBeta > 999, "cubic_beta", "1 to 999 thousandths", p.CubicBeta},
		{p.DCTCPShift < 1 || p.DCTCPShift > 16, "dctcp_shift", "1 to 16", p.DCTCPShift},
	}
	for _, k := range checks {
		if k.bad {
			return fmt.Errorf("congestion control: %s is %v, want %s", k.key, k.value, k.right)
		}
	}
	return nil
}

// CutCause is why a window is cut.
type CutCause uint8

// Causes of cuts.
const (
	CutLoss    CutCause = iota // fast recovery
	CutECN                     // ECE
	CutTimeout                 // the retransmission timer
)

// openWindow is a window that never limits: far more than the 1 GiB that a header can
// offer (RFC 7323 2.3), and small enough to be multiplied.
const openWindow = 1 << 40

// maxSsthresh is where ssthresh starts: "arbitrarily high" (RFC 5681 3.1).
const maxSsthresh = math.MaxInt64

// Window is the congestion window of one connection, in bytes. It only computes:
// when acknowledgements, losses and marks are to be counted is the transport's
// business (recovery, proportional rate reduction, validation).
type Window struct {
	cwnd, ssthresh int64
	mss            int64
	acc            int64 // congestion avoidance: what is not yet a whole byte, or segment
	cubic          cubic
	dctcp          dctcp
	hystart        hystart
}

// WindowAck is what the window needs to know of an acknowledgement of new data.
type WindowAck struct {
	Now   units.Time
	Bytes int64      // newly acknowledged or selectively acknowledged; positive
	SRTT  units.Time // smoothed round trip; 0 before the first sample
}

// Init starts a connection of segments of mss bytes.
func (w *Window) Init(p *WindowParams, mss int64) {
	*w = Window{mss: mss, cwnd: int64(p.InitialWindow) * mss, ssthresh: maxSsthresh}
	if p.Algorithm == NoWindow {
		w.cwnd, w.ssthresh = openWindow, openWindow
	}
	w.dctcp.alpha = dctcpOne // RFC 8257 3.3: "SHOULD be initialized to 1"
	w.hystart.init()
}

// open reports whether the window never limits.
func (w *Window) open() bool { return w.cwnd == openWindow }

// Bytes is the congestion window.
func (w *Window) Bytes() int64 { return w.cwnd }

// Ssthresh is the slow start threshold in bytes; huge before the first cut.
func (w *Window) Ssthresh() int64 { return w.ssthresh }

// MSS is the segment size in bytes.
func (w *Window) MSS() int64 { return w.mss }

// SlowStart reports whether the window is below its threshold.
func (w *Window) SlowStart() bool { return w.cwnd < w.ssthresh }

// Set overrides the window during recovery, in bytes; at least one segment.
func (w *Window) Set(bytes int64) {
	if !w.open() {
		w.cwnd = max(bytes, w.mss)
	}
}

// Raise lifts window and threshold to those of an earlier time, if they were larger.
func (w *Window) Raise(before *Window) {
	w.cwnd, w.ssthresh = max(w.cwnd, before.cwnd), max(w.ssthresh, before.ssthresh)
}

// OnAck grows the window. The transport calls it only outside recovery, and only
// when the window limited what was sent (RFC 7661).
func (w *Window) OnAck(p *WindowParams, a WindowAck) {
	if w.open() {
		return
	}
	left := a.Bytes
	if w.SlowStart() {
		left = w.slowStart(p, left)
		if left == 0 {
			return
		}
	}
	if p.Algorithm == Cubic && p.CubicLinux {
		w.growLinux(p, a.Now, left)
		return
	}
	if p.Algorithm == Cubic {
		w.growCubic(p, a.Now, left, a.SRTT)
		return
	}
	// RFC 5681 3.1, equation 3 with byte counting: one segment per window.
	w.acc += left
	for w.acc >= w.cwnd {
		w.acc -= w.cwnd
		w.cwnd += w.mss
	}
}

// slowStart grows the window by what was acknowledged and returns what is left
// when it reaches the threshold.
func (w *Window) slowStart(p *WindowParams, acked int64) int64 {
	step := acked
	if p.ABCLimit > 0 {
		step = min(step, int64(p.ABCLimit)*w.mss)
	}
	if w.hystart.css {
		step = max(step/cssGrowthDivisor, 1)
	}
	room := w.ssthresh - w.cwnd
	if step < room {
		w.cwnd += step
		return 0
	}
	w.cwnd = w.ssthresh
	w.acc = 0
	return step - room
}

// Cut lowers the threshold for a congestion event; the transport then brings the
// window down to it. A timeout sets the window to one segment (RFC 5681 3.1).
// What is cut is the window and not, as RFC 5681 has it, the flight: a window
// that was not used does not grow (RFC 9438 4.6 allows this, Linux does it).
func (w *Window) Cut(p *WindowParams, cause CutCause) {
	if w.open() {
		return
	}
	switch {
	case p.Algorithm == DCTCP && cause == CutECN:
		w.ssthresh = w.cwnd - w.dctcp.cut(w.cwnd)
	case p.Algorithm == Cubic:
		w.ssthresh = mulDiv(w.cwnd, p.CubicBeta, 1000)
		w.cubic.cut(p, w.cwnd, cause)
		if p.CubicLinux {
			w.ssthresh -= w.ssthresh % w.mss
		}
	default:
		w.ssthresh = w.cwnd / 2
	}
	w.ssthresh = max(w.ssthresh, 2*w.mss)
	w.acc = 0
	w.hystart.css = false
	if cause == CutTimeout {
		w.cwnd = w.mss
		w.hystart.found, w.hystart.end, w.hystart.least = false, 0, units.Never
	}
}

// OnIdle handles a pause in sending: CUBIC's clock stands still meanwhile (RFC
// 9438 5.8).
func (w *Window) OnIdle(idle units.Time) { w.cubic.shift(idle) }

// Restart halves the window once per retransmission timeout of idle time, down to
// the initial window, and remembers three quarters of it as the threshold (RFC
// 2861 3.1; Linux tcp_slow_start_after_idle).
func (w *Window) Restart(p *WindowParams, idle, rto units.Time) {
	if w.open() {
		return
	}
	floor := min(int64(p.InitialWindow)*w.mss, w.cwnd)
	w.ssthresh = max(w.ssthresh, w.cwnd/4*3)
	for idle -= rto; idle > 0 && w.cwnd > floor; idle -= rto {
		w.cwnd /= 2
	}
	w.cwnd = max(w.cwnd, floor)
	w.acc = 0
}

// mulDiv is a*b/c rounded down, for values not below 0 and c above; what does
// not fit is the largest int64.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}
