package run_test

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/pcie"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// randomServer is a server that differs from its preset in what a seed draws; one
// time in four a host has none.
func randomServer(seed uint64, node, ports int) *server.Tree {
	g := &generator{Stream: rng.New(seed, fmt.Sprintf("server %d", node))}
	if g.one(4) {
		return nil
	}
	name := g.pick("dgx-a100", "dgx-h100", "two-socket", "dgx-b200")
	if ports > 1 {
		name = "dgx-h100"
	}
	t, err := server.Preset(name)
	if err != nil {
		panic(err)
	}
	for i := range t.Links {
		l := &t.Links[i]
		if l.Kind != server.PCIe {
			continue
		}
		if g.one(3) {
			l.PCIe = pcie.New(g.between(1, 5), g.pickInt(1, 4, 8, 16))
		}
		l.PCIe.MPS, l.PCIe.MRRS = units.Bytes(g.pickInt(128, 256, 512)), units.Bytes(g.pickInt(128, 512, 4096))
		l.Latency = units.Time(g.IntN(300_000))
	}
	t.ACS, t.IOMMU, t.Relaxed = g.one(3), g.one(3), g.one(2)
	c := &t.Costs
	c.ReadTags, c.PostedCredits = g.pickInt(1, 2, 8, 32, 256), units.Bytes(g.pickInt(4096, 5952, 1<<16))
	c.Doorbell, c.Poll = units.Time(g.IntN(400_000)), units.Time(g.IntN(100_000))
	c.DRAMRead, c.HBMRead = units.Time(g.IntN(600_000)), units.Time(g.IntN(600_000))
	c.StageChunk = units.Bytes(g.pickInt(4096, 10_000, 1<<19))
	c.Bounce = c.StageChunk * units.Bytes(g.between(2, 4))
	return t
}

// giveServers gives the hosts of a scenario random servers and receive buffers, and
// has its messages lie in GPUs, staged or not, or in the hosts' memories.
func giveServers(v *scenario.Valid, seed uint64, staged bool) {
	g := &generator{Stream: rng.New(seed, "servers")}
	for node := range v.Graph.Nodes {
		if v.Graph.Nodes[node].Kind != topology.Host {
			continue
		}
		n := &v.NICs[node]
		n.Server = randomServer(seed, node, len(v.Graph.Nodes[node].Ports))
		if n.Server == nil {
			continue
		}
		n.DrainRate = 0
		if v.Wire.Block == 0 {
			n.RxBuffer, n.RxXOFF, n.RxXON = units.Bytes(g.pickInt(0, 100_000, 1_000_000)), units.Bytes(g.pickInt(0, 20_000)), 10_000
		}
	}
	device := func(ep int) (int16, bool) {
		t := v.NICs[v.Graph.HostOf(ep)].Server
		if t == nil || g.one(3) {
			return workload.NoDevice, false
		}
		gpus := t.GPUs()
		if len(gpus) == 0 {
			return workload.NoDevice, false
		}
		return int16(gpus[g.IntN(len(gpus))]), staged && g.one(2)
	}
	for i := range v.Plan.Conns {
		c := &v.Plan.Conns[i]
		c.SrcDevice, c.SrcStaged = device(c.Src)
		c.DstDevice, c.DstStaged = device(c.Dst)
	}
}

// TestServersAccountsTile: accounts of messages between random servers add up,
// whatever befell them, and on how many partitions a run is cut matters for nothing.
// Every fourth scenario is one of InfiniBand.
func TestServersAccountsTile(t *testing.T) {
	t.Parallel()
	seeds := draws(25, 200)
	seen, ran := map[string]int{}, 0
	for seed := range seeds {
		text := harsh(seed)
		if seed%4 == 3 {
			text = drawInfiniBand(seed).text
		}
		v, err := scenario.Parse("harsh.yaml", []byte(text), nil, nil)
		if err != nil {
			continue
		}
		ran++
		mixVerbs(v, seed)
		giveServers(v, seed, seed%3 != 0) // what is staged has one verb
		r := simulate(t, v, 1, 1)
		if d := differ(t, r, simulate(t, v, 2+int(seed%6), 2)); d != "" {
			t.Fatalf("seed %d: partitions matter: %s\n%s", seed, d, text)
		}
		checkServed(t, r, seen, fmt.Sprintf("seed %d\n%s", seed, text))
	}
	for _, what := range []string{"success", "RETRY_EXC_ERR", "REM_ACCESS_ERR", "WR_FLUSH_ERR", "doorbell and WQE fetch", "DMA read",
		"DMA write", "copy to host", "copy to GPU", "response DMA read", "receive buffer", "paused", "resending", "fence", "NIC cache miss"} {
		if seen[what] == 0 && !testing.Short() {
			t.Errorf("no message with %q in %d scenarios", what, ran)
		}
	}
	t.Logf("%d scenarios: %v", ran, seen)
}

// checkServed holds the accounts of a run, and that a completion entry is not polled
// before the requester has it.
func checkServed(t *testing.T, r *record.Run, seen map[string]int, text string) {
	t.Helper()
	seen["end: "+r.Stopped]++
	for i := range r.Messages {
		f := &r.Messages[i]
		seen[f.Status]++
		if why := accountWrong(r, i); why != "" {
			t.Fatalf("message %d (%s): %s\n%v\n%s", i, f.Status, why, f.Account.Stages(), text)
		}
		for _, s := range f.Account.Stages() {
			seen[s.Stage.String()]++
		}
	}
}
