package nic

import (
	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
)

// Where a host has a server, what a card sends it first reads from memory, and what
// it receives it writes there (docs/models/host.md):
//
//   - a doorbell tells the card of a work request, which it then reads from the work
//     queue, unless it came along with the doorbell, payload and all;
//   - payload is read ahead of the transmitter (readahead.go);
//   - a frame leaves the receive buffer when the write of the one before it has been
//     accepted, and its message is placed when its last byte is in memory (place.go);
//   - a completion is written to the completion queue, where the application finds it.

// MemoryPath is the way between a card and the memory of a queue pair's messages.
// All of it belongs to the host's engine.
type MemoryPath struct {
	Read  *dma.Chain // from the memory of its payload to the card
	Write *dma.Chain // from the card to that memory
	Work  *dma.Chain // from the memory of its work queue to the card
	Entry *dma.Chain // from the card to the memory of its completion queues
	// Out and In, of what is staged, copy between the memory that Read and Write name and
	// the GPU's; nil: nothing is.
	Out *dma.StageOut
	In  *dma.StageIn
}

// hostPath is what a card with a server under it keeps.
type hostPath struct {
	*dma.Engine
	costs *server.Costs
	qps   []hostQP
	cards []transmitter // by port
	// pinned: sockets send from where data are, not from copies.
	pinned bool
}

// transmitter is the transmit side of one card.
type transmitter struct {
	// buffer is how much payload it keeps of what it has asked for and not sent: what its
	// tags bring, and as much that waits. Queue pairs share it evenly, but each may
	// always have one packet.
	buffer units.Bytes
	active int        // queue pairs with payload in the buffer
	idle   units.Time // when it may take up another work request
}

// hostQP is the host path of one queue pair.
type hostQP struct {
	rung  uint32     // work requests that were posted
	works uint32     // and that the card has
	here  units.Time // when it has the latest that was posted
	idle  units.Time // when it may take up another
	readAhead

	landed   units.Time // when all that was written so far is in the memory that the card writes to
	placed   units.Time // and when it is where it belongs
	entered  units.Time // when the latest completion entry is in memory
	messages int        // placed whole
	staged
}

func newHostPath(s *Spec, ends [numEnds]endpoint) *hostPath {
	if s.Server == nil {
		return nil
	}
	t := s.Server.Tree()
	p := &hostPath{Engine: s.Server, costs: &t.Costs, qps: make([]hostQP, len(s.QPs)), cards: make([]transmitter, len(s.Ports))}
	p.pinned = s.CPU.Send != host.SendCopy
	cached := make(map[*QPKind]bool) // connections share their kind, and so the ways
	for i := range s.QPs {
		if q := &s.QPs[i]; !cached[q.QPKind] {
			cached[q.QPKind] = true
			ends[kindOf(q)].ways(p, &q.Memory, &s.CPU)
		}
	}
	for i := range p.cards {
		for k := range t.Links {
			if l := &t.Links[k]; l.Kind == server.PCIe && l.B == t.Nets[i].Card {
				p.cards[i].buffer = 2 * units.Bytes(t.Costs.ReadTags) * l.PCIe.MRRS
			}
		}
	}
	return p
}

// What is done when a timer of the host path runs: the top bits of its low word; the
// rest is a queue pair or a message.
const (
	doneWork     uint32 = iota << doneShift // the card has the next work request of a queue pair
	donePlaced                              // the next message of a queue pair is in memory
	doneEntry                               // an application can see the completion entry of a message
	doneReceived                            // and that of a message that a queue pair received
	doneRead                                // all that a READ brought is in a GPU
	doneTurn                                // its turn among those of the port has come
	doneCopied                              // the first part of a message of a queue pair is out of the GPU
	doneAhead                               // the card has payload of a queue pair that is carried by TCP

	doneShift = 29
)

// pend sets a timer for which the run goes on though no message is open.
func (h *Host) pend(now, at units.Time, what, low uint32) {
	h.restless++
	h.timer(at, at-now, timerPath, what|low)
}

// pathTimer runs a timer of the host path.
func (h *Host) pathTimer(now units.Time, low uint32) {
	h.restless--
	h.net.Part().NoteWork()
	what := low &^ (1<<doneShift - 1)
	q := low & (1<<doneShift - 1)
	switch {
	case what == doneEntry: // whose number is a message's
	case what == doneReceived && q&programQPs != 0: // it may be over
		h.work(now, &task{kind: taskReceive, of: h.kindOf(q, false)})
		return
	default:
		local, here := h.slotOf(q)
		if !here {
			return
		}
		q = local
	}
	switch what {
	case doneWork:
		if !h.takesLater(now, q) {
			h.workHere(now, q)
		}
	case doneTurn:
		h.workHere(now, q)
	case donePlaced:
		h.messagePlaced(now, q)
	case doneEntry:
		h.poll1(now, q)
	case doneReceived:
		h.work(now, &task{kind: taskReceive, qp: q})
	case doneCopied:
		h.ringCopied(now, q)
	case doneAhead:
		h.end(q).worked(now, q)
	}
}

// postWork has the application post work request wr. Of what is staged it first waits
// until the first part has been copied.
func (h *Host) postWork(now units.Time, q uint32, wr *rdma.WorkRequest) {
	if out := h.specs[q].Memory.Out; out != nil && wr.Verb < rdma.Read && wr.Bytes > 0 {
		h.copyOut(now, q, wr)
		return
	}
	h.ring(now, q, wr)
}

// ring has the doorbell of queue pair q rung for a work request. The card has that
// when it has read it, or at once if it came along with the doorbell, inline
// payload and all, and not before those posted before it.
func (h *Host) ring(now units.Time, q uint32, wr *rdma.WorkRequest) {
	x, work, n := &h.path.qps[q], h.specs[q].Memory.Work, h.path.costs.WQE
	if wr.Inline {
		n += wr.Bytes
	}
	var at units.Time
	if h.pushed(q, wr) {
		at = h.path.Doorbell(now, work, n)
	} else {
		at = h.path.Fetch(now, work, h.path.costs.DoorbellBytes, n)
	}
	at += h.turnTo(now, q) - now
	if wr.Inline || wr.Bytes == 0 || wr.Verb >= rdma.Read { // no payload is read here
		at += h.card.Send
	}
	x.rung++
	x.here = max(x.here, at)
	h.pend(now, x.here, doneWork, h.number(q))
}

// workHere lets queue pair q go on: the card has its next work request.
func (h *Host) workHere(now units.Time, q uint32) {
	s, x := &h.qps[q], &h.path.qps[q]
	h.settle(now, s)
	x.works++
	if s.account.fetchUntil == units.Never {
		s.account.fetchUntil = now
	}
	h.end(q).worked(now, q)
	h.look(now, s)
}

// mayPoll reports whether the card has what the next packet of queue pair q needs; if
// not it comes back to it when it does.
func (h *Host) mayPoll(now units.Time, q uint32) bool {
	at := h.gate(now, q)
	if at > now && at != units.Never { // else its work request brings it back
		h.ready(now, q, at)
	}
	return at <= now
}

// writeEntry has the card write the completion entry of message id, of queue pair q,
// behind the payload before it. A queue pair in error sends nothing more.
func (h *Host) writeEntry(now units.Time, q, id uint32, status rdma.Status) {
	m := h.note(id)
	switch {
	case status != rdma.Success:
		h.forget(q)
	case m.Verb >= rdma.Read:
		m.Landed, m.Placed = h.placedAt(now, q)
	}
	at := h.entry(now, q)
	h.pend(now, at, doneEntry, id)
	if m.Placed > at { // the copy into a GPU of what a READ brought
		h.pend(now, m.Placed, doneRead, h.number(q))
	}
}

// entry has the card write a completion entry of queue pair q, and returns when an
// application that polls finds it.
func (h *Host) entry(now units.Time, q uint32) units.Time {
	x := &h.path.qps[q]
	_, at := h.path.Write(now, h.specs[q].Memory.Entry, h.path.costs.CQE)
	x.entered = max(x.entered, at, x.landed)
	return x.entered + h.path.costs.Poll
}

// HasServer reports whether what the host sends and receives moves inside a server.
func (h *Host) HasServer() bool { return h.path != nil }
