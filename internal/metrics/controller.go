package metrics

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// What congestion controllers of the registry did, and why: each change that lowered something is in the
// ledger under the mechanism that stands for its cause.

// slowing are the mechanisms by which a queue pair's congestion control slows it.
func (x *index) slowing(q *record.QP) []catalog.Mechanism {
	slow := q.Layer.Vocabulary().Slow
	if q.Limits.Control() == "" {
		return []catalog.Mechanism{slow}
	}
	return []catalog.Mechanism{slow, catalog.DelayCut, catalog.LoadCut, catalog.LossCut}
}

// slowed are the acts by which it did.
func (x *index) slowed(q *record.QP) (a record.Act) {
	for _, m := range x.slowing(q) {
		a = a.And(x.actOf(m, q))
	}
	return a
}

// cutsBy says what made a controller slow a queue pair most often; "" where that is marks, or there is no
// controller of the registry.
func (x *index) cutsBy(q *record.QP) string {
	if q.Limits.Control() == "" {
		return ""
	}
	most, says := x.actOf(q.Layer.Vocabulary().Slow, q).Count, ""
	for _, by := range []struct {
		m    catalog.Mechanism
		says string
	}{
		{catalog.DelayCut, x.l.Of("round trips were too long or grew")},
		{catalog.LoadCut, x.l.Of("telemetry told of a port that was busier than it wants")},
		{catalog.LossCut, x.l.Of("packets were lost or came out of order")},
	} {
		if n := x.actOf(by.m, q).Count; n > most {
			most, says = n, by.says
		}
	}
	return says
}

// sayControlled goes on, of a message that a controller held by what it measured, with the port on the way
// where its packets waited most.
func (x *index) sayControlled(f *record.Message, q *record.QP, how string, cause Cause) (Cause, string) {
	var worst *record.Port
	for _, h := range q.Limits.Path {
		p := x.ports[portClass{h.Port, q.Limits.Class}]
		if p != nil && p.PeakQueueBytes > 2*q.Limits.MTUBytes && (worst == nil || p.MeanQueueBytes > worst.MeanQueueBytes) {
			worst = p
		}
	}
	if worst == nil {
		return cause, how
	}
	how += x.l.Sprintf("; on its way %s had the longest queue", worst.ID())
	return x.orMoved(atPort(worst), how+x.filledBy(worst), f)
}

// ownReasons are those of a controller that cut without feedback that is known to be bad.
const ownReasons = "for reasons of its own"

// unmarkedCuts says what made a queue pair cut whose packets no switch marked: receivers send
// notifications for packets that are missing, too.
func (x *index) unmarkedCuts(q *record.QP) string {
	notice, on := x.notice(q)
	switch {
	case q.Is(catalog.Segments):
		return x.l.Of("although no switch on the way marked anything")
	case q.CNPsReceived == 0:
		return x.l.Of(ownReasons)
	case on != "":
		return x.l.Of("after ") + notice + x.l.Of("s") + on
	}
	return x.l.Of("after ") + notice + x.l.Of("s that were sent for losses")
}

// notice is what tells a queue pair of marks, and what it comes on, in words that follow.
func (x *index) notice(q *record.QP) (noun, on string) {
	if k, ok := x.peer(q); ok && x.r.QPs[k].Limits.CEOnAck {
		return x.l.Of("CE flag"), x.l.Of(" on ACKs")
	}
	return q.Layer.Words(x.l).Message, ""
}

// telling is the mechanism by which receivers tell senders of marks: flags on acknowledgements where any has them.
func (x *index) telling(l catalog.Layer) catalog.Mechanism {
	flag := func(q *record.QP, _ *Place) bool { return q.Limits.CNP && q.Limits.CEOnAck }
	if x.onQPsOf(l, catalog.CEOnAck, flag).Armed > 0 {
		return catalog.CEOnAck
	}
	return l.Vocabulary().Tell
}

// untold says why no receiver tells of marks.
func (x *index) untold(l catalog.Layer) string {
	if c := x.controller(); c != "" {
		return c + x.l.Of(" does not need them")
	}
	return x.l.Of("no responder sends ") + l.Words(x.l).Message + x.l.Of("s: there is no congestion control")
}

// controller is the title of the congestion control of the registry that senders have; "": none has one.
func (x *index) controller() string {
	for i := range x.r.QPs {
		if c := x.r.QPs[i].Limits.Control(); c != "" {
			return c
		}
	}
	return ""
}

// hears reports whether what came back told a queue pair of round trips, or of the ports on its way.
func (x *index) hears(q *record.QP) (delay, load bool) {
	k, ok := x.peer(q)
	if !ok {
		return false, false
	}
	p := &x.r.QPs[k]
	return x.actOf(catalog.StampOnAck, p).Count+x.actOf(catalog.ProbeAnswer, p).Count > 0,
		x.actOf(catalog.INTOnAck, p).Count > 0
}

// What a controller that never cut found of what it heard.
const (
	shortTrips = "round trips stayed as short as it wants"
	idlePorts  = "no port on the way was busier than it wants"
)

// neverCut says why a controller of the registry that does not go by marks slowed nobody; "" without one.
func (x *index) neverCut() string {
	c := x.controller()
	if c == "" {
		return ""
	}
	anyDelay, anyLoad := false, false
	for i := range x.r.QPs {
		delay, load := x.hears(&x.r.QPs[i])
		anyDelay, anyLoad = anyDelay || delay, anyLoad || load
	}
	switch {
	case anyLoad:
		return c + x.l.Of(" never cut: ") + x.l.Of(idlePorts)
	case anyDelay:
		return c + x.l.Of(" never cut: ") + x.l.Of(shortTrips)
	}
	return c + x.l.Of(" never cut: nothing that it goes by came back to any sender")
}

// controllerStates are the rows of cuts that come of something else than marks: of round trips and of
// telemetry where senders heard of them, and of losses where there were such cuts.
func (x *index) controllerStates() (out []State) {
	if x.controller() == "" {
		return nil
	}
	for _, m := range [...]catalog.Mechanism{catalog.DelayCut, catalog.LoadCut, catalog.LossCut} {
		if s := x.state(m, "", x.controllerPlaces(m)); s.Armed > 0 {
			out = append(out, s)
		}
	}
	return out
}

// controllerPlaces are the senders that can cut, or did, for the cause that m stands for.
func (x *index) controllerPlaces(m catalog.Mechanism) *places {
	return x.onQPs(m, func(q *record.QP, place *Place) bool {
		delay, load := x.hears(q)
		place.Value, place.Threshold, place.Unit = int64(q.MinRateBps), int64(q.Limits.LineBps), InRate
		why := shortTrips
		if m == catalog.LoadCut {
			why = idlePorts
		}
		place.reason = func() string { return why }
		could := m == catalog.DelayCut && delay || m == catalog.LoadCut && load
		return q.Limits.Control() != "" && (place.Count > 0 || could && x.sends(q))
	})
}
