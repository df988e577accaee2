package account

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Evidence gathers what hosts and switches wrote down about causes. What the packets of a
// message met is asked for message by message, after the run.
func (a *Book) Evidence() *record.Evidence {
	e := &record.Evidence{Meetings: meetings{a}.Fork()}
	for _, at := range a.Place {
		e.Ports = append(e.Ports, record.PortID{Node: a.Valid.Graph.Nodes[at.Node].Name, Port: at.Local + 1})
	}
	for _, at := range a.Place {
		e.Far = append(e.Far, a.Far(at))
		a.Nets[at.Part].Evidence(at.Index, e)
	}
	for _, n := range a.Nets {
		n.Detours(e)
	}
	slices.SortStableFunc(e.Detours, func(a, b record.Detour) int { return cmp.Compare(a.Node, b.Node) })
	return e
}

// Lost implements record.Meetings.
func (a meetings) Lost(i int, to []record.Lost) []record.Lost {
	conn := a.conn(i)
	if !hasBit(a.lossy, conn) {
		return to
	}
	from, until, all := a.Messages[i].Posted, a.note(i).Done, len(to)
	for _, n := range a.Nets {
		begin := len(to)
		to = n.Losses(uint32(conn), to)
		kept := to[begin:begin]
		for _, l := range to[begin:] {
			l.Acts = l.Acts.Within(from, until)
			if len(l.Acts) > 0 {
				kept = append(kept, l)
			}
		}
		to = to[:begin+len(kept)]
	}
	slices.SortFunc(to[all:], func(a, b record.Lost) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Cause, b.Cause), first(b.Answer, a.Answer))
	})
	return to
}

// first orders what is so before what is not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// meetings tells what packets of messages met.
type meetings struct{ *Book }

// Fork implements record.Meetings.
func (m meetings) Fork() record.Meetings { return meetings{m.fork()} }

// Met implements record.Meetings. The account's ways, those of the last packet and of the
// ACK that completed the message, are added to what the samples met.
func (a meetings) Met(i int, to []record.Met) []record.Met {
	m := a.note(i)
	from := len(to)
	if m.Posted == units.Never {
		return to
	}
	k := int(m.Ordinal)
	sender, reader := a.ends(i)
	var way []fabric.Hop
	if a.Is(a.conn(i), catalog.Streams) {
		if s := reader.host.StreamOf(reader.slot); k < len(s.Arrivals) {
			way = a.wayOf(reader.host, s.Arrivals[k].Way)
		}
	} else if k = a.accepted(i); k >= 0 && k < reader.host.Accepted(reader.slot) {
		way = a.wayOf(reader.host, reader.host.Acceptance(reader.slot, k).Way)
	}
	if k >= 0 {
		to = reader.host.RequestsMet(reader.slot, k, to)
	}
	to = sender.host.RepliesMet(sender.slot, uint32(i), m.Done == units.Never, to)
	if len(to) == from {
		return to
	}
	to = a.addWay(to, from, way, false)
	to = a.addWay(to, from, a.wayOf(sender.host, m.Ack), true)
	slices.SortFunc(to[from:], byPort)
	return to
}

// endpoint is one end of a connection: its host and its slot there.
type endpoint struct {
	host *nic.Host
	slot uint32
}

// ends are the two ends of message i's connection.
func (a *Book) ends(i int) (sender, reader endpoint) {
	m := a.Valid.Plan.At(i)
	to := a.Responders[m.Conn]
	sender = endpoint{a.Hosts[a.Valid.Graph.HostOf(a.Valid.Plan.Conns[m.Conn].Src)], to.Requester}
	reader = endpoint{a.Hosts[to.Node], to.QP}
	if m.Back {
		return reader, sender
	}
	return sender, reader
}

// accepted is which of the messages that its responder took message i, of a queue pair, is
// or would be; -1: of a service without acknowledgements, it did not arrive.
func (a *Book) accepted(i int) int {
	if a.Is(a.conn(i), catalog.Acknowledges) {
		return int(a.note(i).Ordinal)
	}
	if a.taken(i) == nil {
		return -1
	}
	return a.tookNote
}

// addWay adds the hops of a way that an account has to what was met, from a place of the
// list on.
func (a *Book) addWay(to []record.Met, from int, way []fabric.Hop, answer bool) []record.Met {
	for k := range way {
		h := &way[k]
		if h.Start == units.Never {
			continue
		}
		own := record.Met{Port: h.Port, Class: h.Class, Answer: answer, Packets: 1, Wait: h.Start - h.In - h.Paused, Held: h.Paused, Ahead: h.Ahead,
			Own: h.Start - h.In, First: h.In, Last: h.Start}
		own.Behind(h.Served, h.Ahead)
		at := slices.IndexFunc(to[from:], func(m record.Met) bool { return m.Port == h.Port && m.Class == h.Class && m.Answer == answer })
		if at < 0 {
			to = append(to, own)
		} else {
			to[from+at].Add(&own)
		}
	}
	return to
}

// byPort orders what was met.
func byPort(a, b record.Met) int {
	return cmp.Or(first(b.Answer, a.Answer), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Class, b.Class))
}
