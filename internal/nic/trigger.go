package nic

import (
	"slices"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Triggers is the state of what a plan's operations start when they end, by its
// triggers and by its graph. It is shared by all hosts; those that a trigger joins
// live in one partition, and what waits in the graph is written by its own host
// alone.
type Triggers struct {
	list     []workload.Trigger // read only
	fired    []int              // activations so far
	starts   []start            // by message: where it is posted
	sendDone []int32            // by message: the trigger that its completion activates; read only
	recvDone []int32            // likewise its acceptance

	graph  *workload.Graph  // read only
	left   []int32          // by operation: ends that it still waits for
	locals []workload.Local // read only
	delays []units.Time     // of locals, by label; read only
	runs   []LocalRun       // like locals
}

// start is where a message that waits is posted.
type start struct {
	host *Host
	post Post
}

// NewTriggers returns the triggers and the graph of a plan; nil: it has neither.
func NewTriggers(p *workload.Plan) *Triggers {
	if len(p.Triggers) == 0 && p.Graph == nil {
		return nil
	}
	n := p.Len()
	t := &Triggers{list: p.Triggers, fired: make([]int, len(p.Triggers)), starts: make([]start, n), sendDone: make([]int32, n), recvDone: make([]int32, n)}
	for i, m := range p.All() {
		t.sendDone[i], t.recvDone[i] = int32(m.SendDone), int32(m.RecvDone)
	}
	if p.Graph != nil {
		t.graph, t.left, t.locals = p.Graph, slices.Clone(p.Graph.Need), p.Locals
		t.runs = make([]LocalRun, len(p.Locals))
		for i := range p.Labels {
			t.delays = append(t.delays, p.Labels[i].Delay())
		}
		for i := range t.runs {
			l := &p.Locals[i]
			t.runs[i] = LocalRun{Due: units.Never, Moved: units.Never, Done: units.Never, bytes: l.Bytes, work: l.Work, label: l.Label}
		}
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
	// Of a program the messages of a connection are the units of an edge in turn, or the news
	// of its slots, and nothing is written here.
	summed        bool
	news          bool
	program, edge int32
	// sent are the messages posted last, whose paths the receiver takes over as they come, before
	// it acknowledges them; none: those of pairs, whose ends do not share one. came are those that are
	// still on their way into its memory.
	sent []*programPost
	took int
	came []*programPost

	ids      []uint32 // the n-th message posted; unposted: not yet
	posted   int      // the sender's
	accepted int      // the receiver's
}

// unposted stands in a Sequence for a message that is still to be posted.
const unposted = ^uint32(0)

// NewSequence returns the sequence of a connection of n messages, at least one
// of which starts something where it is received.
func NewSequence(n int) *Sequence {
	s := &Sequence{ids: make([]uint32, n)}
	for i := range s.ids {
		s.ids[i] = unposted
	}
	return s
}

// ProgramSequence is the sequence of the connection of a program's edge: of its units, or of
// the news of slots. At most so many messages are posted before the first of them is received; 0:
// its ends have one each.
func ProgramSequence(program, edge int32, news bool, most int) *Sequence {
	s := &Sequence{summed: true, program: program, edge: edge, news: news}
	if most > 0 {
		s.sent = make([]*programPost, most)
	}
	return s
}

// tell notes the next message of a program that is posted.
func (s *Sequence) tell(p *programPost) {
	s.sent[s.posted%len(s.sent)] = p
	s.posted++
}

// Add says that host posts a message when its trigger, or what it is after, starts
// it; p.At is not looked at.
func (t *Triggers) Add(host *Host, p Post) {
	t.starts[p.WR.ID] = start{host, p}
	if host.end(p.QP).completes() { // others count where they are read
		host.left++
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
	for _, other := range t.list[id-1].Then {
		t.activate(now, other)
	}
}

// completed starts what waits for message id to complete at its requester, here.
func (h *Host) completed(now units.Time, id uint32) {
	if id&programIDs != 0 {
		h.programCompleted(now, id)
		return
	}
	if h.triggers != nil {
		h.triggers.activate(now, int(h.triggers.sendDone[id]))
		h.ended(now, int(id), workload.Completed)
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
		if h.preparation.Connect > 0 || h.preparation.Base > 0 || h.preparation.PerPage > 0 {
			due[i].QP = h.connected(due[i].QP)
		}
		h.due(now, &due[i])
	}
}

// sequence notes that message id is the next of those posted to q.
func (h *Host) sequence(q, id uint32) {
	if s := h.specs[q].Posting; s != nil && !s.summed {
		s.ids[s.posted] = id
		s.posted++
	}
}

// accepted starts what waits for the messages that queue pair q has now received
// whole and in order, those of TCP read by its application.
func (h *Host) accepted(now units.Time, q uint32) {
	s, seq := &h.qps[q], h.specs[q].Accepting
	n := h.end(q).whole(q, seq.accepted)
	if seq.summed {
		if h.path == nil {
			h.takeOver(now, seq, n)
		}
		for range n {
			seq.accepted++
			h.pairDone(q)
			h.programReceived(now, seq)
		}
		return
	}
	for range n {
		id := seq.ids[seq.accepted]
		seq.accepted++
		if id == unposted {
			h.net.Part().Bug("%s: message %d of queue pair %d arrived before it was posted", h.Name, seq.accepted, q)
		}
		h.triggers.activate(now, int(h.triggers.recvDone[id]))
		h.ended(now, int(id), workload.Received)
	}
	s.watched = seq.accepted < len(seq.ids)
}
