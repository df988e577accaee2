package flow

import (
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/workload"
)

// sharedHop is a hop, and the share of a connection's packets that take it.
type sharedHop struct {
	topology.Hop
	share float64
}

// spread are the hops of a connection's packets, or of those that answer: the path that hashes choose, and where a
// switch chooses by packet or flowlet all equal ports, each with as many.
func (w *ways) spread(path []topology.Hop, c *workload.Conn, answers bool) (out []sharedHop) {
	if w.room = w.room[:0]; !w.balanced || c.Path != nil {
		for _, h := range path {
			w.room = append(w.room, sharedHop{h, 1})
		}
		return w.room
	}
	dst := c.Dst
	if answers {
		dst = c.Src
	}
	g := w.v.Graph
	w.room = append(w.room, sharedHop{path[0], 1})
	for k := 0; k < len(w.room); k++ {
		at := w.room[k]
		node := g.Nodes[at.Node].Ports[at.Port].Peer
		if g.Nodes[node].Kind == topology.Host {
			continue
		}
		ports := w.v.Routes.Lookup(node, dst)
		if len(ports) > 1 && w.v.Switches[node].Balancing == nil {
			n := int(w.v.Switches[node].Choose(w.world.Hash(c, answers), uint32(len(ports))))
			ports = ports[n : n+1]
		}
		for _, p := range ports {
			w.room = append(w.room, sharedHop{topology.Hop{Node: node, Port: int(p)}, at.share / float64(len(ports))})
		}
	}
	return w.room
}
