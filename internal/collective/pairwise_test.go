package collective

import (
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// ranksOf are GPUs, one for each port, of hosts.
func ranksOf(hosts, gpus int) (ranks []Rank) {
	for h := range hosts {
		for g := range gpus {
			ranks = append(ranks, Rank{Endpoint: h*gpus + g, Host: h, Device: int16(g)})
		}
	}
	return ranks
}

// The channels of point-to-point operations are those that NCCL's logs have: "32 p2p
// channels, 32 p2p channels per peer" on one server with NVSwitch, A100 or H100, "16
// p2p channels, 2 p2p channels per peer" on two with 8 cards of 25 GB/s and more each,
// and with 64 ranks 1 per peer (ncclTopoGetNchannels of 2.21). A 64 MiB part stays on 4
// channels, as 4 x 8 ranks are 32 and a part may have 32 steps of 512 KiB.
func TestPeers(t *testing.T) {
	h100 := Speeds{Intra: 370, Inter: 400, NVLink: true, NVSwitch: true, Generation: Hopper}
	a100 := Speeds{Intra: 240, Inter: 200, NVLink: true, NVSwitch: true, Generation: Ampere}
	pcie := Speeds{Intra: 24, Inter: 200}
	for _, c := range []struct {
		name           string
		spec           Spec
		channels, each int
		bytes          units.Bytes
		parts          int
	}{
		{"one DGX H100", Spec{Ranks: ranksOf(1, 8), Speeds: h100}, 32, 32, 64 * units.MiB, 4},
		{"one DGX H100, more", Spec{Ranks: ranksOf(1, 8), Speeds: h100}, 32, 32, 256 * units.MiB, 16},
		{"one DGX H100, little", Spec{Ranks: ranksOf(1, 8), Speeds: h100}, 32, 32, 96 * units.KiB, 2},
		{"one DGX A100", Spec{Ranks: ranksOf(1, 8), Speeds: a100}, 32, 32, units.GiB, 32},
		{"one DGX A100, 2.18", Spec{Ranks: ranksOf(1, 8), Speeds: a100, Version: 218}, 32, 32, units.GiB, 16},
		{"PCIe", Spec{Ranks: ranksOf(1, 8), Speeds: pcie}, 2, 2, units.GiB, 2},
		{"two servers", Spec{Ranks: ranksOf(2, 8), Speeds: h100}, 16, 2, 64 * units.MiB, 2},
		{"two servers, little", Spec{Ranks: ranksOf(2, 8), Speeds: h100}, 16, 2, 128 * units.KiB, 1},
		{"eight servers", Spec{Ranks: ranksOf(8, 8), Speeds: h100}, 16, 1, 64 * units.MiB, 1},
		{"hosts", Spec{Ranks: ranksOf(8, 1)}, 1, 1, 64 * units.MiB, 1},
		{"hosts, given", Spec{Op: SendRecv, Channels: 3, Ranks: ranksOf(8, 1)}, 3, 1, 64 * units.MiB, 3},
	} {
		if c.spec.Speeds.Intra > 0 {
			c.spec.GPU = GPUCosts(GPU{})
		}
		p := c.spec.peers()
		if got := p.parts(c.bytes); p.channels != c.channels || p.each != c.each || got != c.parts {
			t.Errorf("%s: %d channels, %d per peer, %d for %v, want %d, %d, %d", c.name, p.channels, p.each, got, c.bytes, c.channels, c.each, c.parts)
		}
	}
}

// The parts of a transfer lie as far apart as they can: 0, 16, 8, 24 of 32 channels.
func TestPeerChannels(t *testing.T) {
	p := peers{channels: 32}
	for k, want := range []int{0, 16, 8, 24, 4} {
		if got := p.channel(3, k); got != want+3 {
			t.Errorf("part %d: channel %d, want %d", k, got, want+3)
		}
	}
}

// In every round each rank sends to one and hears from one, and over all rounds each
// sends to each other once, whether hosts have as many ranks or not.
func TestPartners(t *testing.T) {
	uneven := append(ranksOf(2, 4), Rank{Endpoint: 8, Host: 2, Device: 0})
	for _, ranks := range [][]Rank{ranksOf(1, 8), ranksOf(3, 4), ranksOf(5, 1), uneven} {
		b := &builder{Spec: &Spec{Ranks: ranks}}
		p, n := b.partners(), len(ranks)
		met := make([]bool, n*n)
		for round := 1; round < n; round++ {
			heard := make([]bool, n)
			for from := range n {
				to := p.to(from, round)
				if to == from || heard[to] || met[from*n+to] {
					t.Fatalf("%d ranks, round %d: %d sends to %d a second time, or to itself", n, round, from, to)
				}
				heard[to], met[from*n+to] = true, true
			}
		}
	}
}
