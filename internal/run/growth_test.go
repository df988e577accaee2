package run_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
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
		if len(r.Flows) != 16*count || r.OpenMessages > 0 || r.Flows[count].Account.IsZero() {
			t.Fatalf("%d messages, %d open", len(r.Flows), r.OpenMessages)
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
		{"rocev2", ", verb: read", 500},
		{"rocev2", ", verb: send, service: ud", int64(workload.MessageMemory)},
		{"infiniband", "", int64(workload.MessageMemory)},
		{"tcp", "", 500},
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
