package scenarios_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
)

// comparisonOf runs a shipped scenario over the stacks shown by default.
func comparisonOf(t *testing.T, name string) *compare.Comparison {
	t.Helper()
	v, err := scenario.Load(name, reduced(name), nil)
	if err != nil {
		t.Fatal(err)
	}
	columns := slices.DeleteFunc(scenario.DefaultColumns(v), func(s string) bool { // as the command leaves them out
		_, err := run.Load(run.Options{Scenario: name, Stack: s, Set: reduced(name)})
		return err != nil && (scenario.Narrow(s) || len(v.Plan.Jobs) > 0)
	})
	c, err := compare.Run(context.Background(), compare.Options{Stacks: columns, Seeds: 1, Workers: 2,
		Do: func(ctx context.Context, j compare.Job) (*record.Run, error) {
			r, _, err := run.Do(ctx, run.Options{Scenario: name, Set: reduced(name), Stack: j.Stack, Stacks: j.Stacks,
				Workers: j.Workers})
			return r, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// printed is what `hopscope compare` prints of c on a terminal of the given width, or
// where there is none; 0.
func printed(t *testing.T, c *compare.Comparison, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.Compare(&b, c, report.TextOptions{Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Every shipped scenario compares as its compare.txt says, and fits terminals of any
// usual width. docs/report.md shows what its command prints.
func TestCompareGolden(t *testing.T) {
	for _, s := range run.List() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			c, file := comparisonOf(t, s.Name), filepath.Join(s.Name, "compare.txt")
			got := printed(t, c, 0)
			if s.Name == "incast-4to1" {
				readmeShows(t, "$ go run ./cmd/hopscope compare incast-4to1\n", string(got))
			}
			for _, width := range []int{80, 100, 120} {
				for line := range bytes.Lines(printed(t, c, width)) {
					if len(line) > width+1 { // all ASCII, and the end of the line
						t.Errorf("%d columns, more than %d: %s", len(line)-1, width, line)
					}
				}
			}
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
