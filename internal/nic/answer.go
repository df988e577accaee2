package nic

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// What a responder does about READs and atomics: it sends responses in its data
// class, as a requester sends requests, and acknowledgements that had to wait
// behind them.

// request is a READ or atomic that a responder has taken up and not answered
// whole.
type request struct {
	serial uint32 // see rdma.QP.AnswersTaken
	taken  units.Time
	sum    Times // the queue pair's time up to then
	way    Way
	goesOn bool // another part of the READ before it
	begun  bool // a response was sent
	turn
}

// turn is how a responder came to send the responses to a READ. Parts of one READ
// have that of the first part in common.
type turn struct {
	first    units.Time // when the request, or that for the first part, was accepted
	firstWay Way
	after    units.Time // when the answers before it were sent, first at least
	base     Times      // the queue pair's time up to then
}

// serving is the account of a responder of READs and atomics.
type serving struct {
	taken     uint32 // requests taken up
	requests  []request
	answers   []answered
	current   uint32     // the request that the latest response answered; 0: that was the last one
	turn      turn       // of the latest request that was answered and was no duplicate
	answerEnd units.Time // end of the latest last response, and the queue pair's time then
	answerSum Times
}

// Answer is what a responder knows of the last response to a READ request.
type Answer struct {
	Start units.Time // of its transmission
	Taken units.Time // when the request was accepted
	Way   Way        // of the request; empty: it carried no stamps
	// First and FirstWay are Taken and Way of the request for the READ's first
	// part, After when the answers before that were sent, First at least.
	First    units.Time
	FirstWay Way
	After    units.Time
	Before   Times // the queue pair's time from After to Start
}

// answers notes the requests that the last packet made the responder answer, and
// sends the acknowledgements that need not wait.
func (h *Host) answers(now units.Time, q uint32, way Way) {
	s := &h.qps[q]
	a := s.accounted(now)
	h.settle(now, s)
	a.since = now
	if a.serving == nil {
		a.serving = new(serving)
	}
	for a.taken != s.qp.AnswersTaken() {
		a.taken++
		a.requests = append(a.requests, request{serial: a.taken, taken: now, sum: a.sum, way: way, goesOn: s.qp.AnswerGoesOn(a.taken)})
	}
	h.noteResponding(s)
	h.heldAcks(now, q)
	h.changed(now, s)
	h.schedule(now, q)
	h.net.Kick(now, h.ports[s.port].fabricPort)
}

// heldAcks moves the acknowledgements that are next among what a responder is to
// send to the queue of their class: they are not paced and go before data.
func (h *Host) heldAcks(now units.Time, q uint32) {
	s := &h.qps[q]
	part := h.net.Part()
	for s.qp.AckNext() && (h.path == nil || h.gate(now, q) <= now) { // what an atomic found must be read first
		slot := part.Alloc()
		s.qp.Poll(now, part.Rec(slot))
		h.heldAck(now, q, slot)
	}
	h.noteResponding(s)
}

// noteResponding keeps the note, and the count, of responders that have something
// to send.
func (h *Host) noteResponding(s *qpSlot) {
	responding := s.qp.Responding()
	if responding == s.answering {
		return
	}
	s.answering = responding
	if responding {
		h.restless++
	} else {
		h.restless--
	}
}

// heldAck moves the acknowledgement in slot, which Poll has just given, to the
// queue of its class.
func (h *Host) heldAck(now units.Time, q, slot uint32) {
	s, pk := &h.qps[q], h.net.Part().Rec(slot)
	if side := s.qp.PolledSide(); side != nil {
		h.net.AddSide(pk, side)
	}
	h.net.AddStamps(pk)
	h.acknowledge(now, q, pk, true)
	h.answer(now, int(s.port), slot)
	h.complete(now, q, nil) // a refusal that waited flushes the queue pair
}

// acknowledge notes an ACK or NAK that is sent now; held: it had to wait for
// responses.
func (h *Host) acknowledge(now units.Time, q uint32, ack *packet.Packet, held bool) {
	ack.VA = uint64(now)
	a := &h.qps[q].taken
	covered := ack.AETH & (1<<24 - 1) // messages accepted, modulo 2^24
	for ; a.unacked < len(a.accepted) && int32((covered-a.dropped-uint32(a.unacked))<<8) > 0; a.unacked++ {
		read := units.Time(0)
		if held && h.path != nil {
			read = h.path.qps[q].answer
		}
		a.firstAcked(a.unacked, now, held, read)
	}
	if h.qps[q].summed && a.unacked == len(a.accepted) {
		a.dropped += uint32(a.unacked)
		a.accepted, a.inside, a.unacked = a.accepted[:0], a.inside[:0], 0
	}
}

// responded notes a READ response that starts now and ends at end.
func (h *Host) responded(now, end units.Time, s *qpSlot, pk *packet.Packet) {
	a := s.account
	a.sendEnd, a.resending = end, pk.Flags&packet.Retrans != 0
	if n := s.qp.PolledAnswer(); n != a.current {
		a.current = n
		a.beginAnswer(n)
	}
	if !s.qp.PolledLast() {
		if sampled(pk.PSN) {
			h.sample(now, s, pk)
		}
		return
	}
	a.current = 0
	for i := range a.requests {
		if r := &a.requests[i]; r.serial == s.qp.PolledAnswer() {
			h.lastResponse(now, end, s, r)
		}
	}
	h.stamp(now, s, pk)
	n := 0
	for n < len(a.requests) && a.requests[n].serial < s.qp.OldestAnswer() {
		n++
	}
	if n > 0 {
		a.requests = a.requests[:copy(a.requests, a.requests[n:])]
	}
}

// beginAnswer notes that the first response to a request is sent.
func (a *serving) beginAnswer(serial uint32) {
	for i := range a.requests {
		r := &a.requests[i]
		if r.serial != serial || r.begun {
			continue
		}
		r.begun = true
		switch {
		case r.goesOn:
			r.turn = a.turn
		case a.answerEnd > r.taken:
			r.turn = turn{r.taken, r.way, a.answerEnd, a.answerSum}
		default:
			r.turn = turn{r.taken, r.way, r.taken, r.sum}
		}
		return
	}
}

// lastResponse notes the last response to a request. With go-back-N a duplicate
// may have several.
func (h *Host) lastResponse(now, end units.Time, s *qpSlot, r *request) {
	a := s.account
	before := a.sum.minus(&r.base)
	a.answers = append(a.answers, answered{now, h.noteAnswer(r, now, &before)})
	r.begun = false
	if !s.qp.AnsweredAgain() {
		a.turn = r.turn
	}
	a.answerEnd, a.answerSum = end, a.sumAt(end)
}
