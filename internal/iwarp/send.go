package iwarp

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// Polled is what the latest segment polled is part of.
type Polled struct {
	Kind Part
	// ID is the work request of Request, Serial the number of the READ of Response (see Answering).
	ID, Serial uint32
	Payload    uint32 // of RDMAP
	Fresh      bool   // an FPDU begins here that Plan made and that is sent a first time
	Last       bool   // it ends the message
}

// Part is what an FPDU is part of.
type Part uint8

// Parts.
const (
	NoPart   Part = iota // no FPDU, or none of a message
	Request              // a message of the send queue
	Response             // the answer to a READ
)

// Poll fills p with the next segment to send and returns Sent, or says why there is none; the time is when to ask
// again, for Pacing only, else Never.
func (q *QP) Poll(now units.Time, p *packet.Packet) (Reason, units.Time) {
	q.polled, q.hasSide = Polled{}, false
	held := q.feed(now)
	why, until := q.conn.Poll(now, p)
	if why == tcp.Sent {
		p.Kind = packet.Framed
		if p.Payload > 0 {
			q.attach(p)
		}
		return Sent, until
	}
	switch why {
	case tcp.Connecting:
		return Starting, units.Never
	case tcp.Cwnd, tcp.TSODefer:
		return Cwnd, units.Never
	case tcp.ReceiveWindow:
		return ReceiveWindow, units.Never
	case tcp.Pacing:
		return Pacing, until
	case tcp.NotOpen:
		if q.state >= Terminating {
			return InError, units.Never
		}
		return Starting, units.Never
	}
	return held, units.Never
}

// PolledSide is the side record of the latest segment, nil if it has none.
func (q *QP) PolledSide() *packet.Side {
	if q.hasSide {
		return &q.side
	}
	return q.conn.PolledSide()
}

// PolledPart is what the latest segment is part of.
func (q *QP) PolledPart() *Polled { return &q.polled }

// feed gives TCP the next FPDU if it has sent all before it, and says what holds the next one back.
func (q *QP) feed(now units.Time) Reason {
	if q.conn.Unsent() > 0 {
		return Nothing
	}
	if q.units.planned() == 0 {
		if q.bounded && q.state == Operating { // the card plans
			if why := q.next(); why != Sent && q.answers.empty() {
				return why
			}
			return Ahead
		}
		if _, why := q.Plan(); why != Sent {
			return why
		}
	}
	u := q.units.at(q.units.written)
	if q.built >= q.allow && u.kind.counts() {
		return Ahead
	}
	n := int64(len(q.start))
	if u.kind != unitStart {
		n = int64(q.tx.Len(u.ddp.Len()+int(u.payload), q.wrote-q.tx.base))
	}
	if q.conn.Offer(n) < n {
		return SendBuffer
	}
	u.at, u.length = q.wrote, uint32(n)
	q.conn.Write(now, n)
	q.wrote += n
	q.units.written++
	if u.kind.counts() {
		q.built++
	}
	switch u.kind {
	case unitStart:
		q.tx.base = q.wrote
		if q.refused {
			q.conn.Close()
			q.end(now, Refused)
		}
		return Nothing
	case unitTerm:
		q.conn.Close()
	case unitAnswer:
		if u.last {
			q.answers.waiting--
		}
	}
	q.counters.FPDUs++
	return Nothing
}

// counts reports whether units of a kind need leave (see Allow): those that Plan makes.
func (k unitKind) counts() bool { return k != unitStart && k != unitTerm }

// Plan decides which FPDU comes next after those planned, and returns the payload that it takes from memory, or says
// why there is none: Nothing, Starting, Fence, ReadLimit, Ahead or InError. READ responses and the send queue take
// turns, a message each (RFC 5041 5.3: those of a stream do not mix).
func (q *QP) Plan() (payload uint32, why Reason) {
	if q.state != Operating {
		if q.state >= Terminating {
			return 0, InError
		}
		return 0, Starting
	}
	if q.rtrDue() {
		q.rtr = true
		q.units.plan(unit{kind: unitRTR, last: true, payload: wire.ReadRequestLen,
			ddp: wire.DDP{Last: true, Opcode: wire.RDMAPReadRequest, QN: wire.QNReadRequest, MSN: q.readMSN}})
		q.readMSN++
		return 0, Sent
	}
	why = q.next()
	switch {
	case q.begun && q.own, !q.begun && why == Sent && (q.answers.empty() || !q.own):
		return q.planWork(), Sent
	case !q.answers.empty():
		return q.planAnswer(), Sent
	}
	return 0, why
}

// rtrDue reports whether the empty READ comes next, with which the end that opened the connection lets the other
// send. It is the first FPDU of all.
func (q *QP) rtrDue() bool {
	return q.active && q.p2p && q.wrote == q.tx.base && q.units.planned() == 0
}

// next says whether the next message of the send queue may go.
func (q *QP) next() Reason {
	if q.cur == q.tail {
		return Nothing
	}
	w := q.at(q.cur)
	switch {
	case q.bounded && q.cur == q.known:
		return Ahead
	case w.fault:
		return Nothing
	case w.fence && q.reads > 0:
		return Fence
	case w.verb == rdma.Read && q.reads >= q.ord:
		return ReadLimit
	}
	return Sent
}

// planWork plans the next FPDU of the send queue.
func (q *QP) planWork() uint32 {
	w := q.at(q.cur)
	q.own = true
	if w.verb == rdma.Read {
		if q.reads == 0 {
			q.oldest, q.got = q.cur, 0
		}
		q.reads++
		q.peakReads = max(q.peakReads, q.reads)
		w.msn = q.readMSN
		q.readMSN++
		q.units.plan(unit{kind: unitRead, msg: q.cur, last: true, payload: wire.ReadRequestLen,
			ddp: wire.DDP{Last: true, Opcode: wire.RDMAPReadRequest, QN: wire.QNReadRequest, MSN: w.msn}})
		q.cur++
		return 0
	}
	u := q.units.plan(unit{kind: unitWork, msg: q.cur, va: w.lva + uint64(q.off), key: w.lkey})
	switch {
	case w.verb == rdma.Write:
		u.ddp = wire.DDP{Tagged: true, Opcode: wire.RDMAPWrite, STag: w.rkey, TO: w.at(q.off)}
	default:
		if q.off == 0 {
			w.msn = q.sendMSN
			q.sendMSN++
		}
		u.ddp = wire.DDP{Opcode: wire.RDMAPSend, MSN: w.msn, MO: q.off}
		if w.verb == rdma.SendInv {
			u.ddp.Opcode, u.ddp.STag = wire.RDMAPSendInv, w.rkey
		}
	}
	q.size(u, w.bytes-q.off)
	q.off += u.payload
	q.planned += int64(u.payload)
	if q.begun = !u.last; u.last {
		q.cur, q.off = q.cur+1, 0
	}
	return u.payload
}

// size gives an FPDU as much of what is left of its message as it may have.
func (q *QP) size(u *unit, left uint32) {
	u.payload = min(left, q.mulpdu-uint32(u.ddp.Len()))
	u.last = u.payload == left
	u.ddp.Last = u.last
}

// planAnswer plans the next FPDU of the READ response whose turn it is.
func (q *QP) planAnswer() uint32 {
	a := q.answers.at(q.answers.head)
	q.own = false
	r := &a.request
	u := q.units.plan(unit{kind: unitAnswer, msg: a.serial, va: r.SourceTO + uint64(a.off), key: r.SourceSTag,
		ddp: wire.DDP{Tagged: true, Opcode: wire.RDMAPReadResponse, STag: r.SinkSTag, TO: r.SinkTO + uint64(a.off)}})
	q.size(u, r.Size-a.off)
	a.off += u.payload
	if q.begun = !u.last; u.last {
		q.answers.head++
	}
	return u.payload
}

// attach gives the segment p the side record that says what its part of the stream is: bytes, where the run carries
// them or they are few, or the header of the FPDU that begins with it.
func (q *QP) attach(p *packet.Packet) {
	at := q.conn.SentAt(p)
	u := q.units.find(at)
	if u == nil {
		panic("iwarp: BUG: a segment of what was never given to TCP")
	}
	if s := q.conn.PolledSide(); s != nil {
		q.side = *s
	} else {
		q.side = packet.Side{}
	}
	q.hasSide = true
	q.note(p, u, at)
	if bytes := q.bytes(u); bytes != nil {
		from := at - u.at
		q.side.Data = bytes[from : from+int64(p.Payload)]
		return
	}
	if at == u.at {
		q.side.DDP, q.side.ULPDU, q.side.Unchecked = u.ddp, uint16(u.ddp.Len())+uint16(u.payload), !q.tx.CRC
		if q.tx.Markers {
			q.side.Marker = uint16(wire.MPAMarkerGap - (u.at-q.tx.base)&(wire.MPAMarkerGap-1))
		}
	}
}

// note says what a segment is part of.
func (q *QP) note(p *packet.Packet, u *unit, at int64) {
	x := &q.polled
	x.Fresh = at == u.at && p.Flags&packet.Retrans == 0 && u.kind.counts()
	x.Last = u.last && at+int64(p.Payload) == u.at+int64(u.length)
	x.Payload = u.payload
	switch u.kind {
	case unitWork, unitRead:
		x.Kind, x.ID = Request, q.at(u.msg).id
	case unitAnswer:
		x.Kind, x.Serial = Response, u.msg
	}
}

// bytes is the whole of a unit as it stands in the stream; nil where no memory stands behind it.
func (q *QP) bytes(u *unit) []byte {
	var payload []byte
	switch u.kind {
	case unitStart:
		return q.start
	case unitTerm:
		payload = q.term
	case unitRTR:
		payload = wire.ReadRequest{}.Append(q.ask[:0])
	case unitRead:
		w := q.at(u.msg)
		ask := wire.ReadRequest{SinkSTag: w.lkey, SinkTO: w.lva, Size: w.bytes, SourceSTag: w.rkey, SourceTO: w.va}
		payload = ask.Append(q.ask[:0])
	default:
		if u.key == 0 || u.payload == 0 {
			return nil
		}
		r := q.region(u)
		if r == nil {
			return nil
		}
		if payload = r.Bytes(u.va, uint64(u.payload)); payload == nil {
			return nil
		}
	}
	header := u.ddp.Append(q.header[:0])
	q.out = q.tx.Append(q.out[:0], u.at-q.tx.base, header, payload)
	if mutantDamage && u.kind == unitWork && u.at > q.tx.base {
		q.out[wire.MPALengthLen+len(header)] ^= 1
	}
	return q.out
}

// region is the memory of which a unit's payload is part.
func (q *QP) region(u *unit) *rdma.Region {
	a := &q.setup.Attrs
	if u.kind == unitAnswer {
		r, _ := a.Memory.Remote(a.PD, u.key, u.va, uint64(u.payload), rdma.RemoteRead)
		return r
	}
	return a.Memory.Local(a.PD, u.key, u.va, uint64(u.payload), 0)
}

// acknowledged takes what the peer has acknowledged off what may be sent again, and completes what it ends.
func (q *QP) acknowledged(now units.Time) {
	if q.state == Ended || q.state == Idle {
		return
	}
	acked := q.wrote - q.conn.Unacked()
	for r := &q.units; r.head != r.written; r.head++ {
		u := r.at(r.head)
		if u.at+int64(u.length) > acked {
			break
		}
		if u.kind != unitWork {
			continue
		}
		q.released += int64(u.payload)
		if u.last && q.state == Operating {
			q.at(u.msg).finish(now)
		}
	}
	q.completeDone(now)
}

// Reach bounds what Plan looks at to the first n work requests ever posted: the card has no others yet. From the first
// call on FPDUs are planned by Plan alone.
func (q *QP) Reach(n uint32) { q.bounded, q.known = true, n }

// Planned is the payload of SENDs and WRITEs that Plan has planned so far, and Released that of those that will not be
// sent again, in bytes.
func (q *QP) Planned() int64 { return q.planned }

// Released: see Planned.
func (q *QP) Released() int64 { return q.released }

// Allow lets n more FPDUs be given to TCP, of those planned: the card has their payload. Before the first call there
// is no bound. Terminate messages and frames of the start-up need no leave.
func (q *QP) Allow(n int64) {
	if q.allow == 1<<63-1 {
		q.allow = 0
	}
	q.allow += n
}
