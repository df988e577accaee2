package rdma

import (
	"fmt"
	"math/bits"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// maxOutstanding is half the PSN space less one: with more, a PSN could not be
// told from a duplicate (IBTA 9.7.2).
const maxOutstanding = 1<<23 - 1

// Post adds a work request to the send queue at now. In Err it completes at
// once as flushed.
func (q *QP) Post(now units.Time, r WorkRequest) error {
	if err := q.check(&r); err != nil {
		return err
	}
	switch q.state {
	case Reset, Init, RTR:
		return fmt.Errorf("qp: post in state %s, want RTS", q.state)
	case SQE, Err:
		q.complete(r.ID, WRFlush, now)
		return nil
	}
	if q.tail-q.head == uint32(len(q.ring)) {
		q.grow()
	}
	if q.adapts {
		q.afterIdle(now)
	}
	packets := max(1, (uint64(r.Bytes)+uint64(q.cfg.MTU)-1)/uint64(q.cfg.MTU))
	*q.at(q.tail) = wqe{first: q.cold.posted, base: q.cold.bytes, va: r.VA, packets: uint32(packets),
		bytes: uint32(r.Bytes), id: r.ID, rkey: r.RKey, imm: r.Imm, verb: r.Verb, fence: r.Fence}
	reliable := q.service == RC
	if q.hasExtra || r.LKey != 0 || r.Verb > Read || !reliable {
		q.setExtra(q.tail, &r)
	}
	bad := reliable && r.LKey != 0 && !q.localOK(&r) // UC and UD look when its turn comes
	if q.at(q.tail).fault = bad; bad || reliable && (r.Verb >= Read || r.Fence) {
		q.startReads()
	}
	q.tail++
	q.cold.posted += packets
	q.cold.bytes += uint64(r.Bytes)
	if q.state == RTS {
		q.end = q.cold.posted
	}
	if bad {
		q.failLocal(now)
	}
	if q.steered {
		q.ask(now)
	}
	return nil
}

// check refuses what no queue pair of this service can do.
func (q *QP) check(r *WorkRequest) error {
	switch {
	case r.Bytes < 0 || r.Bytes > MaxMessage:
		return fmt.Errorf("qp: message of %d bytes, want 0 to %d", r.Bytes, MaxMessage)
	case q.service == RC:
		return q.checkVerb(r)
	}
	return q.checkUnreliable(r)
}

// localOK checks the work request's own buffer: there to be read, or with READ
// and atomics to be written.
func (q *QP) localOK(r *WorkRequest) bool {
	need := Access(0)
	if r.Verb >= Read {
		need = LocalWrite
	}
	a := &q.setup.Attrs
	return r.Inline || r.Bytes == 0 || a.Memory.Local(a.PD, r.LKey, r.LVA, uint64(r.Bytes), need) != nil
}

// failLocal ends the oldest work request if its own buffer is not what it should
// be: nothing of it is sent, and those before it are complete.
func (q *QP) failLocal(now units.Time) {
	if q.head != q.tail && q.at(q.head).fault {
		q.fail(LocProt, now)
	}
}

// checkVerb is check for RC.
func (q *QP) checkVerb(r *WorkRequest) error {
	switch {
	case r.Verb >= numVerbs:
		return fmt.Errorf("qp: verb %d is unknown, want 0 to %d", r.Verb, numVerbs-1)
	case r.Verb >= Read && q.setup != nil && q.setup.Attrs.MaxRdAtomic == 0:
		return fmt.Errorf("qp: %s with max_rd_atomic 0, want 1 to 128", r.Verb)
	case r.Inline && r.Verb >= Read:
		return fmt.Errorf("qp: %s inline, want a SEND or WRITE", r.Verb)
	case r.Inline && q.setup != nil && r.Bytes > q.setup.Attrs.MaxInline:
		return fmt.Errorf("qp: message of %d bytes inline, want at most %d", r.Bytes, q.setup.Attrs.MaxInline)
	case r.Verb > Read && r.Bytes != AtomicBytes:
		return fmt.Errorf("qp: %s of %d bytes, want %d", r.Verb, r.Bytes, AtomicBytes)
	}
	return nil
}

// grow doubles the ring of the send queue.
func (q *QP) grow() {
	old := q.ring
	q.ring = make([]wqe, max(1, 2*len(old)))
	for i := q.head; i != q.tail; i++ {
		*q.at(i) = old[i&uint32(len(old)-1)]
	}
	if q.hasExtra {
		q.growExtra(len(old))
	}
}

// Poll fills p with the packet to send at now, or says why there is none and
// until when, as far as time alone decides (else Never). After Sent the time is
// when pacing admits the next packet.
func (q *QP) Poll(now units.Time, p *packet.Packet) (Reason, units.Time) {
	if q.service != RC {
		return q.pollUnreliable(now, p)
	}
	q.hasSide = false
	if q.answering {
		return q.pollAnswer(now, p)
	}
	if reason, until := q.blocked(now); reason != Sent {
		return reason, until
	}
	n, seq := q.cur, q.nxt
	if q.again = q.need > 0; q.again {
		n, seq = q.nextMissing()
	}
	w := q.at(n)
	q.polled = w.id
	if w.verb >= Read {
		q.sendRead(now, p, n, seq)
		return Sent, q.nextAvail
	}
	mtu := uint32(q.cfg.MTU)
	i := uint32(seq - w.first)
	payload, last := mtu, i == w.packets-1
	if last {
		payload = w.bytes - i*mtu
	}
	q.polledLast = last
	if q.hasExtra {
		q.fillSide(n, i*mtu, payload)
	}
	q.fillData(p)
	p.Payload = payload
	p.PSN = uint32(seq) & psnMask
	p.Opcode = opcode(w.verb, i == 0, last)
	frame := uint32(q.cfg.Wire.Data) + payload
	if last && q.cfg.Wire.Pad > 0 {
		frame += -payload & uint32(q.cfg.Wire.Pad-1)
	}
	if i == 0 && (w.verb == Write || w.verb == WriteImm) {
		frame += uint32(q.cfg.Wire.RETH)
		p.VA, p.RKey, p.DMALen = w.va, w.rkey, w.bytes
	}
	if last && w.verb > Send {
		frame += wire.ImmDtLen // as long as an IETH
		q.newSide().Imm = w.imm
	}
	p.Frame = max(frame, uint32(q.cfg.Wire.MinFrame))
	if seq < q.high {
		p.Flags |= packet.Retrans
	}
	q.pace(now, p.Frame+uint32(q.cfg.Wire.Overhead))
	if q.again {
		q.sentAgain(now, payload, false)
		p.Flags |= packet.AckReq
	} else if q.sent(now, 1, payload, payload, last) {
		p.Flags |= packet.AckReq
	}
	return Sent, q.nextAvail
}

// sendRead fills p with a READ or atomic request. It takes as many packets of
// the PSN space, and of the window, as its answer has.
func (q *QP) sendRead(now units.Time, p *packet.Packet, i uint32, seq uint64) {
	x := q.cold.reads
	if q.again {
		q.pollRead(now, p, i, seq, q.joinMissing(seq))
		q.sentAgain(now, 0, q.at(i).verb == Read)
		return
	}
	n := q.part(q.at(i), seq)
	bytes := q.pollRead(now, p, i, seq, n)
	x.asked = append(x.asked, readSpan{seq, seq + n})
	x.peak = max(x.peak, len(x.asked))
	q.sent(now, n, 0, bytes, q.polledLast)
}

// blocked gives the first reason, in the order of Reason, why nothing may be
// sent now.
func (q *QP) blocked(now units.Time) (Reason, units.Time) {
	if q.state != RTS && q.state != SQD {
		if q.state == Err {
			return InError, units.Never
		}
		return NotReady, units.Never
	}
	if q.nxt >= q.end && q.need == 0 {
		return Idle, units.Never
	}
	if q.reqState == reqRNR {
		if now < q.rnrUntil {
			return RNRWait, q.rnrUntil
		}
		q.endRNR()
	}
	if q.window > 0 && q.cfg.Window == WindowVar && q.hasCC {
		q.scaleWindow(now)
	}
	if q.need == 0 {
		if q.windowFull() {
			return q.fullBy(), units.Never
		}
		if q.reading {
			if why := q.order(); why != Sent {
				return why, units.Never
			}
		}
	}
	if q.inGap(now) {
		return RateLimit, q.nextAvail
	}
	return Sent, 0
}

// inGap reports whether the gap behind the latest packet goes on. A BECN to another
// queue pair that shares the reaction point may have lengthened it.
func (q *QP) inGap(now units.Time) bool {
	if q.hasIB && now >= q.nextAvail && q.cfg.TimeQuantum == 0 {
		x := q.cold.extras
		if n := x.ib.Heard(); n != x.heard {
			x.heard = n
			q.nextAvail = max(q.nextAvail, x.ib.GapEnd(x.owed))
		}
	}
	return now < q.nextAvail
}

// windowFull is judged before sending, so that the last packet may overshoot
// (peers.md B1 2.3).
func (q *QP) windowFull() bool {
	return q.nxt-q.una >= uint64(q.maxOut) || q.window > 0 && int64(q.nxtBytes-q.unaBytes) >= q.winNow
}

// fullBy says what keeps windowFull, or order, from letting more out. A window that
// stands still because what is oldest was lost waits for that, not for a round trip.
func (q *QP) fullBy() Reason {
	bytes := q.window > 0 && int64(q.nxtBytes-q.unaBytes) >= q.winNow
	switch {
	case q.restarting() && (q.nxt-q.una >= uint64(q.maxOut) || !bytes):
		return SlowRestarting
	case q.cold.score != nil && q.cause != ByRNR && q.cold.score.at(q.una).again:
		return Repair
	case bytes:
		return Window
	}
	return Bitmap
}

// scaleWindow keeps winNow at window * rate / line, at least 1 byte.
func (q *QP) scaleWindow(now units.Time) {
	rate := q.cc.Rate(q.cfg.CC, now)
	if rate == q.winRate {
		return
	}
	hi, lo := bits.Mul64(uint64(q.window), uint64(rate))
	w, _ := bits.Div64(hi, lo, uint64(q.line)) // rate <= line: the quotient is at most window
	q.winNow, q.winRate = max(1, int64(w)), rate
}

// opcode of a packet by its place in the message: FIRST, MIDDLE, LAST, ONLY are
// 0, 1, 2 and 4 from the verb's FIRST.
func opcode(v Verb, first, last bool) uint8 {
	if last && v > Send {
		return rareOpcode(v, first)
	}
	op := OpSendFirst
	if v == Write || v == WriteImm {
		op = OpWriteFirst
	}
	switch {
	case first && last:
		return op + 4
	case last:
		return op + 2
	case first:
		return op
	}
	return op + 1
}

// rareOpcode is that of the last packet of a message with immediate data or
// with invalidate.
func rareOpcode(v Verb, only bool) uint8 {
	op := [...]uint8{OpWriteLastImm, OpSendLastImm, OpSendLastInv}[v-WriteImm]
	if !only {
		return op
	}
	return [...]uint8{OpWriteOnlyImm, OpSendOnlyImm, OpSendOnlyInv}[v-WriteImm]
}

// pace sets when the next packet may start: the wire time of this one at the
// current rate, and where DCQCN changes that before, what is left at the new one.
func (q *QP) pace(now units.Time, wireBytes uint32) {
	rate := q.line
	if q.hasCC {
		q.cc.OnSend(q.cfg.CC, now, units.Bytes(wireBytes))
		rate = q.cc.Rate(q.cfg.CC, now)
	} else if q.hasIB {
		rate = q.cold.extras.ib.Rate(now)
	} else if q.steered {
		q.paceSteered(now, wireBytes)
		return
	}
	if wireBytes != q.gapBytes || rate != q.gapRate {
		q.gapBytes, q.gapRate = wireBytes, rate
		q.gap = gap(units.Bytes(wireBytes), rate, q.cfg.TimeQuantum)
	}
	q.nextAvail = now + q.gap
	if q.hasIB {
		q.oweIB(now, wireBytes)
	}
	if q.hasCC && !q.fixedGap() {
		q.nextAvail = q.cc.Owe(q.cfg.CC, now, units.Bytes(wireBytes), q.nextAvail)
	}
}

// oweIB begins the gap behind a packet with InfiniBand's congestion control.
func (q *QP) oweIB(now units.Time, wireBytes uint32) {
	x := q.cold.extras
	x.owed, x.heard = x.ib.Owe(now, units.Bytes(wireBytes)), x.ib.Heard()
	if q.cfg.TimeQuantum == 0 {
		q.nextAvail = x.ib.GapEnd(x.owed)
	}
}

// gap is n bytes' time at rate r, rounded up, or truncated to quantum.
func gap(n units.Bytes, r units.Rate, quantum units.Time) units.Time {
	if quantum == 0 {
		return r.TxTime(n)
	}
	t := units.Time(int64(n) * 8e12 / int64(r))
	return max(quantum, t-t%quantum)
}

// sent moves past the packet just built, which takes n packets of the PSN space
// and bytes of the window, and reports whether it is to ask for an
// acknowledgement.
func (q *QP) sent(now units.Time, n uint64, payload, bytes uint32, last bool) bool {
	if q.nxt < q.high {
		q.countRetransmission(now, int64(payload), q.at(q.cur).verb == Read)
	}
	q.nxt += n
	if q.nxt >= q.high {
		q.high = q.nxt
		q.reqState = reqSend
	}
	if last {
		q.cur++
	}
	q.nxtBytes += uint64(bytes)
	if q.window > 0 {
		q.peakOut = max(q.peakOut, int64(q.nxtBytes-q.unaBytes))
	}
	if q.selective {
		q.peakPackets = max(q.peakPackets, uint32(q.nxt-q.una))
	}
	q.sentPackets++
	q.sentBytes += int64(payload)
	if q.rtoAt == units.Never && q.rto > 0 {
		q.rtoAt = now + q.rto
	}
	if q.cfg.TimeoutLow > 0 {
		q.adjustTimer()
	}
	q.sinceAck++
	if last || int(q.sinceAck) >= q.cfg.AckEvery || q.windowFull() || q.steered && q.cold.extras.steer.ackNow {
		q.sinceAck = 0
		if q.steered {
			q.cold.extras.steer.ackNow = false
		}
		return true
	}
	return false
}

// adjustTimer gives a running timer the length that the packets in flight ask
// for: IRN's is short while they are few, too few for a NAK to tell of a loss
// among them (SIGCOMM 2018).
func (q *QP) adjustTimer() {
	rto := q.cfg.Timeout
	if q.nxt-q.una <= uint64(q.cfg.LowInFlight) {
		rto = q.cfg.TimeoutLow
	}
	if q.rtoAt != units.Never {
		q.rtoAt += rto - q.rto
	}
	q.rto = rto
}

// countRetransmission counts a packet sent again; asks: a READ request. Where a
// response was missing that tells the responder, which sends again what was lost.
func (q *QP) countRetransmission(now units.Time, payload int64, asks bool) {
	acts := &q.noted().acts
	switch q.cause {
	case ByNAK:
		acts.RetransNAK.Add(now, payload)
	case ByTimer:
		acts.RetransTimer.Add(now, payload)
	case ByRNR:
		acts.RetransRNR.Add(now, payload)
	case ByResponse:
		if asks {
			q.cold.reads.acts.AskedAgain.Add(now, 0)
		} else {
			q.cold.reads.acts.RetransMissing.Add(now, payload)
		}
	}
}

// ReadyAt is the earliest time from which the requester could send as far as
// posted work, window and pacing decide, whatever the port does; Never when
// time alone does not open it.
func (q *QP) ReadyAt() units.Time {
	if q.answering {
		return q.answerAt()
	}
	if q.state != RTS && q.state != SQD || q.need == 0 && (q.nxt >= q.end || q.windowFull() || q.reading && q.order() != Sent) {
		return units.Never
	}
	if q.reqState == reqRNR {
		return max(q.nextAvail, q.rnrUntil)
	}
	return q.nextAvail
}

// receiveAck handles ACK, RNR NAK and NAK.
func (q *QP) receiveAck(now units.Time, p *packet.Packet, side *packet.Side) {
	if q.state != RTS && q.state != SQD {
		q.discard()
		return
	}
	before := q.unaBytes
	syndrome := uint8(p.AETH >> 24)
	seq := uint64(int64(q.una) + psnDiff(p.PSN, uint32(q.una)))
	switch syndrome >> 5 {
	case 0:
		if p.Opcode == OpAtomicAck {
			q.answered(now, p, side)
		} else if int64(seq-q.una) >= 0 { // else acknowledged before
			q.positive(now, seq)
		}
	case SynRNR >> 5, SynNAKSeq >> 5:
		q.negative(now, seq, p)
	default:
		q.discard()
	}
	if q.steered {
		if q.state != Err {
			q.hearAck(now, p, before)
		}
		return
	}
	if p.Flags&packet.CNPFlag != 0 && (q.Open() > 0 || q.hasIB) && q.state != Err {
		q.receiveCNP(now) // after the acknowledgement: a finished flow of ns-3 reacts no more
	}
	if q.window > 0 && q.cfg.Window == WindowVar && q.hasCC {
		q.scaleWindow(now) // so that ReadyAt knows it
	}
}

// positive handles an ACK of everything up to and including seq.
func (q *QP) positive(now units.Time, seq uint64) {
	if seq >= q.high {
		q.discard() // acknowledges what was never sent
		return
	}
	switch {
	case !q.reading:
		q.advance(now, seq+1)
	case q.selective:
		q.ackedSelective(now, seq+1)
	case !q.unanswered(now, seq+1):
		q.advance(now, seq+1)
	}
}

// negative handles a NAK or RNR NAK: what lies before seq arrived, seq is the
// packet it speaks of.
func (q *QP) negative(now units.Time, seq uint64, p *packet.Packet) {
	syndrome := uint8(p.AETH >> 24)
	restart := q.cfg.Recovery == GoBack0 && q.head != q.tail && seq == q.at(q.head).first
	if int64(seq-q.una) < 0 && !restart || int64(seq-q.high) >= 0 {
		q.discard() // of a packet acknowledged before, or never sent
		return
	}
	q.noted().counters.NAKsReceived++
	if q.reading && !q.selective && q.unanswered(now, seq) {
		return
	}
	progress := int64(seq-q.una) > 0
	if progress && q.reading && q.selective {
		q.ackedSelective(now, seq)
		if q.una < seq && syndrome > SynNAKSeq {
			return // the responses before it are wanted first
		}
	} else if progress {
		q.advance(now, seq)
	}
	if q.state == Err {
		return
	}
	if syndrome>>5 == SynRNR>>5 {
		q.notReady(now, syndrome&31)
		return
	}
	switch syndrome {
	case SynNAKSeq:
		if q.selective {
			q.missing(seq, p)
			return
		}
		q.sequenceError(now, progress, ByNAK)
	case SynNAKInv:
		q.fail(RemInvReq, now)
	case SynNAKAccess:
		q.fail(RemAccess, now)
	default: // 0x63 and the reserved codes
		q.fail(RemOp, now)
	}
}

// sequenceError goes back to what a NAK, or responses that are missing, tell of.
func (q *QP) sequenceError(now units.Time, progress bool, cause Trigger) {
	if q.cfg.NAKConsumesRetry && !progress && !q.retry() {
		q.fail(RetryExc, now)
		return
	}
	q.rewind(cause)
}

// notReady waits out an RNR NAK with timer code (models.md 4.3).
func (q *QP) notReady(now units.Time, code uint8) {
	if q.cfg.RNRRetry != 7 {
		if q.rnrRetries >= q.cfg.RNRRetry {
			q.fail(RNRRetryExc, now)
			return
		}
		q.rnrRetries++
	}
	q.rewind(ByRNR)
	q.reqState = reqRNR
	q.rnrUntil = now + RNRTime(code)
}

func (q *QP) endRNR() {
	q.rnrUntil = units.Never
	q.resume()
}

// timeout is the expiry of the retransmission timer.
func (q *QP) timeout(now units.Time) {
	q.waited(now)
	q.noted().counters.Timeouts++
	q.noted().acts.AckTimeout.Add(now, 1)
	if !q.mayRetry(now) {
		q.fail(RetryExc, now)
		return
	}
	if q.adapts && q.cold.extras.adaptive.restart != nil {
		q.cold.extras.adaptive.restart.narrow(q, now, 1)
	}
	q.rewind(ByTimer)
	if q.steered {
		q.hear(now, congestion.TimedOut, congestion.Lost, 0)
	}
}

// mayRetry reports whether there may be another try after a timeout.
func (q *QP) mayRetry(now units.Time) bool {
	if q.adapts && q.cold.extras.adaptive.timer != nil {
		return q.cold.extras.adaptive.timer.expired(q, now, q.rtoAt-q.rto)
	}
	return q.retry()
}

// retry uses up one retry, if one is left.
func (q *QP) retry() bool {
	if q.retries >= q.cfg.RetryCount {
		return false
	}
	q.retries++
	return true
}

// advance notes that everything before seq arrived: it completes work requests,
// restores the retries and restarts the timer.
func (q *QP) advance(now units.Time, seq uint64) {
	if seq <= q.una || seq > q.high {
		panic(fmt.Sprintf("rdma: BUG: advance to %d with una %d, high %d", seq, q.una, q.high))
	}
	from, head := q.una, q.head
	q.una = seq
	q.waited(now)
	q.retries, q.rnrRetries = 0, 0
	if q.adapts {
		q.adapt(now, seq)
	}
	for q.head != q.tail {
		w := q.at(q.head)
		if w.first+uint64(w.packets) > seq {
			break
		}
		q.complete(w.id, Success, now)
		q.head++
	}
	if q.reading {
		q.settleReads(seq)
	}
	if q.selective {
		q.acknowledged(from, seq)
	}
	switch {
	case q.head == head: // no message ended: all these packets were full
		q.unaBytes += (seq - from) * uint64(q.cfg.MTU)
	case q.head == q.tail:
		q.unaBytes = q.cold.bytes
	default:
		w := q.at(q.head)
		q.unaBytes = w.base + (seq-w.first)*uint64(q.cfg.MTU)
	}
	if q.nxt <= seq { // what was to be sent again had arrived
		q.nxt, q.nxtBytes, q.cur = seq, q.unaBytes, q.head
		if q.reqState == reqResend {
			q.resume()
		}
	}
	q.rtoAt = units.Never
	if q.nxt != q.una && q.rto > 0 {
		q.rtoAt = now + q.rto
		if q.cfg.TimeoutLow > 0 {
			q.adjustTimer()
		}
	}
	if q.reading {
		q.failLocal(now)
	}
}

// rewind makes the oldest unacknowledged packet, or with go-back-0 the first of
// its message, the next to be sent.
func (q *QP) rewind(cause Trigger) {
	if q.selective {
		q.wantOnly(cause)
		return
	}
	if q.cfg.Recovery == GoBack0 && q.head != q.tail {
		q.restart(q.at(q.head))
	}
	q.rewinds++
	q.nxt, q.nxtBytes, q.cur = q.una, q.unaBytes, q.head
	if q.reading {
		q.cold.reads.asked = q.cold.reads.asked[:0]
	}
	q.cause = cause
	q.sinceAck = 0
	q.rtoAt = units.Never // armed again by the next packet
	q.rnrUntil = units.Never
	q.resume()
}

// restart goes back to the start of message w, of which a part was acknowledged:
// of a READ to the start of the request.
func (q *QP) restart(w *wqe) {
	if !w.reads() {
		q.una, q.unaBytes = w.first, w.base
		return
	}
	if x := q.cold.reads; len(x.asked) > 0 && x.asked[0].first < q.una {
		back := uint64(q.cfg.MTU) * (q.una - x.asked[0].first)
		q.una, q.unaBytes = x.asked[0].first, q.unaBytes-back
		x.bytes -= int64(back)
	}
}

// resume enters the sending state that nxt stands for.
func (q *QP) resume() {
	q.reqState = reqSend
	if q.nxt < q.high || q.need > 0 {
		q.reqState = reqResend
	}
}
