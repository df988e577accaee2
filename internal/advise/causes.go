package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// Inquiry is what came of taking causes away from one run of a column (package whatif), one at a time.
type Inquiry struct {
	Subject string     // whose time it is: "the slowest message, h1->h4"
	TookPS  units.Time // as the column is
	Causes  []Cause    // that left nothing lost or open
}

// Cause is one that was taken away.
type Cause struct {
	Text   string // what is changed: "sw:5 at 16 times its rate"
	Pair   bool   // two things were
	TookPS units.Time
}

// listedCauses is how many of them a page names of a column.
const listedCauses = 3

// RunnerUp is the fastest column beside the one that is recommended; nil: nothing else carries the workload.
func (a *Advice) RunnerUp() *Answer {
	var others []*Answer
	for i := range a.Answers {
		if o := &a.Answers[i]; o.Out == "" && o.Name != a.Data.Name {
			others = append(others, o)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return slices.MinFunc(others, func(x, y *Answer) int { return cmp.Compare(x.DataPS.Median, y.DataPS.Median) })
}

// Best is the column that is recommended for the data plane; nil: there is none.
func (a *Advice) Best() *Answer { return a.column(a.Data.Name) }

// Ask puts inquiries on the recommended column, and on the runner-up if there is one, into what would change the
// advice: what saves most of either, and whether the runner-up would then be faster than the recommended one is.
func (a *Advice) Ask(best, second *Inquiry) {
	a.Data.WhatIf = []string{}
	if best != nil {
		a.Data.WhatIf = append(a.Data.WhatIf, best.text(a.Best())+".")
	}
	other := a.RunnerUp()
	if second == nil || other == nil {
		return
	}
	text := second.text(other) + "."
	if best != nil && second.TookPS >= best.TookPS {
		known := best.worth()
		for _, c := range second.worth() {
			same := slices.ContainsFunc(known, func(o Cause) bool { return o.Text == c.Text })
			if !same && float64(c.TookPS) < (1-beyond)*float64(best.TookPS) {
				text += fmt.Sprintf(" So changed, %s would be faster than %s is.", other.Name, a.Data.Name)
				break
			}
		}
	}
	a.Data.WhatIf = append(a.Data.WhatIf, text)
}

// worth are the causes that save more than a twentieth, the largest first. Of pairs it is the best, and only where it
// saves as much more than any one change does.
func (q *Inquiry) worth() (out []Cause) {
	least := func(than units.Time, took units.Time) bool {
		return took != units.Never && float64(took) < float64(than)-beyond*float64(q.TookPS)
	}
	all := slices.Clone(q.Causes)
	slices.SortStableFunc(all, func(x, y Cause) int { return cmp.Compare(x.TookPS, y.TookPS) })
	for _, c := range all {
		if !c.Pair && least(q.TookPS, c.TookPS) {
			out = append(out, c)
		}
	}
	alone := q.TookPS
	if len(out) > 0 {
		alone = out[0].TookPS
	}
	if k := slices.IndexFunc(all, func(c Cause) bool { return c.Pair && least(alone, c.TookPS) }); k >= 0 {
		out = append(out, all[k])
	}
	return out
}

// text says what saves most.
func (q *Inquiry) text(a *Answer) string {
	head := fmt.Sprintf("%s: %s takes %s", a.Full(), q.Subject, metrics.FormatTime(q.TookPS))
	one, two := "", ""
	for n, c := range q.worth() {
		switch text := fmt.Sprintf("%s: %s", c.Text, metrics.FormatTime(c.TookPS)); {
		case c.Pair:
			two = ". With two changes, " + text
		case n < listedCauses:
			one += "; " + text
		}
	}
	if one+two == "" {
		return head + ", and no change that was tried saves 5 % of it"
	}
	if one != "" {
		one = ". With one change, " + strings.TrimPrefix(one, "; ")
	}
	return head + one + two
}
