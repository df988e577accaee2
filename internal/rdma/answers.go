package rdma

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// answers is what a responder keeps for READs and atomics. Responses leave in
// the order of their requests, before new requests of the same queue pair (as
// the Linux drivers of Intel's adapters have it: sending responses has priority
// over sending requests). Acknowledgements of later requests wait behind them
// (IBTA 9.7.5.1).
type answers struct {
	// table holds the latest MaxDestRdAtomic requests, for duplicates: the oldest
	// stands at next when the table is full.
	table []resource
	next  int
	// queue is a ring of what is to be sent; its room is a power of two.
	queue    []job
	head, n  uint32
	more     bool   // the latest new request asked for a part of a READ that goes on
	taken    uint32 // requests taken up, duplicates that are answered anew included
	polled   uint32 // the one that the latest packet answers, and whether it is a duplicate
	repeated bool
	again    int    // jobs in the queue that answer duplicates
	sentEnd  uint32 // PSN after the last that was sent; what lies before is sent again
	held     packet.Packet
	holding  bool // held waits for the queue to run empty
	refused  bool // held is the last that is sent, a fatal NAK: nothing is taken any more
}

// resource is a READ or atomic that was executed: packets [psn, psn+n).
type resource struct {
	job
	n uint32
}

// job is what is left to send of one answer.
type job struct {
	psn, end uint32 // next PSN, and the one behind the last
	left     uint32 // bytes of payload; of an atomic 0
	rkey     uint32
	va       uint64 // of the next byte
	msn      uint32
	orig     uint64 // of an atomic: the value before
	atomic   bool
	started  bool
	origin   uint32 // the request taken up that it answers
	again    bool   // it answers a duplicate
	goesOn   bool   // it answers another part of the READ before it
}

func (x *answers) at(i uint32) *job { return &x.queue[(x.head+i)&uint32(len(x.queue)-1)] }

// startAnswers makes room for what READs and atomics need.
func (q *QP) startAnswers() *answers {
	if q.cold.answers == nil {
		n := int(q.setup.Attrs.MaxDestRdAtomic)
		q.cold.answers = &answers{table: make([]resource, 0, n), queue: make([]job, 1<<bits.Len(uint(2*n-1)))}
	}
	return q.cold.answers
}

// push appends a job and reports whether there was room: one for every request
// and every duplicate that a requester within its limit can have outstanding.
func (q *QP) push(j job) bool {
	x := q.cold.answers
	if x.n == uint32(len(x.queue)) {
		return false
	}
	j.origin = x.taken
	*x.at(x.n) = j
	x.n++
	x.count(&j, 1)
	q.answering = true
	return true
}

// pushAgain puts an answer to a duplicate behind the others of that kind, before
// everything else.
func (q *QP) pushAgain(j job) bool {
	x := q.cold.answers
	if x.n == uint32(len(x.queue)) {
		return false
	}
	x.head--
	x.n++
	j.origin = x.taken
	i := uint32(0)
	for ; i+1 < x.n && x.at(i+1).again; i++ {
		*x.at(i) = *x.at(i + 1)
	}
	*x.at(i) = j
	x.count(&j, 1)
	q.answering = true
	return true
}

func (x *answers) pop() {
	x.count(x.at(0), -1)
	x.head++
	x.n--
}

func (x *answers) count(j *job, by int) {
	if j.again {
		x.again += by
	}
}

// record puts an executed request into the table, in place of the oldest.
func (x *answers) record(j job, n uint32) {
	r := resource{j, n}
	if len(x.table) < cap(x.table) {
		x.table = append(x.table, r)
		return
	}
	x.table[x.next] = r
	x.next = (x.next + 1) % len(x.table)
}

// find is the place, counted from the oldest, of the request that packet psn
// answers; -1 when the table does not hold it. The latest comes first: PSNs wrap,
// and an old entry may have the same.
func (x *answers) find(psn uint32) int {
	for i := len(x.table) - 1; i >= 0; i-- {
		if r := x.aged(i); psnDiff(psn, r.psn) >= 0 && psnDiff(psn, r.end) < 0 {
			return i
		}
	}
	return -1
}

// aged is the i-th oldest entry of the table.
func (x *answers) aged(i int) *resource { return &x.table[(x.next+i)%len(x.table)] }

// packetsOf is how many packets n bytes take.
func (q *QP) packetsOf(n uint32) uint32 {
	mtu := uint32(q.cfg.MTU)
	return max(1, n/mtu+min(1, n%mtu))
}

// admitRead checks a READ or atomic request and returns the syndrome of the
// answer, SynACK when there is nothing against it (IBTA 9.7.4.1).
func (q *QP) admitRead(p *packet.Packet) uint8 {
	a := &q.setup.Attrs
	need, n := RemoteRead, uint64(p.DMALen)
	if p.Opcode != OpReadRequest {
		need, n = RemoteAtomic, uint64(AtomicBytes)
	}
	x := q.cold.answers
	switch {
	case a.Access&need == 0, a.MaxDestRdAtomic == 0, n > uint64(MaxMessage):
		return SynNAKInv
	case need == RemoteAtomic && p.VA%8 != 0:
		return SynNAKInv
	case x != nil && int(x.n)-x.again >= int(a.MaxDestRdAtomic):
		return SynNAKInv // more than the resources that were agreed on
	case n == 0:
		return SynACK // R_Key and address are not checked (IBTA 9.7.4.1.5)
	}
	_, syndrome := a.Memory.Remote(a.PD, p.RKey, p.VA, n, need)
	return syndrome
}

// takeRead executes the READ or atomic request with the expected PSN and
// reports whether it was accepted; if not it has been answered.
func (q *QP) takeRead(now units.Time, p *packet.Packet, side *packet.Side, ce bool, out *Replies) bool {
	syndrome := q.admitRead(p)
	if p.Opcode != OpReadRequest && side == nil {
		syndrome = SynNAKInv
	}
	if syndrome != SynACK {
		q.refuse(now, syndrome, ce, out)
		return false
	}
	x := q.startAnswers()
	n := q.packetsOf(p.DMALen)
	j := job{psn: p.PSN, left: p.DMALen, rkey: p.RKey, va: p.VA}
	if p.Opcode != OpReadRequest {
		n = 1
		j.left, j.atomic, j.orig = 0, true, q.execute(p, side)
	}
	j.end = (p.PSN + n) & psnMask
	j.goesOn, x.more = x.more, p.Flags&packet.More != 0
	q.epsn = j.end
	q.rspState = rspReady
	if p.Flags&packet.More == 0 {
		q.msn = (q.msn + 1) & psnMask
	}
	j.msn = q.msn
	x.taken++
	x.record(j, n)
	if x.n == uint32(len(x.queue)) {
		x.pop() // of a duplicate, as what is new has not filled it
	}
	if x.n == 0 {
		x.sentEnd = j.psn
	}
	q.push(j)
	x.holding = false // the response acknowledges it too
	return true
}

// execute does an atomic and returns the value before.
func (q *QP) execute(p *packet.Packet, side *packet.Side) uint64 {
	a := &q.setup.Attrs
	r, _ := a.Memory.Remote(a.PD, p.RKey, p.VA, uint64(AtomicBytes), RemoteAtomic)
	if p.Opcode == OpCompareSwap {
		return r.CompareSwap(p.VA, side.Compare, side.Swap)
	}
	return r.FetchAdd(p.VA, side.Swap)
}

// duplicateRead answers a READ or atomic that was executed before: a READ anew
// from memory, an atomic from what was saved (IBTA 9.7.5.1.4, models.md 4.4). What
// the table does not hold, or is yet to be sent, is left.
func (q *QP) duplicateRead(p *packet.Packet) {
	x := q.cold.answers
	i := -1
	if x != nil {
		i = x.find(p.PSN)
	}
	if i < 0 || x.aged(i).atomic != (p.Opcode != OpReadRequest) || x.coming(p.PSN) || q.admitDuplicate(p) != SynACK {
		q.discard()
		return
	}
	x.taken++
	if !q.selective {
		q.goBack(p.PSN, i)
		return
	}
	j := x.aged(i).job
	if !j.atomic {
		j.psn, j.left, j.rkey, j.va = p.PSN, p.DMALen, p.RKey, p.VA
		j.end = (p.PSN + q.packetsOf(p.DMALen)) & psnMask
		if psnDiff(j.end, q.epsn) > 0 {
			q.discard()
			return
		}
	}
	j.again, j.goesOn = true, false
	q.upToComing(&j)
	if !q.pushAgain(j) {
		q.discard()
	}
}

// admitDuplicate checks the rights that a READ needs to be executed anew.
func (q *QP) admitDuplicate(p *packet.Packet) uint8 {
	if p.Opcode != OpReadRequest || p.DMALen == 0 {
		return SynACK
	}
	a := &q.setup.Attrs
	_, syndrome := a.Memory.Remote(a.PD, p.RKey, p.VA, uint64(p.DMALen), RemoteRead)
	return syndrome
}

// upToComing ends an answer to a duplicate where the request's own answer goes on:
// the rest of that is yet to be sent. Otherwise the requester could have all of it,
// and ask for more than there are resources for, with that still in the queue.
func (q *QP) upToComing(j *job) {
	x := q.cold.answers
	for i := range x.n {
		if k := x.at(i); !k.again && psnDiff(k.psn, j.psn) > 0 && psnDiff(k.psn, j.end) < 0 {
			j.end = k.psn
			j.left = uint32(psnDiff(k.psn, j.psn)) * uint32(q.cfg.MTU)
		}
	}
}

// coming reports whether the response with that PSN is still in the queue.
func (x *answers) coming(psn uint32) bool {
	for i := range x.n {
		if j := x.at(i); psnDiff(psn, j.psn) >= 0 && psnDiff(psn, j.end) < 0 {
			return true
		}
	}
	return false
}

// goBack sends all responses again from packet psn on, which entry i of the
// table answers.
func (q *QP) goBack(psn uint32, i int) {
	x := q.cold.answers
	x.head, x.n, x.again = 0, 0, 0
	for ; i < len(x.table); i++ {
		j := x.aged(i).job
		if skip := psnDiff(psn, j.psn); skip > 0 {
			j.psn = psn
			j.left -= uint32(skip) * uint32(q.cfg.MTU)
			j.va += uint64(skip) * uint64(q.cfg.MTU)
		}
		j.again, j.goesOn = true, false
		q.push(j)
	}
}

// pollAnswer fills p with the next response, or the acknowledgement that waited
// behind the last one. Acknowledgements are not paced.
func (q *QP) pollAnswer(now units.Time, p *packet.Packet) (Reason, units.Time) {
	x := q.cold.answers
	if x.n == 0 {
		*p = x.held
		x.holding, q.answering, q.polledLast, q.again = false, false, false, false
		if x.refused {
			q.mustModify(Err, now)
		}
		return Sent, max(now, q.nextAvail)
	}
	j := x.at(0)
	if !j.atomic && q.inGap(now) {
		return RateLimit, q.nextAvail
	}
	region, ok := q.source(j)
	if !ok {
		q.unreadable(now, j)
		return q.Poll(now, p)
	}
	x.polled, x.repeated, q.again = j.origin, j.again, false
	if j.atomic {
		q.fillAck(p)
		p.Opcode, p.PSN, p.AETH = OpAtomicAck, j.psn, uint32(SynACK)<<24|j.msn
		p.Frame = uint32(max(q.cfg.Wire.Ack+wire.AtomicAckETHLen, q.cfg.Wire.MinFrame))
		p.Flags |= x.sending(j.psn)
		q.newSide().Orig = j.orig
		q.polledLast = true
		j.psn = j.end
	} else {
		q.fillResponse(now, p, j, region)
	}
	if j.psn == j.end {
		x.pop()
		q.answering = x.n > 0 || x.holding
	}
	return Sent, max(now, q.nextAvail)
}

// source is the memory that the rest of a READ comes from, nil for none; ok is
// false when it no longer is what the request was checked against: a region may be
// invalidated or deregistered before all of it is sent.
func (q *QP) source(j *job) (r *Region, ok bool) {
	if j.left == 0 {
		return nil, true
	}
	a := &q.setup.Attrs
	r, syndrome := a.Memory.Remote(a.PD, j.rkey, j.va, uint64(j.left), RemoteRead)
	return r, syndrome == SynACK
}

// unreadable ends a READ whose memory is gone: a NAK is sent in place of the next
// response, and nothing after it (IBTA 9.7.4.1.5; rdma_rxe looks the region up for
// each response as well). A response that was sent before is left, as duplicateRead
// leaves a duplicate: who asked for it may have had it meanwhile.
func (q *QP) unreadable(now units.Time, j *job) {
	x := q.cold.answers
	if psnDiff(j.psn, x.sentEnd) < 0 {
		x.pop()
		q.answering = x.n > 0 || x.holding
		return
	}
	var nak packet.Packet
	q.fillAck(&nak)
	nak.PSN, nak.AETH = j.psn, uint32(SynNAKAccess)<<24|j.msn
	q.noted().counters.NAKsSent++
	q.noted().acts.Refused.Add(now, 1)
	x.n, x.again, x.refused = 0, 0, true
	q.hold(&nak)
}

// fillResponse fills p with the next packet of a READ response, from region.
func (q *QP) fillResponse(now units.Time, p *packet.Packet, j *job, region *Region) {
	first, last := !j.started, (j.psn+1)&psnMask == j.end
	q.fillData(p)
	p.Kind, p.PSN, p.Payload = packet.Response, j.psn, min(j.left, uint32(q.cfg.MTU))
	frame := uint32(q.cfg.Wire.Data) + p.Payload
	if q.cfg.Wire.Pad > 0 {
		frame += -p.Payload & uint32(q.cfg.Wire.Pad-1)
	}
	switch {
	case first && last:
		p.Opcode = OpReadRespOnly
	case first:
		p.Opcode = OpReadRespFirst
	case last:
		p.Opcode = OpReadRespLast
	default:
		p.Opcode = OpReadRespMiddle
	}
	if first || last {
		frame += wire.AETHLen
		p.AETH = uint32(SynACK)<<24 | j.msn
	}
	p.Frame = max(frame, uint32(q.cfg.Wire.MinFrame))
	q.pace(now, p.Frame+uint32(q.cfg.Wire.Overhead))
	q.sentPackets++
	q.sentBytes += int64(p.Payload)
	if p.Flags |= q.cold.answers.sending(j.psn); p.Flags&packet.Retrans != 0 {
		q.noted().acts.RetransRead.Add(now, int64(p.Payload))
	}
	q.polledLast = last
	if region != nil && region.Data != nil {
		q.newSide().Data = region.Bytes(j.va, uint64(p.Payload))
	}
	j.started = true
	j.left -= p.Payload
	j.va += uint64(p.Payload)
	j.psn = (j.psn + 1) & psnMask
}

// sending notes that the response with that PSN is sent and returns the flag of
// one that was sent before.
func (x *answers) sending(psn uint32) uint8 {
	if psnDiff(psn, x.sentEnd) < 0 {
		return packet.Retrans
	}
	x.sentEnd = (psn + 1) & psnMask
	return 0
}

// answerAt is when Poll has an answer to send.
func (q *QP) answerAt() units.Time {
	x := q.cold.answers
	if x.n == 0 || x.at(0).atomic {
		return 0
	}
	return q.nextAvail
}

// hold keeps an acknowledgement until the responses before it are sent; a later
// one takes its place, but that of a duplicate not the place of a NAK: this side
// would be silent about what is missing.
func (q *QP) hold(p *packet.Packet) *packet.Packet {
	x := q.cold.answers
	if x.holding {
		if p.AETH>>29 == 0 && x.held.AETH>>29 != 0 && psnDiff(p.PSN, x.held.PSN) < 0 {
			x.held.Flags |= p.Flags & packet.CNPFlag
			return &x.held
		}
		p.Flags |= x.held.Flags & packet.CNPFlag
	}
	x.held, x.holding = *p, true
	return &x.held
}

// Responding reports whether responses, or acknowledgements that wait behind
// them, are to be sent: Poll gives them first.
func (q *QP) Responding() bool { return q.answering }
