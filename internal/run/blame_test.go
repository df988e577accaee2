package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/metrics"
)

// TestBlameByEvidence: what is missing to a message is looked for in what its own packets
// met: a port that marked them, not one that marked later; the way back of acknowledgements;
// who filled the buffer that told of a pause; the class that went ahead; the receiver whose
// pauses made the queue that marked.
func TestBlameByEvidence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, where, says string }{
		{"marks", fmt.Sprintf(laterTraffic, "rocev2", "", "5ms"), "leaf1:5", "leaf1:5 marked"},
		{"queue", fmt.Sprintf(laterTraffic, "rocev2-none", "switch: {lossy: unlimited}\nnic: {window: 100KB}", "5ms"), "leaf1:5", "packets waited"},
		{"acks", `
name: acks
stack: rocev2-none
topology: {star: {hosts: 5, link: 100Gbps}}
switch: {lossy: unlimited}
nic: {window: 128KB}
workload:
  - flow: {name: f, from: h0, to: h1, size: 2MB}
  - incast: {from: [h2, h3, h4], to: h0, size: 2MB}
`, "sw:1", "acknowledgements waited"},
		{"pause", `
name: pause
stack: rocev2-pfc-only
topology: {star: {hosts: 8, link: 100Gbps}}
switch: {buffer: 64MB, pfc: {xoff: 200KB}}
workload:
  - flows: {name: e1, size: 8MB, list: [{from: h0, to: h6}, {from: h1, to: h6}]}
  - flow: {name: trickle, from: h0, to: h7, size: 4KB, count: 40, every: 30us}
  - incast: {name: e2, from: [h2, h3, h4, h5], to: h7, size: 4MB}
`, "sw:7", "PFC held h0:1, because sw:7"},
		{"class", `
name: class
stack: rocev2-pfc-only
topology: {star: {hosts: 3, link: 100Gbps}}
switch: {pfc: {enabled: [3, 6]}}
workload:
  - flow: {name: low, from: h1, to: h2, size: 1MB, class: 3}
  - flow: {name: bulk, from: h0, to: h2, size: 8MB, class: 6}
`, "sw:3", "behind prio 6, which is served first"},
		{"receiver", `
name: receiver
stack: rocev2
topology: {star: {hosts: 2, link: 100Gbps}}
hosts: {h1: {drain_rate: 40Gbps}}
workload:
  - flow: {from: h0, to: h1, size: 8MB}
`, "receive buffer of h1", "because h1 takes data only at 40.0 Gb/s"},
	} {
		r := simulate(t, parse(t, c.text), 0, 1)
		if got := metrics.Ceilings(r)[0]; got == nil || got.Cause.Place != c.where || !strings.Contains(got.How, c.says) {
			t.Errorf("%s: %+v, want %s and %q", c.name, got, c.where, c.says)
		}
	}
}
