package run

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
)

// recordPaths completes the limits of each requester with its path, the idle
// round trip on it and how fast the receiving host takes data.
func (r *runner) recordPaths(out *record.Run) {
	type key struct {
		host string
		qp   int
	}
	index := make(map[key]int, len(out.QPs))
	for i := range out.QPs {
		index[key{out.QPs[i].Host, out.QPs[i].QP}] = i
	}
	g := r.Valid.Graph
	for i := range r.Valid.Plan.Conns {
		c := &r.Valid.Plan.Conns[i]
		k, used := index[key{g.Nodes[g.Endpoints[c.Src].Node].Name, int(r.Responders[i].Requester)}]
		if !used {
			continue
		}
		l := &out.QPs[k].Limits
		there, _ := r.Path(i)
		for _, h := range there {
			l.Path = append(l.Path, r.pathHop(h))
		}
		l.BaseRTTPS = r.BaseRTT(i)
		l.DrainBps = r.Valid.NICs[g.Endpoints[c.Dst].Node].DrainRate
	}
}

func (r *runner) pathHop(h topology.Hop) record.PathHop {
	end := r.Valid.Graph.Nodes[h.Node].Ports[h.Port]
	return record.PathHop{
		Port: r.portName(h.Node, h.Port), Peer: r.portName(end.Peer, end.PeerPort),
		RateBps: r.Valid.Graph.LinkAt(h.Node, h.Port).Rate,
	}
}
