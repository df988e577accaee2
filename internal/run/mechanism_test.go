package run_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
)

// mechanismBase is a star whose settings the cases below change one at a time.
const mechanismBase = `
name: mechanisms
topology: {star: {hosts: 6, link: 100Gbps, length: 5m}}
workload:
  - incast: {from: [h0, h1], to: h5, size: 4MB}
`

// state runs the base with changes and returns what became of a mechanism.
func state(t *testing.T, m catalog.Mechanism, set []string) metrics.State {
	t.Helper()
	for _, s := range metrics.Mechanisms(simulate(t, parse(t, mechanismBase, set...), 0, 1), 0) {
		if s.Mechanism == m {
			return s
		}
	}
	t.Fatalf("no mechanism %q", m)
	return metrics.State{}
}

// Each reason that the report gives for a mechanism's silence is put to the
// test: changing what it names, and nothing else, lets the mechanism act;
// changing something else does not.
func TestReasonsAreCauses(t *testing.T) {
	const (
		size   = "workload[0].incast.size="
		from   = "workload[0].incast.from="
		window = "nic.window="
		xoff   = "switch.pfc.xoff="
	)
	one, two := from+"[h0]", from+"[h0, h1]"
	pfcOnly := "stack=rocev2-pfc-only"
	for _, tt := range []struct {
		name      string
		mechanism catalog.Mechanism
		set       []string
		why       string // the only reason
		cause     string // what it names, changed
		other     string // something else, changed
	}{
		{"mark: window", catalog.ECNMark, []string{window + "100KB"}, "the window holds each of 2 senders to 100 KB", window + "none", size + "8MB"},
		{"mark: bytes", catalog.ECNMark, []string{size + "150KB"}, "passed in all", size + "4MB", "topology.star.length=20m"},
		{"mark: short", catalog.ECNMark, []string{size + "300KB"}, "the traffic that met there was over before more had queued up: 609 KB from 2 senders in all", size + "4MB", "topology.star.length=20m"},
		{"mark: input", catalog.ECNMark, []string{one}, "one port feeds sw:6, no faster than it sends", two, size + "16MB"},
		{"mark: initial rate", catalog.ECNMark, []string{"workload[0].incast.initial_rate=20Gbps"}, "congestion control starts each of 2 senders at 20.0 Gb/s",
			"workload[0].incast.initial_rate=100Gbps", size + "8MB"},
		{"mark: PFC", catalog.ECNMark, []string{xoff + "50KB"}, "PFC stopped its senders first, with XOFF at", xoff + "2MB", size + "8MB"},
		{"mark: not ECT", catalog.ECNMark, []string{"dcqcn=none", "switch.ecn.priorities=[3]"}, "not ECN-capable", "dcqcn=nvidia", size + "8MB"},
		{"mark: chance", catalog.ECNMark, []string{"switch.ecn.pmax=0.000001", "switch.ecn.kmax=100MB"}, "chance marked none", "switch.ecn.pmax=1", size + "5MB"},
		{"CNP", catalog.CNPSent, []string{window + "100KB"}, "no packet was marked", window + "none", size + "8MB"},
		{"cut", catalog.RateCut, []string{window + "100KB"}, "no CNP reached it", window + "none", size + "8MB"},
		{"pacing", catalog.Pacing, []string{window + "100KB"}, "its rate never fell below the line's", "workload[0].incast.initial_rate=20Gbps", size + "8MB"},
		{"window: BDP", catalog.WindowHeld, []string{window + "1MB", one}, "ACKs came back in time", "topology.star.length=20km", size + "16MB"},
		{"window: bytes", catalog.WindowHeld, []string{window + "200KB", one, size + "100KB", "topology.star.length=20km"}, "it sent only 100 KB in all", size + "4MB", "mtu=1024"},
		{"window: cuts", catalog.WindowHeld, []string{window + "1MB"}, "kept it from filling the window", "dcqcn=none", "seed=2"},
		{"XOFF: window", catalog.XOFFCross, []string{pfcOnly, window + "100KB", xoff + "300KB"}, "the window holds h", window + "none", size + "8MB"},
		{"XOFF: bytes", catalog.XOFFCross, []string{pfcOnly, size + "100KB", xoff + "300KB"}, "arrived in all", size + "4MB", "topology.star.length=20m"},
		{"XOFF: short", catalog.XOFFCross, []string{pfcOnly, size + "500KB", xoff + "300KB"}, "the traffic that met there was over before more had queued up", size + "4MB", "topology.star.length=20m"},
		{"XOFF: input", catalog.XOFFCross, []string{pfcOnly, one, xoff + "300KB"}, "one port feeds sw:6, no faster than it sends", two, size + "8MB"},
		{"XOFF: initial rate", catalog.XOFFCross, []string{"switch.ecn=none", "workload[0].incast.initial_rate=20Gbps", xoff + "300KB"},
			"congestion control starts each of 2 senders", "workload[0].incast.initial_rate=100Gbps", size + "8MB"},
		{"XOFF: marks", catalog.XOFFCross, []string{from + "[h0, h1, h2, h3, h4]", size + "16MB"}, "first, as marks begin at Kmin, 400 KB", "dcqcn=none", "seed=2"},
		{"headroom", catalog.HeadroomDrop, []string{pfcOnly, xoff + "300KB"}, "arrived after XOFF", "switch.pfc.headroom=1KB", size + "8MB"},
		{"headroom unused", catalog.HeadroomDrop, []string{pfcOnly, xoff + "300KB", "switch.pfc.headroom=1KB", window + "100KB"}, "XOFF was never crossed", window + "none", size + "8MB"},
		{"egress drop: window", catalog.EgressDrop, []string{"stack=rocev2-none", "switch.buffer=2MB", window + "100KB"}, "the window holds each of 2 senders", window + "none", size + "8MB"},
		{"egress drop: input", catalog.EgressDrop, []string{"stack=rocev2-none", "switch.buffer=2MB", one}, "one port feeds sw:6", two, size + "8MB"},
		{"egress drop: bytes", catalog.EgressDrop, []string{"stack=rocev2-none", "switch.buffer=2MB", size + "100KB"}, "passed in all", size + "4MB", "topology.star.length=20m"},
		{"receive: drain", catalog.ReceiveXOFF, []string{one, "hosts.h5.drain_rate=100Gbps", "hosts.h5.rx_buffer=256KB"}, "as fast as the link brings it", "hosts.h5.drain_rate=40Gbps", size + "8MB"},
		{"receive: bytes", catalog.ReceiveXOFF, []string{one, size + "100KB", "hosts.h5.drain_rate=40Gbps", "hosts.h5.rx_buffer=256KB"}, "arrived in all", size + "8MB", "topology.star.length=20m"},
		{"receive: window", catalog.ReceiveXOFF, []string{one, window + "100KB", "hosts.h5.drain_rate=40Gbps", "hosts.h5.rx_buffer=256KB"}, "the window holds h0 qp 0 to 100 KB", window + "none", size + "8MB"},
		{"gap", catalog.SequenceGap, []string{one}, "nothing was lost", "topology.star.drop_every=64", size + "8MB"},
		{"timeout", catalog.AckTimeout, []string{one, "topology.star.length=1km"}, "the longest wait for an ACK or NAK that brought progress was", "nic.timeout=1", size + "8MB"},
		{"RNR", catalog.RNR, []string{one, "workload[0].incast.verb=send", "workload[0].incast.receives=1"}, "messages had at most 1 of its 1 receive work requests at a time", "workload[0].incast.receives=0", size + "8MB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := tt.set
			if tt.cause == "workload[0].incast.receives=0" { // for RNR without end the run needs one
				set = append(set, "nic.rnr_retry=2")
			}
			s := state(t, tt.mechanism, set)
			if s.Armed == 0 || s.Fired != 0 || !strings.Contains(s.Why, tt.why) || strings.Contains(s.Why, ";") {
				t.Errorf("armed at %d, fired at %d: %q, want %q alone", s.Armed, s.Fired, s.Why, tt.why)
			}
			if s := state(t, tt.mechanism, append(set[:len(set):len(set)], tt.cause)); s.Fired == 0 {
				t.Errorf("with %s it does not act: %q", tt.cause, s.Why)
			}
			if s := state(t, tt.mechanism, append(set[:len(set):len(set)], tt.other)); s.Armed == 0 || s.Fired != 0 {
				t.Errorf("with %s it acts, or is off: %+v", tt.other, s)
			}
		})
	}
}
