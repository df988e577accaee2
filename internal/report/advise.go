package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/advise"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// AdviceJSON encodes advice, indented, with a newline at the end.
func AdviceJSON(a *advise.Advice) ([]byte, error) { return indented(a) }

// adviceBlock is a part of a page of advice.
type adviceBlock struct {
	head    string
	text    []string
	bullets []string
	table   *table
}

// Advice writes the page for reading. Width 0 means 100 columns.
func Advice(w io.Writer, a *advise.Advice, opt TextOptions) error {
	t := blank(opt)
	t.prose(adviceTitle(a), t.paint.bold)
	for i, b := range adviceBlocks(a) {
		if i > 0 {
			t.section()
		}
		if b.head != "" {
			t.prose(b.head, t.paint.bold)
		}
		for _, s := range b.text {
			t.prose(s, plain)
		}
		for _, s := range b.bullets {
			t.prose("- "+s, plain)
		}
		if b.table != nil {
			t.table(b.table)
		}
	}
	return t.end(w)
}

// AdviceMarkdown writes the same page as Markdown.
func AdviceMarkdown(w io.Writer, a *advise.Advice) error {
	var b strings.Builder
	b.WriteString("# " + markdown(adviceTitle(a)) + "\n")
	for _, p := range adviceBlocks(a) {
		if p.head != "" {
			b.WriteString("\n## " + markdown(p.head) + "\n")
		}
		for _, s := range p.text {
			b.WriteString("\n" + markdown(s) + "\n")
		}
		if len(p.bullets) > 0 {
			b.WriteString("\n")
		}
		for _, s := range p.bullets {
			b.WriteString("- " + markdown(s) + "\n")
		}
		if p.table != nil {
			b.WriteString("\n")
			p.table.markdown(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdown keeps what a scenario is called from being taken for marks.
func markdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`,
		"_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`, "#", `\#`).Replace(s)
}

// markdown writes a table as Markdown has them.
func (t *table) markdown(b *strings.Builder) {
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	var titles, rule []string
	for _, c := range t.columns {
		titles = append(titles, markdown(strings.ReplaceAll(c.title, "\n", " ")))
		if c.right {
			rule = append(rule, "---:")
		} else {
			rule = append(rule, "---")
		}
	}
	line(titles)
	line(rule)
	for _, r := range t.rows {
		cells := make([]string, len(t.columns))
		for i, c := range r.cells {
			cells[i] = markdown(c)
		}
		line(cells)
	}
}

func adviceTitle(a *advise.Advice) string { return "Which network for " + a.Scenario }

// adviceBlocks are the parts of the page: what is recommended first, then the figures behind it.
func adviceBlocks(a *advise.Advice) []adviceBlock {
	carried := fmt.Sprintf("Simulated with %s, each over every network: ", numberOf(len(a.Seeds), "seed"))
	if a.Messages > 0 {
		carried += numberOf(a.Messages, "message") + " of data"
	} else {
		carried += numberOf(a.Programs, "collective or job")
	}
	if a.CallsN > 0 {
		carried += " and " + numberOf(a.CallsN, "remote procedure call")
	}
	if a.Bytes > 0 {
		carried += ", " + metrics.FormatBytes(a.Bytes) + " in all"
	}
	carried += "."
	if len(a.Seeds) > 1 {
		carried += " Figures are medians over seeds."
	}
	top := adviceBlock{text: []string{carried}}
	if a.About != "" {
		top.text = []string{a.About, carried}
	}
	out := []adviceBlock{top, {head: "Recommended", bullets: []string{"Data plane: " + a.Data.Text + ".",
		"Control plane: " + a.Control.Text + "."}}}
	out = append(out, adviceBlock{head: "Data plane", table: adviceTable(a, dataRows(a))},
		adviceBlock{head: "Why", bullets: adviceSteps(&a.Data)},
		adviceBlock{head: "What would change it", bullets: a.Data.Changes})
	if a.Data.WhatIf != nil {
		out = append(out, adviceBlock{head: "What holds it up", text: []string{"Each is a run with one thing changed, " +
			"with the first seed."}, bullets: a.Data.WhatIf})
	}
	if len(a.NotShown) > 0 {
		out = append(out, adviceBlock{head: "What these runs do not show", bullets: a.NotShown})
	}
	if a.CallsN > 0 {
		out = append(out, adviceBlock{head: "Control plane", table: adviceTable(a, callRows(a))})
	}
	out = append(out, adviceBlock{head: "Why, for the control plane", bullets: adviceSteps(&a.Control)})
	if len(a.Control.Changes) > 0 {
		out = append(out, adviceBlock{head: "What would change it, for the control plane", bullets: a.Control.Changes})
	}
	if best := a.Best(); best != nil && len(best.Watch) > 0 {
		out = append(out, adviceBlock{head: "What to watch in production, on " + best.Full(),
			text: []string{"Counts per millisecond of load, watermarks in bytes, at the box or port that has most. The " +
				"alarm stands above the most that any seed saw: by a tenth, or by as much as seeds differ where that is more. A time " +
				"of pauses cannot pass 1,000 us in a millisecond, so that its alarm is at most halfway there. Where nothing was " +
				"counted, any count is an alarm."},
			table: watchTable(best.Watch)})
	}
	return out
}

// adviceSteps says which rules took what away.
func adviceSteps(v *advise.Verdict) (out []string) {
	for _, s := range v.Steps {
		line := "Rule " + s.Rule + ": " + s.States
		if len(s.Out) > 0 {
			line += ": " + strings.Join(s.Out, "; ")
		}
		out = append(out, line+".")
	}
	return out
}

// adviceRow is a line of a matrix.
type adviceRow struct {
	title string
	cell  func(o *advise.Answer) string
}

// dataRows are the lines of the data plane's matrix.
func dataRows(a *advise.Advice) []adviceRow {
	count := func(n func(*advise.Answer) int) func(*advise.Answer) string {
		return func(o *advise.Answer) string { return metrics.FormatCount(int64(n(o))) }
	}
	figure := func(s func(*advise.Answer) *advise.Spread, text func(int64) string) func(*advise.Answer) string {
		return func(o *advise.Answer) string {
			if m := s(o).Median; m > 0 {
				return text(int64(m))
			}
			return "-"
		}
	}
	time := func(n int64) string { return metrics.FormatTime(units.Time(n)) }
	fastest := 0.0
	for i := range a.Answers {
		if o := &a.Answers[i]; o.Out == "" && (fastest == 0 || o.DataPS.Median < fastest) {
			fastest = o.DataPS.Median
		}
	}
	judged := "p99 completion time"
	if !strings.HasPrefix(a.Judged, "p99") {
		judged = "first to last"
	}
	too := "" // processors do not tell data from calls
	if a.CallsN > 0 {
		too = ", calls too"
	}
	rows := []adviceRow{
		{"position: API", func(o *advise.Answer) string { return o.Data.API.String() }},
		{"  transport", func(o *advise.Answer) string { return o.Data.TransportNames() }},
		{"  fabric", func(o *advise.Answer) string { return o.Data.Fabric.String() }},
		{"  setting", func(o *advise.Answer) string { return o.Setting }},
		{"to buy: switches", count(func(o *advise.Answer) int { return o.Switches })},
		{"  cables", count(func(o *advise.Answer) int { return o.Cables })},
		{"  cards", func(o *advise.Answer) string { return metrics.FormatCount(int64(o.Cards)) + " " + o.CardKind() }},
		{"to tune: switches", count(func(o *advise.Answer) int { return o.SwitchParameters })},
		{"  congestion control", count(func(o *advise.Answer) int { return o.ControlParameters })},
		{"  hosts", count(func(o *advise.Answer) int { return o.TransportParameters })},
		{judged, func(o *advise.Answer) string { return time(int64(o.DataPS.Median)) }},
		{"  with other seeds", func(o *advise.Answer) string { return adviceRange(&o.DataPS) }},
		{"  times the fastest", func(o *advise.Answer) string { return fmt.Sprintf("%.2f", o.DataPS.Median/fastest) }},
		{"flow control: pauses", figure(func(o *advise.Answer) *advise.Spread { return &o.Pauses }, metrics.FormatCount)},
		{"  ports held, in all", figure(func(o *advise.Answer) *advise.Spread { return &o.HeldPS }, time)},
		{"  ECN marks", figure(func(o *advise.Answer) *advise.Spread { return &o.Marked }, metrics.FormatCount)},
		{"  frames dropped", figure(func(o *advise.Answer) *advise.Spread { return &o.Dropped }, metrics.FormatCount)},
		{"  bytes sent again", figure(func(o *advise.Answer) *advise.Spread { return &o.Resent }, metrics.FormatBytes)},
		{"  deepest queue", figure(func(o *advise.Answer) *advise.Spread { return &o.PeakQueue }, metrics.FormatBytes)},
		{"CPU: cores, busiest host" + too, func(o *advise.Answer) string { return fmt.Sprintf("%.2f", o.Cores.Median) }},
		{"  data alone, all hosts", func(o *advise.Answer) string { return fmt.Sprintf("%.2f", o.DataCores()) }},
		{"  copied by cores" + too, figure(func(o *advise.Answer) *advise.Spread { return &o.Copied }, metrics.FormatBytes)},
		{"GPUDirect", adviceGPUDirect},
		{"to debug: counters", count(func(o *advise.Answer) int { return len(o.Watch) })},
	}
	return slices.Concat(rows, costRows(a, []adviceRow{
		{"cost: what is bought", func(o *advise.Answer) string { return a.Money(o.Cost.Parts) }},
		{"  cores kept busy", func(o *advise.Answer) string { return a.Money(o.Cost.Cores) }},
		{"  parameters to keep", func(o *advise.Answer) string { return a.Money(o.Cost.Parameters) }},
		{"  data plane in all", func(o *advise.Answer) string {
			return a.Money(o.Cost.Parts + o.Cost.Cores + o.Cost.Parameters)
		}},
	}))
}

// callsAlone is what a column's calls do by themselves: on a second network where they need one.
func callsAlone(o *advise.Answer) *advise.CallsAlone {
	if o.Apart != nil {
		return o.Apart
	}
	return o.Calls
}

// beside is p99 of a column's calls beside the data, which those on a second network do not meet; nil: none.
func beside(o *advise.Answer) *advise.Spread {
	if o.Apart != nil {
		return &o.Apart.P99PS
	}
	return o.CallP99PS
}

// median words the one of a spread of times.
func median(of func(*advise.Answer) *advise.Spread) func(*advise.Answer) string {
	return func(o *advise.Answer) string {
		if s := of(o); s != nil {
			return metrics.FormatTime(units.Time(s.Median))
		}
		return "-"
	}
}

// callRows are the lines of the control plane's matrix.
func callRows(a *advise.Advice) []adviceRow {
	rows := []adviceRow{
		{"calls over", func(o *advise.Answer) string {
			if o.Apart != nil {
				return "TCP, second network"
			}
			return o.CallsOver
		}},
		{"p99 beside the data", median(beside)},
		{"  with other seeds", func(o *advise.Answer) string {
			if s := beside(o); s != nil {
				return adviceRange(s)
			}
			return "-"
		}},
		{"p99 without data", median(func(o *advise.Answer) *advise.Spread {
			if c := callsAlone(o); c != nil {
				return &c.P99PS
			}
			return nil
		})},
		{"CPU: cores, busiest host", func(o *advise.Answer) string {
			if c := callsAlone(o); c != nil {
				return fmt.Sprintf("%.2f", c.Cores.Median)
			}
			return "-"
		}},
		{"as verbs, beside the data: p99", median(func(o *advise.Answer) *advise.Spread {
			if o.Apart != nil {
				return o.CallP99PS
			}
			return nil
		})},
	}
	return slices.Concat(rows, costRows(a, []adviceRow{
		{"cost: cores kept busy", func(o *advise.Answer) string { return a.Money(o.Cost.CallCores) }},
		{"  second network for TCP", func(o *advise.Answer) string {
			if o.Cost.Second == 0 {
				return "-"
			}
			return a.Money(o.Cost.Second)
		}},
		{"  control plane in all", func(o *advise.Answer) string { return a.Money(o.Cost.CallCores + o.Cost.Second) }},
		{"  both planes", func(o *advise.Answer) string { return a.Money(o.Cost.Total) }},
	}))
}

// costRows are rows where there are prices.
func costRows(a *advise.Advice, rows []adviceRow) []adviceRow {
	if a.Currency == "" {
		return nil
	}
	return rows
}

// adviceRange is the least and the most of all seeds, where they differ.
func adviceRange(s *advise.Spread) string {
	least, most := metrics.FormatTime(units.Time(s.Least)), metrics.FormatTime(units.Time(s.Most))
	if least == most {
		return "the same"
	}
	return least + " to " + most
}

// adviceGPUDirect says what the way past the hosts' memory brings.
func adviceGPUDirect(o *advise.Answer) string {
	switch {
	case o.StagedPS > 0:
		return fmt.Sprintf("yes; else %.2f times", o.StagedPS/o.DataPS.Median)
	case o.Copies:
		return "no: by host memory"
	}
	return "no data in GPUs"
}

// adviceTable lays a matrix out: a column per network, one that cannot carry the workload with the reason below.
func adviceTable(a *advise.Advice, rows []adviceRow) *table {
	tab := &table{columns: []column{{}}}
	for i := range a.Answers {
		tab.columns = append(tab.columns, column{title: a.Answers[i].Name})
	}
	for n, r := range rows {
		line := []string{r.title}
		for i := range a.Answers {
			o, cell := &a.Answers[i], ""
			switch {
			case o.Layers != nil:
				cell = r.cell(o)
			case n == 0:
				cell = "cannot carry it"
			}
			line = append(line, cell)
		}
		if slices.ContainsFunc(line[1:], func(s string) bool { return s != "" && s != "-" }) {
			tab.add(line...)
		}
	}
	return tab
}

// watched is a value of a counter in its unit.
func watched(w *advise.Watch, x float64) string {
	switch {
	case w.Unit == advise.Bytes:
		return metrics.FormatBytes(int64(x))
	case x >= 1000 || x == 0:
		return metrics.FormatCount(int64(x + 0.5))
	}
	return fmt.Sprintf("%.3g", x)
}

// watchTable has a row per counter.
func watchTable(list []advise.Watch) *table {
	tab := &table{columns: []column{{title: "Command: counter"}, {title: "Seen", right: true},
		{title: "Alarm above", right: true}, {title: "What it counts", wrap: true}}}
	for i := range list {
		w := &list[i]
		alarm := watched(w, w.Alarm)
		if w.Alarm == 0 {
			alarm = "0: any"
		}
		tab.add(w.Command+": "+w.Counter, watched(w, w.Most), alarm, w.About)
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
