package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/hopscope/hopscope/internal/advise"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// AdviceJSON encodes advice, indented, with a newline at the end.
func AdviceJSON(a *advise.Advice) ([]byte, error) { return indented(a) }

// Advice writes the matrix, the recommendations and what to watch for reading. Width 0 means 100 columns.
func Advice(w io.Writer, a *advise.Advice, opt TextOptions) error {
	t := blank(opt)
	t.prose(fmt.Sprintf("%s: advice from %s", a.Scenario, numberOf(len(a.Seeds), "seed")), t.paint.bold)
	if a.About != "" {
		t.prose(a.About, t.paint.dim)
	}
	t.section()
	t.adviceVerdict("Data plane", &a.Data)
	t.section()
	t.adviceVerdict("Control plane", &a.Control)
	t.section()
	t.table(adviceTable(a, t.width))
	for i := range a.Answers {
		if o := &a.Answers[i]; o.Name == a.Data.Name && len(o.Watch) > 0 {
			t.section()
			t.prose("What to watch on "+o.Name+", as counters per millisecond of load, at the box or port that has most:",
				t.paint.bold)
			t.table(watchTable(o.Watch))
		}
	}
	return t.end(w)
}

// adviceVerdict is a recommendation with its rules and what would change it.
func (t *text) adviceVerdict(plane string, v *advise.Verdict) {
	t.prose(plane+": "+v.Text+".", t.paint.bold)
	for _, s := range v.Steps {
		line := "rule " + s.Rule + ": " + s.States
		if len(s.Out) > 0 {
			line += ": " + strings.Join(s.Out, "; ")
		}
		t.prose("  "+line+".", plain)
	}
	if len(v.Changes) > 0 {
		t.prose("What would change it:", plain)
	}
	for _, c := range v.Changes {
		t.prose("- "+c, plain)
	}
}

// adviceRow is a line of the matrix.
type adviceRow struct {
	title string
	cell  func(a *advise.Answer) string
}

// adviceRows are the lines of the matrix.
func adviceRows(a *advise.Advice) []adviceRow {
	return []adviceRow{
		{"position", adviceLayers},
		{"to buy", func(o *advise.Answer) string {
			return fmt.Sprintf("%s, %s, %s", numberOf(o.Switches, "switch"), numberOf(o.Cables, "cable"), numberOf(o.Cards,
				"card"))
		}},
		{"to tune", func(o *advise.Answer) string {
			return fmt.Sprintf("%d of switches, %d of congestion control; %d of transports", o.SwitchParameters,
				o.ControlParameters, o.TransportParameters)
		}},
		{"flow control", adviceFlowControl},
		{"data plane", func(o *advise.Answer) string { return advise.TimeText(&o.DataPS) }},
		{"calls, p99", func(o *advise.Answer) string {
			if o.CallP99PS == nil {
				return "no calls"
			}
			return advise.TimeText(o.CallP99PS) + " over " + o.CallsOver
		}},
		{"CPU per host", func(o *advise.Answer) string {
			text := fmt.Sprintf("%.2f cores at the busiest", o.Cores.Median)
			if o.Copied.Median > 0 {
				text += ", " + metrics.FormatBytes(int64(o.Copied.Median)) + " copied in all"
			}
			return text
		}},
		{"GPUDirect", adviceGPUDirect},
		{"to debug", func(o *advise.Answer) string {
			return fmt.Sprintf("%s; deepest queue %s", numberOf(len(o.Watch), "counter"),
				metrics.FormatBytes(int64(o.PeakQueue.Median)))
		}},
		{"cost", func(o *advise.Answer) string {
			if o.Cost == nil {
				return "no prices"
			}
			text := metrics.FormatCount(int64(*o.Cost+0.5)) + " " + a.Currency
			if o.Beside > 0 {
				text += fmt.Sprintf(", %s of it a second network for TCP", metrics.FormatCount(int64(o.Beside+0.5)))
			}
			return text
		}},
	}
}

func adviceLayers(o *advise.Answer) string {
	var parts []string
	for i := range o.Layers {
		l := &o.Layers[i]
		parts = append(parts, fmt.Sprintf("%s, %s, %s", l.API, l.TransportNames(), l.Fabric))
	}
	return strings.Join(parts, "; ")
}

// adviceFlowControl says who held, marked and dropped.
func adviceFlowControl(o *advise.Answer) string {
	var parts []string
	if o.Pauses.Median > 0 {
		parts = append(parts, metrics.FormatCount(int64(o.Pauses.Median))+" pauses")
	}
	if o.HeldPS.Median > 0 {
		parts = append(parts, "held "+metrics.FormatTime(units.Time(o.HeldPS.Median)))
	}
	if o.Marked.Median > 0 {
		parts = append(parts, metrics.FormatCount(int64(o.Marked.Median))+" marks")
	}
	if o.Dropped.Median > 0 {
		parts = append(parts, metrics.FormatCount(int64(o.Dropped.Median))+" drops")
	}
	if o.Resent.Median > 0 {
		parts = append(parts, metrics.FormatBytes(int64(o.Resent.Median))+" resent")
	}
	if len(parts) == 0 {
		return "nothing held, marked or dropped"
	}
	return strings.Join(parts, ", ")
}

// adviceGPUDirect says what the way past the hosts' memory brings.
func adviceGPUDirect(o *advise.Answer) string {
	switch {
	case o.StagedPS != nil:
		return fmt.Sprintf("on; staged it takes %.2f times as long", o.StagedPS.Median/o.DataPS.Median)
	case o.Copies:
		return "none: data are staged in the hosts' memory"
	}
	return "no data in GPUs"
}

// adviceTable lays the matrix out, with cells that wrap in columns of one width.
func adviceTable(a *advise.Advice, width int) *table {
	const first = 12
	each := max(12, (width-first-len(gap)*len(a.Answers))/len(a.Answers))
	tab := &table{columns: []column{{}}}
	for i := range a.Answers {
		tab.columns = append(tab.columns, column{title: a.Answers[i].Name})
	}
	for _, r := range adviceRows(a) {
		cells := make([][]string, len(a.Answers))
		height := 0
		for i := range a.Answers {
			o, cell := &a.Answers[i], ""
			switch {
			case o.Out != "" && r.title == "position":
				cell = "out: " + o.Out
			case o.Layers != nil:
				cell = r.cell(o)
			}
			cells[i] = wrap(cell, each)
			height = max(height, len(cells[i]))
		}
		for k := range height {
			line := []string{r.title}
			if k > 0 {
				line[0] = ""
			}
			for i := range cells {
				if k < len(cells[i]) {
					line = append(line, cells[i][k])
				} else {
					line = append(line, "")
				}
			}
			tab.add(line...)
		}
	}
	return tab
}

// perMS is a count per millisecond.
func perMS(x float64) string {
	if x >= 1000 {
		return metrics.FormatCount(int64(x + 0.5))
	}
	return fmt.Sprintf("%.3g", x)
}

// watchTable has a row per counter.
func watchTable(list []advise.Watch) *table {
	tab := &table{columns: []column{{title: "Counter"}, {title: "Command"}, {title: "Seen", right: true},
		{title: "Alarm above", right: true}, {title: "What it counts", wrap: true}}}
	for i := range list {
		w := &list[i]
		tab.add(w.Counter, w.Command, perMS(w.Most), perMS(w.Alarm), w.About)
	}
	return tab
}

// numberOf is a count of things whose plural takes an s, or es behind ch.
func numberOf(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "ch"):
		what += "e"
	}
	return metrics.FormatCount(int64(n)) + " " + what + "s"
}
