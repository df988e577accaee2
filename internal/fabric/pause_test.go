package fabric

import (
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// The link of these tests: 100 Gb/s, a PFC frame of 84 bytes on the wire and a
// data frame of 1520.
const (
	pfcRate  = 100 * units.Gbps
	pfcDelay = 200 * units.Nanosecond
	pfcTx    = 84 * 80 * units.Picosecond
	dataTx   = 1520 * 80 * units.Picosecond
	bitTimes = 512 * 10 * units.Picosecond // one quantum
)

// pausedRun sends frames of 1500 bytes from host 0 to host 1, which pauses the
// switch from t0 on and lets it go on at t1 (0: never). It returns when the
// switch started the frames.
func pausedRun(t *testing.T, pfc PFCParams, t0, t1 units.Time, reverse bool) (starts []units.Time, r *rig) {
	t.Helper()
	sw, ports := star(2, pfcRate, pfcDelay)
	pfc.Enabled = 1 << 3
	ports[1].host.PFC, ports[1].sw.PFC = pfc, pfc
	r = newRig(t, sw, ports)
	r.send(0, 1, 0, 2000, 1500, 3)
	if reverse {
		r.send(1, 0, 0, 2000, 1500, 4)
	}
	r.at(1, t0, func(now units.Time) { r.net.SetPauses(now, r.hosts[1].port, 1<<3, true, 0) })
	if t1 > 0 {
		r.at(1, t1, func(now units.Time) { r.net.SetPauses(now, r.hosts[1].port, 1<<3, false, 0) })
	}
	r.run(400 * units.Microsecond)
	for _, a := range r.hosts[1].got {
		if a.Class == 3 {
			starts = append(starts, a.at-pfcDelay-dataTx)
		}
	}
	return starts, r
}

// TestPauseTiming: a port stops when the PFC frame has arrived whole and the
// response time has passed; frames begun before go on. It starts again by XON in
// the same way, or when the pause runs out: quanta of 512 bit times from when it
// took effect (IEEE 802.3 annex 31B).
func TestPauseTiming(t *testing.T) {
	const t0, t1 = 50 * units.Microsecond, 90 * units.Microsecond
	busy := (t0+dataTx-1)/dataTx*dataTx - t0 // rest of the frame host 1 is sending at t0
	for _, c := range []struct {
		name      string
		pfc       PFCParams
		xon       units.Time
		reverse   bool
		shut      units.Time // from t0
		open      units.Time // absolute
		sent      int64
		refreshes int64
	}{
		{"until XON", PFCParams{}, t1, false, pfcTx + pfcDelay, t1 + pfcTx + pfcDelay, 1, 0},
		{"response time", PFCParams{Response: 3 * units.Microsecond}, t1, false,
			pfcTx + pfcDelay + 3*units.Microsecond, t1 + pfcTx + pfcDelay + 3*units.Microsecond, 1, 0},
		{"behind a frame", PFCParams{}, t1, true, busy + pfcTx + pfcDelay, 0, 1, 0},
		{"runs out", PFCParams{Quanta: 1000}, 0, false, pfcTx + pfcDelay, t0 + pfcTx + pfcDelay + 1000*bitTimes, 1, 0},
		{"XON before it runs out", PFCParams{Quanta: 65535}, t1, false, pfcTx + pfcDelay, t1 + pfcTx + pfcDelay, 1, 0},
		// 40 us of pause refreshed each 4 us: the tenth is due as XON is.
		{"refreshed", PFCParams{Quanta: 1000, Refresh: 4 * units.Microsecond}, t1 - 1, false, pfcTx + pfcDelay, t1 - 1 + pfcTx + pfcDelay, 1, 9},
		// A refresh later than the pause lasts: it runs out and begins anew.
		{"refreshed too late", PFCParams{Quanta: 1000, Refresh: 10 * units.Microsecond}, t0 + 12*units.Microsecond, false,
			pfcTx + pfcDelay, t0 + pfcTx + pfcDelay + 1000*bitTimes, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			starts, r := pausedRun(t, c.pfc, t0, c.xon, c.reverse)
			shut := t0 + c.shut
			last, first := units.Time(0), units.Never
			for _, s := range starts {
				if s < shut {
					last = s
				} else if first == units.Never {
					first = s
				}
			}
			if shut-last > dataTx {
				t.Errorf("last start before the pause at %d ps; the pause takes effect at %d", last, shut)
			}
			if c.open > 0 && first != c.open {
				t.Errorf("first start after the pause at %d ps, want %d", first, c.open)
			}
			if c.xon == t1 && first < t1 {
				t.Errorf("a frame starts at %d ps, within the pause", first)
			}
			s := &r.net.gates[3][1] // the switch's port to host 1
			if c.open > 0 && s.paused < c.open-shut {
				t.Errorf("paused for %d ps, want at least %d", s.paused, c.open-shut)
			}
			if p := &r.net.pauses[3][r.hosts[1].port]; p.sent.Count != c.sent || p.refresh != c.refreshes {
				t.Errorf("%d XOFF and %d refreshes sent, want %d and %d", p.sent.Count, p.refresh, c.sent, c.refreshes)
			}
		})
	}
}

// TestRefreshAcrossXON: a pause that ends and begins again behind one frame is a
// pause that goes on, and a refresh that falls due in between is still sent.
func TestRefreshAcrossXON(t *testing.T) {
	const refresh, t1 = 4 * units.Microsecond, 90 * units.Microsecond
	sw, ports := star(2, pfcRate, pfcDelay)
	ports[1].host.PFC = PFCParams{Enabled: 1 << 3, Quanta: 1000, Refresh: refresh}
	ports[1].sw.PFC = ports[1].host.PFC
	r := newRig(t, sw, ports)
	r.send(0, 1, 0, 2000, 1500, 3)
	r.send(1, 0, 0, 2000, 1500, 4)
	pause := func(at units.Time, xoff bool) {
		r.at(1, at, func(now units.Time) { r.net.SetPauses(now, r.hosts[1].port, 1<<3, xoff, 0) })
	}
	// The PFC frame starts behind the 412th data frame. Its refresh is due while
	// the 33rd after it is on the wire.
	const first = 412 * dataTx
	if end := first + pfcTx + 33*dataTx; first+refresh < end-dataTx+2 || first+refresh > end-2 {
		t.Fatal("the refresh is not due within a frame")
	}
	pause(50*units.Microsecond, true)
	pause(first+refresh-1, false)
	pause(first+refresh+1, true)
	pause(t1, false)
	r.run(400 * units.Microsecond)
	s := &r.net.pauses[3][r.hosts[1].port]
	if s.sent.Count != 1 || s.resumes != 1 {
		t.Errorf("%d pauses and %d resumes sent, want one of each", s.sent.Count, s.resumes)
	}
	for _, a := range r.hosts[1].got {
		if start := a.at - pfcDelay - dataTx; a.Class == 3 && start > first+units.Microsecond && start < t1 {
			t.Fatalf("a frame starts at %d ps, within the pause", start)
		}
	}
}

// TestHeldAndPaused: paused time is all of it, held time only what a frame waited
// through.
func TestHeldAndPaused(t *testing.T) {
	const t0, t1 = 10 * units.Microsecond, 50 * units.Microsecond
	// Frames leave the switch back to back from their first arrival on; what is
	// left of the one on the wire when the pause takes effect is not held.
	rest := dataTx - (t0+pfcTx+pfcDelay-(dataTx/2+pfcDelay))%dataTx
	for _, c := range []struct {
		name  string
		start units.Time // when host 0 begins to send
		held  units.Time
	}{
		{"a frame waits all the while", 0, t1 - t0 - rest},
		{"a frame comes in the middle", 30 * units.Microsecond, t1 + pfcTx + pfcDelay - (30*units.Microsecond + dataTx + pfcDelay)},
		{"nothing waits", t1 + 10*units.Microsecond, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			sw, ports := star(2, pfcRate, pfcDelay)
			ports[0].rate = 2 * pfcRate // so that a queue stands at the switch
			r := newRig(t, sw, ports)
			n := 2000
			if c.start > t0 {
				n, ports[0].rate = 1, pfcRate
				r = newRig(t, sw, ports)
			}
			r.send(0, 1, c.start, n, 1500, 3)
			r.at(1, t0, func(now units.Time) { r.net.SetPauses(now, r.hosts[1].port, 1<<3, true, 0) })
			r.at(1, t1, func(now units.Time) { r.net.SetPauses(now, r.hosts[1].port, 1<<3, false, 0) })
			r.run(units.Millisecond)
			p := r.net.Port(1, 3, units.Millisecond, 0)
			if p.PausedPS != t1-t0 || p.HeldPS != c.held || p.PausesReceived != 1 {
				t.Errorf("paused %d and held %d ps in %d pauses, want %d, %d, 1", p.PausedPS, p.HeldPS, p.PausesReceived, t1-t0, c.held)
			}
		})
	}
}

// headroomNeed is the most headroom that a port of a 100 Gb/s link takes with
// its egress blocked and the reverse direction saturated, and the drops with
// the given headroom, over the phases of the frame that blocks the PFC frame.
func headroomNeed(t *testing.T, delay units.Time, frame uint32, headroom units.Bytes) (peak, drops int64) {
	t.Helper()
	const phases = 256
	tx := units.Rate(100 * units.Gbps).TxTime(units.Bytes(frame) + 20)
	for k := range phases {
		sw, ports := star(3, 100*units.Gbps, delay)
		ports[0].pg[3] = PGParams{Static: 20 * units.KB, Headroom: headroom}
		r := newRig(t, sw, ports)
		// Host 1 never takes anything, host 2 keeps the way back to host 0 busy.
		r.at(1, 0, func(now units.Time) { r.net.SetPauses(now, r.hosts[1].port, 1<<3, true, 0) })
		r.send(0, 1, 5*units.Microsecond, 100, frame, 3)
		r.send(2, 0, 3*units.Microsecond+units.Time(k)*tx/phases, 200, frame, 4)
		r.run(units.Millisecond)
		p := r.net.Port(0, 3, units.Millisecond, 0)
		peak, drops = max(peak, p.PeakHeadroom), drops+p.Dropped
	}
	return peak, drops
}

// TestHeadroom: after XOFF is crossed, C*(2*tprop+tresp) + 3*maxframe + 84 bytes
// always suffice, and two frames less do not (case F10: 100 Gb/s, 100 m, frames
// of 4158 bytes, no response time; the worst need is 24.9 KB, to a frame).
func TestHeadroom(t *testing.T) {
	const frame = 4158
	for _, metres := range []units.Length{5, 100, 300} {
		delay := (metres * units.Metre).Delay()
		bound := units.Bytes(2*delay/80) + 3*frame + 84
		if _, drops := headroomNeed(t, delay, frame, bound); drops != 0 {
			t.Errorf("%d m: %d frames dropped with headroom %d", metres, drops, bound)
		}
		if _, drops := headroomNeed(t, delay, frame, bound-2*frame); drops == 0 {
			t.Errorf("%d m: nothing dropped with two frames less than %d", metres, bound)
		}
		if metres == 100 {
			if peak, _ := headroomNeed(t, delay, frame, units.MB); peak < 24900-frame || peak > 24900+frame {
				t.Errorf("100 m: worst need %d bytes, want 24900 +- a frame", peak)
			} else {
				t.Logf("100 m: worst need %d bytes of %d", peak, bound)
			}
		}
	}
}
