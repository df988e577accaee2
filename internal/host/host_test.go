package host

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

const us = units.Microsecond

func preset(t testing.TB) Spec {
	t.Helper()
	s, err := Preset("linux-xeon")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// F27: one flow of kernel TCP over 100 Gb/s with all offloads makes 42 Gb/s in one
// core of the receiver, half of whose time are copies (Cai et al., SIGCOMM 2021).
func TestOneFlowAt100G(t *testing.T) {
	r := newRig(t, preset(t), 0)
	r.run(20 * units.Millisecond)
	b := r.h.Bill(0, r.now)
	if g := r.goodput(); math.Abs(g-42) > 4.2 {
		t.Errorf("%.2f Gb/s, want 42 within 10 %%", g)
	}
	if busy := float64(b.Busy[0]) / float64(r.now); busy < 0.99 {
		t.Errorf("the receiving core is busy for %.3f of the time, want all", busy)
	}
	if c := float64(b.Times[Receive][Copy]) / float64(b.Total()); math.Abs(c-0.49) > 0.049 {
		t.Errorf("copies take %.3f of the core, want 0.49 within 10 %%", c)
	}
}

// drain runs all timers in order and hands over what finishes.
func drain(h *Host, now units.Time, finish func(now units.Time, core int, t *Task)) {
	for len(h.timers) > 0 {
		slices.SortStableFunc(h.timers, func(a, b Timer) int { return cmp.Compare(a.At, b.At) })
		x := h.timers[0]
		h.timers = h.timers[1:]
		now = max(now, x.At)
		h.Expire(now, x.Source)
		core, ok := h.Core(x.Source)
		for ok {
			var t *Task
			if t, ok = h.Finished(now, core); ok {
				finish(now, core, t)
			}
		}
	}
}

// Tasks of a class run in their order, softirqs first; a process's task stands
// still for softirqs and takes as long in all.
func TestOrderOnACore(t *testing.T) {
	s, _ := Preset("free")
	h := New(s)
	task := func(kind uint8, d units.Time) *Task {
		x := &Task{Kind: kind}
		x.Add(Syscall, d)
		return x
	}
	h.Submit(0, 0, Process, task(1, 10*us))
	h.Submit(1*us, 0, Process, task(2, 5*us))
	h.Submit(4*us, 0, Softirq, task(3, 3*us))
	h.Submit(5*us, 0, Softirq, task(4, 2*us))
	var kinds []uint8
	var ends []units.Time
	drain(h, 0, func(now units.Time, _ int, t *Task) { kinds, ends = append(kinds, t.Kind), append(ends, now) })
	want := []uint8{3, 4, 1, 2}
	at := []units.Time{7 * us, 9 * us, 15 * us, 20 * us}
	for i := range want {
		if kinds[i] != want[i] || ends[i] != at[i] {
			t.Fatalf("tasks %v end at %v, want %v at %v", kinds, ends, want, at)
		}
	}
	if b := h.Bill(0, 20*us); b.Busy[0] != 20*us || b.Total() != 20*us {
		t.Errorf("busy for %d ps, bill %d ps, want 20 us", b.Busy[0], b.Total())
	}
}

// What a core does after the work has ended is in the bill, but not in what came before:
// of a stretch that goes on over the end only the part up to it is.
func TestAfterTheEnd(t *testing.T) {
	s, _ := Preset("free")
	h := New(s)
	run := func(at units.Time, durations ...units.Time) {
		for _, d := range durations {
			x := &Task{}
			x.Add(Input, d)
			h.Submit(at, 0, Softirq, x)
		}
		drain(h, at, func(units.Time, int, *Task) {})
	}
	run(1*us, 10*us)
	h.Progressed()
	run(20*us, 3*us, 3*us)
	run(30*us, 1*us)
	for _, c := range []struct{ end, before units.Time }{{20 * us, 10 * us}, {24 * us, 14 * us}, {28 * us, 16 * us}, {31 * us, 17 * us}} {
		if b := h.Bill(1*us, c.end); b.Before[0] != c.before || b.Busy[0] != 17*us {
			t.Errorf("up to %v: %v of %v, want %v of 17us", c.end, b.Before[0], b.Busy[0], c.before)
		}
	}
}
