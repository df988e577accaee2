package rdma

import (
	"encoding/binary"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// DefaultRdAtomic is how many READs and atomics ConnectX adapters let a queue
// pair have outstanding (max_qp_rd_atom), and perftest uses.
const DefaultRdAtomic = 16

// reads is what a requester keeps for READs and atomics, and for fences.
type reads struct {
	asked []readSpan // outstanding requests, in order; room for MaxRdAtomic
	// silent: a response was missing and the requester went back to it; what does
	// not answer that request is ignored (go-back-N).
	silent bool
	// Selective repeat: everything before acked is known to have arrived, and here
	// is a bitmap of the responses ahead of una, each at its remainder by the size.
	acked uint64
	here  []uint64
	// What is missing before scanned was asked for again, and the first packet not
	// sent when the earliest of that was is after, or later; neverSent: none is.
	scanned, after uint64
	// tookID and tookLast tell of the latest response taken; see TookResponse.
	tookID   uint32
	tookLast bool
	bytes    int64 // payload of responses taken
	peak     int   // most requests outstanding
	acts     ReadActs
}

// neverSent is a sequence number that is not reached.
const neverSent = ^uint64(0)

// maxParts bounds into how many parts a window or a bitmap is divided: more win
// little and cost a request each.
const maxParts = 16

// readSpan is a READ or atomic request that is outstanding: its first sequence
// number and the one after its last.
type readSpan struct{ first, end uint64 }

// reads reports whether responses, not an acknowledgement, complete the request.
func (w *wqe) reads() bool { return w.verb >= Read }

func (w *wqe) end() uint64 { return w.first + uint64(w.packets) }

// startReads makes room for what READs, atomics and fences need.
func (q *QP) startReads() {
	if q.cold.reads == nil {
		q.cold.reads = &reads{asked: make([]readSpan, 0, q.setup.Attrs.MaxRdAtomic), acked: q.una, after: neverSent}
		if q.selective {
			q.cold.reads.here = make([]uint64, slots(q.cfg.Bitmap)/64)
		}
	}
	q.reading = true
}

// order says whether the next new request must wait for earlier ones: a fence
// (IBTA 10.8.3.3), the limit of outstanding READs and atomics, or room for the
// responses; one that will fail waits for all. Sent: it need not.
func (q *QP) order() Reason {
	w, x := q.at(q.cur), q.cold.reads
	switch {
	case w.fence && q.nxt == w.first && len(x.asked) > 0, w.fault:
		return Fence
	case !w.reads():
		return Sent
	case q.nxt-q.una+q.part(w, q.nxt) > uint64(q.maxOut):
		return q.fullBy()
	case len(x.asked) == cap(x.asked):
		return ReadLimit
	}
	return Sent
}

// part is for how many packets of READ w one request asks, from seq on. A
// request may ask for all of them; a window, or a receive bitmap, is shared by the
// requests that may be outstanding: as one is answered there is room for the next,
// and on average all but half of one is asked for. What is asked for again ends
// where it ended before.
func (q *QP) part(w *wqe, seq uint64) uint64 {
	n, most, parts := w.end()-seq, uint64(q.maxOut), uint64(min(cap(q.cold.reads.asked), maxParts))
	if q.selective {
		most = max(1, most/parts)
	}
	if q.window > 0 {
		most = min(most, max(1, uint64(q.winNow)/parts/uint64(q.cfg.MTU)))
	}
	if seq < q.high {
		most = min(most, q.high-seq)
	}
	return min(n, most)
}

// parts reports whether READs may be asked for in parts, so that the last
// response to a request need not be the last of its message.
func (q *QP) parts(w *wqe) bool {
	return q.selective || q.window > 0 || q.cfg.SlowRestart.On || w.packets > q.maxOut
}

// pollRead fills p with the READ or atomic request for n packets of work request
// i from seq on. It returns the payload that these packets will bring.
func (q *QP) pollRead(now units.Time, p *packet.Packet, i uint32, seq, n uint64) (bytes uint32) {
	w := q.at(i)
	done := uint32(seq-w.first) * uint32(q.cfg.MTU)
	bytes = min(uint32(n)*uint32(q.cfg.MTU), w.bytes-done)
	q.fillData(p)
	p.PSN = uint32(seq) & psnMask
	p.VA, p.RKey = w.va+uint64(done), w.rkey
	p.Flags |= packet.AckReq
	q.polledLast = seq+n == w.end()
	frame := q.cfg.Wire.Data
	switch w.verb {
	case Read:
		p.Opcode, p.DMALen = OpReadRequest, bytes
		frame += q.cfg.Wire.RETH
		if !q.polledLast {
			p.Flags |= packet.More
		}
	case CompareSwap:
		p.Opcode = OpCompareSwap
	case FetchAdd:
		p.Opcode = OpFetchAdd
	}
	if w.verb != Read {
		frame += wire.AtomicETHLen
		x, s := q.extraAt(i), q.newSide()
		s.Swap, s.Compare = x.swap, x.compare
	}
	if seq < q.high {
		p.Flags |= packet.Retrans
	}
	p.Frame = uint32(max(frame, q.cfg.Wire.MinFrame))
	q.pace(now, p.Frame+uint32(q.cfg.Wire.Overhead))
	return bytes
}

// firstRead is the sequence number of the first response that is missing:
// acknowledgements reach no further (IBTA 9.7.5.1.5). Without any it is a number
// that was never sent.
func (q *QP) firstRead() uint64 {
	if !q.reading {
		return q.high
	}
	if x := q.cold.reads; len(x.asked) > 0 {
		return max(x.asked[0].first, q.una)
	}
	for i := q.cur; i != q.tail; i++ { // sent before the latest rewind
		w := q.at(i)
		if w.first >= q.high {
			break
		}
		if w.reads() {
			return max(w.first, q.una)
		}
	}
	return q.high
}

// unanswered reports whether an acknowledgement of everything before seq is void
// because it passed a response that is missing: then that response is lost, and
// is asked for again. So it is with go-back-N; see ackedSelective.
func (q *QP) unanswered(now units.Time, seq uint64) bool {
	if q.cold.reads.silent {
		q.discard()
		return true
	}
	e := q.firstRead()
	if seq <= e {
		return false
	}
	q.responseGap(now, e)
	return true
}

// responseGap acts on responses missing from e on as on a NAK: all before
// arrived, and it goes back to e. Until the response to that comes it is silent.
func (q *QP) responseGap(now units.Time, e uint64) {
	progress := e > q.una
	if progress {
		q.advance(now, e)
	}
	if q.state == Err {
		return
	}
	q.noted().acts.SequenceGap.Add(now, 1)
	q.cold.reads.silent = true
	q.sequenceError(now, progress, ByResponse)
}

// receiveResponse handles a READ response.
func (q *QP) receiveResponse(now units.Time, p *packet.Packet, side *packet.Side, out *Replies) {
	if q.state != RTS && q.state != SQD {
		q.discard()
		return
	}
	if p.ECN == packet.CE {
		q.congestedResponse(now, out)
	}
	q.answered(now, p, side)
}

// answered handles a READ response or the ACK of an atomic.
func (q *QP) answered(now units.Time, p *packet.Packet, side *packet.Side) {
	seq := uint64(int64(q.una) + psnDiff(p.PSN, uint32(q.una)))
	if int64(seq-q.una) < 0 || int64(seq-q.high) >= 0 {
		q.discard()
		return
	}
	if q.selective {
		if q.reading {
			q.answeredSelective(now, seq, p, side)
		}
		return
	}
	e := q.firstRead()
	switch {
	case seq < e || seq > e && q.cold.reads.silent:
		q.discard() // no READ's, or on its way since before the latest gap
	case seq > e:
		q.responseGap(now, e)
	default:
		q.takeResponse(now, seq, p, side)
	}
}

// takeResponse takes the response that is next.
func (q *QP) takeResponse(now units.Time, seq uint64, p *packet.Packet, side *packet.Side) {
	if seq > q.una {
		q.advance(now, seq) // a response acknowledges what was sent before its request
	}
	if status := q.checkResponse(q.at(q.head), seq, p); status != Success {
		q.fail(status, now)
		return
	}
	q.cold.reads.silent = false
	q.cold.reads.bytes += int64(p.Payload)
	if q.hasExtra && side != nil {
		q.placeResponse(q.head, seq, p, side)
	}
	q.advance(now, seq+1)
}

// placeResponse writes the response to packet seq of work request i to its local
// buffer: the payload of a READ, the value that an atomic found.
func (q *QP) placeResponse(i uint32, seq uint64, p *packet.Packet, side *packet.Side) {
	a, x, w := &q.setup.Attrs, q.extraAt(i), q.at(i)
	data := side.Data
	var orig [AtomicBytes]byte
	if w.verb != Read {
		binary.LittleEndian.PutUint64(orig[:], side.Orig)
		data = orig[:]
	}
	if x.lkey == 0 || len(data) == 0 {
		return
	}
	va, n := x.lva+(seq-w.first)*uint64(q.cfg.MTU), uint64(len(data))
	if mutantWrongOffset && seq > w.first {
		va--
	}
	if r := a.Memory.Local(a.PD, x.lkey, va, n, LocalWrite); r != nil {
		copy(r.Bytes(va, n), data)
	}
}

// checkResponse holds a response to packet seq of w against the request.
func (q *QP) checkResponse(w *wqe, seq uint64, p *packet.Packet) Status {
	if p.Kind == packet.Ack {
		if w.verb == Read {
			return BadResp
		}
		return Success
	}
	last := seq+1 == w.end()
	final := p.Opcode == OpReadRespLast || p.Opcode == OpReadRespOnly
	switch {
	case w.verb != Read, p.Opcode < OpReadRespFirst || p.Opcode > OpReadRespOnly,
		last && !final, !last && final && !q.parts(w):
		return BadResp
	case !last && p.Payload != uint32(q.cfg.MTU),
		last && p.Payload != w.bytes-uint32(seq-w.first)*uint32(q.cfg.MTU):
		return LocLen
	}
	return Success
}

// settleReads forgets the requests that are answered below seq.
func (q *QP) settleReads(seq uint64) {
	x := q.cold.reads
	n := 0
	for n < len(x.asked) && x.asked[n].end <= seq {
		n++
	}
	if n > 0 {
		x.asked = x.asked[:copy(x.asked, x.asked[n:])]
	}
}

// ReadActs is what the requester did about missing responses so far.
func (q *QP) ReadActs() (acts ReadActs) {
	if q.cold.reads != nil {
		acts = q.cold.reads.acts
	}
	return acts
}

// ReadBytes is the payload of READ responses taken as requester, in bytes.
func (q *QP) ReadBytes() int64 {
	if q.cold.reads == nil {
		return 0
	}
	return q.cold.reads.bytes
}
