package record

import (
	"github.com/hopscope/hopscope/internal/names"
	"github.com/hopscope/hopscope/internal/units"
)

// Parts of the time from a link's failure to new tables, as Phase.Name holds them.
const (
	PhaseDetection   = "detection"   // until the ends of the link know, or the subnet manager
	PhaseConvergence = "convergence" // until all other switches do, or but for the next
	PhaseFanOut      = "fan-out"     // until news have reached the last switch, and it has written its tables
	PhaseWaiting     = "waiting"     // the subnet manager was busy with an earlier failure
	PhaseSweep       = "sweep"       // the subnet manager looks at the whole subnet
	PhaseComputation = "computation" // of new forwarding tables
	PhaseProgramming = "programming" // of the switches
)

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
	return names.Node(port)
}

// HostOf is the host of a message's end: "h4" of "h4", "h4:1" and "h4:1/gpu3".
func HostOf(end string) string {
	return names.Node(end)
}

// LastCompletion is when the last message ended; the end of the run while one is open,
// or without messages.
func (r *Run) LastCompletion() (last units.Time) {
	for i := range r.Messages {
		f := &r.Messages[i]
		if f.CompletionPS < 0 {
			return r.EndPS
		}
		last = max(last, f.StartPS+f.CompletionPS)
	}
	for i := range r.Collectives {
		if s := r.Collectives[i].Sums; s != nil {
			last = max(last, s.LastCompletionPS)
		}
	}
	if last == 0 {
		return r.EndPS
	}
	return last
}

// FirstPost is the earliest post; 0 without messages.
func (r *Run) FirstPost() units.Time {
	first := units.Never
	for i := range r.Messages {
		first = min(first, r.Messages[i].StartPS)
	}
	for i := range r.Collectives {
		if s := r.Collectives[i].Sums; s != nil && s.FirstPostPS >= 0 {
			first = min(first, s.FirstPostPS)
		}
	}
	if first == units.Never {
		return 0
	}
	return first
}
