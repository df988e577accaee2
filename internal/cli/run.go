package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/hopscope/hopscope/internal/counters"
	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/importers"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/page"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/spf13/cobra"
)

// runFlags are the flags of hopscope run.
type runFlags struct {
	input
	details
	json, csv, out string
	ns3Out         string
	ncclOut        string
	counters       string
	perfetto       string
	openmetrics    openMetrics
	series         seriesFlags
	pcap           pcapFlags
	pictures       pictures
	seed           uint64
	seeds          int
	workers        int
	level          string
	quiet, verbose bool
}

func newRun(p Pipeline) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run SCENARIO|FILE",
		Short: "Run a scenario and report who detected, fed back, slowed, held, recovered and rerouted",
		Example: "  hopscope run incast-4to1\n" +
			"  hopscope run incast-4to1 --set topology.star.hosts=9 --json result.json\n" +
			"  hopscope run incast-4to1 --seeds 12\n" +
			"  hopscope run incast-4to1 --mechanisms --explain slowest\n" +
			"  hopscope run my.yaml --out results && hopscope report results\n" +
			"  hopscope run incast-4to1 --series queue,rate --every 1us --series-out series\n" +
			"  hopscope run lossy-incast --pcap lossy.pcapng --pcap-ports sw:17,h0\n" +
			"  hopscope run --ns3 mix/config.txt --ns3-out mix\n" +
			"  hopscope run --topo net.topo --cm load.cm",
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("seeds") {
				return runSeeds(c, args, f, p)
			}
			return runScenario(c, args, f, p)
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.json, "json", "", "write the result as JSON to `FILE` (-: to standard output, instead of the report)")
	flags.StringVar(&f.csv, "csv", "", "write messages.csv, accounts.csv, slowdowns.csv, rpcs.csv, ports.csv, qps.csv, ledger.csv, mechanisms.csv and cpu.csv to `DIR`, and of collectives collectives.csv and critical.csv")
	flags.StringVar(&f.out, "out", "", "keep result and scenario in the run directory `DIR`, for hopscope report")
	f.pictures.flags(flags, "the run")
	f.changes(flags, p)
	flags.Uint64Var(&f.seed, "seed", 0, "seed of all random streams (default: the scenario's)")
	flags.IntVar(&f.seeds, "seeds", 0, "run with `N` seeds and print median and range of each figure; --json and --csv get a row per seed")
	flags.IntVar(&f.workers, "workers", 0, "worker threads; results do not depend on it (default: all idle cores)")
	flags.StringVar(&f.level, "level", "", "how to come to the result: "+strings.Join(run.Levels(), " or ")+
		" (`LEVEL`; default: "+run.Levels()[0]+", which runs what is alike once; the result is the same; "+
		"flow shares links among flows in place of packets: tens of thousands of GPUs, and less exact)")
	f.details.flags(flags)
	f.foreign(flags, p)
	flags.StringVar(&f.ns3Out, "ns3-out", "", "write fct.txt and pfc.txt to `DIR` as the ns-3 RDMA simulators do")
	flags.StringVar(&f.counters, "counters", "", countersText)
	flags.StringVar(&f.ncclOut, "nccl-out", "", "write the collectives to `FILE` as nccl-tests prints them (-: to standard output as well)")
	flags.StringVar(&f.perfetto, "perfetto", "", perfettoText)
	flags.StringVar(&f.openmetrics.file, "openmetrics", "", openmetricsText)
	f.series.add(flags)
	f.pcap.add(flags)
	addLang(flags)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no report and no progress")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print every message, port and parameter with its source")
	return c
}

func runScenario(c *cobra.Command, args []string, f runFlags, p Pipeline) error {
	opt, err := f.options(c, args)
	if err != nil {
		return err
	}
	dir, err := f.checkTargets(c, args)
	if err != nil {
		return err
	}
	if dir != nil {
		defer dir.Close()
	}
	capture, err := f.pcap.begin(c, f.quiet, &opt)
	if err != nil {
		return err
	}
	defer capture.discard()
	watchHeap()
	stderr := c.ErrOrStderr()
	meter := newMeter(stderr, f.quiet)
	opt.Progress, opt.Step, opt.Check = meter.show, meter.stepped, f.checkScenario
	ctx, stop, quiet := untilInterrupt(c.Context(), func() {
		meter.clear()
		fmt.Fprintln(stderr, "hopscope: stopping at a consistent point; once more to stop at once")
	})
	defer stop()
	r, v, err := p.Do(ctx, opt)
	quiet()
	meter.clear()
	if r == nil {
		return noRun(ctx, err)
	}
	if e := errors.Join(failure(capture.finish()), f.write(c, r, v, opt, dir)); e != nil && err == nil {
		err = e
	}
	return outcome(ctx, r, err)
}

// untilInterrupt returns a context that the first SIGINT, SIGTERM or SIGHUP ends, after
// which say is called and a second one kills. quiet must be called when the work is done: a
// notice that was begun is then over, and the next signal kills, for what is written is
// whole or not there. Under nohup SIGHUP stays ignored.
func untilInterrupt(parent context.Context, say func()) (ctx context.Context, stop, quiet func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop = signal.NotifyContext(parent, signals...)
	said := make(chan struct{})
	ignore := context.AfterFunc(ctx, func() {
		stop() // from here on a second signal kills
		say()
		close(said)
	})
	return ctx, stop, func() {
		if ignore() {
			signal.Reset(signals...)
		} else {
			<-said
		}
	}
}

// interrupted is err with the exit status of the signal that ended ctx.
func interrupted(ctx context.Context, err error) error {
	// The cause that package signal gives begins with the signal's name.
	cause := ""
	if err := context.Cause(ctx); err != nil {
		cause = err.Error()
	}
	switch {
	case strings.HasPrefix(cause, syscall.SIGTERM.String()):
		return &status{exitTerminated, err}
	case strings.HasPrefix(cause, syscall.SIGHUP.String()):
		return &status{exitHangup, err}
	}
	return &status{exitInterrupted, err}
}

// options checks the flags and turns them into the pipeline's options.
func (f *runFlags) options(c *cobra.Command, args []string) (run.Options, error) {
	opt, err := f.input.options("run", args)
	if err != nil {
		return opt, err
	}
	if opt.Level = run.Level(f.level); !opt.Level.Known() || c.Flags().Changed("level") && f.level == "" {
		return opt, fmt.Errorf("--level %s: there is no such level; one of %s", f.level,
			strings.Join(run.Levels(), ", "))
	}
	if opt.Level == run.LevelFlow {
		if err := checkFlowLevel(c); err != nil {
			return opt, err
		}
	}
	opt.TracePauses, opt.Workers, opt.Timeline = f.ns3Out != "", f.workers, f.pictures.wanted()
	opt.Trace = f.perfetto != ""
	if opt.Series, err = f.series.options(c); err != nil {
		return opt, err
	}
	if opt.Snapshots, err = f.openmetrics.options(f.series.every); err != nil {
		return opt, err
	}
	if c.Flags().Changed("seed") {
		opt.Seed = &f.seed
	}
	if !c.Flags().Changed("workers") {
		opt.Workers = defaultWorkers()
	} else if f.workers < 1 {
		return opt, fmt.Errorf("--workers %d: there must be at least 1", f.workers)
	}
	return opt, nil
}

// checkFlowLevel refuses flags that ask for what runs at flow level do not know.
func checkFlowLevel(c *cobra.Command) error {
	for _, x := range [...]struct{ flag, what string }{
		{"explain", "accounts are of packets"}, {"mechanisms", "mechanisms act on packets and queues"},
		{"pcap", "a capture shows packets"}, {"series", "series are of queues and packets"},
		{"perfetto", "a timeline shows packets and queues"}, {"counters", "counters are of packets"},
		{"openmetrics", "counters are of packets"}, {"html", "a page shows queues and packets"},
		{"svg", "drawings show queues and packets"}, {"ns3-out", "pauses hold packets"},
		{"seeds", "what draws change is queues and packets"},
	} {
		if c.Flags().Changed(x.flag) {
			return fmt.Errorf("--%s: %s, of which --level flow knows nothing; leave one of them out", x.flag, x.what)
		}
	}
	return nil
}

// checkSet refuses --set arguments that assign nothing.
func checkSet(set []string) error {
	for _, s := range set {
		if key, _, found := strings.Cut(s, "="); !found || key == "" {
			return fmt.Errorf("--set %s: write key=value, such as topology.star.hosts=9", s)
		}
	}
	return nil
}

// checkTargets refuses before the run what could not be written after it. It returns the
// run directory of --out, claimed, nil without.
func (f *runFlags) checkTargets(c *cobra.Command, args []string) (*report.RunDir, error) {
	if err := f.details.check(); err != nil {
		return nil, err
	}
	for _, flag := range []string{"json", "html", "svg", "csv", "out", "ns3-out", "counters", "nccl-out", "perfetto",
		"openmetrics", "series-out", "pcap"} {
		if c.Flags().Changed(flag) && c.Flags().Lookup(flag).Value.String() == "" {
			return nil, fmt.Errorf("--%s: the name is empty; name where to write", flag)
		}
	}
	for _, out := range f.outFiles() {
		for _, in := range append(slices.Sorted(maps.Values(f.given())), args...) {
			if sameFile(out.path, in) {
				return nil, fmt.Errorf("%s %s: would replace what is run; name another file", out.flag, out.path)
			}
		}
	}
	if err := checkApart(f.outFiles(), f.directories()...); err != nil {
		return nil, err
	}
	if err := checkJSON(f.json); err != nil {
		return nil, err
	}
	if err := f.pictures.check(); err != nil {
		return nil, err
	}
	if err := checkFile("--nccl-out", f.ncclOut); err != nil {
		return nil, err
	}
	if err := checkBinary("--perfetto", f.perfetto); err != nil {
		return nil, err
	}
	if err := checkFile("--pcap", f.pcap.file); err != nil {
		return nil, err
	}
	if err := checkFile("--openmetrics", f.openmetrics.file); err != nil {
		return nil, err
	}
	for _, d := range f.directories() {
		if err := checkDir(d.flag, d.path); err != nil {
			return nil, err
		}
	}
	if f.out == "" {
		return nil, nil
	}
	dir, err := report.OpenDir(f.out)
	if err != nil {
		return nil, fmt.Errorf("--out %w", err)
	}
	return dir, nil
}

// checkScenario refuses before the run what its scenario has nothing for.
func (f *runFlags) checkScenario(v *scenario.Valid) error {
	if f.ncclOut != "" && len(v.Plan.Collectives) == 0 {
		return &status{exitUser, fmt.Errorf("--nccl-out %s: the scenario has no collective", f.ncclOut)}
	}
	return f.checkNames(v)
}

// directories are the flags that name directories.
func (f *runFlags) directories() []output {
	return []output{
		{"--csv", f.csv, []string{"*.csv"}},
		{"--out", f.out, []string{report.MetaFile, report.ResultFile, report.ScenarioFile}},
		{"--ns3-out", f.ns3Out, []string{"fct.txt", "pfc.txt"}},
		{"--counters", f.counters, []string{"*.txt"}},
		{"--series-out", f.series.dir, []string{"*.csv", "*.parquet", "series.json"}},
		{"--svg", f.pictures.svg, []string{"*.svg"}},
	}
}

// outFiles are the flags that name files.
func (f *runFlags) outFiles() []output {
	return []output{{"--json", f.json, nil}, {"--html", f.pictures.html, nil}, {"--nccl-out", f.ncclOut, nil},
		{"--perfetto", f.perfetto, nil}, {"--openmetrics", f.openmetrics.file, nil},
		{"--pcap", f.pcap.file, nil}}
}

// sameFile reports whether both paths name one existing file.
func sameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// checkDir refuses a directory that nothing can be written to; "" is none.
func checkDir(flag, dir string) error {
	switch dir {
	case "":
		return nil
	case "-":
		return fmt.Errorf("%s -: writes several files, which standard output cannot take; name a directory", flag)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s %s: is a file; name a directory", flag, dir)
	}
	if err := files.CheckDir(dir); err != nil {
		return fmt.Errorf("%s %s: cannot be written to: %w", flag, dir, err)
	}
	return nil
}

// checkJSON refuses a --json file that cannot be written.
func checkJSON(file string) error { return checkFile("--json", file) }

// outputGC is how much garbage, in percent of what is in use, the outputs of a run may
// leave before it is collected.
const outputGC = 40

// write hands the run to everything that was asked for. Each is tried, so that
// one full disk does not cost the rest; the first error is returned.
func (f *runFlags) write(c *cobra.Command, r *record.Run, v *scenario.Valid, opt run.Options, dir *report.RunDir) error {
	var errs []error
	// What simulated may go, and what outputs of every message leave behind stays small beside
	// a result of millions.
	if dir != nil || f.csv != "" || f.ns3Out != "" || f.json != "" || f.perfetto != "" {
		defer debug.SetGCPercent(debug.SetGCPercent(outputGC))
		runtime.GC()
	}
	if dir != nil {
		meta := report.Meta{Program: version(), Scenario: opt.Scenario, Set: f.set, Seed: r.Seed}
		if f.isForeign() {
			meta.Scenario = importers.Given(f.given())
		}
		var source []byte
		if v != nil {
			source = v.Source
		}
		errs = append(errs, dir.Save(r, source, meta, opt.Workers))
	}
	if f.csv != "" {
		errs = append(errs, report.WriteCSV(f.csv, r))
	}
	if f.ns3Out != "" && v != nil {
		errs = append(errs, writeNS3(f.ns3Out, r, v))
	}
	if f.counters != "" {
		errs = append(errs, writeCounters(f.counters, r))
	}
	if f.ncclOut != "" {
		errs = append(errs, writeNCCL(c, f.ncclOut, r))
	}
	if f.perfetto != "" {
		errs = append(errs, writePerfetto(c, f.perfetto, r, f.quiet))
	}
	if f.openmetrics.file != "" {
		errs = append(errs, f.openmetrics.write(c, r, f.quiet))
	}
	if f.pictures.wanted() {
		meta := page.Meta{Program: "hopscope " + version()}
		if v != nil {
			meta.Scenario = v.Source
		}
		errs = append(errs, f.pictures.write(c, page.Run(r, meta)))
	}
	if r.Series != nil {
		errs = append(errs, f.writeSeries(c, r))
	}
	if f.json != "" {
		errs = append(errs, f.writeJSON(c, r, opt.Workers))
	}
	var printed error
	if f.json != "-" && f.pictures.html != "-" && f.pcap.file != "-" && f.openmetrics.file != "-" {
		printed = f.details.print(c, r, f.verbose, f.quiet)
	}
	if err := errors.Join(errs...); err != nil {
		return failure(err)
	}
	return printed
}

// writeSeries writes the samples, and says so beside the report, which a kept run repeats without them.
func (f *runFlags) writeSeries(c *cobra.Command, r *record.Run) error {
	if err := report.WriteSeries(f.series.dir, r, version()); err != nil {
		return err
	}
	if !f.quiet {
		for _, note := range report.SeriesNotes(f.series.dir, r) {
			fmt.Fprintln(c.ErrOrStderr(), note)
		}
	}
	return nil
}

// writeNCCL writes what nccl-tests would print.
func writeNCCL(c *cobra.Command, file string, r *record.Run) error {
	return putJSON(c, file, report.NCCLTests(r))
}

const countersText = "write to `DIR` what each box would print: ethtool -S, rdma statistic, SONiC's show commands, perfquery"

// writeCounters writes a file for each box and command.
func writeCounters(dir string, r *record.Run) error {
	set, err := files.NewSetIn(dir)
	if err != nil {
		return err
	}
	defer set.Discard()
	for _, f := range counters.Files(r) {
		if err := set.Put(f.Name, []byte(f.Text)); err != nil {
			return err
		}
	}
	return set.Commit()
}

// writeNS3 writes the files that scripts for the ns-3 RDMA simulators read.
func writeNS3(dir string, r *record.Run, v *scenario.Valid) error {
	set, err := files.NewSetIn(dir)
	if err != nil {
		return err
	}
	defer set.Discard()
	if err := set.Put("fct.txt", v.NS3FCT(r)); err != nil {
		return err
	}
	if err := set.Put("pfc.txt", v.NS3PFC(r)); err != nil {
		return err
	}
	return set.Commit()
}

func (f *runFlags) writeJSON(c *cobra.Command, r *record.Run, workers int) error {
	return putTo(c, f.json, func(w io.Writer) error { return report.WriteJSON(w, r, workers) })
}

// noRun is the error of a run that brought nothing back.
func noRun(ctx context.Context, err error) error {
	var wrong *scenario.Error
	var refused *status
	switch {
	case errors.As(err, &wrong):
		return &status{exitUser, err}
	case errors.As(err, &refused):
		return err
	case ctx.Err() != nil:
		return interrupted(ctx, errors.New("interrupted before the run began"))
	case err == nil:
		return failure(errors.New("the run brought no result"))
	default:
		return failure(err)
	}
}

// outcome is the error, if any, that a run which did bring something back ends
// with.
func outcome(ctx context.Context, r *record.Run, err error) error {
	switch {
	case r.Stopped == "interrupted":
		return interrupted(ctx, fmt.Errorf("interrupted at %s; the results cover what ran until then", metrics.FormatTimeDigits(r.EndPS, 4)))
	case err != nil:
		return failure(err)
	case r.Data != nil && r.Data.Differ > 0:
		return failure(fmt.Errorf("data: %d of %s differ, which is a fault of this program; the first: %s",
			r.Data.Differ, many(r.Data.Messages+r.Data.Refused, "message", "s"), r.Data.Faults[0]))
	case r.Stopped == "deadlock":
		what := "deadlock"
		if metrics.HeldByCard(r) {
			what = "standstill"
		}
		return failure(fmt.Errorf("%s at %s with %s open; the report names the ports that hold", what,
			metrics.FormatTimeDigits(metrics.EndOf(r), 4), many(r.OpenMessages, "message", "s")))
	case r.Stopped == "stalled":
		return failure(fmt.Errorf("stalled at %s with %s open: %s",
			metrics.FormatTimeDigits(r.EndPS, 4), many(r.OpenMessages, "message", "s"), metrics.WhyStalled(lang.English, r)))
	default:
		return nil
	}
}
