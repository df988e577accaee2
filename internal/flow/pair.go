package flow

import "github.com/hopscope/hopscope/internal/units"

// Stages of a message from rank to rank.
const (
	pairIdle    = iota
	pairCarries // bytes are on their way
	pairFull    // buffers are full, and the receiver has not come
	pairThere   // all is in buffers of a receiver that has not come
)

// proceedPair goes on with a message after one of its ranks has come to it.
func (s *sim) proceedPair(now units.Time, x *program) {
	sender, receiver := int(x.came[0]) > x.iteration, int(x.came[1]) > x.iteration
	p := &x.pair
	switch {
	case p.stage == pairIdle && sender:
		if x.bytes <= p.buffer && x.ranks != nil {
			p.sent = true
			s.agenda.add(event{at: now + x.ranks[0], kind: evRankOver, of: x.nr, a: 0})
		}
		s.carryPair(now, x)
	case p.stage == pairFull && receiver:
		s.carryPair(now, x)
	case p.stage == pairThere && receiver:
		p.stage = pairIdle
		s.agenda.add(event{at: now + s.delays[x.Launch], kind: evRankOver, of: x.nr, a: 1})
	}
}

// carryPair carries the message as far as its buffers, or to where its sender is through.
func (s *sim) carryPair(now units.Time, x *program) {
	p := &x.pair
	to := x.bytes
	if at := x.bytes - p.buffer; at > p.gone {
		to = at
	}
	if int(x.came[1]) <= x.iteration && p.gone < p.buffer {
		to = min(to, p.buffer)
	}
	p.stage = pairCarries
	part := to - p.gone
	p.gone = to
	s.start(&x.flow, part, now)
}

// pairCarried goes on where the message has come to.
func (s *sim) pairCarried(now units.Time, x *program) {
	p := &x.pair
	receiver := int(x.came[1]) > x.iteration
	through := !p.sent && p.gone >= x.bytes-p.buffer
	switch {
	case p.gone < x.bytes && !receiver && p.gone >= p.buffer:
		p.stage = pairFull
	case p.gone < x.bytes:
		s.carryPair(now, x)
	default:
		s.out.Moved += s.movedBy(x)
		p.stage = pairThere
	}
	done := p.stage == pairThere && receiver
	if done {
		p.stage = pairIdle
	}
	if through {
		p.sent = true
		s.agenda.add(event{at: now, kind: evRankOver, of: x.nr, a: 0})
	}
	if done {
		s.agenda.add(event{at: now, kind: evRankOver, of: x.nr, a: 1})
	}
}
