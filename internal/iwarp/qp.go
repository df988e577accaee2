package iwarp

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// QP is a queue pair whose transport is TCP: a stream of FPDUs each way. The zero QP is idle; Connect opens it.
//
// Places in the streams count payload of TCP from its first byte, from 0. An FPDU is given to TCP when the one before
// it has been sent, so that a segment begins with an FPDU and holds no other (RFC 5044 4.5); the card keeps what it
// has sent until it is acknowledged, and a segment that is sent again holds the same FPDU again.
//
// The owner calls Poll until it no longer says Sent after every Receive, Expire and Post, and Expire at Deadline.
type QP struct {
	cfg     *Config
	setup   *rdma.Setup
	cq      *rdma.CompletionQueue
	state   State
	active  bool
	p2p     bool // both ends want the empty READ of the start-up, rtr: it is outstanding
	rtr     bool
	refused bool // this side's reply says no
	hasSide bool
	bounded bool // see Reach
	conn    tcp.Conn
	iss     uint32
	number  uint32 // of the connection
	outcome Outcome
	startAt units.Time // until when MPA's frame is waited for; Never
	tx, rx  framing

	// Send queue: work requests from head, the oldest that is not complete, to tail. Those before cur are planned.
	ring            []wqe
	head, cur, tail uint32
	off             uint32 // payload of cur that is planned
	oldest          uint32 // READ that the next response answers, if reads > 0
	got             uint32 // of that READ's payload
	reads           int    // outstanding
	ord             int    // most that may be
	sendMSN         uint32
	readMSN         uint32
	answers         answers
	own             bool // the latest message was planned from the send queue
	begun           bool // a message is planned in part: of the send queue if own
	known           uint32

	planned, released int64  // payload of SENDs and WRITEs
	peakReads         int    // most READs outstanding
	late              []bool // see Late

	units  unitRing
	wrote  int64 // bytes given to TCP
	allow  int64 // FPDUs that may be given to TCP, in all
	built  int64 // that were
	mulpdu uint32
	start  []byte // bytes of this side's frame of the start-up
	term   []byte // payload of the Terminate message
	out    []byte // bytes of the latest FPDU polled
	side   packet.Side
	polled Polled
	header [wire.DDPUntaggedLen]byte
	ask    [wire.ReadRequestLen]byte

	receiver
	counters Counters
}

// framing is that of a direction, and where its first FPDU begins.
type framing struct {
	wire.Framing
	base int64
}

// wqe is a work request on the send queue.
type wqe struct {
	va, lva    uint64
	id, bytes  uint32
	rkey, lkey uint32
	msn        uint32
	verb       rdma.Verb
	fence      bool
	fault      bool // its own buffer is not what it should be
	done       bool
	doneAt     units.Time
}

// finish notes that a work request is done, at the given time.
func (w *wqe) finish(now units.Time) { w.done, w.doneAt = true, now }

func (w *wqe) at(off uint32) uint64 { return w.va + uint64(off) }

// Connect opens the queue pair, with what s and own say of verbs and memory.
func (q *QP) Connect(s *rdma.Setup, own *rdma.Own, spec *Spec, now units.Time) {
	*q = QP{cfg: spec.Config, setup: s, cq: own.CQ, active: spec.Active, iss: spec.ISS, number: own.Conn,
		startAt: units.Never, allow: 1<<63 - 1, sendMSN: 1, readMSN: 1}
	q.ord = int(s.Attrs.MaxRdAtomic)
	q.answers.most = int(s.Attrs.MaxDestRdAtomic)
	q.receiver.init(rdma.NewReception(s, own.Conn, own.ReceiveCQ))
	q.conn.Init(&q.cfg.TCP, spec.Segment)
	q.conn.SetNoDelay(true)
	switch a := spec.Ahead; {
	case a != nil:
		q.conn.Connect(0, spec.ISS, spec.Active, a.Peer)
		q.tx.Framing, q.rx.Framing = a.Config.Framing(q.cfg), q.cfg.Framing(a.Config)
		q.operate(now)
	case spec.Active:
		q.to(Connecting)
		q.conn.Open(now, spec.ISS)
	default:
		q.to(Connecting)
		q.conn.Listen()
	}
}

// to changes the state; every change goes through here.
func (q *QP) to(s State) {
	if !legal(q.state, s) {
		panic("iwarp: BUG: from " + q.state.String() + " to " + s.String())
	}
	q.state = s
}

// operate begins full operation: segments have their size.
func (q *QP) operate(now units.Time) {
	q.to(Operating)
	q.mulpdu = uint32(q.tx.MULPDU(q.conn.Info().MSS))
	q.startAt = units.Never
	q.failLocal(now)
}

// Post adds a work request to the send queue at now. Where the stream is over it completes at once as flushed.
func (q *QP) Post(now units.Time, r rdma.WorkRequest) error {
	switch {
	case r.Bytes < 0 || r.Bytes > rdma.MaxMessage:
		return fmt.Errorf("iwarp: message of %d bytes, want 0 to %d", r.Bytes, rdma.MaxMessage)
	case r.Verb == rdma.WriteImm || r.Verb == rdma.SendImm:
		return fmt.Errorf("iwarp: %s: there is no immediate data before RFC 7306", r.Verb)
	case r.Verb > rdma.Read:
		return fmt.Errorf("iwarp: %s: there are no atomics before RFC 7306", r.Verb)
	case r.Verb == rdma.Read && q.setup.Attrs.MaxRdAtomic == 0:
		return fmt.Errorf("iwarp: READ with max_rd_atomic 0, want 1 to 128")
	case r.Inline && (r.Verb == rdma.Read || r.Bytes > q.setup.Attrs.MaxInline):
		return fmt.Errorf("iwarp: %s of %d bytes inline, want a SEND or WRITE of at most %d", r.Verb, r.Bytes,
			q.setup.Attrs.MaxInline)
	case q.state >= Terminating:
		q.complete(now, r.ID, rdma.WRFlush)
		return nil
	}
	if q.tail-q.head == uint32(len(q.ring)) {
		q.grow()
	}
	w := q.at(q.tail)
	*w = wqe{va: r.VA, lva: r.LVA, id: r.ID, bytes: uint32(r.Bytes), rkey: r.RKey, lkey: r.LKey, verb: r.Verb,
		fence: r.Fence}
	if r.Verb == rdma.SendInv {
		w.rkey = r.Imm
	}
	need := rdma.Access(0)
	if r.Verb == rdma.Read {
		need = rdma.LocalWrite
	}
	a := &q.setup.Attrs
	w.fault = r.LKey != 0 && !r.Inline && r.Bytes > 0 &&
		a.Memory.Local(a.PD, r.LKey, r.LVA, uint64(r.Bytes), need) == nil
	q.tail++
	q.failLocal(now)
	return nil
}

func (q *QP) at(i uint32) *wqe { return &q.ring[i&uint32(len(q.ring)-1)] }

// grow doubles the ring of the send queue.
func (q *QP) grow() {
	old := q.ring
	q.ring = make([]wqe, max(1, 2*len(old)))
	for i := q.head; i != q.tail; i++ {
		*q.at(i) = old[i&uint32(len(old)-1)]
	}
}

func (q *QP) complete(now units.Time, id uint32, s rdma.Status) {
	q.late = append(q.late, false)
	q.cq.Entries = append(q.cq.Entries, rdma.Completion{ID: id, Conn: q.number, Status: s, Time: now})
}

// completeDone completes work requests in the order in which they were posted.
func (q *QP) completeDone(now units.Time) {
	for q.head != q.tail && q.at(q.head).done {
		q.complete(now, q.at(q.head).id, rdma.Success)
		q.late[len(q.late)-1] = q.at(q.head).doneAt < now
		q.head++
	}
	q.failLocal(now)
}

// failLocal ends the stream if the oldest work request's own buffer is not what it should be: nothing of it is sent,
// and those before it are complete.
func (q *QP) failLocal(now units.Time) {
	if q.state != Operating || q.head == q.tail || !q.at(q.head).fault {
		return
	}
	q.complete(now, q.at(q.head).id, rdma.LocProt)
	q.head++
	q.conn.Abort()
	q.end(now, LocalError)
}

// flush completes every open work request in error, of both queues, and forgets what was to be sent and is not given
// to TCP.
func (q *QP) flush(now units.Time) {
	for ; q.head != q.tail; q.head++ {
		q.complete(now, q.at(q.head).id, rdma.WRFlush)
	}
	q.cur, q.off, q.reads, q.begun, q.rtr = q.head, 0, 0, false, false
	q.answers.clear()
	q.units.forget()
	q.reception.Flush(now)
}

// end ends the stream for a reason: the queue pair is in error.
func (q *QP) end(now units.Time, why End) {
	if q.state == Ended {
		return
	}
	q.to(Ended)
	q.over(now, why)
}

// over notes why the stream ended, the first time, and flushes both queues.
func (q *QP) over(now units.Time, why End) {
	if q.outcome.End == NotEnded {
		q.outcome.End, q.outcome.At = why, now
	}
	q.startAt = units.Never
	q.buf, q.part, q.ahead = q.buf[:0], partial{}, q.ahead[:0]
	q.flush(now)
}

// terminate ends the stream because of what the peer sent, and tells it so.
func (q *QP) terminate(now units.Time, t wire.Terminate) {
	q.to(Terminating)
	q.outcome.Term = t
	q.over(now, SentTerm)
	q.term = t.Append(q.term[:0])
	q.units.plan(unit{kind: unitTerm, last: true, payload: uint32(len(q.term)),
		ddp: wire.DDP{Last: true, Opcode: wire.RDMAPTerminate, QN: wire.QNTerminate, MSN: 1}})
	q.allow = 1<<63 - 1
}

// Close ends the stream in order: FIN goes behind what was given to TCP, and what is open is flushed.
func (q *QP) Close(now units.Time) {
	if q.state == Idle || q.state >= Terminating {
		return
	}
	q.conn.Close()
	q.end(now, ClosedByOwner)
}

// Deadline is the earliest time at which Expire has something to do.
func (q *QP) Deadline() units.Time { return min(q.conn.Deadline(), q.startAt) }

// Expire runs the timers due at or before now.
func (q *QP) Expire(now units.Time) {
	if q.startAt <= now {
		q.conn.Abort()
		q.end(now, StartTimeout)
	}
	if q.conn.Deadline() <= now {
		q.conn.Expire(now)
		q.heed(now, q.conn.TakeEvents())
	}
}

// heed does what events of the connection, other than that it is established, ask for.
func (q *QP) heed(now units.Time, e tcp.Events) {
	switch {
	case e&tcp.ResetByPeer != 0:
		q.lost(now, Reset)
	case e&tcp.TimedOut != 0:
		q.lost(now, TimedOut)
	case e&tcp.PeerClosed != 0:
		q.conn.Close()
		q.lost(now, PeerClosed)
	}
}

// lost ends the stream whose connection is over.
func (q *QP) lost(now units.Time, why End) {
	if q.state != Idle {
		q.end(now, why)
	}
}

// State returns where the stream stands, and Outcome how it ended.
func (q *QP) State() State { return q.state }

// Outcome says how the stream ended; the zero Outcome while it has not.
func (q *QP) Outcome() Outcome { return q.outcome }

// Conn is the connection, to look at.
func (q *QP) Conn() *tcp.Conn { return &q.conn }

// Open is the number of work requests not completed.
func (q *QP) Open() int { return int(q.tail - q.head) }

// Late reports whether the k-th completion since TakeLate was last called was only waited for by order: what it tells
// of had been done before.
func (q *QP) Late(k int) bool { return k < len(q.late) && q.late[k] }

// TakeLate forgets the completions so far.
func (q *QP) TakeLate() { q.late = q.late[:0] }

// PeakReads is the most READs that were outstanding.
func (q *QP) PeakReads() int { return q.peakReads }

// Markers reports whether the peer's stream has them.
func (q *QP) Markers() bool { return q.rx.Markers }

// Checked reports whether FPDUs have a CRC that is checked.
func (q *QP) Checked() bool { return q.tx.CRC }

// Counters returns the counters so far.
func (q *QP) Counters() Counters { return q.counters }

// PostReceive adds n receive work requests.
func (q *QP) PostReceive(n int64) { q.reception.Post(n) }

// Reception is what the responder keeps of receives; nil: there are always enough.
func (q *QP) Reception() *rdma.Reception { return q.reception }
