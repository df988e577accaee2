package subnet

import (
	"cmp"
	"fmt"
	"slices"
)

// Ranks of a tree that the fat-tree engine takes, as OpenSM documents them.
const (
	minTreeRanks = 2
	maxTreeRanks = 8
)

// portGroup is all ports of a switch that lead to one other switch.
type portGroup struct {
	peer  int
	ports []int
	load  []int // by port: LIDs of adapters that the peer sends down, or this switch up
	total int
}

// fatTree routes for the shift pattern: when every adapter sends to the one a
// fixed number further, in the order of the tree, no two flows share a link of a
// full tree. The adapters of a leaf take its up-going port groups in turn on the
// way down to them, the leaves below a switch take its groups in turn, and so on to
// the roots; every other switch sends up towards that path (Zahavi, "D-Mod-K",
// 2012; OpenSM's ftree).
type fatTree struct {
	t        *Tables
	f        *Fabric
	up, down [][]portGroup // by switch
	ups      *upDown
	lid      LID // of the adapter being routed; 0: a missing one, which only counts
}

// routeFatTree checks that the fabric is a fat-tree and fills the tables.
func routeFatTree(f *Fabric, roots []int) (*Tables, error) {
	t := newTables(f, "ftree")
	ft := &fatTree{t: t, f: f}
	for _, e := range f.Endports {
		if f.port(e).LMC > 0 {
			return nil, fmt.Errorf("ftree: %s has LMC %d, and fat-tree routing gives a port one LID; use LMC 0, minhop or updn", f.Name(e), f.port(e).LMC)
		}
	}
	if err := ft.rank(roots); err != nil {
		return nil, fmt.Errorf("ftree: no fat-tree: %w%s; use updn or minhop", err, t.aggregation())
	}
	ft.group()
	if len(roots) == 0 {
		if err := ft.regular(); err != nil {
			return nil, fmt.Errorf("ftree: no fat-tree: %w%s; name the roots to route it all the same, or use updn", err, t.aggregation())
		}
	}
	ft.ups = newUpDown(f, t.Rank)
	ft.routeAdapters()
	ft.routeRest()
	if err := t.checkReach(); err != nil {
		return nil, fmt.Errorf("ftree: %w; name other roots, or use minhop", err)
	}
	return t, nil
}

// rank gives roots rank 0 and every other switch its distance from them. Without
// roots the leaves, where adapters hang, are lowest, and the switches farthest from
// them are the roots.
func (ft *fatTree) rank(roots []int) error {
	f, t := ft.f, ft.t
	if len(t.leaves) == 0 {
		return fmt.Errorf("no channel adapter hangs on a switch")
	}
	if len(roots) > 0 {
		t.Rank = f.ranksFrom(roots)
	} else {
		t.Rank = f.ranksFrom(t.leaves)
		top := slices.Max(t.Rank)
		for n := range t.Rank {
			if t.Rank[n] >= 0 {
				t.Rank[n] = top - t.Rank[n]
			}
		}
	}
	if ranks := slices.Max(t.Rank) + 1; ranks < minTreeRanks || ranks > maxTreeRanks {
		return fmt.Errorf("%d ranks of switches; a tree has %d to %d", ranks, minTreeRanks, maxTreeRanks)
	}
	for _, l := range f.Links {
		a, b := l.A.Node, l.B.Node
		if f.isSwitch(a) && f.isSwitch(b) && t.Rank[a] >= 0 && t.Rank[a] == t.Rank[b] {
			return fmt.Errorf("link %s joins two switches of rank %d", f.Channel(l.A), t.Rank[a])
		}
	}
	return nil
}

// group sorts the ports of every switch into groups by the switch they lead to,
// in order of its GUID.
func (ft *fatTree) group() {
	f := ft.f
	ft.up, ft.down = make([][]portGroup, len(f.Nodes)), make([][]portGroup, len(f.Nodes))
	for n := range f.Nodes {
		if f.Nodes[n].Kind != Switch {
			continue
		}
		for p := range f.Nodes[n].Ports {
			peer := f.Nodes[n].Ports[p].Peer
			switch {
			case !f.isSwitch(peer) || ft.t.Rank[n] < 0:
			case ft.t.Rank[peer] < ft.t.Rank[n]:
				ft.up[n] = addToGroup(ft.up[n], peer, p)
			default:
				ft.down[n] = addToGroup(ft.down[n], peer, p)
			}
		}
		byGUID := func(a, b portGroup) int { return cmp.Compare(f.Nodes[a.peer].GUID, f.Nodes[b.peer].GUID) }
		slices.SortFunc(ft.up[n], byGUID)
		slices.SortFunc(ft.down[n], byGUID)
	}
}

func addToGroup(groups []portGroup, peer, port int) []portGroup {
	i := slices.IndexFunc(groups, func(g portGroup) bool { return g.peer == peer })
	if i < 0 {
		i = len(groups)
		groups = append(groups, portGroup{peer: peer})
	}
	groups[i].ports = append(groups[i].ports, port)
	groups[i].load = append(groups[i].load, 0)
	return groups
}

// regular checks what OpenSM asks of a tree without named roots: switches of a
// rank have equal numbers of groups up (roots none) and down (leaves apart), and
// equal numbers of ports in each.
func (ft *fatTree) regular() error {
	first := make([]int, slices.Max(ft.t.Rank)+1) // by rank: its first switch
	for i := range first {
		first[i] = -1
	}
	for n := range ft.f.Nodes {
		rank := ft.t.Rank[n]
		if rank < 0 {
			continue
		}
		if first[rank] < 0 {
			first[rank] = n
		}
		if err := ft.alike(first[rank], n, rank == len(first)-1); err != nil {
			return err
		}
	}
	return nil
}

// alike compares switch n with the first of its rank.
func (ft *fatTree) alike(first, n int, leaf bool) error {
	name := func(i int) string { return ft.f.Nodes[i].Name }
	rank := ft.t.Rank[n]
	if a, b := len(ft.up[first]), len(ft.up[n]); a != b {
		return fmt.Errorf("%s and %s are both of rank %d, but one has links up to %d switches and the other to %d", name(first), name(n), rank, a, b)
	}
	if a, b := len(ft.down[first]), len(ft.down[n]); a != b && !leaf {
		return fmt.Errorf("%s and %s are both of rank %d, but one has links down to %d switches and the other to %d", name(first), name(n), rank, a, b)
	}
	for _, way := range [2][][]portGroup{ft.up, ft.down} {
		for _, g := range way[n] {
			if a, b := len(way[first][0].ports), len(g.ports); a != b {
				return fmt.Errorf("%s has %d links to %s, where %s has %d to %s; switches of one rank must have the same number",
					name(n), b, name(g.peer), name(first), a, name(way[first][0].peer))
			}
		}
	}
	return nil
}

// order lists the leaves (indices into t.leaves) as the tree has them: leaves
// below the same switches stand together, rank by rank. The key of a leaf is the
// lowest GUID above it on every rank, the roots' first, then its own. Leaves that no
// root reaches are left out.
func (ft *fatTree) order() []int {
	t, f := ft.t, ft.f
	ranks := slices.Max(t.Rank) + 1
	keys := make([][]GUID, len(t.leaves))
	var order []int
	for i, leaf := range t.leaves {
		if t.Rank[leaf] < 0 {
			continue
		}
		order = append(order, i)
		key := make([]GUID, ranks+1)
		for r := range key {
			key[r] = ^GUID(0)
		}
		key[ranks] = f.Nodes[leaf].GUID
		seen := make([]bool, len(f.Nodes))
		queue := []int{leaf}
		for q := 0; q < len(queue); q++ {
			n := queue[q]
			key[t.Rank[n]] = min(key[t.Rank[n]], f.Nodes[n].GUID)
			for _, g := range ft.up[n] {
				if !seen[g.peer] {
					seen[g.peer] = true
					queue = append(queue, g.peer)
				}
			}
		}
		keys[i] = key
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(keys[a], keys[b]) })
	return order
}

// routeAdapters routes to every adapter, leaf by leaf. A leaf with fewer adapters
// than the fullest takes its groups in turn for the missing ones too, so that the
// pattern of the others stays.
func (ft *fatTree) routeAdapters() {
	t := ft.t
	most := 0
	for leaf, adapters := range t.adapters {
		most = max(most, len(adapters))
		for _, a := range adapters {
			p := ft.f.port(ft.f.Endports[a])
			t.LFT[t.leaves[leaf]][p.LID] = uint8(p.PeerPort)
		}
	}
	for _, leaf := range ft.order() {
		s := t.leaves[leaf]
		for i := range most {
			ft.lid = 0
			if i < len(t.adapters[leaf]) {
				ft.lid = ft.f.port(ft.f.Endports[t.adapters[leaf][i]]).LID
				ft.ups.towards(s)
			}
			ft.ascend(s)
		}
	}
}

// ascend extends the way down to the current adapter from switch s by one rank:
// a switch above s that carries the fewest adapters' LIDs down to s sends it by its
// least loaded port, and all switches below it send up to it.
func (ft *fatTree) ascend(s int) {
	for len(ft.up[s]) > 0 {
		g := &ft.up[s][0]
		for i := range ft.up[s] {
			if ft.up[s][i].total < g.total {
				g = &ft.up[s][i]
			}
		}
		i := leastLoaded(g)
		g.load[i]++
		g.total++
		above := g.peer
		if ft.lid > 0 {
			ft.t.LFT[above][ft.lid] = uint8(ft.f.Nodes[s].Ports[g.ports[i]].PeerPort)
			ft.descend(above, s)
		}
		s = above
	}
}

// descend makes the switches below top send the current LID up to it, except
// those from which it lies below.
func (ft *fatTree) descend(top, except int) {
	for i := range ft.down[top] {
		g := &ft.down[top][i]
		if g.peer == except || ft.ups.down[g.peer] >= 0 || ft.t.LFT[g.peer][ft.lid] != NoPort {
			continue
		}
		p := leastLoaded(g)
		g.load[p]++
		g.total++
		ft.t.LFT[g.peer][ft.lid] = uint8(ft.f.Nodes[top].Ports[g.ports[p]].PeerPort)
		ft.descend(g.peer, -1)
	}
}

// leastLoaded returns the index of the port of a group that carries the fewest
// LIDs, the lowest of several.
func leastLoaded(g *portGroup) int {
	best := 0
	for i := range g.load {
		if g.load[i] < g.load[best] {
			best = i
		}
	}
	return best
}

// routeRest fills what the tree pattern left open with up/down paths: LIDs of
// switches, and adapters at switches off the pattern.
func (ft *fatTree) routeRest() {
	t, f := ft.t, ft.f
	for i, e := range f.Endports {
		lid, own := f.port(e).LID, f.leafOf(e)
		if own < 0 {
			continue
		}
		ft.ups.towards(own)
		for n := range f.Nodes {
			if f.Nodes[n].Kind != Switch || t.LFT[n][lid] != NoPort {
				continue
			}
			if n == e.Node {
				t.LFT[n][lid] = 0
				continue
			}
			ways := 0
			for p := range f.Nodes[n].Ports {
				if ft.ups.leads(n, p) {
					ways++
				}
			}
			if ways > 0 {
				t.LFT[n][lid] = ft.nthWay(n, i%ways)
			}
		}
	}
}

// nthWay returns the nth port of switch n that leads on.
func (ft *fatTree) nthWay(n, nth int) uint8 {
	for p := range ft.f.Nodes[n].Ports {
		if !ft.ups.leads(n, p) {
			continue
		}
		if nth == 0 {
			return uint8(p)
		}
		nth--
	}
	return NoPort
}

// AdapterOrder lists the ports of channel adapters in the order for which the
// fat-tree engine's shift pattern holds (OpenSM dumps it as
// opensm-ftree-ca-order.dump). It is nil for other engines.
func (t *Tables) AdapterOrder() []End {
	if t.Engine != "ftree" {
		return nil
	}
	ft := &fatTree{t: t, f: t.Fabric}
	ft.group()
	var out []End
	for _, leaf := range ft.order() {
		for _, a := range t.adapters[leaf] {
			out = append(out, t.Fabric.Endports[a])
		}
	}
	return out
}
