package run_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// The samples of a page change nothing of a run, are the same whatever the number of workers and
// partitions, and stay few however long it takes; what they sum is what counters say.
func TestTimeline(t *testing.T) {
	do := func(timeline bool, workers, partitions int) *record.Run {
		r, _, err := run.Do(context.Background(), run.Options{Scenario: "victim-flow", Timeline: timeline, Workers: workers,
			Partitions: partitions, Set: []string{"workload[0].flows.size=1MB", "workload[1].flow.size=1MB"}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	with, without, cut := do(true, 1, 1), do(false, 1, 1), do(true, 2, 3)
	line := with.Timeline
	with.Timeline, cut.Timeline = nil, nil
	a, _ := report.JSON(with)
	b, _ := report.JSON(without)
	c, _ := report.JSON(cut)
	if !bytes.Equal(a, b) || !bytes.Equal(a, c) {
		t.Error("the result is another with samples, or with more partitions")
	}
	if line.Samples < 400 || line.Samples > 1001 {
		t.Errorf("%d samples, want 500 to 1,000", line.Samples)
	}
	paused, delivered := int64(0), int64(0)
	for i := range line.Curves {
		line.Curves[i].Values(0, line.Samples, func(v int64) {
			switch line.Curves[i].Quantity {
			case record.SeriesGoodput:
				delivered += v
			case record.SeriesPaused:
				paused += v
			}
		})
	}
	// The run ends between two samples, and one port of nine is left out.
	if delivered < 49e5 || delivered > 5e6 {
		t.Errorf("goodput sums up to %d bytes, want the 5 MB of the messages", delivered)
	}
	all := int64(0)
	for i := range with.Ports {
		all += int64(with.Ports[i].PausedPS)
	}
	if paused < all*8/10 || paused > all {
		t.Errorf("pauses sum up to %d ps, want most of %d", paused, all)
	}
}

// What came before a deadlock is seen as closely as it was sampled, although timers run on for a
// thousand times as long.
func TestTimelineOfDeadlock(t *testing.T) {
	r, _, err := run.Do(context.Background(), run.Options{Scenario: "ring", Workers: 1, Timeline: true, Text: []byte(`
stack: rocev2-pfc-only
topology:
  hosts: [a, b, c]
  switches: [s1, s2, s3]
  links:
    - {between: [a, s1], rate: 100Gbps}
    - {between: [b, s2], rate: 100Gbps}
    - {between: [c, s3], rate: 100Gbps}
    - {between: [s1, s2], rate: 100Gbps}
    - {between: [s2, s3], rate: 100Gbps}
    - {between: [s3, s1], rate: 100Gbps}
switch: {buffer: 1MB}
workload:
  - flow: {from: a, to: c, size: 20MB, path: [a, s1, s2, s3, c]}
  - flow: {from: b, to: a, size: 20MB, path: [b, s2, s3, s1, a]}
  - flow: {from: c, to: b, size: 20MB, path: [c, s3, s1, s2, b]}
`)})
	if err != nil {
		t.Fatal(err)
	}
	line := r.Timeline
	if r.Stopped != "deadlock" || r.EndPS < 60*units.Millisecond {
		t.Fatalf("%s at %v", r.Stopped, r.EndPS)
	}
	if line.EveryPS > r.StillPS/100 || line.Time(line.Samples-1) < r.StillPS || len(line.LeftOut) == 0 {
		t.Errorf("a sample every %v, %d of them, of what moved until %v; left out: %v", line.EveryPS, line.Samples, r.StillPS, line.LeftOut)
	}
}
