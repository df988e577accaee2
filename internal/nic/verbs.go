package nic

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// verbs are the queue pairs of a host: RC, UC and UD.
type verbs struct{ *Host }

func (h verbs) ways(*hostPath, *MemoryPath, *host.Spec) {}

// post hands one work request to its queue pair.
func (h verbs) post(now units.Time, p Post) {
	m := h.message(p.WR.ID)
	m.QP, m.Posted = p.QP, now
	s := h.qp(now, p.QP)
	h.settle(now, s)
	h.posted(now, s, p.WR.ID, p.WR.Verb)
	h.sequence(p.QP, p.WR.ID)
	if h.path != nil {
		h.postWork(now, p.QP, &p.WR)
	}
	if err := s.qp.Post(now, p.WR); err != nil {
		h.net.Part().Bug("%s: post of message %d: %v", h.Name, p.WR.ID, err)
	}
	h.complete(now, p.QP, nil)
	h.changed(now, s)
	h.schedule(now, p.QP)
}

func (h verbs) ran(units.Time, *host.Task) {}

func (h verbs) callsOn(uint32) (core int, by kernelCall) { return 0, noCall }

// deliver gives a frame to its queue pair and sends what that answers.
func (h verbs) deliver(now units.Time, i int, slot uint32) {
	part := h.net.Part()
	pk := part.Rec(slot)
	q, here := h.meant(pk)
	if !here { // for one that is over: a notification, or an answer that another has overtaken
		h.net.FreeSides(pk)
		part.Free(slot)
		return
	}
	if int(q) >= len(h.qps) {
		part.Bug("%s: packet for queue pair %d of %d", h.Name, q, len(h.qps))
	}
	s := h.qp(now, q)
	h.replies.N, h.replies.CNPAfter = 0, 0
	if pk.Kind == packet.CNP && h.hearsLater(now, q, slot) || h.heedsLater(now, slot) {
		return
	}
	if pk.Kind == packet.Data {
		h.deliverRequest(now, q, pk)
	} else {
		h.deliverAnswer(now, q, pk)
	}
	if s.watched && h.path == nil { // else when it is placed
		h.accepted(now, q)
	}
	if d := h.replies.CNPAfter; d > 0 {
		h.timer(now+d, d, timerQP, h.number(q)|lateCNP)
	}
	h.reply(now, i, slot)
}

// poll asks queue pair q for a packet. It is out of the run queue where that has none now.
func (h verbs) poll(now units.Time, p *port, q uint32) uint32 {
	s := &h.qps[q]
	if h.path != nil && !h.mayPoll(now, q) {
		return 0
	}
	if wait := h.fetch(now, q); wait > 0 {
		h.ready(now, q, now+wait)
		return 0
	}
	part := h.net.Part()
	slot := part.Alloc()
	pk := part.Rec(slot)
	bound := ^uint32(0)
	if p.credited {
		bound = s.qp.NextFrame()
	}
	why, until := s.qp.Poll(now, pk)
	switch why {
	case rdma.Sent:
		if pk.Frame > bound {
			part.Bug("%s qp %d: a packet of %d B where %d were expected", h.Name, q, pk.Frame, bound)
		}
		end := now + h.net.SerialisationTime(p.fabricPort, pk.Frame)
		h.sentOne(now, end, until, q)
		if pk.Kind == packet.Ack { // the memory of a READ is gone: a NAK, in place of its response
			h.heldAck(now, q, slot)
			h.heldAcks(now, q)
			h.changed(now, s)
			h.arm(now, q)
			return 0
		}
		p.latest = q
		if side := s.qp.PolledSide(); side != nil {
			h.net.AddSide(pk, side)
		}
		if pk.Kind == packet.Response {
			h.responded(now, end, s, pk)
			h.heldAcks(now, q)
		} else {
			h.sent(now, end, s, pk, s.qp.PolledLast())
		}
		h.changed(now, s)
		h.arm(now, q)
		if s.qp.Steered() {
			h.steered(now, q, pk)
		}
		return slot
	case rdma.RateLimit:
		h.ready(now, q, until)
	}
	part.Free(slot)
	if h.completions() { // a local error took it to SQE, or a refusal that waited to ERR
		h.complete(now, q, nil)
		h.changed(now, s)
	}
	h.noteResponding(s) // it may have left out what was asked for again
	return 0
}

func (h verbs) nextFrame(q uint32) uint32 { return h.qps[q].qp.NextFrame() }

func (h verbs) paced(now units.Time, q uint32) {
	since := h.qps[q].since
	h.ready(now, q, now)
	h.qps[q].since = since
	h.look(now, &h.qps[q])
}

// expire runs a queue pair's timer, or sets it again when the deadline moved.
func (h verbs) expire(now units.Time, q uint32) {
	s := &h.qps[q]
	if s.qp.Deadline() <= now {
		h.settle(now, s)
		armed, timeouts := s.qp.Armed(now), s.qp.Timeouts()
		s.qp.Expire(now)
		if s.qp.Timeouts() > timeouts {
			s.accounted(now).timedOut(now, armed)
		}
		h.complete(now, q, nil)
		h.changed(now, s)
		h.schedule(now, q)
		if s.qp.Steered() {
			h.probe(now, q)
		}
	}
	h.arm(now, q)
}

func (h verbs) completes() bool { return true }

func (h verbs) waiting(q uint32) int64 { return h.qps[q].qp.ReceivesWaiting() }

func (h verbs) whole(q uint32, before int) int {
	const msnMask = 1<<24 - 1
	if h.path != nil {
		return h.path.qps[q].messages - before
	}
	return int((h.qps[q].qp.MSN() - uint32(before)) & msnMask)
}

// taken is what the queue pair took as responder, and of READ responses as requester.
func (h verbs) taken(q uint32) int64 {
	qp := h.qps[q].qp
	return qp.Delivered() + qp.ReadBytes()
}

func (h verbs) rate(now units.Time, q uint32) (rate, least units.Rate) {
	return h.qps[q].qp.RateAt(now)
}

func (h verbs) window(q uint32) int64 { return h.qps[q].qp.WindowNow() }

func (h verbs) held(uint32) int { return 0 }

// counted is what the counters of a queue pair say.
func (h verbs) counted(q uint32) record.QP {
	s, sp := &h.qps[q], &h.specs[q]
	c := s.qp.Counters()
	return record.QP{
		Host: h.Name, QP: int(q), Layer: h.net.Layer(h.ports[s.port].fabricPort),
		Peer: record.QPAt(catalog.RC, sp.PeerHost, int(sp.PeerQP)), Workload: sp.Entry, State: s.qp.State().String(),
		SentPackets: c.SentPackets, SentBytes: c.SentBytes, DeliveredBytes: h.taken(q),
		Retransmitted: c.Retransmitted, RetransmittedBytes: c.RetransmittedBytes,
		CNPsSent: c.CNPsSent, CNPsReceived: c.CNPsReceived, CNPsLimited: c.CNPsLimited, CNPsIgnored: c.CNPsIgnored,
		NAKsSent: c.NAKsSent, Timeouts: c.Timeouts,
	}
}
func (h verbs) worked(now units.Time, q uint32) { h.schedule(now, q) }

func (h verbs) repost(q uint32) { h.qps[q].qp.PostReceive(1) }

func (h verbs) oldest(q uint32) uint32 { return h.qps[q].qp.OldestAnswer() }

func (h verbs) timeouts(uint32) []units.Time { return nil }

// record is what a queue pair did.
func (h verbs) record(now units.Time, q uint32) record.QP {
	s := &h.qps[q]
	c, sp := s.qp.Counters(), &h.specs[q]
	rate := s.qp.Rate(now) // lets the timers up to now run
	cuts, increases, _, least, ok := s.qp.Slowed()
	if !ok {
		least = rate
	}
	r := h.counted(q)
	r.RateCuts, r.FinalRateBps, r.MinRateBps = cuts.Count+increases.Count, rate, least
	r.MeasuredBytes, r.Limits = s.measured[1]-s.measured[0], s.qp.Limits(now)
	r.Posts, r.Polls, r.CPUPS = s.tasks[taskPost], s.tasks[taskPoll], s.busy
	r.Receives = s.tasks[taskReceive]
	if h.cpu.reposts || sp.Attrs.Receives < 0 && sp.SRQ == nil { // always enough: the application keeps it so
		r.Reposts = r.Receives
	}
	r.Service, r.Discards = discards(s.qp, sp.Service)
	ccti, _ := s.qp.PeakCCTI()
	r.PeakCCTI, r.PeakAhead = int32(ccti), int32(s.qp.PeakAhead())
	if cc := s.qp.CC(); cc != nil {
		r.AtMinRatePS = cc.AtFloor(now)
		r.Limits.CNPLimiter = h.cnpLimiter(int(q), &c)
	}
	if since := h.InVain(q); since != units.Never {
		r.RefusedPS = since
	}
	r.ContextMisses, r.TranslationMisses = s.contextMisses, s.translationMisses
	if a := s.account; a != nil {
		r.Limits.WindowPS, r.Limits.RatePS = a.sum[Window], a.sum[Rate]
		r.Limits.SlowRestartPS = a.sum[SlowRestart]
		r.Limits.BitmapPS, r.Limits.ReadsPS = a.sum[Bitmap], a.sum[Reads]
	}
	return r
}

func (h verbs) ledger(out []record.Entry, q uint32, lossy []uint64) []record.Entry {
	conn := h.specs[q].Conn
	lost, at := lossy[conn/64]>>(conn%64)&1 != 0, record.QPAt(catalog.RC, h.Name, int(q))
	actsOf(h.qps[q].qp, lost, func(question catalog.Question, m catalog.Mechanism, a record.Act) {
		out = append(out, record.Entry{Question: question, Mechanism: m, Actor: at, Act: a})
	})
	return out
}

// retire gives back the queue pair. What accounts are made from stays: what was accepted and answered, and
// what was sent again.
func (h verbs) retire(q uint32) {
	s := &h.qps[q]
	s.qp, s.exists = nil, false
	if a := s.account; a != nil && a.log == nil && a.resends == nil && a.serving == nil {
		s.account = nil
	}
}
