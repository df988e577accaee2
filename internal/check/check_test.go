package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Without names all steps run, with -quick the quick ones, in their order.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		args  string
		quick bool
		want  string
	}{
		{"", false, "format vet staticcheck race test"},
		{"", true, "format vet test"},
		{"test vet", false, "vet test"},
		{"race", true, "race"},
		{"oracle", true, "oracle"},
	} {
		chosen, err := choose(strings.Fields(c.args), c.quick)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range chosen {
			got = append(got, s.name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q, quick %v: %q, want %q", c.args, c.quick, got, c.want)
		}
	}
	if _, err := choose([]string{"tset"}, false); err == nil || !strings.Contains(err.Error(), "staticcheck") {
		t.Errorf("a step that does not exist: %v; it should list those that do", err)
	}
}

// A file that gofmt would change is named, one that does not parse too.
func TestFormat(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"package a\n\nvar x = 1\n", ""},
		{"package a\nvar x=1\n", "a.go"},
		{"package\n", "a.go"},
	} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("a.go", []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		err := (&check{}).format()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// The race detector is left out, with the reason, where there is no compiler and
// none may be installed.
func TestRaceIsLeftOut(t *testing.T) {
	t.Setenv("PATH", filepath.Join(t.TempDir(), "nothing"))
	t.Setenv("CC", "")
	if err := (&check{}).race(); !errors.Is(err, errLeftOut) || !strings.Contains(err.Error(), "C compiler") {
		t.Errorf("%v; want that the step is left out for want of a C compiler", err)
	}
}

// A step that fails ends the check, and is the last that is said.
func TestFailingStepEndsTheCheck(t *testing.T) {
	ran := 0
	one := func(err error) step {
		return step{name: "a step", quick: true, run: func(*check) error { ran++; return err }}
	}
	if !(&check{}).all(nil) {
		t.Error("no step, and yet one failed")
	}
	if (&check{}).all([]step{one(nil), one(errLeftOut), one(errors.New("broken")), one(nil)}) || ran != 3 {
		t.Errorf("%d steps ran; want three, the third of which fails", ran)
	}
}

// What is missing is listed once for each package.
func TestMissingPackages(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if got := strings.Join(missingPackages(), " "); got != "tshark python3-scapy opensm ibsim-utils infiniband-diags chromium protobuf-compiler slurm-wlm munge prometheus" {
		t.Errorf("without any program: %q", got)
	}
}
