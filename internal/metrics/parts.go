package metrics

import (
	"strings"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Parts that an account's stages fall into, in the order in which a comparison lists
// them.
const (
	PartCores   = "cores"      // of hosts, and set-up
	PartCopies  = "copies"     // between GPUs and memory of hosts, by copy engines
	PartInside  = "card, PCIe" // cards, and what they read and write over PCIe
	PartOrder   = "in order"   // behind earlier work of the same queue pair
	PartSlowed  = "slowed"     // by congestion control and windows
	PartPeer    = "receiver"   // by the receive window: the peer's cores, application or buffer leave no room, or word of it was lost
	PartHeld    = "held"       // by pauses and for want of credits
	PartQueued  = "queued"     // behind other traffic
	PartLost    = "recovery"   // of what was lost or came out of order
	PartWire    = "wire"       // on links and through switches, with nothing in the way
	PartAnswer  = "answer"     // until the acknowledgement was there
	PartLocal   = "in servers" // operations of collectives other than messages
	PartUnknown = "other"      // stages that are none of these
)

// AccountPart is the time of one part of an account.
type AccountPart struct {
	Part string     `json:"part"`
	PS   units.Time `json:"ps"`
}

// partOf is the part of a message's account that a stage belongs to; the stage's name is
// without its place.
func partOf(stage string) string {
	if stage == record.StageAckLost {
		return PartLost
	}
	if strings.HasPrefix(stage, record.AckStage) {
		return PartAnswer
	}
	switch strings.TrimPrefix(stage, record.ResponseStage) {
	case record.StageCPU, record.StageConnect, record.StageRegister, record.StageHandshake, record.StageSendBuffer, record.StageKernel, record.StageSoftirq, record.StageUnread:
		return PartCores
	case record.StageCopyOut, record.StageCopyIn:
		return PartCopies
	case record.StageWorkFetch, record.StageRead, record.StagePlace, record.StageEntry, record.StageFetch, record.StageReceiveBuffer, record.StagePipeline:
		return PartInside
	case record.StageEarlierWork, record.StageIdle, record.StageFence, record.StageReads, record.StageInOrder, record.StageNagle:
		return PartOrder
	case record.StageRate, record.StageWindow, record.StageBitmap, record.StageSlowRestart, record.StageCwnd, record.StagePacing:
		return PartSlowed
	case record.StageReceiveWindow:
		return PartPeer
	case record.StagePaused, record.StageCredits:
		return PartHeld
	case record.StageQueue, record.StageOther, record.StageControl:
		return PartQueued
	case record.StageResending, record.StageLoss, record.StageResponses, record.StageReordered, record.StageDetection, record.StageTimeout, record.StageReassembly, record.StageRNRWait, record.StageAwaitRNR:
		return PartLost
	case record.StageSending, record.StageSerialisation, record.StagePropagation, record.StageLatency, record.StageJitter, record.StageBeyond:
		return PartWire
	case record.StageAwaitAck:
		return PartAnswer
	}
	return PartUnknown
}

// Parts lists all parts in their order.
func Parts() []string {
	return []string{PartCores, PartCopies, PartInside, PartOrder, PartSlowed, PartPeer, PartHeld, PartQueued, PartLost, PartWire, PartAnswer, PartLocal, PartUnknown}
}

// WorstAccount is where the time of a run went that its end depends on: of the first
// collective, over its critical path, or else of the message that took longest, the
// first of those that did. It is empty where none completed. The parts that have any
// time add up to that of the whole.
func WorstAccount(r *record.Run) (of string, parts []AccountPart) {
	times := map[string]units.Time{}
	for i := range r.Collectives {
		if c := &r.Collectives[i]; len(c.Critical) > 0 {
			addCritical(times, c.Critical)
			return c.Workload + ", critical path", ordered(times)
		}
	}
	worst := -1
	for i := range r.Flows {
		if f := &r.Flows[i]; Completed(f) && (worst < 0 || f.CompletionPS > r.Flows[worst].CompletionPS) {
			worst = i
		}
	}
	if worst < 0 {
		return "", nil
	}
	f := &r.Flows[worst]
	for _, s := range f.Account.Stages() {
		name, _ := StageOf(s)
		times[partOf(name)] += s.Time
	}
	return f.Src + " -> " + f.Dst, ordered(times)
}

// addCritical adds up a critical path. What is not a message is an operation in a server.
func addCritical(times map[string]units.Time, path []record.CriticalGroup) {
	for i := range path {
		g := &path[i]
		for _, s := range g.Stages {
			part := PartLocal
			if g.Kind == record.KindMessage || g.Kind == record.KindSlot {
				part = partOf(s.Name)
			}
			times[part] += s.TimePS
		}
	}
}

// ordered lists the parts that have any time.
func ordered(times map[string]units.Time) (out []AccountPart) {
	for _, part := range Parts() {
		if times[part] > 0 {
			out = append(out, AccountPart{part, times[part]})
		}
	}
	return out
}
