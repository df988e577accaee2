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

// VerbNames lists the verbs as scenarios write them, in their order.
func VerbNames() []string {
	return []string{"write", "send", "write-imm", "send-imm", "send-inv", "read", "cas", "fetch-add"}
}

// Atomic reports whether the verb works on the 8 bytes of a remote word.
func (v Verb) Atomic() bool { return v == CompareSwap || v == FetchAdd }

// TakesReceive reports whether the verb uses up a receive work request at the
// responder (IBTA 10.7.2.2).
func (v Verb) TakesReceive() bool {
	return v == Send || v == SendImm || v == SendInv || v == WriteImm
}

// TakesRKey reports whether the verb names memory of the responder.
func (v Verb) TakesRKey() bool { return v.Right() != 0 }

// Right is the access that the verb needs at the responder; 0: none.
func (v Verb) Right() Access {
	switch v {
	case Write, WriteImm:
		return RemoteWrite
	case Read:
		return RemoteRead
	case CompareSwap, FetchAdd:
		return RemoteAtomic
	}
	return 0
}

// AtomicSize is what an atomic works on (IBTA 9.4.5).
const AtomicSize units.Bytes = 8

// Access is a set of rights of a responder's queue pair and memory region.
type Access uint8

// Rights, as verbs name them.
const (
	RemoteWrite Access = 1 << iota
	RemoteRead
	RemoteAtomic
)

// Service is the transport service of a connection.
type Service uint8

// Services, in the order of rdma.Service.
const (
	RC    Service = iota // reliable connection
	UC                   // unreliable connection
	UD                   // unreliable datagram
	TCP                  // no service of RDMA: a connection that carries a stream of bytes
	IWARP                // reliable connection that TCP carries
)

func (s Service) String() string { return [...]string{"RC", "UC", "UD", "TCP", "iWARP"}[s] }

// Reliable reports whether messages arrive once and in order, and the responder knows when they have.
func (s Service) Reliable() bool { return s == RC || s == TCP || s == IWARP }

// Allows reports whether the service has the verb (ibv_post_send(3): UC has no
// READ, atomics and invalidation; UD sends only).
func (s Service) Allows(v Verb) bool {
	switch s {
	case UC:
		return v <= SendImm
	case UD:
		return v == Send || v == SendImm
	case TCP:
		return v == Send
	case IWARP: // RFC 5040; RFC 7306 adds immediate data and atomics
		return v == Write || v == Send || v == SendInv || v == Read
	}
	return true
}

// SRQ is a receive queue that the responders of several connections share.
type SRQ struct {
	Host     int // node index
	Receives int // receive work requests posted at the start
}

// Conn is one connection: a QP pair between two endpoints. The requester, which
// posts the messages, is at Src. The data of READs go from Dst to Src, those of
// all other verbs from Src to Dst.
type Conn struct {
	Src, Dst int // endpoint indices (topology.Graph.Endpoints)
	// SrcDevice and DstDevice are the devices of the hosts' servers in which the data
	// lie at either end; NoDevice: the memory of the card's socket. What is staged goes
	// through that memory on its way between device and card.
	SrcDevice, DstDevice int16
	SrcStaged, DstStaged bool
	SrcPort              uint16 // UDP source port; entropy for ECMP
	DstPort              uint16 // shown in files for other programs; 0: 4791, where all RoCEv2 goes
	Class                uint8  // priority of data at the NIC
	DSCP                 uint8  // of data packets
	Entry                int    // workload entry it belongs to
	// Path, when not nil, pins the route: node indices from source host to
	// destination host inclusive. The reverse direction takes the same nodes
	// backwards.
	Path    []int
	Service Service
	// SrcThread and DstThread are the threads of the hosts' applications that post and
	// poll at either end, from 1; 0: the one of all that name none.
	SrcThread, DstThread int16
	// Slots: it carries no data but the news that slots of a collective's buffers are
	// free.
	Slots   bool
	Profile int  // carried by TCP: which profile of those that a run has, from 1; else 0
	NoDelay bool // TCP: Nagle's rule is off (TCP_NODELAY)
	Reads   bool // the messages are READs: the data come from Dst
	// WrongRKey makes every request to remote memory carry an R_Key the responder
	// never issued.
	WrongRKey bool
	// Denied is what the responder's access flags leave out.
	Denied Access
	// Receives is the number of receive work requests posted at the responder;
	// negative: always enough. SRQ, from 1 in Plan.SRQs, takes their place; 0: none.
	Receives, SRQ int
	// ReceiveSize is the room of each receive; 0: enough for any message.
	ReceiveSize units.Bytes
	// Region is the length of the responder's memory region; 0: as far as its
	// messages reach.
	Region units.Bytes
	// Fence holds each message back until the READs and atomics before it are
	// complete. Inline has payloads in the work requests.
	Fence, Inline bool
	// InitialRate is where congestion control starts; 0: the port's rate.
	InitialRate units.Rate
}

// Message is one work request.
type Message struct {
	Conn int
	Verb Verb
	// Back has it go from Dst to Src of its connection, which carries data both
	// ways with TCP alone.
	Back bool
	// Call is the number of the remote procedure call that it belongs to, from 1; 0:
	// none. Reply tells its two messages apart.
	Reply bool
	Call  int32
	Bytes units.Bytes
	// Offset is where the message begins in the responder's region, in bytes; for
	// verbs that name none, in the buffers of either side.
	Offset units.Bytes
	Start  units.Time // when it is posted; Never: by Trigger or Awaits
	// Numbers of triggers, counted from 1 in Plan.Triggers; 0: none. Trigger
	// posts this message. SendDone is activated by its completion at the
	// requester, however it ends; RecvDone when the responder has accepted its
	// last byte.
	Trigger, SendDone, RecvDone int
	// Awaits: operations that it is After start it; see Plan.After.
	Awaits bool
}

// Plan is a whole workload: its messages, which At and All tell, are in order of
// (Start, index of entry, order within the entry). Append to it with AddEntry and
// the patterns, then call Finish.
type Plan struct {
	Conns    []Conn
	Series   []Series // what the messages are made from; sorted by Finish
	Entries  []string // name of each workload entry
	Triggers []Trigger
	SRQs     []SRQ
	Locals   []Local // operations inside hosts
	Labels   []Label // what local operations do
	// Collectives are those that the operations belong to.
	Collectives []Collective
	// Programs are the collectives whose operations are made as they run.
	Programs []*Program
	Jobs     []*Job
	// Graph is what messages and local operations wait for; filled in by Finish,
	// nil when none does.
	Graph *Graph
	edges []edge
	Loads []Load // what entries of arrivals ask for
	Calls int    // remote procedure calls
	total int    // messages
	order *order
}

// Ends returns the endpoints of a message: of who posts it, and of its peer.
func (p *Plan) Ends(m *Message) (from, to int) {
	c := &p.Conns[m.Conn]
	if m.Back {
		return c.Dst, c.Src
	}
	return c.Src, c.Dst
}

// EntryName is how reports call the workload that connection i belongs to.
func (p *Plan) EntryName(i int) string {
	c := &p.Conns[i]
	if c.Slots {
		return p.SlotsName(c.Entry)
	}
	return p.Entries[c.Entry]
}

// SlotsName is how reports call what a collective, an entry of the workload, says of its buffers.
func (p *Plan) SlotsName(entry int) string { return p.Entries[entry] + " slots" }
