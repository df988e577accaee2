package build

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// inside is the inside of one host while its queue pairs are connected.
type inside struct {
	engine *dma.Engine
	// chains of the host by their ends and use, for queue pairs to share. With an IOMMU
	// each has its own, because it matters where in memory a chain goes on.
	chains map[way]*dma.Chain
}

// way is from one device to another. What queues of work requests and completions lie in
// has a way of its own: payload is not read behind a work request that is still to be
// asked for.
type way struct {
	from, to int
	queues   bool
}

// hasServer reports whether a node is a host whose inside is modelled.
func (b *builder) hasServer(node int) bool {
	return b.g.Nodes[node].Kind == topology.Host && b.v.NICs[node].Server != nil
}

// buildServers makes the insides of hosts, each its own.
func (b *builder) buildServers() {
	b.Servers = make([]*dma.Engine, len(b.g.Nodes))
	b.insides = make([]inside, len(b.g.Nodes))
	for node := range b.g.Nodes {
		if b.hasServer(node) && b.Fold.Runs(node) {
			b.Servers[node] = dma.New(b.v.NICs[node].Server)
			b.insides[node] = inside{engine: b.Servers[node], chains: make(map[way]*dma.Chain)}
		}
	}
}

// chain returns the chain from one device of a host to another, for data.
func (x *inside) chain(from, to int) *dma.Chain { return x.over(way{from: from, to: to}) }

// over returns the chain of a way.
func (x *inside) over(key way) *dma.Chain {
	if c := x.chains[key]; c != nil && !x.engine.Tree().IOMMU {
		return c
	}
	c, err := x.engine.Chain(key.from, key.to)
	if err != nil {
		panic(fmt.Sprintf("build: BUG: unchecked path inside %s: %v", x.engine.Tree().Name, err))
	}
	x.chains[key] = &c
	return &c
}

// memoryPath is the way between the card of an endpoint and the memory of the data
// there: that of a GPU, or where none is named, or they are staged, of the card's socket.
func (b *builder) memoryPath(end topology.Endpoint, device int16, staged bool) nic.MemoryPath {
	x := &b.insides[end.Node]
	if x.engine == nil {
		return nic.MemoryPath{}
	}
	t := x.engine.Tree()
	card := t.Nets[end.Port].Card
	host := t.DRAMOf(card)
	memory := host
	if device != workload.NoDevice && !(staged && t.Devices[device].Kind == server.GPU) {
		memory = int(device)
	}
	m := nic.MemoryPath{Read: x.chain(memory, card), Write: x.chain(card, memory),
		Work: x.over(way{host, card, true}), Entry: x.over(way{card, host, true})}
	if staged && t.Devices[device].Kind == server.GPU {
		gpu := int(device)
		m.Out, m.In = x.engine.StageOut(x.chain(gpu, host), gpu), x.engine.StageIn(x.chain(host, gpu), gpu)
	}
	return m
}

// socketPath is the way between the card of an endpoint and a socket's buffers there, in
// the memory of the card's socket. What lies in a GPU is staged.
func (b *builder) socketPath(end topology.Endpoint, device int16) nic.MemoryPath {
	x := &b.insides[end.Node]
	if x.engine == nil || device == workload.NoDevice || x.engine.Tree().Devices[device].Kind != server.GPU {
		device = workload.NoDevice
	}
	return b.memoryPath(end, device, device != workload.NoDevice)
}

// stagedConfig is the transport of what is staged by a host: buffers are free when what
// they hold is acknowledged, so it asks for that once per chunk at least, as if each
// were a message of its own.
func stagedConfig(c *rdma.Config, chunk units.Bytes) *rdma.Config {
	own := *c
	own.AckEvery = min(own.AckEvery, max(1, int(chunk/own.MTU)))
	return &own
}
