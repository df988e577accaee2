package build

import (
	"slices"

	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/workload"
)

// qKey is every UD queue pair's; what RDMA performance tests use.
const qKey = 0x11111111

// Post is the work request of message i, for its host.
func (b *builder) Post(i uint32) nic.Post {
	m := b.v.Plan.At(int(i))
	return b.post(int(i), &m)
}

// post is the work request of message i. Immediate data is the message's number;
// CMP_SWAP puts 1 in place of 0, and FETCH_ADD adds 1.
func (b *builder) post(i int, m *workload.Message) nic.Post {
	c := &b.v.Plan.Conns[m.Conn]
	wr := rdma.WorkRequest{ID: uint32(i), Verb: rdma.Verb(m.Verb), Bytes: m.Bytes, Fence: c.Fence, Inline: c.Inline}
	switch m.Verb {
	case workload.WriteImm, workload.SendImm:
		wr.Imm = uint32(i)
	case workload.SendInv:
		wr.Imm = b.invalid[i]
		if c.WrongRKey {
			wr.Imm = outdated(wr.Imm)
		}
	case workload.CompareSwap, workload.FetchAdd:
		wr.Swap = 1
	}
	b.address(&wr, i, m)
	b.carried(&wr, i)
	if c.Service == workload.UD {
		wr.AH = b.handles[m.Conn]
	}
	qp := b.Responders[m.Conn].Requester
	if m.Back {
		qp = b.Responders[m.Conn].QP
	}
	return nic.Post{At: m.Start, QP: qp, WR: wr}
}

// lendKeys registers, for each message that takes a region at the responder back, that
// region, as a client does that had lent it out for one request.
func (b *builder) lendKeys() {
	plan := b.v.Plan
	if !slices.ContainsFunc(plan.Series, func(s workload.Series) bool { return s.Verb == workload.SendInv }) {
		return
	}
	b.invalid = make([]uint32, plan.Len())
	for i, m := range plan.All() {
		if m.Verb == workload.SendInv {
			memory := b.memory[b.g.Endpoints[plan.Conns[m.Conn].Dst].Node].Memory
			b.invalid[i] = mustRegister(memory, rdma.Region{Base: memoryBase, Length: 1, Access: rdma.RemoteAll, Invalidatable: true})
		}
	}
}

// handle is the address handle of a UD connection, one for all its messages.
func (b *builder) handle(conn int, data packet.Packet) {
	if b.handles == nil {
		b.handles = make([]*rdma.AddressHandle, len(b.v.Plan.Conns))
	}
	b.handles[conn] = &rdma.AddressHandle{Data: data, QKey: qKey}
}

// shareReceives makes the receive queues that several connections share.
func (b *builder) shareReceives() {
	plan := b.v.Plan
	b.srqs = make([]*rdma.ReceiveQueue, len(plan.SRQs))
	for i := range plan.Conns {
		if c := &plan.Conns[i]; c.SRQ > 0 && b.srqs[c.SRQ-1] == nil {
			b.srqs[c.SRQ-1] = rdma.NewReceiveQueue(int64(plan.SRQs[c.SRQ-1].Receives), c.ReceiveSize)
		}
	}
}

// rdAtomic is how many READs and atomics a connection may have outstanding: what
// its requester wants or its responder has room for, whichever is less, as
// connection managers agree (IBTA 12.7.29, 12.7.30).
func (b *builder) rdAtomic(c *workload.Conn) uint8 {
	src, dst := b.g.Endpoints[c.Src].Node, b.g.Endpoints[c.Dst].Node
	return min(b.v.NICs[src].MaxRdAtomic, b.v.NICs[dst].MaxDestRdAtomic)
}
