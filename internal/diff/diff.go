// Package diff tells two runs that were saved apart: what was set otherwise, and what became of it.
package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/headline"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/tree"
)

// Run is a run that was saved, and what its directory says of it.
type Run struct {
	Dir string
	*record.Run
	*report.Meta
	document *report.Document
}

// Of sets two runs side by side.
func Of(a, b Run) *report.Difference {
	a.document, b.document = report.NewDocument(a.Run), report.NewDocument(b.Run)
	d := &report.Difference{A: a.about(), B: b.about(), Course: a.Fingerprint == b.Fingerprint, Notes: notes(&a, &b)}
	d.Parameters = parameters(&a, &b)
	d.Figures = figures(&a, &b)
	d.Answers = answers(&a, &b)
	d.Sentences = sentences(&a, &b)
	same := !slices.ContainsFunc(d.Figures, func(f report.DiffFigure) bool { return !equal(f.A, f.B) })
	d.Equal = d.Course && same && a.Stopped == b.Stopped && len(d.Parameters)+len(d.Answers)+len(d.Sentences) == 0
	return d
}

func (r *Run) about() report.DiffRun {
	return report.DiffRun{Dir: r.Dir, Program: r.Program, Scenario: r.Run.Scenario, Stack: r.Stack, Seed: r.Run.Seed,
		Fingerprint: r.Fingerprint, Stopped: r.Stopped}
}

// notes say what makes the runs less comparable than they look.
func notes(a, b *Run) []string {
	out := []string{}
	if a.Program != b.Program {
		out = append(
			out,
			fmt.Sprintf("A was written by hopscope %s and B by %s: what differs may be the program's doing, and a figure that "+
				"only one of them knew is missing in the other", a.Program, b.Program),
		)
	}
	if a.Run.Scenario != b.Run.Scenario {
		out = append(out, fmt.Sprintf("the scenarios have other names, %s and %s", a.Run.Scenario, b.Run.Scenario))
	}
	if n, m := len(a.Messages), len(b.Messages); n != m {
		out = append(
			out,
			fmt.Sprintf("A has %s messages and B %s, so that their quantiles are of other sets", metrics.FormatCount(int64(n)),
				metrics.FormatCount(int64(m))),
		)
	}
	for _, r := range []struct {
		letter string
		*Run
	}{{"A", a}, {"B", b}} {
		if r.Stopped == "interrupted" || r.Stopped == "deadlock" || r.Stopped == "stalled" {
			out = append(
				out,
				fmt.Sprintf("%s ended by %s: its figures are of what had happened until then", r.letter, r.Stopped),
			)
		}
	}
	return out
}

// parameters are the keys of the scenarios that differ, and then what follows from them or was
// noted otherwise.
func parameters(a, b *Run) []report.DiffKey {
	of := func(r *Run) *values {
		var v values
		if root, bad := tree.Parse("", r.Source); bad == nil {
			v.flatten("", root)
		}
		v.set("seed", strconv.FormatUint(r.Run.Seed, 10))
		v.set("stack", r.Stack)
		return &v
	}
	out := differing(of(a), of(b), false)
	noted := func(r *Run) *values {
		var v values
		for _, n := range r.Notes {
			v.add(n.Key, n.Value)
		}
		return &v
	}
	for _, k := range differing(noted(a), noted(b), true) {
		if !slices.ContainsFunc(out, func(o report.DiffKey) bool { return o.Key == k.Key && !o.Follows }) {
			out = append(out, k)
		}
	}
	return out
}

// values are texts by key, in order.
type values struct {
	keys []string
	text map[string]string // looked up
}

func (v *values) set(key, text string) {
	if v.text == nil {
		v.text = map[string]string{}
	}
	if _, is := v.text[key]; !is {
		v.keys = append(v.keys, key)
	}
	v.text[key] = text
}

// add is set, for a key that may have several values.
func (v *values) add(key, text string) {
	if before, is := v.text[key]; is && before != text {
		text = before + "; " + text
	}
	v.set(key, text)
}

// flatten takes the single values below a node. A list of single values is one.
func (v *values) flatten(path string, n *tree.Node) {
	switch {
	case path == "name" || path == "description" || path == "symptoms", strings.HasPrefix(path, "reduced"): // they change nothing
	case n.Kind == tree.Mapping && len(n.Fields) > 0:
		for _, f := range n.Fields {
			v.flatten(strings.TrimPrefix(path+"."+f.Key, "."), f.Value)
		}
	case n.Kind == tree.Sequence && slices.ContainsFunc(n.Items, func(i *tree.Node) bool { return i.Kind != tree.Scalar }):
		for i, item := range n.Items {
			v.flatten(fmt.Sprintf("%s[%d]", path, i), item)
		}
	case n.Kind == tree.Sequence:
		var texts []string
		for _, item := range n.Items {
			texts = append(texts, item.Text)
		}
		v.set(path, "["+strings.Join(texts, ", ")+"]")
	case n.Kind == tree.Scalar:
		v.set(path, n.Text)
	case n.Kind == tree.Mapping:
		v.set(path, "{}")
	default:
		v.set(path, "null")
	}
}

// differing lists the keys whose texts differ, in the order of a, then those of b alone.
func differing(a, b *values, follows bool) []report.DiffKey {
	out := []report.DiffKey{}
	for _, k := range append(slices.Clone(a.keys), b.keys...) {
		seen := slices.ContainsFunc(out, func(o report.DiffKey) bool { return o.Key == k })
		if a.text[k] != b.text[k] && !seen {
			out = append(out, report.DiffKey{Key: k, A: a.text[k], B: b.text[k], Follows: follows})
		}
	}
	return out
}

// figures are all headline figures that one of the runs has.
func figures(a, b *Run) []report.DiffFigure {
	va, vb := headline.Of(a.Run, a.document.Summary), headline.Of(b.Run, b.document.Summary)
	out := []report.DiffFigure{}
	add := func(f headline.Figure) {
		row := report.DiffFigure{Name: f.Name, Title: f.Title}
		read := func(v headline.Values) (*float64, string) {
			if x, ok := v.Get(f.Name); ok {
				return &x, f.Unit.Format(x)
			}
			return nil, ""
		}
		row.A, row.TextA = read(va)
		row.B, row.TextB = read(vb)
		if row.A != nil && row.B != nil {
			if *row.A != 0 {
				ratio := *row.B / *row.A
				row.Ratio = &ratio
			}
			switch cmp.Compare(*row.B, *row.A) * int(f.Better) {
			case 1:
				row.Better = "b"
			case -1:
				row.Better = "a"
			}
		}
		out = append(out, row)
	}
	for i := range va {
		add(va[i].Figure)
	}
	for i := range vb {
		if _, both := va.Get(vb[i].Name); !both {
			add(vb[i].Figure)
		}
	}
	return out
}

// equal compares values that may be missing.
func equal(a, b *float64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// answers are those to the six questions that differ, a row for each mechanism.
func answers(a, b *Run) []report.DiffAnswer {
	out := []report.DiffAnswer{}
	sa, sb := a.document.Summary, b.document.Summary
	for i := range sa.Answers {
		qa, qb := &sa.Answers[i], &sb.Answers[i]
		question := qa.Question.English()
		if !qa.Happened && !qb.Happened {
			if qa.Why != qb.Why {
				out = append(out, report.DiffAnswer{Question: question, WhyA: qa.Why, WhyB: qb.Why})
			}
			continue
		}
		why := func(q *metrics.Answer) string {
			if q.Happened {
				return ""
			}
			return q.Why
		}
		for _, m := range both(qa, qb) {
			row := report.DiffAnswer{
				Question:  question,
				Mechanism: m.Mechanism.String(),
				A:         a.act(qa, m),
				B:         b.act(qb, m),
				WhyA:      why(qa),
				WhyB:      why(qb),
			}
			if row.A == nil || row.B == nil || *row.A != *row.B {
				out = append(out, row)
			}
		}
	}
	return out
}

// both lists the mechanisms of two answers once each.
func both(a, b *metrics.Answer) (out []metrics.Mechanism) {
	for _, m := range append(slices.Clone(a.Mechanisms), b.Mechanisms...) {
		if !slices.ContainsFunc(out, func(o metrics.Mechanism) bool { return o.Mechanism == m.Mechanism }) {
			out = append(out, m)
		}
	}
	return out
}

// act is who did something by a mechanism first; nil: nobody.
func (r *Run) act(a *metrics.Answer, of metrics.Mechanism) *report.DiffAct {
	for _, m := range a.Mechanisms {
		if m.Mechanism == of.Mechanism {
			return &report.DiffAct{
				Who:   m.Actor.String(),
				First: m.First - r.FirstPost(),
				Count: m.Count,
				Long:  report.HowLong(m),
			}
		}
	}
	return nil
}

// sentences are those that differ: the verdict, what messages waited for, what settings of
// congestion control meant, collectives, and the slowest message.
func sentences(a, b *Run) []report.DiffSentence {
	ta, tb := a.said(), b.said()
	out := []report.DiffSentence{}
	for _, k := range differing(ta, tb, false) {
		out = append(out, report.DiffSentence{About: k.Key, A: k.A, B: k.B})
	}
	return out
}

// said are the sentences of a run by what they are about.
func (r *Run) said() *values {
	var v values
	s := r.document.Summary
	v.set("Verdict", "nothing dominates")
	if s.Verdict != nil {
		v.set("Verdict", s.Verdict.Text)
	}
	for i := range s.Waits {
		v.add("Waits", s.Waits[i].Text)
	}
	if len(s.Worst) > 0 {
		m := &r.Messages[s.Worst[0]]
		v.set(
			"Slowest message",
			fmt.Sprintf("%s of %s, %s", metrics.Arrow(m), m.Workload, metrics.FormatTime(m.CompletionPS)),
		)
	}
	for _, x := range r.document.Sentences {
		switch {
		case x.About == "collective" && x.Collective != nil:
			v.set("Collective "+r.Collectives[*x.Collective].Workload+" "+strconv.Itoa(*x.Collective), x.Text)
		case len(s.Worst) == 0 || x.Message != s.Worst[0]:
		case x.About == "time":
			v.set("Most of the slowest message's time", x.Text)
		case x.About == "missing":
			v.set("What keeps it from the best rate", x.Text)
		}
	}
	for i, text := range s.Control {
		v.set("Congestion control "+strconv.Itoa(i+1), text)
	}
	return &v
}
