package fidelity

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
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
	points := slices.DeleteFunc(c.tablePoints(opt.tablesPath()), func(p point) bool { return p.size > 16<<20 && !*updateTables })
	if len(points) < 90 {
		t.Fatalf("%d rows", len(points))
	}
	page := readTablesPage(t)
	for i := range points {
		p := &points[i]
		c.predict(p)
		page.hold(t, p)
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

// tablesPage is the page of docs that has the rows of the tables, and which of its lines has each.
type tablesPage struct {
	lines []string
	at    map[string]int // by table and size
}

const tablesPagePath = "../docs/nccl-tables.md"

var updateTables = flag.Bool("update", false, "write docs/nccl-tables.md anew, with all rows")

func readTablesPage(t *testing.T) *tablesPage {
	t.Helper()
	text, err := os.ReadFile(tablesPagePath)
	if err != nil {
		t.Fatal(err)
	}
	page := &tablesPage{lines: strings.Split(string(text), "\n"), at: make(map[string]int)}
	table := ""
	for i, line := range page.lines {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			table = name
		} else if cells := strings.Split(line, " | "); len(cells) == 6 {
			page.at[table+strings.TrimPrefix(cells[0], "|")] = i
		}
	}
	if *updateTables {
		t.Cleanup(func() {
			if err := os.WriteFile(tablesPagePath, []byte(strings.Join(page.lines, "\n")), 0o644); err != nil {
				t.Error(err)
			}
		})
	}
	return page
}

// hold sees that the page has what is predicted of a point, within a percent, or puts it there.
func (page *tablesPage) hold(t *testing.T, p *point) {
	t.Helper()
	i, ok := page.at[fmt.Sprintf("%s %d", p.table, p.size)]
	if !ok {
		t.Errorf("%s has no row of %s with %d B", tablesPagePath, p.table, p.size)
		return
	}
	cells := strings.Split(page.lines[i], " | ")
	if *updateTables {
		digits := map[bool]int{true: 2}[p.predicted < 100] + map[bool]int{true: 1}[p.predicted >= 100 && p.predicted < 1000]
		fields := strings.Fields(p.choice)
		cells[2], cells[3] = strconv.FormatFloat(p.predicted, 'f', digits, 64), fmt.Sprintf("%.2f", p.predicted/p.measured)
		cells[4] = fmt.Sprintf("%s %s, %s", fields[0], fields[1], fields[2])
		page.lines[i] = strings.Join(cells, " | ")
		return
	}
	us, err := strconv.ParseFloat(cells[2], 64)
	if err != nil || math.Abs(us/p.predicted-1) > .01 || strings.ReplaceAll(cells[4], ",", "") != p.choice {
		t.Errorf("%s has %s us and %s of %s with %d B; it is %.2f and %s (-update writes it anew)", tablesPagePath, cells[2], cells[4],
			p.table, p.size, p.predicted, p.choice)
	}
}
