package fidelity

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestFidelity runs the short form of every case, with the reference runs when
// HOPSCOPE_DATA names the folder that holds them.
func TestFidelity(t *testing.T) {
	done := map[string]bool{}
	opt := Options{Short: true, Data: os.Getenv("HOPSCOPE_DATA"), Workers: runtime.GOMAXPROCS(0)}
	opt.Done = func(c CaseResult) {
		done[c.Name] = true
		for _, why := range c.LeftOut {
			t.Logf("%s %s left out: %s", c.Name, why.Part, why.Reason)
		}
		for _, f := range c.Figures {
			if f.OK {
				t.Log(f)
			} else {
				t.Error(f)
			}
		}
		if len(c.Figures) == 0 && len(c.LeftOut) == 0 {
			t.Errorf("%s checked nothing and does not say why", c.Name)
		}
	}
	if _, err := Run(context.Background(), opt); err != nil {
		t.Fatal(err)
	}
	for _, info := range Catalogue() {
		if !done[info.Name] {
			t.Errorf("%s is in the catalogue but was not done", info.Name)
		}
	}
}

// The figures do not depend on how many cases run at the same time.
func TestWorkers(t *testing.T) {
	once := func(workers int) (names []string, figures []Figure) {
		opt := Options{Cases: []string{"f5", "F4", "F1"}, Workers: workers}
		opt.Done = func(c CaseResult) { names = append(names, c.Name) }
		r, err := Run(context.Background(), opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Cases {
			figures = append(figures, c.Figures...)
		}
		return names, figures
	}
	names, one := once(1)
	if want := []string{"F1", "F4", "F5"}; !slices.Equal(names, want) {
		t.Errorf("cases came as %v, want %v", names, want)
	}
	if _, three := once(3); !slices.Equal(one, three) {
		t.Errorf("three workers measured %v, one %v", three, one)
	}
}

func TestChoose(t *testing.T) {
	for _, one := range []struct {
		opt  Options
		want string // of the error
	}{
		{Options{Cases: []string{"F99"}}, `there is no case "F99"; use ns3 or F1, F2, F3`},
		{Options{Cases: []string{"ns3"}}, "ns3 compares with reference runs: set HOPSCOPE_DATA"},
		{Options{Cases: []string{"NS3/incast2_nocc"}}, "compares with reference runs"},
	} {
		if _, err := Run(context.Background(), one.opt); err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%v: %v, want %s", one.opt.Cases, err, one.want)
		}
	}
	all, err := choose(Options{Cases: []string{"ns3"}, Data: "."})
	if err != nil || len(all) != len(deterministicRuns())+len(randomRuns())+2 {
		t.Errorf("ns3 stands for %d cases, %v", len(all), err)
	}
}

// The rule about all random runs is not held to a few.
func TestEveryRandom(t *testing.T) {
	for _, one := range []struct {
		names []string
		want  bool
	}{{nil, true}, {[]string{"ns3"}, true}, {[]string{"ns3/incast2_dcqcn"}, false}, {[]string{"F1"}, false}} {
		if chosen, err := choose(Options{Cases: one.names, Data: "."}); err != nil || everyRandom(chosen) != one.want {
			t.Errorf("%v: %v, %v, want %v", one.names, everyRandom(chosen), err, one.want)
		}
	}
}

// A case that cannot be carried out is a figure that missed, with the reason.
func TestAbort(t *testing.T) {
	r, err := Run(context.Background(), Options{Cases: []string{"ns3/incast2_nocc"}, Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Cases[0].Figures
	if len(f) != 1 || f[0].OK || !strings.Contains(f[0].Measured, "fct.txt") {
		t.Errorf("%v", f)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	opt := Options{Cases: []string{"F1", "F5"}, Done: func(CaseResult) { cancel() }}
	r, err := Run(ctx, opt)
	if !errors.Is(err, ErrInterrupted) || len(r.Cases) != 1 {
		t.Errorf("%v with %d cases, want an interruption after one", err, len(r.Cases))
	}
}
