package scenario

import (
	"strings"
	"testing"
)

// twoNetworks has data over the switch ib, and control over two leaves and two spines beside it.
const twoNetworks = `
stack: infiniband
topology:
  hosts: [a, b]
  switches: [ib, e1, e2, s1, s2]
  links:
    - {between: [a, ib], rate: 400Gbps}
    - {between: [b, ib], rate: 400Gbps}
    - {between: [a, e1], rate: 10Gbps}
    - {between: [b, e2], rate: 10Gbps}
    - {between: [e1, s1], rate: 10Gbps}
    - {between: [e1, s2], rate: 10Gbps}
    - {between: [e2, s1], rate: 10Gbps}
    - {between: [e2, s2], rate: 10Gbps}
workload:
  - flow: {from: "a:1", to: "b:1", size: 1MB}
  - rpc: {between: ["a:2", "b:2"], size: 2KB, every: 50us, count: 2, stack: dctcp}
`

// A network over which only TCP goes is Ethernet beside the subnet: its switches have shared buffers, marks for
// DCTCP, ECMP groups and Ethernet's latency and noise; the subnet's have credits and one port per destination.
func TestEthernetBesideInfiniBand(t *testing.T) {
	v := parse(t, twoNetworks)
	for _, name := range []string{"ib", "e1", "e2", "s1", "s2"} {
		n, _ := v.Graph.NodeByName(name)
		sw, beside := &v.Switches[n], name != "ib"
		if v.Beside[n] != beside || (sw.Memory != nil) != beside || (sw.SL2VL == nil) != beside || (sw.Ports[0].Credit == nil) != beside {
			t.Errorf("%s: beside %v, memory %v, SL2VL %v", name, v.Beside[n], sw.Memory != nil, sw.SL2VL)
		}
		if (sw.Ports[0].RED[0].KMax > 0) != beside || sw.CutThrough == beside || sw.Arbitration != beside || (v.NoiseAt(n).Pipeline > 0) != beside {
			t.Errorf("%s: marks %+v, cut-through %v, arbitration %v, noise %v", name, sw.Ports[0].RED[0], sw.CutThrough, sw.Arbitration, v.NoiseAt(n))
		}
		if got := v.WireAt(n, 0).Name; (got == "ethernet") != beside {
			t.Errorf("%s: links of %s", name, got)
		}
	}
	e1, _ := v.Graph.NodeByName("e1")
	to := 3 // b:2
	if ways := v.Routes.Group[e1][to] & 0xff; ways != 2 {
		t.Errorf("e1 has %d ports towards b:2, want 2", ways)
	}
	a, _ := v.Graph.NodeByName("a")
	if p := v.NICs[a].Ports; p[0].Credit == nil || p[1].Credit != nil {
		t.Errorf("a's ports: %+v", p)
	}
}

// TCP that shares a network with the subnet's own transport is refused, and in a comparison runs over that.
func TestTCPWithinTheSubnet(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"a:2", "b:2"`, `"a:1", "b:1"`, "workload[1]: TCP needs Ethernet, and a to b go over InfiniBand; give them ports on a network of their own"},
		{`from: "a:1", to: "b:1"`, `from: "a:2", to: "b:2"`, "workload[1]: TCP needs Ethernet"},
	} {
		text := strings.Replace(twoNetworks, c.from, c.to, 1)
		_, err := Parse("s.yaml", []byte(text), nil, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "s.yaml:17:5: "+c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
		v, err := parseStack("s.yaml", []byte(text), stackInfiniBand, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if v.Beside != nil || v.TCP != nil || !strings.Contains(strings.Join(v.Warnings, "\n"), "runs over infiniband: TCP needs Ethernet") {
			t.Errorf("compared: %v %v %q", v.Beside, v.TCP, v.Warnings)
		}
	}
}
