package scenario

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/subnet"
	"github.com/hopscope/hopscope/internal/units"
)

// subnetSettings are the keys of the section infiniband that the subnet manager
// acts on.
type subnetSettings struct {
	engine string
	roots  []*node // names of switches
	sls    int     // how many service levels paths may be spread over
	tables *subnet.Tables
}

// subnetKeys are those keys.
func (r *resolver) subnetKeys() []key {
	s := &r.ib.subnet
	return []key{
		wordKey("routing", &s.engine, subnet.Engines(), "How the [subnet manager](../models/infiniband.md#subnet-manager) fills the forwarding tables. A switch has one port for a destination, where "+
			"Ethernet's hash flows over groups. A credit loop in the tables is a warning."),
		listKey("roots", "list of switches", func(o object, name string) bool {
			s.roots = o.list(name)
			return true
		}, "Switches that `updn` and `ftree` rank highest.").otherwise("found").unless(func() string {
			return when(s.engine == "minhop" && !r.compared, "infiniband.routing: minhop has no roots")
		}),
		numberKey("sls", &s.sls, 1, subnet.MaxSLs, "Up to how many service levels the subnet manager may spread paths over, so that none has a credit loop; each needs a VL of its own, and the "+
			"workload gives no `class`. 1: all on service level 0."),
	}
}

// route computes the tables by which switches forward: equal-cost groups, or
// what a subnet manager programs.
func (r *resolver) route(o object) {
	if r.stack().Credits {
		spreads := r.spreads(o)
		if !spreads && r.routeSubnet(o) {
			r.besideRoutes(o)
			return
		}
		if spreads && r.d.err == nil {
			r.warnSpreadLoop()
		}
	}
	r.failover.Rules = r.rules()
	routes, err := r.failover.Rules.Without(r.v.Graph, nil)
	if err != nil {
		r.d.fail(o.at("topology"), "%v", err)
		return
	}
	r.v.Routes = routes
}

// routeSubnet fills the forwarding tables as a subnet manager does: one port per
// destination and switch. It reports false where a comparison goes on without:
// the scenario is another stack's, and no subnet can be like it.
func (r *resolver) routeSubnet(o object) bool {
	tables, at, err := r.subnetTables(o)
	if err != nil {
		if r.compared && at == o.at("topology") {
			r.warn("subnet", "no InfiniBand subnet is like this, so switches hash flows as Ethernet's do: %v", err)
			return false
		}
		r.d.fail(at, "%v", err)
		return true
	}
	r.ib.subnet.tables = tables
	if r.v.Routes, err = tables.Routes(0); err != nil {
		r.d.fail(at, "%v", err)
		return true
	}
	if r.ib.subnet.sls > 1 {
		r.assignSLs(tables)
	}
	for sl := range tables.Layers {
		r.warnLoop(tables.Fabric, tables.CreditLoops(uint8(sl)), "the tables of "+r.ib.subnet.engine, "infiniband.routing: updn has none, or infiniband.sls breaks it")
	}
	return true
}

// warnLoop names the links of a credit loop, whose tables or paths have it, and what
// has none.
func (r *resolver) warnLoop(f *subnet.Fabric, l *subnet.Loops, whose, cure string) {
	if l.Knots > 0 {
		var links []string
		for _, e := range l.Cycles[0] {
			links = append(links, f.Channel(e))
		}
		stops := "stops for ever"
		if r.ib.hoqLife < neverCode || r.ib.packetLife < neverCode {
			stops = "stops until the lifetime limits (hoq_life, packet_life) discard packets"
		}
		r.warn("credit loop", "%s have a credit loop, and a load that fills its buffers %s: %s; %s", whose, stops, strings.Join(links, ", "), cure)
	}
}

// warnSpreadLoop warns of a credit loop among all shortest paths, which switches
// that choose a port per packet take.
func (r *resolver) warnSpreadLoop() {
	f, err := subnet.FromGraph(r.v.Graph)
	if err != nil {
		return // no subnet: the graph's own routes carry it all the same
	}
	r.warnLoop(f, f.ShortestPathLoops(), "the shortest paths of routing: "+r.routing(), "infiniband.routing: updn in its place has none")
}

// assignSLs gives every connection the service level on which its path closes no
// credit loop, where the workload gives none.
func (r *resolver) assignSLs(tables *subnet.Tables) {
	s := &r.ib
	plan := r.v.Plan
	for i := range plan.Conns {
		if class := plan.Conns[i].Class; class != 0 {
			s.obj.fail("sls", "the workload gives service level %d itself; leave out its class, or sls", class)
			return
		}
	}
	if r.anyDown() && r.failover.Detect != units.Never && r.failover.Converge != units.Never {
		s.obj.fail("sls", "connections keep their service level, and once a failed link is rerouted it may close a loop; give failover.detect: never, or infiniband.routing: updn in place of sls")
		return
	}
	if err := tables.AssignSLs(s.subnet.sls); err != nil {
		s.obj.fail("sls", "%v", err)
		return
	}
	for a := range tables.Layers {
		for b := range a {
			if s.sl2vl[a] == s.sl2vl[b] {
				s.obj.fail("sls", "the tables need service levels 0 to %d, and %d and %d share VL %d; give them VLs of their own (vls, sl2vl)", tables.Layers-1, b, a, s.sl2vl[a])
				return
			}
		}
	}
	for i := range plan.Conns {
		c := &plan.Conns[i]
		src, dst := r.v.Graph.Endpoints[c.Src], r.v.Graph.Endpoints[c.Dst]
		to := tables.Fabric.Nodes[dst.Node].Ports[dst.Port+1].LID
		c.Class = tables.SL(subnet.End{Node: src.Node, Port: src.Port + 1}, to)
	}
}

// subnetTables runs the subnet manager. An error comes with its place.
func (r *resolver) subnetTables(o object) (t *subnet.Tables, at pos, err error) {
	at = o.at("topology")
	f, err := subnet.FromGraph(r.v.Graph)
	if err == nil {
		err = f.AssignLIDs(f.Manager(), 0)
	}
	if err != nil {
		return nil, at, err
	}
	opt, bad, err := r.subnetOptions(f)
	if err != nil {
		return nil, bad, err
	}
	if r.ib.obj.has("routing") {
		at = r.ib.obj.at("routing")
	}
	t, err = subnet.Route(f, opt)
	return t, at, err
}

// subnetOptions finds the roots in the fabric.
func (r *resolver) subnetOptions(f *subnet.Fabric) (opt subnet.Options, at pos, err error) {
	s := &r.ib.subnet
	opt.Engine = s.engine
	for _, item := range s.roots {
		n, ok := f.NodeByName(item.Text)
		if item.Kind != scalarNode || !ok || f.Nodes[n].Kind != subnet.Switch {
			return opt, item.Pos, fmt.Errorf("infiniband.roots: %q is no switch of the topology; name switches", item.Text)
		}
		opt.Roots = append(opt.Roots, n)
	}
	return opt, at, nil
}
