package rdma

import (
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// extra is what few work requests have beyond wqe.
type extra struct {
	lva           uint64
	lkey          uint32
	swap, compare uint64         // of atomics
	ah            *AddressHandle // of UD
	inline        bool
}

// extras is a requester's ring of them, each at the place of its wqe, and the
// side record of the latest packet polled.
type extras struct {
	ring []extra
	side packet.Side
	// UC and UD.
	qkey, qpn uint32
	dropped   UnreliableDrops
	// ib is InfiniBand's reaction point; this queue pair counts its acts if reports.
	ib      *congestion.IBCC
	reports bool
	owed    congestion.Debt // of the latest packet
	heard   int64           // of ib, when nextAvail was computed
	late    record.Act      // see cameLate
	// adaptive is the adaptive timer and the slow restart; see QP.adapts.
	adaptive adaptive
	// steer is the congestion controller of a steered queue pair; nil: it is none.
	steer *steering
}

// cameLate counts request p, which comes behind later ones, if it was not sent
// again: it was not lost but overtaken.
func (q *QP) cameLate(now units.Time, p *packet.Packet) {
	if p.Flags&packet.Retrans == 0 {
		q.rare().late.Add(now, 1)
	}
}

// Reordered counts the requests that came behind later ones.
func (q *QP) Reordered() (a record.Act) {
	if x := q.cold.extras; x != nil {
		a = x.late
	}
	return a
}

// PeakAhead is the most requests, in packets, that were held at a time until an earlier one came.
func (q *QP) PeakAhead() int64 {
	if q.cold.reorder == nil {
		return 0
	}
	return int64(q.cold.reorder.peak)
}

// rare returns the extras of the queue pair, which come to life on first use.
func (q *QP) rare() *extras {
	if q.cold.extras == nil {
		q.cold.extras = &extras{}
	}
	return q.cold.extras
}

// Inbox is memory for the SENDs that a responder accepts: they lie in it one
// behind the other, as if each receive work request had room for just the
// message that takes it; with UD each after GRHRoom. It is local memory of the responder, by its L_Key.
type Inbox struct {
	VA     uint64
	LKey   uint32
	Placed uint64 // bytes of whole messages so far
}

// setExtra notes what work request r has beyond its entry i of the ring.
func (q *QP) setExtra(i uint32, r *WorkRequest) {
	if !q.hasExtra {
		if q.cold.extras == nil {
			q.cold.extras = new(extras)
		}
		q.hasExtra, q.cold.extras.ring = true, make([]extra, len(q.ring))
	}
	*q.extraAt(i) = extra{lva: r.LVA, lkey: r.LKey, swap: r.Swap, compare: r.Compare, ah: r.AH, inline: r.Inline}
}

func (q *QP) extraAt(i uint32) *extra { return &q.cold.extras.ring[i&uint32(len(q.ring)-1)] }

// growExtra follows a ring that has grown from n entries.
func (q *QP) growExtra(n int) {
	old := q.cold.extras.ring
	q.cold.extras.ring = make([]extra, len(q.ring))
	for i := q.head; i != q.tail; i++ {
		*q.extraAt(i) = old[i&uint32(n-1)]
	}
}

// fillSide makes the side record of the packet that carries n bytes at off of
// work request i, if it needs one.
func (q *QP) fillSide(i, off, n uint32) {
	x := q.extraAt(i)
	if data := q.gather(x, off, n); data != nil {
		q.newSide().Data = data
	}
}

// newSide gives the packet being filled a side record, empty unless it has one.
func (q *QP) newSide() *packet.Side {
	if q.cold.extras == nil {
		q.cold.extras = new(extras)
	}
	s := &q.cold.extras.side
	if !q.hasSide {
		q.hasSide, *s = true, packet.Side{}
	}
	return s
}

// PolledSide is the side record of the latest packet polled, nil if it has none.
// It is valid until the next call of a method; its payload lies in the sender's
// memory.
func (q *QP) PolledSide() *packet.Side {
	if !q.hasSide {
		return nil
	}
	return &q.cold.extras.side
}

// gather returns n bytes at off of a work request's local buffer; nil where no
// memory stands behind it.
func (q *QP) gather(x *extra, off, n uint32) []byte {
	if x.lkey == 0 || n == 0 {
		return nil
	}
	a := &q.setup.Attrs
	va := x.lva + uint64(off)
	r := a.Memory.Local(a.PD, x.lkey, va, uint64(n), 0)
	if r == nil {
		return nil
	}
	return r.Bytes(va, uint64(n))
}

// place writes the payload of a request that was accepted to the memory it is
// for.
func (q *QP) place(p *packet.Packet, side *packet.Side, first, last, write bool) {
	c, a := &q.cold, &q.setup.Attrs
	n := uint64(len(side.Data))
	if first && write {
		c.msgVA, c.msgRKey = p.VA, p.RKey
	}
	at := uint64(q.msgBytes)
	if first {
		at = 0
	}
	if mutantWrongOffset && at > 0 {
		at--
	}
	switch {
	case write && n == 0: // its R_Key and address mean nothing (IBTA 9.7.4.1.5)
	case write:
		va := c.msgVA + at
		if r, _ := a.Memory.Remote(a.PD, c.msgRKey, va, n, RemoteWrite); r != nil {
			copy(r.Bytes(va, n), side.Data)
		}
	case a.Inbox != nil:
		va := a.Inbox.VA + a.Inbox.Placed + at
		if r := a.Memory.Local(a.PD, a.Inbox.LKey, va, n, LocalWrite); r != nil {
			copy(r.Bytes(va, n), side.Data)
		}
		if last {
			a.Inbox.Placed += at + n
		}
	}
}
