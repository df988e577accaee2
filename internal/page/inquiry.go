package page

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/figure"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/units"
)

// mostChanges is how many changes have a curve beside that of the scenario as it is.
const mostChanges = 5

// Gains makes the page of an inquiry: what changes of a scenario came to.
func Gains(g *report.Gains, meta Meta) *Page {
	p := &Page{Title: "What if: " + g.Scenario, Program: meta.Program, Source: "hopscope whatif --json"}
	for i, s := range g.Opening() {
		f := Figure{Text: s, Path: "/took_ps", Kind: kindSentence}
		if i > 0 {
			f.Path, f.Kind = "/said", kindText
		}
		p.Lead = append(p.Lead, f)
	}
	p.Verdict = &Figure{Text: g.Verdict, Path: "/verdict", Kind: kindText}
	p.add("changes", "Changes", p.changes(g)...)
	p.add("messages", "Completion times of all messages", p.completions(g)...)
	if g.Compared != nil {
		b := &comparing{Page: *p, c: g.Compared, at: "compared/stacks", of: "Change"}
		b.opening = b.ofAll(len(g.Rows))
		b.happened()
		b.went()
		b.Data = map[string]any{"compared": map[string]any{"stacks": b.data()}}
		p = &b.Page
	}
	if len(meta.Scenario) > 0 {
		p.add("scenario", "Scenario", Block{Text: string(meta.Scenario)})
	}
	return p
}

// changes are bars along one axis and a table.
func (p *Page) changes(g *report.Gains) []Block {
	t := &Table{ID: "changes-table", Filter: true, Columns: []Column{{Title: "Change"}, {"Completion", true},
		{Title: ""}, {"Gain", true}, {Title: ""}}}
	var bars []figure.Measure
	if g.TookPS != units.Never {
		bars = append(bars, measure("as the scenario is", g.TookPS, "/took_ps", true))
	}
	for i := range g.Rows {
		r := &g.Rows[i]
		at := fmt.Sprintf("/changes/%d/", i)
		took := Figure{Text: none, Class: "none"}
		if r.TookPS != units.Never {
			took = duration(r.TookPS, at+"took_ps")
			bars = append(bars, measure(r.Text, r.TookPS, at+"took_ps", false))
		}
		note := name(r.Note, at+"note")
		if r.Note == "" {
			note = word("")
		}
		if r.Named {
			note = Figure{Text: "what the report names", Path: at + "named", Kind: kindSentence}
			if r.Note != "" {
				note.Text = r.Note + "; " + note.Text
			}
		}
		extra := word("")
		if r.Extra != "" {
			extra = name(r.Extra, at+"extra")
		}
		t.Rows = append(t.Rows, Cells{name(r.Text, at+"change"), took, extra, {Text: g.GainText(i), Path: at + "gain",
			Kind: kindSentence}, note})
	}
	against := 0.0
	if g.TookPS != units.Never {
		against = float64(g.TookPS)
	}
	out := p.drawing(figure.Measures("changes", "Time with each change", bars, against),
		"Each bar is a complete run with one thing "+
			"changed; the line is the scenario as it is.")
	out = append(out, Block{Table: t})
	if g.Left > 0 {
		out = append(out, Block{Sentence: &Figure{Text: fmt.Sprintf("%d runs; %d more were not made.", g.Runs, g.Left),
			Path: "/runs /left", Kind: kindSentence}})
	}
	return out
}

func measure(name string, took units.Time, path string, mark bool) figure.Measure {
	return figure.Measure{Name: name, Value: float64(took), Text: metrics.FormatTimeDigits(took, 4), Path: path,
		Kind: kindTime, Mark: mark}
}

// completions draws the distributions as the scenario is and with the best changes.
func (p *Page) completions(g *report.Gains) []Block {
	list := []figure.Distribution{distribution("as the scenario is", "/completions_ps", g.Completions)}
	for i := range g.Rows {
		if r := &g.Rows[i]; len(r.Completions) > 0 && len(list) <= mostChanges {
			list = append(list, distribution(r.Text, fmt.Sprintf("/changes/%d/completions_ps", i), r.Completions))
		}
	}
	return p.drawing(figure.Distributions(list, "completion time"), "")
}

// Diagnosis makes the page of what a log comes to beside a scenario.
func Diagnosis(d *report.Diagnosis, meta Meta) *Page {
	p := &Page{Title: "Diagnosis", Program: meta.Program, Source: "hopscope diagnose --json"}
	p.Lead = []Figure{{Text: d.Subject, Path: "/subject", Kind: kindText}}
	for i, n := range d.Notes {
		p.Lead = append(p.Lead, Figure{Text: n, Path: fmt.Sprintf("/notes/%d", i), Kind: kindText, Class: "warning"})
	}
	p.Verdict = &Figure{Text: d.Verdict, Path: "/verdict", Kind: kindText}
	var checks []Block
	for i, c := range d.Checks {
		b := said(c, fmt.Sprintf("/checks/%d", i))
		b.Label = fmt.Sprintf("%d.", i+1)
		checks = append(checks, b)
	}
	p.add("checks", "What to look at", checks...)
	p.add("sizes", "Sizes", p.sizes(d)...)
	p.add("suspects", "Suspects", p.suspects(d)...)
	if len(meta.Scenario) > 0 {
		p.add("scenario", "Scenario", Block{Text: string(meta.Scenario)})
	}
	return p
}

// sizes draws the curves along the same axes, with a table.
func (p *Page) sizes(d *report.Diagnosis) []Block {
	list := []figure.Series{{Name: "the log"}, {Name: "healthy"}, {Name: d.Best}, {Name: "the good nodes' log"}}
	t := &Table{ID: "size-table", Columns: []Column{{"Size", true}, {"Log us", true}, {"Good us", true}, {"Healthy us",
		true}, {"Suspect us", true}}}
	for i, s := range d.Sizes {
		at := fmt.Sprintf("/sizes/%d/", i)
		us := func(v float64, field string) Figure {
			if v == 0 {
				return Figure{Text: none, Class: "none"}
			}
			return number(v, 1, at+field)
		}
		t.Rows = append(t.Rows, Cells{count(s.Bytes, at+"bytes"), us(s.US, "us"), us(s.Good, "good_us"), us(s.HealthyUS,
			"healthy_us"), us(s.SuspectUS, "suspect_us")})
		for k, v := range []float64{s.US, s.HealthyUS, s.SuspectUS, s.Good} {
			if v > 0 && list[k].Name != "" {
				list[k].Place = "/sizes"
				list[k].Bytes, list[k].PS = append(list[k].Bytes, float64(s.Bytes)), append(list[k].PS,
					v*float64(units.Microsecond))
			}
		}
	}
	var drawn []figure.Series
	for _, s := range list {
		if len(s.Bytes) > 0 {
			drawn = append(drawn, s)
		}
	}
	size := func(v float64) string { return metrics.FormatBytes(int64(v)) }
	took := func(v float64) string { return metrics.FormatTimeDigits(units.Time(v), 3) }
	return append(p.drawing(figure.Sizes(drawn, size, took), ""), Block{Table: t.dense()})
}

// suspects are the faults by how well they fit.
func (p *Page) suspects(d *report.Diagnosis) []Block {
	t := &Table{ID: "suspect-table", Columns: []Column{{Title: "Suspect"}, {"Misfit per size", true}, {"Evidence", true}}}
	var bars []figure.Measure
	for i := range d.Rows {
		r := &d.Rows[i]
		at := fmt.Sprintf("/suspects/%d/", i)
		evidence := Figure{Text: none, Class: "none"}
		if !r.Healthy {
			evidence = Figure{Text: fmt.Sprintf("%+.1f", r.Evidence), Path: at + "evidence", Kind: kindNumber}
		}
		t.Rows = append(t.Rows, Cells{name(r.Name, at+"name"), number(r.Misfit, 2, at+"misfit"), evidence})
		bars = append(bars, figure.Measure{Name: r.Name, Value: r.Misfit, Text: fmt.Sprintf("%.2f", r.Misfit), Path: at +
			"misfit", Kind: kindNumber, Mark: r.Healthy})
	}
	out := append(p.drawing(figure.Measures("suspects", "Misfit of each suspect", bars, 0),
		"Misfit for each size: about 1 where a curve is true."), Block{Table: t})
	for i, u := range d.Untried {
		b := said(u, fmt.Sprintf("/untried/%d", i))
		if i == 0 {
			b.Label = "Nothing to see here, or not in such a scenario:"
		}
		out = append(out, b)
	}
	return out
}
