package subnet

// routeMinHop fills the tables with the fewest hops: what OpenSM calls MinHop.
// Entries of old that are still on a shortest path stay.
func routeMinHop(f *Fabric, old *Tables, opt Options) *Tables {
	t := newTables(f, "minhop")
	s := spread{t: t, d: newHops(f), old: old, told: opt.Progress}
	s.fill()
	return t
}

// hops are distances without rules.
type hops struct {
	f     *Fabric
	to    int
	dist  []int32 // by node: switches between it and the destination, -1 unreachable
	queue []int
}

func newHops(f *Fabric) *hops {
	return &hops{f: f, to: -1, dist: make([]int32, len(f.Nodes))}
}

func (h *hops) towards(dst int) {
	if dst == h.to {
		return
	}
	h.to = dst
	for i := range h.dist {
		h.dist[i] = -1
	}
	h.dist[dst] = 0
	h.queue = append(h.queue[:0], dst)
	for i := 0; i < len(h.queue); i++ {
		s := h.queue[i]
		for p := range h.f.Nodes[s].Ports {
			peer := h.f.Nodes[s].Ports[p].Peer
			if h.f.isSwitch(peer) && h.dist[peer] < 0 {
				h.dist[peer] = h.dist[s] + 1
				h.queue = append(h.queue, peer)
			}
		}
	}
}

func (h *hops) leads(s, p int) bool {
	peer := h.f.Nodes[s].Ports[p].Peer
	return h.f.isSwitch(peer) && h.dist[peer] >= 0 && h.dist[peer] == h.dist[s]-1
}
