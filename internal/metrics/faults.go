package metrics

import (
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// faultOf is the fault of a host's card that lasted longest within the time asked about, of those that took
// something from it; nil: there was none.
func (x *index) faultOf(host string) (longest *record.Fault) {
	from, to := units.Time(0), x.r.EndPS
	if x.known.to > 0 {
		from, to = x.known.from, x.known.to
	}
	var most units.Time
	for i := range x.r.Faults {
		f := &x.r.Faults[i]
		end := f.ToPS
		if end < 0 {
			end = x.r.EndPS
		}
		if d := min(end, to) - max(f.FromPS, from); f.Node == host && d > most && !x.harmless(f) {
			longest, most = f, d
		}
	}
	return longest
}

// HeldByCard reports whether a run came to rest in no circle, but behind a card with a fault that did not end.
func HeldByCard(r *record.Run) bool {
	return r.Stopped == "deadlock" && len(r.Cycle) == 0 &&
		slices.ContainsFunc(r.Faults, func(f record.Fault) bool { return f.ToPS < 0 && f.Kind != record.FaultSlow })
}

// harmless reports whether a card that is slow for a while takes as much as its host does, or its link brings,
// without that.
func (x *index) harmless(f *record.Fault) bool {
	if f.Kind != record.FaultSlow {
		return false
	}
	if d := x.drains[f.Node]; d != nil && d.DrainBps <= f.RateBps {
		return true
	}
	fastest := units.Rate(0)
	for i := range x.r.Ports {
		if p := &x.r.Ports[i]; p.Peer.Node == f.Node {
			fastest = max(fastest, p.RateBps)
		}
	}
	return fastest <= f.RateBps
}

// hungFor is the fault of a card at either end of a connection that hung for at least half of the time that a
// message spent in a stage; nil: none did.
func (x *index) hungFor(f *record.Message, q *record.QP, stage catalog.Stage) *record.Fault {
	if len(x.r.Faults) == 0 {
		return nil
	}
	spent := units.Time(0)
	for _, t := range x.stages.read(f.Account) {
		if x.stages.known[t.number].base == stage {
			spent += t.time
		}
	}
	for _, host := range [...]string{q.Host, q.Peer.Node} {
		fault := x.faultOf(host)
		if fault == nil || fault.Kind != record.FaultHang {
			continue
		}
		end := fault.ToPS
		if end < 0 {
			end = x.r.EndPS
		}
		if hung := min(end, f.StartPS+f.Life()) - max(fault.FromPS, f.StartPS); 2*hung >= spent {
			return fault
		}
	}
	return nil
}

// slowCard is the fault of the card that takes a message's data, where that was slow all the time that the message was
// under way; nil: it was not.
func (x *index) slowCard(f *record.Message) *record.Fault {
	_, to := DataEnds(f)
	for i := range x.r.Faults {
		s := &x.r.Faults[i]
		if s.Kind == record.FaultSlow && s.Node == record.HostOf(to) && s.FromPS <= f.StartPS && !x.harmless(s) &&
			(s.ToPS < 0 || s.ToPS >= f.StartPS+f.Life()) {
			return s
		}
	}
	return nil
}

// cardBinds says of a message that congestion control held that the card which takes its data was slow all the time
// and that it came near that, so that the card is the bound however others were marked; "": it is not.
func (x *index) cardBinds(f *record.Message, q *record.QP) (cause Cause, because string) {
	const near = 900 // thousandths
	fault := x.slowCard(f)
	if fault == nil {
		return Cause{}, ""
	}
	frame, _ := x.messageBytes(f, &q.Limits)
	best := units.Rate(mulDiv(int64(fault.RateBps), f.Bytes, max(frame, 1)))
	if reached := mulDiv(int64(Goodput(f)), 1000, int64(max(best, 1))); reached >= near {
		return ofCard(fault.Node), x.l.Sprintf("; the card of %s %s, of which it reached %.0f %%", fault.Node,
			SayFault(x.l, fault),
			float64(reached)/10)
	}
	return Cause{}, ""
}

// ofCard is the card of a host as a cause.
func ofCard(host string) Cause {
	return Cause{Kind: catalog.CauseFault, Place: record.Place{Kind: catalog.AtHost, Node: host}}
}

// SayFault tells of a fault, in words that follow the name of its host.
func SayFault(l lang.Language, f *record.Fault) string {
	when := l.Of("from ") + FormatTime(f.FromPS) + l.Of(" on")
	if f.ToPS >= 0 {
		when = l.Of("from ") + FormatTime(f.FromPS) + l.Of(" to ") + FormatTime(f.ToPS)
	}
	switch f.Kind {
	case record.FaultHang:
		return l.Of("hung ") + when
	case record.FaultPauses:
		if f.Lapses > 0 {
			when += l.Of(", but for ") + plural(l, int64(f.Lapses), "lapse")
		}
		return l.Of("paused its switch for no reason of its own ") + when
	}
	return l.Sprintf("took data only at %s %s", FormatRate(f.RateBps), when)
}
