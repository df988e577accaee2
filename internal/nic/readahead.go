package nic

import (
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
)

// readAhead is what a card has asked memory for and not sent: the payload of the
// packets that a queue pair sends next. As one leaves the next is asked for. What
// is sent again is read again.
type readAhead struct {
	next, place rdma.Place // the next new packet at the latest look, and the one behind those asked for
	fresh       asked      // new packets, or with go-back-N those after a rewind
	again       asked      // packets to be sent again alone, or responses
	answering   bool       // again has responses
	rewinds     uint32     // of the queue pair at the latest look
	answer      units.Time // when the card has what the next answer brings
	bytes       units.Bytes
}

// asked is a queue of packets whose payload was asked for, in the order in which
// they are sent.
type asked struct {
	buf     []reading // a power of two
	head, n uint32
}

// reading is a packet and when its payload is in the card.
type reading struct {
	key   uint64
	ready units.Time
	bytes uint32
}

func (a *asked) at(i uint32) *reading { return &a.buf[(a.head+i)&uint32(len(a.buf)-1)] }

func (a *asked) push(r reading) {
	if int(a.n) == len(a.buf) {
		buf := make([]reading, max(4, 2*len(a.buf)))
		for i := range a.n {
			buf[i] = *a.at(i)
		}
		a.buf, a.head = buf, 0
	}
	a.n++
	*a.at(a.n - 1) = r
}

// gate is when the card has what the next packet of queue pair q needs: Never while
// that waits for its work request. It asks for more as far as there is room.
func (h *Host) gate(now units.Time, q uint32) (at units.Time) {
	s, x := &h.qps[q], &h.path.qps[q]
	x.rewinds, x.copied = s.account.rewinds, 0
	if state := s.qp.State(); state != rdma.RTS && state != rdma.SQD {
		return units.Never
	}
	if h.specs[q].Service != rdma.RC {
		h.releaseCopies(now, q)
	}
	switch {
	case s.qp.Responding():
		at = h.askAnswers(now, q)
	case s.qp.Missing() > 0:
		at = h.askAgain(now, q)
	default:
		at = h.askFresh(now, q)
	}
	a := s.account
	switch {
	case x.copied > now:
		a.fetchUntil, a.fetchStage = x.copied, Copying
	case at == units.Never:
		a.fetchUntil, a.fetchStage = at, WorkFetch
		if int32(s.qp.NextPlace().Work()-x.rung) >= 0 {
			a.fetchStage = Copying
		}
	case a.fetchUntil == units.Never, a.fetchStage == Copying, at > now && at > a.fetchUntil:
		a.fetchUntil, a.fetchStage = at, Reading
	}
	a.sampled = a.sampled && at <= now
	return at
}

// ask has the card read n bytes of queue pair q's payload from memory.
func (h *Host) ask(now units.Time, q uint32, to *asked, key uint64, n uint32) {
	x := &h.path.qps[q]
	ready := now
	if n > 0 {
		ready = h.path.Read(now, h.specs[q].Memory.Read, units.Bytes(n)) + h.card.Send
		if x.bytes == 0 {
			h.path.cards[h.qps[q].port].active++
		}
		x.bytes += units.Bytes(n)
	}
	to.push(reading{key, ready, n})
}

// drop takes the first n packets off a queue.
func (h *Host) drop(q uint32, from *asked, n uint32) {
	x := &h.path.qps[q]
	before := x.bytes
	for ; n > 0; n-- {
		x.bytes -= units.Bytes(from.at(0).bytes)
		from.head++
		from.n--
	}
	if before > 0 && x.bytes == 0 {
		h.path.cards[h.qps[q].port].active--
	}
}

// forget gives up all that was asked for: nothing of it will be sent.
func (h *Host) forget(q uint32) {
	x := &h.path.qps[q]
	h.drop(q, &x.fresh, x.fresh.n)
	h.drop(q, &x.again, x.again.n)
	x.place = x.next
}

// room reports whether queue pair q, which has asked for the packets in a, may ask
// for another: for one always, for more within its share of the transmit buffer.
func (h *Host) room(q uint32, a *asked) bool {
	x, c := &h.path.qps[q], &h.path.cards[h.qps[q].port]
	return a.n == 0 || x.bytes < c.buffer/units.Bytes(max(1, c.active))
}

// askFresh is gate where new packets are next.
func (h *Host) askFresh(now units.Time, q uint32) units.Time {
	s, x := &h.qps[q], &h.path.qps[q]
	h.drop(q, &x.again, x.again.n)
	next := s.qp.NextPlace()
	if next.Before(x.next) || x.place.Before(next) { // a rewind, or what was to be sent again had arrived
		h.drop(q, &x.fresh, x.fresh.n)
		x.place = next
	}
	x.next = next
	for x.fresh.n > 0 && x.fresh.at(0).key < next.Key() {
		h.drop(q, &x.fresh, 1)
	}
	inline := h.specs[q].Inline
	for h.room(q, &x.fresh) {
		at := x.place
		n, ok := s.qp.PayloadAt(&x.place, x.works)
		if !ok {
			break
		}
		if n == 0 || inline {
			continue
		}
		if known := h.copiedAt(now, q, at); known > now {
			x.place = at
			break
		}
		h.ask(now, q, &x.fresh, at.Key(), n)
	}
	switch {
	case int32(next.Work()-x.works) >= 0:
		return units.Never
	case x.fresh.n > 0 && x.fresh.at(0).key == next.Key():
		return x.fresh.at(0).ready
	case x.place.Key() == next.Key() && x.fresh.n == 0: // it is still to be copied
		x.copied = h.copiedAt(now, q, next)
		return x.copied
	}
	return now // it carries nothing, or that came with its work request
}

// askAgain is gate where packets are to be sent again alone.
func (h *Host) askAgain(now units.Time, q uint32) units.Time {
	s, x := &h.qps[q], &h.path.qps[q]
	from, _, _ := s.qp.MissingFrom(0)
	if x.answering {
		h.drop(q, &x.again, x.again.n)
		x.answering = false
	}
	for x.again.n > 0 && x.again.at(0).key < from {
		h.drop(q, &x.again, 1)
	}
	if x.again.n > 0 && x.again.at(0).key != from { // something before it is missing too
		h.drop(q, &x.again, x.again.n)
	}
	first := from
	if x.again.n > 0 {
		from = x.again.at(x.again.n-1).key + 1
	}
	for h.room(q, &x.again) {
		seq, n, ok := s.qp.MissingFrom(from)
		if !ok || n == 0 || h.specs[q].Inline {
			break
		}
		h.ask(now, q, &x.again, seq, n)
		from = seq + 1
	}
	if x.again.n > 0 && x.again.at(0).key == first {
		return x.again.at(0).ready
	}
	return now
}

// askAnswers is gate where responses to READs and atomics are next.
func (h *Host) askAnswers(now units.Time, q uint32) units.Time {
	s, x := &h.qps[q], &h.path.qps[q]
	if !x.answering {
		h.drop(q, &x.again, x.again.n)
		x.answering = true
	}
	first, _, ok := s.qp.AnswerAhead(0)
	for x.again.n > 0 && (!ok || x.again.at(0).key != first) {
		h.drop(q, &x.again, 1)
	}
	for h.room(q, &x.again) {
		key, n, ok := s.qp.AnswerAhead(x.again.n)
		if !ok {
			break
		}
		h.ask(now, q, &x.again, key, n)
	}
	if x.answer = now; x.again.n > 0 { // else an acknowledgement is next
		x.answer = x.again.at(0).ready
	}
	return x.answer
}
