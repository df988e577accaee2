package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/decode"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/rows"
	"github.com/hopscope/hopscope/internal/units"
)

// Decoded is what a capture shows, in the shape of a run's results: the six questions first.
type Decoded struct {
	Version int     `json:"version"`
	File    string  `json:"file"`
	Answers Answers `json:"answers"`
	decode.Result
}

// NewDecoded arranges what a capture of that name shows.
func NewDecoded(file string, r *decode.Result) *Decoded {
	d := &Decoded{Version: pageVersion, File: file, Result: *r}
	for _, q := range catalog.Questions {
		a := metrics.AnswerTo(q, r.Ledger)
		if !a.Happened {
			a.Why = r.Whys[q]
		} else {
			a.Why = d.caveat(q)
		}
		*d.Answers.field(q) = a
	}
	return d
}

// caveat is what an answer rests on, where that is less than in a run.
func (d *Decoded) caveat(q catalog.Question) string {
	switch q {
	case catalog.Held:
		return "the time that was asked for; whether a frame waited meanwhile no capture shows"
	case catalog.Recovered:
		var n int64
		var sum units.Time
		for i := range d.QueuePairs {
			n += d.QueuePairs[i].Timeouts
			sum += d.QueuePairs[i].TimeoutMeanPS * units.Time(d.QueuePairs[i].Timeouts)
		}
		if n > 0 {
			return fmt.Sprintf("after timeout: seen as %s on average since the packet was sent, without a NAK for it",
				metrics.FormatTime(sum/units.Time(n)))
		}
	}
	return ""
}

// parts are the fields of the document in order.
func (d *Decoded) parts() []rows.Part {
	list := func(name string, n int, at func(i int) any) rows.Part {
		return rows.Part{Name: name, Table: &rows.Table{N: n, Value: at}}
	}
	return []rows.Part{
		{Name: "version", Value: d.Version}, {Name: "file", Value: d.File}, {Name: "answers", Value: d.Answers},
		{Name: "capture", Value: d.Capture},
		list("points", len(d.Points), func(i int) any { return d.Points[i] }),
		list("queue_pairs", len(d.QueuePairs), func(i int) any { return &d.QueuePairs[i] }),
		list("connections", len(d.Connections), func(i int) any { return &d.Connections[i] }),
		list("pauses", len(d.Pauses), func(i int) any { return &d.Pauses[i] }),
		list("ledger", len(d.Ledger), func(i int) any { return &d.Ledger[i] }),
		list("notes", len(d.Notes), func(i int) any { return d.Notes[i] }),
		list("messages", len(d.Messages), func(i int) any { return &d.Messages[i] }),
	}
}

// WriteJSON writes the document, indented, with a newline at the end.
func (d *Decoded) WriteJSON(w io.Writer) error { return rows.JSON(w, d.parts(), 1) }

// Text writes the report of a capture for reading.
func (d *Decoded) Text(w io.Writer, opt TextOptions) error {
	t := blank(opt)
	t.s = &metrics.Summary{}
	for _, q := range catalog.Questions {
		t.s.Answers = append(t.s.Answers, *d.Answers.field(q))
	}
	t.prose(d.title(), t.paint.bold)
	t.prose(d.contents(), plain)
	t.answers()
	d.queuePairs(t)
	d.messages(t)
	d.connections(t)
	d.pauses(t)
	d.ways(t)
	if len(d.Notes) > 0 {
		t.section()
		t.prose("What to know of this capture:", t.paint.bold)
		for _, n := range d.Notes {
			t.prose("- "+n, plain)
		}
	}
	return t.end(w)
}

// title says which capture this is.
func (d *Decoded) title() string {
	c := &d.Capture
	s := fmt.Sprintf("%s: %s, %s", d.File, c.Format, several(c.Packets, "packet"))
	if c.Packets > 1 {
		s += " in " + metrics.FormatTime(c.LastPS-c.FirstPS)
	}
	if c.Began != "" {
		s += ", from " + c.Began
	}
	if len(d.Points) > 1 {
		s += fmt.Sprintf(", at %d points", len(d.Points))
	}
	return s
}

// contents says what was in it.
func (d *Decoded) contents() string {
	c := &d.Capture
	s := fmt.Sprintf("%s of RDMA, %s of TCP, %s of PFC, %s of other traffic; %s on the wire", metrics.FormatCount(c.RDMA),
		metrics.FormatCount(c.TCP), metrics.FormatCount(c.PFC), metrics.FormatCount(c.Other+c.Fragments+c.Unread),
		metrics.FormatBytes(c.Bytes))
	for _, icrc := range []struct {
		n    int64
		what string
	}{{c.GoodICRC, "right in"}, {c.BadICRC, "wrong in"}, {c.NoICRC, "not captured of"}} {
		if icrc.n > 0 {
			s += fmt.Sprintf("; ICRC %s %s", icrc.what, metrics.FormatCount(icrc.n))
		}
	}
	return s
}

// several is a number with a noun.
func several(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return metrics.FormatCount(n) + " " + noun + "s"
}

// sender names a queue pair that sends.
func sender(q *decode.QueuePair) string {
	if q.FromQP == nil {
		return q.From + " qp ?"
	}
	return fmt.Sprintf("%s qp %d", q.From, *q.FromQP)
}

// tally is a count, or a dash for none.
func tally(n int64) string {
	if n == 0 {
		return "-"
	}
	return metrics.FormatCount(n)
}

// naks is the number of NAKs but those of RNR.
func naks(q *decode.QueuePair) (n int64) {
	for _, k := range q.NAKs {
		n += k.Count
	}
	return n
}

// queuePairs is the table of them: those with most to tell, where they are many.
func (d *Decoded) queuePairs(t *text) {
	if len(d.QueuePairs) == 0 {
		return
	}
	order := make([]int, len(d.QueuePairs))
	for i := range order {
		order[i] = i
	}
	shown := order
	if len(order) > listedFlows && !t.opt.Verbose {
		slices.SortStableFunc(order, func(a, b int) int {
			x, y := &d.QueuePairs[a], &d.QueuePairs[b]
			return cmp.Or(cmp.Compare(y.Resent, x.Resent), cmp.Compare(y.DoneBytes, x.DoneBytes),
				cmp.Compare(naks(y)+y.RNRs+y.CNPs, naks(x)+x.RNRs+x.CNPs), cmp.Compare(y.Bytes, x.Bytes))
		})
		shown = order[:listedFlows]
	}
	tab := &table{columns: []column{{title: "Queue pair"}, {title: "To"}, {title: "Service", drop: 6}, {title: "Packets",
		right: true, drop: 7},
		{title: "Messages", right: true}, {title: "Bytes", right: true, drop: 4}, {title: "Median",
			right: true}, {title: "Slowest", right: true, drop: 5},
		{title: "Goodput", right: true, drop: 3}, {title: "Sent\nagain", right: true}, {title: "NAKs", right: true},
		{title: "RNR\nNAKs", right: true, drop: 1}, {title: "CNPs", right: true, drop: 1}, {title: "Marked", right: true,
			drop: 1},
		{title: "Late", right: true, drop: 2}}}
	for _, i := range shown {
		q := &d.QueuePairs[i]
		median, slowest, goodput := "-", "-", "-"
		if q.Timed > 0 {
			median, slowest = metrics.FormatTime(q.P50), metrics.FormatTime(q.Slowest)
		}
		if q.GoodputBps > 0 {
			goodput = metrics.FormatRate(q.GoodputBps)
		}
		size := "-"
		if q.Done > 0 {
			size = metrics.FormatBytes(q.DoneBytes)
		}
		tab.add(sender(q), fmt.Sprintf("%s qp %d", q.To, q.ToQP), q.Service.String(), metrics.FormatCount(q.Packets),
			tally(q.Done), size, median,
			slowest, goodput, tally(q.Resent+q.RespAgain+q.AskedAgain), tally(naks(q)), tally(q.RNRs), tally(q.CNPs),
			tally(q.Marked), tally(q.Late))
		for _, note := range queuePairNotes(q) {
			tab.addNote(note, "")
		}
	}
	t.section()
	t.table(tab)
	if more := len(order) - len(shown); more > 0 {
		t.prose(fmt.Sprintf("and %d more, which sent less again; --verbose lists them", more), plain)
	}
	d.totals(t)
}

// totals is a line on all messages, if there are several.
func (d *Decoded) totals(t *text) {
	var done, bytes, open int64
	var took []units.Time
	for i := range d.QueuePairs {
		done += d.QueuePairs[i].Done
		bytes += d.QueuePairs[i].DoneBytes
		open += d.QueuePairs[i].OpenMessages
	}
	first, last := units.Never, units.Time(0)
	for i := range d.Messages {
		m := &d.Messages[i]
		first, last = min(first, m.StartPS), max(last, m.StartPS+m.TookPS)
		if d.QueuePairs[m.QueuePair].Timed > 0 {
			took = append(took, m.TookPS)
		}
	}
	if done < 2 {
		return
	}
	s := fmt.Sprintf("%s over: %s", several(done, "message"), metrics.FormatBytes(bytes))
	if last > first && d.Capture.Unlisted == 0 {
		s += fmt.Sprintf(" in %s, %s together", metrics.FormatTime(last-first),
			metrics.FormatRate(units.Rate(float64(bytes)*8/float64(last-first)*float64(units.Second))))
	}
	if n := len(took); n > 0 && d.Capture.Unlisted == 0 {
		slices.Sort(took)
		s += fmt.Sprintf("; median %s, 99 %% %s, slowest %s", metrics.FormatTime(took[(n+1)/2-1]),
			metrics.FormatTime(took[(n*99+99)/100-1]), metrics.FormatTime(took[n-1]))
	}
	if open > 0 {
		s += fmt.Sprintf("; %s open at the end", metrics.FormatCount(open))
	}
	t.prose(s, plain)
}

// queuePairNotes says of a queue pair what its row has no room for.
func queuePairNotes(q *decode.QueuePair) (out []string) {
	add := func(n int64, format string, args ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	for _, k := range q.NAKs {
		add(k.Count, "sent %s 0x%02x (%s)", several(k.Count, "NAK"), k.Syndrome, k.Name)
	}
	add(q.RNRs, "sent %s 0x%02x (receiver not ready)", several(q.RNRs, "RNR NAK"), q.RNRSyndrome)
	var again []string
	for _, c := range []struct {
		n   int64
		why string
	}{{q.AfterNAK, "after a NAK"}, {q.AfterRNR, "after an RNR NAK"}, {q.ForMissing, "for missing responses"},
		{q.CauseUnseen, "for what the capture does not show"}, {q.AskedAgain, "READs asked for again"}, {q.RespAgain,
			"responses"}} {
		if c.n > 0 {
			again = append(again, fmt.Sprintf("%s %s", metrics.FormatCount(c.n), c.why))
		}
	}
	if q.AfterTimeout > 0 {
		again = append(again, fmt.Sprintf("%s after %s of %s on average without a NAK", metrics.FormatCount(q.AfterTimeout),
			several(q.Timeouts, "timeout"), metrics.FormatTime(q.TimeoutMeanPS)))
	}
	add(int64(len(again)), "sent again: %s", strings.Join(again, ", "))
	add(q.FirstLost, "of those, %s had not been captured before: lost before this point, or by the capture",
		several(q.FirstLost, "packet"))
	add(q.Failed, "%s refused", several(q.Failed, "message"))
	add(q.OpenMessages, "%s without an answer at the end of the capture", several(q.OpenMessages, "message"))
	add(q.Partial, "%s of which the beginning was not captured", several(q.Partial, "message"))
	add(q.BadICRC, "%s with a wrong ICRC", several(q.BadICRC, "packet"))
	add(q.NotSeen, "%s missing", several(q.NotSeen, "packet"))
	add(q.Uncaptured, "%s acknowledged and not captured", several(q.Uncaptured, "packet"))
	return out
}

// messages lists messages, if they are few.
func (d *Decoded) messages(t *text) {
	if len(d.Messages) == 0 || len(d.Messages) > listedFlows && !t.opt.Verbose {
		return
	}
	tab := &table{columns: []column{{title: "Message"}, {title: "To"}, {title: "Verb"}, {title: "Size", right: true},
		{title: "Start", right: true},
		{title: "Took", right: true}, {title: "Goodput", right: true, drop: 2}, {title: "Sent\nagain", right: true,
			drop: 3}, {title: "Ended", drop: 1}}}
	for i := range d.Messages {
		m := &d.Messages[i]
		q := &d.QueuePairs[m.QueuePair]
		took, goodput := "-", "-"
		if m.Status != "sent" || m.TookPS > 0 {
			took = metrics.FormatTime(m.TookPS)
		}
		if m.TookPS > 0 && m.Bytes > 0 {
			goodput = metrics.FormatRate(units.Rate(float64(m.Bytes) * 8 / float64(m.TookPS) * float64(units.Second)))
		}
		tab.add(sender(q), fmt.Sprintf("%s qp %d", q.To, q.ToQP), m.Verb, metrics.FormatBytes(m.Bytes),
			metrics.FormatTime(m.StartPS), took, goodput,
			tally(m.Resent), m.Status)
	}
	t.section()
	t.table(tab)
}

// connections is the table of TCP.
func (d *Decoded) connections(t *text) {
	if len(d.Connections) == 0 {
		return
	}
	tab := &table{columns: []column{{title: "TCP"}, {title: "To"}, {title: "Segments", right: true, drop: 4},
		{title: "Bytes\nacked", right: true},
		{title: "Goodput", right: true, drop: 3}, {title: "Sent\nagain", right: true}, {title: "Fast", right: true,
			drop: 2}, {title: "RTO", right: true, drop: 2},
		{title: "Dup\nACKs", right: true, drop: 2}, {title: "SACK", right: true, drop: 2}, {title: "ECE", right: true,
			drop: 1}, {title: "Marked", right: true, drop: 1}}}
	for i := range d.Connections {
		c := &d.Connections[i]
		if i == listedFlows && !t.opt.Verbose {
			break
		}
		goodput := "-"
		if c.GoodputBps > 0 && c.AckedBytes > 1 {
			goodput = metrics.FormatRate(c.GoodputBps)
		}
		tab.add(fmt.Sprintf("%s port %d", c.From, c.FromPort), fmt.Sprintf("%s port %d", c.To, c.ToPort),
			metrics.FormatCount(c.Packets),
			metrics.FormatBytes(c.AckedBytes), goodput, tally(c.Resent), tally(c.Fast), tally(c.AfterRTO), tally(c.DupAcks),
			tally(c.SACKs),
			tally(c.Echoes), tally(c.Marked))
	}
	t.section()
	t.table(tab)
	if more := len(d.Connections) - listedFlows; more > 0 && !t.opt.Verbose {
		t.prose(fmt.Sprintf("and %d more; --verbose lists them", more), plain)
	}
}

// pauses is the table of PFC.
func (d *Decoded) pauses(t *text) {
	if len(d.Pauses) == 0 {
		return
	}
	tab := &table{columns: []column{{title: "PFC by"}, {title: "Prio", right: true}, {title: "Seen at", drop: 2},
		{title: "Pauses", right: true},
		{title: "Refreshes", right: true, drop: 3}, {title: "Resumes", right: true, drop: 3}, {title: "Ran out", right: true,
			drop: 1},
		{title: "Asked for", right: true}, {title: "Longest", right: true}, {title: "First", right: true, drop: 1}}}
	for i := range d.Pauses {
		p := &d.Pauses[i]
		asked, longest := metrics.FormatTime(p.AskedPS), metrics.FormatTime(p.LongestPS)
		if p.Unmeasured > 0 && p.AskedPS == 0 {
			asked, longest = "?", "?"
		}
		tab.add(p.Port, strconv.Itoa(p.Class), p.Point, metrics.FormatCount(p.Pauses), tally(p.Refreshes), tally(p.Resumes),
			tally(p.Lapsed), asked,
			longest, metrics.FormatTime(p.FirstPS))
	}
	t.section()
	t.table(tab)
}

// ways is the table of what packets took between capture points.
func (d *Decoded) ways(t *text) {
	tab := &table{columns: []column{{title: "One way"}, {title: "To"}, {title: "From point"}, {title: "To point"},
		{title: "Packets", right: true},
		{title: "Of", right: true, drop: 2}, {title: "Least", right: true}, {title: "Median", right: true}, {title: "99 %",
			right: true, drop: 1}, {title: "Most", right: true}}}
	left := 0
	add := func(from, to string, sent int64, ways []decode.Way) {
		for _, w := range ways {
			if w.Timed == 0 {
				continue
			}
			if len(tab.rows) >= listedFlows && !t.opt.Verbose {
				left++
				continue
			}
			tab.add(from, to, w.From, w.To, metrics.FormatCount(w.Timed), metrics.FormatCount(sent),
				metrics.FormatTime(w.Least), metrics.FormatTime(w.P50),
				metrics.FormatTime(w.P99), metrics.FormatTime(w.Most))
		}
	}
	for i := range d.QueuePairs {
		q := &d.QueuePairs[i]
		add(sender(q), fmt.Sprintf("%s qp %d", q.To, q.ToQP), q.Packets, q.Ways)
	}
	for i := range d.Connections {
		c := &d.Connections[i]
		add(fmt.Sprintf("%s port %d", c.From, c.FromPort), fmt.Sprintf("%s port %d", c.To, c.ToPort), c.Packets, c.Ways)
	}
	if len(tab.rows) == 0 {
		return
	}
	t.section()
	t.table(tab)
	if left > 0 {
		t.prose(fmt.Sprintf("and %d more; --verbose lists them", left), plain)
	}
}
