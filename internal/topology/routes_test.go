package topology

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

func routes(t testing.TB, g *Graph) *Routes {
	t.Helper()
	r, err := ComputeRoutes(g)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// slowRoutes is Lookup by definition: relax distances until nothing changes,
// separately for one endpoint, then keep the ports that lead one hop closer.
func slowRoutes(g *Graph, ep int, dead []bool) [][]uint16 {
	const far = 1 << 30
	e := g.Endpoints[ep]
	dist := make([]int, len(g.Nodes))
	for i := range dist {
		dist[i] = far
	}
	next := func(node, port int) int { // distance over a port, far if it does not help
		p := g.Nodes[node].Ports[port]
		if dead != nil && dead[p.Link] {
			return far
		}
		if p.Peer == e.Node && p.PeerPort == e.Port {
			return 1
		}
		if g.Nodes[p.Peer].Kind == Host {
			return far
		}
		return dist[p.Peer] + 1
	}
	for changed := true; changed; {
		changed = false
		for n := range g.Nodes {
			for p := range g.Nodes[n].Ports {
				if d := next(n, p); g.Nodes[n].Kind == Switch && d < dist[n] {
					dist[n], changed = d, true
				}
			}
		}
	}
	out := make([][]uint16, len(g.Nodes))
	for n := range g.Nodes {
		for p := range g.Nodes[n].Ports {
			if dist[n] < far && next(n, p) == dist[n] {
				out[n] = append(out[n], uint16(p))
			}
		}
	}
	return out
}

func checkAgainstSlow(t *testing.T, name string, g *Graph) {
	t.Helper()
	r := routes(t, g)
	for ep := range g.Endpoints {
		want := slowRoutes(g, ep, nil)
		for n := range g.Nodes {
			if g.Nodes[n].Kind == Host {
				if r.Group[n] != nil {
					t.Fatalf("%s: host %s has a routing table", name, g.Nodes[n].Name)
				}
				continue
			}
			if got := r.Lookup(n, ep); !slices.Equal(got, want[n]) {
				t.Fatalf("%s: %s to %s by ports %v, want %v", name, g.Nodes[n].Name, g.EndpointName(ep), got, want[n])
			}
		}
	}
}

func TestRoutesAreAllShortestPaths(t *testing.T) {
	s := spec(units.Gbps)
	for name, make := range map[string]func() (*Graph, error){
		"star":       func() (*Graph, error) { return Star(4, s) },
		"leaf-spine": func() (*Graph, error) { return LeafSpine(LeafSpineParams{3, 2, 3, 2, s, s}) },
		"fat-tree":   func() (*Graph, error) { return FatTree(FatTreeParams{4, 3, Ratio{}, s, s, s}) },
		"rail":       func() (*Graph, error) { return RailOptimised(RailParams{5, 3, 2, 2, 1, s, s}) },
		"rail only":  func() (*Graph, error) { return RailOptimised(RailParams{Servers: 3, Rails: 2, HostLink: s}) },
	} {
		g, err := make()
		if err != nil {
			t.Fatal(name, err)
		}
		checkAgainstSlow(t, name, g)
	}
	stream := rng.New(1, "random graphs")
	for i := range 200 {
		checkAgainstSlow(t, fmt.Sprint("random graph ", i), randomGraph(&stream))
	}
}

// randomGraph has up to eight switches in a random tree with extra and parallel
// links, and hosts with one to three ports anywhere.
func randomGraph(s *rng.Stream) *Graph {
	g := new(Graph)
	link := spec(units.Gbps)
	switches := 1 + s.IntN(8)
	for i := range switches {
		g.AddSwitch(fmt.Sprint("s", i), 1)
		if i > 0 {
			g.AddLink(i, s.IntN(i), link)
		}
	}
	for range s.IntN(12) {
		g.AddLink(s.IntN(switches), s.IntN(switches), link) // a link to itself is refused: fine
	}
	for i := range 2 + s.IntN(6) {
		h, _ := g.AddHost(fmt.Sprint("h", i))
		for range 1 + s.IntN(3) {
			g.AddLink(h, s.IntN(switches), link)
		}
	}
	if err := g.Finish(); err != nil {
		panic(err)
	}
	return g
}

// TestECMPWidth: in a k-ary fat-tree a leaf has k/2 ports up for every other
// leaf, an aggregation switch k/2 for other pods and one down, a core one.
func TestECMPWidth(t *testing.T) {
	s := spec(units.Gbps)
	g, _ := FatTree(FatTreeParams{K: 8, Tiers: 3, HostLink: s, LeafLink: s, CoreLink: s})
	r := routes(t, g)
	last := len(g.Endpoints) - 1 // in pod 7
	for _, c := range []struct {
		node string
		want []uint16
	}{
		{"pod0-leaf0", []uint16{4, 5, 6, 7}},
		{"pod7-leaf0", []uint16{4, 5, 6, 7}},
		{"pod7-leaf3", []uint16{3}},
		{"pod0-agg1", []uint16{4, 5, 6, 7}},
		{"pod7-agg1", []uint16{3}},
		{"core5", []uint16{7}},
	} {
		n, _ := g.NodeByName(c.node)
		if got := r.Lookup(n, last); !slices.Equal(got, c.want) {
			t.Errorf("%s to the last host by %v, want %v", c.node, got, c.want)
		}
		// Groups are shared: k single ports and one group up at most.
		if len(r.Members[n]) > 12 {
			t.Errorf("%s stores %d members", c.node, len(r.Members[n]))
		}
	}
	if got := r.MaxGroupSize(); got != 4 {
		t.Errorf("largest group %d, want 4", got)
	}
	if err := r.Check(g); err != nil {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	// h1 joins two islands, but hosts do not forward.
	g := build(t, "h0 s,h1 s,h1 s2,h2 s2")
	r := routes(t, g)
	want := "no path leads from h0 to h1:2; hosts do not forward, so join them by switches"
	if err := r.Check(g); err == nil || err.Error() != want {
		t.Errorf("Check: %v, want %s", err, want)
	}
	pair := func(a, b string) string {
		ea, _ := g.EndpointByName(a)
		eb, _ := g.EndpointByName(b)
		if err := r.CheckPair(g, ea, eb); err != nil {
			return err.Error()
		}
		return ""
	}
	for _, c := range []struct{ a, b, want string }{
		{"h0", "h1:1", ""},
		{"h1:2", "h2", ""},
		{"h0", "h2", "no path leads from h0 to h2; hosts do not forward, so join them by switches"},
		{"h1:1", "h1:2", "h1:1 and h1:2 are the same host"},
	} {
		if got := pair(c.a, c.b); got != c.want {
			t.Errorf("CheckPair(%s, %s): %q, want %q", c.a, c.b, got, c.want)
		}
	}
	// The leaf of h0:1 and h1 misses only h0:2, which is on a host of its own.
	g = build(t, "h0 s,h0 s2,h1 s")
	want = "no path leads from h0:2 to h1; hosts do not forward, so join them by switches"
	if err := routes(t, g).Check(g); err == nil || err.Error() != want {
		t.Errorf("Check: %v, want %s", err, want)
	}
	// Back to back, without a switch.
	g = build(t, "ha hb")
	if err := routes(t, g).Check(g); err != nil {
		t.Errorf("two hosts on one cable: %v", err)
	}
}

func TestGroupTooLarge(t *testing.T) {
	g := new(Graph)
	g.AddHost("h0")
	g.AddHost("h1")
	g.AddSwitch("a", 1)
	g.AddSwitch("b", 1)
	g.AddLink(0, 2, spec(units.Gbps))
	g.AddLink(1, 3, spec(units.Gbps))
	for range MaxGroup {
		g.AddLink(2, 3, spec(units.Gbps))
	}
	g.Finish()
	if r := routes(t, g); r.MaxGroupSize() != MaxGroup || len(r.Lookup(2, 1)) != MaxGroup {
		t.Errorf("a group of %d has %d members", MaxGroup, r.MaxGroupSize())
	}
	g.AddLink(2, 3, spec(units.Gbps))
	want := "b has 1024 equal-cost ports to one destination; an ECMP group holds at most 1023"
	if _, err := ComputeRoutes(g); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestTablesTooLarge(t *testing.T) {
	s := spec(units.Gbps)
	g, err := LeafSpine(LeafSpineParams{Leaves: 10000, Spines: 1, HostsPerLeaf: 3, HostLink: s, Uplink: s})
	if err != nil {
		t.Fatal(err)
	}
	want := "the routing tables of 10001 switches and 30000 endpoints would need 300030000 entries, more than 268435456; make the topology smaller"
	if _, err := ComputeRoutes(g); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestPath(t *testing.T) {
	s := spec(100 * units.Gbps)
	up := LinkSpec{Rate: 40 * units.Gbps, Delay: units.Microsecond}
	g, _ := LeafSpine(LeafSpineParams{Leaves: 2, Spines: 2, HostsPerLeaf: 2, HostLink: s, Uplink: up})
	r := routes(t, g)
	hops, err := r.Path(g, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, h := range hops {
		names += fmt.Sprintf("%s:%d ", g.Nodes[h.Node].Name, h.Port+1)
	}
	if want := "h0:1 leaf1:3 spine1:2 leaf2:2 "; names != want {
		t.Errorf("path %s, want %s", names, want)
	}
	// 25 ns + 1 us + 1 us + 25 ns.
	if d := PathDelay(g, hops); d != 2050*units.Nanosecond {
		t.Errorf("delay %v, want 2.05us", d)
	}
	if rate := PathRate(g, hops); rate != 40*units.Gbps {
		t.Errorf("bottleneck %v, want 40Gbps", rate)
	}
	if _, err := r.Path(g, 1, 1); err == nil {
		t.Error("a path from a host to itself")
	}
}

func TestPinnedPath(t *testing.T) {
	// hb has two ports to s1 and one to s2; s1 and s2 have two links.
	g := build(t, "ha s1,hb s1,hb s1,hb s2,s1 s2,s1 s2,hc s2,hc hd")
	nodes := func(names ...string) []int {
		var out []int
		for _, n := range names {
			i, _ := g.NodeByName(n)
			out = append(out, i)
		}
		return out
	}
	ep := func(name string) int { i, _ := g.EndpointByName(name); return i }
	for _, c := range []struct {
		src, dst string
		path     []int
		want     []int
		err      string
	}{
		{"ha", "hc", nodes("ha", "s1", "s2", "hc"), []int{0, 3, 1 + 2}, ""},
		{"ha", "hb:1", nodes("ha", "s1", "hb"), []int{0, 1}, ""},
		{"ha", "hb:2", nodes("ha", "s1", "hb"), []int{0, 2}, ""},
		{"hb:2", "ha", nodes("hb", "s1", "ha"), []int{1, 0}, ""},
		{"hc:2", "hd", nodes("hc", "hd"), []int{1}, ""},
		{"hb:3", "ha", nodes("hb", "s1", "ha"), nil, "path hb-s1-ha does not leave by port 3 of hb, which leads to s2"},
		{"ha", "hb:3", nodes("ha", "s1", "hb"), nil, "path ha-s1-hb does not arrive by port 3 of hb, which leads to s2"},
		{"ha", "hc", nodes("ha", "s1", "hc"), nil, "path has no link from s1 to hc; s1 is linked to ha, hb, s2"},
		{"ha", "hc", nodes("ha", "s1", "hb"), nil, "path ha-s1-hb must begin at ha and end at hc"},
		{"ha", "hc", nodes("ha"), nil, "a path needs at least two nodes, from source host to destination host"},
		{"ha", "hc", nodes("ha", "s1", "hb", "s2", "hc"), nil, "path node 3, hb, is a host; a path begins and ends at hosts with switches between"},
		{"ha", "hc", nodes("ha", "s1", "s2"), nil, "path node 3, s2, is a switch; a path begins and ends at hosts with switches between"},
		{"ha", "hc", []int{0, 99, 1}, nil, "path names node 99, but the nodes are 0 to 5"},
	} {
		got, err := PinnedPathBetween(g, ep(c.src), ep(c.dst), c.path)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != c.err || !slices.Equal(got, c.want) {
			t.Errorf("%s to %s by %v: %v, %q; want %v, %q", c.src, c.dst, c.path, got, text, c.want, c.err)
		}
	}
}

// BenchmarkRoutes8192 is a three-tier fat-tree of 8192 hosts.
func BenchmarkRoutes8192(b *testing.B) {
	s := spec(units.Gbps)
	g, err := FatTree(FatTreeParams{K: 32, Tiers: 3, HostLink: s, LeafLink: s, CoreLink: s})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := routes(b, g).Check(g); err != nil {
			b.Fatal(err)
		}
	}
}
