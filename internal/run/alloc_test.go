package run_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
)

// barriers is a context that a run looks at once per window; it calls back.
type barriers struct {
	context.Context
	n    int
	call func(n int)
}

func (b *barriers) Err() error {
	b.n++
	b.call(b.n)
	return nil
}

// TestSteadyStateAllocatesNothing: between the middle of a run and its last
// quarter, events allocate no memory, but for a buffer that still doubles now and
// then.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, entry := range []string{
		"size: 8MB",
		"size: 12MB, verb: read",
		"size: 1MB, service: uc, verb: write-imm, count: 8",
		"size: 4096B, service: ud, verb: send-imm, count: 700",
		"verb: fetch-add, count: 700",
	} {
		if testing.Short() && strings.Contains(entry, "count") {
			continue
		}
		t.Run(entry, func(t *testing.T) { allocatesNothing(t, "rocev2", entry) })
	}
	// On cores windows, and so queues, would grow for most of the run.
	t.Run("tcp", func(t *testing.T) {
		allocatesNothing(t, "tcp\ntcp: {autotuning: false, sndbuf: 1MB, rcvbuf: 512KB}", "size: 48MB")
	})
	t.Run("tcp on free hosts", func(t *testing.T) { allocatesNothing(t, "tcp\nhost: {preset: free}", "size: 32MB") })
	t.Run("infiniband", func(t *testing.T) { allocatesNothing(t, "infiniband", "size: 8MB") })
	// With noise the same lists double in a sixth fewer events.
	t.Run("servers", func(t *testing.T) { allocatesNothing(t, "rocev2", "size: 8MB", servers, "noise: off\n") })
}

func allocatesNothing(t *testing.T, stack, entry string, more ...string) {
	text := strings.Replace(fmt.Sprintf(permutation, 8, stack), "size: 8MB", entry, 1) + strings.Join(more, "")
	if strings.HasPrefix(stack, "tcp") { // no drops, so no timeouts in which nothing happens
		text = strings.Replace(text, "buffer: 4MB", "buffer: 256MB", 1)
	}
	if raced {
		t.Skip("allocations are counted without the race detector")
	}
	v, err := scenario.Parse("permutation", []byte(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	windows := 0
	once := func(call func(w *build.World, n int)) {
		w, err := build.New(v, build.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b := &barriers{Context: context.Background()}
		n, last := 0, int64(-1)
		b.call = func(int) { // also between windows of messages that are run alone, for what they take at best
			if now := w.Engine.Events(); now != last {
				n, last = n+1, now
				call(w, n)
			}
		}
		run.Simulate(b, w, run.Options{Workers: 1})
	}
	once(func(_ *build.World, n int) { windows = n })
	var mallocs, events [2]int64
	once(func(w *build.World, n int) {
		for k, at := range [2]int{windows / 2, windows * 3 / 4} {
			if n == at {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				mallocs[k], events[k] = int64(m.Mallocs), w.Engine.Events()
			}
		}
	})
	made, done := mallocs[1]-mallocs[0], events[1]-events[0]
	if done < 80_000 {
		t.Fatalf("only %d events between the middle and the last quarter", done)
	}
	t.Logf("%d allocations in %d events", made, done)
	most := done / 2000
	if strings.Contains(entry, "count") {
		most += 2 * 128 // each host keeps notes of its messages, in lists that double
	}
	if made > most {
		t.Errorf("%d allocations in %d events", made, done)
	}
}
