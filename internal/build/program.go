package build

import (
	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Make is the work request of a message of a program, for its host, which numbers them.
func (b *builder) Make(program int, id uint32, m *workload.Message) nic.Post {
	if p := b.v.Plan.Programs[program]; p.Pairs != nil {
		_, news, _, to := p.Pairs.Carrier(int32(m.Conn))
		key := b.memory[p.Ranks[to].Host].key
		return nic.Post{WR: rdma.WorkRequest{ID: id, Verb: rdma.Verb(m.Verb), Bytes: m.Bytes,
			Inline: b.pairKinds[program][to].inline && news, VA: memoryBase, RKey: key}}
	}
	c := &b.v.Plan.Conns[m.Conn]
	wr := rdma.WorkRequest{ID: id, Verb: rdma.Verb(m.Verb), Bytes: m.Bytes, Fence: c.Fence, Inline: c.Inline,
		VA: memoryBase, RKey: b.regionKey[m.Conn]}
	return nic.Post{QP: b.Responders[m.Conn].Requester, WR: wr}
}

// programs gives hosts their ranks of programs, the ways of what those move inside, and the
// connections of their edges.
func (b *builder) programs(specs []nic.Spec) {
	plan := b.v.Plan
	shared := nic.NewPrograms(plan)
	if shared != nil {
		shared.Lossy = b.mayLose()
	}
	for i, j := range plan.Jobs {
		for r := range j.Ranks {
			s := &specs[j.Ranks[r].Host]
			s.Programs = shared
			s.JobRanks = append(s.JobRanks, nic.JobRank{Job: int32(i), Rank: int32(r)})
			for _, ways := range j.Ways {
				b.programChain(s, j.Ranks[r].Host, ways[r].From, ways[r].To)
			}
		}
	}
	b.pairKinds = make([][]pairKinds, len(plan.Programs))
	for i, p := range plan.Programs {
		if p.Pairs != nil {
			b.pairsOf(specs, p, i)
		}
		for r := range p.Ranks {
			s := &specs[p.Ranks[r].Host]
			s.Programs = shared
			s.Ranks = append(s.Ranks, nic.ProgramRank{Program: int32(i), Rank: int32(r)})
		}
		for k := range p.Edges {
			b.programEdge(specs, p, int32(i), int32(k))
		}
		for _, m := range p.Moves {
			b.programChain(&specs[m.Host], m.Host, m.From, m.To)
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
		sequence := nic.ProgramSequence(program, edge, c.news, p.Slots)
		specs[b.g.Endpoints[conn.Src].Node].QPs[at.Requester].Posting = sequence
		specs[at.Node].QPs[at.QP].Accepting = sequence
	}
}

// programChain is the way from a device of a host to another.
func (b *builder) programChain(s *nic.Spec, node int, from, to int16) {
	if from == workload.NoDevice || to == workload.NoDevice || from == to || !b.Fold.Runs(node) {
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

// pairKinds are the kinds of queue pairs that a rank has in a program that makes them: of data
// and of news of slots, at the end that posts and at the other.
type pairKinds struct {
	posts, takes [2]*nic.QPKind
	inline       bool
}

// pairsOf makes the kinds of queue pairs of a program's ranks, and the ways of what those move.
func (b *builder) pairsOf(specs []nic.Spec, p *workload.Program, program int) {
	kinds := make([]pairKinds, len(p.Ranks))
	b.pairKinds[program] = kinds
	far := len(p.Ranks) - 1
	for r := range p.Ranks {
		peer := far
		if p.Ranks[r].Host == p.Ranks[far].Host {
			peer = 0
		}
		if p.Ranks[r].Host == p.Ranks[peer].Host {
			continue // one host
		}
		for k, news := range []bool{false, true} {
			there, back := p.Pairs.Conn(int32(r), int32(peer), news), p.Pairs.Conn(int32(peer), int32(r), news)
			kinds[r].posts[k], _ = b.kindsOf(&there, p.Conn, pairRegion(p, news))
			_, kinds[r].takes[k] = b.kindsOf(&back, p.Conn, pairRegion(p, news))
			kinds[r].inline = there.Inline
		}
	}
	b.chainsOf(specs, p)
}

// pairRegion is the memory of a connection's messages.
func pairRegion(p *workload.Program, news bool) units.Bytes {
	if news {
		return p.SlotBytes
	}
	return p.Most
}

// chainsOf makes the ways between all ranks of a host, and through the memory between them.
func (b *builder) chainsOf(specs []nic.Spec, p *workload.Program) {
	byHost := make(map[int][]int16)
	for r := range p.Ranks {
		byHost[p.Ranks[r].Host] = append(byHost[p.Ranks[r].Host], p.Ranks[r].Device)
	}
	for r := range p.Ranks {
		host, from := p.Ranks[r].Host, p.Ranks[r].Device
		for _, to := range byHost[host] {
			b.programChain(&specs[host], host, from, to)
		}
		for _, memory := range p.Memories[host] {
			b.programChain(&specs[host], host, from, memory)
			b.programChain(&specs[host], host, memory, from)
		}
	}
}

// PairKind implements nic.Requests.
func (b *builder) PairKind(program int, conn int32, requester bool) *nic.QPKind {
	_, news, from, to := b.v.Plan.Programs[program].Pairs.Carrier(conn)
	if requester {
		return b.pairKinds[program][from].posts[index(news)]
	}
	return b.pairKinds[program][to].takes[index(news)]
}

// Pair implements nic.Requests.
func (b *builder) Pair(program int, conn int32, requester bool) (s nic.QPSpec, messages int) {
	p := b.v.Plan.Programs[program]
	edge, news, from, to := p.Pairs.Carrier(conn)
	var e workload.ProgramEdge
	p.Pairs.Edge(edge, &e)
	messages = e.Units * p.Iterations
	if news {
		messages -= p.Slots
	}
	number := uint32(conn)
	for _, before := range b.v.Plan.Programs[:program] {
		number += uint32(before.Conns)
	}
	kinds, sequence := b.pairKinds[program], nic.ProgramSequence(int32(program), edge, news, 0)
	src, dst, port := p.Endpoints[from], p.Endpoints[to], p.Pairs.Port(conn)
	s = nic.QPSpec{QPKind: kinds[from].posts[index(news)], Posting: sequence}
	if !requester {
		s = nic.QPSpec{QPKind: kinds[to].takes[index(news)], Accepting: sequence}
		src, dst, to = dst, src, from
	}
	s.PeerHost, s.PeerQP = b.g.Nodes[p.Ranks[to].Host].Name, nic.PairNumber(number)
	s.Hash, s.Dst, s.Conn = fiveTuple(src, dst, port), uint32(dst), uint32(p.Conn)
	return s, messages
}

// mayLose reports whether the network may lose packets: a link does, or a port that may drop.
func (b *builder) mayLose() bool {
	for l := range b.g.Links {
		if k := &b.g.Links[l]; k.Loss > 0 || k.BER > 0 || k.DropEvery > 0 || len(k.Outages) > 0 {
			return true
		}
	}
	classes := uint16(0)
	for i := range b.v.Plan.Conns {
		classes |= 1 << b.v.Plan.Conns[i].Class
	}
	for node := range b.g.Nodes {
		for local := range b.g.Nodes[node].Ports {
			if p := b.portParams(node, local); p.Credit == nil && classes&^uint16(p.PFC.Enabled) != 0 {
				return true
			}
		}
	}
	return false
}
