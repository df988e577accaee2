package subnet

import (
	"math/bits"
	"slices"
)

// ShortestPathLoops is CreditLoops of switches that choose, for each packet, among
// all ports on shortest paths: the dependencies of all shortest paths between
// channel adapters.
func (f *Fabric) ShortestPathLoops() *Loops {
	t := &Tables{Fabric: f}
	t.findLeaves()
	b := newBundle(t)
	for _, home := range t.leaves {
		b.add(home)
	}
	return b.graph().loops()
}

// bundle gathers dependencies as sets of ports: of a channel, the ports by which the
// node that it leads to goes on. A large network has too many paths to walk each.
type bundle struct {
	g     *depGraph
	h     *hops
	words int        // of a set
	next  [][]uint64 // by vertex: a set of ports of the node at its end
	out   [][]uint64 // by node: the ports towards the current leaf
	used  []bool     // by node: packets to the current leaf pass it
	order []int      // nodes, the farthest from the current leaf first
}

func newBundle(t *Tables) *bundle {
	b := &bundle{g: newDepGraph(t), h: newHops(t.Fabric), used: make([]bool, len(t.Fabric.Nodes))}
	for n := range t.Fabric.Nodes {
		b.words = max(b.words, len(t.Fabric.Nodes[n].Ports)/64+1)
		if t.Fabric.isSwitch(n) {
			b.order = append(b.order, n)
		}
	}
	b.next = make([][]uint64, len(b.g.end))
	b.out = make([][]uint64, len(t.Fabric.Nodes))
	for _, n := range b.order {
		b.out[n] = make([]uint64, b.words)
	}
	return b
}

// add adds the dependencies of the shortest paths from all leaves to one.
func (b *bundle) add(home int) {
	f, t := b.g.t.Fabric, b.g.t
	b.h.towards(home)
	slices.SortStableFunc(b.order, func(x, y int) int { return int(b.h.dist[y]) - int(b.h.dist[x]) })
	clear(b.used)
	for _, leaf := range t.leaves {
		b.used[leaf] = b.h.dist[leaf] > 0
	}
	for _, n := range b.order {
		b.findOut(n)
	}
	for _, n := range b.order {
		if !b.used[n] {
			continue
		}
		for w, set := range b.out[n] {
			for ; set != 0; set &= set - 1 {
				p := w*64 + bits.TrailingZeros64(set)
				peer := f.Nodes[n].Ports[p].Peer
				b.used[peer] = true
				b.follow(b.g.first[n]+p, b.out[peer])
			}
		}
	}
}

// findOut finds the ports by which switch n sends towards the current leaf.
func (b *bundle) findOut(n int) {
	clear(b.out[n])
	for p := range b.g.t.Fabric.Nodes[n].Ports {
		if b.h.leads(n, p) {
			b.out[n][p/64] |= 1 << (p % 64)
		}
	}
}

// follow adds that channel c is followed by a set of ports.
func (b *bundle) follow(c int, ports []uint64) {
	if b.next[c] == nil {
		b.next[c] = make([]uint64, b.words)
	}
	for w, set := range ports {
		b.next[c][w] |= set
	}
}

// graph turns the sets into the channel dependency graph.
func (b *bundle) graph() *depGraph {
	f := b.g.t.Fabric
	for c, sets := range b.next {
		from := b.g.end[c]
		for w, set := range sets {
			for ; set != 0; set &= set - 1 {
				p := w*64 + bits.TrailingZeros64(set)
				b.g.next[c] = append(b.g.next[c], int32(b.g.first[f.Nodes[from.Node].Ports[from.Port].Peer]+p))
			}
		}
	}
	return b.g
}
