package iwarp

import (
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// deliver takes a DDP segment whose turn it is, with n bytes of payload, which are placed already if placed says so;
// payload is nil where there are no bytes.
func (q *QP) deliver(now units.Time, d *wire.DDP, payload []byte, n uint32, placed bool) {
	if q.state == AwaitFirst {
		q.operate(now)
		if q.state >= Terminating {
			return
		}
	}
	t := wire.Terminate{HasSegment: true, Length: uint16(d.Len() + int(n)), Segment: *d}
	code := wire.TermCode(0)
	switch {
	case d.Tagged && d.Opcode == wire.RDMAPWrite:
		code = q.write(d, payload, n, placed)
	case d.Tagged && d.Opcode == wire.RDMAPReadResponse:
		code = q.response(now, d, payload, n, placed)
	case d.Tagged:
		code = wire.TermOpcode
	case d.QN == wire.QNSend:
		code = q.send(now, d, payload, n)
	case d.QN == wire.QNReadRequest:
		code = q.request(d, payload, &t)
	case d.QN == wire.QNTerminate && d.Opcode == wire.RDMAPTerminate:
		q.terminated(now, payload)
	case d.QN == wire.QNTerminate:
		code = wire.TermOpcode
	default:
		code = wire.TermQN
	}
	if code == 0 {
		return
	}
	t.Code = code
	q.terminate(now, t)
}

// place writes payload to memory, where there are bytes of both.
func place(r *rdma.Region, to uint64, payload []byte) {
	if r == nil || payload == nil {
		return
	}
	if mutantEarly && len(payload) > 0 && to > r.Base {
		to--
	}
	copy(r.Bytes(to, uint64(len(payload))), payload)
}

// writable looks up the memory of a WRITE's segment.
func (q *QP) writable(d *wire.DDP, n uint32) (*rdma.Region, wire.TermCode) {
	a := &q.setup.Attrs
	switch r, syndrome := a.Memory.Remote(a.PD, d.STag, d.TO, uint64(n), rdma.RemoteWrite); {
	case a.Access&rdma.RemoteWrite == 0:
		return r, wire.TermSTag // there is no code for rights (RFC 5041 7.1; Linux siw takes this one)
	case syndrome == rdma.SynACK:
		return r, 0
	case a.Memory.Fits(a.PD, d.STag, rdma.RemoteWrite):
		return nil, wire.TermBounds
	}
	return nil, wire.TermSTag
}

// write takes a segment of a WRITE. One without payload names no memory (RFC 5040 5.2).
func (q *QP) write(d *wire.DDP, payload []byte, n uint32, placed bool) wire.TermCode {
	if n > 0 {
		r, code := q.writable(d, n)
		if code != 0 {
			if mutantPlaceRefused {
				place(r, d.TO, payload)
			}
			return code
		}
		switch {
		case !placed:
			place(r, d.TO, payload)
			q.moved += n
		case mutantTwice && len(payload) > 1:
			place(r, d.TO+1, payload[:len(payload)-1])
		}
	}
	q.took += int64(n)
	if d.Last {
		q.counters.Writes++
		q.accept()
	}
	return 0
}

// accept counts a message that is whole.
func (q *QP) accept() {
	q.accepted++
	q.whole = true
}

// send takes a segment of a SEND.
func (q *QP) send(now units.Time, d *wire.DDP, payload []byte, n uint32) wire.TermCode {
	inv := d.Opcode == wire.RDMAPSendInv || d.Opcode == wire.RDMAPSendSEInv
	switch {
	case !inv && d.Opcode != wire.RDMAPSend && d.Opcode != wire.RDMAPSendSE:
		return wire.TermOpcode
	case d.MSN != q.msn[0]:
		return wire.TermMSN
	case !q.reception.Take():
		return wire.TermNoBuffer
	case d.MO != q.mo:
		return wire.TermMO
	case !q.reception.Fits(q.mo + n):
		q.reception.Complete(now, rdma.Send, 0, 0, rdma.LocLen)
		return wire.TermTooLong
	}
	a := &q.setup.Attrs
	if in := a.Inbox; in != nil && payload != nil && n > 0 {
		va := in.VA + in.Placed + uint64(q.mo)
		place(a.Memory.Local(a.PD, in.LKey, va, uint64(n), rdma.LocalWrite), va, payload)
	}
	q.mo += n
	q.moved += n
	q.took += int64(n)
	if !d.Last {
		return 0
	}
	bytes := q.mo
	if a.Inbox != nil {
		a.Inbox.Placed += uint64(bytes)
	}
	q.mo = 0
	q.msn[0]++
	q.counters.Sends++
	q.accept()
	verb, imm := rdma.Send, uint32(0)
	if inv {
		verb, imm = rdma.SendInv, d.STag
		if !a.Memory.Invalidate(a.PD, d.STag) {
			q.reception.Complete(now, verb, bytes, imm, rdma.RemInvReq)
			return wire.TermInvalidate
		}
	}
	q.reception.Complete(now, verb, bytes, imm, rdma.Success)
	return 0
}

// request takes a READ request, which is added to t if its memory is to blame.
func (q *QP) request(d *wire.DDP, payload []byte, t *wire.Terminate) wire.TermCode {
	switch {
	case d.Opcode != wire.RDMAPReadRequest:
		return wire.TermOpcode
	case d.MSN != q.msn[1]:
		return wire.TermMSN
	case d.MO != 0 || !d.Last:
		return wire.TermMO
	}
	rtr := q.p2p && !q.active && d.MSN == 1
	r, rest, err := wire.ParseReadRequest(payload)
	switch {
	case err != nil:
		return wire.TermStream
	case len(rest) > 0:
		return wire.TermTooLong
	case q.answers.waiting >= q.answers.most && !rtr:
		return wire.TermNoBuffer
	}
	q.msn[1]++
	if r.Size > 0 {
		if code := q.readable(&r); code != 0 {
			t.HasRequest, t.Request = true, r
			return code
		}
	}
	q.serial++
	q.answers.push(answer{request: r, serial: q.serial})
	if !rtr {
		q.counters.Reads++
		q.accept()
	}
	return 0
}

// readable looks up the memory of a READ.
func (q *QP) readable(r *wire.ReadRequest) wire.TermCode {
	a := &q.setup.Attrs
	_, syndrome := a.Memory.Remote(a.PD, r.SourceSTag, r.SourceTO, uint64(r.Size), rdma.RemoteRead)
	switch {
	case a.Access&rdma.RemoteRead == 0:
		return wire.TermReadRights
	case syndrome == rdma.SynACK:
		return 0
	case a.Memory.Fits(a.PD, r.SourceSTag, rdma.RemoteRead):
		return wire.TermReadBounds
	case a.Memory.Fits(a.PD, r.SourceSTag, 0):
		return wire.TermReadRights
	}
	return wire.TermReadSTag
}

// sink places a segment of a READ response, if it lies in the buffer of the READ that it answers, or of one behind
// that, and reports whether it did.
func (q *QP) sink(d *wire.DDP, payload []byte) bool {
	if payload == nil {
		return true
	}
	a := &q.setup.Attrs
	r := a.Memory.Local(a.PD, d.STag, d.TO, uint64(len(payload)), rdma.LocalWrite)
	if r == nil {
		return false
	}
	place(r, d.TO, payload)
	return true
}

// response takes a segment of the answer to the oldest READ.
func (q *QP) response(now units.Time, d *wire.DDP, payload []byte, n uint32, placed bool) wire.TermCode {
	if q.rtr && n == 0 && d.Last {
		q.rtr = false
		return 0
	}
	if q.reads == 0 {
		return wire.TermOpcode
	}
	w := q.at(q.oldest)
	switch {
	case n > 0 && (d.STag != w.lkey || d.TO != w.lva+uint64(q.got)):
		return wire.TermSTag
	case q.got+n > w.bytes || d.Last && q.got+n < w.bytes:
		return wire.TermBounds
	case n > 0 && !placed && !q.sink(d, payload):
		return wire.TermSTag
	case n > 0 && !placed:
		q.moved += n
	}
	q.got += n
	q.read += int64(n)
	if !d.Last {
		return 0
	}
	w.finish(now)
	q.whole = true
	q.answered++
	q.got = 0
	if q.reads--; q.reads > 0 {
		for q.oldest++; q.at(q.oldest).verb != rdma.Read; q.oldest++ {
		}
	}
	return 0
}

// terminated takes the peer's Terminate message: the queue pair is in error, and TCP's connection is closed.
func (q *QP) terminated(now units.Time, payload []byte) {
	t, err := wire.ParseTerminate(payload)
	if err != nil {
		t = wire.Terminate{Code: wire.TermStream}
	}
	q.outcome.Term = t
	q.end(now, GotTerm)
	q.conn.Close()
}
