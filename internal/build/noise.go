package build

import (
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/topology"
)

// noise is what the times of frames vary by that a node sends to peer.
func (b *builder) noise(node, peer int) fabric.Noise {
	v := &b.v.Noise
	n := fabric.Noise{Slow: b.clock(node)}
	if b.g.Nodes[node].Kind == topology.Host {
		n.Dispatch = v.Card
	}
	if b.g.Nodes[peer].Kind == topology.Switch {
		n.Pipeline = b.v.NoiseAt(peer).Pipeline
	}
	return n
}

// clock is how many parts per million a node's clock is slow: drawn once, the same for all
// its ports.
func (b *builder) clock(node int) int {
	most := b.v.Noise.Clocks
	if most == 0 {
		return 0
	}
	r := rng.New(b.v.Seed, "clock/"+b.g.Nodes[node].Name)
	return r.IntN(2*most+1) - most
}

// processors are those of a host, which interrupts and wakeups reach late.
func (b *builder) processors(node int) host.Spec {
	s := b.v.NICs[node].Host.Spec
	s.Late, s.Seed, s.Name = b.v.Noise.Host, b.v.Seed, b.g.Nodes[node].Name
	return s
}
