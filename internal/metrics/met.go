package metrics

import (
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// What the packets of a message met (record.Evidence) tells its own marks and waits from those
// of others on the same ports, and of other times. A message of which only the last packet
// was followed has none: its account says where that waited.

// knownMet is the evidence at hand.
type knownMet struct {
	evidence *record.Evidence
	numbers  map[record.PortID]uint32 // of ports
	fills    map[fillKey]*record.Filled
	of       *record.Message // whose list is
	list     []record.Met
	from, to units.Time // the time asked about; to 0: all of the run
}

type fillKey struct {
	port  uint32
	class int
}

// met is what the packets of a message met; empty where its account says it all.
func (x *index) met(f *record.Message) []record.Met {
	k := &x.known
	if k.of == f {
		return k.list
	}
	k.of, k.list = f, k.list[:0]
	if n := int(f.Number); n < len(x.r.Messages) && &x.r.Messages[n] == f && x.witnessed() {
		if k.evidence == nil {
			k.evidence = x.r.Evidence.Fork()
		}
		k.list = k.evidence.Meetings.Met(n, k.list)
	}
	return k.list
}

// lost is what was dropped of a message's connection in its time.
func (x *index) lost(f *record.Message) []record.Lost {
	if x.met(f); x.known.evidence == nil {
		return nil
	}
	return x.known.evidence.Lost(int(f.Number))
}

// during has what follows ask about the time of a message.
func (x *index) during(f *record.Message) {
	x.known.from, x.known.to = f.StartPS, x.r.EndPS
	if f.CompletionPS >= 0 {
		x.known.to = f.StartPS + f.CompletionPS
	}
}

// restore has what follows ask about another time again.
func (x *index) restore(from, to units.Time) { x.known.from, x.known.to = from, to }

// metPort is the port where something was met; the zero one: several.
func (x *index) metPort(m *record.Met) record.PortID {
	if int(m.Port) >= len(x.r.Evidence.Ports) {
		return record.PortID{}
	}
	return x.r.Evidence.Ports[m.Port]
}

// marked is the port that marked most of a message's packets, and what they met there. known: the
// record tells; then nil says that none was marked.
func (x *index) marked(f *record.Message) (most *record.Port, at record.Met, known bool) {
	for _, m := range x.met(f) {
		known = true
		if p := x.ports[portClass{x.metPort(&m), int(m.Class)}]; p != nil && m.Marks > at.Marks {
			most, at = p, m
		}
	}
	return most, at, known
}

// sayMarked tells of the port that marked most of a message's packets: where these waited
// for a pause or credits a third of the time or more, what held it made the queue.
func (x *index) sayMarked(p *record.Port, m *record.Met, f *record.Message, q *record.QP, how string) (Cause, string) {
	said := x.l.Sprintf("%s; %s marked %d of its packets", how, p.ID(), m.Marks)
	if m.Held > 0 && m.Held*2 >= m.Wait {
		return x.sayMarkedHeld(p, q, said)
	}
	if host := p.Peer.Node; x.onlyPaused(p) {
		cause, because := x.sayRoot(nil, nil, host, q)
		return cause, x.l.Sprintf("%s, fed no faster than it sends, but %s paused it: %s", said, host, because)
	}
	return x.orMoved(atPort(p), said+x.filledBy(p), f)
}

// onlyPaused reports whether pauses of a host are all that can have made the queue of the port to it: what feeds the
// port brings no more than it sends.
func (x *index) onlyPaused(p *record.Port) bool {
	if !x.hosts[p.Peer.Node] || p.PausesReceived == 0 || x.strayed() || len(x.r.Failures) > 0 {
		return false
	}
	n, rate := x.feeds(p)
	return n > 0 && rate <= p.RateBps
}

// heldMarks reports whether a port that marked was paused for a third of a message's time: then
// what paused it made the queue.
func (x *index) heldMarks(p *record.Port, f *record.Message) bool {
	return p != nil && p.HeldPS > 0 && x.paused(p)*3 >= f.Life()
}

// sayMarkedHeld goes on, of a port that marked while something held it.
func (x *index) sayMarkedHeld(p *record.Port, q *record.QP, said string) (cause Cause, how string) {
	held, root, host := x.walk(p.ID(), p.Class)
	if at, because := x.sayRoot(held, root, host, q); at != (Cause{}) {
		return at, x.l.Sprintf("%s and was held by %s, because %s", said, p.Layer.Words(x.l).Holder, because)
	}
	return atPort(p), said + x.filledBy(p)
}

// metOn is what a message's packets met at a port on their way, or with back what
// acknowledges them.
func (x *index) metOn(f *record.Message, port record.PortID, back bool) (at record.Met) {
	for _, m := range x.met(f) {
		if m.Answer == (Reads(f) != back) && x.metPort(&m) == port {
			at.Port, at.Class = m.Port, m.Class
			at.Add(&m)
		}
	}
	return at
}

// longestWait is where a message's packets, or their acknowledgements, waited longest on
// average, and how long; nil where they did not wait or the record does not tell. Requests of
// READs, which are few, are left out.
func (x *index) longestWait(f *record.Message) (at *record.Met, wait units.Time) {
	list := x.met(f)
	if len(list) == 0 {
		list = x.metByLast(f)
	}
	for i := range list {
		m := &list[i]
		if m.Packets == 0 || Reads(f) && !m.Answer || x.metPort(m) == (record.PortID{}) {
			continue
		}
		if d := (m.Wait + m.Held) / units.Time(m.Packets); d > wait {
			at, wait = m, d
		}
	}
	return at, wait
}

// metByLast is what the account of a message tells of its last packet, and of what acknowledges that.
func (x *index) metByLast(f *record.Message) (list []record.Met) {
	if !x.witnessed() {
		return nil
	}
	x.filledAt(record.PortID{}, 0) // numbers ports
	for _, t := range x.stages.read(f.Account) {
		s := &x.stages.known[t.number]
		if s.own || s.at == nil {
			continue
		}
		m := record.Met{Port: x.known.numbers[s.port()], Class: uint8(x.packetsOf(f, s).Limits.Class), Packets: 1}
		m.Answer = s.ack || s.response
		switch s.base {
		case catalog.StageQueue, catalog.StageReceiveBuffer:
			m.Wait = t.time
		case catalog.StagePaused, catalog.StageCredits:
			m.Held = t.time
		default:
			continue
		}
		n := slices.IndexFunc(list, func(o record.Met) bool { return o.Port == m.Port && o.Answer == m.Answer })
		if n < 0 {
			list = append(list, m)
		} else {
			list[n].Wait, list[n].Held = list[n].Wait+m.Wait, list[n].Held+m.Held
		}
	}
	return list
}

// filledWith is the egress port for which most of what filled an ingress port waited, in the
// time that is asked about; nil where the record does not tell.
func (x *index) filledWith(ingress record.PortID, class int) *record.Port {
	if all := x.fillers(ingress, class); len(all) > 0 {
		return all[0]
	}
	return nil
}

// fillers are the egress ports for which what filled an ingress port waited in the time that is asked about,
// that of the most first.
func (x *index) fillers(ingress record.PortID, class int) (all []*record.Port) {
	f, k := x.filledAt(ingress, class), &x.known
	if f == nil {
		return nil
	}
	to := k.to
	if to == 0 {
		to = x.r.EndPS
	}
	for _, by := range f.By(k.from, to) {
		if p := x.ports[portClass{x.metPort(&record.Met{Port: by.Port}), class}]; p != nil {
			all = append(all, p)
		}
	}
	return all
}

// filledAt is what was seen of an ingress port and class that stopped its peer; nil where the record does
// not tell.
func (x *index) filledAt(ingress record.PortID, class int) *record.Filled {
	e, k := x.r.Evidence, &x.known
	if e == nil {
		return nil
	}
	if k.numbers == nil {
		k.numbers, k.fills = map[record.PortID]uint32{}, map[fillKey]*record.Filled{}
		for i := range e.Ports {
			k.numbers[x.metPort(&record.Met{Port: uint32(i)})] = uint32(i)
		}
		for i := range e.Fills {
			f := &e.Fills[i]
			k.fills[fillKey{f.Port, int(f.Class)}] = f
		}
	}
	n, known := k.numbers[ingress]
	if !known {
		return nil
	}
	return k.fills[fillKey{n, class}]
}

// sayStretched tells what made the round trip of a message so long that a limit of so many
// bytes outstanding held it: a wait, of its packets or their acknowledgements, of at least a
// fifth of the round trip. known: the record tells.
func (x *index) sayStretched(f *record.Message, q *record.QP, most int64) (cause Cause, how string, known bool) {
	goodput := Goodput(f)
	if goodput == 0 || !x.witnessed() {
		return Cause{}, "", false
	}
	m, wait := x.longestWait(f)
	if trip := units.Time(mulDiv(most, 8*int64(units.Second), int64(goodput))); m == nil || wait < trip/5 {
		return Cause{}, "", true
	}
	cause, how = x.sayWait(f, q, m, wait)
	return cause, how, true
}

// sayWait tells what kept packets of a message, or their acknowledgements, waiting so long each
// at a port.
func (x *index) sayWait(f *record.Message, q *record.QP, m *record.Met, wait units.Time) (cause Cause, how string) {
	port, who := x.metPort(m), x.l.Of("packets")
	if m.Answer != Reads(f) {
		who = x.l.Of("acknowledgements")
	}
	each := x.l.Sprintf("%s waited %s each", who, FormatTime(wait))
	taker := record.HostOf(f.Dst)
	if m.Answer {
		taker = record.HostOf(f.Src)
	}
	switch {
	case port.Node == taker:
		cause, how = x.sayReceiveBuffer(each, port, q)
	case m.Held > m.Wait:
		held, root, host := x.walk(port, int(m.Class))
		at, because := x.sayRoot(held, root, host, q)
		if cause, how = at, x.l.Sprintf("%s at %s, held by %s", each, port, x.holder(port, q)); cause == (Cause{}) {
			return x.portCause(port, q), how + because
		}
		how += x.l.Of(", because ") + because
	default:
		x.tells |= tellsPlace
		cause, how = x.portCause(port, q), x.l.Sprintf("%s in the queue of %s%s", each, port, x.sayAhead(m, q))
		if m.Ahead*2 > m.Wait && x.strictAhead(m) {
			cause.Kind = catalog.CauseClass
		}
		return x.orMoved(cause, how, f)
	}
	return cause, how
}

// sayAhead says which class went ahead of what waited, if that took most of the wait, in
// words that follow; else "".
func (x *index) sayAhead(m *record.Met, q *record.QP) string {
	if m.Ahead*2 <= m.Wait {
		return ""
	}
	said := x.l.Sprintf(", behind %s %d", q.Layer.Words(x.l).Class, m.Served)
	if x.strictAhead(m) {
		return said + x.l.Of(", which is served first")
	}
	return said
}

// strictAhead reports whether the class that went ahead does so whatever waits; else the two
// share the port.
func (x *index) strictAhead(m *record.Met) bool {
	return slices.ContainsFunc(x.r.Evidence.Ahead, func(a record.Ahead) bool {
		return a.Port == m.Port && a.Class == m.Class && a.Served == m.Served && a.Strict
	})
}
