package collective

// Generation is a generation of NVIDIA's GPUs, which NCCL's tables have a row for.
type Generation uint8

// Generations.
const (
	Volta Generation = iota
	Ampere
	Hopper
	Blackwell
)

// graph is what NCCL's search finds in a machine (src/graph/search.cc): so many channels
// of a bandwidth, inside hosts and between them, in GB/s.
type graph struct {
	channels     int
	intra, inter float64
}

// speeds are the bandwidths that the search tries, from the fastest (speedArrayIntra,
// speedArrayInter and those of sm90 and sm100).
func (s *Spec) speeds(oneHost bool) []float64 {
	switch {
	case oneHost && s.Speeds.Generation == Blackwell:
		return []float64{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18}
	case oneHost && s.Speeds.Generation == Hopper:
		return []float64{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3}
	case oneHost:
		return []float64{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3}
	case s.Speeds.Generation >= Hopper:
		return []float64{48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12}
	}
	return []float64{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12}
}

// dupAbove is the bandwidth from which one channel becomes two (ncclTopoDupChannels).
const dupAbove = 25

// searched stands for the search of rings and trees where NVSwitches join the GPUs of a
// host, or each host has one (ncclTopoCompute). It takes the speed with the largest
// product of channels and speed, the first of equals, and ends when one is half as fast
// as the best; then it doubles channels of 25 GB/s and more, from Hopper on not those of
// less than 50 of which there are more than 4.
func (s *Spec) searched() (g graph) {
	hosts := len(hostsOf(s.Ranks))
	one, alone, ports := hosts == 1, hosts == len(s.Ranks), s.ports()
	for _, v := range s.speeds(one) {
		if g.channels > 0 && v <= .49*g.intra {
			break
		}
		n := MaxChannels / 2
		if !alone || one {
			n = min(n, int(s.Speeds.Intra/v))
		}
		if !one {
			n = min(n, ports*int(s.Speeds.Inter/float64(ports)/v))
		}
		if float64(n)*v > float64(g.channels)*g.intra {
			g = graph{n, v, v}
		}
	}
	switch {
	case g.channels == 0:
		return graph{1, .1, .1}
	case g.intra >= dupAbove && !(s.Speeds.Generation >= Hopper && g.intra < 50 && g.channels > 4):
		g.channels, g.intra, g.inter = 2*g.channels, g.intra/2, g.inter/2
	}
	return g
}

// searchedTree is the graph of trees. NCCL searches it with the rings' number of channels, so
// that cards and chains allow the fastest speed that it finds: of each channel all GPUs but the
// last one send on, where rings come back to the first. Then it makes what chains carry inside
// hosts faster, up to about twice what cards do, as far as links allow.
func (s *Spec) searchedTree() graph {
	g := s.searched()
	hosts := len(hostsOf(s.Ranks))
	if hosts == 1 {
		return g
	}
	gpus, ports := len(s.Ranks)/hosts, max(s.ports(), 1)
	perPort, chains := (g.channels+ports-1)/ports, g.channels-g.channels/gpus
	carries := func(v float64) bool { return float64(chains)*v <= s.Speeds.Intra || gpus == 1 }
	speeds := s.speeds(false)
	for k, v := range speeds {
		if !carries(v) || float64(perPort)*v > s.Speeds.Inter/float64(ports) {
			continue
		}
		g.inter = v
		for k > 0 && speeds[k] < 2*v && carries(speeds[k-1]) {
			k--
		}
		g.intra = speeds[k]
		break
	}
	return g
}

// simpleTree reports whether NCCL finds no balanced trees between hosts (BALANCED_TREE in
// src/graph/search.cc), which two GPUs of a host hand on, but such as begin and end at one
// (TREE): where hosts have one, and from Hopper on where no other GPU is as near to a card.
func (s *Spec) simpleTree() bool {
	hosts := len(hostsOf(s.Ranks))
	return hosts > 1 && (hosts == len(s.Ranks) || s.Speeds.Generation >= Hopper && s.Speeds.OwnCards)
}

// switched is the graph of NVLS: each GPU of a host is the head of a channel, and each one's
// links carry as much of every other head as of their own.
func (s *Spec) switched() (g graph) {
	hosts := hostsOf(s.Ranks)
	n := len(hosts[0])
	for _, members := range hosts {
		if len(members) != n {
			return g
		}
	}
	if s.Speeds.Generation < Hopper || !s.Speeds.NVSwitch || n <= 2 || s.Env.NoNVLS {
		return g
	}
	one := len(hosts) == 1
	port := s.Speeds.Inter / float64(max(s.ports(), 1))
	for _, v := range s.speeds(one) {
		if v*float64(n+1) <= s.Speeds.Intra && (one || v <= port) {
			g = graph{n, v, v}
			break
		}
	}
	if g.channels > 0 && !one {
		for _, v := range s.speeds(false) {
			if v <= port {
				g.inter = v
				break
			}
		}
	}
	return g
}

// plain is the graph of hosts, and of servers whose GPUs PCIe joins, by their ports.
func (s *Spec) plain(a Algorithm) graph {
	ports := max(s.ports(), 1)
	n := ports
	switch {
	case len(hostsOf(s.Ranks)) == 1:
		n = 1
	case a == Tree, len(hostsOf(s.Ranks)) < len(s.Ranks) && s.Speeds.Inter >= dupAbove*float64(ports):
		n = 2 * ports
	}
	bus := s.Speeds.Inter
	if len(hostsOf(s.Ranks)) == 1 {
		bus = s.Speeds.Intra
	} else if s.Speeds.Intra > 0 {
		bus = min(bus, s.Speeds.Intra)
	}
	return graph{n, bus / float64(n), bus / float64(n)}
}

// graph is what NCCL knows of the machine for an algorithm.
func (s *Spec) graph(a Algorithm) graph {
	switch {
	case a == NVLS || a == NVLSTree:
		return s.switched()
	case s.searches() && a == Tree:
		return s.searchedTree()
	case s.searches():
		return s.searched()
	}
	return s.plain(a)
}

// searches reports whether graphs follow from NCCL's search here.
func (s *Spec) searches() bool {
	return s.onGPUs() && (s.Speeds.NVLink || len(hostsOf(s.Ranks)) == len(s.Ranks))
}

// onGPUs reports whether ranks are GPUs.
func (s *Spec) onGPUs() bool { return s.GPU != nil }

// blocks of NVLS: 16, on Blackwell in one host 32 (nvlsChannels in src/transport/nvls.cc and
// src/init.cc of 2.26).
func (s *Spec) nvlsChannels() int {
	if s.Speeds.Generation == Blackwell {
		return 32
	}
	return 16
}

// channels is how many channels an algorithm has: as given, or as connect.cc makes of
// what the search found: twice that, and from Hopper on between hosts four times where the
// bandwidth is above 45 GB/s and there are less than 16. Hosts have one for each network
// port, trees two.
func (s *Spec) channels(a Algorithm) int {
	switch {
	case s.Channels > 0:
		return s.Channels
	case a == NVLS || a == NVLSTree:
		return s.nvlsChannels()
	}
	g := s.graph(a)
	if s.searches() {
		g = s.searched() // the rings', as trees have no other number
	}
	hosts := len(hostsOf(s.Ranks))
	if !s.onGPUs() || !s.Speeds.NVLink && hosts > 1 && hosts < len(s.Ranks) {
		return min(s.Env.bounded(g.channels), MaxChannels)
	}
	n := min(2*g.channels, MaxChannels)
	if s.Speeds.Generation >= Hopper && hosts > 1 && g.intra > 45 && n < 16 {
		n *= 2
	}
	return s.Env.bounded(min(n, s.rules().maxChannels))
}

// leastTraffic is what a channel carries at least (MIN_TRAFFIC_PER_CHANNEL).
const leastTraffic = 16 << 10

// worth is how many of n channels a collective of its size takes: as many as give each thread
// of a block its threshold (topoGetAlgoInfo), and each channel 16 KiB of traffic, of which
// AllReduce makes 2 B of one, and LL counts four times (scheduleCollTasksToPlan, 2.22 on).
func (s *Spec) worth(n int) int {
	if !s.onGPUs() || s.Algorithm != Ring && s.Algorithm != Tree && s.Algorithm != SingleRing {
		return n
	}
	threads, threshold := 512, 64
	switch s.Protocol {
	case LL:
		threshold = 8
		if s.Algorithm != Tree {
			threshold *= len(s.Ranks)
		}
	case LL128:
		threads, threshold = 640, 8
	}
	for n > 1 && int(s.Bytes) < n*threads*threshold {
		n--
	}
	traffic := int(s.Bytes)
	if s.Op == AllReduce {
		traffic *= 2
	}
	if s.Protocol == LL {
		traffic *= 4
	}
	if !s.rules().traffic {
		return n
	}
	per := max(leastTraffic, traffic/n)
	return max(1, min(n, (traffic+per-1)/per))
}
