package scenario

import (
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// readClos reads a Clos network given by the radices of its switches.
func (r *resolver) readClos(o object) {
	s := o.object("clos", "hosts", "hosts_per_pod", "tiers")
	var p topology.ClosParams
	s.needInteger("hosts", &p.Hosts, 2, topology.MaxNodes)
	s.integer("hosts_per_pod", &p.HostsPerPod, 1, topology.MaxNodes)
	items := s.list("tiers")
	for i, item := range items {
		p.Tiers = append(p.Tiers, r.readClosTier(item, indexed(s.path+".tiers", i), i == len(items)-1))
	}
	if r.d.err != nil {
		return
	}
	g, err := topology.Clos(p)
	r.graph(s.n.pos, g, err)
}

func (r *resolver) readClosTier(item *node, path string, top bool) topology.ClosTier {
	o := r.d.object(item, path, "radix_down", "radix_up", "bundle", "link", "length", "delay", "switch_latency")
	t := topology.ClosTier{Bundle: 1}
	o.needInteger("radix_down", &t.RadixDown, 1, topology.MaxNodes)
	if !top {
		o.needInteger("radix_up", &t.RadixUp, 1, topology.MaxNodes)
	} else if o.has("radix_up") {
		o.fail("radix_up", "the top tier has no links up; leave it out")
	}
	o.integer("bundle", &t.Bundle, 1, 256)
	t.Link = r.tier(o, "link", r.readLink(o, topology.LinkSpec{}))
	latency := units.Time(-1)
	if o.time("switch_latency", &latency) && latency > units.Millisecond {
		o.fail("switch_latency", "%v is no switch pipeline; give at most 1ms", latency)
	}
	r.tierLatency = append(r.tierLatency, latency)
	return t
}

// latencyOfTier overrides a switch's pipeline with that of its tier.
func (r *resolver) latencyOfTier(n int, s *switchSettings) {
	tier := r.v.Graph.Nodes[n].Tier
	if tier > 0 && tier <= len(r.tierLatency) && r.tierLatency[tier-1] >= 0 {
		s.latency = r.tierLatency[tier-1]
	}
}
