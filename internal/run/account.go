package run

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// stageNames are the stages of a requester's time.
var stageNames = [nic.NumStages]string{
	nic.Idle: "idle", nic.RNRWait: "RNR wait", nic.AwaitAck: "awaiting acknowledgement",
	nic.Window: "window", nic.Rate: "rate", nic.Paused: "paused", nic.Control: "control frames",
	nic.Other: "other traffic", nic.Sending: "sending", nic.Resending: "resending",
}

// accountant joins what requester and responder wrote down about a message
// into one account that tiles its completion time (design, section 8).
type accountant struct {
	*runner
	out record.Account
	at  units.Time // accounted up to here
}

// account returns where the time of message i went, which has completed.
func (r *runner) account(i int) record.Account {
	m := &r.Accounts[i]
	taken := r.acceptance(i)
	c := &r.Valid.Plan.Conns[r.Valid.Plan.Messages[i].Conn]
	src := r.Valid.Graph.Endpoints[c.Src]
	port := r.portName(src.Node, src.Port)
	a := accountant{runner: r, at: m.Posted}
	a.until("behind earlier work", "", m.After)
	for k := range m.Failed {
		f := &m.Failed[k]
		if taken != nil && taken.Way.Hops[0].Start == f.Start {
			break // this one was accepted; only its ACK was late or lost
		}
		a.times(&f.Before, port)
		a.until("awaiting NAK or timeout", "", f.Rewound)
	}
	if taken == nil {
		a.times(&m.Before, port)
		a.until("until the error", "", m.Done)
		return a.out
	}
	a.times(a.before(m, taken), port)
	a.way("", &taken.Way, taken.At)
	a.until("ACK coalescing", r.Valid.Graph.EndpointName(c.Dst), taken.FirstAck)
	a.until("ACK lost", "", m.AckMade)
	if m.Ack.N > 0 {
		a.way("ACK ", &m.Ack, m.Done)
	} else {
		a.until("ACK on its way", "", m.Done)
	}
	return a.out
}

// acceptance is the responder's note of message i, nil unless the message
// succeeded.
func (r *runner) acceptance(i int) *nic.Acceptance {
	if r.Messages[i].Status != rdma.Success {
		return nil
	}
	to := r.Responders[r.Valid.Plan.Messages[i].Conn]
	return &r.Hosts[to.Node].Accepted(to.QP)[r.Accounts[i].Ordinal]
}

// before is the queue pair's time up to the transmission that was accepted.
func (a *accountant) before(m *nic.MessageAccount, taken *nic.Acceptance) *nic.Times {
	for k := range m.Failed {
		if m.Failed[k].Start == taken.Way.Hops[0].Start {
			return &m.Failed[k].Before
		}
	}
	return &m.Before
}

// add books a stage; what took no time is left out.
func (a *accountant) add(name, where string, d units.Time) {
	if d == 0 {
		return
	}
	a.at += d
	a.out = append(a.out, record.Stage{Name: name, Where: where, Time: d})
}

// until books the time from where the account stands to t.
func (a *accountant) until(name, where string, t units.Time) { a.add(name, where, t-a.at) }

// times books a requester's stages; what the port did stands beside its name.
func (a *accountant) times(t *nic.Times, port string) {
	for s, d := range t {
		where := ""
		switch nic.Stage(s) {
		case nic.Paused, nic.Control, nic.Other, nic.Sending, nic.Resending:
			where = port
		}
		a.add(stageNames[s], where, d)
	}
}

// way books the hops of a stamped packet, up to its arrival at end.
func (a *accountant) way(prefix string, s *fabric.Stamps, end units.Time) {
	for k := range s.N {
		h := &s.Hops[k]
		place := a.Place[h.Port]
		name := a.portName(place.Node, place.Local)
		a.until(prefix+"in between", "", h.In) // zero: hops follow one another
		if k == s.N-1 && k > 0 && a.Valid.Graph.Nodes[place.Node].Kind == topology.Host {
			a.until(prefix+"receive buffer", name, h.Start)
			continue
		}
		a.add(prefix+"paused", name, h.Paused)
		a.until(prefix+"queue", name, h.Start)
		a.link(prefix, h, place.Node, place.Local, nextIn(s, k, end))
	}
}

// nextIn is when the packet was at the hop after k.
func nextIn(s *fabric.Stamps, k int, end units.Time) units.Time {
	if k+1 < s.N {
		return s.Hops[k+1].In
	}
	return end
}

// link books serialisation, propagation and the next switch's pipeline.
func (a *accountant) link(prefix string, h *fabric.Hop, node, local int, arrived units.Time) {
	g := a.Valid.Graph
	peer := g.Nodes[node].Ports[local].Peer
	latency := units.Time(0)
	if g.Nodes[peer].Kind == topology.Switch {
		latency = a.Valid.Switches[peer].Latency
	}
	delay := g.LinkAt(node, local).Delay
	a.add(prefix+"serialisation", a.portName(node, local), arrived-h.Start-delay-latency)
	a.add(prefix+"propagation", fmt.Sprintf("%s to %s", g.Nodes[node].Name, g.Nodes[peer].Name), delay)
	a.add(prefix+"switch latency", g.Nodes[peer].Name, latency)
}

func (r *runner) portName(node, local int) string {
	return fmt.Sprintf("%s:%d", r.Valid.Graph.Nodes[node].Name, local+1)
}
