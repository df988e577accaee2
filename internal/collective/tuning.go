package collective

import "math/bits"

// Speeds are what NCCL's tuning model knows of a machine.
type Speeds struct {
	Intra, Inter float64 // GB/s of a GPU's links inside its host, and of all network ports of a host
	NVLink       bool    // inside hosts; else PCIe
	// Network is the part of the network that each hop between hosts costs beside
	// its latency: 1 us on Intel's, 2 us on AMD's processors.
	Network float64
	// Hopper and Ampere are the generations whose constants differ.
	Hopper, Ampere bool
}

// Constants of NCCL's model (src/graph/tuning.cc of 2.18 to 2.22): latencies in
// microseconds by algorithm (tree, ring) and protocol (LL, LL128, Simple).
type latencies [2][3]float64

func baseLatency() latencies { return latencies{{6.8, 14, 8.4}, {6.6, 14, 8.4}} }

func nvlinkLatency() latencies { return latencies{{.6, 1.25, 4}, {.6, 1.9, 3.4}} }

func pcieLatency() latencies { return latencies{{1, 1.9, 4}, {1, 2.5, 5.7}} }

func networkLatency() latencies { return latencies{{5, 8.5, 14}, {2.7, 4, 14}} }

// treeCorrection is by how much trees miss the model for want of data, by protocol
// and powers of two from 64 B to 128 MB.
func treeCorrection(protocol, log int) float64 {
	if log > 21 {
		return 1
	}
	return [3][22]float64{
		{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1},
		{1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, 1},
		{.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .5, .5, .6, .6, .7, .8, .9},
	}[protocol][log]
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
	intra, inter := pcieLatency()[row][k], networkLatency()[row][k]
	if s.Speeds.NVLink {
		intra = nvlinkLatency()[row][k]
	}
	base := baseLatency()[row][k]
	if a == Tree {
		return base + 2*((float64(n)/float64(hosts)-1)*intra+float64(log2(hosts))*inter)
	}
	overhead := 0.0
	if hosts > 1 {
		overhead = s.Speeds.Network
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
	if hosts == 1 {
		hosts = 0
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
func (s *Spec) Bandwidth(a Algorithm, p Protocol, channels int) float64 {
	n, hosts := len(s.Ranks), len(hostsOf(s.Ranks))
	bus := s.Speeds.Inter
	if hosts == 1 {
		bus = s.Speeds.Intra
	} else if s.Speeds.Intra > 0 {
		bus = min(bus, s.Speeds.Intra)
	}
	limit := s.limits(min(hosts, 3) - 1)
	width := float64(channels)
	switch {
	case a == Tree && p == LL:
		bus = min(bus*.92/3.8, limit.ll)
	case a == Tree && p == LL128:
		factor := 120.0 / 128
		if hosts == 1 {
			factor = 7.0 / 9
		}
		bus = min(bus*.92*factor, limit.tree128*width)
	case a == Tree:
		bus = min(bus*.92, limit.tree*width)
	case p == LL:
		bus = min(bus/2, limit.ll)
	case p == LL128:
		bus = min(bus*.92, limit.ring128*width)
	}
	if a == Tree {
		return bus / 2
	}
	all, _ := s.ringSteps(n, hosts)
	return bus * float64(n) / float64(all)
}

// limits bound bus bandwidths, in GB/s: of LL in all, of the others per channel.
type limits struct{ ll, ring128, tree128, tree float64 }

// limits are those of one host (0), two (1) or more (2).
func (s *Spec) limits(scale int) limits {
	switch {
	case s.Speeds.Hopper:
		return [3]limits{{141, 36.7, 36.7, 38.7}, {45, 36.7, 36.7, 41.4}, {35, 36.7, 29, 36}}[scale]
	case s.Speeds.Ampere:
		return [3]limits{{87.7, 20, 20, 24}, {22.5, 20, 20, 23.6}, {19, 20, 20, 17.8}}[scale]
	}
	return [3]limits{{39, 20, 20, 26.5}, {39, 20, 20, 18.5}, {20.4, 20, 20, 10}}[scale]
}

// Estimate is the time that NCCL's model expects, in microseconds.
func (s *Spec) Estimate(a Algorithm, p Protocol, channels int) float64 {
	bandwidth, latency := s.Bandwidth(a, p, channels), s.Latency(a, p)
	n, hosts := len(s.Ranks), len(hostsOf(s.Ranks))
	log := log2(int(s.Bytes >> 6))
	if a == Tree && s.Op == AllReduce {
		bandwidth *= treeCorrection(protocolIndex(p), log)
	}
	if a != Tree && p == Simple && hosts > 1 && s.Op == AllReduce && float64(s.Bytes) >= float64(n)/16*65536 {
		latency *= 1.9 // the model's "plateau effect of ring"
	}
	return latency + float64(s.Bytes)/(1000*bandwidth)
}

// log2 is the logarithm rounded down; 0 below 2.
func log2(n int) int { return max(bits.Len(uint(n)), 1) - 1 }

// choose settles what the spec leaves open by the least estimate.
func (s *Spec) choose() {
	hosts := hostsOf(s.Ranks)
	best := -1.0
	algorithm, protocol := s.Algorithm, s.Protocol
	for _, a := range s.Op.algorithms() {
		switch {
		case s.Algorithm != AutoAlgorithm && a != s.Algorithm:
			continue
		case s.Algorithm == AutoAlgorithm && (a == Hierarchical) != (len(hosts) > 1 && len(hosts) < len(s.Ranks)) && a != Tree && a != Pairwise:
			continue // rings pass through each server once where there are servers
		}
		for _, p := range []Protocol{LL, LL128, Simple} {
			switch {
			case s.Protocol != AutoProtocol && p != s.Protocol,
				s.Protocol == AutoProtocol && p == LL128 && !s.Speeds.NVLink, // NCCL leaves it off without NVLink
				s.Protocol == AutoProtocol && p == LL128 && len(hosts) > 1 && !s.Speeds.Hopper && !s.Speeds.Ampere,
				s.Protocol == AutoProtocol && a == Pairwise && p != Simple: // point-to-point is Simple above its threshold
				continue
			}
			if t := s.Estimate(a, p, s.channels(a)); best < 0 || t < best {
				best, algorithm, protocol = t, a, p
			}
		}
	}
	s.Algorithm, s.Protocol = algorithm, protocol
}

// channels is the number of channels of an algorithm: as given, or one for each
// network port of a host. Point-to-point operations share them out as peers says.
func (s *Spec) channels(a Algorithm) int {
	hosts, ports := hostsOf(s.Ranks), s.ports()
	switch {
	case s.Channels > 0:
		return s.Channels
	case len(hosts) == 1 && s.Speeds.NVLink: // of 20 GB/s and more each, twice (ncclTopoDupChannels)
		return max(1, min(2*int(s.Speeds.Intra/20), MaxChannels))
	case a == Tree, len(hosts) < len(s.Ranks) && s.Speeds.Inter >= 25*float64(ports): // a channel of 25 GB/s and more becomes two
		return 2 * ports
	}
	return ports
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
