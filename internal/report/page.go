package report

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// A page has tables and drawings of its own. Its sentences are those of the text, which these
// functions return.

// said are the sentences that part of a report writes, each whole.
func said(r *record.Run, s *metrics.Summary, verbose bool, write func(t *text)) []string {
	t := newText(r, TextOptions{Width: 1 << 30, Verbose: verbose})
	t.s, t.proseOnly = s, true
	write(t)
	return whole(t.b.String())
}

// whole are the lines of a text that is as wide as it needs to be.
func whole(text string) (out []string) {
	for _, l := range strings.Split(text, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// Opening says what ran, how it ended and, of a run that carries data, whether they arrived.
func Opening(r *record.Run, s *metrics.Summary) []string {
	return said(r, s, false, (*text).header)
}

// OnCollectives says what held up the collectives.
func OnCollectives(r *record.Run, s *metrics.Summary) []string {
	return said(r, s, false, (*text).collectives)
}

// OnFailures says how the first link that failed was taken out, and how many flows moved.
func OnFailures(r *record.Run, s *metrics.Summary) []string {
	return said(r, s, false, (*text).failures)
}

// OnHeld says which messages a pause tree held.
func OnHeld(r *record.Run, s *metrics.Summary, tree *metrics.PauseTree) []string {
	return said(r, s, false, func(t *text) { t.victims(tree) })
}

// Instant writes an instant as the text does: from the first post, with a plus sign when that
// was not at 0.
func Instant(r *record.Run, at units.Time) string { return newText(r, TextOptions{}).at(at) }

// HowLong is the time held for a pause, and the span from first to last act for everything else.
func HowLong(m metrics.Mechanism) string { return howLong(lang.English, m) }

// Jain writes an index of fairness: never as 1 what is less.
func Jain(j float64) string { return fmt.Sprintf("%.4f", floor4(j)) }

// Quantity writes a value in the unit of a mechanism's place.
func Quantity(v int64, unit string) string { return quantity(v, unit) }

// Spread reports whether pauses of a tree went so far that they are told of.
func Spread(r *record.Run, s *metrics.Summary, tree *metrics.PauseTree) (is bool) {
	said(r, s, false, func(t *text) { is = t.spread(tree) })
	return is
}

// Bar is a line of a waterfall: stages of an account that it shows as one.
type Bar struct {
	FromPS, PS  units.Time
	Part        catalog.Part // of the longest
	Name, Where string
	Rows        []int // of the stages in the account
}

// Waterfall is a message's account as the text shows it.
func Waterfall(m *record.Message) (out []Bar) {
	account := m.Account.Stages() // of an open message up to the end of the run
	at := units.Time(0)
	for _, b := range mergeShort(lang.English, mergeRepeated(lang.English, mergeAck(lang.English,
		barsOf(lang.English, account))), account.Total()) {
		longest := b.rows[0]
		for _, i := range b.rows {
			if account[i].Time > account[longest].Time {
				longest = i
			}
		}
		out = append(out, Bar{FromPS: at, PS: b.time, Part: account[longest].Stage.Part(), Name: b.name, Where: b.where,
			Rows: b.rows})
		at += b.time
	}
	return out
}

// CompareOpening says what is compared.
func CompareOpening(c *compare.Comparison) []string { return ofCompare(c, (*comparison).header) }

// CompareLegend says what the figures of a comparison are.
func CompareLegend(c *compare.Comparison) []string { return ofCompare(c, (*comparison).legend) }

// CompareWarnings are the warnings of all stacks.
func CompareWarnings(c *compare.Comparison) []string { return ofCompare(c, (*comparison).warnings) }

func ofCompare(c *compare.Comparison, write func(t *comparison)) []string {
	t := &comparison{c: c, width: 1 << 30}
	write(t)
	return whole(t.b.String())
}
