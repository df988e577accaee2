package record

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/units"
)

// Collective is one collective operation, carried out once or several times, one
// after the other.
type Collective struct {
	Workload  string `json:"workload"`
	Slots     string `json:"slots_workload,omitempty"` // of the messages that say which slots of its buffers are free
	Op        string `json:"op"`                       // "allreduce"
	Algorithm string `json:"algorithm"`
	Protocol  string `json:"protocol"`
	Ranks     int    `json:"ranks"`
	Channels  int    `json:"channels"`
	Chunk     int64  `json:"chunk_bytes"` // of a step, at most
	Bytes     int64  `json:"bytes"`
	Count     int64  `json:"count"` // elements
	Type      string `json:"type"`  // "float"
	RedOp     string `json:"redop"` // "sum", or "none"
	Root      int    `json:"root"`  // -1: none
	// StartPS is when the first began, EndPS when each was over at its last rank; -1:
	// it was not.
	StartPS units.Time   `json:"start_ps"`
	EndPS   []units.Time `json:"end_ps"`
	// AlonePS is what it takes from start to end with nothing else in the network: it was run again so, as it shared
	// ports at which packets waited with others. 0: it did not, or it is too large for that.
	AlonePS units.Time `json:"alone_ps,omitempty"`
	// Critical is the critical path from the first start to the last end, operations
	// of a kind together, in the order in which the kinds first come. Its times add up
	// to that time. With Sums it was added up as it ran: it has no places, the number of operations
	// that had a stage is 0 where it was not counted, and kinds stand in no particular order. It is empty
	// of AllToAll with Sums.
	Critical []CriticalGroup `json:"critical_path,omitempty"`
	// Sums, of a collective of more operations than a run keeps, are in place of its messages;
	// nil: each operation was kept.
	Sums *CollectiveSums `json:"sums,omitempty"`
}

// CollectiveSums adds up what the operations of a collective took.
type CollectiveSums struct {
	Operations       int64      `json:"operations"`            // messages and local operations
	FirstPostPS      units.Time `json:"first_post_ps"`         // of the first message; -1: there was none
	LastCompletionPS units.Time `json:"last_completion_ps"`    // of the last
	LastRank         int        `json:"last_rank"`             // that ended the last iteration; -1: it is not over
	Kinds            []KindSum  `json:"kinds"`                 // messages come last
	QueuePairs       *PairSum   `json:"queue_pairs,omitempty"` // those that have no rows of their own; nil: all have
}

// PairSum is about the queue pairs of a collective that made them as they were first used, and has
// no rows for them.
type PairSum struct {
	Made          int64 `json:"made"` // both ends of each connection
	Most          int64 `json:"most"` // that a host had at a time
	SentPackets   int64 `json:"sent_packets"`
	SentBytes     int64 `json:"sent_bytes"` // payload, retransmissions included
	Retransmitted int64 `json:"retransmitted_packets"`
	CNPsReceived  int64 `json:"cnps_received"`
	NAKsSent      int64 `json:"naks_sent"`
	Timeouts      int64 `json:"timeouts"`
}

// KindSum is about the operations of one kind. Its times are sums over operations that ran side
// by side, not parts of the collective's time.
type KindSum struct {
	Kind      string     `json:"kind"` // as in CriticalGroup
	Count     int64      `json:"count"`
	TimePS    units.Time `json:"time_ps"`             // from when they could begin to their end
	WaitedPS  units.Time `json:"waited_ps,omitempty"` // of steps, how long their thread block had nothing to do before
	LongestPS units.Time `json:"longest_ps"`          // of one
	Failed    int64      `json:"failed,omitempty"`    // messages that ended in error
	Stages    []StageSum `json:"stages,omitempty"`    // add up to TimePS
}

// StageSum is what operations spent on a stage.
type StageSum struct {
	Stage  catalog.Stage `json:"stage,omitempty"` // of a message's account, or of data that move
	Label  string        `json:"label,omitempty"` // else what local operations, or messages, do
	TimePS units.Time    `json:"time_ps"`
}

// Name is the stage's, or the part's.
func (s *StageSum) Name() string {
	if s.Label != "" {
		return s.Label
	}
	return s.Stage.String()
}

// TookPS is the time from the start of a collective to its last end; 0: it is not over.
func (c *Collective) TookPS() units.Time {
	if n := len(c.EndPS); n > 0 && c.EndPS[n-1] >= 0 {
		return c.EndPS[n-1] - c.StartPS
	}
	return 0
}

// Has reports whether a message is part of the collective.
func (c *Collective) Has(m *Message) bool {
	return m.Workload == c.Workload || m.Workload == c.Slots && c.Slots != ""
}

// IsSlots reports whether a message only says that slots of a collective's buffers are free.
func (r *Run) IsSlots(m *Message) bool {
	for i := range r.Collectives {
		if r.Collectives[i].Slots == m.Workload && m.Workload != "" {
			return true
		}
	}
	return false
}

// CriticalGroup is the operations of one kind on a critical path.
type CriticalGroup struct {
	Kind   string          `json:"kind"` // "message", or what a local operation does
	Count  int             `json:"count"`
	TimePS units.Time      `json:"time_ps"`
	Stages []CriticalStage `json:"stages"` // add up to TimePS, in the order in which they first come
}

// CriticalStage is what such operations spent time on.
type CriticalStage struct {
	// Stage is that of a message's account; none: Label is a part of a local operation.
	Stage  catalog.Stage `json:"stage,omitempty"`
	Label  string        `json:"label,omitempty"`
	Where  Place         `json:"where,omitzero"` // the place at which most of it passed
	Places int           `json:"places"`         // how many places there are
	Count  int           `json:"count"`          // of operations that had it
	TimePS units.Time    `json:"time_ps"`
}

// Name is the stage's, or the part's.
func (s *CriticalStage) Name() string {
	if s.Stage != catalog.NoStage {
		return s.Stage.String()
	}
	return s.Label
}

// Kinds of operations on a critical path that are messages.
const (
	// KindMessage and KindSlot are messages on a critical path: of data, and of the
	// news that a slot of a buffer is free.
	KindMessage = "message"
	KindSlot    = "free slot"
	// KindLaunch is the begin of each rank, KindCalls what the thread that calls NCCL takes, and
	// KindProxy how the names of what proxies do begin.
	KindLaunch = "launch"
	KindCalls  = "calls"
	KindProxy  = "proxy "
)
