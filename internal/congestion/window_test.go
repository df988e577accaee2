package congestion

import (
	"math"
	"math/big"
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// periodic runs a window over a path of constant round trip on which every
// period-th segment is lost and at once known to be; each segment has its own ACK.
// It returns the mean window, in segments: those acknowledged per round trip, over
// the last two thirds of cycles many losses.
func periodic(p WindowParams, rtt units.Time, period, cycles int) float64 {
	const mss = 1460
	var w Window
	w.Init(&p, mss)
	w.Cut(&p, CutLoss) // no first slow start
	w.Set(w.Ssthresh())
	var now, from units.Time
	acked, total := 0, 0
	for cycle := range cycles {
		if cycle == cycles/3 {
			from, total = now, 0
		}
		for acked = 0; acked < period; acked++ {
			now += units.Time(int64(rtt) / max(w.Bytes()/mss, 1))
			w.OnAck(&p, WindowAck{Now: now, Bytes: mss, SRTT: rtt})
		}
		total += acked
		w.Cut(&p, CutLoss)
		w.Set(w.Ssthresh())
	}
	return float64(total) * float64(rtt) / float64(now-from)
}

// TestPeriodicLoss compares mean windows under deterministic loss with the closed
// forms: Reno's sqrt(3/2p) (Mathis et al., 1997), CUBIC's [C (3+b)/(4 (1-b))]^(1/4)
// RTT^(3/4)/p^(3/4) (RFC 9438 5.1, equation 6), and in the Reno-friendly region
// Reno's (4.3). F21 of models.md: 187 and 38.7 segments.
func TestPeriodicLoss(t *testing.T) {
	cubic := DefaultWindowParams(Cubic)
	for _, c := range []struct {
		name      string
		p         WindowParams
		rtt       units.Time
		period    int
		want, tol float64
	}{
		{"F21, CUBIC region", cubic, 100 * units.Millisecond, 10000, 187, 0.08},
		{"F21, Reno region", cubic, 10 * units.Millisecond, 1000, 38.7, 0.08},
		{"long", cubic, 200 * units.Millisecond, 100000, math.Pow(0.4*3.7/1.2, 0.25) * math.Pow(0.2*100000, 0.75), 0.08},
		{"Reno", DefaultWindowParams(Reno), 10 * units.Millisecond, 1000, math.Sqrt(1.5 * 1000), 0.05},
		{"Reno, rare losses", DefaultWindowParams(Reno), 100 * units.Microsecond, 20000, math.Sqrt(1.5 * 20000), 0.02},
		{"DCTCP, losses", DefaultWindowParams(DCTCP), 10 * units.Millisecond, 1000, math.Sqrt(1.5 * 1000), 0.05},
	} {
		got := periodic(c.p, c.rtt, c.period, 60)
		t.Logf("%s: %.2f segments, want %.2f", c.name, got, c.want)
		if math.Abs(got-c.want) > c.tol*c.want {
			t.Errorf("%s: mean window %.1f segments, want %.1f", c.name, got, c.want)
		}
	}
}

// K of RFC 9438 4.2: the largest integer below the cube root, for a window of 100
// segments 4.217 s (models.md 5.6), and exactly against big integers.
func TestCubicK(t *testing.T) {
	if k := cubicK(30*1460, 400*1460); k != 4217163 { // (0.3*100/0.4)^(1/3) = 4.21716332650875
		t.Errorf("K is %d us, want 4217163", k)
	}
	s := rng.New(1, "cubic")
	for range 2000 {
		diff := int64(s.Uint64() >> (14 + s.IntN(45)))
		c := 1 + int64(s.Uint64()>>(38+s.IntN(20)))
		k := cubicK(diff, c)
		x := new(big.Int).Mul(big.NewInt(diff), big.NewInt(1e18))
		x.Mul(x, big.NewInt(1000)).Div(x, big.NewInt(c))
		cube := func(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(n), big.NewInt(3), nil) }
		if k < maxCubicUs-1 && (cube(k).Cmp(x) > 0 || cube(k+1).Cmp(x) <= 0) || k == maxCubicUs-1 && cube(k).Cmp(x) > 0 {
			t.Fatalf("K(%d, %d) is %d, want the cube root of %v", diff, c, k, x)
		}
	}
}

// The window follows the cubic function: W_max at K, and symmetric about it.
func TestCubicFunction(t *testing.T) {
	const mss = 1448
	p := DefaultWindowParams(Cubic)
	var w Window
	w.Init(&p, mss)
	w.Set(1000 * mss)
	w.Cut(&p, CutLoss)
	w.Set(w.Ssthresh())
	if w.Bytes() != 700*mss {
		t.Fatalf("cut to %d", w.Bytes())
	}
	w.cubic.start(&p, 0, w.Bytes(), mss)
	for ms := range int64(25000) {
		at := units.Time(ms) * units.Millisecond
		d := float64(ms)/1000 - math.Cbrt(300/0.4)
		want := (0.4*d*d*d + 1000) * mss
		if got := w.cubic.at(&p, at, mss); math.Abs(float64(got)-want) > 3 {
			t.Fatalf("W(%v) is %d, want %.1f", at, got, want)
		}
	}
}

// RFC 9438 4.3: at short round trips the window is Reno's, with alpha 9/17 per window
// up to the one before the cut; beyond it one, or still alpha as in RFC 8312.
func TestRenoFriendly(t *testing.T) {
	for _, one := range []bool{true, false} {
		const mss = 1000
		p := DefaultWindowParams(Cubic)
		p.FriendlyOne = one
		var w Window
		w.Init(&p, mss)
		w.Set(20 * mss)
		w.Cut(&p, CutLoss)
		w.Set(w.Ssthresh()) // 14 segments
		var now units.Time
		want := 14.0
		for range 40 {
			alpha := 9.0 / 17
			if one && want >= 20 {
				alpha = 1
			}
			for range w.Bytes() / mss {
				now += units.Microsecond
				w.OnAck(&p, WindowAck{Now: now, Bytes: mss, SRTT: 20 * units.Microsecond})
			}
			want += alpha
			if got := float64(w.Bytes()) / mss; math.Abs(got-want) > 0.05*want {
				t.Fatalf("one %v: %.2f segments, want %.2f", one, got, want)
			}
		}
	}
}

// RFC 9438 4.7: a second cut before W_max is reached again gives up more.
func TestFastConvergence(t *testing.T) {
	p := DefaultWindowParams(Cubic)
	var w Window
	w.Init(&p, 1000)
	w.Set(100e3)
	w.Cut(&p, CutLoss)
	w.Set(w.Ssthresh())
	if w.cubic.wMax != 100e3 || w.Bytes() != 70e3 {
		t.Fatalf("W_max %d, window %d", w.cubic.wMax, w.Bytes())
	}
	w.Cut(&p, CutLoss)
	if w.cubic.wMax != 70e3*17/20 || w.Ssthresh() != 49e3 {
		t.Errorf("W_max %d, want 59500; threshold %d", w.cubic.wMax, w.Ssthresh())
	}
	w.Cut(&p, CutTimeout)
	if w.Bytes() != 1000 || w.cubic.wMax != 0 {
		t.Errorf("after a timeout window %d, W_max %d", w.Bytes(), w.cubic.wMax)
	}
}

// Slow start doubles per round trip; with RFC 5681's limit and an ACK for every
// second segment it grows by half.
func TestSlowStart(t *testing.T) {
	for _, c := range []struct {
		limit, perAck int
		want          int64
	}{{0, 1, 160}, {0, 2, 160}, {1, 1, 160}, {1, 2, 49}, {2, 2, 160}} {
		p := DefaultWindowParams(Reno)
		p.ABCLimit = c.limit
		var w Window
		w.Init(&p, 1000)
		for range 4 {
			for range w.Bytes() / 1000 / int64(c.perAck) {
				w.OnAck(&p, WindowAck{Bytes: int64(c.perAck) * 1000})
			}
		}
		if got := w.Bytes() / 1000; got != c.want {
			t.Errorf("limit %d, %d segments per ACK: %d segments after four round trips, want %d", c.limit, c.perAck, got, c.want)
		}
	}
}

// What slow start does not need counts for congestion avoidance.
func TestSlowStartEnds(t *testing.T) {
	p := DefaultWindowParams(Reno)
	var w Window
	w.Init(&p, 1000)
	w.Set(20e3)
	w.Cut(&p, CutLoss)
	w.Set(8e3)
	w.OnAck(&p, WindowAck{Bytes: 5e3}) // two to the threshold of 10, three left of ten
	if w.Bytes() != 10e3 || w.SlowStart() {
		t.Fatalf("window %d", w.Bytes())
	}
	w.OnAck(&p, WindowAck{Bytes: 6999})
	if w.Bytes() != 10e3 {
		t.Errorf("window %d after 9.999 segments, want 10000", w.Bytes())
	}
	w.OnAck(&p, WindowAck{Bytes: 1})
	if w.Bytes() != 11e3 {
		t.Errorf("window %d after ten segments, want 11000", w.Bytes())
	}
}

// RFC 2861 3.1: half per timeout of idle time, not below the initial window.
func TestRestart(t *testing.T) {
	p := DefaultWindowParams(Reno)
	for idle, want := range map[units.Time]int64{units.Second: 160e3, units.Second + 1: 80e3, 2*units.Second + 1: 40e3, 60 * units.Second: 10e3} {
		var w Window
		w.Init(&p, 1000)
		w.Set(160e3)
		w.Cut(&p, CutLoss) // a threshold of 80
		w.Set(160e3)
		w.Restart(&p, idle, units.Second)
		if w.Bytes() != want || w.Ssthresh() != 120e3 {
			t.Errorf("%v: window %d, threshold %d, want %d and 120000", idle, w.Bytes(), w.Ssthresh(), want)
		}
	}
}

// dctcpRounds runs a window against a queue that marks every segment sent while
// the window is above limit segments; it returns the mean alpha.
func dctcpRounds(p WindowParams, limit int64, rounds int) float64 {
	const mss = 1000
	var w Window
	w.Init(&p, mss)
	w.Cut(&p, CutLoss)
	w.Set(limit * mss)
	var una, sum uint64
	var cutUntil uint64
	n := 0
	for round := range rounds {
		flight := w.Bytes() / mss
		nxt := una + uint64(flight*mss)
		marked := flight > limit
		for range flight {
			una += mss
			next := nxt + uint64(una-(nxt-uint64(flight*mss))) // as much again is under way
			m := int64(0)
			if marked {
				m = mss
			}
			w.OnMarks(&p, mss, m, una, next)
			if marked && una > cutUntil {
				w.Cut(&p, CutECN)
				w.Set(w.Ssthresh())
				cutUntil = next
			}
			w.OnAck(&p, WindowAck{Bytes: mss}) // the paper's window grows in every round trip
		}
		if round > rounds/3 {
			sum += uint64(w.Alpha())
			n++
		}
	}
	return float64(sum) / float64(n) / dctcpOne
}

// DCTCP's alpha on the saw tooth: alpha^2 (1 - alpha/4) = (2W+1)/(W+1)^2 where
// marking begins at W segments (Alizadeh et al., SIGMETRICS 2011; models.md 5.5).
// The estimate must be slower than the saw tooth for that: g < 1.386 / sqrt(2 W)
// (SIGCOMM 2010, equation 15), which the default gain of 1/16 fulfils up to W = 245.
func TestDCTCPAlpha(t *testing.T) {
	for _, limit := range []int64{40, 100, 400} {
		p := DefaultWindowParams(DCTCP)
		if limit == 400 {
			p.DCTCPShift = 7
		}
		w := float64(limit)
		rhs := (2*w + 1) / (w + 1) / (w + 1)
		lo, hi := 0.0, 1.0
		for range 60 {
			if mid := (lo + hi) / 2; mid*mid*(1-mid/4) < rhs {
				lo = mid
			} else {
				hi = mid
			}
		}
		got := dctcpRounds(p, limit, 6000)
		t.Logf("W %d: alpha %.4f, want %.4f", limit, got, lo)
		if math.Abs(got-lo) > 0.15*lo { // F17
			t.Errorf("W %d: alpha %.4f, want %.4f", limit, got, lo)
		}
	}
}

// RFC 8257 3.3: alpha follows the marked share with gain 1/16, from 1 down to 0.
func TestDCTCPEstimate(t *testing.T) {
	p := DefaultWindowParams(DCTCP)
	var w Window
	w.Init(&p, 1000)
	want := 1.0
	for i := range uint64(300) {
		w.OnMarks(&p, 3000, 1000, 10000*(i+1), 10000*(i+2))
		if i > 0 { // the first window ends with the second call
			want += (1.0/3 - want) / 16
		} else {
			want += (1.0/3 - want) / 16 * 0
		}
		if got := float64(w.Alpha()) / dctcpOne; i > 0 && math.Abs(got-want) > 1e-4 {
			t.Fatalf("after %d windows alpha %.6f, want %.6f", i, got, want)
		}
	}
	for i := range uint64(400) {
		w.OnMarks(&p, 3000, 0, 1e8+10000*i, 1e8+10000*(i+1))
	}
	if w.Alpha() != 0 {
		t.Errorf("alpha %d without marks, want 0", w.Alpha())
	}
	w.Set(100e3)
	w.dctcp.alpha = dctcpOne / 4
	w.Cut(&p, CutECN)
	if w.Ssthresh() != 87500 {
		t.Errorf("threshold %d, want 87500: 1 - alpha/2", w.Ssthresh())
	}
}

// HyStart++ (RFC 9406 4.2): delay that rises by an eighth, at least 4 ms, leads
// through five rounds of a quarter of the growth into congestion avoidance; delay
// that falls again leads back.
func TestHyStart(t *testing.T) {
	const ms = units.Millisecond
	for _, c := range []struct {
		name    string
		rtt     func(round int) units.Time
		css     int // the round in which it begins; -1: never
		stopped int // the round in which slow start ends; -1: never
	}{
		{"constant", func(int) units.Time { return 100 * ms }, -1, -1},
		{"below the threshold", func(r int) units.Time { return 100*ms + units.Time(r)*12*ms }, -1, -1},
		{"rises", func(r int) units.Time { return 100*ms + units.Time(max(r-3, 0))*13*ms }, 4, 9},
		{"rises once and stays", func(r int) units.Time { return 100*ms + units.Time(min(r/4, 1))*20*ms }, 4, 9},
		{"short path, rises by 3.9 ms", func(r int) units.Time { return 1*ms + units.Time(r)*39*ms/10 }, -1, -1},
		{"short path, rises by 4 ms", func(r int) units.Time { return 1*ms + units.Time(r)*4*ms }, 1, 6},
		{"a blip", func(r int) units.Time { return map[bool]units.Time{true: 200 * ms, false: 100 * ms}[r == 4] }, 4, -1},
	} {
		p := DefaultWindowParams(Cubic)
		p.HyStart = HyStartPlus
		var w Window
		w.Init(&p, 1000)
		var una uint64 = 1
		css, stopped := -1, -1
		for round := range 12 {
			nxt := una + uint64(w.Bytes())
			before := w.Bytes()
			for k := range 16 {
				w.OnRTT(&p, RTT{RTT: c.rtt(round), Una: una, Nxt: nxt})
				if w.hystart.css && css < 0 {
					css = round
				}
				if k == 15 {
					una = nxt
				}
			}
			if w.Ssthresh() != maxSsthresh && stopped < 0 {
				stopped = round
			}
			if w.SlowStart() && w.Bytes() < 1e9 {
				w.OnAck(&p, WindowAck{Bytes: before})
				want := 2 * before
				if w.hystart.css {
					want = before + before/4
				}
				if w.Bytes() != want {
					t.Errorf("%s: round %d grew from %d to %d, want %d", c.name, round, before, w.Bytes(), want)
				}
			}
		}
		if css != c.css || stopped != c.stopped {
			t.Errorf("%s: conservative in round %d, left in %d, want %d and %d", c.name, css, stopped, c.css, c.stopped)
		}
	}
}

func TestWindowParams(t *testing.T) {
	for a := range numWindowAlgorithms {
		p := DefaultWindowParams(a)
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		if got, err := WindowAlgorithmNamed(a.String()); got != a || err != nil {
			t.Errorf("%v: %v, %v", a, got, err)
		}
	}
	if _, err := WindowAlgorithmNamed("vegas"); err == nil || err.Error() != `congestion control: unknown algorithm "vegas", want one of reno, cubic, dctcp, none` {
		t.Error(err)
	}
	for want, change := range map[string]func(*WindowParams){
		"congestion control: initial_window is 0, want 1 to 10000 segments": func(p *WindowParams) { p.InitialWindow = 0 },
		"congestion control: cubic_beta is 1000, want 1 to 999 thousandths": func(p *WindowParams) { p.CubicBeta = 1000 },
		"congestion control: dctcp_shift is 0, want 1 to 16":                func(p *WindowParams) { p.DCTCPShift = 0 },
	} {
		p := DefaultWindowParams(Reno)
		change(&p)
		if err := p.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Linux's hybrid slow start: it ends when the ACKs of a round have come without a
// pause of more than 2 ms for half of the least round trip and the slack of
// segmentation offload, all of them with pacing; or when all round trips of a round
// are longer than the least by more than an eighth, at least 4, at most 16 ms. Not
// below 16 segments, and with CUBIC only.
func TestHyStartLinux(t *testing.T) {
	const ms = units.Millisecond
	for _, c := range []struct {
		name   string
		a      WindowAlgorithm
		segs   int64
		gap    units.Time // between ACKs
		rtt    units.Time // of the second round; of the first 100 ms
		paced  bool
		at     units.Time // when slow start ends, in the second round; -1: not
		rounds int
	}{
		{"a train", Cubic, 100, 1 * ms, 100 * ms, false, 51 * ms, 2}, // (100 + 1) / 2 is passed
		{"paced", Cubic, 100, 1 * ms, 100 * ms, true, 102 * ms, 2},
		{"pauses", Cubic, 100, 3 * ms, 100 * ms, false, -1, 2},
		{"delay by an eighth", Cubic, 100, 3 * ms, 112*ms + ms/2, false, -1, 2},
		{"more", Cubic, 100, 3 * ms, 112*ms + ms/2 + 1, false, 24 * ms, 2}, // the ninth sample
		{"a small window", Cubic, 15, 1 * ms, 200 * ms, false, -1, 2},
		{"Reno", Reno, 100, 1 * ms, 200 * ms, false, -1, 2},
	} {
		p := DefaultWindowParams(c.a)
		p.HyStart = HyStartLinux
		var w Window
		w.Init(&p, 1000)
		w.Set(c.segs * 1000)
		w.OnRTT(&p, RTT{RTT: 100 * ms, Una: 1, Nxt: 10})
		ended := units.Time(-1)
		for i := range 120 {
			now := units.Second + units.Time(i)*c.gap
			w.OnRTT(&p, RTT{Now: now, RTT: c.rtt, Una: 11 + uint64(i), Nxt: 1000, Slack: ms, Paced: c.paced})
			if !w.SlowStart() && ended < 0 {
				ended = now - units.Second
			}
		}
		if ended != c.at {
			t.Errorf("%s: slow start ended at %v, want %v", c.name, ended, c.at)
		}
	}
}

// CUBIC as in Linux: whole segments; 5 % per window where nothing was lost yet; the
// window follows the cubic function a round trip behind, and Reno's window, which
// grows by a segment for 15/8 of a window (bictcp_update), a window behind.
func TestCubicLinux(t *testing.T) {
	const mss = 1448
	p := DefaultWindowParams(Cubic)
	p.CubicLinux = true
	grow := func(w *Window, now *units.Time, rtt units.Time, windows int) {
		for range windows {
			for n := w.Bytes() / mss; n > 0; n-- {
				*now += rtt / units.Time(max(w.Bytes()/mss, 1))
				w.OnAck(&p, WindowAck{Now: *now, Bytes: mss, SRTT: rtt})
			}
		}
	}
	var w Window
	var now units.Time
	w.Init(&p, mss)
	w.Set(100 * mss)
	w.ssthresh = w.cwnd
	grow(&w, &now, 10*units.Millisecond, 10)
	if got := w.Bytes() / mss; got < 155 || got > 164 { // 1.05^10 = 1.63
		t.Errorf("without a loss ten windows lead from 100 to %d segments, want 163", got)
	}

	const rtt = 100 * units.Millisecond
	w.Set(1001 * mss)
	w.Cut(&p, CutLoss)
	w.Set(w.Ssthresh())
	if w.Bytes() != 700*mss {
		t.Fatalf("cut to %d bytes, want 700 segments", w.Bytes())
	}
	w.OnRTT(&p, RTT{RTT: rtt})
	begin := now
	for range 150 {
		grow(&w, &now, rtt, 1)
		d := float64(now-begin)/1e12 - math.Cbrt(301/0.4)
		want := 0.4*d*d*d + 1001
		if got := float64(w.Bytes()) / mss; math.Abs(got-want) > 0.015*want {
			t.Fatalf("%v after the cut %.0f segments, want %.1f", now-begin, got, want)
		}
	}

	w.Set(40 * mss)
	w.Cut(&p, CutLoss)
	w.Set(w.Ssthresh())
	grow(&w, &now, rtt/2, 30)
	if got, want := float64(w.Bytes())/mss, 28+8./15*30; got > want || got < want-2 {
		t.Errorf("after 30 windows as Reno %.0f segments, want %.0f or one or two less", got, want)
	}
}
