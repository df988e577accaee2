package sim

import (
	"math"
	"sync/atomic"
	"testing"
	"time"
)

// TestWorkersDoEachJobOnce: however helpers come and go, sleep and wake, every job of
// every window is done once, and run returns when all are.
func TestWorkersDoEachJobOnce(t *testing.T) {
	for _, helpers := range []int{0, 1, 3, 9} {
		const jobs = 5
		var w workers
		var done [jobs]atomic.Int64
		stop := w.start(helpers, jobs, func(i int) {
			if done[i].Add(1); i == 0 && helpers == 1 {
				time.Sleep(50 * time.Microsecond) // others wait for this one, and fall asleep
			}
		})
		const windows = 1000
		for k := range windows {
			w.run(k%3 > 0 && helpers > 0)
			for i := range done {
				if n := done[i].Load(); n != int64(k+1) {
					t.Fatalf("%d helpers: job %d was done %d times in %d windows", helpers, i, n, k+1)
				}
			}
			if k%250 == 0 {
				time.Sleep(2 * time.Millisecond) // helpers sleep
			}
		}
		stop()
	}
}

// TestIdleHelpersSleep: helpers that have nothing to do stop looking.
func TestIdleHelpersSleep(t *testing.T) {
	var w workers
	stop := w.start(3, 4, func(int) {})
	defer stop()
	for start := time.Now(); w.asleep.Load() != 3; time.Sleep(time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("%d of 3 helpers sleep", w.asleep.Load())
		}
	}
}

// TestChoice: the cheaper way is kept, the other is tried without its cost ever coming
// to more than 4 percent, and a change is noticed.
func TestChoice(t *testing.T) {
	const events = 1000
	for _, c := range []struct {
		name   string
		cost   func(how, k int) float64 // ns per event
		shared func(k int) bool         // what is best by then
	}{
		{"sharing helps", func(how, _ int) float64 { return [2]float64{100, 55}[how] }, func(int) bool { return true }},
		{"sharing takes four times as long", func(how, _ int) float64 { return [2]float64{100, 400}[how] }, func(int) bool { return false }},
		{"a hundred times", func(how, _ int) float64 { return [2]float64{100, 10_000}[how] }, func(int) bool { return false }},
		{"another process comes and goes", func(how, k int) float64 {
			if k/20_000 == 1 {
				return [2]float64{100, 400}[how]
			}
			return [2]float64{100, 55}[how]
		}, func(k int) bool { return k/20_000 != 1 }},
	} {
		var x choice
		total, best, wrong := 0.0, 0.0, 0
		const windows = 60_000
		for k := range windows {
			how := x.next(events)
			ns := events * c.cost(how, k)
			x.took(how, ns, events)
			total += ns
			best += events * min(c.cost(alone, k), c.cost(shared, k))
			if k%20_000 > 5000 && (how == shared) != c.shared(k) && !x.trial {
				wrong++
			}
		}
		if total > 1.04*best || wrong > 0 {
			t.Errorf("%s: %.3f of the least time, the wrong way in %d windows", c.name, total/best, wrong)
		}
	}
}

// A window is small by its work, not by its events alone: those of a server take longer.
// Small ones are not shared, and those between large ones do not mislead about these.
func TestSmallWindows(t *testing.T) {
	for _, c := range []struct {
		events      int64
		ns          float64
		wantsShared bool
	}{{200, 80, false}, {300, 80, true}, {100, 230, true}, {60, 230, false}} {
		var x choice
		shares := 0
		for k := range 1000 {
			events, per := c.events, [2]float64{c.ns, 0.6 * c.ns}
			if k%2 == 1 {
				events = 2
			}
			how := x.next(events)
			if events == 2 {
				if how == shared {
					t.Errorf("%d events of %v ns: a window of 2 is shared", c.events, c.ns)
				}
				per[alone] *= 1.3 // the window itself takes time
			} else if how == shared {
				shares++
			}
			x.took(how, per[how]*float64(events), events)
		}
		if got := shares > 400; got != c.wantsShared || shares > 0 && !c.wantsShared {
			t.Errorf("%d events of %v ns: %d of 500 windows are shared", c.events, c.ns, shares)
		}
	}
}

// busyCore is what windows take, in ns, where the helper has its processor in turns of slice
// with another process: whatever it has taken waits while it has none, and what it has not is
// done by the other worker.
type busyCore struct{ now, slice float64 }

func (b *busyCore) window(how int, ns float64) float64 {
	took := ns
	if turn := math.Mod(b.now, 2*b.slice); how == shared && turn < b.slice {
		if took = ns / 2; turn+took > b.slice {
			took += b.slice
		}
	}
	b.now += took
	return took
}

// TestChoiceBesideABusyCore: runs of half a second take hardly longer than with one worker
// where another process takes turns with the helper, and shorter where that leaves much.
func TestChoiceBesideABusyCore(t *testing.T) {
	const events = 1000
	for _, slice := range []float64{0.5e6, 1e6, 3e6, 4e6, 10e6} {
		for _, ns := range []float64{50e3, 200e3, 900e3, 3e6} {
			var x choice
			b := busyCore{slice: slice}
			windows := int(0.5e9 / ns)
			for range windows {
				how := x.next(events)
				x.took(how, b.window(how, ns), events)
			}
			ratio := b.now / (float64(windows) * ns)
			t.Logf("slices of %.1f ms, windows of %.2f ms: %.3f of the time alone", slice/1e6, ns/1e6, ratio)
			if ratio > 1.04 {
				t.Errorf("slices of %.1f ms, windows of %.2f ms: %.3f of the time alone", slice/1e6, ns/1e6, ratio)
			}
		}
	}
}
