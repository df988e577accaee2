package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/diff"
	"github.com/hopscope/hopscope/internal/page"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/spf13/cobra"
)

// diffFlags are the flags of hopscope diff.
type diffFlags struct {
	json     string
	pics     pictures
	exitCode bool
}

func newDiff() *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:   "diff DIR DIR",
		Short: "Set two run directories side by side: parameters, figures, answers, sentences",
		Long: "diff prints what tells two runs apart that run --out wrote: parameters that differ, figures\n" +
			"with ratios, and answers and sentences that changed. The exit status is 0 whether they differ\n" +
			"or not; with --exit-code it is 1 if they do.",
		Example: "  hopscope run mixed-traffic --out before\n" +
			"  hopscope run mixed-traffic --set switch.ecn.kmin=100KB --out after\n" +
			"  hopscope diff before after",
		RunE: f.run,
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.exitCode, "exit-code", false, "exit with status 1 if the runs differ, as git diff --exit-code does")
	flags.StringVar(&f.json, "json", "",
		"write the difference as JSON to `FILE` (-: to standard output, instead of the text)")
	f.pics.flags(flags, "both runs")
	return c
}

func (f *diffFlags) run(c *cobra.Command, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("diff takes two run directories, such as hopscope diff before after; %d given", len(args))
	}
	if err := checkJSON(f.json); err != nil {
		return err
	}
	if err := f.pics.checkBeside(f.json); err != nil {
		return err
	}
	if a, err := os.Stat(args[0]); err == nil {
		if b, err := os.Stat(args[1]); err == nil && os.SameFile(a, b) {
			return fmt.Errorf("%s and %s are one directory; name two", args[0], args[1])
		}
	}
	var runs [2]diff.Run
	for i, dir := range args {
		meter := newMeter(c.ErrOrStderr(), false)
		r, meta, err := report.Load(dir, report.Reading{Workers: runtime.GOMAXPROCS(0), Progress: meter.read})
		meter.clear()
		if err != nil {
			return err
		}
		runs[i] = diff.Run{Dir: dir, Run: r, Meta: meta}
	}
	d := diff.Of(runs[0], runs[1])
	err := writeStudy(c, d, f.json, &f.pics, func() *page.Page {
		both := compare.Of([]string{"A: " + args[0], "B: " + args[1]}, []*record.Run{runs[0].Run, runs[1].Run})
		return page.Comparison(both, page.Meta{Program: "hopscope " + version(), Scenario: runs[1].Source})
	})
	if err != nil {
		return failure(err)
	}
	if f.exitCode && !d.Equal {
		return &status{exitFailure, errors.New("")} // the text has said it
	}
	return nil
}
