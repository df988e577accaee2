package cli

import (
	"fmt"
	"runtime"

	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
	"github.com/spf13/cobra"
)

// pathFlags are the flags of hopscope path.
type pathFlags struct {
	in          input
	size, stack string
	json        string
	load        bool
	verbose     bool
	workers     int
}

func newPath(p Pipeline) *cobra.Command {
	var f pathFlags
	c := &cobra.Command{
		Use:   "path SCENARIO SRC DST",
		Short: "Show the hops between two ends, the bottleneck, and what a message alone takes",
		Long: "path lists every place that data pass between two ends of a scenario, inside their\n" +
			"servers and between them, with rate, latency, buffer and what happens when it is full.\n" +
			"It sends one message over the idle network and says where its time goes, by every way\n" +
			"that the ends have: GPUDirect, staging, TCP. Ends are written as in a workload: h0,\n" +
			"h0:2 (port 2), h0/gpu3. The message takes the path of the workload's own connection\n" +
			"between the same ends, if there is one. Two ends in one server have NVLink and PCIe.",
		Example: "  hopscope path incast-4to1 h0 h4\n" +
			"  hopscope path cluster.yaml h0/gpu0 h1/gpu0 --size 1MB\n" +
			"  hopscope path incast-4to1 h0 h4 --load",
		RunE: f.run,
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.size, "size", "64KB", "`SIZE` of the message")
	flags.BoolVar(&f.load, "load", false, "run the scenario's workload and show what it does to each hop")
	flags.StringVar(&f.stack, "stack", "", "look at `STACK` instead of the scenario's own")
	f.in.changes(flags, p)
	flags.StringVar(&f.json, "json", "", "write as JSON to `FILE` (-: to standard output, instead of the text)")
	addLang(flags)
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print hops and account of every way, and every stage")
	flags.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "goroutines; results do not depend on it")
	return c
}

func (f *pathFlags) run(c *cobra.Command, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("path takes a scenario and two ends, such as hopscope path incast-4to1 h0 h4; %d given", len(args))
	}
	if err := checkJSON(f.json); err != nil {
		return err
	}
	if f.workers < 1 {
		return fmt.Errorf("--workers %d: give 1 or more", f.workers)
	}
	size, err := units.ParseBytes(f.size)
	if err == nil && size > workload.MaxBytes {
		err = fmt.Errorf("%q is too long; a message has at most %v", f.size, workload.MaxBytes)
	}
	if err != nil {
		return fmt.Errorf("--size: %w", err)
	}
	if f.stack != "" {
		if msg := scenario.CheckStack(f.stack); msg != "" {
			return fmt.Errorf("--stack: %s", msg)
		}
	}
	opt, err := f.in.options("path", args[:1])
	if err != nil {
		return err
	}
	opt.Stack, opt.Workers = f.stack, f.workers
	meter := newMeter(c.ErrOrStderr(), false)
	opt.Progress = meter.show
	found, err := run.Path(c.Context(), run.PathOptions{Options: opt, From: args[1], To: args[2], Size: size, Load: f.load})
	meter.clear()
	if err != nil {
		return noRun(c.Context(), err)
	}
	p := report.NewPath(found)
	if f.json != "" {
		data, err := p.JSON()
		if err == nil {
			err = putJSON(c, f.json, data)
		}
		if err != nil || f.json == "-" {
			return failure(err)
		}
	}
	t := textOptions(c)
	t.Verbose = f.verbose
	return failure(p.Text(c.OutOrStdout(), t))
}
