package subnet

import (
	"fmt"
	"slices"
	"strings"
)

// Options say how Route fills the tables.
type Options struct {
	Engine string // one of Engines
	// Roots are the node indices of the switches that updn and ftree rank 0. Empty:
	// updn finds them by its histogram, ftree takes the switches farthest from the
	// channel adapters.
	Roots []int
}

// Engines lists the routing engines.
func Engines() []string { return []string{"minhop", "updn", "ftree"} }

// Route fills the forwarding tables of a fabric whose endports have LIDs. It
// fails when the engine does not exist, does not suit the fabric, or cannot
// reach an endport; the engine never falls back to another.
func Route(f *Fabric, opt Options) (*Tables, error) {
	for _, r := range opt.Roots {
		if !f.isSwitch(r) {
			return nil, fmt.Errorf("root %s is no switch; name switches", f.Nodes[r].Name)
		}
	}
	switch opt.Engine {
	case "minhop":
		return routeMinHop(f, nil), nil
	case "updn":
		return routeUpDown(f, opt.Roots, nil)
	case "ftree":
		return routeFatTree(f, opt.Roots)
	}
	return nil, fmt.Errorf("there is no routing engine %q; use one of %s", opt.Engine, strings.Join(Engines(), ", "))
}

// distances tells which ports lead from every switch towards one.
type distances interface {
	// towards prepares for destination switch dst.
	towards(dst int)
	// leads reports whether port p of switch s is on a path to dst that the engine
	// allows and none is shorter.
	leads(s, p int) bool
}

// spread fills the tables from an engine's distances. Every switch sends a LID
// by the port that leads to it and carries the fewest LIDs of channel adapters so
// far, the lowest of several. A LID of the same endport that is not the first
// prefers, before that, the neighbouring system and then the neighbouring switch
// by which the fewest LIDs of its endport go; of several ports it takes the next
// after that of the LID before it. LIDs of switches are not counted.
// With old tables, an entry that still leads there stays.
type spread struct {
	t    *Tables
	d    distances
	old  *Tables
	load [][]uint32 // by switch and port: LIDs of channel adapters sent that way
}

// fill routes all LIDs: those of channel adapters leaf by leaf, the leaf with
// the most of them first, then those of the switches in order of GUID. With an
// LMC, all first LIDs come before all second ones.
func (s *spread) fill() {
	f := s.t.Fabric
	s.load = make([][]uint32, len(f.Nodes))
	for i := range f.Nodes {
		s.load[i] = make([]uint32, len(f.Nodes[i].Ports))
	}
	order := s.t.byLoad()
	for offset := range 1 << MaxLMC {
		any := false
		for _, leaf := range order {
			any = s.fillLeaf(leaf, offset) || any
		}
		for i, e := range f.Endports {
			if f.Nodes[e.Node].Kind == Switch && offset < 1<<f.port(e).LMC {
				s.d.towards(e.Node)
				s.route(i, offset)
				any = true
			}
		}
		if !any {
			return
		}
	}
}

// fillLeaf routes LID offset of the adapters of leaf, an index into leaves. It
// reports whether any has that many LIDs.
func (s *spread) fillLeaf(leaf, offset int) bool {
	f := s.t.Fabric
	any := false
	for _, i := range s.t.adapters[leaf] {
		if offset >= 1<<f.port(f.Endports[i]).LMC {
			continue
		}
		if !any {
			s.d.towards(s.t.leaves[leaf])
		}
		any = true
		s.route(i, offset)
	}
	return any
}

// byLoad orders leaves, given as indices, by number of adapters, most first;
// equal ones stay in order of GUID.
func (t *Tables) byLoad() []int {
	order := make([]int, len(t.leaves))
	for i := range order {
		order[i] = i
	}
	guid := func(i int) GUID { return t.Fabric.Nodes[t.leaves[i]].GUID }
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case len(t.adapters[a]) != len(t.adapters[b]):
			return len(t.adapters[b]) - len(t.adapters[a])
		case guid(a) < guid(b):
			return -1
		}
		return 1
	})
	return order
}

// route enters one LID of an endport into the tables of all switches.
func (s *spread) route(endport, offset int) {
	f := s.t.Fabric
	e := f.Endports[endport]
	lid := f.port(e).LID + LID(offset)
	own := f.leafOf(e)
	counts := f.Nodes[e.Node].Kind != Switch
	for n := range f.Nodes {
		if f.Nodes[n].Kind != Switch {
			continue
		}
		port := NoPort
		switch {
		case n == e.Node:
			port = 0
		case n == own:
			port = f.port(e).PeerPort
		default:
			port = s.choose(n, lid, offset)
		}
		s.t.LFT[n][lid] = uint8(port)
		if counts && port != NoPort {
			s.load[n][port]++
		}
	}
}

// choose picks the port by which switch n sends lid, the offset-th of its
// endport.
func (s *spread) choose(n int, lid LID, offset int) int {
	if s.old != nil {
		if p := s.old.Lookup(n, lid); p != NoPort && int(p) < len(s.load[n]) && s.d.leads(n, int(p)) {
			return int(p)
		}
	}
	best, bestCost := NoPort, [3]uint32{}
	start := 1
	if offset > 0 && s.t.LFT[n][lid-1] != NoPort {
		start = int(s.t.LFT[n][lid-1]) + 1
	}
	for i := range s.load[n] {
		p := (start + i) % len(s.load[n])
		if p == 0 || !s.d.leads(n, p) {
			continue
		}
		cost := [3]uint32{0, 0, s.load[n][p]}
		if offset > 0 {
			cost[0], cost[1] = s.usedBefore(n, p, lid, offset)
		}
		if best == NoPort || slices.Compare(cost[:], bestCost[:]) < 0 {
			best, bestCost = p, cost
		}
	}
	return best
}

// usedBefore counts the earlier LIDs of the endport that switch n sends through
// the system, and through the switch, that port p leads to.
func (s *spread) usedBefore(n, p int, lid LID, offset int) (system, node uint32) {
	nodes := s.t.Fabric.Nodes
	peer := nodes[n].Ports[p].Peer
	for l := lid - LID(offset); l < lid; l++ {
		port := s.t.LFT[n][l]
		if port == NoPort || port == 0 {
			continue
		}
		other := nodes[n].Ports[port].Peer
		if other == peer {
			node++
		}
		if nodes[other].System == nodes[peer].System {
			system++
		}
	}
	return system, node
}
