package collective

import (
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// gpusOf is a collective over GPUs that NVSwitches join, with a card of 400 Gb/s each.
func gpusOf(op Op, hosts int, g Generation) Spec {
	intra := map[Generation]float64{Ampere: 240, Hopper: 370.8, Blackwell: 721.8}[g]
	return Spec{Op: op, Ranks: ranksOf(hosts, 8), GPU: GPUCosts(GPU{Generation: g}),
		Speeds: Speeds{Intra: intra, Inter: 400, NVLink: true, NVSwitch: true, Generation: g}}
}

// Channels are those of NCCL's logs: 24 on one DGX H100, 16 on two and more; 32 on one HGX
// B200 (issue texts of NVIDIA/nccl-tests 309 and NVIDIA/nccl), 24 on one A100, and 4 where two
// hosts have one GPU with a 400 Gb/s card each.
func TestChannels(t *testing.T) {
	alone := gpusOf(AllGather, 2, Blackwell)
	alone.Ranks, alone.Speeds.Inter = ranksOf(2, 1), 50
	for _, c := range []struct {
		name string
		s    Spec
		a    Algorithm
		want int
	}{
		{"one H100", gpusOf(AllReduce, 1, Hopper), Ring, 24},
		{"two H100", gpusOf(AllReduce, 2, Hopper), Tree, 16},
		{"eight H100", gpusOf(AllReduce, 8, Hopper), Ring, 16},
		{"one B200", gpusOf(AllReduce, 1, Blackwell), Ring, 32},
		{"one A100", gpusOf(AllReduce, 1, Ampere), Ring, 24},
		{"NVLS of H100", gpusOf(AllReduce, 1, Hopper), NVLS, 16},
		{"NVLS of B200", gpusOf(AllReduce, 1, Blackwell), NVLS, 32},
		{"one GPU each", alone, Ring, 4},
	} {
		if got := c.s.channels(c.a); got != c.want {
			t.Errorf("%s: %d channels, want %d", c.name, got, c.want)
		}
	}
}

// Little data take fewer channels: each thread has its threshold, 8 B with LL (times the
// ranks of a ring) and LL128, 64 B with Simple, and each channel 16 KiB of traffic, from
// 2.22 on.
func TestWorth(t *testing.T) {
	for _, c := range []struct {
		a       Algorithm
		p       Protocol
		version int
		bytes   units.Bytes
		want    int
	}{
		{Ring, LL, 226, 32 * units.KiB, 1},       // a channel has 512 threads x 8 B x 8 ranks = 32 KiB
		{Ring, LL, 226, 24 * 32 * units.KiB, 24}, // each
		{Ring, LL, 226, 24*32*units.KiB - 4, 23},
		{Ring, LL128, 226, 24 * 640 * 8, 15}, // 123 KB x 2 of traffic are 15 times 16 KiB
		{Ring, LL128, 221, 24 * 640 * 8, 24},
		{Ring, Simple, 226, 24 * 512 * 64, 24},
		{Ring, Simple, 226, 24*512*64 - 4, 23},
		{Ring, Simple, 226, 4, 1},
		{Tree, LL, 226, 2 * 512 * 8, 2}, // a tree's threshold does not grow with the ranks
	} {
		s := gpusOf(AllReduce, 1, Hopper)
		s.Algorithm, s.Protocol, s.Version, s.Bytes = c.a, c.p, c.version, c.bytes
		if got := s.worth(24); got != c.want {
			t.Errorf("%v %v %d, %v: %d channels, want %d", c.a, c.p, c.version, c.bytes, got, c.want)
		}
	}
}

// Chunks of NVLS: 128 KiB for 64 times all heads' chunks and more, then 64 KiB, below 8
// times 32 KiB, below twice 16 KiB; NVLSTree 128 KiB from 4 times on, over 4 hosts and more
// at most 64 KiB, below once 32 KiB (calcCollChunking).
func TestNVLSChunks(t *testing.T) {
	const all = 8 * 128 * units.KiB // of 8 heads
	for _, c := range []struct {
		hosts int
		part  units.Bytes
		want  units.Bytes
	}{
		{1, 64 * all, 128 * units.KiB}, {1, 64*all - 4, 64 * units.KiB}, {1, 4*all - 4, 32 * units.KiB}, {1, all/2 - 4, 16 * units.KiB},
		{2, 4 * all, 128 * units.KiB}, {2, 4*all - 4, 64 * units.KiB}, {2, all/2 - 4, 32 * units.KiB}, {8, 64 * all, 64 * units.KiB},
	} {
		s := gpusOf(AllReduce, c.hosts, Hopper)
		s.Algorithm = NVLS
		if c.hosts > 1 {
			s.Algorithm = NVLSTree
		}
		if got := s.nvlsChunk(c.part); got != c.want {
			t.Errorf("%d hosts, %v: %v, want %v", c.hosts, c.part, got, c.want)
		}
	}
}

// Chunks of LL128's trees over 8 hosts with 8 GPUs each: nsteps is 1+3+0.8 = 4.8, so that 64
// nsteps/8 = 38.4 chunks and more keep 576,000 B, halved else down to 128 KiB; below 9.6
// chunks of those down to 32 KiB.
func TestLL128TreeChunks(t *testing.T) {
	s := Spec{Algorithm: Tree, Protocol: LL128, Ranks: ranksOf(8, 8)}
	b := builder{Spec: &s, shape: s.shapeOf()}
	for _, c := range []struct{ bytes, want units.Bytes }{
		{39 * 576000, 576000}, {39*576000 - 4, 288000}, {units.MiB, 72000}, {4, 18000},
	} {
		if got := b.treeChunk(c.bytes, b.treeDepth()); got != c.want {
			t.Errorf("%v: chunks of %v, want %v", c.bytes, got, c.want)
		}
	}
}

// Transfers between two ranks go with LL up to 16 KiB for each channel of a peer: 64 KiB where
// eight ranks of one server have 32 channels each is less than that.
func TestPeerProtocol(t *testing.T) {
	for _, c := range []struct {
		hosts int
		bytes units.Bytes // of SendRecv
		want  Protocol
	}{{1, 512 * units.KiB, LL}, {1, 512*units.KiB + 4, Simple}, {2, 32 * units.KiB, LL}, {2, 32*units.KiB + 4, Simple}} {
		s := gpusOf(SendRecv, c.hosts, Hopper)
		s.Bytes = c.bytes
		if s.choose(); s.Protocol != c.want {
			t.Errorf("%d hosts, %v: %v, want %v", c.hosts, c.bytes, s.Protocol, c.want)
		}
	}
}

// What NCCL expects of NVLS changed (src/graph/tuning.cc of the tags): by 2.20 it begins with 23 us, then
// 25; in 2.18 NVLSTree passes 19 us from host to host along all of them and has 0.7 n/(2(n-1)) of the
// graph's bandwidth, from 2.19 on 14 us up and down a tree and 5/6, of half the cards' from 3 hosts on.
func TestOldNVLS(t *testing.T) {
	for _, c := range []struct {
		version, hosts int
		a              Algorithm
		latency, width float64 // width: of a channel's 40 GB/s inside and 48 between
	}{
		{218, 1, NVLS, 23, 40 * 5. / 6},
		{220, 1, NVLS, 23, 40 * 5. / 6},
		{221, 1, NVLS, 25, 40 * 5. / 6},
		{218, 2, NVLSTree, 23 + 2*19, 40 * .7},
		{219, 2, NVLSTree, 23 + 2*14, 40 * 5. / 6},
		{221, 2, NVLSTree, 25 + 2*14, 40 * 5. / 6},
		{218, 8, NVLSTree, 23 + 2*7*19, 48 * .4},
		{220, 8, NVLSTree, 23 + 2*3*14, 24 * 5. / 6},
		{226, 8, NVLSTree, 25 + 2*3*14, 24 * 5. / 6},
	} {
		s := gpusOf(AllReduce, c.hosts, Hopper)
		s.Version = c.version
		g := s.graph(c.a)
		if got := s.Latency(c.a, Simple); got != c.latency {
			t.Errorf("%d, %d hosts: %v us, want %v", c.version, c.hosts, got, c.latency)
		}
		if got := s.Bandwidth(c.a, Simple) / float64(g.channels); math.Abs(got-c.width) > 1e-9 {
			t.Errorf("%d, %d hosts: %v GB/s for each of %d channels (%v inside, %v between), want %v", c.version, c.hosts, got, g.channels, g.intra, g.inter, c.width)
		}
	}
}
