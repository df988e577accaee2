package topology

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// shape counts what a generator made, with the ports of each tier of switches.
func shape(g *Graph) string {
	var hosts, links int
	var switches, ports [4]int
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Kind == Host {
			hosts++
		} else {
			switches[n.Tier]++
			ports[n.Tier] = max(ports[n.Tier], len(n.Ports))
		}
	}
	links = len(g.Links)
	return fmt.Sprintf("hosts %d, endpoints %d, links %d, switches %v, ports %v", hosts, len(g.Endpoints), links, switches[1:], ports[1:])
}

func TestGenerators(t *testing.T) {
	g100, g400 := spec(100*units.Gbps), spec(400*units.Gbps)
	for _, c := range []struct {
		name string
		make func() (*Graph, error)
		want string
	}{
		{"star", func() (*Graph, error) { return Star(5, g400) },
			"hosts 5, endpoints 5, links 5, switches [1 0 0], ports [5 0 0]"},
		{"leaf-spine", func() (*Graph, error) {
			return LeafSpine(LeafSpineParams{Leaves: 4, Spines: 2, HostsPerLeaf: 8, HostLink: g100, Uplink: g400})
		}, "hosts 32, endpoints 32, links 40, switches [4 2 0], ports [10 4 0]"},
		{"leaf-spine, parallel", func() (*Graph, error) {
			return LeafSpine(LeafSpineParams{Leaves: 4, Spines: 2, HostsPerLeaf: 8, Parallel: 3, HostLink: g100, Uplink: g400})
		}, "hosts 32, endpoints 32, links 56, switches [4 2 0], ports [14 12 0]"},
		// k^3/4 hosts, 5k^2/4 switches of k ports (Al-Fares et al., SIGCOMM 2008, 3.1).
		{"fat-tree k=4", func() (*Graph, error) {
			return FatTree(FatTreeParams{K: 4, Tiers: 3, HostLink: g100, LeafLink: g100, CoreLink: g100})
		}, "hosts 16, endpoints 16, links 48, switches [8 8 4], ports [4 4 4]"},
		{"fat-tree k=16", func() (*Graph, error) {
			return FatTree(FatTreeParams{K: 16, Tiers: 3, HostLink: g100, LeafLink: g100, CoreLink: g100})
		}, "hosts 1024, endpoints 1024, links 3072, switches [128 128 64], ports [16 16 16]"},
		{"fat-tree k=4, 3:1", func() (*Graph, error) {
			return FatTree(FatTreeParams{K: 4, Tiers: 3, Edge: Ratio{3, 1}, HostLink: g100, LeafLink: g100, CoreLink: g100})
		}, "hosts 48, endpoints 48, links 80, switches [8 8 4], ports [8 4 4]"},
		{"fat-tree k=8, 2 tiers", func() (*Graph, error) {
			return FatTree(FatTreeParams{K: 8, Tiers: 2, HostLink: g100, LeafLink: g100})
		}, "hosts 32, endpoints 32, links 64, switches [8 4 0], ports [8 8 0]"},
		{"rail, 2 groups", func() (*Graph, error) {
			return RailOptimised(RailParams{Servers: 8, Rails: 4, ServersPerGroup: 4, Spines: 2, HostLink: g400, Uplink: g400})
		}, "hosts 8, endpoints 32, links 48, switches [8 2 0], ports [6 8 0]"},
		{"rail only", func() (*Graph, error) {
			return RailOptimised(RailParams{Servers: 3, Rails: 2, HostLink: g400})
		}, "hosts 3, endpoints 6, links 6, switches [2 0 0], ports [3 0 0]"},
		{"rail, last group smaller", func() (*Graph, error) {
			return RailOptimised(RailParams{Servers: 5, Rails: 2, ServersPerGroup: 4, Spines: 1, Parallel: 2, HostLink: g400, Uplink: g400})
		}, "hosts 5, endpoints 10, links 18, switches [4 1 0], ports [6 8 0]"},
	} {
		g, err := c.make()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := shape(g); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
		checkWiring(t, g)
	}
}

// TestGeneratorNames holds the names and the wiring that scenarios rely on.
func TestGeneratorNames(t *testing.T) {
	s := spec(units.Gbps)
	star, _ := Star(3, s)
	leafSpine, _ := LeafSpine(LeafSpineParams{Leaves: 2, Spines: 2, HostsPerLeaf: 2, Parallel: 2, HostLink: s, Uplink: s})
	fatTree, _ := FatTree(FatTreeParams{K: 4, Tiers: 3, HostLink: s, LeafLink: s, CoreLink: s})
	rail, _ := RailOptimised(RailParams{Servers: 4, Rails: 2, ServersPerGroup: 2, Spines: 1, HostLink: s, Uplink: s})
	for _, c := range []struct {
		g    *Graph
		node string
		port int // 1-based
		want string
	}{
		{star, "sw", 3, "h2:1"},
		{leafSpine, "leaf1", 1, "h0:1"},
		{leafSpine, "leaf2", 2, "h3:1"},
		{leafSpine, "leaf2", 3, "spine1:3"},
		{leafSpine, "leaf2", 6, "spine2:4"},
		{fatTree, "pod0-leaf1", 2, "h3:1"},
		{fatTree, "pod3-leaf1", 4, "pod3-agg1:2"},
		{fatTree, "pod0-agg0", 3, "core0:1"},
		{fatTree, "pod2-agg1", 4, "core3:3"},
		{rail, "group1-rail1", 2, "h1:1"},
		{rail, "group2-rail2", 1, "h2:2"},
		{rail, "group2-rail2", 3, "spine1:4"},
	} {
		i, ok := c.g.NodeByName(c.node)
		if !ok || len(c.g.Nodes[i].Ports) < c.port {
			t.Errorf("%s port %d does not exist", c.node, c.port)
			continue
		}
		p := c.g.Nodes[i].Ports[c.port-1]
		if got := fmt.Sprintf("%s:%d", c.g.Nodes[p.Peer].Name, p.PeerPort+1); got != c.want {
			t.Errorf("%s port %d leads to %s, want %s", c.node, c.port, got, c.want)
		}
	}
}

func TestGeneratorErrors(t *testing.T) {
	s := spec(units.Gbps)
	for _, c := range []struct {
		make func() (*Graph, error)
		want string
	}{
		{func() (*Graph, error) { return Star(0, s) }, "star: hosts 0 must be from 1 to 262144"},
		{func() (*Graph, error) { return Star(1<<62, s) }, "star: hosts 4611686018427387904 must be from 1 to 262144"},
		{func() (*Graph, error) { return Star(70000, s) }, "link h65535 to sw: sw has more than 65535 ports; spread the links over more switches"},
		{func() (*Graph, error) { return Star(2, LinkSpec{}) }, "link h0 to sw: rate 0bps must be above 0 and at most 100Tbps"},
		{func() (*Graph, error) {
			return LeafSpine(LeafSpineParams{Leaves: 2, HostsPerLeaf: 1, HostLink: s, Uplink: s})
		}, "leaf-spine: spines 0 must be from 1 to 262144"},
		{func() (*Graph, error) {
			return LeafSpine(LeafSpineParams{Leaves: 1000, Spines: 1, HostsPerLeaf: 1000, HostLink: s, Uplink: s})
		}, "the topology would have 1001001 nodes; the largest has 262144"},
		{func() (*Graph, error) {
			return LeafSpine(LeafSpineParams{Leaves: 60000, Spines: 60000, HostsPerLeaf: 1, HostLink: s, Uplink: s})
		}, "the topology would have 3600060000 links; the largest has 4194304"},
		{func() (*Graph, error) { return FatTree(FatTreeParams{K: 5, Tiers: 3}) }, "fat-tree: k 5 must be an even number from 2 to 128"},
		{func() (*Graph, error) { return FatTree(FatTreeParams{K: 4, Tiers: 4}) }, "fat-tree: tiers 4 must be 2 or 3"},
		{func() (*Graph, error) { return FatTree(FatTreeParams{K: 4, Tiers: 3, Edge: Ratio{1, 3}}) },
			"fat-tree: k/2 = 2 uplinks with oversubscription 1:3 do not give a whole number of hosts per leaf; change k or the ratio"},
		{func() (*Graph, error) {
			return FatTree(FatTreeParams{K: 128, Tiers: 3, HostLink: s, LeafLink: s, CoreLink: s})
		},
			"the topology would have 544768 nodes; the largest has 262144"},
		{func() (*Graph, error) { return RailOptimised(RailParams{Servers: 4, Rails: 2, ServersPerGroup: 2}) },
			"rail-optimised: 2 groups without spines are not connected; add spines or put all 4 servers in one group"},
		{func() (*Graph, error) { return RailOptimised(RailParams{Servers: 4}) },
			"rail-optimised: rails 0 must be from 1 to 262144"},
		{func() (*Graph, error) { return RailOptimised(RailParams{Rails: 1}) },
			"rail-optimised: servers 0 must be from 1 to 262144"},
	} {
		if _, err := c.make(); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

func TestOversubscribe(t *testing.T) {
	g100, g400 := spec(100*units.Gbps), spec(400*units.Gbps)
	for _, c := range []struct {
		p                LeafSpineParams
		ratio            string
		spines, parallel int
		err              string
	}{
		// 32 x 100G / 2 = 1.6T = 4 x 400G.
		{LeafSpineParams{HostsPerLeaf: 32, HostLink: g100, Uplink: g400}, "2:1", 4, 1, ""},
		{LeafSpineParams{HostsPerLeaf: 32, HostLink: g100, Uplink: g400}, "1", 8, 1, ""},
		{LeafSpineParams{HostsPerLeaf: 32, HostLink: g100, Uplink: g400, Parallel: 2}, "1:1", 4, 2, ""},
		{LeafSpineParams{HostsPerLeaf: 32, HostLink: g100, Uplink: g400, Spines: 2}, "1:1", 2, 4, ""},
		{LeafSpineParams{HostsPerLeaf: 48, HostLink: g100, Uplink: g400}, "3:2", 8, 1, ""},
		{LeafSpineParams{HostsPerLeaf: 32, HostLink: g100, Uplink: g400}, "3:1", 0, 0,
			"leaf-spine: 32 hosts at 100Gbps per leaf with oversubscription 3:1 do not need a whole number of 400Gbps uplinks; change hosts per leaf, rates or ratio"},
		{LeafSpineParams{HostsPerLeaf: 32, HostLink: g100, Uplink: g400, Spines: 3}, "1:1", 0, 0,
			"leaf-spine: 8 uplinks per leaf do not spread evenly over 3 spines; change one of them"},
		{LeafSpineParams{HostsPerLeaf: 32, HostLink: g100, Uplink: g400, Parallel: 3}, "1:1", 0, 0,
			"leaf-spine: 8 uplinks per leaf do not divide into groups of 3 parallel links; change one of them"},
		{LeafSpineParams{HostsPerLeaf: 32, HostLink: g100}, "1:1", 0, 0,
			"leaf-spine: rate 0bps must be above 0 and at most 100Tbps"},
		{LeafSpineParams{HostsPerLeaf: 32, HostLink: g100, Uplink: g400}, "0:1", 0, 0,
			`"0:1" is not an oversubscription ratio; write two whole numbers from 1 to 1000 such as 3:1`},
		{LeafSpineParams{HostsPerLeaf: 32, HostLink: g100, Uplink: g400}, "3:1:1", 0, 0,
			`"3:1:1" is not an oversubscription ratio; write two whole numbers from 1 to 1000 such as 3:1`},
		{LeafSpineParams{HostsPerLeaf: 32, HostLink: spec(99999999999977), Uplink: spec(99999999999971)}, "1", 0, 0,
			"leaf-spine: 32 hosts at 99.999999999977Tbps per leaf with oversubscription 1:1 do not need a whole number of 99.999999999971Tbps uplinks; change hosts per leaf, rates or ratio"},
	} {
		ratio, err := ParseRatio(c.ratio)
		if err == nil {
			err = c.p.Oversubscribe(ratio)
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.err {
			t.Errorf("%s: error %q, want %q", c.ratio, got, c.err)
		}
		if err == nil && (c.p.Spines != c.spines || c.p.Parallel != c.parallel) {
			t.Errorf("%s: %d spines, %d parallel; want %d, %d", c.ratio, c.p.Spines, c.p.Parallel, c.spines, c.parallel)
		}
	}
}
