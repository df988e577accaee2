package rdma

import "github.com/hopscope/hopscope/internal/packet"

// extra is what few work requests have beyond wqe; it stands at the same place
// of a ring of its own.
type extra struct {
	lva  uint64
	lkey uint32
}

// setExtra notes what work request r has beyond its entry i of the ring.
func (q *QP) setExtra(i uint32, r *WorkRequest) {
	if !q.hasExtra {
		q.hasExtra, q.cold.side = true, new(packet.Side)
		q.cold.extra = make([]extra, len(q.ring))
	}
	*q.extraAt(i) = extra{lva: r.LVA, lkey: r.LKey}
}

func (q *QP) extraAt(i uint32) *extra { return &q.cold.extra[i&uint32(len(q.cold.extra)-1)] }

// growExtra follows a ring that has grown from n entries.
func (q *QP) growExtra(n int) {
	old := q.cold.extra
	q.cold.extra = make([]extra, len(q.ring))
	for i := q.head; i != q.tail; i++ {
		*q.extraAt(i) = old[i&uint32(n-1)]
	}
}

// fillSide makes the side record of the packet that carries n bytes at off of
// work request i, if it needs one.
func (q *QP) fillSide(i, off, n uint32) {
	x := q.extraAt(i)
	data := q.gather(x, off, n)
	if q.hasSide = data != nil; q.hasSide {
		*q.cold.side = packet.Side{Data: data}
	}
}

// PolledSide is the side record of the latest packet polled, nil if it has none.
// It is valid until the next call of a method; its payload lies in the sender's
// memory.
func (q *QP) PolledSide() *packet.Side {
	if !q.hasSide {
		return nil
	}
	return q.cold.side
}

// gather returns n bytes at off of a work request's local buffer; nil where no
// memory stands behind it.
func (q *QP) gather(x *extra, off, n uint32) []byte {
	if x.lkey == 0 || n == 0 {
		return nil
	}
	a := &q.cold.attrs
	va := x.lva + uint64(off)
	r := a.Memory.Local(a.PD, x.lkey, va, uint64(n), 0)
	if r == nil {
		return nil
	}
	return r.Bytes(va, uint64(n))
}

// place writes the payload of a request that was accepted to the memory it is
// for.
func (q *QP) place(p *packet.Packet, side *packet.Side, first, write bool) {
	c := q.cold
	if first && write {
		c.msgVA, c.msgRKey = p.VA, p.RKey
	}
	if len(side.Data) == 0 || !write {
		return
	}
	va := c.msgVA + uint64(q.msgBytes)
	if mutantWrongOffset && q.msgBytes > 0 {
		va--
	}
	r, _ := c.attrs.Memory.Remote(c.attrs.PD, c.msgRKey, va, uint64(len(side.Data)), RemoteWrite)
	if r != nil {
		copy(r.Bytes(va, uint64(len(side.Data))), side.Data)
	}
}
