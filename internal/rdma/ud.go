package rdma

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// GRHRoom is how many bytes of a receive buffer come before the payload of a UD
// message: room for a GRH, used or not (IBTA 11.4.1.2).
const GRHRoom = wire.GRHLen

// receiveUD handles a datagram. What is wrong is dropped in silence: another
// service's opcode, more than the MTU, another Q_Key (IBTA 9.6.1.4.1), no receive
// work request or one that is too small. PSNs are not looked at (IBTA 9.8.3).
func (q *QP) receiveUD(now units.Time, p *packet.Packet, side *packet.Side) {
	op := wire.Opcode(p.Opcode)
	switch {
	case q.state < RTR || q.state == Err,
		op != wire.UDSendOnly && op != wire.UDSendOnlyImm,
		p.Payload > uint32(q.cfg.MTU):
		q.discard()
	case side == nil || side.QKey != q.cold.extras.qkey:
		q.cold.extras.dropped.BadQKey.Add(now, 0)
		q.discard()
	case !q.receivePosted(now) || !q.fits(now, GRHRoom+p.Payload):
		q.discard()
	default:
		if in := q.setup.Attrs.Inbox; in != nil {
			in.Placed += GRHRoom
			q.place(p, side, true, true, false)
		}
		q.msgBytes = p.Payload
		verb := Send
		if op == wire.UDSendOnlyImm {
			verb = SendImm
		}
		q.finish(now, true, verb, GRHRoom+p.Payload, side)
	}
}
