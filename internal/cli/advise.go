package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hopscope/hopscope/internal/advise"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/whatif"
	"github.com/spf13/cobra"
)

// How many causes are taken away unless somebody says, and where a run has more than manyEvents.
const (
	mostAsked  = 8
	fewAsked   = 3
	manyEvents = 1_000_000
)

// maxPrices bounds a file of prices in bytes.
const maxPrices = 1 << 20

// adviseFlags are the flags of hopscope advise.
type adviseFlags struct {
	input
	prices  string
	seeds   int
	seed    uint64
	whatif  int
	json    string
	text    string
	workers int
	quiet   bool
}

func newAdvise(p Pipeline) *cobra.Command {
	var f adviseFlags
	c := &cobra.Command{
		Use:   "advise SCENARIO|FILE",
		Short: "Fill the decision between TCP, RoCEv2 and InfiniBand from runs of your own workload",
		Long: "advise runs a scenario over TCP, RoCEv2 with and without PFC, and InfiniBand, and recommends one for\n" +
			"the data plane and one for the control plane (remote procedure calls), each with the rules that\n" +
			"led to it, what would change it, and which counters to watch from which threshold on.",
		Example: "  hopscope advise mixed-traffic\n" +
			"  hopscope advise gpu-incast --prices docs/examples/prices.yaml\n" +
			"  hopscope advise my.yaml --seeds 5 --json advice.json",
		RunE: func(c *cobra.Command, args []string) error { return runAdvise(c, args, f, p) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.prices, "prices", "", "weigh what each costs by the prices in `FILE`,"+
		" as docs/examples/prices.yaml has them")
	flags.IntVar(&f.seeds, "seeds", 3, "run everything with `N` seeds")
	flags.Uint64Var(&f.seed, "seed", 0, "the first seed (default: the scenario's)")
	f.changes(flags, p)
	flags.IntVar(&f.whatif, "whatif", mostAsked, "take `N` causes away at most, of the recommended stack and of the one "+
		"next to it; 0:\nnone (default: 8, and 3 where a run is of more than a million events)")
	flags.Lookup("whatif").DefValue = "0"
	flags.StringVar(&f.text, "markdown", "", "write the page as Markdown to `FILE` (-: to standard output, instead of "+
		"the text)")
	flags.StringVar(&f.json, "json", "", "write the advice as JSON to `FILE` (-: to standard output, instead of the text)")
	flags.IntVar(&f.workers, "workers", 0, "worker threads; results do not depend on it (default: all cores)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no text and no progress")
	return c
}

// options checks the flags and reads the prices before anything runs.
func (f *adviseFlags) options(c *cobra.Command) (opt compare.Options, prices *advise.Prices, err error) {
	if err := checkSeeds(f.seeds, f.seed, c.Flags().Changed("seed")); err != nil {
		return opt, nil, err
	}
	if !c.Flags().Changed("workers") {
		f.workers = runtime.GOMAXPROCS(0)
	} else if f.workers < 1 {
		return opt, nil, fmt.Errorf("--workers %d: there must be at least 1", f.workers)
	}
	for _, s := range f.set {
		if key, _, _ := strings.Cut(s, "="); key == "seed" {
			return opt, nil, fmt.Errorf("--set %s: advise sets it itself; use --seed", s)
		}
	}
	if f.whatif < 0 {
		return opt, nil, fmt.Errorf("--whatif %d: give a number of changes to try, or 0 for none", f.whatif)
	}
	if err := cmp.Or(checkJSON(f.json), checkFile("--markdown", f.text)); err != nil {
		return opt, nil, err
	}
	if f.json == "-" && f.text == "-" {
		return opt, nil, errors.New("--json - and --markdown - would both write to standard output; give one of them a file")
	}
	opt = compare.Options{Seeds: f.seeds, Workers: f.workers}
	if c.Flags().Changed("seed") {
		opt.Seed = &f.seed
	}
	if !c.Flags().Changed("prices") {
		return opt, nil, nil
	}
	text, err := files.Read(f.prices, maxPrices)
	if err != nil {
		return opt, nil, fmt.Errorf("--prices %s cannot be read: %w", f.prices, cause(err))
	}
	prices, bad := advise.ReadPrices(f.prices, text)
	if bad != nil {
		return opt, nil, bad
	}
	return opt, prices, nil
}

// advisor runs what advice needs.
type advisor struct {
	*adviseFlags
	c    *cobra.Command
	base run.Options
	opt  compare.Options
	p    Pipeline
}

func runAdvise(c *cobra.Command, args []string, f adviseFlags, p Pipeline) error {
	base, err := f.input.options("advise", args)
	if err != nil {
		return err
	}
	opt, prices, err := f.options(c)
	if err != nil {
		return err
	}
	v, err := run.Load(base)
	if err != nil {
		return noRun(c.Context(), err)
	}
	a := advisor{&f, c, base, opt, p}
	began := time.Now()
	own, err := a.asItIs(v)
	if err != nil {
		return err
	}
	switch {
	case own.seen.Messages == 0 && len(v.Plan.Jobs) == 0:
		f.whatif = 0 // a collective that keeps no messages: package whatif has nothing to ask about
	case !c.Flags().Changed("whatif") && own.events > manyEvents:
		f.whatif = fewAsked
	}
	stacks, why := adviseStacks(base, v)
	if len(stacks) == 0 {
		return fmt.Errorf("%s runs over none of the stacks that advise weighs; hopscope compare %s says why", v.Name, v.Name)
	}
	a.announce(len(stacks)*opt.Seeds+2*f.whatif, time.Since(began))
	runs := advise.Runs{Why: why, CallsOver: own.seen.CallsOver}
	if runs.Seen, err = a.observe(a.opt.Seeds, stacks...); err != nil {
		return err
	}
	if err := a.more(&runs, own.data, v.DataInGPUs()); err != nil {
		return err
	}
	advice := advise.Of(v.Name, v.Description, runs, prices)
	if err := a.ask(advice, stacks); err != nil {
		return err
	}
	return f.write(c, advice)
}

// own is what the scenario does as it is.
type own struct {
	seen   *advise.Seen
	data   []int // entries of the workload that are no calls
	events int64
}

// asItIs runs the scenario as it is, and refuses one that there is no advice on.
func (a *advisor) asItIs(v *scenario.Valid) (out own, err error) {
	calls := map[string]bool{} // by entry; looked up
	a.opt.Stacks = []string{""}
	seen, err := a.runs(1, a.base, func(r *record.Run) {
		out.events = r.Events
		for i := range r.Messages {
			if r.Messages[i].Call != 0 {
				calls[r.Messages[i].Workload] = true
			}
		}
	})
	if err != nil {
		return out, err
	}
	out.seen = seen[""][0]
	for i, name := range v.Plan.Entries {
		if !calls[name] {
			out.data = append(out.data, i)
		}
	}
	switch o := out.seen; {
	case o.Trouble != "":
		return out, fmt.Errorf("%s, stack %s, ends with %s (seed %d), so that there is nothing to advise on; hopscope run "+
			"says why", v.Name, v.Stack, o.Trouble, o.Seed)
	case o.Messages+o.Programs == 0:
		return out, fmt.Errorf("%s has no data plane: all its messages belong to remote procedure calls; "+
			"add the flows that carry data", v.Name)
	}
	return out, nil
}

// announce says on standard error how long the rest takes about, if that is long.
func (a *advisor) announce(runs int, one time.Duration) {
	left := time.Duration(runs) * one / time.Duration(max(1, min(a.workers, runs)))
	if !a.quiet && left > time.Minute {
		fmt.Fprintf(a.c.ErrOrStderr(), "hopscope: about %s for %d runs; --seeds 1 --whatif 0 takes about %s\n",
			roundDuration(left), runs, roundDuration(left*7/time.Duration(runs)))
	}
}

// adviseStacks lists the stacks that can run a scenario, of those that advice weighs, and why the others cannot.
func adviseStacks(base run.Options, v *scenario.Valid) (stacks []string, why map[string]string) {
	for _, choice := range advise.Choices() {
		for _, s := range choice.Settings {
			stacks = append(stacks, s.Stack)
		}
		if choice.Research != nil {
			stacks = append(stacks, choice.Research.Stack)
		}
	}
	all := slices.Clone(stacks)
	why = map[string]string{}
	return slices.DeleteFunc(stacks, func(s string) bool {
		one := base
		one.Stack, one.Stacks = s, all
		_, err := run.Load(one)
		if err != nil {
			why[s] = err.Error()
			if bad := (&scenario.Error{}); errors.As(err, &bad) {
				why[s] = bad.Msg
			}
		}
		return err != nil
	}), why
}

// more runs, with the settings that were chosen, the calls without the data, and the data without GPUDirect.
func (a *advisor) more(runs *advise.Runs, data []int, inGPUs bool) (err error) {
	var chosen, staged []string
	for _, o := range advise.Columns(*runs) {
		if o.Layers == nil || o.Out != "" {
			continue
		}
		chosen = append(chosen, o.Stack)
		if o.Data.API == catalog.VerbsAPI {
			staged = append(staged, advise.Staged(o.Stack))
		}
	}
	if runs.CallsOver != "" && len(chosen) > 0 {
		alone := a.base
		alone.Without.Entries = data
		a.opt.Stacks = chosen
		if len(runs.Seen["tcp"]) > 0 && !slices.Contains(chosen, "tcp") { // what a second network carries
			a.opt.Stacks = append(slices.Clone(chosen), "tcp")
		}
		if runs.Calls, err = a.runs(a.opt.Seeds, alone, nil); err != nil {
			return err
		}
	}
	if !inGPUs || len(staged) == 0 {
		return nil
	}
	seen, err := a.observe(1, staged...)
	if err != nil {
		return err
	}
	runs.Staged = map[string]*advise.Seen{}
	for _, s := range chosen {
		if list := seen[advise.Staged(s)]; len(list) > 0 && list[0].Trouble == "" {
			runs.Staged[s] = list[0]
		}
	}
	return nil
}

// observe runs stacks and keeps of each, by seed, what advice needs.
func (a *advisor) observe(seeds int, stacks ...string) (map[string][]*advise.Seen, error) {
	a.opt.Stacks = stacks
	return a.runs(seeds, a.base, nil)
}

// runs runs the stacks of a.opt, and hands each run to look, if that is not nil.
func (a *advisor) runs(seeds int, base run.Options, look func(*record.Run)) (map[string][]*advise.Seen, error) {
	seen := map[string][]*advise.Seen{} // by stack
	var mu sync.Mutex
	kept := a.p
	kept.Do = func(ctx context.Context, one run.Options) (*record.Run, *scenario.Valid, error) {
		r, v, err := a.p.Do(ctx, one)
		if err == nil && r != nil && r.Stopped != "interrupted" {
			o := advise.Read(r)
			mu.Lock()
			defer mu.Unlock()
			seen[one.Stack] = append(seen[one.Stack], o)
			if look != nil {
				look(r)
			}
		}
		return r, v, err
	}
	opt := a.opt
	opt.Seeds = seeds
	ctx, _, stop, err := runAll(a.c, base, opt, a.quiet, kept)
	defer stop()
	switch {
	case errors.Is(err, compare.ErrInterrupted):
		return nil, interrupted(ctx, fmt.Errorf("%w; advice needs all", err))
	case err != nil:
		return nil, noRun(ctx, err)
	}
	for _, s := range opt.Stacks {
		slices.SortFunc(seen[s], func(a, b *advise.Seen) int { return cmp.Compare(a.Seed, b.Seed) })
	}
	return seen, nil
}

// ask takes causes away from the recommended stack and the one next to it.
func (a *advisor) ask(advice *advise.Advice, stacks []string) error {
	if a.whatif == 0 || advice.Best() == nil {
		return nil
	}
	best, err := a.inquire(advice.Best().Stack, stacks)
	if err != nil {
		return err
	}
	var second *advise.Inquiry
	if o := advice.RunnerUp(); o != nil {
		if second, err = a.inquire(o.Stack, stacks); err != nil {
			return err
		}
	}
	advice.Ask(best, second)
	return nil
}

// inquire takes causes away from a run over a stack, with the first seed.
func (a *advisor) inquire(stack string, stacks []string) (*advise.Inquiry, error) {
	src := whatif.Source{Scenario: a.base.Scenario, Text: a.base.Text, Stack: stack, Stacks: stacks, Set: a.base.Set,
		Seed: a.opt.Seed, Known: a.base.Known}
	stderr := a.c.ErrOrStderr()
	meter := newMeter(stderr, a.quiet)
	ctx, stop, quiet := untilInterrupt(a.c.Context(), func() {
		meter.clear()
		fmt.Fprintln(stderr, "hopscope: stopping; once more to stop at once")
	})
	defer stop()
	defer func() { quiet(); meter.clear() }()
	lab, err := whatif.Open(ctx, src, a.workers, meter.show)
	if err != nil {
		if ctx.Err() != nil {
			return nil, interrupted(ctx, errors.New("interrupted before every run had ended; advice needs all"))
		}
		return nil, noRun(ctx, err)
	}
	subject, name := dataSubject(lab.Run)
	named, _ := lab.Named(subject)
	study := lab.Ask(ctx, subject, named, whatif.Budget{Runs: 1 + a.whatif, Workers: a.workers, Only: lasting},
		func(done, of int) {
			meter.draw(func(time.Duration) string {
				return fmt.Sprintf("what if, %s: %d of %d runs done", stack, done+1, min(of, a.whatif)+1)
			})
		})
	if ctx.Err() != nil {
		return nil, interrupted(ctx, errors.New("interrupted before every run had ended; advice needs all"))
	}
	q := &advise.Inquiry{Subject: name, TookPS: study.TookPS}
	for i := range study.Rows {
		if r := &study.Rows[i]; r.Note == "" {
			q.Causes = append(q.Causes, advise.Cause{Text: r.Text, Pair: len(r.Changes) > 1, TookPS: r.TookPS})
		}
	}
	return q, nil
}

// dataSubject is what an inquiry is about: the first job or collective, or the slowest message of the data plane.
func dataSubject(r *record.Run) (whatif.Subject, string) {
	if len(r.Jobs) > 0 {
		name := r.Jobs[0].Workload
		return whatif.Subject{Job: name, Message: -1}, "a step of job " + name
	}
	if len(r.Collectives) > 0 {
		c := &r.Collectives[0]
		return whatif.Subject{Collective: c.Workload, Message: slowestOf(r, c.Has)},
			"one " + c.Op + " of workload " + c.Workload
	}
	k := slowestOf(r, func(m *record.Message) bool { return m.Call == 0 })
	return whatif.Subject{Message: k}, "the slowest message, " + metrics.Arrow(&r.Messages[k]) + ","
}

// lasting reports whether a change is one that somebody could buy, mend or set: other traffic is the workload itself,
// and another stack's way of control a column of its own.
func lasting(c whatif.Change) bool {
	switch c.Kind {
	case whatif.Others, whatif.Entry, whatif.Earlier, whatif.Alone, whatif.Control, whatif.Pauses, whatif.Credits,
		whatif.Line:
		return false
	}
	return true
}

func (f *adviseFlags) write(c *cobra.Command, a *advise.Advice) error {
	var errs []error
	if f.json != "" {
		data, err := report.AdviceJSON(a)
		if err == nil {
			err = putJSON(c, f.json, data)
		}
		errs = append(errs, err)
	}
	if f.text != "" {
		errs = append(errs, putTo(c, f.text, func(w io.Writer) error { return report.AdviceMarkdown(w, a) }))
	}
	if !f.quiet && f.json != "-" && f.text != "-" {
		errs = append(errs, report.Advice(c.OutOrStdout(), a, textOptions(c)))
	}
	return failure(errors.Join(errs...))
}
