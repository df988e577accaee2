package scenario

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/subnet"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// subnetSettings are the keys of the section infiniband that the subnet manager
// acts on.
type subnetSettings struct {
	engine string
	roots  []*node // names of switches
}

// readSubnet reads them.
func (r *resolver) readSubnet(o object) {
	s := &r.ib.subnet
	s.engine = "minhop"
	o.word("routing", &s.engine, subnet.Engines()...)
	o.note("roots", listOf(anyScalar()))
	s.roots = o.list("roots")
}

// route computes the tables by which switches forward: equal-cost groups, or
// what a subnet manager programs.
func (r *resolver) route(o object) {
	if r.stack().Credits {
		if !r.compared {
			r.ignored(o, "routing", "InfiniBand switches have forwarding tables; see infiniband.routing")
		}
		if r.routeSubnet(o) {
			return
		}
		r.reroute = rerouteSettings{after: units.Never} // it is another stack's
	}
	routes, err := topology.ComputeRoutes(r.v.Graph)
	if err != nil {
		r.d.fail(o.at("topology"), "%v", err)
		return
	}
	r.v.Routes = routes
	r.withdraw(o, nil)
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
	if r.v.Routes, err = tables.Routes(0); err != nil {
		r.d.fail(at, "%v", err)
		return true
	}
	if l := tables.CreditLoops(0); l.Knots > 0 {
		var links []string
		for _, e := range l.Cycles[0] {
			links = append(links, tables.Fabric.Channel(e))
		}
		r.warn("credit loop", "the tables of %s have a credit loop, and a load that fills its buffers stops for ever: %s; infiniband.routing: updn has none",
			r.ib.subnet.engine, strings.Join(links, ", "))
	}
	r.withdraw(o, tables)
	return true
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
		n, ok := f.NodeByName(item.text)
		if item.kind != scalarNode || !ok || f.Nodes[n].Kind != subnet.Switch {
			return opt, item.pos, fmt.Errorf("infiniband.roots: %q is no switch of the topology; name switches", item.text)
		}
		opt.Roots = append(opt.Roots, n)
	}
	return opt, at, nil
}
