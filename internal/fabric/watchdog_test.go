package fabric

import (
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

const (
	watchPollTime    = 100 * units.Microsecond
	watchDetection   = 400 * units.Microsecond
	watchRestoration = 300 * units.Microsecond
)

// pausing is what a host tells its switch: of each period it pauses it for a time.
type pausing struct {
	from, until   units.Time
	period, share units.Time // 0: paused all the time
	refresh       units.Time // 0: never sent again
	classes       uint8      // 0: class 3 alone
}

// watchedRun sends frames to a host that pauses its switch, of which class 3 is watched, and
// returns the storms.
func watchedRun(t *testing.T, w WatchdogParams, pfc uint8, p pausing, frames int, limit units.Time) ([]record.Storm, *rig) {
	t.Helper()
	sw, ports := star(3, pfcRate, pfcDelay)
	if w.Poll == 0 {
		w.Poll, w.Detection, w.Restoration = watchPollTime, watchDetection, watchRestoration
	}
	sw.Watchdog = &w
	sw.Lossless = pfc
	for i := range ports {
		ports[i].sw.PFC, ports[i].host.PFC = PFCParams{Enabled: pfc}, PFCParams{Enabled: pfc}
	}
	ports[1].host.PFC.Refresh = p.refresh
	r := newRig(t, sw, ports)
	if p.refresh > 0 {
		r.net.cold[r.hosts[1].port].pfc.Quanta = 65535
	}
	if frames > 0 {
		r.send(0, 1, p.from/2, frames, 1500, 3)
	}
	classes := p.classes
	if classes == 0 {
		classes = 1 << 3
	}
	say := func(at units.Time, xoff bool) {
		r.at(1, at, func(now units.Time) { r.net.SetPauses(now, r.hosts[1].port, classes, xoff, 0) })
	}
	for at := p.from; at < p.until; at += max(p.period, 1) {
		say(at, true)
		if p.period == 0 {
			break
		}
		say(min(at+p.share, p.until), false)
	}
	if p.period == 0 {
		say(p.until, false)
	}
	r.run(limit)
	return r.net.Storms(nil), r
}

// TestWatchdogRules: what trips the watchdog of each ASIC, and what must not (sonic-swss,
// orchagent/pfc_detect_*.lua). Polls lie at multiples of 100 us; pauses begin at 10 us.
func TestWatchdogRules(t *testing.T) {
	const us, ms = units.Microsecond, units.Millisecond
	steady := pausing{from: 10 * us, until: 2 * ms, refresh: 20 * us}
	once := pausing{from: 10 * us, until: 2 * ms}                                                             // one XOFF, never refreshed
	choppy := pausing{from: 10 * us, until: 2 * ms, period: 100 * us, share: 95 * us}                         // resumed in each poll
	brief := pausing{from: 10 * us, until: 320 * us, refresh: 20 * us}                                        // shorter than the detection time
	short := pausing{from: 10 * us, until: 2 * ms, period: 100 * us, share: 70 * us}                          // less than 80 %
	most := pausing{from: 2*us + 10*us, until: 2 * ms, period: 100 * us, share: 99*us + 500*units.Nanosecond} // 99.5 %
	nearly := pausing{from: 10 * us, until: 2 * ms, period: 100 * us, share: 98 * us}
	for _, c := range []struct {
		name   string
		rule   WatchdogRule
		p      pausing
		frames int
		at     units.Time // of the first storm; 0: none
	}{
		// The first poll at which the queue was paused before as well is the second; four
		// polls of 100 us make 400.
		{"steady", WatchBroadcom, steady, 2000, 500 * us},
		{"steady, nothing waits", WatchBroadcom, steady, 0, 500 * us}, // it does not look at the queue
		{"one XOFF", WatchBroadcom, once, 2000, 0},
		{"choppy", WatchBroadcom, choppy, 2000, 0},
		{"brief", WatchBroadcom, brief, 2000, 0},
		{"steady", WatchTomahawk4, steady, 2000, 500 * us},
		{"choppy", WatchTomahawk4, choppy, 2000, 0},
		// Of the first poll's time the queue was paused for 90 %.
		{"steady", WatchMellanox, steady, 2000, 500 * us},
		{"one XOFF", WatchMellanox, once, 2000, 500 * us},
		{"nothing waits", WatchMellanox, steady, 0, 0},
		{"98 %", WatchMellanox, nearly, 2000, 0},
		{"brief", WatchMellanox, brief, 2000, 0},
		{"99.5 %, but it sends in between", WatchMellanox, most, 2000, 0},
		{"steady", WatchBarefoot, steady, 2000, 500 * us}, // frames were sent within the first poll's time
		{"nothing waits", WatchBarefoot, steady, 0, 400 * us},
		{"nothing waits, one XOFF", WatchBarefoot, once, 0, 400 * us},
		{"one XOFF", WatchBarefoot, once, 2000, 0}, // frames wait, but no PFC frame comes
		{"nothing waits, 70 %", WatchBarefoot, short, 0, 0},
		{"steady", WatchTeralynx, steady, 2000, 500 * us},
		{"one XOFF", WatchTeralynx, once, 2000, 0},
		{"nothing waits, 70 %", WatchTeralynx, short, 0, 0},
		{"steady", WatchCisco8000, steady, 2000, 400 * us},
		{"one XOFF", WatchCisco8000, once, 0, 400 * us},
		{"brief", WatchCisco8000, brief, 2000, 0},
	} {
		storms, _ := watchedRun(t, WatchdogParams{Rule: c.rule, Action: record.WatchdogDrop}, 1<<3, c.p, c.frames, 3*units.Millisecond)
		got := units.Time(0)
		if len(storms) > 0 {
			got = storms[0].FromPS
		}
		if got != c.at {
			t.Errorf("rule %d, %s: first storm at %v, want %v", c.rule, c.name, got, c.at)
		}
	}
}

// TestWatchdogActions: with drop, what waits and what comes is dropped, and what the peer sends
// in that priority; with forward it is sent, paused or not; alert does nothing. All are
// restored after three polls without PFC frames.
func TestWatchdogActions(t *testing.T) {
	const us, ms = units.Microsecond, units.Millisecond
	p := pausing{from: 10 * us, until: 1250 * us, refresh: 20 * us}
	const frames = 2000
	for _, c := range []struct {
		action   record.WatchdogAction
		restored units.Time
	}{
		{record.WatchdogDrop, 1600 * us},    // polls at 1400, 1500 and 1600 have seen none
		{record.WatchdogForward, 1600 * us}, //
		{record.WatchdogAlert, 1300 * us},   // the first poll that does not match
	} {
		storms, r := watchedRun(t, WatchdogParams{Action: c.action}, 1<<3, p, frames, 3*ms)
		if len(storms) != 1 || storms[0].FromPS != 500*us || storms[0].ToPS != c.restored {
			t.Errorf("%s: storms %+v, want one from 500 us to %v", c.action, storms, c.restored)
			continue
		}
		arrived := 0
		early := 0
		for _, a := range r.hosts[1].got {
			if arrived++; a.at > 500*us && a.at < 1250*us {
				early++
			}
		}
		dropped := int(storms[0].Dropped.Count)
		switch {
		case arrived+dropped != frames:
			t.Errorf("%s: %d frames arrived and %d were dropped of %d", c.action, arrived, dropped, frames)
		case c.action == record.WatchdogDrop && (early > 0 || dropped == 0),
			c.action == record.WatchdogForward && (arrived != frames || early == 0),
			c.action == record.WatchdogAlert && (early > 0 || dropped > 0):
			t.Errorf("%s: %d frames arrived within the storm, %d were dropped", c.action, early, dropped)
		}
	}
}

// TestWatchdogDropsBothWays: of the port whose peer is held responsible, what comes in that
// priority is dropped too, and nothing else.
func TestWatchdogDropsBothWays(t *testing.T) {
	const us = units.Microsecond
	storms, r := func() ([]record.Storm, *rig) {
		sw, ports := star(3, pfcRate, pfcDelay)
		sw.Watchdog = &WatchdogParams{Poll: watchPollTime, Detection: watchDetection, Restoration: watchRestoration, Action: record.WatchdogDrop}
		ports[1].host.PFC.Refresh = 20 * us
		r := newRig(t, sw, ports)
		r.at(1, 10*us, func(now units.Time) { r.net.SetPauses(now, r.hosts[1].port, 1<<3, true, 0) })
		r.send(1, 2, 600*us, 10, 1500, 3)
		r.send(1, 2, 600*us, 10, 1500, 4)
		r.send(0, 2, 600*us, 10, 1500, 3)
		r.run(units.Millisecond)
		return r.net.Storms(nil), r
	}()
	if len(storms) != 1 || storms[0].ToPS != -1 || storms[0].Dropped.Count != 10 || len(r.hosts[2].got) != 20 {
		t.Errorf("storms %+v, %d frames arrived; want one that goes on, with 10 frames dropped and 20 arrived", storms, len(r.hosts[2].got))
	}
}

// TestWatchdogLoop: Tomahawk 4 and later count no PFC frames once all lossless priorities of a
// port are in a storm, so that it is restored while the storm goes on, and found again
// (sonic-buildimage issue 29203: a cycle took about 624 ms where detection, restoration and poll
// are 200 ms, three polls and some time to act). Where one priority has no storm it counts.
func TestWatchdogLoop(t *testing.T) {
	const ms = units.Millisecond
	w := WatchdogParams{Rule: WatchTomahawk4, Detection: 200 * ms, Restoration: 200 * ms, Poll: 200 * ms, Action: record.WatchdogDrop}
	p := pausing{from: ms, until: 20000 * ms, refresh: 300 * units.Microsecond, classes: 1<<3 | 1<<4}
	storms, _ := watchedRun(t, w, 1<<3|1<<4, p, 0, 12*units.Second)
	if n := len(storms); n < 30 || n > 40 {
		t.Errorf("%d storms of two priorities in 12 s, want one of each per 600 ms", n)
	}
	for k := 2; k+2 < len(storms); k += 2 {
		if d := storms[k].FromPS - storms[k-2].FromPS; d != 600*ms {
			t.Errorf("storm %d begins %v after the one before, want 600 ms", k, d)
		}
	}
	p.classes = 1 << 3
	for _, c := range []struct {
		rule WatchdogRule
		pfc  uint8
	}{{WatchTomahawk4, 1<<3 | 1<<4}, {WatchBroadcom, 1 << 3}} {
		w.Rule = c.rule
		if storms, _ := watchedRun(t, w, c.pfc, p, 0, 12*units.Second); len(storms) != 1 || storms[0].ToPS != -1 {
			t.Errorf("rule %d, priorities %b: storms %+v, want one that goes on", c.rule, c.pfc, storms)
		}
	}
}
