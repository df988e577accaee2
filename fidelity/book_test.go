package fidelity

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTolerances(t *testing.T) {
	b := &Book{}
	for _, one := range []struct {
		figure Figure
		ok     bool
	}{
		{b.Near("c", "f", 100, 101.5, 0.015, "s"), true},
		{b.Near("c", "f", 100, 98.49, 0.015, "s"), false},
		{b.Near("c", "f", 0, 0, 0.03, "s"), true},
		{b.Near("c", "f", 0, 1, 0.03, "s"), false},
		{b.Near("c", "f", 100, math.NaN(), 0.03, "s"), false},
		{b.Within("c", "f", 8, 8, 0, "s"), true},
		{b.Within("c", "f", 8, 7, 0, "s"), false},
		{b.Between("c", "f", 0.98, math.Inf(-1), 0.98, "s"), true},
		{b.Between("c", "f", 0.981, math.Inf(-1), 0.98, "s"), false},
		{b.Between("c", "f", math.NaN(), 0, math.Inf(1), "s"), false},
		{b.Same("c", "f", "ERR", "RTS", "s"), false},
	} {
		if one.figure.OK != one.ok {
			t.Errorf("%v: ok %v, want %v", one.figure, one.figure.OK, one.ok)
		}
	}
	if b.Failed() != 7 {
		t.Errorf("%d missed, want 7", b.Failed())
	}
	var out strings.Builder
	if err := b.Write(&out, "Title"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Title\n", "11 figures, 7 missed\n", "98.49", "±1.5 %", "at most 0.98", "NO"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestBands(t *testing.T) {
	band := func(reference float64, runs ...float64) Band { return Band{Reference: reference, Runs: runs} }
	for _, one := range []struct {
		band            Band
		within, widened bool
	}{
		{band(15, 10, 20, 12), true, true},
		{band(20, 10, 20), true, true},
		{band(25, 10, 20), false, true}, // half the width above
		{band(25.1, 10, 20), false, false},
		{band(5, 10, 20), false, true},
		{band(4.9, 10, 20), false, false},
		{band(7, 7, 7), true, true},
		{band(8, 7, 7), false, false}, // no width, nothing to widen
	} {
		if one.band.Inside(0) != one.within || one.band.Inside(widened) != one.widened {
			t.Errorf("%v: %v and %v, want %v and %v", one.band, one.band.Inside(0), one.band.Inside(widened), one.within, one.widened)
		}
	}
	// Four of five are 80 %; a constant figure counts neither way.
	all := Bands{band(1, 0, 2), band(1, 0, 2), band(1, 0, 2), band(1, 0, 2), band(3, 0, 2), band(0, 0, 0)}
	if f := all.EnterShare(&Book{}, "c"); !f.OK || f.Measured != "0.8" {
		t.Errorf("%v", f)
	}
	if f := all[1:].EnterShare(&Book{}, "c"); f.OK {
		t.Errorf("three of four pass as 80 %%: %v", f)
	}
}

func TestReadReference(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("summary.json", `{"sw": ["17 max_egress_q 1000 x 2", "18 max_egress_q 3000 x 2"], "marks": 7, "result": {"pause_frames": 5}}`)
	write("fct.txt", "0b001001 0b010201 10003 100 4096 2000000000 5000 2500\n")
	r, err := ReadReference(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := ReferenceFlow{Src: 16, Dst: 258, SrcPort: 10003, Bytes: 4096, FCT: 5000, Alone: 2500}
	if len(r.Flows) != 1 || r.Flows[0] != want || r.Marks != 7 || r.Pauses != 5 || r.PeakQueue != 3000 {
		t.Errorf("%+v", r)
	}
	write("fct.txt", "0b001001 0b000201 10003\n")
	if _, err := ReadReference(dir); err == nil || !strings.Contains(err.Error(), "fct.txt:1: 3 words, want 8") {
		t.Errorf("a short row: %v", err)
	}
	write("table.txt", "# name\nrun16 339.5 10.5 11 11.2 12.5 9000 800 0 3 3 0.0 0 0.0 - 44 0 12.5\n")
	row, err := ReadTableRow(filepath.Join(dir, "table.txt"), "run16")
	if err != nil || row != (TableRow{Min: 10.5, P50: 11, Max: 12.5, PeakQueue: 9000, Pauses: 3, Marks: 44}) {
		t.Errorf("%+v, %v", row, err)
	}
	if _, err := ReadTableRow(filepath.Join(dir, "table.txt"), "run1"); err == nil {
		t.Error("a run that is not in the table was found")
	}
}
