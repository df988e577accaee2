package topology

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/hopscope/hopscope/internal/names"
	"github.com/hopscope/hopscope/internal/units"
)

// Limits of what a graph accepts; beyond them a number is surely a slip.
const (
	MaxDelay  = 100 * units.Millisecond // of one link: 20,000 km of fibre, half way round the earth
	MaxLength = 20000 * units.Kilometre // of one cable, which takes as long
	MaxPorts  = 65535                   // per node: port numbers are 16 bits
	MaxNodes  = 1 << 18                 // per graph
	MaxLinks  = 1 << 22                 // per graph
	MaxRate   = 100 * 1000 * units.Gbps // of one link
	// MaxSpeedup keeps the time of a byte well above a picosecond.
	MaxSpeedup = 64
)

// LinkSpec is what a cable is like, wherever it is plugged in.
type LinkSpec struct {
	Rate      units.Rate   // must be positive
	Lanes     int          // of an InfiniBand width; 0: not named, 4
	Delay     units.Time   // propagation one way; 0: derived from Length
	Length    units.Length // of the cable; 0 when Delay is given
	Loss      float64      // probability that a frame is lost, 0 to 1, each direction
	Spared    uint8        // priorities of which no frame is lost by Loss, a bit each
	BER       float64      // bit error rate, 0 to 1, each direction
	FEC       string       // that corrects bit errors, by its name in wire.FECs; "": none
	DropEvery int          // drop each n-th data packet; 0 never
	Outages   []Outage     // when it carries nothing, in order of time, apart from each other
	Speedup   int          // how much faster the ports of switches send than Rate, up to MaxSpeedup; 0: as fast
}

// AddHost adds a host, whose name may hold anything and is kept as names.Quoted writes it, and
// returns its node index.
func (g *Graph) AddHost(name string) (int, error) { return g.addNode(name, Host, 0) }

// AddSwitch adds a switch of a tier (1 leaf, 2 aggregation or spine, 3 core) and
// returns its node index.
func (g *Graph) AddSwitch(name string, tier int) (int, error) { return g.addNode(name, Switch, tier) }

func (g *Graph) addNode(name string, kind Kind, tier int) (int, error) {
	if name == "" {
		return 0, fmt.Errorf("a %s has no name; give it one that no other node has", kind)
	}
	name = names.Quoted(name)
	if i, ok := g.byName[name]; ok {
		return 0, fmt.Errorf("%s %q has the name of another %s; names must be unique", kind, name, g.Nodes[i].Kind)
	}
	if len(g.Nodes) >= MaxNodes {
		return 0, fmt.Errorf("the topology has more than %d nodes; make it smaller", MaxNodes)
	}
	if g.byName == nil {
		g.byName = make(map[string]int)
	}
	g.byName[name] = len(g.Nodes)
	g.Nodes = append(g.Nodes, Node{Name: name, Kind: kind, Tier: tier})
	return len(g.Nodes) - 1, nil
}

// NodeByName returns the index of the node called name, which may be written as its name was
// given or as it is kept.
func (g *Graph) NodeByName(name string) (int, bool) {
	if i, ok := g.byName[names.Quoted(name)]; ok {
		return i, true
	}
	i, ok := g.byName[name]
	return i, ok
}

// Is reports whether a node is called name, as NodeByName takes it.
func (n *Node) Is(name string) bool { return n.Name == name || n.Name == names.Quoted(name) }

// AddLink joins nodes a and b with a cable; each gets one more port. Parallel
// links are added one by one.
func (g *Graph) AddLink(a, b int, spec LinkSpec) error {
	for _, n := range [...]int{a, b} {
		if n < 0 || n >= len(g.Nodes) {
			return fmt.Errorf("link names node %d, but the nodes are 0 to %d", n, len(g.Nodes)-1)
		}
	}
	link, err := spec.link()
	switch {
	case a == b:
		err = errors.New("a link must join two different nodes")
	case err != nil:
	case len(g.Links) >= MaxLinks:
		err = fmt.Errorf("the topology has more than %d links; make it smaller", MaxLinks)
	case len(g.Nodes[a].Ports) >= MaxPorts:
		err = fmt.Errorf("%s has more than %d ports; spread the links over more switches", g.Nodes[a].Name, MaxPorts)
	case len(g.Nodes[b].Ports) >= MaxPorts:
		err = fmt.Errorf("%s has more than %d ports; spread the links over more switches", g.Nodes[b].Name, MaxPorts)
	}
	if err != nil {
		return fmt.Errorf("link %s to %s: %w", g.Nodes[a].Name, g.Nodes[b].Name, err)
	}
	link.A, link.PortA = a, len(g.Nodes[a].Ports)
	link.B, link.PortB = b, len(g.Nodes[b].Ports)
	i := len(g.Links)
	g.Links = append(g.Links, link)
	g.Nodes[a].Ports = append(g.Nodes[a].Ports, Port{Link: i, Peer: b, PeerPort: link.PortB})
	g.Nodes[b].Ports = append(g.Nodes[b].Ports, Port{Link: i, Peer: a, PeerPort: link.PortA})
	return nil
}

// AddLinkByName is AddLink for node names.
func (g *Graph) AddLinkByName(a, b string, spec LinkSpec) error {
	ia, ok := g.NodeByName(a)
	if !ok {
		return fmt.Errorf("link %s to %s: there is no node %q; declare it first", a, b, a)
	}
	ib, ok := g.NodeByName(b)
	if !ok {
		return fmt.Errorf("link %s to %s: there is no node %q; declare it first", a, b, b)
	}
	return g.AddLink(ia, ib, spec)
}

// link checks a spec and fills what follows from it.
func (s LinkSpec) link() (Link, error) {
	fail := func(format string, args ...any) (Link, error) { return Link{}, fmt.Errorf(format, args...) }
	switch {
	case s.Rate <= 0 || s.Rate > MaxRate:
		return fail("rate %s must be above 0 and at most %s", s.Rate, MaxRate)
	case s.Length < 0 || s.Length > MaxLength:
		return fail("length %s must be from 0 to %s", s.Length, MaxLength)
	case s.Delay < 0 || s.Delay > MaxDelay:
		return fail("delay %s must be from 0 to %s", s.Delay, MaxDelay)
	case s.Length > 0 && s.Delay > 0 && s.Delay != s.Length.Delay():
		return fail("delay %s contradicts length %s, which takes %s; give one of them", s.Delay, s.Length, s.Length.Delay())
	case !(s.Loss >= 0 && s.Loss <= 1):
		return fail("loss %g must be a probability from 0 to 1", s.Loss)
	case !(s.BER >= 0 && s.BER <= 1):
		return fail("bit error rate %g must be a probability from 0 to 1", s.BER)
	case s.Speedup < 0 || s.Speedup > MaxSpeedup:
		return fail("speedup %d must be from 1 to %d", s.Speedup, MaxSpeedup)
	case s.DropEvery < 0:
		return fail("drop_every %d must be at least 0 (0: never)", s.DropEvery)
	}
	if err := CheckOutages(s.Outages); err != nil {
		return Link{}, err
	}
	l := Link{Rate: s.Rate, Lanes: s.Lanes, Delay: s.Delay, Length: s.Length, Loss: s.Loss, Spared: s.Spared, BER: s.BER, FEC: s.FEC,
		DropEvery: s.DropEvery, Outages: s.Outages, Speedup: [2]int{s.Speedup, s.Speedup}}
	if l.Delay == 0 {
		l.Delay = s.Length.Delay()
	}
	return l, nil
}

// CheckOutages reports the first outage of a link that does not end after it began,
// or begins before the one before it is over.
func CheckOutages(list []Outage) error {
	for i, o := range list {
		switch {
		case o.Down <= 0:
			return fmt.Errorf("an outage from %s on must begin after the start", o.Down)
		case o.Up <= o.Down:
			return fmt.Errorf("an outage from %s on must end later than at %s", o.Down, o.Up)
		case i > 0 && list[i-1].Up == units.Never:
			return fmt.Errorf("the link fails at %s and does not work again before it fails at %s; say when it works again", list[i-1].Down, o.Down)
		case i > 0 && o.Down <= list[i-1].Up:
			return fmt.Errorf("the link fails at %s and works again at %s, but fails at %s too; let the next outage begin after that", list[i-1].Down, list[i-1].Up, o.Down)
		}
	}
	return nil
}

// Finish numbers the endpoints and checks that the network is one piece. The
// graph must not change afterwards.
func (g *Graph) Finish() error {
	g.Endpoints = g.Endpoints[:0]
	g.First = make([]int, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		g.First[i] = -1
		if n.Kind != Host {
			continue
		}
		if len(n.Ports) == 0 {
			return fmt.Errorf("host %s has no link; connect it or leave it out", n.Name)
		}
		g.First[i] = len(g.Endpoints)
		for p := range n.Ports {
			g.Endpoints = append(g.Endpoints, Endpoint{Node: i, Port: p})
		}
	}
	if len(g.Endpoints) == 0 {
		return errors.New("the topology has no host; add at least two")
	}
	return g.checkConnected()
}

// checkConnected walks the cables from the first host, through hosts as well:
// whether packets can follow is a matter of the routes (Routes.Check).
func (g *Graph) checkConnected() error {
	first := g.Endpoints[0].Node
	seen := make([]bool, len(g.Nodes))
	seen[first] = true
	queue := []int{first}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, p := range g.Nodes[n].Ports {
			if !seen[p.Peer] {
				seen[p.Peer] = true
				queue = append(queue, p.Peer)
			}
		}
	}
	for i := range g.Nodes {
		if g.Nodes[i].Kind == Host && !seen[i] {
			return fmt.Errorf("hosts %s and %s are not connected; add the missing links", g.Nodes[first].Name, g.Nodes[i].Name)
		}
	}
	return nil
}

// NumEndpoints returns the number of endpoints.
func (g *Graph) NumEndpoints() int { return len(g.Endpoints) }

// HostOf returns the node index of the host that endpoint ep is a port of.
func (g *Graph) HostOf(ep int) int { return g.Endpoints[ep].Node }

// EndpointName names an endpoint: the host alone ("h4") when it has one port,
// else with the port counted from 1 ("h4:2").
func (g *Graph) EndpointName(ep int) string {
	e := g.Endpoints[ep]
	n := &g.Nodes[e.Node]
	if len(n.Ports) == 1 {
		return n.Name
	}
	return n.Name + ":" + strconv.Itoa(e.Port+1)
}

// EndpointByName is the inverse of EndpointName; a host's bare name means its
// first port.
func (g *Graph) EndpointByName(name string) (int, error) {
	host := name
	i, ok := g.NodeByName(name)
	if !ok {
		if port, inside := names.Inside(name); inside == "" && port == name {
			host = names.Node(name)
		}
		if i, ok = g.NodeByName(host); !ok {
			return 0, fmt.Errorf("there is no host %q", host)
		}
	}
	if g.Nodes[i].Kind != Host {
		return 0, fmt.Errorf("%s is a switch; name a host", host)
	}
	if name == host {
		return g.First[i], nil
	}
	port := name[len(host)+1:]
	p, err := strconv.Atoi(port)
	if err != nil || p < 1 || p > len(g.Nodes[i].Ports) {
		return 0, fmt.Errorf("%s has no port %q; its ports are 1 to %d", host, port, len(g.Nodes[i].Ports))
	}
	return g.First[i] + p - 1, nil
}

// LinkAt returns the link of local port port of node.
func (g *Graph) LinkAt(node, port int) *Link { return &g.Links[g.Nodes[node].Ports[port].Link] }
