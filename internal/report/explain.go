package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/names"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/visible"
)

// Widths of the waterfall's bar.
const (
	barMin = 12
	barMax = 40
	// What the other columns take: a name that is not yet wrapped, the numbers
	// and the gaps.
	nameMin = 42
	numbers = 27
)

// shortMilli is the share, in thousandths, below which neighbouring stages are
// shown as one.
const shortMilli = 5

// Find returns the index of the message that a name, which Names.Check has let pass, stands for:
// "slowest", a number (the rows of messages.csv, from 0), "h2->h4" or, as reports write a READ,
// "h4 <- h2": the way the data goes. Of several between two hosts it is the slowest, and among is
// how many there are. Where some failed, or nothing moves them on, the slowest is the one of these
// that took longest to fail, or was open longest.
func Find(r *record.Run, which string) (index, among int) {
	if which == explainSlowest {
		return slowest(r), 1
	}
	if n, err := strconv.Atoi(which); err == nil {
		return n, 1
	}
	index = -1
	for i := range r.Messages {
		f := &r.Messages[i]
		from, to := metrics.DataEnds(f)
		if !namesPair(which, from, to) {
			continue
		}
		among++
		if index < 0 || f.Life() > r.Messages[index].Life() {
			index = i
		}
	}
	return index, among
}

// slowest is the message that took longest: of those that failed or that nothing moves on, else of
// those that succeeded, else of those that are open.
func slowest(r *record.Run) (index int) {
	index = -1
	for i := range r.Messages {
		f := &r.Messages[i]
		if !metrics.Completed(f) && !cutShort(r, f) && (index < 0 || f.Life() > r.Messages[index].Life()) {
			index = i
		}
	}
	if index >= 0 {
		return index
	}
	if worst := metrics.Summarise(r).Worst; len(worst) > 0 {
		return worst[0]
	}
	index = 0
	for i := range r.Messages {
		if r.Messages[i].Life() > r.Messages[index].Life() {
			index = i
		}
	}
	return index
}

// cutShort reports whether a message is open for no other reason than that the run was to end.
func cutShort(r *record.Run, f *record.Message) bool {
	return metrics.Open(f) && (f.OpenPS == 0 || r.Stopped == "stop time" || r.Stopped == "interrupted")
}

// isEnd reports whether an end "h4:2/gpu1" is what was asked for: itself, its port, its
// host, or the GPU by whatever port, "h4/gpu1".
func isEnd(end, asked string) bool {
	port, inside := names.Inside(end)
	host := names.Node(end)
	return end == asked || port == asked || host == asked || host == names.Quoted(asked) ||
		inside != "" && host+"/"+inside == asked
}

// delivery tells what became of a message of a service without acknowledgements,
// in words that follow.
func delivery(l lang.Language, f *record.Message) string {
	switch {
	case !f.Is(catalog.Delivers):
		return ""
	case f.DeliveredPS < 0:
		return l.Of(", and never delivered")
	}
	return l.Of(", and delivered after ") + metrics.FormatTimeDigits(f.DeliveredPS, 4)
}

func (t *text) explained(i, among int) {
	f := &t.r.Messages[i]
	t.section()
	head := t.l.Sprintf("Message %d: %s, %s of %s posted at %s", i, metrics.Arrow(f), verb(f),
		metrics.FormatBytes(f.Bytes), t.at(f.StartPS))
	if among > 1 {
		head += t.l.Sprintf(" (the slowest of %d)", among)
	}
	if metrics.Open(f) {
		if f.OpenPS == 0 {
			t.prose(head+t.l.Of(": the run ended before it was posted"), t.paint.bold)
			return
		}
		last := t.l.Sprintf("%s, still open when the run ended %s later", head, metrics.FormatTimeDigits(f.OpenPS, 4))
		if t.r.StillPS > 0 {
			last = t.l.Sprintf("%s, still open in a deadlock when the run ended %s later", head,
				metrics.FormatTimeDigits(f.OpenPS, 4))
		}
		t.prose(last, t.paint.bold)
	} else {
		t.prose(t.l.Sprintf("%s, completed after %s with %s%s", head, metrics.FormatTimeDigits(f.CompletionPS, 4),
			f.Status, delivery(t.l, f)), t.paint.bold)
	}
	if f.Account.IsZero() {
		t.prose(t.l.Of("the record holds no account of it"), plain)
		return
	}
	t.waterfall(f)
	d, c := metrics.ExplainIn(t.l, t.r, i)
	if d.Stage != catalog.NoStage {
		t.prose(dominantLine(t.l, &d), t.paint.bold)
		if d.Loss != "" {
			t.prose(d.Loss, plain)
		}
		if d.Core != "" {
			t.prose(d.Core, plain)
		}
	}
	t.firstLost(i)
	t.cores(i)
	t.ceiling(c)
}

// firstLost says when the first frame of a message's connection was lost, and when its sender first sent again, to the
// picosecond and in the run's own time, so that both can be found in a capture and on a timeline.
func (t *text) firstLost(i int) {
	l, lost := metrics.FirstLostOf(t.r, i)
	if !lost {
		return
	}
	said := t.l.Sprintf("in the time of the run: the first frame of its connection was lost at %v (%v, %v)", l.At,
		l.Where, l.Cause)
	if l.Again >= 0 {
		said += t.l.Sprintf("; %v first sent again at %v", l.By, l.Again)
	}
	t.prose(said, plain)
}

// dominantLine says what took most of a message's time. Stages of one cause are
// listed with the share of each.
func dominantLine(l lang.Language, d *metrics.Dominant) string {
	if len(d.Parts) == 1 {
		return fmt.Sprintf("%s %s: %s", percent(d.Milli), d.Stage.In(l), d.How)
	}
	var parts []string
	for _, p := range d.Parts {
		if p.Milli > 0 {
			parts = append(parts, percent(p.Milli)+" "+p.Stage.In(l))
		}
	}
	return l.Sprintf("%s due to %s (%s): %s", percent(d.Milli), d.Where, strings.Join(parts, ", "), d.How)
}

// percent writes thousandths as a share.
func percent(milli int64) string {
	if milli >= 100 {
		return fmt.Sprintf("%.0f %%", float64(milli)/10)
	}
	return fmt.Sprintf("%.1f %%", float64(milli)/10)
}

// bar is one line of the waterfall.
type bar struct {
	from, time  units.Time
	stage       catalog.Stage // the first
	name, where string
	start       string // where it begins
	parts       int    // stages merged into it
	rows        []int  // their rows in the account
}

// waterfall writes the account: each bar begins where the one before ended.
func (t *text) waterfall(f *record.Message) {
	bars := barsOf(t.l, f.Account.Stages())
	if !t.opt.Verbose {
		bars = mergeShort(t.l, mergeRepeated(t.l, mergeAck(t.l, bars)), f.Life())
	}
	at := units.Time(0)
	for k := range bars {
		bars[k].from = at
		at += bars[k].time
	}
	width := t.barWidth(bars)
	tab := &table{columns: []column{{title: "When"}, {title: "Time", right: true}, {title: "Share", right: true},
		{title: "Stage", wrap: true}, {title: "Where"}}}
	for _, b := range bars {
		tab.add(drawBar(b, at, width), metrics.FormatTimeDigits(b.time, 4), shareOf(b.time, at), b.name, b.where)
	}
	last := t.l.Of("completion")
	if metrics.Open(f) {
		last = t.l.Of("end of the run")
	}
	tab.add("", metrics.FormatTimeDigits(at, 4), shareOf(at, at), last, "")
	t.table(tab)
}

// barWidth is what the other columns leave.
func (t *text) barWidth(bars []bar) int {
	names, places := 0, 0
	for _, b := range bars {
		names, places = max(names, visible.Width(b.name)), max(places, visible.Width(b.where))
	}
	return min(max(t.width-min(names, nameMin)-places-numbers, barMin), barMax)
}

func shareOf(d, total units.Time) string {
	if total <= 0 {
		return "-"
	}
	if u := float64(d) / float64(total); u >= 0.0005 || d == 0 {
		return fmt.Sprintf("%.1f %%", 100*u)
	}
	return "<0.1 %"
}

// drawBar places a bar of one line on the time axis; what is shorter than a
// column is a stroke.
func drawBar(b bar, total units.Time, width int) string {
	if total <= 0 {
		return ""
	}
	cell := func(t units.Time) int { return int(float64(t) / float64(total) * float64(width)) }
	from, to := cell(b.from), cell(b.from+b.time)
	if to <= from {
		return strings.Repeat(" ", min(from, width-1)) + "|"
	}
	return strings.Repeat(" ", from) + strings.Repeat("#", to-from)
}

func barsOf(l lang.Language, a record.Account) (bars []bar) {
	for i := range a {
		s, at := &a[i], a[i].Place()
		b := bar{time: s.Time, stage: s.Stage, name: s.Stage.In(l), where: at.In(l), parts: 1, rows: []int{i}}
		b.start = b.where
		if at.Kind == catalog.AtCable {
			b.start = at.Node
		}
		bars = append(bars, b)
	}
	return bars
}

// ackWay stands for the hops of the ACK that completed the message.
const ackWay = "ACK's way back"

// mergeAck makes the acknowledgement's way one line. It comes last.
func mergeAck(l lang.Language, bars []bar) []bar {
	k := len(bars)
	for k > 0 && isAckWay(bars[k-1].stage) {
		k--
	}
	if len(bars)-k < 2 {
		return bars
	}
	back := bar{name: l.Of(ackWay), parts: len(bars) - k}
	for _, b := range bars[k:] {
		back.time += b.time
		back.rows = append(back.rows, b.rows...)
	}
	if bars[k].stage.Leg() == catalog.LegAck {
		back.where = l.Of("from ") + firstPlace(l, bars[k:])
	}
	return append(slices.Clone(bars[:k]), back)
}

func firstPlace(l lang.Language, bars []bar) string {
	for _, b := range bars {
		if b.start != "" {
			return b.start
		}
	}
	return l.Of("the responder")
}

// isAckWay reports whether a stage belongs to the way of the ACK.
func isAckWay(s catalog.Stage) bool {
	return s.Leg() == catalog.LegAck && s != catalog.StageAckLost && s != catalog.StageAckOvertaken &&
		s != catalog.StageCoalesce
}

// mergeRepeated adds up stages that came again after rewinds, at the place of
// the first.
func mergeRepeated(l lang.Language, bars []bar) (out []bar) {
	at := map[string]int{}
	for _, b := range bars {
		key := b.name + "\x00" + b.where
		if k, again := at[key]; again {
			out[k].time += b.time
			out[k].parts++
			out[k].rows = append(out[k].rows, b.rows...)
			continue
		}
		at[key] = len(out)
		out = append(out, b)
	}
	for k := range out {
		if out[k].parts > 1 && out[k].name != l.Of(ackWay) {
			out[k].name += l.Sprintf(" (%d times)", out[k].parts)
		}
	}
	return out
}

// mergeShort joins neighbours that each take less than shortMilli of the total.
func mergeShort(l lang.Language, bars []bar, total units.Time) (out []bar) {
	short := func(b bar) bool { return b.name != l.Of(ackWay) && int64(b.time) < int64(total)/1000*shortMilli }
	for k := 0; k < len(bars); {
		n := k
		for n < len(bars) && short(bars[n]) {
			n++
		}
		if n-k < 2 {
			out = append(out, bars[k])
			k++
			continue
		}
		out = append(out, joined(l, bars[k:n]))
		k = n
	}
	return out
}

func joined(l lang.Language, bars []bar) bar {
	b := bar{parts: len(bars)}
	var names []string
	for _, s := range bars {
		b.time += s.time
		b.rows = append(b.rows, s.rows...)
		if !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	b.name = strings.Join(names, ", ")
	if len(names) > 3 {
		b.name = l.Sprintf("%s and %d more", strings.Join(names[:2], ", "), len(names)-2)
	}
	first, last := bars[0].start, bars[len(bars)-1].start
	if first != "" && last != "" && first != last {
		b.where = first + " .. " + last
	} else {
		b.where = first + last
		if first == last {
			b.where = first
		}
	}
	return b
}

// ceiling writes what each hop and limit allows beside what was reached, and
// what explains the gap.
func (t *text) ceiling(c *metrics.Ceiling) {
	if c == nil {
		return
	}
	t.section()
	tab := &table{columns: []column{{title: "Ceiling"}, {title: "Payload", right: true}, {title: "Reached", right: true},
		{title: "Because", wrap: true}}}
	for _, l := range c.Limits {
		reached := "-"
		if c.MeasuredBps > 0 && l.Bps > 0 {
			reached = shareOf(units.Time(c.MeasuredBps), units.Time(l.Bps))
		}
		tab.add(t.l.Of(l.Name), metrics.FormatRate(l.Bps), reached, l.How)
	}
	t.table(tab)
	line := t.l.Sprintf("at best %s, at %s", metrics.FormatRate(c.BestBps), c.At)
	if c.MeasuredBps > 0 {
		line = t.l.Sprintf("reached %s of at best %s (%s)", metrics.FormatRate(c.MeasuredBps),
			metrics.FormatRate(c.BestBps), c.At)
		if c.Shared != "" {
			line += t.l.Of("; ") + c.Shared
		}
		if c.How != "" {
			line += t.l.Of("; what is missing: ")
		}
		if !c.Placed {
			line += c.Cause.Place + t.l.Of(": ")
		}
		line += c.How
		if c.Reached {
			line = t.l.Sprintf("reached %s of at best %s: %s is the limit", metrics.FormatRate(c.MeasuredBps),
				metrics.FormatRate(c.BestBps), c.At)
		}
	}
	t.prose(line, plain)
}
