package metrics

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// sayAck tells what the acknowledgement of a message met, whose data queue pair q sent.
func (x *index) sayAck(s *stageKnown, where string, f *record.Message, q *record.QP) (cause Cause, how string) {
	own := x.itself(s, q)
	switch s.stage {
	case catalog.StageCoalesce:
		return own, where + x.l.Of(" waited before it acknowledged")
	case catalog.StageHeldAck:
		return own, x.l.Of("the ACK had to wait until the READ responses before it were sent")
	case catalog.StageImplied:
		return own, x.l.Of("no ACK came before the response to a later request, which acknowledges it too")
	case catalog.StageAckLost:
		return x.sayAckLost(f, q)
	case catalog.StageAckWay:
		return own, x.l.Of("the ACK was on its way")
	}
	back := q // whose packets the acknowledgements are
	if k, ok := x.peer(q); ok {
		back = &x.r.QPs[k]
	}
	switch s.base {
	case catalog.StageQueue:
		return x.sayAckQueue(s.port(), f, back)
	case catalog.StagePaused, catalog.StageCredits:
		how = q.Layer.Words(x.l).HeldAck + " " + where
		held, root, host := x.walk(s.port(), x.answersIn(s.port(), f, back))
		cause, because := x.sayRoot(held, root, host, back)
		if cause == (Cause{}) {
			return x.portCause(s.port(), back), how + because
		}
		return cause, how + x.l.Of(", because ") + because
	case catalog.StageReceiveBuffer:
		cause, how = x.sayReceiveBuffer(x.l.Of("it waited"), s.port(), back)
		return cause, x.l.Of("the ACK: ") + how
	}
	return own, x.l.Sprintf("the ACK's %s at %s", s.base, where)
}

// answersIn is the class of a port that a message's acknowledgements take.
func (x *index) answersIn(port record.PortID, f *record.Message, back *record.QP) int {
	for _, m := range x.met(f) {
		if m.Answer && x.metPort(&m) == port {
			return int(m.Class)
		}
	}
	return back.Limits.Class
}

// sayAckQueue tells of the queue in which an acknowledgement waited.
func (x *index) sayAckQueue(port record.PortID, f *record.Message, back *record.QP) (cause Cause, how string) {
	how = x.l.Of("the ACK waited in the queue of ") + port.String()
	class := x.answersIn(port, f, back)
	cause = Cause{Kind: catalog.CausePort, Place: record.ClassAt(port.Node, port.Port, class, back.Layer)}
	p := x.ports[portClass{port, class}]
	if p == nil || !x.heldLong(p, f, true) {
		return cause, how
	}
	held, root, host := x.walk(port, class)
	if at, because := x.sayRoot(held, root, host, back); at != (Cause{}) {
		return at, x.l.Sprintf("%s, held by %s, because %s", how, p.Layer.Words(x.l).Holder, because)
	}
	return cause, how
}

// sayAckLost tells what became of the first acknowledgement, which did not arrive.
func (x *index) sayAckLost(f *record.Message, q *record.QP) (cause Cause, how string) {
	how = x.l.Of("the first ACK did not arrive; a later one did")
	if cause, because := x.lostWhere(f, q, !Reads(f)); because != "" {
		return cause, how + x.l.Of("; ") + because
	}
	return Cause{Kind: catalog.CauseLoss, Place: q.Place()}, how
}
