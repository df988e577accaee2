// Package prometheus has promtool make blocks of Prometheus' database of the metrics that hopscope writes.
package prometheus

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/openmetrics"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

var (
	sample = regexp.MustCompile(`(?m)^([a-zA-Z_]\w*)(?:\{(.*)\})? (\d+) (\d+)$`)
	dumped = regexp.MustCompile(`(?m)^\{__name__="(\w+)"(?:, (.*))?\} (\S+) (\d+)$`)
	label  = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

// key is a sample whatever the order of its labels, at a time in ms.
func key(name, labels, value, ms string) string {
	list := label.FindAllString(labels, -1)
	slices.Sort(list)
	return name + "{" + strings.Join(list, ",") + "} " + value + " " + ms
}

// TestBackfill: promtool takes a file, and what its blocks hold is every sample of it and nothing else.
func TestBackfill(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("needs promtool (Debian: prometheus)")
	}
	for scenario, set := range map[string][]string{
		"lossy-incast":  {"workload[0].incast.size=1MB"},
		"victim-flow":   {"workload[0].flows.size=1MB", "workload[1].flow.size=1MB"},
		"virtual-lanes": nil,
		"tcp-incast":    nil,
	} {
		c := openmetrics.NewRecorder(100 * units.Microsecond)
		r, _, err := run.Do(context.Background(), run.Options{Scenario: scenario, Set: set, Workers: 1,
			Snapshots: &run.SnapshotOptions{Every: 100 * units.Microsecond, Take: c.Take}})
		if err != nil {
			t.Fatal(err)
		}
		c.Finish(r)
		var b bytes.Buffer
		if err := c.Write(&b); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		file, blocks := filepath.Join(dir, "run.om"), filepath.Join(dir, "blocks")
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "openmetrics", file, blocks).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", scenario, err, out)
		}
		if err := os.MkdirAll(filepath.Join(blocks, "wal"), 0o700); err != nil { // without which dump opens nothing
			t.Fatal(err)
		}
		out, err := exec.Command("promtool", "tsdb", "dump", blocks).Output()
		if err != nil {
			t.Fatal(err)
		}
		wrote, holds := map[string]bool{}, map[string]bool{}
		for _, m := range sample.FindAllStringSubmatch(b.String(), -1) {
			ms := m[4] + "000"
			if m[4] == "0" {
				ms = "0"
			}
			wrote[key(m[1], m[2], short(m[3]), ms)] = true
		}
		for _, m := range dumped.FindAllStringSubmatch(string(out), -1) {
			holds[key(m[1], m[2], short(m[3]), m[4])] = true
		}
		missing := 0
		for k := range wrote {
			if !holds[k] {
				if missing++; missing < 4 {
					t.Errorf("%s: the blocks lack %s", scenario, k)
				}
			}
		}
		if len(wrote) != len(holds) || len(wrote) < 500 {
			t.Errorf("%s: %d samples, of which the blocks hold %d", scenario, len(wrote), len(holds))
		}
		// The older text format has the same lines but for what it says of types; promtool's linter reads them.
		check := exec.Command("promtool", "check", "metrics")
		check.Stdin = &b
		if text, err := check.CombinedOutput(); err != nil && check.ProcessState.ExitCode() != 3 { // 3: wishes about names
			t.Errorf("%s: %v: %.300s", scenario, err, text)
		}
		t.Logf("%s: %d samples", scenario, len(wrote))
	}
}

// short is a number without its trailing zeros and exponent, as far as these files have such.
func short(number string) string {
	mantissa, exponent, scientific := strings.Cut(number, "e+")
	if !scientific {
		return number
	}
	digits := strings.Replace(mantissa, ".", "", 1)
	shift := 0
	for _, c := range exponent {
		shift = 10*shift + int(c-'0')
	}
	if zeros := shift + 1 - len(digits); zeros >= 0 {
		digits += strings.Repeat("0", zeros)
	}
	return digits
}
