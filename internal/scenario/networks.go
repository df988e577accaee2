package scenario

import (
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/wire"
)

// Hosts may have ports on several networks, which no switch joins. Beside an InfiniBand subnet there may be
// Ethernet: a network on which all that the workload sends is TCP's, as for control beside data.

// networksOf numbers the networks of switches: those that links join, by node index; -1 of hosts.
func networksOf(g *topology.Graph) (of []int, networks int) {
	of = make([]int, len(g.Nodes))
	for n := range of {
		of[n] = -1
	}
	for n := range g.Nodes {
		if g.Nodes[n].Kind != topology.Switch || of[n] >= 0 {
			continue
		}
		todo := []int{n}
		for len(todo) > 0 {
			s := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if of[s] >= 0 {
				continue
			}
			of[s] = networks
			for _, p := range g.Nodes[s].Ports {
				if g.Nodes[p.Peer].Kind == topology.Switch {
					todo = append(todo, p.Peer)
				}
			}
		}
		networks++
	}
	return of, networks
}

// severalNetworks reports whether there is more than one.
func (r *resolver) severalNetworks() bool {
	if r.d.err != nil || r.v.Graph == nil {
		return false
	}
	_, n := networksOf(r.v.Graph)
	return n > 1
}

// splitNetworks finds the Ethernet networks beside an InfiniBand subnet, by what the workload sends over
// them, and refuses TCP that shares a network with InfiniBand's own transport.
func (r *resolver) splitNetworks(o object) {
	if r.d.err != nil || !r.stack().Credits || !r.anyTCP() {
		return
	}
	g := r.v.Graph
	of, networks := networksOf(g)
	network := func(endpoint int) int {
		e := g.Endpoints[endpoint]
		return of[g.Nodes[e.Node].Ports[e.Port].Peer]
	}
	ib, eth := make([]bool, networks), make([]bool, networks)
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		for _, end := range []int{c.Src, c.Dst} {
			if k := network(end); k >= 0 && c.Profile > 0 {
				eth[k] = true
			} else if k >= 0 {
				ib[k] = true
			}
		}
	}
	list := o.n.Get("workload")
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		k := network(c.Src)
		if c.Profile == 0 || k >= 0 && !ib[k] {
			continue
		}
		if r.compared { // the others have both, and this has one
			r.allInfiniBand = true
			return
		}
		r.d.fail(list.Items[c.Entry].Pos, "workload[%d]: TCP needs Ethernet, and %s to %s go over InfiniBand; give them "+
			"ports on a network of their own, or take an RoCEv2 stack", c.Entry, g.Nodes[g.HostOf(c.Src)].Name, g.Nodes[g.HostOf(c.Dst)].Name)
		return
	}
	r.v.Beside, r.v.BesideWire = make([]bool, len(g.Nodes)), wire.Ethernet
	if r.ipv6 {
		r.v.BesideWire = wire.EthernetIPv6
	}
	noted := make([]bool, networks)
	for n, k := range of {
		if r.v.Beside[n] = k >= 0 && eth[k]; r.v.Beside[n] && !noted[k] {
			noted[k] = true
			r.note("network of "+g.Nodes[n].Name, "Ethernet", "all that the workload sends over it is TCP's")
		}
	}
}

// onCredits reports whether switch n is InfiniBand's.
func (r *resolver) onCredits(n int) bool {
	return r.stack().Credits && (r.v.Beside == nil || !r.v.Beside[n])
}

// creditsAt reports whether the link at a port of host n is InfiniBand's.
func (r *resolver) creditsAt(n, port int) bool {
	return r.onCredits(r.v.Graph.Nodes[n].Ports[port].Peer)
}

// ethernetAt reports whether node n has a port on Ethernet.
func (r *resolver) ethernetAt(n int) bool {
	if r.v.Graph.Nodes[n].Kind == topology.Switch {
		return !r.onCredits(n)
	}
	for port := range r.v.Graph.Nodes[n].Ports {
		if !r.creditsAt(n, port) {
			return true
		}
	}
	return false
}

// besideRoutes has the switches beside an InfiniBand subnet choose among equal ports, as Ethernet's do.
func (r *resolver) besideRoutes(o object) {
	if r.v.Beside == nil || r.d.err != nil {
		return
	}
	routes, err := topology.ComputeRoutes(r.v.Graph)
	if err != nil {
		r.d.fail(o.at("topology"), "%v", err)
		return
	}
	for n, beside := range r.v.Beside {
		if beside {
			r.v.Routes.Group[n], r.v.Routes.Members[n] = routes.Group[n], routes.Members[n]
		}
	}
}

// asEthernet gives a switch beside an InfiniBand subnet what Ethernet's have, where the scenario says nothing.
func (r *resolver) asEthernet(s *switchSettings) {
	ethernet := defaultSwitch()
	if s.latency < 0 {
		s.latency = ethernet.latency
	}
	if !s.obj.has("forwarding") && !r.switchObj.has("forwarding") {
		s.cutThrough = ethernet.cutThrough
	}
}
