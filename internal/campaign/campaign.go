// Package campaign carries sweeps out: it finds out before the first run whether the keys that are varied matter,
// makes the runs, here or as shards on other machines, and keeps what came of each in a directory, so that a sweep
// that was broken off goes on where it stood.
package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hopscope/hopscope/internal/batch"
	"github.com/hopscope/hopscope/internal/importers"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/sweep"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/vary"
)

// Campaign is a sweep that can be carried out.
type Campaign struct {
	*sweep.Plan
	Identity sweep.Identity
	// Source is the scenario without what is varied; it needs no other file.
	Source []byte
	base   run.Options
	do     batch.Do
	ids    map[string]int // run by ID

	patience time.Duration // with the runs that are tried for an estimate
}

// Setup says what is swept.
type Setup struct {
	Base    run.Options // the scenario, with what is set in it
	Axes    []*vary.Axis
	Stacks  []string
	Seeds   func(first uint64) ([]uint64, error) // from the scenario's seed
	Samples int
	Program string // its version: results of two are never put together
}

// Open reads the scenario and looks at everything that could keep the runs from telling anything: values that no run
// can have, keys that do not exist or have no effect. The error is the user's.
func Open(ctx context.Context, s Setup, do batch.Do) (*Campaign, error) {
	return run.Unless(ctx, func() (*Campaign, error) { return open(s, do) })
}

func open(s Setup, do batch.Do) (*Campaign, error) {
	c := &Campaign{do: do, patience: triedTime}
	v, err := run.Load(s.Base)
	seed := uint64(0)
	if err == nil {
		seed = v.Seed
	}
	seeds, bad := s.Seeds(seed)
	if bad != nil {
		return nil, bad
	}
	name := s.Base.Scenario
	if err == nil {
		name = v.Name
	}
	if c.Plan, bad = sweep.New(sweep.Setup{Scenario: name, Axes: s.Axes, Stacks: s.Stacks, Seeds: seeds,
		Samples: s.Samples}); bad != nil {
		return nil, bad
	}
	if err != nil { // it may need what is varied
		first := s.Base
		first.Set = slices.Concat(s.Base.Set, c.Set(c.Point(0)))
		if v, err = run.Load(first); err != nil {
			return nil, err
		}
		c.Scenario = v.Name
	}
	c.Source = v.Source
	c.base = run.Options{Scenario: s.Base.Scenario, Text: v.Source, Known: s.Base.Known, Workers: 1}
	if len(s.Base.Files) > 0 {
		c.base.Scenario = "the scenario of " + importers.Given(s.Base.Files)
	}
	c.Identity = sweep.Identity{Program: s.Program, Base: canonical(v), Content: map[string]string{}}
	if err := c.survey(); err != nil {
		return nil, err
	}
	c.ids = make(map[string]int, c.Runs())
	for i := range c.Runs() {
		c.ids[c.ID(c.Identity, i)] = i
	}
	return c, nil
}

// canonical names a scenario by its content, whatever its layout and comments.
func canonical(v *scenario.Valid) string {
	if root, bad := tree.Parse("", v.Source); bad == nil {
		return sweep.Hash(tree.Render(root))
	}
	return sweep.Hash(v.Source)
}

// options are those of a point with a seed; with nil that of the scenario.
func (c *Campaign) options(pt sweep.Point, seed *uint64) run.Options {
	o := c.base
	o.Set, o.Seed = c.Set(pt), seed
	if pt.Stack != "" {
		o.Stack, o.Stacks = pt.Stack, c.Stacks
	}
	return o
}

// job is what run i is.
func (c *Campaign) job(i int) run.Options {
	point, seed := c.RunAt(i)
	return c.options(c.Point(point), &seed)
}

// Bounds of the survey: how many values of an axis, of words and of numbers, and how many points are looked at.
const (
	mostWords   = 64
	mostNumbers = 12
	mostPoints  = 64
)

// surveyed is a scenario that was read, with what of it can matter.
type surveyed struct {
	v   *scenario.Valid
	err error
}

// survey reads the scenario with the values of every axis, as far as these are not very many.
func (c *Campaign) survey() error {
	anchor := c.Point(0)
	for k, a := range c.Axes {
		values := c.valuesOf(k)
		errs, content := make([]error, len(values)), make([]string, len(values))
		same := newAlike(a.Key)
		c.each(len(values), func(i int) {
			l := c.look(anchor, k, values[i])
			errs[i], content[i] = l.err, l.content
			if l.err == nil {
				same.add(l.surveyed)
			}
		})
		for i, err := range errs {
			if err != nil {
				return named(err)
			}
			if content[i] != "" {
				c.Identity.Content[a.Key+"="+values[i].Text] = content[i]
			}
		}
		if err := c.matters(k, values, same); err != nil {
			return err
		}
	}
	return nil
}

// look is what became of a scenario with a value.
type look struct {
	surveyed
	content string // see alone; of words
}

// look reads the scenario with a value of axis k, at the first point or where it can be had.
func (c *Campaign) look(anchor sweep.Point, k int, v vary.Value) (l look) {
	l.surveyed = c.with(anchor, k, v)
	if l.err != nil {
		l.surveyed = c.somewhere(k, v, l.surveyed)
	}
	if l.err == nil && c.Axes[k].Kind == vary.Words {
		l.content = c.alone(c.Axes[k].Key, v)
	}
	return l
}

// each calls do with 0 to n-1, as many at a time as there are processors.
func (c *Campaign) each(n int, do func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// valuesOf lists values of axis k, of many an even choice with the first and the last.
func (c *Campaign) valuesOf(k int) []vary.Value {
	values := c.Axes[k].Values
	if c.Samples > 0 {
		values = nil
		for i := range c.Samples {
			values = append(values, c.Point(i).Values[k])
		}
		slices.SortStableFunc(values, func(a, b vary.Value) int { return cmp.Compare(a.X, b.X) })
		values = slices.CompactFunc(values, func(a, b vary.Value) bool { return a.Text == b.Text })
	}
	if c.Axes[k].Kind == vary.Words {
		return evenly(values, mostWords)
	}
	return evenly(values, mostNumbers)
}

// evenly is an even choice of at most n, with the first and the last.
func evenly[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	out := make([]T, n)
	for i := range out {
		out[i] = all[i*(len(all)-1)/(n-1)]
	}
	return out
}

// with reads the scenario at a point with another value of axis k.
func (c *Campaign) with(pt sweep.Point, k int, v vary.Value) surveyed {
	pt.Values = slices.Clone(pt.Values)
	pt.Values[k] = v
	return c.load(c.options(pt, nil))
}

func (c *Campaign) load(o run.Options) surveyed {
	v, err := run.Load(o)
	if err != nil {
		return surveyed{err: err}
	}
	return surveyed{v: stripped(v)}
}

// stripped is what of a scenario decides what happens: without texts.
func stripped(v *scenario.Valid) *scenario.Valid {
	s := *v
	s.Name, s.Description, s.Symptoms, s.Notes, s.Warnings, s.Source = "", "", nil, nil, nil, nil
	return &s
}

// alone names what a value brings in by itself, as from a file that it names.
func (c *Campaign) alone(key string, v vary.Value) string {
	o := c.base
	o.Set = []string{key + "=" + v.Text}
	got, err := run.Load(o)
	if err != nil {
		return ""
	}
	return canonical(got)
}

// somewhere looks for a point at which a value can be had that cannot at the first; at where it is the first point's.
func (c *Campaign) somewhere(k int, v vary.Value, at surveyed) surveyed {
	var having []int
	for i := range c.Points() {
		if c.Point(i).Values[k].Text == v.Text {
			having = append(having, i)
		}
	}
	for _, i := range evenly(having, mostPoints) {
		if s := c.load(c.options(c.Point(i), nil)); s.err == nil {
			return s
		}
	}
	return at
}

// matters refuses axis k if no two of its values differ in anything that a run depends on, at any point. same
// has looked
// at its values at the first point, or where else they can be had.
func (c *Campaign) matters(k int, values []vary.Value, same *alike) error {
	if same.differ {
		return nil
	}
	all := make([]int, c.Points())
	for i := range all {
		all[i] = i
	}
	for _, i := range evenly(all, mostPoints) {
		there := newAlike(c.Axes[k].Key)
		for _, v := range evenly(values, 3) {
			if s := c.with(c.Point(i), k, v); s.err == nil {
				there.add(s)
			}
		}
		if there.differ {
			return nil
		}
	}
	switch {
	case same.why != "":
		return fmt.Errorf("--vary %s has no effect in any run: %s", c.Axes[k].Key, same.why)
	case len(values) == 1:
		return nil // as good as set
	}
	return fmt.Errorf("--vary %s has no effect in any run: all values come to the same scenario", c.Axes[k].Key)
}

// alike looks whether scenarios with values of a key differ in more than a key without effect. Whatever their order, it
// comes to the same; it keeps one.
type alike struct {
	mu     sync.Mutex
	key    string
	first  *scenario.Valid // in which the key has an effect, as far as the reader knows
	differ bool
	why    string // it has none, where it has none
}

func newAlike(key string) *alike { return &alike{key: key} }

func (a *alike) add(s surveyed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch why := idle(s.v, a.key); {
	case why != "":
		a.why = why
	case a.first == nil:
		a.first = s.v
	case !reflect.DeepEqual(s.v, a.first):
		a.differ = true
	}
}

// idle says why a key that is given has no effect; "": it has one.
func idle(v *scenario.Valid, key string) string {
	for _, i := range v.Idle {
		rest, of := strings.CutPrefix(key, i.Key)
		if of && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return i.Why
		}
	}
	return ""
}

// named is an error about a setting that names the flag it comes from.
func named(err error) error {
	var wrong *scenario.Error
	if errors.As(err, &wrong) && strings.HasPrefix(wrong.File, "--set ") {
		own := *wrong
		own.File = "--vary " + strings.TrimPrefix(wrong.File, "--set ")
		return &own
	}
	return err
}
