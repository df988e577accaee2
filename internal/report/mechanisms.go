package report

import (
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// mechanisms writes of each mechanism how often it acted, or how near it came
// and what held it back: a line each, with Verbose a line per place.
func (t *text) mechanisms() {
	places := 1
	if t.opt.Verbose {
		places = 0
	}
	tab := &table{columns: []column{{title: "Mechanism"}, {title: "Acted", right: true}, {title: "Where", wrap: true},
		{title: "Came to", right: true}, {title: "Of", right: true}, {title: "When", right: true, drop: 1}}}
	for _, s := range metrics.MechanismsIn(t.l, t.r, places) {
		name := s.Mechanism.In(t.l)
		if s.Armed == 0 {
			tab.addNote(s.Why, name, t.l.Of("off"))
			continue
		}
		for k := range s.Places {
			t.mechanismPlace(tab, name, &s, &s.Places[k])
			name = ""
		}
	}
	t.section()
	t.table(tab)
}

// mechanismPlace writes one place, and below it why it did not act.
func (t *text) mechanismPlace(tab *table, name string, s *metrics.State, p *metrics.Place) {
	acted, where := "-", p.Where.In(t.l)
	switch {
	case p.Count > 0:
		acted = metrics.FormatCount(p.Count)
	case p.HeldPS > 0:
		acted = metrics.FormatTime(p.HeldPS)
	}
	if !t.opt.Verbose && s.Fired > 0 {
		acted = metrics.FormatCount(s.Count)
		if s.Count == 0 {
			acted = metrics.FormatTime(s.HeldPS)
		}
		if s.Fired > 1 {
			where += t.l.Sprintf(" most, of %d", s.Fired)
		}
	}
	value, threshold := quantity(p.Value, p.Unit), quantity(p.Threshold, p.Unit)
	when := t.at(p.AtPS)
	switch {
	case p.Count > 0 && p.Unit != metrics.InRate && p.Unit != "":
		when = t.at(p.FirstPS)
	case p.AtPS == 0:
		when = "-"
	}
	if p.Threshold == 0 {
		value, threshold = "-", "-"
	}
	tab.add(name, acted, where, value, threshold, when)
	if p.Why != "" {
		tab.addNote(p.Why, "", "")
	}
}

// quantity writes a value in its unit.
func quantity(v int64, unit string) string {
	switch unit {
	case metrics.InBytes:
		return metrics.FormatBytes(v)
	case metrics.InTime:
		return metrics.FormatTime(units.Time(v))
	case metrics.InRate:
		return metrics.FormatRate(units.Rate(v))
	}
	return metrics.FormatCount(v)
}
