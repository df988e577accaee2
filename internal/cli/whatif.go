package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/page"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/whatif"
	"github.com/spf13/cobra"
)

// whatifFlags are the flags of hopscope whatif.
type whatifFlags struct {
	set     []string
	seed    uint64
	runs    int
	time    time.Duration
	json    string
	pics    pictures
	workers int
	quiet   bool
}

// defaultRuns is how many runs an inquiry makes at most: the scenario as it is, single
// changes and pairs.
const defaultRuns = 1 + whatif.MostCandidates + 3

func newWhatif(p Pipeline) *cobra.Command {
	var f whatifFlags
	c := &cobra.Command{
		Use:   "whatif SCENARIO|FILE [MESSAGE|COLLECTIVE|WORKLOAD|JOB]",
		Short: "Take causes away one at a time and say what a message, collective, workload or step gains",
		Long: "Each line is a complete run of the scenario with one thing changed: what the report names as\n" +
			"the cause, limits of both ends, ports on the way, other traffic, failures, pauses, windows.\n" +
			"MESSAGE is 'h2->h4', a number or slowest (the default); a COLLECTIVE, WORKLOAD or JOB is named.",
		Example: "  hopscope whatif victim-flow\n" +
			"  hopscope whatif victim-flow 'h1->h5'\n" +
			"  hopscope whatif allreduce-8x8 --time 20s",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return errors.New("whatif takes a scenario, and perhaps a message, collective or workload, such as: hopscope whatif victim-flow 'h1->h5'")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runWhatif(c, args, &f, p) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.set, "set", nil, "change a value of the scenario, `KEY=VALUE`; may be given several times")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of all random streams (default: the scenario's)")
	flags.IntVar(&f.runs, "runs", defaultRuns, "make at most `N` runs in all, the scenario as it is among them")
	flags.DurationVar(&f.time, "time", 0,
		"begin no run after this `TIME`, such as 20s, and break off what is under way (default: no limit)")
	flags.StringVar(&f.json, "json", "", "write the gains as JSON to `FILE` (-: to standard output, instead of the table)")
	f.pics.flags(flags, "the gains")
	flags.IntVar(&f.workers, "workers", 0, "runs at a time (default: all cores)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return c
}

func (f *whatifFlags) check(c *cobra.Command) error {
	switch {
	case f.runs < 2:
		return fmt.Errorf("--runs %d is less than an experiment: give at least 2, the scenario as it is and one change",
			f.runs)
	case c.Flags().Changed("time") && f.time <= 0:
		return fmt.Errorf("--time %v: give a time above 0, such as 20s", f.time)
	case !c.Flags().Changed("workers"):
		f.workers = runtime.GOMAXPROCS(0)
	case f.workers < 1:
		return fmt.Errorf("--workers %d: there must be at least 1", f.workers)
	}
	return nil
}

func runWhatif(c *cobra.Command, args []string, f *whatifFlags, p Pipeline) error {
	if err := f.check(c); err != nil {
		return err
	}
	if err := checkJSON(f.json); err != nil {
		return err
	}
	if err := f.pics.checkBeside(f.json); err != nil {
		return err
	}
	src := whatif.Source{Scenario: args[0], Set: f.set, Known: p.Known, Timeline: f.pics.wanted()}
	if c.Flags().Changed("seed") {
		src.Seed = &f.seed
	}
	if len(args) > 1 {
		src.Check = func(v *scenario.Valid) error { return checkSubject(v, args[1]) }
	}
	stderr := c.ErrOrStderr()
	tellLong(stderr, src.Scenario, src.Set, f.runs, f.quiet)
	meter := newMeter(stderr, f.quiet)
	ctx, stop, quiet := untilInterrupt(c.Context(), func() {
		meter.clear()
		fmt.Fprintln(stderr, "hopscope: stopping; once more to stop at once")
	})
	defer stop()
	settle := sync.OnceFunc(func() { quiet(); meter.clear() })
	defer settle()
	bounded := ctx
	if f.time > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, f.time)
		defer cancel()
	}
	lab, err := whatif.Open(bounded, src, f.workers, meter.show)
	if err != nil {
		settle()
		switch {
		case ctx.Err() != nil:
			return interrupted(ctx, errors.New("interrupted before the scenario had run as it is"))
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("--time %v is less than the scenario alone takes; give more", f.time)
		}
		return noRun(ctx, err)
	}
	subject := subjectOf(lab, args[1:])
	named, said := lab.Named(subject)
	study := lab.Ask(bounded, subject, named, whatif.Budget{Runs: f.runs, Workers: f.workers}, func(done, of int) {
		meter.draw(func(time.Duration) string { return fmt.Sprintf("%d of %d runs done", done+1, of+1) })
	})
	found := gains(study, said)
	if f.pics.wanted() {
		found.Compared = f.compared(bounded, lab, study)
	}
	settle()
	if err := f.write(c, lab, found); err != nil {
		return failure(err)
	}
	if ctx.Err() != nil {
		return interrupted(ctx, fmt.Errorf("interrupted; above is what %d runs came to", study.Runs))
	}
	return nil
}

// mostCompared is how many changes a page has beside the scenario as it is.
const mostCompared = 3

// compared runs the best changes once more, for what a page shows of each; nil: there is none.
func (f *whatifFlags) compared(ctx context.Context, lab *whatif.Lab, s *whatif.Study) *compare.Comparison {
	names, runs := []string{"as the scenario is"}, []*record.Run{lab.Run}
	for i := range s.Rows {
		if len(runs) > mostCompared || s.Rows[i].TookPS == units.Never {
			break
		}
		r, err := lab.Again(ctx, f.workers, s.Rows[i].Changes...)
		if err != nil {
			break
		}
		names, runs = append(names, s.Rows[i].Text), append(runs, r)
	}
	if len(runs) == 1 {
		return nil
	}
	return compare.Of(names, runs)
}

// write writes the gains to everything that was asked for.
func (f *whatifFlags) write(c *cobra.Command, lab *whatif.Lab, g *report.Gains) error {
	g.Scenario = lab.Run.Scenario
	return writeStudy(c, g, f.json, &f.pics, func() *page.Page {
		return page.Gains(g, page.Meta{Program: "hopscope " + version(), Scenario: lab.Valid.Source})
	})
}

// study is what several runs of a scenario came to.
type study interface {
	JSON() ([]byte, error)
	Text(w io.Writer, opt report.TextOptions) error
}

// writeStudy writes a study to everything that was asked for: pictures of the page that made
// makes, a file of JSON, and text unless one of these goes to standard output.
func writeStudy(c *cobra.Command, s study, json string, pics *pictures, made func() *page.Page) error {
	if pics.wanted() {
		if err := pics.write(c, made()); err != nil {
			return err
		}
	}
	if json != "" {
		data, err := s.JSON()
		if err == nil {
			err = putJSON(c, json, data)
		}
		if err != nil {
			return err
		}
	}
	if json == "-" || pics.html == "-" {
		return nil
	}
	return s.Text(c.OutOrStdout(), textOptions(c))
}

// checkSubject refuses what names no one message, workload or collective of a scenario.
func checkSubject(v *scenario.Valid, which string) error {
	for _, j := range v.Plan.Jobs {
		if w := v.Plan.Entries[j.Entry]; which == w || which == "job:"+w || which == "job" {
			return nil
		}
	}
	if report.NamesSeveral(which) {
		return &status{exitUser, fmt.Errorf("%s: whatif is about one message, workload or collective; name one", which)}
	}
	if err := namesOf(v).Check(which); err != nil {
		return &status{exitUser, err}
	}
	return nil
}

// subjectOf finds what is asked about: without a name the first job, the first collective, or the slowest message.
func subjectOf(l *whatif.Lab, args []string) (s whatif.Subject) {
	r := l.Run
	which := "slowest"
	switch {
	case len(args) > 0:
		which = args[0]
	case len(r.Jobs) > 0:
		which = r.Jobs[0].Workload
	case len(r.Collectives) > 0:
		which = r.Collectives[0].Workload
	}
	for i := range r.Jobs {
		if w := r.Jobs[i].Workload; which == w || which == "job:"+w || which == "job" && i == 0 {
			return whatif.Subject{Name: "step of " + w, Job: w, Message: -1}
		}
	}
	kind, name := "", which
	for _, k := range []string{"message", "workload", "collective"} {
		if rest, ok := strings.CutPrefix(which, k+":"); ok {
			kind, name = k, rest
		}
	}
	for i := range r.Collectives {
		if w := r.Collectives[i].Workload; kind != "message" && kind != "workload" && (w == name || name == "collective" &&
			kind == "") {
			s.Name, s.Collective, s.Message = "collective "+w, w, slowestOf(r, r.Collectives[i].Has)
			return s
		}
	}
	if slices.Contains(l.Valid.Plan.Entries, name) && (kind == "" || kind == "workload") {
		s.Message = slowestOf(r, func(f *record.Message) bool { return f.Workload == name })
		s.Name, s.Workload = "slowest of workload "+name, name
		return s
	}
	s.Message, _ = report.Find(r, name)
	f := &r.Messages[s.Message]
	s.Name = fmt.Sprintf("%s, message %d of workload %s", metrics.Arrow(f), s.Message, f.Workload)
	switch {
	case metrics.Open(f):
		s.Name += ", which had not ended when the run did (by " + r.Stopped + ")"
	case !metrics.Completed(f):
		s.Name += ", which failed (" + f.Status + ")"
	}
	return s
}

// slowestOf is the message of some that took longest; -1: there is none.
func slowestOf(r *record.Run, of func(*record.Message) bool) int {
	slowest, most := -1, units.Time(-1)
	for i := range r.Messages {
		f := &r.Messages[i]
		took := f.CompletionPS
		if took < 0 {
			took = units.Never
		}
		if of(f) && took > most {
			slowest, most = i, took
		}
	}
	return slowest
}

// gains is a study as reports write it. said is what a report says of the subject.
func gains(s *whatif.Study, said string) *report.Gains {
	g := &report.Gains{Subject: s.Subject.Name, Said: said, TookPS: s.TookPS, Extra: s.Extra, Verdict: s.Verdict(),
		Runs: s.Runs,
		Left: s.Left, Completions: s.Completions}
	for i := range s.Rows {
		r := &s.Rows[i]
		g.Rows = append(g.Rows, report.Gain{Text: r.Text, TookPS: r.TookPS, Extra: r.Extra, Share: r.Gain, Note: r.Note,
			Named: r.Named, Completions: r.Completions})
	}
	return g
}
