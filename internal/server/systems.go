package server

import "github.com/hopscope/hopscope/internal/units"

// Figures that several systems share.
const (
	fromNCCL    = "NCCL src/graph/topo.h"
	onePort     = "one port per card"
	perGPU      = "one card per GPU behind a switch of its own, four of them per socket: DGX H100 User Guide, table 6; the same in Azure's ndv5-topo.xml and NVIDIA/nccl#1453"
	nvAssumed   = "assumed, GPU to switch"
	fabricNotes = "assumed; a remote 64 B read takes 100 ns longer (Neugebauer et al., SIGCOMM 2018)"
)

// dgxA100 is NVIDIA's DGX A100: two EPYC 7742 in four NUMA nodes each, of which four
// have a switch with two GPUs and two cards. The storage cards are left out.
func dgxA100() *Tree {
	m := newMaker("dgx-a100", 4)
	var roots []int
	for _, numa := range []int{3, 1, 7, 5} {
		r := m.root(numa, 512*gbyte/10)
		m.t.Devices[r].Chip = AMD
		roots = append(roots, r)
		m.group(r, 2, "sm80", 1555*gbyte, 200*units.Gbps)
	}
	m.join(roots, 16*gbyte)
	m.nvlinks(12, 20*gbyte)
	m.note("tree", "4 switches with 2 GPUs and 2 cards, below NUMA nodes 3, 1, 7 and 5", "NVIDIA/nccl#1505 and NVIDIA/DCGM#149; the bridges inside a PEX88096, which nvidia-smi shows as PXB, are one switch, as NCCL flattens them")
	m.note("dram", "51.2 GB/s per NUMA node", "EPYC 7742: 8 channels of DDR4-3200 per socket, 2 per NUMA node with NPS4")
	m.note("hbm", "1555 GB/s", "A100 40 GB SXM data sheet")
	m.note("interconnect", "16 GB/s", fromNCCL+", AMD_BW")
	m.note("latency.interconnect", socketLatency.String(), fabricNotes)
	m.note("nvlink", "12 links of 20 GB/s each way", fromNCCL+", SM80_NVLINK_BW")
	m.note("latency.nvlink", nvLatency.String(), nvAssumed)
	m.note("nic", "200 Gb/s, "+onePort, "DGX A100 User Guide: 8 ConnectX-6 VPI")
	return m.done()
}

// hgxA100 is an HGX A100 board in a server with two NUMA nodes: four switches with two
// GPUs and two cards each.
func hgxA100() *Tree {
	m := newMaker("hgx-a100", 4)
	var roots []int
	for numa := range 2 {
		r := m.root(numa, 2048*gbyte/10)
		m.t.Devices[r].Chip = AMD
		roots = append(roots, r)
		m.group(r, 2, "sm80", 2039*gbyte, 200*units.Gbps)
		m.group(r, 2, "sm80", 2039*gbyte, 200*units.Gbps)
	}
	m.join(roots, 16*gbyte)
	m.nvlinks(12, 20*gbyte)
	m.note("tree", "4 switches with 2 GPUs and 2 cards, 2 per socket", "groups as in Azure's ndv4-topo.xml; one NUMA node per socket")
	m.note("dram", "204.8 GB/s per socket", "EPYC 7002/7003: 8 channels of DDR4-3200")
	m.note("hbm", "2039 GB/s", "A100 80 GB SXM data sheet")
	m.note("interconnect", "16 GB/s", fromNCCL+", AMD_BW")
	m.note("latency.interconnect", socketLatency.String(), fabricNotes)
	m.note("nvlink", "12 links of 20 GB/s each way", fromNCCL+", SM80_NVLINK_BW")
	m.note("latency.nvlink", nvLatency.String(), nvAssumed)
	m.note("nic", "200 Gb/s, "+onePort, "8 ConnectX-6")
	return m.done()
}

// eightPairs builds what DGX and HGX systems with Xeon processors have in common.
func eightPairs(name, chip string, dram, hbm, between units.Rate, links int, each units.Rate) *maker {
	m := newMaker(name, 5)
	var roots []int
	for numa := range 2 {
		r := m.root(numa, dram)
		m.t.Devices[r].PeerTLP, m.t.Devices[r].Chip = 64, Intel
		roots = append(roots, r)
		for range 4 {
			m.group(r, 1, chip, hbm, 400*units.Gbps)
		}
	}
	m.join(roots, between)
	m.nvlinks(links, each)
	m.note("latency.interconnect", socketLatency.String(), fabricNotes)
	m.note("latency.nvlink", nvLatency.String(), nvAssumed)
	m.note("peer_tlp", "64B", fromNCCL+": Intel's root complexes cut traffic between devices into TLPs of 64 B")
	return m
}

// dgxH100 is NVIDIA's DGX H100: two Xeon 8480C, eight switches with a GPU and a card
// each. The storage cards are left out.
func dgxH100() *Tree {
	m := eightPairs("dgx-h100", "sm90", 3072*gbyte/10, 3352*gbyte, 22*gbyte, 18, 206*gbyte/10)
	m.hopper()
	m.note("nic", "400 Gb/s, "+onePort, "DGX H100 User Guide: 8 ConnectX-7")
	return m.done()
}

// hgxH100 is an HGX H100 board in a server of another maker, wired the same way.
func hgxH100() *Tree {
	m := eightPairs("hgx-h100", "sm90", 3072*gbyte/10, 3352*gbyte, 22*gbyte, 18, 206*gbyte/10)
	m.hopper()
	m.note("nic", "400 Gb/s, "+onePort, "8 ConnectX-7 or alike")
	return m.done()
}

func (m *maker) hopper() {
	m.note("tree", "8 switches with a GPU and a card, 4 per socket", perGPU)
	m.note("dram", "307.2 GB/s per socket", "Xeon 8480C: 8 channels of DDR5-4800")
	m.note("hbm", "3352 GB/s", "H100 SXM data sheet")
	m.note("interconnect", "22 GB/s", fromNCCL+", SRP_QPI_BW")
	m.note("nvlink", "18 links of 20.6 GB/s each way", fromNCCL+", SM90_NVLINK_BW")
}

// dgxB200 is NVIDIA's DGX B200: two Xeon 8570, otherwise as DGX H100.
func dgxB200() *Tree {
	m := eightPairs("dgx-b200", "sm100", 3584*gbyte/10, 8000*gbyte, 40*gbyte, 18, 401*gbyte/10)
	m.note("tree", "8 switches with a GPU and a card, 4 per socket", "assumed to be wired as DGX H100; DGX B200 User Guide: 8 single-port ConnectX-7 in 4 OSFP ports")
	m.note("dram", "358.4 GB/s per socket", "Xeon 8570: 8 channels of DDR5-5600")
	m.note("hbm", "8000 GB/s", "B200 data sheet")
	m.note("interconnect", "40 GB/s", fromNCCL+", ERP_QPI_BW")
	m.note("nvlink", "18 links of 40.1 GB/s each way", fromNCCL+", SM100_NVLINK_BW")
	m.note("nic", "400 Gb/s, "+onePort, "DGX B200 User Guide: 8 ConnectX-7")
	return m.done()
}

// hgxB200 is an HGX B200 board in a server of another maker with two EPYC 9005.
func hgxB200() *Tree {
	m := eightPairs("hgx-b200", "sm100", 5760*gbyte/10, 8000*gbyte, 16*gbyte, 18, 401*gbyte/10)
	for i := range m.t.Devices {
		if d := &m.t.Devices[i]; d.Kind == Root {
			d.PeerTLP, d.Chip = 0, AMD
		}
	}
	m.unnote("peer_tlp")
	m.note("tree", "8 switches with a GPU and a card, 4 per socket", "assumed to be wired as DGX H100")
	m.note("dram", "576 GB/s per socket", "EPYC 9005: 12 channels of DDR5-6000")
	m.note("hbm", "8000 GB/s", "B200 data sheet")
	m.note("interconnect", "16 GB/s", fromNCCL+", AMD_BW")
	m.note("nvlink", "18 links of 40.1 GB/s each way", fromNCCL+", SM100_NVLINK_BW")
	m.note("nic", "400 Gb/s, "+onePort, "8 ConnectX-7 or alike")
	return m.done()
}

// gb200 is a compute tray of a GB200 NVL72: two Grace processors with two GPUs and two
// cards each. NVLinks to the other trays are left out.
func gb200() *Tree {
	m := newMaker("gb200-nvl72", 5)
	var roots []int
	for numa := range 2 {
		r := m.root(numa, 512*gbyte)
		roots = append(roots, r)
		for range 2 {
			g := m.gpu(numa, "sm100", 8000*gbyte)
			m.bridge++
			m.link(Link{Kind: Interconnect, A: r, B: g, Rate: 225 * gbyte, Latency: c2cLatency, Bridge: m.bridge})
		}
		for range 2 {
			m.nic(numa, r, 400*units.Gbps)
		}
	}
	m.join(roots, 112*gbyte)
	m.nvlinks(18, 401*gbyte/10)
	m.note("tree", "one tray: 2 Grace with 2 GPUs and 2 ConnectX-7 each", "DGX GB200 User Guide, compute trays; cards on PCIe segments of their own (NVIDIA Mission Control, GB200 network ports)")
	m.note("dram", "512 GB/s per Grace", "Grace data sheet, LPDDR5X")
	m.note("hbm", "8000 GB/s", "GB200 data sheet")
	m.note("c2c", "225 GB/s each way per GPU", "NVLink-C2C: 900 GB/s in both directions per superchip of two GPUs")
	m.note("latency.c2c", c2cLatency.String(), "assumed")
	m.note("interconnect", "112 GB/s", "assumed, coherent links between the two Grace")
	m.note("latency.interconnect", socketLatency.String(), fabricNotes)
	m.note("nvlink", "18 links of 40.1 GB/s each way", fromNCCL+", SM100_NVLINK_BW")
	m.note("latency.nvlink", nvLatency.String(), nvAssumed)
	m.note("nic", "400 Gb/s, "+onePort, "DGX GB200 User Guide: 4 ConnectX-7")
	return m.done()
}

// twoSocket is a server with two Xeon 8480 and one card on the first socket.
func twoSocket() *Tree {
	m := newMaker("two-socket", 5)
	roots := []int{m.root(0, 3072*gbyte/10), m.root(1, 3072*gbyte/10)}
	for _, r := range roots {
		m.t.Devices[r].PeerTLP, m.t.Devices[r].Chip = 64, Intel
	}
	m.nic(0, roots[0], 400*units.Gbps)
	m.join(roots, 22*gbyte)
	m.note("tree", "one card on socket 0, no GPU", "the usual server")
	m.note("dram", "307.2 GB/s per socket", "Xeon 8480: 8 channels of DDR5-4800")
	m.note("interconnect", "22 GB/s", fromNCCL+", SRP_QPI_BW")
	m.note("latency.interconnect", socketLatency.String(), fabricNotes)
	m.note("peer_tlp", "64B", fromNCCL+": Intel's root complexes cut traffic between devices into TLPs of 64 B")
	m.note("nic", "400 Gb/s, "+onePort, "ConnectX-7")
	return m.done()
}
