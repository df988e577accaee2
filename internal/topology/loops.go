package topology

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/units"
)

// Loop is a circle of switches that send packets for a destination to each other for a while, because
// some have new tables and others old ones.
type Loop struct {
	Nodes    []int // in the order in which packets pass them; the first has the lowest number
	Endpoint int   // the first destination of which that is so
	From, To units.Time
}

// Loops finds the forwarding loops that tables bring as they replace routes one by one, by the time at
// which they begin. A loop that some equal paths alone close is one too.
func Loops(g *Graph, routes *Routes, tables []Tables) []Loop {
	x := &looper{g: g, now: make([]Tables, len(g.Nodes))}
	for n := range g.Nodes {
		x.now[n] = Tables{Group: routes.Group[n], Members: routes.Members[n]}
	}
	leaf := make(map[int]bool) // looked up, never iterated
	for ep, e := range g.Endpoints {
		if at := g.Nodes[e.Node].Ports[e.Port].Peer; !leaf[at] {
			leaf[at] = true
			x.ends = append(x.ends, ep)
		}
	}
	for len(tables) > 0 {
		n := 1
		for n < len(tables) && tables[n].At == tables[0].At {
			n++
		}
		x.change(tables[:n])
		tables = tables[n:]
	}
	all := append(x.closed, x.open...)
	slices.SortStableFunc(all, func(a, b Loop) int { return cmp.Compare(a.From, b.From) })
	return all
}

// looper is the state of Loops.
type looper struct {
	g            *Graph
	now          []Tables
	ends         []int // an endpoint behind each switch that has some
	open, closed []Loop
}

// change puts tables of one instant in force.
func (x *looper) change(tables []Tables) {
	at := tables[0].At
	for _, t := range tables {
		x.now[t.Node] = t
	}
	x.open = slices.DeleteFunc(x.open, func(l Loop) bool {
		if x.holds(&l) {
			return false
		}
		l.To = at
		x.closed = append(x.closed, l)
		return true
	})
	for _, t := range tables { // a new loop passes a switch that has changed
		for _, ep := range x.ends {
			seen := make([]bool, len(x.g.Nodes))
			for _, p := range x.now[t.Node].Of(ep) {
				x.add(x.from(t.Node, p, ep, seen), ep, at)
			}
		}
	}
}

// add notes a loop that is not open yet.
func (x *looper) add(nodes []int, ep int, at units.Time) {
	if nodes == nil {
		return
	}
	first := slices.Index(nodes, slices.Min(nodes))
	nodes = append(slices.Clone(nodes[first:]), nodes[:first]...)
	if !slices.ContainsFunc(x.open, func(l Loop) bool { return slices.Equal(l.Nodes, nodes) }) {
		x.open = append(x.open, Loop{Nodes: nodes, Endpoint: ep, From: at, To: units.Never})
	}
}

// from is a loop that begins with one of the ports of a switch; nil: none does. What it passes is no longer seen,
// as loops by other ports may pass that as well.
func (x *looper) from(node int, port uint16, ep int, seen []bool) []int {
	seen[node] = true
	next := x.g.Nodes[node].Ports[port].Peer
	if x.g.Nodes[next].Kind != Switch || seen[next] {
		return nil
	}
	rest := x.back(next, node, ep, seen)
	if rest == nil {
		return nil
	}
	for _, n := range rest {
		seen[n] = false
	}
	return append([]int{node}, rest...)
}

// holds reports whether packets still go round a loop.
func (x *looper) holds(l *Loop) bool {
	for i, n := range l.Nodes {
		next := l.Nodes[(i+1)%len(l.Nodes)]
		if !slices.ContainsFunc(x.now[n].Of(l.Endpoint), func(p uint16) bool { return x.g.Nodes[n].Ports[p].Peer == next }) {
			return false
		}
	}
	return true
}

// back is the way of packets for ep from a switch back to target, those that they pass in order; nil:
// none leads there.
func (x *looper) back(node, target, ep int, seen []bool) []int {
	seen[node] = true
	for _, p := range x.now[node].Of(ep) {
		next := x.g.Nodes[node].Ports[p].Peer
		switch {
		case next == target:
			return []int{node}
		case x.g.Nodes[next].Kind != Switch || seen[next]:
			continue
		}
		if rest := x.back(next, target, ep, seen); rest != nil {
			return append([]int{node}, rest...)
		}
	}
	return nil
}
