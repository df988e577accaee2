package nic

import (
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Triggers is the state of a plan's triggers, shared by the hosts they join,
// all of which live in one partition.
type Triggers struct {
	list   []workload.Trigger // read only
	fired  []int              // activations so far
	starts []start            // by message: where it is posted
}

// start is where a triggered message is posted.
type start struct {
	host *Host
	post Post
}

// NewTriggers returns the triggers of a plan of messages messages.
func NewTriggers(list []workload.Trigger, messages int) *Triggers {
	if len(list) == 0 {
		return nil
	}
	return &Triggers{list: list, fired: make([]int, len(list)), starts: make([]start, messages)}
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

// accepted notes what a queue pair has received in order, for the message
// whose end at the responder activates a trigger; it may have no bytes.
func (h *Host) accepted(now units.Time, q uint32) {
	s := &h.qps[q]
	if sp := &h.specs[q]; s.watched && (s.stream != nil || s.qp.MSN() > 0) && s.payload() >= int64(sp.ReceiveBytes) {
		s.watched = false
		h.triggers.activate(now, sp.RecvDone)
	}
}
