package run

import (
	"slices"
	"sort"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// recordPaths completes the limits of each requester with its path, the idle
// round trip on it and how fast the receiving host takes data.
func (r *runner) recordPaths(out *record.Run, rows *qpRows) {
	g := r.Valid.Graph
	reads, both, first := r.reads(), bothWays(r.Valid.Plan), r.firstAsked()
	hops := hops{runner: r, known: map[hopKey]*record.PathHop{}}
	var there, back []topology.Hop // room for them
	for i := range r.Valid.Plan.Conns {
		c := &r.Valid.Plan.Conns[i]
		there, back = r.AppendPath(there, back, i)
		if c.Path == nil && r.hashed(c.Dst, there) {
			out.HashedFlows++
		}
		to := r.Responders[i]
		along := func(node int, qp uint32, path []topology.Hop, receiver int) {
			q := rows.find(node, qp)
			if q == nil {
				return
			}
			l := &q.Limits
			l.Path = hops.appendTo(l.Path, i, path)
			l.BaseRTTPS = r.BaseRTT(i, there, back)
			l.DrainBps = r.Valid.NICs[receiver].DrainRate
		}
		src, dst := g.Endpoints[c.Src].Node, g.Endpoints[c.Dst].Node
		if first[i] != nil {
			if q := rows.find(src, to.Requester); q != nil {
				n := min(first[i].Bytes, r.Valid.Transports[r.Valid.NICs[src].Transport].MTU)
				if first[i].Verb.Atomic() {
					n = 0
				}
				q.Limits.ReadRTTPS = r.ReadRTT(i, n)
			}
		}
		along(src, to.Requester, there, dst)
		if reads[i] || both[i] {
			along(dst, to.QP, back, src)
		}
	}
}

// hashed reports whether a switch on a way to an endpoint chose by a hash that depends on the seed
// among several ports.
func (r *runner) hashed(to int, way []topology.Hop) bool {
	for _, h := range way {
		if r.Valid.Graph.Nodes[h.Node].Kind == topology.Switch && r.Valid.Switches[h.Node].ByOwnHash() &&
			len(r.Valid.Routes.Lookup(h.Node, to)) > 1 {
			return true
		}
	}
	return false
}

// qpRows finds the rows of queue pairs, which stand host by host in order of their numbers.
type qpRows struct {
	all   []record.QP
	first []int // by node; one more at the end
}

// find is the row of a queue pair; nil: it was never used.
func (r *qpRows) find(node int, qp uint32) *record.QP {
	of := r.all[r.first[node]:r.first[node+1]]
	k := sort.Search(len(of), func(k int) bool { return of[k].QP >= int(qp) })
	if k == len(of) || of[k].QP != int(qp) {
		return nil
	}
	return &of[k]
}

// hops are those of all paths, which share them: a million paths go over a few thousand
// ports.
type hops struct {
	*runner
	known map[hopKey]*record.PathHop
}

type hopKey struct {
	at      topology.Hop
	loop    units.Time
	packets int64
}

// appendTo appends a path of connection i to a list of hops.
func (h *hops) appendTo(list []*record.PathHop, i int, path []topology.Hop) []*record.PathHop {
	list = slices.Grow(list, len(path))
	for k := range path {
		key := hopKey{at: path[k]}
		key.loop, key.packets, _ = h.CreditLoop(i, path, k)
		hop := h.known[key]
		if hop == nil {
			hop = h.pathHop(path[k])
			hop.CreditLoopPS, hop.CreditPackets = key.loop, key.packets
			h.known[key] = hop
		}
		list = append(list, hop)
	}
	return list
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

func (r *runner) pathHop(h topology.Hop) *record.PathHop {
	end := r.Valid.Graph.Nodes[h.Node].Ports[h.Port]
	return &record.PathHop{
		Port: r.portID(h.Node, h.Port), Peer: r.portID(end.Peer, end.PeerPort),
		RateBps: r.Valid.Graph.LinkAt(h.Node, h.Port).Rate,
	}
}
