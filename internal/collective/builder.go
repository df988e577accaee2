package collective

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// builder appends the operations of one collective to a plan.
type builder struct {
	*Spec
	shape
	plan      *workload.Plan
	entry     int
	opt       workload.Options
	channel   int               // whose edges are at hand
	edges     map[edgeKey]*edge // looked up, never iterated
	all       []*edge           // in the order in which they were first used
	lanes     map[laneKey]*lane
	order     []*lane // in the order in which they were first used
	launched  []workload.Op
	labels    map[string]uint16
	inside    map[string]uint16 // of steps that send inside their host, by what they do
	members   map[int][]int     // ranks by host; made when needed
	proxies   map[*Rank]int16
	peers     peers         // of point-to-point operations
	used      map[int]bool  // their channels that have data
	works     int           // transfers that share a thread block, each with warps of its own
	turns     []turn        // of proxies, until their times are known
	lastCalls []workload.Op // the last calls of each rank's thread
	called    bool          // by a job
	records   recorder      // which records what would be appended; nil: it is
	ownChunk  bool          // chunks of transfers depend on their sizes
	cells     *cellRule     // that, where pieces are alike; else nil
}

type edgeKey struct{ channel, from, to, via int }

type laneKey struct{ channel, rank, kind int }

// lane is a thread block, or a part of one: it takes one step after the other.
type lane struct {
	rank int
	nr   int // among all, in the order in which they were first used
	last workload.Op
}

// edge is a connection from rank to rank.
type edge struct {
	nr       int32    // among all, in the order in which they were first used
	ends     [2]int32 // numbers of the ranks
	from, to *Rank
	via      *Rank // whose network port it leaves by; from, or another GPU of its server
	local    bool  // inside one host
	memory   int16 // of the host, through which data pass inside it; workload.NoDevice: none
	conn     int   // else the connection, and the one by which slots come back
	back     int
	arrivals []arrival     // of the units sent, in order
	messages []workload.Op // that carried them; between hosts
	taken    []workload.Op // the steps that took them
}

// arrival is what a unit's receiver waits for.
type arrival struct {
	op  workload.Op
	end workload.End
}

// noConn stands for a connection that is still to be made.
const noConn = -1

// Build appends the operations of s, which belongs to an entry of the plan, whose
// messages take the options' service, class and ports. Errors are the user's.
func Build(plan *workload.Plan, entry int, s Spec, opt workload.Options) error {
	_, err := build(plan, entry, s, opt, false)
	return err
}

// Call appends a collective that operations of a job call, as many times as it has iterations, and
// returns the program that it is. It needs connections over RC.
func Call(plan *workload.Plan, entry int, s Spec, opt workload.Options) (*workload.Program, error) {
	s.Records = SumRecords
	return build(plan, entry, s, opt, true)
}

func build(plan *workload.Plan, entry int, s Spec, opt workload.Options, called bool) (*workload.Program, error) {
	s.Iterations = max(s.Iterations, 1)
	if s.Algorithm == Hierarchical {
		s.Algorithm = Ring
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := s.choose(); err != nil {
		return nil, err
	}
	if s.GPU != nil {
		s.Costs = s.steps()
	}
	peers := s.peers()
	s.Channels = s.fewerChannels(s.worth(s.channels(s.Algorithm)))
	b := &builder{Spec: &s, shape: s.shapeOf(), peers: peers, used: map[int]bool{}, plan: plan, entry: entry, opt: opt,
		called: called, edges: map[edgeKey]*edge{}, lanes: map[laneKey]*lane{}, labels: map[string]uint16{},
		inside: map[string]uint16{}}
	if s.Algorithm == Pairwise && s.GPU != nil && s.Protocol == Simple && s.Chunk == 0 {
		b.ownChunk = true
		b.chunk = peers.chunk(s.transfer())
	}
	if (s.Algorithm == NVLS || s.Algorithm == NVLSTree) && s.Chunk == 0 {
		b.chunk = s.nvlsChunk(s.Bytes / units.Bytes(s.Channels))
	}
	lazily := b.lazily()
	if s.Records == SumRecords && !lazily {
		return nil, fmt.Errorf("records: sums stands with collectives over RC, and with alltoall where hosts have as many " +
			"ranks each; use messages")
	}
	most := units.Bytes(workload.MaxLocals)
	if lazily {
		most = workload.MaxProgramSteps
	}
	if err := b.checkRoom(most); err != nil {
		return nil, err
	}
	b.startProxies()
	info := b.info()
	if lazily {
		b.program()
		info.Program = len(plan.Programs)
		if s.Algorithm == Pairwise {
			info.Channels = len(b.used)
		}
		p := plan.Programs[len(plan.Programs)-1]
		if called {
			p.Called, p.Collective, p.Blocks = true, -1, s.Channels
			if s.Algorithm == Pairwise {
				p.Blocks = len(b.used)
			}
			return p, nil
		}
		plan.Collectives = append(plan.Collectives, info)
		return p, nil
	}
	for range s.Iterations {
		b.launch()
		b.iteration()
		info.Last = append(info.Last, append(b.ends(), b.hostCalls()...))
	}
	if s.Algorithm == Pairwise {
		info.Channels = len(b.used)
	}
	b.settleTurns()
	plan.Collectives = append(plan.Collectives, info)
	return nil, b.checkStream()
}

// info is what a run has to know of the collective.
func (b *builder) info() workload.Collective {
	info := workload.Collective{Entry: b.entry, Op: b.Op.String(), Algorithm: b.Algorithm.String(),
		Protocol: b.Protocol.String(), Ranks: len(b.Ranks), Channels: b.Channels, Chunk: b.chunk, Bytes: b.Bytes,
		Count: b.Count(), Root: -1, Reduces: b.Op == AllReduce || b.Op == ReduceScatter, Start: b.Start}
	if b.Op == Broadcast {
		info.Root = b.Root
	}
	return info
}

// startProxies gives each GPU a proxy, a thread of its host, which posts and polls
// for it. Hosts that are ranks themselves have one thread, as everywhere.
func (b *builder) startProxies() {
	b.proxies = make(map[*Rank]int16, len(b.Ranks))
	for _, members := range hostsOf(b.Ranks) {
		for k, m := range members {
			if r := &b.Ranks[m]; r.Device != workload.NoDevice {
				b.proxies[r] = int16(k + 1)
			}
		}
	}
}

// fewerChannels leaves channels without data away.
func (s *Spec) fewerChannels(n int) int {
	elements := int64(s.Bytes / Element)
	if s.Op != Broadcast && s.Op != SendRecv && s.Algorithm != Tree && s.Algorithm != NVLS && s.Algorithm != NVLSTree {
		elements /= int64(len(s.Ranks))
	}
	return int(max(min(int64(n), elements), 1))
}

// transfer is what a point-to-point operation carries from a rank to another.
func (s *Spec) transfer() units.Bytes {
	if s.Sizes != nil {
		most := Element
		for _, row := range s.Sizes {
			most = max(most, slices.Max(row))
		}
		return most
	}
	if s.Op == AllToAll {
		return s.Bytes / units.Bytes(len(s.Ranks))
	}
	return s.Bytes
}

// checkRoom refuses a collective that takes more steps than a run can have, before any is
// made.
func (b *builder) checkRoom(most units.Bytes) error {
	if n := b.steps() * units.Bytes(b.Iterations); n > most {
		return fmt.Errorf("%s of %s over %d ranks takes about %d steps, more than the %d that a run can have; use a larger chunk, fewer channels or iterations",
			b.Op, b.Bytes, len(b.Ranks), int64(n), int64(most))
	}
	return nil
}

// steps is about how many an iteration takes, by their chunks.
func (b *builder) steps() units.Bytes {
	n := units.Bytes(len(b.Ranks))
	per := b.Bytes / units.Bytes(b.Channels)
	loops := per / max(b.chunk, 1)
	switch {
	case b.Op == AllToAll:
		return 2 * n * n * (b.Bytes/n/b.chunk + 1)
	case b.Algorithm == Ring || b.Algorithm == SingleRing:
		return 2 * n * n * units.Bytes(b.slices) * units.Bytes(b.Channels) * (loops/n + 1)
	}
	return n * 2 * units.Bytes(b.slices) * units.Bytes(b.Channels) * (loops + 1)
}

// launch starts the kernel of each rank: once its kernel before is over, or at the
// start.
func (b *builder) launch() {
	label := b.label("launch", b.Costs.Launch)
	ended := b.lanesByRank()
	b.launched = b.launched[:0]
	for i := range b.Ranks {
		op := b.plan.AddLocal(workload.Local{Host: b.Ranks[i].Host, Entry: b.entry, Label: label, Start: b.Start, From: workload.NoDevice, To: workload.NoDevice})
		for _, l := range ended[i] {
			b.plan.After(op, l.last, workload.Completed)
		}
		b.launched = append(b.launched, op)
	}
	for _, l := range b.order {
		l.last = b.launched[l.rank]
	}
}

// lanesByRank lists the lanes that were used so far.
func (b *builder) lanesByRank() [][]*lane {
	out := make([][]*lane, len(b.Ranks))
	for _, l := range b.order {
		out[l.rank] = append(out[l.rank], l)
	}
	return out
}

// ends are the last steps of all lanes.
func (b *builder) ends() (ops []workload.Op) {
	for _, l := range b.order {
		ops = append(ops, l.last)
	}
	return ops
}

// label is the number of a label with the given parts.
func (b *builder) label(text string, parts []workload.Part) uint16 {
	n, known := b.labels[text]
	if !known {
		n = b.plan.AddLabel(text, parts...)
		b.labels[text] = n
	}
	return n
}

// lane returns a lane of a rank, one of those of a kind in a channel.
func (b *builder) lane(rank, kind int) *lane {
	key := laneKey{b.channel, rank, kind}
	l := b.lanes[key]
	if l == nil {
		l = &lane{rank: rank, nr: len(b.order), last: b.launched[rank]}
		b.lanes[key] = l
		b.order = append(b.order, l)
	}
	return l
}

// edge returns the edge from one rank to another in the channel at hand, out by the
// network port of via.
func (b *builder) edge(from, to, via int) *edge {
	key := edgeKey{b.channel, from, to, via}
	e := b.edges[key]
	if e == nil {
		e = &edge{nr: int32(len(b.all)), ends: [2]int32{int32(from), int32(to)}, from: &b.Ranks[from], to: &b.Ranks[to],
			via: &b.Ranks[via], conn: noConn, back: noConn}
		e.local, e.memory = e.from.Host == e.to.Host, workload.NoDevice
		if e.local && b.Between != nil {
			e.memory = b.Between(e.from, e.to)
		}
		b.edges[key] = e
		b.all = append(b.all, e)
	}
	return e
}

// step is one primitive of a thread block.
type step struct {
	lane  *lane
	label string // "reduce and send"
	from  []*edge
	to    []*edge
	bytes units.Bytes // payload
	after *workload.Op
}

// add appends a step: it waits for the one before in its lane, for a unit on each
// edge that it takes from, and for a free slot on each that it sends on.
func (b *builder) add(s step) workload.Op {
	rank := &b.Ranks[s.lane.rank]
	local := workload.Local{Host: rank.Host, Entry: b.entry, Label: b.stepLabel(&s), From: rank.Device, To: rank.Device, Bytes: s.bytes}
	folded := b.folds(s.to)
	if folded != nil {
		local.To, local.Bytes = folded.next(), b.Protocol.wireBytes(s.bytes)
	}
	if rank.Device != workload.NoDevice {
		local.Work = b.blockTime(s.bytes, len(s.to) > 0)
	}
	op := b.begin(s.lane, local)
	if s.after != nil {
		b.awaits(op, *s.after)
	}
	for _, e := range s.from {
		b.takes(op, e)
	}
	for _, e := range s.to {
		b.puts(op, e, s.bytes, e == folded)
	}
	return op
}

// recorder records steps in place of a plan.
type recorder interface {
	begin(l *lane, o *workload.Local) workload.Op
	awaits(other workload.Op)
	take(e *edge)
	put(e *edge, bytes units.Bytes, folded bool)
}

// begin appends the next operation of a lane, behind the one before in it.
func (b *builder) begin(l *lane, o workload.Local) workload.Op {
	if b.records != nil {
		return b.records.begin(l, &o)
	}
	op := b.plan.AddLocal(o)
	b.plan.After(op, l.last, workload.Completed)
	l.last = op
	return op
}

// awaits has an operation wait for one of another lane at its host.
func (b *builder) awaits(op, other workload.Op) {
	if b.records != nil {
		b.records.awaits(other)
		return
	}
	b.plan.After(op, other, workload.Completed)
}

// takes has an operation wait for the next unit on an edge, which it takes.
func (b *builder) takes(op workload.Op, e *edge) {
	if b.records != nil {
		b.records.take(e)
		return
	}
	a := e.arrivals[len(e.taken)]
	b.plan.After(op, a.op, a.end)
	e.taken = append(e.taken, op)
}

// puts has an operation wait for a slot of an edge, and put a unit on it, which it has moved
// already where it folds.
func (b *builder) puts(op workload.Op, e *edge, bytes units.Bytes, folded bool) {
	if b.records != nil {
		b.records.put(e, bytes, folded)
		return
	}
	b.reserve(e, op)
	b.send(e, op, bytes, folded)
}

// repeat appends a cell, the steps of a piece of a channel's data, for each of its pieces.
func (b *builder) repeat(bytes, most units.Bytes, cell func(piece units.Bytes)) {
	if b.cells != nil {
		b.cells.record(bytes, most, cell)
		return
	}
	for _, piece := range b.pieces(bytes, most) {
		cell(piece)
	}
}

// stepLabel is the label of a step by what it does and where it sends.
func (b *builder) stepLabel(s *step) uint16 {
	if len(s.to) == 0 {
		return b.label(s.label, b.Costs.Receive)
	}
	for _, e := range s.to {
		if !e.local {
			return b.label(s.label, b.Costs.Outside)
		}
	}
	n, known := b.inside[s.label]
	if !known {
		n = b.label(s.label+" inside", b.Costs.Inside)
		b.inside[s.label] = n
	}
	return n
}

// next is the device whose memory an edge's data go to first.
func (e *edge) next() int16 {
	switch {
	case e.memory != workload.NoDevice:
		return e.memory
	case e.local:
		return e.to.Device
	}
	return e.via.Device
}

// folds returns the edge over which the step's own threads move the data as they
// reduce them: its only one that leads to another GPU of the server.
func (b *builder) folds(to []*edge) *edge {
	if len(to) == 1 && (to[0].local || to[0].via != to[0].from) {
		return to[0]
	}
	return nil
}

// reserve has a step wait for a slot of the buffer that it writes to: inside a host
// for the step that took the unit in it before, else for the message that carried it
// away.
func (b *builder) reserve(e *edge, op workload.Op) {
	k := len(e.arrivals) - b.slots
	switch {
	case k < 0:
	case e.local:
		b.plan.After(op, e.taken[k], workload.Completed)
	default:
		b.plan.After(op, e.messages[k], workload.Completed)
	}
}

// clear has a message wait for the news that its slot at the receiver is free: a
// message of the receiver's proxy, once the step that took the unit in it is over.
func (b *builder) clear(e *edge, message workload.Op) {
	k := len(e.arrivals) - b.slots
	if k < 0 {
		return
	}
	if e.back == noConn {
		e.back = b.connectSlots(e.to, e.via)
	}
	told := b.beside(e.to, "proxy clears a slot", b.Costs.Clear, arrival{e.taken[k], workload.Completed})
	news := b.plan.AddMessage(workload.Message{Conn: e.back, Verb: b.slotVerb(), Bytes: SlotMessage})
	b.plan.After(news, told.op, told.end)
	b.plan.After(message, news, workload.Received)
}

// send passes a unit on after a step, which has moved it already where it folds.
func (b *builder) send(e *edge, op workload.Op, bytes units.Bytes, folded bool) {
	if e.local || e.via != e.from {
		if !folded {
			copied := b.plan.AddLocal(workload.Local{Host: e.from.Host, Entry: b.entry, Label: b.label("copy", nil), From: e.from.Device, To: e.next(), Bytes: b.Protocol.wireBytes(bytes)})
			b.plan.After(copied, op, workload.Completed)
			op = copied
		}
		if e.memory != workload.NoDevice { // the receiver reads it there
			read := b.plan.AddLocal(workload.Local{Host: e.to.Host, Entry: b.entry, Label: b.label("read from the host's memory", nil), From: e.memory, To: e.to.Device, Bytes: b.Protocol.wireBytes(bytes)})
			b.plan.After(read, op, workload.Completed)
			op = read
		}
		if e.local {
			e.arrivals = append(e.arrivals, arrival{op, workload.Completed})
			return
		}
	}
	if e.conn == noConn {
		e.conn = b.connect(e.via, e.to)
	}
	op = b.turned(e.via, "proxy posts", b.Costs.Post, arrival{op, workload.Completed}, false).op
	m := b.plan.AddMessage(workload.Message{Conn: e.conn, Verb: b.opt.Verb, Bytes: b.onWire(bytes)})
	b.plan.After(m, op, workload.Completed)
	b.clear(e, m)
	e.messages = append(e.messages, m)
	a := arrival{m, workload.Received}
	switch {
	case len(b.Costs.Arrive) == 0:
	case b.Protocol == Simple:
		a = b.turned(e.to, "proxy tells the GPU", b.Costs.Arrive, a, true)
	default:
		a = b.beside(e.to, "GPU notices", b.Costs.Arrive, a)
	}
	e.arrivals = append(e.arrivals, a)
}

// beside adds what a rank's proxy does after a; nothing where that takes no time.
func (b *builder) beside(r *Rank, text string, parts []workload.Part, a arrival) arrival {
	if len(parts) == 0 {
		return a
	}
	op := b.plan.AddLocal(workload.Local{Host: r.Host, Entry: b.entry, Label: b.label(text, parts), From: workload.NoDevice, To: workload.NoDevice})
	b.plan.After(op, a.op, a.end)
	return arrival{op, workload.Completed}
}

// onWire is the length of a message; on TCP, which carries no empty one, at least a
// byte.
func (b *builder) onWire(payload units.Bytes) units.Bytes {
	n := b.Protocol.wireBytes(payload)
	if n == 0 && b.opt.Service == workload.TCP {
		return 1
	}
	return n
}

// slotVerb is the verb of the news that a slot is free.
func (b *builder) slotVerb() workload.Verb {
	if b.opt.Service == workload.TCP {
		return workload.Send
	}
	return workload.Write
}

// connect makes a connection between the network ports of two ranks.
func (b *builder) connect(from, to *Rank) int { return b.connectIn(b.plan, from, to) }

// connectIn makes it in a plan.
func (b *builder) connectIn(plan *workload.Plan, from, to *Rank) int {
	c := plan.Connect(b.entry, from.Endpoint, to.Endpoint, b.opt)
	conn := &plan.Conns[c]
	conn.SrcDevice, conn.SrcStaged = from.Device, from.Staged
	conn.DstDevice, conn.DstStaged = to.Device, to.Staged
	conn.SrcThread, conn.DstThread = b.proxies[from], b.proxies[to]
	return c
}

// connectSlots makes a connection for news of free slots, which lie in the memory of
// hosts. Proxies post them with their receives, whose costs have them, and read the news
// where they lie.
func (b *builder) connectSlots(from, to *Rank) int { return b.connectSlotsIn(b.plan, from, to) }

// connectSlotsIn makes it in a plan.
func (b *builder) connectSlotsIn(plan *workload.Plan, from, to *Rank) int {
	c := plan.Connect(b.entry, from.Endpoint, to.Endpoint, b.opt)
	conn := &plan.Conns[c]
	conn.Slots, conn.Inline = true, b.Inline
	return c
}

// pieces cuts bytes up into pieces of at most the given length: all but the last
// of that length as NCCL does; over TCP, whose messages on a connection are alike,
// of equal length.
func (b *builder) pieces(bytes, most units.Bytes) (out []units.Bytes) {
	n := int((bytes + most - 1) / most)
	for k := range n {
		part := min(bytes-units.Bytes(k)*most, most)
		if b.opt.Service == workload.TCP {
			part = share(bytes, n, k)
		}
		out = append(out, part)
	}
	return out
}

// checkStream refuses messages of several lengths on one TCP connection, whose
// reader knows of one.
func (b *builder) checkStream() error {
	if b.opt.Service != workload.TCP {
		return nil
	}
	size := make(map[int]units.Bytes, len(b.edges))
	for i := range b.plan.Series {
		m := &b.plan.Series[i]
		if b.plan.Conns[m.Conn].Entry != b.entry {
			continue
		}
		if first, known := size[m.Conn]; known && first != m.Bytes {
			return fmt.Errorf("over TCP all messages of a collective's connection must be equal, and %s makes some of %s and some of %s; give a size that divides into equal parts, such as a power of two times the number of ranks",
				b.Bytes, first, m.Bytes)
		}
		size[m.Conn] = m.Bytes
	}
	return nil
}

// iteration appends the steps of the collective once.
func (b *builder) iteration() {
	before := b.plan.Size()
	for b.channel = range b.Channels {
		if b.channel == 1 { // the others add about as much as the first
			b.plan.Grow(before, b.Channels-1)
		}
		bytes := share(b.Bytes, b.Channels, b.channel)
		switch {
		case b.Op == AllToAll || b.Op == SendRecv:
			continue // below: their channels take turns
		case b.Algorithm == Tree:
			b.tree(bytes)
		case b.Algorithm == NVLS || b.Algorithm == NVLSTree:
			b.nvls(bytes)
		case b.Op == Broadcast:
			b.chain(bytes)
		default:
			b.ring(bytes)
		}
	}
	switch b.Op {
	case AllToAll:
		b.allToAll()
	case SendRecv:
		b.sendRecv()
	}
}
