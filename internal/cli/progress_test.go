package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

func TestProgressLine(t *testing.T) {
	for _, tt := range []struct {
		name    string
		p       run.Progress
		elapsed time.Duration
		want    string
	}{
		{"a quarter in 10 s leaves 30 s", run.Progress{Now: 3 * units.Millisecond, Events: 50_000_000, DeliveredBytes: 25, TotalBytes: 100, Completed: 812, Messages: 4096},
			10 * time.Second, " 25 %, about 30s left, at 3.00 ms, 812 of 4,096 messages, 5.0 M events/s"},
		{"hours are told in minutes", run.Progress{Now: units.Microsecond, Events: 10_000, DeliveredBytes: 1, TotalBytes: 1001, Messages: 1},
			10 * time.Second, "  0 %, about 2h47m left, at 1.00 us, 0 of 1 messages, 1 k events/s"},
		{"nothing delivered: no estimate", run.Progress{Now: units.Microsecond, Events: 2_000, TotalBytes: 100, Messages: 1},
			2 * time.Second, "  0 %, at 1.00 us, 0 of 1 messages, 1 k events/s"},
		{"total unknown: no percentage", run.Progress{Now: units.Second, Events: 2_000_000, DeliveredBytes: 5},
			2 * time.Second, "at 1.00 s, 1.0 M events/s"},
		{"the stop time is nearer than the last byte", run.Progress{Now: units.Second, Stop: 2 * units.Second, Events: 2_000_000, DeliveredBytes: 1, TotalBytes: 100},
			2 * time.Second, " 50 %, about 2s left, at 1.00 s, 1.0 M events/s"},
		{"no stop time", run.Progress{Now: units.Second, Stop: units.Never, Events: 2_000_000},
			2 * time.Second, "at 1.00 s, 1.0 M events/s"},
		{"all delivered: nothing left to estimate", run.Progress{Now: units.Second, Events: 2_000_000, DeliveredBytes: 100, TotalBytes: 100, Completed: 1, Messages: 1},
			2 * time.Second, "100 %, at 1.00 s, 1 of 1 messages, 1.0 M events/s"},
		{"steps of a job, and what their kernels and messages have to do", run.Progress{Now: units.Second, Stop: units.Never,
			Events: 2_000_000, DeliveredBytes: 1, TotalBytes: 100, StepsOver: 1, Steps: 4, Done: 30, Work: 100},
			3 * time.Second, " 30 %, about 7s left, at 1.00 s, 1 of 4 steps, 667 k events/s"},
	} {
		if got := progressLine(tt.p, tt.elapsed); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestReadLine(t *testing.T) {
	for _, tt := range []struct {
		done, all int64
		want      string
	}{
		{100 << 20, 400 << 20, " 25 %, about 30s left, 100 of 400 MB read"},
		{400 << 20, 400 << 20, "400 of 400 MB read"},
		{0, 0, "0 of 0 MB read"},
	} {
		if got := readLine(tt.done, tt.all, 10*time.Second); got != tt.want {
			t.Errorf("%d of %d bytes: got %q, want %q", tt.done, tt.all, got, tt.want)
		}
	}
}

// The meter waits a second, then redraws at most four times a second within
// the width, and leaves nothing behind.
func TestMeter(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	m := &meter{out: &out, on: true, width: func() int { return 12 }, clock: func() time.Time { return now }, start: now}
	p := run.Progress{Now: units.Millisecond, Events: 1, DeliveredBytes: 1, TotalBytes: 2}
	m.show(p)
	now = now.Add(999 * time.Millisecond)
	m.show(p)
	if out.Len() != 0 {
		t.Fatalf("drew before a second had passed: %q", out.String())
	}
	for range 8 { // 100 ms apart: drawn at 1.1, 1.4 and 1.7 s
		now = now.Add(100 * time.Millisecond)
		m.show(p)
	}
	if n := strings.Count(out.String(), "\r\x1b[K"); n != 3 {
		t.Errorf("drew %d times: %q", n, out.String())
	}
	for _, line := range strings.Split(out.String(), "\r\x1b[K") {
		if len(line) > 11 {
			t.Errorf("line %q is wider than the terminal", line)
		}
	}
	out.Reset()
	m.clear()
	m.clear()
	if out.String() != "\r\x1b[K" {
		t.Errorf("clear wrote %q", out.String())
	}
}

// A buffer is no terminal.
func TestMeterOffWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	m := newMeter(&out, false)
	m.clock = func() time.Time { return m.start.Add(time.Hour) }
	m.show(run.Progress{Events: 1})
	m.clear()
	if out.Len() != 0 {
		t.Errorf("wrote %q", out.String())
	}
}

// The line of a comparison counts the runs and never goes back.
func TestWatcher(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	m := &meter{out: &out, on: true, width: func() int { return 120 }, clock: func() time.Time { return now }, start: now}
	w := &watcher{meter: m, runs: make([]run.Progress, 4)}
	last := func() string {
		lines := strings.Split(out.String(), "\r\x1b[K")
		return lines[len(lines)-1]
	}
	now = now.Add(10 * time.Second)
	w.show(compare.Job{Index: 1, Stack: "rocev2"}, run.Progress{Now: units.Millisecond, DeliveredBytes: 1, TotalBytes: 2, Stop: units.Never})
	if got, want := last(), " 12 %, 0 of 4 runs done, rocev2 at 1.00 ms, about 1m10s left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	now = now.Add(10 * time.Second)
	w.finish(compare.Job{Index: 1, Stack: "rocev2"})
	if got, want := last(), " 25 %, 1 of 4 runs done, rocev2 done, about 1m0s left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	now = now.Add(10 * time.Second)
	for _, i := range []int{0, 2, 3} {
		w.finish(compare.Job{Index: i, Stack: "x"})
		now = now.Add(10 * time.Second)
	}
	if got, want := last(), "100 %, 4 of 4 runs done, x done"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
