package subnet

import "github.com/hopscope/hopscope/internal/units"

// Analysis says what forwarding tables amount to when every channel adapter's
// port sends to every LID of every other one.
type Analysis struct {
	// Hops[n] is the number of ordered pairs of an adapter's port and another's LID
	// whose path crosses n links.
	Hops        []int64
	Unreachable int64 // pairs without a path; includes pairs no cables join
	// Routes[node][port] is how many of these paths leave by that port.
	Routes [][]int64
	// Inter are the channels between switches, in node and port order; the figures
	// below are over them.
	Inter         []End
	Worst         int64   // most paths on one
	Total         int64   // paths on all of them
	WorstChannels []End   // those with that many
	Bound         float64 // all-to-all: share of its line that every adapter can use when the fullest link limits all; 0 to 1
	BoundAt       End     // that link
}

// Mean returns the paths per channel between switches.
func (a *Analysis) Mean() float64 {
	if len(a.Inter) == 0 {
		return 0
	}
	return float64(a.Total) / float64(len(a.Inter))
}

// Analyse follows every path of the tables.
func (t *Tables) Analyse() *Analysis {
	f := t.Fabric
	a := &Analysis{Routes: make([][]int64, len(f.Nodes))}
	for n := range f.Nodes {
		a.Routes[n] = make([]int64, len(f.Nodes[n].Ports))
	}
	var loose []End // adapters' ports on no switch: cabled to one another, or cut off
	for _, e := range f.Endports {
		if f.Nodes[e.Node].Kind == Switch {
			continue
		}
		if f.leafOf(e) < 0 {
			loose = append(loose, e)
			continue
		}
		p := f.port(e)
		for l := int(p.LID); l < int(p.LID)+1<<p.LMC; l++ {
			t.follow(a, e, LID(l))
		}
	}
	for _, e := range loose {
		t.pairLoose(a, e)
	}
	a.sum(f)
	return a
}

// pairLoose counts the pairs of a port that is on no switch with all others: one
// link to the port it is cabled to, and no path to the rest.
func (t *Tables) pairLoose(a *Analysis, e End) {
	f := t.Fabric
	for _, other := range f.Endports {
		if f.Nodes[other.Node].Kind == Switch || other.Node == e.Node {
			continue
		}
		from, to := int64(1)<<f.port(e).LMC, int64(1)<<f.port(other).LMC // LIDs, as destinations
		if f.leafOf(other) < 0 {
			from = 0 // counted when its turn comes
		}
		if p := f.port(e); p.Peer != other.Node || p.PeerPort != other.Port {
			a.Unreachable += from + to
			continue
		}
		for len(a.Hops) < 2 {
			a.Hops = append(a.Hops, 0)
		}
		a.Hops[1] += to
		a.Routes[e.Node][e.Port] += to
	}
}

// follow adds the paths of all adapters to one LID. Adapters of a leaf share
// their path from there on.
func (t *Tables) follow(a *Analysis, to End, lid LID) {
	f := t.Fabric
	home := f.leafOf(to)
	for i, leaf := range t.leaves {
		senders := int64(len(t.adapters[i]))
		for _, s := range t.adapters[i] {
			if e := f.Endports[s]; e.Node == to.Node {
				senders-- // a node does not send to its own ports
			}
		}
		if senders == 0 {
			continue
		}
		links, ok := t.measure(leaf, home, to, lid)
		if !ok {
			a.Unreachable += senders
			continue
		}
		for len(a.Hops) <= links {
			a.Hops = append(a.Hops, 0)
		}
		a.Hops[links] += senders
		for _, s := range t.adapters[i] {
			if e := f.Endports[s]; e.Node != to.Node {
				a.Routes[e.Node][e.Port]++
			}
		}
		for n := leaf; ; {
			p := t.LFT[n][lid]
			a.Routes[n][p] += senders
			if n == home {
				break
			}
			n = f.Nodes[n].Ports[p].Peer
		}
	}
}

// measure counts the links from an adapter of leaf to the endport to, whose
// leaf is home. It fails where the tables do not lead there.
func (t *Tables) measure(leaf, home int, to End, lid LID) (links int, ok bool) {
	f := t.Fabric
	links = 2 // the sender's and the receiver's own
	for n := leaf; n != home; links++ {
		p := t.Lookup(n, lid)
		if p == NoPort || p == 0 || int(p) >= len(f.Nodes[n].Ports) || links > len(f.Nodes)+2 {
			return 0, false
		}
		n = f.Nodes[n].Ports[p].Peer
		if !f.isSwitch(n) {
			return 0, false
		}
	}
	return links, int(t.Lookup(home, lid)) == f.port(to).PeerPort
}

// sum finds the fullest channels. A link's bound is what its rate leaves to each
// of its paths, against what the sender's own link would.
func (a *Analysis) sum(f *Fabric) {
	slowest := func(n int64, r units.Rate) float64 { return float64(r) / float64(n) }
	line := 0.0 // what the fullest adapter port leaves to each path
	for n := range f.Nodes {
		for p, routes := range a.Routes[n] {
			if routes == 0 || p == 0 || f.Nodes[n].Kind == Switch {
				continue
			}
			if share := slowest(routes, f.Links[f.Nodes[n].Ports[p].Link].Rate); line == 0 || share < line {
				line = share
			}
		}
	}
	a.Bound = 1
	for n := range f.Nodes {
		for p, routes := range a.Routes[n] {
			if f.Nodes[n].Kind != Switch || p == 0 || f.Nodes[n].Ports[p].Peer < 0 {
				continue
			}
			e := End{n, p}
			if share := slowest(routes, f.Links[f.Nodes[n].Ports[p].Link].Rate); routes > 0 && share/line < a.Bound {
				a.Bound, a.BoundAt = share/line, e
			}
			if f.isSwitch(f.Nodes[n].Ports[p].Peer) {
				a.add(e, routes)
			}
		}
	}
}

// add counts a channel between switches.
func (a *Analysis) add(e End, routes int64) {
	a.Inter = append(a.Inter, e)
	a.Total += routes
	if routes > a.Worst {
		a.Worst, a.WorstChannels = routes, nil
	}
	if routes == a.Worst && routes > 0 {
		a.WorstChannels = append(a.WorstChannels, e)
	}
}
