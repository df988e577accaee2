package run_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/workload"
)

// TestMemoryOfMessages: what a message of one packet leaves behind, from its load to the
// record that reports read, is what workload.MessageMemory promises. Between runs of
// 20 and 60 thousand messages nothing differs but their number.
func TestMemoryOfMessages(t *testing.T) {
	if raced {
		t.Skip("the race detector takes memory of its own")
	}
	kept := func(stack, more string, count int) int64 {
		text := fmt.Sprintf(`
stack: %s
topology: {fat_tree: {k: 4, link: {rate: 100Gbps, delay: 600ns}}}
workload:
  - permutation: {size: 1KB, count: %d, every: 500ns%s}
`, stack, count, more)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		v, err := scenario.Parse("many", []byte(text), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := build.New(v, build.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := run.Simulate(context.Background(), w, run.Options{Workers: 1})
		runtime.GC()
		runtime.ReadMemStats(&after)
		if len(r.Messages) != 16*count || r.OpenMessages > 0 || r.Messages[count].Account.IsZero() {
			t.Fatalf("%d messages, %d open", len(r.Messages), r.OpenMessages)
		}
		runtime.KeepAlive(w)
		return int64(after.HeapAlloc) - int64(before.HeapAlloc)
	}
	for _, c := range []struct {
		stack, more string
		most        int64
	}{
		{"rocev2", "", int64(workload.MessageMemory)},
		{"rocev2", ", verb: send", int64(workload.MessageMemory)},
		{"rocev2", ", verb: read", 420},
		{"rocev2", ", verb: send, service: ud", int64(workload.MessageMemory)},
		{"infiniband", "", int64(workload.MessageMemory)},
		{"tcp", "", 400},
	} {
		if testing.Short() && c.more != "" {
			continue
		}
		kept(c.stack, c.more, 100) // what a first run leaves for all
		few, many := kept(c.stack, c.more, 20_000/16), kept(c.stack, c.more, 60_000/16)
		each := (many - few) / 40_000
		t.Logf("%s%s: a message keeps %d bytes", c.stack, c.more, each)
		if each > c.most {
			t.Errorf("%s%s: a message keeps %d bytes, which should be %d at most", c.stack, c.more, each, c.most)
		}
	}
}

// TestMemoryOfQueuePairs: what a queue pair of an all-to-all with one message takes, both
// ends, from its load to the record that reports read; and all that was allocated for it
// on the way, summary included, which bounds what it takes at any time. A million of them are
// to run in 8 GB, of which the collector leaves two thirds to what lives. Between two
// runs nothing differs but how many queue pairs each two hosts have.
func TestMemoryOfQueuePairs(t *testing.T) {
	if raced {
		t.Skip("the race detector takes memory of its own")
	}
	const hosts = 24
	of := func(qps int) (kept, allocated int64) {
		text := fmt.Sprintf(`
stack: rocev2
topology: {leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 6, link: {rate: 100Gbps, delay: 600ns}}}
workload:
  - all_to_all: {size: 4KB, qps: %d}
`, qps)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		v, err := scenario.Parse("many", []byte(text), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := build.New(v, build.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := run.Simulate(context.Background(), w, run.Options{Workers: 1})
		s := metrics.Summarise(r)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if n := hosts * (hosts - 1) * qps; len(r.QPs) != 2*n || s.Messages.Completed != n {
			t.Fatalf("%d ends of queue pairs, %d messages completed, want twice and once %d", len(r.QPs), s.Messages.Completed, n)
		}
		runtime.KeepAlive(w)
		runtime.KeepAlive(r)
		return int64(after.HeapAlloc - before.HeapAlloc), int64(after.TotalAlloc - before.TotalAlloc)
	}
	of(1) // what a first run leaves for all
	const few, many = 4, 20
	kept, allocated := of(few)
	keptOfMany, allocatedOfMany := of(many)
	n := int64(hosts * (hosts - 1) * (many - few))
	kept, allocated = (keptOfMany-kept)/n, (allocatedOfMany-allocated)/n
	t.Logf("a queue pair keeps %d bytes of the %d allocated for it", kept, allocated)
	if kept > 3000 || allocated > 9500 {
		t.Errorf("a queue pair keeps %d bytes of the %d allocated for it; at most 3,000 and 9,500 are right", kept, allocated)
	}
}
