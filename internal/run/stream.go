package run

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// service is that of connection i.
func (r *runner) service(i int) catalog.Service { return services[r.Valid.Plan.Conns[i].Service] }

// is reports whether the service of connection i has all the traits.
func (r *runner) is(i int, t catalog.Traits) bool { return r.service(i).Is(t) }

// services are what records call the services of a plan.
var services = [...]catalog.Service{workload.RC: catalog.RC, workload.UC: catalog.UC, workload.UD: catalog.UD, workload.TCP: catalog.TCP}

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

// callers says of each connection whether it carries calls.
func callers(p *workload.Plan) []bool {
	carries := make([]bool, len(p.Conns))
	for i := range p.Series {
		m := &p.Series[i]
		carries[m.Conn] = carries[m.Conn] || m.Call > 0
	}
	return carries
}

// abandoned counts the messages that failed TCP connections still had, and the replies
// to those of them that were requests: nobody waits for them any more.
func (r *runner) abandoned() (n int) {
	for node, h := range r.Hosts {
		if h == nil {
			continue
		}
		for _, q := range h.Failures() {
			s := h.StreamOf(q)
			peer, at := r.Responders[s.Conn].Node, r.Responders[s.Conn].QP
			if peer == node && at == q {
				peer, at = r.Valid.Graph.HostOf(r.Valid.Plan.Conns[s.Conn].Src), r.Responders[s.Conn].Requester
			}
			far := r.Hosts[peer].StreamOf(at)
			lost := s.Posted - far.Reads - far.Copying
			n += lost
			if r.calls[s.Conn] && q == r.Responders[s.Conn].Requester && node == r.Valid.Graph.HostOf(r.Valid.Plan.Conns[s.Conn].Src) {
				n += lost
			}
		}
	}
	return n
}

// streamEnds are what the two ends of message i's connection know.
func (r *runner) streamEnds(i int) (sender, reader nic.Stream) {
	m := r.Valid.Plan.At(i)
	c, to := &r.Valid.Plan.Conns[m.Conn], r.Responders[m.Conn]
	sender, reader = r.Hosts[r.Valid.Graph.HostOf(c.Src)].StreamOf(to.Requester), r.Hosts[to.Node].StreamOf(to.QP)
	if m.Back {
		sender, reader = reader, sender
	}
	return sender, reader
}

// streamFate is when message i, of TCP, ended and how: with the read of its last
// byte, or with its connection, a reply that was never posted with that of its request.
// Never: it is open.
func (r *runner) streamFate(i int) (done units.Time, status string) {
	if r.Messages[i].Posted == units.Never {
		if m := r.Valid.Plan.At(i); m.Reply {
			if done, status = r.streamFate(r.requests[m.Call]); status != "success" {
				return done, status
			}
		}
		return units.Never, "open"
	}
	sender, reader := r.streamEnds(i)
	if k := r.ordinal(i); k < reader.Reads {
		return reader.Arrivals[k].Placed, "success"
	}
	switch {
	case sender.Failed&tcp.TimedOut != 0:
		return max(sender.Ended, r.Messages[i].Posted), "connection timed out"
	case sender.Failed != 0:
		return max(sender.Ended, r.Messages[i].Posted), "connection reset"
	}
	return units.Never, "open"
}

// recordStream completes the record of message i, of TCP.
func (r *runner) recordStream(f *record.Message, a *accountant, i int) {
	f.Service, f.DeliveredPS = catalog.TCP, -1
	done, status := r.streamFate(i)
	f.Status = status
	if done == units.Never {
		return
	}
	if r.Messages[i].Posted == units.Never {
		f.StartPS, f.CompletionPS = done, 0
		return
	}
	f.CompletionPS = done - f.StartPS
	if status == "success" {
		f.DeliveredPS = f.CompletionPS
	}
	a.check(f, i, a.stream(i, done, status))
}

// streamNames are the stages of a TCP connection's time.
func streamNames() [nic.NumStages]catalog.Stage {
	names := stageNames
	names[nic.Handshake], names[nic.SendBuffer], names[nic.Window] = catalog.StageHandshake, catalog.StageSendBuffer, catalog.StageCwnd
	names[nic.Kernel] = catalog.StageKernel
	names[nic.Detection], names[nic.Timeout] = catalog.StageDetection, catalog.StageTimeout
	names[nic.ReceiveWindow], names[nic.Nagle], names[nic.Rate] = catalog.StageReceiveWindow, catalog.StageNagle, catalog.StagePacing
	return names
}

// stream returns where the time of message i, of TCP, went, which ended at done:
// the connection's time up to the first transmission of its last byte; then that
// segment's way, or the wait for the one sent again that completed the message,
// and its way; then the receiving application, and its copy into a GPU.
func (a *accountant) stream(i int, done units.Time, status string) record.Account {
	m := a.note(i)
	of := a.Valid.Plan.At(i)
	_, to := a.Valid.Plan.Ends(&of)
	src, dst := a.requester(i), a.Valid.Graph.HostOf(to)
	port := &a.ports[a.Hosts[src].GlobalPort(a.Messages[i].QP)]
	a.out, a.at = a.out[:0], a.Messages[i].Due
	a.names, a.loss, a.reordered = streamNames(), catalog.StageDetection, catalog.StageReassembly
	a.segments = true
	defer func() {
		a.names, a.loss, a.reordered, a.segments = stageNames, catalog.StageLoss, catalog.StageReordered, false
	}()
	a.until(catalog.StageCPU, &a.nodes[src], m.Posted)
	a.until(catalog.StageEarlierWork, nil, m.After)
	if status != "success" {
		a.times(&m.Before, port)
		a.missing(i, done)
		return a.out
	}
	_, reader := a.streamEnds(i)
	arrival := &reader.Arrivals[m.Ordinal]
	a.decisive(i, port, a.wayOf(a.Hosts[dst], arrival.Way), arrival.Came)
	a.until(catalog.StagePlace, nil, arrival.Landed)
	a.until(catalog.StageSoftirq, &a.nodes[dst], arrival.At)
	a.until(catalog.StageUnread, &a.nodes[dst], arrival.Read)
	a.until(catalog.StageCopyIn, &a.nodes[dst], done)
	return a.out
}

// check panics unless the stages of message i add up, and leaves them to be made again
// by who asks for them.
func (a *accountant) check(f *record.Message, i int, account record.Account) {
	if account.Total() != f.CompletionPS {
		panic(fmt.Sprintf("run: BUG: message %d (%s to %s): stages add up to %d ps, not %d: %v",
			i, f.Src, f.Dst, account.Total(), f.CompletionPS, account))
	}
	if len(account) > 0 {
		f.Account = record.Defer(a, i)
	}
}

// Fork implements record.Accounts. What is known of all messages, and does not change any
// more, both share.
func (a *accountant) Fork() record.Accounts { return a.fork() }

func (a *accountant) fork() *accountant {
	b := *a
	b.out, b.hops, b.message = nil, nil, 0
	return &b
}

// Account implements record.Accounts.
func (a *accountant) Account(i int, to record.Account) record.Account {
	if !a.is(a.conn(i), catalog.Streams) {
		return append(to, a.account(i)...)
	}
	done, status := a.streamFate(i)
	return append(to, a.stream(i, done, status)...)
}
