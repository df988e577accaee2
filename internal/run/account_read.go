package run

import (
	"sort"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// read books a READ that succeeded: the requester's time until the request was
// sent that the decisive response answers, that request's way, the responder's
// time until it sent the response, and the response's way.
func (a *accountant) read(i int, port string) {
	m := &a.Accounts[i]
	msg := &a.Valid.Plan.Messages[i]
	to := a.Responders[msg.Conn]
	responder := a.Hosts[to.Node]
	back := a.Hosts[a.Valid.Graph.HostOf(a.Valid.Plan.Conns[msg.Conn].Src)].Hops(m.Ack)
	answer := answerAt(responder.Answers(to.QP), startOf(back))
	var there []fabric.Hop
	if answer != nil && m.By == nic.Answered {
		there = responder.Hops(answer.Way)
	}
	if !a.asked(i, port, there) {
		a.until(record.StageInOrder, "", m.Done)
		return
	}
	a.way(&a.data, there, answer.Taken)
	a.until(record.ResponseStage+record.StageEarlierWork, "", answer.After)
	a.timesOf(record.ResponseStage, &answer.Before, a.port[responder.GlobalPort(to.QP)])
	a.way(&a.response, back, m.Done)
}

// answerAt is the note of the response that was sent at start; nil: there is none.
func answerAt(all []nic.Answer, start units.Time) *nic.Answer {
	k := sort.Search(len(all), func(k int) bool { return all[k].Start >= start })
	if k == len(all) || all[k].Start != start {
		return nil
	}
	return &all[k]
}

// asked books the requester's time up to the transmission of the READ request
// whose way is given. If that is not known it books it up to the latest request
// and reports false.
func (a *accountant) asked(i int, port string, way []fabric.Hop) bool {
	m, start := &a.Accounts[i], startOf(way)
	for k := range m.Failed {
		f := &m.Failed[k]
		if f.Start == start || start != unknown && f.Rewound > start {
			break
		}
		a.times(&f.Before, port)
		a.lost(f.Rewound, f.Taken)
	}
	if own := ownTime(m, way); own != nil {
		a.times(own, port)
		return true
	}
	if again := a.resend(i, way); again != nil && again.Rewound >= m.Start {
		a.times(&m.Before, port)
		a.lost(again.Rewound, again.Taken)
		a.times(&again.Before, port)
		return true
	}
	if start >= a.at { // the responder went back to an earlier request, and sent this answer with that one's
		a.until(record.StageEarlierWork, "", start)
		return true
	}
	a.times(&m.Before, port)
	return false
}

// lost books the time from a READ request until one was sent again at rewound:
// responses came until taken, then one was missing.
func (a *accountant) lost(rewound, taken units.Time) {
	if taken > a.at {
		a.until(record.StageResponses, "", taken)
	}
	a.until(record.StageLoss, "", rewound)
}

// deliveredAt is when the responder had all of message i, of a service without
// acknowledgements; Never if it never had. The message is known by when its last
// packet was sent.
func (a *accountant) deliveredAt(i int) units.Time {
	conn := a.Valid.Plan.Messages[i].Conn
	if a.delivered == nil {
		a.delivered = make([]map[units.Time]units.Time, len(a.Responders))
	}
	if a.delivered[conn] == nil {
		to := a.Responders[conn]
		host := a.Hosts[to.Node]
		all := host.Accepted(to.QP)
		a.delivered[conn] = make(map[units.Time]units.Time, len(all))
		for k := range all {
			a.delivered[conn][startOf(host.Hops(all[k].Way))] = all[k].At
		}
	}
	if at, ok := a.delivered[conn][a.Accounts[i].Start]; ok && a.Messages[i].Posted != units.Never {
		return at
	}
	return units.Never
}
