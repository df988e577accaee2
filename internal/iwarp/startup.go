package iwarp

import (
	"errors"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// begin starts MPA on a connection that is established: the end that opened it sends the request.
func (q *QP) begin(now units.Time) {
	q.startAt = units.Never
	if q.cfg.Timeout > 0 {
		q.startAt = now + q.cfg.Timeout
	}
	if !q.active {
		q.to(AwaitRequest)
		return
	}
	q.to(AwaitReply)
	f := q.frame(false)
	q.sendFrame(&f)
}

// frame is this side's frame of the start-up.
func (q *QP) frame(reply bool) wire.MPAFrame {
	f := wire.MPAFrame{Reply: reply, Markers: q.cfg.Markers, CRC: q.cfg.CRC, Revision: q.cfg.Revision}
	if q.cfg.Revision > 1 {
		f.Enhanced = true
		f.IRD, f.ORD = uint16(q.answers.most), uint16(q.ord)
		f.PeerToPeer, f.RTRRead = q.cfg.PeerToPeer, q.cfg.PeerToPeer
	}
	return f
}

// sendFrame gives TCP a frame of the start-up.
func (q *QP) sendFrame(f *wire.MPAFrame) {
	q.start = f.Append(q.start[:0])
	q.units.plan(unit{kind: unitStart})
}

// takeFrame takes the peer's frame of the start-up, with which b begins at byte at of the stream.
func (q *QP) takeFrame(now units.Time, b []byte, at int64) (rest []byte, ok bool) {
	f, rest, err := wire.ParseMPA(b)
	var short *wire.TruncatedError
	switch {
	case errors.As(err, &short):
		return b, false
	case err != nil, f.Reply != q.active, f.Revision == 0, f.Revision > q.cfg.Revision,
		f.Reply && f.Revision != q.cfg.Revision:
		q.conn.Abort()
		q.end(now, NoMPA)
		return nil, true
	}
	q.startAt = units.Never
	q.tx.Framing = wire.Framing{Markers: f.Markers, CRC: f.CRC || q.cfg.CRC}
	q.rx.Framing = wire.Framing{Markers: q.cfg.Markers, CRC: f.CRC || q.cfg.CRC}
	q.rx.base = at + int64(f.Len())
	if f.Enhanced { // RFC 6581 9.1: as many READs as the peer has room for
		q.ord = min(q.ord, int(f.IRD))
		q.p2p = q.cfg.PeerToPeer && f.PeerToPeer && f.RTRRead
	}
	if !q.active {
		q.reply(now, &f)
		return rest, true
	}
	if f.Reject {
		q.conn.Close()
		q.end(now, Rejected)
		return nil, true
	}
	q.operate(now)
	return rest, true
}

// reply answers the request for a stream: yes, or no to one whose markers this side cannot make.
func (q *QP) reply(now units.Time, f *wire.MPAFrame) {
	r := q.frame(true)
	r.Revision = f.Revision
	r.Enhanced = f.Enhanced
	if !f.Enhanced {
		r.IRD, r.ORD, r.PeerToPeer, r.RTRRead = 0, 0, false, false
	}
	r.Reject = f.Markers && q.cfg.RefuseMarkers
	q.refused = r.Reject
	q.sendFrame(&r)
	q.to(AwaitFirst)
}
