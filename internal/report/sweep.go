package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/headline"
	"github.com/hopscope/hopscope/internal/sweep"
	"github.com/hopscope/hopscope/internal/vary"
)

// Limits of the text of a sweep.
const (
	sweepPointsShown = 40
	sweepShown       = 6 // figures
	sweepJudged      = 3 // of those, best and worst
)

// sweepFirst are the figures that a sweep shows unless others are named, the most telling first.
func sweepFirst() []string {
	return []string{"completion_p99_ps", "slowdown_p99", "collective_0_busbw_gbyte_s", "job_0_step_time_ps",
		"job_1_step_time_ps", "job_0_exposed_ps", "job_0_idle_ps", "job_0_mfu", "rpc_p99_ps", "goodput_bps", "peak_queue_bytes",
		"marked", "held_ps", "dropped", "timeouts", "completion_p50_ps", "makespan_ps"}
}

// SweepFigures lists the figures of a sweep that are shown, by their number in the table: those that are named, or the
// most telling ones that differ among the points.
func SweepFigures(t *sweep.Table, named []string) (out []int) {
	at := func(name string) int {
		return slices.IndexFunc(t.Figures, func(f headline.Figure) bool { return f.Name == name })
	}
	for _, name := range named {
		if k := at(name); k >= 0 {
			out = append(out, k)
		}
	}
	if len(named) > 0 {
		return out
	}
	for _, name := range sweepFirst() {
		if k := at(name); k >= 0 && t.Varies(k) && len(out) < sweepShown {
			out = append(out, k)
		}
	}
	if len(out) == 0 { // nothing differs
		for _, name := range sweepFirst() {
			if k := at(name); k >= 0 && len(out) < sweepShown {
				out = append(out, k)
			}
		}
	}
	return out
}

// Sweep writes what came of a sweep: of each point the median and range of the figures named. Width 0 means
// 100 columns.
func Sweep(w io.Writer, t *sweep.Table, named []string, opt TextOptions) error {
	x := blank(opt)
	x.prose(SweepTitle(t), x.paint.bold)
	shown := SweepFigures(t, named)
	if made, failed := t.Made(); made > failed {
		x.section()
		x.table(sweepTable(t, shown))
	}
	x.section()
	for _, s := range append(sweepAbsent(t, named), SweepSentences(t, shown)...) {
		x.prose(s, plain)
	}
	for _, s := range append(SweepOpen(t), SweepFailures(t)...) {
		x.prose(s, x.paint.warn)
	}
	return x.end(w)
}

// sweepAbsent says which of the figures named no run has.
func sweepAbsent(t *sweep.Table, named []string) (out []string) {
	for _, name := range named {
		if !slices.ContainsFunc(t.Figures, func(f headline.Figure) bool { return f.Name == name }) {
			out = append(out, "No run has a figure "+name+".")
		}
	}
	return out
}

// SweepTitle says what was swept.
func SweepTitle(t *sweep.Table) string {
	title := t.Scenario + ": " + t.String()
	if n := len(t.Seeds); n == 1 {
		title += fmt.Sprintf(", seed %d", t.Seeds[0])
	} else if t.Seeds[n-1]-t.Seeds[0] == uint64(n-1) {
		title += fmt.Sprintf(", seeds %d to %d", t.Seeds[0], t.Seeds[n-1])
	}
	if made, _ := t.Made(); made < t.Runs() {
		title += fmt.Sprintf("; %d of them made", made)
	}
	return title
}

// keyTitle is a key over two lines.
func keyTitle(key string) string {
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		return key[:i+1] + "\n" + key[i+1:]
	}
	return key
}

// sweepTable has a row per point.
func sweepTable(t *sweep.Table, shown []int) *table {
	tab := &table{}
	if len(t.Stacks) > 0 {
		tab.columns = append(tab.columns, column{title: "stack"})
	}
	for _, a := range t.Axes {
		tab.columns = append(tab.columns, column{title: keyTitle(a.Key), right: a.Kind != vary.Words})
	}
	if len(t.Axes) == 0 && len(t.Stacks) == 0 {
		tab.columns = append(tab.columns, column{title: ""})
	}
	for k, f := range shown {
		tab.columns = append(tab.columns, column{title: t.Figures[f].Title, right: true, drop: 2 * k})
		if len(t.Seeds) > 1 {
			tab.columns = append(tab.columns, column{title: "least to largest", drop: 2*k + 1})
		}
	}
	all := t.Outcomes()
	for i := range min(len(all), sweepPointsShown) {
		tab.add(sweepCells(t, &all[i], shown)...)
	}
	return tab
}

// sweepCells are those of a point.
func sweepCells(t *sweep.Table, o *sweep.Outcome, shown []int) (cells []string) {
	if len(t.Stacks) > 0 {
		cells = append(cells, o.Stack)
	}
	for _, v := range o.Values {
		cells = append(cells, v.Text)
	}
	if len(cells) == 0 {
		cells = append(cells, t.Scenario)
	}
	for _, k := range shown {
		s, f := o.Spreads[k], t.Figures[k]
		median, around := "-", ""
		if s.N > 0 {
			median, around = f.Unit.Format(s.Median), Between(f.Unit, s.Min, s.Max)
		} else if o.Status != "" && o.Done == 0 {
			median = o.Status
		}
		cells = append(cells, median)
		if len(t.Seeds) > 1 {
			cells = append(cells, around)
		}
	}
	return cells
}

// Between writes a range, with its unit once where both ends have the same: "1.20 to 1.31 ms".
func Between(u headline.Unit, low, high float64) string {
	if low == high {
		return ""
	}
	a, b := u.Format(low), u.Format(high)
	x, unit, _ := strings.Cut(a, " ")
	if y, other, _ := strings.Cut(b, " "); unit == other {
		return strings.TrimSpace(x + " to " + y + " " + unit)
	}
	return a + " to " + b
}

// SweepSentences say what the figures shown come to.
func SweepSentences(t *sweep.Table, shown []int) (out []string) {
	all := t.Outcomes()
	if n := len(all) - sweepPointsShown; n > 0 {
		out = append(out, fmt.Sprintf("%d more points are in %s.", n, SweepPoints))
	}
	judged := 0
	for _, k := range shown {
		best, worst, ok := t.Best(k)
		if !ok || judged == sweepJudged {
			continue
		}
		judged++
		f, b, w := t.Figures[k], &all[best], &all[worst]
		s := fmt.Sprintf("%s: best %s%s at %s; worst %s%s at %s.", f.Title, f.Unit.Format(b.Spreads[k].Median),
			sure(f, b.Spreads[k]), t.Name(b), f.Unit.Format(w.Spreads[k].Median), sure(f, w.Spreads[k]), t.Name(w))
		out = append(out, s+apart(b.Spreads[k], w.Spreads[k])+unlike(f, b, w))
	}
	out = append(out, fewer(t, shown)...)
	if idle := t.Idle(); len(idle) > 0 {
		verb := "changes"
		if len(idle) > 1 {
			verb = "change"
		}
		out = append(out, fmt.Sprintf("%s %s nothing here: runs that differ in nothing else take the same "+
			"course, packet for packet.",
			strings.Join(idle, " and "), verb))
	}
	switch n := len(t.Seeds); {
	case n == 1:
		out = append(out, "One seed tells nothing of the spread; give --seeds 6 or more for 95 % confidence "+
			"intervals of medians.")
	case n < 6:
		out = append(out, fmt.Sprintf("%d seeds give medians and ranges; it takes 6 for 95 %% confidence "+
			"intervals of medians.", n))
	}
	return out
}

// unlike says of which messages the figures of two points are, where that is not all of them.
func unlike(f headline.Figure, best, worst *sweep.Outcome) string {
	b, w := &best.Messages, &worst.Messages
	if !f.OfCompleted() || b.Share() == 1 && w.Share() == 1 {
		return ""
	}
	s := fmt.Sprintf(" That is of the messages that completed: of the best %d of %d, of the worst %d of %d", b.Completed,
		b.Posted, w.Completed, w.Posted)
	if b.Share() < w.Share() {
		return s + "; the best may be so because it completed fewer."
	}
	return s + "."
}

// fewer says which medians are of fewer runs than came to their end, as the others have no value; figures of which the
// same is to be said together.
func fewer(t *sweep.Table, shown []int) (out []string) {
	var titles, said []string
	for _, k := range shown {
		var parts []string
		all := t.Outcomes()
		for i := range all {
			if n := all[i].Spreads[k].N; n > 0 && n < all[i].Done {
				parts = append(parts, fmt.Sprintf("%d of %d runs at %s", n, all[i].Done, t.Name(&all[i])))
			}
		}
		if len(parts) == 0 {
			continue
		}
		s := some(parts)
		if at := slices.Index(said, s); at >= 0 {
			titles[at] += ", " + t.Figures[k].Title
			continue
		}
		titles, said = append(titles, t.Figures[k].Title), append(said, s)
	}
	for i, s := range said {
		out = append(out, fmt.Sprintf("%s: the median is of %s; the others have no value.", titles[i], s))
	}
	return out
}

// some joins what is the case at points; of many the first.
func some(parts []string) string {
	const most = 4
	if n := len(parts) - most; n > 0 {
		parts = append(slices.Clone(parts[:most]), fmt.Sprintf("and at %s", plural(n, "more point")))
	}
	return strings.Join(parts, ", ")
}

// SweepOpen says at which points messages did not all complete.
func SweepOpen(t *sweep.Table) []string {
	var parts []string
	all := t.Outcomes()
	for i := range all {
		m := &all[i].Messages
		if m.Share() == 1 {
			continue
		}
		s := fmt.Sprintf("%d of %d at %s", m.Completed, m.Posted, t.Name(&all[i]))
		switch {
		case m.Failed == 0:
			s += " (the others are open)"
		case m.Open == 0:
			s += " (the others failed)"
		default:
			s += fmt.Sprintf(" (%d open, %d failed)", m.Open, m.Failed)
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"Not all messages completed, and completion times and slowdowns are of those that did: " + some(parts) +
		"."}
}

// sure is the confidence interval of a median.
func sure(f headline.Figure, s sweep.Spread) string {
	if !s.Sure || s.Low == s.High {
		return ""
	}
	return fmt.Sprintf(" (95 %% confidence: %s)", Between(f.Unit, s.Low, s.High))
}

// apart says whether two medians are known to differ.
func apart(a, b sweep.Spread) string {
	switch {
	case !a.Sure || !b.Sure:
		return ""
	case a.High < b.Low || b.High < a.Low:
		return " The intervals do not overlap."
	}
	return " The intervals overlap: more seeds would tell."
}

// SweepFailures say which runs did not come to their end, with the first error of each kind.
func SweepFailures(t *sweep.Table) (out []string) {
	counts, first := map[string]int{}, map[string]string{}
	var kinds []string
	for i, r := range t.Rows {
		if r == nil || r.OK() {
			continue
		}
		if counts[r.Status] == 0 {
			kinds = append(kinds, r.Status)
			point, seed := t.RunAt(i)
			first[r.Status] = fmt.Sprintf("%s, seed %d", t.Name(&t.Outcomes()[point]), seed)
			if r.Error != "" {
				first[r.Status] += ": " + r.Error
			}
		}
		counts[r.Status]++
	}
	for _, k := range kinds {
		out = append(out, fmt.Sprintf("%d of %d runs: %s, and in no median; the first: %s", counts[k], t.Runs(), k, first[k]))
	}
	return out
}
