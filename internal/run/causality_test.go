package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// causalityBase has a flow of 4 MB and, on ports of its own, a bystander.
const causalityBase = `
name: causality
stack: rocev2-pfc-only
topology:
  star: {hosts: 4, link: 100Gbps, length: 5m}
  links: [{between: [h1, sw], length: 5m}]
workload:
  - flow: {from: h0, to: h1, size: 16384000B}
  - flow: {from: h2, to: h3, size: 16384000B}
`

// Sizes of its packets: 4000 of MTU 4096, 62 B of headers, 20 B of preamble and
// gap, 16 B of RETH in the first (models.md 4.1).
const (
	packets   = 4000
	frameSize = 4096 + 62
	wireSize  = frameSize + 20
)

// sums adds an account up by stage and place.
func sums(a record.Account) map[string]units.Time {
	out := map[string]units.Time{}
	for _, s := range a {
		out[s.Key()] += s.Time
	}
	return out
}

// One change moves one stage by what a formula says, every other by at most 1 %
// of the completion time, and leaves the bystander alone.
func TestChangesMoveTheirStage(t *testing.T) {
	tx := units.Rate(100 * units.Gbps).TxTime(wireSize)
	cable := func(km int) units.Time { return units.Time(km) * 5 * units.Microsecond } // 5 ns per metre
	// With n packets in flight, packet i leaves (i/n) round trips after the first;
	// in each the sender waits for what n packets leave of it.
	windowTime := func(n units.Time) units.Time {
		ack := units.Rate(100 * units.Gbps).TxTime(66 + 20)
		rtt := 2*tx + 2*ack + 4*cable(2) + 2*300*units.Nanosecond
		return (packets - 1) / n * (rtt - n*tx)
	}
	// What takes wire bytes at one rate rather than the line's.
	slower := func(bytes units.Bytes, r units.Rate) units.Time {
		return r.TxTimeLong(packets*bytes) - packets*tx
	}
	for _, tt := range []struct {
		name           string
		set            []string
		before, after  string                // the change
		moves          map[string]units.Time // stage to predicted change
		exact          bool
		all            bool   // the change is one of the bystander too
		stage          string // that must dominate after it
		explains, with string // by the ceiling, and the words it uses
	}{
		{
			name:  "double a cable",
			set:   []string{"topology.star.length=5m"},
			after: "topology.links[0].length=20km", before: "topology.links[0].length=10km",
			moves: map[string]units.Time{"propagation sw to h1": cable(10), "ACK propagation h1 to sw": cable(10)},
			exact: true, stage: "sending",
		},
		{
			name:   "halve a window",
			set:    []string{"topology.star.length=2km", "topology.links[0].length=2km"},
			before: "hosts.h0.window=131072B", after: "hosts.h0.window=65536B",
			moves: map[string]units.Time{"window": windowTime(16) - windowTime(32)},
			stage: "window", explains: "window", with: "window allows 12.7 Gb/s and it reached 12.7 Gb/s",
		},
		{
			name:   "halve a bitmap",
			set:    []string{"topology.star.length=2km", "topology.links[0].length=2km", "nic.recovery=selective-repeat"},
			before: "nic.bitmap=32", after: "nic.bitmap=16",
			moves: map[string]units.Time{"bitmap": windowTime(16) - windowTime(32)},
			all:   true, stage: "bitmap", explains: "bitmap", with: "bitmap allows 12.7 Gb/s and it reached 12.7 Gb/s",
		},
		{
			name:   "pause a port: a slow receiver",
			set:    []string{"hosts.h1.rx_buffer=100KB", "switch.pfc.xoff=20KB"},
			before: "hosts.h1.drain_rate=100Gbps", after: "hosts.h1.drain_rate=40Gbps",
			moves: map[string]units.Time{"paused h0:1": slower(frameSize, 40*units.Gbps)},
			stage: "paused", explains: "receive buffer of h1", with: "receive buffer of h1 allows 39.4 Gb/s",
		},
		{
			name:   "halve a rate",
			set:    []string{"stack=rocev2", "switch.ecn=none"},
			before: "workload[0].flow.initial_rate=80Gbps", after: "workload[0].flow.initial_rate=40Gbps",
			moves: map[string]units.Time{"rate": slower(wireSize, 40*units.Gbps) - slower(wireSize, 80*units.Gbps)},
			stage: "rate", explains: "h0 qp 0", with: "h0 qp 0 began at its initial rate of 40.0 Gb/s",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := simulate(t, parse(t, causalityBase, append(tt.set[:len(tt.set):len(tt.set)], tt.before)...), 0, 1)
			after := simulate(t, parse(t, causalityBase, append(tt.set[:len(tt.set):len(tt.set)], tt.after)...), 0, 1)
			compareStages(t, before, after, tt.moves, tt.exact)
			if a, b := sums(before.Messages[1].Account.Stages()), sums(after.Messages[1].Account.Stages()); !tt.all && fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("the bystander's account changed from %v to %v", a, b)
			}
			if d := metrics.DominantStage(after, 0); d.Stage.String() != tt.stage {
				t.Errorf("%+v dominates, want %s", d, tt.stage)
			}
			c := metrics.Ceilings(after)[0]
			by := c.Cause.Place
			if c.Reached { // nothing is missing, and the limit is the answer
				by = c.At
			}
			if tt.explains != "" && (by != tt.explains || !strings.HasPrefix(c.How, tt.with)) {
				t.Errorf("ceiling explained by %q (%s), want %q (%s)", by, c.How, tt.explains, tt.with)
			}
		})
	}
}

// compareStages holds the change of every stage against the prediction: 0 where
// there is none, within 1 % of the completion time, or exactly.
func compareStages(t *testing.T, before, after *record.Run, moves map[string]units.Time, exact bool) {
	t.Helper()
	a, b := sums(before.Messages[0].Account.Stages()), sums(after.Messages[0].Account.Stages())
	margin := max(before.Messages[0].CompletionPS, after.Messages[0].CompletionPS) / 100
	if exact {
		margin = 0
	}
	stages := map[string]bool{}
	for k := range a {
		stages[k] = true
	}
	for k := range b {
		stages[k] = true
	}
	for k := range stages {
		if off := b[k] - a[k] - moves[k]; off > margin || off < -margin {
			t.Errorf("%s: %d ps before, %d after: moved by %d, predicted %d, margin %d", k, a[k], b[k], b[k]-a[k], moves[k], margin)
		}
	}
	for k, d := range moves {
		if d < 10*margin || !stages[k] {
			t.Errorf("%s: predicted to move by %d only: the scenario tells nothing", k, d)
		}
	}
}

// Ceilings in closed form: payload over wire bytes on each hop (models.md 4.1:
// 392.14 of 400 Gb/s at MTU 4096), window per idle round trip, and the drain by
// frame bytes.
func TestCeilings(t *testing.T) {
	r := simulate(t, parse(t, `
name: ceilings
topology: {star: {hosts: 2, link: 400Gbps, length: 2km}}
nic: {window: 100KB}
hosts:
  h1: {drain_rate: 40Gbps, rx_buffer: 2MB}
workload:
  - flow: {from: h0, to: h1, size: 1MB}
`), 0, 1)
	c := metrics.Ceilings(r)[0]
	// 1 MB is 244 full packets and one of 576 B; 82 B each and 16 B of RETH.
	onWire, frames := int64(1_000_000+245*82+16), int64(1_000_000+245*62+16)
	hop := units.Rate(400_000_000_000 * 1_000_000 / onWire)
	drain := units.Rate(40_000_000_000 * 1_000_000 / frames)
	full, ack := units.Time((4096+82)*20), units.Time((66+20)*20)
	rtt := 2*full + 2*ack + 4*10*units.Microsecond + 2*300*units.Nanosecond + units.Rate(40*units.Gbps).TxTime(4096+62)
	window := metrics.RateOf(25*4096, rtt) // the packet that passes the limit is still sent
	want := []metrics.Limit{{Name: "h0:1", Bps: hop}, {Name: "sw:2", Bps: hop}, {Name: "window", Bps: window}, {Name: "receive buffer of h1", Bps: drain}}
	for i, l := range c.Limits {
		if i >= len(want) || l.Name != want[i].Name || l.Bps != want[i].Bps {
			t.Errorf("limit %d is %s %d, want %v", i, l.Name, l.Bps, want[min(i, len(want)-1)])
		}
	}
	if c.At != "window" || c.BestBps != window || len(c.Limits) != len(want) {
		t.Errorf("best %d at %s of %d limits", c.BestBps, c.At, len(c.Limits))
	}
	// Ten whole windows and the rest of the last round trip: within a tenth.
	if g := metrics.Goodput(&r.Messages[0]); g != c.MeasuredBps || g < window*9/10 || g > window*11/10 {
		t.Errorf("measured %d, ceiling %d", c.MeasuredBps, window)
	}
	if c.Cause.Place != "window" {
		t.Errorf("explained by %s: %s", c.Cause.Place, c.How)
	}
}

// The path that a record names is the one its packets took: the stamps of the
// last packet and the pinned and hashed routes agree.
func TestRecordedPathIsTheOneTaken(t *testing.T) {
	r := simulate(t, parse(t, `
name: paths
topology: {leaf_spine: {leaves: 4, spines: 4, hosts_per_leaf: 4, link: 100Gbps}}
workload:
  - permutation: {size: 64KB}
  - flow: {from: h0, to: h15, size: 64KB, path: [h0, leaf1, spine3, leaf4, h15]}
`), 0, 1)
	seen := map[string]bool{}
	for i, c := range metrics.Ceilings(r) {
		f := &r.Messages[i]
		taken := ""
		for _, s := range f.Account.Stages() {
			if s.Stage.String() == "serialisation" {
				taken += s.Place().String() + " "
			}
		}
		named := ""
		for _, l := range c.Limits {
			named += l.Name + " "
			if strings.HasPrefix(l.Name, "leaf") {
				seen[l.Name] = true
			}
		}
		if taken != named {
			t.Errorf("%s -> %s: packets took %s, the record says %s", f.Src, f.Dst, taken, named)
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %d ports of leaves were used", len(seen))
	}
}
