package flow

import (
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// carrier is a connection, one way: its messages go one after the other.
type carrier struct {
	flow
	*way
	waiting []int32 // messages at the wire; the first is on its way
	bytes   float64 // of the first, on the wire
	gone    units.Bytes
	taken   units.Time // when the card took up the last of its messages
}

// begin starts an operation: all that it waits for is over.
func (s *sim) begin(now units.Time, op int32) {
	if int(op) < s.plan.Len() {
		m := s.plan.At(int(op))
		s.post(now, op, &m)
		return
	}
	l := &s.plan.Locals[int(op)-s.plan.Len()]
	if d := s.delays[l.Label]; d > 0 {
		s.agenda.add(event{at: now + d, kind: evMove, a: op})
		return
	}
	s.move(now, op)
}

// move begins to move the data of a local operation.
func (s *sim) move(now units.Time, op int32) {
	l := &s.plan.Locals[int(op)-s.plan.Len()]
	if l.Bytes == 0 || l.From == workload.NoDevice || l.From == l.To {
		s.agenda.add(event{at: now + l.Work, kind: evLocal, a: op})
		return
	}
	uses, late := s.copies(nil, l.Host, l.From, l.To, 1)
	f := &flow{uses: merged(uses), most: 1e9}
	if l.Work > 0 {
		f.most = float64(l.Bytes) / float64(l.Work)
	}
	f.over = func(now units.Time) {
		s.stop(f)
		s.agenda.add(event{at: now + late, kind: evLocal, a: op})
	}
	s.start(f, float64(l.Bytes), now)
}

// post posts a message.
func (s *sim) post(now units.Time, id int32, m *workload.Message) {
	if s.out.Messages[id].Due != units.Never {
		return // started before
	}
	s.out.Messages[id].Due = now
	c := s.carrier(m)
	if c == nil { // its routes end
		return
	}
	if at := s.takeUp(c, m, now+c.before); at > now {
		s.agenda.add(event{at: at, kind: evReady, a: id})
		return
	}
	s.ready(now, id)
}

// takeUp is when the card takes up the work request of a message: so long after the one before it of the queue
// pair, and of the port.
func (s *sim) takeUp(c *carrier, m *workload.Message, at units.Time) units.Time {
	from, _ := s.plan.Ends(m)
	ep := s.v.Graph.Endpoints[from]
	card, last := &s.v.NICs[ep.Node].Card, &s.taken[ep.Node][ep.Port]
	if card.QPGap == 0 && card.Gap == 0 {
		return at
	}
	if c.taken > 0 {
		at = max(at, c.taken+card.QPGap)
	}
	if *last > 0 {
		at = max(at, *last+card.Gap)
	}
	c.taken, *last = at, at
	return at
}

// carrier is that of a message; nil: there is no way to its destination.
func (s *sim) carrier(m *workload.Message) *carrier {
	k := 2 * m.Conn
	conn := s.plan.Conns[m.Conn]
	if m.Back {
		k++
		conn.Src, conn.Dst, conn.SrcDevice, conn.DstDevice = conn.Dst, conn.Src, conn.DstDevice, conn.SrcDevice
		conn.SrcStaged, conn.DstStaged = conn.DstStaged, conn.SrcStaged
	}
	c := s.carriers[k]
	if c != nil {
		return c
	}
	y := s.of(&conn, m.Conn, m.Verb, m.Bytes)
	if y == nil {
		return nil
	}
	c = &carrier{way: y}
	c.flow.uses, c.flow.most = y.uses, y.most
	c.over = func(now units.Time) { s.sent(now, c) }
	s.carriers[k] = c
	return c
}

// ready has a message come to the wire, where it waits for those before it.
func (s *sim) ready(now units.Time, id int32) {
	m := s.plan.At(int(id))
	c := s.carrier(&m)
	if c.waiting = append(c.waiting, id); len(c.waiting) == 1 {
		c.bytes = float64(c.wire(m.Bytes))
		s.start(&c.flow, c.bytes, now)
	}
}

// sent goes on with the next message of a connection; the last bytes of the first are still on their way.
func (s *sim) sent(now units.Time, c *carrier) {
	id := c.waiting[0]
	c.waiting = c.waiting[1:]
	m := s.plan.At(int(id))
	s.out.Moved += float64(m.Bytes)
	rest := max(0, s.latency(c.way, &m, c.gone)-c.before)
	c.gone += m.Bytes
	s.agenda.add(event{at: now + max(0, rest-c.answer), kind: evReceived, a: id})
	s.agenda.add(event{at: now + rest, kind: evDone, a: id})
	if len(c.waiting) == 0 {
		s.stop(&c.flow)
		return
	}
	m = s.plan.At(int(c.waiting[0]))
	c.bytes = float64(c.wire(m.Bytes))
	s.refill(&c.flow, c.bytes, now)
}

// received notes that a message has arrived.
func (s *sim) received(now units.Time, id int32) {
	s.out.Messages[id].Received = now
	s.release(now, id, workload.Received)
	if len(s.plan.Triggers) > 0 {
		m := s.plan.At(int(id))
		s.activate(now, m.RecvDone)
	}
}

// completed notes that a message is complete.
func (s *sim) completed(now units.Time, id int32) {
	s.out.Messages[id].Done = now
	s.done++
	s.release(now, id, workload.Completed)
	if len(s.plan.Triggers) > 0 {
		m := s.plan.At(int(id))
		s.activate(now, m.SendDone)
	}
}

// release starts what waits for an end of an operation alone.
func (s *sim) release(now units.Time, op int32, end workload.End) {
	for _, next := range s.plan.Graph.Released(int(op), end) {
		if s.need[next]--; s.need[next] == 0 {
			s.begin(now, next)
		}
	}
}

// activate activates a trigger, numbered from 1; 0: none.
func (s *sim) activate(now units.Time, trigger int) {
	if trigger == 0 {
		return
	}
	s.activated[trigger-1]++
	for _, id := range s.plan.Triggers[trigger-1].Starts(s.activated[trigger-1]) {
		m := s.plan.At(id)
		s.post(now, int32(id), &m)
	}
}
