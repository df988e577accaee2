package congestion

import "github.com/hopscope/hopscope/internal/units"

// RateController is the congestion control of one sender: of the requests of a queue pair, for
// its whole life. It is a state machine that is told the time: it hears what is sent and what
// comes back, and says what may be sent from then on. It schedules nothing, knows no packet and
// no port, and must not allocate once it has started.
//
// The transport calls its methods in the order in which things happen; times never go backwards.
// After OnSend and OnFeedback, and at the time that the latest Decision asked for, it calls Decide.
type RateController interface {
	// OnSend hears of a packet that starts on its way; s is valid during the call.
	OnSend(s *Sending)
	// OnFeedback hears of what came back, or of what did not; f is valid during the call.
	OnFeedback(f *Feedback)
	// Decide says what may be sent from now on. Asked twice at one time it says the same,
	// but for Probe.
	Decide(now units.Time) Decision
}

// Link is what a controller is told of the queue pair that it is to control when that starts.
type Link struct {
	// Line is the rate of the sender's port, and Initial where flows start; 0 < Initial <= Line.
	Line, Initial units.Rate
	// BaseRTT is the round trip of a full packet and its acknowledgement without anything in the
	// way: from the first bit sent to the acknowledgement's last one received.
	BaseRTT units.Time
	// Window is the window that the scenario gives the transport, in bytes; 0: none.
	Window int64
	// MTU is the payload of a full packet, and Frame what it takes of the wire.
	MTU, Frame units.Bytes
	// Now is when the queue pair starts.
	Now units.Time
}

// BDP is what the line sends in one base round trip, in bytes.
func (l *Link) BDP() int64 { return scaled(int64(l.Line), int64(l.BaseRTT), 8e12) }

// Sending is one packet that starts on its way.
type Sending struct {
	Now     units.Time
	Wire    units.Bytes // what it takes of the wire, preamble and gap included
	Payload units.Bytes
	Before  uint64 // payload of the queue pair before this packet
	Entropy uint32 // the hash of its path
	Again   bool   // it was sent before
}

// Kind is what a Feedback tells of.
type Kind uint8

// Kinds of feedback.
const (
	Acked    Kind = iota // an acknowledgement, of READs and atomics their answer
	Nacked               // a negative one: something arrived out of order, or was not wanted
	Notified             // a congestion notification packet (RoCEv2's CNP)
	Answered             // the answer to a probe
	TimedOut             // nothing came back in time: something was lost
)

// Fate is what became of the packet that a Feedback tells of.
type Fate uint8

// Fates.
const (
	Clean      Fate = iota // it arrived
	Marked                 // it arrived, and a switch had marked it
	Disordered             // it arrived before others, or instead of them
	Lost                   // nothing was heard of it in time
)

// Feedback is one event that tells a sender of the network. What its Needs do not ask for is 0.
type Feedback struct {
	Kind Kind
	Fate Fate
	Now  units.Time
	// Acked is the payload that has been acknowledged in all, Sent what has been sent, both from
	// the queue pair's first byte on, and Bytes what this event acknowledges.
	Acked, Sent uint64
	Bytes       int64
	// Entropy is the hash of the path of the packet that this is an answer to.
	Entropy uint32
	// Stamps are the card's times of that packet or probe; Stamps.Start is 0 without any.
	Stamps Stamps
	// Hops is how many switches it passed, where it carried stamps or telemetry.
	Hops int
	// INT is what those wrote, in their order; nil without telemetry, or if there were more of them
	// than the header has room for.
	INT []HopRecord
}

// Stamps are times of a packet and its acknowledgement by the cards' clocks, which the simulation
// takes to be one.
type Stamps struct {
	Start   units.Time // the packet's first bit left the sender's port
	Out     units.Time // its last one did
	Arrived units.Time // the receiver's port had it
	Replied units.Time // the receiver made the acknowledgement
}

// RTT is the round trip from the packet's last bit out to its acknowledgement in at now.
func (s *Stamps) RTT(now units.Time) units.Time { return now - s.Out }

// Cause is why a controller changed what it allows.
type Cause uint8

// Causes.
const (
	NoCause     Cause = iota
	ByMark            // a marked packet, or a notification of one
	ByDelay           // round trips longer than the controller wants
	ByTelemetry       // what switches wrote
	ByLoss            // something was lost, or did not come in order
	ByProgress        // nothing spoke against more
	NumCauses
)

func (c Cause) String() string {
	return [...]string{"nothing", "marks", "delay", "telemetry", "loss", "progress"}[c]
}

// Decision is what may be sent.
type Decision struct {
	// Rate in bit/s of the wire, at least 1; more than the port's is the port's.
	Rate units.Rate
	// Window is how much payload may be unacknowledged, in bytes: a packet may start while less
	// is. 0: the controller keeps none.
	Window int64
	// Gap is the least time from the start of a packet to that of the next, for windows below
	// one packet; 0: as Rate has it.
	Gap units.Time
	// Again is when to be asked again whatever happens, later than now; units.Never: not before
	// something happens. It is heeded while the queue pair has something to do.
	Again units.Time
	// Probe has a probe sent, and AckNow the next packet ask for an acknowledgement.
	Probe, AckNow bool
	// Cause is why Rate or Window differ from the Decision before.
	Cause Cause
}

// Needs is the feedback that a controller cannot do without. The fabric carries exactly that, and
// counts its bytes.
type Needs struct {
	CNP      bool // receivers answer marked packets by congestion notification packets
	Echo     bool // an acknowledgement says whether its packet was marked
	Step     bool // marks are wanted from one length of the queue on: where nothing is said of ECN, DCTCP's
	Stamps   bool // packets carry StampBytes of time stamps, and acknowledgements take them back
	INT      bool // packets have a header of INTBytes for telemetry, and acknowledgements take it back
	INTScale int  // the units of telemetry's bytes are so many times 128 and 80 bytes; 0: 1
	Probes   bool // the card sends probes, which the peer's card answers
	EveryAck bool // every packet asks for an acknowledgement
}

// WireBytes is what each packet and each acknowledgement carry for n.
func (n Needs) WireBytes() (bytes int) {
	if n.Stamps {
		bytes += StampBytes
	}
	if n.INT {
		bytes += INTBytes
	}
	return bytes
}

// Marks reports whether packets must be ECN-capable.
func (n Needs) Marks() bool { return n.CNP || n.Echo }

// Carries reports whether packets carry something for the controller.
func (n Needs) Carries() bool { return n.Stamps || n.INT }

// StampBytes is the length of the time stamp in packets of TIMELY in the ns-3 RDMA simulators.
const StampBytes = 8

// ProbeBytes is the frame of a probe and of its answer: that of a CNP, 78 bytes on Ethernet. The
// cards' own format is not published.
const ProbeBytes = 78

// scaled is a*b/c rounded down, for values not below 0 and c above.
func scaled(a, b, c int64) int64 { return mulDiv(a, b, c) }
