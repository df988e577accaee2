package rdma

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// QP is a queue pair of one of the services: a requester, which
// sends this side's work requests, and a responder, which answers the peer's.
// The zero QP is in Reset; Connect takes it to RTS.
//
// PSNs are kept as 64-bit sequence numbers whose low 24 bits stand on the wire.
// A sequence number s is acknowledged when s < una, was sent when s < high, is
// sent next when s == nxt, and exists when s < posted.
//
// Its fields stand by who needs them: both halves the first cache line, the responder the
// second, the requester those behind.
type QP struct {
	cfg      *Config
	state    State
	reqState reqState
	rspState rspState
	hasCC    bool
	// selective: what is lost is sent again alone; again: the latest packet was.
	selective, again bool
	cause            Trigger // of the latest rewind
	hasExtra         bool    // some work request has an extra
	hasSide          bool    // the latest packet polled has a side record
	// reading: a READ, an atomic or a fence was posted; see cold.reads.
	reading bool
	// answering: responses, or acknowledgements behind them, wait to be sent; see
	// cold.answers.
	answering  bool
	polledLast bool // the latest packet is the last of its message
	service    Service
	hasIB      bool // InfiniBand's reaction point is in extras.ib
	adapts     bool // the timer adapts, or there is a slow restart: extras.adaptive
	inMessage  bool // responder: between the first and the last packet of a message
	msgWrite   bool
	becnDue    bool  // a packet came marked since the latest acknowledgement
	retries    uint8 // requester: since the last progress
	rnrRetries uint8
	rewinds    uint32
	setup      *Setup // what it shares with others
	completion *CompletionQueue
	// Of all its packets.
	hash, dst, conn, peer uint32

	// Responder.
	epsn      uint32 // expected PSN
	msn       uint32 // messages completed, 24 bits
	remaining uint32 // bytes of the current WRITE still to come
	msgBytes  uint32 // bytes accepted of the current message
	msgFirst  uint32 // its first PSN
	lastSeen  uint32 // go-back-0: PSN of the latest packet ahead of the expected one
	nakPSN    uint32 // NAKInterval: the latest NAK and when it may be repeated
	held      uint32 // packets in the receive bitmap
	nakAt     units.Time
	delivered int64
	np        congestion.NP // where it shares none
	longest   units.Time    // requester: longest wait for progress with a timer running

	// Requester.
	una, nxt, high uint64
	end            uint64 // what may be sent now: posted, or less in SQD
	nextAvail      units.Time
	rtoAt          units.Time // Never while nothing is outstanding
	rto            units.Time // how long the timer runs that ends then
	unaBytes       uint64     // payload before una and before nxt, for the window
	nxtBytes       uint64
	ring           []wqe // a power of two; head..tail are the work requests not completed
	head, cur      uint32
	tail           uint32 // cur holds nxt
	sinceAck       uint32 // packets sent since one asked for an acknowledgement
	polled         uint32 // work request of the latest packet
	gapBytes       uint32 // the latest pacing gap and what it was computed from
	gapRate        units.Rate
	gap            units.Time
	rnrUntil       units.Time // Never outside reqRNR
	sentPackets    int64
	sentBytes      int64
	peakOut        int64  // most payload outstanding, with a window only
	need           uint32 // packets to be sent again alone; nxt is then the next new one
	maxOut         uint32 // packets that may be outstanding
	peakPackets    uint32 // most packets outstanding, with selective repeat only
	steered        bool   // by a congestion.RateController in extras.steer
	line           units.Rate
	window         int64 // bytes; 0: none
	winNow         int64 // the window at winRate
	winRate        units.Rate
	cc             congestion.DCQCN
	cold           cold
}

// cold is what the packet path rarely touches.
type cold struct {
	rp        congestion.NP // CNP filter before the reaction point
	posted    uint64
	round     uint32 // the rewind that the latest packet sent again belongs to
	score     *scoreboard
	reorder   *reorder
	extras    *extras // nil until a work request needs it
	reads     *reads
	answers   *answers
	msgVA     uint64 // where the current WRITE goes, where data is carried
	msgRKey   uint32
	discarded uint32     // Counters.Discarded
	longAt    units.Time // end of the longest wait for progress
	bytes     uint64     // payload posted
	reception *Reception // nil: always enough receives, and no one looks
	noted     *noted     // nil: there is nothing
}

// noted is what a queue pair does where the network is congested or loses something:
// many never do.
type noted struct {
	acts     Acts
	counters Counters
}

// noted returns the notes, to add to them.
func (q *QP) noted() *noted {
	if q.cold.noted == nil {
		q.cold.noted = new(noted)
	}
	return q.cold.noted
}

// Trigger is what caused a rewind.
type Trigger uint8

// Triggers.
const (
	ByNAK      Trigger = iota // a sequence error NAK
	ByTimer                   // the retransmission timer
	ByRNR                     // an RNR NAK
	ByResponse                // a response was missing
)

// wqe is one message on the send queue: a range of sequence numbers.
type wqe struct {
	first   uint64
	base    uint64 // payload posted before it
	va      uint64
	packets uint32
	bytes   uint32
	id      uint32
	rkey    uint32
	imm     uint32
	verb    Verb
	fence   bool
	fault   bool // its own buffer is not what it should be
}

// Setup is what Connect needs; it must not change while a queue pair that was
// connected with it is in use. The templates are packets towards the peer with Class,
// DSCP, TTL and Flags set, Data with Dst, Conn, Hash and DestQP too; the rest is filled in.
type Setup struct {
	Config         *Config
	Service        Service
	CQ             *CompletionQueue
	Data, Ack, CNP packet.Packet
	Line           units.Rate // of the port
	Initial        units.Rate // where congestion control starts; 0: Line
	Attrs          Attrs
	// QKey and QPN are a UD queue pair's Q_Key, which what it receives must carry,
	// and its number, 24 bits, which what it sends carries.
	QKey, QPN uint32
	// ReceiveCQ, when not nil, gets a completion for each message that takes a
	// receive work request. SRQ, when not nil, is the receive queue, shared.
	ReceiveCQ *CompletionQueue
	SRQ       *ReceiveQueue
	// Reaction is the reaction point that the queue pair shares with others; nil:
	// with Config.IBCC one of its own.
	Reaction *congestion.IBCC
	// Notification is the notification point that the queue pair shares with others;
	// nil: it has its own.
	Notification *congestion.NP
}

// Own is what is a queue pair's own in a Setup that it shares with others: Dst, Conn,
// Hash and DestQP of its packets, and QPN, CQ and ReceiveCQ.
type Own struct {
	Dst, Conn, Hash, DestQP, QPN uint32
	CQ, ReceiveCQ                *CompletionQueue
}

// Connect sets up the queue pair and takes it from Reset through Init and RTR
// to RTS.
func (q *QP) Connect(s *Setup, now units.Time) {
	d := &s.Data
	q.ConnectAs(s, &Own{Dst: d.Dst, Conn: d.Conn, Hash: d.Hash, DestQP: d.DestQP, QPN: s.QPN, CQ: s.CQ, ReceiveCQ: s.ReceiveCQ}, now)
}

// ConnectAs is Connect with a Setup for many queue pairs, in which own takes the place
// of what it has.
func (q *QP) ConnectAs(s *Setup, own *Own, now units.Time) {
	reliable := s.Service == RC
	*q = QP{cfg: s.Config, service: s.Service, line: s.Line, completion: own.CQ, hasCC: reliable && s.Config.CC != nil,
		selective: reliable && s.Config.Selective(), maxOut: maxOutstanding, rto: s.Config.Timeout, rtoAt: units.Never, rnrUntil: units.Never,
		setup: s, hash: own.Hash, dst: own.Dst, conn: own.Conn, peer: own.DestQP}
	if !reliable {
		q.cold.extras = &extras{qkey: s.QKey, qpn: own.QPN}
	}
	if q.selective {
		q.maxOut = uint32(s.Config.Bitmap)
	}
	q.cold.reception = NewReception(s, own.Conn, own.ReceiveCQ)
	start := uint64(s.Attrs.SQPSN & psnMask)
	q.una, q.nxt, q.high, q.end, q.cold.posted = start, start, start, start, start
	q.epsn = s.Attrs.RQPSN & psnMask
	q.nakPSN = psnMask + 1 // no PSN: the first gap is always reported
	if reliable && s.Config.Window != WindowNone {
		q.window = int64(s.Attrs.Window)
		if q.window == 0 {
			q.window = int64(s.Config.WindowBytes)
		}
		q.winNow, q.winRate = q.window, s.Line
	}
	q.startAdapting()
	if q.hasCC {
		q.cc.Init(s.Config.CC, s.Line, s.Initial, now)
	}
	if reliable && s.Config.Control != nil {
		q.startSteering(s, now)
	}
	if s.Config.IBCC != nil {
		x := s.Reaction
		if x == nil {
			x = congestion.NewIBCC(s.Config.IBCC, s.Line)
		}
		q.rare().ib, q.hasIB, q.rare().reports = x, true, x.Claim()
	}
	for _, to := range [...]State{Init, RTR, RTS} {
		q.mustModify(to, now)
	}
}

// address makes p a packet to the peer by a template.
func (q *QP) address(p, template *packet.Packet, kind packet.Kind) {
	*p = *template
	p.Kind, p.Hash, p.Dst, p.Conn, p.DestQP = kind, q.hash, q.dst, q.conn, q.peer
}

// fillData makes p a request or READ response without payload.
func (q *QP) fillData(p *packet.Packet) {
	q.address(p, &q.setup.Data, packet.Data)
	p.ECN = q.ecn()
}

// ecn is the code point of requests and READ responses.
func (q *QP) ecn() uint8 {
	if q.cfg.ECT {
		return packet.ECT0
	}
	return q.setup.Data.ECN
}

// fillAck makes p an acknowledgement.
func (q *QP) fillAck(p *packet.Packet) {
	w := &q.cfg.Wire
	q.address(p, &q.setup.Ack, packet.Ack)
	p.Opcode, p.Frame = OpAck, uint32(max(w.Ack, w.MinFrame))
}

// fillCNP makes p a congestion notification.
func (q *QP) fillCNP(p *packet.Packet) {
	w := &q.cfg.Wire
	q.address(p, &q.setup.CNP, packet.CNP)
	p.Opcode, p.Frame = OpCNP, uint32(max(w.CNP, w.MinFrame))
	if q.cfg.IBCC != nil {
		p.Opcode = OpIBCNP
	}
}

// legal reports whether a queue pair may go from one state to another (IBTA
// 10.3.1): any state to Reset or Err, else along the table.
func legal(from, to State) bool {
	switch to {
	case Reset, Err:
		return true
	case Init:
		return from == Reset || from == Init
	case RTR:
		return from == Init
	case RTS:
		return from == RTR || from == RTS || from == SQD || from == SQE
	case SQD:
		return from == RTS || from == SQD
	}
	return false // SQE is entered by hardware on unreliable services only
}

// Modify changes the state; every change but that to SQE goes through here. Going to Err
// flushes both queues, going to Reset forgets them.
func (q *QP) Modify(to State, now units.Time) error {
	if !legal(q.state, to) {
		return fmt.Errorf("qp: cannot go from %s to %s; the order is RESET, INIT, RTR, RTS, then SQD and back", q.state, to)
	}
	if q.setup == nil {
		return fmt.Errorf("qp: not connected; call Connect first")
	}
	from := q.state
	q.state = to
	switch {
	case to == Err:
		q.flush(now)
		q.cold.reception.Flush(now)
	case to == Reset:
		q.head, q.cur, q.tail = 0, 0, 0
		q.reading, q.answering, q.cold.reads, q.cold.answers = false, false, nil, nil
		q.rtoAt, q.rnrUntil = units.Never, units.Never
		q.reqState, q.rspState, q.inMessage = reqSend, rspReady, false
		q.need, q.held, q.cold.score, q.cold.reorder = 0, 0, nil, nil
		q.una, q.nxt, q.high, q.end = q.cold.posted, q.cold.posted, q.cold.posted, q.cold.posted
		q.unaBytes, q.nxtBytes = q.cold.bytes, q.cold.bytes
		q.cold.reception.forget()
		q.startAdapting()
	case to == SQD && from == RTS:
		q.end = q.startedEnd()
	case to == RTS:
		q.end = q.cold.posted
	}
	return nil
}

func (q *QP) mustModify(to State, now units.Time) {
	if err := q.Modify(to, now); err != nil {
		panic("rdma: BUG: " + err.Error())
	}
}

// startedEnd is the end of the last message of which a packet was sent.
func (q *QP) startedEnd() uint64 {
	end := q.una
	for i := q.head; i != q.tail; i++ {
		w := q.at(i)
		if w.first >= q.high {
			break
		}
		end = w.first + uint64(w.packets)
	}
	return end
}

// flush completes every open work request in error.
func (q *QP) flush(now units.Time) {
	for ; q.head != q.tail; q.head++ {
		q.complete(q.at(q.head).id, WRFlush, now)
	}
	q.cur = q.head
	q.rtoAt, q.rnrUntil = units.Never, units.Never
	q.answering = false
}

// fail completes the oldest work request with status and the rest as flushed.
func (q *QP) fail(status Status, now units.Time) {
	if q.head != q.tail {
		q.complete(q.at(q.head).id, status, now)
		q.head++
	}
	q.mustModify(Err, now)
}

func (q *QP) complete(id uint32, s Status, now units.Time) {
	q.completion.Entries = append(q.completion.Entries, Completion{ID: id, Conn: q.conn, Status: s, Time: now})
}

func (q *QP) at(i uint32) *wqe { return &q.ring[i&uint32(len(q.ring)-1)] }

// Receive handles a packet without side record; see ReceiveWith.
func (q *QP) Receive(now units.Time, p *packet.Packet, out *Replies) { q.ReceiveWith(now, p, nil, out) }

// ReceiveWith handles a packet for this queue pair and fills out with what is
// to be sent back. side is the packet's side record, nil without one; it is
// read during the call only.
func (q *QP) ReceiveWith(now units.Time, p *packet.Packet, side *packet.Side, out *Replies) {
	out.N, out.CNPAfter = 0, 0
	if q.service != RC {
		q.receiveUnreliable(now, p, side, out)
		return
	}
	switch p.Kind {
	case packet.Data:
		q.receiveRequest(now, p, side, out)
	case packet.Response:
		q.receiveResponse(now, p, side, out)
	case packet.Ack:
		q.receiveAck(now, p, side)
	case packet.CNP:
		q.receiveCNP(now)
	case packet.Probe:
		q.receiveProbe(now, p, out)
	default:
		q.discard()
	}
}

func (q *QP) discard() {
	q.cold.discarded++
}

// Deadline is the earliest time at which Expire has something to do.
func (q *QP) Deadline() units.Time {
	if q.steered {
		return min(q.rtoAt, q.rnrUntil, q.cold.extras.steer.askAt)
	}
	return min(q.rtoAt, q.rnrUntil)
}

// Expire runs the timers due at or before now.
func (q *QP) Expire(now units.Time) {
	if q.service != RC {
		q.departed(now)
		return
	}
	if q.rnrUntil <= now {
		q.endRNR()
	}
	if q.steered && q.cold.extras.steer.askAt <= now {
		q.decide(now)
	}
	if q.rtoAt <= now {
		q.timeout(now)
	}
}

// State returns the state of the queue pair.
func (q *QP) State() State { return q.state }

// Open is the number of work requests not completed.
func (q *QP) Open() int { return int(q.tail - q.head) }

// Outstanding is the number of packets sent and not acknowledged, as the
// requester sees it since its latest rewind.
func (q *QP) Outstanding() int { return int(q.nxt - q.una) }

// Delivered is the payload accepted in order as responder, in bytes.
func (q *QP) Delivered() int64 { return q.delivered }

// Rate is the sending rate at now.
func (q *QP) Rate(now units.Time) units.Rate {
	if q.hasCC {
		return q.cc.Rate(q.cfg.CC, now)
	}
	if q.hasIB {
		return q.cold.extras.ib.Rate(now)
	}
	if q.steered {
		return q.cold.extras.steer.allowed(q.line)
	}
	return q.line
}

// CC is DCQCN's reaction point, nil without it.
func (q *QP) CC() *congestion.DCQCN {
	if q.hasCC {
		return &q.cc
	}
	return nil
}

// Acts is the ledger so far; the cuts are in CC().Cuts.
func (q *QP) Acts() (a Acts) {
	if q.cold.noted != nil {
		a = q.cold.noted.acts
	}
	return a
}

// Timeouts counts how often the retransmission timer has expired.
func (q *QP) Timeouts() int64 {
	if q.cold.noted == nil {
		return 0
	}
	return q.cold.noted.counters.Timeouts
}

// Counters returns the counters so far.
func (q *QP) Counters() (c Counters) {
	if q.cold.noted != nil {
		c = q.cold.noted.counters
	}
	c.SentPackets, c.SentBytes, c.DeliveredBytes, c.ReadBytes = q.sentPackets, q.sentBytes, q.delivered, q.ReadBytes()
	c.Discarded = int64(q.cold.discarded)
	a := q.Acts()
	c.Retransmitted = a.RetransNAK.Count + a.RetransTimer.Count + a.RetransRNR.Count + a.RetransRead.Count + q.ReadActs().RetransMissing.Count
	c.RetransmittedBytes = a.RetransNAK.Sum + a.RetransTimer.Sum + a.RetransRNR.Sum + a.RetransRead.Sum + q.ReadActs().RetransMissing.Sum
	return c
}
