package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hopscope/hopscope/internal/batch"
	"github.com/hopscope/hopscope/internal/deploy"
	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/tune"
	"github.com/spf13/cobra"
)

// tuneFlags are the flags of hopscope tune.
type tuneFlags struct {
	input
	objective   string
	params      []string
	bounds      []string
	constraints []string
	budget      int
	train       int
	fresh       int
	seed        uint64
	json        string
	config      string
	workers     int
	quiet       bool
}

// Usual numbers of runs and seeds of hopscope tune.
const (
	usualBudget = 400
	usualTrain  = 4
	usualFresh  = 12
	mostBudget  = 1_000_000
)

func newTune(p Pipeline) *cobra.Command {
	var f tuneFlags
	c := &cobra.Command{
		Use:   "tune SCENARIO|FILE --objective FIGURE --params KEY,KEY",
		Short: "Search for values of keys that make a figure better, with evidence",
		Long: "tune tries values of keys: choices by successive halving, what has a scale by CMA-ES on the\n" +
			"logarithm, and random search with as many runs beside both. It judges the scenario as it is\n" +
			"and what both found with seeds that no search has seen, moves each key alone to show how\n" +
			"much it matters, and prints the result for SONiC and for cards of the mlx5 driver.",
		Example: "  hopscope tune mixed-traffic --objective \"p99 slowdown\" \\\n" +
			"    --params switch.ecn.kmin,switch.ecn.kmax,dcqcn.rpg_ai_rate\n" +
			"  hopscope tune my.yaml --objective makespan --params switch.pfc.alpha,switch.ecn.pmax \\\n" +
			"    --bounds switch.ecn.pmax=1%..50%\n" +
			"  hopscope tune my.yaml --objective \"p99\" --params switch.ecn.at,switch.ecn.kmin --budget 400 --config out",
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args, p) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(
		&f.objective,
		"objective",
		"",
		"`FIGURE` to make better, by name or title, such as \"p99 slowdown\", goodput or makespan",
	)
	flags.StringSliceVar(&f.params, "params", nil, "keys to tune, `KEY,KEY`")
	flags.StringArrayVar(
		&f.bounds,
		"bounds",
		nil,
		"what a key may be, `KEY=LO..HI` or KEY=a|b|c; may be repeated (default: a sixteenth to sixteen times "+
			"what the scenario has)",
	)
	flags.StringSliceVar(
		&f.constraints,
		"constraints",
		nil,
		"`LIST` of marks-first, headroom and no-drop, or none (default: all that the stack promises)",
	)
	flags.IntVar(&f.budget, "budget", usualBudget, "`N` runs for the search; random search makes as many")
	flags.IntVar(&f.train, "train-seeds", usualTrain, "try each setting with `N` seeds")
	flags.IntVar(&f.fresh, "fresh-seeds", usualFresh, "judge what was found with `N` other seeds")
	flags.Uint64Var(&f.seed, "seed", 0, "the first seed (default: the scenario's)")
	f.changes(flags, p)
	flags.StringVar(&f.config, "config", "", "write sonic.json and mlx5.sh to `DIR`")
	flags.StringVar(
		&f.json,
		"json",
		"",
		"write the result with all trials as JSON to `FILE` (-: to standard output, instead of the text)",
	)
	flags.IntVar(&f.workers, "workers", 0, "runs at a time; results do not depend on it (default: all cores)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return c
}

// constraintNames are the words of --constraints.
func constraintNames() map[string]string {
	return map[string]string{"marks-first": tune.MarksFirst, "headroom": tune.Headroom, "no-drop": tune.NoDrop}
}

// options checks the flags.
func (f *tuneFlags) options(c *cobra.Command, args []string, p Pipeline) (o tune.Options, err error) {
	switch {
	case f.objective == "":
		return o, errors.New("tune needs what to make better, such as --objective \"p99 slowdown\"")
	case len(f.params) == 0:
		return o, errors.New("tune needs keys, such as --params switch.ecn.kmin,switch.ecn.kmax")
	case f.budget < 1 || f.budget > mostBudget:
		return o, fmt.Errorf("--budget %d: give 1 to %d runs", f.budget, mostBudget)
	case f.train < 1 || f.train > maxSeeds:
		return o, fmt.Errorf("--train-seeds %d: give 1 to %d", f.train, maxSeeds)
	case f.fresh < 2 || f.fresh > maxSeeds:
		return o, fmt.Errorf("--fresh-seeds %d: give 2 to %d", f.fresh, maxSeeds)
	case !c.Flags().Changed("workers"):
		f.workers = runtime.GOMAXPROCS(0)
	case f.workers < 1:
		return o, fmt.Errorf("--workers %d: there must be at least 1", f.workers)
	}
	if err := checkSeeds(f.train+2*f.fresh, f.seed, c.Flags().Changed("seed")); err != nil {
		return o, err
	}
	base, err := f.input.options("tune", args)
	if err != nil {
		return o, err
	}
	if c.Flags().Changed("seed") {
		base.Seed = &f.seed
	}
	o = tune.Options{
		Run:       base,
		Known:     p.Known,
		Do:        batch.Do(p.Do),
		Objective: f.objective,
		Params:    f.params,
		Budget:    f.budget,
		Train:     f.train,
		Fresh:     f.fresh,
		Workers:   f.workers,
		Bounds:    map[string]string{},
	}
	for _, b := range f.bounds {
		key, value, ok := strings.Cut(b, "=")
		if _, twice := o.Bounds[key]; twice {
			return o, fmt.Errorf("--bounds %s: %s has bounds already", b, key)
		}
		if !ok {
			return o, fmt.Errorf("--bounds %s: write KEY=LO..HI or KEY=a|b", b)
		}
		o.Bounds[key] = value
	}
	if c.Flags().Changed("constraints") {
		o.Constraints = []string{}
		for _, name := range f.constraints {
			long, ok := constraintNames()[name]
			if !ok && name != "none" {
				return o, fmt.Errorf(
					"--constraints: there is no %q; %s",
					name,
					oneOf(name, []string{"marks-first", "headroom", "no-drop", "none"}),
				)
			}
			if slices.Contains(o.Constraints, long) {
				return o, fmt.Errorf("--constraints names %s twice; once is enough", name)
			}
			if ok {
				o.Constraints = append(o.Constraints, long)
			}
		}
	}
	return o, nil
}

func (f *tuneFlags) run(c *cobra.Command, args []string, p Pipeline) error {
	o, err := f.options(c, args, p)
	if err != nil {
		return err
	}
	if err := checkJSON(f.json); err != nil {
		return err
	}
	if err := checkDir("--config", f.config); err != nil {
		return err
	}
	stderr := c.ErrOrStderr()
	meter := newMeter(stderr, f.quiet)
	ctx, stop, quiet := untilInterrupt(c.Context(), func() {
		meter.clear()
		fmt.Fprintln(stderr, "hopscope: stopping; once more to stop at once")
	})
	defer stop()
	settle := sync.OnceFunc(func() { quiet(); meter.clear() })
	defer settle()
	o.Progress = func(made, planned int) {
		meter.draw(func(elapsed time.Duration) string {
			left := time.Duration(float64(elapsed) * float64(planned-made) / float64(max(1, made)))
			return fmt.Sprintf("%d of %d runs done, about %s left", made, planned, roundDuration(left))
		})
	}
	found, v, err := tune.Run(ctx, o)
	settle()
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return interrupted(ctx, errors.New("interrupted before the search had ended; nothing was written"))
	case err != nil:
		return noRun(ctx, err)
	}
	found.Notes = []string{}
	if !found.Permitted() {
		f.config = ""
		if err := f.write(c, found); err != nil {
			return failure(err)
		}
		return failure(errors.New("no setting can be recommended, so that none is written as configuration"))
	}
	words := deploy.Of(v)
	found.SONiC, found.MLX5, found.Notes = words.SONiC, words.MLX5, words.Notes
	return failure(f.write(c, found))
}

// write writes what was found to everything that was asked for.
func (f *tuneFlags) write(c *cobra.Command, found *report.Tuning) error {
	if f.config != "" {
		set, err := files.NewSetIn(f.config)
		if err != nil {
			return err
		}
		defer set.Discard()
		for _, file := range []struct{ name, text string }{{"sonic.json", found.SONiC}, {"mlx5.sh", found.MLX5}} {
			if file.text == "" {
				continue
			}
			if err := set.Put(file.name, []byte(file.text)); err != nil {
				return err
			}
		}
		if err := set.Commit(); err != nil {
			return err
		}
	}
	return writeStudy(c, found, f.json, &pictures{}, nil)
}
