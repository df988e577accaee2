package build

import (
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// memory is what a host has registered: one region that covers the largest
// message, for all its connections.
type memory struct {
	*rdma.Memory
	key uint32
}

// registerRegions gives the connections whose region the scenario states one of
// their own at the responder.
func (b *builder) registerRegions() {
	plan := b.v.Plan
	b.regionKey = make([]uint32, len(plan.Conns))
	b.regionSize = make([]units.Bytes, len(plan.Conns))
	for i := range plan.Series {
		s := &plan.Series[i]
		b.regionSize[s.Conn] = max(b.regionSize[s.Conn], plan.Conns[s.Conn].Region, s.Reach())
	}
	for _, p := range plan.Programs {
		for k := range p.Edges {
			if e := &p.Edges[k]; e.Conn >= 0 {
				b.regionSize[e.Conn] = e.Most
			}
			if e := &p.Edges[k]; e.Back >= 0 {
				b.regionSize[e.Back] = p.SlotBytes
			}
		}
	}
	for i := range plan.Conns {
		c := &plan.Conns[i]
		m := &b.memory[b.g.Endpoints[c.Dst].Node]
		b.regionKey[i] = m.key
		if c.Region > 0 {
			b.regionKey[i] = mustRegister(m.Memory, rdma.Region{Base: memoryBase, Length: uint64(c.Region), Access: rdma.RemoteAll})
		}
	}
}

// memoryBase is the address of every host's region, aligned to the largest page.
const memoryBase = 1 << 30

// registerMemory gives every host its region, which all messages of connections
// without one of their own fit into.
func (b *builder) registerMemory() {
	b.memory = make([]memory, len(b.g.Nodes))
	length := rdma.MaxMessage
	for i := range b.v.Plan.Series {
		length = max(length, b.v.Plan.Series[i].Reach())
	}
	for node := range b.g.Nodes {
		if b.g.Nodes[node].Kind == topology.Host {
			m := memory{Memory: new(rdma.Memory)}
			m.key = mustRegister(m.Memory, rdma.Region{Base: memoryBase, Length: uint64(length), Access: rdma.RemoteAll})
			b.memory[node] = m
		}
	}
	b.registerRegions()
	if b.v.CarryData {
		b.carry()
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
	a := rdma.RemoteAll
	for _, right := range []struct {
		denied workload.Access
		flag   rdma.Access
	}{{workload.RemoteWrite, rdma.RemoteWrite}, {workload.RemoteRead, rdma.RemoteRead}, {workload.RemoteAtomic, rdma.RemoteAtomic}} {
		if c.Denied&right.denied != 0 {
			a &^= right.flag
		}
	}
	return a
}

// address fills in the memory that the work request of message i names.
func (b *builder) address(wr *rdma.WorkRequest, i int, m *workload.Message) {
	wr.VA, wr.RKey = memoryBase+uint64(m.Offset), b.remoteKey(i, m)
	if b.v.Plan.Conns[m.Conn].WrongRKey {
		wr.RKey = outdated(wr.RKey)
	}
}

// outdated is a key of the same region that is out of date: its variant differs.
func outdated(key uint32) uint32 { return key ^ 0x5a }
