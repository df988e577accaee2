package report

import (
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
)

// cpu writes what the applications had to do on either side, where they differ:
// some verb is no WRITE, or a cost is stated.
func (t *text) cpu() {
	tell, posts := t.opt.Verbose, int64(0)
	for i := range t.s.Work {
		w := &t.s.Work[i]
		tell = tell || w.Verbs != "WRITE" || w.Requesters.CPUPS > 0
		posts += w.Requesters.Posts
	}
	if !tell || posts == 0 {
		return
	}
	tab := &table{columns: []column{
		{title: "Work of\napplications"}, {title: "\nVerb", drop: 4}, {title: "\nRequester",
			drop: 2}, {title: "Requests\nposted", right: true},
		{title: "\npolled", right: true}, {title: "\nCPU", right: true, drop: 1}, {title: "\nResponder",
			drop: 3}, {title: "Receives\npolled", right: true},
		{title: "posted\nanew", right: true}, {title: "\nCPU", right: true, drop: 1},
	}}
	for i := range t.s.Work {
		w := &t.s.Work[i]
		q, p := &w.Requesters, &w.Responders
		tab.add(w.Workload, w.Verbs, hostsOf(t.l, q), metrics.FormatCount(q.Posts), metrics.FormatCount(q.Polls), cpuTime(q),
			hostsOf(t.l, p), metrics.FormatCount(p.Polls), metrics.FormatCount(p.Posts), cpuTime(p))
	}
	t.section()
	t.table(tab)
}

// hostsOf names one host, and counts several.
func hostsOf(l lang.Language, s *metrics.Side) string {
	switch len(s.Hosts) {
	case 0:
		return "-"
	case 1:
		return s.Hosts[0]
	}
	return l.Sprintf("%d hosts", len(s.Hosts))
}

func cpuTime(s *metrics.Side) string {
	if s.CPUPS == 0 {
		return "-"
	}
	return metrics.FormatTimeDigits(s.CPUPS, 4)
}
