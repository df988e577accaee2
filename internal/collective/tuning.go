package collective

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/hopscope/hopscope/internal/units"
)

// Speeds are what NCCL's tuning model knows of a machine.
type Speeds struct {
	Intra, Inter float64 // GB/s of a GPU's links inside its host, and of all network ports of a host
	NVLink       bool    // inside hosts; else PCIe
	NVSwitch     bool    // joins them
	AMD          bool    // processors of AMD's, whose network overhead and bounds of LL differ
	Generation   Generation
	OwnCards     bool // no two GPUs of a host are as near to one card as the nearest
}

// Constants of NCCL's model (src/graph/tuning.cc, alike from 2.18 to 2.29): latencies in
// microseconds by algorithm (tree, ring) and protocol (LL, LL128, Simple).
type latencies [2][3]float64

func baseLatency() latencies { return latencies{{6.8, 14, 8.4}, {6.6, 14, 8.4}} }

func nvlinkLatency() latencies { return latencies{{.6, 1.25, 4}, {.6, 1.9, 3.4}} }

func pcieLatency() latencies { return latencies{{1, 1.9, 4}, {1, 2.5, 5.7}} }

func networkLatency() latencies { return latencies{{5, 8.5, 14}, {2.7, 4, 14}} }

// treeCorrection is by how much trees miss the model for want of data, by protocol
// and powers of two from 64 B to 256 MB.
func treeCorrection(p Protocol, log int) float64 {
	if log > 22 {
		return 1
	}
	return [3][23]float64{
		{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
		{1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
		{.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
	}[protocolIndex(p)][log]
}

// protocolIndex is a protocol's place in the tables.
func protocolIndex(p Protocol) int {
	return map[Protocol]int{LL: 0, LL128: 1, Simple: 2}[p]
}

// Latency is the model's latency of a collective without data, in microseconds.
func (s *Spec) Latency(a Algorithm, p Protocol) float64 {
	n, hosts := len(s.Ranks), len(hostsOf(s.Ranks))
	k, row := protocolIndex(p), 1
	if a == Tree {
		row = 0
	}
	switch a {
	case NVLS:
		return s.rules().nvlsInside
	case NVLSTree:
		steps := log2(hosts)
		if s.rules().nvlsChain {
			steps = hosts - 1
		}
		return s.rules().nvlsInside + 2*float64(steps)*s.rules().nvlsLatency
	}
	intra, inter := pcieLatency()[row][k], networkLatency()[row][k]
	if s.Speeds.NVLink {
		intra = nvlinkLatency()[row][k]
	}
	if hosts == n && s.rules().exposed { // "with ppn=1 latencies are fully exposed"
		inter = networkLatency()[0][k]
	}
	base := baseLatency()[row][k]
	if a == Tree {
		return base + 2*(float64(n/hosts-1)*intra+float64(log2(hosts))*inter)
	}
	overhead := 0.0
	if hosts > 1 {
		overhead = 1
		if s.Speeds.AMD {
			overhead = 2
		}
		if p == Simple {
			overhead *= 3
		}
	}
	all, between := s.ringSteps(n, hosts)
	return base + float64(all-between)*max(intra, overhead) + float64(between)*inter
}

// ringSteps is how many steps a ring takes, and how many of them lead from host to
// host.
func (s *Spec) ringSteps(n, hosts int) (all, between int) {
	switch {
	case hosts == 1:
		hosts = 0
	case s.rules().ringSteps && s.Op != Broadcast:
		hosts--
	}
	switch s.Op {
	case AllReduce:
		return 2 * (n - 1), min(2*hosts, 2*(n-1))
	case Broadcast:
		return n, hosts
	}
	return n - 1, min(hosts, n-1)
}

// Bandwidth is the model's bandwidth of the algorithm (size over time) for much
// data, in GB/s.
func (s *Spec) Bandwidth(a Algorithm, p Protocol) float64 {
	n, hosts := len(s.Ranks), len(hostsOf(s.Ranks))
	g := s.graph(a)
	all, _ := s.ringSteps(n, hosts)
	width := float64(g.channels)
	if a == NVLS || a == NVLSTree {
		ratio := 5.0 / 6
		switch {
		case s.rules().nvlsBounds:
			ratio = float64(n) / float64(all)
		case s.rules().nvlsChain && a == NVLSTree:
			ratio = .7 * float64(hosts) / float64(2*(hosts-1))
		}
		return width * s.nvlsBandwidth(a, g, hosts) * ratio
	}
	bw := g.intra
	if hosts > 2 {
		bw = g.inter
	}
	bus := width * bw
	limit := s.limits(min(hosts, 3) - 1)
	if a == Tree {
		bus = min(bus*.92, limit.tree*width)
	}
	switch {
	case a == Tree && p == LL:
		bus = min(bus/3.8, s.llLimit(hosts))
	case a == Tree && p == LL128:
		factor := 120.0 / 128
		if hosts == 1 {
			factor = 7.0 / 9
		}
		bus = min(bus*factor, limit.tree128*width)
	case a == Tree:
	case p == LL:
		bus = min(bus/2, s.llLimit(hosts))
	case p == LL128:
		part := .92
		if hosts == n && !s.rules().exposed {
			part = .7
		}
		bus = min(bus*part, limit.ring128*width)
	}
	if a == Tree {
		if s.simpleTree() && s.onGPUs() {
			bus *= .85
		}
		return bus / 2
	}
	return bus * float64(n) / float64(all)
}

// nvlsBandwidth is the model's bandwidth of a channel of NVLS.
func (s *Spec) nvlsBandwidth(a Algorithm, g graph, hosts int) float64 {
	switch {
	case s.rules().nvlsBounds:
		efficiency, bound := .85, []float64{0, 57.7, 45.5} // nvlsEfficiency, perChMaxNVLSTreeBws
		if s.Speeds.Generation == Blackwell {
			efficiency, bound = .74, []float64{0, 96, 43.8}
		}
		n := float64(g.channels)
		inter := g.inter
		if a == NVLSTree && hosts <= 2 {
			inter *= 2
		}
		bw := min(2*g.intra*efficiency*(n-1)/n, inter)
		if a == NVLSTree {
			bw = min(bw, bound[min(hosts, 3)-1])
		}
		return bw
	case a == NVLSTree && s.rules().nvlsChain && hosts > 2:
		return g.inter
	case a == NVLSTree && s.rules().nvlsChain:
		return g.intra
	case a == NVLSTree && hosts > 2:
		return min(g.intra, g.inter/2)
	}
	return min(g.intra, g.inter)
}

// limits bound bus bandwidths, in GB/s: of LL in all, of the others per channel.
type limits struct{ ll, ring128, tree128, tree float64 }

// limits are those of one host (0), two (1) or more (2).
func (s *Spec) limits(scale int) limits {
	switch s.Speeds.Generation {
	case Blackwell:
		return s.rules().blackwell[scale]
	case Hopper:
		return hopperLimits()[scale]
	case Ampere:
		return limits3{{87.7, 20, 20, 24}, {22.5, 20, 20, 23.6}, {19, 20, 20, 17.8}}[scale]
	}
	return limits3{{39, 20, 20, 26.5}, {39, 20, 20, 18.5}, {20.4, 20, 20, 10}}[scale]
}

// llLimit bounds the bus bandwidth of LL: in one host by the GPU, between hosts by the maker
// of the processors (llMaxBws).
func (s *Spec) llLimit(hosts int) float64 {
	switch {
	case hosts == 1:
		return s.limits(0).ll
	case s.Speeds.AMD:
		return []float64{0, 22.5, 19}[min(hosts, 3)-1]
	}
	return []float64{0, 39, 20.4}[min(hosts, 3)-1]
}

// Estimate is the time that NCCL's model expects, in microseconds (ncclTopoTuneModel and
// ncclTopoGetAlgoTime).
func (s *Spec) Estimate(a Algorithm, p Protocol) float64 {
	bandwidth, latency := s.Bandwidth(a, p), s.Latency(a, p)
	n, hosts := len(s.Ranks), len(hostsOf(s.Ranks))
	if a == Tree && s.Op == AllReduce {
		bandwidth *= treeCorrection(p, log2(int(s.Bytes>>6)))
	}
	if a == Ring && p == Simple && hosts > 1 && s.Op == AllReduce && float64(s.Bytes)/float64(s.channels(a)*n) >= 64 {
		plateau := 1.4
		if s.Speeds.Generation < Ampere {
			plateau = 1.9
		}
		latency *= plateau // the model's "plateau effect of ring"
	}
	return latency + float64(s.Bytes)/(1000*bandwidth)
}

// log2 is the logarithm rounded down; 0 below 2.
func log2(n int) int { return max(bits.Len(uint(n)), 1) - 1 }

// choose settles what the spec leaves open by the least estimate. Transfers between two
// ranks are not estimated: LL up to a size for each channel that a peer may have, else
// Simple.
func (s *Spec) choose() error {
	if s.Op == AllToAll || s.Op == SendRecv {
		s.Algorithm = Pairwise
		if s.Protocol == AutoProtocol {
			s.Protocol = Simple
			if s.onGPUs() && s.transfer() <= units.Bytes(s.peers().each)*s.Env.peerLL() {
				s.Protocol = LL
			}
		}
		return nil
	}
	only := s.Env.Protocols
	if len(only) == 1 && only[0] == LL128 && s.Protocol == AutoProtocol && s.onGPUs() && !s.enablesLL128() {
		return errors.New("NCCL_PROTO leaves ll128 alone, which NCCL does not enable here, as no NVLink joins the GPUs " +
			"of a host or they are older than Ampere: data could be corrupted; allow Simple or LL")
	}
	best := -1.0
	algorithm, protocol := s.Algorithm, s.Protocol
	for _, a := range s.Op.algorithms() {
		if s.Algorithm != AutoAlgorithm && a != s.Algorithm || s.Algorithm == AutoAlgorithm && !(s.offers(a) && allows(s.Env.Algorithms, a)) {
			continue
		}
		for _, p := range []Protocol{LL, LL128, Simple} {
			if s.Protocol != AutoProtocol && p != s.Protocol || s.Protocol == AutoProtocol && !s.takes(p) || (a == NVLS || a == NVLSTree) && p != Simple {
				continue
			}
			if t := s.Estimate(a, p); best < 0 || t < best {
				best, algorithm, protocol = t, a, p
			}
		}
	}
	if best < 0 {
		return s.noneLeft()
	}
	s.Algorithm, s.Protocol = algorithm, protocol
	return nil
}

// noneLeft says why nothing is left to choose.
func (s *Spec) noneLeft() error {
	why := "nvls and nvlstree have protocol simple alone, and others the operations that they have"
	switched := slices.Contains(s.Env.Algorithms, NVLS) || slices.Contains(s.Env.Algorithms, NVLSTree)
	switch {
	case switched && s.Env.NoNVLS:
		why = "NCCL_NVLS_ENABLE is 0"
	case switched && s.switched().channels == 0:
		why = "nvls and nvlstree need NVSwitch and Hopper or newer"
	case switched && !allows(s.Env.Protocols, Simple):
		why = "nvls and nvlstree have protocol simple alone"
	case switched:
		why = "nvls is for one host, nvlstree for several, both for allreduce"
	case s.Op != AllReduce:
		why = s.Op.String() + " has ring alone"
	}
	return fmt.Errorf("no algorithm of %s is left with what NCCL_ALGO and NCCL_PROTO allow "+
		"(NCCL: \"no algorithm/protocol available\"): %s", s.Op, why)
}

// allows reports whether a list, if there is any, has an element.
func allows[T comparable](list []T, x T) bool { return len(list) == 0 || slices.Contains(list, x) }

// takes reports whether NCCL takes a protocol where the spec names none: those that
// NCCL_PROTO names, else LL128 with NVLink, and between hosts where cards are near (from
// Hopper on by way of another GPU), on GPUs that it was tried on.
func (s *Spec) takes(p Protocol) bool {
	if len(s.Env.Protocols) > 0 {
		return slices.Contains(s.Env.Protocols, p)
	}
	return p != LL128 || s.enablesLL128()
}

// enablesLL128 reports whether NCCL takes LL128 by itself.
func (s *Spec) enablesLL128() bool {
	return s.Speeds.NVLink && (len(hostsOf(s.Ranks)) == 1 || s.Speeds.Generation >= Ampere)
}

// offers reports whether an algorithm is one that NCCL considers here.
func (s *Spec) offers(a Algorithm) bool {
	switch a {
	case SingleRing, Hierarchical:
		return false
	case NVLS, NVLSTree:
		return s.onGPUs() && s.switched().channels > 0 && (a == NVLS) == (len(hostsOf(s.Ranks)) == 1)
	}
	return true
}

// ports is the largest number of network ports that the ranks of a host have.
func (s *Spec) ports() (most int) {
	seen := make(map[int]bool)
	for _, members := range hostsOf(s.Ranks) {
		n := 0
		for _, m := range members {
			if ep := s.Ranks[m].Endpoint; !seen[ep] {
				seen[ep] = true
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
