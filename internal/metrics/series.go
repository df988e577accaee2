package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Two places in a row that are about as slow for what passes them hide each other: taking one
// away alone gains little. What had to pass each place of a message's way while it was under
// way, over the rate there, bounds what is left of its time.

// bounding is a place that bounds a message's data: a port, a receiving host, what is inside a host, or
// an input buffer that is small for its credit loop.
type bounding struct {
	cause Cause
	rate  units.Rate
}

// passing is another queue pair that sent meanwhile, with the bytes and the places that these pass, a bit
// each.
type passing struct {
	bytes  int64
	places uint64
}

// series is what bounds a message beside the cause that took so much of its time.
type series struct {
	places []bounding
	others []passing
	bytes  int64 // its own
	total  units.Time
	x      *index
	room   []int32 // queue pairs that pass one of the places
}

// mostPlaces is how many places a way may have: bits of passing.
const mostPlaces = 64

// newSeries looks along the way of a message's data, which queue pair k sends.
func (x *index) newSeries(f *record.Message, k int) *series {
	q := &x.r.QPs[k]
	s := &x.series // of the message before: its room is used again
	*s = series{x: x, total: f.CompletionPS, places: s.places[:0], others: s.others[:0], room: s.room[:0]}
	_, s.bytes = x.messageBytes(f, &q.Limits)
	x.epoch++
	if x.passed == nil {
		x.passed = make([]passed, len(x.r.QPs))
	}
	add := func(c Cause, rate units.Rate, takers []int32) {
		if rate <= 0 || len(s.places) == mostPlaces {
			return
		}
		bit := uint64(1) << len(s.places)
		s.places = append(s.places, bounding{c, rate})
		for _, i := range takers {
			p := &x.passed[i]
			if p.epoch != x.epoch {
				*p = passed{epoch: x.epoch}
				s.room = append(s.room, i)
			}
			p.places |= bit
		}
	}
	for _, h := range q.Limits.Path {
		takers := x.out(h.Port)
		add(x.portCause(h.Port, q), h.RateBps, takers)
		if h.CreditPackets > 0 {
			buffer := record.Place{Kind: catalog.AtInputBuffer, Node: h.Peer.Node, Port: int32(h.Peer.Port)}
			rate := RateOf(h.CreditPackets*max(q.Limits.MTUBytes, 1), h.CreditLoopPS)
			add(Cause{Kind: catalog.CauseBuffer, Place: buffer}, rate, takers)
		}
	}
	if n := len(q.Limits.Path); n > 0 && q.Limits.DrainBps > 0 {
		last := q.Limits.Path[n-1]
		add(x.bufferOf(last.Peer.Node), q.Limits.DrainBps, x.out(last.Port))
	}
	for i := range q.Limits.Inside {
		in := x.ofItsTime(&q.Limits.Inside[i])
		add(Cause{Kind: catalog.CauseInside, Place: record.HostAt(in.Host), Why: in.Why}, in.Bps, x.over(in))
	}
	if n := len(q.Limits.Path); n > 0 && q.Is(catalog.Streams) {
		last := q.Limits.Path[n-1]
		add(coresAt(last.Peer.Node), x.coreRate(f, q, last.Port), x.out(last.Port))
	}
	end, curves := f.StartPS+f.CompletionPS, x.trafficOf().curves
	for _, i := range s.room {
		bytes := curves[i].within(f.StartPS, end)
		if int(i) == k {
			bytes -= s.bytes
		}
		if bytes > 0 {
			s.others = append(s.others, passing{bytes, x.passed[i].places})
		}
	}
	return s
}

// coreRate is the rate at which the busiest core of the receiving end of a connection took in what came by
// its port while a message was under way and it was busy; 0: it was not.
func (x *index) coreRate(f *record.Message, q *record.QP, port record.PortID) units.Rate {
	k, ok := x.peer(q)
	if !ok || x.r.QPs[k].Cores() == nil {
		return 0
	}
	defer x.restore(x.known.from, x.known.to)
	x.during(f)
	p := &x.r.QPs[k]
	busy := max(x.busyFor(p.Host, p.Cores().Application), x.busyFor(p.Host, p.Cores().Softirq))
	bytes := int64(0)
	for _, i := range x.out(port) {
		bytes += x.trafficOf().curves[i].within(f.StartPS, f.StartPS+f.CompletionPS)
	}
	return RateOf(bytes, units.Time(busy*float64(f.CompletionPS)))
}

// passed are the places of the way at hand that a queue pair's data pass, valid if epoch is the current.
type passed struct {
	epoch  uint32
	places uint64
}

// over are the queue pairs whose data take a link inside a host that bounds them.
func (x *index) over(in *record.InsideLimit) (qps []int32) {
	for _, m := range x.trafficOf().inside[in.Host].side(in.Write) {
		if x.ofItsTime(m.limit).Link == in.Link {
			qps = append(qps, m.qp)
		}
	}
	return qps
}

// left is how long the message takes at least with some places taken away, a bit each, and
// without the others that pass some.
func (s *series) left(away, without uint64) (least units.Time) {
	for i := range s.places {
		bit := uint64(1) << i
		if away&bit != 0 {
			continue
		}
		bytes := s.bytes
		for _, o := range s.others {
			if o.places&bit != 0 && o.places&without == 0 {
				bytes += o.bytes
			}
		}
		least = max(least, units.Time(mulDiv(bytes, 8*int64(units.Second), int64(s.places[i].rate))))
	}
	return least
}

// gain is the most that taking some places away can save: a port by being faster, unless it is a
// host's, or by having the message for itself.
func (s *series) gain(places ...int) units.Time {
	least := s.total
	for choice := range 1 << len(places) {
		away, without := uint64(0), uint64(0)
		for k, i := range places {
			p := &s.places[i].cause
			port := p.Kind == catalog.CausePort
			switch {
			case choice&(1<<k) == 0 && port:
				without |= 1 << i
			case !port || !s.x.hosts[p.Place.Node]:
				away |= s.same(i)
			}
		}
		least = min(least, s.left(away, without))
	}
	return s.total - least
}

// same are the places that are taken away together with one: input buffers are of one size.
func (s *series) same(i int) (all uint64) {
	for k := range s.places {
		if k == i || s.places[i].cause.Kind == catalog.CauseBuffer && s.places[k].cause.Kind == catalog.CauseBuffer {
			all |= 1 << k
		}
	}
	return all
}

// is reports whether a cause is that of place i.
func (s *series) is(i int, c *Cause) bool {
	p := &s.places[i].cause
	return p.Kind == c.Kind && (p.Place == c.Place || c.Kind == catalog.CauseInside && p.Place.Node == c.Place.Node)
}

// limitSaves reports whether a message that a limit of what may be outstanding held for so long, while its
// packets waited in the queue of a port, would without that limit alone save half of that, and nearly as
// much as without the others at that port: either the busiest place of its way had time to spare, or the
// limits of the others are what lets it have more of the port. With go-back-N more outstanding is more lost,
// and the congestion windows of TCP share the port whatever else they may send.
func (x *index) limitSaves(f *record.Message, q *record.QP, port record.PortID, held units.Time) bool {
	k, ok := x.sender(f)
	on := slices.ContainsFunc(q.Limits.Path, func(h *record.PathHop) bool { return h.Port == port })
	if !x.thorough || !ok || !on || !Completed(f) || !q.Is(catalog.Segments) && q.Limits.BitmapPackets == 0 {
		return false
	}
	s := x.newSeries(f, k)
	if 2*s.spare(q) >= held {
		return true
	}
	if q.Is(catalog.Segments) {
		return false
	}
	for i := range s.places {
		p := &s.places[i]
		if p.cause.Kind != catalog.CausePort || p.cause.Place.PortID() != port {
			continue
		}
		lets := x.lets(f, k, s, i)
		if at := x.ports[portClass{port, q.Limits.Class}]; at != nil && at.Limits.QueueBytes > 0 && lets > at.Limits.QueueBytes {
			return false // it would be dropped
		}
		takes := func(bytes int64) units.Time { return units.Time(mulDiv(bytes, 8*int64(units.Second), int64(p.rate))) }
		saves := s.total - takes(s.bytes+lets)
		return 2*saves >= held && 4*saves >= 3*(s.total-takes(s.bytes))
	}
	return false
}

// spare is for how much of a message's time, less an idle round trip, the place of its way that was busiest
// had nothing to do: what a limit of the queue pair costs at most, whatever made it bind.
func (s *series) spare(q *record.QP) units.Time {
	return max(0, s.total-q.Limits.BaseRTTPS-s.left(0, 0))
}

// busyWay reports whether the busiest place of a message's way had so much to do that a limit which held the
// message for so long would save less than half of that.
func (x *index) busyWay(f *record.Message, q *record.QP, held units.Time) bool {
	k, ok := x.sender(f)
	return x.thorough && ok && Completed(f) && 2*x.newSeries(f, k).spare(q) < held
}

// lets is what others send by place i of a message's way beside it if it sends all at once: what they may
// have outstanding, twice, as their first comes back before its queue is long.
func (x *index) lets(f *record.Message, k int, s *series, i int) (bytes int64) {
	curves := x.trafficOf().curves
	for _, n := range s.room {
		if x.passed[n].places&(1<<i) == 0 {
			continue
		}
		sent := curves[n].within(f.StartPS, f.StartPS+f.CompletionPS)
		l := &x.r.QPs[n].Limits
		switch most := cmp.Or(l.WindowBytes, l.PeakOutstanding); {
		case int(n) == k:
			sent -= s.bytes
		case most > 0:
			sent = min(sent, 2*most)
		}
		bytes += sent
	}
	return bytes
}

// butMore follows what made the round trip long where a limit holds more than that.
const butMore = ", but with more outstanding it would have had more of it"

// soonest is how long message f, of queue pair k, would have taken to pass place i without those that pass place
// without, if the others had sent when they did: the least time in which its bytes pass together with
// those that come within it.
func (s *series) soonest(f *record.Message, k, i, without int) (took units.Time) {
	const rounds = 16 // halve what is missing each time where half of the place is others'
	curves := s.x.trafficOf().curves
	for range rounds {
		bytes := s.bytes
		for _, n := range s.room {
			if p := s.x.passed[n].places; int(n) != k && p&(1<<i) != 0 && p&(1<<without) == 0 {
				bytes += curves[n].within(f.StartPS, f.StartPS+took)
			}
		}
		next := units.Time(mulDiv(bytes, 8*int64(units.Second), int64(s.places[i].rate)))
		if next <= took {
			break
		}
		took = min(next, s.total)
	}
	return took
}

// nearlyAs is the part, in quarters, of what one place has to send that another must have to stand in for it.
const nearlyAs = 3

// marksNext is the port of a message's way that would mark its packets in place of port at, which did: it is no
// faster, has nearly as much to send, and has that as well without what else takes that port, or is slower than
// the message's own line; -1: there is none.
func (s *series) marksNext(f *record.Message, at int) int {
	if s.places[at].cause.Kind != catalog.CausePort {
		return -1
	}
	line := units.Rate(0)
	if k, ok := s.x.sender(f); ok {
		line = s.x.r.QPs[k].Limits.LineBps
	}
	for i := range s.places {
		p := &s.places[i]
		if i == at || p.cause.Kind != catalog.CausePort || p.rate > s.places[at].rate || s.x.hosts[p.cause.Place.Node] {
			continue
		}
		const none = 0
		least := nearlyAs * s.passing(at, none) / 4
		if s.passing(i, none) >= least && (s.passing(i, 1<<at) >= least || p.rate < line) {
			return i
		}
	}
	return -1
}

// passing is what passes a place in a message's time, without the others that pass some places, a bit each.
func (s *series) passing(place int, without uint64) (bytes int64) {
	bytes = s.bytes
	for _, o := range s.others {
		if o.places>>place&1 != 0 && o.places&without == 0 {
			bytes += o.bytes
		}
	}
	return bytes
}

// inSeries says of a cause that took some time of a message, without which it would be held as
// long elsewhere, where: then the two together are what holds it, or that other place alone.
func (x *index) inSeries(f *record.Message, cause *Cause, took units.Time, stage catalog.Stage) (how string) {
	k, ok := x.sender(f)
	if !ok || !Completed(f) {
		return ""
	}
	s := x.newSeries(f, k)
	at := -1
	for i := range s.places {
		if at < 0 && s.is(i, cause) {
			at = i
		}
	}
	if at >= 0 && stage == catalog.StageRate {
		if next := s.marksNext(f, at); next >= 0 {
			other := s.places[next].cause
			cause.Then = &other
			return x.l.Of(", and ") + x.nameOf(cause.Then) +
				x.l.Of(", which is no faster and has as much to send, would mark in its place: ") +
				x.l.Of("either alone gains little")
		}
	}
	if at < 0 || 2*s.gain(at) >= took {
		return ""
	}
	alone, next, least, most := -1, -1, (took+1)/2, units.Time(0)
	// What is inside a host, cores too, is narrower than a port that it shares; and what passed before the
	// message at its host's port would do so whatever another port does.
	wide := cause.Kind != catalog.CauseInside && cause.Kind != catalog.CauseCore && stage != catalog.StageOther
	for i := range s.places {
		p := &s.places[i].cause
		if stage == catalog.StageOther && p.Kind == catalog.CausePort && i != at &&
			2*(s.total-s.soonest(f, k, i, at)) >= took {
			continue // much of what passed there came later than the message would have, had it left at once
		}
		if g := s.gain(i); wide && p.Kind == catalog.CausePort && !x.hosts[p.Place.Node] && g >= least {
			alone, least = i, g+1
		}
		if g := s.gain(at, i); i != at && 2*g >= took && g > most {
			next, most = i, g
		}
	}
	switch {
	case alone >= 0:
		*cause = s.places[alone].cause
		return x.l.Of(", and without that it would have waited as long at ") + x.nameOf(cause) +
			x.l.Of(", to which more came than it sends")
	case next >= 0:
		other := s.places[next].cause
		cause.Then = &other
		name := x.nameOf(&other)
		switch other.Kind {
		case catalog.CauseInside:
			name = x.l.Of("what is inside ") + name
		case catalog.CauseCore:
			name = x.l.Of("the cores of ") + name
		case catalog.CauseReceiver, catalog.CauseBuffer:
			name = x.l.Of("the ") + name
		}
		return x.l.Of(", and ") + name + x.l.Of(" would have held it nearly as long: either alone gains little")
	}
	return ""
}
