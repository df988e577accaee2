package build

import (
	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/workload"
)

// Make is the work request of a message of a program, for its host, which numbers them.
func (b *builder) Make(id uint32, m *workload.Message) nic.Post {
	c := &b.v.Plan.Conns[m.Conn]
	wr := rdma.WorkRequest{ID: id, Verb: rdma.Verb(m.Verb), Bytes: m.Bytes, Fence: c.Fence, Inline: c.Inline, VA: memoryBase, RKey: b.regionKey[m.Conn]}
	return nic.Post{QP: b.Responders[m.Conn].Requester, WR: wr}
}

// programs gives hosts their ranks of programs, the ways of what those move inside, and the
// connections of their edges.
func (b *builder) programs(specs []nic.Spec) {
	plan := b.v.Plan
	shared := nic.NewPrograms(plan)
	for i, p := range plan.Programs {
		for r := range p.Ranks {
			s := &specs[p.Ranks[r].Host]
			s.Programs = shared
			s.Ranks = append(s.Ranks, nic.ProgramRank{Program: int32(i), Rank: int32(r)})
		}
		for k := range p.Edges {
			b.programEdge(specs, p, int32(i), int32(k))
		}
	}
}

// programEdge makes what an edge of a program goes over.
func (b *builder) programEdge(specs []nic.Spec, p *workload.Program, program, edge int32) {
	e := &p.Edges[edge]
	from, to := &p.Ranks[e.From], &p.Ranks[e.To]
	b.programChain(&specs[from.Host], from.Host, from.Device, e.Next)
	b.programChain(&specs[to.Host], to.Host, e.Memory, to.Device)
	for _, c := range [...]struct {
		conn int32
		news bool
	}{{e.Conn, false}, {e.Back, true}} {
		if c.conn < 0 {
			continue
		}
		conn, at := &b.v.Plan.Conns[c.conn], &b.Responders[c.conn]
		sequence := nic.ProgramSequence(program, edge, c.news)
		specs[b.g.Endpoints[conn.Src].Node].QPs[at.Requester].Posting = sequence
		specs[at.Node].QPs[at.QP].Accepting = sequence
	}
}

// programChain is the way from a device of a host to another.
func (b *builder) programChain(s *nic.Spec, node int, from, to int16) {
	if from == workload.NoDevice || to == workload.NoDevice || from == to {
		return
	}
	n := len(b.Servers[node].Tree().Devices)
	if s.Chains == nil {
		s.Chains = make([]*dma.Chain, n*n)
	}
	if c := &s.Chains[int(from)*n+int(to)]; *c == nil {
		*c = b.copyChain(&workload.Local{Host: node, From: from, To: to})
	}
}
