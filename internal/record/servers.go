package record

import (
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// Server is what went over the links inside one host.
type Server struct {
	Host   string       `json:"host"`
	Server string       `json:"server"` // name of its tree
	Links  []ServerLink `json:"links"`  // directions of links, and memories, that carried anything
	// Copies is what copy engines of GPUs did, those that copied anything.
	Copies []CopyEngine `json:"copy_engines,omitempty"`
	// IOMMUs is what the IOMMUs of root complexes did, those that translated anything.
	IOMMUs []IOMMU `json:"iommus,omitempty"`
}

// IOMMU is that of a root complex, which translates the addresses of DMA.
type IOMMU struct {
	Root   string     `json:"root"`
	Pages  int64      `json:"pages"`  // that transfers asked for
	Misses int64      `json:"misses"` // of these, those that its IOTLB did not hold
	WalkPS units.Time `json:"walk_ps"`
	// WaitedPS is what transfers waited for walks, added up.
	WaitedPS units.Time `json:"waited_ps"`
}

// CopyEngine is a GPU's engine for copies between its memory and the host's, in one
// direction.
type CopyEngine struct {
	GPU    string     `json:"gpu"`
	In     bool       `json:"into_gpu"`
	Bytes  int64      `json:"bytes"`
	Copies int64      `json:"copies"`
	BusyPS units.Time `json:"busy_ps"`
}

// Name is "copy engine into gpu0", or "out of".
func (c *CopyEngine) Name() string {
	if c.In {
		return "copy engine into " + c.GPU
	}
	return "copy engine out of " + c.GPU
}

// PCIe reports whether it is a direction of a PCIe link.
func (l *ServerLink) PCIe() bool { return strings.HasPrefix(l.Kind, KindPCIe) }

// Kinds of links inside servers, as ServerLink.Kind holds them; after the first stand
// generation and width.
const (
	KindPCIe = "PCIe "
	KindDRAM = "DRAM" // a memory of the host's; reads and writes
	// MemoryOf begins the name of a memory.
	MemoryOf = "memory of "
)

// ServerLink is one direction of a link inside a server, or a memory.
type ServerLink struct {
	Name string     `json:"name"` // "nic0 to switch0", "memory of gpu0"
	Kind string     `json:"kind"` // "PCIe gen5 x16", "NVLink x18", "DRAM"
	Rate units.Rate `json:"rate_bps"`
	// PayloadBytes is data of transfers, Bytes what they took of the rate: with headers
	// and the requests for reads.
	PayloadBytes int64      `json:"payload_bytes"`
	Bytes        int64      `json:"bytes"`
	Transfers    int64      `json:"transfers"`
	BusyPS       units.Time `json:"busy_ps"`
	// WaitedPS is what transfers waited for their turn and for credits, CreditsPS for
	// credits alone, added up; PeakPS the longest wait, which began at PeakAtPS.
	WaitedPS  units.Time `json:"waited_ps"`
	CreditsPS units.Time `json:"credits_ps"`
	PeakPS    units.Time `json:"peak_wait_ps"`
	PeakAtPS  units.Time `json:"peak_at_ps"`
}
