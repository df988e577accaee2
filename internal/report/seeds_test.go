package report

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/lang"
)

// Where a count varies by more than half its median, which no figure that is judged does,
// the text says that counts are not judged.
func TestLotteryText(t *testing.T) {
	judged := func(completed, open int64) *compare.Column {
		c := &compare.Column{}
		n := int(min(completed, 1))
		c.Figures.MaxPS.N, c.Figures.GoodputBps.N, c.Figures.Jain.N = n, n, n
		c.Figures.Messages.Max, c.Figures.Open.Max = completed+open, open
		return c
	}
	if got := lotteryText(lang.English, judged(4, 0)); !strings.Contains(got, "No lottery: no completion time, goodput or fairness has") || !strings.Contains(got, "counts may vary more") || strings.Contains(got, "open") {
		t.Error(got)
	}
	// Runs that `stop` ended tell of what they completed, and of nothing if that is nothing.
	if got := lotteryText(lang.English, judged(2, 2)); !strings.Contains(got, "No lottery") || !strings.Contains(got, "open as a run ended, 2 of 4 at most, are in no completion time") {
		t.Error(got)
	}
	if got := lotteryText(lang.English, judged(0, 4)); strings.Contains(got, "No lottery") || !strings.Contains(got, "no message was completed in any run") || !strings.Contains(got, "4 of 4 at most") {
		t.Error(got)
	}
	if got := lotteryText(lang.English, &compare.Column{Lottery: []string{"fairness"}}); !strings.Contains(got, "above 1/n, its value where one of n flows") {
		t.Error(got)
	}
	if got := lotteryText(lang.English, &compare.Column{Lottery: []string{"p99", "slowest"}}); !strings.HasPrefix(got, "A lottery: p99, slowest are decided by the seed") {
		t.Error(got)
	}
}
