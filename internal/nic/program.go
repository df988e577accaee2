package nic

import (
	"slices"

	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Programs are the collectives whose steps are made as they run, and what each lane and edge
// has come to. All hosts share them; each writes what is its own: lanes and ranks of its
// devices, the near ends of edges.
type Programs struct {
	list   []program
	jobs   []job
	delays []units.Time // by label
	// Lossy: packets may be lost, so that queue pairs may have to answer again.
	Lossy bool
	// first is the number of their first operation: those of the plan come before.
	first uint32
}

// program is one of them.
type program struct {
	*workload.Program
	nr    uint32
	base  uint64 // its first place in the order of operations
	conn  uint32 // number of the first connection that it makes
	lanes []programLane
	ranks []programRank
	out   []outEdge // nil: hosts make those that they use
	in    []inEdge
	// Of a program that operations of jobs call: by rank who did, and how many multiprocessors its kernel
	// holds.
	callers []jobCaller
	held    int32
}

// programLane is what a lane has come to.
type programLane struct {
	k     int        // its step in this iteration
	over  int        // steps that it is through with, of all iterations
	since units.Time // when it came to it
	needs int16      // what that still waits for
	after []laneWait // what waits for it
}

// laneWait is a lane that waits until another one is through with so many steps.
type laneWait struct {
	lane int32
	over int
}

// programRank is what a rank has come to.
type programRank struct {
	iteration int32
	busy      int32 // lanes that have not ended it
}

// outEdge is the near end of an edge that a rank sends on.
type outEdge struct {
	sent   int    // units that steps have put on it
	ready  uint64 // of those from posted on: what goes before their message is done
	posted int    // messages
	done   int    // of them have completed
	news   int    // slots of which it was told that they are free
	waiter int32  // lane, from 1, that waits for a slot
}

// inEdge is the end that a rank takes from.
type inEdge struct {
	taken  int    // units that steps have begun with
	here   uint64 // of those from taken on: it may be taken
	done   int    // units that steps are through with
	came   int    // messages
	waiter int32  // lane, from 1, that waits for a unit
}

// NewPrograms are those of a plan; nil: it has none.
func NewPrograms(p *workload.Plan) *Programs {
	if len(p.Programs) == 0 && len(p.Jobs) == 0 {
		return nil
	}
	x := &Programs{first: uint32(len(p.Locals))}
	for i := range p.Labels {
		x.delays = append(x.delays, p.Labels[i].Delay())
	}
	bases, _ := p.Bases()
	conn := uint32(0)
	for k, g := range p.Programs {
		y := program{Program: g, nr: uint32(len(x.list)), base: bases[k], conn: conn, lanes: make([]programLane, len(g.Ranks)*g.PerRank),
			ranks: make([]programRank, len(g.Ranks))}
		if g.Pairs == nil {
			y.out, y.in = make([]outEdge, len(g.Edges)), make([]inEdge, len(g.Edges))
		}
		if g.Called {
			y.callers, y.held = make([]jobCaller, len(g.Ranks)), int32(g.Blocks)
		}
		x.list = append(x.list, y)
		conn += uint32(g.Conns)
	}
	for k, j := range p.Jobs {
		y := job{Job: j, base: bases[len(p.Programs)+k], ranks: make([]jobRank, len(j.Ranks))}
		if j.Ideal != nil {
			y.ideal = make([]idealGroup, len(j.Ideal.Members))
		}
		x.jobs = append(x.jobs, y)
	}
	return x
}

// programs are those of a host.
type programs struct {
	*Programs
	own     []ProgramRank
	ownJobs []JobRank
	ends    []JobEnd     // by job
	stepped int64        // steps that its ranks of jobs are through with
	taken   int64        // steps that its lanes are through with
	chains  []*dma.Chain // of the host's server, by both devices
	devices int
	ops     []*programOp
	unused  []uint32
	index   map[uint32]uint32 // of ops, by the number of an operation
	posts   []*programPost
	spare   []uint32
	next    workload.ProgramStep // that a lane is about to take
	over    workload.ProgramStep // that a lane has taken
	told    []slotNews           // to be posted
	path    path                 // that ends with the event at hand
	paths   path                 // room for more
	spent   []*programPost       // to be used again by takeOver
	sums    []ProgramSums
	pairs   pairs
}

// ProgramRank is a rank of a program that is at a host.
type ProgramRank struct{ Program, Rank int32 }

// What an operation of a program is.
const (
	opLaunch  = iota // the start of a rank's kernel
	opCall           // what its thread calls
	opStep           // of a lane
	opCopy           // of a unit to an edge's next device
	opRead           // of a unit out of the host's memory
	opPost           // what a proxy does before a unit's message
	opClear          // and before the news that its slot is free
	opArrive         // what is done when a message has arrived
	opJob            // the begin of a job's rank: of is the job, at the rank
	opCompute        // a computation of such a rank
	opMove           // a copy of such a rank
	opPass           // what takes such a rank a time of its own: on the host, or with an ideal network
)

// programOp is an operation under way.
type programOp struct {
	LocalRun
	path   path   // to its begin; nil: none is kept
	number uint32 // among the host's operations
	kind   uint8
	of     int32 // program
	at     int32 // rank, lane or edge
	unit   int
}

// programPost is a message of a program under way.
type programPost struct {
	Message
	noted Noted
	of    int32 // program
	edge  int32
	news  bool    // of a free slot
	kind  *QPKind // of the queue pair, where the program makes it
	// path is that to when it was due, and then with what of its account is known, of such a
	// length; nil: none is kept. The receiver takes over both.
	path   path
	onPath units.Time
}

// programIDs is set in the numbers of messages of programs, which are a host's own.
const programIDs = 1 << 28

// message is what became of message id.
func (h *Host) message(id uint32) *Message {
	if id&programIDs != 0 {
		return &h.programs.posts[id&^programIDs].Message
	}
	return &h.messages[id]
}

// noted is where the account of message id is.
func (h *Host) noted(id uint32) *Noted {
	if id&programIDs != 0 {
		return &h.programs.posts[id&^programIDs].noted
	}
	return &h.accounts[id]
}

// startPrograms sets the timers of the kernels of this host's ranks.
func (h *Host) startPrograms() {
	x := &h.programs
	if x.Programs == nil {
		return
	}
	x.index = make(map[uint32]uint32)
	x.path = make(path, 2*len(x.delays)+pathPlaces)
	x.pairs = newPairs(x.Programs, uint32(len(h.qps)))
	x.sums = newSums(x.Programs, x.own)
	h.startJobs()
	for _, r := range x.own {
		p := &x.list[r.Program]
		for lane := r.Rank * int32(p.PerRank); lane < (r.Rank+1)*int32(p.PerRank); lane++ {
			if p.Rule.Steps(lane) > 0 {
				h.left++
			}
		}
		if p.Called {
			continue
		}
		op := h.newOp(p.number(0, uint64(r.Rank), x.first), opLaunch, r.Program, r.Rank, 0)
		op.label = p.Launch
		h.timer(p.Start, p.Start, timerLocal, op.number)
		h.running++
		if p.Calls != nil {
			h.timer(p.Start, p.Start, timerLocal, h.newCall(r.Program, r.Rank, 0).number)
			h.running++
		}
	}
}

// newCall makes the operation of what a rank's thread calls for an iteration.
func (h *Host) newCall(of, rank int32, iteration int) *programOp {
	p := &h.programs.list[of]
	op := h.newOp(p.number(iteration, p.Orders-uint64(len(p.Ranks))+uint64(rank), h.programs.first), opCall, of,
		rank, iteration)
	op.label = p.Calls[rank]
	return op
}

// number is that of an operation by its place in the order of an iteration. Numbers decide
// what comes first at one host and time, so that those of a plan would do the same.
func (p *program) number(iteration int, order uint64, first uint32) uint32 {
	return first + uint32((p.base+uint64(iteration)*p.Orders+order)%uint64(^uint32(0)-first))
}

// newOp makes an operation.
func (h *Host) newOp(number uint32, kind uint8, of, at int32, unit int) *programOp {
	x := &h.programs
	for _, taken := x.index[number]; taken; _, taken = x.index[number] { // of more than there are numbers
		number++
	}
	if len(x.unused) == 0 {
		block := make([]programOp, 16)
		for i := range block {
			x.unused = append(x.unused, uint32(len(x.ops)))
			x.ops = append(x.ops, &block[i])
		}
	}
	k := x.unused[len(x.unused)-1]
	x.unused = x.unused[:len(x.unused)-1]
	x.index[number] = k
	op := x.ops[k]
	*op = programOp{number: number, kind: kind, of: of, at: at, unit: unit, path: op.path}
	if kind >= opJob || x.list[of].Pairs == nil {
		if op.path == nil {
			op.path = x.newPath()
		}
		copy(op.path, x.path)
	}
	op.Due, op.Moved, op.Done = units.Never, units.Never, units.Never
	return op
}

// moves has an operation move bytes from one device of the host to another.
func (h *Host) moves(op *programOp, from, to int16, bytes units.Bytes) {
	op.bytes = bytes
	if from != to {
		op.chain = h.programs.chains[int(from)*h.programs.devices+int(to)]
	}
}

// localRun is local operation l; nil: it is over, and what came is a timer that was overtaken.
func (h *Host) localRun(l uint32) *LocalRun {
	if h.triggers != nil && int(l) < len(h.triggers.runs) {
		return &h.triggers.runs[l]
	}
	k, is := h.programs.index[l]
	if !is {
		return nil
	}
	return &h.programs.ops[k].LocalRun
}

// delay is that of local operations with a label.
func (h *Host) delay(label uint16) units.Time {
	if h.programs.Programs != nil {
		return h.programs.delays[label]
	}
	return h.triggers.delays[label]
}

// localEnded starts what waits for local operation l.
func (h *Host) localEnded(now units.Time, l uint32) {
	if h.triggers != nil && int(l) < len(h.triggers.runs) {
		h.ended(now, len(h.triggers.starts)+int(l), workload.Completed)
		return
	}
	x := &h.programs
	k := x.index[l]
	op := *x.ops[k]
	if op.kind >= opJob {
		x.endPath(x.ops[k], op.Done-op.Due)
		delete(x.index, l)
		x.unused = append(x.unused, k)
		h.jobOpEnded(now, &op)
		return
	}
	p := &x.list[op.of]
	if p.Pairs == nil {
		x.endPath(x.ops[k], op.Done-op.Due)
	}
	delete(x.index, l)
	x.unused = append(x.unused, k)
	x.sums[op.of].local(&op.LocalRun)
	switch op.kind {
	case opLaunch:
		h.launched(now, op.of, op.at)
	case opCall:
		x.sums[op.of].ended(op.unit, op.at, now, x.pathOf(p))
		if op.unit+1 < p.Iterations {
			h.beginLocal(now, h.newCall(op.of, op.at, op.unit+1).number)
		}
	case opStep:
		h.stepOver(now, op.of, op.at)
	case opCopy:
		h.readUnit(now, op.of, op.at, op.unit)
	case opRead:
		h.sendUnit(now, op.of, op.at, op.unit)
	case opPost:
		h.out(p, op.at).ready |= 1 << (op.unit % 64)
		h.postUnits(now, op.of, op.at)
	case opClear:
		h.postSlot(now, op.of, op.at)
	case opArrive:
		h.unitHere(now, op.of, op.at, op.unit)
	}
}

// launched lets the lanes of a rank, whose kernel runs, take their first steps.
func (h *Host) launched(now units.Time, of, rank int32) {
	p := &h.programs.list[of]
	r := &p.ranks[rank]
	first := rank * int32(p.PerRank)
	for lane := first; lane < first+int32(p.PerRank); lane++ {
		if p.Rule.Steps(lane) > 0 {
			r.busy++
		}
	}
	idle := r.busy == 0
	for lane := first; lane < first+int32(p.PerRank); lane++ {
		if p.Rule.Steps(lane) > 0 {
			p.lanes[lane].k = 0
			h.reach(now, of, lane)
		}
	}
	if idle && p.Called { // of an exchange in which it has no part
		if int(r.iteration)+1 < p.Iterations {
			r.iteration++
		}
		h.called(now, p, rank)
	}
}

// reach has a lane begin its step, or wait for what that needs: a unit on each edge that it
// takes from, and a free slot on each that it puts one on.
func (h *Host) reach(now units.Time, of, lane int32) {
	x := &h.programs
	p := &x.list[of]
	l := &p.lanes[lane]
	l.since, l.needs = now, 0
	p.Rule.Step(lane, l.k, &x.next)
	for _, e := range x.next.Takes {
		if in := h.in(p, e); in.here>>(in.taken%64)&1 == 0 {
			in.waiter = lane + 1
			l.needs++
		}
	}
	for _, e := range x.next.Puts {
		if !h.hasRoom(p, e) {
			h.out(p, e).waiter = lane + 1
			l.needs++
		}
	}
	iteration := int(p.ranks[lane/int32(p.PerRank)].iteration)
	for _, a := range x.next.After {
		other, over := &p.lanes[a.Lane], a.Steps
		if iteration > 0 {
			over += iteration * p.Rule.Steps(a.Lane)
		}
		if other.over < over {
			other.after = append(other.after, laneWait{lane, over})
			l.needs++
		}
	}
	if l.needs == 0 {
		h.beginStep(now, of, lane)
	}
}

// hasRoom reports whether a slot is free for the next unit on an edge: inside a host when the
// step that took the unit in it before is over, else when the message has left it.
func (h *Host) hasRoom(p *program, e int32) bool {
	out := h.out(p, e)
	if h.edge(p, e).Local {
		return out.sent-h.in(p, e).done < p.Slots
	}
	return out.sent-out.done < p.Slots
}

// awoken notes that what the lane waits for has come that a waiter names, from 1.
func (h *Host) awoken(now units.Time, of int32, waiter *int32) {
	lane := *waiter - 1
	*waiter = 0
	h.came(now, of, lane)
}

// came notes that one of the things that a lane waits for has come.
func (h *Host) came(now units.Time, of, lane int32) {
	x := &h.programs
	p := &x.list[of]
	l := &p.lanes[lane]
	if l.needs--; l.needs == 0 {
		p.Rule.Step(lane, l.k, &x.next)
		h.beginStep(now, of, lane)
	}
}

// beginStep begins a lane's step, which is in h.programs.next.
func (h *Host) beginStep(now units.Time, of, lane int32) {
	x := &h.programs
	p, s := &x.list[of], &x.next
	for _, e := range s.Takes {
		in := h.in(p, e)
		in.here &^= 1 << (in.taken % 64)
		in.taken++
	}
	x.sums[of].waited(s.Label, now-p.lanes[lane].since)
	rank := &p.ranks[lane/int32(p.PerRank)]
	op := h.newOp(p.number(int(rank.iteration), s.Order, x.first), opStep, of, lane, 0)
	if op.label = s.Label; !p.Free {
		op.work = s.Work
	}
	h.moves(op, s.From, s.To, s.Bytes)
	h.beginLocal(now, op.number)
}

// stepOver passes on what a lane's step has made, gives back the slots of what it took, and
// has the lane go on.
func (h *Host) stepOver(now units.Time, of, lane int32) {
	x := &h.programs
	p, l, s := &x.list[of], &x.list[of].lanes[lane], &x.over
	p.Rule.Step(lane, l.k, s)
	for _, e := range s.Puts {
		h.put(now, of, e)
	}
	x.told = x.told[:0]
	for _, e := range s.Takes {
		in := h.in(p, e)
		in.done++
		switch out := h.out(p, e); {
		case !h.edge(p, e).Local:
			h.clearSlot(now, of, e, in.done-1+p.Slots)
		case out.waiter != 0 && h.hasRoom(p, e):
			h.awoken(now, of, &out.waiter)
		}
		h.forgetIn(p, e, in)
	}
	for _, news := range x.told {
		h.postSlot(now, of, news.edge)
	}
	l.over++
	x.taken++
	h.awaken(now, of, l)
	l.k++
	if l.k < p.Rule.Steps(lane) {
		h.reach(now, of, lane)
		return
	}
	h.laneOver(now, of, lane)
}

// awaken tells the lanes that wait for as many steps as a lane is now through with.
func (h *Host) awaken(now units.Time, of int32, l *programLane) {
	waiting := l.after
	l.after = waiting[:0]
	for _, w := range waiting {
		if w.over <= l.over {
			h.came(now, of, w.lane)
		} else {
			l.after = append(l.after, w)
		}
	}
}

// laneOver ends a lane's iteration. When all lanes of a rank are through with it, so is its
// kernel, and the next is launched.
func (h *Host) laneOver(now units.Time, of, lane int32) {
	x := &h.programs
	p := &x.list[of]
	number := lane / int32(p.PerRank)
	r := &p.ranks[number]
	last := int(r.iteration)+1 == p.Iterations
	if last {
		h.left--
	}
	if r.busy--; r.busy > 0 {
		return
	}
	x.sums[of].ended(int(r.iteration), number, now, x.pathOf(p))
	if !last {
		r.iteration++
	}
	if p.Called {
		h.called(now, p, number)
		return
	}
	if last {
		return
	}
	op := h.newOp(p.number(int(r.iteration), uint64(number), x.first), opLaunch, of, number, 0)
	op.label = p.Launch
	h.beginLocal(now, op.number)
}

// put puts the next unit on an edge, after a step which is in h.programs.over.
func (h *Host) put(now units.Time, of, e int32) {
	p := &h.programs.list[of]
	edge, out := h.edge(p, e), h.out(p, e)
	unit := out.sent
	out.sent++
	if edge.Copy == workload.NoLabel || h.programs.over.Folded {
		h.readUnit(now, of, e, unit)
		return
	}
	h.beside(now, of, e, unit, opCopy, edge.Copy)
}

// beside begins an operation that follows from a unit of an edge, or with opClear is told to
// who sends it.
func (h *Host) beside(now units.Time, of, e int32, unit int, kind uint8, label uint16) {
	x := &h.programs
	p := &x.list[of]
	edge := h.edge(p, e)
	order, put, wire := p.Rule.Unit(e, unit%edge.Units)
	op := h.newOp(p.number(unit/edge.Units, order+uint64(put*workload.SubOrders)+placeOf(kind), x.first), kind, of,
		e, unit)
	op.label = label
	switch kind {
	case opCopy:
		h.moves(op, p.Ranks[edge.From].Device, edge.Next, wire)
	case opRead:
		h.moves(op, edge.Memory, p.Ranks[edge.To].Device, wire)
	}
	h.beginLocal(now, op.number)
}

// placeOf is that of an operation behind the step that it follows from.
func placeOf(kind uint8) uint64 {
	return [...]uint64{opCopy: workload.OrderCopy, opRead: workload.OrderRead, opPost: workload.OrderPost,
		opClear: workload.OrderClear, opArrive: workload.OrderArrive}[kind]
}

// readUnit goes on with a unit that is at its edge's next device.
func (h *Host) readUnit(now units.Time, of, e int32, unit int) {
	edge := h.edge(&h.programs.list[of], e)
	if edge.Read == workload.NoLabel {
		h.sendUnit(now, of, e, unit)
		return
	}
	h.beside(now, of, e, unit, opRead, edge.Read)
}

// sendUnit goes on with a unit that is where it is taken inside the host, or leaves it from.
func (h *Host) sendUnit(now units.Time, of, e int32, unit int) {
	p := &h.programs.list[of]
	edge := h.edge(p, e)
	switch {
	case edge.Local:
		h.unitHere(now, of, e, unit)
	case edge.Post == workload.NoLabel:
		h.out(p, e).ready |= 1 << (unit % 64)
		h.postUnits(now, of, e)
	default:
		h.beside(now, of, e, unit, opPost, edge.Post)
	}
}

// postUnits posts the messages of units that are next and have a slot at the receiver.
func (h *Host) postUnits(now units.Time, of, e int32) {
	x := &h.programs
	p := &x.list[of]
	out, edge := h.out(p, e), h.edge(p, e)
	for out.ready>>(out.posted%64)&1 != 0 && (out.posted < p.Slots || out.posted-p.Slots < out.news) {
		unit := out.posted
		out.ready &^= 1 << (unit % 64)
		out.posted++
		_, _, wire := p.Rule.Unit(e, unit%edge.Units)
		h.postOf(now, of, e, false, edge.Conn, &workload.Message{Verb: p.Verb, Bytes: wire})
	}
}

// slotNews says that a slot of an edge is free.
type slotNews struct {
	edge  int32
	order uint64 // of the unit that waits for it
}

// clearSlot begins to tell the sender of a unit that its slot is free, if there is one. What
// takes no time comes in the order of those units.
func (h *Host) clearSlot(now units.Time, of, e int32, unit int) {
	x := &h.programs
	p := &x.list[of]
	edge := h.edge(p, e)
	if unit >= edge.Units*p.Iterations {
		return
	}
	if edge.Clear != workload.NoLabel {
		h.beside(now, of, e, unit, opClear, edge.Clear)
		return
	}
	order, put, _ := p.Rule.Unit(e, unit%edge.Units)
	order += uint64(unit/edge.Units)*p.Orders + uint64(put)
	k := len(x.told)
	for k > 0 && x.told[k-1].order > order {
		k--
	}
	x.told = slices.Insert(x.told, k, slotNews{e, order})
}

// postSlot posts the news of a free slot.
func (h *Host) postSlot(now units.Time, of, e int32) {
	p := &h.programs.list[of]
	h.postOf(now, of, e, true, h.edge(p, e).Back, &workload.Message{Verb: p.SlotVerb, Bytes: p.SlotBytes})
}

// postOf posts a message of an edge.
func (h *Host) postOf(now units.Time, of, e int32, news bool, conn int32, m *workload.Message) {
	x := &h.programs
	if len(x.spare) == 0 {
		block := make([]programPost, 16)
		for i := range block {
			x.spare = append(x.spare, uint32(len(x.posts)))
			x.posts = append(x.posts, &block[i])
		}
	}
	k := x.spare[len(x.spare)-1]
	x.spare = x.spare[:len(x.spare)-1]
	p, at := &x.list[of], x.posts[k]
	*at = programPost{Message: Message{Done: units.Never, Due: units.Never, Posted: units.Never,
		Polled: units.Never}, of: of, edge: e, news: news, path: at.path}
	m.Conn = int(conn)
	h.left++
	post := h.requests.Make(int(of), k|programIDs, m)
	if p.Pairs != nil {
		post.QP = programQPs | (p.conn + uint32(conn))
		at.kind = h.kindOf(post.QP, true)
	} else {
		if at.path == nil {
			at.path = x.newPath()
		}
		copy(at.path, x.path)
		h.specs[post.QP].Posting.tell(at)
	}
	h.trigger(now, post)
}

// programCompleted goes on after message id, of a program, has completed at its requester.
func (h *Host) programCompleted(now units.Time, id uint32) {
	x := &h.programs
	m := x.posts[id&^programIDs]
	x.followPath(now, m, pathPolling)
	x.sums[m.of].message(m)
	x.spare = append(x.spare, id&^programIDs)
	delete(h.prepared, id)
	if m.news {
		return
	}
	p := &x.list[m.of]
	out := h.out(p, m.edge)
	out.done++
	if out.done == h.edge(p, m.edge).Units*p.Iterations {
		h.forgetOut(p, m.edge)
		return
	}
	if out.waiter != 0 && h.hasRoom(p, m.edge) {
		h.awoken(now, m.of, &out.waiter)
	}
}

// programReceived goes on with the next message of an edge, or news of a slot, which this host
// has received.
func (h *Host) programReceived(now units.Time, s *Sequence) {
	p := &h.programs.list[s.program]
	if len(s.came) > 0 {
		h.programs.followPath(now, s.came[0], pathPlacing)
		h.programs.spent = append(h.programs.spent, s.came[0])
		s.came = slices.Delete(s.came, 0, 1)
	}
	if s.news {
		h.out(p, s.edge).news++
		h.postUnits(now, s.program, s.edge)
		return
	}
	in, edge := h.in(p, s.edge), h.edge(p, s.edge)
	unit := in.came
	in.came++
	if edge.Arrive == workload.NoLabel {
		h.unitHere(now, s.program, s.edge, unit)
		return
	}
	h.beside(now, s.program, s.edge, unit, opArrive, edge.Arrive)
}

// unitHere lets a unit be taken.
func (h *Host) unitHere(now units.Time, of, e int32, unit int) {
	in := h.in(&h.programs.list[of], e)
	in.here |= 1 << (unit % 64)
	if in.waiter != 0 && unit == in.taken {
		h.awoken(now, of, &in.waiter)
	}
}
