package run_test

import (
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// TestWatchdogBreaksDeadlock: a ring that has come to rest moves on when a watchdog takes its
// queues for ones in a storm, with the same result however the network is cut. With drop
// everything lost is sent again; with forward nothing is lost but what pauses no longer hold
// back; alert leaves the deadlock as it is, and so does a run too short for the detection.
func TestWatchdogBreaksDeadlock(t *testing.T) {
	for _, c := range []struct {
		action, stopped string
	}{
		{"drop", "quiescence"}, {"forward", "quiescence"}, {"alert", "deadlock"},
	} {
		v := parse(t, ring, "nic.timeout=14", "switch.watchdog={action: "+c.action+", detection: 1ms, restoration: 5ms, poll: 500us}")
		base := simulate(t, v, 1, 1)
		if base.Stopped != c.stopped || (base.OpenMessages == 0) != (c.stopped == "quiescence") {
			t.Errorf("%s: stopped by %s with %d messages open", c.action, base.Stopped, base.OpenMessages)
		}
		for _, parts := range []int{2, 8} {
			if bad := differ(t, base, simulate(t, v, parts, 2)); bad != "" {
				t.Errorf("%s: %d partitions give another result: %s", c.action, parts, bad)
			}
		}
		if len(base.Storms) < 4 {
			t.Errorf("%s: %d storms, want one of each queue of the ring at least", c.action, len(base.Storms))
			continue
		}
		checkStorms(t, base, record.WatchdogAction(c.action))
	}
}

// checkStorms compares storms with ports and ledger.
func checkStorms(t *testing.T, r *record.Run, action record.WatchdogAction) {
	t.Helper()
	var dropped, told record.Act
	var lasted int64
	for _, s := range r.Storms {
		if s.Action != action || s.FromPS%(500*units.Microsecond) != 0 || s.ToPS >= 0 && s.ToPS <= s.FromPS {
			t.Errorf("storm %+v", s)
		}
		if s.Dropped.Count > 0 {
			dropped = dropped.Merge(s.Dropped)
		}
		to := s.ToPS
		if to < 0 {
			to = r.EndPS
		}
		lasted += int64(to - s.FromPS)
	}
	if (dropped.Count > 0) != (action == record.WatchdogDrop) {
		t.Errorf("%s: %d frames dropped", action, dropped.Count)
	}
	var storms, sum int64
	for _, e := range r.Ledger {
		switch e.Mechanism {
		case catalog.StormDrop:
			told = told.Merge(e.Act)
		case catalog.Storm:
			storms, sum = storms+e.Count, sum+e.Sum
		}
	}
	if told != dropped || storms != int64(len(r.Storms)) || r.Stopped == "quiescence" && sum != lasted {
		t.Errorf("the ledger has drops %+v, %d storms of %d ps; the storms drops %+v, %d storms of %d ps", told, storms, sum, dropped, len(r.Storms), lasted)
	}
}

// TestWatchdogOff: a watchdog that finds nothing changes nothing but that it is there.
func TestWatchdogOff(t *testing.T) {
	const text = "topology: {star: {hosts: 5, link: 100Gbps}}\nswitch: {buffer: 2MB}\nworkload: [incast: {to: h4, size: 2MB}]\n"
	without, with := simulate(t, parse(t, text), 1, 1), simulate(t, parse(t, text, "switch.watchdog=drop"), 1, 1)
	if without.Fingerprint != with.Fingerprint || without.EndPS != with.EndPS || len(with.Storms) > 0 {
		t.Errorf("fingerprint %s at %v without, %s at %v and %d storms with", without.Fingerprint, without.EndPS, with.Fingerprint, with.EndPS, len(with.Storms))
	}
}

// TestStormLoop: on Tomahawk 4 and later a storm of all lossless priorities that never stops is restored
// and found again. It lasts two polls, or three where software takes longer than one to act. With lapses
// every tau a poll sees none with probability exp(-P/tau), and a pause as it begins. The first after the
// restoration compares with when the storm was found, and up to the reaction lapses were seen.
func TestStormLoop(t *testing.T) {
	const text = `
stack: rocev2-pfc-only
noise: off
topology: {star: {hosts: 2, link: 10Gbps}}
hosts: {h1: {faults: [{pauses: {from: 1ms, until: 300s, lapse: 200ms}}]}}
switch: {watchdog: {action: drop, rule: tomahawk4, detection: 200ms, restoration: 200ms, poll: 200ms}}
workload: [flow: {from: h0, to: h1, size: 4KB, service: uc, count: 300, every: 1s}]
`
	const poll, tau = 200 * units.Millisecond, 200 * units.Millisecond
	for reaction, lasts := range map[units.Time]units.Time{0: 2 * poll, 300 * units.Millisecond: 3 * poll} {
		r := simulate(t, parse(t, text, "switch.watchdog.reaction="+reaction.String()), 1, 1)
		n := len(r.Storms) - 1
		for _, s := range r.Storms[:n] {
			if s.ToPS-s.FromPS != lasts {
				t.Errorf("reaction %v: a storm of %v, not %v", reaction, s.ToPS-s.FromPS, lasts)
			}
		}
		period := float64(r.Storms[n].FromPS-r.Storms[0].FromPS) / float64(n)
		free := math.Exp(-float64(poll)/float64(tau)) * 200 / 201
		first := free * math.Exp(-float64(reaction)/float64(tau))
		want := float64(lasts) + float64(poll)*(1+(1-first)/free)
		// Three standard errors of the mean of a geometric distribution.
		if off := math.Abs(period - want); off > 3*float64(poll)*math.Sqrt(1-free)/free/math.Sqrt(float64(n)) {
			t.Errorf("reaction %v: a cycle every %.4g s in %d, not %.4g", reaction, period/1e12, n, want/1e12)
		}
		if f := r.Faults[0]; f.Lapses < 1200 || f.Lapses > 1800 {
			t.Errorf("%d lapses in 300 s", f.Lapses)
		}
	}
}
