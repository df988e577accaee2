package tune

import (
	"context"
	"math"
	"slices"

	"github.com/hopscope/hopscope/internal/report"
)

// report is what was found, without the sensitivities.
func (t *tuner) report(found []candidate, winner int) *report.Tuning {
	out := &report.Tuning{
		Scenario:  t.base.Name,
		Stack:     t.base.Stack,
		Objective: t.objective.Title,
		Figure:    t.objective.Name,
		Better:    "lower",
		Constraints: append(
			[]string{},
			t.constraints...),
		Budget:     t.Budget,
		TrainSeeds: t.trainSeeds,
		ListSeeds:  t.listSeeds,
		FreshSeeds: t.freshSeeds,
		Best:       winner,
		Format:     t.objective.Unit.Format,
		Trials:     []report.TuneTrial{},
	}
	if t.sign < 0 {
		out.Better = "higher"
	}
	for i := range t.params {
		p := &t.params[i]
		row := report.TuneParam{Key: p.Path, Now: t.valueOf(p.Path), Outside: p.outside}
		if p.enumeration() {
			row.Choices = p.words
		} else {
			row.Lo, row.Hi = p.text(p.lo), p.text(p.hi)
		}
		out.Params = append(out.Params, row)
	}
	for i := range found {
		sc := &found[i].score
		c := report.TuneCandidate{Name: found[i].name, Values: make([]string, len(t.params)), Fresh: sc.values,
			Broken: append([]string{}, sc.broken...), Completed: sc.completed, Messages: sc.messages}
		for k := range t.params {
			c.Values[k] = t.valueOf(t.params[k].Path)
		}
		if tr := found[i].trial; tr != nil {
			c.Values = tr.texts
			c.Search = tr.search
		}
		c.Spread = t.spreadOf(c.Fresh)
		out.Candidates = append(out.Candidates, c)
	}
	for i := range t.trials {
		tr := &t.trials[i]
		out.Trials = append(
			out.Trials,
			report.TuneTrial{Search: tr.search, Values: tr.texts, Seeds: tr.score.values, Mean: report.TuneValue(tr.score.mean),
				Broken: append([]string{}, tr.score.broken...)},
		)
	}
	return out
}

// spreadOf is the median of some values with the least and largest of them. None is worse than any: where that is the
// median, there is no median.
func (t *tuner) spreadOf(values []report.TuneValue) report.TuneSpread {
	v := slices.DeleteFunc(slices.Clone(values), report.TuneValue.None)
	slices.Sort(v)
	none := report.TuneValue(math.NaN())
	if len(v) == 0 {
		return report.TuneSpread{Median: none, Least: none, Most: none}
	}
	s := report.TuneSpread{Least: v[0], Most: v[len(v)-1]}
	for len(v) < len(values) {
		if t.sign > 0 {
			v = append(v, none)
		} else {
			v = slices.Insert(v, 0, none)
		}
	}
	n := len(v)
	s.Median = (v[(n-1)/2] + v[n/2]) / 2
	return s
}

// apart is the factor by which a parameter is moved, down and up, to see what it does.
const apart = 2

// sensitivity moves each parameter alone, by a factor of two down and up or to other words, and
// notes by how much the objective changes, seed by seed.
func (t *tuner) sensitivity(ctx context.Context, at *candidate, out *report.Tuning) error {
	var x point
	if at.trial != nil {
		x = at.trial.x
	} else {
		x = t.now()
	}
	base, texts := t.values(x), t.texts(x)
	type move struct {
		param int
		text  string
		score score
	}
	var moves []*move
	for i := range t.params {
		p := &t.params[i]
		if p.enumeration() {
			for _, w := range p.words {
				if w != texts[i] {
					moves = append(moves, &move{param: i, text: w})
				}
			}
			continue
		}
		for _, factor := range []float64{1.0 / apart, apart} {
			v := t.between(i, base, p.rounded(base[i]*factor))
			if text := p.text(v); text != texts[i] {
				moves = append(moves, &move{param: i, text: text})
			}
		}
	}
	t.planned += (len(moves) - 2*len(t.params)) * t.Fresh
	jobs := make([]job, len(moves))
	for i, m := range moves {
		set := slices.Clone(texts)
		set[m.param] = m.text
		jobs[i] = job{t.setOf(set), t.freshSeeds, &m.score}
	}
	if err := t.runAll(ctx, jobs); err != nil {
		return err
	}
	for _, m := range moves {
		row := report.TuneSensitivity{
			Key:    t.params[m.param].Path,
			From:   texts[m.param],
			To:     m.text,
			Broken: append([]string{}, m.score.broken...),
		}
		for k, v := range m.score.values {
			if was := at.score.values[k]; was != 0 && !was.None() && !v.None() {
				row.Change = append(row.Change, v/was-1)
			}
		}
		row.Values, row.Spread = m.score.values, t.spreadOf(row.Change)
		if len(row.Change) < len(row.Values) { // of nothing there is no share
			row.Change, row.Spread = []report.TuneValue{}, t.spreadOf(row.Values)
		}
		out.Sensitivity = append(out.Sensitivity, row)
	}
	return nil
}

// between keeps a threshold on its side of the other one.
func (t *tuner) between(i int, values []float64, v float64) float64 {
	p := &t.params[i]
	if p.below >= 0 {
		v = max(v, values[p.below])
	}
	if p.above >= 0 {
		v = min(v, values[p.above])
	}
	return min(max(v, p.lo), p.hi)
}
