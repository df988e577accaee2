package metrics_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/run"
)

// A few bytes over the GPUs of one server take the launch of kernels (6 us of H100's) and the
// latency of 15 steps, which no faster link shortens; many are bound by the copies. Without a
// packet there is no fingerprint, and a server needs no network around it.
func TestWhatHelps(t *testing.T) {
	for size, want := range map[string]struct {
		first metrics.PathPart
		says  string
	}{"8B": {metrics.PathSteps, "the launch of kernels"}, "256MiB": {metrics.PathCopies, "only a faster way"}} {
		text := "noise: off\nserver: dgx-h100\nworkload: [collective: {op: allreduce, size: " + size + "}]\n"
		r, _, err := run.Do(context.Background(), run.Options{Scenario: "one", Text: []byte(text), Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		shares := metrics.PathShares(r.Collectives[0].Critical)
		sum := 0.0
		for _, s := range shares {
			sum += s.Share
		}
		held, ok := metrics.CollectiveCause(lang.English, r, 0)
		if said := held.Sentence(lang.English, ok); ok || shares[0].Part != want.first || sum < .999 || sum > 1.001 || !strings.Contains(said, want.says) {
			t.Errorf("%s: %v, in all %.3f: %s", size, shares, sum, said)
		}
		if size == "8B" && shares[1].PS != 6_000_000 {
			t.Errorf("launch of %v, want 6 us", shares[1].PS)
		}
		if r.Fingerprint != "" {
			t.Errorf("%s: fingerprint %q of no packet", size, r.Fingerprint)
		}
	}
}
