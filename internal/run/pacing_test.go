package run_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// paced runs an incast to h0 of size MB each at a rate.
func paced(t *testing.T, senders, gbps, size int, more string) *record.Run {
	t.Helper()
	return simulate(t, parse(t, fmt.Sprintf(`
name: paced
topology: {star: {hosts: %d, link: %dGbps, length: 5m}}
workload:
  - incast: {to: h0, size: %dMB}
%s
`, senders+1, gbps, size, more)), 0, 1)
}

// lineShare is the payload of all messages over the time of the last, of a rate.
func lineShare(t *testing.T, r *record.Run, line units.Rate) float64 {
	t.Helper()
	took, bytes := units.Time(0), int64(0)
	for i := range r.Messages {
		f := &r.Messages[i]
		if f.Status != "success" {
			t.Fatalf("%s to %s: %s", f.Src, f.Dst, f.Status)
		}
		took, bytes = max(took, f.CompletionPS), bytes+f.Bytes
	}
	return float64(metrics.RateOf(bytes, took)) / float64(line)
}

func act(r *record.Run, m catalog.Mechanism) (a record.Act) {
	for i := range r.Ledger {
		if e := &r.Ledger[i]; e.Mechanism == m {
			if a.Count == 0 || e.First < a.First {
				a.First = e.First
			}
			a.Count += e.Count
			a.Last = max(a.Last, e.Last)
		}
	}
	return a
}

// TestRatesAreUsedWhenTheyRise: at 1 Mb/s the gap behind a packet is 33 ms. With a gap
// fixed when the packet was sent 16 senders fell silent for 33 ms and left three quarters
// of the line idle; a rate that rises within the gap is used.
func TestRatesAreUsedWhenTheyRise(t *testing.T) {
	if share := lineShare(t, paced(t, 16, 100, 8, "dcqcn: {cnp_limiter: queue-pair}"), 100*units.Gbps); share < 0.7 {
		t.Errorf("16 to 1 used %.0f %% of the line, want at least 70", 100*share)
	}
	if share := lineShare(t, paced(t, 16, 100, 8, "dcqcn: {cnp_limiter: queue-pair, fixed_gap: true}"), 100*units.Gbps); share > 0.4 {
		t.Errorf("16 to 1 used %.0f %% of the line with fixed gaps: the test above tests nothing", 100*share)
	}
}

// TestSlowReceiverIsUsed: senders that pauses and marks hold back come near the rate at
// which the receiver takes data: 4096 of 4158 bytes of a frame are payload.
func TestSlowReceiverIsUsed(t *testing.T) {
	for _, c := range []struct {
		senders, drain int
	}{{1, 40}, {2, 30}, {3, 20}} {
		r := simulate(t, parse(t, fmt.Sprintf(`
name: slow
topology: {star: {hosts: %d, link: 100Gbps}}
hosts: {h0: {drain_rate: %dGbps}}
workload:
  - incast: {to: h0, size: 8MB}
`, c.senders+1, c.drain)), 0, 1)
		if share := lineShare(t, r, units.Rate(c.drain)*units.Gbps); share < 0.8 || share > 0.986 {
			t.Errorf("%d senders to a host that takes %d Gb/s: %.1f %% of that", c.senders, c.drain, 100*share)
		}
	}
}

// TestCNPLimiters: a port that is marked all the time sends one CNP per interval where
// the limiter is the port's, one per interval to each host where it is the destination's,
// and one per interval for each queue pair else.
func TestCNPLimiters(t *testing.T) {
	count := map[string]int64{}
	for _, scope := range []string{"port", "destination", "queue-pair"} {
		r := simulate(t, parse(t, `
name: limiters
topology: {star: {hosts: 3, link: 100Gbps}}
dcqcn: {rpg_min_dec_fac: 100, min_time_between_cnps: 10us, cnp_limiter: `+scope+`}
switch: {ecn: {kmin: 1B, kmax: 2B, pmax: 1}}
workload:
  - flow: {from: h1, to: h0, size: 2MB, qps: 8}
  - flow: {from: h2, to: h0, size: 4MB, qps: 4}
`), 0, 1)
		cnps := act(r, catalog.CNPSent)
		count[scope] = cnps.Count
		most := (cnps.Last - cnps.First) / (10 * units.Microsecond)
		limiters := units.Time(map[string]int{"port": 1, "destination": 2, "queue-pair": 12}[scope])
		if n := units.Time(cnps.Count); n > limiters*(most+1) || scope == "port" && n < most*95/100 {
			t.Errorf("%s: %d CNPs in %v", scope, cnps.Count, cnps.Last-cnps.First)
		}
		says := strings.Join(metrics.Control(r), "\n")
		for want, when := range map[string]bool{
			"h0:1: 100,000 CNP/s per port, each of 12 queue pairs hears at most one per 120 us on average": scope == "port",
			"h0:1: 100,000 CNP/s to h1, each of 8 queue pairs hears at most one per 80 us on average":      scope == "destination",
			"h0:1: 100,000 CNP/s to h2, each of 4 queue pairs hears at most one per 40 us on average":      scope == "destination",
		} {
			if strings.Contains(says, want) != when {
				t.Errorf("%s: said\n%s\n%q: %v", scope, says, want, when)
			}
		}
	}
	if count["destination"] < 19*count["port"]/10 || count["queue-pair"] < 4*count["port"] {
		t.Errorf("CNPs by limiter: %v", count)
	}
}

const tridentLab = `
name: td3
topology:
  hosts: [c, s]
  switches: [td3]
  links:
    - {between: [c, td3], rate: 100Gbps}
    - {between: [td3, s], rate: 25Gbps}
mtu: 1024
switch: {buffer: 32MB, ecn: {kmin: 101600B, kmax: 412750B, pmax: 20%}}
workload:
  - flow: {from: c, to: s, size: 50MB, count: 4}
`

// TestSlowCNP: 55 us between mark and CNP, or between CNP and reaction, delay the first
// cut by 55 us, and 100 Gb/s into 25 Gb/s make the queue 75 Gb/s * 55 us longer: 515,625
// bytes of wire, of which a frame has 1086 of 1110.
func TestSlowCNP(t *testing.T) {
	first := func(stop units.Time, set string) (cut units.Time, queue int64, cnp units.Time) {
		r := simulate(t, parse(t, tridentLab+fmt.Sprintf("stop: %dus\ndcqcn: %s\n", stop/units.Microsecond, set)), 0, 1)
		for i := range r.Ports {
			if r.Ports[i].Peer.String() == "s:1" && r.Ports[i].Class == 3 {
				queue = r.Ports[i].PeakQueueBytes
			}
		}
		return act(r, catalog.RateCut).First, queue, act(r, catalog.CNPSent).First
	}
	cut, queue, cnp := first(45*units.Microsecond, "{cnp_delay: 0}")
	for _, c := range []struct {
		set    string
		atMark units.Time // of the delay
	}{
		{"{cnp_delay: 55us}", 55 * units.Microsecond},
		{"nvidia-slow-cnp", 55 * units.Microsecond},
		{"{cnp_delay: 0, cnp_reaction_delay: 55us}", 0},
		{"{cnp_delay: 25us, cnp_reaction_delay: 30us}", 25 * units.Microsecond},
	} {
		late, longer, sent := first(100*units.Microsecond, c.set)
		if late-cut != 55*units.Microsecond || sent-cnp != c.atMark {
			t.Errorf("%s: the first cut comes %v later, the CNP %v; want 55us and %v", c.set, late-cut, sent-cnp, c.atMark)
		}
		want := 515_625 * 1086 / 1110
		if got := longer - queue; got < int64(want)*98/100 || got > int64(want)*102/100 {
			t.Errorf("%s: the queue is %d B longer, want %d", c.set, got, want)
		}
	}
}

// TestIdleLineIsNamed: where DCQCN leaves a tenth of a line idle the report names what
// fills it and its price, and with that set it says so no more.
func TestIdleLineIsNamed(t *testing.T) {
	const more = "dcqcn: {cnp_limiter: queue-pair%s}"
	r := paced(t, 4, 400, 32, fmt.Sprintf(more, ""))
	if share := lineShare(t, r, 400*units.Gbps); share > 0.9 {
		t.Fatalf("%.0f %% of the line used", 100*share)
	}
	says := strings.Join(metrics.Control(r), "\n")
	if !strings.Contains(says, "sw:1 was idle for ") || !strings.Contains(says, "min_time_between_cnps: 50us") || !strings.Contains(says, "4 to 1 at 400 Gb/s, 32 MB each, then reaches 9") {
		t.Errorf("said %q", says)
	}
	filled := paced(t, 4, 400, 32, fmt.Sprintf(more, ", min_time_between_cnps: 50us"))
	if share := lineShare(t, filled, 400*units.Gbps); share < 0.9 {
		t.Errorf("what fills the line: %.0f %%", 100*share)
	}
	if says := strings.Join(metrics.Control(filled), "\n"); strings.Contains(says, "idle") {
		t.Errorf("said %q", says)
	}
}

// TestIdleLineOfEveryKind: messages of less than a millisecond, one sender into a slower
// port and a host that takes less than its line leave it idle for DCQCN's sake like any
// other; where pauses or senders that have ended do, nothing is said of DCQCN.
func TestIdleLineOfEveryKind(t *testing.T) {
	const one = `
name: one
topology:
  hosts: [c, s]
  switches: [sw]
  links:
    - {between: [c, sw], rate: 400Gbps}
    - {between: [sw, s], rate: 100Gbps}
`
	const slow = "name: slow\ntopology: {star: {hosts: 9, link: 100Gbps}}\nhosts: {h0: {drain_rate: 80Gbps}}\n"
	for name, c := range map[string]struct{ text, want, price string }{
		"short": {"name: short\ntopology: {star: {hosts: 5, link: {rate: 400Gbps, length: 5m}}}\nworkload:\n  - incast: {to: h0, size: 4MB}\n",
			"sw:1 was idle for ", "4 to 1 at 400 Gb/s, 32 MB each"},
		"one sender": {one + "workload:\n  - flow: {from: c, to: s, size: 16MB}\n", "sw:2 was idle for ", "price of its queue (docs"},
		"slow host": {slow + "workload:\n  - incast: {from: [h1, h2, h3], to: h0, size: 1MB}\n",
			"h0:1 got ", "less than the 80.0 Gb/s that its host takes"},
		"a class that drops": {"name: lossy\nstack: rocev2-lossy\ntopology: {star: {hosts: 5, link: 100Gbps}}\nworkload:\n  - incast: {to: h0, size: 4MB}\n",
			"sw:1 was idle for ", "and this class drops what finds no room there"},
		"slow host, taking all": {slow + "workload:\n  - flow: {from: h1, to: h0, size: 2MB}\n", "", ""},
		"senders that ended":    {"name: gap\ntopology: {star: {hosts: 3, link: 100Gbps}}\nworkload:\n  - incast: {to: h0, size: 200KB, every: 500us, count: 4}\n", "", ""},
	} {
		says := strings.Join(metrics.Control(simulate(t, parse(t, c.text), 0, 1)), "\n")
		if !strings.Contains(says, c.want) || !strings.Contains(says, c.price) || c.want == "" && strings.Contains(says, "DCQCN held") {
			t.Errorf("%s: said %q", name, says)
		}
	}
}

// named is the setting that a sentence on an idle line names, as --set takes it; nil: none.
func named(says string) (set []string) {
	for _, m := range regexp.MustCompile(`(min_time_between_cnps|clamp_tgt_rate|initial_rate|rpg_max_rate): ([\w.]+\w)`).FindAllStringSubmatch(says, -1) {
		if m[1] != "clamp_tgt_rate" || m[2] != "true" {
			set = append(set, "dcqcn."+m[1]+"="+m[2])
		}
	}
	return set
}

// TestWhatIsNamedFillsTheLine: what the report names for a line that was idle fills it, for
// each preset, scope of its limiter, fan-in, size and rate, rates that users set and marking
// of one's own: with it less than a tenth is idle. It names something nearly everywhere.
func TestWhatIsNamedFillsTheLine(t *testing.T) {
	type idleCase struct {
		senders, gbps, size int
		more                []string
	}
	var all []idleCase
	for _, p := range congestion.Presets() {
		for i, scope := range []string{"port", "queue-pair"} {
			set := []string{"dcqcn.preset=" + p, "dcqcn.cnp_limiter=" + scope}
			all = append(all, idleCase{2, 100, 4, set}, idleCase{3 + 2*i, 200, 4, set}, idleCase{4, 400, 6, set}, idleCase{9, 100, 2, set})
		}
	}
	for _, set := range []string{"initial_rate=2Gbps", "rpg_max_rate=5Gbps", "rpg_max_rate=30Gbps", "clamp_tgt_rate=true", "cnp_delay=20us", "cnp_coalesce=sender"} {
		all = append(all, idleCase{1, 100, 4, []string{"dcqcn." + set}}, idleCase{3, 100, 4, []string{"dcqcn." + set}})
	}
	for _, more := range []string{"switch.ecn={kmin: 20KB, kmax: 40KB, pmax: 1}", "hosts={h0: {drain_rate: 60Gbps}}", "topology.star.length=300m"} {
		for _, p := range congestion.Presets() {
			all = append(all, idleCase{4, 100, 4, []string{more, "dcqcn.preset=" + p}})
		}
	}
	idle, filled := 0, 0
	for _, c := range all {
		text := fmt.Sprintf("name: idle\ntopology: {star: {hosts: %d, link: %dGbps, length: 5m}}\nworkload:\n  - incast: {to: h0, size: %dMB}\n", c.senders+1, c.gbps, c.size)
		says := strings.Join(metrics.Control(simulate(t, parse(t, text, c.more...), 0, 1)), "\n")
		if !strings.Contains(says, " idle ") && !strings.Contains(says, " less than the ") {
			continue
		}
		idle++
		set := named(says)
		if len(set) == 0 {
			t.Logf("%+v: names nothing: %s", c, says)
			continue
		}
		filled++
		with := simulate(t, parse(t, text, append(slices.Clone(c.more), set...)...), 0, 1)
		if now := strings.Join(metrics.Control(with), "\n"); strings.Contains(now, " idle ") || strings.Contains(now, " less than the ") {
			t.Errorf("%+v: said\n%s\nand with %v\n%s", c, says, set, now)
		}
	}
	if idle < 45 || filled < idle-2 {
		t.Errorf("of %d cases %d left the line idle, and for %d something was named", len(all), idle, filled)
	}
}
