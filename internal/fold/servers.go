package fold

import (
	"reflect"
	"slices"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/workload"
)

// turn takes as the symmetry the turn by so many places, one or two, of the rings that pass through servers.
func (s *finder) turn(places int) {
	after := make([]int, len(s.g.Nodes)) // the server behind each in its ring; -1: none
	for i := range after {
		after[i] = -1
	}
	for _, least := range []int{3, 2} { // rings of two may join stages of a pipeline
		for _, p := range s.Plan.Programs {
			if len(p.Ranks) >= least {
				s.ringOf(p, after)
			}
		}
	}
	s.next, s.rep, s.image = make([]int, len(after)), make([]int, len(after)), make([]int, len(after))
	for i := range after {
		s.next[i], s.rep[i], s.image[i] = i, i, -1
		switch {
		case s.g.Nodes[i].Kind != topology.Host:
		case after[i] < 0 || after[after[i]] < 0:
			s.refuse("%s is in no ring of servers", s.name(i))
		case places == 1:
			s.next[i] = after[i]
		default:
			s.next[i] = after[after[i]]
		}
	}
	for i := range after {
		if s.g.Nodes[i].Kind != topology.Host || s.image[i] >= 0 {
			continue
		}
		n := 0
		for at := i; s.image[at] < 0; at = s.next[at] {
			s.rep[at], s.image[at] = i, n
			n++
		}
		switch {
		case s.images == 0:
			s.images = n
		case s.images != n:
			s.refuse("rings of servers have different lengths, or odd ones")
		}
		s.orbits = append(s.orbits, i)
		if places == 2 && n > 1 && s.rep[after[i]] == i {
			s.refuse("rings pass every other server the other way round, and their number is odd")
		}
	}
	if s.images < 2 {
		s.refuse("rings pass every other server the other way round, and there are only two")
	}
	s.inTurn()
}

// ringOf notes which servers follow each other in a program.
func (s *finder) ringOf(p *workload.Program, after []int) {
	if p.Pairs != nil {
		s.refuse("%s is an exchange between all pairs, no ring", s.Plan.Entries[p.Entry])
	}
	_, turns := p.Rule.(workload.ProgramTurns)
	for k := range p.Edges {
		e := &p.Edges[k]
		switch from := p.Ranks[e.From].Host; {
		case e.Local:
		case turns && after[from] < 0:
			after[from] = p.Ranks[e.To].Host
		case !turns && len(p.Ranks) > 2:
			s.refuse("%s is no ring", s.Plan.Entries[p.Entry])
		}
	}
}

// inTurn makes sure that at an instant at which all images do the same the order of what they do does not
// depend on the image: events of one time are in order of nodes. So servers are in blocks, one behind the other,
// such as stages of a pipeline; within a block each that runs is followed by the others that run before the next
// image of it.
func (s *finder) inTurn() {
	s.block = make([]int, len(s.g.Nodes))
	last := -1 // of the nodes of the blocks so far
	for first := 0; first < len(s.orbits); {
		n := first + 1
		for n < len(s.orbits) && s.orbits[n] < s.next[s.orbits[first]] {
			n++
		}
		at := slices.Clone(s.orbits[first:n])
		for range s.images {
			for k, node := range at {
				if node <= last {
					s.refuse("rings do not pass through servers in the order of their names")
				}
				s.block[node], last, at[k] = len(s.blocks), node, s.next[node]
			}
		}
		s.blocks = append(s.blocks, s.orbits[first])
		first = n
	}
	for i := range s.g.Nodes { // switches behind all servers, or before them
		if s.g.Nodes[i].Kind == topology.Switch && i > s.orbits[0] && i < last {
			s.refuse("%s is between servers in the order of nodes", s.name(i))
		}
	}
	s.portsInTurn()
}

// portsInTurn makes sure that the ports of each switch to ports of a number are in the order of the servers.
func (s *finder) portsInTurn() {
	last := make(map[[2]int]int) // by switch and port of the servers: that of the one before
	for i := range s.g.Nodes {
		if s.g.Nodes[i].Kind != topology.Host {
			continue
		}
		for local, x := range s.g.Nodes[i].Ports {
			at := [2]int{x.Peer, local}
			if before, any := last[at]; any && x.PeerPort < before {
				s.refuse("the ports of %s are not in the order of its servers", s.name(x.Peer))
			}
			last[at] = x.PeerPort
		}
	}
}

// hardware makes sure that cards, servers, links and ports of switches are alike.
func (s *finder) hardware() {
	for i, to := range s.next {
		if s.image[i] < 0 {
			s.memory(i)
			continue
		}
		a, b := &s.NICs[i], &s.NICs[to]
		if x, y := *a, *b; x.Server != y.Server && !reflect.DeepEqual(x.Server, y.Server) {
			s.refuse("%s and %s are different servers", s.name(i), s.name(to))
		} else if x.Server, y.Server = nil, nil; !reflect.DeepEqual(x, y) {
			s.refuse("the cards of %s and %s are set differently", s.name(i), s.name(to))
		}
		if len(s.g.Nodes[i].Ports) != len(s.g.Nodes[to].Ports) {
			s.refuse("%s and %s have different numbers of ports", s.name(i), s.name(to))
		}
		for local := range s.g.Nodes[i].Ports {
			s.port(i, to, local)
		}
	}
}

// port compares a port of a server with that of the one onto which it is mapped, and what is at the
// other ends of their links.
func (s *finder) port(a, b, local int) {
	x, y := s.g.Nodes[a].Ports[local], s.g.Nodes[b].Ports[local]
	if x.Peer != y.Peer || s.g.Nodes[x.Peer].Kind != topology.Switch {
		s.refuse("port %d of %s leads elsewhere than that of %s", local+1, s.name(a), s.name(b))
	}
	k, l := &s.g.Links[x.Link], &s.g.Links[y.Link]
	if k.Rate != l.Rate || k.RateFrom(s.g, a) != l.RateFrom(s.g, b) ||
		k.RateFrom(s.g, x.Peer) != l.RateFrom(s.g, x.Peer) ||
		k.Delay != l.Delay || k.Width() != l.Width() {
		s.refuse("the links of %s and %s at port %d differ", s.name(a), s.name(b), local+1)
	}
	sw := &s.Switches[x.Peer]
	if !reflect.DeepEqual(sw.Ports[x.PeerPort], sw.Ports[y.PeerPort]) ||
		sw.Memory.Groups[x.PeerPort] != sw.Memory.Groups[y.PeerPort] ||
		sw.Memory.Queues[x.PeerPort] != sw.Memory.Queues[y.PeerPort] {
		s.refuse("ports %d and %d of %s are set differently", x.PeerPort+1, y.PeerPort+1, s.name(x.Peer))
	}
	if at, to := s.ShortHeadroom[topology.Hop{Node: x.Peer, Port: x.PeerPort}],
		s.ShortHeadroom[topology.Hop{Node: x.Peer, Port: y.PeerPort}]; at != to {
		s.refuse("the cables at ports %d and %d of %s differ", x.PeerPort+1, y.PeerPort+1, s.name(x.Peer))
	}
}

// memory refuses switches that treat ports by more than their own settings.
func (s *finder) memory(node int) {
	switch sw := &s.Switches[node]; {
	case sw.Memory == nil || sw.Ports[0].Credit != nil:
		s.refuse("links have credits")
	case sw.Memory.Parts > 1:
		s.refuse("the memory of %s has parts", s.name(node))
	case sw.Balancing != nil || sw.Arbitration || sw.Watchdog != nil || sw.Bounce != nil || sw.Hash.Kind != fabric.HashOwn:
		s.refuse("%s chooses by more than the frame at hand", s.name(node))
	}
}

// feeders makes sure that all frames for a port of a server that come from servers of a block come from one port
// of one that runs, so that they come in the order in which that sent them. Frames from several blocks
// that come at one instant are in the order of the blocks.
func (s *finder) feeders() {
	type feed struct {
		to    topology.Endpoint
		block int
	}
	from := make(map[feed]topology.Endpoint)
	add := func(to, by topology.Endpoint) {
		port := func(e topology.Endpoint) topology.Port { return s.g.Nodes[e.Node].Ports[e.Port] }
		if port(to).Peer != port(by).Peer {
			s.refuse("%s and %s are not at one switch", s.name(to.Node), s.name(by.Node))
		}
		if s.rep[to.Node] != to.Node {
			return
		}
		key := feed{to, s.block[by.Node]}
		by.Node = s.rep[by.Node]
		if had, fed := from[key]; fed && had != by {
			s.refuse("several servers send to port %d of %s, whose frames may meet", to.Port+1, s.name(to.Node))
		}
		from[key] = by
	}
	for i := range s.Plan.Conns {
		c := &s.Plan.Conns[i]
		src, dst := s.g.Endpoints[c.Src], s.g.Endpoints[c.Dst]
		add(src, dst)
		add(dst, src)
	}
}
