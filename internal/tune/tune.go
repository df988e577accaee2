// Package tune looks for values of a scenario's keys that make one figure better: successive
// halving over choices, CMA-ES on the logarithm of what has a scale, and random search with as many
// runs beside both, so that one sees what the method is worth. What was found is judged with
// seeds that no search has seen.
package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/batch"
	"github.com/hopscope/hopscope/internal/headline"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
)

// Options say what to tune.
type Options struct {
	Run       run.Options // the scenario; its seed is the first
	Known     scenario.Known
	Do        batch.Do
	Objective string            // a headline figure by name or title
	Params    []string          // keys
	Bounds    map[string]string // of keys: lo..hi, or a|b|c
	Budget    int               // runs of the search, and as many of random search
	Train     int               // seeds that a setting is searched with
	Fresh     int               // seeds that it is judged with
	// Constraints that settings must keep; nil: those that the scenario's stack promises.
	Constraints []string
	Workers     int
	Progress    func(made, planned int) // may be nil
}

// wrong is an error of what was asked for.
func wrong(format string, args ...any) error {
	return &scenario.Error{Msg: fmt.Errorf(format, args...).Error()}
}

// tuner is a search under way.
type tuner struct {
	Options
	base        *scenario.Valid
	objective   headline.Figure
	sign        float64 // +1: less is better
	params      []param
	constraints []string
	trainSeeds  []uint64
	listSeeds   []uint64 // of the shortlists
	freshSeeds  []uint64
	trials      []trial
	drawn       uint64 // the seed of what searches draw
	made        int
	planned     int
}

// AllConstraints lists the names that Constraints may have.
func AllConstraints() []string { return []string{MarksFirst, Headroom, NoDrop} }

// Run tunes a scenario. The scenario as it is to be set comes back beside the report. Errors are
// of one line: a *scenario.Error or one about the options.
func Run(ctx context.Context, o Options) (*report.Tuning, *scenario.Valid, error) {
	t := &tuner{Options: o}
	if err := t.prepare(ctx); err != nil {
		return nil, nil, err
	}
	settings := t.Budget / t.Train
	size, arms := population(max(1, t.continuous())), len(t.arms())
	halving := 0
	if arms > 1 {
		halving = settings
		if t.continuous() > 0 {
			halving = max(arms, settings/3)
		}
	}
	generations := 0
	if t.continuous() > 0 {
		generations = (settings - halving - 1) / size // and one more setting, their middle
	}
	if least := t.leastBudget(arms, size); t.Budget < least {
		return nil, nil, wrong(
			"--budget %d is less than a search takes: %s; give at least %d",
			t.Budget,
			t.needs(arms, size),
			least,
		)
	}
	t.planned = t.made + 2*halving*t.Train + generations*size*t.Train*2 + (3+2*listed)*t.Fresh + 2*listed*t.Train + 2*len(
		t.params,
	)*t.Fresh
	from := t.now()
	if halving > 0 {
		b, err := t.halving(ctx, halving)
		if err != nil {
			return nil, nil, err
		}
		from = b.x
	}
	if generations > 0 {
		if err := t.cma(ctx, from, generations); err != nil {
			return nil, nil, err
		}
	}
	if err := t.random(ctx, len(t.trials)); err != nil {
		return nil, nil, err
	}
	return t.conclude(ctx)
}

// leastBudget is the least number of runs that is a search: every choice once, and three
// generations.
func (t *tuner) leastBudget(arms, size int) int {
	n := 0
	if arms > 1 {
		n = arms
	}
	if t.continuous() > 0 {
		n = max(n+3*size+1, (9*size+3)/2+1) // halving takes a third
		if arms <= 1 {
			n = 3*size + 1
		}
	}
	return n * t.Train
}

func (t *tuner) needs(arms, size int) string {
	var parts []string
	if arms > 1 {
		parts = append(parts, fmt.Sprintf("%d choices", arms))
	}
	if t.continuous() > 0 {
		parts = append(parts, fmt.Sprintf("three generations of %d settings", size))
	}
	return strings.Join(parts, " and ") + fmt.Sprintf(", each with %d seeds", t.Train)
}

// mostArms is how many combinations of choices there may be.
const mostArms = 64

// prepare reads the scenario and checks all that can be known before the searches.
func (t *tuner) prepare(ctx context.Context) error {
	f, ok := headline.Find(t.Objective)
	if !ok {
		var names []string
		for _, f := range headline.Named() {
			if f.Better != headline.Neither {
				names = append(names, f.Title)
			}
		}
		return wrong("--objective %q is no figure of runs; those that there are: %s", t.Objective, strings.Join(names, ", "))
	}
	if f.Better == headline.Neither {
		return wrong("--objective %q: neither less nor more of it is better; take another, such as p99 slowdown", t.Objective)
	}
	t.objective, t.sign = f, -float64(f.Better)
	v, err := run.Load(t.Run)
	if err != nil {
		return err
	}
	t.base = v
	if err := t.readParams(); err != nil {
		return err
	}
	if n := len(t.arms()); n > mostArms {
		return wrong(
			"the choices have %d combinations; at most %d can be searched: leave some out, or bound them: --bounds KEY=a|b",
			n,
			mostArms,
		)
	}
	if err := t.effects(); err != nil {
		return err
	}
	first := v.Seed
	if t.Run.Seed != nil {
		first = *t.Run.Seed
	}
	t.drawn = first
	for i := range t.Train {
		t.trainSeeds = append(t.trainSeeds, first+uint64(i))
	}
	for i := range t.Fresh {
		t.listSeeds = append(t.listSeeds, first+uint64(t.Train+i))
		t.freshSeeds = append(t.freshSeeds, first+uint64(t.Train+t.Fresh+i))
	}
	return t.tryAsItIs(ctx)
}

// effects refuses keys that have no effect in this scenario, whatever their value.
func (t *tuner) effects() error {
	texts := t.texts(t.now())
	for i := range t.params {
		opt := t.Run
		opt.Set = append(slices.Clone(t.Run.Set), t.setOf(texts)...)
		v, err := run.Load(opt)
		if err != nil {
			return err
		}
		for _, idle := range v.Idle {
			if path := t.params[i].Path; path == idle.Key || strings.HasPrefix(path, idle.Key+".") {
				return wrong("--params: %s has no effect: %s", path, idle.Why)
			}
		}
	}
	return nil
}

// tryAsItIs makes one run of the scenario as it is: whether it has the objective, and which
// constraints hold there.
func (t *tuner) tryAsItIs(ctx context.Context) error {
	t.constraints = t.Constraints
	if t.constraints == nil {
		t.constraints = t.promised()
	}
	o, ok := t.one(ctx, nil, t.trainSeeds[0])
	t.made++
	switch {
	case !ok:
		return ctx.Err()
	case o.why != "":
		return errors.New(o.why)
	case math.IsNaN(o.value):
		var names []string
		for _, f := range headline.Figures() {
			if f.Better != headline.Neither && slices.Contains(o.have, f.Title) {
				names = append(names, f.Title)
			}
		}
		ended := ""
		if o.status != batch.Done {
			ended = " (" + string(o.status) + ")"
		}
		return wrong("--objective %q: a run of this scenario%s has none; it has: %s", t.Objective, ended,
			strings.Join(names, ", "))
	}
	return nil
}

// promised are the constraints that a scenario's stack lets one expect.
func (t *tuner) promised() (out []string) {
	pauses, marks := false, t.red().KMax > 0
	for n := range t.base.Switches {
		if m := t.base.Switches[n].Memory; m != nil {
			for c := range m.Groups[0] {
				pauses = pauses || m.Groups[0][c].Lossless
			}
		}
	}
	if pauses && marks {
		out = append(out, MarksFirst)
	}
	if pauses {
		out = append(out, Headroom, NoDrop)
	}
	return out
}

// candidate is a setting that is judged with fresh seeds.
type candidate struct {
	name  string
	trial *trial // nil: the scenario as it is
	score score
}

// conclude judges what the searches found, and how much each parameter matters there.
func (t *tuner) conclude(ctx context.Context) (*report.Tuning, *scenario.Valid, error) {
	found := []candidate{{name: "as the scenario is"}, {name: "the search's best"}, {name: "random search's best"}}
	if err := t.runAll(ctx, []job{{nil, t.freshSeeds, &found[0].score}}); err != nil {
		return nil, nil, err
	}
	for i, searches := range [][]string{{halvingSearch, cmaSearch}, {randomSearch}} {
		if err := t.choose(ctx, &found[1+i], searches...); err != nil {
			return nil, nil, err
		}
	}
	winner := 0
	if slices.ContainsFunc(t.params, func(p param) bool { return p.outside }) {
		winner = 1 // what the scenario has is not allowed
	}
	for i := winner; i < len(found); i++ {
		if found[i].score.rank < found[winner].score.rank {
			winner = i
		}
	}
	texts := make([]string, len(t.params))
	if found[winner].trial != nil {
		texts = found[winner].trial.texts
	}
	opt := t.Run
	if found[winner].trial != nil {
		opt.Set = append(slices.Clone(t.Run.Set), t.setOf(texts)...)
	}
	v, err := run.Load(opt)
	if err != nil {
		return nil, nil, err
	}
	out := t.report(found, winner)
	if err := t.sensitivity(ctx, &found[winner], out); err != nil {
		return nil, nil, err
	}
	out.Runs = t.made
	return out, v, nil
}

// choose judges the settings of a shortlist with fresh seeds until one keeps the constraints with
// all of them: the first, as a rule. What decides is the constraints alone, not the objective.
func (t *tuner) choose(ctx context.Context, c *candidate, searches ...string) error {
	list, err := t.shortlist(ctx, searches...)
	if err != nil {
		return err
	}
	for _, tr := range list {
		var judged score
		if err := t.runAll(ctx, []job{{t.setOf(tr.texts), t.freshSeeds, &judged}}); err != nil {
			return err
		}
		if c.trial == nil || judged.ok() {
			c.trial, c.score = tr, judged
		}
		if judged.ok() {
			break
		}
		t.planned += t.Fresh
	}
	return nil
}
