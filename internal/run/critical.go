package run

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// recordCollectives writes down the collectives and their critical paths.
func (r *runner) recordCollectives(out *record.Run, a *accountant) {
	plan := r.Valid.Plan
	if len(plan.Collectives) == 0 {
		return
	}
	w := pathfinder{accountant: a, before: predecessors(plan)}
	for i := range plan.Collectives {
		c := &plan.Collectives[i]
		rec := record.Collective{
			Workload: plan.Entries[c.Entry], Op: c.Op, Algorithm: c.Algorithm, Protocol: c.Protocol, Ranks: c.Ranks, Channels: c.Channels,
			Chunk: int64(c.Chunk), Bytes: int64(c.Bytes), Count: c.Count, Type: "float", RedOp: "none", Root: c.Root, StartPS: c.Start,
		}
		if c.Reduces {
			rec.RedOp = "sum"
		}
		last := 0
		for _, ends := range c.Last {
			op, at := r.lastOf(ends)
			if at == units.Never {
				rec.EndPS = append(rec.EndPS, -1)
				continue
			}
			rec.EndPS, last = append(rec.EndPS, at), op
		}
		if n := len(rec.EndPS); n > 0 && rec.EndPS[n-1] >= 0 {
			rec.Critical = w.path(last, c.Start)
		}
		out.Collectives = append(out.Collectives, rec)
	}
}

// lastOf is the operation among ends, all local ones, that ended last, and when;
// Never: one has not.
func (r *runner) lastOf(ends []workload.Op) (op int, at units.Time) {
	at = -1
	for _, e := range ends {
		l := int(^e)
		if done := r.Locals[l].Done; done > at {
			op, at = len(r.Messages)+l, done
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
	*accountant
	before predecessorLists
	groups []record.CriticalGroup
	index  map[string]int // of groups, by kind
	stages map[stageKey]*stageSum
	order  []stageKey
}

// stageKey is a stage of the operations of a group.
type stageKey struct {
	group int
	name  string
}

type stageSum struct {
	record.CriticalStage
	places []record.Stage // time by place
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
		w.settle(int(ops[k].op), account)
		at += account.Total()
		if want := w.endOf(int(ops[k].op), ops[k].end); at != want {
			panic("run: BUG: a critical path does not add up at an operation of kind " + kind)
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
	case w.Valid.Plan.Conns[m.Conn].Service == workload.TCP && end == workload.Received:
		at, _ := w.streamFate(op)
		return at
	case end == workload.Received:
		taken, _ := w.acceptance(op)
		return taken.Placed
	case w.Valid.Plan.Conns[m.Conn].Service == workload.TCP:
		return w.note(op).Done
	}
	return w.polled(op)
}

// accountOf is the kind of an operation and where its time up to an end went.
func (w *pathfinder) accountOf(op int, end workload.End) (kind string, account record.Account) {
	plan := w.Valid.Plan
	if l := op - len(w.Messages); l >= 0 {
		return w.localAccount(l)
	}
	kind = record.KindMessage
	c := &plan.Conns[plan.At(op).Conn]
	if c.Slots {
		kind = record.KindSlot
	}
	switch {
	case c.Service == workload.TCP && end == workload.Received:
		return kind, w.stream(op, w.endOf(op, end), "success")
	case c.Service == workload.TCP:
		return kind, w.acked(op)
	case end == workload.Received:
		return kind, w.received(op)
	}
	return kind, w.toPolled(op)
}

// settle gives the stages of a message that are its queue pair's own a place: what
// waits for the card and what the card reads is at the link inside the host that
// limits it, all else at the queue pair.
func (w *pathfinder) settle(op int, account record.Account) {
	if op >= len(w.Messages) {
		return
	}
	c := &w.Valid.Plan.Conns[w.Valid.Plan.At(op).Conn]
	host := w.Valid.Graph.Nodes[w.Valid.Graph.HostOf(c.Src)].Name
	for i := range account {
		s := &account[i]
		if s.Where != "" {
			continue
		}
		if s.Where = slowest(w.hopsOf(c, s.Name)); s.Where == "" {
			s.Where = record.QPName(c.Service.String(), host, int(w.Messages[op].QP))
		}
	}
}

// hopsOf are the links inside the source's host that a stage goes over; none: it does
// not go over any.
func (w *pathfinder) hopsOf(c *workload.Conn, stage string) []record.WayHop {
	switch {
	case stage == record.StageRead && !c.SrcStaged:
		return serverHops(w.Valid, c.Src, c.SrcDevice, false, true)
	case stage == record.StageRead, stage == record.StageWorkFetch: // from the memory of the card's socket
		return serverHops(w.Valid, c.Src, workload.NoDevice, false, true)
	case stage == record.StageCopyOut && c.SrcStaged:
		ep := w.Valid.Graph.Endpoints[c.Src]
		t := w.Valid.NICs[ep.Node].Server
		return treeHops(t, w.Valid.Graph.Nodes[ep.Node].Name, int(c.SrcDevice), t.DRAMOf(t.Nets[ep.Port].Card), false, true)
	}
	return nil
}

// slowest names the hop of the least rate, of several the first; empty: there is none.
func slowest(hops []record.WayHop) string {
	name, least := "", units.Rate(0)
	for _, h := range hops {
		if least == 0 || h.RateBps > 0 && h.RateBps < least {
			name, least = h.Host+" "+h.Name, h.RateBps
		}
	}
	return name
}

// acked is where the time of message i, of TCP, went until its sender had heard that
// all of it was there.
func (a *accountant) acked(i int) record.Account {
	a.out, a.at = a.out[:0], a.Messages[i].Due
	a.until(record.StageAckWay, "", a.note(i).Done)
	return a.out
}

// received is where the time of message i went until the responder had accepted it
// and, where it has a server, all of it was in memory.
func (a *accountant) received(i int) record.Account {
	port := a.opening(i)
	taken, way := a.acceptance(i)
	a.failed(i, port, startOf(way))
	a.decisive(i, port, way, taken.At)
	to := a.Responders[a.conn(i)]
	a.place(a.Hosts[to.Node], to.QP, taken.Landed, taken.Placed)
	return a.out
}

// localAccount is what a local operation does and where its time went.
func (w *pathfinder) localAccount(l int) (kind string, account record.Account) {
	plan := w.Valid.Plan
	local, run := &plan.Locals[l], &w.Locals[l]
	label := &plan.Labels[local.Label]
	host := w.Valid.Graph.Nodes[local.Host].Name
	for _, p := range label.Parts {
		if p.Time > 0 {
			account = append(account, record.Stage{Name: p.Name, Where: host, Time: p.Time})
		}
	}
	if moving := run.Done - run.Moved; moving > 0 {
		where := host
		if local.From != local.To {
			where = w.between(local)
		}
		account = append(account, record.Stage{Name: record.StageCopy, Where: where, Time: moving})
	}
	return label.Text, account
}

// between names the devices that a local operation moves data between.
func (w *pathfinder) between(local *workload.Local) string {
	node := &w.Valid.Graph.Nodes[local.Host]
	devices := w.Valid.NICs[local.Host].Server.Devices
	return fmt.Sprintf("%s %s to %s", node.Name, devices[local.From].Name, devices[local.To].Name)
}

// book adds an operation to the group of its kind.
func (w *pathfinder) book(kind string, account record.Account) {
	k, known := w.index[kind]
	if !known {
		k = len(w.groups)
		w.index[kind] = k
		w.groups = append(w.groups, record.CriticalGroup{Kind: kind})
	}
	g := &w.groups[k]
	g.Count++
	g.TimePS += account.Total()
	had := map[string]bool{}
	for _, s := range account {
		key := stageKey{k, s.Name}
		sum := w.stages[key]
		if sum == nil {
			sum = &stageSum{CriticalStage: record.CriticalStage{Name: s.Name}}
			w.stages[key] = sum
			w.order = append(w.order, key)
		}
		if !had[s.Name] {
			had[s.Name] = true
			sum.Count++
		}
		sum.TimePS += s.Time
		sum.at(s)
	}
}

// at adds the time of a stage to that of its place.
func (s *stageSum) at(stage record.Stage) {
	for i := range s.places {
		if s.places[i].Where == stage.Where {
			s.places[i].Time += stage.Time
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
			if p.Time > most {
				most, sum.Where = p.Time, p.Where
			}
		}
		sum.Places = len(sum.places)
		g := &w.groups[key.group]
		g.Stages = append(g.Stages, sum.CriticalStage)
	}
	return w.groups
}
