package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/hopscope/hopscope/internal/advise"
	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/spf13/cobra"
)

// maxPrices bounds a file of prices in bytes.
const maxPrices = 1 << 20

// adviseFlags are the flags of hopscope advise.
type adviseFlags struct {
	input
	prices  string
	seeds   int
	seed    uint64
	json    string
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
	if err := checkJSON(f.json); err != nil {
		return opt, nil, err
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
	opt.Stacks = []string{""}
	own, _, err := f.observe(c, base, opt, p)
	if err != nil {
		return err
	}
	for _, o := range own[""] {
		switch {
		case o.Trouble != "":
			return fmt.Errorf("%s, stack %s, ends with %s (seed %d), so that "+
				"there is nothing to advise on; hopscope run says why",
				v.Name, v.Stack, o.Trouble, o.Seed)
		case o.Messages == 0:
			return fmt.Errorf("%s has no data plane: all its messages belong to remote procedure calls; "+
				"add the flows that carry data", v.Name)
		}
	}
	stacks, why := adviseStacks(base, v)
	if opt.Stacks = stacks; len(stacks) == 0 {
		return fmt.Errorf("%s runs over none of the stacks that advise weighs; hopscope compare %s says why", v.Name, v.Name)
	}
	seen, result, err := f.observe(c, base, opt, p)
	if err != nil {
		return err
	}
	runs := advise.Runs{Seen: seen, Why: why, CallsOver: own[""][0].CallsOver}
	a := advise.Of(result.Scenario, result.Description, runs, prices)
	return f.write(c, a)
}

// adviseStacks lists the stacks that can run a scenario, of those that advice weighs, and why the others cannot.
func adviseStacks(base run.Options, v *scenario.Valid) (stacks []string, why map[string]string) {
	for _, choice := range advise.Choices() {
		stacks = append(stacks, choice.Stack)
		if choice.RDMA && v.DataInGPUs() {
			stacks = append(stacks, advise.Staged(choice.Stack))
		}
		if choice.Variant != "" {
			stacks = append(stacks, choice.Variant)
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
		}
		return err != nil
	}), why
}

// observe runs stacks and keeps of each, by seed, what advice needs.
func (f *adviseFlags) observe(c *cobra.Command, base run.Options, opt compare.Options, p Pipeline) (
	map[string][]*advise.Seen, *compare.Comparison, error) {
	seen := map[string][]*advise.Seen{} // by stack
	var mu sync.Mutex
	kept := p
	kept.Do = func(ctx context.Context, one run.Options) (*record.Run, *scenario.Valid, error) {
		r, v, err := p.Do(ctx, one)
		if err == nil && r != nil && r.Stopped != "interrupted" {
			o := advise.Read(r)
			mu.Lock()
			seen[one.Stack] = append(seen[one.Stack], o)
			mu.Unlock()
		}
		return r, v, err
	}
	ctx, result, stop, err := runAll(c, base, opt, f.quiet, kept)
	defer stop()
	switch {
	case errors.Is(err, compare.ErrInterrupted):
		return nil, nil, interrupted(ctx, fmt.Errorf("%w; advice needs all", err))
	case err != nil:
		return nil, nil, noRun(ctx, err)
	}
	for _, s := range opt.Stacks {
		slices.SortFunc(seen[s], func(a, b *advise.Seen) int { return cmp.Compare(a.Seed, b.Seed) })
	}
	return seen, result, nil
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
	if !f.quiet && f.json != "-" {
		errs = append(errs, report.Advice(c.OutOrStdout(), a, textOptions(c)))
	}
	return failure(errors.Join(errs...))
}
