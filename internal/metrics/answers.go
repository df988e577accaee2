package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// TopActors is how many actors an answer names.
const TopActors = 5

// Answer is the answer to one question.
type Answer struct {
	Question catalog.Question `json:"question"`
	Happened bool             `json:"happened"`
	First    *First           `json:"first,omitempty"` // who acted first; nil: nobody
	Count    int64            `json:"count"`           // acts of all mechanisms
	// SpanPS is the time from the first act to the last.
	SpanPS units.Time `json:"span_ps"`
	// HeldPS, for the question "held" only, adds up over ports the time in
	// which each was paused, or without credits, with a frame waiting.
	HeldPS     units.Time  `json:"held_ps,omitempty"`
	Mechanisms []Mechanism `json:"mechanisms"` // the earliest first
	Top        []Actor     `json:"top_actors"` // the busiest first; at most TopActors
	// Why nobody did; or, of recovery, that nothing was lost.
	Why string `json:"why,omitempty"`
	// Receivers, for the question "detected" only, are the hosts that took data more
	// slowly over their own links than the network brought it, a sentence per link, the
	// fullest receive buffer first.
	Receivers []string `json:"receiver_hosts,omitempty"`
	// Inside, for the question "slowed" only, is what inside hosts slowed what they send, though
	// nothing in the network told them to: links between memory and card, and cores, a sentence each.
	Inside []string `json:"inside_hosts,omitempty"`
}

// First is the earliest act: ties go to the order of the ledger.
type First struct {
	Actor     record.Place      `json:"actor"`
	Mechanism catalog.Mechanism `json:"mechanism"`
	TimePS    units.Time        `json:"time_ps"`
}

// Mechanism sums up the acts of one mechanism under one question.
type Mechanism struct {
	Mechanism catalog.Mechanism `json:"mechanism"`
	Actors    int               `json:"actors"` // how many took part
	Actor     record.Place      `json:"first_actor"`
	record.Act
}

// Actor is one port or queue pair with its acts under one mechanism.
type Actor struct {
	Actor     record.Place      `json:"actor"`
	Mechanism catalog.Mechanism `json:"mechanism"`
	record.Act
}

func (x *index) answers(t Totals) []Answer {
	r := x.r
	out := make([]Answer, 0, len(catalog.Questions))
	var states []State
	for _, q := range catalog.Questions {
		a := AnswerTo(q, r.Ledger)
		if !a.Happened {
			if states == nil {
				states = x.mechanisms(1)
			}
			a.Why = x.why(q, t, out, states)
		} else if q == catalog.Recovered && t.Dropped == 0 && !slices.ContainsFunc(a.Mechanisms, notLost) {
			a.Why = x.l.Of("nothing was lost: all of that was sent in vain")
		}
		if q == catalog.Detected {
			a.Receivers = x.receiverHosts()
		}
		if q == catalog.Slowed {
			a.Inside = x.slowedInside()
		}
		out = append(out, a)
	}
	return out
}

// notLost reports whether a mechanism sends again what the responder threw away for want of a
// receive work request: nothing was lost, but it is needed.
func notLost(m Mechanism) bool { return m.Mechanism == catalog.RetransRNR }

// SlowReceivers lists the ports of hosts whose receive buffers filled up, because of
// links inside them, to where they pause, drop or hold back credits, if that cost anything: no
// incast, though the network shows what it shows of one. What bounds each is its Limits.Inside.
func SlowReceivers(r *record.Run) (out []*record.Port) {
	for i := range r.Ports {
		p := &r.Ports[i]
		l := &p.Limits
		if l.Inside == nil {
			continue
		}
		full := l.Receive != nil && l.Receive.Value > l.Receive.Threshold || l.Near(catalog.CreditsOut) != nil && 2*l.ReceivePeak > l.BufferBytes
		for _, d := range p.DropCauses {
			full = full || d.Cause == catalog.DropReceive && d.Count > 0
		}
		if full && !negligible(r, p) {
			out = append(out, p)
		}
	}
	return out
}

// receiverHosts puts SlowReceivers into words, the fullest buffer first.
func (x *index) receiverHosts() (out []string) {
	r := x.r
	ports := SlowReceivers(r)
	slices.SortStableFunc(ports, func(x, y *record.Port) int {
		return cmp.Compare(y.Limits.ReceivePeak, x.Limits.ReceivePeak)
	})
	for _, p := range ports {
		in := p.Limits.Inside
		alone := ""
		if in.Bps >= p.RateBps && in.IOTLBMisses == 0 {
			alone = x.l.Of(" alone, and less beside other transfers") + sharedLink(x.l, r, in)
			for _, k := range x.in(p.ID()) {
				if q := &r.QPs[k]; len(q.Limits.Inside) > 0 {
					alone += x.sharedCard(q.Limits.Path[len(q.Limits.Path)-1].Port, q)
					break
				}
			}
		}
		s := x.l.Sprintf("receiver host %s: %s, takes %s%s%s; its network link brings up to %s", p.Node, in,
			FormatRate(in.Bps), InsideBut(x.l, in), alone, FormatRate(p.RateBps))
		if !slices.Contains(out, s) { // a card has a buffer per class
			out = append(out, s)
		}
	}
	return out
}

// leastHeld is the part of a run, one in so many, for which a port must have been held to be worth
// a sentence on who held it.
const leastHeld = 50

// negligible reports whether a receive buffer that filled up cost next to nothing: it dropped
// nothing, and the port that leads to it was hardly ever held with a frame waiting.
func negligible(r *record.Run, p *record.Port) bool {
	for i := range r.Ports {
		if to := &r.Ports[i]; to.ID() == p.Peer && to.Class == p.Class {
			return p.Dropped == 0 && to.HeldPS*leastHeld < r.EndPS-r.FirstPost()
		}
	}
	return false
}

// sharedLink says what went over a link inside a host in the run, and how much of it
// the host had received; "" where the record does not tell.
func sharedLink(l lang.Language, r *record.Run, in *record.InsideLimit) string {
	for i := range r.Servers {
		if r.Servers[i].Host != in.Host {
			continue
		}
		for k := range r.Servers[i].Links {
			link := &r.Servers[i].Links[k]
			if link.Name != in.Link || r.EndPS <= 0 {
				continue
			}
			received := int64(0)
			for q := range r.QPs {
				if r.QPs[q].Host == in.Host {
					received += r.QPs[q].DeliveredBytes
				}
			}
			return l.Sprintf(" (busy %.0f %% of the run, with %s of data in all and %s received)",
				100*float64(link.BusyPS)/float64(r.EndPS), FormatBytes(link.PayloadBytes), FormatBytes(received))
		}
	}
	return ""
}

// AnswerTo aggregates the ledger's lines on question q.
func AnswerTo(q catalog.Question, ledger []record.Entry) Answer {
	a := Answer{Question: q, Mechanisms: []Mechanism{}, Top: []Actor{}}
	var last units.Time
	for i := range ledger {
		e := &ledger[i]
		if e.Question != q || e.Count == 0 {
			continue
		}
		if a.First == nil || e.First < a.First.TimePS {
			a.First = &First{Actor: e.Actor, Mechanism: e.Mechanism, TimePS: e.First}
		}
		last = max(last, e.Last)
		a.Count += e.Count
		if e.Mechanism.Holds() {
			a.HeldPS += units.Time(e.Sum)
		}
		a.addMechanism(e)
		a.Top = append(a.Top, Actor{Actor: e.Actor, Mechanism: e.Mechanism, Act: e.Act})
	}
	if a.First == nil {
		return a
	}
	a.Happened = true
	a.SpanPS = last - a.First.TimePS
	slices.SortStableFunc(a.Mechanisms, func(x, y Mechanism) int { return cmp.Compare(x.First, y.First) })
	slices.SortStableFunc(a.Top, func(x, y Actor) int {
		if q == catalog.Held { // a port held long matters more than one held often
			return cmp.Compare(y.Sum, x.Sum)
		}
		return cmp.Compare(y.Count, x.Count)
	})
	a.Top = slices.Clip(a.Top[:min(len(a.Top), TopActors)])
	return a
}

// addMechanism folds one line of the ledger into its mechanism's sum. There are
// a handful of mechanisms, so a search costs less than a map and keeps order.
func (a *Answer) addMechanism(e *record.Entry) {
	for i := range a.Mechanisms {
		m := &a.Mechanisms[i]
		if m.Mechanism != e.Mechanism {
			continue
		}
		if e.First < m.First {
			m.First, m.Actor = e.First, e.Actor
		}
		m.Last = max(m.Last, e.Last)
		m.Actors++
		m.Count += e.Count
		m.Sum += e.Sum
		return
	}
	a.Mechanisms = append(a.Mechanisms, Mechanism{Mechanism: e.Mechanism, Actors: 1, Actor: e.Actor, Act: e.Act})
}
