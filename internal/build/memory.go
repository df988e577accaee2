package build

import (
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/workload"
)

// memory is what a host has registered: one region that covers the largest
// message, for all its connections.
type memory struct {
	*rdma.Memory
	key uint32
}

// memoryBase is the address of every host's region.
const memoryBase = 0x10000

// registerMemory gives every host its region.
func (b *builder) registerMemory() {
	b.memory = make([]memory, len(b.g.Nodes))
	for node := range b.g.Nodes {
		if b.g.Nodes[node].Kind == topology.Host {
			m := memory{Memory: new(rdma.Memory)}
			m.key = mustRegister(m.Memory, rdma.Region{Base: memoryBase, Length: uint64(rdma.MaxMessage), Access: rdma.RemoteAll})
			b.memory[node] = m
		}
	}
}

func mustRegister(m *rdma.Memory, r rdma.Region) uint32 {
	key, err := m.Register(r)
	if err != nil {
		panic("build: BUG: " + err.Error())
	}
	return key
}

// access is what a connection's queue pairs let their peers ask for.
func access(c *workload.Conn) rdma.Access {
	if c.NoRemoteWrite {
		return rdma.RemoteAll &^ rdma.RemoteWrite
	}
	return rdma.RemoteAll
}

// address fills in the memory that a work request of connection conn names.
func (b *builder) address(wr *rdma.WorkRequest, conn int) {
	c := &b.v.Plan.Conns[conn]
	wr.VA, wr.RKey = memoryBase, b.memory[b.g.Endpoints[c.Dst].Node].key
	if c.WrongRKey {
		wr.RKey ^= 0x5a // a key that is out of date
	}
}
