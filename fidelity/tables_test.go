package fidelity

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
)

// Errors over the rows of published tables that take little time, up to 16 MiB: the medians
// are within their targets, and no more rows than those recorded are far off. The case
// nccl-tables has all rows.
func TestPublishedTables(t *testing.T) {
	opt := Options{Data: os.Getenv("HOPSCOPE_DATA")}
	if _, err := os.Stat(opt.tablesPath()); err != nil || testing.Short() {
		t.Skip("HOPSCOPE_DATA has no tables, or the test is short")
	}
	c := &checker{book: book{name: "tables"}, ctx: context.Background(), opt: &opt, watch: &watch{opt: &opt}}
	points := slices.DeleteFunc(c.tablePoints(opt.tablesPath()), func(p point) bool { return p.size > 16<<20 })
	if len(points) < 90 {
		t.Fatalf("%d rows", len(points))
	}
	for i := range points {
		p := &points[i]
		c.predict(p)
		t.Logf("%s %d B: %.2f us, measured %.2f, %.2f times (%s)", p.table, p.size, p.predicted, p.measured, p.predicted/p.measured, p.choice)
	}
	for k, v := range judge(points) {
		t.Logf("%s: %d rows, median %.1f %%, 90th percentile %.1f %%, far off: %s", regions[k], v.rows, 100*v.median, 100*v.p90, strings.Join(v.far, "; "))
		if v.rows > 0 && v.median > targets()[k].median {
			t.Errorf("%s: a median error of %.1f %%, want at most %.0f", regions[k], 100*v.median, 100*targets()[k].median)
		}
		for _, far := range v.far { // the table that is not explained
			if !strings.HasPrefix(far, "b200-16-allgather ") {
				t.Errorf("%s is more than 40 %% off", far)
			}
		}
	}
}
