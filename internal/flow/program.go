package flow

import (
	"encoding/binary"
	"slices"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// program is a collective, or a message from rank to rank, as one flow: those of all its edges, which go on
// at one pace, as each waits for the ones before and behind it.
type program struct {
	*workload.Program
	flow
	alone
	nr        int32
	made      bool    // uses and times are known
	bytes     float64 // of an iteration on its busiest edge
	came      []int32 // by rank: iterations that it has come to
	here      int     // ranks that have come to the iteration at hand
	iteration int
	left      int // ranks that are not through with it
	running   bool
	callers   []caller // by rank
	ends      []units.Time
	pair      pairState
}

// pairState is about a message from one rank to another, which need not wait for its receiver as long as
// buffers have room.
type pairState struct {
	is     bool
	buffer float64 // bytes that go before the receiver has come
	gone   float64
	stage  int
	sent   bool // the sender is through
}

// caller is the operation of a job's rank that called.
type caller struct{ job, rank, op int32 }

// startPrograms sets when those begin that nobody calls.
func (s *sim) startPrograms() {
	for i, p := range s.plan.Programs {
		x := program{Program: p, nr: int32(i), came: make([]int32, len(p.Ranks)), left: len(p.Ranks)}
		x.pair.is = len(p.Ranks) == 2 && oneWay(p)
		if p.Called {
			x.callers = make([]caller, len(p.Ranks))
		} else {
			s.agenda.add(event{at: p.Start, kind: evProgram, of: int32(i)})
			for range p.Iterations {
				x.ends = append(x.ends, units.Never)
			}
		}
		s.programs = append(s.programs, x)
	}
	for i := range s.programs {
		x := &s.programs[i]
		x.over = func(now units.Time) { s.carried(now, x) }
	}
}

// oneWay reports whether all edges lead from the first rank to the second.
func oneWay(p *workload.Program) bool {
	return len(p.Edges) > 0 && !slices.ContainsFunc(p.Edges, func(e workload.ProgramEdge) bool { return e.From != 0 })
}

// launchAll has all ranks of a program come to its next iteration.
func (s *sim) launchAll(now units.Time, of int32) {
	for r := range s.programs[of].Ranks {
		s.come(now, of, int32(r))
	}
}

// come has a rank come to its next iteration of a program.
func (s *sim) come(now units.Time, of, rank int32) {
	x := &s.programs[of]
	if x.came[rank]++; int(x.came[rank]) == x.iteration+1 {
		x.here++
		s.proceed(now, x)
	}
}

// proceed begins the iteration at hand if all ranks have come to it, or, of a message, goes on with it.
func (s *sim) proceed(now units.Time, x *program) {
	if !x.made {
		s.prepare(x)
	}
	if x.pair.is {
		s.proceedPair(now, x)
		return
	}
	if x.here == len(x.Ranks) && !x.running {
		x.running = true
		s.start(&x.flow, x.bytes, now)
	}
}

// carried goes on when the flow of an iteration is through.
func (s *sim) carried(now units.Time, x *program) {
	s.stop(&x.flow)
	if x.pair.is {
		s.pairCarried(now, x)
		return
	}
	s.out.Moved += s.movedBy(x)
	s.whole(now, x.nr)
}

// movedBy is what an iteration brings over the network.
func (s *sim) movedBy(x *program) (bytes float64) {
	if x.Pairs != nil {
		return float64(x.Bytes) / float64(x.Iterations)
	}
	for i := range x.Edges {
		bytes += float64(x.Edges[i].Bytes)
	}
	return bytes
}

// whole ends an iteration for all ranks at once.
func (s *sim) whole(now units.Time, of int32) {
	for r := range s.programs[of].Ranks {
		s.rankOver(now, of, int32(r))
	}
}

// rankOver ends an iteration for a rank; when it was the last, the next one is at hand.
func (s *sim) rankOver(now units.Time, of, rank int32) {
	x := &s.programs[of]
	x.left--
	last := x.left == 0
	if last {
		if !x.Called {
			x.ends[x.iteration] = now
		}
		x.running, x.left, x.here, x.pair = false, len(x.Ranks), 0, pairState{is: x.pair.is, buffer: x.pair.buffer}
		x.iteration++
		for _, n := range x.came {
			if int(n) > x.iteration {
				x.here++
			}
		}
	}
	if x.Called {
		s.called(now, x, rank)
	} else if last && x.iteration < x.Iterations {
		s.agenda.add(event{at: now, kind: evProgram, of: of})
	}
	if last && x.here > 0 {
		s.proceed(now, x)
	}
}

// programsOpen reports whether a program is not over that nobody calls.
func (s *sim) programsOpen() bool {
	return slices.ContainsFunc(s.programs, func(x program) bool { return !x.Called && x.iteration < x.Iterations })
}

// prepare finds the links of a program, and what an iteration takes alone: from packets, of one inside a
// server; or by following its steps. Programs that are alike take the same.
func (s *sim) prepare(x *program) {
	x.made = true
	if x.PairEdges > mostFollowed {
		s.prepareExchange(x)
		return
	}
	edges, local := s.edgesOf(x.Program)
	s.combine(x, edges)
	key := s.likeness(x.Program, edges)
	times, known := s.known[key]
	if !known {
		if local {
			t := s.opt.Inside(x.Program)
			times = alone{whole: t}
		} else {
			times = s.times(x, edges)
		}
		s.known[key] = times
	}
	if p := x.Program; p.Calls != nil {
		calls := s.delays[p.Calls[0]]
		times.whole, times.ranks = max(times.whole, calls), nil
	}
	x.alone = times
	s.pacing(x, edges)
}

// edgesOf are the edges of a program with their ways, and whether all are inside one server.
func (s *sim) edgesOf(p *workload.Program) (edges []pipeEdge, local bool) {
	edges, local = make([]pipeEdge, max(len(p.Edges), p.PairEdges)), true
	for i := range edges {
		e := &edges[i]
		if p.Pairs != nil {
			p.Pairs.Edge(int32(i), &e.edge)
		} else {
			e.edge = p.Edges[i]
		}
		if e.edge.Local {
			from, to := &p.Ranks[e.edge.From], &p.Ranks[e.edge.To]
			if e.host, e.from, e.to = from.Host, from.Device, to.Device; e.edge.Next != workload.NoDevice {
				e.to = e.edge.Next
			}
			continue
		}
		local = false
		e.way = s.wayOf(p, e.edge.Conn, false, p.Verb, e.edge.Most)
		if e.way == nil {
			continue
		}
		if p.Pairs != nil {
			for k := range e.edge.Units {
				_, _, bytes := p.Rule.Unit(int32(i), k)
				e.edge.Bytes += bytes
			}
		}
		e.before, e.answer = e.way.before, e.way.answer
		e.late = max(0, s.latency(e.way, &workload.Message{Verb: p.Verb, Bytes: e.edge.Most}, 0)-e.before-e.answer)
		if e.edge.Back < 0 {
			continue
		}
		if back := s.wayOf(p, e.edge.Back, true, p.SlotVerb, p.SlotBytes); back != nil {
			m := workload.Message{Verb: p.SlotVerb, Bytes: p.SlotBytes}
			e.news = s.labelOf(e.edge.Clear) + units.Time(float64(back.wire(p.SlotBytes))/back.fast) +
				s.latency(back, &m, 0) - back.answer
		}
	}
	return edges, local
}

// wayOf is the way of a connection of a program, of the plan's or of those that its pairs make. Those of the news
// of slots are like those of data in what they take alone, but for their end in the memory of hosts.
func (s *sim) wayOf(p *workload.Program, n int32, news bool, verb workload.Verb, bytes units.Bytes) *way {
	if p.Pairs == nil {
		return s.of(&s.plan.Conns[n], int(n), verb, bytes)
	}
	_, _, from, to := p.Pairs.Carrier(n)
	conn := p.Pairs.Conn(from, to, news)
	conn.SrcPort = p.Pairs.Port(n)
	return s.of(&conn, p.Conn+int(from), verb, bytes)
}

// labelOf is what an operation with a label takes.
func (s *sim) labelOf(label uint16) units.Time {
	if label == workload.NoLabel {
		return 0
	}
	return s.delays[label]
}

// times is what an iteration takes alone. How long a unit is on its way depends on how much of the time others are
// on the same links, and that on how long it all takes: it begins with all edges busy all the time, and is worked
// out again with the share of time in which the busiest link then has something to do. Reiser and Lavenberg, Mean-Value
// Analysis of Closed Multichain Queuing Networks, JACM 1980, has waits follow from loads in this way.
func (s *sim) times(x *program, edges []pipeEdge) (out alone) {
	busy := s.busiest(x)
	all, single := s.rates(edges), make([]float64, len(edges))
	for i := range edges {
		e := &edges[i]
		switch {
		case e.way != nil:
			single[i] = e.way.fast
		case e.edge.Local:
			single[i] = s.copyRate(e)
		}
	}
	load := 1.0
	for range rounds {
		for i := range edges {
			if single[i] > 0 {
				edges[i].rate = 1 / (1/single[i] + load*(1/all[i]-1/single[i]))
			}
		}
		out = s.follow(x.Program, edges)
		load = min(1, float64(busy)/float64(max(out.whole, 1)))
	}
	return out
}

// rounds is how often times are worked out: the first is too long, the next too short, and so on.
const rounds = 3

// busiest is how long the busiest link has something to do.
func (s *sim) busiest(x *program) (t units.Time) {
	for _, u := range x.uses {
		t = max(t, units.Time(x.bytes*u.weight/s.links[u.link].capacity))
	}
	return t
}

// copyRate is that of a local edge alone.
func (s *sim) copyRate(e *pipeEdge) float64 {
	var uses []use
	uses, e.late = s.copies(nil, e.host, e.from, e.to, 1)
	rate := 1e9
	for _, u := range merged(uses) {
		rate = min(rate, s.links[u.link].capacity/u.weight)
	}
	return rate
}

// rates are those that edges have while all of them are busy.
func (s *sim) rates(edges []pipeEdge) []float64 {
	n := network{links: slices.Clone(s.links)}
	for i := range n.links {
		n.links[i].active = nil
	}
	flows, out := make([]flow, len(edges)), make([]float64, len(edges))
	for i := range edges {
		e, f := &edges[i], &flows[i]
		switch {
		case e.way != nil:
			f.uses, f.most = slices.Clone(e.way.uses), e.way.most
		case e.edge.Local:
			f.most = 1e9
			f.uses, _ = s.copies(nil, e.host, e.from, e.to, 1)
			f.uses = merged(f.uses)
		default:
			continue
		}
		for len(n.links) < len(s.links) { // that copies have met for the first time
			n.links = append(n.links, link{capacity: s.links[len(n.links)].capacity})
		}
		n.start(f, 1, 0)
	}
	n.settle(0)
	for i := range edges {
		out[i] = flows[i].rate
	}
	return out
}

// combine makes one flow of those of all edges. Its bytes are those of the busiest edge.
func (s *sim) combine(x *program, edges []pipeEdge) {
	most := units.Bytes(1)
	for i := range edges {
		if e := &edges[i]; e.way != nil {
			most = max(most, s.onWire(e))
		}
	}
	x.bytes = float64(most)
	at := map[int32]int{} // in uses; looked up, never iterated
	for i := range edges {
		e := &edges[i]
		if e.way == nil {
			continue
		}
		share := float64(s.onWire(e)) / x.bytes
		for _, u := range e.way.uses {
			k, known := at[u.link]
			if !known {
				k = len(x.uses)
				at[u.link], x.uses = k, append(x.uses, use{link: u.link})
			}
			x.uses[k].weight += share * u.weight
		}
	}
}

// pacing has the flow of a program take as long as that takes alone, or its busiest link if that is longer.
func (s *sim) pacing(x *program, edges []pipeEdge) {
	fill := s.delays[x.Launch] // before and after the busiest link has something to do
	for i := range edges {
		if e := &edges[i]; e.way != nil {
			fill += e.before + e.late
			break
		}
	}
	span := x.whole
	if busy := s.busiest(x); busy > 0 {
		span = max(span, fill+busy)
	}
	x.most = x.bytes / float64(max(span, 1))
	x.pair.buffer = x.bytes
	if x.pair.is && len(edges) > 0 {
		e := &edges[0]
		x.pair.buffer *= min(1, float64(x.Slots)/float64(max(1, e.edge.Units)))
	}
}

// onWire is what an edge brings in an iteration.
func (s *sim) onWire(e *pipeEdge) units.Bytes {
	n := units.Bytes(max(1, e.edge.Units))
	return e.way.wire(e.edge.Bytes/n) * n
}

// likeness writes down what decides what a program takes alone: programs with equal ones take the same.
func (s *sim) likeness(p *workload.Program, edges []pipeEdge) string {
	var out []byte
	add := func(n ...int64) {
		for _, k := range n {
			out = binary.AppendVarint(out, k)
		}
	}
	add(int64(len(p.Ranks)), int64(p.PerRank), int64(p.Slots), int64(p.Orders), int64(p.Launch))
	for i := range p.Ranks {
		add(int64(p.Ranks[i].Device), int64(s.hostKind(p.Ranks[i].Host)))
	}
	var step workload.ProgramStep
	for lane := range int32(len(p.Ranks) * p.PerRank) {
		n := p.Rule.Steps(lane)
		add(int64(n))
		for _, k := range [...]int{0, n - 1} {
			if n > 0 {
				p.Rule.Step(lane, k, &step)
				add(int64(step.Bytes), int64(step.Work), int64(step.Label))
			}
		}
	}
	for i := range edges {
		e := &edges[i]
		add(int64(e.edge.From), int64(e.edge.To), int64(e.edge.Units), int64(e.edge.Most), int64(e.edge.Bytes))
		if e.way != nil {
			add(int64(e.late), int64(e.answer), int64(e.news), int64(e.way.fast*1e6))
		}
	}
	return string(out)
}
