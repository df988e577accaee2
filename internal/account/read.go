package account

import (
	"cmp"
	"slices"
	"sort"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/units"
)

// read books a READ that succeeded, up to the response with which all of it had
// arrived; then it may have had to wait for an earlier READ.
func (a *Book) read(i int, port *port) {
	m := a.note(i)
	last := nic.ResponseArrival{At: m.Done, Way: m.Ack}
	if m.By != nic.Answered {
		last = nic.ResponseArrival{}
		if m.Read != nil {
			last = m.Read.Latest
		}
	}
	back := a.wayOf(a.Hosts[a.Requester(i)], last.Way)
	to := a.Responders[a.conn(i)]
	answer := answerAt(a.Hosts[to.Node], to.QP, startOf(back))
	switch {
	case answer == nil:
		a.asked(i, port, nil)
	case a.resend(i, a.wayOf(a.Hosts[to.Node], answer.Way)) == nil:
		a.answered(i, port, answer, back, last.At)
	default:
		a.repaired(i, port, answer, back, last.At)
	}
	a.until(catalog.StageInOrder, nil, m.Done)
}

// readOverTCP books a READ of a queue pair that TCP carries: as a message up to its acceptance, then the responder's
// time and the way of the segment with which all of the response was there. That may be one sent again of an earlier
// READ's, behind which this one's had come.
func (a *Book) readOverTCP(i int, port *port) {
	m := a.note(i)
	taken, way := a.acceptance(i)
	a.decisive(i, port, way, taken.At)
	to := a.Responders[a.conn(i)]
	responder := a.Hosts[to.Node]
	back := a.wayOf(a.Hosts[a.Requester(i)], m.Ack)
	if answer := answerAt(responder, to.QP, startOf(back)); answer != nil && answer.Taken == taken.At && m.By == nic.Answered {
		a.until(catalog.StageEarlierWork.On(catalog.LegResponse), nil, answer.After)
		a.timesUpTo(catalog.LegResponse, &answer.Before, &a.ports[responder.GlobalPort(to.QP)], answer.Start)
		a.way(catalog.LegResponse, back, m.Done)
	} else if m.By == nic.Answered {
		a.until(catalog.StageReassembly.On(catalog.LegResponse), nil, m.Done)
	}
	a.until(catalog.StageInOrder, nil, m.Done)
}

// answerAt is the note of the response that was sent at start; nil: there is none.
func answerAt(responder *nic.Host, q uint32, start units.Time) *nic.Answer {
	n := responder.Answers(q)
	k := sort.Search(n, func(k int) bool { return responder.AnswerStart(q, k) >= start })
	if k == n || responder.AnswerStart(q, k) != start {
		return nil
	}
	return responder.Answer(q, k)
}

// answered books the requester's time until it sent the request that the given
// response answers, that request's way, the responder's time until it sent the
// response, and the response's way, which is empty if it did not arrive. A READ
// that was asked for in parts is booked from the request for the first of them.
func (a *Book) answered(i int, port *port, answer *nic.Answer, back []fabric.Hop, arrived units.Time) {
	m := a.note(i)
	to := a.Responders[a.conn(i)]
	responder := a.Hosts[to.Node]
	before := answer.Before
	if first := a.wayOf(responder, answer.FirstWay); m.Read != nil && a.askedPart(i, port, first) {
		a.way(catalog.LegThere, first, answer.First)
		a.until(catalog.StageEarlierWork.On(catalog.LegResponse), nil, answer.After)
		a.unasked(m, &before, port)
	} else {
		there := a.wayOf(responder, answer.Way)
		if !a.asked(i, port, there) {
			return
		}
		a.way(catalog.LegThere, there, answer.Taken)
		clip := a.clip
		a.clip = true // parts asked for before were answered while it was on its way
		a.until(catalog.StageEarlierWork.On(catalog.LegResponse), nil, answer.After)
		a.clip = clip
	}
	a.timesUpTo(catalog.LegResponse, &before, &a.ports[responder.GlobalPort(to.QP)], answer.Start)
	a.way(catalog.LegResponse, back, arrived)
}

// askedPart books the requester's time until it sent the request for a READ's
// first part whose way is given, and reports whether it is known.
func (a *Book) askedPart(i int, port *port, way []fabric.Hop) bool {
	m := a.note(i)
	start := startOf(way)
	switch again := a.resend(i, way); {
	case m.Read.Asked == units.Never || start == unknown:
		return false
	case len(m.Failed) > 0 && m.Failed[0].Start < m.Read.Asked: // at first one request had asked for all of it
		return false
	case m.Read.Asked == start:
		a.times(&m.Read.Before, port)
	case again != nil && again.Rewound >= m.Read.Asked:
		a.times(&m.Read.Before, port)
		a.missing(i, again.Rewound)
		a.times(&again.Before, port)
	default:
		return false
	}
	return true
}

// unasked books the time in which the responder had nothing to send because the
// next part of the READ was not asked for, and takes it off its times: what the
// requester lost to a loss in the meantime, and what else held it most.
func (a *Book) unasked(m *nic.MessageAccount, before *nic.Times, port *port) {
	idle := before[nic.Idle] + before[nic.AwaitAck]
	before[nic.Idle], before[nic.AwaitAck] = 0, 0
	var held nic.Times // what kept the requester from asking for more, since it first asked
	for s := range held {
		held[s] = m.Before[s] - m.Read.Before[s]
		for k := range m.Failed {
			held[s] += m.Failed[k].Before[s]
		}
	}
	for k := range m.Failed {
		held[nic.Lost] += m.Failed[k].Missing()
	}
	lost := min(idle, max(0, held[nic.Lost]))
	most := nic.Idle
	for s, d := range held {
		if stage := nic.Stage(s); d > held[most] && stage != nic.Lost && stage != nic.Resending {
			most = stage
		}
	}
	var t nic.Times
	t[nic.Lost] = lost
	t[most] += idle - lost
	a.times(&t, port)
}

// repaired books a READ whose last response to arrive answers a request sent again
// for what was missing (selective repeat): as if nothing had been missing up to
// the response that would have been its last, and then what came of the loss.
func (a *Book) repaired(i int, port *port, answer *nic.Answer, back []fabric.Hop, arrived units.Time) {
	m := a.note(i)
	to := a.Responders[a.conn(i)]
	responder := a.Hosts[to.Node]
	if tail := a.tail(i, answer.Start); tail != nil {
		var back []fabric.Hop
		at := tail.Start
		if m.Read != nil && m.Read.Tail.At > 0 {
			if hops := a.wayOf(a.Hosts[a.Requester(i)], m.Read.Tail.Way); startOf(hops) == tail.Start {
				back, at = hops, m.Read.Tail.At
			}
		}
		a.answered(i, port, tail, back, at)
	} else {
		a.times(&m.Before, port)
	}
	there := a.wayOf(responder, answer.Way)
	again := a.resend(i, there)
	a.clip = true // the loss may have been noticed and seen to before
	a.missing(i, again.Rewound)
	a.timesUpTo(catalog.LegThere, &again.Before, port, again.Start)
	a.way(catalog.LegThere, there, answer.Taken)
	a.until(catalog.StageEarlierWork.On(catalog.LegResponse), nil, answer.After)
	a.timesUpTo(catalog.LegResponse, &answer.Before, &a.ports[responder.GlobalPort(to.QP)], answer.Start)
	a.way(catalog.LegResponse, back, arrived)
	a.clip = false
}

// tail is the note of the response that ended READ i when nothing of it had been
// sent again, sent before the given time; nil if there was none.
func (a *Book) tail(i int, before units.Time) *nic.Answer {
	start := a.note(i).Start
	to := a.Responders[a.conn(i)]
	host := a.Hosts[to.Node]
	n := host.Answers(to.QP)
	for k := sort.Search(n, func(k int) bool { return host.AnswerStart(to.QP, k) >= start }); k < n && host.AnswerStart(to.QP, k) < before; k++ {
		if answer := host.Answer(to.QP, k); a.startAt(host, answer.Way) == start {
			return answer
		}
	}
	return nil
}

// asked books the requester's time up to the transmission of the READ request
// whose way is given. If that is not known it books it up to the latest request
// and reports false.
func (a *Book) asked(i int, port *port, way []fabric.Hop) bool {
	m, start := a.note(i), startOf(way)
	for k := range m.Failed {
		f := &m.Failed[k]
		if f.Start == start || start != unknown && f.Rewound > start {
			break
		}
		a.times(&f.Before, port)
		if f.Taken > a.at {
			a.until(catalog.StageResponses, nil, min(f.Taken, f.Rewound))
		}
		a.void(i, f)
	}
	if own := ownTime(m, way); own != nil {
		a.times(own, port)
		return true
	}
	if again := a.resend(i, way); again != nil && again.Rewound >= m.Start {
		a.times(&m.Before, port)
		a.lost(i, again.Rewound, again.Taken)
		a.times(&again.Before, port)
		return true
	}
	if start >= a.at { // the responder went back to an earlier request, and sent this answer with that one's
		a.until(catalog.StageEarlierWork, nil, start)
		return true
	}
	a.times(&m.Before, port)
	return false
}

// lost books the time from a READ request until one was sent again at rewound:
// responses came until taken, then one was missing.
func (a *Book) lost(i int, rewound, taken units.Time) {
	if taken > a.at {
		a.until(catalog.StageResponses, nil, min(taken, rewound))
	}
	a.missing(i, rewound)
}

// taken is the responder's note of message i, of a service without acknowledgements;
// nil if it never had all of it. The message is known by when its last packet was
// sent.
func (a *Book) taken(i int) *nic.Acceptance {
	conn := a.conn(i)
	if a.delivered == nil {
		a.delivered = make([][]arrival, len(a.Responders))
	}
	to := a.Responders[conn]
	host := a.Hosts[to.Node]
	if a.delivered[conn] == nil {
		all := make([]arrival, host.Accepted(to.QP))
		for k := range all {
			all[k] = arrival{a.startAt(host, host.Acceptance(to.QP, k).Way), k}
		}
		slices.SortStableFunc(all, func(a, b arrival) int { return cmp.Compare(a.sent, b.sent) })
		a.delivered[conn] = all
	}
	all, sent := a.delivered[conn], a.note(i).Start
	k := sort.Search(len(all), func(k int) bool { return all[k].sent > sent }) - 1 // the last of those sent then
	if k < 0 || all[k].sent != sent || a.Messages[i].Posted == units.Never {
		return nil
	}
	a.tookNote = all[k].note
	a.took = host.Acceptance(to.QP, a.tookNote)
	return &a.took
}

// arrival is when the last packet of a message that arrived was sent, and the number
// of the responder's note.
type arrival struct {
	sent units.Time
	note int
}

// startAt is when the packet of a way was sent.
func (a *Book) startAt(host *nic.Host, w nic.Way) units.Time {
	n := len(a.hops)
	start := startOf(a.wayOf(host, w))
	a.hops = a.hops[:n]
	return start
}
