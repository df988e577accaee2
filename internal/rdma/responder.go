package rdma

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// receiveRequest handles a request packet (models.md 4.4).
func (q *QP) receiveRequest(now units.Time, p *packet.Packet, side *packet.Side, out *Replies) {
	if q.state < RTR || q.state == Err || q.answering && q.cold.answers.refused {
		q.discard()
		return
	}
	ce := p.ECN == packet.CE
	if ce {
		q.congested(now, out)
	}
	d := psnDiff(p.PSN, q.epsn)
	switch {
	case d == 0 && q.held > 0:
		q.cameLate(now, p)
		q.inOrderSelective(now, p, side, ce, out)
	case d == 0:
		if q.rspState == rspNAK {
			q.cameLate(now, p)
		}
		if q.take(now, p, side, ce, out) && asks(p, false) {
			q.reply(now, SynACK, p.PSN, ce, out)
		}
	case d > 0 && q.selective:
		q.aheadSelective(now, p, side, d, ce, out)
	case d > 0:
		q.ahead(now, p, ce, out)
	default:
		q.cameLate(now, p)
		if mutantAtomicTwice && p.Opcode == OpFetchAdd {
			q.execute(p, side)
		}
		q.duplicate(now, p, ce, out)
	}
}

// Places of a request packet in its message, and what it is.
const (
	opFirst uint8 = 1 << iota
	opLast
	opWrite
	opValid
	opReads   // READ or atomic
	opReceive // takes a receive work request: SEND at its first packet, WRITE with immediate at its last
)

// requestFlags are the flags of the requests of the reliable connected service,
// by opcode; others have none.
var requestFlags = [256]uint8{
	OpSendFirst:    opValid | opFirst,
	OpSendMiddle:   opValid,
	OpSendLast:     opValid | opLast,
	OpSendLastImm:  opValid | opLast,
	OpSendLastInv:  opValid | opLast,
	OpSendOnly:     opValid | opFirst | opLast,
	OpSendOnlyImm:  opValid | opFirst | opLast,
	OpSendOnlyInv:  opValid | opFirst | opLast,
	OpWriteFirst:   opValid | opWrite | opFirst,
	OpWriteMiddle:  opValid | opWrite,
	OpWriteLast:    opValid | opWrite | opLast,
	OpWriteOnly:    opValid | opWrite | opFirst | opLast,
	OpWriteLastImm: opValid | opWrite | opLast | opReceive,
	OpWriteOnlyImm: opValid | opWrite | opFirst | opLast | opReceive,
	OpReadRequest:  opValid | opFirst | opLast | opReads,
	OpCompareSwap:  opValid | opFirst | opLast | opReads,
	OpFetchAdd:     opValid | opFirst | opLast | opReads,
}

// opFlags returns the flags of an opcode, 0 if it is no request.
func opFlags(op uint8) uint8 { return requestFlags[op] }

// asks reports whether an acknowledgement is to be sent once p is accepted,
// before being whether one was before it. A READ or atomic has a response, which
// stands for both.
func asks(p *packet.Packet, before bool) bool {
	if opFlags(p.Opcode)&opReads != 0 {
		return false
	}
	return before || p.Flags&packet.AckReq != 0
}

// take handles the packet with the expected PSN, all but its acknowledgement,
// and reports whether it was accepted; if not it has been answered.
func (q *QP) take(now units.Time, p *packet.Packet, side *packet.Side, ce bool, out *Replies) bool {
	f := opFlags(p.Opcode)
	first, last, write := f&opFirst != 0, f&opLast != 0, f&opWrite != 0
	if f == 0 || first == q.inMessage || !first && write != q.msgWrite {
		q.refuse(now, SynNAKInv, ce, out)
		return false
	}
	if f == opValid|opWrite && side == nil && q.lengthRight(p, false, false, true) {
		q.accept(p, false) // the middle of a WRITE, as most packets are
		return true
	}
	if f&opReads != 0 {
		return q.takeRead(now, p, side, ce, out)
	}
	if mutantPlaceRefused && side != nil && write {
		q.place(p, side, first, last, write)
	}
	if first {
		if syndrome := q.admit(p, write); syndrome != SynACK {
			if syndrome>>5 == SynRNR>>5 {
				q.sendRNR(now, ce, out)
			} else {
				q.refuse(now, syndrome, ce, out)
			}
			return false
		}
		q.msgWrite, q.msgFirst, q.msgBytes, q.remaining = write, p.PSN, 0, p.DMALen
	}
	if f&opReceive != 0 && !q.cold.reception.Take() {
		q.sendRNR(now, ce, out)
		return false
	}
	if !write && !q.cold.reception.Fits(q.msgBytes+p.Payload) { // responder class C (IBTA 9.9.3)
		q.received(now, Send, 0, nil, LocLen)
		q.refuse(now, SynNAKInv, ce, out)
		return false
	}
	if !q.lengthRight(p, first, last, write) {
		q.refuse(now, SynNAKInv, ce, out)
		return false
	}
	if side != nil {
		q.place(p, side, first, last, write)
	}
	q.accept(p, last)
	if last && (!write || f&opReceive != 0) {
		return q.deliver(now, p, side, ce, out)
	}
	return true
}

// admit checks the first packet of a message and returns the syndrome of the
// answer, SynACK when there is nothing against it.
func (q *QP) admit(p *packet.Packet, write bool) uint8 {
	a := &q.setup.Attrs
	if !write {
		if !q.cold.reception.Take() {
			return SynRNR
		}
		return SynACK
	}
	if a.Access&RemoteWrite == 0 {
		return SynNAKInv
	}
	if p.DMALen == 0 {
		return SynACK // R_Key and address are not checked (IBTA 9.7.4.1.5)
	}
	_, syndrome := a.Memory.Remote(a.PD, p.RKey, p.VA, uint64(p.DMALen), RemoteWrite)
	return syndrome
}

// lengthRight checks the payload: full packets before the last, something in
// the last of several, and with WRITE the announced length in all.
func (q *QP) lengthRight(p *packet.Packet, first, last, write bool) bool {
	mtu := uint32(q.cfg.MTU)
	if !last && p.Payload != mtu || p.Payload > mtu || last && !first && p.Payload == 0 {
		return false
	}
	if write {
		if p.Payload > q.remaining || last && p.Payload != q.remaining {
			return false
		}
		q.remaining -= p.Payload
	}
	return true
}

func (q *QP) accept(p *packet.Packet, last bool) {
	q.epsn = (q.epsn + 1) & psnMask
	q.rspState = rspReady
	q.inMessage = !last
	q.delivered += int64(p.Payload)
	q.msgBytes += p.Payload
	if last {
		q.msn = (q.msn + 1) & psnMask
	}
}

// deliver completes a message that took a receive work request. It reports false
// when the message was to invalidate an R_Key and could not: it is acknowledged,
// its receive fails and the queue pair is in error (responder class J).
func (q *QP) deliver(now units.Time, p *packet.Packet, side *packet.Side, ce bool, out *Replies) bool {
	verb := receivedVerb(p.Opcode)
	if a := &q.setup.Attrs; verb == SendInv && (side == nil || !a.Memory.Invalidate(a.PD, side.Imm)) {
		q.received(now, verb, q.msgBytes, side, RemInvReq)
		q.reply(now, SynACK, p.PSN, ce, out)
		q.close(now)
		return false
	}
	q.received(now, verb, q.msgBytes, side, Success)
	return true
}

// ahead handles a packet whose predecessor is missing.
func (q *QP) ahead(now units.Time, p *packet.Packet, ce bool, out *Replies) {
	switch {
	case q.cfg.NAKInterval > 0: // by time and PSN (peers.md B1 2.4)
		if now < q.nakAt && q.nakPSN == q.epsn {
			return
		}
		q.nakAt, q.nakPSN = now+q.cfg.NAKInterval, q.epsn
	case q.cfg.Recovery == GoBack0:
		// Every gap among what arrives is reported (models.md 9, case 3).
		same := q.rspState != rspReady && p.PSN == (q.lastSeen+1)&psnMask
		q.lastSeen = p.PSN
		if same || q.rspState == rspRNR {
			return
		}
		q.restartMessage()
	case q.rspState != rspReady:
		return
	}
	q.rspState = rspNAK
	q.noted().acts.SequenceGap.Add(now, 1)
	q.noted().counters.NAKsSent++
	q.noted().acts.NAKSent.Add(now, 1)
	q.reply(now, SynNAKSeq, q.epsn, ce, out)
	q.notifyLoss(now, ce, out)
}

// restartMessage forgets what arrived of the current message.
func (q *QP) restartMessage() {
	if q.inMessage {
		q.epsn = q.msgFirst
		q.delivered -= int64(q.msgBytes)
		q.inMessage = false
	}
}

// duplicate handles a packet that was accepted before: the acknowledgement may
// have been lost, so it is sent again.
func (q *QP) duplicate(now units.Time, p *packet.Packet, ce bool, out *Replies) {
	if mutantCountDuplicate {
		q.delivered += int64(p.Payload)
	}
	if opFlags(p.Opcode)&opReads != 0 {
		q.duplicateRead(p)
		return
	}
	if q.cfg.SilentDuplicates || p.Flags&packet.AckReq == 0 {
		return
	}
	q.reply(now, SynACK, (q.epsn-1)&psnMask, ce, out)
}

// sendRNR answers a SEND that finds no receive work request.
func (q *QP) sendRNR(now units.Time, ce bool, out *Replies) {
	q.rspState = rspRNR
	q.noted().acts.RNR.Add(now, 1)
	q.noted().counters.NAKsSent++
	q.noted().acts.NAKSent.Add(now, 1)
	q.reply(now, SynRNR|q.cfg.MinRNRTimer, q.epsn, ce, out)
}

// refuse answers a request that violates the protocol or the protection of
// memory: a fatal NAK, and this queue pair is in error too.
func (q *QP) refuse(now units.Time, syndrome uint8, ce bool, out *Replies) {
	q.noted().counters.NAKsSent++
	q.noted().acts.Refused.Add(now, 1)
	q.reply(now, syndrome, q.epsn, ce, out)
	q.close(now)
}

// close ends in Err, once the answer that waits behind responses is sent.
func (q *QP) close(now units.Time) {
	if q.answering {
		q.cold.answers.refused = true
		return
	}
	q.mustModify(Err, now)
}

// reply appends an acknowledgement packet to out and returns it; behind
// responses it is kept until they are sent.
func (q *QP) reply(now units.Time, syndrome uint8, psn uint32, ce bool, out *Replies) *packet.Packet {
	p := &out.P[out.N]
	out.N++
	q.fillAck(p)
	p.PSN = psn
	p.AETH = uint32(syndrome)<<24 | q.msn
	if ce && q.cfg.CNPOnAck {
		p.Flags |= packet.CNPFlag
		q.noted().acts.CEOnAck.Add(now, 1)
		q.noted().counters.CNPsSent++
	} else if q.becnDue {
		q.setBECN(now, p)
	}
	if q.answering {
		out.N--
		return q.hold(p)
	}
	return p
}
