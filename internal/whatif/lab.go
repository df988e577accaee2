package whatif

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// Source says which scenario experiments are made with.
type Source struct {
	Scenario string         // name of a shipped scenario, or a file
	Text     []byte         // its text, which Scenario then only names; nil: it is read
	Stack    string         // over the scenario's own; "": as it says
	Stacks   []string       // all that Stack is compared with, itself among them; nil: it runs alone
	Set      []string       // key=value, over the scenario's own values
	Seed     *uint64        // likewise
	Known    scenario.Known // what the scenario may name beside what the program has
	// Timeline asks for the samples of a page, of the scenario as it is.
	Timeline bool
	// Check, if not nil, may refuse the scenario before it runs.
	Check func(*scenario.Valid) error
}

// load reads the scenario, without something and with more keys set.
func (s *Source) load(w scenario.Without, set ...string) (*scenario.Valid, error) {
	return scenario.Read(scenario.Source{Name: s.Scenario, Text: s.Text, Stack: s.Stack, Stacks: s.Stacks,
		Set: slices.Concat(s.Set, set), Seed: s.Seed, Without: w, Known: s.Known})
}

// build makes the world of the scenario as it is.
func (s *Source) build(workers int) (*build.World, error) {
	v, err := s.load(scenario.Without{})
	if err != nil {
		return nil, err
	}
	if len(v.Plan.Jobs) == 0 && (len(v.Plan.Conns) == 0 || v.Plan.Len() == 0) {
		return nil, &scenario.Error{Msg: "the workload sends no message; an experiment needs one whose time can change"}
	}
	if s.Check != nil {
		if err := s.Check(v); err != nil {
			return nil, err
		}
	}
	w, err := build.New(v, build.Options{Workers: workers})
	if err != nil {
		return nil, &scenario.Error{Msg: err.Error()}
	}
	return w, nil
}

// Lab is a scenario that ran as it is, ready for experiments. Several may be made at once.
type Lab struct {
	Run   *record.Run
	Valid *scenario.Valid
	src   Source
	ways  *ways
	ports map[topology.Hop]*evidence
	frame int64 // largest data frame in bytes
	keys  []key // by message
	base  *Outcome
}

// key is a message by its connection and its number there, from 0: with messages removed it is
// another of the plan.
type key struct{ conn, nth int }

// Outcome is what a run with changes came to.
type Outcome struct {
	// took is how long messages took, by connection and number; Never: it did not complete
	// with success.
	took [][]units.Time
	// Collectives are how fast they were, in the order of the workload.
	Collectives []metrics.Collective
	// Jobs are how fast their steps were, in their order.
	Jobs        []metrics.JobFigures
	Drops       int64 // frames
	Marks       int64 // packets
	Timeouts    int64
	HeldPS      units.Time // of all ports together, by pauses or for want of credits, with a frame waiting
	Stopped     string     // why the run ended; see record.Run
	Err         error      // the changed scenario cannot be run
	ways, links int        // ways of connections at the start, and the links that they have together
}

// Open runs a scenario as it is. With an error of ctx there is no Lab.
func Open(ctx context.Context, src Source, workers int, progress func(run.Progress)) (*Lab, error) {
	w, err := run.Unless(ctx, func() (*build.World, error) { return src.build(workers) })
	if err != nil {
		return nil, err
	}
	v := w.Valid
	l := &Lab{src: src, Valid: v, ways: newWays(w)}
	l.frame = largestFrame(v)
	l.Run = run.Simulate(ctx, w, run.Options{Workers: workers, Progress: progress, Timeline: src.Timeline})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l.keys = make([]key, v.Plan.Len())
	next := make([]int, len(v.Plan.Conns))
	for i, m := range v.Plan.All() {
		l.keys[i] = key{m.Conn, next[m.Conn]}
		next[m.Conn]++
	}
	l.ports = l.evidenceOf()
	l.base = outcomeOf(v, l.Run)
	return l, nil
}

// largestFrame is about that of a full data packet, in bytes.
func largestFrame(v *scenario.Valid) int64 {
	n := units.Bytes(0)
	for i := range v.Transports {
		n = max(n, v.Transports[i].MTU)
	}
	return int64(n) + 100
}

// Try runs the scenario with changes, on one core.
func (l *Lab) Try(ctx context.Context, changes ...Change) *Outcome {
	v, r, err := l.simulate(ctx, changes, run.Options{Workers: 1})
	if err != nil {
		return &Outcome{Err: err}
	}
	out := outcomeOf(v, r)
	for _, c := range changes {
		if c.Kind == Earlier { // what is left has the numbers of the whole again
			out.took[c.Conn] = append(make([]units.Time, c.Count), out.took[c.Conn]...)
		}
	}
	return out
}

// Again runs the scenario with changes once more, with the samples of a page.
func (l *Lab) Again(ctx context.Context, workers int, changes ...Change) (*record.Run, error) {
	_, r, err := l.simulate(ctx, changes, run.Options{Workers: workers, Timeline: true})
	return r, err
}

// simulate runs the scenario with changes.
func (l *Lab) simulate(ctx context.Context, changes []Change, opt run.Options) (*scenario.Valid, *record.Run, error) {
	w, err := run.Unless(ctx, func() (*build.World, error) {
		v, err := l.src.load(without(l.ways, changes), settings(l.Valid, changes)...)
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			c.apply(v, l.ways)
		}
		if err := untold(v); err != nil {
			return nil, err
		}
		return build.New(v, build.Options{Workers: opt.Workers})
	})
	if err != nil {
		return nil, nil, err
	}
	r := run.Simulate(ctx, w, opt)
	return w.Valid, r, ctx.Err()
}

// TryAll runs the scenario once for each set of changes, workers at a time, and calls done,
// one call at a time, as each ends. Those that ctx keeps from running are nil.
func (l *Lab) TryAll(ctx context.Context, sets [][]Change, workers int, done func(i int, o *Outcome)) []*Outcome {
	out := make([]*Outcome, len(sets))
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range max(1, min(workers, len(sets))) {
		wg.Go(func() {
			for i := range next {
				o := l.Try(ctx, sets[i]...)
				if errors.Is(o.Err, context.Canceled) || errors.Is(o.Err, context.DeadlineExceeded) {
					continue
				}
				mu.Lock()
				out[i] = o
				if done != nil {
					done(i, o)
				}
				mu.Unlock()
			}
		})
	}
	for i := range sets {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

// outcomeOf is what a run came to.
func outcomeOf(v *scenario.Valid, r *record.Run) *Outcome {
	o := &Outcome{took: make([][]units.Time, len(v.Plan.Conns)), Stopped: r.Stopped, Collectives: metrics.Collectives(r),
		Jobs: metrics.Jobs(r)}
	for i, m := range v.Plan.All() {
		f, took := &r.Messages[i], units.Never
		if metrics.Completed(f) {
			took = f.CompletionPS
		}
		o.took[m.Conn] = append(o.took[m.Conn], took)
	}
	for i := range r.Ports {
		o.Drops += r.Ports[i].Dropped
		o.Marks += r.Ports[i].Marked
		o.HeldPS += r.Ports[i].HeldPS
	}
	for i := range r.QPs {
		o.Timeouts += r.QPs[i].Timeouts
		o.links += len(r.QPs[i].Limits.Path)
		o.ways += min(len(r.QPs[i].Limits.Path), 1)
	}
	return o
}

// Took is how long message i of the Lab's run took in an outcome; Never: it did not complete.
func (l *Lab) Took(o *Outcome, i int) units.Time {
	k := l.keys[i]
	if o == nil || o.Err != nil || k.nth >= len(o.took[k.conn]) {
		return units.Never
	}
	return o.took[k.conn][k.nth]
}

// Gain is the share of message i's time that an outcome saves: 1 - T_X/T. Where the message
// never completed as the scenario is, one that completes gains all; where it does not complete
// in the outcome, the gain is -1.
func (l *Lab) Gain(o *Outcome, i int) float64 { return gain(l.Took(l.base, i), l.Took(o, i)) }

func gain(before, after units.Time) float64 {
	switch {
	case after == units.Never && before == units.Never:
		return 0
	case after == units.Never:
		return -1
	case before == units.Never:
		return 1
	}
	return 1 - float64(after)/float64(max(before, 1))
}

// Refusal is why an outcome cannot be compared, in words; "": it can.
func (l *Lab) Refusal(o *Outcome) string {
	switch {
	case o.Err != nil:
		return o.Err.Error()
	case o.Drops > l.base.Drops:
		return fmt.Sprintf("drops %d", o.Drops)
	}
	return ""
}

// WhyLonger is what a change brought about that made its subject slower, in words.
func (l *Lab) WhyLonger(o *Outcome) string {
	b := l.base
	switch {
	case o.Timeouts > b.Timeouts:
		return fmt.Sprintf("slower: %d timeouts, %d before", o.Timeouts, b.Timeouts)
	case o.Marks*100 > b.Marks*102:
		return fmt.Sprintf("slower: %d packets marked, %d before", o.Marks, b.Marks)
	case o.HeldPS*100 > b.HeldPS*102:
		return fmt.Sprintf(
			"slower: ports held for %s in all, %s before",
			metrics.FormatTime(o.HeldPS),
			metrics.FormatTime(b.HeldPS),
		)
	}
	return "slower: others then meet it more"
}
