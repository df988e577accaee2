package run_test

import (
	"fmt"
	"strings"
	"testing"
)

// creditRing is F23 with the tables of a subnet manager in place of pinned paths:
// two hosts at each of four switches in a circle, all sending two switches on.
const creditRing = `
name: credit-ring
stack: infiniband
topology:
  hosts: [h0, h1, h2, h3, g0, g1, g2, g3]
  switches: [s0, s1, s2, s3]
  links:
    - {between: [s0, s1], rate: 100Gbps}
    - {between: [s1, s2], rate: 100Gbps}
    - {between: [s2, s3], rate: 100Gbps}
    - {between: [s3, s0], rate: 100Gbps}
    - {between: [h0, s0], rate: 100Gbps}
    - {between: [h1, s1], rate: 100Gbps}
    - {between: [h2, s2], rate: 100Gbps}
    - {between: [h3, s3], rate: 100Gbps}
    - {between: [g0, s0], rate: 100Gbps}
    - {between: [g1, s1], rate: 100Gbps}
    - {between: [g2, s2], rate: 100Gbps}
    - {between: [g3, s3], rate: 100Gbps}
nic: {timeout: 0}
workload:
  - flow: {from: h0, to: h2, size: 4MB}
  - flow: {from: h1, to: h3, size: 4MB}
  - flow: {from: h2, to: h0, size: 4MB}
  - flow: {from: h3, to: h1, size: 4MB}
  - flow: {from: g0, to: g2, size: 4MB}
  - flow: {from: g1, to: g3, size: 4MB}
  - flow: {from: g2, to: g0, size: 4MB}
  - flow: {from: g3, to: g1, size: 4MB}
`

// TestCreditLoopDeadlocks: with minhop the run ends in a deadlock, and the ports
// that wait for each other in a circle are those of the loop that the channel dependency graph
// of the tables names; with up/down, which has none, and with minhop's own
// paths spread over two service levels, everything else alike, all flows finish.
func TestCreditLoopDeadlocks(t *testing.T) {
	v := parse(t, creditRing)
	loop := ""
	for _, w := range v.Warnings {
		if strings.Contains(w, "credit loop") {
			loop = w
		}
	}
	r := simulate(t, v, 0, 1)
	if r.Stopped != "deadlock" {
		t.Fatalf("minhop: stopped by %s with %d messages open, want a deadlock", r.Stopped, r.OpenMessages)
	}
	held := map[string]bool{}
	for _, w := range r.Cycle {
		held[w.Port.String()] = true
	}
	for i := range r.Ports {
		p := &r.Ports[i]
		if name := fmt.Sprintf("%s:%d", p.Node, p.Port); held[name] && p.Class == 0 && p.HeldPS == 0 {
			t.Errorf("%s of the circle was not held", name)
		}
	}
	found := 0
	for _, word := range strings.Fields(loop) {
		if at, _, ok := strings.Cut(word, ":"); ok && strings.HasPrefix(at, "s") && strings.Contains(loop, word+" -> ") {
			found++
			if !held[word] {
				t.Errorf("%s is on the loop and not in the circle at the end", word)
			}
		}
	}
	if found != 4 {
		t.Errorf("the warning %q names %d channels of the loop, want 4", loop, found)
	}
	for _, set := range [][]string{{"infiniband.routing=updn", "infiniband.roots=[s0]"}, {"infiniband.sls=2"}} {
		r = simulate(t, parse(t, creditRing, set...), 0, 1)
		if r.Stopped != "quiescence" || r.OpenMessages != 0 {
			t.Errorf("%v: stopped by %s with %d messages open", set, r.Stopped, r.OpenMessages)
		}
	}
}
