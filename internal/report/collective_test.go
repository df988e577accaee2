package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// collectiveRun has an AllReduce of 1 MiB over 8 ranks that took 100 us twice, and a
// Broadcast that was not over.
func collectiveRun() *record.Run {
	us := units.Microsecond
	return &record.Run{Scenario: "x", Stack: "rocev2", Collectives: []record.Collective{
		{Workload: "ar", Op: "allreduce", Algorithm: "ring", Protocol: "simple", Ranks: 8, Channels: 1, Chunk: 2 << 20, Bytes: 1 << 20, Count: 1 << 18,
			Type: "float", RedOp: "sum", Root: -1, StartPS: 5 * us, EndPS: []units.Time{105 * us, 205 * us},
			Critical: []record.CriticalGroup{
				{Kind: "message", Count: 14, TimePS: 150 * us, Stages: []record.CriticalStage{{Stage: catalog.StageSending, Where: record.PortAt("h0", 1), Places: 8, Count: 14, TimePS: 150 * us}}},
				{Kind: "send", Count: 14, TimePS: 50 * us, Stages: []record.CriticalStage{{Label: "overhead", Where: record.HostAt("h1"), Places: 1, Count: 14, TimePS: 50 * us}}},
			}},
		{Workload: "bc", Op: "broadcast", Ranks: 4, Bytes: 4, Count: 1, Type: "float", RedOp: "none", EndPS: []units.Time{-1}},
	}}
}

// Tools for nccl-tests take the columns by their place: size, count, type, redop, root,
// then time, algbw, busbw and errors twice.
func TestNCCLTests(t *testing.T) {
	var lines [][]string
	for line := range strings.Lines(string(NCCLTests(collectiveRun()))) {
		if w := strings.Fields(line); len(w) > 0 && w[0] != "#" {
			lines = append(lines, w)
		}
	}
	// 1 MiB in 100 us are 10.49 GB/s, of the bus 2*7/8 times that.
	if got, want := strings.Join(lines[0], " "), "1048576 262144 float sum -1 100.0 10.49 18.35 N/A 100.0 10.49 18.35 N/A"; len(lines) != 1 || got != want {
		t.Errorf("%d lines, the first %q, want one, %q", len(lines), got, want)
	}
	if !bytes.Contains(NCCLTests(collectiveRun()), []byte("\n# Avg bus bandwidth    : 18.35")) {
		t.Error("no mean of bus bandwidths")
	}
}

// The text names what was not over, and the critical path adds up to the time from the
// first start to the last end.
func TestCollectiveText(t *testing.T) {
	r := collectiveRun()
	var b bytes.Buffer
	if err := Text(&b, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	b.WriteString(explained(t, r, "collective", TextOptions{}))
	for _, want := range []string{"ar          1048576", "100.0   10.49   18.35", "not over at the end of the run", "ar: critical path of 200.0 us",
		"message (14)  sending", "75.0 %  h0:1 (8)", "in all", "100.0 %", "bc: not over"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// Every stage of a critical path says where, however long names are, at any width, and
// a rate says what held it.
func TestCriticalPlaces(t *testing.T) {
	r := collectiveRun()
	r.QPs = []record.QP{{Host: "h0", QP: 4, Service: catalog.RC, CNPsReceived: 3, MinRateBps: 5e9, FinalRateBps: 8e9}}
	g := &r.Collectives[0].Critical[1]
	g.Kind = "copy and send inside the server"
	g.Stages = []record.CriticalStage{{Stage: catalog.StageWorkFetch, Where: record.InsideAt("h1", "switch17 to nic17"), Places: 12, Count: 14, TimePS: 25 * units.Microsecond},
		{Stage: catalog.StageRate, Where: record.QPAt(catalog.RC, "h0", 4), Places: 1, Count: 2, TimePS: 25 * units.Microsecond}}
	for _, width := range []int{80, 100, 140} {
		var b bytes.Buffer
		b.WriteString(explained(t, r, "collective", TextOptions{Width: width}))
		words := strings.Join(strings.Fields(b.String()), " ")
		for _, want := range []string{"Where most", "h0:1 (8)", "h1 switch17", "to nic17", "(12)", "h0 qp 4", "rate: DCQCN held h0 qp 4 at 8.00 Gb/s (lowest rate 5.00 Gb/s) after 3 CNPs"} {
			if !strings.Contains(words, want) {
				t.Errorf("width %d lacks %q:\n%s", width, want, b.String())
			}
		}
	}
}

// A table of sizes has all of nccl-tests' columns at any width, and algorithm, protocol and
// channels beside them; one of a single size says them below.
func TestSizesColumns(t *testing.T) {
	r := collectiveRun()
	for _, bytes := range []int64{8, 1 << 30} {
		c := r.Collectives[0]
		c.Bytes, c.Count = bytes, bytes/4
		r.Collectives = append(r.Collectives[:len(r.Collectives)-1], c, r.Collectives[len(r.Collectives)-1])
	}
	r.Collectives = r.Collectives[:3]
	for _, width := range []int{80, 100, 140} {
		var b bytes.Buffer
		if err := Text(&b, r, TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"ar: allreduce over 8 ranks, out of place", "size count type redop root time algbw busbw algorithm protocol channels",
			"1073741824 268435456 float sum -1 100.0 10737.42 18790.48 ring simple 1"} {
			if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
				t.Errorf("width %d: no %q in\n%s", width, want, b.String())
			}
		}
	}
}
