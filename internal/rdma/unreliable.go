package rdma

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// The requester of the unreliable services, UC and UD. Nothing is acknowledged
// and nothing sent again: a work request completes when its last packet has
// left the port, whether that arrives or not. Windows and DCQCN are for RC
// alone (docs/models/uc.md); InfiniBand's congestion control paces them as well.
//
// Of the requester's fields: una follows nxt and high, rtoAt is when the oldest
// message that is through leaves, and wqe.base is when a message leaves.

// AddressHandle is where a UD message goes.
type AddressHandle struct {
	// Data is a template like Setup.Data, DestQP included.
	Data packet.Packet
	// QKey must be that of the receiving queue pair. With its top bit set the
	// sender's own Setup.QKey goes in its place (IBTA 10.2.5).
	QKey uint32
}

// checkUnreliable refuses what the service has no opcode for (IBTA 9.2.1), and a UD
// message of more than one packet.
func (q *QP) checkUnreliable(r *WorkRequest) error {
	switch r.Verb {
	case Send, SendImm:
	case Write, WriteImm:
		if q.service == UD {
			return fmt.Errorf("qp: UD has no %s, want SEND or SEND with immediate", r.Verb)
		}
	default:
		return fmt.Errorf("qp: %s has no %s, want SEND%s", q.service, r.Verb, map[Service]string{
			UC: " or WRITE, with or without immediate", UD: " or SEND with immediate"}[q.service])
	}
	if q.service == UC {
		return nil
	}
	if r.AH == nil {
		return fmt.Errorf("qp: UD message without address handle")
	}
	if r.Bytes > q.cfg.MTU {
		return fmt.Errorf("qp: UD message of %d bytes, want at most the MTU of %d", r.Bytes, int64(q.cfg.MTU))
	}
	return nil
}

// pollUnreliable is Poll for UC and UD.
func (q *QP) pollUnreliable(now units.Time, p *packet.Packet) (Reason, units.Time) {
	switch {
	case q.state == Err:
		return InError, units.Never
	case q.state != RTS && q.state != SQD:
		return NotReady, units.Never
	case q.nxt >= q.end:
		return Idle, units.Never
	case q.inGap(now):
		return RateLimit, q.nextAvail
	}
	w, x := q.at(q.cur), q.extraAt(q.cur)
	i := uint32(q.nxt - w.first)
	if i == 0 && !q.localRight(w, x) {
		return q.sendQueueError(now, LocProt)
	}
	mtu := uint32(q.cfg.MTU)
	last := i == w.packets-1
	q.polledLast, q.hasSide = last, false
	q.fillData(p)
	if q.service == UD {
		*p = x.ah.Data
		p.Kind, p.ECN = packet.Data, q.ecn()
	}
	p.Payload = mtu
	if last {
		p.Payload = w.bytes - i*mtu
	}
	p.PSN = uint32(q.nxt) & psnMask
	op := unreliableOpcode(q.service, w.verb, i == 0, last)
	p.Opcode = uint8(op)
	if op.Ext()&wire.ExtRETH != 0 {
		p.VA, p.RKey, p.DMALen = w.va, w.rkey, w.bytes
	}
	q.fillUnreliableSide(op, q.cur, i*mtu, p.Payload)
	p.Frame = q.frameBytes(p.Payload, op)
	q.polled = w.id
	q.pace(now, p.Frame+uint32(q.cfg.Wire.Overhead))
	q.through(now, p, last)
	return Sent, q.nextAvail
}

// unreliableOpcode is RC's opcode with the service in the upper three bits (IBTA
// 9.2.1).
func unreliableOpcode(s Service, v Verb, first, last bool) wire.Opcode {
	bits := wire.UCSendFirst
	if s == UD {
		bits = wire.UDSendOnly &^ wire.RCSendOnly
	}
	return bits | wire.Opcode(opcode(v, first, last))
}

// fillUnreliableSide makes the side record of the packet that carries n bytes at
// off of work request i, if it needs one.
func (q *QP) fillUnreliableSide(op wire.Opcode, i, off, n uint32) {
	q.fillSide(i, off, n)
	if op.Ext()&wire.ExtImmDt != 0 {
		q.newSide().Imm = q.at(i).imm
	}
	if op.Ext()&wire.ExtDETH != 0 {
		side, own := q.newSide(), q.cold.extras
		side.QKey, side.SrcQP = q.extraAt(i).ah.QKey, own.qpn
		if side.QKey>>31 != 0 {
			side.QKey = own.qkey
		}
	}
}

// frameBytes is the length of a request frame of an unreliable service.
func (q *QP) frameBytes(payload uint32, op wire.Opcode) uint32 {
	w, ext := &q.cfg.Wire, op.Ext()
	n := uint32(w.Data) + payload
	if w.Pad > 0 { // packets before the last have the MTU, a multiple
		n += -payload & uint32(w.Pad-1)
	}
	if ext&wire.ExtRETH != 0 {
		n += uint32(w.RETH)
	}
	if ext&wire.ExtImmDt != 0 {
		n += wire.ImmDtLen
	}
	if ext&wire.ExtDETH != 0 {
		n += wire.DETHLen
	}
	return max(n, uint32(w.MinFrame))
}

// through moves past the packet just built. After the last of a message a timer
// waits for its last bit to leave.
func (q *QP) through(now units.Time, p *packet.Packet, last bool) {
	q.nxt++
	q.una, q.high = q.nxt, q.nxt
	q.sentPackets++
	q.sentBytes += int64(p.Payload)
	if !last {
		return
	}
	w := q.at(q.cur)
	q.cur++
	left := now + q.line.TxTime(units.Bytes(int(p.Frame)+q.cfg.Wire.Preamble))
	w.base = uint64(left)
	if q.rtoAt == units.Never {
		q.rtoAt, q.rto = left, left-now
	}
}

// departed completes the messages whose last packet has left the port.
func (q *QP) departed(now units.Time) {
	q.rtoAt = units.Never
	for q.head != q.cur {
		w := q.at(q.head)
		if left := units.Time(w.base); left > now {
			q.rtoAt, q.rto = left, left-now
			return
		}
		q.complete(w.id, Success, now)
		q.head++
	}
}

// localRight checks the local buffer of a message where one is named.
func (q *QP) localRight(w *wqe, x *extra) bool {
	a := &q.setup.Attrs
	return x.lkey == 0 || x.inline || w.bytes == 0 || a.Memory.Local(a.PD, x.lkey, x.lva, uint64(w.bytes), 0) != nil
}

// sendQueueError ends the current work request with status, flushes the rest and
// takes the queue pair to SQE: its responder goes on, and Modify to RTS lets it
// send again (IBTA 10.3.1). Messages before it complete first.
func (q *QP) sendQueueError(now units.Time, status Status) (Reason, units.Time) {
	q.departed(now)
	if q.head != q.cur {
		return RateLimit, q.rtoAt
	}
	q.complete(q.at(q.head).id, status, now)
	q.head++
	q.flush(now)
	q.cold.posted, q.end = q.nxt, q.nxt // PSNs go on where they were
	q.state = SQE
	return NotReady, units.Never
}

// receiveUnreliable is ReceiveWith for UC and UD. An acknowledgement is none of
// theirs; a CNP is with InfiniBand's congestion control only.
func (q *QP) receiveUnreliable(now units.Time, p *packet.Packet, side *packet.Side, out *Replies) {
	if p.ECN == packet.CE && p.Kind == packet.Data && q.hasIB && q.state >= RTR && q.state != Err {
		q.sendCNP(now, out)
	}
	switch {
	case p.Kind == packet.CNP && q.hasIB:
		q.receiveCNP(now)
	case p.Kind != packet.Data:
		q.discard()
	case q.service == UC:
		q.receiveUC(now, p, side)
	default:
		q.receiveUD(now, p, side)
	}
}

// Dropped is what a UC or UD queue pair dropped so far.
func (q *QP) Dropped() (d UnreliableDrops) {
	if q.service != RC {
		d = q.cold.extras.dropped
	}
	return d
}
