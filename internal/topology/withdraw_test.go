package topology

import (
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// With links dead the tables are those of the shortest paths over the others,
// found by definition.
func TestRoutesWithout(t *testing.T) {
	s := rng.New(1, "withdraw")
	lost := 0
	for range 60 {
		g := randomGraph(&s)
		dead := make([]bool, len(g.Links))
		for l := range dead {
			dead[l] = s.IntN(5) == 0
		}
		r, err := RoutesWithout(g, dead)
		if err != nil {
			t.Fatal(err)
		}
		for ep := range g.Endpoints {
			want := slowRoutes(g, ep, dead)
			for n := range g.Nodes {
				if g.Nodes[n].Kind != Switch {
					continue
				}
				if got := r.Lookup(n, ep); !slices.Equal(got, want[n]) {
					t.Fatalf("%s to %s: ports %v, want %v", g.Nodes[n].Name, g.EndpointName(ep), got, want[n])
				}
				if len(want[n]) == 0 {
					lost++
				}
			}
		}
	}
	if lost == 0 {
		t.Error("no endpoint was cut off, so the test does not show that such are left without a route")
	}
}

// A dead uplink of a leaf leaves its groups one short; the other leaves no
// longer send by the spine that cannot reach it.
func TestGroupsShrink(t *testing.T) {
	link := LinkSpec{Rate: 100 * units.Gbps}
	g, err := LeafSpine(LeafSpineParams{Leaves: 3, Spines: 4, HostsPerLeaf: 2, HostLink: link, Uplink: link})
	if err != nil {
		t.Fatal(err)
	}
	leaf1, _ := g.NodeByName("leaf1")
	leaf2, _ := g.NodeByName("leaf2")
	dead := make([]bool, len(g.Links))
	dead[g.Nodes[leaf1].Ports[3].Link] = true // leaf1 to spine2
	r, err := RoutesWithout(g, dead)
	if err != nil {
		t.Fatal(err)
	}
	there, _ := g.EndpointByName("h0")
	away, _ := g.EndpointByName("h4")
	for _, tt := range []struct {
		node, ep int
		want     []uint16
	}{
		{leaf1, away, []uint16{2, 4, 5}},
		{leaf2, there, []uint16{2, 4, 5}},
		{leaf2, away, []uint16{2, 3, 4, 5}},
	} {
		if got := r.Lookup(tt.node, tt.ep); !slices.Equal(got, tt.want) {
			t.Errorf("%s to %s: ports %v, want %v", g.Nodes[tt.node].Name, g.EndpointName(tt.ep), got, tt.want)
		}
	}
	if _, err := RoutesWithout(g, dead[1:]); err == nil {
		t.Error("a short list of links was taken")
	}
}
