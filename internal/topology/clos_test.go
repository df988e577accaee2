package topology

import (
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

var fast = LinkSpec{Rate: 100 * units.Gbps, Delay: units.Microsecond}

// The counts follow from the radices (htsim's generic fat-tree topology):
// leaves per pod = hosts per pod / radix_down, switches above = leaf uplinks /
// their radix_down, cores = their uplinks / radix_down.
func TestClosCounts(t *testing.T) {
	for _, tt := range []struct {
		name          string
		p             ClosParams
		switches      [4]int // by tier
		links         int
		first, second string // names of leaf 0 and the first switch above
	}{
		{"1024 hosts, three tiers", ClosParams{1024, 64, []ClosTier{{8, 8, 0, fast}, {8, 8, 1, fast}, {16, 0, 1, fast}}},
			[4]int{1024, 128, 128, 64}, 3 * 1024, "pod0-leaf0", "pod0-agg0"},
		{"16 hosts, 2:1", ClosParams{16, 16, []ClosTier{{4, 2, 0, fast}, {4, 0, 0, fast}}}, [4]int{16, 4, 2, 0}, 16 + 8, "leaf1", "spine1"},
		{"32 hosts, 4:1", ClosParams{32, 0, []ClosTier{{8, 2, 0, fast}, {4, 0, 0, fast}}}, [4]int{32, 4, 2, 0}, 32 + 8, "leaf1", "spine1"},
		{"bundles of two", ClosParams{16, 8, []ClosTier{{4, 4, 0, fast}, {4, 4, 2, fast}, {4, 0, 2, fast}}},
			[4]int{16, 4, 4, 4}, 16 + 16 + 16, "pod0-leaf0", "pod0-agg0"},
	} {
		g, err := Clos(tt.p)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var tiers [4]int
		for _, n := range g.Nodes {
			tiers[n.Tier]++
		}
		if tiers != tt.switches || len(g.Links) != tt.links {
			t.Errorf("%s: nodes per tier %v and %d links, want %v and %d", tt.name, tiers, len(g.Links), tt.switches, tt.links)
		}
		for _, name := range []string{tt.first, tt.second} {
			if _, ok := g.NodeByName(name); !ok {
				t.Errorf("%s: no node %s", tt.name, name)
			}
		}
		if _, err := ComputeRoutes(g); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		for i, n := range g.Nodes { // every radix is what was asked for
			if n.Kind == Host {
				continue
			}
			tier := tt.p.Tiers[n.Tier-1]
			if len(n.Ports) != tier.RadixDown+tier.RadixUp {
				t.Errorf("%s: node %d has %d ports, want %d down and %d up", tt.name, i, len(n.Ports), tier.RadixDown, tier.RadixUp)
			}
		}
	}
}

// The l-th uplink of aggregation switch p leads to core l*n+p.
func TestClosCoreWiring(t *testing.T) {
	g, err := Clos(ClosParams{16, 8, []ClosTier{{4, 2, 0, fast}, {2, 2, 0, fast}, {2, 0, 0, fast}}})
	if err != nil {
		t.Fatal(err)
	}
	agg, _ := g.NodeByName("pod1-agg1")
	var cores []string
	for _, p := range g.Nodes[agg].Ports[2:] {
		cores = append(cores, g.Nodes[p.Peer].Name)
	}
	if len(cores) != 2 || cores[0] != "core1" || cores[1] != "core3" {
		t.Errorf("pod1-agg1 leads to %v, want core1 and core3", cores)
	}
}

func TestClosRefuses(t *testing.T) {
	for _, tt := range []struct {
		p    ClosParams
		want string
	}{
		{ClosParams{16, 16, []ClosTier{{4, 2, 0, fast}}}, "clos: 1 tiers of switches; give 2 or 3"},
		{ClosParams{16, 8, []ClosTier{{4, 2, 0, fast}, {4, 0, 0, fast}}}, "clos: two tiers are one pod; 8 hosts per pod must be all 16"},
		{ClosParams{15, 0, []ClosTier{{4, 2, 0, fast}, {4, 0, 0, fast}}}, "clos: 15 hosts in pods of 15 on leaves of 4 do not come out whole; change one of them"},
		{ClosParams{16, 0, []ClosTier{{4, 2, 0, fast}, {3, 0, 0, fast}}}, "clos: 4 leaves with 2 uplinks each do not fill switches with 3 links down; change one of them"},
		{ClosParams{16, 0, []ClosTier{{4, 2, 0, fast}, {8, 0, 0, fast}}}, "clos: 2 uplinks of a leaf in bundles of 1 do not reach each of the 1 switches above it; change radix_up, radix_down or bundle"},
		{ClosParams{16, 8, []ClosTier{{4, 2, 0, fast}, {2, 2, 0, fast}, {4, 0, 0, fast}}}, "clos: cores with 4 links down do not join 2 pods whose switches have 2 uplinks in bundles of 1; change radix_down, radix_up or bundle"},
		{ClosParams{16, 0, []ClosTier{{0, 2, 0, fast}, {4, 0, 0, fast}}}, "clos: radix_down of tier 1 0 must be from 1 to 262144"},
	} {
		if _, err := Clos(tt.p); err == nil || err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}
