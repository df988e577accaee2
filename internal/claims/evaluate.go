package claims

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
)

// Verdict is what the runs say of a claim.
type Verdict string

// Verdicts.
const (
	Holds     Verdict = "holds"
	HoldsWhen Verdict = "holds when"
	DoesNot   Verdict = "does not hold"
)

// In is the verdict in a language.
func (v Verdict) In(l lang.Language) string {
	if l != lang.Chinese {
		return string(v)
	}
	switch v {
	case Holds:
		return "成立"
	case HoldsWhen:
		return "有条件成立"
	}
	return "不成立"
}

// Value is a figure as a run had it.
type Value struct {
	Figure *Figure
	Of     *Variant
	Value  float64
	OK     bool // the run had one
}

// Checked is a comparison and how it came out.
type Checked struct {
	Check *Check
	Left  Value
	Right Value // where the check has one
	True  bool
}

// Result is what became of a claim at a point.
type Result struct {
	Number  int
	Claim   *Claim
	Point   Point
	Checks  []Checked
	Outside []Checked
	Verdict Verdict
}

// Job is a claim to be judged at a point.
type Job struct {
	Number int // from 1
	Claim  *Claim
	Point  Point
}

// Options say how to run.
type Options struct {
	Workers int // runs at a time, at least 1; results do not depend on it
	// Do makes a run. It must be safe to call from several goroutines.
	Do       func(context.Context, Spec) (*record.Run, error)
	Progress func(done, all int) // called from several goroutines, but not at once; nil: nobody
}

// Judge runs what the jobs need, each run once, and judges them. The first error in the order of runs is returned.
func Judge(ctx context.Context, jobs []Job, opt Options) ([]Result, error) {
	p := planOf(jobs)
	if err := p.run(ctx, opt); err != nil {
		return nil, err
	}
	out := make([]Result, len(jobs))
	for i, j := range jobs {
		r := Result{Number: j.Number, Claim: j.Claim, Point: j.Point}
		ok, beyond := false, false
		r.Checks, ok = p.judge(j, j.Claim.Checks)
		r.Outside, beyond = p.judge(j, j.Claim.Outside)
		switch {
		case !ok:
			r.Verdict = DoesNot
		case j.Claim.When.EN != "" && !beyond:
			r.Verdict = HoldsWhen
		default:
			r.Verdict = Holds
		}
		out[i] = r
	}
	return out, nil
}

// slot is a figure to be read from runs.
type slot struct {
	figure *Figure
	values []float64 // by seed
	found  []bool
}

// want is a reading of one run into a slot.
type want struct {
	into *slot
	seed int // its place in values
}

// runOnce is a run and what is read from it.
type runOnce struct {
	spec  Spec
	wants []want
}

// plan are the runs that some jobs need, each once.
type plan struct {
	runs  []*runOnce
	byKey map[string]*runOnce
	slots map[slotKey]*slot
}

func planOf(jobs []Job) *plan {
	p := &plan{byKey: map[string]*runOnce{}, slots: map[slotKey]*slot{}}
	for _, j := range jobs {
		for _, list := range [][]Check{j.Claim.Checks, j.Claim.Outside} {
			for i := range list {
				p.need(j, &list[i].Left)
				if list[i].Right != nil {
					p.need(j, list[i].Right)
				}
			}
		}
	}
	return p
}

// slotKey is a term of a job: a figure of what a variant runs.
type slotKey struct {
	spec   string
	figure *Figure
	seeds  int
}

func keyOf(j Job, t *Term) slotKey {
	v := j.Claim.variant(t.Of)
	s := j.Claim.spec(v, j.Point)
	return slotKey{s.key(), t.Figure, v.Seeds}
}

func (s *Spec) key() string {
	seed := "own"
	if s.Seed != nil {
		seed = fmt.Sprint(*s.Seed)
	}
	return s.Scenario + "|" + strings.Join(s.Set, "|") + "|" + seed
}

// need notes what has to be run and read for a term.
func (p *plan) need(j Job, t *Term) {
	key := keyOf(j, t)
	if p.slots[key] != nil {
		return
	}
	v := j.Claim.variant(t.Of)
	seeds := max(1, v.Seeds)
	s := &slot{t.Figure, make([]float64, seeds), make([]bool, seeds)}
	p.slots[key] = s
	for n := range seeds {
		spec := j.Claim.spec(v, j.Point)
		if v.Seeds > 1 {
			seed := uint64(1 + n)
			if spec.Seed != nil {
				seed = *spec.Seed + uint64(n)
			}
			spec.Seed = &seed
		}
		r := p.byKey[spec.key()]
		if r == nil {
			r = &runOnce{spec: spec}
			p.byKey[spec.key()] = r
			p.runs = append(p.runs, r)
		}
		r.wants = append(r.wants, want{s, n})
	}
}

// run makes all runs, as many at a time as there are workers, and reads what is wanted of each.
func (p *plan) run(ctx context.Context, opt Options) error {
	errs := make([]error, len(p.runs))
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range max(1, min(opt.Workers, len(p.runs))) {
		wg.Go(func() {
			for i := range next {
				if errs[i] = p.runs[i].do(ctx, opt); opt.Progress != nil {
					mu.Lock()
					done++
					opt.Progress(done, len(p.runs))
					mu.Unlock()
				}
			}
		})
	}
	for i := range p.runs {
		next <- i
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", p.runs[i].spec.Scenario, err)
		}
	}
	return nil
}

func (r *runOnce) do(ctx context.Context, opt Options) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	made, err := opt.Do(ctx, r.spec)
	if err != nil {
		return err
	}
	o := outcomeOf(made)
	for _, w := range r.wants {
		w.into.values[w.seed], w.into.found[w.seed] = w.into.figure.read(o)
	}
	return nil
}

// judge compares what was read. What has no figure is false.
func (p *plan) judge(j Job, list []Check) (out []Checked, all bool) {
	all = true
	for i := range list {
		c := &list[i]
		x := Checked{Check: c, Left: p.value(j, &c.Left), Right: Value{OK: true, Value: 1}}
		if c.Right != nil {
			x.Right = p.value(j, c.Right)
		}
		bound := c.Times * x.Right.Value
		x.True = x.Left.OK && x.Right.OK && (c.Most && x.Left.Value <= bound || !c.Most && x.Left.Value >= bound)
		all = all && x.True
		out = append(out, x)
	}
	return out, all
}

func (p *plan) value(j Job, t *Term) Value {
	s := p.slots[keyOf(j, t)]
	v := Value{Figure: t.Figure, Of: j.Claim.variant(t.Of), OK: true}
	for _, found := range s.found {
		v.OK = v.OK && found
	}
	switch {
	case t.Figure.across != nil && v.OK:
		v.Value = t.Figure.across(s.values)
	default:
		v.Value = s.values[0]
	}
	return v
}

// Comparisons as the tables write them.

func atLeast(f *Figure, of string, bound float64) Check {
	return Check{Left: Term{of, f}, Times: bound}
}

func atMost(f *Figure, of string, bound float64) Check {
	return Check{Left: Term{of, f}, Most: true, Times: bound}
}

func over(f *Figure, of string, times float64, g *Figure, than string) Check {
	return Check{Left: Term{of, f}, Times: times, Right: &Term{than, g}}
}

func under(f *Figure, of string, times float64, g *Figure, than string) Check {
	return Check{Left: Term{of, f}, Most: true, Times: times, Right: &Term{than, g}}
}
