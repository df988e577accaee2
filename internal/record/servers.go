package record

import "github.com/hopscope/hopscope/internal/units"

// Server is what went over the links inside one host.
type Server struct {
	Host   string       `json:"host"`
	Server string       `json:"server"` // name of its tree
	Links  []ServerLink `json:"links"`  // directions of links, and memories, that carried anything
}

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
