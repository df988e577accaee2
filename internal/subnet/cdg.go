package subnet

import "slices"

// Loop is a cycle of the channel dependency graph: a frame that holds a buffer
// at the end of each channel waits for a credit of the next, and the last waits
// for the first (Dally and Seitz, 1987). Channels are named by the port that
// sends.
type Loop []End

// Loops is what the channel dependency graph of forwarding tables shows.
type Loops struct {
	Channels     int    // between switches
	Dependencies int    // pairs of channels that a path uses one after the other
	Knots        int    // groups of channels that wait for one another (strongly connected components)
	Sizes        []int  // by knot: its channels; knots in order of their first one
	Cycles       []Loop // by knot: its shortest cycle
}

// depGraph has a vertex per channel between switches and service level, and an
// edge for every two that some path between channel adapters uses in turn.
type depGraph struct {
	t     *Tables
	first []int // by node: vertex of its port 0
	end   []End // by vertex
	next  [][]int32
	real  []bool // the vertex is a channel between switches
}

// CreditLoops builds the channel dependency graph of the paths between channel
// adapters' ports on service level sl and looks for cycles. Paths to the LIDs of
// switches carry management alone and are left out, as OpenSM's up/down promises
// nothing for them either.
func (t *Tables) CreditLoops(sl uint8) *Loops {
	g := newDepGraph(t)
	for j, lids := range t.lidsOfLeaves() {
		for i, leaf := range t.leaves {
			if t.Layer == nil && sl != 0 || t.Layer != nil && t.Layer[i][j] != sl {
				continue
			}
			for _, lid := range lids {
				g.addPath(leaf, t.leaves[j], lid, nil)
			}
		}
	}
	return g.loops()
}

func newDepGraph(t *Tables) *depGraph {
	f := t.Fabric
	g := &depGraph{t: t, first: make([]int, len(f.Nodes))}
	for n := range f.Nodes {
		g.first[n] = len(g.end)
		for p := range f.Nodes[n].Ports {
			g.end = append(g.end, End{n, p})
			g.real = append(g.real, f.Nodes[n].Kind == Switch && f.isSwitch(f.Nodes[n].Ports[p].Peer))
		}
	}
	g.next = make([][]int32, len(g.end))
	return g
}

// addPath adds the dependencies of the path from leaf to lid, whose leaf is home,
// and appends those that are new to added. A path of a file's tables that does not
// arrive is left out: Faults has it.
func (g *depGraph) addPath(leaf, home int, lid LID, added []edge) []edge {
	f := g.t.Fabric
	if g.t.lines != nil {
		if _, ok := g.t.measure(leaf, home, f.Endports[g.t.Owner[lid]], lid); !ok {
			return added
		}
	}
	before := int32(-1)
	for n, steps := leaf, 0; n != home && steps <= len(f.Nodes); steps++ {
		p := g.t.Lookup(n, lid)
		if p == NoPort || p == 0 || int(p) >= len(f.Nodes[n].Ports) || !f.isSwitch(f.Nodes[n].Ports[p].Peer) {
			break
		}
		c := int32(g.first[n] + int(p))
		if before >= 0 && !slices.Contains(g.next[before], c) {
			g.next[before] = append(g.next[before], c)
			added = append(added, edge{before, c})
		}
		before = c
		n = f.Nodes[n].Ports[p].Peer
	}
	return added
}

// loops finds the strongly connected components with more than one channel, and
// the shortest cycle in each.
func (g *depGraph) loops() *Loops {
	l := &Loops{}
	for c, next := range g.next {
		if g.real[c] {
			l.Channels++
		}
		slices.Sort(next)
		l.Dependencies += len(next)
	}
	component, sizes := g.components()
	done := make([]bool, len(sizes))
	for c := range g.next {
		k := component[c]
		if done[k] || sizes[k] < 2 {
			continue
		}
		done[k] = true
		l.Knots++
		l.Sizes = append(l.Sizes, sizes[k])
		l.Cycles = append(l.Cycles, g.shortest(component, k))
	}
	return l
}

// components is Tarjan's algorithm, without recursion: the component of every
// vertex, and the size of every component.
func (g *depGraph) components() (component []int, sizes []int) {
	n := len(g.next)
	component = make([]int, n)
	index, low, at := make([]int, n), make([]int, n), make([]int, n)
	onStack := make([]bool, n)
	var stack, calls []int
	counter := 0
	open := func(v int) {
		counter++
		index[v], low[v] = counter, counter
		stack = append(stack, v)
		onStack[v] = true
		calls = append(calls, v)
	}
	for root := range n {
		if index[root] > 0 {
			continue
		}
		for open(root); len(calls) > 0; {
			v := calls[len(calls)-1]
			if at[v] < len(g.next[v]) {
				w := int(g.next[v][at[v]])
				at[v]++
				if index[w] == 0 {
					open(w)
				} else if onStack[w] {
					low[v] = min(low[v], index[w])
				}
				continue
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				up := calls[len(calls)-1]
				low[up] = min(low[up], low[v])
			}
			if low[v] == index[v] {
				size := 0
				for w := -1; w != v; size++ {
					w = stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					onStack[w] = false
					component[w] = len(sizes)
				}
				sizes = append(sizes, size)
			}
		}
	}
	return component, sizes
}

// maxStarts bounds from how many channels of a knot the shortest cycle is
// sought; beyond them a shorter one may exist, but a cycle is always found.
const maxStarts = 256

// shortest returns a shortest cycle of component k: breadth-first from each of
// its channels back to itself.
func (g *depGraph) shortest(component []int, k int) Loop {
	var best Loop
	starts := 0
	from := make([]int32, len(g.next))
	for c := range g.next {
		if component[c] != k || starts == maxStarts {
			continue
		}
		starts++
		if cycle := g.cycleFrom(int32(c), component, from); best == nil || len(cycle) < len(best) {
			best = cycle
		}
	}
	return best
}

// cycleFrom returns a shortest cycle through channel c; from is scratch space.
func (g *depGraph) cycleFrom(c int32, component []int, from []int32) Loop {
	for i := range from {
		from[i] = -1
	}
	queue := []int32{c}
	for q := 0; q < len(queue) && from[c] < 0; q++ {
		for _, w := range g.next[queue[q]] {
			if component[w] == component[c] && from[w] < 0 {
				from[w] = queue[q]
				queue = append(queue, w)
			}
		}
	}
	cycle := Loop{g.end[c]}
	for v := from[c]; v != c; v = from[v] {
		cycle = append(cycle, g.end[v])
	}
	slices.Reverse(cycle[1:])
	return cycle
}
