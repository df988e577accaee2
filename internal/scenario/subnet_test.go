package scenario

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
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

// Switches that choose a port per packet, among all shortest paths, have the same
// loop; with lifetime limits a load does not stop in it for ever.
func TestLoopWarnings(t *testing.T) {
	for _, c := range []struct{ more, want string }{
		{"routing: adaptive\n", "the shortest paths of routing: adaptive have a credit loop, and a load that fills its buffers stops for ever: "},
		{"routing: spray\n", "the shortest paths of routing: spray have a credit loop"},
		{"infiniband: {hoq_life: 4}\n", "stops until the lifetime limits (hoq_life, packet_life) discard packets: "},
		{"infiniband: {packet_life: 18}\n", "stops until the lifetime limits"},
	} {
		v, err := Parse("s.yaml", []byte(ibRing+c.more), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if warned := strings.Join(v.Warnings, "\n"); !strings.Contains(warned, c.want) || strings.Count(warned, " -> ") != 4 {
			t.Errorf("%s: %q\nwant %s with four links", c.more, warned, c.want)
		}
	}
	tree := strings.Replace(ibScenario("", "")+"routing: adaptive\n", "star: {hosts: 3, link: NDR}", "fat_tree: {k: 4, link: NDR}", 1)
	if v := parse(t, tree); len(v.Warnings) > 0 {
		t.Errorf("fat-tree: %q", v.Warnings)
	}
}

// A tree that is none once a link has failed is an error at the link's down_at.
func TestNoTreeAfterFailure(t *testing.T) {
	const text = `stack: infiniband
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: NDR}
  links: [{between: [leaf1, spine1], down_at: 20us}]
workload: [{flow: {from: h0, to: h2, size: 1MB}}]
infiniband: {routing: ftree}
`
	_, err := Parse("s.yaml", []byte(text), nil, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "s.yaml:4:47: with leaf1:3 - spine1:1 failed: ftree: no fat-tree: ") {
		t.Error(err)
	}
}

// With failover.converge: never the subnet manager notices in its time and no table
// changes.
func TestConvergeNever(t *testing.T) {
	v := parse(t, `stack: infiniband
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: NDR}
  links: [{between: [leaf1, spine1], down_at: 20us}]
failover: {detect: 100us, converge: never}
workload: [{flow: {from: h0, to: h2, size: 1MB}}]
`)
	f := v.Failures[0]
	if f.NoticedPS != 120*units.Microsecond || f.ReroutedPS != -1 || len(v.Tables) != 0 {
		t.Errorf("noticed at %v, rerouted at %d, %d tables", f.NoticedPS, f.ReroutedPS, len(v.Tables))
	}
	if warned := strings.Join(v.Warnings, "\n"); !strings.Contains(warned, "never writes new tables (failover.converge: never)") {
		t.Errorf("%q", warned)
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
	v, err := parseStack("s.yaml", []byte(wide), stack, nil, nil)
	if err != nil || !strings.Contains(strings.Join(v.Warnings, "\n"), "no InfiniBand subnet is like this") {
		t.Errorf("in a comparison: %v", err)
	}
	v, err = Parse("s.yaml", []byte(ibRing+"routing: ecmp\n"), nil, nil)
	if err != nil || !strings.Contains(strings.Join(v.Warnings, "\n"), "routing has no effect") {
		t.Errorf("routing of another stack: %v", err)
	}
}

// Roots without an engine that has them are said to do nothing.
func TestRootsWithoutRanks(t *testing.T) {
	for routing, want := range map[string]bool{"": true, "routing: minhop, ": true, "routing: updn, ": false} {
		v, err := Parse("s.yaml", []byte(ibRing+"infiniband: {"+routing+"roots: [s0]}\n"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(v.Warnings, "\n"), "infiniband.roots has no effect: infiniband.routing: minhop has no roots"); got != want {
			t.Errorf("%q: warnings %q", routing, v.Warnings)
		}
	}
}
