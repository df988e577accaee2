// Package nic is the network card: it joins the queue pairs of package rdma to
// a port of package fabric. It schedules queue pairs fairly, gives ACKs and
// CNPs precedence within their class, keeps the transports' timers and, when
// the host drains its receive buffer too slowly, pauses the switch.
package nic

import (
	"github.com/hopscope/hopscope/internal/card"
	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/iwarp"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Kinds of timer, in the order in which they run at equal times and causes.
const (
	timerPost      uint8 = iota // the next message is posted
	timerQP                     // of a queue pair: retransmission or RNR; or a CNP, as the top of low says
	timerDrain                  // the host took a frame out of a receive buffer; or one is through a part of the card, as the top of low says
	timerTriggered              // messages are posted that a trigger started
	timerCPU                    // a core is through with a task, or a receive queue interrupts
	timerLocal                  // a local operation begins or ends, or its delay is over
	timerSegment                // of a connection: the card has what it needs of its segment, a frame is in memory, or a copy done
	timerPath                   // something is done inside the server; the top of low says what
)

// QPSpec is what a queue pair is connected with on its first use. There may be a
// million before any is used, so it holds what is its own and no more.
type QPSpec struct {
	*QPKind
	PeerHost string // name
	PeerQP   uint32 // number there, which requests and answers carry too
	// Hash, Dst and Conn are those of all its packets.
	Hash, Dst, Conn uint32
	// Posting and Accepting are the two ends of a Sequence: at the queue pair that
	// posts the messages, and at its peer. nil: none of them activates a trigger
	// where it is received.
	Posting, Accepting *Sequence
	// Stream makes the slot the end of a TCP connection: of Setup only the class
	// of Data matters then.
	Stream *StreamSpec
}

// QPKind is what queue pairs of a host share that differ in their peers alone.
type QPKind struct {
	// Setup is without what QPSpec has of the templates, and without CQ, ReceiveCQ
	// and QPN, which the host fills in.
	rdma.Setup
	Port  int    // local port
	Entry string // workload entry
	// Thread is the application's thread that posts and polls here, from 1, each on a
	// core of its own in turn; 0: the one on the first core.
	Thread int
	Proxy  host.Proxy  // what that thread takes, if not what the host's costs say
	Region units.Bytes // length of the local memory of its messages
	Inline bool        // payloads stand in the work requests
	Memory MemoryPath  // where the host has a server
	// Offload makes it the end of a queue pair that is carried by TCP, which then has a kind of its own.
	Offload *iwarp.Spec
}

// Post is a work request and when the application posts it.
type Post struct {
	At units.Time
	QP uint32 // local number
	WR rdma.WorkRequest
}

// Requests makes work requests, each when it is posted, so that those to come take no
// memory. Hosts ask at the same time, each for its own messages.
type Requests interface {
	Post(message uint32) Post
	// Make makes that of a message of a program, which has a number of the host's own.
	Make(program int, id uint32, m *workload.Message) Post
	// Pair describes the queue pair of a connection that a program makes, at either end, and
	// says how many messages that posts or takes.
	Pair(program int, conn int32, requester bool) (s QPSpec, messages int)
	PairKind(program int, conn int32, requester bool) *QPKind
}

// Message is the fate of a work request; the slice is shared by all hosts, each
// of which writes only its own.
type Message struct {
	Done   units.Time // Never while open
	Due    units.Time // when the application was to post it; Never until then
	Posted units.Time // when it had posted it; Never until then
	Polled units.Time // when the application had polled its completion; Never until then
	QP     uint32     // requester's number
	Status rdma.Status
	Verb   rdma.Verb
}

// qpSlot is a queue pair and what the scheduler knows of it.
type qpSlot struct {
	qp         *rdma.QP
	stream     *stream    // of a TCP connection, in place of qp
	offloaded  *offloaded // likewise of a queue pair that is carried by TCP
	*life                 // nil until it is used
	scheduled  bool       // in the run queue or the pacing heap
	watched    bool       // messages of Accepting are still to come
	summed     bool       // its messages are a program's, of which no records are kept
	connected  bool       // the application has set the connection up
	registered bool       // and registered its region
	port       uint8
	class      uint8
	kind       uint8 // of endpoint
}

// opened reports whether its end exists.
func (s *qpSlot) opened() bool { return s.life != nil && s.exists }

// life is what a queue pair or TCP connection has from its first use on.
type life struct {
	armed                            units.Time // pending timer; Never: none
	since                            units.Time // when it became, or becomes, ready to send
	exists                           bool       // its end does
	fetched                          bool       // what the next packet needs was fetched for it
	answering                        bool       // as responder of READs and atomics: something waits to be sent
	account                          *account   // see accounted
	taken                            acceptances
	met                              [2]uint32 // see meetings
	landing                          landing
	contextMisses, translationMisses int64
	measured                         [2]int64            // delivered bytes at the measured window's ends
	tasks                            [numTaskKinds]int64 // what it gave the application to do
	busy                             units.Time          // the time that takes
	traced                           *pairLog            // nil: nobody asked
}

// used returns slot q, which is used from now on if it was not before.
func (h *Host) used(q uint32) *qpSlot {
	s := &h.qps[q]
	if s.life == nil {
		s.life = h.newLife()
		if h.traced > 0 {
			s.traced = &pairLog{spent: record.SliceLog{Most: h.traced}}
		}
		if h.path != nil { // which looks at the account of all that it moves data for
			s.accounted(0)
		}
	}
	return s
}

// accounted returns the account of a used queue pair's time, which was idle until now if
// it had none: the end that only takes messages, half of all, needs none.
func (s *qpSlot) accounted(now units.Time) *account {
	if s.account == nil {
		s.account = &account{at: now}
		if s.traced != nil {
			s.account.trace = &s.traced.spent
		}
		s.account.sum[Idle] = now
	}
	return s.account
}

// Host is one server's network card with all its ports.
type Host struct {
	faults  []card.Fault
	pausing bool  // a fault pauses the switch
	lapses  []int // of each fault, how many have been scheduled
	// What every frame touches stands first: a host has a few frames in a window, and finds
	// hardly anything of itself in a cache.
	net       *fabric.Net
	path      *hostPath // nil: nothing moves inside the server
	ports     []port
	qps       []qpSlot
	index     int
	source    uint32
	inVain    bool                 // some queue pair tried in vain for a while; see InVain
	placing   bool                 // see Spec
	passing   int                  // frames in a part of the card that takes time
	delivered int64                // payload that its queue pairs and connections took in order
	left      int                  // messages without a completion
	cq, rcq   rdma.CompletionQueue // of the send queues and of the receive queues
	caches    caches
	card      card.Spec
	replies   rdma.Replies

	Name     string
	specs    []QPSpec
	posts    []uint32 // see Spec
	requests Requests
	next     int
	upcoming Post // the work request of posts[next]
	messages []Message
	accounts []Noted           // like messages
	open     []*MessageAccount // accounts that are being written, by number
	unused   []uint32          // numbers of open that none is
	hops     []fabric.Hop      // of the way that is being noted
	notes    notes             // accounts that are over, and the hops of last packets taken and of ACKs that completed messages

	meetings meetings

	kinds     [numEnds]endpoint
	programs  programs
	triggers  *Triggers
	triggered []Post   // what triggers started at this instant
	posting   []Post   // what postTriggered hands over; they take turns
	locals    []uint32 // local operations that wait for nothing but their time
	running   int      // local operations that have begun, or wait for their time alone, and not ended
	blocks    blocks
	cpu       processors

	preparation Preparation
	prepared    map[uint32][2]units.Time // see Prepared
	times       []Times                  // room for MessageAccount.Rest

	ends     []StreamEnds  // by connection; of those of TCP
	payloads [][]byte      // see Spec
	failures []uint32      // slots of TCP connections that failed here
	restless int           // see Restless
	traced   int           // see Trace; 0: nothing is listed
	heard    packet.Packet // the CNP that reaches its reaction point now
}

// port is one port of the card; what every frame touches stands first.
type port struct {
	fabricPort int
	ctlReady   uint8  // classes with an ACK, NAK or CNP queued
	runReady   uint8  // classes with a queue pair ready
	credited   bool   // the link has credits
	latest     uint32 // queue pair that sent the latest packet; none
	paced      []paced
	sent       [fabric.Classes]fabric.Sent
	run        [fabric.Classes]ring
	control    [fabric.Classes]fifo
	sched      fabric.Scheduler
	rx         receiveBuffer
}

// none stands for no queue pair.
const none = ^uint32(0)

// fifo is a queue of frames linked through their records.
type fifo struct {
	head, tail uint32
	since      units.Time // when it was last empty
}

// Spec describes a host to New.
type Spec struct {
	Name     string
	Source   uint32 // first order number of the host's timers
	Ports    []fabric.PortParams
	QPs      []QPSpec
	Posts    []uint32 // messages that the host posts by time, in order
	Requests Requests // makes their work requests
	Messages []Message
	Accounts []Noted       // as many as Messages, shared like them
	Triggers *Triggers     // nil: none
	Locals   []uint32      // operations of Triggers that start here by time
	Programs *Programs     // nil: none
	Ranks    []ProgramRank // of Programs, that are here
	JobRanks []JobRank     // and of jobs
	// Chains are the ways between the devices of Server, by both, as far as Programs need them.
	Chains []*dma.Chain
	// Singly has every turn of a copy over NVLink be an event, as tests compare it.
	Singly  bool
	Receive ReceiveSpec
	Faults  []card.Fault // by time; those that change how fast data are taken lie apart
	CPU     host.Spec    // the zero Spec: a core that costs nothing
	Reposts bool         // the application posts a receive in place of each that was taken; else there are as many as at the start
	Prepare Preparation
	Cache   CacheSpec // needs a Receive.DrainRate or a Server
	Card    card.Spec
	// Server is the inside of the host, its own; nil: none. Then frames wait in the
	// receive buffer for it, and DrainRate must be 0.
	Server *dma.Engine
	// Placing: messages may end when they are in memory, as some host has a server.
	Placing bool
	// StreamEnds is shared by all hosts, by packet.Packet.Conn; nil without TCP.
	StreamEnds []StreamEnds
	// Payloads are the bytes of TCP's messages, by index in Messages; nil: connections
	// carry their number only.
	Payloads [][]byte
	// Ending is how many messages end here: those of Posts but TCP's, and all that TCP
	// brings.
	Ending int
}

// New returns a host; Attach must follow.
func New(s Spec) *Host {
	h := &Host{Name: s.Name, source: s.Source, specs: s.QPs, posts: s.Posts, requests: s.Requests, left: s.Ending, ends: s.StreamEnds, payloads: s.Payloads, messages: s.Messages, accounts: s.Accounts, triggers: s.Triggers, locals: s.Locals, placing: s.Placing}
	h.card, h.faults, h.lapses, h.kinds = s.Card, s.Faults, make([]int, len(s.Faults)), newEndpoints(h)
	h.notes, h.prepared = newNotes(), make(map[uint32][2]units.Time)
	h.cpu, h.preparation, h.caches, h.path = newProcessors(&s), s.Prepare, newCaches(s.Cache), newHostPath(&s, h.kinds)
	h.programs = programs{Programs: s.Programs, own: s.Ranks, ownJobs: s.JobRanks, chains: s.Chains}
	if s.Server != nil {
		h.programs.devices = len(s.Server.Tree().Devices)
	}
	h.qps = make([]qpSlot, len(s.QPs))
	for i := range h.qps {
		q := &s.QPs[i]
		h.qps[i] = qpSlot{kind: kindOf(q), port: uint8(q.Port), class: q.Data.Class, watched: q.Accepting != nil,
			summed: q.Accepting != nil && q.Accepting.summed || q.Posting != nil && q.Posting.summed}
	}
	h.blocks.singly = s.Singly
	h.ports = make([]port, len(s.Ports))
	for i := range h.ports {
		h.ports[i].latest = none
		h.ports[i].credited = s.Ports[i].Credit != nil
		h.ports[i].sched = fabric.NewScheduler(&s.Ports[i])
		h.ports[i].rx = receiveBuffer{ReceiveSpec: s.Receive, classes: s.Ports[i].PFC.Enabled,
			used: s.Receive.DrainRate > 0 || h.path != nil || len(s.Faults) > 0}
	}
	return h
}

// Attach joins the host to its fabric: fabricPorts[i] is the index of local
// port i. It schedules the first post.
func (h *Host) Attach(net *fabric.Net, index int, fabricPorts []int) {
	h.net, h.index = net, index
	if h.path != nil && (h.triggers != nil || h.programs.Programs != nil) {
		h.path.Before(func() { h.takeTurns(net.Part().Now()) })
	}
	for i, f := range fabricPorts {
		h.ports[i].fabricPort = f
	}
	if len(h.posts) > 0 {
		h.upcoming = h.requests.Post(h.posts[0])
		h.timer(h.upcoming.At, h.upcoming.At, timerPost, 0)
	}
	for _, l := range h.locals {
		at := h.triggers.locals[l].Start
		h.timer(at, at, timerLocal, l)
	}
	h.running = len(h.locals)
	h.scheduleFaults()
	h.startPrograms()
}

// Open counts the messages without a completion, future ones included. Those of
// TCP count at the host that reads them.
func (h *Host) Open() int { return h.left }

func (h *Host) timer(at, age units.Time, kind uint8, low uint32) {
	h.net.HostTimer(at, age, h.index, h.source, kind, low)
}

// Timer implements fabric.Host.
func (h *Host) Timer(now units.Time, kind uint8, low uint32) {
	switch kind {
	case timerPost:
		if low > 0 {
			h.fault(now, low)
			return
		}
		h.post(now)
	case timerQP:
		q, here := h.slotOf(low &^ (lateCNP | lateReaction))
		switch {
		case !here: // it is over
		case low >= lateCNP:
			h.sendLateCNP(now, q)
		case low >= lateReaction:
			h.hear(now, q)
		default:
			h.expire(now, q)
		}
	case timerTriggered:
		h.postTriggered(now)
	case timerDrain:
		if low&laterMask != 0 {
			h.passed(now, low)
			return
		}
		h.drained(now, int(low))
	case timerCPU:
		h.finished(now, low)
	case timerLocal:
		h.local(now, low)
	case timerSegment:
		h.segmentTimer(now, low)
	case timerPath:
		h.pathTimer(now, low)
	}
}

// post gives the application the work requests that are due.
func (h *Host) post(now units.Time) {
	for h.next < len(h.posts) && h.upcoming.At <= now {
		p := h.upcoming
		if h.next++; h.next < len(h.posts) {
			h.upcoming = h.requests.Post(h.posts[h.next])
		}
		h.due(now, &p)
	}
	if h.next < len(h.posts) {
		h.timer(h.upcoming.At, h.upcoming.At, timerPost, 0)
	}
}

// due has the application post a work request.
func (h *Host) due(now units.Time, p *Post) {
	h.message(p.WR.ID).Due = now
	connect, register := h.prepare(p)
	if connect+register > 0 {
		h.prepared[p.WR.ID] = [2]units.Time{connect, register}
	}
	h.work(now, &task{kind: taskPost, qp: p.QP, of: h.kindOf(p.QP, true), post: *p, prep: connect + register})
}

// qp returns queue pair number q, connecting it on first use.
func (h *Host) qp(now units.Time, q uint32) *qpSlot {
	s := &h.qps[q]
	if !s.opened() {
		h.used(q)
		sp := &h.specs[q]
		s.qp, s.exists = h.newQP(), true
		s.qp.ConnectAs(&sp.Setup, &rdma.Own{Dst: sp.Dst, Conn: sp.Conn, Hash: sp.Hash, DestQP: sp.PeerQP, QPN: q, CQ: &h.cq, ReceiveCQ: &h.rcq}, now)
	}
	return s
}

// expire runs the timers of slot q, unless an earlier one has.
func (h *Host) expire(now units.Time, q uint32) {
	if s := &h.qps[q]; s.armed == now { // else superseded by an earlier one
		s.armed = units.Never
		h.end(q).expire(now, q)
	}
}

// arm makes sure that a timer runs when the queue pair's deadline comes.
func (h *Host) arm(now units.Time, q uint32) {
	s := &h.qps[q]
	if d := s.qp.Deadline(); d < s.armed {
		s.armed = d
		h.timer(d, d-s.qp.Armed(now), timerQP, h.number(q))
	}
}

// receive takes a frame that is through the card's pipeline.
func (h *Host) receive(now units.Time, i int, slot uint32) {
	p := &h.ports[i]
	switch {
	case !p.rx.used || h.soundAt(now, i):
	case h.path != nil:
		h.land(now, i, slot)
		return
	default:
		h.buffer(now, i, slot)
		return
	}
	if p.credited {
		h.giveBack(now, i, slot)
	}
	h.through(now, i, slot)
	h.deliver(now, i, slot)
}

// deliver gives a frame to the end that it is for.
func (h *Host) deliver(now units.Time, i int, slot uint32) {
	h.kinds[kindTaking(h.net.Part().Rec(slot).Kind)].deliver(now, i, slot)
}

// giveBack returns the room of a packet in the input buffer of its lane.
func (h *Host) giveBack(now units.Time, i int, slot uint32) {
	pk := h.net.Part().Rec(slot)
	h.net.GiveBack(now, h.ports[i].fabricPort, pk.Class, pk.Frame)
}

// deliverRequest gives a request to the responder.
func (h *Host) deliverRequest(now units.Time, q uint32, pk *packet.Packet) {
	s := &h.qps[q]
	msn, taken := s.qp.MSN(), s.qp.Delivered()
	if h.path == nil {
		s.qp.ReceiveWith(now, pk, h.net.SideOf(pk), &h.replies)
	} else {
		h.receiveAndStore(now, q, pk)
	}
	h.delivered += s.qp.Delivered() - taken
	way, stamped, sample, told := Way(0), false, false, uint32(0)
	n := (s.qp.MSN() - msn) & (1<<24 - 1)
	answers := s.answering || s.qp.Responding()
	if pk.DSCP&packet.Stamped != 0 {
		stamps := h.net.StampsOf(pk)
		stamped, sample = stamps != nil, h.net.SampleOf(pk) != nil
		if stamped && (n > 0 || answers) {
			way = h.keep(stamps)
		}
		h.meet(now, s, requests, pk)
		told = h.echo(now, s, pk)
	}
	h.accept(now, q, way, n)
	if h.path != nil {
		h.pendPlaced(now, q, n)
	}
	h.net.FreeSides(pk)
	for k := range h.replies.N {
		ack := &h.replies.P[k]
		if ack.Kind != packet.Ack {
			continue
		}
		if told != 0 {
			h.net.GiveTelemetry(ack, told)
			s.qp.Echoes(now)
			told = 0
		}
		switch {
		case stamped:
			h.net.AddStamps(ack)
		case sample:
			h.net.AddSample(ack)
		}
		h.acknowledge(now, q, ack, false)
	}
	if told != 0 {
		h.net.GiveTelemetry(nil, told)
	}
	if h.completions() {
		h.settle(now, s)
		h.complete(now, q, nil)
	}
	if answers {
		h.answers(now, q, way)
	}
}

// deliverAnswer gives an ACK, NAK, READ response or CNP to the requester.
func (h *Host) deliverAnswer(now units.Time, q uint32, pk *packet.Packet) {
	s := &h.qps[q]
	s.accounted(now)
	h.settle(now, s)
	if pk.DSCP&packet.Stamped != 0 {
		h.meet(now, s, replies, pk)
	}
	read := int64(0)
	if pk.Kind == packet.Response {
		read = s.qp.ReadBytes()
	}
	if s.qp.Steered() {
		s.qp.Heard(h.net.TelemetryOf(pk))
	}
	s.qp.ReceiveWith(now, pk, h.net.SideOf(pk), &h.replies)
	took := pk.Kind == packet.Response && s.qp.ReadBytes() > read
	if took {
		h.delivered += s.qp.ReadBytes() - read
		s.account.response = now
		s.account.refusals.count = 0
	}
	if h.path != nil {
		h.storeResponse(now, q, pk, took)
		h.releaseCopies(now, q)
	}
	if h.completions() {
		h.complete(now, q, pk)
	}
	if took {
		h.responseArrived(now, s, pk)
	}
	h.net.FreeSides(pk)
	h.changed(now, s)
	h.arm(now, q)
	h.schedule(now, q)
	if s.qp.Steered() {
		h.probe(now, q)
	}
}

// reply sends the replies of the last packet, the first of them in its slot.
func (h *Host) reply(now units.Time, i int, slot uint32) {
	part := h.net.Part()
	if h.replies.N == 0 {
		part.Free(slot)
		return
	}
	*part.Rec(slot) = h.replies.P[0]
	h.answer(now, i, slot)
	if h.replies.N > 1 {
		second := part.Alloc()
		*part.Rec(second) = h.replies.P[1]
		h.answer(now, i, second)
	}
	h.net.Kick(now, h.ports[i].fabricPort)
}

// completions reports whether the last event produced any.
func (h *Host) completions() bool { return len(h.cq.Entries)+len(h.rcq.Entries) > 0 }

// complete books the completions that the last event of queue pair q produced;
// ack is the packet that did, nil for a timer.
func (h *Host) complete(now units.Time, q uint32, ack *packet.Packet) {
	for i := range h.rcq.Entries {
		switch {
		case h.rcq.Entries[i].Status != rdma.Success:
		case h.path != nil:
			h.pend(now, h.entry(now, q), doneReceived, h.number(q))
		default:
			h.work(now, &task{kind: taskReceive, qp: q, of: h.kindOf(h.number(q), false)})
		}
	}
	h.rcq.Clear()
	s, read := &h.qps[q], false
	for _, c := range h.cq.Entries {
		m := h.message(c.ID)
		m.Done, m.Status = now, c.Status
		if c.Status != rdma.Success || ack == nil {
			h.closed(now, s, c.ID, nil)
		} else {
			x := h.note(c.ID)
			x.By = x.relation(ack, read)
			read = read || x.Verb >= rdma.Read
			h.closed(now, s, c.ID, ack)
		}
		h.left--
		h.net.Part().NoteWork()
		if h.path != nil {
			h.writeEntry(now, q, c.ID, c.Status)
			h.packNote(c.ID)
			h.pairDone(q)
			continue
		}
		h.packNote(c.ID)
		h.pairDone(q)
		h.poll1(now, c.ID)
	}
	h.cq.Clear()
}

// poll1 has the application poll the completion of message id.
func (h *Host) poll1(now units.Time, id uint32) {
	h.work(now, &task{kind: taskPoll, qp: h.message(id).QP, of: h.kindPosted(id), id: id})
}

// queueControl appends an ACK, NAK or CNP to the queue of its class.
func (h *Host) queueControl(now units.Time, i int, slot uint32) {
	part := h.net.Part()
	pk := part.Rec(slot)
	pk.Next = 0
	p := &h.ports[i]
	f := &p.control[pk.Class]
	if f.head == 0 {
		f.head, f.since = slot, now
		p.ctlReady |= 1 << pk.Class
	} else {
		part.Rec(f.tail).Next = slot
	}
	f.tail = slot
}
