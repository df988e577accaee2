package tcp

import (
	"testing"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// A queue that drops what finds no room, on a path that keeps order: every cut was
// needed and none is taken back, although a retransmission of one recovery may
// arrive in the next; what is sent again is what was dropped; and the link is full.
func TestDropsAreNotTakenBack(t *testing.T) {
	for _, a := range []congestion.WindowAlgorithm{congestion.Reno, congestion.Cubic} {
		l := newLoop(t, bulk(t, a))
		l.delay = 20 * units.Millisecond
		rate, limit := 100*units.Mbps, units.Bytes(500000) // of a path of 500 kB
		var free units.Time
		dropped := int64(0)
		l.touch = func(i int, p *packet.Packet) (int, units.Time) {
			if i == 1 {
				return 1, 0
			}
			wait := max(free-l.now, 0)
			if wait+rate.TxTime(units.Bytes(p.Frame+20)) > rate.TxTime(limit) {
				dropped++
				return 0, 0
			}
			free = l.now + wait + rate.TxTime(units.Bytes(p.Frame+20))
			return 1, free - l.now
		}
		l.connect()
		took := l.transfer(100e6)
		c := &l.c[0]
		if n := c.Acts().Undone.Count; n != 0 || dropped == 0 || c.Counters().Retransmitted != dropped {
			t.Errorf("%v: %d cuts taken back; %d segments dropped, %d sent again", a, n, dropped, c.Counters().Retransmitted)
		}
		// 1448 of 1538 bytes are data; slow start and its losses take a few round trips.
		if least := 100e6 * 8 * 1538 / 1448 / 100e6; float64(took)/1e12 > 1.1*least {
			t.Errorf("%v: took %v, at full rate %.1f s", a, took, least)
		}
	}
}
