package nic

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
)

// A TCP connection has a slot among the queue pairs of its host and takes turns
// with them, a frame at a time. Its segments are made as soon as the window lets
// them go; a super-segment then waits in the card and is cut into frames as the
// wire takes them, and until it is gone no other is made. (Linux lets two of them
// into a card's ring: TCP small queues.)

// StreamSpec is what one end of a TCP connection is opened with, on its first use.
type StreamSpec struct {
	Config  *tcp.Config
	Segment packet.Packet // template: towards the peer
	ISS     uint32
	Active  bool // this end opens the connection
	NoDelay bool // TCP_NODELAY
	// Ahead, unless nil, has the connection open before the run.
	Ahead *tcp.Peer
	// Message is the length of each message that arrives here, in bytes; 0: none
	// does.
	Message int64
	// Closes has the connection closed: by the end that opened it, when all messages
	// that it Posts are written and all that Arrive there are read, and then by the
	// other.
	Closes         bool
	Posts, Arrives int
	// Carry has the connection carry the bytes of the stream. Inbox is where those
	// that arrive here go, in order: as many as all messages bring.
	Carry bool
	Inbox []byte
}

// StreamEnds are the slots of a connection at its two hosts: of the end that
// opened it, and of the other.
type StreamEnds struct{ Active, Passive uint32 }

// segments is what a connection, and a queue pair that is carried by one, notes of TCP for accounts and records.
type segments struct {
	conn     *tcp.Conn
	waits    []Stage  // that may turn out to be waits for what tells of a loss
	lastSum  Times    // of its account, at lastEnd
	peak     int64    // most payload outstanding
	losses   int64    // what tcp.Conn.Losses said
	lost     round    // when that last rose
	rtos     int64    // expiries of the retransmission timer, and
	cuts     int64    // cuts for a loss, when losses were last looked for
	followed [2]uint8 // frames sent first and without payload, modulo what is to one sample
	// progress is the connection's time until something new was last acknowledged,
	// selectively too, or sent while nothing was outstanding.
	progress Times
	out      int64        // what tcp.Conn.Outstanding said
	timeouts []units.Time // when the retransmission timer expired
	restless bool         // counted in Host.restless
}

// stream is one end of a TCP connection and its socket's application.
type stream struct {
	tcp tcp.Conn
	segments
	// seg is cut into frames, of which so many are made; the connection is asked
	// for the next when all are.
	seg         packet.Packet
	frames, cut int
	why         tcp.Reason // what the connection said when it had no segment
	until       units.Time // when pacing lets it have one
	inHeap      bool       // it waits for that in the port's heap

	side    packet.SideCopy // of seg, where the kernel costs time
	hasSide bool
	kernel  kernelEnd
	path    *streamPath // nil: the host has no server

	iss    uint32
	calls  []call // writes not finished, in order; those before first are
	first  int
	ends   []int64 // where the messages of account.queue end in the stream
	wrote  int64   // payload taken by the socket
	sent   int64   // payload sent a first time
	over   bool    // the peer sends no more
	closed bool    // the application has closed its end
	failed tcp.Events
	ended  units.Time // when it failed

	took     int64 // payload read by the application
	arrivals []Arrival
	reads    int // of arrivals: messages read whole, and where they belong
}

// call is a write that the socket has not taken whole, and the bytes left of it, if
// the connection carries them.
type call struct {
	left int64
	data []byte
}

// Arrival is what the end that reads knows of a message.
type Arrival struct {
	Came   units.Time // when the frame that completed it came in
	Landed units.Time // when that was in memory
	At     units.Time // when all of it had arrived, in order
	Read   units.Time // when the application had read it; Never: not yet
	Placed units.Time // when it was where it belongs, in a GPU after the copy
	Way    Way        // of the frame that completed it; empty: that carried no stamps
}

// stream returns the connection in slot q, opening it on first use.
func (h *Host) stream(now units.Time, q uint32) *qpSlot {
	s := &h.qps[q]
	if s.opened() {
		return s
	}
	spec := h.specs[q].Stream
	h.used(q).accounted(0)
	s.stream, s.exists = &stream{iss: spec.ISS}, true
	s.stream.kernel = kernelEnd{application: h.cpu.Application(int(q)), asleep: true}
	if h.path != nil {
		s.stream.path = new(streamPath)
	}
	s.stream.conn, s.stream.waits = &s.stream.tcp, waits[:]
	c := s.stream.conn
	c.Init(spec.Config, spec.Segment)
	c.SetNoDelay(spec.NoDelay)
	if spec.Carry {
		c.CarryData()
	}
	switch {
	case spec.Ahead != nil:
		c.Connect(0, spec.ISS, spec.Active, *spec.Ahead)
	case spec.Active:
		c.Open(now, spec.ISS)
	default:
		c.Listen()
	}
	h.streamChanged(now, s)
	return s
}

// write has the application write message id, which it does as fast as the
// socket takes it and after the messages before it.
func (h *Host) write(now units.Time, p *Post) {
	m := &h.messages[p.WR.ID]
	m.QP, m.Posted = p.QP, now
	s := h.stream(now, p.QP)
	h.settle(now, s)
	h.posted(now, s, p.WR.ID, p.WR.Verb)
	h.sequence(p.QP, p.WR.ID)
	st := s.stream
	end := int64(p.WR.Bytes)
	if n := len(st.ends); n > 0 {
		end += st.ends[n-1]
	} else {
		end += st.wrote
	}
	st.ends = append(st.ends, end)
	if out := h.specs[p.QP].Memory.Out; out != nil {
		out.Post(now, p.WR.Bytes)
	}
	st.calls = append(st.calls, call{int64(p.WR.Bytes), h.payload(p.WR.ID)})
	if st.failed != 0 {
		h.abandon(now, s)
		return
	}
	h.serve(now, p.QP)
}

// payload is the bytes of a message; nil where messages have none.
func (h *Host) payload(id uint32) []byte {
	if h.payloads == nil {
		return nil
	}
	return h.payloads[id]
}

// fill gives the socket what it has room for.
func (st *stream) fill(now units.Time) {
	for st.first < len(st.calls) {
		if st.put(now, st.calls[st.first].left); st.calls[st.first].left > 0 {
			return
		}
		st.first++
	}
	st.calls, st.first = st.calls[:0], 0
}

// put has the socket take up to n bytes of the write at hand.
func (st *stream) put(now units.Time, n int64) {
	c := &st.calls[st.first]
	if c.data == nil {
		n = st.conn.Write(now, n)
	} else {
		n = st.conn.WriteBytes(now, c.data[:n])
		c.data = c.data[n:]
	}
	st.wrote += n
	c.left -= n
}

// serve does what a connection's state asks for after an event: the application
// reads and writes, and what can be sent becomes frames.
func (h *Host) serve(now units.Time, q uint32) {
	s := &h.qps[q]
	st := s.stream
	if !h.cpu.kernel {
		h.read(now, q)
		st.fill(now)
	}
	e := st.conn.TakeEvents()
	st.over = st.over || e&tcp.PeerClosed != 0
	if !h.cpu.kernel && h.closing(s, q) {
		st.close()
	}
	if e&(tcp.ResetByPeer|tcp.TimedOut) != 0 {
		h.fail(now, q, e)
	} else if st.failed == 0 {
		h.acknowledged(now, s, q)
		h.releaseCopied(now, q)
	}
	st.kernel.full = st.kernel.full && e&(tcp.Writable|tcp.Connected) == 0
	h.refill(now, q)
	if h.cpu.kernel {
		h.call(now, q)
	}
	h.streamChanged(now, s)
	h.armStream(now, q)
	h.net.Kick(now, h.ports[s.port].fabricPort)
}

// closing reports whether the application is to close its end: behind its last
// message, or when it has read all of what its peer sent and found the end.
func (h *Host) closing(s *qpSlot, q uint32) bool {
	st, spec := s.stream, h.specs[q].Stream
	switch {
	case !spec.Closes || st.closed || st.failed != 0 || len(st.calls) > 0:
		return false
	case !spec.Active:
		return st.over && st.conn.Readable() == 0
	}
	return int(s.account.posted) == spec.Posts && st.reads == spec.Arrives
}

// close closes the application's end.
func (st *stream) close() {
	st.closed = true
	st.conn.Close()
}

// refill asks the connection for its next segment if the latest is gone, and has
// it wait its turn.
func (h *Host) refill(now units.Time, q uint32) {
	s := &h.qps[q]
	st := s.stream
	if h.cpu.kernel {
		h.load(now, q)
		h.output(now, q)
		return
	}
	if st.cut < st.frames {
		return
	}
	st.why, st.until = st.conn.Poll(now, &st.seg)
	switch {
	case st.why == tcp.Sent:
		st.frames, st.cut = tcp.Segments(&st.seg), 0
		h.ready(now, q, now)
	case st.why == tcp.Pacing && !st.inHeap:
		st.inHeap = true
		h.ports[s.port].pushPaced(paced{st.until, q})
	}
}

// paceOver ends a wait for pacing.
func (h *Host) paceOver(now units.Time, q uint32) {
	s := &h.qps[q]
	s.stream.inHeap = false
	h.settle(now, s)
	h.refill(now, q)
	h.streamChanged(now, s)
	h.armStream(now, q)
}

// frame cuts the next frame off the segment of connection q, whose turn it is.
func (h *Host) frame(now units.Time, p *port, q uint32) uint32 {
	s := &h.qps[q]
	st := s.stream
	part := h.net.Part()
	slot := part.Alloc()
	pk := part.Rec(slot)
	tcp.Cut(&st.seg, st.cut, pk)
	if side := st.segmentSide(h.cpu.kernel); side != nil && (st.cut == 0 || side.Data != nil) {
		h.addSide(pk, st, side)
	}
	st.cut++
	h.sentFrame(now, now+h.net.SerialisationTime(p.fabricPort, pk.Frame), s, pk)
	p.latest = q
	if st.cut < st.frames {
		h.ready(now, q, now)
	} else {
		h.refill(now, q)
	}
	h.streamChanged(now, s)
	h.armStream(now, q)
	return slot
}

// addSide has pk carry the side record of the segment that it is cut off, with its
// own part of the payload.
func (h *Host) addSide(pk *packet.Packet, st *stream, side *packet.Side) {
	if side.Data == nil {
		h.net.AddSide(pk, side)
		return
	}
	own := *side
	own.Data = tcp.CutData(&st.seg, side.Data, st.cut)
	h.net.AddSide(pk, &own)
}

// segmentSide is the side record of the segment being cut; nil if it has none.
func (st *stream) segmentSide(kernel bool) *packet.Side {
	switch {
	case !kernel:
		return st.conn.PolledSide()
	case st.hasSide:
		return &st.side.Side
	}
	return nil
}

// expireStream runs a connection's timers.
func (h *Host) expireStream(now units.Time, q uint32) {
	s := &h.qps[q]
	h.settle(now, s)
	s.stream.conn.Expire(now)
	h.noteLosses(now, s, &s.stream.segments, true)
	h.serve(now, q)
}

// armStream makes sure that a timer runs when the connection's deadline comes.
func (h *Host) armStream(now units.Time, q uint32) {
	s := &h.qps[q]
	if d := s.stream.conn.Deadline(); d < s.armed {
		s.armed = d
		h.timer(d, d-now, timerQP, q)
	}
}

// deliverSegment gives a segment that came in to its connection.
func (h *Host) deliverSegment(now units.Time, slot uint32) {
	pk := h.net.Part().Rec(slot)
	ends := h.ends[pk.Conn]
	q := ends.Passive
	if pk.Flags&packet.Reverse != 0 {
		q = ends.Active
	}
	switch {
	case h.path != nil:
		h.landSegment(now, q, slot)
	case h.cpu.kernel:
		h.arrive(now, q, slot, now)
	default:
		h.take(now, q, &host.Frame{Slot: slot, At: now, Landed: now})
		h.serve(now, q)
	}
}

// take gives connection q a segment that came in.
func (h *Host) take(now units.Time, q uint32, f *host.Frame) {
	part := h.net.Part()
	pk := part.Rec(f.Slot)
	s := h.stream(now, q)
	st := s.stream
	h.settle(now, s)
	probing, out := st.conn.Probing(), st.conn.Outstanding()
	st.conn.Receive(now, pk, h.net.SideOf(pk), h.specs[q].Stream.ISS)
	h.noteLosses(now, s, &st.segments, probing)
	if st.conn.Outstanding() < out {
		st.progress = s.account.sum
	}
	if pk.DSCP&packet.Stamped != 0 {
		list := requests
		if pk.Payload == 0 {
			list = replies
		}
		h.meet(now, s, list, pk)
	}
	h.arrived(now, q, h.net.StampsOf(pk), f)
	h.net.FreeSides(pk)
	part.Free(f.Slot)
}

// arrived notes the messages that are now whole, by a frame.
func (h *Host) arrived(now units.Time, q uint32, stamps *fabric.Stamps, f *host.Frame) {
	size := h.specs[q].Stream.Message
	if size == 0 {
		return
	}
	st := h.qps[q].stream
	way := Way(0)
	for in := st.conn.InOrder(); int64(len(st.arrivals)+1)*size <= in; {
		if stamps != nil && way == 0 {
			way = h.keep(stamps)
		}
		h.noteMet(&h.qps[q], requests, q, uint32(len(st.arrivals)), 1)
		st.arrivals = append(st.arrivals, Arrival{Came: f.At, Landed: f.Landed, At: now, Read: units.Never, Placed: units.Never, Way: way})
	}
}

// read has the application read what is there.
func (h *Host) read(now units.Time, q uint32) {
	s := &h.qps[q]
	st := s.stream
	n := st.conn.Readable()
	if n > 0 {
		h.readBytes(now, q, n)
	}
}

// readBytes has the application read n bytes.
func (h *Host) readBytes(now units.Time, q uint32, n int64) {
	h.cpu.Progressed()
	s := &h.qps[q]
	st := s.stream
	took := int64(0)
	if in := h.specs[q].Stream.Inbox; len(in) > 0 {
		took = st.conn.ReadBytes(now, in[st.took:st.took+n])
	} else {
		took = st.conn.Read(now, n)
	}
	st.took += took
	h.delivered += took
	size := h.specs[q].Stream.Message
	if h.specs[q].Memory.In != nil {
		h.copyIn(now, q, n)
		size = 0
	}
	for size > 0 && int64(st.reads+1)*size <= st.took {
		a := &st.arrivals[st.reads]
		a.Read, a.Placed = now, now
		h.messageEnded(st)
	}
	if s.watched {
		h.accepted(now, q)
	}
}

// acknowledged closes the accounts of messages that the peer has all of.
func (h *Host) acknowledged(now units.Time, s *qpSlot, q uint32) {
	st, a := s.stream, s.account
	out := st.conn.Unacked()
	st.peak = max(st.peak, out-st.conn.Unsent())
	for acked := st.wrote - out; a.head < len(a.queue) && st.ends[a.head] <= acked; {
		id := a.queue[a.head]
		h.noteOf(a, a.head).Done = now
		h.noteMet(s, replies, 0, id, 1)
		s.popMessage()
		h.packNote(id)
		if h.cpu.kernel {
			h.notify(now, q)
		}
		h.completed(now, id)
	}
}

// popMessage takes the oldest message off the queue, and its end off the list.
func (s *qpSlot) popMessage() {
	a, before := s.account, len(s.account.queue)
	head := a.head
	a.pop()
	if len(a.queue) != before { // it was moved down by head+1
		s.stream.ends = s.stream.ends[:copy(s.stream.ends, s.stream.ends[head+1:])]
	}
}

// fail ends the messages of a connection that its peer reset or did not answer.
func (h *Host) fail(now units.Time, q uint32, e tcp.Events) {
	s := &h.qps[q]
	st := s.stream
	st.failed, st.ended = e&(tcp.ResetByPeer|tcp.TimedOut), now
	if h.path != nil {
		h.forget(q)
	}
	h.failures = append(h.failures, q)
	h.abandon(now, s)
}

// abandon ends the accounts of the messages that a failed connection still had.
func (h *Host) abandon(now units.Time, s *qpSlot) {
	st, a := s.stream, s.account
	st.calls, st.first = st.calls[:0], 0
	for a.head < len(a.queue) {
		id := a.queue[a.head]
		m := h.noteOf(a, a.head)
		h.noteMet(s, replies, 0, id, 1)
		s.popMessage()
		h.completed(now, id)
		m.Done = now
		switch { // of one sent whole, the peer may have all
		case m.Start != units.Never:
		case !m.begun || m.After > now:
			m.After, m.Before = now, Times{}
		default:
			m.Before = a.sum.minus(&m.base)
		}
		h.packNote(id)
	}
	h.net.Part().NoteWork()
}

// Restless counts the TCP connections here that have something unacknowledged, or
// owe an acknowledgement, and the responders that have responses to send: also to
// READs whose requester has given up, and between two of which, when they are
// paced, nothing is on its way.
func (h *Host) Restless() int { return h.restless }

// noteRest keeps the count of restless connections. One in TIME-WAIT only waits.
func (h *Host) noteRest(st *segments) {
	restless := (st.conn.Unacked() > 0 || st.conn.Deadline() != units.Never) && st.conn.State() != tcp.TimeWait
	if restless == st.restless {
		return
	}
	st.restless = restless
	if restless {
		h.restless++
	} else {
		h.restless--
	}
}

// Timeouts lists when the retransmission timer of slot q expired, of what is carried by TCP.
func (h *Host) Timeouts(q uint32) []units.Time {
	if !h.qps[q].opened() {
		return nil
	}
	return h.end(q).timeouts(q)
}

// Failures lists the slots of the TCP connections that failed at this end.
func (h *Host) Failures() []uint32 { return h.failures }

// Stream is what a run wants to know of one end of a TCP connection.
type Stream struct {
	Conn     uint32 // its number
	Arrivals []Arrival
	Reads    int        // of Arrivals: read whole, and where they belong
	Copying  int        // of Arrivals after them: read whole, and being copied into a GPU
	Posted   int        // messages written, or being written, here
	Took     int64      // bytes that the application read here
	Failed   tcp.Events // ResetByPeer, TimedOut or 0
	Ended    units.Time // when it failed
}

// StreamOf returns what is known of the connection in slot q; the zero Stream
// while it has not been used.
func (h *Host) StreamOf(q uint32) (out Stream) {
	if st := h.qps[q].stream; st != nil {
		out = Stream{h.specs[q].Stream.Segment.Conn, st.arrivals, st.reads, max(st.landed()-st.reads, 0), int(h.qps[q].account.posted), st.took, st.failed, st.ended}
	}
	return out
}

// streamQP describes one end of a TCP connection as a queue pair's record.
func (h *Host) streamQP(q int) record.QP {
	s, sp := &h.qps[q], &h.specs[q]
	st := s.stream
	r := h.segmentsQP(s, sp, &st.segments, sp.Stream.Config, q, catalog.TCP)
	r.State, r.DeliveredBytes = st.conn.State().String(), st.took
	if h.cpu.kernel {
		r.TCP.Cores = &record.StreamCores{Application: st.kernel.application, Softirq: h.receiveQueue(uint32(q))}
	}
	return r
}

// segmentsQP describes one end of what is carried by TCP, of a service, as a queue pair's record, as far as TCP knows.
func (h *Host) segmentsQP(s *qpSlot, sp *QPSpec, st *segments, cfg *tcp.Config, q int, service catalog.Service) record.QP {
	c, acts, info, sum := st.conn.Counters(), st.conn.Acts(), st.conn.Info(), &s.account.sum
	r := record.QP{
		Host: h.Name, QP: q, Layer: h.net.Layer(h.ports[s.port].fabricPort), Service: service,
		Peer: record.QPAt(service, sp.PeerHost, int(sp.PeerQP)), Workload: sp.Entry,
		SentPackets: c.SentSegments, SentBytes: c.SentBytes,
		Retransmitted: c.Retransmitted, RetransmittedBytes: c.RetransBytes,
		RateCuts: acts.CutLoss.Count + acts.CutECE.Count + acts.CutRTO.Count, Timeouts: acts.RTO.Count,
		MeasuredBytes: s.measured[1] - s.measured[0],
	}
	line := h.net.Rate(h.ports[s.port].fabricPort)
	r.FinalRateBps = windowRate(info.Cwnd, info.SRTT, line)
	r.Limits = record.QPLimits{Class: int(s.class), MTUBytes: int64(info.MSS), LineBps: line, ECT: cfg.ECN != tcp.ECNOff,
		CC: true, Receives: -1, WindowPS: sum[Window], RatePS: sum[Rate], PeakOutstanding: st.peak}
	r.TCP = &record.TCP{CC: cfg.CC.Algorithm.String(), Pacing: cfg.Pacing, CwndBytes: info.Cwnd,
		SsthreshBytes: ssthresh(info.Ssthresh), SRTT: info.SRTT, MinRTT: info.MinRTT,
		InitialCwnd: int64(cfg.CC.InitialWindow) * int64(info.MSS), RTO: info.RTO,
		SendBuffer: info.SendBuffer, ReceiveBuffer: info.ReceiveBuffer,
		PureAcks: c.PureAcks, OutOfOrder: c.OutOfOrder, Duplicates: c.Duplicates, TLPs: c.TLPs,
		ZeroWindows: c.ZeroWindows, Persists: c.Persists, UpdatesLost: c.UpdatesLost,
		HandshakePS: sum[Handshake], ReceiveWindowPS: sum[ReceiveWindow], SendBufferPS: sum[SendBuffer],
		NaglePS: sum[Nagle], DetectionPS: sum[Detection], TimeoutPS: sum[Timeout],
		Unscaled: info.State != tcp.Closed && info.State != tcp.Listen && !st.conn.Scaled()}
	if cfg.ECN == tcp.ECNDCTCP {
		r.TCP.Alpha = float64(st.conn.Alpha()) / (1 << 20)
	}
	return r
}

// ssthresh is 0 while a slow-start threshold was never set.
func ssthresh(n int64) int64 {
	if n >= tcp.MaxWindow {
		return 0
	}
	return n
}

// windowRate is what a window of n bytes comes to per round trip, at most the
// line's rate; the line's before the first sample.
func windowRate(n int64, rtt units.Time, line units.Rate) units.Rate {
	if rtt <= 0 || n >= 1<<40 {
		return line
	}
	bps := float64(n) * 8e12 / float64(rtt)
	if bps >= float64(line) {
		return line
	}
	return units.Rate(bps)
}

// segmentsLedger is the ledger of one end of what is carried by TCP, of a service.
func (h *Host) segmentsLedger(q int, conn *tcp.Conn, service catalog.Service) (out []record.Entry) {
	a := conn.Acts()
	for _, e := range []struct {
		q catalog.Question
		m catalog.Mechanism
		a record.Act
	}{
		{catalog.Detected, catalog.SequenceGap, a.SequenceGap},
		{catalog.Detected, catalog.LossDupAck, a.LossDupAck},
		{catalog.Detected, catalog.LossRACK, a.LossRACK},
		{catalog.Detected, catalog.RTO, a.RTO},
		{catalog.FedBack, catalog.ECESent, a.ECESent},
		{catalog.FedBack, catalog.SACKSent, a.SACKSent},
		{catalog.FedBack, catalog.DupAckSent, a.DupAckSent},
		{catalog.Slowed, catalog.CutLoss, a.CutLoss},
		{catalog.Slowed, catalog.CutECE, a.CutECE},
		{catalog.Slowed, catalog.CutRTO, a.CutRTO},
		{catalog.Recovered, catalog.RetransFast, a.RetransFast},
		{catalog.Recovered, catalog.RetransRTO, a.RetransRTO},
		{catalog.Recovered, catalog.RetransTLP, a.RetransTLP},
	} {
		if e.a.Count > 0 {
			out = append(out, record.Entry{Question: e.q, Mechanism: e.m, Actor: record.QPAt(service, h.Name, q), Act: e.a})
		}
	}
	return out
}
