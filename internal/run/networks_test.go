package run_test

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// A comparison varies the data network alone: RPC over TCP on an Ethernet network of its own takes the same to the
// picosecond whatever carries the data, and the run is the same however it is cut.
func TestNetworksBesideEachOther(t *testing.T) {
	const text = `
name: beside
stack: %s
noise: {pipeline: 150ns}
topology:
  hosts: [a, b, c]
  switches: [data, e1, e2, s1, s2]
  links:
    - {between: [a, data], rate: 400Gbps}
    - {between: [b, data], rate: 400Gbps}
    - {between: [c, data], rate: 400Gbps}
    - {between: [a, e1], rate: 25Gbps}
    - {between: [b, e1], rate: 25Gbps}
    - {between: [c, e2], rate: 25Gbps}
    - {between: [e1, s1], rate: 25Gbps, delay: 1us}
    - {between: [e1, s2], rate: 25Gbps, delay: 1us}
    - {between: [e2, s1], rate: 25Gbps, delay: 1us}
    - {between: [e2, s2], rate: 25Gbps, delay: 1us}
workload:
  - incast: {from: ["a:1", "b:1"], to: "c:1", size: 2MB}
  - rpc: {between: ["a:2", "c:2"], size: 2KB, every: 50us, count: 20, stack: tcp}
  - incast: {from: ["a:2", "b:2"], to: "c:2", size: 300KB, stack: tcp}
`
	calls := func(r *record.Run) (out []string) {
		for i := range r.Messages {
			if m := &r.Messages[i]; m.Service == catalog.TCP {
				out = append(out, fmt.Sprint(m.Workload, m.StartPS, m.CompletionPS))
			}
		}
		return out
	}
	var want []string
	for _, stack := range []string{"rocev2-pfc-only", "infiniband", "rocev2-lossy"} {
		v := parse(t, fmt.Sprintf(text, stack))
		r := simulate(t, v, 0, 1)
		for i := range r.Ports {
			p := &r.Ports[i]
			of := p.Node + p.Peer.Node
			data := len(of) > 4 // of the switch data
			if ib := p.Layer == catalog.InfiniBand; ib != (data && stack == "infiniband") {
				t.Errorf("%s: %s to %s is %v", stack, p.Node, p.Peer.Node, p.Layer)
			}
		}
		got := calls(r)
		if want == nil {
			want = got
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(got) != 42 {
			t.Errorf("%s: RPC took\n%v, not\n%v", stack, got, want)
		}
		if bad := differ(t, r, simulate(t, v, 4, 3)); bad != "" {
			t.Errorf("%s: %s", stack, bad)
		}
	}
}
