package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/visible"
)

// Layout of a comparison.
const (
	compareWidth = 120 // of text that does not go to a terminal
	compareLabel = 10  // the column that names the rows
	// compareColumn is the narrowest a stack's column gets: what does not fit
	// beside each other goes into a further block.
	compareColumn = 25
)

// CompareJSON encodes c, indented, with a newline at the end. The text of
// Compare holds no number that is not in it.
func CompareJSON(c *compare.Comparison) ([]byte, error) {
	data, err := indented(c)
	if err != nil {
		return nil, fmt.Errorf("encode the comparison: %w", err)
	}
	return data, nil
}

// indented encodes v as all JSON of this program, with a newline at the end.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// ParseCompareJSON reads what CompareJSON wrote.
func ParseCompareJSON(data []byte) (*compare.Comparison, error) {
	var c compare.Comparison
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("not a hopscope comparison: %w", err)
	}
	if c.Version != compare.Version {
		return nil, fmt.Errorf("comparison of version %d; this program reads version %d", c.Version, compare.Version)
	}
	return &c, nil
}

// Compare writes c for reading: a sentence per stack, then a column per stack.
// Width 0 means 120 columns.
func Compare(w io.Writer, c *compare.Comparison, opt TextOptions) error {
	if opt.Width == 0 {
		opt.Width = compareWidth
	}
	t := &comparison{c: c, l: opt.Lang, paint: paint(opt.Colour), width: max(opt.Width, minWidth)}
	t.header()
	t.sentences()
	for _, part := range t.blocks() {
		t.line("")
		t.block(part)
	}
	t.legend()
	t.warnings()
	_, err := io.WriteString(w, t.b.String())
	return err
}

// comparison is the text under construction.
type comparison struct {
	b     strings.Builder
	c     *compare.Comparison
	l     lang.Language
	paint paint
	width int
}

func (t *comparison) line(s string) { t.b.WriteString(strings.TrimRight(s, " ") + "\n") }

func (t *comparison) header() {
	seeds := t.l.Sprintf("seed %d", t.c.Seeds[0])
	if n := len(t.c.Seeds); n > 1 {
		seeds = t.l.Sprintf("seeds %d to %d, median (least to largest)", t.c.Seeds[0], t.c.Seeds[n-1])
	}
	if t.c.SeedsFinished < t.c.SeedsAsked {
		seeds += t.l.Sprintf(" (of %d asked for)", t.c.SeedsAsked)
	}
	stacks := t.l.Of("1 stack")
	if n := len(t.c.Stacks); n > 1 {
		stacks = t.l.Sprintf("%d stacks", n)
	}
	for _, l := range hang(typeset(t.l, fmt.Sprintf("%s: %s, %s", t.c.Scenario, stacks, seeds)), t.width, 2) {
		t.line(t.paint.bold(l))
	}
	for _, l := range wrap(typeset(t.l, t.c.Description), t.width) {
		if l != "" {
			t.line(t.paint.dim(l))
		}
	}
	if t.c.View != "" {
		for _, l := range wrap(typeset(t.l, t.l.Of("Compared: ")+t.c.View+"."), t.width) {
			t.line(l)
		}
	}
}

// sentences writes what happened, a paragraph per stack beside its name.
func (t *comparison) sentences() {
	t.line("")
	indent := 0
	for i := range t.c.Stacks {
		indent = max(indent, len(t.c.Stacks[i].Stack)+len(gap))
	}
	for i := range t.c.Stacks {
		s := &t.c.Stacks[i]
		for n, l := range wrap(typeset(t.l, cmp.Or(s.Told, s.Sentence)), t.width-indent) {
			name := ""
			if n == 0 {
				name = s.Stack
			}
			t.line(t.paint.bold(pad(name, indent)) + l)
		}
	}
	for _, left := range t.c.LeftOut {
		for _, l := range hang("without "+strings.Join(left.Stacks, ", ")+": "+left.Why, t.width, 2) {
			t.line(t.paint.warn(l))
		}
	}
	if len(t.c.Seeds) > 1 {
		for _, l := range wrap(typeset(t.l, t.l.Sprintf("(The sentences are about seed %d.)", t.c.Seeds[0])), t.width) {
			t.line(t.paint.dim(l))
		}
	}
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-visible.Width(s), 0))
}

// blocks shares the stacks out evenly over as few blocks as fit the width.
func (t *comparison) blocks() [][]compare.Column {
	all := t.c.Stacks
	fit := max(1, (t.width-compareLabel)/(compareColumn+len(gap)))
	count := (len(all) + fit - 1) / fit
	var out [][]compare.Column
	for i := range count {
		out = append(out, all[i*len(all)/count:(i+1)*len(all)/count])
	}
	return out
}

// block writes some of the columns.
func (t *comparison) block(stacks []compare.Column) {
	room := (t.width-compareLabel)/len(stacks) - len(gap)
	names := make([]string, len(stacks))
	for i := range stacks {
		names[i] = stacks[i].Stack
	}
	t.row(true, "", names, room)
	t.layers(stacks, room)
	for q := range catalog.Questions {
		t.question(q, stacks, room)
	}
	t.line("")
	for _, f := range compareRows(t.l) {
		cells := make([]string, len(stacks))
		some := f.when == always || f.when == ofMessages &&
			slices.ContainsFunc(stacks, func(s compare.Column) bool { return s.Figures.Messages.Max > 0 })
		for i := range stacks {
			cells[i] = f.text(&stacks[i])
			some = some || f.when == ifAny && cells[i] != "-"
		}
		if some {
			t.row(false, f.label, cells, room)
		}
	}
	t.accounts(stacks, room)
}

// layers writes what the columns carried, a row per layer; nothing where none carried anything.
func (t *comparison) layers(stacks []compare.Column, room int) {
	if !slices.ContainsFunc(stacks, func(s compare.Column) bool { return len(s.Layers) > 0 }) {
		return
	}
	for _, l := range layerRows(t.l) {
		cells := make([]string, len(stacks))
		for i := range stacks {
			cells[i] = layerCell(&stacks[i], l.of)
		}
		t.row(false, l.label, cells, room)
	}
	t.line("")
}

// layerRow is one of the three layers that a comparison keeps apart.
type layerRow struct {
	label string
	of    func(*catalog.Layering) string
}

func layerRows(in lang.Language) []layerRow {
	return []layerRow{
		{in.Of("API"), func(l *catalog.Layering) string { return l.API.In(in) }},
		{in.Of("transport"), (*catalog.Layering).TransportNames},
		{in.Of("fabric"), func(l *catalog.Layering) string { return l.Fabric.In(in) }},
	}
}

// layerCell is a layer of all that a column carried.
func layerCell(s *compare.Column, of func(*catalog.Layering) string) string {
	var parts []string
	for i := range s.Layers {
		parts = append(parts, of(&s.Layers[i]))
	}
	return strings.Join(parts, "; ")
}

// accounts writes where the time of the slowest went, a row per part that any of the
// stacks has.
func (t *comparison) accounts(stacks []compare.Column, room int) {
	if !slices.ContainsFunc(stacks, func(s compare.Column) bool { return len(s.Account) > 0 }) {
		return
	}
	cells := make([]string, len(stacks))
	for i := range stacks {
		cells[i] = "-"
		if len(stacks[i].Account) > 0 {
			cells[i] = stacks[i].AccountOf
		}
	}
	t.line("")
	t.row(false, t.l.Of("slowest is"), cells, room)
	total := make([]units.Time, len(stacks))
	for _, part := range catalog.Parts() {
		some := false
		for i := range stacks {
			cells[i] = "-"
			for _, p := range stacks[i].Account {
				if p.Part == part {
					cells[i], some = metrics.FormatTime(p.PS), true
					total[i] += p.PS
				}
			}
		}
		if some {
			t.row(false, part.In(t.l), cells, room)
		}
	}
	for i := range stacks {
		cells[i] = duration(total[i])
	}
	t.row(false, t.l.Of("in all"), cells, room)
}

// rowIfAny writes a row unless all its cells are empty.
func (t *comparison) rowIfAny(cells []string, room int) {
	if strings.Join(cells, "") != "" {
		t.row(false, "", cells, room)
	}
}

// row writes one row; cells that need several lines get them.
func (t *comparison) row(bold bool, label string, cells []string, room int) {
	lines := make([][]string, len(cells))
	height := 1
	for i, c := range cells {
		lines[i] = wrap(typeset(t.l, c), room)
		height = max(height, len(lines[i]))
	}
	for n := range height {
		s := pad(label, compareLabel)
		for _, l := range lines {
			part := ""
			if n < len(l) {
				part = l[n]
			}
			s += gap + pad(part, room)
		}
		s = strings.TrimRight(s, " ")
		if bold {
			s = t.paint.bold(s)
		}
		t.line(s)
		label = ""
	}
}

// question writes who was first and by what, then how often and from when on,
// then how long, each on rows of its own so that the stacks line up.
func (t *comparison) question(q int, stacks []compare.Column, room int) {
	label := catalog.Questions[q].In(t.l)
	var who, often, long []string
	for i := range stacks {
		a := &stacks[i].Answers[q]
		if a.Happened == 0 {
			who, often, long = append(who, t.l.Of("nobody")), append(often, ""), append(long, "")
			continue
		}
		who = append(who, a.Actor.In(t.l)+" "+a.Mechanism.In(t.l)+t.share(a))
		often = append(often, howOften(t.l, a))
		long = append(long, lasted(t.l, a))
	}
	t.row(false, label, who, room)
	t.rowIfAny(often, room)
	t.rowIfAny(long, room)
}

// share says in how many of the runs the answer holds, if not in all.
func (t *comparison) share(a *compare.Answer) string {
	if a.First == len(t.c.Seeds) {
		return ""
	}
	return t.l.Sprintf(" (%d of %d seeds)", a.First, len(t.c.Seeds))
}

// howOften is the number of acts and the time of the first.
func howOften(l lang.Language, a *compare.Answer) string {
	first := spreadText(l, a.FirstPS, metrics.FormatTime)
	if a.Count.Max == 1 {
		return l.Of("once at ") + first
	}
	return spreadText(l, a.Count, count) + l.Of(" times from ") + first
}

// lasted is the time held for pauses, else from the first act to the last.
func lasted(l lang.Language, a *compare.Answer) string {
	switch {
	case a.HeldPS.N > 0:
		return l.Of("held ") + spreadText(l, a.HeldPS, metrics.FormatTime)
	case a.Count.Max == 1:
		return ""
	default:
		return l.Of("over ") + spreadText(l, a.SpanPS, metrics.FormatTime)
	}
}

// spreadText writes a figure: the median, with the range if there is one.
func spreadText[T comparableNumber](l lang.Language, s compare.Spread[T], format func(T) string) string {
	if s.N == 0 {
		return "-"
	}
	median, least, most := format(s.Median), format(s.Min), format(s.Max)
	if least == most {
		return median
	}
	if median == "-" {
		median = "0"
	}
	if least == "-" {
		least = "0"
	}
	value, unit, _ := strings.Cut(least, " ")
	if _, other, _ := strings.Cut(most, " "); unit == other {
		least = value // "186 to 321 us"
	}
	return l.Sprintf("%s (%s to %s)", median, least, most)
}

// comparableNumber is what figures are made of.
type comparableNumber interface {
	~int64 | ~float64
}

// compareRow is one figure.
type compareRow struct {
	label string
	when  shown
	text  func(*compare.Column) string
}

// shown says when a figure is shown.
type shown uint8

const (
	always     shown = iota
	ifAny            // a stack has any
	ofMessages       // there are messages
)

func compareRows(l lang.Language) []compareRow {
	return slices.Concat(messageRows(l), jobRows(l), networkRows(l))
}

// messageRows are those of what was to be moved.
func messageRows(l lang.Language) []compareRow {
	return []compareRow{
		{l.Of("completed"), ofMessages, func(s *compare.Column) string { return completed(l, s) }},
		{l.Of("ended"), ifAny, func(s *compare.Column) string { return ended(l, s) }},
		{l.Of("p50"), ofMessages, func(s *compare.Column) string { return spreadText(l, s.Figures.P50PS, duration) }},
		{l.Of("p99"), ofMessages, func(s *compare.Column) string { return spreadText(l, s.Figures.P99PS, duration) }},
		{l.Of("slowest"), ofMessages, func(s *compare.Column) string { return spreadText(l, s.Figures.MaxPS, duration) }},
		{l.Of("RPC p50"), ifAny, func(s *compare.Column) string { return spreadText(l, s.Figures.CallP50PS, duration) }},
		{l.Of("RPC p99"), ifAny, func(s *compare.Column) string { return spreadText(l, s.Figures.CallP99PS, duration) }},
		{l.Of("collective"), ifAny, func(s *compare.Column) string {
			return perCollective(l, s, func(c *compare.Collective) string { return spreadText(l, c.TimePS, metrics.FormatTime) })
		}},
		{l.Of("busbw"), ifAny, func(s *compare.Column) string {
			return perCollective(l, s, func(c *compare.Collective) string {
				return spreadText(l, c.BusBW, func(x float64) string { return fmt.Sprintf("%.2f GB/s", x) })
			})
		}},
	}
}

// jobRows are those of jobs.
func jobRows(l lang.Language) []compareRow {
	return []compareRow{
		{l.Of("step time"), ifAny, func(s *compare.Column) string {
			return perJob(l, s, func(j *compare.JobFigures) string { return spreadText(l, j.StepPS, metrics.FormatTime) })
		}},
		{l.Of("exposed"), ifAny, func(s *compare.Column) string {
			return perJob(l, s, func(j *compare.JobFigures) string { return spreadText(l, j.ExposedPS, duration) })
		}},
		{l.Of("bubble"), ifAny, func(s *compare.Column) string {
			return perJob(l, s, func(j *compare.JobFigures) string { return spreadText(l, j.BubblePS, duration) })
		}},
		{l.Of("waits"), ifAny, func(s *compare.Column) string {
			return perJob(l, s, func(j *compare.JobFigures) string { return spreadText(l, j.WaitPS, duration) })
		}},
		{l.Of("step over"), ifAny, func(s *compare.Column) string {
			return perJob(l, s, func(j *compare.JobFigures) string { return spreadText(l, j.OverPS, duration) })
		}},
		{l.Of("MFU"), ifAny, func(s *compare.Column) string {
			return perJob(l, s, func(j *compare.JobFigures) string { return spreadText(l, j.MFU, percentOf) })
		}},
	}
}

// networkRows are those of what network and hosts did.
func networkRows(l lang.Language) []compareRow {
	return []compareRow{
		{l.Of("goodput"), ofMessages, func(s *compare.Column) string {
			return spreadText(l, s.Figures.GoodputBps, metrics.FormatRate)
		}},
		{l.Of("fairness"), ifAny, func(s *compare.Column) string {
			return spreadText(l, s.Figures.Jain, func(j float64) string { return fmt.Sprintf("%.4f", floor4(j)) })
		}},
		{l.Of("peak queue"), always, func(s *compare.Column) string { return spreadText(l, s.Figures.PeakQueue, size) }},
		{l.Of("marks"), ifAny, func(s *compare.Column) string { return spreadText(l, s.Figures.Marked, count) }},
		{l.Of("pauses"), ifAny, func(s *compare.Column) string { return spreadText(l, s.Figures.Pauses, count) }},
		{l.Of("time held"), always, func(s *compare.Column) string { return spreadText(l, s.Figures.HeldPS, duration) }},
		{l.Of("drops"), always, func(s *compare.Column) string { return spreadText(l, s.Figures.Dropped, count) }},
		{l.Of("timeouts"), ifAny, func(s *compare.Column) string { return spreadText(l, s.Figures.Timeouts, count) }},
		{l.Of("core time"), ifAny, func(s *compare.Column) string { return spreadText(l, s.Figures.CorePS, duration) }},
		{l.Of("copied"), ifAny, func(s *compare.Column) string { return spreadText(l, s.Figures.Copied, size) }},
		{l.Of("staged"), ifAny, func(s *compare.Column) string {
			return insideText(s, func(in *compare.Inside) string { return spreadText(l, in.Staged, size) })
		}},
		{l.Of("DRAM"), ifAny, func(s *compare.Column) string {
			return insideText(s, func(in *compare.Inside) string { return spreadText(l, in.DRAMRatio, perByte) })
		}},
		{l.Of("PCIe"), ifAny, func(s *compare.Column) string {
			return insideText(s, func(in *compare.Inside) string { return spreadText(l, in.PCIeRatio, perByte) })
		}},
		{l.Of("resent"), always, func(s *compare.Column) string { return spreadText(l, s.Figures.Resent, size) }},
		{l.Of("wire bytes"), always, func(s *compare.Column) string { return spreadText(l, s.Figures.WireRatio, perByte) }},
	}
}

// perByte writes a figure per byte of payload.
func perByte(x float64) string { return fmt.Sprintf("%.3fx", x) }

// insideText is a figure of what is inside hosts.
func insideText(s *compare.Column, figure func(*compare.Inside) string) string {
	if s.Figures.Inside == nil {
		return "-"
	}
	return figure(s.Figures.Inside)
}

// perCollective is a figure of each collective; of several each stands under its name.
func perCollective(l lang.Language, s *compare.Column, figure func(*compare.Collective) string) string {
	all := s.Figures.Collectives
	var parts []string
	for i := range all {
		text := figure(&all[i])
		if len(all) > 1 {
			text = all[i].Workload + " " + text
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// perJob is a figure of each job; of several each stands under its name, and what no job has is left out.
func perJob(l lang.Language, s *compare.Column, figure func(*compare.JobFigures) string) string {
	all := s.Figures.Jobs
	var parts []string
	some := false
	for i := range all {
		text := figure(&all[i])
		some = some || text != "-"
		if len(all) > 1 {
			text = all[i].Workload + " " + text
		}
		parts = append(parts, text)
	}
	if !some {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// completed counts messages by how they ended.
func completed(l lang.Language, s *compare.Column) string {
	f := &s.Figures
	out := spreadText(l, f.Completed, metrics.FormatCount) + l.Of(" of ") + spreadText(l, f.Messages, metrics.FormatCount)
	if f.Lost.Max > 0 {
		out += ", " + spreadText(l, f.Lost, metrics.FormatCount) + l.Of(" never delivered")
	}
	if f.Failed.Max > 0 {
		out += ", " + spreadText(l, f.Failed, metrics.FormatCount) + l.Of(" failed")
	}
	if f.Open.Max > 0 {
		out += ", " + spreadText(l, f.Open, metrics.FormatCount) + l.Of(" open")
	}
	return out
}

// ended says how runs ended that did not run to completion.
func ended(l lang.Language, s *compare.Column) string {
	var out []string
	for i, how := range s.Stopped {
		n := 0
		for k, other := range s.Stopped {
			if other == how {
				n++
				if k < i {
					n = -len(s.Stopped) // said already
				}
			}
		}
		switch {
		case how == "quiescence" || n <= 0:
		case n == len(s.Stopped):
			out = append(out, l.Of(how))
		default:
			out = append(out, l.Sprintf("%s (%d of %d)", l.Of(how), n, len(s.Stopped)))
		}
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

// legend explains the rows whose names are short.
func (t *comparison) legend() {
	t.line("")
	text := ""
	if slices.ContainsFunc(t.c.Stacks, func(s compare.Column) bool { return s.Figures.Messages.Max > 0 }) {
		text = t.l.Of("p50, p99, slowest: completion times of messages that completed. goodput: their payload from the " +
			"first post " +
			"to the last completion. fairness: Jain's index of goodputs, 1 when all are equal. ")
	}
	text += t.l.Of("time held: paused with a frame waiting, added up over ports. wire bytes: all that hosts sent, per " +
		"byte of " +
		"payload delivered.")
	for _, more := range []struct {
		has  func(*compare.Column) bool
		text string
	}{
		{func(s *compare.Column) bool { return len(s.Account) > 0 }, t.accountLegend()},
		{func(s *compare.Column) bool { return s.Figures.CallP50PS.N > 0 },
			t.l.Of(" RPC: from the post of a request until its reply is received.")},
		{func(s *compare.Column) bool { return len(s.Figures.Collectives) > 0 },
			t.l.Of(" collective: mean time of one; busbw: as nccl-tests counts it.")},
		{func(s *compare.Column) bool { return len(s.Figures.Jobs) > 0 },
			t.l.Of(" step time: mean of a job's steps; of it in the " +
				"mean of ranks exposed: communication beside no computation; bubble: the other rank of a message has not come; " +
				"waits: a rank of a collective has not; step over: other ranks' is not; the rest computes, copies or is work " +
				"of the host.")},
		{func(s *compare.Column) bool { return s.Figures.CorePS.Max > 0 },
			t.l.Of(" core time: of all hosts' processors; if any stack is TCP's, hosts have preset linux-xeon in all " +
				"columns unless they name one. copied: between user and kernel memory.")},
		{func(s *compare.Column) bool { return s.Figures.Inside != nil },
			t.l.Of(" staged: by copy engines between GPUs and memory of hosts. DRAM: read from and written to the memory of " +
				"hosts, per byte of payload delivered. PCIe: links crossed per byte of payload delivered, in all hosts.")},
	} {
		if slices.ContainsFunc(t.c.Stacks, func(s compare.Column) bool { return more.has(&s) }) {
			text += more.text
		}
	}
	for _, l := range wrap(typeset(t.l, text), t.width) {
		t.line(t.paint.dim(l))
	}
}

// accountLegend says what the accounts are of.
func (t *comparison) accountLegend() string {
	text := t.l.Of(" slowest is: where the time of the message that took longest went, or of a collective on its " +
		"critical path")
	if slices.ContainsFunc(t.c.Stacks, func(s compare.Column) bool { return len(s.Figures.Jobs) > 0 }) {
		text = t.l.Of(" slowest is: where the time of the message that took longest went, or of a job on its critical path")
	}
	if len(t.c.Seeds) > 1 {
		text += t.l.Sprintf(", with seed %d", t.c.Seeds[0])
	}
	return text + "."
}

// warnings says once what several stacks were warned of.
func (t *comparison) warnings() {
	type warning struct {
		text   string
		stacks []string
	}
	var all []warning
	for i := range t.c.Stacks {
		for _, w := range t.c.Stacks[i].Warnings {
			k := 0
			for k < len(all) && all[k].text != w {
				k++
			}
			if k == len(all) {
				all = append(all, warning{text: w})
			}
			all[k].stacks = append(all[k].stacks, t.c.Stacks[i].Stack)
		}
	}
	for _, w := range all {
		of := ""
		if len(w.stacks) < len(t.c.Stacks) {
			of = t.l.Of(" of ") + strings.Join(w.stacks, ", ")
		}
		for _, l := range hang(typeset(t.l, t.l.Of("warning")+of+t.l.Of(": ")+w.text), t.width, 2) {
			t.line(t.paint.warn(l))
		}
	}
}
