package scenario

import (
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// clos is a Clos network given by the radices of its switches.
func (r *resolver) clos() generator {
	var p topology.ClosParams
	return generator{"clos", "A Clos network by the radices of its switches, whose number follows.",
		[]key{
			neededNumber("hosts", &p.Hosts, 2, topology.MaxNodes, "Number of hosts."),
			numberKey("hosts_per_pod", &p.HostsPerPod, 1, topology.MaxNodes, "Hosts in a pod, with three tiers."),
		},
		func() []key {
			return []key{listedKey("tiers", func() []key { return r.closTierKeys(new(closTier), true) }, readLater, "The tiers of switches, the lowest first.")}
		},
		func(s object, graph func(*topology.Graph, error)) {
			items := s.list("tiers")
			for i, item := range items {
				p.Tiers = append(p.Tiers, r.readClosTier(item, indexed(s.path+".tiers", i), i == len(items)-1))
			}
			if r.d.err == nil {
				graph(topology.Clos(p))
			}
		}}
}

// closTier is a tier of switches.
type closTier struct {
	topology.ClosTier
	latency units.Time // negative: not given
}

// closTierKeys are the keys of a tier.
func (r *resolver) closTierKeys(t *closTier, top bool) []key {
	up := numberKey("radix_up", &t.RadixUp, 1, topology.MaxNodes, "Links of a switch up; none in the top tier.")
	if top {
		up = up.check(func(o object) { o.fail("radix_up", "the top tier has no links up; leave it out") })
	} else {
		up = up.need(neededNumber("", nil, 1, topology.MaxNodes, "").needed)
	}
	links := r.tierKeys("link")
	links[0].text = "Links of the tier down."
	return joinKeys([]key{
		neededNumber("radix_down", &t.RadixDown, 1, topology.MaxNodes, "Links of a switch down."),
		up,
		numberKey("bundle", &t.Bundle, 1, 256, "Parallel links to each switch below.").otherwise("1"),
		timeKey("switch_latency", &t.latency, "Pipeline of the tier's switches.").otherwise("`switch.latency`").
			within(0, int64(units.Millisecond), "is no switch pipeline; give at most 1ms"),
	}, links, r.cableKeys(new(topology.LinkSpec)))
}

func (r *resolver) readClosTier(item *node, path string, top bool) topology.ClosTier {
	t := closTier{ClosTier: topology.ClosTier{Bundle: 1}, latency: -1}
	keys := r.closTierKeys(&t, top)
	o := r.d.object(item, path, keys)
	o.read(keys[:4])
	t.Link = r.tier(o, "link", r.readLink(o, topology.LinkSpec{}))
	r.tierLatency = append(r.tierLatency, t.latency)
	return t.ClosTier
}

// latencyOfTier overrides a switch's pipeline with that of its tier.
func (r *resolver) latencyOfTier(n int, s *switchSettings) {
	tier := r.v.Graph.Nodes[n].Tier
	if tier > 0 && tier <= len(r.tierLatency) && r.tierLatency[tier-1] >= 0 {
		s.latency = r.tierLatency[tier-1]
	}
}
