// Package account joins what the two ends of a connection and the switches wrote down about a
// message: its time account, what its packets met, and the critical paths of collectives.
package account

import (
	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Ends are what the two ends of each connection know, during a run and after it.
type Ends struct {
	*build.World
	requests []int // see requestsOf
	still    still
}

// EndsOf are those of a world.
func EndsOf(w *build.World) *Ends { return &Ends{World: w, requests: requestsOf(w.Valid.Plan)} }

// Service is that of connection i.
func (e *Ends) Service(i int) catalog.Service { return services[e.Valid.Plan.Conns[i].Service] }

// Is reports whether the service of connection i has all the traits.
func (e *Ends) Is(i int, t catalog.Traits) bool { return e.Service(i).Is(t) }

// StreamEnds are what the two ends of message i's connection know.
func (e *Ends) StreamEnds(i int) (sender, reader nic.Stream) {
	m := e.Valid.Plan.At(i)
	c, to := &e.Valid.Plan.Conns[m.Conn], e.Responders[m.Conn]
	sender, reader = e.Hosts[e.Valid.Graph.HostOf(c.Src)].StreamOf(to.Requester), e.Hosts[to.Node].StreamOf(to.QP)
	if m.Back {
		sender, reader = reader, sender
	}
	return sender, reader
}

// StreamFate is when message i, of TCP, ended and how: with the read of its last
// byte, or with its connection, a reply that was never posted with that of its request.
// Never: it is open.
func (e *Ends) StreamFate(i int) (done units.Time, status string) {
	if e.Messages[i].Posted == units.Never {
		if m := e.Valid.Plan.At(i); m.Reply {
			if done, status = e.StreamFate(e.requests[m.Call]); status != "success" {
				return done, status
			}
		}
		return units.Never, "open"
	}
	sender, reader := e.StreamEnds(i)
	if k := e.Ordinal(i); k < reader.Reads {
		return reader.Arrivals[k].Placed, "success"
	}
	switch {
	case sender.Failed&tcp.TimedOut != 0:
		return max(sender.Ended, e.Messages[i].Posted), "connection timed out"
	case sender.Failed != 0:
		return max(sender.Ended, e.Messages[i].Posted), "connection reset"
	}
	return units.Never, "open"
}

// requestsOf is the message that asks for each call's reply, by the call's number.
func requestsOf(p *workload.Plan) []int {
	requests := make([]int, p.Calls+1)
	if p.Calls == 0 {
		return requests
	}
	for i, m := range p.All() {
		if m.Call > 0 && !m.Reply {
			requests[m.Call] = i
		}
	}
	return requests
}

// services are what records call the services of a plan.
var services = [...]catalog.Service{workload.RC: catalog.RC, workload.UC: catalog.UC, workload.UD: catalog.UD, workload.TCP: catalog.TCP,
	workload.IWARP: catalog.IWARP}

// Ordinal is the place of message i among those that its queue pair has begun; the
// highest number: it has not come to it.
func (e *Ends) Ordinal(i int) int {
	var m nic.MessageAccount
	e.Hosts[e.Requester(i)].Account(uint32(i), &m)
	return int(m.Ordinal)
}

// Received is from the post of message i, of the reliable connected service, until
// its responder had all of it, with a server in memory; -1: not by the run's end.
func (e *Ends) Received(f *record.Message, i int, end units.Time) units.Time {
	to := e.Responders[e.Valid.Plan.At(i).Conn]
	responder, k := e.Hosts[to.Node], e.Ordinal(i)
	if e.Messages[i].Posted == units.Never || k >= responder.Accepted(to.QP) {
		return -1
	}
	placed := responder.Acceptance(to.QP, k).Placed
	if placed > end {
		return -1
	}
	return placed - f.StartPS
}

// Untold reports whether message i, which succeeded, is one of iWARP that its responder refused: TCP had acknowledged
// its bytes, which completes it, before the requester heard of the Terminate message.
func (e *Ends) Untold(i int) bool {
	conn := e.Valid.Plan.At(i).Conn
	if !e.Is(conn, catalog.Segments|catalog.Verbs) {
		return false
	}
	to := e.Responders[conn]
	return e.Ordinal(i) >= e.Hosts[to.Node].Accepted(to.QP)
}

// Requester is the host that posted message i.
func (e *Ends) Requester(i int) int {
	m := e.Valid.Plan.At(i)
	from, _ := e.Valid.Plan.Ends(&m)
	return e.Valid.Graph.HostOf(from)
}

// Placing reports whether messages of connection c end so.
func (e *Ends) Placing(c *workload.Conn) bool {
	return e.Hosts[e.Valid.Graph.HostOf(c.Src)].HasServer() || e.Hosts[e.Valid.Graph.HostOf(c.Dst)].HasServer()
}
