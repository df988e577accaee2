package metrics_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// longCable is a message over a cable of 10 us between one host and the switch, into
// input buffers of 64 KiB.
func longCable(host string) string {
	return fmt.Sprintf(`
stack: infiniband
topology:
  star: {hosts: 2, link: NDR}
  links: [{between: [%s, sw], delay: 10us}]
workload: [{flow: {from: h0, to: h1, size: 8MB}}]
infiniband: {buffer: 64KiB, update: 64B}
`, host)
}

// TestCreditCeiling: 15 packets of path MTU 4096 fit into 64 KiB, 65 blocks of 64 B each.
// By hand, at 400 Gb/s the loop is two cables, the LRH (cut-through) and 150 ns at a
// switch, or the whole packet of 4124 B on the wire at a host, and 8 B of flow control.
// The message is that many loops long: 1954 packets are 131 of them, the last in part.
func TestCreditCeiling(t *testing.T) {
	const cables, control = 20 * units.Microsecond, 8 * 20
	for _, c := range []struct {
		long, buffer string
		hop          int
		loop         units.Time
	}{
		{"h0", "sw:1", 0, cables + 150_000 + (8+1)*20 + control},
		{"h1", "h1:1", 1, cables + 4124*20 + control},
	} {
		r := simulate(t, longCable(c.long))
		h := r.QPs[0].Limits.Path[c.hop]
		if h.CreditPackets != 15 || h.CreditLoopPS < c.loop-200 || h.CreditLoopPS > c.loop+200 {
			t.Errorf("%s: %d packets in a loop of %v, want 15 in %v", c.long, h.CreditPackets, h.CreditLoopPS, c.loop)
		}
		ceiling := metrics.CeilingOf(r, 0)
		name := "input buffer of " + c.buffer
		want := 15 * 4096 * 8e12 / float64(h.CreditLoopPS)
		if ceiling.At != name || math.Abs(float64(ceiling.BestBps)-want) > 1 {
			t.Errorf("%s: at best %d bit/s at %s, want %.0f at %s", c.long, ceiling.BestBps, ceiling.At, want, name)
		}
		if got := units.Time(131) * h.CreditLoopPS; float64(r.Messages[0].CompletionPS) < 0.995*float64(got) || float64(r.Messages[0].CompletionPS) > 1.005*float64(got) {
			t.Errorf("%s: %v, want 131 loops of %v", c.long, r.Messages[0].CompletionPS, h.CreditLoopPS)
		}
		d := metrics.DominantStage(r, 0)
		if d.Where != name || !strings.Contains(d.How, "the "+name+" takes 65.5 KB in a credit loop of 20.") || strings.Contains(d.How, "takes data") {
			t.Errorf("%s: %s, %q", c.long, d.Where, d.How)
		}
	}
	// Congestion behind a buffer that suffices is still laid at the door of its port.
	r := simulate(t, "stack: infiniband\ntopology: {star: {hosts: 5, link: NDR}}\nworkload: [{incast: {from: [h0, h1, h2, h3], to: h4, size: 4MB}}]\n")
	if d := metrics.DominantStage(r, 0); d.Where != "sw:5" {
		t.Errorf("incast: %s, %q", d.Where, d.How)
	}
}

// TestHeldByFailure: two messages share the port of a link that fails. That each holds
// the other up there is no congestion: the failure is named for it and for what is
// missing.
func TestHeldByFailure(t *testing.T) {
	r := simulate(t, `
stack: infiniband
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, link: NDR, length: 10m}
  links: [{between: [leaf1, spine1], down_at: 20us}]
failover: {detect: 100us}
nic: {timeout: 6}
workload:
  - flows: {size: 8MB, list: [{from: h0, to: h4},{from: h1, to: h5},{from: h2, to: h6},{from: h3, to: h7}]}
`)
	const link = "leaf1:5 - spine1:1"
	d, c := metrics.Explain(r, 0)
	if d.Where != link || !strings.Contains(d.How, "failed at 20.0 us, noticed after 100 us") || len(d.Parts) < 2 {
		t.Errorf("%s: %q, parts %v", d.Where, d.How, d.Parts)
	}
	if c.Cause.Place != link || !strings.Contains(c.How, "failed at 20.0 us") {
		t.Errorf("what is missing: %s: %q", c.Cause.Place, c.How)
	}
	if d, _ := metrics.Explain(r, 1); d.Where == link {
		t.Errorf("h1's way has no failed link: %q", d.How)
	}
}

// The port of a dead link gets no credits back; that is no sign of how near it came to
// running out.
func TestCreditsOfDeadLink(t *testing.T) {
	r := simulate(t, `
stack: infiniband
topology:
  hosts: [a, b, c, d]
  switches: [s1, s2]
  links:
    - {between: [a, s1], rate: NDR}
    - {between: [b, s1], rate: NDR}
    - {between: [c, s2], rate: NDR}
    - {between: [d, s2], rate: NDR}
    - {between: [s1, s2], rate: NDR, down_at: 20us}
workload: [{flow: {from: a, to: c, size: 4MB}}, {flow: {from: a, to: b, size: 4MB}}]
nic: {timeout: 6}
failover: {detect: 100us}
`)
	found := false
	for _, s := range metrics.Mechanisms(r, 0) {
		if s.Mechanism != catalog.CreditsOut {
			continue
		}
		for _, p := range s.Places {
			if p.Where.String() != "s1:3 VL 0" {
				continue
			}
			if found = true; p.Why != "its link failed at 20.0 us and gave none back" {
				t.Errorf("%s: %q", p.Where, p.Why)
			}
		}
	}
	if !found {
		t.Error("s1:3 is no place where credits could run out")
	}
}

// A datagram ends as its last byte is sent: what its rate misses is the way, on any link.
func TestDatagramsWay(t *testing.T) {
	for _, stack := range []string{"infiniband", "rocev2"} {
		r := simulate(t, "stack: "+stack+"\ntopology: {star: {hosts: 3, link: NDR}}\nworkload: [{flow: {from: h0, to: h1, service: ud, verb: send, size: 4096B}}]\n")
		_, c := metrics.Explain(r, 0)
		f := &r.Messages[0]
		want := fmt.Sprintf("it was there %s after h0 qp 0 had sent it", metrics.FormatTime(f.DeliveredPS-f.CompletionPS))
		if c.Cause.Place != "the way to h1" || !strings.Contains(c.How, want) {
			t.Errorf("%s: %q: %q, want %q", stack, c.Cause.Place, c.How, want)
		}
	}
}
