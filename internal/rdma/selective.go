package rdma

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// MaxBitmap is the largest receive bitmap, in packets: what the offset of the
// latest packet in a selective NAK can name.
const MaxBitmap = 1 << 13

// nakRanges is how many ranges of missing packets one NAK names; NVIDIA's NICs
// report up to four (models.md 4.3).
const nakRanges = 4

// span is a range of missing packets, counted from the NAK's PSN.
type span struct{ from, n uint32 }

// gaps is what a selective NAK says beyond its PSN, the first missing packet:
// which packet was answered and, in order, the first ranges that are missing.
type gaps struct {
	latest uint32 // offset of the packet answered
	n      int
	r      [nakRanges]span
}

// Widths of the packed fields: 13 for the offset, then 6 for a length and 9
// for what was received before the next range: 13 + 4*6 + 3*9 = 64. A longer
// range goes on in the next; what does not fit is left for a later NAK.
const (
	latestBits = 13
	lengthBits = 6
	skipBits   = 9
)

// pack puts the ranges into one word; the first starts at offset 0.
func (g *gaps) pack() uint64 {
	word, at, end := uint64(g.latest), uint(latestBits), uint32(0)
	for i := range g.n {
		if i > 0 {
			word |= uint64(g.r[i].from-end) << at
			at += skipBits
		}
		word |= uint64(g.r[i].n) << at
		at += lengthBits
		end = g.r[i].from + g.r[i].n
	}
	return word
}

// unpack is the reverse of pack.
func unpack(word uint64) (g gaps) {
	take := func(n uint) uint32 {
		v := uint32(word & (1<<n - 1))
		word >>= n
		return v
	}
	g.latest = take(latestBits)
	from := uint32(0)
	for g.n < nakRanges {
		if g.n > 0 {
			from += take(skipBits)
		}
		n := take(lengthBits)
		if n == 0 {
			break
		}
		g.r[g.n] = span{from, n}
		g.n++
		from += n
	}
	return g
}

// Responder.

// held is a packet ahead of the expected one: its headers wait until those
// before it are here. So does its payload in a run that carries data; no one can
// tell that from memory written at once, for nothing is complete before.
type held struct {
	va                    uint64
	payload, length, rkey uint32
	opcode, flags         uint8
	side                  bool
}

// reorder is the receive bitmap with the headers of what it says is here. A PSN
// stands at its remainder by the bitmap's size, a power of two.
type reorder struct {
	here []uint64
	slot []held
	side []packet.SideCopy // beside slot; nil until a packet has one
	end  uint32            // PSN after the highest held
	peak uint32            // most that were held at a time
}

func newReorder(packets int) *reorder {
	n := slots(packets)
	return &reorder{here: make([]uint64, n/64), slot: make([]held, n)}
}

// slots is the power of two, at least 64, that holds n packets.
func slots(n int) int { return max(64, 1<<bits.Len(uint(n-1))) }

func (r *reorder) has(psn uint32) bool {
	i := psn & uint32(len(r.slot)-1)
	return r.here[i>>6]>>(i&63)&1 != 0
}

func (r *reorder) put(p *packet.Packet, side *packet.Side) {
	r.mark(p.PSN, 1, true)
	i := p.PSN & uint32(len(r.slot)-1)
	r.slot[i] = held{p.VA, p.Payload, p.DMALen, p.RKey, p.Opcode, p.Flags, side != nil}
	if side == nil {
		return
	}
	if r.side == nil {
		r.side = make([]packet.SideCopy, len(r.slot))
	}
	r.side[i].Set(side)
}

// pop takes the packet with PSN psn out again, with its side record, if it has
// one.
func (r *reorder) pop(psn uint32) (packet.Packet, *packet.Side) {
	r.mark(psn, 1, false)
	i := psn & uint32(len(r.slot)-1)
	h := &r.slot[i]
	p := packet.Packet{PSN: psn, VA: h.va, Payload: h.payload, DMALen: h.length, RKey: h.rkey, Opcode: h.opcode, Flags: h.flags}
	if h.side {
		return p, &r.side[i].Side
	}
	return p, nil
}

// mark says that n packets from psn on are here, or are not any more.
func (r *reorder) mark(psn, n uint32, here bool) {
	for k := range n {
		i := (psn + k) & uint32(len(r.slot)-1)
		r.here[i>>6] &^= 1 << (i & 63)
		if here {
			r.here[i>>6] |= 1 << (i & 63)
		}
	}
}

// psns is how many PSNs a request takes: of a READ one for each packet of the
// response (IBTA 9.7.2).
func (q *QP) psns(p *packet.Packet) uint32 {
	if p.Opcode == OpReadRequest {
		return q.packetsOf(p.DMALen)
	}
	return 1
}

// run counts how many packets from psn on are all here, or all missing, up to
// limit.
func (r *reorder) run(psn uint32, here bool, limit uint32) (n uint32) {
	for n < limit {
		i := (psn + n) & uint32(len(r.slot)-1)
		w := r.here[i>>6] >> (i & 63)
		if here {
			w = ^w
		}
		left := 64 - i&63 // in this word
		k := min(uint32(bits.TrailingZeros64(w)), left)
		n += k
		if k < left {
			break
		}
	}
	return min(n, limit)
}

// gaps lists the missing packets from epsn up to the highest held.
func (r *reorder) gaps(epsn uint32, latest uint32) (g gaps) {
	g.latest = latest
	limit := uint32(psnDiff(r.end, epsn))
	for at, skip := uint32(0), uint32(0); at < limit && g.n < nakRanges && skip < 1<<skipBits; {
		n := r.run(epsn+at, false, min(limit-at, 1<<lengthBits-1))
		g.r[g.n] = span{at, n}
		g.n++
		at += n
		skip = r.run(epsn+at, true, limit-at)
		at += skip
	}
	return g
}

// aheadSelective handles a packet whose predecessors are not all here: it is
// kept, and a NAK names what is missing if the packet opens a new gap or asks
// for an answer. d is its distance from the expected PSN.
func (q *QP) aheadSelective(now units.Time, p *packet.Packet, side *packet.Side, d int64, ce bool, out *Replies) {
	n := q.psns(p)
	if d+int64(n) > int64(q.cfg.Bitmap) {
		q.discard() // the requester's window should not let it
		return
	}
	rx := q.cold.reorder
	if rx == nil {
		rx = newReorder(q.cfg.Bitmap)
		q.cold.reorder = rx
	}
	if q.held == 0 {
		rx.end = q.epsn
	}
	past := psnDiff(p.PSN, rx.end) // 0: right behind the highest so far
	if past >= 0 {
		rx.end = (p.PSN + n) & psnMask
	}
	if rx.run(p.PSN, false, n) == n {
		rx.put(p, side)
		rx.mark(p.PSN, n, true)
		q.held += n
		rx.peak = max(rx.peak, q.held)
	}
	if q.rspState == rspRNR {
		return // the requester waits; it will send the expected packet again
	}
	if past < 0 {
		q.cameLate(now, p)
	}
	if q.cfg.OutOfOrder {
		return
	}
	q.rspState = rspNAK
	if past > 0 {
		q.noted().acts.SequenceGap.Add(now, 1)
	}
	if past > 0 || p.Flags&packet.AckReq != 0 {
		q.selectiveNAK(now, uint32(d), ce, out)
	}
}

// selectiveNAK acknowledges all before the expected PSN and names what is
// missing from there on; latest is the offset of the packet answered.
func (q *QP) selectiveNAK(now units.Time, latest uint32, ce bool, out *Replies) {
	q.noted().counters.NAKsSent++
	q.noted().acts.NAKSent.Add(now, 1)
	p := q.reply(now, SynNAKSeq, q.epsn, ce, out)
	g := q.cold.reorder.gaps(q.epsn, latest)
	word := g.pack()
	p.DMALen, p.Payload = uint32(word), uint32(word>>32)
	q.notifyLoss(now, ce, out)
}

// inOrderSelective takes the expected packet and what was held behind it, and
// answers once for all of them.
func (q *QP) inOrderSelective(now units.Time, p *packet.Packet, side *packet.Side, ce bool, out *Replies) {
	if n := q.psns(p); q.cold.reorder.run(q.epsn, false, n) < n {
		q.discard() // a READ where other requests have arrived
		return
	}
	if !q.take(now, p, side, ce, out) {
		return
	}
	ask := asks(p, false)
	for q.held > 0 && q.cold.reorder.has(q.epsn) {
		next, side := q.cold.reorder.pop(q.epsn)
		n := q.psns(&next)
		q.cold.reorder.mark(q.epsn, n, false)
		q.held -= n
		if !q.take(now, &next, side, ce, out) {
			return
		}
		ask = asks(&next, ask)
	}
	if q.held > 0 && !q.cfg.OutOfOrder {
		q.rspState = rspNAK
		q.selectiveNAK(now, 0, ce, out)
		return
	}
	if ask {
		q.reply(now, SynACK, (q.epsn-1)&psnMask, ce, out)
	}
}

// Requester.

// mark is what the scoreboard knows of a packet sent and not acknowledged.
type mark struct {
	after uint64 // sent again: the first packet that had not been sent then
	order uint32 // and how many were sent again before it
	round uint32 // the rewind that asked for it
	need  bool   // to be sent again
	again bool   // was sent again
}

// scoreboard says what is to be sent again. A sequence number stands at its
// remainder by the size, a power of two.
type scoreboard struct {
	mark []mark
	next uint64 // nothing below is needed
	top  uint64 // nothing from here on is marked
	sent uint32 // packets sent again
	// recover ends what was outstanding at the latest timeout.
	recover uint64
}

func (s *scoreboard) at(seq uint64) *mark { return &s.mark[seq&uint64(len(s.mark)-1)] }

// clear forgets the marks of [from, to).
func (s *scoreboard) clear(from, to uint64) (needed uint32) {
	for seq := from; seq < min(to, s.top); seq++ {
		m := s.at(seq)
		if m.need {
			needed++
		}
		*m = mark{}
	}
	return needed
}

// acknowledged forgets the marks below seq, the old una being from. After a
// timeout an acknowledgement of only some of what was outstanding then tells that
// the next was lost too, as in TCP (RFC 6582): behind it nothing may be left that
// would make the responder send a NAK.
func (q *QP) acknowledged(from, seq uint64) {
	if s := q.cold.score; s != nil {
		q.need -= s.clear(from, seq)
		if seq < s.recover && q.need == 0 && q.reqState != reqRNR && !s.at(seq).again {
			q.rewinds++
			q.wantOldest(s.recover)
			q.resume()
		}
	}
	if q.reqState == reqResend {
		q.resume()
	}
}

// want makes packet seq one to be sent again.
func (q *QP) want(seq uint64) {
	s := q.cold.score
	if s == nil {
		s = &scoreboard{mark: make([]mark, slots(q.cfg.Bitmap))}
		q.cold.score = s
	}
	m := s.at(seq)
	m.need, m.round = true, q.rewinds
	if q.need == 0 || seq < s.next {
		s.next = seq
	}
	s.top = max(s.top, seq+1)
	q.need++
}

// missing handles a selective NAK with PSN seq: what it names is sent again,
// each packet once per round. One sent again before is lost again if the packet
// answered was sent after that; with IRN's rules only the timer tells.
func (q *QP) missing(seq uint64, p *packet.Packet) {
	g := unpack(uint64(p.Payload)<<32 | uint64(p.DMALen))
	latest, was := seq+uint64(g.latest), q.need
	for _, r := range g.r[:g.n] {
		for k := range uint64(r.n) {
			at := seq + uint64(r.from) + k
			if at >= q.high {
				break
			}
			if q.lostAgain(at, latest, true) {
				if q.need == was {
					q.rewinds++
				}
				q.wantRequest(at)
			}
		}
	}
	if q.need != was {
		q.cause, q.rnrUntil = ByNAK, units.Never
		q.resume()
	}
}

// lostAgain reports whether packet seq, which a NAK names, is to be sent again.
// packet latest was answered; exact: because of its latest transmission.
func (q *QP) lostAgain(seq, latest uint64, exact bool) bool {
	s := q.cold.score
	if s == nil {
		return true
	}
	switch m := s.at(seq); {
	case m.need:
		return false
	case m.again:
		if q.cfg.Recovery == IRN {
			return false
		}
		l := s.at(latest)
		return latest >= m.after || exact && latest > seq && l.again && !l.need && int32(l.order-m.order) > 0
	}
	return true
}

// wantOnly forgets all marks and makes the oldest outstanding packet the one to
// be sent again: after a timeout or an RNR NAK.
func (q *QP) wantOnly(cause Trigger) {
	if s := q.cold.score; s != nil {
		s.clear(q.una, s.top)
		s.next, s.top = q.una, q.una
	}
	if q.reading {
		q.cold.reads.scanned = q.una
	}
	q.need = 0
	q.rewinds++
	q.cause = cause
	if q.una < q.high {
		q.wantOldest(q.high)
		if cause == ByTimer {
			q.cold.score.recover = q.high
		}
	}
	q.rtoAt, q.rnrUntil = units.Never, units.Never // armed again by that packet
	q.resume()
}

// nextMissing takes the first packet to be sent again off the scoreboard.
func (q *QP) nextMissing() (n uint32, seq uint64) {
	s := q.cold.score
	for !s.at(s.next).need {
		s.next++
	}
	seq = s.next
	s.next++
	m := s.at(seq)
	s.sent++
	m.need, m.again, m.after, m.order = false, true, q.high, s.sent
	q.need--
	q.cold.round = m.round
	return q.message(seq), seq
}

// sentAgain counts a packet sent again alone; asks: a READ request.
func (q *QP) sentAgain(now units.Time, payload uint32, asks bool) {
	q.countRetransmission(now, int64(payload), asks)
	q.sentPackets++
	q.sentBytes += int64(payload)
	if q.rtoAt == units.Never && q.rto > 0 {
		q.rtoAt = now + q.rto
	}
	if q.reqState == reqResend {
		q.resume()
	}
}

// message finds the open work request that packet seq belongs to, by its place
// in the ring.
func (q *QP) message(seq uint64) uint32 {
	lo, hi := q.head, q.tail // the last that starts at or before seq
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; q.at(mid).first <= seq {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// Selective reports whether lost packets are sent again alone.
func (q *QP) Selective() bool { return q.selective }

// Missing is the number of packets waiting to be sent again, with selective
// repeat.
func (q *QP) Missing() uint32 { return q.need }

// PolledAgain reports whether the latest packet was sent again alone, and which
// of the Rewinds asked for it.
func (q *QP) PolledAgain() (rewind uint32, again bool) { return q.cold.round, q.again }
