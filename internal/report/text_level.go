package report

import (
	"fmt"
	"math"
)

// flowLevel is the report of a run that knows flows alone.
func (t *text) flowLevel() {
	t.header()
	t.level()
	t.flows()
	t.collectives()
	t.jobs()
	t.warnings()
	t.details()
	if !t.opt.Brief {
		t.parameters()
	}
}

// level tells how the run came to its result, what that does not model, and how far off it was.
func (t *text) level() {
	l := t.r.Level
	if l == nil {
		return
	}
	t.section()
	t.prose(t.l.Of("level ")+l.Name+t.l.Of(": ")+l.Note, plain)
	for _, what := range l.Unmodelled {
		t.prose(what, plain)
	}
	if len(l.Errors) == 0 {
		return
	}
	tab := &table{columns: []column{{title: "Error of the level, measured against packets"}, {title: "Stack", drop: 1},
		{title: "Last completion", right: true}, {title: "Each message", right: true}}}
	for _, e := range l.Errors {
		message := "-"
		if e.Message > 0 {
			message = levelPercent(e.Message)
		}
		last := levelPercent(math.Abs(e.Percent))
		switch {
		case e.Percent >= leastShown:
			last += t.l.Of(" late")
		case e.Percent <= -leastShown:
			last += t.l.Of(" early")
		}
		tab.add(e.Case, e.Stack, last, message)
	}
	t.table(tab)
}

// leastShown is the least error that is not shown as none, in percent.
const leastShown = 0.005

// levelPercent writes percents with as many digits as tell something.
func levelPercent(p float64) string {
	if p < 10 {
		return fmt.Sprintf("%.2f %%", p)
	}
	return fmt.Sprintf("%.0f %%", p)
}
