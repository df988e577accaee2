package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Limits of the text without Verbose.
const (
	listedFlows = 12 // more messages than this become percentiles
	listedPorts = 10
	listedQuiet = 3 // when no port was congested
	listedDrops = 5
	// More receiver hosts than one above this become a number.
	listedReceivers = 2
	// The index of the whole run and those of the least fair workloads.
	listedFairness = 3
)

// minWidth is the narrowest layout. Tables of many columns need more and run over.
const minWidth = 40

// DefaultWidth is the width of text that does not go to a terminal.
const DefaultWidth = 100

// TextOptions say how to write the text.
type TextOptions struct {
	Width   int  // columns; below minWidth counts as minWidth; 0: DefaultWidth
	Colour  bool // ECMA-48 colour
	Unicode bool // lines of trees in box-drawing characters instead of ASCII
	Verbose bool // every flow, port and parameter, with sources and top actors
	Brief   bool // no parameters, which else end the report
	Lang    lang.Language

	Mechanisms bool       // what every mechanism did
	Explain    *Selection // where the time of these went; nil: nobody asked
}

// Text writes the report of r for reading.
func Text(w io.Writer, r *record.Run, opt TextOptions) error {
	t := newText(r, opt)
	t.s = metrics.SummariseIn(t.l, r)
	if r.Flows() {
		t.flowLevel()
		return t.end(w)
	}
	t.header()
	t.verdict()
	t.answers()
	t.failures()
	t.storms()
	t.flows()
	t.collectives()
	t.jobs()
	t.measured()
	t.cpu()
	t.hosts()
	t.servers()
	t.ports()
	t.pauses()
	t.control()
	t.level()
	t.warnings()
	t.details()
	if !opt.Brief {
		t.parameters()
	}
	return t.end(w)
}

// text is a report under construction.
type text struct {
	b     strings.Builder
	r     *record.Run
	s     *metrics.Summary
	opt   TextOptions
	l     lang.Language
	paint paint
	width int
	// base is when the first message was posted. Traces start seconds into a
	// run of microseconds, so instants are told from there.
	base units.Time
	// proseOnly leaves out tables, for pages, which have their own.
	proseOnly bool
}

// newText is an empty report of r.
func newText(r *record.Run, opt TextOptions) *text {
	if opt.Width == 0 {
		opt.Width = DefaultWidth
	}
	return &text{r: r, opt: opt, l: opt.Lang, paint: paint(opt.Colour), width: max(opt.Width, minWidth),
		base: r.FirstPost()}
}

// blank is an empty text that is about no run.
func blank(opt TextOptions) *text { return newText(&record.Run{}, opt) }

// end writes the text.
func (t *text) end(w io.Writer) error {
	_, err := io.WriteString(w, t.b.String())
	return err
}

// at writes an instant: the time since the first post, with a plus sign when
// that was not at 0.
func (t *text) at(instant units.Time) string {
	if t.base == 0 || instant < t.base {
		return metrics.FormatTime(instant)
	}
	return "+" + metrics.FormatTime(instant-t.base)
}

func (t *text) line(s string) { t.b.WriteString(s + "\n") }

// prose writes s wrapped, further lines indented by two.
func (t *text) prose(s string, style func(string) string) {
	for _, l := range hang(typeset(t.l, s), t.width, 2) {
		t.line(style(l))
	}
}

// typeset is a finished text with the spaces of its language.
func typeset(l lang.Language, s string) string {
	if l == lang.Chinese {
		return lang.Spaced(s)
	}
	return s
}

func (t *text) table(tab *table) {
	if t.proseOnly {
		return
	}
	for _, l := range tab.in(t.l).lines(t.width, t.paint) {
		t.line(l)
	}
}

// section leaves a blank line before the next part.
func (t *text) section() { t.line("") }

func plain(s string) string { return s }

func (t *text) header() {
	r := t.r
	title := fmt.Sprintf("%s: %s, %s", r.Scenario, r.Stack, t.ending())
	if r.Fingerprint != "" {
		title += t.l.Of(", fingerprint ") + r.Fingerprint
	}
	t.prose(title, t.paint.bold)
	if r.Description != "" {
		t.prose(r.Description, t.paint.dim)
	}
	if r.Stopped == "deadlock" {
		what := t.l.Of("DEADLOCK")
		if metrics.HeldByCard(r) {
			what = t.l.Of("STANDSTILL")
		}
		t.prose(t.l.Sprintf("%s: %s, and nothing left that could move one on%s", what, open(t.l, r.OpenMessages),
			cycleText(t.l, r)),
			t.paint.fail)
	}
	if r.Stopped == "stalled" {
		t.prose(t.l.Sprintf("STALLED: %s, no port holds anything, and %s", open(t.l, r.OpenMessages),
			metrics.WhyStalled(t.l, r)),
			t.paint.fail)
	}
	t.data()
}

// cycleText names the ports that wait for each other in a circle.
func cycleText(l lang.Language, r *record.Run) string {
	if len(r.Cycle) == 0 {
		return ""
	}
	var b strings.Builder
	for _, w := range r.Cycle {
		b.WriteString(l.Sprintf("%s waits for ", w.Port))
	}
	first := &r.Cycle[0]
	return l.Sprintf("; a circle: %s%s (%s %d)", b.String(), first.Port, first.Layer.Words(l).ClassLong, first.Class)
}

// data says what the comparison of the bytes carried found.
func (t *text) data() {
	d := t.r.Data
	if d == nil {
		return
	}
	messages := metrics.FormatCount(int64(d.Messages)) + t.l.Of(" messages")
	if d.Messages == 1 {
		messages = t.l.Of("1 message")
	}
	s := t.l.Sprintf("data: %s, %s checked, %d differ", messages, units.Bytes(d.Bytes).Human(), d.Differ)
	if d.Refused > 0 {
		s += t.l.Sprintf("; %d refused", d.Refused)
	}
	if d.Lost > 0 {
		s += t.l.Sprintf("; %d did not arrive whole", d.Lost)
	}
	if d.Differ == 0 {
		t.prose(s, plain)
		return
	}
	t.prose(strings.ToUpper(s[:1])+s[1:]+t.l.Of(": the program is wrong"), t.paint.fail)
	for _, f := range d.Faults {
		t.prose("  "+f, t.paint.fail)
	}
}

// ending says when and why the run ended.
func (t *text) ending() string {
	r := t.r
	end := metrics.EndOf(r)
	if r.Stopped == "deadlock" { // who waits for what is held may give up later
		for i := range r.Messages {
			if f := &r.Messages[i]; f.CompletionPS >= 0 {
				end = max(end, f.StartPS+f.CompletionPS)
			}
		}
	}
	at := t.l.Of("at ") + metrics.FormatTimeDigits(end, 4)
	if t.base > 0 && end >= t.base {
		at = t.l.Sprintf("%s after the first post at %s", metrics.FormatTimeDigits(end-t.base, 4),
			metrics.FormatTimeDigits(t.base, 4))
	}
	switch r.Stopped {
	case "quiescence":
		return t.l.Of("done ") + at
	case "deadlock":
		if metrics.HeldByCard(r) {
			return t.l.Of("stood still ") + at
		}
		return t.l.Of("deadlocked ") + at
	case "stalled":
		return t.l.Of("stalled ") + at
	case "stop time":
		return t.l.Sprintf("stopped %s, %s", at, open(t.l, r.OpenMessages))
	case "interrupted":
		return t.l.Sprintf("interrupted %s, %s", at, open(t.l, r.OpenMessages))
	default:
		return fmt.Sprintf("%s %s", r.Stopped, at)
	}
}

func open(l lang.Language, n int) string {
	if n == 1 {
		return l.Of("1 message open")
	}
	return metrics.FormatCount(int64(n)) + l.Of(" messages open")
}

// answers writes a row per question and mechanism: the one that acted first on
// the question's row, the others below it.
func (t *text) answers() {
	t.section()
	tab := &table{columns: []column{
		{title: "Question"}, {title: "Who first"}, {title: "By", wrap: true}, {title: "When", right: true},
		{title: "How often", right: true}, {title: "Actors", right: true, drop: 1}, {title: "How long"},
	}}
	for i := range t.s.Answers {
		a := &t.s.Answers[i]
		word := a.Question.In(t.l)
		if !a.Happened {
			who := t.l.Of("nobody: ") + a.Why
			if a.Question == catalog.FedBack { // what tells, not who: a link may do it by itself
				who = t.l.Of("none (") + a.Why + t.l.Of(")")
			}
			tab.addNote(who, word)
			for _, note := range t.namedHosts(a.Inside, t.l.Of("links and cores")) {
				tab.addNote(note, "")
			}
			continue
		}
		for _, m := range a.Mechanisms {
			tab.add(word, m.Actor.In(t.l), m.Mechanism.In(t.l), t.at(m.First),
				metrics.FormatCount(m.Count), metrics.FormatCount(int64(m.Actors)), howLong(t.l, m))
			word = ""
		}
		if a.Why != "" {
			tab.addNote(a.Why, word)
		}
		notes := slices.Concat(t.namedHosts(a.Receivers, t.l.Of("receivers")), t.namedHosts(a.Inside,
			t.l.Of("links and cores")))
		for _, note := range notes {
			tab.addNote(note, word)
			word = ""
		}
	}
	t.table(tab)
	if t.opt.Verbose {
		t.topActors()
	}
}

// namedHosts are the sentences on hosts that the table shows: of many the first and how many more there are.
func (t *text) namedHosts(all []string, of string) []string {
	more := len(all) - listedReceivers
	if t.opt.Verbose || more < 2 {
		return all
	}
	return append(slices.Clone(all[:listedReceivers]), t.l.Sprintf("and %d more %s; --verbose lists them", more, of))
}

// howLong is the time held for a pause, and the span from first to last act
// for everything else.
func howLong(l lang.Language, m metrics.Mechanism) string {
	switch {
	case m.Mechanism.Holds(), m.Mechanism == catalog.Storm:
		return metrics.FormatTime(units.Time(m.Sum)) + l.Of(" in all")
	case m.Count == 1:
		return l.Of("once")
	case m.Last == m.First:
		return l.Of("at once")
	default:
		return l.Of("over ") + metrics.FormatTime(m.Last-m.First)
	}
}

// topActors lists, per question, who acted most.
func (t *text) topActors() {
	tab := &table{columns: []column{
		{title: "Most active"}, {title: "Who"}, {title: "By"}, {title: "First", right: true},
		{title: "Last", right: true}, {title: "How often", right: true}, {title: "Held", right: true, drop: 1},
	}}
	for i := range t.s.Answers {
		word := t.s.Answers[i].Question.In(t.l)
		for _, a := range t.s.Answers[i].Top {
			held := "-"
			if a.Mechanism.Holds() {
				held = metrics.FormatTime(units.Time(a.Sum))
			}
			tab.add(word, a.Actor.In(t.l), a.Mechanism.In(t.l), t.at(a.First), t.at(a.Last),
				metrics.FormatCount(a.Count), held)
			word = ""
		}
	}
	if len(tab.rows) > 0 {
		t.section()
		t.table(tab)
	}
}

// control tells what the settings of congestion control meant.
func (t *text) control() {
	if len(t.s.Control) == 0 {
		return
	}
	t.section()
	for _, s := range t.s.Control {
		t.prose(s, plain)
	}
}

func (t *text) warnings() {
	if len(t.r.Warnings) == 0 {
		return
	}
	t.section()
	for _, w := range t.r.Warnings {
		t.prose(t.l.Of("warning: ")+w, t.paint.warn)
	}
}
