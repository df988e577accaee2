package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/whatif"
)

// judged is one sentence of one scenario, and what experiments say of it.
type judged struct {
	scenario int
	family   string
	planted  string
	message  int // -1: a collective
	claim    whatif.Claim
	verdict  whatif.Verdict
	saved    float64 // by taking the named cause away
	instead  string  // what saves more
	insteadG float64
}

// slow is a message that takes more than 1.5 times its time alone.
type slow struct {
	excess float64 // share of its time
	given  bool    // a cause, other than the line, with a share of at least a quarter of that
}

// scored is what one scenario came to.
type scored struct {
	sentences []judged
	slows     []slow
	// Controls: other candidates than the named, put in its place, and those that pass; longer
	// cables, and messages that they save half a share of.
	others, pass   int
	cables, saving int
	runs           int
	err            error
}

// lab is a scenario whose experiments are made once each.
type lab struct {
	*whatif.Lab
	done map[string]*whatif.Outcome
	runs int
}

func keyOf(changes []whatif.Change) string { return fmt.Sprint(changes) }

// try makes the experiments that are not made yet.
func (l *lab) try(ctx context.Context, sets [][]whatif.Change, workers int) {
	var missing [][]whatif.Change
	for _, s := range sets {
		if _, there := l.done[keyOf(s)]; !there {
			l.done[keyOf(s)] = nil
			missing = append(missing, s)
		}
	}
	for i, o := range l.TryAll(ctx, missing, workers, nil) {
		l.done[keyOf(missing[i])] = o
	}
	l.runs += len(missing)
}

// gain is that of a subject with changes; not ok: they cannot be made, or it did not end.
func (l *lab) gain(s *whatif.Subject, changes ...whatif.Change) (float64, bool) {
	o := l.done[keyOf(changes)]
	if o == nil || o.Err != nil {
		return 0, false
	}
	took := l.Value(s, o)
	return l.GainOf(s, o), took != units.Never
}

// score judges the sentences of scenario n.
func score(ctx context.Context, n, workers int) (out scored) {
	fam, text, planted := drawScenario(n)
	base, err := whatif.Open(ctx, whatif.Source{Scenario: fmt.Sprint("proof-", n), Text: []byte(text)}, 1, nil)
	if err != nil {
		out.err = fmt.Errorf("scenario %d, %s: %w", n, fam, err)
		return out
	}
	l := &lab{Lab: base, done: make(map[string]*whatif.Outcome)}
	cables := whatif.Change{Kind: whatif.Cables}
	sets := [][]whatif.Change{{cables}}
	type asked struct {
		claim   whatif.Claim
		message int
		others  []whatif.Change
	}
	var all []asked
	messages := choose(base, n)
	for _, i := range messages {
		others := l.Candidates(i)
		sets = append(sets, []whatif.Change{l.AloneWith(i)})
		for _, o := range others {
			sets = append(sets, []whatif.Change{o})
		}
		for _, c := range l.Claims(i) {
			all = append(all, asked{c, i, others})
			sets = append(sets, c.Sets(others)...)
		}
	}
	for _, c := range l.CollectiveClaims() {
		others := l.Candidates(c.Subject.Message)
		all = append(all, asked{c, -1, others})
		sets = append(sets, c.Sets(others)...)
		for _, o := range others {
			sets = append(sets, []whatif.Change{o})
		}
	}
	l.try(ctx, sets, workers)
	for _, a := range all {
		gain := func(changes ...whatif.Change) (float64, bool) { return l.gain(&a.claim.Subject, changes...) }
		j := judged{scenario: n, family: fam, planted: planted, message: a.message, claim: a.claim}
		var instead whatif.Change
		j.verdict, j.saved, instead = a.claim.Judge(a.others, gain)
		if j.verdict != whatif.Right {
			if j.verdict == whatif.False && l.series(ctx, &a.claim, workers) {
				j.verdict = whatif.Series
			}
			if j.verdict == whatif.False || j.verdict == whatif.NoCause || j.verdict == whatif.Unresolved {
				j.insteadG, instead = l.best(a.others, gain)
			} else {
				j.insteadG, _ = gain(instead)
			}
			if j.insteadG > 0 {
				j.instead = instead.Kind.String() + ": " + instead.Text(l.Valid)
			}
		}
		out.sentences = append(out.sentences, j)
		if j.verdict == whatif.Right {
			l.controls(&out, &a.claim, a.others, gain, cables)
		}
	}
	for _, i := range messages {
		out.slows = append(out.slows, l.excess(i)...)
	}
	out.runs = l.runs + 1
	return out
}

// choose is the slowest message and three others at random, of those that completed.
func choose(l *whatif.Lab, n int) (out []int) {
	var done []int
	slowest := -1
	for i := range l.Run.Messages {
		f := &l.Run.Messages[i]
		if !metrics.Completed(f) || l.Run.IsSlots(f) {
			continue
		}
		done = append(done, i)
		if slowest < 0 || f.CompletionPS > l.Run.Messages[slowest].CompletionPS {
			slowest = i
		}
	}
	if slowest < 0 {
		return nil
	}
	random := rng.New(uint64(n), "proof/messages")
	random.Shuffle(len(done), func(i, j int) { done[i], done[j] = done[j], done[i] })
	out = []int{slowest}
	for _, i := range done {
		if len(out) < 4 && i != slowest {
			out = append(out, i)
		}
	}
	return out
}

// series reports whether a port that saves too little alone saves enough together with
// another that waits on the same way.
func (l *lab) series(ctx context.Context, c *whatif.Claim, workers int) bool {
	if c.Next != nil || !slices.ContainsFunc(c.Changes, func(x whatif.Change) bool { return x.Kind.AtPort() }) {
		return false
	}
	var sets [][]whatif.Change
	for _, o := range slices.Concat(l.Candidates(c.Subject.Message), l.WayPorts(c.Subject.Message)) {
		for _, x := range c.Changes {
			if o.Kind == whatif.Port && x.Kind == whatif.Port && !o.Same(x) {
				sets = append(sets, []whatif.Change{x, o})
			}
		}
	}
	l.try(ctx, sets, workers)
	return slices.ContainsFunc(sets, func(s []whatif.Change) bool {
		g, ok := l.gain(&c.Subject, s...)
		return ok && g >= c.Share/2
	})
}

// best is the change that saves most.
func (l *lab) best(others []whatif.Change, gain func(...whatif.Change) (float64, bool)) (most float64, best whatif.Change) {
	for _, o := range others {
		if g, ok := gain(o); ok && g > most && o.Kind != whatif.Line {
			most, best = g, o
		}
	}
	return most, best
}

// controls puts, of a sentence that is right, other candidates in the place of what a claim names, and longer cables.
func (l *lab) controls(out *scored, c *whatif.Claim, others []whatif.Change, gain func(...whatif.Change) (float64, bool), cables whatif.Change) {
	if c.Line || c.None {
		return
	}
	if g, ok := gain(cables); ok {
		out.cables++
		if g >= c.Share/2 {
			out.saving++
		}
	}
	for _, o := range others {
		if slices.ContainsFunc(c.Changes, func(x whatif.Change) bool { return x.Kind == o.Kind && x.Node == o.Node && x.Port == o.Port }) || !(o.Kind.Specific() || o.Kind == whatif.Port) {
			continue
		}
		instead := *c
		instead.Changes, instead.Next = []whatif.Change{o}, nil
		if _, ok := gain(o); !ok {
			continue
		}
		out.others++
		if v, _, _ := instead.Judge(others, gain); v == whatif.Right {
			out.pass++
		}
	}
}

// excess says of a message that takes more than 1.5 times its time alone whether it is given
// a cause.
func (l *lab) excess(i int) []slow {
	s := whatif.Subject{Message: i}
	g, ok := l.gain(&s, l.AloneWith(i))
	if !ok || g < 1.0/3 {
		return nil
	}
	x := slow{excess: g}
	for _, c := range l.Claims(i) {
		if !c.None && !c.Line && c.Share >= g/4 {
			x.given = true
		}
	}
	return []slow{x}
}
