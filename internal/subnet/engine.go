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
	// Progress, if set, is told from time to time how much of the LIDs of all leaves
	// minhop and updn have routed.
	Progress func(done, total int)
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
		return routeMinHop(f, nil, opt), nil
	case "updn":
		return routeUpDown(f, opt, nil)
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
	told func(done, total int) // may be nil
	load [][]uint32            // by switch and port: LIDs of channel adapters sent that way

	// By switch and port: the first port that leads to the same neighbour, and to
	// the same system as that; 0 where the port leads nowhere.
	peer, system [][]uint8
	// While a port is chosen: earlier LIDs of the endport by those numbers.
	toPeer, toSystem [NoPort]uint32
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
	s.findNeighbours()
	order := s.t.byLoad()
	most := 1 << f.mostLMC()
	for offset := range most {
		for i, leaf := range order {
			if s.told != nil {
				s.told(offset*len(order)+i, most*len(order))
			}
			s.fillLeaf(leaf, offset)
		}
		for i, e := range f.Endports {
			if f.Nodes[e.Node].Kind == Switch && offset < 1<<f.port(e).LMC {
				s.d.towards(e.Node)
				s.route(i, offset)
			}
		}
	}
}

// mostLMC returns the largest LMC of any endport.
func (f *Fabric) mostLMC() (lmc uint8) {
	for _, e := range f.Endports {
		lmc = max(lmc, f.port(e).LMC)
	}
	return lmc
}

// fillLeaf routes LID offset of the adapters of leaf, an index into leaves, that
// have so many.
func (s *spread) fillLeaf(leaf, offset int) {
	f := s.t.Fabric
	s.d.towards(s.t.leaves[leaf])
	for _, i := range s.t.adapters[leaf] {
		if offset < 1<<f.port(f.Endports[i]).LMC {
			s.route(i, offset)
		}
	}
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
	start := 1
	if offset > 0 && s.t.LFT[n][lid-1] != NoPort {
		start = int(s.t.LFT[n][lid-1]) + 1
	}
	s.countBefore(n, lid, offset)
	return s.cheapest(n, start)
}

// cheapest returns the port of switch n with the least cost, the first of several
// from start on, around.
func (s *spread) cheapest(n, start int) int {
	best, bestCost := NoPort, [3]uint32{}
	ports := s.t.Fabric.Nodes[n].Ports
	for i := range ports {
		p := (start + i) % len(ports)
		if p == 0 || !s.d.leads(n, p) {
			continue
		}
		cost := [3]uint32{s.toSystem[s.system[n][p]], s.toPeer[s.peer[n][p]], s.load[n][p]}
		if best == NoPort || slices.Compare(cost[:], bestCost[:]) < 0 {
			best, bestCost = p, cost
		}
	}
	return best
}

// findNeighbours numbers neighbours and their systems by the ports that lead there.
func (s *spread) findNeighbours() {
	nodes := s.t.Fabric.Nodes
	s.peer, s.system = make([][]uint8, len(nodes)), make([][]uint8, len(nodes))
	for n := range nodes {
		ports := nodes[n].Ports
		s.peer[n], s.system[n] = make([]uint8, len(ports)), make([]uint8, len(ports))
		for p := range ports {
			to := ports[p].Peer
			if to < 0 {
				continue
			}
			sameNode := func(q Port) bool { return q.Peer == to }
			sameSystem := func(q Port) bool { return q.Peer >= 0 && nodes[q.Peer].System == nodes[to].System }
			s.peer[n][p] = uint8(slices.IndexFunc(ports, sameNode))
			s.system[n][p] = uint8(slices.IndexFunc(ports, sameSystem))
		}
	}
}

// countBefore counts the offset LIDs before lid, which are its endport's, by the
// neighbour that switch n sends them to and by its system.
func (s *spread) countBefore(n int, lid LID, offset int) {
	ports := len(s.peer[n])
	clear(s.toPeer[:ports])
	clear(s.toSystem[:ports])
	for _, port := range s.t.LFT[n][int(lid)-offset : lid] {
		if port != NoPort && port != 0 {
			s.toPeer[s.peer[n][port]]++
			s.toSystem[s.system[n][port]]++
		}
	}
}
