package workload

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// Requests have times and each starts its reply, after the server's time; over TCP both go over one connection, over RDMA each way has its own.
func TestRPC(t *testing.T) {
	for _, service := range []Service{TCP, RC} {
		p := &Plan{}
		entry := p.AddEntry("calls")
		o := DefaultOptions()
		o.Service, o.Verb, o.QPs, o.Count, o.Start, o.Every = service, Send, 2, 3, 5, 7
		if err := p.RPC(entry, twoHosts{}, 0, 1, RPC{Request: 100, Reply: 200, Think: 11, NoDelay: true}, o); err != nil {
			t.Fatal(err)
		}
		if err := p.Finish(twoHosts{}); err != nil {
			t.Fatal(err)
		}
		conns := map[Service]int{TCP: 2, RC: 4}[service]
		if len(p.Conns) != conns || p.Len() != 12 || len(p.Locals) != 6 || p.Calls != 6 {
			t.Fatalf("%s: %d connections, %d messages, %d local operations, %d calls", service, len(p.Conns), p.Len(), len(p.Locals), p.Calls)
		}
		for i := range p.Series {
			m := &p.Series[i].Message
			from, to := p.Ends(m)
			switch {
			case m.Reply && (from != 1 || to != 0 || m.Bytes != 200 || m.Start != units.Never || m.Back != (service == TCP)),
				!m.Reply && (from != 0 || to != 1 || m.Bytes != 100 || m.Back || m.Start != 5+7*units.Time((m.Call-1)%3)):
				t.Errorf("%s: message %d from %d to %d: %+v", service, i, from, to, m)
			}
			if m.Reply {
				continue
			}
			next := p.Graph.Released(i, Received)
			if len(next) != 1 || int(next[0]) < p.Len() || p.Labels[p.Locals[int(next[0])-p.Len()].Label].Delay() != 11 {
				t.Fatalf("%s: call %d starts %v, want a local operation of 11 ps", service, m.Call, next)
			}
			if next = p.Graph.Released(int(next[0]), Completed); len(next) != 1 || p.Series[next[0]].Call != m.Call || !p.Series[next[0]].Reply {
				t.Errorf("%s: call %d starts %v", service, m.Call, next)
			}
		}
	}
}

// What no call can be.
func TestRPCRefused(t *testing.T) {
	o := DefaultOptions()
	o.Verb = Send
	good := RPC{Request: 1, Reply: 1}
	for _, c := range []struct {
		name string
		call RPC
		set  func(*Options)
		want string
	}{
		{"no request", RPC{Reply: 1}, nil, "a request of 0B"},
		{"a negative time", RPC{1, 1, -1, false}, nil, "a time from 0 to"},
		{"a READ", good, func(o *Options) { o.Verb = Read }, "READ over RC carries no calls"},
		{"a datagram", good, func(o *Options) { o.Service = UD }, "SEND over UD carries no calls"},
		{"too many", good, func(o *Options) { o.Count = MaxMessages/2 + 1 }, "messages are possible in all"},
	} {
		opt := o
		if c.set != nil {
			c.set(&opt)
		}
		p := &Plan{}
		err := p.RPC(p.AddEntry("calls"), twoHosts{}, 0, 1, c.call, opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	p := &Plan{Entries: []string{"w"}, Conns: []Conn{{Dst: 1}}}
	p.AddMessage(Message{Back: true, Bytes: 1})
	if err := p.Finish(twoHosts{}); err == nil || !strings.Contains(err.Error(), "against the direction of its connection") {
		t.Errorf("back over RC: %v", err)
	}
}
