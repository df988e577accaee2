package account

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// A message that is open when a run ends has an account up to then. What its queue pair did is known until its
// last packet was sent; that packet, or what answers it, may wait at a port, which then has the rest.

// still are the packets that waited at the end of a run.
type still struct {
	end  units.Time
	ways map[sentAt][]fabric.Hop // by where and when they left their host
}

// sentAt tells packets apart: a port begins one at a time.
type sentAt struct {
	port uint32
	at   units.Time
}

// Close ends the notes of what is open when a run ends.
func (e *Ends) Close(end units.Time) {
	e.still = still{end: end, ways: map[sentAt][]fabric.Hop{}}
	for _, h := range e.Hosts {
		if h != nil {
			h.Close(end)
		}
	}
	local := func(port uint32) int { return e.Place[port].Index }
	var waiting [][]fabric.Hop
	for _, n := range e.Nets {
		waiting = n.Waiting(end, local, waiting[:0])
		for _, hops := range waiting {
			e.still.ways[sentAt{hops[0].Port, hops[0].Start}] = hops
		}
	}
}

// isOpen reports whether message i was open when the run ended.
func (a *Book) isOpen(i int) bool {
	if a.still.ways == nil {
		return false
	}
	if a.Is(a.Valid.Plan.At(i).Conn, catalog.Streams) {
		done, _ := a.StreamFate(i)
		return done == units.Never
	}
	return a.Messages[i].Done == units.Never || a.ended(i) > a.still.end
}

// Open gives message i, which is open, the account of its time up to the run's end.
func (a *Book) Open(f *record.Message, i int) {
	if a.still.ways == nil || a.still.end <= f.StartPS {
		return
	}
	f.OpenPS = a.still.end - f.StartPS
	a.check(f, i, a.open(i))
}

// open returns where the time of message i went until the run's end.
func (a *Book) open(i int) record.Account {
	end := a.still.end
	a.clip = true
	defer func() { a.clip = false }()
	switch {
	case a.Messages[i].Posted == units.Never:
		a.out, a.at = a.out[:0], a.Messages[i].Due
		if a.at == units.Never { // it was not to wait
			a.at = a.Valid.Plan.At(i).Start
		}
		a.until(catalog.StageCPU, &a.nodes[a.Requester(i)], end)
	case a.Is(a.conn(i), catalog.Streams):
		a.openStream(i)
	case a.note(i).Done != units.Never: // it is not in memory yet
		a.clip = false
		a.account(i)
	default:
		a.openRequest(i)
	}
	a.cutAt(end)
	a.until(catalog.StageAwaitAck, nil, end)
	return a.out
}

// cutAt leaves out what comes after the given time.
func (a *Book) cutAt(end units.Time) {
	for a.at > end {
		last := &a.out[len(a.out)-1]
		cut := min(a.at-end, last.Time)
		a.at -= cut
		if last.Time -= cut; last.Time == 0 {
			a.out = a.out[:len(a.out)-1]
		}
	}
}

// openRequest books a message of a queue pair.
func (a *Book) openRequest(i int) {
	m := a.note(i)
	a.comeTo(m)
	port := a.opening(i)
	switch {
	case a.at >= a.still.end:
	case m.Verb == rdma.Read && !a.Is(a.conn(i), catalog.Segments):
		a.openRead(i, port)
	case m.Start == units.Never || !a.Is(a.conn(i), catalog.Acknowledges):
		a.failed(i, port, unknown)
		a.times(&m.Before, port)
	default:
		a.openSent(i, port)
	}
}

// comeTo notes of a message that its queue pair has not come to that it waits for earlier ones.
func (a *Book) comeTo(m *nic.MessageAccount) {
	if m.Ordinal == ^uint32(0) {
		m.After = a.still.end
	}
}

// openSent books a message whose last packet was sent: up to where that waits, or to what its responder does
// about it.
func (a *Book) openSent(i int, port *port) {
	m, to := a.note(i), a.Responders[a.conn(i)]
	if int(m.Ordinal) >= a.Hosts[to.Node].Accepted(to.QP) {
		a.failed(i, port, m.Start)
		a.times(&m.Before, port)
		a.stillOn(catalog.LegThere, a.portOf(i), m.Start)
		return
	}
	taken, way := a.acceptance(i)
	a.failed(i, port, startOf(way))
	a.decisive(i, port, way, taken.At)
	if m.Verb == rdma.Read {
		a.until(catalog.StageResponses, nil, a.still.end)
		return
	}
	stage := catalog.StageCoalesce
	if taken.Held {
		stage = catalog.StageHeldAck
	}
	a.until(stage, &a.places.at[a.Valid.Plan.Conns[a.conn(i)].Dst], min(taken.FirstAck, a.still.end))
	a.until(catalog.StageAckWay, nil, a.still.end)
}

// portOf is the port that message i leaves by, by its global number.
func (a *Book) portOf(i int) uint32 {
	return uint32(a.Hosts[a.Requester(i)].GlobalPort(a.Messages[i].QP))
}

// stillOn books the way of the packet that left a port at the given time, if it waits somewhere.
func (a *Book) stillOn(leg catalog.Leg, port uint32, start units.Time) {
	if way := a.still.ways[sentAt{port, start}]; len(way) > 0 && way[0].In <= a.at {
		a.way(leg, way, a.still.end)
	}
}

// openRead books a READ: up to its request, or to what its responder sends.
func (a *Book) openRead(i int, port *port) {
	m, to, end := a.note(i), a.Responders[a.conn(i)], a.still.end
	host := a.Hosts[to.Node]
	asked := unknown // when the first part was asked for
	if m.Read != nil {
		asked = m.Read.Asked
	}
	for k := host.Answers(to.QP) - 1; k >= 0 && host.AnswerStart(to.QP, k) == end; k-- {
		answer := host.Answer(to.QP, k)
		if start := a.startAt(host, answer.Way); start != unknown && start == m.Start ||
			asked != unknown && a.startAt(host, answer.FirstWay) == asked {
			a.answered(i, port, answer, nil, end)
			return
		}
	}
	if answer := a.tail(i, end); answer != nil {
		back := a.still.ways[sentAt{uint32(host.GlobalPort(to.QP)), answer.Start}]
		a.answered(i, port, answer, back, end)
		return
	}
	a.failed(i, port, m.Start)
	a.times(&m.Before, port)
	a.stillOn(catalog.LegThere, a.portOf(i), m.Start)
}

// openStream books a message of a TCP connection.
func (a *Book) openStream(i int) {
	defer a.asStream()()
	a.comeTo(a.note(i))
	m, port := a.openingStream(i)
	if a.at >= a.still.end {
		return
	}
	_, reader := a.StreamEnds(i)
	switch k := int(m.Ordinal); {
	case k < len(reader.Arrivals):
		a.arrived(i, port, &reader.Arrivals[k], a.still.end)
	case m.Start == units.Never:
		a.times(&m.Before, port)
	default:
		a.times(&m.Before, port)
		a.stillOn(catalog.LegThere, a.portOf(i), m.Start)
		if expired := a.Hosts[a.Requester(i)].Timeouts(a.Messages[i].QP); len(expired) > 0 {
			a.missing(i, min(expired[len(expired)-1], a.still.end))
		}
	}
}
