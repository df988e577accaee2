package rdma

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// ucPlace is where a UC request packet stands in its message.
type ucPlace struct{ valid, first, last, write, imm bool }

// placeOf reads the place off the opcode. FIRST, MIDDLE, LAST, LAST with
// immediate, ONLY, ONLY with immediate follow each other in that order.
func placeOf(opcode uint8) ucPlace {
	op := wire.Opcode(opcode)
	if op < wire.UCSendFirst || op > wire.UCWriteOnlyImm {
		return ucPlace{}
	}
	write := op >= wire.UCWriteFirst
	i := op - wire.UCSendFirst
	if write {
		i = op - wire.UCWriteFirst
	}
	return ucPlace{valid: true, first: i == 0 || i >= 4, last: i >= 2, write: write, imm: i == 3 || i == 5}
}

// receiveUC handles a request packet of the unreliable connected service. What
// is wrong is dropped in silence. A packet out of sequence breaks the message
// that is under way; the next FIRST or ONLY, whatever its PSN, starts anew (IBTA
// 9.8.2; so do the Linux drivers hfi1 and rdma_rxe).
func (q *QP) receiveUC(now units.Time, p *packet.Packet, side *packet.Side) {
	at := placeOf(p.Opcode)
	if q.state < RTR || q.state == Err || !at.valid {
		q.discard()
		return
	}
	d := psnDiff(p.PSN, q.epsn)
	if d > 0 {
		q.noted().acts.SequenceGap.Add(now, 1)
	}
	if q.inMessage && (d != 0 || at.first || at.write != q.msgWrite) {
		q.inMessage = false
		q.cold.extras.dropped.Broken.Add(now, 0)
	}
	if d >= 0 || at.first {
		q.epsn = (p.PSN + 1) & psnMask
	}
	if at.first {
		q.inMessage = q.begins(now, p, at)
	}
	if !q.inMessage {
		q.discard()
		return
	}
	if !q.goesOn(now, p, at) {
		q.inMessage = false
		q.discard()
		return
	}
	if side != nil {
		q.place(p, side, at.first, at.last, at.write)
	}
	q.msgBytes += p.Payload
	if at.last {
		verb := Send
		if at.imm {
			verb = SendImm
		}
		if at.write {
			verb = WriteImm
		}
		q.finish(now, !at.write || at.imm, verb, q.msgBytes, side)
	}
}

// begins checks the first packet of a message, and that a SEND has a receive
// work request.
func (q *QP) begins(now units.Time, p *packet.Packet, at ucPlace) bool {
	q.msgWrite, q.msgBytes, q.remaining = at.write, 0, p.DMALen
	if !at.write {
		return q.receivePosted(now)
	}
	if !q.mayWrite(p) {
		q.cold.extras.dropped.Refused.Add(now, 0)
		return false
	}
	return true
}

// mayWrite checks rights, R_Key and bounds of a WRITE.
func (q *QP) mayWrite(p *packet.Packet) bool {
	a := &q.setup.Attrs
	if a.Access&RemoteWrite == 0 {
		return false
	}
	if p.DMALen == 0 {
		return true // R_Key and address are not checked (IBTA 9.7.4.1.5)
	}
	region, _ := a.Memory.Remote(a.PD, p.RKey, p.VA, uint64(p.DMALen), RemoteWrite)
	return region != nil
}

// goesOn checks a packet of the message under way. Where it does not fit the
// message is given up: the receive work request of a SEND stays posted and the
// next SEND fills it from its start; what a WRITE has placed stays in memory.
func (q *QP) goesOn(now units.Time, p *packet.Packet, at ucPlace) bool {
	switch {
	case !q.lengthRight(p, at.first, at.last, at.write):
		q.cold.extras.dropped.Refused.Add(now, 0)
		return false
	case !at.write:
		return q.fits(now, q.msgBytes+p.Payload)
	}
	return !at.last || !at.imm || q.receivePosted(now)
}

// receivePosted reports whether there is a receive work request, and counts that
// there is none.
func (q *QP) receivePosted(now units.Time) bool {
	if !q.cold.reception.Take() {
		q.cold.extras.dropped.NoReceive.Add(now, 0)
		return false
	}
	return true
}

// fits reports whether n bytes fit a receive work request, and counts that they
// do not.
func (q *QP) fits(now units.Time, n uint32) bool {
	if !q.cold.reception.Fits(n) {
		q.cold.extras.dropped.TooLong.Add(now, 0)
		return false
	}
	return true
}

// finish counts the message as delivered, and completes its receive work request
// with n bytes if it takes one.
func (q *QP) finish(now units.Time, takesReceive bool, verb Verb, n uint32, side *packet.Side) {
	q.inMessage = false
	q.msn = (q.msn + 1) & psnMask
	q.delivered += int64(q.msgBytes)
	if takesReceive {
		q.received(now, verb, n, side, Success)
	}
}
