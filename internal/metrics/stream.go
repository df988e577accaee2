package metrics

import (
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// sayStream tells of the stages that only TCP has, and of the work of hosts for it; how is ""
// of any other stage.
func (x *index) sayStream(f *record.Message, q *record.QP, s *stageKnown, own Cause) (cause Cause, how string) {
	me := qpActor(q)
	switch s.base {
	case catalog.StageSendBuffer, catalog.StageCardBuffer, catalog.StageCwnd, catalog.StageReceiveWindow,
		catalog.StageDetection, catalog.StageTimeout:
		if hung := x.hungFor(f, q, s.base); hung != nil {
			return ofCard(hung.Node), x.l.Sprintf("nothing came back: the NIC of %s %s", hung.Node, SayFault(x.l, hung))
		}
	}
	switch s.base {
	case catalog.StageHandshake:
		return own, x.l.Sprintf("%s opened its connection first", me)
	case catalog.StageSendBuffer:
		how = x.l.Sprintf("the socket of %s had no room for what was to be written: its buffer holds %s until that is "+
			"acknowledged", me, FormatBytes(q.TCP.SendBuffer))
		return x.sayTrip(f, q, own, how, x.l.Of("too little for"))
	case catalog.StageCardBuffer:
		how = x.l.Sprintf("the card had no room for more of %s: it holds %s of a stream until that is acknowledged",
			me, FormatBytes(q.TCP.SendBuffer))
		return x.sayTrip(f, q, own, how, x.l.Of("too little for"))
	case catalog.StageCwnd:
		return x.sayCwnd(f, q, own)
	case catalog.StageReceiveWindow:
		return x.sayReceiveWindow(f, q, own)
	case catalog.StagePacing:
		return own, x.l.Sprintf("%s spreads its segments over the round trip", me)
	case catalog.StageNagle:
		return own, x.l.Sprintf("Nagle's rule held a small segment of %s back until what went before was acknowledged", me)
	case catalog.StageDetection:
		return x.lossOf(f, q, own, me+x.l.Of(" waited for duplicates, time or a probe to tell of a loss"))
	case catalog.StageTimeout:
		how = x.l.Sprintf("nothing came back until the retransmission timer of %s expired", me)
		return x.lossOf(f, q, own, how)
	case catalog.StageReassembly:
		how = x.l.Sprintf("segments of %s that were sent earlier arrived after its last one", me)
		if cause, because := x.lostWhere(f, q, Reads(f)); because != "" {
			return cause, how + x.l.Of("; ") + because
		}
		return own, how
	}
	switch s.base { // of sockets' kernels, and of one that runs iWARP
	case catalog.StageSoftirq:
		return coresAt(s.at.Node), s.where + x.l.Of(" had not taken it out of its receive queue and through its layers yet")
	case catalog.StageKernel:
		return coresAt(q.Host), x.l.Sprintf("the kernel under %s copied it and made segments of it", me)
	}
	if q.Cores() == nil {
		if s.base == catalog.StageUnread {
			return own, x.l.Sprintf("the application on %s had not read it yet", s.where)
		}
		return own, ""
	}
	switch s.base {
	case catalog.StageCPU:
		return coresAt(s.at.Node), x.l.Sprintf("the application on %s had not written it yet", s.where)
	case catalog.StageUnread:
		return coresAt(s.at.Node), x.l.Sprintf("the application on %s had not read it yet", s.where)
	}
	return own, ""
}

// coresAt is the work of a host's cores as a cause, with the interrupts that they wait for.
func coresAt(host string) Cause { return Cause{Kind: catalog.CauseCore, Place: record.HostAt(host)} }

// sayReceiveWindow tells what kept the window full that q's peer grants.
func (x *index) sayReceiveWindow(f *record.Message, q *record.QP, own Cause) (cause Cause, how string) {
	how = x.l.Sprintf("the receive window that %s grants was full", q.Peer)
	if x.updatesLost(q) > 0 && (!x.witnessed() || len(x.lost(f)) > 0) {
		how += x.l.Of(", and an update that said there was room again was lost: ")
		return own, how + qpActor(q) + x.l.Of(" had to wait for its persist timer")
	}
	k, ok := x.peer(q)
	if !ok || !x.r.QPs[k].Is(catalog.Segments) {
		return own, how + x.l.Of(": its application reads too slowly, or its buffer is too small for the path")
	}
	p := &x.r.QPs[k]
	if full := x.fullCores(p, busyCore); len(full) > 0 {
		return coresAt(p.Host), how + x.l.Of(": ") + strings.Join(full, "; ")
	}
	if peer := p.TCP; peer.Unscaled {
		how += x.l.Sprintf(": without window scaling (RFC 7323) it is %s at most", FormatBytes(unscaledWindow))
		return x.sayTrip(f, q, own, how, x.l.Of("too little for"))
	}
	how += x.l.Sprintf(": its buffer holds %s at the end", FormatBytes(p.TCP.ReceiveBuffer))
	return x.sayTrip(f, q, own, how, x.l.Of("too little for"))
}

// unscaledWindow is the largest receive window without window scaling, in bytes.
const unscaledWindow = 1<<16 - 1

// sayCwnd tells what made the congestion window small: losses or marks that cut it, or that
// it had not grown yet.
func (x *index) sayCwnd(f *record.Message, q *record.QP, own Cause) (cause Cause, how string) {
	how = x.l.Sprintf("the congestion window of %s was full", qpActor(q))
	if !x.done(catalog.CutECE, q.Place()) && !x.done(catalog.CutLoss, q.Place()) && !x.done(catalog.CutRTO, q.Place()) {
		how += x.l.Sprintf(": it begins at %s and was not cut", FormatBytes(q.TCP.InitialCwnd))
		return x.sayTrip(f, q, own, how, x.l.Of("and grows once in"))
	}
	how += x.l.Of("; it was cut")
	if cause, because := x.lostWhere(f, q, Reads(f)); because != "" {
		return cause, how + x.l.Of("; ") + because
	}
	if p, at, _ := x.marked(f); p != nil {
		return x.sayMarked(p, &at, f, q, how)
	}
	return x.sayTrip(f, q, own, how, x.l.Of("too little for"))
}

// lossOf goes on with what lost data of the connection.
func (x *index) lossOf(f *record.Message, q *record.QP, own Cause, how string) (cause Cause, said string) {
	if cause, because := x.lostWhere(f, q, Reads(f)); because != "" {
		return cause, how + x.l.Of("; ") + because
	}
	if p, drop := x.dropped(q); p != nil {
		return x.droppedBy(p, drop.Cause), how + x.l.Of("; ") + x.sayDropped(p, drop) + x.drainAfter(p, drop.Cause)
	}
	return own, how
}

// sayTrip goes on, of a window or buffer that lets so much be on its way per round trip, with
// what made that long: a queue or a pause that its packets met, or the work of the receiver
// and the interrupts that this waits for. A limit that would fill the line if the
// round trip were that of an idle way is not too small, nor is one where another wait is longer
// than that. Acknowledgements that wait hold back nothing but the limit.
func (x *index) sayTrip(f *record.Message, q *record.QP, limit Cause, how, but string) (cause Cause, said string) {
	m, wait := x.longestWait(f)
	takes, held := x.takesIn(f), x.heldBy(f, limit.Kind)
	least := q.Limits.BaseRTTPS
	if RateOf(q.Limits.PeakOutstanding, least) >= q.Limits.LineBps {
		least /= 5
	}
	if wait > max(takes, least) {
		cause, because := x.sayWait(f, q, m, wait)
		how += x.l.Of("; the round trip was long, as ") + because
		switch {
		case m.Answer != Reads(f):
			cause = limit
		case cause.Kind == catalog.CausePort && x.limitSaves(f, q, cause.Place.PortID(), held):
			return limit, how + x.l.Of(butMore)
		}
		return cause, how
	}
	grows := 2*x.slowStart(f, q, held) > held
	said = x.l.Sprintf("%s, %s the round trip of %s (%s at least)", how, but, FormatTime(q.TCP.SRTT),
		FormatTime(q.TCP.MinRTT))
	switch {
	case takes > least && grows: // the congestion window holds such a message as long, if the trip stays so long
		return x.sayHosts(q, how, takes)
	case takes > least:
		return limit, said + x.l.Of(" and the ") + x.sayTakes(q, takes)
	case grows && limit.Kind != catalog.CauseCwnd:
		limit.Then = &Cause{Kind: catalog.CauseCwnd, Place: q.Place()}
		begins := FormatBytes(q.TCP.InitialCwnd)
		said += x.l.Sprintf("; without it the congestion window, which begins at %s, holds it about as long", begins)
	}
	return limit, said
}

// sayTakes says how long the host at the other end takes data in.
func (x *index) sayTakes(q *record.QP, takes units.Time) string {
	said := x.l.Sprintf("%s that %s took to take the last of it in and read it", FormatTime(takes), q.Peer.Node)
	if k, ok := x.peer(q); ok {
		if mode := x.moderation(&x.r.QPs[k]); mode != "" {
			said += x.l.Sprintf(", the wait for interrupts included (moderation %s)", mode)
		}
	}
	return said
}

// sayHosts goes on with the cores of the host that takes a message's packets in and reads them;
// those of the sender take in the acknowledgements.
func (x *index) sayHosts(q *record.QP, how string, takes units.Time) (cause Cause, said string) {
	then := coresAt(q.Host)
	cause = coresAt(q.Peer.Node)
	cause.Then = &then
	return cause, x.l.Sprintf("%s; the round trip was long for the %s", how, x.sayTakes(q, takes))
}

// heldBy is how long stages of a kind of cause held a message.
func (x *index) heldBy(f *record.Message, kind catalog.Cause) (sum units.Time) {
	for _, t := range x.stages.read(f.Account) {
		if x.stages.known[t.number].stage.Cause() == kind {
			sum += t.time
		}
	}
	return sum
}

// slowStart is how long the first message of a connection waits for acknowledgements if only
// the congestion window holds it, which doubles per round trip (RFC 5681, 3.1); of any other 0.
// A round trip is taken to be as long as where another limit held the message for so long.
func (x *index) slowStart(f *record.Message, q *record.QP, held units.Time) (sum units.Time) {
	left, most, line := f.Bytes, max(q.Limits.PeakOutstanding, 1), q.Limits.LineBps
	if x.before(f) != nil {
		return 0
	}
	trip := held/units.Time(max((f.Bytes-1)/most, 1)) + line.TxTimeLong(units.Bytes(most))
	for window := q.TCP.InitialCwnd; window > 0 && left > window; window *= 2 {
		left -= window
		sum += max(0, trip-line.TxTimeLong(units.Bytes(window)))
	}
	return sum
}

// takesIn is how long the receiving host took to take in and read the last packet of a message.
func (x *index) takesIn(f *record.Message) (sum units.Time) {
	for _, t := range x.stages.read(f.Account) {
		if s := &x.stages.known[t.number]; s.base == catalog.StageSoftirq || s.base == catalog.StageUnread {
			sum += t.time
		}
	}
	return sum
}
