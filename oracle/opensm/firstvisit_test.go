package opensm

import (
	"slices"

	"github.com/hopscope/hopscope/internal/subnet"
)

// firstVisit counts paths by links crossed if distances are found as OpenSM's
// updn finds them: a search from every destination switch that keeps the
// direction by which it came to a switch first. Where a switch can be reached in as
// many steps by a way down and by a way up, the first one decides what may follow,
// and the rest of the network may lie farther than the rule demands. Directions are
// as seen from the destination; between equal ranks the lower GUID is up, between
// two roots both ways are.
func firstVisit(t *subnet.Tables) []int64 {
	f := t.Fabric
	var paths []int64
	leaf := func(e subnet.End) int { return f.Nodes[e.Node].Ports[e.Port].Peer }
	dist := map[int][]int{}
	for _, to := range f.Endports {
		if f.Nodes[to.Node].Kind == subnet.Switch {
			continue
		}
		home := leaf(to)
		if dist[home] == nil {
			dist[home] = searchFirst(t, home)
		}
		for _, from := range f.Endports {
			if f.Nodes[from.Node].Kind == subnet.Switch || from.Node == to.Node {
				continue
			}
			links := dist[home][leaf(from)] + 2
			for len(paths) <= links {
				paths = append(paths, 0)
			}
			paths[links] += int64(1) << f.Nodes[to.Node].Ports[to.Port].LMC
		}
	}
	return paths
}

// searchFirst is the search from one switch.
func searchFirst(t *subnet.Tables, dst int) []int {
	f := t.Fabric
	const far = 1 << 20
	up := func(from, to int) bool {
		a, b := t.Rank[from], t.Rank[to]
		return a > b || a == b && (a == 0 || f.Nodes[from].GUID > f.Nodes[to].GUID)
	}
	dist := make([]int, len(f.Nodes))
	for i := range dist {
		dist[i] = far
	}
	byPort := make([][]int, len(f.Nodes)) // hops to dst by each port
	for i := range byPort {
		byPort[i] = slices.Repeat([]int{far}, len(f.Nodes[i].Ports))
	}
	cameUp, queued := make([]bool, len(f.Nodes)), make([]bool, len(f.Nodes))
	dist[dst], cameUp[dst] = 0, true
	for queue := []int{dst}; len(queue) > 0; {
		n := queue[0]
		queue = queue[1:]
		queued[n] = false
		for p := range f.Nodes[n].Ports {
			port := f.Nodes[n].Ports[p]
			if port.Peer < 0 || f.Nodes[port.Peer].Kind != subnet.Switch || !cameUp[n] && up(n, port.Peer) {
				continue
			}
			if dist[n]+1 >= byPort[port.Peer][port.PeerPort] {
				continue
			}
			byPort[port.Peer][port.PeerPort] = dist[n] + 1
			dist[port.Peer] = min(dist[port.Peer], dist[n]+1)
			if !queued[port.Peer] {
				cameUp[port.Peer], queued[port.Peer] = up(n, port.Peer), true
				queue = append(queue, port.Peer)
			}
		}
	}
	return dist
}
