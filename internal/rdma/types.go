package rdma

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// State is the state of a queue pair (IBTA 10.3).
type State uint8

// Queue pair states.
const (
	Reset State = iota
	Init
	RTR // ready to receive
	RTS // ready to send
	SQD // send queue drained: finishes started messages, starts none
	SQE // send queue error: unreliable services only, never entered by RC
	Err
	numStates
)

func (s State) String() string {
	return [...]string{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}[s]
}

// reqState is the requester's state within RTS and SQD.
type reqState uint8

const (
	reqSend   reqState = iota // sends what is next
	reqResend                 // sends again what was sent before
	reqRNR                    // waits out an RNR NAK
)

func (s reqState) String() string { return [...]string{"send", "resend", "rnr-wait"}[s] }

// rspState is the responder's state within RTR, RTS, SQD and SQE.
type rspState uint8

const (
	rspReady rspState = iota // the expected PSN is next
	rspNAK                   // a gap was reported; silent until the expected PSN arrives
	rspRNR                   // an RNR NAK was sent; silent until the expected PSN arrives
)

func (s rspState) String() string { return [...]string{"ready", "nak-sent", "rnr-sent"}[s] }

// Verb is the operation of a work request.
type Verb uint8

// Verbs, in the order of workload.Verb.
const (
	Write       Verb = iota // RDMA WRITE
	Send                    //
	WriteImm                // RDMA WRITE with immediate data
	SendImm                 // SEND with immediate data
	SendInv                 // SEND with invalidate
	Read                    // RDMA READ
	CompareSwap             // atomic compare and swap
	FetchAdd                // atomic fetch and add
	numVerbs
)

func (v Verb) String() string {
	return [...]string{"WRITE", "SEND", "WRITE with immediate", "SEND with immediate", "SEND with invalidate",
		"READ", "CMP_SWAP", "FETCH_ADD"}[v]
}

// Service is the transport service of a queue pair.
type Service uint8

// Services.
const (
	RC Service = iota // reliable connection
	UC                // unreliable connection
	UD                // unreliable datagram
)

func (s Service) String() string { return [...]string{"RC", "UC", "UD"}[s] }

// WorkRequest is one message to send. Bytes may be 0 (one empty packet) to 2^31.
type WorkRequest struct {
	ID    uint32
	Verb  Verb
	Bytes units.Bytes
	VA    uint64 // WRITE, READ, atomics: remote address
	RKey  uint32 // WRITE, READ, atomics: key of the remote memory region
	// Imm is the immediate data, or the R_Key that SEND with invalidate names.
	Imm uint32
	// Swap and Compare are the operands of atomics; FETCH_ADD adds Swap.
	Swap, Compare uint64
	// LVA and LKey name the local buffer: the source of SEND and WRITE, the
	// destination of READ and atomics. Looked at only where data is carried.
	LVA  uint64
	LKey uint32
	// Fence holds the request back until all READs and atomics before it are
	// complete (IBTA 10.8.3.3).
	Fence bool
	// AH is where a UD message goes; it must stay as it is until the request
	// completes.
	AH *AddressHandle
	// Inline has the payload in the work request itself: no DMA reads it.
	Inline bool
}

// MaxMessage is the largest message (IBTA 9.4.5).
const MaxMessage units.Bytes = 1 << 31

// AtomicBytes is what an atomic works on (IBTA 9.4.5).
const AtomicBytes units.Bytes = 8

// Reason says what Poll did, or why it sent nothing.
type Reason uint8

// Reasons. The first that applies is given.
const (
	Sent           Reason = iota // the packet was filled; the time is when pacing admits the next one
	Idle                         // nothing is posted that was not sent
	RNRWait                      // waiting out an RNR NAK until the time
	Window                       // the window is outstanding
	SlowRestarting               // the window of the slow restart is outstanding
	Bitmap                       // as many packets are outstanding as the receive bitmap holds, or half the PSN space
	Repair                       // likewise, but what is oldest was sent again and is not acknowledged yet
	Fence                        // the next request waits for the READs and atomics before it
	ReadLimit                    // MaxRdAtomic READs and atomics are outstanding
	RateLimit                    // pacing; until the time
	InError                      // the queue pair is in error
	NotReady                     // the queue pair is not yet in RTS
	numReasons
)

func (r Reason) String() string {
	return [...]string{"sent", "idle", "RNR wait", "window", "slow restart", "bitmap", "repair", "fence", "outstanding READs", "rate", "error", "not ready"}[r]
}

// Status is the status of a completion, by the verbs' numbers.
type Status uint8

// Completion statuses (ibv_wc_status).
const (
	Success     Status = 0
	LocLen      Status = 1 // a message longer than the receive buffer, a READ response of the wrong length
	LocProt     Status = 4 // the work request's own buffer is not registered, or not for this
	WRFlush     Status = 5
	BadResp     Status = 7 // a response of a kind that was not asked for
	RemInvReq   Status = 9
	RemAccess   Status = 10
	RemOp       Status = 11
	RetryExc    Status = 12
	RNRRetryExc Status = 13
)

func (s Status) String() string {
	switch s {
	case Success:
		return "success"
	case LocLen:
		return "LOC_LEN_ERR"
	case LocProt:
		return "LOC_PROT_ERR"
	case WRFlush:
		return "WR_FLUSH_ERR"
	case BadResp:
		return "BAD_RESP_ERR"
	case RemInvReq:
		return "REM_INV_REQ_ERR"
	case RemAccess:
		return "REM_ACCESS_ERR"
	case RemOp:
		return "REM_OP_ERR"
	case RetryExc:
		return "RETRY_EXC_ERR"
	case RNRRetryExc:
		return "RNR_RETRY_EXC_ERR"
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// Completion is one entry of a completion queue.
type Completion struct {
	ID     uint32 // of the work request
	Conn   uint32 // connection of the queue pair
	Status Status
	Time   units.Time
	// Of a received message: what it was, how long, and its immediate data or the
	// R_Key that it invalidated.
	Receive bool
	Verb    Verb
	Bytes   units.Bytes
	Imm     uint32
}

// CompletionQueue collects completions in order. The owner reads Entries and
// calls Clear.
type CompletionQueue struct {
	Entries []Completion
}

// Clear empties the queue and keeps its room.
func (c *CompletionQueue) Clear() { c.Entries = c.Entries[:0] }

// Replies is what Receive wants sent back: at most an ACK or NAK and a CNP. They
// have no side records; what has one, the ACK of an atomic, comes from Poll.
type Replies struct {
	N int
	P [2]packet.Packet
	// CNPAfter, when positive, asks for QP.LateCNP so much later.
	CNPAfter units.Time
}

// Attrs is what a connection sets up beyond addresses.
type Attrs struct {
	// Memory is what the device has registered; the queue pair reaches the
	// regions of domain PD. nil: nothing is registered.
	Memory *Memory
	PD     PD
	// Access is what the queue pair lets its peer ask for: RemoteWrite,
	// RemoteRead and RemoteAtomic.
	Access Access
	// Inbox is where SENDs go in a run that carries data; nil: nowhere.
	Inbox *Inbox
	// MaxRdAtomic is how many READs and atomics the requester may have
	// outstanding; with 0 it cannot post any. MaxDestRdAtomic is how many the
	// responder has room for, at least the peer's MaxRdAtomic; with 0 it refuses
	// them. Both 0 to 128 (DefaultRdAtomic: 16).
	MaxRdAtomic, MaxDestRdAtomic uint8
	// MaxInline is the longest message, in bytes, that a work request may hold
	// inline.
	MaxInline units.Bytes
	// Receives is the number of receive work requests posted; negative: always
	// enough. Setup.SRQ takes their place.
	Receives int64
	// ReceiveSize is the room of each receive work request; 0: enough for any
	// message. UD needs GRHRoom of it.
	ReceiveSize units.Bytes
	// SQPSN and RQPSN are the first PSNs sent and expected, 24 bits.
	SQPSN, RQPSN uint32
	// Window is this connection's window in bytes; 0: Config.WindowBytes.
	Window units.Bytes
	// BaseRTT is the round trip of a full packet and its acknowledgement on the idle path; only
	// congestion controllers look at it. 0: the packet's time on the wire.
	BaseRTT units.Time
}

// Acts is the ledger of one queue pair.
type Acts struct {
	SequenceGap, RNR, AckTimeout         record.Act // detected
	CNPSent, CEOnAck, NAKSent            record.Act // fed back; CEOnAck: on InfiniBand BECN
	Refused                              record.Act // fed back: a NAK for a request against the rules, not for congestion
	RetransNAK, RetransTimer, RetransRNR record.Act // recovered; count: packets
	RetransRead                          record.Act // recovered: responses sent again because they were asked for again
}

// ReadActs is the ledger of a requester of READs and atomics that missed
// responses.
type ReadActs struct {
	AskedAgain     record.Act // fed back: READ requests sent again for want of a response
	RetransMissing record.Act // recovered: other requests sent again for want of a response
}

// Counters is what one queue pair did so far.
type Counters struct {
	SentPackets, SentBytes int64 // SentBytes: payload, retransmissions included
	DeliveredBytes         int64 // payload accepted in order as responder
	Retransmitted          int64 // packets
	RetransmittedBytes     int64 // their payload
	ReadBytes              int64 // payload of READ responses taken, as requester
	CNPsSent, CNPsReceived int64 // flags on ACKs count as CNPs
	CNPsIgnored            int64 // received within the interval, when the sender coalesces
	CNPsLimited            int64 // marked packets that got no CNP within the interval, when the receiver coalesces
	NAKsSent, NAKsReceived int64
	Timeouts               int64
	Discarded              int64 // packets ignored: wrong state, stale or impossible PSN
}

// UnreliableDrops are the messages that a UC or UD queue pair dropped as
// responder, each under the first cause that it met. Of a message whose first
// packet is lost it knows nothing.
type UnreliableDrops struct {
	Broken    record.Act // UC: given up after their first packet, for another came than was expected
	NoReceive record.Act // found no receive work request
	TooLong   record.Act // longer than the receive work request
	BadQKey   record.Act // UD: datagrams with another Q_Key
	Refused   record.Act // UC: against R_Key, rights, bounds or announced length
}

// Opcodes of the reliable connected service, as bytes of packet.Packet.
const (
	OpSendFirst      = uint8(wire.RCSendFirst)
	OpSendMiddle     = uint8(wire.RCSendMiddle)
	OpSendLast       = uint8(wire.RCSendLast)
	OpSendLastImm    = uint8(wire.RCSendLastImm)
	OpSendOnly       = uint8(wire.RCSendOnly)
	OpSendOnlyImm    = uint8(wire.RCSendOnlyImm)
	OpWriteFirst     = uint8(wire.RCWriteFirst)
	OpWriteMiddle    = uint8(wire.RCWriteMiddle)
	OpWriteLast      = uint8(wire.RCWriteLast)
	OpWriteLastImm   = uint8(wire.RCWriteLastImm)
	OpWriteOnly      = uint8(wire.RCWriteOnly)
	OpWriteOnlyImm   = uint8(wire.RCWriteOnlyImm)
	OpReadRequest    = uint8(wire.RCReadRequest)
	OpReadRespFirst  = uint8(wire.RCReadRespFirst)
	OpReadRespMiddle = uint8(wire.RCReadRespMiddle)
	OpReadRespLast   = uint8(wire.RCReadRespLast)
	OpReadRespOnly   = uint8(wire.RCReadRespOnly)
	OpAck            = uint8(wire.RCAcknowledge)
	OpAtomicAck      = uint8(wire.RCAtomicAck)
	OpCompareSwap    = uint8(wire.RCCmpSwap)
	OpFetchAdd       = uint8(wire.RCFetchAdd)
	OpSendLastInv    = uint8(wire.RCSendLastInv)
	OpSendOnlyInv    = uint8(wire.RCSendOnlyInv)
	OpCNP            = uint8(wire.CNPOpcode)
	OpIBCNP          = uint8(wire.IBCNPOpcode)

	OpProbe       = uint8(wire.ProbeOpcode)
	OpProbeAnswer = uint8(wire.ProbeAnswerOpcode)
)

// AETH syndromes that this package sends.
const (
	SynACK       = wire.SyndromeNoLimit // positive, no credit limit
	SynRNR       = wire.SyndromeRNR     // with the timer code in the low five bits
	SynNAKSeq    = wire.SyndromePSNSequence
	SynNAKInv    = wire.SyndromeInvalidRequest
	SynNAKAccess = wire.SyndromeRemoteAccess
	SynNAKOp     = wire.SyndromeRemoteOperational
)

const psnMask = 1<<24 - 1

// psnDiff is the signed distance from PSN b to PSN a, in -2^23 .. 2^23-1.
func psnDiff(a, b uint32) int64 { return int64(int32((a-b)<<8) >> 8) }
