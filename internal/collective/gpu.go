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
	HBMRead units.Time // from a read of the GPU's memory to its data
	Launch  units.Time // of a kernel
	Link    units.Time // latency from GPU to GPU inside the server, one way
	// Flush: data that a card has written are only sure to be seen by the GPU after a
	// read of them, as before Hopper.
	Flush bool
}

// GPUCosts lists the parts with their sources. None is an end-to-end figure.
func GPUCosts(g GPU) []Cost {
	const ns = units.Nanosecond
	costs := []Cost{
		{"launch", "kernel launch", g.Launch, "server.costs.kernel_launch"},
		{"poll", "flag poll", 280 * ns, "one and a half reads of the second-level cache, 261 cycles at 1.41 GHz (Luo et al., arXiv:2402.13499)"},
		{"load", "first load", g.HBMRead, "server.costs.hbm_read"},
		{"barrier", "barriers", 300 * ns, "assumed: three barriers of a block of 512 threads"},
		{"fence", "fence", 2 * g.Link, "PTX membar.sys waits until what was stored is visible: there and back over the links of the server"},
		{"flag", "flag to the peer", g.Link, "a store over the same links"},
		{"host_flag", "flag to the proxy", 400 * ns, "assumed: a store over PCIe to the memory of the host"},
		{"proxy_poll", "proxy poll", 700 * ns, "assumed: half a turn of a proxy's loop over its connections"},
		{"post", "post", 200 * ns, "assumed: ibv_post_send"},
		{"entry", "completion entry", 300 * ns, "assumed: a card's write of 64 B to the memory of the host"},
		{"flush", "flush", 0, "not needed from Hopper on (NCCL, ncclTopoNeedFlush)"},
		{"host_poll", "poll of host memory", 1350 * ns, "assumed: one and a half reads over PCIe of 900 ns"},
	}
	for i := range costs {
		if costs[i].Key == "flush" && g.Flush {
			costs[i].Time, costs[i].Source = 1500*ns, "assumed: an RDMA READ by the card from the GPU's memory (NCCL, ncclTopoNeedFlush)"
		}
	}
	return costs
}

// Steps puts the parts together, by protocol. With Simple a block's threads meet, and
// the flag follows behind a fence; with LL and LL128 the data are their own flag, which
// is on its way as long.
func Steps(costs []Cost, p Protocol) Costs {
	pick := func(keys ...string) (parts []workload.Part) {
		for _, k := range keys {
			for _, c := range costs {
				if c.Key == k && c.Time > 0 {
					parts = append(parts, workload.Part{Name: c.Name, Time: c.Time})
				}
			}
		}
		return parts
	}
	out := Costs{Launch: pick("launch"), Post: pick("host_flag", "proxy_poll", "post"), Arrive: pick("entry", "proxy_poll", "flush", "host_poll")}
	switch p {
	case LL:
		out.Inside, out.Receive = pick("poll", "load", "flag"), pick("poll", "load")
		out.Outside, out.Arrive = out.Receive, pick("entry", "proxy_poll", "host_poll")
	case LL128:
		out.Inside, out.Receive = pick("poll", "load", "barrier", "flag"), pick("poll", "load", "barrier")
		out.Outside = out.Receive
	default:
		out.Inside, out.Receive = pick("poll", "load", "barrier", "fence", "flag"), pick("poll", "load", "barrier")
		out.Outside = pick("poll", "load", "barrier", "fence")
	}
	return out
}

// llBlocks is how many thread blocks share NCCL's bound for LL in one host: the
// channels of a server with NVSwitch.
const llBlocks = 24

// blockRate is what a thread block of a GPU takes in and hands on at most: what NCCL's
// model gives a channel in one host, with Simple that of trees.
func (s *Spec) blockRate() units.Rate {
	l := s.limits(0)
	rate := l.tree
	switch s.Protocol {
	case LL:
		rate = l.ll / llBlocks
	case LL128:
		rate = l.ring128
	}
	return units.Rate(rate*8000) * units.Mbps
}
