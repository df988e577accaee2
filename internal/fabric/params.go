// Package fabric is what carries frames: ports, links, switches and their
// buffers, with three rules for a buffer that is about to overflow: drop the frame
// (drop.go), pause the upstream port (pause.go), or have given it no credit
// (credit.go). A port's loop knows none of them by name: it asks a gate (gate.go).
package fabric

import (
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/units"
)

// Classes is the number of priorities of an Ethernet port, and of the data VLs of
// an InfiniBand port: shipped adapters and switches operate VL 0 to 7 at most,
// and the masks of VL 8 to 14 would cost every Ethernet port.
const Classes = 8

// RED is a WRED marking curve on the instantaneous egress queue: never below
// KMin, with a probability that rises to PMax at KMax, always above (DCQCN
// CP, models.md 1.1). KMax 0 switches marking off.
type RED struct {
	KMin, KMax units.Bytes
	PMax       float64
}

// PFCParams describes priority flow control of one port in both roles.
type PFCParams struct {
	Enabled  uint8      // priorities for which this port sends and obeys PFC
	Silent   uint8      // those of them for which it only obeys: what should pause is lost when memory ends
	Quanta   uint16     // pause time sent, in 512-bit times; 0: no timer, paused until XON (ns-3)
	Refresh  units.Time // a pause still needed is sent again after this long; 0: never
	Response units.Time // from the end of a received PFC frame to the gate
}

// PortParams is everything about one port that the link does not say.
type PortParams struct {
	PFC PFCParams
	// Classes in Strict are served first, the highest number first; the others
	// share by deficit weighted round robin, Weight times DWRRQuantum bytes a
	// round (weight 0 counts as 1).
	Strict      uint8
	Weight      [Classes]uint8
	DWRRQuantum units.Bytes
	RED         [Classes]RED   // marking of this port's egress queues
	Credit      *CreditParams  // input buffers of an InfiniBand port; shared, read only; nil: none
	VLArb       *VLArbitration // in place of Strict and Weight; shared, read only; nil: not InfiniBand
	FECN        *FECNParams    // marking in place of RED; shared, read only; nil: none
	// Victim, a bit of SwitchCongestionSetting's Victim_Mask: the port marks also
	// while it lacks credits itself.
	Victim bool
}

// SwitchParams is one switch.
type SwitchParams struct {
	Memory     *mmu.Params // what its ports share; read only; nil: an InfiniBand switch, whose ports have buffers of their own
	Latency    units.Time  // pipeline, after the last bit (cut-through: the header), before admission
	CutThrough bool
	MaxFrame   uint32 // larger ones are dropped as they arrive; 0: none is too large
	Salt       uint64 // of the ECMP hash
	Hash       Hash
	Balancing  Balancing // among equal ports; nil: by hash, so that a flow keeps its port
	DSCPToPrio [64]uint8 // priority by DSCP, unless TrustPCP
	TrustPCP   bool      // classify by the VLAN tag
	PCPToPrio  [8]uint8
	// Arbitration: of the lossy frames that find no room until the next one leaves their
	// queue, a random one gets the room.
	Arbitration   bool
	MarkAtEnqueue bool
	MarkAny       bool  // mark packets that are not ECT as well (ns-3)
	Unaccounted   uint8 // priorities that bypass buffer accounting (ns-3: class 0)
	// SL2VL makes the switch an InfiniBand switch: the VL on which a packet leaves,
	// by service level, as 16 entries for all ports, or [in][out][16] in one slice.
	SL2VL []uint8
	// How long a packet may stand at the head of a queue, and how long it may be in
	// the switch, before it is discarded; 0: for ever. See Lifetime.
	HOQLife, PacketLife units.Time
	// INTScale has the switch write telemetry into packets that ask for it, in units of so many
	// times 128 and 80 bytes; 0: it writes none. See congestion.HopRecord.
	INTScale int
	Watchdog *WatchdogParams // shared, read only; nil: none
	Bounce   *BounceParams   // read only; nil: frames stay in their class
	Ports    []PortParams    // per local port
}
