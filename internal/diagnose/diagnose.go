// Package diagnose finds which fault of a machine explains the times that nccl-tests measured:
// it runs a scenario's collective over the log's sizes as it is and with one fault each, and
// says which curve fits best over all sizes, or that nothing is to be found.
package diagnose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/ncclog"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// Evidence in twice the natural logarithm of odds (Kass and Raftery, Bayes factors, JASA 90,
// 1995): from Positive on a fault is named, and less than Strong between two faults leaves both.
const (
	Positive = 2.0
	Strong   = 6.0
)

// DefaultLargest is the largest size that is run; beyond, time grows by bandwidth alone.
const DefaultLargest = 256 << 20

// noEffect is how near to the healthy curve, at every size, one that says nothing is.
const noEffect = 0.02

// Source is the scenario of the healthy machine.
type Source struct {
	Scenario string // name of a shipped one, or a file
	Text     []byte // what it says; nil: as Scenario names
	Set      []string
	Seed     *uint64
	Known    scenario.Known
}

// Lab is a scenario and what its faults come to. Its methods may not be called at a time.
type Lab struct {
	src   Source
	sweep scenario.Sweep
	unit  int64
	Op    string // of the collective
	Ranks int
	Faults
}

// Faults are the curves of a scenario.
type Faults struct {
	Healthy Curve
	Tried   []Fault
	Untried []string // names of hypotheses whose keys the scenario does not take, and that change nothing
	Left    []string // names of those that were not run, for want of budget or because the user stopped
}

// Fault is a hypothesis with its curve.
type Fault struct {
	Hypothesis
	Curve Curve
}

// Open reads a scenario, and checks that the logs are of its collective. Errors of the
// scenario are *scenario.Error, those of a log *ncclog.Error; logs are named by names.
func Open(src Source, largest int64, names []string, logs ...*ncclog.Log) (*Lab, error) {
	v, err := run.Load(run.Options{Scenario: src.Scenario, Text: src.Text, Set: src.Set, Seed: src.Seed, Known: src.Known})
	if err != nil {
		return nil, err
	}
	if len(v.Plan.Collectives) == 0 {
		return nil, &scenario.Error{File: src.Scenario, Msg: "the scenario has no collective; diagnose needs that of the log"}
	}
	c := &v.Plan.Collectives[0]
	l := &Lab{src: src, Op: c.Op, Ranks: c.Ranks, unit: 4}
	if factorOf(c.Op, 2) == 0.5 {
		l.unit = 4 * int64(c.Ranks)
	}
	first, last := int64(math.MaxInt64), int64(0)
	var sizes []int64
	for i, log := range logs {
		if err := l.suits(names[i], log); err != nil {
			return nil, err
		}
		for _, r := range log.Rows {
			first, last = min(first, r.Bytes), max(last, r.Bytes)
			sizes = append(sizes, r.Bytes)
		}
	}
	first = min(max(first, l.unit), max(largest/2, l.unit))
	l.sweep = scenario.Sweep{Entry: c.Entry, From: units.Bytes(first), To: units.Bytes(max(min(max(last, 64<<20),
		largest), first)), Factor: step(first, sizes)}
	return l, nil
}

// step is the largest factor whose powers lead from the first size to all others; 2 where there
// is none: the curve lies between its points there.
func step(first int64, sizes []int64) int {
	for _, f := range []int64{8, 4, 3, 2} {
		if !slices.ContainsFunc(sizes, func(s int64) bool {
			for n := first; ; n *= f {
				if n >= s || n > math.MaxInt64/f {
					return n != s
				}
			}
		}) {
			return int(f)
		}
	}
	return 2
}

// suits checks that a log is of the scenario's collective.
func (l *Lab) suits(name string, log *ncclog.Log) error {
	switch {
	case log.Op != "" && log.Op != l.Op:
		return &ncclog.Error{File: name, Line: 1, Col: 1, Msg: fmt.Sprintf("the log is of %s; the scenario's "+
			"collective is %s", log.Op, l.Op)}
	case log.Ranks > 0 && log.Ranks != l.Ranks:
		return &ncclog.Error{File: name, Line: log.RanksAt, Col: 1, Msg: fmt.Sprintf("the log has %d ranks; the "+
			"scenario's collective has %d", log.Ranks, l.Ranks)}
	}
	for _, r := range log.Rows {
		if want := factorOf(l.Op, l.Ranks); r.Factor > 0 && math.Abs(r.Factor/want-1) > 0.01 {
			return &ncclog.Error{File: name, Line: r.Line, Col: 1, Msg: fmt.Sprintf("busbw is %.3f times algbw; it is "+
				"%.3f times for %s over the scenario's %d ranks: another operation, or other ranks", r.Factor, want, l.Op, l.Ranks)}
		}
	}
	return nil
}

// factorOf is busbw over algbw (nccl-tests, PERFORMANCE.md).
func factorOf(op string, ranks int) float64 {
	share := float64(ranks-1) / float64(ranks)
	switch op {
	case "allreduce":
		return 2 * share
	case "allgather", "reducescatter", "alltoall":
		return share
	}
	return 1
}

// errUnfinished is that of a run in which a size was not over.
var errUnfinished = errors.New("a size was not over at the end of the run")

// curve runs the scenario with changes.
func (l *Lab) curve(ctx context.Context, set []string) (c Curve, err error) {
	w, err := run.Unless(ctx, func() (*build.World, error) {
		v, err := scenario.Read(l.source(set...))
		if err != nil {
			return nil, err
		}
		w, err := build.New(v, build.Options{Workers: 1})
		if err != nil {
			return nil, &scenario.Error{File: l.src.Scenario, Msg: err.Error()}
		}
		return w, nil
	})
	if err != nil {
		return c, err
	}
	r := run.Simulate(ctx, w, run.Options{Workers: 1})
	if ctx.Err() != nil {
		return c, ctx.Err()
	}
	name := w.Valid.Plan.Entries[l.sweep.Entry]
	for i, x := range metrics.Collectives(r) {
		if r.Collectives[i].Workload != name {
			continue
		}
		if x.Done == 0 {
			return c, errUnfinished
		}
		of := &r.Collectives[i]
		c.Bytes, c.US = append(c.Bytes, float64(of.Bytes)), append(c.US, float64(x.TimePS)/1e6)
		c.Choice = append(c.Choice, of.Algorithm+" "+of.Protocol)
	}
	return c, nil
}

// Budget bounds what Run does.
type Budget struct {
	Workers int // runs at a time, at least 1
	Runs    int // in all, the scenario as it is among them; 0: no limit
}

// Run runs the scenario as it is, and then the hypotheses in their order until all are over, the
// budget is used up or ctx ends: those that were not reached are in Left. done hears of each that
// is over. The error is that of the scenario as it is, or of ctx where that ended before.
func (l *Lab) Run(ctx context.Context, budget Budget, done func(n, of int)) error {
	v, err := scenario.Read(l.source())
	if err != nil {
		return err
	}
	all := hypotheses(v, l.sweep.Entry, l.Ranks)
	if l.Healthy, err = l.curve(ctx, nil); err != nil {
		return err
	}
	of := len(all) + 1
	if budget.Runs > 0 {
		of = min(of, max(budget.Runs, 1))
	}
	done(1, of)
	curves, errs := make([]Curve, len(all)), make([]error, len(all))
	for i := range errs {
		errs[i] = errNotReached
	}
	next := make(chan int)
	var group sync.WaitGroup
	var mu sync.Mutex
	over := 1
	for range max(1, min(budget.Workers, len(all))) {
		group.Go(func() {
			for i := range next {
				c, err := l.curve(ctx, all[i].Set)
				if ctx.Err() != nil {
					continue
				}
				curves[i], errs[i] = c, err
				mu.Lock()
				over++
				done(over, of)
				mu.Unlock()
			}
		})
	}
	for i := range all[:of-1] {
		next <- i
	}
	close(next)
	group.Wait()
	for i, h := range all {
		switch c, err := curves[i], errs[i]; {
		case errors.Is(err, errNotReached):
			l.Left = append(l.Left, h.Name)
		case err != nil || farthest(&c, &l.Healthy, l.Healthy.Bytes).By < noEffect:
			l.Untried = append(l.Untried, h.Name)
		default:
			l.add(Fault{h, c})
		}
	}
	return nil
}

// errNotReached is that of a hypothesis that was not run to its end.
var errNotReached = errors.New("not reached")

// add adds a fault, to that whose curve nothing tells from its own if there is one.
func (l *Lab) add(f Fault) {
	for i := range l.Tried {
		t := &l.Tried[i]
		if farthest(&f.Curve, &t.Curve, f.Curve.Bytes).By < noEffect {
			t.Name += ", or " + f.Name
			t.Checks = slices.Concat(t.Checks, slices.DeleteFunc(slices.Clone(f.Checks),
				func(c string) bool { return slices.Contains(t.Checks, c) }))
			return
		}
	}
	l.Tried = append(l.Tried, f)
}

// Names are those of the finding's faults.
func (f *Finding) Names() string {
	name := f.Name
	for _, l := range f.Like {
		name += ", or " + l.Name
	}
	return name
}

// Distance is at how many bytes two curves are farthest apart, and by how much: the logarithm
// of the ratio.
type Distance struct{ Bytes, By float64 }

// farthest compares two curves at sizes.
func farthest(a, b *Curve, sizes []float64) (d Distance) {
	for _, s := range sizes {
		if by := math.Abs(math.Log(a.At(s) / b.At(s))); by > d.By {
			d = Distance{s, by}
		}
	}
	return d
}

// Finding is how well a curve fits.
type Finding struct {
	Fault
	Like   []Fault // faults that fit no better, and that this log could not tell from it
	Misfit float64 // for each size; of the truth about 1
	// Evidence is twice the logarithm of the odds against a healthy machine, where a healthy
	// one is as likely beforehand as all faults together, and these are alike.
	Evidence float64
}

// Diagnosis is what a log, or two, come to.
type Diagnosis struct {
	Sizes    []float64 // bytes
	US       []float64 // measured; of two logs the slower one's
	Good     []float64 // of two logs the faster one's; nil: there is one
	Healthy  Finding
	Findings []Finding // the best first
	Swapped  bool      // the second of two logs is the slower one
}

// Judge sets a log beside the curves, or two: their ratio beside that of a fault to the
// healthy machine.
func (f *Faults) Judge(logs ...*ncclog.Log) (*Diagnosis, error) {
	d := &Diagnosis{}
	d.take(logs)
	if len(d.Sizes) == 0 {
		return nil, errors.New("the two logs have no size in common; give logs of the same sizes")
	}
	of := spread{noise: noise, model: constants, beyond: f.Healthy.beyond, unsure: func(bytes float64) float64 {
		if f.Healthy.switches(bytes) {
			return switching
		}
		return 0
	}}
	if d.Good != nil { // what is unsure of one machine is so of the other
		none := func(float64) float64 { return 0 }
		of = spread{noise: noise * math.Sqrt2, model: alike, beyond: none, unsure: none}
	}
	w := newWeight(d.Sizes, of)
	misfit := func(c *Curve) float64 {
		r := make([]float64, len(d.Sizes))
		for i, s := range d.Sizes {
			r[i] = math.Log(d.US[i] / c.At(s))
			if d.Good != nil {
				r[i] = math.Log(d.US[i] / d.Good[i] * f.Healthy.At(s) / c.At(s))
			}
		}
		return w.misfit(r)
	}
	n := float64(len(d.Sizes))
	base := misfit(&f.Healthy)
	d.Healthy = Finding{Fault: Fault{Curve: f.Healthy}, Misfit: base / n}
	prior := 2 * math.Log(float64(max(len(f.Tried), 1)))
	var all []Finding
	for _, t := range f.Tried {
		m := misfit(&t.Curve)
		all = append(all, Finding{Fault: t, Misfit: m / n, Evidence: base - m - prior})
	}
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(b.Evidence, a.Evidence) })
	for _, a := range all {
		d.addSuspect(w, a)
	}
	return d, nil
}

// addSuspect adds a finding, to the first with all of whose faults this log could not tell its own
// apart: were one true, the evidence against the other would be below Positive on average.
func (d *Diagnosis) addSuspect(w *weight, f Finding) {
	tells := func(o *Fault) bool {
		r := make([]float64, len(d.Sizes))
		for i, s := range d.Sizes {
			r[i] = math.Log(f.Curve.At(s) / o.Curve.At(s))
		}
		return w.misfit(r) >= Positive
	}
	for i := range d.Findings {
		other := &d.Findings[i]
		if !tells(&other.Fault) && !slices.ContainsFunc(other.Like, func(l Fault) bool { return tells(&l) }) {
			other.Like = append(other.Like, f.Fault)
			return
		}
	}
	d.Findings = append(d.Findings, f)
}

// take puts the times of a log side by side, or of two those of the sizes that both have, the
// slower first.
func (d *Diagnosis) take(logs []*ncclog.Log) {
	if len(logs) == 1 {
		for _, r := range logs[0].Rows {
			d.Sizes, d.US = append(d.Sizes, float64(r.Bytes)), append(d.US, r.US)
		}
		return
	}
	d.Good = []float64{}
	sum := 0.0
	for _, r := range logs[0].Rows {
		k, ok := slices.BinarySearchFunc(logs[1].Rows, r.Bytes, func(o ncclog.Row,
			b int64) int {
			return cmp.Compare(o.Bytes, b)
		})
		if ok {
			other := logs[1].Rows[k].US
			d.Sizes, d.US, d.Good = append(d.Sizes, float64(r.Bytes)), append(d.US, r.US), append(d.Good, other)
			sum += math.Log(r.US / other)
		}
	}
	if sum < 0 {
		d.US, d.Good, d.Swapped = d.Good, d.US, true
	}
}

// Named are the findings that the evidence names: the best, where it is positive, and those
// that fit alike, which alone would be named too. Without any, nothing was found.
func (d *Diagnosis) Named() (out []Finding) {
	if len(d.Findings) == 0 || d.Findings[0].Evidence < Positive {
		return nil
	}
	for _, f := range d.Findings {
		if d.Findings[0].Evidence-f.Evidence < Strong && f.Evidence >= Positive {
			out = append(out, f)
		}
	}
	return out
}

// Apart is the size that tells two faults apart best, of those that were run.
func Apart(a, b *Fault) Distance { return farthest(&a.Curve, &b.Curve, a.Curve.Bytes) }

// source is the scenario at the sizes of the sweep, with changes over its own.
func (l *Lab) source(set ...string) scenario.Source {
	return scenario.Source{Name: l.src.Scenario, Text: l.src.Text, Set: slices.Concat(l.src.Set, set), Seed: l.src.Seed,
		Sweep: &l.sweep, Known: l.src.Known}
}
