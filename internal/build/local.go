package build

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/workload"
)

// startLocals gives each host its local operations that wait for nothing but time.
func (b *builder) startLocals(specs []nic.Spec) {
	for i := range b.v.Plan.Locals {
		if l := &b.v.Plan.Locals[i]; !l.Awaits {
			specs[l.Host].Locals = append(specs[l.Host].Locals, uint32(i))
		}
	}
}

// moveLocals gives local operations that move data from one device to another their
// chains, one for each pair of devices: over NVLink where that joins them.
func (b *builder) moveLocals(triggers *nic.Triggers) {
	chains := make([][]*dma.Chain, len(b.g.Nodes)) // by host, and by both devices
	for i := range b.v.Plan.Locals {
		l := &b.v.Plan.Locals[i]
		if l.From == l.To {
			continue
		}
		devices := len(b.Servers[l.Host].Tree().Devices)
		if chains[l.Host] == nil {
			chains[l.Host] = make([]*dma.Chain, devices*devices)
		}
		c := &chains[l.Host][int(l.From)*devices+int(l.To)]
		if *c == nil {
			*c = b.copyChain(l)
		}
		triggers.Move(i, *c)
	}
}

// copyChain is the way of a local operation's data.
func (b *builder) copyChain(l *workload.Local) *dma.Chain {
	e := b.Servers[l.Host]
	c, err := e.NVChain(int(l.From), int(l.To))
	if err != nil {
		c, err = e.Chain(int(l.From), int(l.To))
	}
	if err != nil {
		panic(fmt.Sprintf("build: BUG: unchecked path inside %s: %v", e.Tree().Name, err))
	}
	return &c
}
