package collective

import (
	"slices"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Records says what a run keeps of the operations of a collective: the steps, their messages,
// and what took place beside them.
type Records uint8

// Records. By AutoRecords each operation is kept of collectives of up to MostRecords, and sums
// of those that have more.
const (
	AutoRecords Records = iota
	EachRecord
	SumRecords
)

// RecordKinds lists what may be kept as scenarios write it, in its order.
func RecordKinds() []string { return []string{"auto", "messages", "sums"} }

// MostRecords is how many operations a collective has at most whose operations are all kept: a
// million take about 400 MB.
const MostRecords = 1 << 20

// lazily reports whether the collective's steps are made as it runs, over connections whose
// messages end at both ends.
func (b *builder) lazily() bool {
	if b.Op == AllToAll && !b.called {
		if p := b.partners(); p.local == 0 || b.opt.Path != nil || b.opt.Receives >= 0 {
			return false
		}
	}
	switch {
	case b.opt.Service != workload.RC, b.slots > workload.MaxProgramSlots:
		return false
	case b.Records == AutoRecords:
		return b.operations() > MostRecords
	}
	return b.Records == SumRecords
}

// operations is about how many a collective has: of each unit that is passed on a step, and
// of one that leaves a host what proxies do at both ends, a message and the news of its slot.
func (b *builder) operations() units.Bytes {
	n, hosts := units.Bytes(len(b.Ranks)), units.Bytes(len(hostsOf(b.Ranks)))
	if b.Op == AllToAll {
		hosts = n // every rank sends to those of others
	}
	if hosts == 1 {
		return b.steps() * units.Bytes(b.Iterations)
	}
	return b.steps() * (n + 5*hosts) / n * units.Bytes(b.Iterations)
}

// program appends the collective as a program.
func (b *builder) program() {
	p := &workload.Program{Entry: b.entry, Collective: len(b.plan.Collectives), Iterations: b.Iterations,
		Start: b.Start, PerRank: b.Channels,
		Launch: b.label("launch", b.Costs.Launch), Slots: b.slots, Verb: b.opt.Verb, SlotVerb: b.slotVerb(),
		SlotBytes: SlotMessage}
	for i := range b.Ranks {
		p.Ranks = append(p.Ranks, workload.ProgramRank{Host: b.Ranks[i].Host, Device: b.Ranks[i].Device})
	}
	defer b.plan.AddProgram(p)
	if b.Op == AllToAll && !b.called { // which keeps no critical path
		b.pairs(p)
		return
	}
	var rule edgeRule
	switch {
	case b.ringed():
		r := b.ringRule()
		rule, p.Orders = r, r.orders
	case b.Sizes != nil:
		r := b.flatRule()
		p.PerRank = r.settle()
		rule, p.Orders = r, r.orders()
	default:
		r := b.cellRule()
		p.PerRank, p.Moves = r.settle()
		rule, p.Orders = r, r.orders
		b.calls(p)
	}
	p.Rule = rule
	for i, e := range b.all {
		x := b.programEdge(e)
		x.Units = rule.units(int32(i))
		if !x.Local {
			sum, most := rule.carried(int32(i))
			x.Most, x.Bytes, p.Bytes = most, sum, p.Bytes+sum*units.Bytes(b.Iterations)
		}
		p.Edges = append(p.Edges, x)
	}
	b.join(p, rule.spans())
	b.labelEdges(p)
}

// edgeRule is a rule whose edges the builder has.
type edgeRule interface {
	workload.ProgramRule
	// units is how many pass an edge in an iteration.
	units(edge int32) int
	// carried is what they bring on the wire, and the most that one does.
	carried(edge int32) (sum, most units.Bytes)
	// spans are the edges by channel.
	spans() []span
}

// span is a number of edges that follow each other.
type span struct{ first, edges int }

// ringed reports whether the steps are those of rings, which pass chunks on round after round.
func (b *builder) ringed() bool {
	return (b.Algorithm == Ring || b.Algorithm == SingleRing) && b.Op != Broadcast
}

// calls adds what threads take to call for each rank, last in an iteration.
func (b *builder) calls(p *workload.Program) {
	if b.Algorithm != Pairwise || !b.onGPUs() || b.called {
		return
	}
	for i := range b.Ranks {
		p.Calls = append(p.Calls, b.callLabel(i))
	}
	p.Orders += uint64(len(b.Ranks))
}

// pairs completes a program of an exchange between all pairs. In the plan one connection of each
// rank stands for all: what depends on whose threads and ports are used is found by them.
func (b *builder) pairs(p *workload.Program) {
	r := b.pairRule()
	p.Rule, p.Pairs, p.Orders, p.PerRank, p.Conns = r, r, r.orders, 2*len(r.items), r.batches[len(r.batches)-1].conn
	p.PairEdges = len(b.Ranks) * (len(b.Ranks) - 1) * len(r.pieces)
	p.Bytes = b.Bytes * units.Bytes(len(b.Ranks)-r.local) * units.Bytes(b.Iterations)
	p.Most, p.Memories = b.onWire(r.pieces[0][0]), make(map[int][]int16)
	for i := range b.Ranks {
		p.Endpoints = append(p.Endpoints, b.Ranks[i].Endpoint)
		for _, m := range r.memory[i] {
			if m != workload.NoDevice && !slices.Contains(p.Memories[b.Ranks[i].Host], m) {
				p.Memories[b.Ranks[i].Host] = append(p.Memories[b.Ranks[i].Host], m)
			}
		}
	}
	for k := range r.used {
		b.used[k] = true
	}
	b.calls(p)
	p.Conn = len(b.plan.Conns)
	if len(r.hosts) == 1 {
		return
	}
	for m := range b.Ranks { // to a rank of its number, of one host after the other
		to := r.to(m, r.local*(1+m%(len(r.hosts)-1)))
		b.connect(&b.Ranks[r.via(m, to)], &b.Ranks[to])
	}
}

// programEdge is an edge without its labels and connections.
func (b *builder) programEdge(e *edge) workload.ProgramEdge {
	out := workload.ProgramEdge{From: e.ends[0], To: e.ends[1], Local: e.local, Conn: noConn, Back: noConn,
		Next: workload.NoDevice, Memory: e.memory,
		Copy: workload.NoLabel, Read: workload.NoLabel, Post: workload.NoLabel, Arrive: workload.NoLabel,
		Clear: workload.NoLabel}
	if e.local || e.via != e.from {
		out.Next = e.next()
	}
	return out
}

// join makes the connections of edges between hosts, in the order in which their first
// messages are made: those of a channel's data, and for the news of slots when there are as
// many units.
func (b *builder) join(p *workload.Program, channels []span) {
	for it, missing := 0, true; it < b.Iterations && missing; it++ {
		missing = false
		for c := range channels {
			for k := channels[c].first; k < channels[c].first+channels[c].edges && it == 0; k++ {
				if e := b.all[k]; !e.local {
					p.Edges[k].Conn = int32(b.connect(e.via, e.to))
				}
			}
			for k := channels[c].first; k < channels[c].first+channels[c].edges; k++ {
				switch e, x := b.all[k], &p.Edges[k]; {
				case e.local || x.Back != noConn:
				case x.Units*(it+1) > b.slots:
					x.Back = int32(b.connectSlots(e.to, e.via))
				default:
					missing = true
				}
			}
		}
	}
}

// labelEdges names what is done beside the steps.
func (b *builder) labelEdges(p *workload.Program) {
	turns := b.newTurns()
	label := func(text string, parts []workload.Part) uint16 {
		if len(parts) == 0 {
			return workload.NoLabel
		}
		return b.label(text, parts)
	}
	turned := func(r *Rank, text string, parts []workload.Part, receives bool) uint16 {
		if b.GPU == nil {
			return label(text, parts)
		}
		return turns.label(r, text, parts, receives)
	}
	for i, e := range b.all {
		x := &p.Edges[i]
		if x.Next != workload.NoDevice {
			x.Copy = b.label("copy", nil)
		}
		if x.Memory != workload.NoDevice {
			x.Read = b.label("read from the host's memory", nil)
		}
		if e.local {
			continue
		}
		x.Post, x.Clear = turned(e.via, "proxy posts", b.Costs.Post, false), label("proxy clears a slot", b.Costs.Clear)
		switch {
		case len(b.Costs.Arrive) == 0:
		case b.Protocol == Simple:
			x.Arrive = turned(e.to, "proxy tells the GPU", b.Costs.Arrive, true)
		default:
			x.Arrive = label("GPU notices", b.Costs.Arrive)
		}
	}
}
