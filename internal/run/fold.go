package run

import (
	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// differs reports whether servers have come to differ from those that run for them, so that what follows is in
// vain. It looks each time that the run has become a thirty-second longer.
func (r *runner) differs() bool {
	if r.Fold == nil || r.Engine.Events() < r.look {
		return false
	}
	r.look = r.Engine.Events()*33/32 + 10_000
	return !r.Unfolds()
}

// unfoldPort makes the row of a port that stands for others that of one of them.
func (r *runner) unfoldPort(at build.Place, p *record.Port) {
	if r.Fold == nil {
		return
	}
	end := r.Valid.Graph.Nodes[at.Node].Ports[at.Local]
	p.Node, p.Port, p.Peer = r.Valid.Graph.Nodes[at.Node].Name, at.Local+1, r.portID(end.Peer, end.PeerPort)
	if p.Limits.XOFF != nil && r.Valid.Graph.Nodes[at.Node].Kind == topology.Switch {
		p.Limits.XOFF = r.Nets[at.Part].NearestXOFF(at.Index, uint8(p.Class), r.ImageAt(at.Node, at.Local))
	}
}

// foldedPairs are the rows of the queue pairs of hosts that run, and which of them each host's queue pairs
// are images of.
type foldedPairs struct {
	*runner
	rows  []map[int]record.QP // by node, then number; looked up, never iterated
	pairs [][]pairEnd         // by node, in the order of their numbers
}

// pairEnd is one of a connection's queue pairs.
type pairEnd struct {
	conn      int
	requester bool
}

// foldedPairs finds them; nil: all hosts run.
func (r *runner) foldedPairs(end units.Time) *foldedPairs {
	if r.Fold == nil {
		return nil
	}
	x := &foldedPairs{runner: r, rows: make([]map[int]record.QP, len(r.Hosts)), pairs: make([][]pairEnd, len(r.Hosts))}
	for node, h := range r.Hosts {
		if h == nil || !r.Fold.Runs(node) {
			continue
		}
		x.rows[node] = make(map[int]record.QP)
		for _, q := range h.QPs(end) {
			x.rows[node][q.QP] = q
		}
	}
	for i := range r.Valid.Plan.Conns {
		src := r.Valid.Graph.HostOf(r.Valid.Plan.Conns[i].Src)
		x.pairs[src] = append(x.pairs[src], pairEnd{i, true})
		x.pairs[r.Responders[i].Node] = append(x.pairs[r.Responders[i].Node], pairEnd{i, false})
	}
	return x
}

// append appends the rows of a host's queue pairs.
func (x *foldedPairs) append(out []record.QP, node int) []record.QP {
	for number, p := range x.pairs[node] {
		like := int(x.Fold.Responder[p.conn])
		if p.requester {
			like = int(x.Fold.Requester[p.conn])
		}
		at, of := x.Responders[p.conn], x.Responders[like]
		host, qp, peer, far := of.Node, of.QP, x.Valid.Graph.HostOf(x.Valid.Plan.Conns[p.conn].Src), at.Requester
		if p.requester {
			host, qp, peer, far = x.Valid.Graph.HostOf(x.Valid.Plan.Conns[like].Src), of.Requester, at.Node, at.QP
		}
		row, used := x.rows[host][int(qp)]
		if !used {
			continue
		}
		row.Host, row.QP, row.Workload = x.Valid.Graph.Nodes[node].Name, number, x.Valid.Plan.EntryName(p.conn)
		row.Peer = record.QPAt(row.Service, x.Valid.Graph.Nodes[peer].Name, int(far))
		out = append(out, row)
	}
	return out
}
