package subnet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// routeUpDown fills the tables with paths that never go up after down: every
// switch has a rank, its distance from the roots; up is towards the lower rank,
// between equal ranks towards the lower GUID. No dependency can close a cycle,
// because up is a total order (Schroeder et al., Autonet, 1991; OpenSM's updn).
func routeUpDown(f *Fabric, opt Options, old *Tables) (*Tables, error) {
	t, roots := newTables(f, "updn"), opt.Roots
	if len(roots) == 0 {
		roots = t.autoRoots()
		if len(roots) == 0 {
			return nil, fmt.Errorf("updn: no switch stands out as a root, at one distance from nearly all ports%s; name the roots, or use minhop", t.aggregation())
		}
	}
	t.Rank = f.ranksFrom(roots)
	u := newUpDown(f, t.Rank)
	s := spread{t: t, d: u, old: old, told: opt.Progress}
	s.fill()
	if err := t.checkReach(); err != nil {
		names := make([]string, len(roots))
		for i, r := range roots {
			names[i] = f.Nodes[r].Name
		}
		return nil, fmt.Errorf("updn with roots %s: %w; name other roots, or use minhop", strings.Join(names, ", "), err)
	}
	return t, nil
}

// Thresholds of the root histogram, OpenSM's: a root has one bar above 90 % of
// the adapters' ports, and no second one above 5 %.
const (
	rootMostPercent = 90
	rootRestPercent = 5
)

// autoRoots returns the switches whose histogram of distances to the ports of
// channel adapters has a single bar, in node order.
func (t *Tables) autoRoots() []int {
	f := t.Fabric
	h := newHops(f)
	total := 0
	for _, a := range t.adapters {
		total += len(a)
	}
	var roots []int
	for n := range f.Nodes {
		if f.Nodes[n].Kind != Switch {
			continue
		}
		h.towards(n)
		bars := make([]int, len(f.Nodes)+1)
		for i, leaf := range t.leaves {
			if h.dist[leaf] >= 0 {
				bars[h.dist[leaf]] += len(t.adapters[i])
			}
		}
		most, rest := 0, 0
		for _, b := range bars {
			if b*100 > total*rootMostPercent {
				most++
			}
			if b*100 > total*rootRestPercent {
				rest++
			}
		}
		if most == 1 && rest == 1 {
			roots = append(roots, n)
		}
	}
	return roots
}

// ranksFrom returns every switch's distance from the nearest root, -1 for other
// nodes and for switches that no root reaches.
func (f *Fabric) ranksFrom(roots []int) []int {
	rank := make([]int, len(f.Nodes))
	for i := range rank {
		rank[i] = -1
	}
	queue := slices.Clone(roots)
	for _, r := range roots {
		rank[r] = 0
	}
	for i := 0; i < len(queue); i++ {
		n := queue[i]
		for p := range f.Nodes[n].Ports {
			if peer := f.Nodes[n].Ports[p].Peer; f.isSwitch(peer) && rank[peer] < 0 {
				rank[peer] = rank[n] + 1
				queue = append(queue, peer)
			}
		}
	}
	return rank
}

// upDown are distances along up*/down* paths. A switch from which the
// destination lies all the way down goes down, so that whoever comes down to it
// may follow; any other goes up to the neighbour with the shortest way.
type upDown struct {
	f     *Fabric
	rank  []int
	order []int // switches, the highest first
	to    int
	down  []int32 // all the way down; -1 not possible
	best  []int32 // as the switch goes; -1 unreachable
	queue []int
}

func newUpDown(f *Fabric, rank []int) *upDown {
	u := &upDown{f: f, rank: rank, to: -1, down: make([]int32, len(f.Nodes)), best: make([]int32, len(f.Nodes))}
	for n := range f.Nodes {
		if f.Nodes[n].Kind == Switch && rank[n] >= 0 {
			u.order = append(u.order, n)
		}
	}
	slices.SortFunc(u.order, u.compare)
	return u
}

// compare orders switches from the top down; GUIDs of nodes are unique.
func (u *upDown) compare(a, b int) int {
	if c := cmp.Compare(u.rank[a], u.rank[b]); c != 0 {
		return c
	}
	return cmp.Compare(u.f.Nodes[a].GUID, u.f.Nodes[b].GUID)
}

// ranked reports whether node n is a switch that takes part.
func (u *upDown) ranked(n int) bool { return u.f.isSwitch(n) && u.rank[n] >= 0 }

func (u *upDown) towards(dst int) {
	if dst == u.to {
		return
	}
	u.to = dst
	for i := range u.down {
		u.down[i], u.best[i] = -1, -1
	}
	u.down[dst] = 0
	u.queue = append(u.queue[:0], dst)
	for i := 0; i < len(u.queue); i++ {
		n := u.queue[i]
		for p := range u.f.Nodes[n].Ports {
			peer := u.f.Nodes[n].Ports[p].Peer
			if u.ranked(peer) && u.down[peer] < 0 && u.compare(peer, n) < 0 {
				u.down[peer] = u.down[n] + 1
				u.queue = append(u.queue, peer)
			}
		}
	}
	for _, n := range u.order { // all neighbours above n have been settled
		u.best[n] = u.down[n]
		if u.down[n] >= 0 {
			continue
		}
		for p := range u.f.Nodes[n].Ports {
			peer := u.f.Nodes[n].Ports[p].Peer
			if !u.ranked(peer) || u.compare(peer, n) > 0 || u.best[peer] < 0 {
				continue
			}
			if u.best[n] < 0 || u.best[peer]+1 < u.best[n] {
				u.best[n] = u.best[peer] + 1
			}
		}
	}
}

func (u *upDown) leads(n, p int) bool {
	peer := u.f.Nodes[n].Ports[p].Peer
	if !u.ranked(peer) || !u.ranked(n) {
		return false
	}
	if u.down[n] >= 0 {
		return u.compare(n, peer) < 0 && u.down[peer] >= 0 && u.down[peer] == u.down[n]-1
	}
	return u.compare(peer, n) < 0 && u.best[peer] >= 0 && u.best[peer] == u.best[n]-1
}

// checkReach returns an error that names the first leaf from which an adapter
// cannot be reached although cables join them.
func (t *Tables) checkReach() error {
	f := t.Fabric
	h := newHops(f)
	for i, leaf := range t.leaves {
		h.towards(leaf)
		for _, a := range t.adapters[i] {
			lid := f.port(f.Endports[a]).LID
			for _, from := range t.leaves {
				if h.dist[from] >= 0 && t.LFT[from][lid] == NoPort {
					return fmt.Errorf("no allowed path leads from %s to %s", f.Nodes[from].Name, f.Name(f.Endports[a]))
				}
			}
		}
	}
	return nil
}
