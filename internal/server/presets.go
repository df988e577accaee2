package server

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/pcie"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Presets lists the names that Preset knows.
func Presets() []string {
	return []string{"dgx-a100", "hgx-a100", "dgx-h100", "hgx-h100", "dgx-b200", "hgx-b200", "gb200-nvl72", "two-socket"}
}

// Preset returns a server by name. Its notes say where each number comes from.
func Preset(name string) (*Tree, error) {
	switch name {
	case "dgx-a100":
		return dgxA100(), nil
	case "hgx-a100":
		return hgxA100(), nil
	case "dgx-h100":
		return dgxH100(), nil
	case "hgx-h100":
		return hgxH100(), nil
	case "dgx-b200":
		return dgxB200(), nil
	case "hgx-b200":
		return hgxB200(), nil
	case "gb200-nvl72":
		return gb200(), nil
	case "two-socket":
		return twoSocket(), nil
	}
	return nil, fmt.Errorf("unknown server %q; the presets are %s", name, strings.Join(Presets(), ", "))
}

const gbyte = 8 * units.Gbps // 1 GB/s

// Latencies of the parts of a link. A link has the port logic of both ends and half of
// what a switch at an end takes to forward.
const (
	portLatency   = 70 * units.Nanosecond  // both ends of a link: PHY, data link and transaction layer
	rootLatency   = 140 * units.Nanosecond // in or out of a root complex, beside its port
	switchLatency = 105 * units.Nanosecond // through a switch
	busLatency    = 10 * units.Nanosecond  // root complex to memory controller
	socketLatency = 50 * units.Nanosecond  // across the interconnect, one way
	nvLatency     = 250 * units.Nanosecond // GPU to NVSwitch or GPU
	c2cLatency    = 150 * units.Nanosecond // GPU to the processor it is packaged with
)

// maker builds a tree.
type maker struct {
	t      *Tree
	gen    int // of PCIe
	bridge int // last host bridge
	count  [NVSwitch + 1]int
}

func newMaker(name string, gen int) *maker {
	m := &maker{t: &Tree{Name: name, Costs: DefaultCosts(gen), Relaxed: true}, gen: gen}
	m.note("pcie", pcie.New(gen, 16).String()+", MPS 256B, MRRS 512B", "as the system's root ports and cards negotiate")
	m.note("latency.port", portLatency.String(), "assumed, PHY to transaction layer and back at both ends")
	m.note("latency.switch", switchLatency.String(), "Broadcom PEX88000, cut-through between x16 ports (Linley Newsletter, 2019-09-24)")
	m.note("latency.root", rootLatency.String(), "with ports and memory 547 ns for a 64 B read, the median of a Xeon E5 (Neugebauer et al., SIGCOMM 2018)")
	m.note("latency.memory_bus", busLatency.String(), "assumed, the mesh between root port and memory controller")
	return m
}

func (m *maker) note(key, value, source string) {
	m.t.Notes = append(m.t.Notes, record.Note{Key: "server." + key, Value: value, Source: source})
}

// unnote takes the last note of a key away.
func (m *maker) unnote(key string) {
	for i := len(m.t.Notes) - 1; i >= 0; i-- {
		if m.t.Notes[i].Key == "server."+key {
			m.t.Notes = append(m.t.Notes[:i], m.t.Notes[i+1:]...)
			return
		}
	}
}

// done adds the notes of the costs.
func (m *maker) done() *Tree {
	m.t.Notes = append(m.t.Notes, m.t.Costs.Notes("server.costs.")...)
	return m.t
}

// add adds a device, named after its kind and number.
func (m *maker) add(k Kind, numa int) int {
	short := [...]string{"gpu", "nic", "switch", "cpu", "dram", "nvswitch"}[k]
	m.t.Devices = append(m.t.Devices, Device{Name: fmt.Sprint(short, m.count[k]), Kind: k, NUMA: numa})
	m.count[k]++
	return len(m.t.Devices) - 1
}

func (m *maker) link(l Link) { m.t.Links = append(m.t.Links, l) }

// root adds a root complex with its memory.
func (m *maker) root(numa int, memory units.Rate) int {
	r := m.add(Root, numa)
	d := m.add(DRAM, numa)
	m.t.Devices[d].Memory = memory
	m.link(Link{Kind: MemoryBus, A: r, B: d, Rate: memory, Latency: busLatency})
	return r
}

// pci joins two devices by a PCIe link of 16 lanes; from a root complex it is a host
// bridge of its own.
func (m *maker) pci(upper, lower int) {
	l := Link{Kind: PCIe, A: upper, B: lower, PCIe: pcie.New(m.gen, 16), Latency: portLatency}
	for _, end := range [2]int{upper, lower} {
		switch m.t.Devices[end].Kind {
		case Switch:
			l.Latency += switchLatency / 2
		case Root:
			l.Latency += rootLatency
		}
	}
	if m.t.Devices[upper].Kind == Root {
		m.bridge++
		l.Bridge = m.bridge
	}
	m.link(l)
}

// gpu adds a GPU with its memory below a switch or root complex.
func (m *maker) gpu(numa int, chip string, memory units.Rate) int {
	g := m.add(GPU, numa)
	m.t.Devices[g].Memory, m.t.Devices[g].Chip = memory, chip
	m.link(Link{Kind: HBM, A: g, B: g, Rate: memory})
	return g
}

// nic adds a card with one port below a switch or root complex.
func (m *maker) nic(numa, upper int, port units.Rate) {
	n := m.add(NIC, numa)
	m.t.Nets = append(m.t.Nets, Net{Card: n, Rate: port})
	m.pci(upper, n)
}

// AddCard hangs a card with a port of an unknown rate at the first root complex: hosts have ports, and
// a server whose GPUs are all that matters may have no card.
func (t *Tree) AddCard() {
	m := maker{t: t, gen: 5, bridge: len(t.Links)}
	m.nic(t.Devices[t.kind(Root)[0]].NUMA, t.kind(Root)[0], 0)
}

// group adds a switch below a root complex with GPUs and as many cards.
func (m *maker) group(root, pairs int, chip string, memory, port units.Rate) {
	numa := m.t.Devices[root].NUMA
	s := m.add(Switch, numa)
	m.pci(root, s)
	for range pairs {
		m.pci(s, m.gpu(numa, chip, memory))
	}
	for range pairs {
		m.nic(numa, s, port)
	}
}

// join links every pair of root complexes.
func (m *maker) join(roots []int, rate units.Rate) {
	for i, a := range roots {
		for _, b := range roots[:i] {
			m.link(Link{Kind: Interconnect, A: b, B: a, Rate: rate, Latency: socketLatency})
		}
	}
}

// nvlinks joins all GPUs through an NVSwitch. The planes of switches that a system has
// count as one, as NCCL counts them.
func (m *maker) nvlinks(count int, each units.Rate) {
	s := m.add(NVSwitch, -1)
	for _, g := range m.t.GPUs() {
		m.link(Link{Kind: NVLink, A: s, B: g, Rate: units.Rate(count) * each, Count: count, Latency: nvLatency})
	}
}

// Plain is a host of which nothing is known but its cards: one socket with a PCIe link of 16
// lanes of a generation to each, as fast as its memory lets it be.
func Plain(gen, cards int, port units.Rate) *Tree {
	m := newMaker(fmt.Sprintf("plain (PCIe generation %d)", gen), gen)
	r := m.root(0, 2048*gbyte/10)
	for range cards {
		m.nic(0, r, port)
	}
	m.note("dram", "204.8 GB/s", "EPYC 7002/7003: 8 channels of DDR4-3200")
	return m.done()
}
