package catalog

import "strings"

// Stage is a part of a message's completion time, on one leg of its way.
type Stage uint16

// Stages of the requester, before a packet leaves.
const (
	NoStage          Stage = iota
	StageCPU               // the application had not posted it yet
	StageConnect           // set-up of the queue pair, on its first use
	StageRegister          // of the message's memory
	StageEarlierWork       // earlier messages of the queue pair were not sent yet
	StageIdle
	StageRNRWait       // the responder had no receive work request
	StageAwaitAck      // all was sent
	StageWindow        // of a queue pair
	StageSlowRestart   // a small window after a timeout, or after idle
	StageBitmap        // as many packets were outstanding as the receive bitmap holds
	StageAwaitRNR      // sent, but the responder had no receive work request
	StageRate          // congestion control paced the queue pair
	StagePaused        // a port's class was paused
	StageCredits       // in place of paused, where links have credits
	StageControl       // the port sent ACKs, CNPs or PFC frames
	StageOther         // the port served other queue pairs
	StageSending       // at the line's rate
	StageResending     // below the highest PSN sent before
	StageFence         // earlier READs and atomics had to be complete first
	StageHung          // the card hung
	StageFetch         // the card fetched a context or translations that it did not hold
	StageWorkFetch     // the card had not got the work request
	StageRead          // the card waited for payload from memory
	StageCopyOut       // out of a GPU into pinned memory
	StageReads         // as many READs and atomics were outstanding as the queue pair may have
	StageInOrder       // acknowledged, but completions keep the order of posting
	StageLoss          // the requester had to hear of it
	StageResponses     // of a READ, up to one that was lost
	StageReordered     // packets sent before the last one arrived after it
	StageHandshake     // of TCP: the connection was not open yet
	StageSendBuffer    // the socket had no room for what was to be written
	StageCardBuffer    // the card that runs TCP had no room for more of the stream
	StageCwnd          // the congestion window was full
	StageReceiveWindow // the peer's receive window was full
	StagePacing        // the connection spreads its segments
	StageNagle         // a small segment waited for an acknowledgement
	StageDetection     // by duplicate ACKs, time or probe
	StageTimeout       // the retransmission timer told of the loss
	StageReassembly    // what went before the last segment arrived after it
	StageUnread        // the receiving application had not read what was there
	StageKernel        // a core wrote to the socket or made the segment, or was to
	StageSoftirq       // the frame waited for the interrupt and for the core, which took it
	StageQueue         // of a port
	StageReceiveBuffer // of a host, that it receives into
	StagePipeline      // inside a card, between its port and its transport
	StageSerialisation // onto a link
	StagePropagation   // along a cable
	StageLatency       // of a switch
	StageJitter        // what noise added: in the card that sent, and in the switch ahead
	StageBeyond        // a packet's stamps hold so many hops
	StageCopyIn        // out of pinned memory into a GPU
	StageEntry         // written by the card and polled by the application
	StagePlace         // from the card's taking up the last packet to its payload's being in memory
	StageCopy          // of an operation of a collective: data moved over the links inside a server
	numStages
)

// Leg is the part of its way that a stage passes on.
type Leg uint8

// Legs.
const (
	LegThere    Leg = iota // of the message, up to its acceptance
	LegResponse            // of a READ: from the acceptance of its request to its last response
	LegAck                 // of the acknowledgement
)

const (
	legShift = 8
	legNames = 3
)

// Stages of the acknowledgement alone.
const (
	StageCoalesce     = ackCoalesce | Stage(LegAck)<<legShift
	StageHeldAck      = ackHeld | Stage(LegAck)<<legShift // acknowledgements keep the order of requests
	StageImplied      = ackImplied | Stage(LegAck)<<legShift
	StageAckLost      = ackLost | Stage(LegAck)<<legShift
	StageAckOvertaken = ackOvertaken | Stage(LegAck)<<legShift // nothing of the connection was dropped: a later one was faster
	StageAckWay       = ackWay | Stage(LegAck)<<legShift
	StageAckRead      = StageRead | Stage(LegAck)<<legShift // an atomic's: what it found is read from memory
)

const (
	ackCoalesce = numStages + iota
	ackHeld
	ackImplied
	ackLost
	ackOvertaken
	ackWay
)

// Part is what stages of a message have in common.
type Part uint8

// Parts, in the order in which a comparison lists them.
const (
	PartCores   Part = iota // of hosts, and set-up
	PartCopies              // between GPUs and memory of hosts, by copy engines
	PartInside              // cards, and what they read and write over PCIe
	PartOrder               // behind earlier work of the same queue pair
	PartSlowed              // by congestion control and windows
	PartPeer                // by the receive window: the peer's cores, application or buffer leave no room, or word of it was lost
	PartHeld                // by pauses and for want of credits
	PartQueued              // behind other traffic
	PartLost                // of what was lost or came out of order
	PartWire                // on links and through switches, with nothing in the way
	PartAnswer              // until the acknowledgement was there
	PartLocal               // operations of collectives other than messages
	PartUnknown             // stages that are none of these
)

var parts = []string{"cores", "copies", "card, PCIe", "in order", "slowed", "receiver", "held", "queued", "recovery",
	"wire", "answer", "in servers", "other"}

// Parts lists all parts in their order.
func Parts() (out []Part) {
	for p := range parts {
		out = append(out, Part(p))
	}
	return out
}

func (p Part) String() string {
	return nameOf(parts, int(p), func(s *string) string { return *s }, "part")
}

// MarshalText writes the stable name.
func (p Part) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the stable name.
func (p *Part) UnmarshalText(name []byte) (err error) {
	*p, err = find(len(parts), string(name), Part.String, "part")
	return err
}

// stage is what is known of a stage.
type stage struct {
	name   string
	part   Part
	placed bool // accounts say where; else it is the message's own queue pair
	traits StageTraits
	cause  Cause // as long as nothing else is found to stand behind it
}

// StageTraits are properties of stages, a bit each.
type StageTraits uint8

// Traits of stages.
const (
	Own     StageTraits = 1 << iota // time of a queue pair before its packets leave, other than waiting for another message
	Blames                          // the cause may lie elsewhere than in the stage itself
	Sent                            // the message itself was being sent
	Repeats                         // something was lost
)

var stages = []stage{
	NoStage:            {part: PartUnknown},
	StageCPU:           {"host CPU", PartCores, true, Blames, CauseApplication},
	StageConnect:       {"connection set-up", PartCores, true, 0, CauseSetUp},
	StageRegister:      {"registration", PartCores, true, 0, CauseSetUp},
	StageEarlierWork:   {"behind earlier work", PartOrder, false, 0, CauseEarlier},
	StageIdle:          {"idle", PartOrder, false, 0, CauseApplication},
	StageRNRWait:       {"RNR wait", PartLost, false, Own | Blames, CauseReceives},
	StageAwaitAck:      {"awaiting acknowledgement", PartAnswer, false, 0, CauseAck},
	StageWindow:        {"window", PartSlowed, false, Own | Blames, CauseWindow},
	StageSlowRestart:   {"slow restart", PartSlowed, false, Own, CauseWindow},
	StageBitmap:        {"bitmap", PartSlowed, false, Own | Blames, CauseBitmap},
	StageAwaitRNR:      {"awaiting RNR NAK", PartLost, false, Own | Blames, CauseReceives},
	StageRate:          {"rate", PartSlowed, false, Own | Blames, CauseRate},
	StagePaused:        {"paused", PartHeld, true, Own | Blames, CausePort},
	StageCredits:       {"no credits", PartHeld, true, Own | Blames, CausePort},
	StageControl:       {"control frames", PartQueued, true, Own, CauseLine},
	StageOther:         {"other traffic", PartQueued, true, Own, CausePort},
	StageSending:       {"sending", PartWire, true, Own | Sent, CauseLine},
	StageResending:     {"resending", PartLost, true, Own | Blames | Repeats, CauseLoss},
	StageFence:         {"fence", PartOrder, false, Own, CauseOrder},
	StageHung:          {"card hung", PartInside, true, Own, CauseFault},
	StageFetch:         {"NIC cache miss", PartInside, false, Own, CauseCaches},
	StageWorkFetch:     {"doorbell and WQE fetch", PartInside, false, Blames, CauseInside},
	StageRead:          {"DMA read", PartInside, false, Blames, CauseInside},
	StageCopyOut:       {"copy to host", PartCopies, false, 0, CauseStaged},
	StageReads:         {"max_rd_atomic", PartOrder, false, Own | Blames, CauseReads},
	StageInOrder:       {"behind earlier READ", PartOrder, false, 0, CauseOrder},
	StageLoss:          {"awaiting NAK or timeout", PartLost, false, Own | Blames | Repeats, CauseLoss},
	StageResponses:     {"receiving responses", PartLost, false, Repeats, CauseLoss},
	StageReordered:     {"earlier packets on their way", PartLost, false, 0, CausePort},
	StageHandshake:     {"handshake", PartCores, false, Own, CauseSetUp},
	StageSendBuffer:    {"send buffer", PartCores, false, Own | Blames, CauseSendBuffer},
	StageCardBuffer:    {"card's send buffer", PartSlowed, false, Own | Blames, CauseSendBuffer},
	StageCwnd:          {"congestion window", PartSlowed, false, Own | Blames, CauseCwnd},
	StageReceiveWindow: {"receive window", PartPeer, false, Own | Blames, CausePeerWindow},
	StagePacing:        {"pacing", PartSlowed, false, Own, CauseRate},
	StageNagle:         {"Nagle", PartOrder, false, Own, CauseOrder},
	StageDetection:     {"awaiting loss detection", PartLost, false, Own | Blames | Repeats, CauseLoss},
	StageTimeout:       {"awaiting timeout", PartLost, false, Own | Blames | Repeats, CauseLoss},
	StageReassembly:    {"earlier segments on their way", PartLost, false, Blames, CausePort},
	StageUnread:        {"receiving application", PartCores, true, Blames, CauseApplication},
	StageKernel:        {"system calls and output", PartCores, false, Own | Blames, CauseCore},
	StageSoftirq:       {"interrupt and input", PartCores, true, Blames, CauseCore},
	StageQueue:         {"queue", PartQueued, true, Blames, CausePort},
	StageReceiveBuffer: {"receive buffer", PartInside, true, Blames, CauseReceiver},
	StagePipeline:      {"card pipeline", PartInside, true, 0, CauseLine},
	StageSerialisation: {"serialisation", PartWire, true, Sent, CauseLine},
	StagePropagation:   {"propagation", PartWire, true, 0, CauseLine},
	StageLatency:       {"switch latency", PartWire, true, 0, CauseLine},
	StageJitter:        {"jitter", PartWire, true, 0, CauseLine},
	StageBeyond:        {"hops not recorded", PartWire, false, 0, CauseLine},
	StageCopyIn:        {"copy to GPU", PartCopies, true, 0, CauseStaged},
	StageEntry:         {"completion entry", PartInside, true, 0, CauseInside},
	StagePlace:         {"DMA write", PartInside, true, 0, CauseInside},
	StageCopy:          {"copy", PartLocal, true, 0, CauseInside},
	numStages:          {part: PartUnknown},
}

// answers are the stages of the acknowledgement alone, from numStages on.
var answers = []stage{
	{"coalescing", PartAnswer, true, 0, CauseAck},
	{"behind READ responses", PartAnswer, true, 0, CauseAck},
	{"implied", PartAnswer, true, 0, CauseAck},
	{"lost", PartLost, false, Blames, CauseLoss},
	{"overtaken", PartAnswer, false, 0, CauseAck},
	{"on its way", PartAnswer, false, 0, CauseAck},
}

// legs begin the names of the stages of a leg.
var legs = [legNames]string{LegResponse: "response ", LegAck: "ACK "}

// On is the stage on a leg.
func (s Stage) On(l Leg) Stage { return s.Base() | Stage(l)<<legShift }

// Leg is where the stage passes.
func (s Stage) Leg() Leg { return Leg(s >> legShift) }

// Base is the stage whatever the leg.
func (s Stage) Base() Stage { return s & (1<<legShift - 1) }

// row is what is known of a stage.
func (s Stage) row() (r stage) {
	switch b := int(s.Base()); {
	case b < len(stages)-1:
		return stages[b]
	case b-int(numStages) < len(answers):
		return answers[b-int(numStages)]
	}
	return stages[numStages]
}

// String is the stable name: "queue", "ACK queue", "response rate".
func (s Stage) String() string { return legs[min(s.Leg(), LegAck)] + s.row().name }

// Part is what the stage belongs to. All of the acknowledgement's are the answer's, but one
// that was lost.
func (s Stage) Part() Part {
	p := s.row().part
	if s.Leg() == LegAck && p != PartLost {
		return PartAnswer
	}
	return p
}

// Cause is the kind of cause that the stage itself is, as long as nothing else is found to
// stand behind it.
func (s Stage) Cause() Cause { return s.row().cause }

// Placed reports whether accounts say where it passed.
func (s Stage) Placed() bool { return s.row().placed }

// Is reports whether the stage has all the traits, of its own leg: the acknowledgement's
// stages have none.
func (s Stage) Is(t StageTraits) bool { return s.Leg() != LegAck && s.row().traits&t == t }

// Stages lists every stage on every leg on which it may pass.
func Stages() (out []Stage) {
	for s := NoStage + 1; s < numStages; s++ {
		out = append(out, s, s.On(LegResponse), s.On(LegAck))
	}
	for k := range answers {
		out = append(out, (numStages + Stage(k)).On(LegAck))
	}
	return out
}

// MarshalText writes the stable name.
func (s Stage) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the stable name.
func (s *Stage) UnmarshalText(name []byte) error {
	leg, rest := LegThere, string(name)
	for l, prefix := range legs {
		if cut, ok := strings.CutPrefix(rest, prefix); ok && prefix != "" {
			leg, rest = Leg(l), cut
			break
		}
	}
	if leg == LegAck {
		for k := range answers {
			if answers[k].name == rest {
				*s = (numStages + Stage(k)).On(LegAck)
				return nil
			}
		}
	}
	base, err := find(int(numStages), rest, Stage.String, "stage")
	*s = base.On(leg)
	return err
}
