package main

import (
	"path/filepath"
	"testing"
)

// recorded is what a packet-hop took when this was written down, in instructions of
// x86-64 with Go 1.26, report included. A change that makes it dearer by more than
// growth has to say why in CHANGELOG.md, and to record it anew.
const (
	recorded = 1370
	growth   = 1.02
)

// TestInstructions: a packet-hop of 128 hosts takes no more instructions than recorded.
// Allocations are held by TestSteadyStateAllocatesNothing of package run.
func TestInstructions(t *testing.T) {
	if !haveValgrind() {
		t.Skip("valgrind is not installed")
	}
	if testing.Short() {
		t.Skip("a simulated processor takes a minute")
	}
	dir := t.TempDir()
	program, err := buildProgram("../..", filepath.Join(dir, "hopscope"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := cases[0].forCounting().instructions(program, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.0f instructions per packet-hop", got)
	if got > recorded*growth {
		t.Errorf("%.0f instructions per packet-hop, %.0f are recorded; say why in CHANGELOG.md and record it, or find out", got, float64(recorded))
	}
}
