package topology

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hopscope/hopscope/internal/units"
)

// Routes holds, for every switch and destination endpoint, the set of egress
// ports on shortest paths (ECMP group). Groups are shared.
type Routes struct {
	// Group[node] is nil for hosts, else one entry per endpoint: Pack(offset, n)
	// into Members[node]; n = 0: unreachable. Switches may share a table. A port
	// with a weight is a member as often as it has slots.
	Group   [][]uint32
	Members [][]uint16
}

// Limits of the packed form of a group.
const (
	GroupBits  = 10                    // of a packed group that count its members
	MaxGroup   = 1<<GroupBits - 1      // ports of one ECMP group, or slots of a weighted one
	maxOffset  = 1 << (32 - GroupBits) // members of all groups of one switch
	maxEntries = 1 << 28               // switches x endpoints: 1 GiB of tables
)

// Pack packs where the members of a group begin and how many there are.
func Pack(offset, n int) uint32 { return uint32(offset)<<GroupBits | uint32(n) }

// Unpack is the reverse of Pack.
func Unpack(group uint32) (offset, n uint32) { return group >> GroupBits, group & MaxGroup }

// of returns the members of a group.
func of(members []uint16, group uint32) []uint16 {
	offset, n := Unpack(group)
	return members[offset : offset+n]
}

// Lookup returns the candidate local egress ports of switch node for endpoint ep.
func (r *Routes) Lookup(node, ep int) []uint16 {
	return of(r.Members[node], r.Group[node][ep])
}

// ComputeRoutes fills the tables with all shortest paths, counted in hops, from
// every switch to every endpoint of a finished graph. Hosts never forward, and
// only the endpoint's own port leads to it, so that a host with several ports is
// reached by rail. Parallel links are separate members; members are in port
// order.
func ComputeRoutes(g *Graph) (*Routes, error) { return RoutesWithout(g, nil) }

// RoutesWithout is ComputeRoutes on what is left when links have failed: dead
// holds an entry per link of the graph, or is nil. ECMP groups shrink by the dead
// ports, longer paths take over where no shortest one is left, and endpoints that
// nothing reaches any more have empty groups.
func RoutesWithout(g *Graph, dead []bool) (*Routes, error) { return Rules{}.Without(g, dead) }

// Without is RoutesWithout for paths by rules.
func (x Rules) Without(g *Graph, dead []bool) (*Routes, error) {
	if dead != nil && len(dead) != len(g.Links) {
		return nil, fmt.Errorf("%d links are marked dead or alive, of %d", len(dead), len(g.Links))
	}
	b := newRouteBuilder(g)
	b.dead = dead
	b.follow(x)
	if n := len(b.switches) * len(g.Endpoints); n > maxEntries {
		return nil, fmt.Errorf("the routing tables of %d switches and %d endpoints would need %d entries, more than %d; make the topology smaller",
			len(b.switches), len(g.Endpoints), n, maxEntries)
	}
	for _, leaf := range b.switches {
		if len(b.behind[leaf]) == 0 {
			continue
		}
		if err := b.towards(leaf); err != nil {
			return nil, err
		}
	}
	b.share()
	return b.routes, nil
}

// share has switches with the same words for all endpoints share one table: all cores of a
// tree have one, and all switches in the middle of a pod.
func (b *routeBuilder) share() {
	first := make(map[uint64][][]uint32) // tables by their hash; looked up, never iterated
	for _, s := range b.switches {
		table := b.routes.Group[s]
		hash := uint64(0)
		for _, group := range table {
			hash = (hash ^ uint64(group)) * 0x9e3779b97f4a7c15
		}
		like := first[hash]
		if k := slices.IndexFunc(like, func(t []uint32) bool { return slices.Equal(t, table) }); k >= 0 {
			b.routes.Group[s] = like[k]
		} else {
			first[hash] = append(like, table)
		}
	}
}

// routeBuilder is the scratch space of RoutesWithout.
type routeBuilder struct {
	g        *Graph
	dead     []bool // by link; nil: none
	routes   *Routes
	switches []int
	behind   [][]int // by node: endpoints whose cable ends at this switch
	dist     []int32 // by node: hops to the current leaf, -1 unknown
	queue    []int
	members  []uint16
	key      []byte
	shared   []map[string]uint32 // by node: member list -> group; looked up, never iterated

	// Of Rules.
	order     []int        // by node: see Graph.Order; nil: all shortest paths
	downwards []int        // the switches in that order
	falls     []bool       // by node: the current leaf lies all the way down
	shares    []Shares     // by node; nil: equal
	carries   []units.Rate // by node: to the current leaf
}

// follow has b keep to rules.
func (b *routeBuilder) follow(x Rules) {
	if x.UpDown {
		b.order, b.falls = b.g.Order(), make([]bool, len(b.g.Nodes))
		b.downwards = slices.Clone(b.switches)
		slices.SortFunc(b.downwards, func(m, n int) int { return cmp.Compare(b.order[m], b.order[n]) })
	}
	if slices.ContainsFunc(x.Shares, func(s Shares) bool { return s.By != Equal }) {
		b.shares, b.carries = x.Shares, make([]units.Rate, len(b.g.Nodes))
	}
}

func newRouteBuilder(g *Graph) *routeBuilder {
	n := len(g.Nodes)
	b := &routeBuilder{
		g:      g,
		routes: &Routes{Group: make([][]uint32, n), Members: make([][]uint16, n)},
		behind: make([][]int, n),
		dist:   make([]int32, n),
		shared: make([]map[string]uint32, n),
	}
	for i := range g.Nodes {
		if g.Nodes[i].Kind == Switch {
			b.switches = append(b.switches, i)
			b.shared[i] = make(map[string]uint32)
		}
	}
	if len(b.switches)*len(g.Endpoints) <= maxEntries {
		for _, s := range b.switches {
			b.routes.Group[s] = make([]uint32, len(g.Endpoints))
		}
	}
	for ep, e := range g.Endpoints {
		peer := g.Nodes[e.Node].Ports[e.Port].Peer
		b.behind[peer] = append(b.behind[peer], ep)
	}
	return b
}

// towards routes every switch to the endpoints behind leaf.
func (b *routeBuilder) towards(leaf int) error {
	if b.order != nil {
		b.searchUpDown(leaf)
	} else {
		b.search(leaf)
	}
	if b.carries != nil {
		b.carries[leaf] = math.MaxInt64 / 2 // each of its hosts has a link of its own
	}
	for _, ep := range b.behind[leaf] {
		e := b.g.Endpoints[ep]
		port := b.g.Nodes[e.Node].Ports[e.Port]
		if !b.alive(port) {
			continue
		}
		group, err := b.group(leaf, append(b.members[:0], uint16(port.PeerPort)))
		if err != nil {
			return err
		}
		b.routes.Group[leaf][ep] = group
	}
	for _, s := range b.queue[1:] {
		b.members = b.members[:0]
		for port, p := range b.g.Nodes[s].Ports {
			if b.follows(s, p) {
				b.members = append(b.members, uint16(port))
			}
		}
		b.divide(s)
		group, err := b.group(s, b.members)
		if err != nil {
			return err
		}
		for _, ep := range b.behind[leaf] {
			e := b.g.Endpoints[ep]
			if b.alive(b.g.Nodes[e.Node].Ports[e.Port]) {
				b.routes.Group[s][ep] = group
			}
		}
	}
	return nil
}

// alive reports whether the link of a port carries anything.
func (b *routeBuilder) alive(p Port) bool { return b.dead == nil || !b.dead[p.Link] }

// search is a breadth-first search over switches; queue holds those reached.
func (b *routeBuilder) search(leaf int) {
	for i := range b.dist {
		b.dist[i] = -1
	}
	b.dist[leaf] = 0
	b.queue = append(b.queue[:0], leaf)
	for i := 0; i < len(b.queue); i++ {
		s := b.queue[i]
		for _, p := range b.g.Nodes[s].Ports {
			if b.dist[p.Peer] < 0 && b.g.Nodes[p.Peer].Kind == Switch && b.alive(p) {
				b.dist[p.Peer] = b.dist[s] + 1
				b.queue = append(b.queue, p.Peer)
			}
		}
	}
}

// group returns the packed group of a member list at node, stored once.
func (b *routeBuilder) group(node int, members []uint16) (uint32, error) {
	b.key = b.key[:0]
	for _, m := range members {
		b.key = append(b.key, byte(m), byte(m>>8))
	}
	if group, ok := b.shared[node][string(b.key)]; ok {
		return group, nil
	}
	if len(members) > MaxGroup {
		return 0, fmt.Errorf("%s has %d equal-cost ports to one destination; an ECMP group holds at most %d",
			b.g.Nodes[node].Name, len(members), MaxGroup)
	}
	offset := len(b.routes.Members[node])
	if offset+len(members) > maxOffset {
		return 0, fmt.Errorf("%s needs more than %d group members; make the topology smaller", b.g.Nodes[node].Name, maxOffset)
	}
	b.routes.Members[node] = append(b.routes.Members[node], members...)
	group := Pack(offset, len(members))
	b.shared[node][string(b.key)] = group
	return group, nil
}

// CheckPair returns an error that names the endpoints when no route leads from
// src to dst.
func (r *Routes) CheckPair(g *Graph, src, dst int) error {
	s, d := g.Endpoints[src], g.Endpoints[dst]
	if s.Node == d.Node {
		return fmt.Errorf("%s and %s are the same host", g.EndpointName(src), g.EndpointName(dst))
	}
	p := g.Nodes[s.Node].Ports[s.Port]
	direct := p.Peer == d.Node && p.PeerPort == d.Port
	if direct || r.Group[p.Peer] != nil && len(r.Lookup(p.Peer, dst)) > 0 {
		return nil
	}
	return fmt.Errorf("no path leads from %s to %s; hosts do not forward, so join them by switches",
		g.EndpointName(src), g.EndpointName(dst))
}

// Check tests every pair of endpoints of different hosts and names the first
// pair without a route. Networks of separate rails fail it by intention: there,
// check the pairs of the workload with CheckPair.
func (r *Routes) Check(g *Graph) error {
	complete := make([]bool, len(g.Nodes)) // switches that know every endpoint
	for i, groups := range r.Group {
		complete[i] = groups != nil && !slices.ContainsFunc(groups, func(group uint32) bool { return group&MaxGroup == 0 })
	}
	for src, s := range g.Endpoints {
		if complete[g.Nodes[s.Node].Ports[s.Port].Peer] {
			continue
		}
		for dst, d := range g.Endpoints {
			if s.Node == d.Node {
				continue
			}
			if err := r.CheckPair(g, src, dst); err != nil {
				return err
			}
		}
	}
	return nil
}

// MaxGroupSize returns the number of members of the largest ECMP group.
func (r *Routes) MaxGroupSize() int {
	most := uint32(0)
	for _, groups := range r.Group {
		for _, group := range groups {
			most = max(most, group&MaxGroup)
		}
	}
	return int(most)
}

// sortedNames lists node names for errors.
func sortedNames(g *Graph, nodes []int) []string {
	names := make([]string, 0, len(nodes))
	for _, n := range nodes {
		names = append(names, g.Nodes[n].Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
