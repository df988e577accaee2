package report

import (
	"fmt"
	"io"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// Text writes the path for reading: the ways side by side, the hops of the first (with
// Verbose of all), and where its time goes.
func (p *Path) Text(w io.Writer, opt TextOptions) error {
	t := blank(opt)
	head := t.l.Sprintf("%s: %s to %s, %s alone", p.Scenario, p.From, p.To, metrics.FormatBytes(p.Bytes))
	if p.Like != "" {
		head += t.l.Sprintf(", on the path of entry %q", p.Like)
	}
	t.prose(head, t.paint.bold)
	t.section()
	p.sideBySide(t)
	for i := range p.Ways {
		if p.Ways[i].Why != "" || i > 0 && !opt.Verbose {
			continue
		}
		p.hops(t, i)
		p.account(t, i)
	}
	return t.end(w)
}

// sideBySide is a row per way.
func (p *Path) sideBySide(t *text) {
	entry := false
	for i := range p.Ways {
		entry = entry || p.Ways[i].Entry > 0
	}
	columns := []column{{title: "Way"}, {title: "Zero load", right: true}, {title: "Goodput", right: true},
		{title: "Bottleneck"}, {title: "allows", right: true}}
	if entry {
		columns = append(columns, column{title: "Completion\nentry", right: true, drop: 1},
			column{title: "Through\nDRAM", right: true, drop: 2})
	}
	tab := &table{columns: columns}
	for i := range p.Ways {
		w := &p.Ways[i]
		if w.Why != "" {
			tab.addNote(w.Why, w.Name)
			continue
		}
		done := t.l.Of("open")
		if w.Completion >= 0 {
			done = metrics.FormatTimeDigits(units.Time(w.Completion), 4)
		}
		row := []string{w.Name, done, bandwidth(w.Goodput), w.At, bandwidth(w.Best)}
		if entry {
			at := "-"
			if w.Entry > 0 {
				at = metrics.FormatTime(units.Time(w.Entry))
			}
			row = append(row, at, fmt.Sprint(w.Crossings))
		}
		tab.add(row...)
	}
	t.table(tab)
	if p.Stopped == "deadlock" || p.Stopped == "stalled" {
		t.prose(t.l.Sprintf("The scenario's workload ended in a %s; run it to see why.",
			map[string]string{"deadlock": t.l.Of("deadlock"), "stalled": t.l.Of("standstill")}[p.Stopped]), t.paint.fail)
	}
	if m := p.Messages; m != nil && m.All > 0 {
		s := t.l.Sprintf("Under the scenario's workload %d of %d messages between these hosts completed", m.Completed, m.All)
		if m.Completed > 0 {
			s += t.l.Of(", the slowest in ") + metrics.FormatTime(units.Time(m.Slowest))
		}
		if !m.SameSize {
			s += t.l.Of("; they have other sizes")
		}
		t.prose(s+".", plain)
	} else if m != nil {
		t.prose(t.l.Of("The scenario's workload has no messages between these hosts."), plain)
	}
}

// hops is a row per place that data pass.
func (p *Path) hops(t *text, way int) {
	w := &p.Ways[way]
	t.section()
	t.prose(w.Name+t.l.Of(", hop by hop:"), t.paint.bold)
	columns := []column{{title: "Hop"}, {title: "What"}, {title: "Rate", right: true}, {title: "Latency", right: true},
		{title: "Buffer", right: true}, {title: "Full"}}
	if p.Loaded {
		columns = []column{{title: "Hop"}, {title: "Rate", right: true, drop: 4}, {title: "Full", drop: 3},
			{title: "Busy", right: true}, {title: "Mean\nwait", right: true},
			{title: "Peak queue\nor wait", right: true}, {title: "Held", right: true}, {title: "Pauses", right: true,
				drop: 1}, {title: "Drops", right: true, drop: 2}}
		p.unloaded(t, w)
	}
	tab := &table{columns: columns}
	for k := range w.Hops {
		h := &w.Hops[k]
		if p.Loaded {
			tab.add(h.loadCells(t.l)...)
			continue
		}
		tab.add(h.ends(t.l), t.l.Of(h.What), bandwidth(h.Rate), metrics.FormatTime(units.Time(h.Latency)), orDash(h.Buffer),
			h.ruleText(t.l))
	}
	t.table(tab)
	how, missing := p.words(t.l, way)
	t.prose(t.l.Sprintf("The bottleneck is %s: %s of payload (%s).", w.At, bandwidth(w.Best), how), plain)
	if missing != "" {
		t.prose(t.l.Sprintf("The message reaches %s; what is missing: %s.", bandwidth(w.Goodput), missing), plain)
	}
	if worst := w.longestWait(); worst != nil {
		t.prose(t.l.Sprintf("Under load the longest mean wait is at %s: %s.", worst.place(),
			metrics.FormatTime(units.Time(worst.Load.Wait))), plain)
	}
}

// longestWait is the hop at which data wait longest under load; nil: they wait nowhere.
func (w *PathWay) longestWait() (worst *PathHop) {
	for k := range w.Hops {
		h := &w.Hops[k]
		if h.Load != nil && h.Load.Wait > 0 && (worst == nil || h.Load.Wait > worst.Load.Wait) {
			worst = h
		}
	}
	return worst
}

// unloaded prints what hops are like before what is done to them.
func (p *Path) unloaded(t *text, w *PathWay) {
	tab := &table{columns: []column{{title: "Hop"}, {title: "What"}, {title: "Latency", right: true},
		{title: "Buffer", right: true}}}
	for k := range w.Hops {
		h := &w.Hops[k]
		tab.add(h.ends(t.l), t.l.Of(h.What), metrics.FormatTime(units.Time(h.Latency)), orDash(h.Buffer))
	}
	t.table(tab)
	t.section()
	t.prose(t.l.Of("Under the scenario's workload:"), t.paint.bold)
}

// ends names a hop by where it begins and ends.
func (h *PathHop) ends(l lang.Language) string {
	if h.Host != "" {
		return h.place()
	}
	return h.Name + l.Of(" to ") + h.To
}

// ruleText says what happens when the buffer at the end of a hop is full.
func (h *PathHop) ruleText(l lang.Language) string {
	switch h.Rule {
	case "":
		return "-"
	case "pause":
		return l.Sprintf("pause, priority %d", h.Class)
	}
	return l.Of(h.Rule)
}

// loadCells are the cells of a hop under load.
func (h *PathHop) loadCells(l lang.Language) []string {
	row := []string{h.ends(l), bandwidth(h.Rate), h.ruleText(l)}
	load := h.Load
	if load == nil {
		return append(row, "-", "-", "-", "-", "-", "-")
	}
	peak := orDash(load.Peak)
	if load.PeakWait > 0 {
		peak = metrics.FormatTime(units.Time(load.PeakWait))
	}
	return append(row, fmt.Sprintf("%.1f %%", 100*load.Utilisation), duration(units.Time(load.Wait)), peak,
		duration(units.Time(load.Held)), countOrDash(load.Pauses), countOrDash(load.Dropped))
}

func countOrDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return metrics.FormatCount(n)
}

// account draws where the time of the message alone goes.
func (p *Path) account(t *text, way int) {
	if p.runs[way] == nil {
		return
	}
	f := &p.runs[way].Messages[0]
	if f.Account.IsZero() {
		return
	}
	t.section()
	t.prose(t.l.Sprintf("%s, where the time of the message alone goes:", p.Ways[way].Name), t.paint.bold)
	t.r = p.runs[way]
	t.waterfall(f)
}
