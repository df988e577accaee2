package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hopscope/hopscope/internal/campaign"
	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/headline"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/page"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/sweep"
	"github.com/hopscope/hopscope/internal/typo"
	"github.com/hopscope/hopscope/internal/vary"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// askAbove is how many runs are made without asking.
const askAbove = 10_000

// sweepFlags are the flags of hopscope sweep.
type sweepFlags struct {
	input
	vary    []string
	seeds   string
	seed    uint64
	sample  int
	compare bool
	stacks  []string
	figures []string
	out     string
	merge   []string
	shard   string
	on      string
	shards  int
	sbatch  string
	image   string
	claim   string
	yes     bool
	workers int
	quiet   bool
}

func newSweep(p Pipeline) *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep SCENARIO|FILE --vary KEY=VALUES...",
		Short: "Run a scenario with many values of its keys, and many seeds, into one table",
		Long: "Every combination of the values of all --vary runs with every seed, or with --sample that many points\n" +
			"of a Latin hypercube. VALUES are a list a,b,c; whole numbers 1..20; steps, \"100KB..1MB step 100KB\"; evenly\n" +
			"spaced values, \"0.1..0.9 linear 5\" or \"10KB..10MB log 7\"; with --sample also a range, 100KB..1MB or\n" +
			"\"10KB..10MB log\". Rows are kept as runs end: the same command goes on where it was broken off.",
		Example: "  hopscope sweep incast-4to1 --vary switch.ecn.kmin=100KB,400KB,1600KB --seeds 6\n" +
			"  hopscope sweep my.yaml --vary \"switch.ecn.kmax=1MB..4MB step 1MB\" --vary dcqcn.rpg_ai_rate=5Mbps,50Mbps\n" +
			"  hopscope sweep my.yaml --vary \"switch.ecn.kmin=10KB..1MB log\" --vary switch.ecn.pmax=0.01..1.0 --sample 200\n" +
			"  hopscope sweep incast-4to1 --compare --vary workload[0].incast.size=1MB,16MB --out study",
		RunE: func(c *cobra.Command, args []string) error { return runSweep(c, args, &f, p) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.vary, "vary", nil, "take these values of a key in turn, `KEY=VALUES`; may be repeated")
	flags.StringVar(&f.seeds, "seeds", "1", "run each point with `N` seeds, or with those listed: 1,2,7 or 11..20")
	flags.Uint64Var(&f.seed, "seed", 0, "the first of --seeds N (default: the scenario's)")
	flags.IntVar(&f.sample, "sample", 0, "take `N` points of a Latin hypercube in place of all combinations")
	flags.BoolVar(&f.compare, "compare", false, "sweep the stacks too: those that hopscope compare shows")
	flags.StringSliceVar(&f.stacks, "stacks", nil, "sweep these stacks, `a,b`, in place of the scenario's own")
	flags.StringVar(&f.out, "out", "", "keep rows, tables and drawings in the directory `DIR` (default: the "+
		"scenario's name and .sweep)")
	flags.StringSliceVar(&f.figures, "figures", nil, "show these figures, `a,b`, such as "+
		"p99,goodput,peak_queue_bytes (default: the most telling that differ)")
	flags.StringVar(&f.shard, "shard", "", "make shard `K/N` of the runs alone, K from 0; the command without "+
		"it puts shards together")
	flags.StringVar(&f.on, "on", "", "have shards made elsewhere: `slurm` submits a job array and waits for it, "+
		"kubernetes writes the manifest of an Indexed Job")
	flags.IntVar(&f.shards, "shards", 0, "how many shards `N` with --on (default: a minute or more of runs "+
		"each, at most 100)")
	flags.StringVar(&f.sbatch, "sbatch", "", "further `OPTIONS` of sbatch, such as \"--partition=long --time=60\"")
	flags.StringVar(&f.image, "image", "", "container `IMAGE` whose entry point is hopscope, for --on kubernetes")
	flags.StringVar(&f.claim, "claim", "hopscope", "PersistentVolumeClaim `NAME` that all pods write to, for "+
		"--on kubernetes")
	flags.StringSliceVar(&f.merge, "merge", nil, "take in what shards left in other directories, `DIR,...`")
	flags.BoolVar(&f.yes, "yes", false, fmt.Sprintf("do not ask before more than %s runs", metrics.FormatCount(askAbove)))
	flags.StringArrayVar(&f.set, "set", nil, "set a scenario value for all runs, `key=value`; may be repeated")
	f.foreign(flags, p)
	flags.IntVar(&f.workers, "workers", 0, "runs at a time; results do not depend on it (default: all cores)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no report and no progress")
	return c
}

func runSweep(c *cobra.Command, args []string, f *sweepFlags, p Pipeline) error {
	setup, shard, err := f.setup(c, args)
	if err != nil {
		return err
	}
	stderr := c.ErrOrStderr()
	meter := newMeter(stderr, f.quiet)
	ctx, stop, quiet := untilInterrupt(c.Context(), func() {
		meter.clear()
		fmt.Fprintln(stderr, "hopscope: stopping; what has ended is kept; once more to stop at once")
	})
	defer stop()
	settle := sync.OnceFunc(func() { quiet(); meter.clear() })
	defer settle()
	made, err := campaign.Open(ctx, setup, p.Do)
	if ctx.Err() != nil {
		return interrupted(ctx, errors.New("interrupted before the first run"))
	}
	if err != nil {
		return err
	}
	s := &sweeping{Campaign: made, f: f, shard: shard, meter: meter, c: c, dir: f.out}
	if s.dir == "" {
		s.dir = fileName(made.Scenario) + ".sweep"
	}
	err = s.do(ctx)
	settle()
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return interrupted(ctx, errors.New(s.kept("interrupted")))
	}
	return err
}

// fileName is a scenario's name as that of a file.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '-'
		}
		return r
	}, s)
}

// setup checks the flags.
func (f *sweepFlags) setup(c *cobra.Command, args []string) (s campaign.Setup, shard campaign.Shard, err error) {
	if len(args) > 1 {
		return s, shard, fmt.Errorf("sweep takes one scenario, not %d (%s); put values with spaces into quotes, "+
			"and name stacks with --stacks",
			len(args), strings.Join(args, ", "))
	}
	if s.Base, err = f.options("sweep", args); err != nil {
		return s, shard, err
	}
	s.Program, s.Samples, s.Stacks = identity(), f.sample, f.stacks
	if s.Axes, err = f.axes(&s); err != nil {
		return s, shard, err
	}
	switch {
	case c.Flags().Changed("sample") && f.sample < 1:
		return s, shard, fmt.Errorf("--sample %d: give how many points, at least 1", f.sample)
	case f.sample > sweep.MostRuns:
		return s, shard, fmt.Errorf("--sample %d: give at most %d", f.sample, sweep.MostRuns)
	case f.sample > 0 && len(s.Axes) == 0:
		return s, shard, errors.New("--sample takes samples of what --vary names, and there is none")
	case !c.Flags().Changed("workers"):
		f.workers = runtime.GOMAXPROCS(0)
	case f.workers < 1:
		return s, shard, fmt.Errorf("--workers %d: there must be at least 1", f.workers)
	}
	if err := f.checkStacks(c, &s); err != nil {
		return s, shard, err
	}
	switch {
	case s.Seeds != nil && (c.Flags().Changed("seeds") || c.Flags().Changed("seed")):
		return s, shard, errors.New("--vary seed says which seeds; leave --seeds and --seed out")
	case s.Seeds == nil:
		if s.Seeds, err = f.seedsOf(c); err != nil {
			return s, shard, err
		}
	}
	if err := f.checkFigures(); err != nil {
		return s, shard, err
	}
	if shard, err = parseShard(f.shard, c.Flags().Changed("shard")); err != nil {
		return s, shard, err
	}
	return s, shard, f.checkOn(c)
}

// axes reads --vary. A stack or seed that is varied is swept as --stacks and --seeds do it.
func (f *sweepFlags) axes(s *campaign.Setup) (axes []*vary.Axis, err error) {
	for _, arg := range f.vary {
		a, err := vary.Parse(arg)
		if err != nil {
			return nil, fmt.Errorf("--vary %w", err)
		}
		for _, b := range axes {
			if err := apartKeys("--vary "+a.Key, "--vary", a.Key, b.Key); err != nil {
				return nil, err
			}
		}
		for _, set := range f.set {
			key, _, _ := strings.Cut(set, "=")
			if err := apartKeys("--vary "+a.Key, "--set", a.Key, key); err != nil {
				return nil, err
			}
		}
		switch a.Key {
		case "stack":
			if len(s.Stacks) > 0 || f.compare {
				return nil, errors.New("--vary stack and --stacks both say which stacks; leave one of them out")
			}
			s.Stacks = strings.Split(strings.ReplaceAll(a.Given, " ", ""), ",")
			continue
		case "seed":
			seeds, err := vary.Seeds(a.Given+",", 0)
			if err != nil {
				seeds, err = vary.Seeds(a.Given, 0)
			}
			if err != nil {
				return nil, fmt.Errorf("--vary seed=%w", err)
			}
			s.Seeds = func(uint64) ([]uint64, error) { return seeds, nil }
			continue
		}
		axes = append(axes, a)
	}
	return axes, nil
}

// apartKeys refuses two keys of which one is the other, or holds it.
func apartKeys(of, flag, a, b string) error {
	inside := func(a, b string) bool {
		rest, in := strings.CutPrefix(a, b)
		return in && rest != "" && (rest[0] == '.' || rest[0] == '[')
	}
	switch {
	case a == b:
		return fmt.Errorf("%s: %s gives the same key; give it once, with all values", of, flag)
	case inside(a, b) || inside(b, a):
		return fmt.Errorf("%s: %s %s is about the same; one of the two keys holds the other", of, flag, b)
	}
	return nil
}

// checkStacks finds the stacks that are swept.
func (f *sweepFlags) checkStacks(c *cobra.Command, s *campaign.Setup) error {
	stacked := f.compare || len(s.Stacks) > 0
	for _, set := range f.set {
		if key, _, _ := strings.Cut(set, "="); key == "stack" && stacked || key == "seed" && s.Seeds != nil {
			return fmt.Errorf("--set %s: the sweep sets it itself; leave one of them out", set)
		}
	}
	if c.Flags().Changed("stacks") && len(s.Stacks) == 0 {
		return fmt.Errorf("--stacks names no stack; give some of %s", strings.Join(scenario.StackNames(), ", "))
	}
	if len(s.Stacks) == 1 && s.Stacks[0] == scenario.AllColumns || f.compare && len(s.Stacks) == 0 {
		var left []compare.LeftOut
		s.Stacks, left = columns(s.Base, len(s.Stacks) == 1)
		for _, l := range left {
			fmt.Fprintf(c.ErrOrStderr(), "hopscope: without %s: %s\n", strings.Join(l.Stacks, ", "), l.Why)
		}
	}
	for i, name := range s.Stacks {
		if msg := f.known.CheckColumn(name); msg != "" {
			return fmt.Errorf("--stacks: %s", msg)
		}
		if slices.Contains(s.Stacks[:i], name) {
			return fmt.Errorf("--stacks names %s twice; once is enough", name)
		}
	}
	return nil
}

// seedsOf reads --seeds and --seed.
func (f *sweepFlags) seedsOf(c *cobra.Command) (func(uint64) ([]uint64, error), error) {
	given := c.Flags().Changed("seed")
	if _, err := vary.Seeds(f.seeds, f.seed); err != nil {
		return nil, fmt.Errorf("--seeds %w", err)
	}
	if given && strings.Trim(f.seeds, "0123456789") != "" {
		return nil, fmt.Errorf("--seed %d: --seeds %s lists the seeds; leave one of them out", f.seed, f.seeds)
	}
	return func(first uint64) ([]uint64, error) {
		if given {
			first = f.seed
		}
		return vary.Seeds(f.seeds, first)
	}, nil
}

// checkFigures turns what --figures names into names of figures.
func (f *sweepFlags) checkFigures() error {
	for i, name := range f.figures {
		found, ok := headline.Find(name)
		if !ok {
			var titles []string
			for _, x := range headline.Named() {
				titles = append(titles, x.Title)
			}
			return fmt.Errorf("--figures: there is no figure %q; %s", name, figureHint(name, titles))
		}
		if slices.Contains(f.figures[:i], found.Name) {
			return fmt.Errorf("--figures names %s twice; once is enough", name)
		}
		f.figures[i] = found.Name
	}
	return nil
}

func figureHint(name string, titles []string) string {
	if meant := typo.Nearest(name, titles); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "use some of " + strings.Join(titles, ", ")
}

// mostShards bounds the parts of a sweep.
const mostShards = 100_000

// parseShard reads K/N.
func parseShard(s string, given bool) (shard campaign.Shard, err error) {
	if !given {
		return shard, nil
	}
	var rest string
	n, _ := fmt.Sscanf(s+" ", "%d/%d%s", &shard.K, &shard.N, &rest)
	if n != 2 || shard.N < 1 || shard.N > mostShards || shard.K < 0 || shard.K >= shard.N {
		return shard, fmt.Errorf("--shard %s: give K/N, K from 0 to N-1, such as 0/4", s)
	}
	return shard, nil
}

// sweeping is a sweep that is carried out.
type sweeping struct {
	*campaign.Campaign
	f     *sweepFlags
	c     *cobra.Command
	meter *meter
	shard campaign.Shard
	dir   string
	store *campaign.Store
}

func (s *sweeping) do(ctx context.Context) error {
	store, err := s.OpenStore(s.dir, s.shard)
	if err != nil {
		return err
	}
	s.store = store
	defer store.Close()
	for _, dir := range s.f.merge {
		if err := store.Merge(dir); err != nil {
			return err
		}
	}
	missing := store.Missing(s.shard)
	if len(missing) > askAbove && !s.f.yes && !s.canAsk() {
		return fmt.Errorf("%s are more than %s, and there is no terminal to ask; give --yes",
			s.String(), metrics.FormatCount(askAbove))
	}
	estimate, err := s.Estimate(ctx, missing, s.f.workers)
	if err != nil {
		return err
	}
	if err := s.announce(missing, estimate); err != nil {
		return err
	}
	if err := store.Begin(); err != nil {
		return failure(err)
	}
	if s.f.on == onKubernetes && len(missing) > 0 {
		return s.kubernetes(store, s.shardsOf(missing, estimate))
	}
	began := time.Now()
	shown := func(made int, more string) {
		s.meter.draw(func(time.Duration) string { return sweepLine(made, len(missing), time.Since(began)) + more })
	}
	if s.f.on == onSlurm && len(missing) > 0 {
		err = s.slurm(ctx, store, s.shardsOf(missing, estimate), shown)
	} else {
		err = s.Run(ctx, store, missing, estimate, s.f.workers, func(made int) { shown(made, "") })
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return failure(fmt.Errorf("%w; %s", err, s.kept("")))
	}
	if err := store.Finish(s.shard); err != nil {
		return failure(err)
	}
	if s.shard.N > 0 {
		return nil
	}
	return s.write()
}

// kept says what is there after a sweep was broken off.
func (s *sweeping) kept(why string) string {
	made := 0
	if s.store != nil {
		for _, r := range s.store.Rows() {
			if r != nil {
				made++
			}
		}
	}
	if why != "" {
		why += "; "
	}
	return fmt.Sprintf("%s%d of %s are kept in %s, and the same command makes the rest", why, made,
		many(s.Runs(), "run", "s"), s.dir)
}

// sweepLine is the line of progress.
func sweepLine(made, of int, elapsed time.Duration) string {
	line := fmt.Sprintf("%3.0f %%, %d of %d runs done", 100*float64(made)/float64(max(1, of)), made, of)
	if made > 0 && made < of {
		left := time.Duration(float64(elapsed) * float64(of-made) / float64(made))
		line += ", about " + roundDuration(left) + " left"
	}
	return line
}

// announce says what is about to be done, and asks whether to do it if it is much.
func (s *sweeping) announce(missing []int, e *campaign.Estimate) error {
	line := s.Scenario + ": " + s.String()
	if s.shard.N > 0 {
		line += ", shard " + s.shard.String()
	}
	switch {
	case len(missing) == 0:
		line += ", all made before"
	case len(missing) < s.Runs():
		line += fmt.Sprintf(", %d to make", len(missing))
	}
	if len(missing) > 0 {
		about := "about "
		if e.Least {
			about = "at least "
		}
		line += fmt.Sprintf("; %s%s on %s, %s in %s", about, roughly(e.Time(len(missing), s.f.workers)),
			many(s.f.workers, "worker", "s"), metrics.FormatBytes(e.Bytes), s.dir)
	}
	if !s.f.quiet {
		fmt.Fprintln(s.c.ErrOrStderr(), line)
	}
	if len(missing) <= askAbove || s.f.yes {
		return nil
	}
	fmt.Fprintf(s.c.ErrOrStderr(), "Make them? [y/N] ")
	answer, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return &status{exitUser, errors.New("nothing was run; give --yes to run without being asked")}
	}
	return nil
}

// canAsk reports whether there is somebody to ask.
func (s *sweeping) canAsk() bool {
	_, shown := terminal(s.c.ErrOrStderr())
	return shown && term.IsTerminal(int(os.Stdin.Fd()))
}

// roughly writes how long something takes.
func roughly(d time.Duration) string {
	switch {
	case d < time.Second:
		return "a second"
	case d < 48*time.Hour:
		return roundDuration(d)
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

// write writes the tables and the report.
func (s *sweeping) write() error {
	t := sweep.NewTable(s.Plan, s.store.Rows())
	if err := report.WriteSweep(s.dir, t, s.Identity.Program); err != nil {
		return failure(err)
	}
	if err := s.draw(t); err != nil {
		return failure(err)
	}
	if !s.f.quiet {
		if err := report.Sweep(s.c.OutOrStdout(), t, s.f.figures, textOptions(s.c)); err != nil {
			return failure(err)
		}
	}
	if made, failed := t.Made(); failed == made {
		return failure(fmt.Errorf("none of %s came to its end; %s says why of each", many(made, "run", "s"),
			filepath.Join(s.dir, report.SweepRuns)))
	}
	return nil
}

// Files of a sweep that are looked at.
const (
	sweepPage     = "index.html"
	sweepDrawings = "drawings"
)

// draw writes the page, its drawings and the JSON that it names its figures in.
func (s *sweeping) draw(t *sweep.Table) error {
	drawn := page.SweepDrawn(t, s.f.figures)
	data, err := report.NewSweepDocument(t, s.Identity.Program, drawn).JSON()
	if err != nil {
		return err
	}
	made := page.Sweep(t, s.f.figures, drawn, page.Meta{Program: "hopscope " + version(), Scenario: s.Source})
	set := files.NewSet(s.dir)
	defer set.Discard()
	if err := set.Put(report.SweepJSON, data); err != nil {
		return err
	}
	if err := set.Write(sweepPage, made.Write); err != nil {
		return err
	}
	if err := set.Commit(); err != nil {
		return err
	}
	return putDrawings(filepath.Join(s.dir, sweepDrawings), made.Drawings)
}

// figureNames lists the headline figures by the names of their columns.
func figureNames() (names []string) {
	for _, f := range headline.Figures() {
		names = append(names, f.Name)
	}
	return names
}
