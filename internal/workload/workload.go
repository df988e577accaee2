// Package workload turns named patterns (incast, permutation, streams, traces)
// into connections and messages. It knows no devices and no scenario files.
package workload

import "github.com/hopscope/hopscope/internal/units"

// Verb is the RDMA operation of a message.
type Verb uint8

// Verbs.
const (
	Write Verb = iota
	Send
	WriteImm    // WRITE with immediate data
	SendImm     // SEND with immediate data
	SendInv     // SEND with invalidate
	Read        // RDMA READ: the data goes from Dst to Src
	CompareSwap // atomics: 8 bytes
	FetchAdd
)

func (v Verb) String() string {
	return [...]string{"WRITE", "SEND", "WRITE_IMM", "SEND_IMM", "SEND_INV", "READ", "CMP_SWAP", "FETCH_ADD"}[v]
}

// Conn is one reliable connection: a QP pair between two endpoints.
type Conn struct {
	Src, Dst int    // endpoint indices (topology.Graph.Endpoints)
	SrcPort  uint16 // UDP source port; entropy for ECMP
	DstPort  uint16 // shown in files for other programs; 0: 4791, where all RoCEv2 goes
	Class    uint8  // priority of data at the NIC
	DSCP     uint8  // of data packets
	Entry    int    // workload entry it belongs to
	// Path, when not nil, pins the route: node indices from source host to
	// destination host inclusive. The reverse direction takes the same nodes
	// backwards.
	Path []int
	// WrongRKey makes every WRITE carry an R_Key the responder never issued.
	WrongRKey bool
	// NoRemoteWrite leaves REMOTE_WRITE out of the responder QP's access flags.
	NoRemoteWrite bool
	// Receives is the number of receive work requests posted at the responder;
	// negative: always enough.
	Receives int
	// InitialRate is where congestion control starts; 0: the port's rate.
	InitialRate units.Rate
}

// Message is one work request.
type Message struct {
	Conn  int
	Verb  Verb
	Bytes units.Bytes
	Start units.Time // when it is posted; Never: by Trigger
	// Numbers of triggers, counted from 1 in Plan.Triggers; 0: none. Trigger
	// posts this message. SendDone is activated by its completion at the
	// requester, however it ends; RecvDone when the responder has accepted its
	// last byte.
	Trigger, SendDone, RecvDone int
}

// Plan is a whole workload: messages are sorted by (Start, index of entry,
// order within the entry). Append to it with AddEntry and the patterns, then
// call Finish.
type Plan struct {
	Conns    []Conn
	Messages []Message
	Entries  []string // name of each workload entry
	Triggers []Trigger
}
