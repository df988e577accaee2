package scenario

import (
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/balance"
	"github.com/hopscope/hopscope/internal/card"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// routingKey chooses among equal ports; its words and sections come from the table of balancers.
func (r *resolver) routingKey() key {
	var sections []key
	words := []string{"ecmp"}
	text := []string{"`ecmp` has a flow keep the port that a five-tuple hash with a salt per switch says"}
	type choice struct {
		name string
		make func() fabric.Balancing
	}
	var choices []choice
	for _, k := range r.balancers() {
		params, make := k.Make()
		words, text = append(words, k.Name), append(text, "`"+k.Name+"`: "+k.Text)
		choices = append(choices, choice{k.Name, make})
		if len(params) > 0 {
			var keys []key
			for _, p := range params {
				keys = append(keys, paramKey(p))
			}
			sections = append(sections, sectionKey(k.Name, keys, strings.ToUpper(k.Text[:1])+k.Text[1:]+".").
				check(func(object) { r.balancing = make() }))
		}
	}
	out := sectionKey("routing", sections, "How packets take one of all shortest paths. "+strings.Join(text, "; ")+
		" ([model](../models/ethernet.md#routing-per-packet)). On InfiniBand `ecmp` leaves the choice to "+
		"`infiniband.routing`. `path` in a workload entry pins a flow.").otherwise("`ecmp`").or("ecmp", func() { r.balancing = nil })
	for _, c := range choices {
		out = out.or(c.name, func() { r.balancing = c.make() })
	}
	return out.finish(func(o object) {
		if len(o.n.Fields) != 1 {
			r.d.fail(o.n.Pos, "%s is one of %s, or one of them with parameters, such as {flowlet: {gap: 50us}}", o.path,
				strings.Join(words, ", "))
			return
		}
		r.checkBalancing(o)
	}).in(&r.routingKeys).choices().unless(func() string {
		return when(r.stack().Credits && r.balancing == nil && !r.compared,
			"InfiniBand switches have forwarding tables; see infiniband.routing")
	})
}

// noteBalancing lists the parameters of what the key routing says.
func (r *resolver) noteBalancing() {
	for _, k := range r.balancers() {
		if k.Name != r.routing() {
			continue
		}
		params, _ := k.Make()
		for _, p := range params {
			value, source := p.String(), p.Source
			if given := r.routingKeys.n.Get(k.Name).Get(p.Name); given != nil {
				value, source = given.Text, fromScenario
			}
			r.note("routing."+k.Name+"."+p.Name, value, source)
		}
	}
}

// checkBalancing refuses parameters that contradict each other.
func (r *resolver) checkBalancing(o object) {
	if d, ok := r.balancing.(balance.DLB); ok && d.Min >= d.Max {
		r.d.fail(o.at("dlb"), "%s.dlb: min %d is not below max %d", o.path, d.Min, d.Max)
	}
}

// routing is what the key routing says.
func (r *resolver) routing() string {
	if r.balancing == nil {
		return "ecmp"
	}
	return r.balancing.String()
}

// ordered reports whether the packets of a flow stay in order on their way.
func (r *resolver) ordered() bool { return r.balancing == nil || r.balancing.KeepsOrder() }

// spreads reports whether InfiniBand switches choose a port per packet, among all
// on shortest paths, in place of the one that the subnet manager's tables have. What
// such tables promise, and their change after a failure, is not to be had with it.
func (r *resolver) spreads(o object) bool {
	if r.balancing == nil {
		return false
	}
	ib := r.ib.obj
	why := ""
	switch {
	case r.ib.subnet.engine != "minhop":
		why = "infiniband.routing: " + r.ib.subnet.engine
	case r.ib.subnet.sls > 1:
		why = "infiniband.sls"
	case r.anyDown():
		why = "a link that fails (down_at)"
	default:
		return true
	}
	const text = "%s sends each packet along any shortest path, which does not go with %s on InfiniBand: leave one of them out"
	if !r.compared {
		at := o.at("routing")
		if ib.has("routing") && r.ib.subnet.engine != "minhop" {
			at = ib.at("routing")
		}
		r.d.fail(at, "routing: "+text, r.routing(), why)
		return true
	}
	r.warn("spreading", text+"; the tables are used", r.routing(), why)
	r.balancing = nil
	return false
}

// reorder gives a NIC what it needs where packets of a connection take several ways,
// as such networks are deployed: selective repeat in place of go-back-N and, where
// neither queues nor links drop, receivers that take packets in any order. Elsewhere a
// gap may be a loss, of which only a timer would tell: there receivers NAK gaps.
func (r *resolver) reorder(s *nicSettings, given bool) {
	if r.ordered() {
		return
	}
	if s.recovery == goBackN && !given && r.unselective == "" {
		s.recovery = selectiveRepeat
		r.note("nic.recovery", s.recovery, "routing: "+r.routing()+", which go-back-n would take for losses")
	}
	if st := r.stack(); r.keepsNothing(s) == "" && !s.outOfOrder && !s.ordered && (st.PFC || st.Credits) && !r.losesPackets() {
		s.outOfOrder = true
		r.note("nic.out_of_order", "true", "routing: "+r.routing())
	}
}

// cardThatGoesBack is a card that a host has and that cannot repeat single packets; "": there is
// none. Where one cannot, no peer of it may, so that all keep what they have.
func (r *resolver) cardThatGoesBack() string {
	for n := range r.nics {
		if c := &r.nics[n].card; r.v.Graph.Nodes[n].Kind == topology.Host && !c.Selective() {
			return c.Name
		}
	}
	return ""
}

// warnGap says that a flow may overtake itself where it changes ports after a gap shorter than what a queue takes to
// drain that ECN lets stand: the port that the flow leaves may have that queue, and the one it goes to none.
func (r *resolver) warnGap() {
	gap, key := units.Time(0), ""
	switch b := r.balancing.(type) {
	case balance.Flowlet:
		gap, key = b.Gap, "flowlet.gap"
	case balance.DLB:
		gap, key = b.Gap, "dlb.gap"
	}
	minds := r.anyTCP()
	for n := range r.nics {
		minds = minds || r.v.Graph.Nodes[n].Kind == topology.Host && r.resends(&r.nics[n]) != ""
	}
	if gap == 0 || !minds || r.v.Routes.MaxGroupSize() < 2 {
		return
	}
	for n := range r.v.Switches {
		for port, p := range r.v.Switches[n].Ports {
			if peer := r.v.Graph.Nodes[n].Ports[port].Peer; r.v.Graph.Nodes[peer].Kind != topology.Switch {
				continue
			}
			for _, red := range p.RED {
				if drain := r.v.Graph.LinkAt(n, port).Rate.TxTime(red.KMin); red.KMax > 0 && drain > gap {
					r.warn("gap", "routing.%s: %v is shorter than the %s that %s port %d takes for a queue of Kmin, %v, which stands "+
						"without a mark: packets of a flow may overtake each other; give a longer gap, or a lower switch.ecn.kmin",
						key, gap, drain.Human(), r.v.Graph.Nodes[n].Name, port+1, red.KMin)
					return
				}
			}
		}
	}
}

// warnReordered says what becomes of packets that overtake each other where a
// receiver, or a sender of TCP, takes a gap for a loss.
func (r *resolver) warnReordered() {
	if r.ordered() || r.v.Routes.MaxGroupSize() < 2 {
		return
	}
	if r.anyTCP() {
		r.warn("reordered TCP", "routing: %s lets packets overtake each other, which TCP takes for losses until it has seen it often (RACK, RFC 8985 6.2): "+
			"it sends again what was only late and cuts its window; routing: ecmp keeps each connection on one path", r.routing())
	}
	if slices.ContainsFunc(r.v.Plan.Conns, func(c workload.Conn) bool { return c.Service == workload.UC }) {
		r.warn("reordered UC", "routing: %s lets packets overtake each other, and a UC receiver gives up each message of which a packet came late; "+
			"give service: rc, or routing: ecmp", r.routing())
	}
	if !slices.ContainsFunc(r.v.Plan.Conns, func(c workload.Conn) bool { return c.Service == workload.RC && c.Profile == 0 }) {
		return
	}
	for n := range r.nics {
		if r.v.Graph.Nodes[n].Kind != topology.Host {
			continue
		}
		if why := r.resends(&r.nics[n]); why != "" {
			r.warn("reordered", "routing: %s lets packets overtake each other, and %s", r.routing(), why)
			return
		}
	}
}

// resends says what a NIC makes of packets that overtake each other, and what cures it;
// empty where it waits for them.
func (r *resolver) resends(s *nicSettings) string {
	switch st := r.stack(); {
	case r.keepsNothing(s) != "" && r.unselective != "" && s.recovery == goBackN:
		return "no " + card.About(r.unselective) + " is known to take them in any order: go-back-n sends all of them " +
			"again from each gap on; give nic.recovery: selective-repeat for one that does, or routing: ecmp"
	case r.keepsNothing(s) != "":
		return "nic.recovery: " + s.recovery + " sends all of them again from each gap on: " +
			"goodput falls to a fraction of what ecmp gives; leave recovery out, or give selective-repeat with out_of_order: true"
	case s.outOfOrder:
		return ""
	case s.ordered:
		return "with nic.out_of_order: false each that was overtaken is sent again, though nothing was lost; leave out_of_order out"
	case r.losesPackets():
		return "as links lose packets, receivers take each gap for a loss: what was overtaken is sent again in vain; " +
			"nic.out_of_order: true waits for it, and then only the timer tells of a loss"
	default:
		return "as queues drop (stack " + st.Name + " has no lossless class), receivers take each gap for a loss: what was overtaken is sent again in vain; " +
			"nic.out_of_order: true waits for it, and then only the timer tells of a loss"
	}
}

// fitReordered makes bitmaps that nobody chose reach two round trips ahead, so that a
// connection that may not wait for order is not held to less than the line by it.
func (r *resolver) fitReordered() {
	if r.ordered() || r.d.err != nil {
		return
	}
	need := int64(0)
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		if rtt, rate, err := r.baseRTT(c.Src, c.Dst); err == nil {
			need = max(need, int64((bytesIn(rate, 2*rtt)+r.mtu-1)/r.mtu))
		}
	}
	for i := range r.v.Transports {
		if c := &r.v.Transports[i]; c.OutOfOrder && c.Bitmap == rdma.DefaultBitmap {
			c.Bitmap = max(c.Bitmap, int(min(need, rdma.MaxBitmap)))
		}
	}
}

// balancers are the ways that the key routing knows beside the hash.
func (r *resolver) balancers() []balance.Kind { return append(balance.All(), r.known.Balancers...) }
