package cli

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/foreign"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/subnet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// fabricFlags are the flags of hopscope fabric.
type fabricFlags struct {
	in                    input
	engine, tables, json  string
	lmc, sls, outstanding int
	roots, fail           []string
	detect, smp           string
	lfts, partial         bool
	verbose, relabel      bool
}

func newFabric(p Pipeline) *cobra.Command {
	var f fabricFlags
	c := &cobra.Command{
		Use:   "fabric FILE|SCENARIO",
		Short: "Route a network as an InfiniBand subnet manager would and judge the tables",
		Long: "fabric reads output of ibnetdiscover (with or without -p) or the topology of a\n" +
			"scenario, gives out LIDs, fills the linear forwarding tables and prints hop counts,\n" +
			"the load of every link when all send to all, and credit loops.",
		Example: "  hopscope fabric net.topo --engine ftree\n" +
			"  hopscope fabric leaf-spine-permutation --lmc 2\n" +
			"  hopscope fabric net.topo --engine updn --roots core1,core2 --lfts > lfts.txt\n" +
			"  hopscope fabric net.topo --fail leaf1:3",
		RunE: func(c *cobra.Command, args []string) error {
			f.relabel = c.Flags().Changed("lmc")
			if err := f.check(c.Flags()); err != nil {
				return err
			}
			return f.run(c, args)
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.engine, "engine", "minhop", "routing `ENGINE`: "+strings.Join(subnet.Engines(), ", "))
	flags.StringVar(&f.tables, "tables", "", "judge the tables in `FILE`, output of dump_lfts or OpenSM's dump, instead of making some")
	flags.StringSliceVar(&f.roots, "roots", nil, "`NODES` that updn and ftree rank highest: names or GUIDs of switches")
	flags.IntVar(&f.lmc, "lmc", 0, "give every adapter's port 2^`N` LIDs, 0 to 7; a file's own LIDs are then replaced")
	flags.IntVar(&f.sls, "sls", 1, fmt.Sprintf("spread paths over up to `N` service levels, 1 to %d, until none has a credit loop", subnet.MaxSLs))
	flags.StringArrayVar(&f.fail, "fail", nil, "fail the link at `NODE:PORT`, ports from 1, and route anew; may be repeated")
	timing := subnet.DefaultTiming()
	flags.StringVar(&f.detect, "detect", "1ms", "`TIME` until the subnet manager knows of a failure")
	flags.StringVar(&f.smp, "smp", "50us", "`TIME` of one management packet and its answer")
	flags.IntVar(&f.outstanding, "maxsmps", timing.Outstanding, "`N` management packets on the way at once")
	flags.BoolVar(&f.lfts, "lfts", false, "print the forwarding tables in the form of dump_lfts instead")
	flags.BoolVar(&f.partial, "partial", false, "take a file that is an excerpt")
	flags.StringVar(&f.json, "json", "", "write as JSON to `FILE` (-: to standard output, instead of the text)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print every LID, channel and credit loop")
	f.in.changes(flags, p)
	return c
}

// check refuses values and flags that do not go together.
func (f *fabricFlags) check(flags *pflag.FlagSet) error {
	if f.tables != "" {
		for _, other := range []string{"engine", "roots", "lmc", "fail"} {
			if flags.Changed(other) {
				return fmt.Errorf("--tables judges tables as they are; leave out --%s", other)
			}
		}
	}
	if err := checkJSON(f.json); err != nil {
		return err
	}
	if f.lfts && f.json == "-" {
		return errors.New("--lfts and --json - both write to standard output; give --json a file, or leave out --lfts")
	}
	if f.lmc < 0 || f.lmc > subnet.MaxLMC {
		return fmt.Errorf("--lmc %d: give 0 to %d, for 1 to %d LIDs per port", f.lmc, subnet.MaxLMC, 1<<subnet.MaxLMC)
	}
	if !slices.Contains(subnet.Engines(), f.engine) {
		return fmt.Errorf("--engine %s: there is no such routing engine; %s", f.engine, oneOf(f.engine, subnet.Engines()))
	}
	if f.engine == "minhop" && f.tables == "" && len(f.roots) > 0 {
		return errors.New("--roots: minhop has no roots; use it with --engine updn or ftree")
	}
	for _, flag := range []string{"detect", "smp", "maxsmps"} {
		if flags.Changed(flag) && len(f.fail) == 0 {
			return fmt.Errorf("--%s is about the time after a failure; give --fail too", flag)
		}
	}
	return nil
}

func (f *fabricFlags) run(c *cobra.Command, args []string) error {
	fabric, name, err := f.read(args)
	if err != nil {
		return err
	}
	tables, r, err := f.route(fabric, name, newMeter(c.ErrOrStderr(), false))
	if err != nil {
		return err
	}
	if f.json != "" {
		data, err := r.JSON()
		if err == nil {
			err = putJSON(c, f.json, data)
		}
		if err != nil || f.json == "-" {
			return failure(err)
		}
	}
	if f.lfts {
		return failure(tables.WriteLFTs(c.OutOrStdout()))
	}
	opt := textOptions(c)
	opt.Verbose = f.verbose
	return failure(r.Text(c.OutOrStdout(), opt))
}

// Bounds of files in bytes: tens of thousands of nodes, and the tables of a thousand
// switches with two thousand LIDs each.
const (
	maxFabric = 16 << 20
	maxTables = 128 << 20
)

// read takes the network from a file of ibnetdiscover or from a scenario.
func (f *fabricFlags) read(args []string) (*subnet.Fabric, string, error) {
	if len(args) == 0 {
		return nil, "", errors.New("fabric needs a file of ibnetdiscover or a scenario")
	}
	opt, err := f.in.options("fabric", args)
	if err != nil {
		return nil, "", err
	}
	text := opt.Text
	if text == nil {
		text, err = files.Read(opt.Scenario, maxFabric)
	}
	var long *files.TooLongError
	if errors.As(err, &long) {
		return nil, "", fmt.Errorf("%s cannot be read: %w; no subnet is", opt.Scenario, err)
	}
	if err == nil && subnet.IsDiscovery(text) {
		if len(f.in.set) > 0 {
			return nil, "", errors.New("--set changes a scenario, and this is output of ibnetdiscover")
		}
		return f.readDiscovery(opt.Scenario, text)
	}
	if f.partial {
		return nil, "", fmt.Errorf("--partial is about output of ibnetdiscover, and %s is none", opt.Scenario)
	}
	if err == nil && !bytes.Contains(text, []byte("topology")) {
		return nil, "", foreignFabric(opt.Scenario, text)
	}
	v, err := run.Load(opt)
	if err != nil {
		return nil, "", err
	}
	fabric, err := subnet.FromGraph(v.Graph)
	if err == nil {
		err = fabric.AssignLIDs(fabric.Manager(), uint8(f.lmc))
	}
	return fabric, oneLine(v.Name), err
}

// foreignFabric says what a file that is neither should have been.
func foreignFabric(name string, text []byte) error {
	const reads = "fabric reads output of ibnetdiscover (with or without -p) or a scenario with a topology"
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return fmt.Errorf("%s is empty; %s", name, reads)
	case subnet.IsLFTs(text):
		return fmt.Errorf("%s holds forwarding tables, as dump_lfts prints them, which do not name the links; give output of ibnetdiscover and --tables %s", name, name)
	}
	if other := foreign.Instead(text, "a network", foreign.Discovery, foreign.Scenario); other != "" {
		return fmt.Errorf("%s: %s; %s", name, other, reads)
	}
	return fmt.Errorf("%s is neither of what it should be: %s", name, reads)
}

func (f *fabricFlags) readDiscovery(name string, text []byte) (*subnet.Fabric, string, error) {
	fabric, err := subnet.Parse(text, subnet.ParseOptions{Partial: f.partial})
	var at *subnet.Error
	if errors.As(err, &at) {
		return nil, "", &scenario.Error{File: name, Line: at.Line, Col: at.Col, Msg: at.Msg}
	}
	if err == nil && f.relabel {
		err = fabric.AssignLIDs(fabric.Manager(), uint8(f.lmc))
	}
	return fabric, name, err
}

// route fills the tables, fails the links that --fail names, and reports.
func (f *fabricFlags) route(fabric *subnet.Fabric, name string, meter *meter) (*subnet.Tables, *report.Fabric, error) {
	defer meter.clear()
	opt := subnet.Options{Engine: f.engine, Progress: func(done, total int) {
		meter.draw(func(time.Duration) string { return fmt.Sprintf("%3d %% of the LIDs routed", 100*done/total) })
	}}
	for _, root := range f.roots {
		n, ok := fabric.NodeByName(root)
		if !ok {
			return nil, nil, fmt.Errorf("--roots %s: there is no such node; give names or GUIDs as hopscope fabric -v prints them", root)
		}
		opt.Roots = append(opt.Roots, n)
	}
	timing, err := f.timing()
	if err != nil {
		return nil, nil, err
	}
	tables, err := f.fill(fabric, opt)
	if err != nil {
		return nil, nil, err
	}
	before, dead := tables, make([]bool, len(fabric.Links))
	for _, at := range f.fail {
		link, err := linkAt(fabric, at)
		if err != nil {
			return nil, nil, err
		}
		dead[link] = true
	}
	if len(f.fail) > 0 {
		if tables, err = before.Reroute(dead, opt); err != nil {
			return nil, nil, fmt.Errorf("with %s failed: %w", strings.Join(f.fail, ", "), err)
		}
	}
	if f.sls != 1 {
		if err := tables.AssignSLs(f.sls); err != nil {
			return nil, nil, fmt.Errorf("--sls: %w", err)
		}
	}
	r := report.NewFabric(name, tables)
	if len(f.fail) > 0 {
		r.Fail(before, tables, dead, timing)
	}
	return tables, r, nil
}

// fill makes the tables, or reads those that --tables names.
func (f *fabricFlags) fill(fabric *subnet.Fabric, opt subnet.Options) (*subnet.Tables, error) {
	if f.tables == "" {
		return subnet.Route(fabric, opt)
	}
	text, err := files.Read(f.tables, maxTables)
	if err != nil {
		return nil, fmt.Errorf("--tables %s cannot be read: %w", f.tables, files.Reason(err))
	}
	if other := foreign.Instead(text, "output of dump_lfts", foreign.Tables); other != "" {
		return nil, fmt.Errorf("--tables %s: %s", f.tables, other)
	}
	tables, err := subnet.ReadLFTs(fabric, text)
	var at *subnet.Error
	if errors.As(err, &at) {
		return nil, &scenario.Error{File: f.tables, Line: at.Line, Col: at.Col, Msg: at.Msg}
	}
	return tables, err
}

// timing reads the flags of the recovery.
func (f *fabricFlags) timing() (subnet.Timing, error) {
	t := subnet.DefaultTiming()
	for _, x := range []struct {
		flag, text string
		into       *units.Time
	}{{"--detect", f.detect, &t.Detect}, {"--smp", f.smp, &t.SMP}} {
		v, err := units.ParseTime(x.text)
		if err != nil {
			return t, fmt.Errorf("%s: %w", x.flag, err)
		}
		*x.into = v
	}
	if f.outstanding < 1 || f.outstanding > 1<<16 {
		return t, fmt.Errorf("--maxsmps %d: give 1 to 65536", f.outstanding)
	}
	t.Outstanding = f.outstanding
	return t, nil
}

// linkAt finds the link at NODE:PORT.
func linkAt(fabric *subnet.Fabric, at string) (int, error) {
	i := strings.LastIndexByte(at, ':')
	if i < 0 {
		return 0, fmt.Errorf("--fail %s: give a node and a port, such as leaf1:3", at)
	}
	n, ok := fabric.NodeByName(at[:i])
	if !ok {
		return 0, fmt.Errorf("--fail %s: there is no node %q", at, at[:i])
	}
	ports := fabric.Nodes[n].Ports
	port, err := strconv.Atoi(at[i+1:])
	if err != nil || port < 1 || port >= len(ports) || ports[port].Link < 0 {
		linked := []string{}
		for p := range ports {
			if ports[p].Link >= 0 {
				linked = append(linked, strconv.Itoa(p))
			}
		}
		return 0, fmt.Errorf("--fail %s: %s has no link at port %q; it has at %s", at, at[:i], at[i+1:], strings.Join(slices.Compact(linked), ", "))
	}
	return ports[port].Link, nil
}
