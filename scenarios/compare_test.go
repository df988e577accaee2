package scenarios_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
)

// comparisonOf runs a shipped scenario over the stacks shown by default and returns what
// `hopscope compare` prints where there is no terminal.
func comparisonOf(t *testing.T, name string) []byte { return comparisonIn(t, name, 0) }

// comparisonIn is comparisonOf for a terminal of the given width; 0: none.
func comparisonIn(t *testing.T, name string, width int) []byte {
	t.Helper()
	v, err := scenario.Load(name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compare.Run(context.Background(), compare.Options{Stacks: scenario.DefaultColumns(v), Seeds: 1, Workers: 2,
		Do: func(ctx context.Context, j compare.Job) (*record.Run, error) {
			r, _, err := run.Do(ctx, run.Options{Scenario: name, Stack: j.Stack, Stacks: j.Stacks, Workers: j.Workers})
			return r, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.Compare(&b, c, report.TextOptions{Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Every shipped scenario compares as its compare.txt says.
func TestCompareGolden(t *testing.T) {
	for _, s := range run.List() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			got, file := comparisonOf(t, s.Name), filepath.Join(s.Name, "compare.txt")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; make golden writes it", err)
			}
			if line, a, b := firstDifference(string(want), string(got)); line > 0 {
				t.Errorf("%s line %d\nwant %s\ngot  %s\nmake golden writes what is printed now; read the difference before committing it", file, line, a, b)
			}
		})
	}
}

// Comparisons of the shipped scenarios fit terminals of any usual width.
func TestCompareFits(t *testing.T) {
	for _, s := range run.List() {
		for _, width := range []int{80, 100, 120} {
			for _, line := range strings.Split(string(comparisonIn(t, s.Name, width)), "\n") {
				if len(line) > width { // all ASCII
					t.Errorf("%s: %d columns, more than %d: %s", s.Name, len(line), width, line)
				}
			}
		}
	}
}

// The comparison in README is what its command prints.
func TestReadmeComparison(t *testing.T) {
	readmeShows(t, "$ go run ./cmd/hopscope compare incast-4to1\n", string(comparisonOf(t, "incast-4to1")))
}
