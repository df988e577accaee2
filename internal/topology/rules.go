package topology

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/hopscope/hopscope/internal/units"
)

// Rules say which of the paths that are left packets take, and in what shares. The zero Rules are
// all shortest paths, in equal shares.
type Rules struct {
	// UpDown leaves out paths that go up after they have come down, by Order. The waits of ports for
	// each other then close no circle (Autonet; Schroeder et al., 1991).
	UpDown bool
	// Shares has an entry per node, or is nil: every port has an equal share.
	Shares []Shares
}

// Shares is how a switch divides flows among equal ports. The zero Shares are equal.
type Shares struct {
	By    Weight
	Slots int // of the table whose slots ports share by their weights, up to MaxGroup; with By alone
}

// Weight is what a port of a group weighs.
type Weight uint8

// Weights of ports.
const (
	Equal  Weight = iota
	ByLink        // by the rate of its own link
	// ByPath: by what its link and all behind it can carry to the destination, as BGP's link bandwidth
	// community tells; parallel links to one peer share what is behind that. So weights follow when
	// a link far ahead fails, or a member of a bundle.
	ByPath
)

// Order ranks the switches of a graph from the top down, which is what up and down mean: a link goes
// up towards the switch of lower number. The tiers of a shape count first, then, in an explicit
// topology, hops from the first switch, then the order in which switches are named. Hosts have -1.
func (g *Graph) Order() []int {
	rank := make([]int, len(g.Nodes))
	var all []int
	for n := range g.Nodes {
		if g.Nodes[n].Kind == Switch {
			rank[n] = -g.Nodes[n].Tier
			all = append(all, n)
		}
	}
	if !slices.ContainsFunc(all, func(n int) bool { return g.Nodes[n].Tier > 0 }) && len(all) > 0 {
		g.hopsFrom(all[0], rank)
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
	for n := range rank {
		rank[n] = -1
	}
	for place, n := range all {
		rank[n] = place
	}
	return rank
}

// hopsFrom notes the hops of switches from one of them; those that it does not reach come last.
func (g *Graph) hopsFrom(first int, rank []int) {
	for n := range rank {
		rank[n] = len(rank)
	}
	rank[first] = 0
	queue := []int{first}
	for i := 0; i < len(queue); i++ {
		for _, p := range g.Nodes[queue[i]].Ports {
			if g.Nodes[p.Peer].Kind == Switch && rank[p.Peer] == len(rank) {
				rank[p.Peer] = rank[queue[i]] + 1
				queue = append(queue, p.Peer)
			}
		}
	}
}

// Bounces reports whether a packet that comes into switch node by port in and leaves it by port out
// goes up after it came down, by Order.
func (g *Graph) Bounces(order []int, node, in, out int) bool {
	from, to := g.Nodes[node].Ports[in].Peer, g.Nodes[node].Ports[out].Peer
	return order[from] >= 0 && order[from] < order[node] && order[to] >= 0 && order[to] < order[node]
}

// searchUpDown is search over the paths that UpDown leaves. A switch from which leaf lies all the way
// down goes down, so that whoever comes down to it may follow; any other goes up to where the way is
// shortest. A table by destination alone can hold no more.
func (b *routeBuilder) searchUpDown(leaf int) {
	for i := range b.dist {
		b.dist[i], b.falls[i] = -1, false
	}
	b.dist[leaf], b.falls[leaf] = 0, true
	b.queue = append(b.queue[:0], leaf)
	for i := 0; i < len(b.queue); i++ {
		s := b.queue[i]
		for _, p := range b.g.Nodes[s].Ports {
			if up := b.order[p.Peer]; b.dist[p.Peer] < 0 && up >= 0 && up < b.order[s] && b.alive(p) {
				b.dist[p.Peer], b.falls[p.Peer] = b.dist[s]+1, true
				b.queue = append(b.queue, p.Peer)
			}
		}
	}
	for _, s := range b.downwards {
		if b.falls[s] {
			continue
		}
		for _, p := range b.g.Nodes[s].Ports {
			up, far := b.order[p.Peer], b.dist[p.Peer]+1
			if up >= 0 && up < b.order[s] && b.alive(p) && far > 0 && (b.dist[s] < 0 || far < b.dist[s]) {
				b.dist[s] = far
			}
		}
		if b.dist[s] >= 0 {
			b.queue = append(b.queue, s)
		}
	}
	slices.SortStableFunc(b.queue, func(x, y int) int { return cmp.Compare(b.dist[x], b.dist[y]) })
}

// follows reports whether the way of s to the leaf that was searched goes by a port of it.
func (b *routeBuilder) follows(s int, p Port) bool {
	if b.g.Nodes[p.Peer].Kind != Switch || b.dist[p.Peer] < 0 || b.dist[p.Peer] != b.dist[s]-1 || !b.alive(p) {
		return false
	}
	down := b.order != nil && b.order[p.Peer] > b.order[s]
	return b.order == nil || down == b.falls[s] && (!down || b.falls[p.Peer])
}

// divide notes what s can carry to the leaf that was searched, and makes b.members, the ports of its
// group, the slots of a table where they have weights.
func (b *routeBuilder) divide(s int) {
	if b.shares == nil {
		return
	}
	weights := b.weights(s)
	if sh := b.shares[s]; sh.By != Equal && len(b.members) > 1 {
		if sh.By == ByLink {
			for i, m := range b.members {
				weights[i] = uint64(b.g.LinkAt(s, int(m)).Rate)
			}
		}
		b.members = Slots(b.members, weights, sh.Slots)
	}
}

// weights are what each of b.members can carry to the leaf, and sets what s can.
func (b *routeBuilder) weights(s int) []uint64 {
	weights := make([]uint64, len(b.members))
	ports := b.g.Nodes[s].Ports
	b.carries[s] = 0
	for i, m := range b.members {
		rate, all := b.g.LinkAt(s, int(m)).Rate, units.Rate(0)
		for _, o := range b.members { // which lead to the same peer
			if ports[o].Peer == ports[m].Peer {
				all += b.g.LinkAt(s, int(o)).Rate
			}
		}
		hi, lo := bits.Mul64(uint64(min(all, b.carries[ports[m].Peer])), uint64(rate))
		weights[i], _ = bits.Div64(hi, lo, uint64(all))
		b.carries[s] += units.Rate(weights[i])
	}
	return weights
}

// Slots lists the ports of a table of n slots, shared by weights of which one is above 0: each has the
// whole slots of its share, and those with the largest remainders have one more. Ports take turns,
// as far as each still has a slot to fill.
func Slots(ports []uint16, weights []uint64, n int) []uint16 {
	total := uint64(0)
	for _, w := range weights {
		total += w
	}
	quota, rest, left := make([]int, len(ports)), make([]uint64, len(ports)), n
	for i, w := range weights {
		hi, lo := bits.Mul64(w, uint64(n))
		q, r := bits.Div64(hi, lo, total)
		quota[i], rest[i] = int(q), r
		left -= int(q)
	}
	largest := make([]int, len(ports))
	for i := range largest {
		largest[i] = i
	}
	slices.SortStableFunc(largest, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for _, i := range largest[:left] {
		quota[i]++
	}
	out := make([]uint16, 0, n)
	for len(out) < n {
		for i, p := range ports {
			if quota[i] > 0 {
				quota[i]--
				out = append(out, p)
			}
		}
	}
	return out
}
