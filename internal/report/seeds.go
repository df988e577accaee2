package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/rows"
	"github.com/hopscope/hopscope/internal/units"
)

// Seeds writes what came of a scenario with several seeds: of each figure the median, the
// least and the largest. c has one column. Width 0 means 100 columns.
func Seeds(w io.Writer, c *compare.Comparison, opt TextOptions) error {
	t := blank(opt)
	s := &c.Stacks[0]
	t.prose(seedsTitle(t.l, c), t.paint.bold)
	if c.Description != "" {
		t.prose(c.Description, t.paint.dim)
	}
	t.section()
	t.table(seedsTable(t.l, s))
	t.prose(lotteryText(t.l, s), plain)
	for _, warning := range s.Warnings {
		t.prose("warning: "+warning, t.paint.warn)
	}
	return t.end(w)
}

// seedsTitle names the scenario, the stack and the seeds.
func seedsTitle(l lang.Language, c *compare.Comparison) string {
	seeds := l.Sprintf("seed %d", c.Seeds[0])
	if n := len(c.Seeds); n > 1 {
		seeds = l.Sprintf("%d seeds, %d to %d", n, c.Seeds[0], c.Seeds[n-1])
	}
	if c.SeedsFinished < c.SeedsAsked {
		seeds += l.Sprintf(" (of %d asked for)", c.SeedsAsked)
	}
	title := fmt.Sprintf("%s: %s, %s", c.Scenario, c.Stacks[0].Stack, seeds)
	if how := ended(l, &c.Stacks[0]); how != "-" {
		title += l.Of("; ended by ") + how
	}
	return title
}

// seedsTable has a row per figure that any seed has a value of.
func seedsTable(l lang.Language, s *compare.Column) *table {
	t := &table{columns: []column{{title: "Figure"}, {title: "Median", right: true}, {title: "Least", right: true},
		{title: "Largest", right: true}, {title: "Range", right: true}}}
	f := &s.Figures
	for _, k := range []struct {
		name   string
		spread compare.Spread[int64]
	}{{l.Of("messages"), f.Messages}, {l.Of("completed"), f.Completed}, {l.Of("never delivered"),
		f.Lost}, {l.Of("failed"), f.Failed}, {l.Of("open"),
		f.Open}} {
		if k.spread.Max > 0 {
			addSpread(t, k.name, k.spread, metrics.FormatCount)
		}
	}
	addSpread(t, l.Of("p50"), f.P50PS, metrics.FormatTime)
	addSpread(t, l.Of("p99"), f.P99PS, metrics.FormatTime)
	addSpread(t, l.Of("slowest"), f.MaxPS, metrics.FormatTime)
	addSpread(t, l.Of("RPC p50"), f.CallP50PS, metrics.FormatTime)
	addSpread(t, l.Of("RPC p99"), f.CallP99PS, metrics.FormatTime)
	for i := range f.Collectives {
		k := &f.Collectives[i]
		addSpread(t, k.Workload, k.TimePS, metrics.FormatTime)
		addSpread(t, k.Workload+l.Of(" busbw"), k.BusBW, func(x float64) string { return l.Sprintf("%.2f GB/s", x) })
	}
	addSpread(t, l.Of("goodput"), f.GoodputBps, metrics.FormatRate)
	addSpread(t, l.Of("fairness (Jain)"), f.Jain, func(j float64) string { return fmt.Sprintf("%.4f", floor4(j)) })
	addSpread(t, l.Of("peak queue"), f.PeakQueue, size)
	for _, k := range []struct {
		name   string
		spread compare.Spread[int64]
		format func(int64) string
	}{{l.Of("marks"), f.Marked, count}, {l.Of("pauses"), f.Pauses, count}, {l.Of("drops"), f.Dropped, count},
		{l.Of("timeouts"), f.Timeouts, count}, {l.Of("resent"), f.Resent, size}} {
		if k.spread.Max > 0 {
			addSpread(t, k.name, k.spread, k.format)
		}
	}
	if f.HeldPS.Max > 0 {
		addSpread(t, l.Of("time held"), f.HeldPS, duration)
	}
	return t
}

// addSpread adds a figure's row, if any seed has a value of it.
func addSpread[T comparableNumber](t *table, name string, s compare.Spread[T], format func(T) string) {
	if s.N == 0 {
		return
	}
	around := "-"
	if r := compare.Range(s); !math.IsInf(r, 0) && r > 0 {
		around = fmt.Sprintf("%.0f %%", 100*r)
	}
	t.add(name, format(s.Median), format(s.Min), format(s.Max), around)
}

// lotteryText says what the ranges mean, of the figures that compare judges, and what they
// leave out where runs ended before their messages.
func lotteryText(l lang.Language, s *compare.Column) string {
	text := lotteryOf(l, s)
	if open := s.Figures.Open; open.Max > 0 {
		text += l.Sprintf(
			" Messages that were open as a run ended, %s of %s at most, are in no completion time and no goodput.",
			metrics.FormatCount(open.Max),
			metrics.FormatCount(s.Figures.Messages.Max),
		)
	}
	return text
}

func lotteryOf(l lang.Language, s *compare.Column) string {
	ranges := l.Of("Range: largest less least, as a part of the median. ")
	f := &s.Figures
	if len(s.Lottery) == 0 {
		var judged []string
		for _, k := range []struct {
			name string
			n    int
		}{{l.Of("completion time"), f.MaxPS.N}, {l.Of("RPC"), f.CallP99PS.N}, {l.Of("goodput"),
			f.GoodputBps.N}, {l.Of("fairness"), f.Jain.N}} {
			if k.n > 0 {
				judged = append(judged, k.name)
			}
		}
		if len(judged) == 0 {
			return ranges + l.Of("Whether it is a lottery nobody can tell: no message was completed in any run, and queues, "+
				"time held and counts are not judged.")
		}
		return ranges + l.Sprintf(
			"No lottery: no %s has a range of more than half the median. Queues, time held and counts may vary more and are not judged.",
			oneOf(l, judged),
		)
	}
	verb := l.Of("is")
	if len(s.Lottery) > 1 {
		verb = l.Of("are")
	}
	text := l.Sprintf(
		"A lottery: %s %s decided by the seed, with a range of more than half the median; no single run stands for the others.",
		strings.Join(s.Lottery, ", "),
		verb,
	)
	if slices.Contains(s.Lottery, "fairness") {
		text += l.Of(" Fairness is judged by what it lies above 1/n, its value where one of n flows has everything.")
	}
	return text
}

// oneOf lists alternatives: "a, b or c".
func oneOf(l lang.Language, words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + l.Of(" or ") + words[last]
}

// WriteSeedsCSV writes seeds.csv, a row per seed of a comparison's only column, into dir,
// which it makes if need be. Every header names its unit.
func WriteSeedsCSV(dir string, c *compare.Comparison) error {
	set, err := files.NewSetIn(dir)
	if err != nil {
		return err
	}
	defer set.Discard()
	if err := set.Write("seeds.csv", func(w io.Writer) error { return rows.CSV(w, seedRows(c)) }); err != nil {
		return err
	}
	return set.Commit()
}

// seedRows is the table of seeds.csv. A collective adds two columns; cells are empty where
// a run has no value. How many seeds were asked for and how many finished stands in each row.
func seedRows(c *compare.Comparison) *rows.Table {
	s := &c.Stacks[0]
	header := []string{"seed", "stopped", "fingerprint", "messages", "completed", "lost", "failed", "open",
		"completion_p50_ps", "completion_p99_ps", "completion_max_ps", "rpc_p50_ps", "rpc_p99_ps", "goodput_bps", "jain",
		"peak_queue_bytes", "held_ps", "pauses", "marked", "dropped", "retransmitted_bytes", "timeouts",
		"seeds_asked", "seeds_finished"}
	for i := range s.Runs[0].Collectives {
		header = append(header, fmt.Sprintf("collective_%d_time_ps", i), fmt.Sprintf("collective_%d_busbw_gbyte_s", i))
	}
	return lines("seeds", header, len(s.Runs), func(i int) []string {
		r := &s.Runs[i]
		out := []string{fmt.Sprint(r.Seed), r.Stopped, r.Fingerprint, integer(r.Messages), integer(r.Completed),
			integer(r.Lost), integer(r.Failed), integer(r.Open),
			nonzero(
				r.P50PS,
			), nonzero(r.P99PS), nonzero(r.MaxPS), nonzero(r.CallP50PS), nonzero(r.CallP99PS), nonzero(units.Time(r.GoodputBps)), "",
			integer(
				r.PeakQueue,
			), integer(r.HeldPS), integer(r.Pauses), integer(r.Marked), integer(r.Dropped), integer(r.Resent), integer(r.Timeouts),
			fmt.Sprint(c.SeedsAsked), fmt.Sprint(c.SeedsFinished)}
		if r.Jain > 0 {
			out[14] = decimal(r.Jain)
		}
		for _, c := range r.Collectives {
			out = append(out, nonzero(c.TimePS), decimal(c.BusBW))
		}
		return out
	})
}

// nonzero is a number, or nothing for 0.
func nonzero[T ~int64](v T) string {
	if v == 0 {
		return ""
	}
	return integer(v)
}
