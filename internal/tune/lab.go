package tune

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/hopscope/hopscope/internal/batch"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// Constraints that a setting must keep.
const (
	MarksFirst = "ECN acts before PFC"
	Headroom   = "headroom suffices"
	NoDrop     = "no drop"
)

// broken says what a run did that did not keep a constraint.
func broken(constraint string) string {
	return map[string]string{MarksFirst: "PFC acted before ECN", Headroom: "headroom was too small",
		NoDrop: "dropped frames"}[constraint]
}

// ended says how a run ended that did not come to its end.
func ended(s batch.Status) string {
	return map[batch.Status]string{batch.Deadlock: "deadlocked", batch.Stalled: "stalled", batch.Invalid: "was refused",
		batch.Failed: "failed"}[s]
}

// outcome is what one run of a setting came to.
type outcome struct {
	value  float64  // of the objective; not a number where the run has none
	broken []string // what the run did that it must not
	status batch.Status
	why    string // the error of a run that is refused or failed
	have   []string
	// Messages of the run, and those of them that completed.
	completed, messages int64
}

// score is a setting over several seeds: the mean of the objective, so that less is better, and
// what was broken on any of them.
type score struct {
	values []report.TuneValue // by seed
	mean   float64            // of values; with broken, not to be compared
	rank   float64            // by which settings are ordered: less is better
	broken []string
	why    string
	// Over all seeds.
	completed, messages int64
}

// ok reports whether all constraints were kept on all seeds.
func (s *score) ok() bool { return len(s.broken) == 0 }

// job is one setting to try.
type job struct {
	set   []string
	seeds []uint64
	out   *score
}

// runAll makes the runs of all jobs, so many at a time. What comes of them does not depend on how
// many that are. The error is that of the context.
func (t *tuner) runAll(ctx context.Context, jobs []job) error {
	type single struct{ job, seed int }
	var all []single
	results := make([][]outcome, len(jobs))
	for i := range jobs {
		results[i] = make([]outcome, len(jobs[i].seeds))
		for k := range jobs[i].seeds {
			all = append(all, single{i, k})
		}
	}
	next := make(chan single)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range max(1, min(t.Workers, len(all))) {
		wg.Go(func() {
			for s := range next {
				o, ok := t.one(ctx, jobs[s.job].set, jobs[s.job].seeds[s.seed])
				if !ok {
					continue
				}
				results[s.job][s.seed] = o
				mu.Lock()
				t.made++
				if t.Progress != nil {
					t.Progress(t.made, t.planned)
				}
				mu.Unlock()
			}
		})
	}
feed:
	for _, s := range all {
		select {
		case next <- s:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i := range jobs {
		*jobs[i].out = t.judge(results[i])
	}
	return nil
}

// one makes one run.
func (t *tuner) one(ctx context.Context, set []string, seed uint64) (outcome, bool) {
	var wrongs []string
	do := func(ctx context.Context, opt run.Options) (*record.Run, *scenario.Valid, error) {
		r, v, err := t.Do(ctx, opt)
		if r != nil {
			wrongs = violated(r, t.constraints)
		}
		return r, v, err
	}
	opt := t.Run
	opt.Set, opt.Seed, opt.Workers = append(slices.Clone(t.Run.Set), set...), &seed, 1
	res, ok := batch.One(ctx, do, opt)
	if !ok {
		return outcome{}, false
	}
	o := outcome{value: math.NaN(), broken: wrongs, status: res.Status, why: res.Error}
	for i := range res.Figures {
		o.have = append(o.have, res.Figures[i].Title)
	}
	if x, ok := res.Figures.Get(t.objective.Name); ok {
		o.value = x
	}
	completed, _ := res.Figures.Get("completed")
	messages, _ := res.Figures.Get("messages")
	o.completed, o.messages = int64(completed), int64(messages)
	if res.Status != batch.Done {
		o.broken = append(o.broken, ended(res.Status))
	} else if math.IsNaN(o.value) {
		o.broken = append(o.broken, "had no "+t.objective.Title)
	}
	return o, true
}

// violated says which constraints a run did not keep.
func violated(r *record.Run, constraints []string) (out []string) {
	mark, xoff, dropped, short := units.Never, units.Never, int64(0), int64(0)
	for i := range r.Ledger {
		switch e := &r.Ledger[i]; e.Mechanism {
		case catalog.ECNMark:
			mark = min(mark, e.First)
		case catalog.XOFFCross:
			xoff = min(xoff, e.First)
		}
	}
	for i := range r.Ports {
		dropped += r.Ports[i].Dropped
		for _, d := range r.Ports[i].DropCauses {
			if d.Cause == catalog.DropHeadroom {
				short += d.Count
			}
		}
	}
	for _, c := range constraints {
		if c == MarksFirst && xoff < mark || c == Headroom && short > 0 || c == NoDrop && dropped > 0 {
			out = append(out, broken(c))
		}
	}
	return out
}

// judge puts the runs of a setting together.
func (t *tuner) judge(runs []outcome) score {
	s := score{}
	sum := 0.0
	for i := range runs {
		o := &runs[i]
		s.values = append(s.values, report.TuneValue(o.value))
		s.completed, s.messages = s.completed+o.completed, s.messages+o.messages
		sum += o.value
		for _, b := range o.broken {
			if !slices.Contains(s.broken, b) {
				s.broken = append(s.broken, b)
			}
		}
		if s.why == "" {
			s.why = o.why
		}
	}
	slices.Sort(s.broken)
	s.mean = sum / float64(len(runs))
	s.rank = s.mean * t.sign
	const apart = 1e30 // beyond any objective
	if !s.ok() {
		over := 1e3 * float64(len(s.broken))
		if !math.IsNaN(s.rank) {
			over += s.rank / (1 + math.Abs(s.rank)) // among what is broken alike the better one first
		}
		s.rank = apart * (1 + over)
	}
	return s
}

// setOf is a setting as arguments of --set.
func (t *tuner) setOf(texts []string) []string {
	out := make([]string, len(texts))
	for i := range texts {
		out[i] = t.params[i].Path + "=" + texts[i]
	}
	return out
}
