package topology

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// Hop is one step of a path: the node and the local port a packet leaves it by.
type Hop struct {
	Node, Port int
}

// Path returns one shortest path from endpoint src to endpoint dst, the hops
// that transmit in order (the destination host is not among them). Of several
// equal paths it is the one over the lowest port numbers.
func (r *Routes) Path(g *Graph, src, dst int) ([]Hop, error) {
	if err := r.CheckPair(g, src, dst); err != nil {
		return nil, err
	}
	s := g.Endpoints[src]
	hops := []Hop{{Node: s.Node, Port: s.Port}}
	node := g.Nodes[s.Node].Ports[s.Port].Peer
	for g.Nodes[node].Kind == Switch {
		port := int(r.Lookup(node, dst)[0])
		hops = append(hops, Hop{Node: node, Port: port})
		node = g.Nodes[node].Ports[port].Peer
	}
	return hops, nil
}

// PathDelay returns the sum of the propagation delays along hops, one way.
func PathDelay(g *Graph, hops []Hop) units.Time {
	sum := units.Time(0)
	for _, h := range hops {
		sum += g.LinkAt(h.Node, h.Port).Delay
	}
	return sum
}

// PathRate returns the lowest link rate along hops: the bottleneck.
func PathRate(g *Graph, hops []Hop) units.Rate {
	lowest := units.Rate(0)
	for _, h := range hops {
		if rate := g.LinkAt(h.Node, h.Port).Rate; lowest == 0 || rate < lowest {
			lowest = rate
		}
	}
	return lowest
}

// PinnedPath returns the local egress port of every node but the last along
// nodes, a path from host to host. Of parallel links it takes the first.
func PinnedPath(g *Graph, nodes []int) ([]int, error) {
	if err := checkPinned(g, nodes); err != nil {
		return nil, err
	}
	ports := make([]int, len(nodes)-1)
	for i := range ports {
		port := g.portTo(nodes[i], nodes[i+1], func(Port) bool { return true })
		if port < 0 {
			return nil, g.noLink(nodes[i], nodes[i+1])
		}
		ports[i] = port
	}
	return ports, nil
}

// PinnedPathBetween is PinnedPath between two endpoints: the path must leave by
// src's own port and arrive by dst's own port, which matters for hosts with
// several ports.
func PinnedPathBetween(g *Graph, src, dst int, nodes []int) ([]int, error) {
	ports, err := PinnedPath(g, nodes)
	if err != nil {
		return nil, err
	}
	s, d := g.Endpoints[src], g.Endpoints[dst]
	last := len(nodes) - 1
	if nodes[0] != s.Node || nodes[last] != d.Node {
		return nil, fmt.Errorf("path %s must begin at %s and end at %s",
			g.pathName(nodes), g.Nodes[s.Node].Name, g.Nodes[d.Node].Name)
	}
	if p := g.Nodes[s.Node].Ports[s.Port]; p.Peer != nodes[1] {
		return nil, fmt.Errorf("path %s does not leave by port %d of %s, which leads to %s",
			g.pathName(nodes), s.Port+1, g.Nodes[s.Node].Name, g.Nodes[p.Peer].Name)
	}
	ports[0] = s.Port
	arrives := func(p Port) bool { return p.PeerPort == d.Port && (last > 1 || p.Link == g.linkOf(s)) }
	ports[last-1] = g.portTo(nodes[last-1], nodes[last], arrives)
	if ports[last-1] < 0 {
		return nil, fmt.Errorf("path %s does not arrive by port %d of %s, which leads to %s",
			g.pathName(nodes), d.Port+1, g.Nodes[d.Node].Name, g.Nodes[g.Nodes[d.Node].Ports[d.Port].Peer].Name)
	}
	return ports, nil
}

// maxPinned is how many nodes a pinned path may have: a TTL of 255 is all that a packet has.
const maxPinned = 256

// checkPinned checks what can be said of a path without looking at links.
func checkPinned(g *Graph, nodes []int) error {
	if len(nodes) < 2 {
		return errors.New("a path needs at least two nodes, from source host to destination host")
	}
	if len(nodes) > maxPinned {
		return fmt.Errorf("a path of %d nodes is longer than any TTL allows; give %d at most", len(nodes), maxPinned)
	}
	for i, n := range nodes {
		if n < 0 || n >= len(g.Nodes) {
			return fmt.Errorf("path names node %d, but the nodes are 0 to %d", n, len(g.Nodes)-1)
		}
		end := i == 0 || i == len(nodes)-1
		if kind := g.Nodes[n].Kind; end != (kind == Host) {
			return fmt.Errorf("path node %d, %s, is a %s; a path begins and ends at hosts with switches between", i+1, g.Nodes[n].Name, kind)
		}
	}
	return nil
}

// portTo returns the first local port of a that leads to b and that ok accepts,
// -1 when there is none.
func (g *Graph) portTo(a, b int, ok func(Port) bool) int {
	for i, p := range g.Nodes[a].Ports {
		if p.Peer == b && ok(p) {
			return i
		}
	}
	return -1
}

func (g *Graph) linkOf(e Endpoint) int { return g.Nodes[e.Node].Ports[e.Port].Link }

func (g *Graph) noLink(a, b int) error {
	var peers []int
	for _, p := range g.Nodes[a].Ports {
		peers = append(peers, p.Peer)
	}
	names := sortedNames(g, peers)
	if len(names) > 8 {
		names = append(names[:8], "...")
	}
	return fmt.Errorf("path has no link from %s to %s; %s is linked to %s",
		g.Nodes[a].Name, g.Nodes[b].Name, g.Nodes[a].Name, strings.Join(names, ", "))
}

func (g *Graph) pathName(nodes []int) string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = g.Nodes[n].Name
	}
	return strings.Join(names, "-")
}
