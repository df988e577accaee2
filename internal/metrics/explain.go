package metrics

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Dominant is what took most of a message's time: one stage at one place, or
// several stages that stem from the same cause.
type Dominant struct {
	Stage  catalog.Stage // the longest of Parts
	Where  string        // the cause in words: port, queue pair or host responsible
	Cause  Cause
	TimePS units.Time
	Milli  int64 // share of the completion time, in thousandths
	How    string
	// Parts are the stages that add up to TimePS, the longest first.
	Parts []Part

	longest spell // gives the words
	tells   tells // what How tells of
	// Loss says which port dropped packets of the message or of those it had to wait
	// for, where that is not what How tells; else it is empty.
	Loss string
	// Core says which cores of either end were full, where that is not what How tells:
	// work that waits for a core shows in other stages as well.
	Core string
}

// Part is a stage's share of a Dominant.
type Part struct {
	Stage  catalog.Stage
	TimePS units.Time
	Milli  int64 // share of the completion time, in thousandths
}

// DominantStage names the stage of message i that took most of its time and says
// in words what stands behind it, looked up in the records. It is zero for a
// message without account.
func DominantStage(r *record.Run, i int) Dominant {
	d, _ := Explain(r, i)
	return d
}

// Explain returns the dominant stage of message i and its ceiling, which is nil
// where the record knows no path or the message has no payload.
func Explain(r *record.Run, i int) (Dominant, *Ceiling) { return ExplainIn(lang.English, r, i) }

// ExplainIn is Explain with the sentences in a language.
func ExplainIn(l lang.Language, r *record.Run, i int) (Dominant, *Ceiling) {
	f := &r.Messages[i]
	x := newIndexIn(l, r)
	x.thorough = true
	k, ok := x.sender(f)
	if !ok {
		return Dominant{}, nil
	}
	d := Dominant{}
	if !f.Account.IsZero() {
		if d = x.dominant(f, false); d.tells&tellsDrops == 0 {
			d.Loss = x.alsoLost(f)
		}
		if d.tells&tellsCores == 0 {
			d.Core = x.sayFullCores(f, &r.QPs[k])
		}
	}
	c := x.ceiling(f, &r.QPs[k])
	if c != nil {
		c.Shared = x.sayShared(f, &r.QPs[k])
	}
	return d, c
}

// Dominant is DominantStage of message i.
func (e *Explainer) Dominant(i int) Dominant {
	f := &e.x.r.Messages[i]
	if _, ok := e.x.sender(f); !ok || f.Account.IsZero() {
		return Dominant{}
	}
	e.x.thorough = true
	defer func() { e.x.thorough = false }()
	return e.x.dominant(f, false)
}

// blameKey names a stage of a queue pair's messages. judged is what of the message itself
// decides where the cause lies.
type blameKey struct {
	stage  int32
	q      *record.QP
	judged bool
}

// maxBlames bounds what blame remembers.
const maxBlames = 1 << 16

// ofItsTime are the stages whose cause is looked for in the message's own time.
var ofItsTime = [...]catalog.Stage{
	catalog.StageRate, catalog.StageRNRWait, catalog.StageAwaitRNR, catalog.StageLoss, catalog.StageResending,
}

// blame is where the cause of a stage lies, without the words of say. It is the same for most
// messages of a queue pair.
func (x *index) blame(f *record.Message, q *record.QP, stage int32) Cause {
	s := &x.stages.known[stage]
	if !s.elsewhere {
		return x.itself(s, q)
	}
	if len(x.r.Failures) > 0 || len(x.met(f)) > 0 || q.Is(catalog.Segments) || slices.Contains(ofItsTime[:], s.base) ||
		s.base == catalog.StageRead && f.Bytes > q.Limits.MTUBytes {
		cause, _ := x.say(f, q, s)
		return cause
	}
	key := blameKey{stage, q, false}
	switch s.base {
	case catalog.StageQueue:
		p := x.ports[portClass{s.port(), q.Limits.Class}]
		key.judged = p != nil && x.heldLong(p, f, false)
	case catalog.StageWindow:
		key.judged = x.stretched(f, q, q.Limits.WindowBytes) != nil
	case catalog.StageBitmap:
		key.judged = x.stretched(f, q, bitmapPackets(q)*q.Limits.MTUBytes) != nil
	case catalog.StageReads:
		_, _, key.judged = x.readsFill(f)
	}
	cause, known := x.blames[key]
	if !known {
		cause, _ = x.say(f, q, s)
		if x.blames == nil || len(x.blames) >= maxBlames {
			x.blames = map[blameKey]Cause{}
		}
		x.blames[key] = cause
	}
	return cause
}

// itself is a stage as its own cause.
func (x *index) itself(s *stageKnown, q *record.QP) Cause {
	own := Cause{Kind: s.stage.Cause(), Place: q.Place()}
	if own.Kind == catalog.CauseStaged && q.Is(catalog.Streams) { // which has no GPUDirect
		own.Kind = catalog.CauseInside
	}
	switch {
	case s.at == nil, own.Kind == catalog.CauseStaged: // of both ends together
	case own.Kind == catalog.CauseFault:
		own = ofCard(s.at.Node)
	case own.Kind == catalog.CausePort: // with its class, as where more is known
		own = x.portCause(s.port(), q)
	default:
		own.Place = *s.at
	}
	return own
}

// say tells of a stage: its cause, and in words what stands behind it. q is the queue
// pair whose packets passed the stage.
func (x *index) say(f *record.Message, q *record.QP, s *stageKnown) (cause Cause, how string) {
	me := qpActor(q)
	where := cmp.Or(s.where, me)
	own := x.itself(s, q)
	defer x.restore(x.known.from, x.known.to)
	x.during(f)
	if s.ack {
		return x.sayAck(s, where, f, q)
	}
	switch s.base {
	case catalog.StageRate:
		return x.sayRate(f, q, me)
	case catalog.StageWindow:
		return x.sayWindow(f, q, me)
	case catalog.StageBitmap:
		return x.sayBitmap(f, q, me)
	case catalog.StageReads:
		return x.sayReads(f, q, me)
	case catalog.StageRNRWait, catalog.StageAwaitRNR:
		at := record.Place{Kind: catalog.AtReceiveQueue, Node: record.HostOf(f.Dst)}
		cause = Cause{Kind: catalog.CauseReceives, Place: at}
		return cause, x.l.Sprintf("%s waited for receive work requests at %s", me, f.Dst)
	case catalog.StagePaused, catalog.StageCredits:
		return x.sayPaused(s.port(), f, q)
	case catalog.StageQueue:
		return x.sayQueue(s.port(), f, q)
	case catalog.StageReceiveBuffer:
		if l := x.stagedIn(f, q, true); l != nil {
			how = x.l.Sprintf("it waited in the receive buffer of %s: %s", s.port(), staging(x.l, l))
			return Cause{Kind: catalog.CauseStaged, Place: q.Place()}, how
		}
		return x.sayReceiveBuffer(x.l.Of("it waited"), s.port(), q)
	case catalog.StageResending, catalog.StageLoss:
		return x.sayLoss(s.base, &own, q, f)
	}
	switch s.base {
	case catalog.StageHung:
		own = ofCard(s.port().Node)
	case catalog.StageRead:
		return x.sayRead(f, q, own)
	case catalog.StageWorkFetch:
		if taken := x.takenUp(f, q); taken != "" {
			return Cause{Kind: catalog.CauseMessages, Place: q.Place()}, taken
		}
		if l := x.insideLimit(q, false); l != nil { // the same way
			own = insideCause(l)
		}
	}
	if q.Is(catalog.Segments) {
		if cause, how := x.sayStream(f, q, s, own); how != "" {
			return cause, how
		}
	}
	return own, x.sayOwn(s.stage, where, s.port(), f, q)
}

// whyNarrow is what made the window of a queue pair small.
func (x *index) whyNarrow(q *record.QP) string {
	if x.done(catalog.AckTimeout, q.Place()) || x.done(catalog.RTO, q.Place()) {
		return x.l.Of("a timeout")
	}
	return x.l.Of("it was idle")
}

// peerHost is the host of a queue pair's peer.
func peerHost(q *record.QP) string {
	return q.Peer.Node
}

// bufferOf is a host's receive buffer as a cause, or what inside the host fills it.
func (x *index) bufferOf(host string) Cause {
	if x.faultOf(host) != nil {
		return ofCard(host)
	}
	cause := Cause{Kind: catalog.CauseReceiver, Place: record.Place{Kind: catalog.AtReceiveBuffer, Node: host}}
	if l := x.drain(host); l != nil && l.Inside != nil {
		cause.Kind, cause.Why = catalog.CauseInside, l.Inside.Why
	}
	return cause
}

// inOrder is what a message waited for that was answered already.
const inOrder = "all of it was answered, but completions keep the order of posting and an earlier READ was not complete"

// sayOwn tells of the stages that stand for themselves.
func (x *index) sayOwn(on catalog.Stage, where string, at record.PortID, f *record.Message, q *record.QP) string {
	me, stage := qpActor(q), on.Base()
	if how := x.sayInside(f, where, stage, q); how != "" {
		return how
	}
	switch stage {
	case catalog.StageOther:
		return x.l.Sprintf("%s served %s first%s", where, x.others(at, q), x.sharedCard(at, q))
	case catalog.StageHung:
		if f := x.faultOf(at.Node); f != nil {
			return x.l.Of("the NIC of ") + at.Node + " " + SayFault(x.l, f)
		}
	case catalog.StageControl:
		return where + x.l.Of(" sent ACKs, CNPs or PFC frames first")
	case catalog.StageCPU:
		return x.l.Sprintf("the application on %s had not posted it yet", where)
	case catalog.StageConnect:
		return x.l.Sprintf("%s set its connection up first", where)
	case catalog.StageRegister:
		return x.l.Sprintf("%s registered its memory first", where)
	case catalog.StageEarlierWork:
		return x.sayEarlier(on.Leg(), q, me)
	case catalog.StageSending:
		return x.l.Sprintf("%s put it on the wire at the line's rate, %s", me, FormatRate(q.Limits.LineBps))
	case catalog.StageSlowRestart:
		return x.l.Sprintf("slow restart kept the window of %s small after %s", me, x.whyNarrow(q))
	case catalog.StageFence:
		return x.l.Sprintf("%s let it wait for the READs and atomics before it: it is fenced", me)
	case catalog.StageFetch:
		return x.l.Of("the NIC fetched what its caches did not hold for ") + me
	case catalog.StageInOrder:
		return x.l.Of(inOrder)
	case catalog.StageAwaitAck:
		if f.Refused() {
			return x.l.Sprintf("%s had sent all of it, and %s refused it: %s", me, record.HostOf(f.Dst), f.Status)
		}
		if f.Status == "WR_FLUSH_ERR" {
			return x.l.Sprintf("%s had sent all of it when a message before it failed", me)
		}
		return x.l.Sprintf("%s had sent all of it and %s had not acknowledged it", me, record.HostOf(f.Dst))
	case catalog.StageIdle:
		return me + x.l.Of(" had nothing to send")
	case catalog.StageResponses:
		how := x.l.Sprintf("responses of %s arrived, up to one that was lost", record.HostOf(f.Dst))
		if _, because := x.lostWhere(f, q, true); because != "" {
			how += x.l.Of("; ") + because
		} else if p, drop := x.dropped(q); p != nil {
			how += x.l.Of("; ") + x.sayDropped(p, drop)
		}
		return how
	case catalog.StageReordered:
		return x.l.Sprintf("packets of %s that were sent earlier arrived after its last one", me)
	case catalog.StageBeyond:
		return x.l.Of("its way had more hops than the record holds")
	case catalog.StageLatency:
		x.tells |= tellsPlace
		return x.l.Of("a packet takes that long through the pipeline of ") + where
	case catalog.StageJitter:
		return x.l.Sprintf("noise brought a packet from %s that much later into the switch ahead (docs/models/noise.md)",
			where)
	case catalog.StagePropagation:
		x.tells |= tellsPlace
		return x.l.Of("a signal takes that long along the cable ") + where
	case catalog.StageSerialisation:
		x.tells |= tellsPlace
		return x.saySerialisation(where, q)
	}
	x.tells |= tellsPlace
	return on.In(x.l) + x.l.Of(" at ") + where
}

func (x *index) saySerialisation(port string, q *record.QP) string {
	for _, h := range q.Limits.Path {
		if h.Port.String() == port {
			return x.l.Sprintf("a packet takes that long onto the link at %s of %s", FormatRate(h.RateBps), port)
		}
	}
	return x.l.Of("a packet takes that long onto the link of ") + port
}

// sayRate tells what congestion control did to a queue pair, and which port of
// its path marked, if one did.
func (x *index) sayRate(f *record.Message, q *record.QP, me string) (cause Cause, how string) {
	cause = Cause{Kind: catalog.CauseRate, Place: q.Place()}
	goodput := x.ownRate(f)
	if goodput == 0 {
		goodput = q.FinalRateBps
	}
	switch {
	case x.notified(q):
		words := q.Layer.Words(x.l)
		at := x.l.Sprintf("at %s", FormatRate(goodput))
		if goodput < q.MinRateBps { // of a message that mostly waited for others
			at = x.l.Of("back")
		}
		if says := x.cutsBy(q); says != "" {
			return x.sayControlled(f, q, x.l.Sprintf("%s held %s %s, as %s", q.Limits.Control(), me, at, says), cause)
		}
		if q.Limits.Control() != "" {
			words.Control = q.Limits.Control()
		}
		if q.CNPsReceived == 0 && q.Limits.Control() != "" {
			return x.sayControlled(f, q, x.l.Sprintf("%s held %s %s, %s", words.Control, me, at, x.l.Of(ownReasons)), cause)
		}
		notice, on := x.notice(q)
		how = x.l.Sprintf("%s held %s %s after %ss%s from %s", words.Control, me, at, notice, on, peerHost(q))
		if x.known.to == 0 { // of the queue pair's life
			how = x.l.Sprintf("%s held %s %s (lowest rate %s) after %s%s from %s", words.Control, me, at,
				FormatRate(q.MinRateBps), plural(x.l, q.CNPsReceived, notice), on, peerHost(q))
		}
		p, met, known := x.marked(f)
		switch {
		case p != nil:
			cause, how = x.sayMarked(p, &met, f, q, how)
			if at, because := x.cardBinds(f, q); because != "" {
				return at, how + because
			}
			return cause, how + x.missing(f, q)
		case known:
			if at, because := x.lostWhere(f, q, false); because != "" && words.Message == "CNP" {
				return at, how + x.l.Of(", sent for losses: ") + because
			}
			return cause, how
		}
		if p := x.firstMarked(q); x.heldMarks(p, f) {
			return x.sayMarkedHeld(p, q, x.l.Sprintf("%s; %s marked packets", how, p.ID()))
		} else if p != nil {
			return atPort(p), x.l.Sprintf("%s; %s marked packets%s", how, p.ID(), x.filledBy(p))
		}
		return cause, how
	case q.Limits.InitialBps > 0 && q.Limits.InitialBps < q.Limits.LineBps:
		how = x.l.Sprintf("%s began at its initial rate of %s", me, FormatRate(q.Limits.InitialBps))
		return cause, how + x.l.Of(" and no CNP reached it")
	case q.Limits.MaxBps > 0 && q.Limits.MaxBps < q.Limits.LineBps:
		return cause, x.l.Sprintf("%s may send %s at most", me, FormatRate(q.Limits.MaxBps))
	}
	return cause, x.l.Of("pacing held ") + me
}

// missing says that notifications of congestion for a message's connection were dropped on their way back, in
// words that follow; "": none was. They travel in a class that its data and the acknowledgements of them do not.
func (x *index) missing(f *record.Message, q *record.QP) string {
	var most *record.Lost
	lost := x.lost(f)
	for i := range lost {
		l := &lost[i]
		if l.Answer && int(l.Class) != q.Limits.Class && (most == nil || l.Acts.Total().Count > most.Acts.Total().Count) {
			most = l
		}
	}
	k, ok := x.peer(q)
	if most == nil || !ok || x.r.QPs[k].Limits.CEOnAck || x.r.QPs[k].CNPsSent <= q.CNPsReceived {
		return ""
	}
	words, n := q.Layer.Words(x.l), most.Acts.Total().Count
	what := plural(x.l, n, words.Message)
	if n > x.r.QPs[k].CNPsSent-q.CNPsReceived { // acknowledgements that have a class of their own
		what = plural(x.l, n, "frame") + ", " + words.Message + x.l.Of("s among them,")
	}
	return x.l.Sprintf("; on the way back %s dropped %s in priority %d, so that it was told late or not at all",
		x.metPort(&record.Met{Port: most.Port}), what, most.Class)
}

// ownRate is the payload of a message over the time from when its queue pair came to it; 0 of one that did
// not succeed.
func (x *index) ownRate(f *record.Message) units.Rate {
	if Goodput(f) == 0 {
		return 0
	}
	took := took(f)
	for _, t := range x.stages.read(f.Account) {
		if s := &x.stages.known[t.number]; s.base == catalog.StageEarlierWork && !s.ack && !s.response {
			took -= t.time
		}
	}
	return RateOf(f.Bytes, took)
}

// notified reports whether congestion control had slowed a queue pair by the end of the time
// that is asked about.
func (x *index) notified(q *record.QP) bool {
	known := false
	for _, m := range x.slowing(q) {
		if x.actOf(m, q).Count > 0 {
			known = true
			if x.done(m, q.Place()) {
				return true
			}
		}
	}
	return !known && q.CNPsReceived > 0
}

// sayEarlier tells what the messages of a queue pair, of which one waited for
// earlier ones, spent most time on at it.
func (x *index) sayEarlier(leg catalog.Leg, q *record.QP, me string) string {
	how := x.l.Of("earlier messages of ") + me + x.l.Of(" were not sent yet")
	if most := x.longest(spentAt{qpKey{q.Host, q.QP}, leg}); most != "" {
		how += x.l.Of("; what held its messages most: ") + most
	}
	return how
}

// longest is the stage at a queue pair, as requester or as responder,
// that took most time of its messages, with its share of the time that they spent
// there; "" if none took any.
func (x *index) longest(at spentAt) string {
	x.together.once.Do(x.addSpent)
	x.keepers = x.together.keepers
	if all := x.together.spent[at]; all != nil {
		return all.words
	}
	return ""
}

// spentAt names a queue pair as requester or responder.
type spentAt struct {
	qp  qpKey
	leg catalog.Leg
}

// sayWindow tells whether the idle round trip or queues on the way made the
// window bind.
func (x *index) sayWindow(f *record.Message, q *record.QP, me string) (cause Cause, how string) {
	l := &q.Limits
	if l.Windowed() {
		how = x.l.Sprintf("%s's window let %s send no more per round trip", l.Control(), me)
		if says := x.cutsBy(q); says != "" && x.notified(q) {
			return x.sayControlled(f, q, how+x.l.Of(", and had become small, as ")+says,
				Cause{Kind: catalog.CauseWindow, Place: q.Place()})
		}
		return x.sayOutstanding(f, q, catalog.CauseWindow, how, l.WindowBytes)
	}
	how = x.l.Sprintf("the window of %s let %s send no more than that per round trip", FormatBytes(l.WindowBytes), me)
	return x.sayOutstanding(f, q, catalog.CauseWindow, how, l.WindowBytes)
}

// sayReads tells of the limit of outstanding READs and atomics: whether that is what holds
// those that follow, or the responses to those before, which fill the way.
func (x *index) sayReads(f *record.Message, q *record.QP, me string) (cause Cause, how string) {
	n := strconv.FormatInt(q.Limits.MaxRdAtomic, 10)
	if allows, best, fill := x.readsFill(f); fill {
		return Cause{Kind: catalog.CauseEarlier, Place: q.Place()}, x.l.Sprintf("%s had as many READs and atomics "+
			"outstanding as max_rd_atomic allows, %s: these bring %s, where all else allows %s",
			me, n, FormatRate(allows), FormatRate(best))
	}
	how = me + x.l.Of(" had as many READs and atomics outstanding as max_rd_atomic allows: ") + n
	return Cause{Kind: catalog.CauseReads, Place: q.Place()}, how
}

// readsFill reports whether as many READs as may be outstanding bring more than half of what
// the way and all other limits allow: then it is they that a READ waits for, as more at once
// would save less than half of its wait.
func (x *index) readsFill(f *record.Message) (allows, best units.Rate, fill bool) {
	k, ok := x.sender(f)
	if !ok || f.Bytes == 0 {
		return 0, 0, false
	}
	for _, l := range x.bounds(f, &x.r.QPs[k]).Limits {
		switch {
		case l.Name == limitReads:
			allows = l.Bps
		case best == 0 || l.Bps < best:
			best = l.Bps
		}
	}
	return min(allows, best), best, 2*allows > best
}

// sayBitmap tells the same of the receive bitmap of selective repeat.
func (x *index) sayBitmap(f *record.Message, q *record.QP, me string) (cause Cause, how string) {
	l := &q.Limits
	packets := bitmapPackets(q)
	if l.BitmapPackets == 0 {
		how = x.l.Sprintf("half the PSN space let %s send no more than %s per round trip", me, plural(x.l, packets, "packet"))
	} else {
		how = x.l.Sprintf("the receive bitmap of %s let %s send no more than that per round trip",
			plural(x.l, packets, "packet"), me)
	}
	return x.sayOutstanding(f, q, catalog.CauseBitmap, how, packets*l.MTUBytes)
}

// bitmapPackets is how many packets may be outstanding: as many as the receive bitmap
// holds, or half the PSN space.
func bitmapPackets(q *record.QP) int64 { return cmp.Or(q.Limits.BitmapPackets, 1<<23-1) }

// sayOutstanding goes on, of a limit of so many bytes outstanding.
func (x *index) sayOutstanding(f *record.Message, q *record.QP, limit catalog.Cause, how string, most int64) (cause Cause, said string) {
	if cause, because, known := x.sayStretched(f, q, most); because != "" {
		how += x.l.Of(", which was long, as ") + because
		if cause.Kind == catalog.CausePort && x.limitSaves(f, q, cause.Place.PortID(), x.heldBy(f, limit)) {
			return Cause{Kind: limit, Place: q.Place()}, how + x.l.Of(butMore)
		}
		return cause, how
	} else if m, wait := x.longestWait(f); known && m != nil && x.busyWay(f, q, x.heldBy(f, limit)) &&
		!x.limitSaves(f, q, x.metPort(m), x.heldBy(f, limit)) {
		cause, because = x.sayWait(f, q, m, wait)
		return cause, how + x.l.Of(", which took longer, as ") + because
	} else if known {
		return Cause{Kind: limit, Place: q.Place()}, how + ", " + FormatTime(q.Limits.BaseRTTPS) + x.l.Of(" when idle")
	}
	deepest := x.stretched(f, q, most)
	if deepest == nil {
		return Cause{Kind: limit, Place: q.Place()}, how + ", " + FormatTime(q.Limits.BaseRTTPS) + x.l.Of(" when idle")
	}
	name := deepest.ID()
	return atPort(deepest), x.l.Sprintf("%s, which the queue of %s stretched (%s on average)%s", how, name,
		FormatBytes(int64(deepest.MeanQueueBytes)), x.sharedBy(name, q))
}

// stretched is the port whose queue made the round trip of a message so long that a limit
// of so many bytes outstanding held it, as far as ports of the whole run tell; nil: none did, or the
// run wrote down what packets met (see sayStretched).
func (x *index) stretched(f *record.Message, q *record.QP, most int64) (deepest *record.Port) {
	goodput := Goodput(f)
	if x.witnessed() || goodput == 0 || RateOf(most, q.Limits.BaseRTTPS) < goodput*11/10 {
		return nil
	}
	for _, h := range q.Limits.Path {
		p := x.ports[portClass{h.Port, q.Limits.Class}]
		if p != nil && (deepest == nil || p.MeanQueueBytes > deepest.MeanQueueBytes) {
			deepest = p
		}
	}
	// A queue that holds a fifth of the window on average stretches the round trip.
	if deepest == nil || deepest.MeanQueueBytes < float64(most)/5 {
		return nil
	}
	return deepest
}

// sharedBy counts the other queue pairs that sent through a port in the time that is asked
// about, in words that follow its name.
func (x *index) sharedBy(port record.PortID, q *record.QP) string {
	mine := slices.ContainsFunc(q.Limits.Path, func(h *record.PathHop) bool { return h.Port == port })
	switch n := x.beside(port, q, false); {
	case n == 0:
		return ""
	case mine:
		return x.l.Sprintf(", shared with %s", plural(x.l, n, "other queue pair"))
	case n == 1:
		return x.l.Of(", which this message does not take but 1 other queue pair does")
	default:
		return x.l.Sprintf(", which this message does not take but %s do", plural(x.l, n, "other queue pair"))
	}
}

func (x *index) others(port record.PortID, q *record.QP) string {
	n := x.beside(port, q, true)
	if n < 1 {
		return x.l.Of("other traffic")
	}
	return plural(x.l, n, "other queue pair")
}

// WhyRate says in words what held the rate of a queue pair; empty: the record has none.
func WhyRate(l lang.Language, r *record.Run, at record.Place) string {
	for i := range r.QPs {
		if q := &r.QPs[i]; q.Place() == at {
			_, how := newIndexIn(l, r).sayRate(&record.Message{}, q, q.Name())
			return how
		}
	}
	return ""
}
