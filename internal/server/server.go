// Package server is the inside of a server as a tree: GPUs, network cards, PCIe
// switches, root complexes with their memory, and the links between them, with the way
// that data take from one to another and what that way allows. It holds no state of a
// run; package dma moves bytes over it.
package server

import (
	"github.com/hopscope/hopscope/internal/pcie"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Kind says what a device is.
type Kind uint8

// Kinds of devices.
const (
	GPU      Kind = iota // with its high-bandwidth memory
	NIC                  // a network card: one slot, with all functions and ports of the card
	Switch               // a PCIe switch or bridge
	Root                 // the root complex of one NUMA node: its cores, caches and root ports
	DRAM                 // the memory of one NUMA node
	NVSwitch             // a switch of NVLinks
)

// String returns the kind in lower case, as tables print it.
func (k Kind) String() string {
	return [...]string{"GPU", "NIC", "PCIe switch", "CPU", "DRAM", "NVSwitch"}[k]
}

// Device is a place in the server that data start from, end at or pass.
type Device struct {
	Name  string // unique in the tree: "gpu0", "nic0", "switch0", "cpu0", "dram0"
	Kind  Kind
	BusID string // PCI address "0000:17:00.0", if known
	NUMA  int    // number of the NUMA node; -1: not known
	Line  int    // of its element in a file; 0: none
	Alias string // what its system calls a card ("mlx5_0"); "": not known

	Memory units.Rate // GPU and DRAM: rate of the memory, reads and writes together
	// Chip is what a GPU is: NVIDIA's compute capability ("sm90") or AMD's target
	// ("gfx942"); of a root complex the maker, Intel or AMD; "": not known.
	Chip string
	// NoDirect: cards cannot reach the memory of this GPU, as the driver for it is missing.
	NoDirect bool
	// PeerTLP is the largest payload of a TLP that a root complex passes from one
	// device to another; 0: as it came. Intel's cut such traffic into 64 B.
	PeerTLP units.Bytes
}

// Makers of processors that NCCL tells apart.
const (
	Intel = "intel"
	AMD   = "amd"
)

// LinkKind says what a link is.
type LinkKind uint8

// Kinds of links.
const (
	PCIe         LinkKind = iota
	Interconnect          // between root complexes (UPI, xGMI), or of a GPU with one (NVLink-C2C)
	NVLink                // between GPUs or a GPU and an NVSwitch; xGMI between AMD's
	MemoryBus             // of a root complex with its DRAM
	HBM                   // of a GPU with its own memory: both ends are the GPU
)

// String returns the usual name.
func (k LinkKind) String() string {
	return [...]string{"PCIe", "interconnect", "NVLink", "memory bus", "HBM"}[k]
}

// Link joins two devices. Both directions are alike.
type Link struct {
	Kind LinkKind
	A, B int // indices of devices; A is the one nearer to the root complex
	PCIe pcie.Link
	Rate units.Rate // payload per direction, for kinds without TLPs
	// Latency is one way, without serialisation: the link itself and its share of the
	// devices at its ends (half of what a switch takes to forward; what a root complex
	// takes at its port).
	Latency units.Time
	Count   int // NVLinks in parallel, already in Rate; 0 otherwise
	// Bridge tells the host bridges of one root complex apart: links with different
	// numbers are joined by the fabric inside the processor. 0: not told.
	Bridge int
	Line   int // of its element in a file; 0: none
}

// Tree is one server.
type Tree struct {
	Name    string
	Devices []Device
	Links   []Link
	Costs   Costs
	ACS     bool // access control services redirect TLPs between devices to the root complex
	IOMMU   bool // DMA addresses are translated
	// Relaxed lets writes that may pass each other do so (relaxed ordering).
	Relaxed bool
	// Nets are the network ports as the host numbers them: port i of a host is Nets[i].
	Nets []Net
	// OldTies has GPUs choose between equal network ports as NCCL did before 2.30.
	OldTies bool
	// DirectLevel is the farthest class at which a card reads and writes a GPU's memory
	// for NCCL (NCCL_NET_GDR_LEVEL), PeerLevel that at which a GPU reads and writes
	// another's (NCCL_P2P_LEVEL). 0: NCCL's own rules.
	DirectLevel, PeerLevel Class
	Notes                  []record.Note // every constant with its source
	// Assumed is what of the links between GPUs a file leaves to be assumed; "": nothing.
	Assumed string
	// Warnings say what a file left open and what is assumed instead.
	Warnings []Warning
}

// Net is a network port of a card.
type Net struct {
	Card     int        // device
	Name     string     // what its system calls it ("mlx5_0"); "": not known
	Rate     units.Rate // of its line; 0: not known
	NoDirect bool       // it cannot reach the memory of GPUs: the driver for it is missing
}

// PortsOf lists the network ports of a card, by their numbers in Nets.
func (t *Tree) PortsOf(card int) (ports []int) {
	for i := range t.Nets {
		if t.Nets[i].Card == card {
			ports = append(ports, i)
		}
	}
	return ports
}

// kind lists the devices of a kind in order.
func (t *Tree) kind(k Kind) []int {
	var out []int
	for i := range t.Devices {
		if t.Devices[i].Kind == k {
			out = append(out, i)
		}
	}
	return out
}

// GPUs lists the devices that are GPUs, in the order of their numbers.
func (t *Tree) GPUs() []int { return t.kind(GPU) }

// NICs lists the devices that are network cards, in the order of their numbers.
func (t *Tree) NICs() []int { return t.kind(NIC) }

// parent returns the link that leads from a device towards its root complex, -1 for a
// root complex and for what has none.
func (t *Tree) parent(dev int) int {
	if t.Devices[dev].Kind == Root {
		return -1
	}
	for i := range t.Links {
		l := &t.Links[i]
		if l.B == dev && (l.Kind == PCIe || l.Kind == Interconnect || l.Kind == MemoryBus) {
			return i
		}
	}
	return -1
}

// hbm returns the link of a GPU with its memory, -1 if it has none.
func (t *Tree) hbm(dev int) int {
	for i := range t.Links {
		if t.Links[i].Kind == HBM && t.Links[i].B == dev {
			return i
		}
	}
	return -1
}

// RootOf returns the root complex above a device, itself if it is one, -1 if it hangs
// off none.
func (t *Tree) RootOf(dev int) int {
	for range t.Devices {
		if t.Devices[dev].Kind == Root {
			return dev
		}
		l := t.parent(dev)
		if l < 0 {
			return -1
		}
		dev = t.Links[l].A
	}
	return -1
}

// DRAMOf returns the memory on the root complex of a device, -1 if there is none.
func (t *Tree) DRAMOf(dev int) int {
	root := t.RootOf(dev)
	for i := range t.Links {
		if t.Links[i].Kind == MemoryBus && t.Links[i].A == root {
			return t.Links[i].B
		}
	}
	return -1
}

// Find returns the device with a name, -1 if there is none.
func (t *Tree) Find(name string) int {
	for i := range t.Devices {
		if t.Devices[i].Name == name {
			return i
		}
	}
	return -1
}

// LinkName names a link by its ends, a memory's by the memory.
func (t *Tree) LinkName(link int) string {
	l := &t.Links[link]
	a, b := t.Devices[l.A].Name, t.Devices[l.B].Name
	switch l.Kind {
	case HBM:
		return "HBM of " + b
	case MemoryBus:
		return b
	}
	return a + "-" + b
}
