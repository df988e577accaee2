package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/page"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/spf13/cobra"
)

// runSeeds runs a scenario with several seeds: a comparison of one stack, which is the
// scenario's own.
func runSeeds(c *cobra.Command, args []string, f runFlags, p Pipeline) error {
	if err := f.checkSeeds(c); err != nil {
		return err
	}
	base, err := f.options(c, args)
	if err != nil {
		return err
	}
	if _, err := f.checkTargets(c, args); err != nil {
		return err
	}
	opt := compare.Options{Stacks: []string{""}, Seeds: f.seeds, Seed: base.Seed, Workers: base.Workers}
	ctx, result, stop, err := runAll(c, base, opt, f.quiet, p)
	defer stop()
	switch {
	case errors.Is(err, compare.ErrInterrupted) && result == nil:
		return interrupted(ctx, fmt.Errorf("%w; none had", err))
	case errors.Is(err, compare.ErrInterrupted):
		err = fmt.Errorf("%w; above are %d of %d seeds", err, len(result.Seeds), f.seeds)
		return interrupted(ctx, errors.Join(err, f.writeSeeds(c, base, result)))
	case err != nil:
		return noRun(ctx, err)
	}
	if err := f.writeSeeds(c, base, result); err != nil {
		return err
	}
	return seedsOutcome(&result.Stacks[0])
}

// checkSeeds refuses what is about one run only.
func (f *runFlags) checkSeeds(c *cobra.Command) error {
	for _, name := range []string{"out", "series", "series-out", "explain", "mechanisms", "brief",
		"ns3-out", "nccl-out", "counters", "perfetto", "openmetrics", "verbose",
		"pcap", "pcap-ports", "pcap-snaplen", "pcap-max"} {
		if c.Flags().Changed(name) {
			return fmt.Errorf("--%s is about one run, and --seeds makes a run for each seed; leave one of them out", name)
		}
	}
	return checkSeeds(f.seeds, f.seed, c.Flags().Changed("seed"))
}

// writeSeeds writes what came of all seeds to everything that was asked for.
func (f *runFlags) writeSeeds(c *cobra.Command, base run.Options, result *compare.Comparison) error {
	var errs []error
	if f.csv != "" {
		errs = append(errs, report.WriteSeedsCSV(f.csv, result))
	}
	if f.json != "" {
		data, err := report.CompareJSON(result)
		if err == nil {
			err = putJSON(c, f.json, data)
		}
		errs = append(errs, err)
	}
	if f.pictures.wanted() {
		errs = append(errs, f.pictures.write(c, page.Comparison(result, pageMeta(base))))
	}
	if !f.quiet && f.json != "-" && f.pictures.html != "-" {
		errs = append(errs, report.Seeds(c.OutOrStdout(), result, textOptions(c)))
	}
	return failure(errors.Join(errs...))
}

// seedsOutcome is the error, if any, with which runs end of which some came to no end.
func seedsOutcome(s *compare.Column) error {
	var stuck []string
	for i := range s.Runs {
		if r := &s.Runs[i]; r.Stopped == "deadlock" || r.Stopped == "stalled" {
			stuck = append(stuck, fmt.Sprintf("seed %d: %s", r.Seed, r.Stopped))
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	return failure(fmt.Errorf("%d of %d runs did not end: %s", len(stuck), len(s.Runs), strings.Join(stuck, ", ")))
}
