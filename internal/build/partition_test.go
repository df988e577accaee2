package build

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// TestPartition: every cut covers all nodes, leaves no partition empty, is no
// finer than asked for, and keeps hosts with their first leaf.
func TestPartition(t *testing.T) {
	spec := topology.LinkSpec{Rate: 100 * units.Gbps, Length: 5 * units.Metre}
	made := func(g *topology.Graph, err error) *topology.Graph {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for name, g := range map[string]*topology.Graph{
		"star":       made(topology.Star(9, spec)),
		"leaf-spine": made(topology.LeafSpine(topology.LeafSpineParams{Leaves: 4, Spines: 3, HostsPerLeaf: 4, HostLink: spec, Uplink: spec})),
		"fat-tree":   made(topology.FatTree(topology.FatTreeParams{K: 8, Tiers: 3, HostLink: spec, LeafLink: spec, CoreLink: spec})),
		"rail":       made(topology.RailOptimised(topology.RailParams{Servers: 8, Rails: 4, ServersPerGroup: 4, Spines: 2, HostLink: spec, Uplink: spec})),
	} {
		for _, n := range []int{1, 2, 3, 7, 16, 1000} {
			t.Run(fmt.Sprintf("%s in %d", name, n), func(t *testing.T) {
				part, count := partition(g, loads(g, nil), n, make([]bool, len(g.Links)), nil)
				used := make([]int, count)
				for i, p := range part {
					used[p]++
					if nd := &g.Nodes[i]; nd.Kind == topology.Host && !slices.ContainsFunc(nd.Ports, func(x topology.Port) bool {
						return part[x.Peer] == p
					}) {
						t.Errorf("%s lies apart from its leaves", nd.Name)
					}
				}
				for p, nodes := range used {
					if nodes == 0 {
						t.Errorf("partition %d of %d is empty", p, count)
					}
				}
				if count > n || n == 1 && count != 1 {
					t.Errorf("%d partitions, at most %d wanted", count, n)
				}
				if name == "fat-tree" && n <= 16 && count != n {
					t.Errorf("%d partitions of a network with 32 leaves, want %d", count, n)
				}
			})
		}
	}
}

// TestServersAreSpread: hosts whose ports lead to the same switches, one to each, do not all
// lie in the partition of the first.
func TestServersAreSpread(t *testing.T) {
	link := topology.LinkSpec{Rate: 400 * units.Gbps, Length: 5 * units.Metre}
	g, err := topology.RailOptimised(topology.RailParams{Servers: 8, Rails: 8, HostLink: link})
	if err != nil {
		t.Fatal(err)
	}
	inside := func(node int) bool { return g.Nodes[node].Kind == topology.Host }
	for n := 2; n <= 8; n *= 2 {
		part, count := partition(g, loads(g, inside), n, make([]bool, len(g.Links)), nil)
		hosts := make([]int, count)
		for i, p := range part {
			if inside(i) {
				hosts[p]++
			}
		}
		for p, k := range hosts {
			if k != 8/n {
				t.Errorf("partition %d of %d has %d of 8 servers, want %d", p, n, k, 8/n)
			}
		}
	}
}

// TestNoDelay: the ends of a link without any delay share a partition, through
// any chain of such links.
func TestNoDelay(t *testing.T) {
	spec := topology.LinkSpec{Rate: 100 * units.Gbps, Length: 5 * units.Metre}
	g, err := topology.LeafSpine(topology.LeafSpineParams{Leaves: 6, Spines: 1, HostsPerLeaf: 2, HostLink: spec, Uplink: spec})
	if err != nil {
		t.Fatal(err)
	}
	spine, _ := g.NodeByName("spine1")
	zero := make([]bool, len(g.Links))
	chained := 0
	for l := range g.Links {
		if (g.Links[l].A == spine || g.Links[l].B == spine) && chained < 4 {
			zero[l] = true
			chained++
		}
	}
	part, count := partition(g, loads(g, nil), 6, zero, nil)
	for l, z := range zero {
		if a, b := g.Links[l].A, g.Links[l].B; z && part[a] != part[b] {
			t.Errorf("%s and %s lie in partitions %d and %d", g.Nodes[a].Name, g.Nodes[b].Name, part[a], part[b])
		}
	}
	if count != 3 { // four leaves and the spine are one cluster, two leaves are left
		t.Errorf("%d partitions, want 3", count)
	}
}

// TestJoined: nodes that start work on one another's instant share a partition.
func TestJoined(t *testing.T) {
	spec := topology.LinkSpec{Rate: 100 * units.Gbps, Length: 5 * units.Metre}
	g, err := topology.LeafSpine(topology.LeafSpineParams{Leaves: 8, Spines: 1, HostsPerLeaf: 1, HostLink: spec, Uplink: spec})
	if err != nil {
		t.Fatal(err)
	}
	host := func(name string) int { i, _ := g.NodeByName(name); return i }
	joined := [][]int{{host("h1"), host("h3")}, {host("h3"), host("h6")}}
	part, count := partition(g, loads(g, nil), 8, make([]bool, len(g.Links)), joined)
	if p := part[host("h1")]; p != part[host("h3")] || p != part[host("h6")] {
		t.Errorf("partitions %d, %d and %d of nodes that are joined", p, part[host("h3")], part[host("h6")])
	}
	if count != 6 {
		t.Errorf("%d partitions, want 6: one of three leaves and five of one", count)
	}
}

// TestCells: nodes whose links have less lookahead than a window is wide share a cell,
// and no cell reaches beyond its partition; windows are as wide as the cells allow.
func TestCells(t *testing.T) {
	spec := topology.LinkSpec{Rate: 100 * units.Gbps, Length: 5 * units.Metre}
	g, err := topology.LeafSpine(topology.LeafSpineParams{Leaves: 8, Spines: 2, HostsPerLeaf: 6, HostLink: spec, Uplink: spec})
	if err != nil {
		t.Fatal(err)
	}
	host := func(l int) bool {
		return g.Nodes[g.Links[l].A].Kind == topology.Host || g.Nodes[g.Links[l].B].Kind == topology.Host
	}
	one := make([]int, len(g.Nodes))
	for _, c := range []struct {
		name            string
		hosts, switches units.Time // lookahead
		servers         bool       // the hosts are
		width           units.Time
		cells           int
	}{
		{"equal links", units.Microsecond, units.Microsecond, false, units.Microsecond, len(g.Nodes)},
		{"long links", units.Millisecond, units.Millisecond, false, maxWindow, len(g.Nodes)},
		{"short links of hosts", 30 * units.Nanosecond, 2 * units.Microsecond, false, 2 * units.Microsecond, 8 + 2},
		{"that would be too many events", 300 * units.Nanosecond, 9500 * units.Nanosecond, false, 300 * units.Nanosecond, len(g.Nodes)},
		{"links without lookahead", 0, units.Microsecond, false, units.Microsecond, 8 + 2},
		{"short links everywhere", 30 * units.Nanosecond, 40 * units.Nanosecond, false, wideCell / 128, 1},
		{"and servers at their ends", 30 * units.Nanosecond, 30 * units.Nanosecond, true, 30 * units.Nanosecond, len(g.Nodes)},
	} {
		ahead := make([]units.Time, len(g.Links))
		for l := range ahead {
			if ahead[l] = c.switches; host(l) {
				ahead[l] = c.hosts
			}
		}
		inside := func(node int) bool { return c.servers && g.Nodes[node].Kind == topology.Host }
		cell, width := cells(g, loads(g, inside), one, ahead, nil)
		found := map[int]bool{}
		for _, k := range cell {
			found[k] = true
		}
		if len(found) != c.cells || width != c.width {
			t.Errorf("%s: %d cells of %d nodes in windows of %d ps, want %d and %d", c.name, len(found), len(g.Nodes), width, c.cells, c.width)
		}
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		ahead := make([]units.Time, len(g.Links))
		zero := make([]bool, len(g.Links))
		for l := range ahead {
			ahead[l] = units.Time(rnd.Int64N(1 << rnd.IntN(26)))
			zero[l] = ahead[l] < 2
		}
		joined := [][]int{{rnd.IntN(len(g.Nodes)), rnd.IntN(len(g.Nodes))}}
		part, _ := partition(g, loads(g, nil), 1+rnd.IntN(8), zero, joined)
		cell, width := cells(g, loads(g, nil), part, ahead, joined)
		for l, a := range ahead {
			x, y := g.Links[l].A, g.Links[l].B
			if a < width && cell[x] != cell[y] {
				t.Fatalf("a link of %d ps joins two cells in windows of %d ps", a, width)
			}
		}
		if cell[joined[0][0]] != cell[joined[0][1]] {
			t.Fatal("joined nodes lie in two cells")
		}
		for i, c := range cell {
			if part[i] != part[c] {
				t.Fatal("a cell lies in two partitions")
			}
		}
		if width < 2 || width > maxWindow {
			t.Fatalf("windows of %d ps", width)
		}
	}
}

// TestCellsThatAnEngineCanNumber: where nodes are more than there are numbers for cells,
// hosts share some and every switch keeps its own, in whatever order they come.
func TestCellsThatAnEngineCanNumber(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, hosts := range []int{sim.MaxCells - 100, sim.MaxCells, 3 * sim.MaxCells} {
		load := make([]int, hosts+100)
		cell := make([]int, len(load))
		for i := range load {
			cell[i] = i
			if load[i] = 1; i < 100 {
				load[i] = 8 * hosts / 100 // ports of one switch
			}
		}
		rnd.Shuffle(len(load), func(i, j int) { load[i], load[j] = load[j], load[i] })
		b := &builder{World: &World{Engine: sim.New[packet.Packet](1, units.Microsecond)}, part: make([]int, len(load))}
		b.numberCells(cell, load)
		nodes := map[int]int{}
		for _, c := range b.cell {
			nodes[c]++
		}
		if n := b.Engine.Parts()[0].Cells(); n > sim.MaxCells || n != len(nodes) || hosts+100 <= sim.MaxCells && n != len(load) {
			t.Errorf("%d cells of %d nodes, %d of them used; at most %d can be numbered", n, len(load), len(nodes), sim.MaxCells)
		}
		for i, c := range b.cell {
			if load[i] > 1 && nodes[c] > 1 {
				t.Fatalf("a switch shares its cell with %d nodes", nodes[c]-1)
			}
		}
	}
}
