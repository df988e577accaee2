package rdma

import "github.com/hopscope/hopscope/wire"

// NextFrame bounds the frame bytes of the packet that Poll would make next, so
// that a link with credits can tell whether it may start. It is exact for the
// packets of WRITEs and SENDs of RC sent for the first time or from a rewind on,
// and else that of the largest packet.
func (q *QP) NextFrame() uint32 {
	w := &q.cfg.Wire
	largest := uint32(w.Data + w.RETH + wire.ImmDtLen + int(q.cfg.MTU))
	if q.service != RC || q.answering || q.need > 0 || q.nxt >= q.end {
		return max(largest, uint32(w.MinFrame))
	}
	m := q.at(q.cur)
	i := uint32(q.nxt - m.first)
	if m.verb > Send || i >= m.packets {
		return max(largest, uint32(w.MinFrame))
	}
	frame := uint32(w.Data) + uint32(q.cfg.MTU)
	if i == m.packets-1 {
		payload := m.bytes - i*uint32(q.cfg.MTU)
		frame = uint32(w.Data) + payload
		if w.Pad > 0 {
			frame += -payload & uint32(w.Pad-1)
		}
	}
	if i == 0 && m.verb == Write {
		frame += uint32(w.RETH)
	}
	return max(frame, uint32(w.MinFrame))
}
