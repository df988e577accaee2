package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/hopscope/hopscope/internal/claims"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/spf13/cobra"
)

// claimsFlags are the flags of hopscope claims.
type claimsFlags struct {
	off        bool
	seed       uint64
	rate, size string
	json       string
	workers    int
	quiet      bool
}

func newClaims(p Pipeline) *cobra.Command {
	var f claimsFlags
	c := &cobra.Command{
		Use:   "claims [N...]",
		Short: "Run what is said of TCP, RoCEv2, InfiniBand and GPUDirect as experiments, each with what would refute it",
		Long: "claims runs every claim, or those that are numbered, and says by their figures whether each\n" +
			"holds, holds under a condition, or does not. One claim is shown in full: the commands that\n" +
			"repeat it, its figures and comparisons, and what would refute it.",
		Example: "  hopscope claims\n" +
			"  hopscope claims 1\n" +
			"  hopscope claims 1 --off\n" +
			"  hopscope claims 1 --rate 800Gbps --seed 7\n" +
			"  hopscope claims --lang zh",
		RunE: func(c *cobra.Command, args []string) error { return runClaims(c, args, f, p) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	addLang(flags)
	flags.BoolVar(&f.off, "off", false, "take away the mechanism that each claim is about: its verdict turns")
	flags.Uint64Var(&f.seed, "seed", 0, "run with this seed (default: the scenario's)")
	flags.StringVar(&f.rate, "rate", "", "run with links of this `RATE`, of those that the claim is stated for")
	flags.StringVar(&f.size, "size", "", "run with messages of this `SIZE`, likewise")
	flags.StringVar(&f.json, "json", "", "write as JSON to `FILE` (-: to standard output, instead of the text)")
	flags.IntVar(&f.workers, "workers", 0, "runs at the same time; figures do not depend on it (default: all cores)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no text and no progress")
	return c
}

// jobs are the claims that are named, or all, at the point that the flags say.
func (f *claimsFlags) jobs(c *cobra.Command, args []string) ([]claims.Job, error) {
	all := claims.All()
	point := claims.Point{Rate: f.rate, Size: f.size, Off: f.off}
	if c.Flags().Changed("seed") {
		point.Seed = &f.seed
	}
	if len(args) != 1 && (f.rate != "" || f.size != "") {
		return nil, errors.New("--rate and --size are for one claim, as each is stated for some of its own: " +
			"hopscope claims N --rate 100Gbps")
	}
	var numbers []int
	for _, word := range args {
		n, err := claims.Find(all, word)
		if err != nil {
			return nil, err
		}
		if slices.Contains(numbers, n) {
			return nil, fmt.Errorf("claim %d is named twice; once is enough", n)
		}
		numbers = append(numbers, n)
	}
	for n := 1; len(args) == 0 && n <= len(all); n++ {
		numbers = append(numbers, n)
	}
	var jobs []claims.Job
	for _, n := range numbers {
		if msg := all[n-1].CheckPoint(n, point); msg != "" {
			return nil, errors.New(msg)
		}
		jobs = append(jobs, claims.Job{Number: n, Claim: &all[n-1], Point: point})
	}
	return jobs, nil
}

func runClaims(c *cobra.Command, args []string, f claimsFlags, p Pipeline) error {
	if err := checkJSON(f.json); err != nil {
		return err
	}
	if !c.Flags().Changed("workers") {
		f.workers = runtime.GOMAXPROCS(0)
	} else if f.workers < 1 {
		return fmt.Errorf("--workers %d: there must be at least 1", f.workers)
	}
	jobs, err := f.jobs(c, args)
	if err != nil {
		return err
	}
	stderr := c.ErrOrStderr()
	meter := newMeter(stderr, f.quiet)
	opt := claims.Options{Workers: f.workers}
	opt.Do = func(ctx context.Context, s claims.Spec) (*record.Run, error) {
		r, _, err := p.Do(ctx, run.Options{Scenario: s.Scenario, Set: s.Set, Seed: s.Seed, Workers: 1})
		return r, err
	}
	opt.Progress = func(done, all int) {
		meter.draw(func(time.Duration) string { return fmt.Sprintf("%d of %d runs done", done, all) })
	}
	ctx, stop, quiet := untilInterrupt(c.Context(), func() {
		meter.clear()
		fmt.Fprintln(stderr, "hopscope: stopping; once more to stop at once")
	})
	defer stop()
	results, err := claims.Judge(ctx, jobs, opt)
	quiet()
	meter.clear()
	if err != nil {
		return noRun(ctx, err)
	}
	return f.write(c, results)
}

func (f *claimsFlags) write(c *cobra.Command, results []claims.Result) error {
	var errs []error
	if f.json != "" {
		data, err := report.ClaimsJSON(results)
		if err == nil {
			err = putJSON(c, f.json, data)
		}
		errs = append(errs, err)
	}
	if !f.quiet && f.json != "-" {
		if len(results) == 1 {
			errs = append(errs, report.Claim(c.OutOrStdout(), &results[0], language(c), textOptions(c)))
		} else {
			errs = append(errs, report.Claims(c.OutOrStdout(), results, language(c), textOptions(c)))
		}
	}
	return failure(errors.Join(errs...))
}
