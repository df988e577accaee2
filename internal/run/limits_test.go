package run_test

import (
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// With a static threshold the nearest approach to XOFF is the peak of the
// ingress use, and the threshold is the reserve and XOFF together; a headroom is
// what the scenario says.
func TestNearestXOFF(t *testing.T) {
	r := runText(t, `
stack: rocev2-pfc-only
topology: {star: {hosts: 4, link: 100Gbps}}
switch: {pfc: {xoff: 300KB, reserved: 8KB, headroom: 90KB}}
nic: {window: 100KB}
workload:
  - incast: {from: [h0, h1, h2], to: h3, size: 2MB}
`)
	judged := 0
	for _, p := range r.Ports {
		a := p.Limits.XOFF
		if p.Node != "sw" || p.Class != 3 {
			continue
		}
		if a == nil || a.Value != p.PeakIngress || a.Threshold != 308_000 || p.Limits.HeadroomBytes != 90_000 || p.PeakIngress > 0 && a.At == 0 {
			t.Errorf("%s:%d: %+v, peak %d, headroom %d", p.Node, p.Port, a, p.PeakIngress, p.Limits.HeadroomBytes)
			continue
		}
		if a.Value > 90_000 {
			judged++
		}
	}
	if judged != 3 {
		t.Errorf("%d ingress buffers held a window, want 3", judged)
	}
}

// A threshold that falls while the pool fills is compared as it was at the
// nearest approach: alpha times what was free then (Choudhury and Hahne).
func TestNearestXOFFIsDynamic(t *testing.T) {
	r := runText(t, `
stack: rocev2-pfc-only
topology: {star: {hosts: 4, link: 100Gbps}}
switch: {buffer: 2MB, pfc: {alpha: 1/2, reserved: 0B, headroom: 100KB}}
nic: {window: 150KB}
workload:
  - incast: {from: [h0, h1, h2], to: h3, size: 2MB}
`)
	shared := int64(2_000_000 - 4*100_000)
	for _, p := range r.Ports {
		a := p.Limits.XOFF
		if p.Node != "sw" || p.Class != 3 || a == nil || p.PeakIngress < 90_000 {
			continue
		}
		// The two other senders hold at most a window and a frame each beside it.
		least := (shared - a.Value - 2*(150_000*4158/4096+2*4158)) / 2
		if a.Threshold < least || a.Threshold > (shared-a.Value)/2 {
			t.Errorf("%s:%d: threshold %d at use %d, want %d to %d", p.Node, p.Port, a.Threshold, a.Value, least, (shared-a.Value)/2)
		}
	}
}

// A lossy queue is judged with the arriving frame against alpha times the free
// pool: one frame in an empty switch.
func TestNearestEgressDrop(t *testing.T) {
	r := runText(t, `
stack: rocev2-none
topology: {star: {hosts: 2, link: 100Gbps}}
switch: {lossy: {alpha: 1/4, pool: 1MB}}
workload:
  - flow: {from: h0, to: h1, size: 1000B, verb: send}
`)
	for _, p := range r.Ports {
		if p.Node != "sw" || p.Port != 2 || p.TxPackets == 0 {
			continue
		}
		if want := (record.Approach{Value: 1062, Threshold: 250_000, At: p.PeakQueuePS}); p.Limits.EgressDrop == nil || *p.Limits.EgressDrop != want {
			t.Errorf("%+v, want %+v", p.Limits.EgressDrop, want)
		}
		return
	}
	t.Error("no frame passed")
}

// The only packet of a message waits for its ACK for exactly the idle round
// trip, which is also what the record says the path takes.
func TestNearestTimeoutIsTheRoundTrip(t *testing.T) {
	for _, forwarding := range []string{"store-and-forward", "cut-through"} {
		r := runText(t, `
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, host_link: 100Gbps, uplink: {rate: 400Gbps, length: 100m}}}
switch: {forwarding: `+forwarding+`}
hosts:
  h1: {drain_rate: 50Gbps, rx_buffer: 1MB}
workload:
  - flow: {from: h0, to: h1, size: 4096B, verb: send}
`)
		l := r.QPs[0].Limits
		if l.NearTimeout == nil || units.Time(l.NearTimeout.Value) != l.BaseRTTPS || l.BaseRTTPS == 0 || l.NearTimeout.Threshold != int64(l.TimeoutPS) {
			t.Errorf("%s: waited %+v, base RTT %d", forwarding, l.NearTimeout, l.BaseRTTPS)
		}
	}
}
