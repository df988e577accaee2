package nic

import (
	"math"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/iwarp"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// offloads are the queue pairs of a host that are carried by TCP, which the card runs: iWARP. They are posted to and
// polled like those of RC, and no kernel has a part in them. Of those that the kernel runs see offloads_kernel.go.
//
// A segment with data waits in the card until its turn comes, and until it is gone no other is made. An
// acknowledgement alone goes at once, ahead of data, as those of RC do.
type offloads struct{ *Host }

// offloaded is one end of such a queue pair.
type offloaded struct {
	qp iwarp.QP
	segments

	seg    packet.Packet // waits for its turn, if has
	part   iwarp.Polled  // what it is part of
	covers int           // messages taken when it was made
	has    bool
	inHeap bool // pacing holds it in the port's heap
	why    iwarp.Reason
	until  units.Time // when pacing lets it go on

	soft  *soft // where the kernel runs it
	ahead       // where the host has a server
}

func (h offloads) ways(*hostPath, *MemoryPath, *host.Spec) {}

func (h offloads) callsOn(q uint32) (core int, by kernelCall) {
	if h.byKernel(q) {
		return h.cpu.Application(int(q)), byVerbs
	}
	return 0, noCall
}

func (h offloads) completes() bool { return true }

func (h offloads) waiting(q uint32) int64 { return h.qps[q].offloaded.qp.Reception().Waiting() }

func (h offloads) repost(q uint32) { h.qps[q].offloaded.qp.PostReceive(1) }

func (h offloads) whole(q uint32, before int) int {
	if h.path != nil {
		return h.path.qps[q].messages - before
	}
	return int(h.qps[q].offloaded.qp.Accepted() - uint32(before))
}

func (h offloads) taken(q uint32) int64 {
	qp := &h.qps[q].offloaded.qp
	return qp.Taken() + qp.ReadBytes()
}

// rate is the congestion window over the smoothed round trip, as of a TCP connection.
func (h offloads) rate(_ units.Time, q uint32) (rate, least units.Rate) {
	info := h.qps[q].offloaded.conn.Info()
	rate = windowRate(info.Cwnd, info.SRTT, h.net.Rate(h.ports[h.qps[q].port].fabricPort))
	return rate, rate
}

func (h offloads) window(q uint32) int64 { return h.qps[q].offloaded.conn.Info().Cwnd }

func (h offloads) held(uint32) int { return 0 }

func (h offloads) retire(uint32) {}

func (h offloads) timeouts(q uint32) []units.Time { return h.qps[q].offloaded.timeouts }

// nextFrame is asked for on links with credits, over which no TCP runs.
func (h offloads) nextFrame(uint32) uint32 { return 0 }

func (h offloads) oldest(q uint32) uint32 { return h.qps[q].offloaded.qp.OldestAnswer() }

// open returns queue pair q, connecting it on first use.
func (h offloads) open(now units.Time, q uint32) *qpSlot {
	s := &h.qps[q]
	if s.opened() {
		return s
	}
	sp := &h.specs[q]
	h.used(q).accounted(now)
	x := new(offloaded)
	s.offloaded, s.exists = x, true
	x.conn, x.waits = x.qp.Conn(), offloadWaits[:]
	x.qp.Connect(&sp.Setup, &rdma.Own{Conn: sp.Conn, CQ: &h.cq, ReceiveCQ: &h.rcq}, sp.Offload, now)
	if h.path != nil {
		x.qp.Reach(0)
		x.qp.Allow(0)
	}
	if h.byKernel(q) {
		x.soft = &soft{application: h.cpu.Application(int(q))}
	}
	h.refill(now, q)
	h.changed(now, q)
	h.arm(now, q)
	return s
}

// post hands one work request to its queue pair.
func (h offloads) post(now units.Time, p Post) {
	m := h.message(p.WR.ID)
	m.QP, m.Posted = p.QP, now
	s := h.open(now, p.QP)
	h.settle(now, s)
	h.posted(now, s, p.WR.ID, p.WR.Verb)
	h.sequence(p.QP, p.WR.ID)
	if h.path != nil {
		h.postWork(now, p.QP, &p.WR)
	}
	if err := s.offloaded.qp.Post(now, p.WR); err != nil {
		h.net.Part().Bug("%s: post of message %d: %v", h.Name, p.WR.ID, err)
	}
	h.goOn(now, p.QP, 0)
}

// goOn does what follows an event of queue pair q: completions, by the packet of a way or none, and segments.
func (h offloads) goOn(now units.Time, q uint32, way Way) {
	s := &h.qps[q]
	h.finishMessages(now, q, way)
	h.forgetAnswered(s)
	h.refill(now, q)
	h.changed(now, q)
	h.arm(now, q)
	h.net.Kick(now, h.ports[s.port].fabricPort)
}

// deliver hands over a segment to its queue pair, or to the kernel that runs it.
func (h offloads) deliver(now units.Time, _ int, slot uint32) {
	pk := h.net.Part().Rec(slot)
	ends := h.ends[pk.Conn]
	q := ends.Passive
	if pk.Flags&packet.Reverse != 0 {
		q = ends.Active
	}
	if h.byKernel(q) {
		h.takeIn(now, q, slot)
		return
	}
	h.take(now, q, slot)
}

// take gives a segment to its queue pair q.
func (h offloads) take(now units.Time, q, slot uint32) {
	part := h.net.Part()
	pk := part.Rec(slot)
	s := h.open(now, q)
	h.settle(now, s)
	x := s.offloaded
	probing, out := x.conn.Probing(), x.conn.Outstanding()
	accepted, asked, taken := x.qp.Accepted(), x.qp.Asked(), h.taken(q)
	x.qp.Receive(now, pk, h.net.SideOf(pk))
	h.noteLosses(now, s, &x.segments, probing)
	if x.conn.Outstanding() < out {
		x.progress = s.account.sum
	}
	h.delivered += h.taken(q) - taken
	if h.path != nil {
		if n, whole := x.qp.Moved(); n > 0 {
			h.store(now, q, n, whole)
		}
	}
	n, way := x.qp.Accepted()-accepted, Way(0)
	if pk.DSCP&packet.Stamped != 0 {
		if stamps := h.net.StampsOf(pk); stamps != nil && (n > 0 || x.qp.Asked() != asked || h.completions()) {
			way = h.keep(stamps)
		}
		list := requests
		if pk.Payload == 0 {
			list = replies
		}
		h.meet(now, s, list, pk)
	}
	h.accept(now, q, way, n)
	if h.path != nil {
		h.pendPlaced(now, q, n)
	} else if s.watched {
		h.accepted(now, q)
	}
	h.asked(now, s, asked, way)
	h.net.FreeSides(pk)
	part.Free(slot)
	if h.path != nil {
		h.releaseAcked(now, q)
	}
	h.goOn(now, q, way)
}

// asked notes the READs that the last segment asked for.
func (h offloads) asked(now units.Time, s *qpSlot, before uint32, way Way) {
	a, n := s.account, s.offloaded.qp.Asked()
	if n == before {
		return
	}
	if a.serving == nil {
		a.serving = new(serving)
	}
	for a.taken = before; a.taken != n; {
		a.taken++
		a.requests = append(a.requests, request{serial: a.taken, taken: now, sum: a.sum, way: way})
	}
}

// finishMessages books the completions that the last event of queue pair q produced, by the packet of a way or none.
func (h offloads) finishMessages(now units.Time, q uint32, way Way) {
	s := &h.qps[q]
	x := s.offloaded
	for i := range h.rcq.Entries {
		switch {
		case h.rcq.Entries[i].Status != rdma.Success:
		case h.path != nil:
			h.pend(now, h.entry(now, q), doneReceived, q)
		default:
			h.work(now, &task{kind: taskReceive, qp: q})
		}
	}
	h.rcq.Clear()
	for k, c := range h.cq.Entries {
		m := h.message(c.ID)
		m.Done, m.Status = now, c.Status
		if c.Status == rdma.Success {
			h.closedBy(now, s, c.ID, way, x.qp.Late(k))
		} else {
			h.closed(now, s, c.ID, nil)
		}
		h.left--
		h.net.Part().NoteWork()
		if h.path != nil {
			h.writeEntry(now, q, c.ID, c.Status)
			h.packNote(c.ID)
			continue
		}
		h.packNote(c.ID)
		h.poll1(now, c.ID)
	}
	h.cq.Clear()
	x.qp.TakeLate()
}

// refill asks the queue pair for its next segment with data if the latest is gone, and has it wait its turn; what
// acknowledges alone goes at once.
func (h offloads) refill(now units.Time, q uint32) {
	s := &h.qps[q]
	x := s.offloaded
	if h.path != nil {
		h.askAhead(now, q)
	}
	if x.soft != nil {
		h.make(now, q)
		return
	}
	for !x.has {
		x.why, x.until = x.qp.Poll(now, &x.seg)
		switch {
		case x.why == iwarp.Pacing && !x.inHeap:
			x.inHeap = true
			h.ports[s.port].pushPaced(paced{x.until, q})
			return
		case x.why != iwarp.Sent:
			return
		}
		x.part, x.covers = *x.qp.PolledPart(), len(s.taken.accepted)
		if x.seg.Payload == 0 && x.seg.Opcode&control == 0 {
			h.acknowledge(now, q, &x.seg, x.qp.PolledSide(), x.covers)
			continue
		}
		x.has = true
		h.ready(now, q, now)
	}
}

// acknowledge sends a segment that acknowledges alone, the first messages that were taken. side may be nil.
func (h offloads) acknowledge(now units.Time, q uint32, seg *packet.Packet, side *packet.Side, messages int) {
	s := &h.qps[q]
	x := s.offloaded
	part := h.net.Part()
	slot := part.Alloc()
	pk := part.Rec(slot)
	*pk = *seg
	if side != nil {
		h.net.AddSide(pk, side)
	}
	if h.covered(now, s, messages) {
		h.net.AddStamps(pk)
	} else {
		if x.followed[replies]++; x.followed[replies] == record.SampleFrames {
			x.followed[replies] = 0
			h.net.AddSample(pk)
		}
	}
	h.answer(now, int(s.port), slot)
}

// covered notes that a segment acknowledges the first messages that were taken, and reports whether some of them for
// the first time.
func (h offloads) covered(now units.Time, s *qpSlot, messages int) (first bool) {
	t := &s.taken
	for ; t.unacked < messages; t.unacked++ {
		t.firstAcked(t.unacked, now, false, 0)
		first = true
	}
	return first
}

// paced ends a wait for pacing.
func (h offloads) paced(now units.Time, q uint32) {
	s := &h.qps[q]
	s.offloaded.inHeap = false
	h.settle(now, s)
	h.refill(now, q)
	h.changed(now, q)
	h.arm(now, q)
}

// poll sends the segment of queue pair q, whose turn it is.
func (h offloads) poll(now units.Time, p *port, q uint32) uint32 {
	s := &h.qps[q]
	x := s.offloaded
	part := h.net.Part()
	slot := part.Alloc()
	pk := part.Rec(slot)
	*pk, x.has = x.seg, false
	side := x.qp.PolledSide()
	if x.soft != nil {
		side = x.soft.sent.record()
	}
	if side != nil {
		h.net.AddSide(pk, side)
	}
	h.sent(now, now+h.net.SerialisationTime(p.fabricPort, pk.Frame), s, pk)
	p.latest = q
	if h.path != nil {
		h.onItsWay(q)
	}
	h.refill(now, q)
	h.changed(now, q)
	h.arm(now, q)
	return slot
}

// expire runs the timers of queue pair q.
func (h offloads) expire(now units.Time, q uint32) {
	s := &h.qps[q]
	h.settle(now, s)
	s.offloaded.qp.Expire(now)
	h.noteLosses(now, s, &s.offloaded.segments, true)
	h.goOn(now, q, 0)
}

// arm makes sure that a timer runs when the queue pair's deadline comes.
func (h offloads) arm(now units.Time, q uint32) {
	s := &h.qps[q]
	if d := s.offloaded.qp.Deadline(); d < s.armed {
		s.armed = d
		h.timer(d, d-now, timerQP, q)
	}
}

// Offload is what a run wants to know of one end of a queue pair that is carried by TCP.
func (h *Host) Offload(q uint32) (out iwarp.Outcome) {
	if x := h.qps[q].offloaded; x != nil {
		out = x.qp.Outcome()
	}
	return out
}

// counted is what the counters of a queue pair say.
func (h offloads) counted(q uint32) record.QP {
	s, sp := &h.qps[q], &h.specs[q]
	x := s.offloaded
	r := h.segmentsQP(s, sp, &x.segments, &sp.Offload.Config.TCP, int(q), catalog.IWARP)
	r.State, r.DeliveredBytes = x.qp.State().String(), h.taken(q)
	return r
}

// record is what a queue pair did.
func (h offloads) record(now units.Time, q uint32) record.QP {
	s, sp := &h.qps[q], &h.specs[q]
	x := s.offloaded
	r := h.counted(q)
	r.Posts, r.Polls, r.CPUPS = s.tasks[taskPost], s.tasks[taskPoll], s.busy
	r.Receives = s.tasks[taskReceive]
	if h.cpu.reposts || sp.Attrs.Receives < 0 && sp.SRQ == nil {
		r.Reposts = r.Receives
	}
	x.qp.Reception().Limits(&r.Limits)
	r.Limits.MaxRdAtomic, r.Limits.PeakReads = int64(sp.Attrs.MaxRdAtomic), int64(x.qp.PeakReads())
	r.Limits.ReadsPS = s.account.sum[Reads]
	r.Limits.MTUBytes = int64(sp.Offload.Config.MULPDU(sp.Offload.Config.Markers)) - wire.DDPTaggedLen
	r.Limits.ReadPartBytes = math.MaxUint32                             // a READ request asks for all of it
	r.TCP.ReceiveWindowPS, r.TCP.NaglePS = s.account.sum[PeerWindow], 0 // whose places others have
	c, o := x.qp.Counters(), x.qp.Outcome()
	own := &record.IWARP{FPDUs: c.FPDUs, PlacedAhead: c.PlacedAhead, KeptAhead: c.KeptAhead, Markers: x.qp.Markers()}
	if o.End != iwarp.NotEnded {
		own.Ended, own.EndedPS = o.End.String(), o.At
	}
	if o.End == iwarp.SentTerm || o.End == iwarp.GotTerm {
		own.Reason = o.Term.Code.String()
	}
	r.TCP.IWARP = own
	return r
}

func (h offloads) ledger(out []record.Entry, q uint32, _ []uint64) []record.Entry {
	x := h.qps[q].offloaded
	out = append(out, h.segmentsLedger(int(q), x.conn, catalog.IWARP)...)
	if o := x.qp.Outcome(); o.End == iwarp.SentTerm {
		out = append(out, record.Entry{Question: catalog.FedBack, Mechanism: catalog.Terminated,
			Actor: record.QPAt(catalog.IWARP, h.Name, int(q)), Act: record.Act{Count: 1, First: o.At, Last: o.At}})
	}
	return out
}
