package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/figure"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/units"
)

// Limits of what a page lists. What is beyond is in the sums, and in the JSON and CSV.
const (
	allMessages    = 128 // up to so many all are listed
	mostMessages   = 60  // of more
	mostPorts      = 60
	mostQPs        = 40
	mostWaterfalls = 12
	mostTrees      = 6
	mostInside     = 4
)

// Meta is what a page says of its making.
type Meta struct {
	Program  string // name and version
	Scenario []byte // YAML; nil: it is not known
}

// builder makes the page of a run.
type builder struct {
	Page
	r     *record.Run
	doc   *report.Document
	s     *metrics.Summary
	base  units.Time // the first post
	first string     // its place in the JSON
}

// Run makes the page of a run.
func Run(r *record.Run, meta Meta) *Page {
	doc := report.NewDocument(r)
	b := &builder{r: r, doc: doc, s: doc.Summary, base: r.FirstPost()}
	for i := range r.Messages {
		if r.Messages[i].StartPS == b.base {
			b.first = figure.Pointer("messages", i, "start_ps")
			break
		}
	}
	b.Title, b.Program, b.Source = r.Scenario, meta.Program, "hopscope run --json"
	b.opening()
	b.add("jobs", "Steps", b.jobs()...)
	b.add("answers", "Who did what", b.answers()...)
	b.network()
	b.timeline()
	b.messages()
	b.add("accounts", "Where the time went", b.accounts()...)
	b.add("collectives", "Collectives", b.collectives()...)
	b.add("pauses", "How pauses spread", b.pauses()...)
	b.add("faults", "What failed", b.faults()...)
	b.ports()
	b.queuePairs()
	b.add("hosts", "Processors", b.hosts()...)
	b.add("mechanisms", "Mechanisms", b.mechanisms()...)
	b.add("notes", "Notes", b.notes()...)
	b.add("parameters", "Parameters and where they come from", b.parameters()...)
	if len(meta.Scenario) > 0 {
		b.add("scenario", "Scenario", Block{Text: string(meta.Scenario)})
	}
	if r.Timeline != nil {
		b.Data = map[string]any{"timeline": r.Timeline}
	}
	return &b.Page
}

func (b *builder) at(t units.Time) string { return report.Instant(b.r, t) }

// opening is what stands above everything.
func (b *builder) opening() {
	for _, s := range report.Opening(b.r, b.s) {
		f := Figure{Text: s, Path: "/end_ps", Kind: kindSentence}
		switch {
		case s == strings.Join(strings.Fields(b.r.Description), " "):
			f.Path, f.Class = "/description", "description"
		case b.r.Stopped == "deadlock" && (strings.HasPrefix(s, "DEADLOCK") || strings.HasPrefix(s, "STANDSTILL")),
			b.r.Stopped == "stalled" && strings.HasPrefix(s, "STALLED"):
			f.Path, f.Class = "/open_messages", "bad"
		case b.r.Data != nil && !strings.HasPrefix(s, b.r.Scenario):
			f.Path = "/data/messages"
		}
		b.Lead = append(b.Lead, f)
	}
	if v := b.s.Verdict; v != nil {
		b.Verdict = &Figure{Text: v.Text, Path: "/summary/verdict/text", Kind: kindText}
	}
	b.add("figures", "At a glance", Block{Keys: b.keys()})
}

// keys are the figures that everybody asks for first.
func (b *builder) keys() []Key {
	m := &b.s.Messages
	at := "/summary/messages/"
	var keys []Key
	for k := range b.r.Jobs {
		j := &b.r.Jobs[k]
		if j.EndPS[0] >= 0 {
			f := duration(j.EndPS[0]-j.StartPS, figure.Pointer("jobs", k, "end_ps", "0"))
			f.From = figure.Pointer("jobs", k, "start_ps")
			keys = append(keys, Key{"first step of " + j.Workload, f})
		}
	}
	if len(keys) > 0 && m.Messages == 0 {
		return append(keys, b.networkKeys()...)
	}
	keys = append(keys, Key{"messages", count(int64(m.Messages), at+"messages")}, Key{"completed", count(int64(m.Completed),
		at+"completed")})
	if m.Failed > 0 {
		keys = append(keys, Key{"failed", count(int64(m.Failed), at+"failed")})
	}
	if m.Open > 0 {
		keys = append(keys, Key{"open", count(int64(m.Open), at+"open")})
	}
	if m.Completed > 0 {
		keys = append(keys, Key{"p50", duration(units.Time(m.CompletionPS.P50), at+"completion_ps/p50")},
			Key{"p99", duration(units.Time(m.CompletionPS.P99), at+"completion_ps/p99")},
			Key{"slowest", duration(units.Time(m.CompletionPS.Worst), at+"completion_ps/worst")},
			Key{"goodput", rate(m.GoodputBps, at+"goodput_bps")})
	}
	if f := b.s.Fairness; len(f) > 0 && f[0].Workload == "" {
		keys = append(keys, Key{"fairness (Jain)", jain(f[0].Jain, "/summary/fairness/0/jain")})
	}
	return append(keys, b.networkKeys()...)
}

// networkKeys are those of queues and what came of them.
func (b *builder) networkKeys() (keys []Key) {
	t := &b.s.Totals
	if i := deepest(b.r); i >= 0 {
		keys = append(keys, Key{"peak queue", size(b.r.Ports[i].PeakQueueBytes, figure.Pointer("ports", i,
			"peak_queue_bytes"))})
	}
	at := "/summary/totals/"
	for _, k := range []Key{{"marks", count(t.Marked, at+"marked")}, {"pauses", count(t.PausesSent, at+"pauses_sent")},
		{"time held", duration(t.HeldPS, at+"held_ps")}, {"drops", count(t.Dropped, at+"dropped")},
		{"rate cuts", count(t.RateCuts, at+"rate_cuts")}, {"sent again", size(t.ResentBytes, at+"retransmitted_bytes")},
		{"timeouts", count(t.Timeouts, at+"timeouts")}} {
		if k.Class != "none" {
			keys = append(keys, k)
		}
	}
	return keys
}

// deepest is the row of the port with the deepest queue; -1: there are no ports.
func deepest(r *record.Run) int {
	best := -1
	for i := range r.Ports {
		if best < 0 || r.Ports[i].PeakQueueBytes > r.Ports[best].PeakQueueBytes {
			best = i
		}
	}
	return best
}

// answers are those to the six questions.
func (b *builder) answers() []Block {
	t := &Table{ID: "answers-table", Cards: true, Columns: []Column{{Title: "Question"}, {Title: "Who first"},
		{Title: "By"}, {"When",
			true}, {"How often", true}, {"Actors", true}, {Title: "How long"}}}
	for i := range b.s.Answers {
		a := &b.s.Answers[i]
		at := "/answers/" + a.Question.String() + "/"
		question := word(a.Question.English())
		if !a.Happened {
			t.Rows = append(t.Rows, Cells{question, {Text: "nobody", Class: "none"}, name(a.Why, at+"why")})
		}
		for k, m := range a.Mechanisms {
			own := fmt.Sprintf("%smechanisms/%d/", at, k)
			long := Figure{Text: report.HowLong(m), Path: own + "last_ps", From: own + "first_ps", Kind: kindTime}
			if m.Mechanism.Holds() {
				long = Figure{Text: report.HowLong(m), Path: own + "sum", Kind: kindTime}
			} else if m.Count == 1 {
				long = word(long.Text)
			}
			t.Rows = append(t.Rows, Cells{question, name(m.Actor.String(), own+"first_actor/name"), name(m.Mechanism.String(),
				own+"mechanism"),
				b.instant(m.First, own+"first_ps"), count(m.Count, own+"count"), count(int64(m.Actors), own+"actors"), long})
			question = word("")
		}
		if a.Happened && a.Why != "" {
			t.Rows = append(t.Rows, Cells{word(""), name(a.Why, at+"why")})
		}
		for k, s := range a.Receivers {
			t.Rows = append(t.Rows, Cells{word(""), name(s, fmt.Sprintf("%sreceiver_hosts/%d", at, k))})
		}
	}
	return []Block{{Table: t}}
}

// network draws the topology, and what is folded in it.
func (b *builder) network() {
	f, parts, left := figure.Topology(b.r)
	blocks := b.drawing(f,
		"Each link has two directions; a direction's traffic keeps to the right. Colour and "+
			"width: how much of the time it sends. Dashed boxes stand for several nodes and lead to them below.")
	for _, p := range parts {
		blocks = append(blocks, Block{Open: &Fold{ID: p.ID, Title: p.Label, Path: "/network/nodes",
			Blocks: b.drawing(p.Figure, "")}})
	}
	if left > 0 {
		blocks = append(blocks,
			remark("/network/nodes", "%d more parts are not drawn; the table of ports has the busiest, the JSON all.", left))
	}
	for _, k := range figure.BusiestInside(b.r, mostInside) {
		s := &b.r.Servers[k]
		if d := b.drawing(figure.Inside(b.r, k), ""); d != nil {
			blocks = append(blocks, Block{Open: &Fold{ID: "inside-" + strconv.Itoa(k), Path: figure.Pointer("servers",
				k), Title: "Inside " + s.Host + ", " +
				s.Server, Blocks: d}})
		}
	}
	if more := len(b.r.Servers) - mostInside; more > 0 {
		blocks = append(blocks,
			remark("/servers", "The insides of %d more hosts, whose links were less busy, are not drawn; the JSON "+
				"has them.", more))
	}
	b.add("network", "Network", blocks...)
}

// timeline draws what was sampled over time.
func (b *builder) timeline() {
	t := b.r.Timeline
	if t == nil {
		b.add("timeline", "Over time",
			Block{Sentence: &Figure{Text: "No samples over time were taken: they are when a run is asked for --html or --svg."}})
		return
	}
	line := []figure.Timeline{{Place: "/timeline", Timeline: t}}
	blocks := b.drawing(figure.Timelines(line),
		"Queues: the most since the sample before. Paused: the part of that time. Goodput: payload released in order; what a gap "+
			"held back, averaged over the time it takes at the rate of the line. Drag, or use + and -, to look closer; "+
			"arrows move, 0 shows all.")
	blocks = append(blocks, Block{Sentence: &Figure{Text: "A sample every " + metrics.FormatTime(t.EveryPS) + ".",
		Path: "/timeline/every_ps", Kind: kindTime}})
	for _, q := range []record.Quantity{record.SeriesQueue, record.SeriesPaused, record.SeriesRate, record.SeriesWindow,
		record.SeriesGoodput} {
		if f := figure.Timelines(line, q); f != nil {
			b.Drawings = append(b.Drawings, f)
		}
	}
	for k, s := range t.LeftOut {
		blocks = append(blocks, said("left out: "+s, ""))
		blocks[len(blocks)-1].Sentence.Path, blocks[len(blocks)-1].Sentence.Kind = fmt.Sprintf("/timeline/left_out/%d", k),
			kindSentence
	}
	b.add("timeline", "Over time", blocks...)
}

// notes are warnings and sentences on the settings of congestion control.
func (b *builder) notes() (out []Block) {
	for i, s := range b.s.Control {
		out = append(out, said(s, fmt.Sprintf("/summary/congestion_control/%d", i)))
	}
	for i, s := range b.r.Warnings {
		f := said(s, fmt.Sprintf("/warnings/%d", i))
		f.Sentence.Class = "warning"
		out = append(out, f)
	}
	return out
}

// accounts draws where messages' time went: of few of all, else of the slowest.
func (b *builder) accounts() (out []Block) {
	list := slices.Clone(b.s.Worst)
	if len(b.r.Messages) <= mostWaterfalls {
		list = nil
		for i := range b.r.Messages {
			list = append(list, i) // an open one has an account too, up to the end
		}
	}
	var rows []figure.Row
	var folds []Block
	for _, i := range list {
		m := &b.r.Messages[i]
		bars := report.Waterfall(m)
		if len(bars) == 0 {
			continue
		}
		label := fmt.Sprintf("%d: %s", i, metrics.Arrow(m))
		row := figure.Row{Name: label}
		for k, s := range m.Account.Stages() {
			row.Segments = append(row.Segments, figure.Segment{Part: s.Stage.Part(), PS: s.Time,
				Path: figure.Pointer("messages", i, "account", strconv.Itoa(k), "ps")})
		}
		row.Segments = figure.Sorted(row.Segments)
		rows = append(rows, row)
		folds = append(folds, b.waterfall(i, label, bars))
	}
	caption := "The time of each message by what it went to, along one axis."
	if len(list) < len(b.r.Messages) {
		caption += " These are the slowest; the JSON has all."
	}
	out = b.drawing(figure.Stacked("accounts", "Where the time of messages went", rows), caption)
	return append(out, folds...)
}

// waterfall is a message's account, and what is said of it.
func (b *builder) waterfall(i int, label string, bars []report.Bar) Block {
	var drawn []figure.Bar
	for _, v := range bars {
		paths := make([]string, len(v.Rows))
		for k, row := range v.Rows {
			paths[k] = figure.Pointer("messages", i, "account", strconv.Itoa(row), "ps")
		}
		drawn = append(drawn, figure.Bar{From: v.FromPS, PS: v.PS, Part: v.Part, Name: v.Name, Where: v.Where,
			Path: strings.Join(paths, " ")})
	}
	fold := &Fold{ID: "message-" + strconv.Itoa(i), Title: "Message " + label, Path: figure.Pointer("messages", i)}
	before := ""
	for k := range b.doc.Sentences {
		s := &b.doc.Sentences[k]
		if s.Message != i || s.About == "collective" {
			continue
		}
		// What kept it from the best rate is often what most of its time went to, in the same words.
		if _, how, _ := strings.Cut(s.Text, ": "); before == "" || how == "" || !strings.HasSuffix(before, how) {
			fold.Blocks = append(fold.Blocks, said(s.Text, fmt.Sprintf("/sentences/%d/text", k)))
		}
		before = s.Text
	}
	whole := figure.Pointer("messages", i, "completion_ps")
	if metrics.Open(&b.r.Messages[i]) {
		whole = figure.Pointer("messages", i, "open_ps")
	}
	fold.Blocks = append(fold.Blocks, b.drawing(figure.Waterfall("waterfall-"+strconv.Itoa(i),
		"Where the time of message "+label+" went", whole, drawn), "")...)
	return Block{Open: fold}
}

// pauses draws the trees in which pauses spread.
func (b *builder) pauses() (out []Block) {
	shown := 0
	for k := range b.s.Pauses {
		t := &b.s.Pauses[k]
		if !report.Spread(b.r, b.s, t) {
			continue
		}
		if shown++; shown > mostTrees {
			continue
		}
		at := fmt.Sprintf("/summary/pause_trees/%d/", k)
		out = append(out, said(t.Why, at+"why"))
		out = append(out, b.drawing(figure.PauseTree(b.r, t, k), "")...)
		out = append(out, sentences(report.OnHeld(b.r, b.s, t), at+"through")...)
	}
	if more := shown - mostTrees; more > 0 {
		out = append(out, Block{Sentence: &Figure{Text: fmt.Sprintf("%d more trees, which held less, are in the JSON.",
			more)}})
	}
	return out
}
