package nic

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Stage is what a queue pair spends its time on (design, section 8): the first
// that applies, sending before all.
type Stage uint8

// Stages of a requester's time. Ready is divided into the last four by what the
// port did meanwhile.
const (
	Idle      Stage = iota
	Copying         // payload is being copied from a GPU to the host's memory
	WorkFetch       // the card has not got the work request: doorbell and fetch
	Reading         // payload is being read from memory
	RNRWait
	AwaitAck
	Window
	SlowRestart // a small window after a timeout, or after idle
	Bitmap      // as many packets are outstanding as the receive bitmap holds
	Lost        // a loss has to be noticed, or mended, before it can go on
	Fenced      // the next request waits for the READs and atomics before it
	Reads       // as many READs and atomics are outstanding as may be
	Rate
	Fetching // the card fetches what its caches did not hold
	Paused   // PFC held the class
	Hung     // the card hung
	Control  // the port sent ACKs, CNPs or PFC frames
	Other    // the port served other queue pairs
	Sending
	Resending // below the highest PSN sent before
	NumStages
)

// Times is an amount of time per stage.
type Times [NumStages]units.Time

// account is the time of one requester, settled whenever its state changes.
type account struct {
	at         units.Time // settled up to here
	sendEnd    units.Time // of its packet on the wire
	rateUntil  units.Time
	rnrUntil   units.Time
	fetchUntil units.Time // of fetchStage
	rounds     []round    // selective repeat: rewinds whose packets were not all sent again yet; the last is number rewinds
	rewinds    uint32
	blocked    Stage      // Idle, AwaitAck, Window, SlowRestart, Bitmap, Lost, Fenced, Reads, RNRWait; Rate stands for none of them
	since      units.Time // blocked since then, and no account began or ended in between
	fetchStage Stage      // Fetching, WorkFetch, Reading, Copying
	resending  bool
	sampled    bool // ready since at, with the port's clocks as of at below
	paused     units.Time
	control    units.Time
	sum        Times

	queue    []uint32 // messages posted, in order; those before head have completed
	head     int
	unsent   int        // first of queue whose last packet was never sent
	lastEnd  units.Time // of the first transmission of a message's last packet
	log      []Rewind   // of all rewinds, but see refusals
	refusals refusals
	resends  []Resend
	posted   uint32
	response units.Time       // as requester of READs: when the latest response was taken
	trace    *record.SliceLog // of what sum adds up; nil: none
	*serving
}

// round is a rewind of a queue pair with selective repeat.
type round struct {
	at    units.Time
	sum   Times      // of the queue pair up to then
	taken units.Time // when the latest READ response was taken
}

// Resend is a packet sent again alone while a last packet sent before was not
// acknowledged: the one that completes a message at the responder may be any of
// them.
type Resend struct {
	Rewound units.Time // when a NAK or the timer asked for it
	Before  Times      // the queue pair's time from then to Start
	Start   units.Time
	Taken   units.Time // when the latest READ response before Rewound was taken
}

// MessageAccount is a message at its requester: where its time went until its last
// packet left, and what the ACK that completed it says.
type MessageAccount struct {
	Posted  units.Time
	Ordinal uint32     // among the messages of its queue pair
	After   units.Time // end of earlier work
	base    Times
	begun   bool
	Failed  []Attempt
	Before  Times      // the queue pair's time from After, or the last rewind, to Start (if it was not sent: to Done)
	Start   units.Time // of the last packet's latest transmission (selective repeat: first); Never if it was not sent
	AckMade units.Time
	Ack     Way // of the ACK or response that completed it; empty: that answered another packet
	By      Completer
	// Response: a READ response completed it, not an ACK.
	Response bool
	Verb     rdma.Verb
	Landed   units.Time // of a READ or atomic: as in Acceptance, of what it brought
	Placed   units.Time
	Rest     *Times    // of one that ended in error after its last packet was sent: the time since Start
	Read     *ReadNote // nil: one request asked for it, and what came first completed it
	Done     units.Time
}

// ReadNote is more of a READ that was asked for in parts, or repaired.
type ReadNote struct {
	Asked  units.Time // start of the first request, if that asked for a part only; else Never
	Before Times      // the queue pair's time from After to Asked
	// Tail is the last response to its last request and Latest the last one to any
	// request sent again, or Tail: if they did not complete it (selective repeat).
	Tail, Latest ResponseArrival
}

// ResponseArrival is a packet that arrived: At 0 if it did not.
type ResponseArrival struct {
	At  units.Time
	Way Way
}

// Completer is how the packet that completed a message relates to it.
type Completer uint8

// Relations.
const (
	Answered Completer = iota // its ACK, or the last response to it
	Implied                   // a later request's answer, which acknowledges all before it
	Behind                    // an earlier READ's answer: its own had come before, and completions keep their order
)

// settle books the time since the last change of the queue pair's state.
func (h *Host) settle(now units.Time, s *qpSlot) {
	a := s.account
	if a == nil || now <= a.at {
		return
	}
	t := a.at
	a.at = now
	if a.sendEnd > t {
		end, stage := min(now, a.sendEnd), Sending
		if a.resending {
			stage = Resending
		}
		a.spend(stage, t, end)
		if t = end; t == now {
			return
		}
	}
	switch a.blocked {
	case Idle, AwaitAck, Window, SlowRestart, Bitmap, Lost, Fenced, Reads, Fetching: // the last is HostKernel here
		a.spend(a.blocked, t, now)
		return
	case RNRWait:
		if a.rnrUntil > t {
			end := min(now, a.rnrUntil)
			a.spend(RNRWait, t, end)
			t = end
		}
	}
	if a.rateUntil > t {
		end := min(now, a.rateUntil)
		a.spend(Rate, t, end)
		t = end
	}
	if a.fetchUntil > t {
		end := min(now, a.fetchUntil)
		a.spend(a.fetchStage, t, end)
		t = end
	}
	if t < now {
		h.settleReady(t, now, s)
	}
}

// spend books the time from one instant to another for a stage.
func (a *account) spend(stage Stage, from, to units.Time) {
	a.sum[stage] += to - from
	if a.trace != nil {
		a.trace.Add(from, to, uint8(stage))
	}
}

// settleReady divides the time from t to now, in which the queue pair was ready
// to send, by what its port did: paused first, then control frames, then other
// traffic. From the first look of the scheduler on, the port's clocks tell; up
// to it at most one pause and one transmission can lie in between, for the port
// looks whenever either ends.
func (h *Host) settleReady(t, now units.Time, s *qpSlot) {
	a := s.account
	port := h.ports[s.port].fabricPort
	var paused, control units.Time
	if a.sampled {
		p, c := h.net.PausedClock(now, port, s.class), h.net.ControlClock(now, port, s.class)
		paused, control = p-a.paused, c-a.control
		a.paused, a.control = p, c
	} else {
		from, to := h.net.LastPause(port, s.class)
		paused = overlap(t, now, from, to)
		if start, end, ctl := h.net.Transmission(port); ctl {
			control = overlap(t, now, start, end)
		}
	}
	paused = min(paused, now-t)
	control = max(0, min(control, now-t-paused))
	hung := units.Time(0)
	if h.faults != nil {
		hung = min(h.hungWithin(t, now), now-t-paused-control)
	}
	a.spend(Paused, t, t+paused) // in this order, as the clocks do not say when
	a.spend(Control, t+paused, t+paused+control)
	a.spend(Hung, t+paused+control, t+paused+control+hung)
	a.spend(Other, t+paused+control+hung, now)
}

// overlap is the length of what [a, b) and [c, d) have in common.
func overlap(a, b, c, d units.Time) units.Time { return max(0, min(b, d)-max(a, c)) }

// look settles a queue pair when its port looks for something to send; from
// now on the port's clocks divide its ready time.
func (h *Host) look(now units.Time, s *qpSlot) {
	h.settle(now, s)
	a := s.account
	a.sampled = a.blocked == Rate && a.rateUntil <= now && a.fetchUntil <= now && a.sendEnd <= now
	if a.sampled {
		port := h.ports[s.port].fabricPort
		a.paused, a.control = h.net.PausedClock(now, port, s.class), h.net.ControlClock(now, port, s.class)
	}
}

// changed notes the queue pair's state after an event; the time before it must
// have been settled.
func (h *Host) changed(now units.Time, s *qpSlot) {
	a := s.accounted(now)
	before := a.blocked
	a.standing(s.qp.Standing())
	h.noteResponding(s)
	if a.blocked != before {
		a.since = now
	}
	if n := s.qp.Rewinds(); n != a.rewinds {
		h.wentBack(now, s, n)
	}
	if len(a.rounds) > 0 && s.qp.Missing() == 0 {
		a.rounds = a.rounds[:0]
	}
	h.look(now, s)
}

// standing notes what keeps the queue pair from sending.
func (a *account) standing(why rdma.Reason, until units.Time) {
	switch why {
	case rdma.AwaitAck:
		a.blocked = AwaitAck
	case rdma.RNRWait:
		a.blocked, a.rnrUntil = RNRWait, until
	case rdma.Window:
		a.blocked = Window
	case rdma.SlowRestarting:
		a.blocked = SlowRestart
	case rdma.Bitmap:
		a.blocked = Bitmap
	case rdma.Repair:
		a.blocked = Lost
	case rdma.Fence:
		a.blocked = Fenced
	case rdma.ReadLimit:
		a.blocked = Reads
	case rdma.RateLimit:
		a.blocked, a.rateUntil = Rate, until
	default:
		a.blocked = Idle
	}
}

// wentBack notes the rewinds up to number n.
func (h *Host) wentBack(now units.Time, s *qpSlot, n uint32) {
	a := s.account
	a.since = now
	by := s.qp.RewoundBy()
	a.log = append(a.log, Rewind{now, by, a.sum[RNRWait]})
	h.noteMoment(s, Moment{At: now, By: by})
	if !s.qp.Selective() {
		h.rewound(now, a)
		a.rewinds = n
	}
	if by == rdma.ByRNR {
		h.refused(now, a)
	} else {
		a.refusals.count = 0
	}
	for a.rewinds != n {
		a.rewinds++
		a.rounds = append(a.rounds, round{now, a.sum, a.response})
	}
}

// timedOut notes that the retransmission timer, set at armed, has ended: while the
// queue pair stood still since then it waited for what was lost, whatever it would
// have had to wait for without the loss.
func (a *account) timedOut(now, armed units.Time) {
	switch a.blocked {
	case AwaitAck, Window, SlowRestart, Bitmap, Fenced, Reads:
		d := max(0, now-max(a.since, armed, a.sendEnd))
		a.sum[a.blocked] -= d
		a.sum[Lost] += d
		a.trace.Rebook(uint8(a.blocked), uint8(Lost), d)
	}
}

// posted opens the account of message id.
func (h *Host) posted(now units.Time, s *qpSlot, id uint32, verb rdma.Verb) {
	a := s.accounted(now)
	h.cpu.Progressed()
	h.message(id).Verb = verb
	a.posted++
	a.queue = append(a.queue, id)
	if k := len(a.queue) - 1; a.unsent == k {
		h.noteOf(a, k).begin(now, a)
	}
}

// begin lets the message's own time begin: at its post or at the end of the
// message before it, whichever is later.
func (m *MessageAccount) begin(now units.Time, a *account) {
	m.begun = true
	if a.lastEnd > m.Posted {
		m.After, m.base = a.lastEnd, a.sumAt(a.lastEnd)
		return
	}
	m.After, m.base = now, a.sum
	a.since = now
}

// sumAt is what sum will be at end, up to when a packet is on the wire.
func (a *account) sumAt(end units.Time) Times {
	sum := a.sum
	if a.resending {
		sum[Resending] += end - a.at
	} else {
		sum[Sending] += end - a.at
	}
	return sum
}

// sent notes a packet that starts now and ends at end.
func (h *Host) sent(now, end units.Time, s *qpSlot, pk *packet.Packet, last bool) {
	a := s.account
	a.sendEnd, a.resending = end, pk.Flags&packet.Retrans != 0
	if a.resending {
		h.noteMoment(s, Moment{At: now, Sent: true, PSN: pk.PSN, Payload: pk.Payload})
	}
	if n, again := s.qp.PolledAgain(); again {
		h.sentAgain(now, s, pk, n)
		return
	}
	if !last {
		if pk.Opcode == rdma.OpReadRequest {
			h.askedPart(now, s, pk)
		} else if sampled(pk.PSN) && !s.summed {
			h.sample(now, s, pk)
		}
		return
	}
	id := s.qp.Polled()
	m := h.note(id)
	m.Start = now
	m.Before = a.sum.minus(&m.base)
	if id&programIDs != 0 {
		h.programs.posts[id&^programIDs].left(m)
	}
	if a.unsent < len(a.queue) && a.queue[a.unsent] == id {
		a.unsent++
		a.refusals.count = 0
		a.lastEnd = end
		if a.unsent < len(a.queue) {
			h.noteOf(a, a.unsent).begin(now, a)
		}
	}
	h.stamp(now, s, pk)
}

// askedPart notes a request for a part of a READ that starts now.
func (h *Host) askedPart(now units.Time, s *qpSlot, pk *packet.Packet) {
	m := h.note(s.qp.Polled())
	if m.Read != nil {
		return
	}
	m.Read = &ReadNote{Asked: now, Before: s.account.sum.minus(&m.base)}
	h.stamp(now, s, pk)
}

// responseArrived notes a READ response that ends an answer and completed no message.
func (h *Host) responseArrived(now units.Time, s *qpSlot, pk *packet.Packet) {
	stamps := h.net.StampsOf(pk)
	if stamps == nil || !s.qp.Selective() {
		return
	}
	id, last := s.qp.TookResponse()
	if h.accounts[id]&1 == 0 {
		return // it is over
	}
	m, again := h.note(id), pk.Flags&packet.Retrans != 0
	if m.Done != units.Never || !last && !again {
		return
	}
	if m.Read == nil {
		m.Read = &ReadNote{Asked: units.Never}
	}
	m.Read.Latest = ResponseArrival{now, h.keep(stamps)}
	if !again {
		m.Read.Tail = m.Read.Latest
	}
}

// stamp has a packet carry where its time goes.
func (h *Host) stamp(now units.Time, s *qpSlot, pk *packet.Packet) {
	if s.summed {
		return
	}
	h.net.AddStamps(pk)
	h.net.StampIn(now, h.ports[s.port].fabricPort, pk)
}

// sentAgain notes a packet that starts now, sent again alone because of rewind n.
func (h *Host) sentAgain(now units.Time, s *qpSlot, pk *packet.Packet, n uint32) {
	a := s.account
	if a.unsent > a.head {
		r := &a.rounds[len(a.rounds)-1-int(a.rewinds-n)]
		a.resends = append(a.resends, Resend{Rewound: r.at, Before: a.sum.minus(&r.sum), Start: now, Taken: r.taken})
		h.stamp(now, s, pk)
	}
}

// rewound makes the latest transmission of every open last packet void.
func (h *Host) rewound(now units.Time, a *account) {
	for _, id := range a.queue[a.head:a.unsent] {
		m := h.note(id)
		if m.Start == units.Never {
			continue
		}
		m.Failed = append(m.Failed, Attempt{Before: m.Before, Start: m.Start, Rewound: now, Taken: a.response})
		m.base, m.Start = a.sum, units.Never
	}
}

// closed ends the account of message id; ack is the packet that completed it,
// nil for an error.
func (h *Host) closed(now units.Time, s *qpSlot, id uint32, ack *packet.Packet) {
	a := s.account
	m := h.noteOf(a, a.head)
	m.Done = now
	a.pop()
	h.noteMet(s, replies, 0, id, 1)
	if ack == nil {
		all := a.sum.minus(&m.base)
		if (h.message(id).Status != rdma.Success || h.placing) && m.begun && m.Start != units.Never {
			m.Rest = h.newTimes()
			*m.Rest = all.minus(&m.Before)
		} else {
			m.Before = all
		}
		if !m.begun || m.After > now { // it ended behind earlier work
			m.After, m.Before = now, Times{}
		}
		return
	}
	if m.Start == units.Never { // a rewind went back behind its last packet, which was not sent again since
		m.Before = a.sum.minus(&m.base)
	}
	if m.Response = ack.Kind == packet.Response; !m.Response {
		m.AckMade = units.Time(ack.VA)
	}
	if stamps := h.net.StampsOf(ack); stamps != nil {
		m.Ack = h.keep(stamps)
	}
}

// newTimes makes room for an amount of time per stage.
func (h *Host) newTimes() *Times {
	if len(h.times) == 0 {
		h.times = make([]Times, 64)
	}
	t := &h.times[0]
	h.times = h.times[1:]
	return t
}

// pop takes the oldest message off the queue, which has completed.
func (a *account) pop() {
	a.head++
	a.refusals.count = 0
	a.unsent = max(a.unsent, a.head)
	if a.head == len(a.queue) {
		a.queue, a.head, a.unsent = a.queue[:0], 0, 0
	} else if a.head >= 64 && a.head >= len(a.queue)/2 {
		n := copy(a.queue, a.queue[a.head:])
		a.queue, a.unsent, a.head = a.queue[:n], a.unsent-a.head, 0
	}
}

// relation says how ack, which completes message m, relates to it; read says
// that it has completed a READ or atomic before, in the same instant.
func (m *MessageAccount) relation(ack *packet.Packet, read bool) Completer {
	answer := ack.Kind == packet.Response || ack.Opcode == rdma.OpAtomicAck
	switch {
	case read, m.Verb >= rdma.Read && !answer:
		return Behind
	case m.Verb < rdma.Read && answer:
		return Implied
	}
	return Answered
}

// Total is the sum over all stages.
func (t *Times) Total() (sum units.Time) {
	for _, d := range t {
		sum += d
	}
	return sum
}

func (t *Times) minus(u *Times) (d Times) {
	for i := range t {
		d[i] = t[i] - u[i]
	}
	return d
}
