package record

import (
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// Causes of drops, as Drop.Cause holds them.
const (
	DropHeadroom = "headroom exceeded"                    // a lossless ingress buffer and its headroom were full
	DropEgress   = "egress threshold"                     // a lossy queue reached its dynamic threshold
	DropPool     = "pool full"                            // no room was left in the pool of a lossy queue below its threshold, or without one
	DropIngress  = "ingress threshold"                    // a lossy priority group reached its threshold, or its pool its end
	DropWRED     = "WRED, not ECN-capable"                // the marking curve's drop of a frame that cannot be marked
	DropLoss     = "link loss"                            // by the link's loss probability
	DropBitError = "bit error"                            // by the link's bit error rate
	DropEvery    = "drop_every"                           // every so many data frames of a link
	DropLinkDown = "link down"                            // sent onto a link that is down
	DropPortDown = "port down"                            // queued at a port as its switch noticed that the link is down
	DropTTL      = "TTL expired"                          // forwarded too often
	DropNoRoute  = "no route"                             // no way to the destination
	DropReceive  = "NIC receive buffer full"              // a host did not take data as fast as it came
	DropPFC      = "PFC frame lost on the link"           // a pause or resumption that did not arrive
	DropHOQ      = "head-of-queue lifetime"               // it stood at the head of a queue for too long
	DropLifetime = "switch lifetime"                      // it was in the switch for too long
	DropCredit   = "flow-control packet lost on the link" // credits that did not arrive; the next packet brings them
)

// Parts of the time from a link's failure to new tables, as Phase.Name holds them.
const (
	PhaseDetection   = "detection"   // until the ends of the link know, or the subnet manager
	PhaseConvergence = "convergence" // until all other switches do
	PhaseWaiting     = "waiting"     // the subnet manager was busy with an earlier failure
	PhaseSweep       = "sweep"       // the subnet manager looks at the whole subnet
	PhaseComputation = "computation" // of new forwarding tables
	PhaseProgramming = "programming" // of the switches
)

// LinkDrops are the causes that lie on a link, other than of PFC frames. They
// are counted at the port that sent.
func LinkDrops() []string { return []string{DropLoss, DropBitError, DropEvery, DropLinkDown} }

// Stages of a message's time, as Stage.Name holds them. The first part passes
// at the requester.
const (
	StageCPU         = "host CPU"            // the application had not posted it yet
	StageConnect     = "connection set-up"   // of the queue pair, on its first use
	StageRegister    = "registration"        // of the message's memory
	StageEarlierWork = "behind earlier work" // earlier messages of the queue pair were not sent yet
	StageIdle        = "idle"
	StageRNRWait     = "RNR wait" // the responder had no receive work request
	StageAwaitAck    = "awaiting acknowledgement"
	StageWindow      = "window"
	StageSlowRestart = "slow restart"     // a small window after a timeout, or after idle
	StageBitmap      = "bitmap"           // as many packets were outstanding as the receive bitmap holds
	StageAwaitRNR    = "awaiting RNR NAK" // sent, but the responder had no receive work request
	StageRate        = "rate"             // congestion control paced the queue pair
	StagePaused      = "paused"
	StageCredits     = "no credits"     // in place of paused, where links have credits
	StageControl     = "control frames" // the port sent ACKs, CNPs or PFC frames
	StageOther       = "other traffic"  // the port served other queue pairs
	StageSending     = "sending"        // at the line's rate
	StageResending   = "resending"
	StageFence       = "fence"                  // earlier READs and atomics had to be complete first
	StageFetch       = "NIC cache miss"         // the card fetched a context or translations that it did not hold
	StageWorkFetch   = "doorbell and WQE fetch" // the card had not got the work request
	StageRead        = "DMA read"               // the card waited for payload from memory
	StageCopyOut     = "copy to host"           // out of a GPU into pinned memory
	StageReads       = "max_rd_atomic"          // as many READs and atomics were outstanding as the queue pair may have
	StageInOrder     = "behind earlier READ"    // acknowledged, but completions keep the order of posting
	StageLoss        = "awaiting NAK or timeout"
	StageResponses   = "receiving responses"          // of a READ, up to one that was lost
	StageReordered   = "earlier packets on their way" // sent before the last packet, they arrived after it
)

// Stages of a TCP connection, in place of those that only a queue pair has.
const (
	StageHandshake     = "handshake"         // the connection was not open yet
	StageSendBuffer    = "send buffer"       // the socket had no room for what was to be written
	StageCwnd          = "congestion window" // it was full
	StageReceiveWindow = "receive window"    // the peer's was full
	StagePacing        = "pacing"
	StageNagle         = "Nagle"                         // a small segment waited for an acknowledgement
	StageDetection     = "awaiting loss detection"       // by duplicate ACKs, time or probe
	StageTimeout       = "awaiting timeout"              // the retransmission timer told of the loss
	StageReassembly    = "earlier segments on their way" // what went before the last segment arrived after it
	StageUnread        = "receiving application"         // it had not read what was there
	StageKernel        = "system calls and output"       // a core wrote to the socket or made the segment, or was to
	StageSoftirq       = "interrupt and input"           // the frame waited for the interrupt and for the core, which took it
)

// Stages of a packet's way; those of the acknowledgement's follow AckStage.
const (
	StageQueue         = "queue"
	StageReceiveBuffer = "receive buffer"
	StagePipeline      = "card pipeline" // inside a card, between its port and its transport
	StageSerialisation = "serialisation"
	StagePropagation   = "propagation"
	StageLatency       = "switch latency"
	StageJitter        = "jitter"            // what noise added: in the card that sent, and in the switch ahead
	StageBeyond        = "hops not recorded" // a packet's stamps hold so many
	StageCopyIn        = "copy to GPU"       // out of pinned memory
	StageEntry         = "completion entry"  // written by the card and polled by the application
	StagePlace         = "DMA write"         // from the card's taking up the last packet to its payload's being in memory
)

// ResponseStage begins the names of the stages of a READ between the acceptance of
// its request and its last response: those of the responder's queue pair, and of
// that response's way.
const ResponseStage = "response "

// Stages of the acknowledgement. AckStage begins the name of each.
const (
	AckStage      = "ACK "
	StageCoalesce = AckStage + "coalescing"
	StageHeldAck  = AckStage + "behind READ responses" // acknowledgements keep the order of requests
	StageAckRead  = AckStage + StageRead               // an atomic's: what it found is read from memory
	StageImplied  = AckStage + "implied"               // until a response left that acknowledges it too
	StageAckLost  = AckStage + "lost"
	// StageAckOvertaken is its name where nothing of the connection was dropped: a
	// later acknowledgement was faster.
	StageAckOvertaken = AckStage + "overtaken"
	StageAckWay       = AckStage + "on its way"
)

// PlacedStages lists the stages that carry a place.
func PlacedStages() [25]string {
	return [...]string{StageAckRead, StageEntry, StagePlace, StageCopyIn, StageUnread, StageSoftirq, StageCPU, StageConnect, StageRegister, StagePaused, StageCredits, StageControl, StageOther, StageSending, StageResending, StageQueue, StageReceiveBuffer, StagePipeline,
		StageSerialisation, StagePropagation, StageLatency, StageJitter, StageCoalesce, StageHeldAck, StageImplied}
}

// Merge adds up two aggregates of acts.
func (a Act) Merge(b Act) Act {
	switch {
	case a.Count == 0:
		return b
	case b.Count == 0:
		return a
	}
	return Act{Count: a.Count + b.Count, First: min(a.First, b.First), Last: max(a.Last, b.Last), Sum: a.Sum + b.Sum}
}

// NodeOf is the node of a port's name: "h4" of "h4:1", and of "h4".
func NodeOf(port string) string {
	node, _, _ := strings.Cut(port, ":")
	return node
}

// HostOf is the host of a message's end: "h4" of "h4", "h4:1" and "h4:1/gpu3".
func HostOf(end string) string {
	host, _, _ := strings.Cut(end, "/")
	return NodeOf(host)
}

// LastCompletion is when the last message ended; the end of the run while one is open,
// or without messages.
func (r *Run) LastCompletion() (last units.Time) {
	for i := range r.Flows {
		f := &r.Flows[i]
		if f.CompletionPS < 0 {
			return r.EndPS
		}
		last = max(last, f.StartPS+f.CompletionPS)
	}
	if last == 0 {
		return r.EndPS
	}
	return last
}

// FirstPost is the earliest post; 0 without messages.
func (r *Run) FirstPost() units.Time {
	if len(r.Flows) == 0 {
		return 0
	}
	first := r.Flows[0].StartPS
	for i := range r.Flows {
		first = min(first, r.Flows[i].StartPS)
	}
	return first
}
