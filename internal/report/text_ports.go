package report

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// ports writes the congested ports and classes, the worst first, and one line
// on the rest. When none was congested the deepest queues stand in.
func (t *text) ports() {
	listed, rest := t.listPorts()
	if len(listed) == 0 {
		return
	}
	t.section()
	t.table(t.portTable(listed))
	t.portScope(listed)
	if line := t.restLine(rest); line != "" {
		t.prose(line, plain)
	}
	t.drops()
}

// listPorts splits the ports that carried anything into those shown and the
// rest.
func (t *text) listPorts() (listed, rest []int) {
	all := t.s.Ports
	if t.opt.Verbose {
		return all, nil
	}
	n := 0
	for n < len(all) && metrics.Congested(&t.r.Ports[all[n]]) {
		n++
	}
	if n == 0 {
		n = min(listedQuiet, len(all))
	}
	if n <= listedPorts {
		return all[:n], all[n:]
	}
	chosen := t.choose(all)
	for i, port := range all {
		if chosen[i] {
			listed = append(listed, port)
		} else {
			rest = append(rest, port)
		}
	}
	return listed, rest
}

// choose marks listedPorts of the ports in all: the two leading ones by every
// measure, so that many held ports do not hide the queue that made them wait,
// then the first.
func (t *text) choose(all []int) []bool {
	chosen := make([]bool, len(all))
	n := 0
	pick := func(i int) {
		if !chosen[i] && n < listedPorts {
			chosen[i] = true
			n++
		}
	}
	for _, measure := range []func(*record.Port) int64{
		t.peak,
		func(p *record.Port) int64 { return p.Marked },
		func(p *record.Port) int64 { return p.Dropped },
		func(p *record.Port) int64 { return p.PausesSent },
	} {
		first, second := -1, -1
		for i, port := range all {
			v := measure(&t.r.Ports[port])
			switch {
			case v == 0:
			case first < 0 || v > measure(&t.r.Ports[all[first]]):
				first, second = i, first
			case second < 0 || v > measure(&t.r.Ports[all[second]]):
				second = i
			}
		}
		for _, i := range []int{first, second} {
			if i >= 0 {
				pick(i)
			}
		}
	}
	for i := range all {
		pick(i)
	}
	return chosen
}

// portScope says over what time the columns are, and what pauses are counted,
// where that is in doubt.
func (t *text) portScope(listed []int) {
	if t.inWindow() {
		t.prose(t.l.Sprintf("Peak, mean and least queue and Used: from %s to %s; all other columns: the whole run",
			metrics.FormatTimeDigits(t.r.MeasureFrom, 4), metrics.FormatTimeDigits(t.r.MeasureTo, 4)), plain)
	}
	var sent, received, refreshes int64
	for i := range t.r.Ports {
		p := &t.r.Ports[i]
		sent, received, refreshes = sent+p.PausesSent, received+p.PausesReceived, refreshes+p.RefreshesSent
	}
	if received > sent && refreshes > 0 {
		t.prose(
			t.l.Sprintf(
				"Pauses sent leaves out %s refreshes; pauses received counts %s of them that came after the pause had lapsed and stopped the port anew",
				metrics.FormatCount(refreshes),
				metrics.FormatCount(received-sent),
			),
			plain,
		)
	}
}

// inWindow reports whether there was a measure window.
func (t *text) inWindow() bool { return t.r.MeasureTo > t.r.MeasureFrom }

// peak is the largest queue length: of the measure window if there is one, as
// the mean beside it is.
func (t *text) peak(p *record.Port) int64 {
	if t.inWindow() {
		return p.MaxQueueBytes
	}
	return p.PeakQueueBytes
}

func (t *text) portTable(index []int) *table {
	class, paused := t.classTitles()
	tab := &table{columns: []column{
		{title: "Port"}, {title: "To", drop: 3}, {title: class, right: true}, {title: "Peak\nqueue", right: true},
		{title: "Mean\nqueue", right: true}, {title: "Min\nqueue", right: true, drop: 2}, {title: "Marked", right: true},
		{title: "Pauses\nsent", right: true}, {title: "Pauses\nrecv", right: true}, {title: "Held", right: true},
		{title: paused, right: true, drop: 1}, {title: "Drops", right: true}, {title: "Used", right: true, drop: 4},
		{title: "Ingress\npeak", right: true, drop: 5}, {title: "In head-\nroom", right: true, drop: 6},
	}}
	for _, i := range index {
		p := &t.r.Ports[i]
		tab.add(
			p.Name(),
			p.Peer.String(),
			integer(p.Class),
			size(t.peak(p)),
			size(int64(p.MeanQueueBytes+0.5)),
			t.minimum(
				p,
			),
			count(p.Marked),
			count(p.PausesSent),
			count(p.PausesReceived),
			duration(p.HeldPS),
			duration(p.PausedPS),
			count(p.Dropped),
			share(p.Utilisation),
			size(p.PeakIngress),
			size(p.PeakHeadroom),
		)
	}
	return tab
}

// classTitles head the columns of classes and of the time in which they may not send: those
// of the only link layer, or words for all.
func (t *text) classTitles() (class, held string) {
	layers := metrics.Layers(t.r)
	words := layers[0].Words(t.l)
	if len(layers) > 1 {
		return t.l.Of("Class"), t.l.Of("Shut")
	}
	return words.ClassTitle, words.HeldTitle
}

// minimum is the smallest queue length, which only a measure window makes
// telling: there 0 means that the queue ran empty.
func (t *text) minimum(p *record.Port) string {
	if !t.inWindow() {
		return "-"
	}
	return metrics.FormatBytes(p.MinQueueBytes)
}

// A dash stands for nothing, so that the eye finds what is there.

func count(n int64) string {
	switch {
	case n == 0:
		return "-"
	case n >= 10_000_000:
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	case n >= 1_000_000:
		return fmt.Sprintf("%.2f M", float64(n)/1e6)
	}
	return metrics.FormatCount(n)
}

func size(n int64) string {
	if n == 0 {
		return "-"
	}
	return metrics.FormatBytes(n)
}

func duration(d units.Time) string {
	if d == 0 {
		return "-"
	}
	return metrics.FormatTime(d)
}

func share(u float64) string {
	switch {
	case u == 0:
		return "-"
	case u < 0.0005: // would round to 0.0
		return "<0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*u)
}

// restLine says what the ports that are not listed did.
func (t *text) restLine(rest []int) string {
	if len(rest) == 0 {
		return ""
	}
	congested := 0
	deepest := &t.r.Ports[rest[0]]
	for _, i := range rest {
		p := &t.r.Ports[i]
		if metrics.Congested(p) {
			congested++
		}
		if t.peak(p) > t.peak(deepest) {
			deepest = p
		}
	}
	s := t.l.Sprintf("and %s more that carried traffic", metrics.FormatCount(int64(len(rest))))
	if congested > 0 {
		s += t.l.Sprintf(", %s of them with marks, pauses or drops", metrics.FormatCount(int64(congested)))
	} else {
		s += t.l.Of(" without mark, pause or drop")
	}
	if t.peak(deepest) > 0 {
		s += t.l.Sprintf("; deepest queue %s at %s %s", metrics.FormatBytes(t.peak(deepest)),
			deepest.Name(), deepest.Layer.Words(t.l).Class+" "+integer(deepest.Class))
	}
	return s
}

// drops names the causes of drops, port by port.
func (t *text) drops() {
	if t.s.Totals.Dropped == 0 {
		return
	}
	class, _ := t.classTitles()
	tab := &table{columns: []column{
		{title: "Drops at"}, {title: class, right: true}, {title: "Cause"}, {title: "Frames", right: true},
		{title: "First", right: true}, {title: "Last", right: true},
	}}
	more := 0
	for _, i := range t.s.Ports {
		p := &t.r.Ports[i]
		for _, d := range p.DropCauses {
			if len(tab.rows) == listedDrops && !t.opt.Verbose {
				more++
				continue
			}
			tab.add(p.Name(), integer(p.Class), d.Cause.In(t.l), metrics.FormatCount(d.Count),
				t.at(d.First), t.at(d.Last))
		}
	}
	if len(tab.rows) == 0 {
		return
	}
	t.section()
	t.table(tab)
	if more > 0 {
		t.line(t.l.Sprintf("and %d more", more))
	}
}
