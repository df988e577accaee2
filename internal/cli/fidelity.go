package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/hopscope/hopscope/fidelity"
	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/spf13/cobra"
)

// fidelityFlags are the flags of hopscope fidelity.
type fidelityFlags struct {
	short, list  bool
	data         string
	record, json string
	workers      int
	quiet        bool
}

func newFidelity() *cobra.Command {
	var f fidelityFlags
	c := &cobra.Command{
		Use:   "fidelity [CASE...]",
		Short: "Run the published cases and hold what is measured to what is expected",
		Long: "fidelity runs published cases, closed forms and reference runs of the ns-3 RDMA\n" +
			"simulators through the same pipeline as any scenario and prints expected, measured,\n" +
			"tolerance and source. The exit status is 1 if a figure missed.",
		Example: "  hopscope fidelity --short\n" +
			"  hopscope fidelity F6 F7\n" +
			"  HOPSCOPE_DATA=data hopscope fidelity ns3 --record fidelity/results",
		RunE: func(c *cobra.Command, args []string) error { return runFidelity(c, args, f) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.short, "short", false, "leave out what takes long")
	flags.BoolVar(&f.list, "list", false, "list the cases and run nothing")
	flags.StringVar(&f.data, "data", "", "`DIR` that holds ns3/, the reference runs (default: $HOPSCOPE_DATA)")
	flags.StringVar(&f.record, "record", "", "write the table to `DIR`, in a new file named after date and commit")
	flags.StringVar(&f.json, "json", "", "write the figures as JSON to `FILE` (-: to standard output, instead of the table)")
	flags.IntVar(&f.workers, "workers", 0, "cases that run at the same time; figures do not depend on it (default: all cores)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no table and no progress")
	return c
}

// options checks the flags before anything runs.
func (f *fidelityFlags) options(c *cobra.Command, args []string) (fidelity.Options, error) {
	opt := fidelity.Options{Cases: args, Short: f.short, Data: f.data, Workers: f.workers}
	if f.data == "" {
		opt.Data = os.Getenv("HOPSCOPE_DATA")
	}
	if opt.Data != "" {
		if info, err := os.Stat(filepath.Join(opt.Data, "ns3")); err != nil || !info.IsDir() {
			return opt, fmt.Errorf("%s holds no folder ns3; name the folder above the reference runs with --data or HOPSCOPE_DATA", opt.Data)
		}
	}
	if !c.Flags().Changed("workers") {
		opt.Workers = runtime.GOMAXPROCS(0)
	} else if f.workers < 1 {
		return opt, fmt.Errorf("--workers %d: there must be at least 1", f.workers)
	}
	if f.record != "" {
		if err := os.MkdirAll(f.record, 0o755); err != nil {
			return opt, fmt.Errorf("--record %s: it must name a directory, or one that can be made (%w)", f.record, err)
		}
	}
	return opt, checkJSON(f.json)
}

func runFidelity(c *cobra.Command, args []string, f fidelityFlags) error {
	if f.list {
		return failure(report.FidelityList(c.OutOrStdout(), fidelity.Catalogue(), textOptions(c)))
	}
	opt, err := f.options(c, args)
	if err != nil {
		return err
	}
	stderr := c.ErrOrStderr()
	meter := newMeter(stderr, f.quiet)
	opt.Progress = func(p fidelity.Progress) {
		meter.draw(func(time.Duration) string {
			return fmt.Sprintf("%d of %d cases done, %s run %d", p.Done, p.Cases, p.Case, p.Runs)
		})
	}
	var write error
	opt.Done = func(one fidelity.CaseResult) {
		if !f.quiet && f.json != "-" {
			meter.clear()
			write = errors.Join(write, report.FidelityCase(c.OutOrStdout(), &one, textOptions(c)))
		}
	}
	ctx, stop, quiet := untilInterrupt(c.Context(), func() {
		meter.clear()
		fmt.Fprintln(stderr, "hopscope: stopping; once more to stop at once")
	})
	defer stop()
	r, err := fidelity.Run(ctx, opt)
	quiet()
	meter.clear()
	if r == nil {
		return err
	}
	return f.finish(c, r, errors.Join(write, interruption(ctx, err)), opt)
}

// interruption is err as the status of a program that was stopped.
func interruption(ctx context.Context, err error) error {
	if ctx.Err() != nil && err != nil {
		return interrupted(ctx, err)
	}
	return err
}

// finish writes what stands at the end and in files, and returns what the
// command ends with: what went wrong, or what missed.
func (f *fidelityFlags) finish(c *cobra.Command, r *fidelity.Result, err error, opt fidelity.Options) error {
	if !f.quiet && f.json != "-" {
		err = errors.Join(err, report.FidelityEnd(c.OutOrStdout(), r, textOptions(c)))
	}
	if f.json != "" {
		data, e := report.FidelityJSON(r)
		if e == nil {
			e = putJSON(c, f.json, data)
		}
		err = errors.Join(err, e)
	}
	if f.record != "" && err == nil {
		err = recordFidelity(f.record, r, opt, time.Now().UTC().Format("2006-01-02"), commit())
	}
	if err != nil {
		var s *status
		if errors.As(err, &s) {
			return err
		}
		return failure(err)
	}
	if figures, missed := r.Counts(); missed > 0 {
		return failure(fmt.Errorf("%d of %d figures missed", missed, figures))
	}
	return nil
}

// recordFidelity writes the whole table to dir/<date>-<commit>.txt; a record of
// the same day and commit stays, the next one ends in -2, -3 and so on.
func recordFidelity(dir string, r *fidelity.Result, opt fidelity.Options, date, commit string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Fidelity of hopscope at commit %s, %s", commit, date)
	if opt.Short {
		b.WriteString("; the short form")
	}
	if opt.Data == "" {
		b.WriteString("; without reference runs")
	}
	b.WriteString("\n\n")
	for i := range r.Cases {
		if err := report.FidelityCase(&b, &r.Cases[i], report.TextOptions{}); err != nil {
			return err
		}
	}
	if err := report.FidelityEnd(&b, r, report.TextOptions{}); err != nil {
		return err
	}
	name, err := freeName(filepath.Join(dir, date+"-"+commit), ".txt")
	if err != nil {
		return err
	}
	return files.Put(name, b.Bytes())
}

// freeName is the first of base+ext, base-2+ext, base-3+ext ... that names no
// file yet.
func freeName(base, ext string) (string, error) {
	name := base + ext
	for n := 2; ; n++ {
		_, err := os.Lstat(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return name, nil
		case err != nil:
			return "", err
		}
		name = fmt.Sprintf("%s-%d%s", base, n, ext)
	}
}

// commit is the commit that the program was built from, with "-dirty" when
// files differed from it; "unknown" when the go command did not record it.
func commit() string {
	name, dirty := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 7:
				name = s.Value[:7]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "-dirty"
			}
		}
	}
	return name + dirty
}
