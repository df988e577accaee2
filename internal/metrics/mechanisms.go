package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// State is what one mechanism did in a run, or how near it came and what held
// it back.
type State struct {
	Mechanism catalog.Mechanism `json:"mechanism"`
	Armed     int               `json:"armed"` // places (ports and classes, or queue pairs) that could act; 0: off
	Fired     int               `json:"fired"` // how many of them acted
	Count     int64             `json:"count"` // acts of all
	// HeldPS, for windows and pacing, is the time for which they held queue pairs
	// back, added up.
	HeldPS units.Time `json:"held_ps,omitempty"`
	// Why it did not act: what holds of the nearest place; or why it is off.
	Why string `json:"why,omitempty"`
	// Places are those that acted most or came nearest, at most TopActors.
	Places []Place `json:"places"`
}

// Place is one port and class, or queue pair, of a mechanism.
type Place struct {
	Where record.Place `json:"where"`
	Count int64        `json:"count"`
	// Value came nearest to Threshold at AtPS; Unit is what they count. Threshold
	// 0: there is nothing to compare.
	Value     int64      `json:"value,omitempty"`
	Threshold int64      `json:"threshold,omitempty"`
	Unit      string     `json:"unit,omitempty"` // "bytes", "ps", "bps", "requests", "packets"
	AtPS      units.Time `json:"at_ps,omitempty"`
	FirstPS   units.Time `json:"first_ps,omitempty"` // of its acts
	HeldPS    units.Time `json:"held_ps,omitempty"`
	Why       string     `json:"why,omitempty"` // it did not act; of dropped messages why it did

	qp     *record.QP // whose name Where is to be; nil: it stands there
	reason func() string
}

// Units of Place.Value.
const (
	InBytes    = "bytes"
	InTime     = "ps"
	InRate     = "bps"
	InRequests = "requests"
	InPackets  = "packets"
)

// acted reports whether a place did anything.
func (p *Place) acted() bool { return p.Count > 0 || p.HeldPS > 0 }

// near is how much of the threshold was used.
func (p *Place) near() float64 {
	if p.Threshold <= 0 {
		return 0
	}
	if p.Unit == InRate { // the lower, the nearer
		return float64(p.Threshold-p.Value) / float64(p.Threshold)
	}
	return float64(p.Value) / float64(p.Threshold)
}

// Mechanisms returns the state of every mechanism, in the order in which they
// usually act, each with up to places of its places (0: all).
func Mechanisms(r *record.Run, places int) []State { return MechanismsIn(lang.English, r, places) }

// MechanismsIn is Mechanisms with the sentences in a language.
func MechanismsIn(l lang.Language, r *record.Run, places int) []State {
	return newIndexIn(l, r).mechanisms(places)
}

// mechanisms is Mechanisms.
func (x *index) mechanisms(places int) []State {
	r := x.r
	x.places = places
	var out []State
	for _, l := range Layers(r) {
		v := l.Vocabulary()
		out = append(out, x.state(v.Mark, x.l.Of("marking is off at every port that carried data"), x.markPlaces(l)),
			x.state(x.telling(l), x.untold(l), x.cnpPlaces(l)),
			x.state(v.Slow, x.marksUnheard(), x.cutPlaces(l)))
	}
	out = append(out, x.controllerStates()...)
	out = append(out,
		x.state(catalog.Pacing, pacingOff(x.l, r), x.pacingPlaces()),
		x.state(catalog.WindowHeld, x.l.Of("no connection has a window"), x.windowPlaces()),
		x.state(catalog.BitmapHeld, x.l.Of("every requester goes back N: no receive bitmap bounds what is outstanding"),
			x.bitmapPlaces()),
		x.state(catalog.ReadsHeld, x.l.Of("nobody posted READs or atomics"), x.readPlaces()),
		x.state(catalog.XOFFCross, cmp.Or(pfcOff(x.l, r), x.l.Of("PFC is off at every switch port that carried data")),
			x.xoffPlaces()),
		x.state(catalog.HeadroomDrop, cmp.Or(pfcOff(x.l, r), x.l.Of("there is no lossless class")), x.headroomPlaces()),
		x.state(catalog.EgressDrop, x.l.Of("no lossy class with a limit carried anything"), x.egressPlaces()),
		x.state(catalog.ReceiveXOFF, x.receiveOff(), x.receivePlaces()),
		x.state(catalog.ReceiveDrop, x.l.Of(fastHosts), x.receiveDropPlaces()),
		x.state(catalog.SequenceGap, gapOff(x.l, r), x.gapPlaces()),
		x.state(catalog.AckTimeout, timerOff(x.l, r), x.timeoutPlaces()),
		x.state(catalog.RNR, rnrOff(x.l, r), x.rnrPlaces()))
	if names, _ := unreliable(r); names != "" {
		out = append(out, x.state(catalog.MessageDrop, "", x.discardPlaces()))
	}
	for _, l := range Layers(r) {
		if fill := l.Vocabulary().Fill; fill != catalog.XOFFCross { // which stands above
			out = append(out, x.state(fill, x.l.Of("nothing was sent"), x.creditPlaces()))
		}
	}
	if x.slowRestarts() {
		out = append(out, x.state(catalog.SlowRestart, "", x.slowRestartPlaces()))
	}
	if len(r.Failures) > 0 {
		out = append(out, x.state(catalog.Rerouting, "", x.failurePlaces()))
	}
	if tcp, rdma := streams(r); tcp {
		if !rdma {
			out = slices.DeleteFunc(out, func(s State) bool { return s.Mechanism.Family() == catalog.FamilyQueuePairs })
		}
		out = append(out, x.streamStates()...)
	}
	return out
}

func (p *Place) approach(a *record.Approach) {
	p.Value, p.Threshold, p.AtPS = a.Value, a.Threshold, a.At
}

func (x *index) markPlaces(l catalog.Layer) *places {
	return x.onPortsOf(l, l.Vocabulary().Mark, func(p *record.Port, place *Place) bool {
		kmin := p.Limits.KMinBytes
		if p.Limits.KMaxBytes == 0 || p.TxPackets == 0 {
			return false
		}
		if p.Limits.PMax == 0 {
			kmin = p.Limits.KMaxBytes // nothing is marked below it
		}
		place.Value, place.Threshold, place.AtPS = p.PeakQueueBytes, kmin, p.PeakQueuePS
		place.reason = func() string { return x.whyNotMarked(p) }
		return true
	})
}

func (x *index) whyNotMarked(p *record.Port) string {
	limit := p.Limits.KMinBytes
	if p.Limits.PMax == 0 {
		limit = p.Limits.KMaxBytes
	}
	if p.PeakQueueBytes > limit {
		for _, i := range x.class(x.out(p.ID()), p.Class) {
			if !x.r.QPs[i].Limits.ECT {
				return x.l.Of("the packets are not ECN-capable (ECT)")
			}
		}
		return x.passedUnmarked(p, limit)
	}
	qps := x.class(x.out(p.ID()), p.Class)
	causes := appendNonEmpty(x.queueCauses(p, limit), x.pauseCause(p), x.cutCause(qps, p.PeakQueuePS))
	if limit > p.Limits.KMinBytes && p.PeakQueueBytes > p.Limits.KMinBytes {
		return x.l.Of("with Pmax 0 packets are marked only above Kmax; ") + x.because(causes, qps)
	}
	return x.becauseOf(causes, qps, limit)
}

// passedUnmarked says why a queue of ECN-capable packets that passed limit marked
// none. A switch that marks a frame as it leaves looks at the queue without it.
func (x *index) passedUnmarked(p *record.Port, limit int64) string {
	l := &p.Limits
	frame := int64(0)
	for _, i := range x.class(x.out(p.ID()), p.Class) {
		frame = max(frame, x.frames(&x.r.QPs[i], 1))
	}
	behind := x.l.Of("marking looks at what stays behind a frame that leaves")
	if !l.MarkAtEnqueue && p.PeakQueueBytes-frame <= limit {
		return x.l.Sprintf("the queue passed %s by less than a frame, and %s", FormatBytes(limit), behind)
	}
	chance := x.l.Sprintf("the queue passed Kmin, but chance marked none: the probability rises to %.3g %% only at %s",
		100*l.PMax, FormatBytes(l.KMaxBytes))
	if !l.MarkAtEnqueue && p.PeakQueueBytes > l.KMaxBytes {
		chance += x.l.Of(", and ") + behind
	}
	return chance
}

func (x *index) cnpPlaces(l catalog.Layer) *places {
	marked := int64(0)
	for i := range x.r.Ports {
		marked += x.r.Ports[i].Marked
	}
	reason := func() string { // the same for all, so that a queue pair has no closure of its own
		if marked == 0 {
			return x.l.Of("no packet was marked")
		}
		return x.l.Sprintf("%s marked, but none that reached this queue pair", plural(x.l, marked, "packet"))
	}
	return x.onQPsOf(l, l.Vocabulary().Tell, func(q *record.QP, place *Place) bool {
		if cnp := x.actOf(catalog.CNPSent, q); l.Vocabulary().Tell != catalog.CNPSent && cnp.Count > 0 { // BECN comes on CNPs as well
			place.Count, place.FirstPS = place.Count+cnp.Count, cnp.First
		}
		if flag := x.actOf(catalog.CEOnAck, q); flag.Count > 0 {
			place.Count, place.FirstPS = flag.Count, flag.First
		}
		place.reason = reason
		return q.Limits.CNP && x.takes(q)
	})
}

func (x *index) cutPlaces(l catalog.Layer) *places {
	return x.onQPsOf(l, l.Vocabulary().Slow, func(q *record.QP, place *Place) bool {
		place.Value, place.Threshold, place.Unit = int64(q.MinRateBps), int64(q.Limits.LineBps), InRate
		place.reason = func() string {
			notice, on := x.notice(q)
			if q.CNPsReceived == 0 {
				return x.l.Of("no ") + notice + on + x.l.Of(" reached it")
			}
			return x.l.Sprintf("%s%s reached it and left its rate at %s: it was at the minimum rate already, or the run "+
				"ended first",
				plural(x.l, q.CNPsReceived, notice), on, FormatRate(q.MinRateBps))
		}
		return q.Limits.CC && x.sends(q) && !q.Is(catalog.Segments) && (q.Limits.Control() == "" || q.Limits.ECT)
	})
}

// marksUnheard says why no sender cuts its rate for marks.
func (x *index) marksUnheard() string {
	if c := x.controller(); c != "" {
		return c + x.l.Of(" does not go by marks")
	}
	return x.l.Of("no sender has congestion control")
}

// pacingOff says why no sender spreads what it sends.
func pacingOff(l lang.Language, r *record.Run) string {
	if tcp, rdma := streams(r); tcp && !rdma {
		return l.Of("TCP sends what its windows admit at once (tcp.pacing: true spreads it over the round trip)")
	}
	return l.Of("no sender has congestion control: all send at the line's rate")
}

func (x *index) pacingPlaces() *places {
	return x.onQPs(catalog.Pacing, func(q *record.QP, place *Place) bool {
		place.HeldPS = q.Limits.RatePS
		if !q.Is(catalog.Segments) {
			place.Value, place.Threshold, place.Unit = int64(q.MinRateBps), int64(q.Limits.LineBps), InRate
		}
		place.reason = func() string {
			if q.Is(catalog.Segments) {
				return x.l.Of("its window was full before its segments would have had to wait")
			}
			if q.MinRateBps >= q.Limits.LineBps {
				return x.l.Of("its rate never fell below the line's")
			}
			return x.l.Of("its port was busy, or it had nothing to send, for longer than its rate asks")
		}
		return q.Limits.CC && x.sends(q) && (!q.Is(catalog.Segments) || paced(q))
	})
}

// paced reports whether the end of a connection spreads what it sends.
func paced(q *record.QP) bool {
	t := q.TCP
	return t != nil && t.Pacing
}

func (x *index) windowPlaces() *places {
	return x.onQPs(catalog.WindowHeld, func(q *record.QP, place *Place) bool {
		l := &q.Limits
		place.HeldPS = l.WindowPS
		place.Value, place.Threshold, place.Unit = l.PeakOutstanding, l.WindowBytes, InBytes
		place.reason = func() string { return x.whyNotWindow(q) }
		return l.WindowBytes > 0 && !x.responder(q)
	})
}

func (x *index) whyNotWindow(q *record.QP) string {
	l := &q.Limits
	bdp := mulDiv(int64(l.BaseRTTPS), int64(slowest(l)), 8*int64(units.Second))
	switch {
	case l.MaxRdAtomic > 0 && l.PeakReads == l.MaxRdAtomic:
		return x.l.Sprintf("max_rd_atomic let it ask for %s at a time", FormatBytes(l.PeakOutstanding))
	case l.MaxRdAtomic > 0 && x.postedBy(q) <= l.WindowBytes:
		return x.l.Of("it asked for only ") + FormatBytes(x.postedBy(q)) + x.l.Of(" in all")
	case q.SentBytes <= l.WindowBytes && l.MaxRdAtomic == 0:
		return x.l.Of("it sent only ") + FormatBytes(q.SentBytes) + x.l.Of(" in all")
	case q.RateCuts > 0:
		return plural(x.l, q.RateCuts, "rate cut") + x.l.Of(" kept it from filling the window")
	case bdp > 0 && bdp <= l.WindowBytes:
		return x.l.Sprintf("ACKs came back in time: the path holds %s (%s at %s)", FormatBytes(bdp),
			FormatTime(l.BaseRTTPS), FormatRate(slowest(l)))
	}
	return x.l.Sprintf("other traffic or pauses kept it to %s in flight", FormatBytes(l.PeakOutstanding))
}

// bitmapPlaces are the requesters whose packets outstanding a receive bitmap
// bounds.
func (x *index) bitmapPlaces() *places {
	return x.onQPs(catalog.BitmapHeld, func(q *record.QP, place *Place) bool {
		l := &q.Limits
		place.HeldPS = l.BitmapPS
		place.Value, place.Threshold, place.Unit = l.PeakPackets, l.BitmapPackets, InPackets
		place.reason = func() string {
			if l.PeakPackets < l.BitmapPackets {
				return x.l.Sprintf("at most %s were outstanding", plural(x.l, l.PeakPackets, "packet"))
			}
			return x.l.Of("nothing was left to send when it was full")
		}
		return l.BitmapPackets > 0 && x.requests(q)
	})
}

// readPlaces are the requesters of READs and atomics.
func (x *index) readPlaces() *places {
	return x.onQPs(catalog.ReadsHeld, func(q *record.QP, place *Place) bool {
		l := &q.Limits
		place.HeldPS = l.ReadsPS
		place.Value, place.Threshold, place.Unit = l.PeakReads, l.MaxRdAtomic, InRequests
		place.reason = func() string {
			if l.PeakReads < l.MaxRdAtomic {
				return x.l.Sprintf("at most %s outstanding", were(x.l, int(l.PeakReads), "request"))
			}
			return x.l.Of("no further READ or atomic had to wait")
		}
		return l.MaxRdAtomic > 0
	})
}

// postedBy is the payload of all messages of a requester.
func (x *index) postedBy(q *record.QP) int64 {
	if x.posted == nil {
		x.posted = map[qpKey]int64{}
		for i := range x.r.Messages {
			x.posted[flowQP(&x.r.Messages[i])] += x.r.Messages[i].Bytes
		}
	}
	return x.posted[qpKey{q.Host, q.QP}]
}

// requests reports whether a queue pair posted messages.
func (x *index) requests(q *record.QP) bool {
	return x.role(q)&(roleReads|roleWrites) != 0
}

// slowest is the lowest rate of a path.
func slowest(l *record.QPLimits) units.Rate {
	least := l.LineBps
	for _, h := range l.Path {
		least = min(least, h.RateBps)
	}
	return least
}

func (x *index) xoffPlaces() *places {
	return x.onPorts(catalog.XOFFCross, func(p *record.Port, place *Place) bool {
		a := p.Limits.XOFF
		if a == nil || x.hosts[p.Node] {
			return false
		}
		place.approach(a)
		place.reason = func() string {
			return x.becauseOf(x.ingressCauses(p, a), x.class(x.in(p.ID()), p.Class), a.Threshold)
		}
		return true
	})
}

// creditPlaces are the ports that sent something over a link with credits.
func (x *index) creditPlaces() *places {
	return x.onPorts(catalog.CreditsOut, func(p *record.Port, place *Place) bool {
		if p.Limits.Near(catalog.CreditsOut) == nil || p.TxPackets == 0 {
			return false
		}
		place.approach(p.Limits.Near(catalog.CreditsOut))
		place.HeldPS = p.HeldPS
		place.reason = func() string {
			if f := x.failureAt(p.ID(), nil); f != nil {
				return x.l.Sprintf("its link failed at %s and gave none back", FormatTime(f.DownPS-x.r.FirstPost()))
			}
			return x.because(nil, x.class(x.out(p.ID()), p.Class))
		}
		return true
	})
}

func (x *index) headroomPlaces() *places {
	return x.onPorts(catalog.HeadroomDrop, func(p *record.Port, place *Place) bool {
		place.drops(p, catalog.DropHeadroom)
		place.Value, place.Threshold = p.PeakHeadroom, p.Limits.HeadroomBytes
		place.reason = func() string {
			if x.acts[actKey{catalog.XOFFCross, p.Place()}].Count == 0 {
				return x.l.Of("XOFF was never crossed")
			}
			return x.l.Of("at most ") + FormatBytes(p.PeakHeadroom) + x.l.Of(" arrived after XOFF")
		}
		return p.Limits.HeadroomBytes > 0 && p.PeakIngress > 0
	})
}

// drops counts a port's drops of one cause.
func (p *Place) drops(port *record.Port, cause catalog.Drop) {
	for _, d := range port.DropCauses {
		if d.Cause == cause {
			p.Count, p.FirstPS = d.Count, d.First
		}
	}
}

func (x *index) egressPlaces() *places {
	return x.onPorts(catalog.EgressDrop, func(p *record.Port, place *Place) bool {
		a := p.Limits.EgressDrop
		if a == nil {
			return false
		}
		place.approach(a)
		place.drops(p, catalog.DropEgress)
		place.reason = func() string {
			qps := x.class(x.out(p.ID()), p.Class)
			return x.becauseOf(appendNonEmpty(x.queueCauses(p, a.Threshold), x.cutCause(qps, a.At)), qps, a.Threshold)
		}
		return true
	})
}

func (x *index) receivePlaces() *places {
	return x.onPorts(catalog.XOFFCross, func(p *record.Port, place *Place) bool {
		a := p.Limits.Receive
		if a == nil || !x.hosts[p.Node] {
			return false
		}
		place.approach(a)
		place.reason = func() string { return x.whyNotReceive(p) }
		return true
	})
}

// fastHosts is why no receive buffer does anything.
const fastHosts = "every host takes data as fast as it arrives"

// receiveOff says why no receive buffer sends XOFF.
func (x *index) receiveOff() string {
	for i := range x.r.Ports {
		if p := &x.r.Ports[i]; x.hosts[p.Node] && p.Limits.DrainBps > 0 {
			return x.l.Sprintf("PFC is off, although %s takes data only at %s", p.Node, drainRate(x.l, &p.Limits))
		}
	}
	for i := range x.r.Processors {
		if x.r.Processors[i].FramesIn > 0 {
			return x.l.Of("the receive queues of hosts, from which cores take frames, drop and send no XOFF")
		}
	}
	return x.l.Of(fastHosts)
}

// receiveDropPlaces are the receive buffers that are drained at a limited rate, and the
// receive queues that cores take frames from. How full one was is known where it could
// send XOFF.
func (x *index) receiveDropPlaces() *places {
	return x.onPorts(catalog.ReceiveDrop, func(p *record.Port, place *Place) bool {
		queue := x.queued[p.Node]
		if !x.hosts[p.Node] || p.Limits.DrainBps == 0 && !queue || len(x.class(x.in(p.ID()), p.Class)) == 0 {
			return false
		}
		place.drops(p, catalog.DropReceive)
		place.reason = func() string {
			if queue {
				return x.l.Of("every frame found room in its receive queue")
			}
			return x.l.Of("every frame found room in it")
		}
		if a := p.Limits.Receive; a != nil {
			place.Value, place.Threshold, place.AtPS = a.Value, p.Limits.BufferBytes, a.At
		}
		return true
	})
}

func (x *index) whyNotReceive(p *record.Port) string {
	a := p.Limits.Receive
	qps := x.class(x.in(p.ID()), p.Class)
	var causes []string
	if p.Limits.DrainBps >= p.RateBps && p.Limits.StalledPS == 0 {
		causes = append(causes, x.l.Sprintf("the host takes %s, as fast as the link brings it",
			FormatRate(p.Limits.DrainBps)))
	}
	if n := x.sentFrames(qps); n <= a.Threshold {
		causes = append(causes, x.l.Of("only ")+FormatBytes(n)+x.l.Of(" arrived ")+x.byTheEnd())
	}
	return x.because(appendNonEmpty(causes, x.windowCause(qps, a.Threshold), x.cutCause(qps, a.At)), qps)
}

func (x *index) gapPlaces() *places {
	dropped := int64(0)
	for i := range x.r.Ports {
		dropped += x.r.Ports[i].Dropped
	}
	reason := func() string { // the same for all, so that a queue pair has no closure of its own
		if dropped == 0 {
			return x.l.Of("nothing was lost")
		}
		return plural(x.l, dropped, "frame") + x.l.Of(" were dropped, none of them followed by a later packet of this "+
			"queue pair")
	}
	return x.onQPs(catalog.SequenceGap, func(q *record.QP, place *Place) bool {
		place.reason = reason
		return x.takes(q) && q.Is(catalog.Orders)
	})
}

func (x *index) timeoutPlaces() *places {
	open := map[qpKey]bool{}
	for i := range x.r.Messages {
		if f := &x.r.Messages[i]; Open(f) {
			open[flowQP(f)] = true
		}
	}
	return x.onQPs(catalog.AckTimeout, func(q *record.QP, place *Place) bool {
		place.Unit, place.Threshold = InTime, int64(q.Limits.TimeoutPS)
		if a := q.Limits.NearTimeout; a != nil {
			place.approach(a)
		}
		place.reason = func() string {
			near := record.Approach{}
			if a := q.Limits.NearTimeout; a != nil {
				near = *a
			}
			if near.At == x.r.EndPS && open[qpKey{q.Host, q.QP}] {
				return x.l.Of("it has waited ") + FormatTime(units.Time(near.Value)) + x.l.Of(" for an ACK or NAK so far")
			}
			return x.l.Of("the longest wait for an ACK or NAK that brought progress was ") + FormatTime(units.Time(near.Value))
		}
		return q.Limits.TimeoutPS > 0 && !x.responder(q)
	})
}

// slowRestarts reports whether any requester restarts slowly.
func (x *index) slowRestarts() bool {
	return slices.ContainsFunc(x.r.QPs, func(q record.QP) bool { return q.Limits.SlowRestart })
}

// slowRestartPlaces are the requesters with a slow restart. It acts after a
// timeout, or after idle; how near a timeout came stands above.
func (x *index) slowRestartPlaces() *places {
	return x.onQPs(catalog.SlowRestart, func(q *record.QP, place *Place) bool {
		place.HeldPS = q.Limits.SlowRestartPS
		place.reason = func() string { return x.l.Of("no retransmission timer expired") }
		return q.Limits.SlowRestart && !x.responder(q)
	})
}

func (x *index) rnrPlaces() *places {
	return x.onQPs(catalog.RNR, func(q *record.QP, place *Place) bool {
		a := q.Limits.ReceivesPeak
		if a == nil || !q.Is(catalog.Acknowledges) || !x.responder(q) {
			return false
		}
		place.approach(a)
		place.Unit = InRequests
		place.reason = func() string { return whyReceives(x.l, q) }
		return true
	})
}

// whyReceives says how many receive work requests a responder that never ran out of
// them had in use.
func whyReceives(l lang.Language, q *record.QP) string {
	limits := &q.Limits
	if limits.ReceivesPeak.Value == 0 {
		return l.Of("no message took a receive work request")
	}
	whose := l.Of("its")
	if limits.Shared {
		whose = l.Of("the shared")
	}
	return l.Sprintf("messages had at most %s of %s %s receive work requests at a time",
		FormatCount(limits.ReceivesPeak.Value), whose, FormatCount(limits.ReceivesPeak.Threshold))
}
