package run_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
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
