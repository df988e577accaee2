package metrics

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// What TCP adds to the report of mechanisms: windows that hold a connection back,
// and how losses and marks are noticed, told of and answered.

// streams says whether connections of TCP, and whether queue pairs took part.
func streams(r *record.Run) (tcp, rdma bool) {
	for i := range r.QPs {
		if r.QPs[i].Is(catalog.Streams) {
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
	return x.onQPs(m, func(q *record.QP, place *Place) bool { return q.Is(catalog.Streams) && fill(q, place) })
}

// sendsStream reports whether the end of a TCP connection writes.
func sendsStream(q *record.QP) bool { return len(q.Limits.Path) > 0 }

// streamStates are the mechanisms of TCP.
func (x *index) streamStates() []State {
	held := func(m catalog.Mechanism, of func(q *record.QP) units.Time, why string) State {
		return x.state(m, "no connection sends", x.onStreams(m, func(q *record.QP, place *Place) bool {
			place.HeldPS, place.reason = of(q), func() string { return why }
			return sendsStream(q)
		}))
	}
	return []State{
		held(catalog.CwndHeld, func(q *record.QP) units.Time { return q.Limits.WindowPS }, "it was never full"),
		held(catalog.ReceiveWindowHeld, func(q *record.QP) units.Time { return q.TCP.ReceiveWindowPS }, "the peer's was never full"),
		held(catalog.SendBufferHeld, func(q *record.QP) units.Time { return q.TCP.SendBufferPS }, "it had room for all that was to be written"),
		held(catalog.NagleHeld, func(q *record.QP) units.Time { return q.TCP.NaglePS }, "no small segment had to wait"),
		x.state(catalog.ECESent, "no connection is ECN-capable", x.ecePlaces()),
		x.state(catalog.CutECE, "no connection is ECN-capable", x.cutECEPlaces()),
		x.state(catalog.LossRACK, "no connection sends", x.lossPlaces(catalog.LossRACK)),
		x.state(catalog.LossDupAck, "no connection sends", x.lossPlaces(catalog.LossDupAck)),
		x.state(catalog.CutLoss, "no connection sends", x.lossPlaces(catalog.CutLoss)),
		x.state(catalog.RetransTLP, "no connection sends", x.lossPlaces(catalog.RetransTLP)),
		x.state(catalog.RTO, "no connection sends", x.lossPlaces(catalog.RTO)),
	}
}

func (x *index) ecePlaces() *places {
	return x.onStreams(catalog.ECESent, func(q *record.QP, place *Place) bool {
		place.reason = func() string { return "no marked segment reached it" }
		return q.Limits.ECT && !sendsStream(q)
	})
}

func (x *index) cutECEPlaces() *places {
	return x.onStreams(catalog.CutECE, func(q *record.QP, place *Place) bool {
		place.reason = func() string { return "no ECN-Echo reached it" }
		return q.Limits.ECT && sendsStream(q)
	})
}

// lossPlaces are the senders, which all notice losses.
func (x *index) lossPlaces(m catalog.Mechanism) *places {
	return x.onStreams(m, func(q *record.QP, place *Place) bool {
		place.reason = func() string {
			if q.Retransmitted == 0 {
				return "it took nothing for lost"
			}
			return fmt.Sprintf("it sent %s again for other reasons", plural(q.Retransmitted, "segment"))
		}
		return sendsStream(q)
	})
}

// updatesLost is how many updates of the window that bounds q were lost.
func (x *index) updatesLost(q *record.QP) int64 {
	if p, ok := x.peer(q); ok && x.r.QPs[p].Is(catalog.Streams) {
		return x.r.QPs[p].TCP.UpdatesLost
	}
	return 0
}

// whyGranted says what bounds the window that q's peer grants. An application has no
// other work than its core's: if that is not full, it reads in time.
func (x *index) whyGranted(q *record.QP) string {
	k, ok := x.peer(q)
	if !ok || !x.r.QPs[k].Is(catalog.Streams) {
		return "its application reads too slowly, or its buffer is too small for the path"
	}
	p := &x.r.QPs[k]
	if full := x.fullCores(p); len(full) > 0 {
		return strings.Join(full, "; ")
	}
	mine, peers := q.TCP, p.TCP
	trip := fmt.Sprintf("the round trip of %s (%s at least)", FormatTime(mine.SRTT), FormatTime(mine.MinRTT))
	if mode := x.moderation(p); mode != "" && mine.SRTT > 0 {
		trip += fmt.Sprintf(", in which cards hold back interrupts (moderation %s)", mode)
	}
	if peers.Unscaled {
		return fmt.Sprintf("without window scaling (RFC 7323) it is %s at most, too little for %s", FormatBytes(unscaledWindow), trip)
	}
	return fmt.Sprintf("its buffer, %s at the end, was too small for %s", FormatBytes(peers.ReceiveBuffer), trip)
}

// unscaledWindow is the largest receive window without window scaling, in bytes.
const unscaledWindow = 1<<16 - 1

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

// lossOf goes on with the port that dropped most on the way.
func (x *index) lossOf(q *record.QP, how string) string {
	if p, drop := x.dropped(q); p != nil {
		how += "; " + x.sayDropped(p, drop)
	}
	return how
}

// sayStream tells of the stages that only TCP has; "" of any other.
func (x *index) sayStream(where string, stage catalog.Stage, q *record.QP) string {
	if !q.Is(catalog.Streams) {
		return ""
	}
	me := qpActor(q)
	switch stage {
	case catalog.StageHandshake:
		return fmt.Sprintf("%s opened its connection first", me)
	case catalog.StageSendBuffer:
		return fmt.Sprintf("the socket of %s had no room for what was to be written: its buffer holds %s", me, FormatBytes(q.TCP.SendBuffer))
	case catalog.StageCwnd:
		if q.RateCuts == 0 {
			return fmt.Sprintf("the congestion window of %s was full; it was never cut, and ends at %s", me, FormatBytes(q.TCP.CwndBytes))
		}
		return fmt.Sprintf("the congestion window of %s was full; it was cut %s, and ends at %s", me, plural(q.RateCuts, "time"), FormatBytes(q.TCP.CwndBytes))
	case catalog.StageReceiveWindow:
		if lost := x.updatesLost(q); lost > 0 {
			return fmt.Sprintf("the receive window that %s grants was full, and the update that said there was room again was lost (%s): %s had to wait for its persist timer", q.Peer, plural(lost, "time"), me)
		}
		return fmt.Sprintf("the receive window that %s grants was full: %s", q.Peer, x.whyGranted(q))
	case catalog.StagePacing:
		return fmt.Sprintf("%s spreads its segments over the round trip", me)
	case catalog.StageNagle:
		return fmt.Sprintf("Nagle's rule held a small segment of %s back until what went before was acknowledged", me)
	case catalog.StageDetection:
		return x.lossOf(q, me+" waited for duplicates, time or a probe to tell of a loss")
	case catalog.StageTimeout:
		return x.lossOf(q, fmt.Sprintf("nothing came back until the retransmission timer of %s expired (%s in its life)", me, plural(q.Timeouts, "timeout")))
	case catalog.StageReassembly:
		return fmt.Sprintf("segments of %s that were sent earlier arrived after its last one", me)
	case catalog.StageUnread:
		return fmt.Sprintf("the application on %s had not read it yet", where)
	case catalog.StageSoftirq:
		return fmt.Sprintf("%s had not taken it out of its receive queue and through its layers yet", where)
	case catalog.StageKernel:
		return fmt.Sprintf("the kernel under %s copied it and made segments of it", me)
	}
	return ""
}
