package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/figure"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/units"
)

// mostHosts is how many hosts a table has.
const mostHosts = 40

// faults are links and cards that failed, and what watchdogs took for storms.
func (b *builder) faults() (out []Block) {
	if len(b.r.Failures) > 0 {
		out = append(out, Block{Table: b.failures()})
		out = append(out, sentences(report.OnFailures(b.r, b.s), "/failures /flows_moved")...)
	}
	if len(b.r.Faults) > 0 {
		out = append(out, Block{Table: b.cards()})
	}
	if len(b.r.Storms) > 0 {
		out = append(out, Block{Table: b.storms()})
	}
	return out
}

// when is an instant, or a dash for one that did not come.
func (b *builder) when(at units.Time, path string) Figure {
	if at < 0 {
		return Figure{Text: none, Class: "none"}
	}
	return b.instant(at, path)
}

// failures are the links that failed.
func (b *builder) failures() *Table {
	t := &Table{ID: "failures", Title: "Links that failed", Columns: []Column{{Title: "Link"}, {"Down", true}, {"Up",
		true}, {"Noticed", true}, {"Rerouted", true}, {"Frames lost", true}}}
	for i := range b.r.Failures {
		f := &b.r.Failures[i]
		at := func(field string) string { return figure.Pointer("failures", i, field) }
		up := Figure{Text: none, Class: "none"}
		if f.UpPS > 0 {
			up = b.instant(f.UpPS, at("up_ps"))
		}
		t.Rows = append(t.Rows, Cells{name(f.Link.String(), at("link")+"/name"), b.instant(f.DownPS, at("down_ps")),
			up, b.when(f.NoticedPS, at("noticed_ps")),
			b.when(f.ReroutedPS, at("rerouted_ps")), count(f.LostFrames, at("lost_frames"))})
	}
	return t
}

// cards are the faults of cards.
func (b *builder) cards() *Table {
	t := &Table{ID: "card-faults", Title: "Faults of cards", Columns: []Column{{Title: "Host"}, {Title: "What"}, {"From",
		true},
		{"To", true}, {"Rate", true}}}
	for i := range b.r.Faults {
		f := &b.r.Faults[i]
		at := func(field string) string { return figure.Pointer("faults", i, field) }
		slow := Figure{Text: none, Class: "none"}
		if f.RateBps > 0 {
			slow = rate(f.RateBps, at("rate_bps"))
		}
		t.Rows = append(t.Rows, Cells{name(f.Node, at("node")), name(string(f.Kind), at("kind")), b.instant(f.FromPS,
			at("from_ps")),
			b.when(f.ToPS, at("to_ps")), slow})
	}
	return t
}

// storms are those that watchdogs found.
func (b *builder) storms() *Table {
	t := &Table{ID: "storms", Path: "/storms", Title: "Storms that watchdogs found",
		Columns: []Column{{Title: "Port"}, {"Class", true},
			{"Found", true},
			{"Restored", true}, {Title: "Action"}, {"Frames dropped", true}}}
	list := b.r.Storms
	if len(list) > mostPorts {
		t.Title = fmt.Sprintf("The first %d of %d storms that watchdogs found", mostPorts, len(list))
		list = list[:mostPorts]
	}
	for i := range list {
		s := &list[i]
		at := func(field ...string) string { return figure.Pointer("storms", i, field...) }
		t.Rows = append(t.Rows, Cells{{Text: s.Port.String(), Path: at("port", "node") + " " + at("port", "port"),
			Kind: kindSentence},
			{Text: fmt.Sprint(s.Class), Path: at("class"), Kind: kindCount}, b.instant(s.FromPS, at("from_ps")),
			b.when(s.ToPS, at("to_ps")), name(string(s.Action), at("action")), count(s.Dropped.Count, at("dropped", "count"))})
	}
	return t
}

// hosts are what processors did, those that worked longest.
func (b *builder) hosts() []Block {
	if len(b.s.CPU) == 0 {
		return nil
	}
	list := make([]int, len(b.s.CPU))
	for i := range list {
		list[i] = i
	}
	title := "Processors"
	if len(list) > mostHosts {
		slices.SortStableFunc(list, func(x, y int) int { return cmp.Compare(b.s.CPU[y].CorePS, b.s.CPU[x].CorePS) })
		title = fmt.Sprintf("The processors of the %d hosts of %d that worked longest; the JSON has all", mostHosts,
			len(list))
		list = list[:mostHosts]
	}
	rows := map[string]int{}
	for i := range b.r.Processors {
		rows[b.r.Processors[i].Host] = i
	}
	t := &Table{ID: "host-table", Path: "/summary/cpu", Title: title, Filter: true,
		Columns: []Column{{Title: "Host"}, {"Core time", true},
			{"Cores busy", true},
			{"Busiest core", true}, {"Copied", true}, {"System calls", true}, {"Interrupts", true}, {"Frames in", true},
			{"Frames out", true},
			{"Ring drops", true}}}
	for _, i := range list {
		c := &b.s.CPU[i]
		at := fmt.Sprintf("/summary/cpu/%d/", i)
		row := Cells{name(c.Host, at+"host"), duration(c.CorePS, at+"core_ps"), number(c.Cores, 2, at+"cores"),
			share(c.Busiest, at+"busiest")}
		if k, known := rows[c.Host]; known {
			row = append(row, processors(&b.r.Processors[k], k)...)
		}
		t.Rows = append(t.Rows, row)
	}
	return []Block{{Table: t}}
}

// processors are the counters of a host's processors.
func processors(p *record.Processors, row int) Cells {
	at := func(field string) string { return figure.Pointer("processors", row, field) }
	return Cells{size(p.CopiedBytes, at("copied_bytes")), count(p.Syscalls, at("syscalls")), count(p.Interrupts,
		at("interrupts")),
		count(p.FramesIn, at("frames_in")), count(p.FramesOut, at("frames_out")), count(p.RingDrops, at("ring_drops"))}
}

// calls are the remote procedure calls, workload by workload.
func (b *builder) calls() *Table {
	t := &Table{ID: "calls", Title: "Remote procedure calls", Columns: []Column{{Title: "Workload"}, {"Calls", true},
		{"Completed", true},
		{"p50", true}, {"p99", true}, {"Slowest", true}}}
	for i := range b.s.Calls {
		c := &b.s.Calls[i]
		at := fmt.Sprintf("/summary/rpcs/%d/", i)
		t.Rows = append(t.Rows, Cells{name(c.Workload, at+"workload"), count(int64(c.Calls), at+"calls"),
			count(int64(c.Completed), at+"completed"),
			duration(units.Time(c.LatencyPS.P50), at+"latency_ps/p50"), duration(units.Time(c.LatencyPS.P99),
				at+"latency_ps/p99"),
			duration(units.Time(c.LatencyPS.Worst), at+"latency_ps/worst")})
	}
	return t
}
