package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/sweep"
	"github.com/hopscope/hopscope/internal/vary"
	"github.com/parquet-go/parquet-go"
)

// sweptTable is a sweep of two sizes and two words with three seeds, of which a run failed and one is missing.
func sweptTable(t *testing.T) *sweep.Table {
	t.Helper()
	s := sweep.Setup{Scenario: "s", Seeds: []uint64{1, 2, 1<<64 - 1}}
	for _, arg := range []string{"switch.ecn.kmin=100KB,1MB", "routing=ecmp,flowlet"} {
		a, err := vary.Parse(arg)
		if err != nil {
			t.Fatal(err)
		}
		s.Axes = append(s.Axes, a)
	}
	p, err := sweep.New(s)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]*sweep.Row, p.Runs())
	for i := range rows {
		rows[i] = &sweep.Row{ID: strconv.Itoa(i), Status: "done", Stopped: "quiescence", Stack: "rocev2", Fingerprint: "0a",
			Figures: map[string]float64{"completion_p99_ps": float64(1_000_000 * (i + 1)), "jain": 1 / float64(i+2), "open": 0}}
	}
	rows[4] = &sweep.Row{ID: "4", Status: "failed", Error: "it, \"broke\""}
	rows[5] = nil
	return sweep.NewTable(p, rows)
}

// CSV and Parquet hold the same rows and columns, and points.csv the medians.
func TestSweepFiles(t *testing.T) {
	dir := t.TempDir()
	if err := WriteSweep(dir, sweptTable(t), "v1"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, SweepRuns))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil || len(lines) != 13 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	if got := strings.Join(lines[0], ","); got != "run,point,stack,switch.ecn.kmin_bytes,routing,seed,status,stopped,error,"+
		"warnings,fingerprint,open,completion_p99_ps,jain" {
		t.Errorf("header %s", got)
	}
	if got := strings.Join(lines[5], "|"); got != "4|1|rocev2|100000|flowlet|2|failed||it, \"broke\"|0||||" {
		t.Errorf("the run that failed: %s", got)
	}
	if got := strings.Join(lines[6], "|"); got != "5|1|rocev2|100000|flowlet|18446744073709551615|missing|||||||" {
		t.Errorf("the run that is missing: %s", got)
	}
	f, err := os.Open(filepath.Join(dir, SweepParquet))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range file.Schema().Fields() {
		names = append(names, c.Name())
	}
	if strings.Join(names, ",") != strings.Join(lines[0], ",") {
		t.Errorf("columns %v", names)
	}
	r := parquet.NewReader(file)
	defer r.Close()
	for i, line := range lines[1:] {
		row := map[string]any{}
		if err := r.Read(&row); err != nil {
			t.Fatal(err)
		}
		for k, name := range lines[0] {
			if !sameCell(line[k], row[name]) {
				t.Errorf("row %d, %s: %q in CSV, %v in Parquet", i, name, line[k], row[name])
			}
		}
	}
	points, err := os.ReadFile(filepath.Join(dir, SweepPoints))
	if err != nil || !strings.Contains(string(points), "\n0,rocev2,100000,ecmp,completion_p99_ps,3,2000000,1000000,3000000,,\n") ||
		strings.Count(string(points), "\n") != 13 {
		t.Errorf("%v\n%s", err, points)
	}
}

func sameCell(text string, value any) bool {
	switch v := value.(type) {
	case nil:
		return text == ""
	case string:
		return v == text
	case []byte:
		return string(v) == text
	case int64:
		return strconv.FormatInt(v, 10) == text
	case float64:
		x, err := strconv.ParseFloat(text, 64)
		return err == nil && math.Abs(x-v) == 0
	}
	return false
}

// The text has medians with ranges, what is best, and what failed.
func TestSweepText(t *testing.T) {
	var b strings.Builder
	if err := Sweep(&b, sweptTable(t), []string{"completion_p99_ps"}, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"s: 12 runs (2 of switch.ecn.kmin x 2 of routing x 3 seeds); 11 of them made\n",
		"  100KB  ecmp     2.00 us  1.00 to 3.00 us\n",
		"  100KB  flowlet  4.00 us\n",
		"p99: best 2.00 us at switch.ecn.kmin 100KB, routing ecmp; worst 11.0 us at switch.ecn.kmin 1MB,\n  routing flowlet.\n",
		"1 of 12 runs: failed, and in no median; the first: switch.ecn.kmin 100KB, routing flowlet, seed 2:\n  it, \"broke\"\n",
		"3 seeds give medians and ranges",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// A setting that completes fewer messages does not win in silence, and a median of fewer runs is said to be one.
func TestSweepOfWhatCompleted(t *testing.T) {
	table := sweptTable(t)
	for i, r := range table.Rows {
		if r == nil || !r.OK() {
			continue
		}
		r.Figures["messages"], r.Figures["completed"] = 4, 4
		if i < 3 { // the first point
			r.Figures["completed"], r.Figures["open"], r.Figures["failed"] = 1, 2, 1
		}
	}
	delete(table.Rows[1].Figures, "completion_p99_ps")
	delete(table.Rows[1].Figures, "jain")
	var b strings.Builder
	table = sweep.NewTable(table.Plan, table.Rows)
	if err := Sweep(&b, table, []string{"completion_p99_ps", "jain"}, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"of the best 3 of 12, of the worst 12 of 12; the best may be so because it completed fewer.",
		"p99, fairness (Jain): the median is of 2 of 3 runs at switch.ecn.kmin 100KB, routing ecmp; the others have no value.",
		"are of those that did: 3 of 12 at switch.ecn.kmin 100KB, routing ecmp (6 open, 3 failed).",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Count(text, "That is of") != 1 {
		t.Errorf("fairness is not of messages alone:\n%s", b.String())
	}
}
