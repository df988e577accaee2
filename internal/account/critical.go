package account

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Collectives are those of the run, with their critical paths.
func (a *Book) Collectives() (out []record.Collective) {
	plan := a.Valid.Plan
	if len(plan.Collectives) == 0 {
		return nil
	}
	w := pathfinder{Book: a}
	if plan.Graph != nil {
		w.before = predecessors(plan)
	}
	described := CollectivesOf(plan)
	for i := range plan.Collectives {
		c, rec := &plan.Collectives[i], described[i]
		if c.Program > 0 {
			a.sum(&rec, c.Program-1)
			out = append(out, rec)
			continue
		}
		last := 0
		for _, ends := range c.Last {
			op, at := a.lastOf(ends)
			if at == units.Never {
				rec.EndPS = append(rec.EndPS, -1)
				continue
			}
			rec.EndPS, last = append(rec.EndPS, at), op
		}
		if n := len(rec.EndPS); n > 0 && rec.EndPS[n-1] >= 0 {
			rec.Critical = w.path(last, c.Start)
		}
		out = append(out, rec)
	}
	return out
}

// CollectivesOf are those of a plan, of which it is not known when they are over.
func CollectivesOf(plan *workload.Plan) (out []record.Collective) {
	slots := map[int]string{}
	for i := range plan.Conns {
		if c := &plan.Conns[i]; c.Slots {
			slots[c.Entry] = plan.SlotsName(c.Entry)
		}
	}
	for i := range plan.Collectives {
		c := &plan.Collectives[i]
		rec := record.Collective{
			Workload: plan.Entries[c.Entry], Slots: slots[c.Entry], Op: c.Op, Algorithm: c.Algorithm, Protocol: c.Protocol,
			Ranks: c.Ranks, Channels: c.Channels, Chunk: int64(c.Chunk), Bytes: int64(c.Bytes), Count: c.Count,
			Type: "float", RedOp: "none", Root: c.Root, StartPS: c.Start,
		}
		if c.Reduces {
			rec.RedOp = "sum"
		}
		out = append(out, rec)
	}
	return out
}

// lastOf is the operation among ends, all local ones, that ended last, and when;
// Never: one has not.
func (e *Ends) lastOf(ends []workload.Op) (op int, at units.Time) {
	at = -1
	for _, end := range ends {
		l := int(^end)
		if done := e.Locals[l].Done; done > at {
			op, at = len(e.Messages)+l, done
		}
	}
	return op, at
}

// predecessor is an end of an operation that another one waits for.
type predecessor struct {
	op  int32
	end workload.End
}

// predecessorLists are what the operations of a plan wait for, by operation.
type predecessorLists struct {
	first []int32
	list  []predecessor
}

func (p *predecessorLists) of(op int) []predecessor { return p.list[p.first[op]:p.first[op+1]] }

// predecessors turns the graph around.
func predecessors(plan *workload.Plan) predecessorLists {
	n := plan.Len() + len(plan.Locals)
	p := predecessorLists{first: make([]int32, n+1)}
	for i, need := range plan.Graph.Need {
		p.first[i+1] = p.first[i] + need
	}
	p.list = make([]predecessor, p.first[n])
	at := make([]int32, n)
	copy(at, p.first)
	for op := range n {
		for end := workload.Completed; end <= workload.Received; end++ {
			for _, next := range plan.Graph.Released(op, end) {
				p.list[at[next]] = predecessor{int32(op), end}
				at[next]++
			}
		}
	}
	return p
}

// pathfinder walks critical paths.
type pathfinder struct {
	*Book
	before predecessorLists
	groups []record.CriticalGroup
	index  map[string]int // of groups, by kind
	stages map[stageKey]*stageSum
	order  []stageKey
}

// stageKey is a stage of the operations of a group.
type stageKey struct {
	group int
	stage catalog.Stage
	label string
}

type stageSum struct {
	record.CriticalStage
	places []spent // time by place
}

// spent is a part of an operation's time: a stage of a message's account, or with a label
// what a local operation does.
type spent struct {
	stage catalog.Stage
	label string
	where record.Place
	time  units.Time
}

// total is the sum of an operation's time.
func total(account []spent) (t units.Time) {
	for i := range account {
		t += account[i].time
	}
	return t
}

// path is the critical path that ends with an operation: of each, the one whose
// end started it, back to one that began by time. It adds up to the time from
// start to the end.
func (w *pathfinder) path(op int, start units.Time) []record.CriticalGroup {
	var ops []predecessor
	end := workload.Completed
	for {
		ops = append(ops, predecessor{int32(op), end})
		cause, found := w.cause(op)
		if !found {
			break
		}
		op, end = int(cause.op), cause.end
	}
	w.groups, w.index, w.stages, w.order = nil, map[string]int{}, map[stageKey]*stageSum{}, nil
	at := start
	for k := len(ops) - 1; k >= 0; k-- {
		kind, account := w.accountOf(int(ops[k].op), ops[k].end)
		at += total(account)
		if want := w.endOf(int(ops[k].op), ops[k].end); at != want {
			panic("account: BUG: a critical path does not add up at an operation of kind " + kind)
		}
		w.book(kind, account)
	}
	return w.finished()
}

// cause is what started an operation: of what it waited for, what ended last.
func (w *pathfinder) cause(op int) (cause predecessor, found bool) {
	latest := units.Time(-1)
	for _, p := range w.before.of(op) {
		if at := w.endOf(int(p.op), p.end); at > latest {
			cause, found, latest = p, true, at
		}
	}
	return cause, found
}

// endOf is when an operation had the given end.
func (w *pathfinder) endOf(op int, end workload.End) units.Time {
	if l := op - len(w.Messages); l >= 0 {
		return w.Locals[l].Done
	}
	m := w.Valid.Plan.At(op)
	switch {
	case w.Is(m.Conn, catalog.Streams) && end == workload.Received:
		at, _ := w.StreamFate(op)
		return at
	case end == workload.Received:
		taken, _ := w.acceptance(op)
		return taken.Placed
	case w.Is(m.Conn, catalog.Streams):
		return w.note(op).Done
	}
	return w.polled(op)
}

// accountOf is the kind of an operation and where its time up to an end went.
func (w *pathfinder) accountOf(op int, end workload.End) (kind string, account []spent) {
	if l := op - len(w.Messages); l >= 0 {
		return w.localAccount(l)
	}
	kind = record.KindMessage
	if w.Valid.Plan.Conns[w.Valid.Plan.At(op).Conn].Slots {
		kind = record.KindSlot
	}
	return kind, w.settled(op, w.messageAccount(op, end))
}

// messageAccount is where the time of a message up to an end went.
func (w *pathfinder) messageAccount(op int, end workload.End) record.Account {
	streams := w.Is(w.Valid.Plan.At(op).Conn, catalog.Streams)
	switch {
	case streams && end == workload.Received:
		return w.stream(op, w.endOf(op, end), "success")
	case streams:
		return w.acked(op)
	case end == workload.Received:
		return w.received(op)
	}
	return w.toPolled(op)
}

// settled gives the stages of a message that are its queue pair's own a place: what
// waits for the card and what the card reads is at the link inside the host that
// limits it, all else at the queue pair.
func (w *pathfinder) settled(op int, account record.Account) (out []spent) {
	conn := w.Valid.Plan.At(op).Conn
	c := &w.Valid.Plan.Conns[conn]
	own := record.QPAt(w.Service(conn), w.Valid.Graph.Nodes[w.Valid.Graph.HostOf(c.Src)].Name, int(w.Messages[op].QP))
	for i := range account {
		s := &account[i]
		where := s.Place()
		if where.IsZero() {
			where = slowest(w.hopsOf(c, s.Stage))
		}
		if where.IsZero() {
			where = own
		}
		out = append(out, spent{stage: s.Stage, where: where, time: s.Time})
	}
	return out
}

// hopsOf are the links inside the source's host that a stage goes over; none: it does
// not go over any.
func (w *pathfinder) hopsOf(c *workload.Conn, stage catalog.Stage) []record.WayHop {
	switch {
	case stage == catalog.StageRead && !c.SrcStaged:
		return ServerHops(w.Valid, c.Src, c.SrcDevice, false, true)
	case stage == catalog.StageRead, stage == catalog.StageWorkFetch: // from the memory of the card's socket
		return ServerHops(w.Valid, c.Src, workload.NoDevice, false, true)
	case stage == catalog.StageCopyOut && c.SrcStaged:
		ep := w.Valid.Graph.Endpoints[c.Src]
		t := w.Valid.NICs[ep.Node].Server
		return TreeHops(t, w.Valid.Graph.Nodes[ep.Node].Name, int(c.SrcDevice), t.DRAMOf(t.Nets[ep.Port].Card), false, true)
	}
	return nil
}

// slowest is the hop of the least rate, of several the first; nowhere: there is none.
func slowest(hops []record.WayHop) (at record.Place) {
	least := units.Rate(0)
	for _, h := range hops {
		if least == 0 || h.RateBps > 0 && h.RateBps < least {
			at, least = record.InsideAt(h.Host, h.Name), h.RateBps
		}
	}
	return at
}

// acked is where the time of message i, of TCP, went until its sender had heard that
// all of it was there.
func (a *Book) acked(i int) record.Account {
	a.out, a.at = a.out[:0], a.Messages[i].Due
	a.until(catalog.StageAckWay, nil, a.note(i).Done)
	return a.out
}

// received is where the time of message i went until the responder had accepted it
// and, where it has a server, all of it was in memory.
func (a *Book) received(i int) record.Account {
	port := a.opening(i)
	taken, way := a.acceptance(i)
	a.failed(i, port, startOf(way))
	a.decisive(i, port, way, taken.At)
	to := a.Responders[a.conn(i)]
	a.place(to.Node, to.QP, taken.Landed, taken.Placed)
	return a.out
}

// localAccount is what a local operation does and where its time went.
func (w *pathfinder) localAccount(l int) (kind string, account []spent) {
	plan := w.Valid.Plan
	local, run := &plan.Locals[l], &w.Locals[l]
	label := &plan.Labels[local.Label]
	host := record.HostAt(w.Valid.Graph.Nodes[local.Host].Name)
	for _, p := range label.Parts {
		if p.Time > 0 {
			account = append(account, spent{label: p.Name, where: host, time: p.Time})
		}
	}
	if moving := run.Done - run.Moved; moving > 0 {
		where := host
		if local.From != local.To {
			where = w.between(local)
		}
		account = append(account, spent{stage: catalog.StageCopy, where: where, time: moving})
	}
	return label.Text, account
}

// between names the devices that a local operation moves data between.
func (w *pathfinder) between(local *workload.Local) record.Place {
	node := &w.Valid.Graph.Nodes[local.Host]
	devices := w.Valid.NICs[local.Host].Server.Devices
	return record.InsideAt(node.Name, devices[local.From].Name+" to "+devices[local.To].Name)
}

// book adds an operation to the group of its kind.
func (w *pathfinder) book(kind string, account []spent) {
	k, known := w.index[kind]
	if !known {
		k = len(w.groups)
		w.index[kind] = k
		w.groups = append(w.groups, record.CriticalGroup{Kind: kind})
	}
	g := &w.groups[k]
	g.Count++
	g.TimePS += total(account)
	had := map[stageKey]bool{}
	for _, s := range account {
		key := stageKey{k, s.stage, s.label}
		sum := w.stages[key]
		if sum == nil {
			sum = &stageSum{CriticalStage: record.CriticalStage{Stage: s.stage, Label: s.label}}
			w.stages[key] = sum
			w.order = append(w.order, key)
		}
		if !had[key] {
			had[key] = true
			sum.Count++
		}
		sum.TimePS += s.time
		sum.at(s)
	}
}

// at adds the time of a stage to that of its place.
func (s *stageSum) at(stage spent) {
	for i := range s.places {
		if s.places[i].where == stage.where {
			s.places[i].time += stage.time
			return
		}
	}
	s.places = append(s.places, stage)
}

// finished are the groups with their stages.
func (w *pathfinder) finished() []record.CriticalGroup {
	for _, key := range w.order {
		sum := w.stages[key]
		most := units.Time(0)
		for _, p := range sum.places {
			if p.time > most {
				most, sum.Where = p.time, p.where
			}
		}
		sum.Places = len(sum.places)
		g := &w.groups[key.group]
		g.Stages = append(g.Stages, sum.CriticalStage)
	}
	return w.groups
}
