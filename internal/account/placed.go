package account

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Where an end of a connection has a server, its messages end when their bytes are in
// the memory they go to, not when the requester hears of it.

// ended is when message i, which has completed, ended. One in error ends at the
// requester, and so does one that never arrived.
func (a *Book) ended(i int) units.Time {
	m := &a.Messages[i]
	c := &a.Valid.Plan.Conns[a.conn(i)]
	if m.Status != rdma.Success || !a.Placing(c) {
		return m.Done
	}
	switch {
	case a.note(i).Verb >= rdma.Read:
		return max(m.Done, a.note(i).Placed)
	case a.Is(a.conn(i), catalog.Acknowledges):
		taken, _ := a.acceptance(i)
		return taken.Placed
	}
	if taken := a.taken(i); taken != nil {
		return taken.Placed
	}
	return m.Done
}

// place books the time until what a packet brought to a queue pair is in the memory
// that the card writes to, and that until it is where it belongs.
func (a *Book) place(node int, qp uint32, landed, placed units.Time) {
	a.until(catalog.StagePlace, &a.ports[a.Hosts[node].GlobalPort(qp)].at, max(a.at, landed))
	a.until(catalog.StageCopyIn, &a.nodes[node], max(a.at, placed))
}

// datagram returns where the time of a message of a service without acknowledgements
// went that arrived: the requester's time up to its last packet, that one's way, and
// the write to memory.
func (a *Book) datagram(i int, taken *nic.Acceptance) record.Account {
	port := a.opening(i)
	to := a.Responders[a.conn(i)]
	host := a.Hosts[to.Node]
	a.times(&a.note(i).Before, port)
	a.way(catalog.LegThere, a.wayOf(host, taken.Way), taken.At)
	a.place(to.Node, to.QP, taken.Landed, taken.Placed)
	return a.out
}

// polled is when the requester's application had polled the completion of message i,
// which has completed.
func (a *Book) polled(i int) units.Time {
	return a.Messages[i].Polled
}

// toPolled returns where the time of message i went until then.
func (a *Book) toPolled(i int) record.Account {
	a.toCompletion(i)
	a.until(catalog.StageEntry, &a.nodes[a.Requester(i)], a.polled(i))
	return a.out
}
