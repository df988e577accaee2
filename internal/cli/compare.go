package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/importers"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/page"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/spf13/cobra"
)

// maxSeeds bounds --seeds: a comparison keeps something of every run.
const maxSeeds = 1000

// compareFlags are the flags of hopscope compare.
type compareFlags struct {
	input
	stacks  []string
	control []string // in place of the stack's congestion control, in turn
	view    string   // stacks that differ in one layer
	about   string   // of the view
	left    []compare.LeftOut
	seeds   int
	seed    uint64
	json    string
	pics    pictures
	workers int
	quiet   bool
}

func newCompare(p Pipeline) *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare SCENARIO|FILE",
		Short: "Run a scenario over several stacks and set what happened side by side",
		Example: "  hopscope compare incast-4to1\n" +
			"  hopscope compare incast-4to1 --stacks rocev2,rocev2-pfc-only --seeds 5\n" +
			"  hopscope compare incast-4to1 --controllers dcqcn,hpcc,swift,timely,dctcp\n" +
			"  hopscope compare incast-4to1 --view fabric\n" +
			"  hopscope compare my.yaml --set switch.buffer=8MB --json result.json",
		RunE: func(c *cobra.Command, args []string) error { return runCompare(c, args, f, p) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.stacks, "stacks", nil, "stacks to compare, `a,b`; hopscope show lists them. Of data in GPUs also \"rocev2 staged\" and the like; all: every column (default: all stacks, of data in GPUs a selection)")
	flags.StringSliceVar(&f.control, "controllers", nil,
		"congestion controls to compare, `a,b`, each in place of the scenario's own: "+
			strings.Join(p.Known.Controls(), ", ")+", or one with a preset, such as hpcc-ns3")
	flags.StringVar(&f.view, "view", "", "compare stacks that differ in one layer, `NAME`: "+viewsAbout()+
		". --stacks chooses among them, --controllers replaces the congestion control of those that have one")
	flags.IntVar(&f.seeds, "seeds", 1, "run each stack with `N` seeds and show median and range")
	flags.Uint64Var(&f.seed, "seed", 0, "the first seed (default: the scenario's)")
	flags.StringArrayVar(&f.set, "set", nil, "set a scenario value for all stacks, `key=value`; may be repeated")
	f.foreign(flags, p)
	flags.StringVar(&f.json, "json", "", "write the comparison as JSON to `FILE` (-: to standard output, instead of the table)")
	f.pics.flags(flags, "the comparison")
	flags.IntVar(&f.workers, "workers", 0, "worker threads; results do not depend on it (default: all cores)")
	addLang(flags)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no table and no progress")
	return c
}

func runCompare(c *cobra.Command, args []string, f compareFlags, p Pipeline) error {
	base, err := f.read(args)
	if err != nil {
		return err
	}
	if c.Flags().Changed("controllers") {
		if err := f.checkControls(); err != nil {
			return err
		}
	}
	if c.Flags().Changed("view") {
		if err := f.viewed(); err != nil {
			return err
		}
	} else if len(f.control) > 0 {
		f.stacks = f.controlled(c, base)
	} else if !c.Flags().Changed("stacks") || len(f.stacks) == 1 && f.stacks[0] == scenario.AllColumns {
		f.stacks, f.left = columns(base, len(f.stacks) == 1)
	}
	if f.left == nil {
		f.stacks, f.left = named(base, f.stacks)
	}
	opt, err := f.compared(c)
	if err != nil {
		return err
	}
	base.Timeline = f.pics.wanted()
	ctx, result, stop, err := runAll(c, base, opt, f.quiet, p)
	defer stop()
	if errors.Is(err, compare.ErrInterrupted) {
		if result == nil {
			return interrupted(ctx, fmt.Errorf("%w; no stack had", err))
		}
		err = fmt.Errorf("%w; above are %d of %d stacks and %d of %d seeds", err, len(result.Stacks), len(opt.Stacks), len(result.Seeds), opt.Seeds)
		return interrupted(ctx, errors.Join(err, f.write(c, base, result)))
	}
	if err != nil {
		return noRun(ctx, err)
	}
	return f.write(c, base, result)
}

// tellLong says before a scenario that takes minutes is run several times how to make a smaller one of it.
func tellLong(w io.Writer, name string, set []string, runs int, quiet bool) {
	small := scenario.Reduced(name)
	if quiet || small == nil || runs < 2 || len(set) > 0 && slices.Equal(set[:min(len(set), len(small))], small) {
		return
	}
	fmt.Fprintf(w, "hopscope: %s takes minutes, and this runs it up to %d times; a smaller one of its kind: --set '%s'\n",
		name, runs, strings.Join(small, "' --set '"))
}

// runAll runs base with every stack and seed of opt, with progress until all have ended or
// the user interrupts them. Until stop is called, an interrupt is one of ctx.
func runAll(c *cobra.Command, base run.Options, opt compare.Options, silent bool, p Pipeline) (
	ctx context.Context, result *compare.Comparison, stop func(), err error) {
	stderr := c.ErrOrStderr()
	tellLong(stderr, base.Scenario, base.Set, len(opt.Stacks)*opt.Seeds, silent)
	watch := &watcher{meter: newMeter(stderr, silent), runs: make([]run.Progress, len(opt.Stacks)*opt.Seeds)}
	opt.Do = func(ctx context.Context, j compare.Job) (*record.Run, error) {
		one := base
		one.Seed, one.Workers = j.Seed, j.Workers
		if j.Stack != "" {
			one.Stack, one.Stacks = j.Stack, j.Stacks
		}
		one.Progress = func(now run.Progress) { watch.show(j, now) }
		r, _, err := p.Do(ctx, one)
		watch.finish(j)
		return r, err
	}
	ctx, stop, quiet := untilInterrupt(c.Context(), func() {
		watch.meter.clear()
		fmt.Fprintln(stderr, "hopscope: stopping; once more to stop at once")
	})
	result, err = compare.Run(ctx, opt)
	quiet()
	watch.meter.clear()
	return ctx, result, stop, err
}

// read finds what all stacks run: a scenario, or the one that files of another
// simulator make.
func (f *compareFlags) read(args []string) (run.Options, error) {
	opt, err := f.options("compare", args)
	if err != nil || !f.isForeign() {
		return opt, err
	}
	opt.Set = nil // it comes later, with the stack
	v, err := run.Load(opt)
	if err != nil {
		return opt, err
	}
	of := "the scenario of " + importers.Given(opt.Files)
	return run.Options{Scenario: of, Text: v.Source, Set: f.set, Known: f.known}, nil
}

// checkControls checks what --controllers names.
func (f *compareFlags) checkControls() error {
	if len(f.control) == 0 {
		return fmt.Errorf("--controllers names none; give some of %s", strings.Join(f.known.Controls(), ", "))
	}
	for i, name := range f.control {
		if msg := f.known.CheckController(name); msg != "" {
			return fmt.Errorf("--controllers: %s", msg)
		}
		if slices.Contains(f.control[:i], name) {
			return fmt.Errorf("--controllers names %s twice; once is enough", name)
		}
	}
	return nil
}

// controlled lists the columns of a comparison of congestion controls: each over each stack that is named, or
// the scenario's own.
func (f *compareFlags) controlled(c *cobra.Command, base run.Options) (names []string) {
	stacks := f.stacks
	if !c.Flags().Changed("stacks") {
		stacks = []string{scenario.DefaultStack}
		if v, err := run.Load(base); err == nil {
			stacks[0] = v.Stack
		}
	}
	for _, s := range stacks {
		for _, control := range f.control {
			names = append(names, s+" "+control)
		}
	}
	return names
}

// viewed puts the columns of a view in place of --stacks.
func (f *compareFlags) viewed() error {
	v, err := scenario.FindView(f.view)
	if err != nil {
		return err
	}
	for _, s := range f.stacks {
		if msg := f.known.CheckColumn(s); msg != "" {
			return fmt.Errorf("--stacks: %s", msg)
		}
	}
	f.about = v.About
	f.stacks, err = v.Narrow(f.stacks, f.control)
	return err
}

// viewsAbout lists the views for a help text.
func viewsAbout() string {
	var all []string
	for _, v := range scenario.Views() {
		all = append(all, v.Name+", "+v.About)
	}
	return strings.Join(all, "; ")
}

// columns lists all columns of a scenario, or those shown by default, and what was left out. What is wrong
// with the scenario its runs say, of each stack what is wrong there.
func columns(base run.Options, all bool) ([]string, []compare.LeftOut) {
	v, err := run.Load(base)
	if err != nil {
		return scenario.StackNames(), nil
	}
	names := scenario.DefaultColumns(v)
	if all {
		names = scenario.Columns(v)
	}
	return able(base, v, names)
}

// named leaves out of the stacks that were named those that cannot run the jobs of a scenario.
func named(base run.Options, names []string) ([]string, []compare.LeftOut) {
	v, err := run.Load(base)
	if err != nil || len(v.Plan.Jobs) == 0 {
		return names, nil
	}
	return able(base, v, names)
}

// able leaves out of columns those of stacks that cannot run a scenario; where none is left, all stay.
func able(base run.Options, v *scenario.Valid, names []string) ([]string, []compare.LeftOut) {
	var left []compare.LeftOut
	out := names
	if len(v.Plan.Collectives)+len(v.Plan.Jobs) > 0 {
		out = without(base, out, &left, scenario.OverTCP)
	}
	if out = without(base, out, &left, scenario.Narrow); len(out) == 0 {
		return names, nil
	}
	return out, left
}

// without leaves out those of some stacks that cannot run the scenario, and says why.
func without(base run.Options, names []string, left *[]compare.LeftOut, of func(string) bool) []string {
	var out compare.LeftOut
	rest := slices.DeleteFunc(slices.Clone(names), func(s string) bool {
		if !of(s) {
			return false
		}
		one := base
		one.Stack, one.Stacks = s, names
		_, err := run.Load(one)
		if err == nil {
			return false
		}
		if out.Stacks = append(out.Stacks, s); out.Why == "" {
			out.Why = err.Error()
		}
		return true
	})
	if len(out.Stacks) > 0 {
		*left = append(*left, out)
	}
	return rest
}

// compared checks the other flags before anything runs.
func (f *compareFlags) compared(c *cobra.Command) (compare.Options, error) {
	opt := compare.Options{Stacks: f.stacks, Seeds: f.seeds, Workers: f.workers, Lang: language(c)}
	if len(f.stacks) == 0 {
		return opt, fmt.Errorf("--stacks names no stack; give some of %s", strings.Join(scenario.StackNames(), ", "))
	}
	for i, s := range f.stacks {
		if msg := f.known.CheckColumn(s); msg != "" {
			return opt, fmt.Errorf("--stacks: %s", msg)
		}
		if slices.Contains(f.stacks[:i], s) {
			return opt, fmt.Errorf("--stacks names %s twice; once is enough", s)
		}
	}
	if err := checkSeeds(f.seeds, f.seed, c.Flags().Changed("seed")); err != nil {
		return opt, err
	}
	if c.Flags().Changed("seed") {
		opt.Seed = &f.seed
	}
	if !c.Flags().Changed("workers") {
		opt.Workers = runtime.GOMAXPROCS(0)
	} else if f.workers < 1 {
		return opt, fmt.Errorf("--workers %d: there must be at least 1", f.workers)
	}
	for _, s := range f.set {
		if key, _, _ := strings.Cut(s, "="); key == "stack" || key == "seed" {
			return opt, fmt.Errorf("--set %s: compare sets it itself; use --%s", s, map[string]string{"stack": "stacks", "seed": "seed"}[key])
		}
	}
	if err := checkJSON(f.json); err != nil {
		return opt, err
	}
	return opt, f.pics.checkBeside(f.json)
}

// checkSeeds refuses a number of seeds that is none, and a first one that leaves no room for
// the others.
func checkSeeds(n int, first uint64, given bool) error {
	if n < 1 || n > maxSeeds {
		return fmt.Errorf("--seeds %d: give 1 to %d", n, maxSeeds)
	}
	if last := first + uint64(n-1); given && last < first {
		return fmt.Errorf("--seed %d leaves no room for %d seeds; give at most %d", first, n, uint64(math.MaxUint64)-uint64(n-1))
	}
	return nil
}

func (f *compareFlags) write(c *cobra.Command, base run.Options, result *compare.Comparison) error {
	var errs []error
	result.View, result.LeftOut = f.about, f.left
	if f.json != "" {
		data, err := report.CompareJSON(result)
		if err == nil {
			err = putJSON(c, f.json, data)
		}
		errs = append(errs, err)
	}
	if f.pics.wanted() {
		errs = append(errs, f.pics.write(c, page.Comparison(result, pageMeta(base))))
	}
	if !f.quiet && f.json != "-" && f.pics.html != "-" {
		errs = append(errs, report.Compare(c.OutOrStdout(), result, textOptions(c)))
	}
	return failure(errors.Join(errs...))
}

// watcher shows how far all runs of a comparison have come.
type watcher struct {
	mu    sync.Mutex
	meter *meter
	runs  []run.Progress // by Job.Index
	ended int
	part  float64 // the share of all runs that is done
}

func (w *watcher) show(j compare.Job, p run.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[j.Index] = p
	w.draw(j.Stack + " at " + metrics.FormatTime(p.Now))
}

func (w *watcher) finish(j compare.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[j.Index] = run.Progress{DeliveredBytes: 1, TotalBytes: 1}
	w.ended++
	w.draw(j.Stack + " done")
}

func (w *watcher) draw(latest string) {
	sum := 0.0
	for _, p := range w.runs {
		done, _ := fractionDone(p)
		sum += done
	}
	w.part = max(w.part, sum/float64(len(w.runs)))
	w.meter.draw(func(elapsed time.Duration) string {
		line := fmt.Sprintf("%3.0f %%, %d of %d runs done, %s", 100*w.part, w.ended, len(w.runs), latest)
		if w.part > 0 && w.part < 1 {
			left := time.Duration(float64(elapsed) * (1 - w.part) / w.part)
			line += ", about " + roundDuration(left) + " left"
		}
		return line
	})
}
