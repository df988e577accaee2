package report

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// listedFailures is how many failed links a report lists unless it is verbose.
const listedFailures = 8

// failures writes a row per link that failed.
func (t *text) failures() {
	all := t.r.Failures
	if len(all) == 0 {
		return
	}
	t.section()
	tab := &table{columns: []column{
		{title: "Link that failed"}, {title: "When", right: true}, {title: "Noticed", right: true}, {title: "Converged",
			right: true},
		{title: "Works again", right: true, drop: 2}, {title: "Tables", right: true, drop: 1}, {title: "Lost on it",
			right: true},
	}}
	for i := range all {
		if i == listedFailures && !t.opt.Verbose {
			break
		}
		f := &all[i]
		back := units.Time(-1)
		if f.UpPS > 0 {
			back = f.UpPS
		}
		link := f.Link.String()
		switch {
		case f.SwitchDown != "":
			link += " (" + f.SwitchDown + t.l.Of(" down)")
		case f.LostFrom != "":
			link += t.l.Of(" (from ") + f.LostFrom + ")"
		}
		tab.add(link, t.at(f.DownPS), t.when(f.NoticedPS), t.when(f.ReroutedPS), t.when(back),
			metrics.FormatCount(int64(f.Switches)), t.l.Sprintf("%s frames", metrics.FormatCount(f.LostFrames)))
	}
	t.table(tab)
	if n := len(all) - listedFailures; n > 0 && !t.opt.Verbose {
		t.prose(t.l.Sprintf("and %d more", n), plain)
	}
	first := ""
	if at, any := metrics.FirstLoss(t.r, &all[0]); any {
		first = t.l.Of("; the first frame was lost on it at ") + t.at(at)
	}
	t.prose(fmt.Sprintf("%s: %s%s", all[0].Link, metrics.FailureSteps(t.l, &all[0]), first), plain)
	t.prose(t.l.Sprintf("flows that took another path: %s (a queue pair's data and the answers to it count apart)",
		metrics.FormatCount(int64(t.r.FlowsMoved))), plain)
	for i := range t.r.Loops {
		if l := &t.r.Loops[i]; i < listedLoops || t.opt.Verbose {
			t.prose(t.l.Sprintf("packets, to %s the first, %s; %s frames ended their TTL in it", l.To, metrics.SayLoop(t.l, l),
				metrics.FormatCount(l.Expired)), plain)
		}
	}
	if n := len(t.r.Loops) - listedLoops; n > 0 && !t.opt.Verbose {
		t.prose(t.l.Sprintf("and %d more loops", n), plain)
	}
}

// listedLoops is how many forwarding loops a report lists unless it is verbose.
const listedLoops = 4

// when is a time, or - for one that did not come.
func (t *text) when(at units.Time) string {
	if at < 0 {
		return "-"
	}
	return t.at(at)
}
