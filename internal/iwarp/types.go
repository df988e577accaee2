package iwarp

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// State is where a stream stands: the start-up of MPA (RFC 5044 7), full operation, and its end.
type State uint8

// States of a stream.
const (
	Idle         State = iota
	Connecting         // TCP's handshake is not complete
	AwaitRequest       // the end that listened waits for MPA's request
	AwaitReply         // the end that opened has sent it
	AwaitFirst         // the end that listened has replied, and must not send before it has received an FPDU
	Operating          // full operation
	Terminating        // a Terminate message is to be sent, or was: the queue pair is in error
	Ended              // the stream is over: the queue pair is in error
	numStates
)

func (s State) String() string {
	return [...]string{"IDLE", "CONNECTING", "AWAIT-REQUEST", "AWAIT-REPLY", "AWAIT-FIRST", "OPERATING", "TERMINATING",
		"ENDED"}[s]
}

// legal reports whether a stream may go from one state to another.
func legal(from, to State) bool {
	switch to {
	case Connecting:
		return from == Idle
	case AwaitRequest, AwaitReply:
		return from == Connecting
	case AwaitFirst:
		return from == AwaitRequest
	case Operating: // from Idle: it was opened before the run
		return from == AwaitReply || from == AwaitFirst || from == Idle
	case Terminating:
		return from == Operating || from == AwaitFirst
	case Ended:
		return from != Ended && from != Idle
	}
	return false
}

// Reason says what Poll did, or why it sent nothing.
type Reason uint8

// Reasons. The first that applies is given.
const (
	Sent          Reason = iota // the segment was filled; the time is when pacing admits the next one
	Nothing                     // nothing is posted that was not sent
	Starting                    // TCP's handshake or MPA's start-up is not complete
	Cwnd                        // TCP's congestion window is full
	ReceiveWindow               // the peer's receive window is full
	SendBuffer                  // the card keeps as much as it can of what is not acknowledged
	Pacing                      // until the time
	Fence                       // the next request waits for the READs before it
	ReadLimit                   // as many READs are outstanding as may be
	Ahead                       // the card has not got the payload of the next FPDU (see Allow)
	InError                     // the stream is over
	numReasons
)

func (r Reason) String() string {
	return [...]string{"sent", "idle", "start-up", "congestion window", "receive window", "send buffer", "pacing", "fence",
		"outstanding READs", "payload", "error"}[r]
}

// End says why a stream ended.
type End uint8

// Ends of streams.
const (
	NotEnded      End = iota
	SentTerm          // this side sent a Terminate message
	GotTerm           // the peer did
	Rejected          // the reply of MPA's start-up said no
	Refused           // this side's did
	NoMPA             // what came in place of MPA's frame is none, or of another revision
	StartTimeout      // it did not come in time
	Reset             // TCP's connection was reset
	TimedOut          // the peer did not answer TCP
	PeerClosed        // the peer closed the connection
	LocalError        // a work request's own buffer is not what it should be
	ClosedByOwner     // Close was called
)

func (e End) String() string {
	return [...]string{"", "sent Terminate", "received Terminate", "rejected by the peer", "refused by this side",
		"the peer speaks no MPA", "MPA's start-up timed out", "connection reset", "connection timed out",
		"closed by the peer", "local protection error", "closed"}[e]
}

// Outcome is how a stream ended, and when.
type Outcome struct {
	End  End
	At   units.Time
	Term wire.Terminate // of SentTerm and GotTerm
}

// Spec is what one end of a stream is opened with.
type Spec struct {
	Config  *Config
	Segment packet.Packet // template: towards the peer
	ISS     uint32        // initial sequence number of TCP
	Active  bool          // this end opens the connection
	// Ahead, unless nil, has the stream in full operation before the run.
	Ahead *Peer
}

// Peer is what an end that is opened ahead has to know of the other.
type Peer struct {
	tcp.Peer
	Config *Config
}

// Counters is what one end did so far, beside what its connection and its completions tell.
type Counters struct {
	FPDUs       int64 // sent a first time
	PlacedAhead int64 // FPDUs that were placed ahead of a missing one
	KeptAhead   int64 // that came ahead and were not placed: of an untagged buffer, or without their start
	Discarded   int64 // payload of TCP that came after the stream had ended, bytes
	Writes      int64 // messages taken, by kind
	Sends       int64
	Reads       int64 // requests
}
