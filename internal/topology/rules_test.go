package topology

import (
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// slotsOf counts how often each port stands in a table of slots.
func slotsOf(slots []uint16, ports int) []int {
	n := make([]int, ports)
	for _, p := range slots {
		n[p]++
	}
	return n
}

// TestSlots: links of 10:6:1 in tables of 64 and 256 slots. The worst has 6.25 % and 0.27 % more than its
// share, so that 0.9412 and 0.9973 of their sum is carried (controllers F48).
func TestSlots(t *testing.T) {
	weights := []uint64{10, 6, 1}
	for _, c := range []struct {
		slots int
		want  []int
		share float64
	}{{64, []int{38, 22, 4}, 0.9412}, {256, []int{151, 90, 15}, 0.9973}} {
		got := slotsOf(Slots([]uint16{0, 1, 2}, weights, c.slots), 3)
		if !slices.Equal(got, c.want) {
			t.Errorf("%d slots are shared as %v, not %v", c.slots, got, c.want)
		}
		carried := 1.0
		for i, n := range got {
			carried = min(carried, float64(weights[i])/17/(float64(n)/float64(c.slots)))
		}
		if carried < c.share-5e-5 || carried > c.share+5e-5 {
			t.Errorf("%d slots carry %.4f, not %.4f", c.slots, carried, c.share)
		}
	}
}

// TestWeightsFollow: two spines by two links each. Once one of those from spine1 to leaf2 is gone, leaf1
// has two thirds of what it sends there go by spine2; by links alone, and in equal shares, it has half.
func TestWeightsFollow(t *testing.T) {
	s := spec(100 * units.Gbps)
	g, err := LeafSpine(LeafSpineParams{Leaves: 2, Spines: 2, HostsPerLeaf: 1, Parallel: 2, HostLink: s, Uplink: s})
	if err != nil {
		t.Fatal(err)
	}
	leaf1, _ := g.NodeByName("leaf1")
	leaf2, _ := g.NodeByName("leaf2")
	spine1, _ := g.NodeByName("spine1")
	dead := make([]bool, len(g.Links))
	for i := range g.Links {
		if k := &g.Links[i]; k.A == leaf2 && k.B == spine1 || k.A == spine1 && k.B == leaf2 {
			dead[i] = true
			break
		}
	}
	for _, c := range []struct {
		by   Weight
		want []int // by port: the host's, then two of each spine
	}{{ByPath, []int{0, 11, 11, 21, 21}}, {ByLink, []int{0, 16, 16, 16, 16}}, {Equal, []int{0, 1, 1, 1, 1}}} {
		shares := make([]Shares, len(g.Nodes))
		for n := range shares {
			shares[n] = Shares{By: c.by, Slots: 64}
		}
		r, err := Rules{Shares: shares}.Without(g, dead)
		if err != nil {
			t.Fatal(err)
		}
		h1, _ := g.NodeByName("h1")
		if got := slotsOf(r.Lookup(leaf1, g.First[h1]), 5); !slices.Equal(got, c.want) {
			t.Errorf("weights %d: leaf1 shares its slots as %v, not %v", c.by, got, c.want)
		}
	}
}

// TestUpDown: in random graphs every pair of endpoints has a way, none goes up after down, and no circle
// of ports that wait for each other is possible, where shortest paths have one in many.
func TestUpDown(t *testing.T) {
	s := rng.New(5, "updown")
	circles := [2]int{}
	for range 60 {
		g := randomGraph(&s)
		order := g.Order()
		for k, rules := range []Rules{{UpDown: true}, {}} {
			r, err := rules.Without(g, nil)
			if err != nil {
				t.Fatal(err)
			}
			waits := waitsOf(g, r)
			if circle(waits) {
				circles[k]++
			}
			if k > 0 {
				continue
			}
			for src, e := range g.Endpoints {
				for dst, d := range g.Endpoints {
					if e.Node != d.Node && r.CheckPair(g, src, dst) != nil {
						t.Fatalf("no way from %s to %s", g.EndpointName(src), g.EndpointName(dst))
					}
				}
			}
			for from, all := range waits {
				for _, to := range all {
					in := g.Nodes[from.Node].Ports[from.Port].PeerPort
					if g.Bounces(order, to.Node, in, to.Port) {
						t.Fatalf("a way goes up after down at %s", g.Nodes[to.Node].Name)
					}
				}
			}
		}
	}
	if circles[0] > 0 || circles[1] == 0 {
		t.Errorf("%d graphs of 60 have a circle with up/down, %d with shortest paths", circles[0], circles[1])
	}
}

// waitsOf lists, by a port between two switches, the ports to which what it sends goes on.
func waitsOf(g *Graph, r *Routes) map[Hop][]Hop {
	out := map[Hop][]Hop{}
	var walk func(from Hop, ep int)
	seen := map[Hop]map[int]bool{}
	walk = func(from Hop, ep int) {
		node := g.Nodes[from.Node].Ports[from.Port].Peer
		if g.Nodes[node].Kind != Switch || seen[from][ep] {
			return
		}
		if seen[from] == nil {
			seen[from] = map[int]bool{}
		}
		seen[from][ep] = true
		for _, p := range r.Lookup(node, ep) {
			to := Hop{node, int(p)}
			if g.Nodes[from.Node].Kind == Switch && g.Nodes[g.Nodes[node].Ports[p].Peer].Kind == Switch {
				out[from] = append(out[from], to)
			}
			walk(to, ep)
		}
	}
	for _, e := range g.Endpoints {
		for ep, d := range g.Endpoints {
			if d.Node != e.Node {
				walk(Hop(e), ep)
			}
		}
	}
	return out
}

// circle reports whether waits go round.
func circle(waits map[Hop][]Hop) bool {
	state := map[Hop]int{}
	var visit func(h Hop) bool
	visit = func(h Hop) bool {
		if state[h] > 0 {
			return state[h] == 1
		}
		state[h] = 1
		if slices.ContainsFunc(waits[h], visit) {
			return true
		}
		state[h] = 2
		return false
	}
	for h := range waits {
		if visit(h) {
			return true
		}
	}
	return false
}

// TestLoops: a - b, where the link from a to d fails. a knows first and sends to b, whose shortest way was
// by a: packets go round between the two until b knows as well, one hop later. Likewise d and e the other way.
func TestLoops(t *testing.T) {
	g := microLoop(t)
	routes := routes(t, g)
	f := Failover{Detect: units.Millisecond, Converge: units.Millisecond, PerHop: 500 * units.Microsecond}
	tables, err := f.Changes(g, routes)
	if err != nil {
		t.Fatal(err)
	}
	loops := Loops(g, routes, tables)
	a, _ := g.NodeByName("a")
	b, _ := g.NodeByName("b")
	want := Loop{Nodes: []int{a, b}, Endpoint: 1, From: 3 * units.Millisecond, To: 3500 * units.Microsecond}
	if len(loops) != 2 || !slices.Equal(loops[0].Nodes, want.Nodes) || loops[0].From != want.From || loops[0].To != want.To {
		t.Errorf("loops %+v, want %+v", loops, want)
	}
	f.PerHop, f.Programming = 0, make([]units.Time, len(g.Nodes))
	f.Programming[b] = 2 * units.Millisecond
	if tables, err = f.Changes(g, routes); err != nil {
		t.Fatal(err)
	}
	loops = Loops(g, routes, tables)
	if len(loops) != 1 || loops[0].From != 3*units.Millisecond || loops[0].To != 5*units.Millisecond {
		t.Errorf("with a slow b: loops %+v", loops)
	}
}

// microLoop is a ring of a, b, c, e, d, with a host at a and one at d, whose link to a fails at 1 ms.
func microLoop(t *testing.T) *Graph {
	g := new(Graph)
	for _, h := range []string{"src", "dst"} {
		g.AddHost(h)
	}
	for _, s := range []string{"a", "b", "c", "e", "d"} {
		g.AddSwitch(s, 0)
	}
	s := spec(100 * units.Gbps)
	fails := s
	fails.Outages = []Outage{{Down: units.Millisecond, Up: units.Never}}
	for _, l := range [][2]string{{"src", "a"}, {"a", "b"}, {"b", "c"}, {"c", "e"}, {"e", "d"}, {"d", "dst"}} {
		if err := g.AddLinkByName(l[0], l[1], s); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.AddLinkByName("a", "d", fails); err != nil {
		t.Fatal(err)
	}
	if err := g.Finish(); err != nil {
		t.Fatal(err)
	}
	return g
}
