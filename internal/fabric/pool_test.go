package fabric

import (
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// TestPoolIsFinite: thresholds that add up to more than the shared pool do not
// make it larger; what finds it taken goes to its group's headroom and pauses.
func TestPoolIsFinite(t *testing.T) {
	for _, c := range []struct {
		name     string
		static   units.Bytes
		num, den int64
	}{
		{"static thresholds", 400 * units.KB, 0, 0},
		{"alpha 8", 0, 8, 1},
		{"alpha 1/2", 0, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			sw, ports := star(9, 100*units.Gbps, 0)
			sw.Shared = units.MB
			for i := range ports {
				ports[i].pg[3] = PGParams{Static: c.static, AlphaNum: c.num, AlphaDen: c.den, Headroom: 20 * units.KB}
			}
			r := newRig(t, sw, ports)
			for i := range 8 {
				r.send(i, 8, 0, 200, 4174, 3)
			}
			r.run(units.Second)
			if p := r.net.Port(0, 3, units.Second, 0); p.PausesSent == 0 || p.PeakHeadroom == 0 {
				t.Errorf("the pool did not end: %d pauses, %d bytes of headroom", p.PausesSent, p.PeakHeadroom)
			}
			if got := len(r.hosts[8].got); got != 1600 {
				t.Errorf("%d of 1600 frames delivered", got)
			}
		})
	}
}

// TestMarkBesidePause: a frame that makes the switch send a PFC frame is marked
// all the same.
func TestMarkBesidePause(t *testing.T) {
	sw, ports := star(2, 100*units.Gbps, units.Microsecond)
	sw.MarkAtEnqueue = true
	ports[0].rate = 400 * units.Gbps
	ports[0].pg[3] = PGParams{Static: 10 * units.KB, Headroom: units.MB}
	ports[1].sw.RED[3] = RED{KMin: 1, KMax: 2, PMax: 1}
	r := newRig(t, sw, ports)
	r.send(0, 1, 0, 100, 1500, 3)
	r.run(units.Second)
	marked := 0
	for _, a := range r.hosts[1].got {
		if a.ECN == packet.CE {
			marked++
		}
	}
	if p := r.net.Port(1, 3, units.Second, 0); marked != 100 || p.Marked != 100 {
		t.Errorf("%d of 100 frames arrive marked, %d counted", marked, p.Marked)
	}
	if r.net.Port(0, 3, units.Second, 0).PausesSent == 0 {
		t.Error("no PFC frame was sent")
	}
}
