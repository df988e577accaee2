package fidelity

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
)

// Options say what to check.
type Options struct {
	// Cases are names that Catalogue lists; "ns3" stands for all that begin with
	// "ns3/". None: all cases.
	Cases   []string
	Short   bool   // leave out what takes long
	Data    string // folder that holds ns3/, the reference runs; "": none
	Workers int    // cases that run at the same time, at least 1; figures do not depend on it
	// Done is called with every case in the order of the catalogue, when it and
	// all before it are done; nil: not.
	Done func(CaseResult)
	// Progress is called before every run, from several goroutines; nil: not.
	Progress func(Progress)
}

// Progress is how far the cases have come.
type Progress struct {
	Done, Cases int
	Case        string // that begins another run
	Runs        int    // of that case so far
}

// caseRun is what came of a case, with the bands that the rule about all of them counts.
type caseRun struct {
	CaseResult
	bands bands
}

// Reasons to leave something out.
const (
	tooLong = "too long for the short form"
	noData  = "no reference runs (set HOPSCOPE_DATA or give --data DIR, the folder that holds ns3/)"
)

// ErrInterrupted is what Run returns when its context ended before all cases
// had; the Result holds those that did.
var ErrInterrupted = errors.New("interrupted before every case had run")

// Run runs the cases. The error is the user's (an unknown case, data that is not
// there) or ErrInterrupted; a case that cannot run is a figure that missed.
func Run(ctx context.Context, opt Options) (*Result, error) {
	chosen, err := choose(opt)
	if err != nil {
		return nil, err
	}
	done := make([]chan caseRun, len(chosen))
	for i := range done {
		done[i] = make(chan caseRun, 1)
	}
	watch := &watch{opt: &opt, cases: len(chosen)}
	next := make(chan int, len(chosen))
	for i := range chosen {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range max(1, min(opt.Workers, len(chosen))) {
		wg.Go(func() {
			for i := range next {
				done[i] <- runCase(ctx, chosen[i], &opt, watch)
			}
		})
	}
	defer wg.Wait()
	r := &Result{Version: Version, Short: opt.Short}
	var all bands
	for i := range chosen {
		one := <-done[i]
		if ctx.Err() != nil {
			return r, ErrInterrupted
		}
		all = append(all, one.bands...)
		add(r, one.CaseResult, opt.Done)
	}
	if len(all) > 0 && everyRandom(chosen) {
		add(r, shareOf(all), opt.Done)
	}
	return r, nil
}

// everyRandom reports whether all random cases were chosen; the rule about them
// says nothing of a few.
func everyRandom(chosen []kase) bool {
	count := func(in []kase) (n int) {
		for i := range in {
			if in[i].random {
				n++
			}
		}
		return n
	}
	return count(chosen) == count(catalogue())
}

// add keeps a case and tells who wants to know.
func add(r *Result, c CaseResult, done func(CaseResult)) {
	r.Cases = append(r.Cases, c)
	if done != nil {
		done(c)
	}
}

// watch counts for Options.Progress.
type watch struct {
	mu    sync.Mutex
	opt   *Options
	done  int
	cases int
}

func (w *watch) begin(c *checker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opt.Progress != nil {
		w.opt.Progress(Progress{Done: w.done, Cases: w.cases, Case: c.name, Runs: c.runs})
	}
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done++
}

// checker is one case while it runs.
type checker struct {
	book
	ctx     context.Context
	opt     *Options
	watch   *watch
	runs    int
	leftOut []LeftOut
	bands   bands
}

// aborted is what abort panics with; runCase catches it.
type aborted struct{ reason string }

// abort ends the case: it could not be carried out.
func (c *checker) abort(format string, args ...any) {
	panic(aborted{fmt.Sprintf(format, args...)})
}

// must aborts the case on an error.
func (c *checker) must(err error) {
	if err != nil {
		c.abort("%v", err)
	}
}

// runCase carries one case out.
func runCase(ctx context.Context, one kase, opt *Options, w *watch) (out caseRun) {
	c := &checker{book: book{name: one.Name}, ctx: ctx, opt: opt, watch: w}
	defer func() {
		out = caseRun{CaseResult: CaseResult{Info: one.Info, Figures: c.figures, LeftOut: c.leftOut}, bands: c.bands}
		w.end()
	}()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case aborted:
			c.add(Figure{Name: "runs to its end", Expected: "yes", Measured: p.reason, Tolerance: "exact", Source: one.Title})
		default:
			panic(p)
		}
	}()
	switch {
	case ctx.Err() != nil:
	case one.Long && opt.Short:
		c.leftOut = append(c.leftOut, LeftOut{Reason: tooLong})
	case one.Data && opt.Data == "":
		c.leftOut = append(c.leftOut, LeftOut{Reason: noData})
	default:
		one.run(c)
	}
	return out
}

// long reports whether a part of the case that takes long is to run, and notes
// when it is not.
func (c *checker) long(part string) bool {
	if c.opt.Short {
		c.leftOut = append(c.leftOut, LeftOut{Part: part, Reason: tooLong})
	}
	return !c.opt.Short
}

// do runs a scenario as the command line would.
func (c *checker) do(opt run.Options) *record.Run {
	c.runs++
	c.watch.begin(c)
	opt.Workers = 1
	r, _, err := run.Do(c.ctx, opt)
	c.must(err)
	c.must(c.ctx.Err())
	return r
}

// scenario runs a scenario of this package with some values set.
func (c *checker) scenario(name string, set ...string) *record.Run {
	return c.seeded(name, nil, set...)
}

// seeded is scenario with a seed of its own.
func (c *checker) seeded(name string, seed *uint64, set ...string) *record.Run {
	text, err := files.ReadFile("cases/" + name + ".yaml")
	c.must(err)
	return c.do(run.Options{Scenario: name + ".yaml", Text: text, Set: set, Seed: seed})
}

// reference is the folder of a reference run.
func (c *checker) reference(name string) string { return filepath.Join(c.opt.Data, "ns3", name) }

// choose returns the cases that were asked for, in the catalogue's order.
func choose(opt Options) ([]kase, error) {
	all := catalogue()
	for _, name := range opt.Cases {
		found := false
		for _, k := range all {
			if k.named(name) {
				found = true
				if k.Data && opt.Data == "" {
					return nil, fmt.Errorf("%s compares with reference runs: set HOPSCOPE_DATA to the folder that holds ns3/, or give --data DIR", name)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no case %q; use ns3 or %s, or see --list", name, strings.Join(numbered(all), ", "))
		}
	}
	if len(opt.Cases) == 0 {
		return all, nil
	}
	var chosen []kase
	for _, k := range all {
		for _, name := range opt.Cases {
			if k.named(name) {
				chosen = append(chosen, k)
				break
			}
		}
	}
	return chosen, nil
}

// numbered are the names of the cases that are no reference runs.
func numbered(all []kase) (names []string) {
	for _, k := range all {
		if !k.Data {
			names = append(names, k.Name)
		}
	}
	return names
}
