package report

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rows"
	"github.com/hopscope/hopscope/internal/units"
)

// explainCollective is the word for the critical paths of all collectives.
const explainCollective = "collective"

// collectives writes the collectives in the columns of nccl-tests. Where a workload has several
// sizes, algorithm, protocol and channels stand beside them, and no column gives way.
func (t *text) collectives() {
	if len(t.r.Collectives) == 0 {
		return
	}
	t.section()
	sweep, several := sweeps(t.r.Collectives), len(t.r.Collectives) > mostSentences
	drop := func(order int) int {
		if sweep {
			return 0
		}
		return order
	}
	tab := &table{columns: []column{{title: "Collective\n"}, {title: "size\n(B)", right: true},
		{title: "count\n(elements)", right: true, drop: drop(2)}, {title: "type\n", drop: drop(3)}, {title: "redop\n"},
		{title: "root\n", right: true, drop: drop(1)}, {title: "time\n(us)", right: true},
		{title: "algbw\n(GB/s)", right: true}, {title: "busbw\n(GB/s)", right: true}}}
	choices := sweep || several
	if choices {
		tab.columns = append(tab.columns, column{title: "algorithm\n"}, column{title: "protocol\n"},
			column{title: "channels\n", right: true})
	}
	c := &t.r.Collectives[0]
	others := func(x record.Collective) bool { return x.Workload != c.Workload }
	alone := sweep && !slices.ContainsFunc(t.r.Collectives, others)
	if alone { // its name stands above
		t.prose(t.l.Sprintf("%s: %s over %d ranks, out of place", c.Workload, c.Op, c.Ranks), t.paint.bold)
		tab.columns = tab.columns[1:]
	}
	figures := metrics.Collectives(t.r)
	for i := range t.r.Collectives {
		c, x := &t.r.Collectives[i], &figures[i]
		cells := []string{c.Workload, integer(c.Bytes), integer(c.Count), c.Type, c.RedOp, integer(c.Root)}
		if alone {
			cells = cells[1:]
		}
		if x.Done == 0 {
			tab.addNote(t.l.Of("not over at the end of the run"), cells...)
			continue
		}
		cells = append(cells, microseconds(x), fmt.Sprintf("%.2f", x.AlgBW), fmt.Sprintf("%.2f", x.BusBW))
		if choices {
			cells = append(cells, c.Algorithm, c.Protocol, integer(c.Channels))
		}
		tab.add(cells...)
	}
	t.table(tab)
	t.overlaps()
	if several {
		t.mostly()
		return
	}
	for i := range t.r.Collectives {
		c := &t.r.Collectives[i]
		name := c.Workload
		if sweep {
			name += t.l.Of(" of ") + inUnits(c.Bytes)
		}
		channels, done := howMany(t.l, c.Channels, "channel")+t.l.Of(", steps"), howMany(t.l, figures[i].Done, "time")
		t.prose(t.l.Sprintf("%s: %s over %d ranks, %s, %s, %s of at most %s, %s done", name, c.Op, c.Ranks,
			c.Algorithm, c.Protocol, channels, metrics.FormatBytes(c.Chunk), done), plain)
		if c.Sums != nil {
			t.sums(c)
			continue
		}
		if figures[i].Done > 0 && !t.r.Flows() {
			held, ok := metrics.CollectiveCause(t.l, t.r, i)
			t.prose(name+t.l.Of(": ")+held.Sentence(t.l, ok), plain)
		}
	}
}

// sweeps reports whether a workload has several sizes.
func sweeps(all []record.Collective) bool {
	for i := 1; i < len(all); i++ {
		if all[i].Workload == all[i-1].Workload {
			return true
		}
	}
	return false
}

// inUnits is a size as options of nccl-tests have it.
func inUnits(bytes int64) string { return units.Bytes(bytes).String() }

// mostly says of the sizes of each workload what most of their time goes to, those that follow
// each other together.
func (t *text) mostly() {
	all := t.r.Collectives
	for i := 0; i < len(all); {
		first := metrics.PathShares(all[i].Critical)
		if len(first) == 0 {
			i++
			continue
		}
		least, most, end := 1.0, 0.0, i
		for ; end < len(all) && all[end].Workload == all[i].Workload; end++ {
			s := metrics.PathShares(all[end].Critical)
			if len(s) == 0 || s[0].Part != first[0].Part {
				break
			}
			least, most = min(least, s[0].Share), max(most, s[0].Share)
		}
		sizes, share := inUnits(all[i].Bytes), fmt.Sprintf("%.0f %%", 100*least)
		if end > i+1 {
			sizes += t.l.Of(" to ") + inUnits(all[end-1].Bytes)
		}
		if low, high := fmt.Sprintf("%.0f", 100*least), fmt.Sprintf("%.0f", 100*most); low != high {
			share = low + t.l.Of(" to ") + high + " %"
		}
		line := t.l.Sprintf("%s: of %s most goes to %s (%s)", all[i].Workload, sizes, first[0].Part, share)
		if len(first) > 1 && first[1].Share >= 0.2 {
			line += t.l.Of(", then ") + first[1].Part.In(t.l)
		}
		t.prose(line, plain)
		i = end
	}
}

// mostSentences is how many collectives have a sentence each below their table; of more the
// table has what they would say.
const mostSentences = 3

// overlaps says where a size was not over when the next of its workload began.
func (t *text) overlaps() {
	for i := range t.r.Collectives[1:] {
		c, next := &t.r.Collectives[i], &t.r.Collectives[i+1]
		if c.Workload != next.Workload || len(c.EndPS) == 0 {
			continue
		}
		if last := c.EndPS[len(c.EndPS)-1]; last < 0 || last > next.StartPS {
			t.prose(
				t.l.Sprintf(
					"%s: %d B were not over when the next size began, so that both took longer; give each a run of its own",
					c.Workload,
					c.Bytes,
				),
				t.paint.warn,
			)
		}
	}
}

// howMany is a number with its noun.
func howMany(l lang.Language, n int, word string) string {
	return l.Counted(int64(n), strconv.Itoa(n), word)
}

// microseconds writes a time with the digits that nccl-tests gives it.
func microseconds(x *metrics.Collective) string {
	us := float64(x.TimePS) / 1e6
	switch {
	case us >= 10000:
		return fmt.Sprintf("%.0f", us)
	case us >= 100:
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.2f", us)
}

// NCCLTests writes the collectives of a run as nccl-tests prints its results. What
// that measures twice, out of place and in place, is one here and stands twice; it
// checks no data, which reads N/A.
func NCCLTests(r *record.Run) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# hopscope: %s, %s; in-place figures repeat those out-of-place\n#\n", r.Scenario, r.Stack)
	fmt.Fprintf(&b, "# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place          \n", "",
		"", "", "", "")
	fmt.Fprintf(&b, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s %6s  %7s  %6s  %6s %6s\n", "size", "count", "type",
		"redop", "root",
		"time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong")
	fmt.Fprintf(&b, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %5s  %7s  %6s  %6s  %5s\n", "(B)", "(elements)", "", "",
		"",
		"(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "")
	sum, done := 0.0, 0
	for i, x := range metrics.Collectives(r) {
		c := &r.Collectives[i]
		if x.Done == 0 {
			continue
		}
		figures := fmt.Sprintf("  %7s  %6.2f  %6.2f  %5s", microseconds(&x), x.AlgBW, x.BusBW, "N/A")
		fmt.Fprintf(&b, "%12d  %12d  %8s  %6s  %6d%s%s\n", c.Bytes, c.Count, c.Type, c.RedOp, c.Root, figures, figures)
		sum, done = sum+x.BusBW, done+1
	}
	fmt.Fprintf(&b, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %g \n#\n", sum/float64(max(done, 1)))
	return b.Bytes()
}

// collectiveTable has a row per collective.
func collectiveTable(r *record.Run) *rows.Table {
	figures := metrics.Collectives(r)
	header := []string{"workload", "op", "algorithm", "protocol", "ranks", "channels", "chunk_bytes", "bytes", "count",
		"type", "redop", "root",
		"start_ps", "done", "time_ps", "algbw_gbyte_s", "busbw_gbyte_s"}
	return lines("collectives", header, len(figures), func(i int) []string {
		c, x := &r.Collectives[i], &figures[i]
		return []string{c.Workload, c.Op, c.Algorithm, c.Protocol, integer(c.Ranks), integer(c.Channels), integer(c.Chunk),
			integer(c.Bytes),
			integer(
				c.Count,
			), c.Type, c.RedOp, integer(c.Root), integer(c.StartPS), integer(x.Done), integer(x.TimePS), decimal(x.AlgBW), decimal(x.BusBW)}
	})
}

// criticalTable has a line per stage of a critical path.
func criticalTable(r *record.Run) *rows.Table {
	header := []string{"workload", "operations", "operation_count", "stage", "where", "places", "count", "time_ps"}
	n := len(r.Collectives)
	return &rows.Table{Name: "critical", N: n + len(r.Jobs), Header: header, Cells: func(i int, put func(...string)) {
		workload, path := "", []record.CriticalGroup(nil)
		if i < n {
			workload, path = r.Collectives[i].Workload, r.Collectives[i].Critical
		} else {
			workload, path = r.Jobs[i-n].Workload, r.Jobs[i-n].Critical
		}
		for _, g := range path {
			for _, s := range g.Stages {
				put(workload, g.Kind, integer(g.Count), s.Name(), s.Where.String(), integer(s.Places), integer(s.Count),
					integer(s.TimePS))
			}
		}
	}}
}

// critical writes one critical path: the operations of each kind together, each
// stage with its share of the whole.
func (t *text) critical(c *record.Collective) {
	t.section()
	total, ops := criticalTotal(c)
	switch {
	case ops == 0 && c.Sums != nil:
		t.prose(c.Workload+t.l.Of(": ")+metrics.SumsSentence(t.l, c), t.paint.bold)
		return
	case ops == 0:
		t.prose(c.Workload+t.l.Of(": not over at the end of the run, so that it has no critical path"), t.paint.bold)
		return
	}
	t.prose(t.l.Sprintf("%s: critical path of %s from %s on: %s one after the other", c.Workload,
		metrics.FormatTimeDigits(total, 4), t.at(c.StartPS),
		howMany(t.l, ops, "operation")), t.paint.bold)
	tab := &table{columns: []column{{title: "Operations"}, {title: "Stage"}, {title: "Times", right: true, drop: 1},
		{title: "Time", right: true},
		{title: "Share", right: true}, {title: "Where most (places)", wrap: true, drop: 2}}}
	for _, g := range c.Critical {
		name := fmt.Sprintf("%s (%s)", g.Kind, metrics.FormatCount(int64(g.Count)))
		if len(g.Stages) == 0 {
			tab.add(name, t.l.Of("takes no time"), metrics.FormatCount(int64(g.Count)), metrics.FormatTimeDigits(0, 4),
				shareOf(0, total), "")
		}
		for _, s := range g.Stages {
			where := s.Where.In(t.l)
			if s.Places > 1 {
				where += fmt.Sprintf(" (%d)", s.Places)
			}
			tab.add(name, s.Name(), countOf(s.Count), metrics.FormatTimeDigits(s.TimePS, 4),
				shareOf(s.TimePS, total), where)
			name = ""
		}
	}
	tab.add(t.l.Of("in all"), "", "", metrics.FormatTimeDigits(total, 4), shareOf(total, total), "")
	t.table(tab)
	for _, g := range c.Critical {
		for _, s := range g.Stages {
			if why := metrics.WhyRate(t.l, t.r, s.Where); s.Stage == catalog.StageRate && s.TimePS*100 >= total && why != "" {
				t.prose(t.l.Of("rate: ")+why, plain)
			}
		}
	}
}

// countOf is how many operations had a stage, where that was counted.
func countOf(n int) string {
	if n == 0 {
		return "-"
	}
	return metrics.FormatCount(int64(n))
}

// criticalTotal adds up a critical path.
func criticalTotal(c *record.Collective) (total units.Time, ops int) {
	for _, g := range c.Critical {
		total += g.TimePS
		ops += g.Count
	}
	return total, ops
}
