package flow

import (
	"math"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// alone is what an iteration of a program takes with nothing else in the network, from its launch on.
type alone struct {
	ranks []units.Time // when each rank is through; nil: all at whole
	whole units.Time   // when the last one is
}

// mostSteps is how many steps of a program are followed one by one, of all lanes, and leastSteps how many of
// each lane at least. The others go on at the pace of the last half of those.
const (
	mostSteps  = 4 << 20
	leastSteps = 48
)

// pipeline follows the steps of a program, each by what it waits for: the unit that it takes, a free slot
// for that which it puts on an edge, and the step before in its lane. Edges pass units on at the rate that
// is theirs while all of them do. The times are those of a max-plus linear system (Baccelli and others,
// Synchronization and Linearity, 1992), which comes to a steady pace.
type pipeline struct {
	*sim
	*workload.Program
	limit int // steps of a lane that are followed
	lanes []pipeLane
	edges []pipeEdge
	todo  []int32 // lanes that may go on
	step  workload.ProgramStep
}

// pipeLane is what a lane has come to.
type pipeLane struct {
	k, steps int
	at       units.Time   // when it is free
	ends     []units.Time // of its steps
	waits    []int32      // lanes that wait for one of them
}

// pipeEdge is what an edge has come to. Lists have a place for each slot.
type pipeEdge struct {
	edge             workload.ProgramEdge
	host             int // of a local edge, and the devices between which it passes units on
	from, to         int16
	rate             float64 // bytes/ps
	late             units.Time
	answer           units.Time // from a message's arrival to its completion
	news             units.Time // from when a unit was taken to the news of its slot
	before           units.Time // from the post to the wire
	way              *way
	put, sent, taken int
	done             int
	ready, here      []units.Time // when it can be sent, and taken
	left, free       []units.Time // when its message was complete, and its slot free again
	wire             units.Time   // when the edge is free for the next
	taker, putter    int32        // lanes, from 1, that wait
}

// follow finds out what an iteration takes alone.
func (s *sim) follow(p *workload.Program, edges []pipeEdge) alone {
	x := &pipeline{sim: s, Program: p, lanes: make([]pipeLane, len(p.Ranks)*p.PerRank), edges: edges}
	for i := range x.edges {
		e := &x.edges[i]
		e.put, e.sent, e.taken, e.done, e.wire, e.taker, e.putter = 0, 0, 0, 0, 0, 0, 0
		times := make([]units.Time, 4*p.Slots)
		for k, list := range [...]*[]units.Time{&e.ready, &e.here, &e.left, &e.free} {
			*list = times[k*p.Slots : (k+1)*p.Slots]
		}
	}
	used := 0
	for i := range x.lanes {
		if x.lanes[i].steps = p.Rule.Steps(int32(i)); x.lanes[i].steps > 0 {
			used++
		}
	}
	x.limit = max(leastSteps, mostSteps/max(used, 1))
	for i := range x.lanes {
		l := &x.lanes[i]
		l.at = s.delays[p.Launch]
		if l.steps > 0 {
			x.todo = append(x.todo, int32(i))
		}
	}
	for len(x.todo) > 0 {
		lane := x.todo[len(x.todo)-1]
		x.todo = x.todo[:len(x.todo)-1]
		for x.advance(lane) {
		}
	}
	return x.result()
}

// advance carries out the next step of a lane, or has it wait for what that needs.
func (x *pipeline) advance(lane int32) bool {
	l := &x.lanes[lane]
	if l.k == l.steps || l.k == x.limit {
		return false
	}
	s := &x.step
	x.Rule.Step(lane, l.k, s)
	begin := l.at
	for _, n := range s.Takes {
		e := &x.edges[n]
		if e.taken == e.sent {
			e.taker = lane + 1
			return false
		}
		begin = max(begin, e.here[e.taken%x.Slots])
	}
	for _, n := range s.Puts {
		e := &x.edges[n]
		switch k := e.put - x.Slots; {
		case k < 0:
		case e.edge.Local && e.done <= k || !e.edge.Local && e.sent <= k:
			e.putter = lane + 1
			return false
		case e.edge.Local:
			begin = max(begin, e.free[k%x.Slots])
		default:
			begin = max(begin, e.left[k%x.Slots])
		}
	}
	for _, a := range s.After {
		other := &x.lanes[a.Lane]
		if len(other.ends) < a.Steps {
			other.waits = append(other.waits, lane)
			return false
		}
		if a.Steps > 0 {
			begin = max(begin, other.ends[a.Steps-1])
		}
	}
	x.carryOut(lane, begin)
	return true
}

// carryOut has a lane take its step, which is at hand.
func (x *pipeline) carryOut(lane int32, begin units.Time) {
	l, s := &x.lanes[lane], &x.step
	end := begin + x.delays[s.Label]
	moves := s.Work
	if s.Folded && len(s.Puts) > 0 {
		e := &x.edges[s.Puts[0]]
		moves = max(moves, x.time(s.Bytes, e.fold())) + e.late
	}
	end += moves
	l.at = end
	l.k++
	l.ends = append(l.ends, end)
	x.todo = append(x.todo, l.waits...)
	l.waits = l.waits[:0]
	// The lists of the step are used again by the next.
	for _, n := range s.Takes {
		e := &x.edges[n]
		e.free[e.done%x.Slots] = end + e.news
		e.done++
		e.taken++
		if e.edge.Local && e.putter != 0 {
			x.todo = append(x.todo, e.putter-1)
			e.putter = 0
		}
		x.send(e, n)
	}
	for _, n := range s.Puts {
		e := &x.edges[n]
		at := end
		if !s.Folded && e.edge.Next != workload.NoDevice {
			_, _, bytes := x.Rule.Unit(n, e.put%e.edge.Units)
			at += x.labelled(e.edge.Copy) + x.time(bytes, e.fold()) + e.late
		}
		at += x.labelled(e.edge.Read) + x.labelled(e.edge.Post)
		e.ready[e.put%x.Slots] = at
		e.put++
		x.send(e, n)
	}
}

// fold is the rate at which a unit is moved inside its host before it can be taken or sent.
func (e *pipeEdge) fold() float64 {
	if e.edge.Local {
		return e.rate
	}
	return math.Inf(1)
}

// time is what bytes take at a rate.
func (x *pipeline) time(bytes units.Bytes, rate float64) units.Time {
	if bytes == 0 || rate <= 0 || math.IsInf(rate, 1) {
		return 0
	}
	return units.Time(math.Ceil(float64(bytes) / rate))
}

// labelled is what an operation with a label takes.
func (x *pipeline) labelled(label uint16) units.Time {
	if label == workload.NoLabel {
		return 0
	}
	return x.delays[label]
}

// send passes the units of an edge on that are ready and have a slot.
func (x *pipeline) send(e *pipeEdge, n int32) {
	for e.sent < e.put && (e.edge.Local || e.sent < x.Slots || e.done > e.sent-x.Slots) {
		k := e.sent % x.Slots
		at := e.ready[k]
		if !e.edge.Local {
			if e.sent >= x.Slots {
				at = max(at, e.free[k])
			}
			_, _, bytes := x.Rule.Unit(n, e.sent%e.edge.Units)
			e.wire = max(at+e.before, e.wire) + x.time(e.way.wire(bytes), e.rate)
			at = e.wire + e.late
			e.left[k] = at + e.answer
			at += x.labelled(e.edge.Arrive)
		}
		e.here[k] = at
		e.sent++
		for _, lane := range [...]*int32{&e.taker, &e.putter} {
			if *lane != 0 && (lane == &e.taker || !e.edge.Local) {
				x.todo = append(x.todo, *lane-1)
				*lane = 0
			}
		}
	}
}

// result is when lanes are through, those that were not followed to the end at their pace.
func (x *pipeline) result() alone {
	out := alone{ranks: make([]units.Time, len(x.Ranks))}
	for i := range x.lanes {
		l := &x.lanes[i]
		if l.steps == 0 {
			continue
		}
		at := l.at
		if rest, n := l.steps-l.k, l.k; rest > 0 && n > 1 {
			half := n / 2
			at += units.Time(float64(rest) * float64(l.ends[n-1]-l.ends[half-1]) / float64(n-half))
		}
		r := i / x.PerRank
		out.ranks[r] = max(out.ranks[r], at)
	}
	for _, at := range out.ranks {
		out.whole = max(out.whole, at)
	}
	return out
}
