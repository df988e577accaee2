package iwarp

import (
	"errors"
	"slices"
	"sort"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// receiver is the receiving half of a queue pair.
type receiver struct {
	reception *rdma.Reception
	buf       []byte  // of a frame or FPDU that has begun and is not whole
	part      partial // likewise, where there are no bytes
	ahead     []kept  // what came ahead of a missing segment, in order
	room      []byte  // for FPDUs without their markers

	msn      [2]uint32 // next message of the untagged queues for SENDs and READ requests
	mo       uint32    // of the SEND that has begun
	serial   uint32    // of the latest READ taken up
	accepted uint32    // messages of the peer's send queue taken whole and in order
	took     int64     // payload of SENDs and WRITEs, in order
	read     int64     // and of READ responses
	answered uint32    // READs of this side's that were answered whole
	moved    uint32    // payload that the latest segment brought to memory
	whole    bool      // some message is whole with it
}

func (r *receiver) init(reception *rdma.Reception) {
	*r = receiver{reception: reception, buf: r.buf[:0], ahead: r.ahead[:0], room: r.room[:0], msn: [2]uint32{1, 1}}
}

// partial is an FPDU of which so many bytes are still to come.
type partial struct {
	ddp    wire.DDP
	length uint16 // of its ULPDU
	left   int64  // 0: none has begun
}

// kept is a segment that came ahead.
type kept struct {
	at     int64
	n      int64
	ddp    wire.DDP
	length uint16 // of its ULPDU, where it is the header alone that came
	data   []byte
	placed bool
}

// Receive handles a segment of this stream; side is its side record, nil without one, and is read during the call
// only.
func (q *QP) Receive(now units.Time, p *packet.Packet, side *packet.Side) {
	at, before, ahead := q.conn.ReceivedAt(p), q.conn.InOrder(), q.conn.CameAhead()
	q.moved, q.whole = 0, false
	q.conn.Receive(now, p, side, q.iss)
	q.conn.Read(now, q.conn.Readable())
	e := q.conn.TakeEvents()
	if e&tcp.Connected != 0 && q.state == Connecting {
		q.begin(now)
	}
	if p.Payload > 0 {
		switch in := q.conn.InOrder(); {
		case in > before:
			q.inOrder(now, at, before, in, p, side)
		case q.conn.CameAhead() > ahead:
			q.cameAhead(at, p, side)
		}
	}
	q.heed(now, e)
	q.acknowledged(now)
}

// inOrder takes the segment that came, from byte before of the stream on, and those behind it that waited for it, up
// to byte in.
func (q *QP) inOrder(now units.Time, at, before, in int64, p *packet.Packet, side *packet.Side) {
	x := kept{at: at, n: int64(p.Payload)}
	if side != nil {
		x.ddp, x.length, x.data = side.DDP, side.ULPDU, side.Data
	}
	q.take(now, &x, before)
	n := 0
	for ; n < len(q.ahead) && q.ahead[n].at < in; n++ {
		k := &q.ahead[n]
		q.take(now, k, k.at)
	}
	if n = min(n, len(q.ahead)); n > 0 { // none are left if the stream ended meanwhile
		q.ahead = slices.Delete(q.ahead, 0, n)
	}
}

// cameAhead keeps a segment that came ahead of a missing one, and places what it brings if that has a place already:
// of a tagged buffer it says itself which (RFC 5041 5.2). What is wrong with it is found when its turn comes.
func (q *QP) cameAhead(at int64, p *packet.Packet, side *packet.Side) {
	if q.state != Operating && q.state != AwaitFirst {
		return
	}
	i := sort.Search(len(q.ahead), func(i int) bool { return q.ahead[i].at >= at })
	if i < len(q.ahead) && q.ahead[i].at == at {
		return // it was sent twice
	}
	x := kept{at: at, n: int64(p.Payload)}
	if side != nil {
		x.ddp, x.length = side.DDP, side.ULPDU
		if side.Data != nil {
			x.data = slices.Clone(side.Data)
		}
	}
	if x.placed = q.placeAhead(&x); x.placed {
		q.counters.PlacedAhead++
	} else {
		q.counters.KeptAhead++
	}
	q.ahead = slices.Insert(q.ahead, i, x)
}

// placeAhead places the FPDU that a segment is, and reports whether it did.
func (q *QP) placeAhead(x *kept) bool {
	ddp, payload, n := x.ddp, []byte(nil), uint32(0)
	if x.data != nil {
		ulpdu, rest, err := q.rx.Parse(x.data, q.room[:0], x.at-q.rx.base)
		if err != nil || len(rest) > 0 {
			return false // not aligned, or damaged
		}
		if ddp, payload, err = wire.ParseDDP(ulpdu); err != nil {
			return false
		}
		n = uint32(len(payload))
	} else if x.length == 0 {
		return false
	} else {
		n = uint32(int(x.length) - ddp.Len())
	}
	if !ddp.Tagged || n == 0 {
		return false
	}
	switch ddp.Opcode {
	case wire.RDMAPWrite:
		r, code := q.writable(&ddp, n)
		if code != 0 {
			return false
		}
		place(r, ddp.TO, payload)
	case wire.RDMAPReadResponse:
		if q.reads == 0 || !q.sink(&ddp, payload) {
			return false
		}
	default:
		return false
	}
	q.moved += n
	return true
}

// take takes the part of a segment from byte from of the stream on: frames of the start-up, FPDUs and parts of them.
func (q *QP) take(now units.Time, x *kept, from int64) {
	skip := from - x.at
	switch {
	case q.state >= Terminating || q.state == Connecting:
		q.counters.Discarded += x.n - skip
	case x.data != nil:
		q.takeBytes(now, x, from)
	case q.part.left > 0:
		if q.part.left -= x.n - skip; q.part.left <= 0 {
			ddp, length := q.part.ddp, q.part.length
			q.part = partial{}
			q.deliver(now, &ddp, nil, uint32(int(length)-ddp.Len()), false)
		}
	case x.length > 0:
		whole := int64(q.rx.Len(int(x.length), x.at-q.rx.base))
		if left := whole - x.n; left > 0 {
			q.part = partial{x.ddp, x.length, left}
			return
		}
		q.deliver(now, &x.ddp, nil, uint32(int(x.length)-x.ddp.Len()), x.placed)
	default:
		q.counters.Discarded += x.n - skip
	}
}

// takeBytes is take where the segment has its bytes.
func (q *QP) takeBytes(now units.Time, x *kept, from int64) {
	b := x.data[from-x.at:]
	at := from - int64(len(q.buf)) // where what is looked at begins
	if len(q.buf) > 0 {
		q.buf = append(q.buf, b...)
		b = q.buf
	}
	for len(b) > 0 && q.state < Terminating {
		rest, ok := q.takeOne(now, b, at, x.placed)
		if !ok {
			break
		}
		at += int64(len(b) - len(rest))
		b = rest
	}
	if q.state >= Terminating {
		b = nil
	}
	q.buf = append(q.buf[:0], b...)
}

// takeOne takes the frame or FPDU that b begins with, at byte at of the stream, and returns what follows; ok is false
// until all of it is there.
func (q *QP) takeOne(now units.Time, b []byte, at int64, placed bool) (rest []byte, ok bool) {
	if q.state < AwaitFirst {
		return q.takeFrame(now, b, at)
	}
	ulpdu, rest, err := q.rx.Parse(b, q.room[:0], at-q.rx.base)
	if err != nil {
		return b, q.broken(now, err)
	}
	if q.rx.Markers {
		q.room = ulpdu[:0]
	}
	ddp, payload, err := wire.ParseDDP(ulpdu)
	if err != nil {
		return b, q.broken(now, err)
	}
	q.deliver(now, &ddp, payload, uint32(len(payload)), placed)
	return rest, true
}

// broken ends the stream because of an error in its framing, and reports whether it did: of an FPDU that is not whole
// more is to come.
func (q *QP) broken(now units.Time, err error) bool {
	var short *wire.TruncatedError
	var marker *wire.MarkerError
	var value *wire.ValueError
	switch {
	case errors.As(err, &short) && short.Header == "FPDU":
		return false
	case errors.As(err, &marker):
		q.refuse(now, wire.TermMarker)
	case errors.As(err, &value) && value.Header == "RDMAP":
		q.refuse(now, wire.TermRDMAPVersion)
	case errors.As(err, &value), short != nil:
		q.refuse(now, wire.TermDDPVersion)
	default:
		q.refuse(now, wire.TermCRC)
	}
	return true
}

// refuse ends the stream because of what it brought, where that cannot be told apart as a DDP segment.
func (q *QP) refuse(now units.Time, code wire.TermCode) { q.terminate(now, wire.Terminate{Code: code}) }

// Moved is the payload that the latest segment brought to memory, in bytes, and whether it ended a message.
func (q *QP) Moved() (payload uint32, whole bool) { return q.moved, q.whole }

// Accepted is the number of the peer's messages that were taken whole and in order, modulo 2^32: SENDs, WRITEs and
// READ requests.
func (q *QP) Accepted() uint32 { return q.accepted }

// Taken is the payload of SENDs and WRITEs that was taken in order, in bytes.
func (q *QP) Taken() int64 { return q.took }

// ReadBytes is that of READ responses.
func (q *QP) ReadBytes() int64 { return q.read }

// Asked counts the READs that the peer asked for, and Answered those of this side's that were answered whole.
func (q *QP) Asked() uint32 { return q.serial }

// Answered: see Asked.
func (q *QP) Answered() uint32 { return q.answered }
