package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/hopscope/hopscope/internal/diagnose"
	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/foreign"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/ncclog"
	"github.com/hopscope/hopscope/internal/page"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/spf13/cobra"
)

// diagnoseFlags are the flags of hopscope diagnose.
type diagnoseFlags struct {
	set     []string
	largest int
	runs    int
	time    time.Duration
	json    string
	pics    pictures
	workers int
	quiet   bool
}

func newDiagnose(p Pipeline) *cobra.Command {
	var f diagnoseFlags
	c := &cobra.Command{
		Use:   "diagnose LOG [LOG] SCENARIO|FILE",
		Short: "Find the fault that explains a log of nccl-tests",
		Long: "diagnose runs a scenario's collective over the sizes of a log that nccl-tests printed, or\n" +
			"wrote with -J, as it is and with one fault each, and says which curve fits over all\n" +
			"sizes and what to look at on the machine. Of two logs, of good and of bad nodes, it sets\n" +
			"the slower one against the other.",
		Example: "  hopscope diagnose all_reduce.log cluster.yaml\n" +
			"  hopscope diagnose bad.log good.log cluster.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 || len(args) > 3 {
				return errors.New("diagnose takes a log of nccl-tests, or two, and the scenario of a healthy machine, such " +
					"as: hopscope diagnose all_reduce.log cluster.yaml")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runDiagnose(c, args, &f, p) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.set, "set", nil, "change a value of the scenario, `KEY=VALUE`; may be given several times")
	flags.IntVar(&f.largest, "largest", diagnose.DefaultLargest>>20, "run sizes up to so many `MiB`; beyond, time "+
		"grows by bandwidth alone")
	flags.IntVar(&f.runs, "runs", 0, "make at most `N` runs in all, the scenario as it is among them (default: no limit)")
	flags.DurationVar(&f.time, "time", 0, "begin no run after this `TIME`, such as 20s, and break off what is under way "+
		"(default: no limit)")
	flags.StringVar(&f.json, "json", "",
		"write the diagnosis as JSON to `FILE` (-: to standard output, instead of the text)")
	f.pics.flags(flags, "the diagnosis")
	flags.IntVar(&f.workers, "workers", 0, "runs at a time (default: all cores)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return c
}

// maxLog bounds a log in bytes.
const maxLog = 64 << 20

// readLog reads a log of nccl-tests.
func readLog(name string) (*ncclog.Log, error) {
	text, err := files.Read(name, maxLog)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w; name a log of nccl-tests", name, files.Reason(err))
	}
	log, err := ncclog.Parse(name, text)
	if other := foreign.Instead(text, "a log of nccl-tests", foreign.NCCLTests); err != nil && other != "" {
		return nil, fmt.Errorf("%s: %s", name, other)
	}
	return log, err
}

func runDiagnose(c *cobra.Command, args []string, f *diagnoseFlags, p Pipeline) error {
	switch {
	case f.largest < 1 || f.largest > 16<<10:
		return fmt.Errorf("--largest %d: give 1 to %d MiB", f.largest, 16<<10)
	case c.Flags().Changed("runs") && f.runs < 2:
		return fmt.Errorf("--runs %d is less than a comparison: give at least 2, the scenario as it is and one fault", f.runs)
	case c.Flags().Changed("time") && f.time <= 0:
		return fmt.Errorf("--time %v: give a time above 0, such as 20s", f.time)
	case !c.Flags().Changed("workers"):
		f.workers = runtime.GOMAXPROCS(0)
	case f.workers < 1:
		return fmt.Errorf("--workers %d: there must be at least 1", f.workers)
	}
	if err := checkJSON(f.json); err != nil {
		return err
	}
	if err := f.pics.checkBeside(f.json); err != nil {
		return err
	}
	names, scenario := args[:len(args)-1], args[len(args)-1]
	var logs []*ncclog.Log
	for _, name := range names {
		l, err := readLog(name)
		if err != nil {
			return err
		}
		logs = append(logs, l)
	}
	src := diagnose.Source{Scenario: scenario, Set: f.set, Known: p.Known}
	lab, err := diagnose.Open(src, int64(f.largest)<<20, names, logs...)
	if err != nil {
		return err
	}
	stopped, err := f.run(c, lab)
	if err != nil {
		return err
	}
	d, err := lab.Judge(logs...)
	if err != nil {
		return err
	}
	if err := f.write(c, diagnosis(lab, d, names, logs), scenario); err != nil {
		return failure(err)
	}
	return stopped
}

// write writes the diagnosis to everything that was asked for.
func (f *diagnoseFlags) write(c *cobra.Command, d *report.Diagnosis, scenario string) error {
	return writeStudy(c, d, f.json, &f.pics, func() *page.Page {
		return page.Diagnosis(d, pageMeta(run.Options{Scenario: scenario, Set: f.set}))
	})
}

// run runs the hypotheses within the budget, with progress; stopped is the exit's error where the
// user ended it, and what is over can be judged.
func (f *diagnoseFlags) run(c *cobra.Command, lab *diagnose.Lab) (stopped, err error) {
	stderr := c.ErrOrStderr()
	meter := newMeter(stderr, f.quiet)
	ctx, stop, quiet := untilInterrupt(c.Context(), func() {
		meter.clear()
		fmt.Fprintln(stderr, "hopscope: stopping; once more to stop at once")
	})
	defer stop()
	bounded := ctx
	if f.time > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, f.time)
		defer cancel()
	}
	runs := 0
	err = lab.Run(bounded, diagnose.Budget{Workers: f.workers, Runs: f.runs}, func(n, of int) {
		runs = max(runs, n)
		meter.draw(func(time.Duration) string { return fmt.Sprintf("%d of %d runs done", n, of) })
	})
	quiet()
	meter.clear()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("--time %v is less than the scenario alone takes; give more", f.time)
	case errors.Is(err, context.Canceled):
		return nil, interrupted(ctx, errors.New("interrupted before the scenario had run as it is"))
	case err != nil:
		return nil, noRun(ctx, err)
	case ctx.Err() != nil:
		return interrupted(ctx, fmt.Errorf("interrupted; above is what %d runs came to", runs)), nil
	}
	return nil, nil
}

// diagnosis is what was found, as reports write it.
func diagnosis(lab *diagnose.Lab, d *diagnose.Diagnosis, names []string, logs []*ncclog.Log) *report.Diagnosis {
	if d.Swapped {
		names = []string{names[1], names[0]}
		logs = []*ncclog.Log{logs[1], logs[0]}
	}
	out := &report.Diagnosis{Untried: lab.Untried, Left: lab.Left}
	out.Subject = fmt.Sprintf("%s: %s over %d ranks, %d sizes from %s to %s", names[0], lab.Op, lab.Ranks, len(d.Sizes),
		metrics.FormatBytes(int64(d.Sizes[0])), metrics.FormatBytes(int64(d.Sizes[len(d.Sizes)-1])))
	if d.Good != nil {
		out.Subject += ", against " + names[1] + ", which is faster"
	}
	for i, l := range logs {
		if l.Cut > 0 {
			out.Notes = append(out.Notes, fmt.Sprintf("%s:%d: the log breaks off here; its %d whole rows are read",
				names[i], l.Cut, len(l.Rows)))
		}
	}
	out.Rows = append(out.Rows, report.Suspect{Name: "none: as the scenario is", Misfit: d.Healthy.Misfit, Healthy: true})
	best := d.Healthy
	for i, f := range d.Findings {
		if i == 0 {
			best, out.Best = f, f.Names()
		}
		out.Rows = append(out.Rows, report.Suspect{Name: f.Names(), Misfit: f.Misfit, Evidence: f.Evidence})
	}
	for i, s := range d.Sizes {
		row := report.DiagnosedSize{Bytes: int64(s), US: d.US[i], HealthyUS: lab.Healthy.At(s), SuspectUS: best.Curve.At(s)}
		if d.Good != nil {
			row.Good = d.Good[i]
		}
		out.Sizes = append(out.Sizes, row)
	}
	out.Verdict, out.Checks = verdict(d)
	return out
}

// poor is the misfit for each size from which on a curve does not fit, even the best.
const poor = 3

// verdict is what was found in a sentence or two, and what to check.
func verdict(d *diagnose.Diagnosis) (text string, checks []string) {
	named := d.Named()
	if len(named) == 0 {
		text = "Nothing found: no fault explains the log clearly better than the scenario as it is."
		if d.Healthy.Misfit > poor {
			text += " But that does not fit well either: see that topology, server, NCCL's version and variables are the " +
				"machine's."
		}
		return text, nil
	}
	text = "Found: " + named[0].Names() + "."
	if named[0].Evidence < diagnose.Strong {
		text = "Perhaps: " + named[0].Names() + "; the evidence is weak."
	}
	for i := range named[0].Like {
		other := &named[0].Like[i]
		text += fmt.Sprintf(" This log cannot tell %s from %s; %s can.", named[0].Name, other.Name,
			apart(d, &named[0].Fault, other))
	}
	if named[0].Misfit > poor {
		text += " It fits best, and yet not well: there may be another fault, or the scenario is not the machine's."
	}
	for i := range named[1:] {
		other := &named[i+1]
		text += fmt.Sprintf(" Nearly as good a fit is %s; %s can tell them apart.", other.Names(),
			apart(d, &named[0].Fault, &other.Fault))
	}
	for _, f := range named {
		for _, fault := range append([]diagnose.Fault{f.Fault}, f.Like...) {
			for _, check := range fault.Checks {
				if !slices.Contains(checks, check) {
					checks = append(checks, check)
				}
			}
		}
	}
	return text, checks
}

// apart is what tells two faults apart: a size that the log lacks, if any does by a tenth, and what to check.
func apart(d *diagnose.Diagnosis, a, b *diagnose.Fault) string {
	if at := diagnose.Apart(a, b); at.By > 0.1 && !slices.Contains(d.Sizes, at.Bytes) {
		return fmt.Sprintf("a test of %.0f B (%.1f us against %.1f us) or the checks below", at.Bytes, a.Curve.At(at.Bytes),
			b.Curve.At(at.Bytes))
	}
	return "the checks below"
}
