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
	kept := func(count int) int64 {
		text := fmt.Sprintf(`
topology: {fat_tree: {k: 4, link: {rate: 100Gbps, delay: 600ns}}}
workload:
  - permutation: {size: 1KB, count: %d, every: 500ns}
`, count)
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
		if len(r.Flows) != 16*count || r.OpenMessages > 0 || len(r.Flows[count].Account.Stages()) < 10 {
			t.Fatalf("%d messages, %d open", len(r.Flows), r.OpenMessages)
		}
		runtime.KeepAlive(w)
		return int64(after.HeapAlloc) - int64(before.HeapAlloc)
	}
	kept(100) // what a first run leaves for all
	few, many := kept(20_000/16), kept(60_000/16)
	each := (many - few) / 40_000
	t.Logf("a message keeps %d bytes", each)
	if each > int64(workload.MessageMemory) {
		t.Errorf("a message keeps %d bytes, of which at most %d are promised", each, int64(workload.MessageMemory))
	}
}
