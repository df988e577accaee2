package collective

import (
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Cost is a part of what a step takes where ranks are GPUs.
type Cost struct {
	Key    string // under which scenarios change it
	Name   string // in reports
	Time   units.Time
	Source string
}

// GPU is what the costs of steps depend on.
type GPU struct {
	HBMRead    units.Time // from a read of the GPU's memory to its data
	Launch     units.Time // of a kernel
	Link       units.Time // latency from GPU to GPU inside the server, one way
	Generation Generation
}

// GPUCosts lists the parts with their sources. None is an end-to-end figure. What is
// "fitted" is so to published tables (docs/models/collectives.md).
func GPUCosts(g GPU) []Cost {
	const ns = units.Nanosecond
	f := (&Spec{Speeds: Speeds{Generation: g.Generation}}).fitted()
	costs := []Cost{
		{"launch", "kernel launch", g.Launch, "server.costs.kernel_launch"},
		{"start", "kernel start", f.start, "fitted: from a kernel's first instruction to its first step, and from the last to what the host sees"},
		{"poll", "flag poll", 280 * ns, "one and a half reads of the second-level cache, 261 cycles at 1.41 GHz (Luo et al., arXiv:2402.13499)"},
		{"load", "first load", g.HBMRead, "server.costs.hbm_read"},
		{"barrier", "barriers", 300 * ns, "assumed: three barriers of a block of 512 threads"},
		{"fence", "fence", 2 * g.Link, "PTX membar.sys waits until what was stored is visible: there and back over the links of the server"},
		{"flag", "flag to the peer", g.Link, "a store over the same links"},
		{"host_flag", "flag to the proxy", 400 * ns, "assumed: a store over PCIe to the memory of the host"},
		{"proxy_poll", proxyTurn, 0, "turns over all connections that the proxy has: 200 ns and 100 ns for each, fitted"},
		{"post", "post", 0, "stands in what the proxy's core takes to post a message"},
		{"entry", "completion entry", 300 * ns, "assumed: a card's write of 64 B to the memory of the host"},
		{"flush", "flush", 0, "not needed from Hopper on (NCCL, ncclTopoNeedFlush)"},
		{"host_poll", "poll of host memory", 1350 * ns, "assumed: one and a half reads over PCIe of 900 ns"},
	}
	for i := range costs {
		switch c := &costs[i]; {
		case c.Key == "flush" && g.Generation < Hopper:
			c.Time, c.Source = 1500*ns, "assumed: an RDMA READ by the card from the GPU's memory (NCCL, ncclTopoNeedFlush)"
		case c.Key == "flag" && f.flag > 0:
			c.Time, c.Source = f.flag, "fitted: a store over the same links"
		}
	}
	return costs
}

// steps puts the parts together, by protocol. With Simple a block's threads meet, and the
// flag follows behind a fence. With LL and LL128 the data are their own flag, on its way as
// long, and a block loads its own while it polls; what a card writes is seen by the GPU
// itself, in the memory of the host with LL, in its own with LL128, which from Hopper on is
// sent behind a fence (postSend in src/device/prims_ll128.h).
func (s *Spec) steps() Costs {
	pick := func(keys ...string) (parts []workload.Part) {
		for _, k := range keys {
			for _, c := range s.GPU {
				if c.Key == k && (c.Time > 0 || c.Name == proxyTurn) {
					parts = append(parts, workload.Part{Name: c.Name, Time: c.Time})
				}
			}
		}
		return parts
	}
	out := Costs{Launch: pick("launch", "start"), Post: pick("host_flag", "proxy_poll", "post"), Clear: pick("host_flag", "post")}
	if s.Algorithm == Pairwise {
		out.Launch = append(out.Launch, workload.Part{Name: "start of peers", Time: s.fitted().peerStart})
	}
	switch s.Protocol {
	case LL:
		out.Inside, out.Receive, out.Outside = pick("poll", "flag"), pick("poll"), pick("poll")
		out.Arrive = pick("host_poll")
	case LL128:
		out.Inside, out.Receive, out.Outside = pick("poll", "barrier", "flag"), pick("poll", "barrier"), pick("poll", "barrier")
		if s.Speeds.Generation >= Hopper {
			out.Outside = pick("poll", "barrier", "fence")
		}
	default:
		out.Inside, out.Receive = pick("poll", "load", "barrier", "fence", "flag"), pick("poll", "load", "barrier")
		out.Outside = pick("poll", "load", "barrier", "fence")
		out.Arrive = pick("entry", "proxy_poll", "flush", "host_poll")
	}
	return out
}

// llBlocks is how many thread blocks share NCCL's bound for LL in one host: the
// channels of a server with NVSwitch.
const llBlocks = 24

// llRound is what the 512 threads of a block carry in one round of LL, 8 B each. Up to that each
// warp loads and stores once, 64 B per cycle each way between an SM and the second-level cache
// (Jia et al., arXiv:1804.06826, table 3.1; Luo et al., arXiv:2402.13499), and what more there is
// waits for the rounds before.
const llRound = 512 * 8

// smRate is the payload of LL that an SM so loads and stores: half of 64 B, one after the other,
// at the clock of the generation.
func (s *Spec) smRate() units.Rate {
	clock := 1.41 // GHz, A100
	switch s.Speeds.Generation {
	case Hopper:
		clock = 1.755
	case Blackwell:
		clock = 1.85
	}
	return gigabytes(64.0 / 2 / 2 * clock)
}

// blockRate is what a thread block of a GPU takes in and hands on at most: what NCCL's
// model gives a channel in one host, with Simple that of trees.
func (s *Spec) blockRate() units.Rate {
	l := s.limits(0)
	if s.Speeds.Generation == Blackwell {
		l = measuredBlackwell()[0]
	}
	rate := l.tree
	switch s.Protocol {
	case LL:
		rate = l.ll / llBlocks
	case LL128:
		rate = l.ring128
	}
	switch f := s.fitted(); {
	case s.Protocol == Simple && f.rate > 0:
		rate = f.rate
	case s.Protocol == Simple:
		rate *= f.share
	case s.Algorithm == Pairwise:
		rate *= f.peerShare
	}
	return gigabytes(rate)
}

// blockTime is what a step's bytes take a block. Transfers that share one, each in its
// warps, share its rate.
func (b *builder) blockTime(bytes units.Bytes, sends bool) units.Time {
	work := b.blockWork(b.blockRate(), bytes)
	if b.Algorithm != Pairwise || !b.onGPUs() {
		return work
	}
	work *= units.Time(max(b.works, 1))
	if b.Protocol == Simple && sends && bytes > 0 {
		work += b.fitted().peerChunk * units.Time(bytes) / units.Time(b.chunk)
	}
	return work
}

// blockWork is what bytes take a block of a rate.
func (s *Spec) blockWork(rate units.Rate, bytes units.Bytes) units.Time {
	timed := bytes
	if s.Protocol == LL {
		timed = max(0, bytes-llRound)
	}
	work := rate.TxTimeLong(timed)
	if s.onGPUs() {
		work += s.smRate().TxTimeLong(bytes - timed)
	}
	return work
}
