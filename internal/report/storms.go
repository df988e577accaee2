package report

import (
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// listedStorms is how many storms a report lists unless it is verbose.
const listedStorms = 8

// storms writes a row per storm that a PFC watchdog found.
func (t *text) storms() {
	all := t.r.Storms
	if len(all) == 0 {
		return
	}
	t.section()
	tab := &table{columns: []column{
		{title: "PFC watchdog: queue in a storm"}, {title: "Found", right: true}, {title: "Restored", right: true},
		{title: "Lasted", right: true}, {title: "Action"}, {title: "Dropped for it", right: true},
	}}
	for i := range all {
		if i == listedStorms && !t.opt.Verbose {
			break
		}
		s := &all[i]
		to := s.ToPS
		if to < 0 {
			to = t.r.EndPS
		}
		dropped := "-"
		if s.Action == record.WatchdogDrop {
			dropped = metrics.FormatCount(s.Dropped.Count) + t.l.Of(" frames")
		}
		tab.add(t.l.Sprintf("%s prio %d", s.Port, s.Class), t.at(s.FromPS), t.when(s.ToPS),
			metrics.FormatTime(to-s.FromPS), string(s.Action), dropped)
	}
	t.table(tab)
	if n := len(all) - listedStorms; n > 0 && !t.opt.Verbose {
		t.prose(t.l.Sprintf("and %d more", n), plain)
	}
	t.stormLoop(all)
}

// stormLoop says of the queue with the most storms that it was restored again and again.
func (t *text) stormLoop(all []record.Storm) {
	type queue struct {
		port  record.PortID
		class int
	}
	var most queue
	times := map[queue]int{} // looked up, never iterated
	for i := range all {
		q := queue{all[i].Port, all[i].Class}
		if times[q]++; times[q] > times[most] {
			most = q
		}
	}
	if times[most] < 3 {
		return
	}
	var first, last *record.Storm
	for i := range all {
		if s := &all[i]; s.Port == most.port && s.Class == most.class {
			if first == nil {
				first = s
			}
			last = s
		}
	}
	again := times[most] - 1
	t.prose(t.l.Sprintf(
		"%s prio %d was restored and found in a storm again %s times, every %s on average",
		most.port,
		most.class,
		metrics.FormatCount(int64(again)),
		metrics.FormatTime((last.FromPS-first.FromPS)/units.Time(again)),
	), plain)
}
