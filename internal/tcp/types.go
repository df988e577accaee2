package tcp

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// State is the state of a connection (RFC 9293 3.3.2).
type State uint8

// States of a connection.
const (
	Closed State = iota
	Listen
	SynSent
	SynReceived
	Established
	FinWait1
	FinWait2
	CloseWait
	Closing
	LastAck
	TimeWait
	numStates
)

func (s State) String() string {
	return [...]string{"CLOSED", "LISTEN", "SYN-SENT", "SYN-RECEIVED", "ESTABLISHED", "FIN-WAIT-1", "FIN-WAIT-2",
		"CLOSE-WAIT", "CLOSING", "LAST-ACK", "TIME-WAIT"}[s]
}

// synchronised reports whether both sides know each other's sequence numbers.
func (s State) synchronised() bool { return s >= Established }

// caState is where congestion control stands; the names are Linux's.
type caState uint8

const (
	caOpen     caState = iota // nothing is lost
	caCWR                     // the window comes down after ECE
	caRecovery                // fast recovery
	caLoss                    // after a retransmission timeout
)

func (s caState) String() string { return [...]string{"open", "cwr", "recovery", "loss"}[s] }

// Reason says what Poll did, or why it sent nothing.
type Reason uint8

// Reasons. The first that applies is given.
const (
	Sent          Reason = iota // the segment was filled; the time is when pacing admits the next one
	Idle                        // nothing is to be sent
	Connecting                  // the handshake is not complete
	Cwnd                        // the congestion window is full
	ReceiveWindow               // the peer's receive window is full
	Pacing                      // until the time
	NagleWait                   // a small segment waits for an acknowledgement
	TSODefer                    // a larger super-segment is worth waiting for the next ACK
	NotOpen                     // the connection is closed, or was never opened
	numReasons
)

func (r Reason) String() string {
	return [...]string{"sent", "idle", "connecting", "congestion window", "receive window", "pacing", "Nagle", "TSO deferral", "closed"}[r]
}

// Events are what the owner of a socket may want to act on; see Conn.TakeEvents.
type Events uint8

// Events, as bits.
const (
	Connected   Events = 1 << iota // the handshake is complete
	Readable                       // there is data to read
	Writable                       // there is room again after a Write that found too little
	PeerClosed                     // the peer sends no more: all was received
	Finished                       // both sides have closed; nothing more will be sent or received
	ResetByPeer                    // the connection was reset
	TimedOut                       // the peer did not answer
)

// Acts is the ledger of one connection.
type Acts struct {
	CEReceived  record.Act // detected: segments that carried CE; sum: bytes
	SequenceGap record.Act // detected: segments that arrived ahead of a missing one
	LossDupAck  record.Act // detected: segments taken for lost by duplicate or selective ACKs; sum: bytes
	LossRACK    record.Act // detected: by time; sum: bytes
	RTO         record.Act // detected: expiries of the retransmission timer
	ECESent     record.Act // fed back: segments with ECE
	SACKSent    record.Act // fed back: segments with SACK blocks
	DupAckSent  record.Act // fed back: acknowledgements of a segment ahead of a missing one, without SACK
	CutLoss     record.Act // slowed: sum: bytes off the window
	CutECE      record.Act
	CutRTO      record.Act
	Undone      record.Act // a cut that was needless taken back; sum: bytes
	RetransFast record.Act // recovered: segments sent again in fast recovery; sum: bytes
	RetransRTO  record.Act // recovered: after a timeout
	RetransTLP  record.Act // recovered: as a tail loss probe
}

// Counters is what one connection did so far.
type Counters struct {
	SentSegments  int64 // on the wire: a super-segment counts as what it is cut into
	SentBytes     int64 // payload, retransmissions included
	PureAcks      int64 // segments without data, SYN, FIN or RST
	Retransmitted int64 // segments
	RetransBytes  int64
	Received      int64 // segments
	Delivered     int64 // payload in order, bytes
	Duplicates    int64 // segments with nothing new
	OutOfOrder    int64 // segments ahead of a missing one
	Discarded     int64 // segments that were not acceptable
	PAWS          int64 // of these, by timestamp
	ChallengeAcks int64 // RFC 5961
	Probes        int64 // zero-window probes
	TLPs          int64 // tail loss probes, of new or old data
	ZeroWindows   int64 // times that this side closed its window
	Persists      int64 // expiries of the persist timer
	UpdatesLost   int64 // times that the peer asked for room, or used less, that it had long been told of
	DSACKs        int64 // duplicates that the peer reported
}

// Info is a look at a connection, for series and tests. Sizes are bytes.
type Info struct {
	State          State
	Cwnd, Ssthresh int64
	InFlight       int64 // what the sender takes to be in the network
	SendWindow     int64 // the peer's receive window
	ReceiveWindow  int64 // what this side advertises
	SendBuffer     int64 // its size; and how much of it is in use
	SendQueued     int64
	ReceiveBuffer  int64
	ReceiveQueued  int64
	SRTT, RTTVar   units.Time
	MinRTT         units.Time
	RTO            units.Time // with back-off
	MSS            int        // payload of a full segment
	Recovering     bool
}
