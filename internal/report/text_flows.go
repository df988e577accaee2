package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// flows writes a line per message, or percentiles and the slowest when there
// are many; then what failed, the totals and fairness.
func (t *text) flows() {
	if len(t.r.Messages) == 0 {
		return
	}
	t.section()
	if len(t.r.Messages) <= listedFlows || t.opt.Verbose {
		t.table(t.flowTable(everyFlow(t.r.Messages), t.l.Of("Message")))
	} else {
		t.percentiles()
		t.slowdowns()
		if len(t.s.Worst) > 0 {
			t.section()
			t.table(t.flowTable(t.s.Worst, t.l.Of("Slowest messages")))
		}
		t.notCompleted()
	}
	t.prose(messageLine(t.l, t.s.Messages, t.r), plain)
	for i := range t.r.Loads {
		t.prose(loadLine(t.l, &t.r.Loads[i]), plain)
	}
	t.calls()
	t.fairness()
}

// loadLine says what of a load was offered and carried.
func loadLine(l lang.Language, o *record.Load) string {
	all := float64(o.LinksBps) / 8 * float64(o.ToPS-o.FromPS) / float64(units.Second)
	return l.Sprintf("load of %s (%s): of %s of links offered %.1f %% (asked for "+
		"%.3g %%), carried %.1f %%, from %s to %s",
		o.Workload, o.Sizes, metrics.FormatRate(o.LinksBps), 100*float64(o.OfferedBytes)/all, 100*o.AskedShare,
		100*float64(o.CarriedBytes)/all, metrics.FormatTime(o.FromPS), metrics.FormatTime(o.ToPS))
}

// calls writes a row per workload entry with remote procedure calls.
func (t *text) calls() {
	if len(t.s.Calls) == 0 {
		return
	}
	t.section()
	tab := &table{columns: []column{
		{title: "RPC latency"}, {title: "Calls", right: true}, {title: "Best", right: true, drop: 2}, {title: "p50",
			right: true},
		{title: "p95", right: true, drop: 1}, {title: "p99", right: true}, {title: "Worst", right: true}, {title: "Mean",
			right: true, drop: 1},
		{title: "Open", right: true, drop: 3},
	}}
	took := func(v int64) string { return metrics.FormatTimeDigits(units.Time(v), 4) }
	for _, c := range t.s.Calls {
		count, left := metrics.FormatCount(int64(c.Calls)), ""
		if n := c.Calls - c.Completed; n > 0 {
			left = metrics.FormatCount(int64(n)) // an empty column is not shown
		}
		if c.Completed == 0 {
			tab.addNote(t.l.Of("none completed"), c.Workload, count)
			continue
		}
		q := c.LatencyPS
		tab.add(c.Workload, count, took(q.Best), took(q.P50), took(q.P95), took(q.P99), took(q.Worst), took(q.Mean), left)
	}
	t.table(tab)
	t.section()
}

// notCompleted names the first few messages that failed or stayed open, which
// percentiles cannot show.
func (t *text) notCompleted() {
	var index []int
	for i := range t.r.Messages {
		if !metrics.Completed(&t.r.Messages[i]) {
			index = append(index, i)
		}
	}
	if len(index) == 0 {
		return
	}
	t.section()
	t.table(t.flowTable(index[:min(len(index), metrics.WorstMessages)], t.l.Of("Not completed")))
	if more := len(index) - metrics.WorstMessages; more > 0 {
		t.line(t.l.Of("and ") + metrics.FormatCount(int64(more)) + t.l.Of(" more"))
	}
	t.section()
}

func everyFlow(flows []record.Message) []int {
	index := make([]int, len(flows))
	for i := range index {
		index[i] = i
	}
	return index
}

func (t *text) flowTable(index []int, title string) *table {
	tab := &table{columns: []column{
		{title: title}, {title: "QP", right: true, drop: 4}, {title: "Workload", drop: 2}, {title: "Verb", drop: 5},
		{title: "Size", right: true}, {title: "Start", right: true, drop: 2}, {title: "Completion", right: true},
		{title: "Goodput", right: true}, {title: "Slowdown", right: true, drop: 1}, {title: "Status", drop: 3, wrap: true},
	}}
	allWell := true
	for _, i := range index {
		allWell = allWell && metrics.Completed(&t.r.Messages[i]) && !metrics.Lost(&t.r.Messages[i])
	}
	for _, i := range index {
		f := &t.r.Messages[i]
		completion, goodput, slowdown, status := "-", "-", "-", f.Status
		if metrics.Open(f) {
			status = t.l.Of(status)
		} else {
			completion = metrics.FormatTimeDigits(f.CompletionPS, 4)
		}
		if metrics.Completed(f) && f.Bytes > 0 {
			goodput = metrics.FormatRate(metrics.Goodput(f))
		}
		if metrics.Lost(f) {
			goodput, status = "-", t.l.Of("not delivered")
		}
		if s := metrics.SlowdownMilli(f); s > 0 {
			slowdown = times(s)
		}
		if allWell {
			status = "" // an empty column is not shown
		}
		qp := integer(f.QP)
		if t.r.Flows() { // they have no numbers
			qp = ""
		}
		tab.add(metrics.Arrow(f), qp, f.Workload, verb(f), metrics.FormatBytes(f.Bytes),
			t.at(f.StartPS), completion, goodput, slowdown, status)
	}
	return tab
}

// verb names a message's verb, and its service unless that is RC.
func verb(f *record.Message) string {
	return f.Service.English() + f.Verb
}

// times writes thousandths as a factor: "4.02x".
func times(milli int64) string { return fmt.Sprintf("%.2fx", float64(milli)/1000) }

// percentiles writes a block per workload entry.
func (t *text) percentiles() {
	tab := &table{columns: []column{
		{title: "Workload"}, {title: "Messages", right: true}, {title: "Of each message"}, {title: "Best", right: true,
			drop: 2},
		{title: "p50", right: true}, {title: "p95", right: true}, {title: "p99", right: true}, {title: "Worst", right: true},
		{title: "Mean", right: true, drop: 1},
	}}
	for _, e := range t.s.Entries {
		addQuantiles(t.l, tab, e.Workload, e.Messages)
	}
	if len(t.s.Entries) > 1 {
		addQuantiles(t.l, tab, t.l.Of("all"), t.s.Messages)
	}
	t.table(tab)
	if t.s.Messages.MessageGoodputBps.N > 0 {
		t.prose(t.l.Of("p95 of goodput: 95 % of the messages reached at least that"), t.paint.dim)
	}
}

// slowdowns writes the slowdowns by size, where sizes differ enough to tell.
func (t *text) slowdowns() {
	if len(t.s.Slowdowns) < 2 {
		return
	}
	t.section()
	tab := &table{columns: []column{
		{title: "Slowdown of messages"}, {title: "Messages", right: true}, {title: "Best", right: true, drop: 2},
		{title: "p50", right: true}, {title: "p95", right: true}, {title: "p99", right: true}, {title: "Worst", right: true},
		{title: "Mean", right: true, drop: 1},
	}}
	for i := range t.s.Slowdowns {
		s := &t.s.Slowdowns[i]
		q, name := s.SlowdownMilli, t.l.Of("up to ")+metrics.FormatBytes(s.ToBytes)
		tab.add(name, metrics.FormatCount(int64(q.N)), times(q.Best), times(q.P50), times(q.P95), times(q.P99),
			times(q.Worst), times(q.Mean))
	}
	t.table(tab)
	t.prose(t.l.Of("slowdown: completion over that of the same message alone on the same way"), t.paint.dim)
}

func addQuantiles(l lang.Language, tab *table, name string, m metrics.Messages) {
	count := metrics.FormatCount(int64(m.Messages))
	if m.Completed == 0 {
		tab.addNote(l.Of("none completed"), name, count)
		return
	}
	took := func(v int64) string { return metrics.FormatTimeDigits(units.Time(v), 4) }
	bitrate := func(v int64) string { return metrics.FormatRate(units.Rate(v)) }
	addQuantileRow(l, tab, name, count, l.Of("completion"), m.CompletionPS, took)
	if m.MessageGoodputBps.N > 0 {
		addQuantileRow(l, tab, "", "", l.Of("goodput"), m.MessageGoodputBps, bitrate)
	}
	if m.SlowdownMilli.N > 0 {
		addQuantileRow(l, tab, "", "", l.Of("slowdown"), m.SlowdownMilli, times)
	}
}

func addQuantileRow(l lang.Language, tab *table, name, count, what string, q metrics.Quantiles,
	format func(int64) string) {
	tab.add(name, count, what, format(q.Best), format(q.P50), format(q.P95), format(q.P99), format(q.Worst),
		format(q.Mean))
}

// messageLine sums the messages up and names the errors they ended in.
func messageLine(l lang.Language, m metrics.Messages, r *record.Run) string {
	s := l.Sprintf("%s of %s messages completed", metrics.FormatCount(int64(m.Completed)),
		metrics.FormatCount(int64(m.Messages)))
	if m.Completed > 0 {
		s += l.Sprintf(": %s in %s, %s together", metrics.FormatBytes(m.Bytes), metrics.FormatTimeDigits(m.SpanPS, 4),
			metrics.FormatRate(m.GoodputBps))
	}
	if m.Failed > 0 {
		s += l.Of("; ") + errorCounts(l, r.Messages)
	}
	if m.Lost > 0 {
		s += l.Sprintf("; %s of them not delivered, which no requester was told: %s", metrics.FormatCount(int64(m.Lost)),
			metrics.NotDelivered(l, r))
	}
	if m.Open > 0 {
		s += l.Sprintf("; %s open at the end", metrics.FormatCount(int64(m.Open)))
	}
	return s + streamsEnded(l, r)
}

// streamsEnded tells of the first stream of iWARP that ended before the run did.
func streamsEnded(l lang.Language, r *record.Run) string {
	var first *record.QP
	var own *record.IWARP // of it
	n := 0
	for i := range r.QPs {
		q := &r.QPs[i]
		w := q.OverTCP()
		if w == nil || w.Ended == "" {
			continue
		}
		if n++; first == nil || w.EndedPS < own.EndedPS {
			first, own = q, w
		}
	}
	if n == 0 {
		return ""
	}
	s := l.Sprintf("; the stream of %s ended at %s", first.Place(), metrics.FormatTime(own.EndedPS))
	if s += l.Of(": ") + own.Ended; own.Reason != "" {
		s += ", " + own.Reason
	}
	if n > 2 { // both ends of it, and more
		s += l.Sprintf(" (the first of %d ends of streams)", n)
	}
	return s
}

// errorCounts counts error completions by status, in order of appearance.
func errorCounts(l lang.Language, flows []record.Message) string {
	var order []string
	count := map[string]int64{}
	for i := range flows {
		f := &flows[i]
		if metrics.Open(f) || metrics.Completed(f) {
			continue
		}
		if count[f.Status] == 0 {
			order = append(order, f.Status)
		}
		count[f.Status]++
	}
	for i, status := range order {
		order[i] = l.Sprintf("%s ended with %q", metrics.FormatCount(count[status]), status)
	}
	return strings.Join(order, ", ")
}

// fairness writes the index over the whole run and over the least fair workload
// entries.
func (t *text) fairness() {
	all := slices.Clone(t.s.Fairness)
	slices.SortStableFunc(all, func(a, b metrics.Fairness) int {
		if (a.Workload == "") != (b.Workload == "") {
			return cmp.Compare(len(a.Workload), len(b.Workload))
		}
		return cmp.Compare(a.Jain, b.Jain)
	})
	for i, f := range all {
		if i == listedFairness && !t.opt.Verbose && len(all) > listedFairness+1 {
			t.line(t.l.Sprintf("and %d more workloads at %.4f or above", len(all)-i, floor4(f.Jain)))
			return
		}
		t.prose(t.fairnessLine(f), plain)
	}
}

func (t *text) fairnessLine(f metrics.Fairness) string {
	who := metrics.FormatCount(int64(f.Over)) + t.l.Of(" flows")
	head := t.l.Of("fairness (Jain)")
	if f.Workload != "" {
		head = t.l.Of("within ") + f.Workload
	}
	if f.Measured {
		return t.l.Sprintf("%s %.4f over what %s that share ports received in the measured window", head, floor4(f.Jain), who)
	}
	return t.l.Sprintf("%s %.4f over the goodput of %s that share ports and started at %s", head, floor4(f.Jain), who,
		t.at(f.StartPS))
}

// floor4 rounds down to four digits, so that 1.0000 means equal.
func floor4(x float64) float64 { return math.Floor(x*1e4) / 1e4 }

// measured lists what responders received within the measure window.
func (t *text) measured() {
	took := t.r.MeasureTo - t.r.MeasureFrom
	if took <= 0 {
		return
	}
	tab := &table{columns: []column{
		{title: t.l.Sprintf("Received from %s to %s", metrics.FormatTimeDigits(t.r.MeasureFrom, 4),
			metrics.FormatTimeDigits(t.r.MeasureTo, 4))},
		{title: "QP", right: true}, {title: "Workload", drop: 1}, {title: "Payload", right: true}, {title: "Goodput",
			right: true},
	}}
	more := 0
	for i := range t.r.QPs {
		q := &t.r.QPs[i]
		if q.DeliveredBytes == 0 && q.MeasuredBytes == 0 {
			continue
		}
		if len(tab.rows) == listedFlows && !t.opt.Verbose {
			more++
			continue
		}
		tab.add(q.Host+" <- "+q.Peer.String(), integer(q.QP), q.Workload, metrics.FormatBytes(q.MeasuredBytes),
			metrics.FormatRate(metrics.RateOf(q.MeasuredBytes, took)))
	}
	if len(tab.rows) == 0 {
		return
	}
	t.section()
	t.table(tab)
	if more > 0 {
		t.line(t.l.Of("and ") + metrics.FormatCount(int64(more)) + t.l.Of(" more"))
	}
}
