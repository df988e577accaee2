package nic

import (
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Triggers is the state of a plan's triggers, shared by the hosts they join,
// all of which live in one partition.
type Triggers struct {
	list     []workload.Trigger // read only
	fired    []int              // activations so far
	starts   []start            // by message: where it is posted
	recvDone []int32            // by message: the trigger that its acceptance activates; read only
}

// start is where a triggered message is posted.
type start struct {
	host *Host
	post Post
}

// NewTriggers returns the triggers of a plan with the given messages; nil: none.
func NewTriggers(list []workload.Trigger, messages []workload.Message) *Triggers {
	if len(list) == 0 {
		return nil
	}
	t := &Triggers{list: list, fired: make([]int, len(list)), starts: make([]start, len(messages)), recvDone: make([]int32, len(messages))}
	for i := range messages {
		t.recvDone[i] = int32(messages[i].RecvDone)
	}
	return t
}

// Sequence tells the receiver of a connection which of its messages is which.
// They are numbered as they are posted, an order that triggers may decide, and
// arrive in that order; real messages carry the like in a header or as
// immediate data. The sender writes an entry before it sends the message's
// first byte, the receiver reads it after it has the last, a window or more
// later where they are in different partitions: an entry is never written and
// read in the same window.
type Sequence struct {
	recvDone []int32 // trigger of the n-th message posted; unposted: not yet
	posted   int     // the sender's
	accepted int     // the receiver's
}

// unposted stands in a Sequence for a message that is still to be posted.
const unposted = -1

// NewSequence returns the sequence of a connection of n messages, at least one
// of which activates a trigger where it is received.
func NewSequence(n int) *Sequence {
	s := &Sequence{recvDone: make([]int32, n)}
	for i := range s.recvDone {
		s.recvDone[i] = unposted
	}
	return s
}

// Add says that host posts a message when its trigger starts it; p.At is not
// looked at.
func (t *Triggers) Add(host *Host, p Post) {
	t.starts[p.WR.ID] = start{host, p}
	if host.specs[p.QP].Stream == nil { // TCP's count where they are read
		host.open++
	}
}

// activate counts an activation of trigger id (from 1; 0: none) and posts what
// it starts.
func (t *Triggers) activate(now units.Time, id int) {
	if id == 0 {
		return
	}
	t.fired[id-1]++
	for _, m := range t.list[id-1].Starts(t.fired[id-1]) {
		s := &t.starts[m]
		s.host.trigger(now, s.post)
	}
}

// trigger posts a work request in an event of this host's own, at the same
// instant: its cause begins now.
func (h *Host) trigger(now units.Time, p Post) {
	p.At = now
	if len(h.triggered) == 0 {
		h.timer(now, 0, timerTriggered, 0)
	}
	h.triggered = append(h.triggered, p)
}

// postTriggered hands over the work requests that triggers started.
func (h *Host) postTriggered(now units.Time) {
	// A post may complete at once and trigger others: those go to the other list,
	// with a timer of its own.
	due := h.triggered
	h.triggered, h.posting = h.posting[:0], due
	for i := range due {
		h.due(now, &due[i])
	}
}

// sequence notes that message id is the next of those posted to q.
func (h *Host) sequence(q, id uint32) {
	if s := h.specs[q].Posting; s != nil {
		s.recvDone[s.posted] = h.triggers.recvDone[id]
		s.posted++
	}
}

// accepted activates the triggers of the messages that queue pair q has now
// received whole and in order, those of TCP read by its application.
func (h *Host) accepted(now units.Time, q uint32) {
	const msnMask = 1<<24 - 1
	s, seq := &h.qps[q], h.specs[q].Accepting
	var n int
	if s.stream != nil {
		n = s.stream.reads - seq.accepted
	} else {
		n = int((s.qp.MSN() - uint32(seq.accepted)) & msnMask)
	}
	for range n {
		id := seq.recvDone[seq.accepted]
		seq.accepted++
		if id == unposted {
			h.net.Part().Bug("%s: message %d of queue pair %d arrived before it was posted", h.Name, seq.accepted, q)
		}
		h.triggers.activate(now, int(id))
	}
	s.watched = seq.accepted < len(seq.recvDone)
}
