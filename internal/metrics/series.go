package metrics

import (
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
	takes func(k int32, l *record.QPLimits) bool // whether a queue pair's data pass it
}

// passing is a message under way at the same time, with the bytes that it sent meanwhile.
type passing struct {
	sender int32
	bytes  int64
}

// series is what bounds a message beside the cause that took so much of its time.
type series struct {
	places []bounding
	others []passing
	bytes  int64 // its own
	total  units.Time
	x      *index
}

// newSeries looks along the way of a message's data, which queue pair k sends.
func (x *index) newSeries(f *record.Message, k int) *series {
	q := &x.r.QPs[k]
	s := &series{x: x, total: f.CompletionPS}
	_, s.bytes = x.messageBytes(f, &q.Limits)
	add := func(c Cause, rate units.Rate, takes func(int32, *record.QPLimits) bool) {
		if rate > 0 {
			s.places = append(s.places, bounding{c, rate, takes})
		}
	}
	for _, h := range q.Limits.Path {
		at := func(i int32, _ *record.QPLimits) bool { return x.hop(i, h.Port) >= 0 }
		add(x.portCause(h.Port, q), h.RateBps, at)
		if h.CreditPackets > 0 {
			buffer := record.Place{Kind: catalog.AtInputBuffer, Node: h.Peer.Node, Port: int32(h.Peer.Port)}
			rate := RateOf(h.CreditPackets*max(q.Limits.MTUBytes, 1), h.CreditLoopPS)
			add(Cause{Kind: catalog.CauseBuffer, Place: buffer}, rate, at)
		}
	}
	if n := len(q.Limits.Path); n > 0 && q.Limits.DrainBps > 0 {
		last := q.Limits.Path[n-1]
		to := func(i int32, _ *record.QPLimits) bool { return x.hop(i, last.Port) >= 0 }
		add(x.bufferOf(last.Peer.Node), q.Limits.DrainBps, to)
	}
	for _, in := range q.Limits.Inside {
		cause := Cause{Kind: catalog.CauseInside, Place: record.HostAt(in.Host)}
		add(cause, in.Bps, func(_ int32, l *record.QPLimits) bool {
			return slices.ContainsFunc(l.Inside, func(o record.InsideLimit) bool {
				return o.Host == in.Host && o.Link == in.Link && o.Write == in.Write
			})
		})
	}
	end := f.StartPS + f.CompletionPS
	for i := range x.r.Messages {
		g := &x.r.Messages[i]
		took := g.Life()
		both := min(end, g.StartPS+took) - max(f.StartPS, g.StartPS)
		n, ok := x.sender(g)
		if g == f || both <= 0 || !ok {
			continue
		}
		_, bytes := x.messageBytes(g, &x.r.QPs[n].Limits)
		s.others = append(s.others, passing{int32(n), mulDiv(bytes, int64(both), int64(max(took, 1)))})
	}
	return s
}

// left is how long the message takes at least with some places taken away, a bit each, and
// without the others that pass some.
func (s *series) left(away, without uint64) (least units.Time) {
	for i := range s.places {
		p := &s.places[i]
		if away&(1<<i) != 0 {
			continue
		}
		bytes := s.bytes
		for _, o := range s.others {
			if l := &s.x.r.QPs[o.sender].Limits; p.takes(o.sender, l) && !s.passes(o.sender, l, without) {
				bytes += o.bytes
			}
		}
		least = max(least, units.Time(mulDiv(bytes, 8*int64(units.Second), int64(p.rate))))
	}
	return least
}

// passes reports whether a queue pair's data pass one of some places, a bit each.
func (s *series) passes(sender int32, l *record.QPLimits, places uint64) bool {
	for i := range s.places {
		if places&(1<<i) != 0 && s.places[i].takes(sender, l) {
			return true
		}
	}
	return false
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

// inSeries says of a cause that took some time of a message, without which it would be held as
// long elsewhere, where: then the two together are what holds it, or that other place alone.
func (x *index) inSeries(f *record.Message, cause *Cause, took units.Time) (how string) {
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
	if at < 0 || len(s.places) > 64 || 2*s.gain(at) >= took {
		return ""
	}
	alone, next, least, most := -1, -1, (took+1)/2, units.Time(0)
	for i := range s.places {
		p := &s.places[i].cause
		if g := s.gain(i); p.Kind == catalog.CausePort && !x.hosts[p.Place.Node] && g >= least {
			alone, least = i, g+1
		}
		if g := s.gain(at, i); i != at && 2*g >= took && g > most {
			next, most = i, g
		}
	}
	switch {
	case alone >= 0:
		*cause = s.places[alone].cause
		return ", and at " + x.nameOf(cause) + " it would have waited as long: more was to leave by that port in its time"
	case next >= 0:
		other := s.places[next].cause
		cause.Then = &other
		name := x.nameOf(&other)
		switch other.Kind {
		case catalog.CauseInside:
			name = "what is inside " + name
		case catalog.CauseReceiver, catalog.CauseBuffer:
			name = "the " + name
		}
		return ", and " + name + " would have held it nearly as long: either alone gains little"
	}
	return ""
}
