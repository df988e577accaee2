package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// places gathers the places of a mechanism: it counts all and keeps those that acted most
// or came nearest, in the order of the record where they are equal.
type places struct {
	State     // Armed, Fired, Count and HeldPS of all
	most  int // to keep; 0: all
}

// add counts a place.
func (s *places) add(p Place) {
	s.Armed++
	s.Count += p.Count
	s.HeldPS += p.HeldPS
	if p.acted() {
		s.Fired++
	}
	s.Places = append(s.Places, p)
	if s.most > 0 && len(s.Places) >= 4*s.most+64 {
		s.cut()
	}
}

// cut leaves the places that are kept, in order.
func (s *places) cut() {
	slices.SortStableFunc(s.Places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.HeldPS, a.HeldPS), cmp.Compare(b.near(), a.near()))
	})
	if s.most > 0 && len(s.Places) > s.most {
		clear(s.Places[s.most:])
		s.Places = s.Places[:s.most]
	}
}

// state is that of a mechanism with the places that were gathered; off says why there are
// none.
func (x *index) state(m catalog.Mechanism, off string, places *places) State {
	s := &places.State
	s.Mechanism = m
	if s.Armed == 0 {
		s.Why, s.Places = x.l.Of("off: ")+off, []Place{}
		return *s
	}
	places.cut()
	for i := range s.Places {
		p := &s.Places[i]
		if p.qp != nil {
			p.Where = p.qp.Place()
		}
		if !p.acted() && p.reason != nil {
			p.Why = p.reason()
		}
	}
	if s.Fired == 0 {
		s.Why = s.Places[0].Why
	}
	return *s
}

// onPorts makes a place of each port and class for which fill returns true, which must not
// keep it.
func (x *index) onPorts(m catalog.Mechanism, fill func(p *record.Port, place *Place) bool) *places {
	out, place := &places{most: x.places}, new(Place)
	for i := range x.r.Ports {
		p := &x.r.Ports[i]
		*place = Place{Where: p.Place(), Unit: InBytes}
		if x.happened[m] {
			a := x.acts[actKey{m, p.Place()}]
			place.Count, place.FirstPS = a.Count, a.First
		}
		if fill(p, place) {
			out.add(*place)
		}
	}
	return out
}

// onPortsOf is onPorts of the ports of a link layer.
func (x *index) onPortsOf(l catalog.Layer, m catalog.Mechanism, fill func(p *record.Port, place *Place) bool) *places {
	return x.onPorts(m, func(p *record.Port, place *Place) bool { return p.Layer == l && fill(p, place) })
}

// onQPsOf is onQPs of the queue pairs over a link layer.
func (x *index) onQPsOf(l catalog.Layer, m catalog.Mechanism, fill func(q *record.QP, place *Place) bool) *places {
	return x.onQPs(m, func(q *record.QP, place *Place) bool { return q.Layer == l && fill(q, place) })
}

// onQPs makes a place of each queue pair for which fill returns true, which must not keep
// it.
func (x *index) onQPs(m catalog.Mechanism, fill func(q *record.QP, place *Place) bool) *places {
	out, place := &places{most: x.places}, new(Place)
	for i := range x.r.QPs {
		q := &x.r.QPs[i]
		a := x.actOf(m, q)
		*place = Place{qp: q, Count: a.Count, FirstPS: a.First}
		if fill(q, place) {
			out.add(*place)
		}
	}
	return out
}

// actOf is what a queue pair did of a mechanism.
func (x *index) actOf(m catalog.Mechanism, q *record.QP) record.Act {
	if !x.happened[m] { // nobody did, and no name need be made
		return record.Act{}
	}
	return x.acts[actKey{m, q.Place()}]
}
