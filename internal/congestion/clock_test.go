package congestion

import (
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// The clock of CUBIC's function stands still while the application has nothing to
// send: the time since the epoch leaves such periods out (RFC 9438 4.2), also in
// Linux (bictcp_cwnd_event_tx_start). A pause changes nothing of the growth after it.
func TestCubicClockStandsStillWhileIdle(t *testing.T) {
	const (
		mss   = 1000
		rtt   = 20 * units.Millisecond
		pause = 5 * units.Second
	)
	for _, linux := range []bool{false, true} {
		p := DefaultWindowParams(Cubic)
		p.CubicLinux = linux
		after := func(pause units.Time) int64 {
			var w Window
			w.Init(&p, mss)
			w.Set(1000 * mss)
			w.Cut(&p, CutLoss)
			w.Set(w.Ssthresh())
			now := units.Second
			rounds := func(n int) {
				for range n {
					now += rtt
					w.OnAck(&p, WindowAck{Now: now, Bytes: w.Bytes(), SRTT: rtt})
				}
			}
			rounds(10)
			if pause > 0 {
				w.OnIdle(pause)
				now += pause
			}
			rounds(50)
			return w.Bytes()
		}
		without, with := after(0), after(pause)
		if without <= 700*mss || with != without {
			t.Errorf("Linux %v: with a pause the window grows from %d to %d bytes, without to %d", linux, 700*mss, with, without)
		}
	}
}

// Linux computes growth anew when more than HZ/32 jiffies, 31 ms, have passed since
// it last did with the same window (bictcp_update), not before.
func TestCubicLinuxKeepsGrowthFor31ms(t *testing.T) {
	const mss = 1448
	p := DefaultWindowParams(Cubic)
	p.CubicLinux = true
	var w Window
	w.Init(&p, mss)
	w.Set(1001 * mss)
	w.Cut(&p, CutLoss)
	w.Set(w.Ssthresh())
	w.OnRTT(&p, RTT{RTT: 100 * units.Millisecond})
	at := func(now units.Time) int32 {
		w.OnAck(&p, WindowAck{Now: units.Second + now, Bytes: 1, SRTT: 100 * units.Millisecond})
		return w.cubic.per
	}
	first := at(0)
	if got := at(31 * units.Millisecond); got != first {
		t.Errorf("after 31 ms a segment of growth takes %d segments, want %d as before", got, first)
	}
	if got := at(32 * units.Millisecond); got >= first {
		t.Errorf("after 32 ms a segment of growth takes %d segments, want fewer than %d", got, first)
	}
}

// rate_to_set_on_first_cnp sets current and target rate alike: recovery does not
// lead back to the line rate at once, and the cut that follows starts from there.
func TestFirstCNPSetsTheTarget(t *testing.T) {
	const us, G = units.Microsecond, units.Gbps
	p := preset(t, "nvidia")
	p.RateToSetOnFirstCNP = 40 * G
	runSteps(t, p, 100*G, 100*G, []step{
		{at: 1 * us, rate: 100 * G, target: 100 * G},
		{at: 2 * us, cnp: true, rate: 40 * G, target: 40 * G},
	})
	p.RateToSetOnFirstCNP = 120 * G // above the rate it sets nothing
	runSteps(t, p, 100*G, 100*G, []step{{at: 2 * us, cnp: true, rate: 100 * G, target: 100 * G}})
}
