package run

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/workload"
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
	reads, both, first := r.reads(), bothWays(r.Valid.Plan), r.firstAsked()
	for i := range r.Valid.Plan.Conns {
		c := &r.Valid.Plan.Conns[i]
		there, back := r.Path(i)
		to := r.Responders[i]
		along := func(node int, qp uint32, path []topology.Hop, receiver int) {
			k, used := index[key{g.Nodes[node].Name, int(qp)}]
			if !used {
				return
			}
			l := &out.QPs[k].Limits
			for k := range path {
				hop := r.pathHop(path[k])
				hop.CreditLoopPS, hop.CreditPackets = r.CreditLoop(i, path, k)
				l.Path = append(l.Path, hop)
			}
			l.BaseRTTPS = r.BaseRTT(i)
			l.DrainBps = r.Valid.NICs[receiver].DrainRate
		}
		src, dst := g.Endpoints[c.Src].Node, g.Endpoints[c.Dst].Node
		if k, used := index[key{g.Nodes[src].Name, int(to.Requester)}]; used && first[i] != nil {
			n := min(first[i].Bytes, r.Valid.Transports[r.Valid.NICs[src].Transport].MTU)
			if first[i].Verb.Atomic() {
				n = 0
			}
			out.QPs[k].Limits.ReadRTTPS = r.ReadRTT(i, n)
		}
		along(src, to.Requester, there, dst)
		if reads[i] || both[i] {
			along(dst, to.QP, back, src)
		}
	}
}

// reads says of each connection whether READs are posted on it: the responder
// sends data then.
func (r *runner) reads() []bool {
	out := make([]bool, len(r.Valid.Plan.Conns))
	for i := range r.Valid.Plan.Series {
		m := &r.Valid.Plan.Series[i].Message
		out[m.Conn] = out[m.Conn] || m.Verb == workload.Read
	}
	return out
}

// bothWays says of each connection whether it carries messages back as well.
func bothWays(plan *workload.Plan) []bool {
	out := make([]bool, len(plan.Conns))
	for i := range plan.Series {
		m := &plan.Series[i]
		out[m.Conn] = out[m.Conn] || m.Back
	}
	return out
}

// firstAsked is the first READ or atomic of each connection, nil without one.
func (r *runner) firstAsked() []*workload.Message {
	out := make([]*workload.Message, len(r.Valid.Plan.Conns))
	for i := range r.Valid.Plan.Series {
		m := &r.Valid.Plan.Series[i].Message
		if out[m.Conn] == nil && (m.Verb == workload.Read || m.Verb.Atomic()) {
			out[m.Conn] = m
		}
	}
	return out
}

func (r *runner) pathHop(h topology.Hop) record.PathHop {
	end := r.Valid.Graph.Nodes[h.Node].Ports[h.Port]
	return record.PathHop{
		Port: r.portName(h.Node, h.Port), Peer: r.portName(end.Peer, end.PeerPort),
		RateBps: r.Valid.Graph.LinkAt(h.Node, h.Port).Rate,
	}
}
