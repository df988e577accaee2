package report

import (
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// TestMeanWait: two frames of the same length meet at a port of 100 Gb/s; one waits for
// the other, the mean wait of a byte is half of a frame's time on the wire. The queue
// held that frame for that time: its mean follows.
func TestMeanWait(t *testing.T) {
	const frame, overhead = 4158, 20
	rate := 100 * units.Gbps
	onWire := rate.TxTime(frame + overhead)
	for _, span := range []units.Time{2 * onWire, 10 * onWire, units.Millisecond} {
		x := record.Port{RateBps: rate, TxBytes: 2 * frame, TxPackets: 2,
			MeanQueueBytes: frame * float64(onWire) / float64(span), Utilisation: float64(2*onWire) / float64(span)}
		if got := units.Time(meanWait(&x, overhead)); got < onWire/2-1 || got > onWire/2+1 {
			t.Errorf("over %v: %v, want %v", span, got, onWire/2)
		}
	}
	if got := meanWait(&record.Port{RateBps: rate}, overhead); got != 0 {
		t.Errorf("an idle port's wait is %d", got)
	}
}
