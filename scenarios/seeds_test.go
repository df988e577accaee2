package scenarios_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
)

// pageSeeds is over how many seeds a scenario's page gives the range of its figures.
const pageSeeds = 12

// seedsOf is what `hopscope run NAME --seeds 12` prints where there is no terminal.
func seedsOf(t *testing.T, name string) []byte {
	t.Helper()
	c, err := compare.Run(context.Background(), compare.Options{Stacks: []string{""}, Seeds: pageSeeds, Workers: 2,
		Do: func(ctx context.Context, j compare.Job) (*record.Run, error) {
			r, _, err := run.Do(ctx, run.Options{Scenario: name, Set: reduced(name), Seed: j.Seed,
				Workers: j.Workers})
			return r, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := run.Do(context.Background(), run.Options{Scenario: name, Set: reduced(name), Seed: &c.Seeds[0],
		Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if row := &c.Stacks[0].Runs[0]; row.Fingerprint != first.Fingerprint || row.Seed != first.Seed {
		t.Errorf("the row of seed %d has fingerprint %s, the run with that seed %s", row.Seed, row.Fingerprint, first.Fingerprint)
	}
	var b bytes.Buffer
	if err := report.Seeds(&b, c, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The first sample of docs/report.md and each scenario's page show the range of its figures over 12
// seeds. The short form runs the one of that sample; HOPSCOPE_LONG or -update all.
func TestSeeds(t *testing.T) {
	for _, s := range run.List() {
		if s.Name != "incast-4to1" && os.Getenv("HOPSCOPE_LONG") == "" && !*update {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			got := string(seedsOf(t, s.Name))
			changed := ""
			for _, set := range s.Reduced {
				changed += " --set '" + set + "'"
			}
			command := fmt.Sprintf("$ go run ./cmd/hopscope run %s%s --seeds %d\n", s.Name, changed, pageSeeds)
			if s.Name == "incast-4to1" {
				readmeShows(t, command, got)
			}
			// The page leaves out what the scenario's title says.
			_, figures, _ := strings.Cut(got, "\n\n")
			shows(t, filepath.Join(s.Name, "README.md"), strings.Replace(command, "go run ./cmd/", "", 1), figures)
		})
	}
}
