package whatif

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
)

// ways knows which connection goes through which ports.
type ways struct {
	v     *scenario.Valid
	there [][]topology.Hop // by connection: the way of what its source sends
	back  [][]topology.Hop // and of what comes back
	bound []bool           // by connection: its messages wait for others, or others for them
	reads []bool           // by connection: its data come from Dst
	at    map[topology.Hop][]int
}

// newWays finds the ways of all connections that send anything.
func newWays(w *build.World) *ways {
	plan := w.Valid.Plan
	x := &ways{v: w.Valid, there: make([][]topology.Hop, len(plan.Conns)), back: make([][]topology.Hop, len(plan.Conns)),
		bound: make([]bool, len(plan.Conns)), reads: make([]bool, len(plan.Conns)), at: make(map[topology.Hop][]int)}
	active := make([]bool, len(plan.Conns))
	for i, m := range plan.All() {
		active[m.Conn] = true
		x.bound[m.Conn] = x.bound[m.Conn] || m.Waits() || plan.Graph.Waited(i)
	}
	for i := range plan.Conns {
		x.reads[i] = plan.Conns[i].Reads
		if !active[i] {
			continue
		}
		x.there[i], x.back[i] = w.Path(i)
		for _, h := range slices.Concat(x.there[i], x.back[i]) {
			if list := x.at[h]; len(list) == 0 || list[len(list)-1] != i {
				x.at[h] = append(list, i)
			}
		}
	}
	return x
}

// through lists the connections whose packets, data or answers, leave by a port.
func (x *ways) through(node, port int) []int { return x.at[topology.Hop{Node: node, Port: port}] }

// sending lists the connections that send anything.
func (x *ways) sending() (out []int) {
	for i := range x.there {
		if x.there[i] != nil {
			out = append(out, i)
		}
	}
	return out
}

// data is the way of the data of connection i, and answers that of their acknowledgements.
func (x *ways) data(i int) []topology.Hop {
	if x.reads[i] {
		return x.back[i]
	}
	return x.there[i]
}

func (x *ways) answers(i int) []topology.Hop {
	if x.reads[i] {
		return x.there[i]
	}
	return x.back[i]
}

// others lists other ways of connection i through the network that are as short as its own,
// at most n, each by its nodes.
func (x *ways) others(i, n int) (out [][]int) {
	own := nodesOf(x.v.Graph, x.there[i])
	if len(own) < 4 { // one switch between the hosts: there is one way
		return nil
	}
	c := &x.v.Plan.Conns[i]
	var walk func(path []int)
	walk = func(path []int) {
		node := path[len(path)-1]
		if len(out) == n || len(path) > len(own) {
			return
		}
		for _, p := range x.v.Routes.Lookup(node, c.Dst) {
			next := x.v.Graph.Nodes[node].Ports[p].Peer
			if slices.Contains(path, next) {
				continue
			}
			way := append(slices.Clone(path), next)
			if x.v.Graph.Nodes[next].Kind == topology.Switch {
				walk(way)
				continue
			}
			known := func(w []int) bool { return slices.Equal(w, way) }
			if next == own[len(own)-1] && !slices.Equal(way, own) && !slices.ContainsFunc(out, known) && len(out) < n {
				out = append(out, way)
			}
		}
	}
	walk(own[:2])
	return out
}

// nodesOf lists the nodes of a way.
func nodesOf(g *topology.Graph, hops []topology.Hop) (nodes []int) {
	for _, h := range hops {
		nodes = append(nodes, h.Node)
	}
	if len(hops) > 0 {
		last := hops[len(hops)-1]
		nodes = append(nodes, g.Nodes[last.Node].Ports[last.Port].Peer)
	}
	return nodes
}

// evidence is what a run recorded of a port, over all its classes.
type evidence struct {
	queue, marked, dropped, pauses, sent int64 // sent: pauses
	held                                 int64 // time with something to send and none let out
	classes                              int   // that sent data
}

// busy reports whether anything waited at the port, was marked or dropped there, or the port
// was held.
func (e *evidence) busy(frame int64) bool {
	return e.queue > 2*frame || e.marked+e.dropped+e.pauses+e.held > 0
}

// evidenceOf sums up a run by port.
func (l *Lab) evidenceOf() map[topology.Hop]*evidence {
	out := make(map[topology.Hop]*evidence)
	for i := range l.Run.Ports {
		p := &l.Run.Ports[i]
		node, ok := l.ways.v.Graph.NodeByName(p.Node)
		if !ok {
			continue
		}
		at := topology.Hop{Node: node, Port: p.Port - 1}
		e := out[at]
		if e == nil {
			e = new(evidence)
			out[at] = e
		}
		e.queue = max(e.queue, p.PeakQueueBytes)
		e.marked, e.dropped, e.pauses, e.sent = e.marked+p.Marked, e.dropped+p.Dropped, e.pauses+p.PausesReceived, e.sent+p.PausesSent
		e.held += int64(p.HeldPS)
		if p.TxBytes > smallTraffic {
			e.classes++
		}
	}
	return out
}

// smallTraffic is what a class may send, in bytes, and still be taken for one of answers.
const smallTraffic = 20_000

// roots follows pauses and waits for credits from the ports of a way to where they come from:
// the ports behind them, in the order in which they are found, at which something waits.
func (l *Lab) roots(way []topology.Hop) (out []topology.Hop) {
	g := l.ways.v.Graph
	seen := make(map[topology.Hop]bool)
	next := slices.Clone(way)
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		e := l.ports[at]
		if seen[at] || e == nil || e.pauses+e.held == 0 {
			seen[at] = true
			continue
		}
		seen[at] = true
		peer := g.Nodes[at.Node].Ports[at.Port].Peer
		if g.Nodes[peer].Kind == topology.Host {
			continue
		}
		var behind []topology.Hop
		for p := range g.Nodes[peer].Ports {
			h := topology.Hop{Node: peer, Port: p}
			if b := l.ports[h]; !seen[h] && b != nil && g.Nodes[peer].Ports[p].Peer != at.Node && b.busy(l.frame) {
				behind = append(behind, h)
			}
		}
		slices.SortStableFunc(behind, func(a, b topology.Hop) int { return cmp.Compare(l.ports[b].queue, l.ports[a].queue) })
		out, next = append(out, behind...), append(next, behind...)
	}
	return out
}
