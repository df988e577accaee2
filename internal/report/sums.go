package report

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// sums writes what was added up of a collective's operations.
func (t *text) sums(c *record.Collective) {
	t.prose(c.Workload+t.l.Of(": ")+metrics.SumsSentence(t.l, c), plain)
	last := ""
	if c.Sums.LastRank >= 0 {
		last = t.l.Sprintf("; rank %d ended last", c.Sums.LastRank)
	}
	t.prose(t.l.Sprintf("its %s operations were added up by kind as it ran%s; records: messages keeps each, and with "+
		"it where and why messages were held", metrics.FormatCount(c.Sums.Operations), last), plain)
	if q := c.Sums.QueuePairs; q != nil {
		t.prose(t.l.Sprintf("%s queue pairs were made as they were first used, at most %s at a time on a host; "+
			"they sent %s packets, %s of them again",
			metrics.FormatCount(q.Made), metrics.FormatCount(q.Most), metrics.FormatCount(q.SentPackets),
			metrics.FormatCount(q.Retransmitted)), plain)
	}
	tab := &table{columns: []column{{title: t.l.Of("Operations of\n") + c.Workload}, {title: "\nNumber", right: true},
		{title: "Mean\ntime", right: true},
		{title: "\nLongest", right: true}, {title: "Mean wait\nbefore", right: true}, {title: "Most of it\n"}}}
	for i := range c.Sums.Kinds {
		k := &c.Sums.Kinds[i]
		n := units.Time(max(k.Count, 1))
		wait := "-"
		if k.WaitedPS > 0 {
			wait = metrics.FormatTimeDigits(k.WaitedPS/n, 4)
		}
		tab.add(k.Kind, metrics.FormatCount(k.Count), metrics.FormatTimeDigits(k.TimePS/n, 4),
			metrics.FormatTimeDigits(k.LongestPS, 4), wait, mostOf(k))
	}
	t.section()
	t.table(tab)
	t.prose(t.l.Of("these ran side by side: their times do not add up to the collective's; the wait is that of a "+
		"thread block between two steps"), t.paint.dim)
}

// mostOf names the stage that took most of the time of a kind of operations.
func mostOf(k *record.KindSum) string {
	var most *record.StageSum
	for i := range k.Stages {
		if s := &k.Stages[i]; most == nil || s.TimePS > most.TimePS {
			most = s
		}
	}
	if most == nil || k.TimePS == 0 {
		return "-"
	}
	return fmt.Sprintf("%s %.0f %%", most.Name(), 100*float64(most.TimePS)/float64(k.TimePS))
}
