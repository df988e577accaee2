package sim

import (
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
			how := x.next()
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
