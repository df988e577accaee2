package scenario

import (
	"strings"
	"testing"
)

const ibRing = `stack: infiniband
topology:
  hosts: [h0, h1, h2, h3]
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
workload:
  - flow: {from: h0, to: h2, size: 1MB}
`

// With the stack infiniband a switch has one port per destination, that of the
// subnet manager's tables; a credit loop is a warning that names its links.
func TestSubnetRoutes(t *testing.T) {
	v, err := Parse("s.yaml", []byte(ibRing), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range v.Graph.Nodes {
		if v.Routes.Group[n] == nil {
			continue
		}
		for ep := range v.Graph.Endpoints {
			if ports := v.Routes.Lookup(n, ep); len(ports) != 1 {
				t.Errorf("%s has ports %v for %s, want one", v.Graph.Nodes[n].Name, ports, v.Graph.EndpointName(ep))
			}
		}
	}
	warned := strings.Join(v.Warnings, "\n")
	if !strings.Contains(warned, "the tables of minhop have a credit loop") || strings.Count(warned, " -> ") != 4 {
		t.Errorf("warnings %q, want the four links of the loop", v.Warnings)
	}
	v, err = Parse("s.yaml", []byte(ibRing+"infiniband: {routing: updn, roots: [s0]}\n"), nil, nil)
	if err != nil || strings.Contains(strings.Join(v.Warnings, "\n"), "credit loop") {
		t.Errorf("updn: %v, %q", err, v.Warnings)
	}
}

// What the subnet manager refuses has a place.
func TestSubnetErrors(t *testing.T) {
	wide := "stack: infiniband\ntopology: {star: {hosts: 300, link: 100Gbps}}\nworkload: [{flow: {from: h0, to: h1, size: 1MB}}]\n"
	for _, tt := range []struct{ text, want string }{
		{ibRing + "infiniband: {routing: dor}\n", `s.yaml:16:23: infiniband.routing: "dor" is not known; use one of minhop, updn, ftree`},
		{ibRing + "infiniband: {routing: ftree}\n", "s.yaml:16:23: ftree: no fat-tree: 1 ranks of switches"},
		{ibRing + "infiniband: {routing: updn}\n", "s.yaml:16:23: updn: no switch stands out as a root"},
		{ibRing + "infiniband: {routing: updn, roots: [h0]}\n", `s.yaml:16:37: infiniband.roots: "h0" is no switch of the topology`},
		{ibRing + "infiniband: {sls: 9}\n", `s.yaml:16:19: infiniband.sls: "9" is not a whole number from 1 to 8`},
		{ibRing + "infiniband: {sls: 2, vls: 1}\n", "s.yaml:16:19: infiniband.sls: the tables need service levels 0 to 1, and 0 and 1 share VL 0"},
		{strings.Replace(ibRing, "size: 1MB", "size: 1MB, class: 1", 1) + "infiniband: {sls: 2}\n", "s.yaml:16:19: infiniband.sls: the workload gives service level 1 itself"},
		{strings.Replace(ibRing, "[s0, s1], rate: 100Gbps", "[s0, s1], rate: 100Gbps, down_at: 1ms", 1) + "infiniband: {sls: 2}\n", "s.yaml:16:19: infiniband.sls: connections keep their service level"},
		{wide, "s.yaml:2:12: switch sw has 300 ports; an InfiniBand switch has at most 254"},
	} {
		if _, err := Parse("s.yaml", []byte(tt.text), nil, nil); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%v\nwant %s", err, tt.want)
		}
	}
	stack := "infiniband"
	wide = strings.TrimPrefix(wide, "stack: infiniband\n")
	v, err := ParseStack("s.yaml", []byte(wide), stack, nil, nil)
	if err != nil || !strings.Contains(strings.Join(v.Warnings, "\n"), "no InfiniBand subnet is like this") {
		t.Errorf("in a comparison: %v", err)
	}
	v, err = Parse("s.yaml", []byte(ibRing+"routing: ecmp\n"), nil, nil)
	if err != nil || !strings.Contains(strings.Join(v.Warnings, "\n"), "routing has no effect") {
		t.Errorf("routing of another stack: %v", err)
	}
}
