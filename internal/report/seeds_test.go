package report

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/compare"
)

// Where a count varies by more than half its median, which no figure that is judged does,
// the text says that counts are not judged.
func TestLotteryText(t *testing.T) {
	if got := lotteryText(&compare.Column{}); strings.Contains(got, "No figure") || !strings.Contains(got, "counts may vary more") {
		t.Error(got)
	}
	if got := lotteryText(&compare.Column{Lottery: []string{"p99", "slowest"}}); !strings.HasPrefix(got, "A lottery: p99, slowest are decided by the seed") {
		t.Error(got)
	}
}
