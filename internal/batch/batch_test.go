package batch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/batch"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
)

const small = "name: small\ntopology: {star: {hosts: 3, link: 100Gbps}}\nworkload:\n  - incast: {from: [h0, h1], to: h2, size: 100KB}\n"

func options(set ...string) run.Options {
	return run.Options{Scenario: "small", Text: []byte(small), Set: set}
}

// However many workers there are, each run comes to the same.
func TestWorkersAgree(t *testing.T) {
	all := func(workers int) []string {
		out := make([]string, 6)
		err := batch.Run(context.Background(), run.Do, len(out), workers, func(i int) run.Options {
			return options(fmt.Sprintf("workload[0].incast.size=%dKB", 100+i))
		}, func(i int, r batch.Result) error {
			out[i] = fmt.Sprint(r.Status, r.Fingerprint, r.Figures)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one, three := all(1), all(3)
	for i := range one {
		if one[i] != three[i] || one[i] == "" || i > 0 && one[i] == one[0] {
			t.Errorf("run %d: %s with one worker, %s with three", i, one[i], three[i])
		}
	}
}

// A scenario that is refused, a run that stalls and one that breaks are results; the others go on.
func TestFailuresAreResults(t *testing.T) {
	do := func(ctx context.Context, o run.Options) (*record.Run, *scenario.Valid, error) {
		if len(o.Set) > 0 && o.Set[0] == "break" {
			panic("buffer below zero")
		}
		return run.Do(ctx, o)
	}
	jobs := []run.Options{options("switch.ecn.kmin=banana"), options("break"), options(),
		options("workload[0].incast.verb=send", "workload[0].incast.receives=0", "workload[0].incast.size=1KB")}
	got := make([]batch.Result, len(jobs))
	err := batch.Run(context.Background(), do, len(jobs), 2, func(i int) run.Options { return jobs[i] }, func(i int, r batch.Result) error {
		got[i] = r
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []batch.Status{batch.Invalid, batch.Failed, batch.Done, batch.Stalled} {
		if got[i].Status != want || (got[i].Error != "") != (i < 2) || (len(got[i].Figures) > 0) != (i >= 2) {
			t.Errorf("run %d: %+v; want %s", i, got[i], want)
		}
	}
	if !strings.Contains(got[0].Error, "banana") || !strings.Contains(got[1].Error, "below zero") {
		t.Errorf("errors %q, %q", got[0].Error, got[1].Error)
	}
}

// What done says, and the end of the context, end the batch; no run is reported after.
func TestEnds(t *testing.T) {
	full := errors.New("full disk")
	n := 0
	err := batch.Run(context.Background(), run.Do, 100, 2, func(int) run.Options { return options() }, func(int, batch.Result) error {
		n++
		return full
	})
	if !errors.Is(err, full) || n != 1 {
		t.Errorf("%v after %d results", err, n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n = 0
	err = batch.Run(ctx, run.Do, 100, 2, func(int) run.Options { return options() }, func(int, batch.Result) error {
		n++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("%v after %d results", err, n)
	}
}
