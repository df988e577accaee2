package build

import (
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/topology"
)

// wire joins the queue pairs of hosts that run with each other: what leads to a host that does not run
// leads to its image that does, as if it came from an image of the sender.
func (b *builder) wire(specs []nic.Spec) {
	if b.Fold == nil {
		return
	}
	plan := b.v.Plan
	for i := range plan.Conns {
		from := b.g.HostOf(plan.Conns[i].Src)
		if !b.Fold.Runs(from) {
			continue
		}
		// Connection k is the image of i whose responder runs.
		k := i
		for !b.Fold.Runs(b.Responders[k].Node) {
			k = b.Fold.Next(k)
		}
		there, back := &b.Responders[k], &b.Responders[i]
		requester, responder := &specs[from].QPs[back.Requester], &specs[there.Node].QPs[there.QP]
		requester.PeerQP, requester.Dst, requester.Posting = there.QP, uint32(plan.Conns[k].Dst), responder.Accepting
		responder.PeerQP, responder.Dst = back.Requester, uint32(plan.Conns[i].Src)
		b.regionKey[i] = b.regionKey[k]
	}
}

// fold has hosts and ports that run stand for the others.
func (b *builder) fold() {
	f := b.Fold
	if f == nil {
		return
	}
	var blocks []uint32
	for _, node := range f.Blocks {
		blocks = append(blocks, b.source[node])
	}
	for _, n := range b.Nets {
		n.Fold(f.Images, len(b.Place), blocks)
	}
	for node, members := range f.Members {
		if members == nil {
			continue
		}
		for local, x := range b.g.Nodes[node].Ports {
			var host, peer []uint32
			for _, to := range members[1:] {
				y := b.g.Nodes[to].Ports[local]
				host, peer = append(host, uint32(b.port[to]+local)), append(peer, uint32(b.port[y.Peer]+y.PeerPort))
			}
			b.stand(b.port[node]+local, host)
			b.stand(b.port[x.Peer]+x.PeerPort, peer)
		}
		for _, to := range members[1:] {
			b.Hosts[to], b.Servers[to] = b.Hosts[node], b.Servers[node]
		}
	}
}

// stand has a port stand for others, all by their global numbers.
func (b *builder) stand(port int, others []uint32) {
	place := b.Place[port]
	b.Nets[place.Part].Stand(place.Index, others)
	for _, id := range others {
		b.Place[id].Part, b.Place[id].Index = place.Part, place.Index
	}
}

// ImageAt is which image a port of a switch leads to, or a host is.
func (w *World) ImageAt(node, local int) int {
	if w.Valid.Graph.Nodes[node].Kind == topology.Host {
		return w.Fold.Image[node]
	}
	return max(0, w.Fold.Image[w.Valid.Graph.Nodes[node].Ports[local].Peer])
}

// Far is the global number of the port at the other end of a port's link.
func (w *World) Far(at Place) uint32 {
	if w.Fold == nil {
		return w.Nets[at.Part].Far(at.Index)
	}
	x := w.Valid.Graph.Nodes[at.Node].Ports[at.Local]
	id := x.PeerPort
	for i := range x.Peer {
		id += len(w.Valid.Graph.Nodes[i].Ports)
	}
	return uint32(id)
}

// ProgramSums is what the host of a node kept of a program; nil: it has none of its ranks.
func (w *World) ProgramSums(node, program int) *nic.ProgramSums {
	if w.Hosts[node] == nil {
		return nil
	}
	return w.Hosts[node].ProgramSums(w.Fold.Program(node, program))
}

// jobAt is the host that runs a rank of a job, or one that does the same, and which rank that is.
func (w *World) jobAt(job, rank int) (*nic.Host, int) {
	h := w.Hosts[w.Valid.Plan.Jobs[job].Ranks[rank].Host]
	if w.Fold != nil {
		rank = int(w.Fold.JobRanks[job][rank])
	}
	return h, rank
}

// JobRuns is when the operations of a rank of a job ran, in the first step that was not dropped; nil: it has none.
func (w *World) JobRuns(job, rank int) []nic.JobRun {
	h, at := w.jobAt(job, rank)
	return h.JobRuns(job, at)
}

// JobStep is how many steps a rank of a job is through with.
func (w *World) JobStep(job, rank int) int {
	h, at := w.jobAt(job, rank)
	return h.JobStep(job, at)
}

// DropJobRuns drops what JobRuns returns of a rank, and of those that do the same.
func (w *World) DropJobRuns(job, rank int) {
	if h, at := w.jobAt(job, rank); at == rank {
		h.DropJobRuns(job, at)
	}
}

// Unfolds reports whether nothing has happened for which hosts differ from those that run for them.
func (w *World) Unfolds() bool {
	for _, n := range w.Nets {
		if !n.Unfolds() {
			return false
		}
	}
	none := make([]uint64, len(w.Valid.Plan.Conns)/64+1)
	for node, h := range w.Hosts {
		if h != nil && w.Fold.Runs(node) && len(h.AppendActs(nil, none)) > 0 {
			return false
		}
	}
	return true
}
