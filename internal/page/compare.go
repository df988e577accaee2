package page

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/figure"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/units"
)

// comparing makes the page of a comparison.
type comparing struct {
	Page
	c  *compare.Comparison
	at string // its place in the JSON: "stacks" below it
	of string // what is compared

	opening []Block // before what is said of each
}

// ofAll says how many changes the sections below are about, where they are not about all.
func (b *comparing) ofAll(changes int) []Block {
	detailed := len(b.c.Stacks) - 1 // the first is the scenario as it is
	if detailed >= changes {
		return nil
	}
	return []Block{remark("/"+b.at+" /changes", "From here on: the scenario as it is and the best %d of %d changes.",
		detailed, changes)}
}

// Comparison makes the page of a comparison: what the page of a run shows, stack by stack along
// the same axes.
func Comparison(c *compare.Comparison, meta Meta) *Page {
	b := &comparing{c: c, at: "stacks", of: "Stack"}
	b.Title, b.Program, b.Source = c.Scenario, meta.Program, "hopscope compare --json"
	for i, s := range report.CompareOpening(c) {
		f := Figure{Text: s, Path: "/seeds/0", Kind: kindSentence}
		switch {
		case i > 0 && c.View != "" && strings.Contains(s, c.View):
			f.Path = "/view"
		case i > 0:
			f.Path, f.Class = "/description", "description"
		}
		b.Lead = append(b.Lead, f)
	}
	b.add("layers", "Layers", b.layers()...)
	b.happened()
	b.add("messages", "Completion times", b.distribution()...)
	b.went()
	b.Data = map[string]any{"stacks": b.data()}
	b.add("notes", "Notes", append(sentences(report.CompareLegend(c), ""), sentences(report.CompareWarnings(c),
		"/stacks")...)...)
	if len(meta.Scenario) > 0 {
		b.add("scenario", "Scenario", Block{Text: string(meta.Scenario)})
	}
	return &b.Page
}

// happened is what happened, in words and over time.
func (b *comparing) happened() {
	b.add("sentences", "What happened", append(b.opening, b.sentences()...)...)
	b.add("figures", "Figures", b.figures()...)
	b.add("timeline", "Over time", b.timeline()...)
}

// went is where the time went, and who did what.
func (b *comparing) went() {
	b.add("accounts", "Where the time went", b.accounts()...)
	b.add("answers", "Who did what", b.answers()...)
}

func (b *comparing) stack(i int, field string) string { return figure.Pointer(b.at, i, field) }

// held is what a script has of a stack.
type held struct {
	Timeline any `json:"timeline"`
}

// data is what a script has of all stacks.
func (b *comparing) data() []held {
	out := make([]held, len(b.c.Stacks))
	for i := range b.c.Stacks {
		out[i].Timeline = b.c.Stacks[i].Timeline
	}
	return out
}

// sentences are one per stack.
func (b *comparing) sentences() (out []Block) {
	for i := range b.c.Stacks {
		s := &b.c.Stacks[i]
		block := said(s.Sentence, b.stack(i, "sentence"))
		block.Label = s.Stack + ":"
		out = append(out, block)
	}
	return out
}

// spread is a figure over the seeds: the median, and the range where there is one.
func spread[T cmp.Ordered](v compare.Spread[T], path string, write func(v T, path string) Figure) []Figure {
	if v.N == 0 {
		return []Figure{{Text: none, Class: "none"}}
	}
	out := []Figure{write(v.Median, path+"/median")}
	if v.Min != v.Max {
		out = append(out, write(v.Min, path+"/min"), write(v.Max, path+"/max"))
	}
	return out
}

// figures are a row per stack. With several seeds the range stands in rows below.
func (b *comparing) figures() []Block {
	t := &Table{ID: "figure-table", Columns: []Column{{Title: b.of}, {Title: ""}, {"Completed", true}, {"p50", true},
		{"p99", true},
		{"Slowest", true}, {"Goodput", true}, {"Jain", true}, {"Peak queue", true}, {"Marks", true}, {"Pauses", true},
		{"Held", true},
		{"Drops", true}, {"Timeouts", true}, {"Sent again", true}, {"Core time", true}, {"Wire bytes", true}}}
	for i := range b.c.Stacks {
		s := &b.c.Stacks[i]
		f := &s.Figures
		at := func(field string) string { return b.stack(i, "figures") + "/" + field }
		cells := [][]Figure{
			spread(f.Completed, at("completed"), count), spread(f.P50PS, at("completion_p50_ps"), duration),
			spread(f.P99PS, at("completion_p99_ps"), duration), spread(f.MaxPS, at("completion_max_ps"), duration),
			spread(f.GoodputBps, at("goodput_bps"), rate), spread(f.Jain, at("jain"), jain),
			spread(f.PeakQueue, at("peak_queue_bytes"), size), spread(f.Marked, at("marked"), count),
			spread(f.Pauses, at("pauses"), count), spread(f.HeldPS, at("held_ps"), duration),
			spread(f.Dropped, at("dropped"), count), spread(f.Timeouts, at("timeouts"), count),
			spread(f.Resent, at("retransmitted_bytes"), size), spread(f.CorePS, at("core_ps"), duration),
			spread(f.WireRatio, at("wire_bytes_per_payload_byte"), ratio),
		}
		rows := []string{""}
		if len(b.c.Seeds) > 1 {
			rows = []string{"median", "least", "most"}
		}
		for k, what := range rows {
			row := Cells{word(""), word(what)}
			if k == 0 {
				row[0] = name(s.Stack, b.stack(i, "stack"))
			}
			for _, c := range cells {
				row = append(row, c[min(k, len(c)-1)])
			}
			t.Rows = append(t.Rows, row)
		}
	}
	out := []Block{{Table: t.dense()}}
	return append(out, b.collectives()...)
}

// layers are the API, transport and fabric of each column, a row for each that it carried.
func (b *comparing) layers() []Block {
	t := &Table{ID: "layer-table", Columns: []Column{{Title: b.of}, {Title: "API"}, {Title: "Transport"},
		{Title: "Fabric"}}}
	for i := range b.c.Stacks {
		for k := range b.c.Stacks[i].Layers {
			l := &b.c.Stacks[i].Layers[k]
			at := b.stack(i, "layers") + "/" + strconv.Itoa(k)
			for n, service := range l.Transports {
				row := Cells{word(""), name(l.API.String(), at+"/api"),
					name(service.String(), at+"/transports/"+strconv.Itoa(n)), name(l.Fabric.String(), at+"/fabric")}
				if k+n == 0 {
					row[0] = name(b.c.Stacks[i].Stack, b.stack(i, "stack"))
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return []Block{{Table: t}}
}

func ratio(v float64, path string) Figure { return number(v, 4, path) }

// collectives are a row per stack and collective.
func (b *comparing) collectives() []Block {
	t := &Table{ID: "collective-table", Title: "Collectives", Columns: []Column{{Title: b.of}, {Title: "Collective"},
		{"Done", true},
		{"Time", true}, {"busbw GB/s", true}}}
	for i := range b.c.Stacks {
		list := b.c.Stacks[i].Figures.Collectives
		for k := range list {
			c := &list[k]
			at := fmt.Sprintf("%s/collectives/%d/", b.stack(i, "figures"), k)
			t.Rows = append(t.Rows, Cells{name(b.c.Stacks[i].Stack, b.stack(i, "stack")), name(c.Workload, at+"workload"),
				spread(c.Done, at+"done", count)[0], spread(c.TimePS, at+"time_ps", duration)[0],
				spread(c.BusBW, at+"busbw_gbyte_s", func(v float64, path string) Figure { return number(v, 2, path) })[0]})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return []Block{{Table: t}}
}

// timeline draws of each stack the curve that stands for it.
func (b *comparing) timeline() []Block {
	var list []figure.Timeline
	for i := range b.c.Stacks {
		s := &b.c.Stacks[i]
		if s.Timeline != nil {
			list = append(list, figure.Timeline{Name: s.Stack, Place: b.stack(i, "timeline"), Timeline: s.Timeline})
		}
	}
	out := b.drawing(figure.Timelines(list),
		"Of each the deepest queue, the port paused longest and the queue pair of "+
			"the slowest message, along one axis. Goodput: payload released in order; what a gap held back, averaged over "+
			"the time it takes at the rate of the line. Drag, or use + and -, to look closer; arrows move, 0 shows all.")
	last := units.Time(0)
	for _, t := range list {
		last = max(last, t.Time(t.Samples-1))
	}
	if until := figure.Until(list); until < last {
		out = append(out, remark("/"+b.at, "Shown are the first %s, in which most stacks end; the last goes on for %s.",
			metrics.FormatTime(until), metrics.FormatTime(last)))
	}
	return out
}

// distribution draws the completion times of all stacks.
func (b *comparing) distribution() []Block {
	var list []figure.Distribution
	for i := range b.c.Stacks {
		s := &b.c.Stacks[i]
		list = append(list, distribution(s.Stack, b.stack(i, "completions_ps"), s.Completions))
	}
	return b.drawing(figure.Distributions(list, "completion time"), "")
}

func distribution(name, place string, times []units.Time) figure.Distribution {
	d := figure.Distribution{Name: name, Place: place, PS: make([]int64, len(times))}
	for i, t := range times {
		d.PS[i] = int64(t)
	}
	return d
}

// accounts draws where the time of each stack's slowest message, or collective, went.
func (b *comparing) accounts() []Block {
	var rows []figure.Row
	for i := range b.c.Stacks {
		s := &b.c.Stacks[i]
		row := figure.Row{Name: s.Stack}
		for k, part := range s.Account {
			row.Segments = append(row.Segments, figure.Segment{Part: part.Part, PS: part.PS, Path: fmt.Sprintf("%s/%d/ps",
				b.stack(i, "account"), k)})
		}
		if len(row.Segments) > 0 {
			rows = append(rows, row)
		}
	}
	return b.drawing(figure.Stacked("accounts", "Where the time went, stack by stack", rows),
		"The time of the slowest message, or of the collective's critical path, of each by what it went to, along one axis. "+
			"A bar that is several times as long as most is cut off.")
}

// answers are those of every stack to the six questions.
func (b *comparing) answers() []Block {
	t := &Table{ID: "answers-table", Filter: true, Cards: true, Columns: []Column{{Title: b.of}, {Title: "Question"},
		{Title: "Who first"},
		{Title: "By"}, {"When", true}, {"How often", true}, {"Held", true}, {Title: "Why not"}}}
	for i := range b.c.Stacks {
		s := &b.c.Stacks[i]
		for k := range s.Answers {
			a := &s.Answers[k]
			at := fmt.Sprintf("%s/%d/", b.stack(i, "answers"), k)
			row := Cells{name(s.Stack, b.stack(i, "stack")), word(a.Question.English())}
			if a.Happened == 0 {
				t.Rows = append(t.Rows, append(row, Figure{Text: "nobody", Class: "none"}, word(""), word(""), word(""), word(""),
					name(a.Why, at+"why")))
				continue
			}
			t.Rows = append(t.Rows, append(row, name(a.Actor.String(), at+"actor/name"), name(a.Mechanism.String(),
				at+"mechanism"),
				spread(a.FirstPS, at+"first_ps", duration)[0], spread(a.Count, at+"count", count)[0], spread(a.HeldPS,
					at+"held_ps", duration)[0],
				word("")))
		}
	}
	return []Block{{Table: t}}
}
