package workload

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/units"
)

// RPC is what remote procedure calls are made of.
type RPC struct {
	Request, Reply units.Bytes // at least 1 byte each
	// Think is from the moment that the server has received a request to the post
	// of its reply.
	Think units.Time
	// NoDelay switches Nagle's rule off; for TCP.
	NoDelay bool
}

// RPC appends calls from a client to a server: a request, and a reply after the
// request has been received. Options.Count calls begin Options.Every apart on
// each of Options.QPs pairs of queue pairs, whether or not those before are
// done (an open loop). Both messages of a call go over one TCP connection; of
// RDMA, requests and replies each have a queue pair pair of their own.
func (p *Plan) RPC(entry int, net Network, client, server int, c RPC, o Options) error {
	if !o.Service.Reliable() || o.Service != TCP && (o.Verb == Read || o.Verb.Atomic()) {
		return fmt.Errorf("%s over %s carries no calls, whose messages both sides must receive; use send, write or one of their kinds over rc", o.Verb, o.Service)
	}
	if c.Request < 1 || c.Reply < 1 || c.Think < 0 || c.Think > MaxStart {
		return fmt.Errorf("a call has a request of %s and a reply of %s, after %s; give at least 1B each, and a time from 0 to %s", c.Request, c.Reply, c.Think, MaxStart)
	}
	if err := p.checkRoom(2, o); err != nil {
		return err
	}
	o.QPs, o.Count = max(o.QPs, 1), max(o.Count, 1)
	if err := o.check(); err != nil {
		return err
	}
	for q := range o.QPs {
		there := p.connect(entry, client, server, q, o)
		p.Conns[there].NoDelay = c.NoDelay
		back := there
		if o.Service != TCP {
			turned := o
			turned.Path = reversed(o.Path)
			back = p.connect(entry, server, client, q, turned)
		}
		for i := range o.Count {
			p.Calls++
			request := p.AddMessage(Message{Conn: there, Verb: o.Verb, Bytes: c.Request, Start: o.Start + units.Time(i)*o.Every, Call: int32(p.Calls)})
			reply := p.AddMessage(Message{Conn: back, Back: back == there, Verb: o.Verb, Bytes: c.Reply, Call: int32(p.Calls), Reply: true})
			p.answer(entry, net.HostOf(server), request, reply, c.Think)
		}
	}
	return nil
}

// answer has a reply follow a request after the server has thought.
func (p *Plan) answer(entry, server int, request, reply Op, think units.Time) {
	if think == 0 {
		p.After(reply, request, Received)
		return
	}
	thinks := p.AddLocal(Local{Host: server, Entry: entry, Label: p.AddLabel("think", Part{"think", think}), From: NoDevice, To: NoDevice})
	p.After(thinks, request, Received)
	p.After(reply, thinks, Completed)
}
