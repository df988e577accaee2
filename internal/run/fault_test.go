package run_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// faulty is one message to a host, and one from it, on links of 100 Gb/s.
const faulty = `
topology: {star: {hosts: 3, link: 100Gbps, delay: 100ns}}
switch: {buffer: 8MB}
dcqcn: none
nic: {timeout: 20, ack_class: 5}
workload:
  - flow: {from: h0, to: h2, size: 20MB}
  - flow: {from: h2, to: h1, size: 20MB}
`

// TestFaults: what a card that hangs, pauses its switch or takes data slowly costs a message, in
// closed form. Without a fault each of the two takes base.
func TestFaults(t *testing.T) {
	base := simulate(t, parse(t, faulty), 1, 1)
	in, out := base.Messages[0].CompletionPS, base.Messages[1].CompletionPS
	const unknown = -units.Second
	const xoff = 982_000 // about: of the receive buffer of 1 MB
	fill := units.Time(xoff) * 80
	for _, c := range []struct {
		name, faults string
		in, out      units.Time // longer by
	}{
		// It fills its buffer first, and hands that over at once when it goes on; it sends nothing.
		{"hang", "{hang: {from: 500us, until: 2500us}}", 2*units.Millisecond - fill, 2 * units.Millisecond},
		// What it sends is not held, nor are the ACKs of that, which have a class of their own.
		{"pauses", "{pauses: {from: 500us, until: 2500us}}", 2 * units.Millisecond, 0},
		// From 500 us on 20 MB less what has come take 10 times as long. ACKs wait behind data.
		{"slow", "{slow: {from: 500us, rate: 10Gbps}}", 9 * (in - 500*units.Microsecond), unknown},
		{"slow for a while", "{slow: {from: 500us, until: 1500us, rate: 10Gbps}}", 900*units.Microsecond - fill, unknown},
		{"faster than the wire", "{slow: {from: 500us, rate: 200Gbps}}", 0, 0},
		{"two", "{hang: {from: 1ms, until: 2ms}}, {hang: {from: 2200us, until: 3200us}}", 2*units.Millisecond - 2*fill, 2 * units.Millisecond},
		{"after the end", "{hang: {from: 1s, until: 2s}}", 0, 0},
	} {
		v := parse(t, faulty, "hosts.h2.faults=["+c.faults+"]")
		r := simulate(t, v, 1, 1)
		for k, want := range []units.Time{in + c.in, out + c.out} {
			got := r.Messages[k].CompletionPS
			if slack := want/50 + 2*units.Microsecond; want > 0 && (got < want-slack || got > want+slack) {
				t.Errorf("%s: message %d took %v, want %v within %v", c.name, k, got, want, slack)
			}
		}
		if bad := differ(t, r, simulate(t, v, 4, 2)); bad != "" {
			t.Errorf("%s: 4 partitions give another result: %s", c.name, bad)
		}
		if warned := strings.Contains(strings.Join(r.Warnings, " "), "never seen"); warned != (len(r.Faults) == 0) {
			t.Errorf("%s: %d faults, warnings %q", c.name, len(r.Faults), r.Warnings)
		}
	}
}

// TestSlowIsDrainRate: a card that takes data slowly from the start to the end is one with that
// drain_rate, to the last frame.
func TestSlowIsDrainRate(t *testing.T) {
	a := simulate(t, parse(t, faulty, "hosts.h2.drain_rate=17Gbps"), 1, 1)
	b := simulate(t, parse(t, faulty, "hosts.h2.faults=[{slow: {rate: 17Gbps}}]"), 1, 1)
	if a.Fingerprint != b.Fingerprint {
		t.Errorf("%s at %v with a drain rate, %s at %v with a fault", a.Fingerprint, a.EndPS, b.Fingerprint, b.EndPS)
	}
}

// TestFaultIsNamed: messages that a fault held say so, with its times, and none that it did not
// hold does.
func TestFaultIsNamed(t *testing.T) {
	for _, c := range []struct{ fault, says string }{
		{"{hang: {from: 500us, until: 20ms}}", "the NIC of h2 hung from 500 us to 20.0 ms"},
		{"{pauses: {from: 500us, until: 20ms}}", "the NIC of h2 paused its switch for no reason of its own from 500 us to 20.0 ms"},
		{"{slow: {from: 500us, rate: 1Gbps}}", "the NIC of h2 took data only at 1.00 Gb/s from 500 us on"},
	} {
		text := strings.Replace(faulty, "h2, to: h1, size: 20MB", "h0, to: h1, size: 20MB, start: 30ms", 1)
		r := simulate(t, parse(t, text, "hosts.h2.faults=["+c.fault+"]"), 1, 1)
		e := metrics.NewExplainer(r, 1)
		d := e.Dominant(0)
		if d.Cause.Kind != catalog.CauseFault || d.Cause.Place.Node != "h2" || !strings.Contains(d.How, c.says) {
			t.Errorf("%s: %v at %s: %q", c.fault, d.Cause.Kind, d.Cause.Place, d.How)
		}
		if d := e.Dominant(1); d.Cause.Kind == catalog.CauseFault != (r.Faults[0].ToPS < 0) {
			t.Errorf("%s: of a message beside it: %q", c.fault, d.How)
		}
	}
	r := simulate(t, parse(t, faulty, "hosts.h2.faults=[{hang: {from: 500us, until: 20ms}}]"), 1, 1)
	if d := metrics.NewExplainer(r, 1).Dominant(1); d.Cause.Kind != catalog.CauseFault || d.Stage != catalog.StageHung {
		t.Errorf("of what the card was to send: %v at %s: %q", d.Cause.Kind, d.Cause.Place, d.How)
	}
	if f := r.Faults; len(f) != 1 || f[0] != (record.Fault{Node: "h2", Kind: record.FaultHang, FromPS: 500 * units.Microsecond, ToPS: 20 * units.Millisecond}) {
		t.Errorf("faults %+v", f)
	}
}

// TestFaultAfterTheEnd: what would go wrong after the last message has ended leaves the run as it is, to the last
// arrival, on any number of partitions; the same within it does not.
func TestFaultAfterTheEnd(t *testing.T) {
	const text = `
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 3, link: 100Gbps}}
workload: [permutation: {size: 1MB}, incast: {from: [h1, h2, h3], to: h5, size: 500KB}]
`
	for _, stack := range []string{"rocev2", "rocev2-pfc-only", "infiniband", "tcp"} {
		never := simulate(t, parse(t, text, "stack="+stack), 1, 1)
		for _, fault := range []string{
			"topology.links=[{between: [leaf1, spine1], down: [{at: WHEN, until: 3s}]}]",
			"topology.links=[{between: [h5, leaf2], flap: {from: WHEN, every: 1ms, down_for: 200us, times: 2, silent: true}}]",
			"switches.leaf2={down: [{at: WHEN}]}",
			"hosts.h5={faults: [{slow: {from: WHEN, rate: 1Gbps}}]}",
			"hosts.h5={faults: [{hang: {from: WHEN, until: 3s}}]}",
		} {
			late := parse(t, text, "stack="+stack, strings.Replace(fault, "WHEN", "2s", 1))
			for _, n := range [][2]int{{1, 1}, {4, 2}} {
				if r := simulate(t, late, n[0], n[1]); r.Fingerprint != never.Fingerprint || r.EndPS != never.EndPS {
					t.Errorf("%s, %s: ends at %v, %s; without it at %v, %s", stack, fault, r.EndPS, r.Fingerprint, never.EndPS,
						never.Fingerprint)
				}
			}
			within := parse(t, text, "stack="+stack, strings.Replace(fault, "WHEN", "20us", 1), "stop=10ms")
			if r := simulate(t, within, 1, 1); r.Fingerprint == never.Fingerprint {
				t.Errorf("%s, %s: changes nothing within the run", stack, fault)
			}
		}
	}
}
