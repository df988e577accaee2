package workload

import "slices"

// Alone is a plan of nothing but one message of p, posted at 0, or of a remote procedure call of
// nothing but the call. It is not finished. number is the message's place in it, and conns are those
// of p that it has.
func (p *Plan) Alone(m *Message) (one *Plan, number int, conns []int) {
	one = &Plan{Entries: p.Entries, SRQs: p.SRQs, Labels: p.Labels}
	add := func(m Message) Op {
		conns = append(conns, m.Conn)
		one.Conns = append(one.Conns, p.Conns[m.Conn])
		m.Start, m.Trigger, m.SendDone, m.RecvDone, m.Awaits = 0, 0, 0, 0, false
		m.Conn = len(one.Conns) - 1
		return one.AddMessage(m)
	}
	other, at := p.other(m)
	if other == nil {
		single := *m
		single.Call, single.Reply = 0, false
		add(single)
		return one, 0, conns
	}
	request, reply := m, other
	if m.Reply {
		request, reply, number = other, m, 1
	}
	asks, answers := add(*request), add(*reply)
	if reply.Back { // over one connection
		one.Conns, conns = one.Conns[:1], conns[:1]
		one.Series[answers].Conn = 0
	}
	if m.Reply {
		at = Op(p.placeOf(m))
	}
	one.thinks(p, at, asks, answers)
	return one, number, conns
}

// thinks has a reply follow a request as reply at does in p.
func (p *Plan) thinks(from *Plan, at, request, reply Op) {
	for _, e := range from.edges {
		if e.to != at {
			continue
		}
		if e.from >= 0 {
			p.After(reply, request, Received)
			continue
		}
		think := p.AddLocal(from.Locals[^e.from])
		p.After(think, request, Received)
		p.After(reply, think, Completed)
	}
}

// other is the other message of a call, and its name; nil: m belongs to none.
func (p *Plan) other(m *Message) (*Message, Op) {
	if m.Call == 0 {
		return nil, 0
	}
	for i, o := range p.All() {
		if o.Call == m.Call && o.Reply != m.Reply {
			found := *o
			return &found, Op(i)
		}
	}
	return nil, 0
}

// placeOf is the place of a message of a call.
func (p *Plan) placeOf(m *Message) int {
	for i, o := range p.All() {
		if o.Call == m.Call && o.Reply == m.Reply {
			return i
		}
	}
	return -1
}

// Only is a plan of what one entry of p, which is finished, sends and does. Connections are those of p, so that they
// keep their numbers, ports and hashes. It is not finished. nil: the entry's operations are started by others, or say
// when they end in a way that does not outlast the sorting.
func (p *Plan) Only(entry int) *Plan {
	one := &Plan{Entries: p.Entries, Conns: p.Conns, SRQs: p.SRQs, Labels: p.Labels}
	ops := make([]Op, p.total)
	kept := make([]bool, p.total+len(p.Locals))
	for i, m := range p.All() {
		if p.Conns[m.Conn].Entry != entry {
			continue
		}
		if m.Trigger != 0 || m.SendDone != 0 || m.RecvDone != 0 {
			return nil
		}
		ops[i], kept[i] = one.AddMessage(*m), true
	}
	locals := make([]Op, len(p.Locals))
	for i, l := range p.Locals {
		if l.Entry == entry {
			locals[i], kept[p.total+i] = one.AddLocal(l), true
		}
	}
	place := func(op Op) (was int, is Op) {
		if op < 0 {
			return p.total + int(^op), locals[^op]
		}
		return int(op), ops[op]
	}
	for _, e := range p.edges {
		from, newFrom := place(e.from)
		to, newTo := place(e.to)
		if kept[from] != kept[to] {
			return nil
		}
		if kept[to] {
			one.edges = append(one.edges, edge{newFrom, newTo, e.end})
		}
	}
	for _, c := range p.Collectives {
		if c.Entry != entry {
			continue
		}
		if c.Program > 0 {
			one.AddProgram(p.Programs[c.Program-1])
			c.Program = len(one.Programs)
		}
		last := make([][]Op, len(c.Last))
		for i, ends := range c.Last {
			for _, op := range ends {
				if op >= 0 {
					return nil
				}
				last[i] = append(last[i], locals[^op])
			}
		}
		c.Last = last
		one.Collectives = append(one.Collectives, c)
	}
	for _, j := range p.Jobs {
		if j.Entry == entry {
			one.Jobs = append(one.Jobs, one.takeJob(p, j))
		}
	}
	return one
}

// takeJob adds the programs of a job of another plan, and returns the job with their numbers here.
func (p *Plan) takeJob(from *Plan, j *Job) *Job {
	job := *j
	if j.Ideal != nil {
		return &job
	}
	to := make(map[int32]int32) // looked up, never iterated
	job.Calls = slices.Clone(j.Calls)
	for i := range job.Calls {
		seats := slices.Clone(j.Calls[i].Seats)
		for r := range seats {
			was := seats[r].Program
			if was < 0 {
				continue
			}
			n, known := to[was]
			if !known {
				n = int32(len(p.Programs))
				to[was] = n
				p.AddProgram(from.Programs[was])
			}
			seats[r].Program = n
		}
		job.Calls[i].Seats = seats
	}
	return &job
}
