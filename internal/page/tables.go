package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/figure"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/units"
)

// messages are the distribution of completion times, the workloads and the messages, the slowest
// of many.
func (b *builder) messages() {
	blocks := b.drawing(figure.Completions(b.r), "")
	if len(b.s.Entries) > 0 {
		blocks = append(blocks, Block{Table: b.workloads()})
	}
	if len(b.s.Calls) > 0 {
		blocks = append(blocks, Block{Table: b.calls()})
	}
	if t := b.messageTable(); t != nil {
		blocks = append(blocks, Block{Table: t})
	}
	b.add("messages", "Messages", blocks...)
}

func (b *builder) workloads() *Table {
	t := &Table{ID: "workloads", Title: "Workloads, all messages summed", Columns: []Column{{Title: "Workload"},
		{"Messages", true}, {"Completed", true},
		{"Failed", true}, {"Open", true}, {"Bytes", true}, {"Best", true}, {"p50", true}, {"p95", true}, {"p99", true},
		{"Slowest", true}, {"Goodput", true}}}
	for i := range b.s.Entries {
		e := &b.s.Entries[i]
		at := fmt.Sprintf("/summary/workloads/%d/", i)
		q := func(v int64, field string) Figure { return duration(units.Time(v), at+"completion_ps/"+field) }
		t.Rows = append(t.Rows, Cells{name(e.Workload, at+"workload"), count(int64(e.Messages.Messages), at+"messages"),
			count(int64(e.Completed), at+"completed"),
			count(int64(e.Failed), at+"failed"), count(int64(e.Open), at+"open"), size(e.Bytes, at+"bytes"),
			q(e.CompletionPS.Best, "best"), q(e.CompletionPS.P50, "p50"),
			q(e.CompletionPS.P95, "p95"), q(e.CompletionPS.P99, "p99"), q(e.CompletionPS.Worst, "worst"), rate(e.GoodputBps,
				at+"goodput_bps")})
	}
	return t
}

func (b *builder) messageTable() *Table {
	list := make([]int, len(b.r.Messages))
	for i := range list {
		list[i] = i
	}
	title := "Messages"
	if len(list) > allMessages {
		took := func(i int) units.Time {
			if t := b.r.Messages[i].CompletionPS; t >= 0 {
				return t
			}
			return units.Never
		}
		slices.SortStableFunc(list, func(x, y int) int { return cmp.Compare(took(y), took(x)) })
		title = fmt.Sprintf("The slowest %d of %s messages; the rest is in the sums above", mostMessages,
			metrics.FormatCount(int64(len(list))))
		list = list[:mostMessages]
	}
	if len(list) == 0 {
		return nil
	}
	t := &Table{ID: "message-table", Path: "/summary/messages/messages", Title: title, Filter: true,
		Columns: []Column{{"Row", true}, {Title: "From"},
			{Title: "To"}, {"QP", true}, {Title: "Workload"}, {Title: "Verb"},
			{"Size", true}, {"Start", true}, {"Completion", true}, {"Goodput", true}, {Title: "Status"}}}
	for _, i := range list {
		m := &b.r.Messages[i]
		at := func(field string) string { return figure.Pointer("messages", i, field) }
		took := Figure{Text: "open", Class: "none"}
		if m.CompletionPS >= 0 {
			took = duration(m.CompletionPS, at("completion_ps"))
		}
		t.Rows = append(t.Rows, Cells{{Text: strconv.Itoa(i), Path: figure.Pointer("messages", i),
			Kind: kindSentence}, name(m.Src, at("src")), name(m.Dst, at("dst")),
			Figure{Text: strconv.Itoa(m.QP), Path: at("qp"), Kind: kindCount},
			name(m.Workload, at("workload")), name(m.Verb, at("verb")), size(m.Bytes, at("bytes")), b.instant(m.StartPS,
				at("start_ps")), took,
			rate(metrics.Goodput(m), at("goodput_bps")), name(m.Status, at("status"))})
	}
	return t
}

// ports are those that were congested most.
func (b *builder) ports() {
	var list []int
	for _, i := range b.s.Ports {
		if b.r.Ports[i].TxPackets > 0 || metrics.Congested(&b.r.Ports[i]) {
			list = append(list, i)
		}
	}
	title := "Ports, the most congested first"
	if len(list) > mostPorts {
		title = fmt.Sprintf("The %d most congested of %s ports and classes; the JSON has all", mostPorts,
			metrics.FormatCount(int64(len(list))))
		list = list[:mostPorts]
	}
	if len(list) == 0 {
		return
	}
	t := &Table{ID: "port-table", Path: "/ports", Title: title, Filter: true, Columns: []Column{{Title: "Port"},
		{Title: "To"}, {"Class",
			true}, {"Rate", true}, {"Sends", true}, {"Peak queue", true}, {"Mean queue", true},
		{"Ingress peak", true}, {"Marked", true}, {"Pauses sent", true}, {"received", true}, {"Held", true}, {"Paused",
			true}, {"Drops", true}}}
	for _, i := range list {
		p := &b.r.Ports[i]
		at := func(field ...string) string { return figure.Pointer("ports", i, field...) }
		t.Rows = append(t.Rows, Cells{{Text: p.Name(), Path: at("node") + " " + at("port"), Kind: kindSentence},
			{Text: p.Peer.String(), Path: at("peer", "node") + " " + at("peer", "port"), Kind: kindSentence},
			{Text: strconv.Itoa(p.Class), Path: at("class"), Kind: kindCount}, rate(p.RateBps, at("rate_bps")),
			share(p.Utilisation, at("utilisation")), size(p.PeakQueueBytes, at("peak_queue_bytes")),
			{Text: metrics.FormatBytes(int64(p.MeanQueueBytes)), Path: at("mean_queue_bytes"), Kind: kindBytes},
			size(p.PeakIngress, at("peak_ingress_bytes")), count(p.Marked, at("marked")), count(p.PausesSent,
				at("pauses_sent")),
			count(p.PausesReceived, at("pauses_received")), duration(p.HeldPS, at("held_ps")), duration(p.PausedPS,
				at("paused_ps")), count(p.Dropped, at("dropped"))})
	}
	blocks := []Block{{Table: t}}
	if d := b.drops(); d != nil {
		blocks = append(blocks, Block{Table: d})
	}
	b.add("ports", "Ports", blocks...)
}

// drops are the causes of drops, port by port.
func (b *builder) drops() *Table {
	t := &Table{ID: "drops", Title: "Drops", Columns: []Column{{Title: "At"}, {Title: "Cause"}, {"Frames", true},
		{"First", true}, {"Last", true}}}
	for _, i := range b.s.Ports {
		p := &b.r.Ports[i]
		for k := range p.DropCauses {
			if len(t.Rows) == mostPorts {
				t.Title = fmt.Sprintf("Drops, at the %d most congested places", mostPorts)
				break
			}
			d := &p.DropCauses[k]
			at := func(field string) string { return figure.Pointer("ports", i, "drop_causes", strconv.Itoa(k), field) }
			t.Rows = append(t.Rows, Cells{{Text: p.Place().String(), Path: figure.Pointer("ports", i, "node"),
				Kind: kindSentence}, name(d.Cause.String(), at("cause")), count(d.Count, at("count")),
				b.instant(d.First, at("first_ps")), b.instant(d.Last, at("last_ps"))})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// queuePairs are those that sent most.
func (b *builder) queuePairs() {
	list := make([]int, 0, len(b.r.QPs))
	for i := range b.r.QPs {
		if b.r.QPs[i].SentBytes > 0 {
			list = append(list, i)
		}
	}
	title := "Queue pairs and connections that sent data"
	if len(list) > mostQPs {
		slices.SortStableFunc(list, func(x, y int) int { return cmp.Compare(trouble(&b.r.QPs[y]), trouble(&b.r.QPs[x])) })
		title = fmt.Sprintf("The %d queue pairs of %s that were slowed, lost or sent most; the JSON has all", mostQPs,
			metrics.FormatCount(int64(len(list))))
		list = list[:mostQPs]
	}
	if len(list) == 0 {
		return
	}
	t := &Table{ID: "qp-table", Title: title, Filter: true, Columns: []Column{{Title: "At"}, {Title: "Peer"},
		{Title: "Workload"}, {"Sent", true}, {"Sent again", true}, {"CNPs heard", true}, {"Rate cuts", true},
		{"Least rate", true}, {"NAKs sent", true}, {"Timeouts", true}}}
	for _, i := range list {
		q := &b.r.QPs[i]
		at := func(field ...string) string { return figure.Pointer("qps", i, field...) }
		t.Rows = append(t.Rows, Cells{{Text: q.Name(), Path: at("host") + " " + at("qp"), Kind: kindSentence},
			name(q.Peer.String(), at("peer", "name")), name(q.Workload, at("workload")), size(q.SentBytes, at("sent_bytes")),
			size(q.RetransmittedBytes, at("retransmitted_bytes")), count(q.CNPsReceived, at("cnps_received")),
			count(q.RateCuts, at("rate_cuts")), rate(q.MinRateBps, at("min_rate_bps")),
			count(q.NAKsSent, at("naks_sent")), count(q.Timeouts, at("timeouts"))})
	}
	b.add("qps", "Queue pairs", Block{Open: &Fold{ID: "qp-fold", Title: title, Path: "/qps", Blocks: []Block{{Table: t}}}})
}

// trouble orders queue pairs for the table.
func trouble(q *record.QP) int64 {
	return (q.RateCuts+q.Timeouts+q.Retransmitted)<<32 + min(q.SentBytes, 1<<32-1)
}

// mechanisms say of each how often it acted, or how near it came and what held it back.
func (b *builder) mechanisms() []Block {
	t := &Table{ID: "mechanism-table", Columns: []Column{{Title: "Mechanism"}, {"Acted", true}, {Title: "Where most"},
		{"Came to", true}, {"Of", true}, {Title: "Why not"}}}
	for i := range b.doc.Mechanisms {
		s := &b.doc.Mechanisms[i]
		at := fmt.Sprintf("/mechanisms/%d/", i)
		first := name(s.Mechanism.String(), at+"mechanism")
		if s.Armed == 0 || len(s.Places) == 0 {
			t.Rows = append(t.Rows, Cells{first, {Text: "off", Class: "none"}, name(s.Why, at+"why")})
			continue
		}
		p, own := &s.Places[0], at+"places/0/"
		acted := count(s.Count, at+"count")
		if s.Count == 0 && s.HeldPS > 0 {
			acted = duration(s.HeldPS, at+"held_ps")
		}
		value, threshold := word(none), word(none)
		if p.Threshold != 0 {
			value, threshold = quantity(p.Value, p.Unit, own+"value"), quantity(p.Threshold, p.Unit, own+"threshold")
		}
		why := word("")
		if p.Why != "" {
			why = name(p.Why, own+"why")
		}
		t.Rows = append(t.Rows, Cells{first, acted, name(p.Where.String(), own+"where/name"), value, threshold, why})
	}
	return []Block{{Table: t}}
}

// quantity is a value of a mechanism's place.
func quantity(v int64, unit, path string) Figure {
	kind := map[string]string{metrics.InBytes: kindBytes, metrics.InTime: kindTime, metrics.InRate: kindRate}[unit]
	if kind == "" {
		kind = kindCount
	}
	if v == 0 { // the JSON leaves it out
		return word(report.Quantity(v, unit))
	}
	return Figure{Text: report.Quantity(v, unit), Path: path, Kind: kind}
}

// collectives are what nccl-tests would print, what held them up, and their critical paths.
func (b *builder) collectives() (out []Block) {
	if len(b.r.Collectives) == 0 {
		return nil
	}
	t := &Table{ID: "collective-table", Columns: []Column{{Title: "Collective"}, {Title: "Operation"},
		{Title: "Algorithm"}, {Title: "Protocol"}, {"Ranks", true}, {"Channels", true}, {"Size", true}, {"Done", true},
		{"Time", true},
		{"algbw GB/s", true}, {"busbw GB/s", true}}}
	var rows []figure.Row
	for i := range b.r.Collectives {
		c, x := &b.r.Collectives[i], &b.s.Collectives[i]
		at := func(field string) string { return figure.Pointer("collectives", i, field) }
		sum := fmt.Sprintf("/summary/collectives/%d/", i)
		t.Rows = append(t.Rows, Cells{name(c.Workload, at("workload")), name(c.Op, at("op")), name(c.Algorithm,
			at("algorithm")), name(c.Protocol, at("protocol")), count(int64(c.Ranks), at("ranks")),
			count(int64(c.Channels), at("channels")), size(c.Bytes, at("bytes")), count(int64(x.Done), sum+"done"),
			duration(x.TimePS, sum+"time_ps"), number(x.AlgBW, 2, sum+"algbw_gbyte_s"), number(x.BusBW, 2,
				sum+"busbw_gbyte_s")})
		rows = append(rows, criticalRow(fmt.Sprintf("%s %s", c.Workload, metrics.FormatBytes(c.Bytes)), c.Critical,
			figure.Pointer("collectives", i)))
	}
	out = append(out, Block{Table: t})
	out = append(out, sentences(report.OnCollectives(b.r, b.s), "/collectives")...)
	return append(out, b.drawing(figure.Stacked("critical", "Critical paths of the collectives", rows),
		"The critical path of each collective by what its time went to.")...)
}

// criticalRow is a critical path, of what is at a place in the JSON, by what its time went to.
func criticalRow(name string, critical []record.CriticalGroup, at string) figure.Row {
	out := figure.Row{Name: name}
	for g := range critical {
		for k := range critical[g].Stages {
			s := &critical[g].Stages[k]
			path := fmt.Sprintf("%s/critical_path/%d/stages/%d/time_ps", at, g, k)
			out.Segments = append(out.Segments, figure.Segment{Part: metrics.CriticalPart(&critical[g], s), PS: s.TimePS,
				Path: path})
		}
	}
	out.Segments = figure.Sorted(out.Segments)
	return out
}

// parameters are all values and where they come from.
func (b *builder) parameters() []Block {
	if len(b.r.Notes) == 0 {
		return nil
	}
	t := &Table{ID: "parameter-table", Filter: true, Columns: []Column{{Title: "Parameter"}, {Title: "Value"},
		{Title: "Source"}}}
	for i, n := range b.r.Notes {
		at := func(field string) string { return figure.Pointer("parameters", i, field) }
		t.Rows = append(t.Rows, Cells{name(n.Key, at("key")), name(n.Value, at("value")), name(n.Source, at("source"))})
	}
	return []Block{{Table: t}}
}
