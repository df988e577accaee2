package run_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// trainingRun runs a scenario of docs/models/training.
func trainingRun(t *testing.T, name string, set ...string) *record.Run {
	t.Helper()
	v, err := run.Load(run.Options{Scenario: "../../docs/models/training/" + name, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return simulate(t, v, 1, 1)
}

// The scenarios of docs/models/training.md load; the smallest runs, adds up and shows a bubble that the interleaved
// schedule makes smaller.
func TestTrainingScenarios(t *testing.T) {
	names, err := filepath.Glob("../../docs/models/training/*.yaml")
	if err != nil || len(names) < 3 {
		t.Fatalf("%q, %v", names, err)
	}
	for _, name := range names {
		if _, err := run.Load(run.Options{Scenario: name}); err != nil {
			t.Error(err)
		}
	}
	small := []string{"jobs[0].model.layers=4", "jobs[0].model.hidden=1024", "jobs[0].model.heads=16"}
	one := trainingRun(t, "two-stages.yaml", small...)
	two := trainingRun(t, "two-stages.yaml", append(small, "jobs[0].model.chunks=2", "jobs[0].model.forward=2ms", "jobs[0].model.backward=4ms")...)
	plain := trainingRun(t, "two-stages.yaml", append(small, "jobs[0].model.forward=2ms", "jobs[0].model.backward=4ms")...)
	for _, r := range []*record.Run{one, two, plain} {
		checkJob(t, r)
	}
	if a, b := plain.Jobs[0].EndPS[0], two.Jobs[0].EndPS[0]; b >= a {
		t.Errorf("interleaved %v, 1F1B %v", b, a)
	}
}

// Published steps of Megatron-LM within 7 % (arXiv 2205.05198, 22B with sequence parallelism: 1.10 s) and 2 % (SC'21,
// table 1, the 1.7B on which A100's efficiency stands: 3.53 s).
func TestPublishedSteps(t *testing.T) {
	if os.Getenv("HOPSCOPE_LONG") == "" {
		t.Skip("takes 40 s; set HOPSCOPE_LONG")
	}
	for _, c := range []struct {
		name    string
		seconds float64
		within  float64
	}{{"megatron-22b.yaml", 1.10, 0.07}, {"megatron-1.7b.yaml", 3.53, 0.02}} {
		r := trainingRun(t, c.name)
		checkJob(t, r)
		got := float64(r.Jobs[0].EndPS[0]) / float64(units.Second)
		if off := got/c.seconds - 1; off > c.within || off < -c.within {
			t.Errorf("%s: %.3f s, published %.2f, %+.1f %%", c.name, got, c.seconds, 100*off)
		} else {
			t.Logf("%s: %.3f s, published %.2f, %+.1f %%", c.name, got, c.seconds, 100*off)
		}
	}
}
