package fidelity

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTolerances(t *testing.T) {
	b := &book{}
	for _, one := range []struct {
		figure Figure
		ok     bool
	}{
		{b.near("f", 100, 101.5, 0.015, "s"), true},
		{b.near("f", 100, 98.49, 0.015, "s"), false},
		{b.near("f", 0, 0, 0.03, "s"), true},
		{b.near("f", 0, 1, 0.03, "s"), false},
		{b.near("f", 100, math.NaN(), 0.03, "s"), false},
		{b.within("f", 8, 8, 0, "s"), true},
		{b.within("f", 8, 7, 0, "s"), false},
		{b.inRange("f", 0.98, math.Inf(-1), 0.98, "s"), true},
		{b.inRange("f", 0.981, math.Inf(-1), 0.98, "s"), false},
		{b.inRange("f", math.NaN(), 0, math.Inf(1), "s"), false},
		{b.same("f", "ERR", "RTS", "s"), false},
	} {
		if one.figure.OK != one.ok {
			t.Errorf("%v: ok %v, want %v", one.figure, one.figure.OK, one.ok)
		}
	}
	r := Result{Cases: []CaseResult{{Figures: b.figures}}}
	if figures, missed := r.Counts(); figures != 11 || missed != 7 {
		t.Errorf("%d of %d missed, want 7 of 11", missed, figures)
	}
}

func TestBands(t *testing.T) {
	of := func(reference float64, runs ...float64) band { return band{Reference: reference, Runs: runs} }
	for _, one := range []struct {
		band            band
		within, widened bool
	}{
		{of(15, 10, 20, 12), true, true},
		{of(20, 10, 20), true, true},
		{of(25, 10, 20), false, true}, // half the width above
		{of(25.1, 10, 20), false, false},
		{of(5, 10, 20), false, true},
		{of(4.9, 10, 20), false, false},
		{of(7, 7, 7), true, true},
		{of(8, 7, 7), false, false}, // no width, nothing to widen
	} {
		if one.band.inside(0) != one.within || one.band.inside(widened) != one.widened {
			t.Errorf("%v: %v and %v, want %v and %v", one.band, one.band.inside(0), one.band.inside(widened), one.within, one.widened)
		}
	}
	// Four of five are 80 %; a constant figure counts neither way.
	all := bands{of(1, 0, 2), of(1, 0, 2), of(1, 0, 2), of(1, 0, 2), of(3, 0, 2), of(0, 0, 0)}
	if f := shareOf(all).Figures[0]; !f.OK || f.Measured != "0.8" {
		t.Errorf("%v", f)
	}
	if f := shareOf(all[1:]).Figures[0]; f.OK {
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
	r, err := readReference(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := referenceFlow{Src: 16, Dst: 258, SrcPort: 10003, Bytes: 4096, FCT: 5000, Alone: 2500}
	if len(r.Flows) != 1 || r.Flows[0] != want || r.Marks != 7 || r.Pauses != 5 || r.PeakQueue != 3000 {
		t.Errorf("%+v", r)
	}
	write("fct.txt", "0b001001 0b000201 10003\n")
	if _, err := readReference(dir); err == nil || !strings.Contains(err.Error(), "fct.txt:1: 3 words, want 8") {
		t.Errorf("a short row: %v", err)
	}
	write("table.txt", "# name\nrun16 339.5 10.5 11 11.2 12.5 9000 800 0 3 3 0.0 0 0.0 - 44 0 12.5\n")
	row, err := readTableRow(filepath.Join(dir, "table.txt"), "run16")
	if err != nil || row != (tableRow{Min: 10.5, P50: 11, Max: 12.5, PeakQueue: 9000, Pauses: 3, Marks: 44}) {
		t.Errorf("%+v, %v", row, err)
	}
	if _, err := readTableRow(filepath.Join(dir, "table.txt"), "run1"); err == nil {
		t.Error("a run that is not in the table was found")
	}
}
