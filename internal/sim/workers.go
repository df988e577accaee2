package sim

import (
	"runtime"
	"sync/atomic"
)

// workers run the partitions of one window after the other: the goroutine of Engine.Run,
// and helpers that take partitions when they come by. Nobody waits for a helper that has
// taken none, so that one whose processor does something else delays nothing. Who waits
// long sleeps.
type workers struct {
	jobs int
	do   func(job int)

	fault atomic.Pointer[Fault] // that a job has ended with

	next     atomic.Int64 // next job of the window; jobs or more: none is left
	finished atomic.Int64 // jobs
	quit     atomic.Bool
	asleep   atomic.Int64
	wake     chan struct{} // to one sleeping helper
	waiting  atomic.Bool   // Engine.Run sleeps until all jobs are finished
	done     chan struct{}
}

// start starts helpers, which do jobs numbered from 0. stop ends them.
func (w *workers) start(helpers, jobs int, do func(job int)) (stop func()) {
	*w = workers{jobs: jobs, do: do, wake: make(chan struct{}, max(1, helpers)), done: make(chan struct{}, 1)}
	w.next.Store(int64(jobs))
	ended := make(chan struct{})
	for range helpers {
		go func() {
			w.help()
			ended <- struct{}{}
		}()
	}
	return func() {
		w.quit.Store(true)
		for range helpers {
			w.wakeOne()
		}
		for range helpers {
			<-ended
		}
	}
}

// run does all jobs, with helpers or without.
func (w *workers) run(shared bool) {
	if !shared {
		for i := range w.jobs {
			w.try(i)
		}
		w.stopAtFault()
		return
	}
	w.finished.Store(0)
	w.next.Store(0)
	for range w.asleep.Load() {
		w.wakeOne()
	}
	w.work()
	for spins := 0; w.finished.Load() != int64(w.jobs); spins++ {
		if pause(spins) {
			continue
		}
		w.waiting.Store(true)
		if w.finished.Load() != int64(w.jobs) || !w.waiting.CompareAndSwap(true, false) {
			<-w.done
		}
	}
	w.stopAtFault()
}

// Fault is a panic that ends a run in order: something that the program itself is not to blame for, as it was
// brought by another. It reaches who called Engine.Run, whichever goroutine it came up in.
type Fault interface {
	error
	EndsRun()
}

// try does a job, and keeps the fault that it ends with.
func (w *workers) try(i int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case Fault:
			w.fault.CompareAndSwap(nil, &r)
		default:
			panic(r)
		}
	}()
	w.do(i)
}

// stopAtFault ends Engine.Run with the fault of a job.
func (w *workers) stopAtFault() {
	if f := w.fault.Load(); f != nil {
		panic(*f)
	}
}

// work does jobs until none is left to take.
func (w *workers) work() {
	for {
		i := int(w.next.Add(1)) - 1
		if i >= w.jobs {
			return
		}
		w.try(i)
		if w.finished.Add(1) == int64(w.jobs) && w.waiting.CompareAndSwap(true, false) {
			w.done <- struct{}{}
		}
	}
}

// help is the life of a helper.
func (w *workers) help() {
	for spins := 0; !w.quit.Load(); spins++ {
		if w.next.Load() < int64(w.jobs) {
			w.work()
			spins = 0
			continue
		}
		if pause(spins) {
			continue
		}
		w.asleep.Add(1)
		if w.next.Load() >= int64(w.jobs) && !w.quit.Load() {
			<-w.wake
		}
		w.asleep.Add(-1)
		spins = 0
	}
}

// wakeOne wakes a helper, if one sleeps, or keeps the next one from falling asleep.
func (w *workers) wakeOne() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// pause waits a little, and yields the processor when the wait grows long. It reports
// false, after some 100 us, when it is time to sleep.
func pause(spins int) bool {
	if spins > 200 {
		runtime.Gosched()
	}
	return spins < 1000
}

// How a window may be run.
const (
	alone = iota
	shared
)

// choice finds out whether windows are better shared or not: on processors that do other
// things too, a helper that has taken a partition may lose its own in the midst of it, and
// all wait. The way that was slower is tried again, a few windows at a time, as long as
// that has cost no more than a part in trialShare of the time, so that a change is noticed.
type choice struct {
	cost  [2]float64 // ns per event, a moving average; 0: not known
	spent float64    // ns
	lost  float64    // ns of it that trials took longer than the better way would have
	since int        // windows since the last trial began
	trial bool       // under way
	small bool       // the window is too small to be shared, and says nothing about the others
	per   float64    // ns per event of windows that were run alone, the small ones too
}

const (
	trialShare   = 100
	trialEvery   = 64
	trialWindows = 4 // the first wakes the helpers, and does not count
	costWindows  = 4 // that an average is made of
)

// better is the way that takes less time, as far as is known.
func (c *choice) better() int {
	if c.cost[shared] <= c.cost[alone] {
		return shared
	}
	return alone
}

// next says how to run the next window, by how many events the one before had.
func (c *choice) next(events int64) int {
	if c.small = c.per*float64(events) < shortWindow; c.small {
		return alone
	}
	c.since++
	if c.trial = c.trial && c.since < trialWindows; !c.trial && c.since >= trialEvery && c.lost*trialShare <= c.spent {
		c.since, c.trial = 0, true
	}
	if c.trial {
		return alone + shared - c.better()
	}
	return c.better()
}

// took notes how long a window of so many events took, in ns.
func (c *choice) took(how int, ns float64, events int64) {
	per := ns / float64(max(1, events))
	c.spent += ns
	if how == alone {
		c.per += (per - c.per) / costWindows
	}
	if c.small {
		return
	}
	if best := c.better(); how != best && c.cost[how] > 0 {
		c.lost += max(0, per-c.cost[best]) * float64(events)
	}
	switch {
	case c.trial && c.since == 0:
	case c.cost[how] == 0:
		c.cost[how] = per
	default:
		c.cost[how] += (per - c.cost[how]) / costWindows
	}
}
