package metrics

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// What TCP adds to the report of mechanisms: windows that hold a connection back,
// and how losses and marks are noticed, told of and answered.

// streams says whether connections of TCP, and whether queue pairs took part.
func streams(r *record.Run) (tcp, rdma bool) {
	for i := range r.QPs {
		if r.QPs[i].Is(catalog.Segments) {
			tcp = true
		} else {
			rdma = true
		}
	}
	return tcp, rdma
}

// onStreams makes a place of each end of a TCP connection for which fill returns
// true.
func (x *index) onStreams(m catalog.Mechanism, fill func(q *record.QP, place *Place) bool) *places {
	return x.onQPs(m, func(q *record.QP, place *Place) bool { return q.Is(catalog.Segments) && fill(q, place) })
}

// sendsStream reports whether the end of a TCP connection writes.
func sendsStream(q *record.QP) bool { return len(q.Limits.Path) > 0 }

// streamStates are the mechanisms of TCP.
func (x *index) streamStates() []State {
	held := func(m catalog.Mechanism, of func(q *record.QP) units.Time, why string) State {
		return x.state(m, x.l.Of("no connection sends"), x.onStreams(m, func(q *record.QP, place *Place) bool {
			place.HeldPS, place.reason = of(q), func() string { return why }
			return sendsStream(q)
		}))
	}
	return []State{
		held(catalog.CwndHeld, func(q *record.QP) units.Time { return q.Limits.WindowPS }, x.l.Of("it was never full")),
		held(catalog.ReceiveWindowHeld, func(q *record.QP) units.Time { return q.TCP.ReceiveWindowPS },
			x.l.Of("the peer's was never full")),
		held(catalog.SendBufferHeld, func(q *record.QP) units.Time { return q.TCP.SendBufferPS },
			x.l.Of("it had room for all that was to be written")),
		held(catalog.NagleHeld, func(q *record.QP) units.Time { return q.TCP.NaglePS },
			x.l.Of("no small segment had to wait")),
		x.state(catalog.ECESent, x.l.Of("no connection is ECN-capable"), x.ecePlaces()),
		x.state(catalog.CutECE, x.l.Of("no connection is ECN-capable"), x.cutECEPlaces()),
		x.state(catalog.LossRACK, x.l.Of("no connection sends"), x.lossPlaces(catalog.LossRACK)),
		x.state(catalog.LossDupAck, x.l.Of("no connection sends"), x.lossPlaces(catalog.LossDupAck)),
		x.state(catalog.CutLoss, x.l.Of("no connection sends"), x.lossPlaces(catalog.CutLoss)),
		x.state(catalog.RetransTLP, x.l.Of("no connection sends"), x.lossPlaces(catalog.RetransTLP)),
		x.state(catalog.RTO, x.l.Of("no connection sends"), x.lossPlaces(catalog.RTO)),
	}
}

func (x *index) ecePlaces() *places {
	return x.onStreams(catalog.ECESent, func(q *record.QP, place *Place) bool {
		place.reason = func() string { return x.l.Of("no marked segment reached it") }
		return q.Limits.ECT && !sendsStream(q)
	})
}

func (x *index) cutECEPlaces() *places {
	return x.onStreams(catalog.CutECE, func(q *record.QP, place *Place) bool {
		place.reason = func() string { return x.l.Of("no ECN-Echo reached it") }
		return q.Limits.ECT && sendsStream(q)
	})
}

// lossPlaces are the senders, which all notice losses.
func (x *index) lossPlaces(m catalog.Mechanism) *places {
	return x.onStreams(m, func(q *record.QP, place *Place) bool {
		place.reason = func() string {
			if q.Retransmitted == 0 {
				return x.l.Of("it took nothing for lost")
			}
			return x.l.Sprintf("it sent %s again for other reasons", plural(x.l, q.Retransmitted, "segment"))
		}
		return sendsStream(q)
	})
}

// updatesLost is how many updates of the window that bounds q were lost.
func (x *index) updatesLost(q *record.QP) int64 {
	if p, ok := x.peer(q); ok && x.r.QPs[p].Is(catalog.Segments) {
		return x.r.QPs[p].TCP.UpdatesLost
	}
	return 0
}

// moderation is how the card at an end of a connection holds back interrupts; "" if it does
// not, or nobody there takes any.
func (x *index) moderation(q *record.QP) string {
	for i := range x.r.Processors {
		if p := &x.r.Processors[i]; p.Host == q.Host && q.Cores() != nil {
			return p.Moderation
		}
	}
	return ""
}
