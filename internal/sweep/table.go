package sweep

import (
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/headline"
	"github.com/hopscope/hopscope/internal/units"
)

// Table is what came of a sweep.
type Table struct {
	*Plan
	Rows    []*Row            // by run; nil: it has not been made
	Figures []headline.Figure // that any row has
	points  []Outcome
}

// Outcome is what came of a point.
type Outcome struct {
	Point
	Done, Made int      // runs that came to their end, and that were made
	Status     string   // of the runs, if all have the same, else "mixed"; "" if none was made
	Error      string   // of the first run that has one
	Spreads    []Spread // by figure of the table, over the runs that came to their end
	Messages   Messages // of the runs that came to their end
}

// Messages counts what became of messages. Completion times are those of the completed ones alone.
type Messages struct{ Posted, Completed, Failed, Open int64 }

// add adds those of a run.
func (m *Messages) add(r *Row) {
	m.Posted += int64(r.Figures["messages"])
	m.Completed += int64(r.Figures["completed"])
	m.Failed += int64(r.Figures["failed"])
	m.Open += int64(r.Figures["open"])
}

// Share is the share that completed; of no messages all did.
func (m *Messages) Share() float64 {
	if m.Posted == 0 {
		return 1
	}
	return float64(m.Completed) / float64(m.Posted)
}

// NewTable condenses rows, one for each run of the plan in its order, nil where there is none yet.
func NewTable(p *Plan, rows []*Row) *Table {
	t := &Table{Plan: p, Rows: rows, Figures: figures(rows)}
	for i := range p.Points() {
		t.points = append(t.points, t.outcome(i))
	}
	return t
}

// Outcomes are those of the points, in their order.
func (t *Table) Outcomes() []Outcome { return t.points }

// of are the rows of a point that were made.
func (t *Table) of(point int) (rows []*Row) {
	n := len(t.Seeds)
	for _, r := range t.Rows[point*n : (point+1)*n] {
		if r != nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// StackOf is the stack that the runs of a point have; "": none has told.
func (t *Table) StackOf(point int) string {
	if s := t.points[point].Stack; s != "" {
		return s
	}
	for _, r := range t.of(point) {
		if r.Stack != "" {
			return r.Stack
		}
	}
	return ""
}

// Name says where a point lies: "rocev2, switch.ecn.kmin 100KB".
func (t *Table) Name(o *Outcome) string {
	var parts []string
	if o.Stack != "" {
		parts = append(parts, o.Stack)
	}
	for k, v := range o.Values {
		parts = append(parts, t.Axes[k].Key+" "+v.Text)
	}
	if len(parts) == 0 {
		return t.Scenario
	}
	return strings.Join(parts, ", ")
}

func (t *Table) outcome(point int) Outcome {
	out := Outcome{Point: t.Point(point), Spreads: make([]Spread, len(t.Figures))}
	values := make([][]float64, len(t.Figures))
	for _, r := range t.of(point) {
		out.Made++
		switch {
		case out.Status == "":
			out.Status = r.Status
		case out.Status != r.Status:
			out.Status = "mixed"
		}
		if out.Error == "" {
			out.Error = r.Error
		}
		if !r.OK() {
			continue
		}
		out.Done++
		out.Messages.add(r)
		for k, f := range t.Figures {
			if x, ok := r.Figures[f.Name]; ok {
				values[k] = append(values[k], x)
			}
		}
	}
	for k := range values {
		out.Spreads[k] = SpreadOf(values[k])
	}
	return out
}

// Made counts the runs that were made, and of those the ones that did not come to their end.
func (t *Table) Made() (made, failed int) {
	for _, o := range t.points {
		made += o.Made
		failed += o.Made - o.Done
	}
	return made, failed
}

// Idle lists the axes that changed no figure of any run: points that differ in nothing else took the same course.
// Of samples, which differ in everything, nothing can be said.
func (t *Table) Idle() (keys []string) {
	if t.Samples > 0 {
		return nil
	}
	stride := 1
	for k := len(t.Axes) - 1; k >= 0; k-- {
		n := len(t.Axes[k].Values)
		if n > 1 && t.idle(stride, n) {
			keys = append(keys, t.Axes[k].Key)
		}
		stride *= n
	}
	slices.Reverse(keys)
	return keys
}

// idle reports whether all runs that differ in an axis of n values alone, whose points are stride apart, agree.
func (t *Table) idle(stride, n int) bool {
	compared := false
	for i, r := range t.Rows {
		point := i / len(t.Seeds)
		if r == nil || point/stride%n == n-1 {
			continue
		}
		next := t.Rows[i+stride*len(t.Seeds)]
		if next == nil {
			continue
		}
		if r.Fingerprint != next.Fingerprint || r.Status != next.Status {
			return false
		}
		compared = compared || r.Fingerprint != ""
	}
	return compared
}

// Varies reports whether a figure's median differs among the points that have one.
func (t *Table) Varies(figure int) bool {
	first, seen := 0.0, false
	for _, o := range t.points {
		s := o.Spreads[figure]
		switch {
		case s.N == 0:
		case !seen:
			first, seen = s.Median, true
		case s.Median != first:
			return true
		}
	}
	return false
}

// Best is the point with the best median of a figure, and the worst; ok is false where fewer than two points have one
// or neither is better.
func (t *Table) Best(figure int) (best, worst int, ok bool) {
	f := t.Figures[figure]
	if f.Better == headline.Neither {
		return 0, 0, false
	}
	best, worst = -1, -1
	for i, o := range t.points {
		s := o.Spreads[figure]
		if s.N == 0 {
			continue
		}
		sign := float64(f.Better)
		if best < 0 || sign*s.Median > sign*t.points[best].Spreads[figure].Median {
			best = i
		}
		if worst < 0 || sign*s.Median < sign*t.points[worst].Spreads[figure].Median {
			worst = i
		}
	}
	return best, worst, best >= 0 && t.points[best].Spreads[figure].Median != t.points[worst].Spreads[figure].Median
}

// Completions are the completion times of messages of all runs of a point together, sorted.
func (t *Table) Completions(point int) (out []units.Time) {
	for _, r := range t.of(point) {
		if r.OK() {
			out = append(out, r.CompletionPS...)
		}
	}
	slices.Sort(out)
	return out
}
