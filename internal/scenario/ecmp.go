package scenario

import (
	"cmp"
	"strconv"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/topology"
)

// ecmpSettings is the `ecmp` section of a switch.
type ecmpSettings struct {
	fabric.Hash
	tiers  []fabric.Hash
	shares topology.Shares
	obj    object
}

// defaultSlots is a common size of weighted groups.
const defaultSlots = 64

// hashKinds are the names of the kinds of hashes.
var hashKinds = []string{"own", "mix", "crc32", "crc32c"}

// ecmpKey is the section.
func (r *resolver) ecmpKey(s *switchSettings) key {
	e := &s.ecmp
	keys := append(hashKeys(&e.Hash),
		listedKey("tiers", func() []key { return hashKeys(new(fabric.Hash)) }, func(o object, name string) bool {
			e.tiers = nil
			for i, item := range o.list(name) {
				h := e.Hash
				keys := hashKeys(&h)
				r.d.object(item, indexed(o.join(name), i), keys).read(keys)
				e.tiers = append(e.tiers, h)
			}
			return r.d.err == nil
		}, "The same by tier of switches, leaves first, over what stands beside it."),
		countedKey("weights", &e.shares.By, []string{"equal", "link", "path"},
			"Shares of equal ports: `link` by the rates of their links, `path` by what their links and all behind them can "+
				"carry to the destination, so that they follow when a link fails, or one of several parallel ones "+
				"([model](../models/ethernet.md#weights)).").unless(r.noEthernet),
		numberKey("slots", &e.shares.Slots, 2, topology.MaxGroup, "Slots of the table that ports with weights share.").
			otherwise(strconv.Itoa(defaultSlots)).unless(func() string {
			return when(e.shares.By == topology.Equal, "ports with equal shares have no table; give weights: path")
		}))
	return sectionKey("ecmp", keys, "How a switch chooses among equal ports by a flow's five-tuple "+
		"([model](../models/ethernet.md#ecmp)).").in(&e.obj)
}

// rules are those by which switches find their paths.
func (r *resolver) rules() (x topology.Rules) {
	if r.stack().Credits {
		return x
	}
	x.UpDown = r.upDown
	if r.upDown {
		r.note("paths", pathsUpDown, fromScenario)
	}
	for n := range r.switches {
		if s := r.switches[n].ecmp.shares; s.By != topology.Equal && r.v.Graph.Nodes[n].Kind == topology.Switch {
			if x.Shares == nil {
				x.Shares = make([]topology.Shares, len(r.switches))
			}
			s.Slots = cmp.Or(s.Slots, defaultSlots)
			x.Shares[n] = s
			by := "by " + [...]string{"", "link", "path"}[s.By]
			r.note("switch.ecmp.weights", by+", "+strconv.Itoa(s.Slots)+" slots", fromScenario)
		}
	}
	return x
}

// Words of the key paths.
const (
	pathsShortest = "shortest"
	pathsUpDown   = "up-down"
)

// pathsKey says which paths packets take.
func (r *resolver) pathsKey() key {
	return eitherKey("paths", &r.upDown, pathsShortest, pathsUpDown,
		"Which paths there are: `up-down` has none that goes up after it came down, so that pauses close no circle. Up is "+
			"towards the higher tier, in an explicit topology towards the switch named first "+
			"([model](../models/ethernet.md#up-and-down)).").unless(func() string {
		return when(r.stack().Credits && !r.compared,
			"InfiniBand switches have forwarding tables; give infiniband.routing: updn")
	})
}

// hashKeys are the keys of a hash.
func hashKeys(h *fabric.Hash) []key {
	return []key{
		countedKey("hash", &h.Kind, hashKinds, "`own`: a mixing hash with a seed of the switch's own; `mix`: the same with "+
			"`seed`; `crc32` and `crc32c`: the remainder of a CRC that begins with `seed`."),
		numberKey("seed", &h.Seed, 0, 1<<31-1, "Seed, or initial value. Switches that choose by the same hash and seed choose alike.").
			unless(func() string {
				return when(h.Kind == fabric.HashOwn, "own seeds differ from switch to switch; give another hash")
			}),
	}
}

// hashOf is the hash of switch n.
func (r *resolver) hashOf(n int) fabric.Hash {
	s := &r.switches[n]
	h, tier := s.ecmp.Hash, r.v.Graph.Nodes[n].Tier
	if tier > 0 && tier <= len(s.ecmp.tiers) {
		h = s.ecmp.tiers[tier-1]
	}
	if h.Kind != fabric.HashOwn {
		r.note("switch.ecmp", hashKinds[h.Kind]+", seed "+strconv.FormatUint(uint64(h.Seed), 10), fromScenario)
	}
	return h
}

// warnPolarised points at tiers that choose by hashes that go together: of the links up of the second
// only one in gcd(m1, m2) is taken by the flows that come up by one of the first.
func (r *resolver) warnPolarised() {
	g := r.v.Graph
	up := func(n int) (ports uint32) {
		for _, p := range g.Nodes[n].Ports {
			if peer := &g.Nodes[p.Peer]; peer.Kind == topology.Switch && peer.Tier > g.Nodes[n].Tier {
				ports++
			}
		}
		return ports
	}
	for i := range g.Links {
		a, b := g.Links[i].A, g.Links[i].B
		if g.Nodes[a].Tier > g.Nodes[b].Tier {
			a, b = b, a
		}
		if g.Nodes[a].Kind != topology.Switch || g.Nodes[a].Tier == 0 || g.Nodes[a].Tier == g.Nodes[b].Tier {
			continue
		}
		ha, hb := r.v.Switches[a].Hash, r.v.Switches[b].Hash
		m1, m2 := up(a), up(b)
		alike := gcd(m1, m2)
		crc := ha.Kind == fabric.HashCRC32 || ha.Kind == fabric.HashCRC32C
		switch {
		case ha.Kind != hb.Kind || ha.Kind == fabric.HashOwn || alike < 2:
			continue
		case ha.Seed == hb.Seed:
			r.warn("polarised", "%s and %s choose by the same hash and seed: of the %d links up of %s, flows that come from %s "+
				"take 1 in %d; give one of the two another seed of ecmp: {hash: mix}, or another polynomial", g.Nodes[a].Name, g.Nodes[b].Name,
				m2, g.Nodes[b].Name, g.Nodes[a].Name, alike)
		case crc && m1&(m1-1) == 0 && m2&(m2-1) == 0:
			r.warn("polarised", "%s and %s choose by the same CRC, of which another initial value changes nothing: of the %d "+
				"links up of %s, flows that come from %s take 1 in %d; give one of the two another polynomial, or "+
				"ecmp: {hash: mix} with another seed",
				g.Nodes[a].Name, g.Nodes[b].Name, m2, g.Nodes[b].Name, g.Nodes[a].Name, alike)
		default:
			continue
		}
		r.v.Alike = append(r.v.Alike, [2]int{a, b})
	}
}

func gcd(a, b uint32) uint32 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
