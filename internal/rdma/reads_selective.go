package rdma

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// READs and atomics with selective repeat. A requester keeps the responses that
// arrive ahead of a missing one and asks for what is missing, each range with a
// READ request of its own PSN, address and length; a request that was lost is
// sent again whole. una then stands at the first packet that is not acknowledged
// or not answered; reads.acked tells how far requests are known to have arrived.

// has reports whether the response to packet seq is here.
func (x *reads) has(seq uint64) bool {
	i := seq & uint64(len(x.here)*64-1)
	return x.here[i>>6]>>(i&63)&1 != 0
}

func (x *reads) flip(seq uint64) {
	i := seq & uint64(len(x.here)*64-1)
	x.here[i>>6] ^= 1 << (i & 63)
}

// spanOf is the outstanding request that packet seq answers.
func (x *reads) spanOf(seq uint64) readSpan {
	for _, s := range x.asked {
		if seq < s.end {
			return s
		}
	}
	return readSpan{seq, seq + 1}
}

// reached moves una to the first packet that is not acknowledged or not
// answered, everything before acked being known to have arrived.
func (q *QP) reached(now units.Time, acked uint64) {
	x := q.cold.reads
	x.acked = max(x.acked, acked)
	seq := q.una
	for i := q.head; i != q.tail; i++ {
		w := q.at(i)
		if !w.reads() {
			seq = max(seq, min(x.acked, w.end()))
		}
		for w.reads() && seq < w.end() && x.has(seq) {
			x.flip(seq)
			seq++
		}
		if seq < w.end() {
			break
		}
	}
	if seq > q.una {
		q.advance(now, seq)
	}
}

// answeredSelective handles the response to packet seq, which lies in una..high.
func (q *QP) answeredSelective(now units.Time, seq uint64, p *packet.Packet, side *packet.Side) {
	x, i := q.cold.reads, q.message(seq)
	w := q.at(i)
	if !w.reads() || x.has(seq) {
		q.discard()
		return
	}
	if status := q.checkResponse(w, seq, p); status != Success {
		if i != q.head {
			q.discard() // asked for again when its turn comes
			return
		}
		q.fail(status, now)
		return
	}
	x.tookID, x.tookLast = w.id, seq+1 == w.end()
	x.flip(seq)
	x.bytes += int64(p.Payload)
	if q.hasExtra && side != nil {
		q.placeResponse(i, seq, p, side)
	}
	q.reached(now, x.spanOf(seq).end)
	if q.una <= seq && !q.cfg.OutOfOrder {
		q.lostResponses(now, seq, seq, true)
	}
}

// ackedSelective handles an acknowledgement of everything before seq: what was
// not answered before it is lost, since it waited behind the responses.
func (q *QP) ackedSelective(now units.Time, seq uint64) {
	q.reached(now, seq)
	if q.una < seq && !q.cfg.OutOfOrder {
		q.lostResponses(now, seq, seq-1, false)
	}
}

// lostResponses asks again for the responses missing before seq, as a NAK for
// them would have; packet latest was answered just now. exact: it was answered
// because of its latest request. What was looked at before is looked at again only
// if something that was asked for again there may now be known to be lost again.
func (q *QP) lostResponses(now units.Time, seq, latest uint64, exact bool) {
	x, was := q.cold.reads, q.need
	from := max(q.una, x.scanned)
	if latest >= x.after || exact && q.wasSentAgain(latest) {
		from = q.una
		if seq >= x.scanned {
			x.after = neverSent // found anew
		}
	}
	for at := from; at < seq; at++ {
		if x.has(at) || !q.at(q.message(at)).reads() {
			continue
		}
		if q.lostAgain(at, latest, exact) {
			if q.need == was {
				q.rewinds++
			}
			q.want(at)
		}
		x.after = min(x.after, q.afterAgain(at))
	}
	x.scanned = max(x.scanned, seq)
	if q.need != was {
		q.noted().acts.SequenceGap.Add(now, 1)
		q.cause = ByResponse
		if q.reqState != reqRNR {
			q.resume()
		}
	}
}

// wasSentAgain reports whether packet seq was sent again alone.
func (q *QP) wasSentAgain(seq uint64) bool {
	s := q.cold.score
	return s != nil && s.at(seq).again
}

// afterAgain is the first packet that was not sent yet when packet seq was sent
// again; while it waits to be, the least that this can become.
func (q *QP) afterAgain(seq uint64) uint64 {
	if m := q.cold.score.at(seq); !m.need {
		return m.after
	}
	return q.high
}

// wantRequest makes the request that packet seq belongs to one to be sent again:
// a READ with all that is missing of its answer.
func (q *QP) wantRequest(seq uint64) {
	if !q.reading || !q.at(q.message(seq)).reads() {
		q.want(seq)
		return
	}
	x := q.cold.reads
	s := x.spanOf(seq)
	for at := max(seq, q.una); at < s.end; at++ {
		if !x.has(at) && !q.wanted(at) {
			q.want(at)
		}
	}
}

// wanted reports whether packet seq waits to be sent again.
func (q *QP) wanted(seq uint64) bool {
	s := q.cold.score
	return s != nil && s.at(seq).need
}

// wantOldest makes what is oldest, one to be sent again: the packet at una, or
// the missing part of its READ, and the first packet not known to have arrived, if
// it lies before end: what was sent later may be on its way.
func (q *QP) wantOldest(end uint64) {
	q.wantRequest(q.una)
	if !q.reading {
		return
	}
	if acked := q.cold.reads.acked; acked > q.una && acked < end && !q.wanted(acked) {
		q.wantRequest(acked)
	}
}

// joinMissing takes the packets behind seq that the same READ request can ask
// for off the scoreboard too, and returns how many there are with it.
func (q *QP) joinMissing(seq uint64) (n uint64) {
	s, end := q.cold.score, q.cold.reads.spanOf(seq).end
	first := *s.at(seq)
	for n = 1; seq+n < end && s.at(seq+n).need; n++ {
		m := s.at(seq + n)
		m.need, m.again, m.after, m.order = false, true, first.after, first.order
		q.need--
	}
	s.next = max(s.next, seq+n)
	return n
}
