package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/figure"
	"github.com/hopscope/hopscope/internal/headline"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/sweep"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/vary"
)

// What a page of a sweep shows at most.
const (
	sweptPanels    = 4 // figures over a key
	sweptCurves    = 8 // combinations of the other keys
	sweptMaps      = 4 // heat maps of a figure
	sweptCells     = 2500
	sweptIntervals = 40
	sweptRows      = 500
)

// swept makes the page of a sweep.
type swept struct {
	Page
	t     *sweep.Table
	shown []int // figures, by their number in the table
	drawn []int // points whose completion times are drawn
}

// Sweep makes the page of a sweep: figures over keys, heat maps, distributions, and all points. named are the
// figures to
// show; drawn are the points of which SweepDocument has completion times.
func Sweep(t *sweep.Table, named []string, drawn []int, meta Meta) *Page {
	b := &swept{t: t, shown: report.SweepFigures(t, named), drawn: drawn}
	b.Title, b.Program, b.Source = t.Scenario, meta.Program, "hopscope sweep"
	b.Lead = append(b.Lead, Figure{Text: report.SweepTitle(t), Path: "/runs", Kind: kindSentence})
	b.add("said", "What came out", b.said()...)
	b.add("over", "Over the keys", b.over()...)
	b.add("maps", "Two keys together", b.maps()...)
	b.add("points", "Points", b.intervals()...)
	b.add("messages", "Completion times", b.distributions()...)
	b.add("all", "All points", Block{Table: b.table()})
	if len(meta.Scenario) > 0 {
		b.add("scenario", "Scenario, without what is varied", Block{Text: string(meta.Scenario)})
	}
	return &b.Page
}

// said are the sentences of the report.
func (b *swept) said() (out []Block) {
	all := slices.Concat(report.SweepSentences(b.t, b.shown), report.SweepOpen(b.t), report.SweepFailures(b.t))
	return sentences(all, "/points")
}

// group is a combination of what is not along an axis, with its points.
type group struct {
	name   string
	points []int
}

// groups parts the points by everything but axis k, and axis m if it is not -1, in the order in which they
// come. Axis -2
// stands for the stack.
func (b *swept) groups(k, m int) (out []group) {
	at := map[string]int{}
	for i, o := range b.t.Outcomes() {
		var parts []string
		if o.Stack != "" && k != stackAxis && m != stackAxis {
			parts = append(parts, o.Stack)
		}
		for n, v := range o.Values {
			if n != k && n != m && len(b.t.Axes[n].Values) > 1 {
				parts = append(parts, lastKey(b.t.Axes[n].Key)+" "+v.Text)
			}
		}
		name := strings.Join(parts, ", ")
		g, known := at[name]
		if !known {
			g = len(out)
			at[name] = g
			out = append(out, group{name: name})
		}
		out[g].points = append(out[g].points, i)
	}
	return out
}

// stackAxis stands for the stack among axes.
const stackAxis = -2

// lastKey is the last part of a key.
func lastKey(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// some is an even choice of at most n, with the first and the last.
func some[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	out := make([]T, n)
	for i := range out {
		out[i] = all[i*(len(all)-1)/(n-1)]
	}
	return out
}

// numeric reports whether axis k has an order and at least two values.
func (b *swept) numeric(k int) bool {
	a := b.t.Axes[k]
	return a.Kind != vary.Words && (b.t.Samples > 1 || len(a.Values) > 1)
}

// over draws figures over each key that has an order.
func (b *swept) over() (out []Block) {
	for k, a := range b.t.Axes {
		if !b.numeric(k) {
			continue
		}
		var panels []figure.Panel
		left := 0
		for _, f := range b.shown[:min(len(b.shown), sweptPanels)] {
			p := figure.Panel{Title: b.t.Figures[f].Title, Unit: b.t.Figures[f].Unit}
			groups := b.groups(k, -1)
			if b.t.Samples > 0 {
				groups = b.stacks()
			}
			left = len(groups) - sweptCurves
			for _, g := range some(groups, sweptCurves) {
				if c := b.curve(g, k, f); len(c.X) > 0 {
					p.Curves = append(p.Curves, c)
				}
			}
			if len(p.Curves) > 0 {
				panels = append(panels, p)
			}
		}
		out = append(out, b.drawing(figure.Over("over-"+fileWord(a.Key), "Figures over "+a.Key, varied(a),
			panels), b.overCaption(left))...)
	}
	return out
}

// stacks are the points by stack.
func (b *swept) stacks() (out []group) {
	for i, o := range b.t.Outcomes() {
		if n := len(out); n > 0 && out[n-1].name == o.Stack {
			out[n-1].points = append(out[n-1].points, i)
			continue
		}
		out = append(out, group{o.Stack, []int{i}})
	}
	return out
}

func (b *swept) overCaption(left int) string {
	s := "Medians over the seeds."
	switch n := len(b.t.Seeds); {
	case b.t.Samples > 0 && n == 1:
		s = "Each sample is a dot: its other keys differ too."
	case b.t.Samples > 0:
		s = "Each sample is a dot, the median over its seeds, with " + b.around() + "; its other keys differ too."
	case n == 1:
		s = "One seed."
	default:
		s += " Around them lies " + b.around() + "."
	}
	if left > 0 {
		s += fmt.Sprintf(" %d more combinations of the other keys are not drawn.", left)
	}
	return s
}

// around says what ranges are.
func (b *swept) around() string {
	if len(b.t.Seeds) >= 6 {
		return "the 95 % confidence interval of the median"
	}
	return "the range from the least to the largest"
}

// curve is figure f of a group over axis k.
func (b *swept) curve(g group, k, f int) figure.Curve {
	c := figure.Curve{Name: g.name, Place: "/points", Apart: b.t.Samples > 0}
	for _, i := range g.points {
		o := &b.t.Outcomes()[i]
		if s := o.Spreads[f]; s.N > 0 {
			c.X = append(c.X, o.Values[k].X)
			c.Mid, c.Low, c.High = append(c.Mid, s.Median), append(c.Low, s.Low), append(c.High, s.High)
		}
	}
	return c
}

// varied is an axis of the sweep as that of a chart.
func varied(a *vary.Axis) figure.Varied {
	v := figure.Varied{Title: a.Key, Log: a.Log}
	least, most := math.Inf(1), 0.0
	for _, x := range a.Values {
		v.Ticks = append(v.Ticks, x.X)
		least, most = min(least, x.X), max(most, x.X)
	}
	slices.Sort(v.Ticks)
	v.Log = v.Log || len(a.Values) > 2 && least > 0 && most/least > 30
	v.Label = func(x float64) string {
		switch a.Kind {
		case vary.Time:
			return brief(metrics.FormatTimeDigits(units.Time(x), 4))
		case vary.Rate:
			return brief(metrics.FormatRate(units.Rate(x)))
		case vary.Size:
			return brief(metrics.FormatBytes(int64(x)))
		case vary.Length:
			return fmt.Sprintf("%.4g m", x/1000)
		case vary.Percent:
			return fmt.Sprintf("%.4g %%", x)
		}
		return fmt.Sprintf("%.4g", x)
	}
	return v
}

// brief leaves out zeros behind the point.
func brief(s string) string {
	number, unit, _ := strings.Cut(s, " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + unit
}

// short names a point by the last parts of keys.
func (b *swept) short(o *sweep.Outcome) string {
	var parts []string
	if o.Stack != "" {
		parts = append(parts, o.Stack)
	}
	for k, v := range o.Values {
		parts = append(parts, lastKey(b.t.Axes[k].Key)+" "+v.Text)
	}
	if len(parts) == 0 {
		return b.t.Scenario
	}
	return strings.Join(parts, ", ")
}

func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, s)
}

// pair finds the two axes with the most values, the first along x; ok is false where there are not two of several.
func (b *swept) pair() (x, y int, ok bool) {
	var axes []int
	if len(b.t.Stacks) > 1 {
		axes = append(axes, stackAxis)
	}
	for k, a := range b.t.Axes {
		if len(a.Values) > 1 {
			axes = append(axes, k)
		}
	}
	slices.SortStableFunc(axes, func(i, j int) int { return len(b.values(j)) - len(b.values(i)) })
	many := b.t.Samples > 0 || b.t.Points() > report.MostPoints
	if len(axes) < 2 || many || len(b.values(axes[0]))*len(b.values(axes[1])) > sweptCells {
		return 0, 0, false
	}
	return axes[0], axes[1], true
}

// values are those of an axis as they are written.
func (b *swept) values(k int) (out []string) {
	if k == stackAxis {
		return b.t.Stacks
	}
	for _, v := range b.t.Axes[k].Values {
		out = append(out, v.Text)
	}
	return out
}

func (b *swept) keyOf(k int) string {
	if k == stackAxis {
		return "stack"
	}
	return b.t.Axes[k].Key
}

// maps draws heat maps of the two axes with the most values.
func (b *swept) maps() (out []Block) {
	x, y, ok := b.pair()
	if !ok {
		return nil
	}
	groups := b.groups(x, y)
	for n, f := range b.shown[:min(len(b.shown), 3)] {
		for m, g := range some(groups, sweptMaps) {
			h := b.heat(g, x, y, f)
			out = append(out, b.drawing(figure.HeatMap(fmt.Sprintf("map-%d-%d", n, m), h), "")...)
		}
	}
	if left := len(groups) - sweptMaps; left > 0 {
		out = append(out, remark("/points", "%d more combinations of the other keys are not drawn.", left))
	}
	return out
}

// heat is the heat map of figure f of a group.
func (b *swept) heat(g group, x, y, f int) figure.Heat {
	fig := b.t.Figures[f]
	h := figure.Heat{Title: fig.Title, XTitle: b.keyOf(x), YTitle: b.keyOf(y), X: b.values(x), Y: b.values(y),
		Unit: fig.Unit}
	if g.name != "" {
		h.Title += ", " + g.name
	}
	h.Cells = make([][]figure.HeatCell, len(h.Y))
	for i := range h.Cells {
		h.Cells[i] = make([]figure.HeatCell, len(h.X))
	}
	index := func(k int, o *sweep.Outcome) int {
		if k == stackAxis {
			return slices.Index(b.t.Stacks, o.Stack)
		}
		return slices.Index(b.values(k), o.Values[k].Text)
	}
	for _, i := range g.points {
		o := &b.t.Outcomes()[i]
		c := figure.HeatCell{Path: report.SweepPath(i, fig) + "/median"}
		if s := o.Spreads[f]; s.N > 0 {
			c.Value = s.Median
		} else if c.Text = o.Status; c.Text == "" || c.Text == "done" {
			c.Text = none
		}
		h.Cells[index(y, o)][index(x, o)] = c
	}
	return h
}

// intervals draws a row per point where no key has an order, or there is none.
func (b *swept) intervals() (out []Block) {
	for k := range b.t.Axes {
		if b.numeric(k) {
			return nil
		}
	}
	for n, f := range b.shown[:min(len(b.shown), 3)] {
		fig := b.t.Figures[f]
		var rows []figure.Interval
		for i, o := range b.t.Outcomes() {
			if s := o.Spreads[f]; s.N > 0 && len(rows) < sweptIntervals {
				rows = append(rows, figure.Interval{Name: b.t.Name(&o), Mid: s.Median, Low: s.Low, High: s.High,
					Path: report.SweepPath(i, fig) + "/median"})
			}
		}
		out = append(out, b.drawing(figure.Intervals(fmt.Sprintf("points-%d", n), fig.Title, fig.Unit, rows), "")...)
	}
	if len(out) > 0 && len(b.t.Seeds) > 1 {
		out[len(out)-1].Caption = "Medians over the seeds, with " + b.around() + "."
	}
	return out
}

// SweepDrawn chooses the points whose completion times are drawn: the best and the worst by the first figure
// shown, and an
// even choice of the others.
func SweepDrawn(t *sweep.Table, named []string) (out []int) {
	for i, o := range t.Outcomes() {
		if o.Done > 0 && i < report.MostPoints {
			out = append(out, i)
		}
	}
	if len(out) <= sweptCurves {
		return out
	}
	var chosen []int
	if shown := report.SweepFigures(t, named); len(shown) > 0 {
		if best, worst, ok := t.Best(shown[0]); ok && max(best, worst) < report.MostPoints {
			chosen = append(chosen, best, worst)
		}
	}
	for _, i := range some(out, sweptCurves) {
		if len(chosen) < sweptCurves && !slices.Contains(chosen, i) {
			chosen = append(chosen, i)
		}
	}
	slices.Sort(chosen)
	return chosen
}

// distributions draws the completion times of the points that are drawn.
func (b *swept) distributions() []Block {
	var list []figure.Distribution
	for _, i := range b.drawn {
		o := &b.t.Outcomes()[i]
		list = append(list, distribution(b.short(o), fmt.Sprintf("/points/%d/completion_ps", i), b.t.Completions(i)))
	}
	caption := "Of messages of all seeds together; of a run with many every so many."
	if n := len(b.t.Outcomes()); n > len(b.drawn) {
		caption += fmt.Sprintf(" %d of %d points.", len(b.drawn), n)
	}
	return b.drawing(figure.Distributions(list, "completion time"), caption)
}

// table has a row per point.
func (b *swept) table() *Table {
	t := &Table{ID: "points-table", Filter: true}
	if len(b.t.Stacks) > 0 {
		t.Columns = append(t.Columns, Column{Title: "stack"})
	}
	for _, a := range b.t.Axes {
		t.Columns = append(t.Columns, Column{a.Key, a.Kind != vary.Words})
	}
	t.Columns = append(t.Columns, Column{"done", true})
	for _, f := range b.shown {
		t.Columns = append(t.Columns, Column{b.t.Figures[f].Title, true})
		if len(b.t.Seeds) > 1 {
			t.Columns = append(t.Columns, Column{"least", true}, Column{"largest", true})
		}
	}
	for i, o := range b.t.Outcomes() {
		if i == sweptRows {
			t.Title, t.Path = fmt.Sprintf("The first %d; the others are in %s", sweptRows, report.SweepPoints), "/points"
			break
		}
		t.Rows = append(t.Rows, b.cells(i, &o))
	}
	return t
}

// cells are those of a point.
func (b *swept) cells(i int, o *sweep.Outcome) (row Cells) {
	at := fmt.Sprintf("/points/%d/", i)
	if len(b.t.Stacks) > 0 {
		row = append(row, name(o.Stack, at+"stack"))
	}
	for k, v := range o.Values {
		row = append(row, name(v.Text, fmt.Sprintf("%svalues/%d", at, k)))
	}
	row = append(row, count(int64(o.Done), at+"done"))
	if o.Done < o.Made && o.Done == 0 {
		row[len(row)-1] = name(o.Status, at+"status")
	}
	for _, f := range b.shown {
		fig, s := b.t.Figures[f], o.Spreads[f]
		path := report.SweepPath(i, fig)
		values := []struct {
			x     float64
			field string
		}{{s.Median, "/median"}, {s.Min, "/min"}, {s.Max, "/max"}}
		if len(b.t.Seeds) == 1 {
			values = values[:1]
		}
		for _, v := range values {
			if s.N == 0 {
				row = append(row, Figure{Text: none, Class: "none"})
				continue
			}
			row = append(row, headlineFigure(fig.Unit, v.x, path+v.field))
		}
	}
	return row
}

// headlineFigure is a value of a headline figure.
func headlineFigure(u headline.Unit, x float64, path string) Figure {
	switch u {
	case headline.Time:
		return duration(units.Time(x), path)
	case headline.Rate:
		return rate(units.Rate(x), path)
	case headline.Size:
		return size(int64(x), path)
	case headline.Ratio:
		return number(x, 3, path)
	case headline.Bandwidth:
		return number(x, 2, path)
	}
	return count(int64(x), path)
}
