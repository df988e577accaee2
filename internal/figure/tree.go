package figure

import (
	"fmt"
	"math"
	"strconv"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// mostBranches is how many ports of a tree are drawn.
const mostBranches = 40

// PauseTree draws how pauses, or waits for credits, spread from where they began: the root, and
// behind each port those that it stopped. k is its row among the trees of the summary.
func PauseTree(r *record.Run, t *metrics.PauseTree, k int) *Figure {
	p := &pen{}
	list := t.Branches[:min(len(t.Branches), mostBranches)]
	most := units.Time(1)
	for i := range list {
		most = max(most, list[i].PausedPS)
	}
	left, wide := 430.0, chartWidth-430.0-170
	p.rect(0, 4, 12, 12, "root")
	p.text(20, 14, "head", short(t.Root.Place.String(), 52), "data-path",
		Pointer("summary/pause_trees", k, "root", "place", "name"), "data-kind", "text")
	p.text(left, 14, "muted", "held with a frame waiting (dark), of all the time paused (light)")
	ends := []float64{16} // where lines of a depth begin
	for i := range list {
		b := &list[i]
		y := 26 + float64(i)*rowHeight
		x := 6 + float64(b.Depth)*22
		for len(ends) <= b.Depth+1 {
			ends = append(ends, y)
		}
		p.empty("path", "class", "branch", "d", fmt.Sprintf("M%s %sV%sh14", num(x), num(ends[b.Depth]), num(y+8)))
		ends[b.Depth+1] = y + 14
		at := fmt.Sprintf("/summary/pause_trees/%d/branches/%d/", k, i)
		p.text(x+18, y+12, "label", short(b.Port.String()+", stopped by "+b.Peer.String(), 54))
		bar := func(class, field string, v units.Time) {
			p.rect(left, y+2, math.Max(wide*float64(v)/float64(most), 0.5), rowHeight-5, class, "data-path", at+field,
				"data-value", strconv.FormatInt(int64(v), 10))
		}
		bar("paused", "paused_ps", b.PausedPS)
		bar("held", "held_ps", b.HeldPS)
		p.text(chartWidth-90, y+12, "label", metrics.FormatTime(b.HeldPS), "text-anchor", "end", "data-path", at+"held_ps",
			"data-kind", "ps")
		p.text(chartWidth-8, y+12, "muted", metrics.FormatTime(b.PausedPS), "text-anchor", "end", "data-path",
			at+"paused_ps", "data-kind", "ps")
	}
	h := 30 + float64(len(list))*rowHeight
	if more := len(t.Branches) - len(list); more > 0 {
		p.text(20, h+8, "muted", fmt.Sprintf("and %d more ports", more), "data-path",
			Pointer("summary/pause_trees", k, "branches"), "data-kind", "sentence")
		h += 18
	}
	return &Figure{Name: "pauses-" + strconv.Itoa(k), Title: t.Title(lang.English) + " from " +
		t.Root.Place.String(), W: chartWidth,
		H: h, body: p.b.String()}
}
