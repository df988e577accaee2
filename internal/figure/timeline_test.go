package figure

import (
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// A gap that closes releases at once what came in over ten samples: drawn is the line's rate for that long.
func TestNoGoodputAboveTheLine(t *testing.T) {
	const line = units.Rate(100e9)
	c := record.TimeCurve{Quantity: record.SeriesGoodput, Node: "h0", Peer: "h1 qp 0", LineBps: line,
		At: []uint32{1, 11, 20, 21, 31}, Value: []int64{12500, 0, 125000, 12500, 0}} // 12,500 B in 1 us: the line
	tl := &record.Timeline{EveryPS: units.Microsecond, Samples: 40, Curves: []record.TimeCurve{c}}
	q := &quantities[len(quantities)-1]
	x, y := q.points(tl, &c, float64(units.Microsecond), float64(line))
	for i := range y {
		if i+1 < len(x) && x[i] >= 10 && x[i] < 30 && y[i] != 1 {
			t.Errorf("from %g us on %g of the line, want all of it until 30 us", x[i], y[i])
		}
		if y[i] > 1 {
			t.Errorf("%g of the line at %g us", y[i], x[i])
		}
	}
}
