package tcp

import (
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// Conn is one end of a connection: the transmission control block of RFC 9293
// and its socket. The zero Conn is closed; Init makes it ready for Open or Listen.
//
// Sequence numbers are kept as 64 bits whose low 32 stand on the wire. s was
// acknowledged when s < una, was sent when s < nxt, and was written when s < end;
// a FIN takes the number end. Nothing ever goes back: what is lost is marked in
// the scoreboard and sent again alone.
//
// The owner calls Poll until it no longer says Sent after every Receive, Expire,
// Write, Read, Close and Abort, and Expire at Deadline.
type Conn struct {
	cfg    *Config
	state  State
	ca     caState
	events Events
	nagle  Nagle

	// What the handshake agreed on.
	passive             bool // opened by Listen
	synDue              bool // a SYN or SYN-ACK is to be sent
	sackOK, tsOK, ecnOK bool
	scaled              bool // both sides offered window scaling
	sndScale, rcvScale  uint8
	mss, peerMSS        int64 // payload of a full segment, options taken off; what the peer's SYN said
	synAt               units.Time

	// The socket.
	finQueued, finSent bool
	blocked, starved   bool   // a Write found too little room, a Read too little data
	override           bool   // a window too small is used all the same
	hasSide            bool   // side is that of the latest segment
	end                uint64 // what was written
	read               uint64 // what the application has read
	sndBuf, rcvBuf     int64
	space              rcvSpace
	data               *carried // nil: only numbers of bytes move

	// Sending (RFC 9293 3.3.1: SND.UNA, SND.NXT, SND.WND, ISS).
	una, nxt, iss uint64
	wnd, maxWnd   int64  // the peer's window, and the largest it ever was
	wl1           uint64 // segment of the latest window update (RFC 9293 3.10.7.4)
	small         uint64 // end of the latest segment below the MSS
	segs          scoreboard
	rtt           estimator
	lastSent      units.Time // of data
	paceAt        units.Time // when pacing admits the next segment

	// Congestion control and loss recovery.
	cc           congestion.Window
	recover      uint64 // what was sent when the window was cut
	usage        uint64 // end of the flight of which maxOut is the most in flight
	maxOut       int64
	limited      bool    // the congestion window limited the latest flight
	cwrQueued    bool    // CWR goes out with the next new data (RFC 3168 6.1.2)
	atOnce       bool    // the next retransmission waits for no window (RFC 5681 3.2, step 3)
	probe        bool    // a tail loss probe is due
	tlpRetrans   bool    // the outstanding probe was a retransmission
	seenAt       uint8   // of seen
	dupAcks      int64   // in a row
	dupBytes     int64   // without SACK: what duplicate ACKs say has left the network
	seen         [4]span // SACK blocks taken before, so that they are not walked again
	prrDelivered int64   // RFC 6937
	prrOut       int64
	recoverFS    int64
	rack         rack
	undo         undo
	tlpEnd       uint64 // SND.NXT when it went out; 0: none is outstanding

	// Timers: one for retransmission and what excludes it, one for ACKs.
	timer    timerKind
	backoff  uint8
	tries    int32 // expiries without an answer
	timerAt  units.Time
	rtoBase  units.Time // what the retransmission timer counts from
	delackAt units.Time

	// Receiving (RCV.NXT, IRS).
	rcvNxt, irs uint64
	rcvAdv      uint64     // right edge of the advertised window
	toldAt      units.Time // when that edge last moved
	acked       uint64     // RCV.NXT in the latest ACK sent
	unacked     int64      // bytes in order since then
	rcvFin      uint64     // number of the peer's FIN; 0: not seen
	rcvMSS      int64      // largest segment seen
	ofo         reassembly
	quick       int        // ACKs that still do not wait
	dataAt      units.Time // when data in order last came
	prior       priorAck
	ackNow      bool
	pushed      bool   // AckOnRead: PSH came since the latest ACK
	pingpong    bool   // and this end answers with data
	oweECE      bool   // classic ECN: ECE until CWR
	ceState     bool   // DCTCP: the latest segment had CE
	tsRecent    uint32 // RFC 7323 4.3

	tmpl packet.Packet
	rst  rstReply
	side packet.Side

	acts     Acts
	counters Counters
}

// priorAck is an acknowledgement that DCTCP owes for what arrived before the
// marking changed.
type priorAck struct {
	pending, ece bool
	ack          uint64
}

// rstReply is a reset that answers a segment.
type rstReply struct {
	pending  bool
	flags    uint8
	seq, ack uint32
}

// Init makes c a closed endpoint. The template is a segment towards the peer with
// Dst, Conn, Hash, Class, DSCP, TTL and Flags set; the rest is filled in.
func (c *Conn) Init(cfg *Config, tmpl packet.Packet) {
	ring, spans := c.segs.ring, c.ofo.spans
	*c = Conn{cfg: cfg, tmpl: tmpl, timerAt: units.Never, delackAt: units.Never, nagle: cfg.Nagle}
	c.segs.ring, c.ofo.spans = ring, spans[:0]
	c.tmpl.Kind = packet.Segment
	c.sndBuf, c.rcvBuf = cfg.Send.Initial, cfg.Receive.Initial
}

// legal reports whether a connection may go from one state to another (RFC 9293
// 3.3.2, figure 5, and the reactions to RST and ABORT).
func legal(from, to State) bool {
	switch to {
	case Closed:
		return from != Closed
	case Listen:
		return from == Closed || from == SynReceived
	case SynSent:
		return from == Closed || from == Listen
	case SynReceived:
		return from == Listen || from == SynSent
	case Established:
		return from == SynSent || from == SynReceived
	case FinWait1, CloseWait:
		return from == Established
	case FinWait2, Closing:
		return from == FinWait1
	case LastAck:
		return from == CloseWait
	case TimeWait:
		return from == FinWait1 || from == FinWait2 || from == Closing
	}
	return false
}

// to changes the state; every change goes through here.
func (c *Conn) to(s State) {
	if !legal(c.state, s) {
		panic("tcp: BUG: from " + c.state.String() + " to " + s.String())
	}
	c.state = s
	if s == Closed {
		c.setTimer(timerNone, units.Never)
		c.delackAt = units.Never
		c.ackNow, c.synDue, c.prior.pending = false, false, false
	}
}

// Open begins an active open with initial sequence number iss (RFC 9293 3.10.1).
// It does nothing unless c is closed or listens.
func (c *Conn) Open(now units.Time, iss uint32) {
	if c.state != Closed && c.state != Listen {
		return
	}
	c.to(SynSent)
	c.passive = false
	c.begin(now, iss)
	c.synDue = true
}

// Listen waits for a peer's SYN. It does nothing unless c is closed.
func (c *Conn) Listen() {
	if c.state == Closed {
		c.to(Listen)
		c.passive = true
	}
}

// begin sets up the sending side.
func (c *Conn) begin(now units.Time, iss uint32) {
	// 2^32 more, so that numbers before the first one do not wrap.
	c.iss = 1<<32 + uint64(iss)
	c.una, c.nxt, c.end = c.iss, c.iss+1, c.iss+1
	c.small = c.iss
	c.rtt.init(c.cfg)
	c.rack.init()
	c.backoff = 0
	c.rtoBase = now
	c.setTimer(timerRTO, now+c.cfg.InitialRTO)
}

// established is what the end of the handshake sets up.
func (c *Conn) established(now units.Time) {
	c.to(Established)
	c.events |= Connected
	c.backoff, c.timer, c.timerAt = 0, timerNone, units.Never
	c.cc.Init(&c.cfg.CC, c.mss)
	c.recover, c.usage = c.una-1, c.una
	c.quick = c.cfg.QuickAcks
	c.initBuffers(now)
	if c.finQueued {
		c.to(FinWait1)
	}
}

// Write puts up to n bytes into the send buffer and returns how many; after less
// than n, Writable comes when there is room again. Before the handshake is
// complete it takes none.
func (c *Conn) Write(now units.Time, n int64) int64 {
	if c.state != Established && c.state != CloseWait || c.finQueued || n < 0 {
		return 0
	}
	took := min(n, c.sndBuf-c.queued())
	if took < 0 {
		took = 0
	}
	c.end += uint64(took)
	c.blocked = took < n
	return took
}

// Offer returns how many of n bytes Write would take; after less than n, Writable
// comes as after Write.
func (c *Conn) Offer(n int64) int64 {
	if c.state != Established && c.state != CloseWait || c.finQueued {
		return 0
	}
	room := max(min(n, c.sndBuf-c.queued()), 0)
	c.blocked = room < n
	return room
}

// queued is the payload written and not acknowledged.
func (c *Conn) queued() int64 { return max(int64(c.end-c.una), 0) }

// Read takes up to n bytes that have arrived in order and returns how many; after
// less than n, Readable comes when there is more.
func (c *Conn) Read(now units.Time, n int64) int64 {
	took := max(min(n, c.readable()), 0)
	c.read += uint64(took)
	c.starved = took < n
	if took > 0 {
		c.adjustSpace(now)
		if c.state.synchronised() && (c.windowUpdate() || c.ackOnRead()) {
			c.ackNow = true
		}
	}
	return took
}

// ackOnRead reports whether a read was the last that a pushed segment waits for.
func (c *Conn) ackOnRead() bool {
	return c.cfg.AckOnRead && c.pushed && !c.pingpong && c.readable() == 0 && c.rcvNxt > c.acked
}

// readable is the payload in order that was not read.
func (c *Conn) readable() int64 {
	n := int64(c.rcvNxt - c.read)
	if c.rcvFin != 0 && c.rcvNxt > c.rcvFin {
		n--
	}
	return n
}

// Close sends FIN behind what was written (RFC 9293 3.10.4). What arrives can
// still be read.
func (c *Conn) Close() {
	switch c.state {
	case Listen, SynSent:
		c.to(Closed)
		c.events |= Finished
	case SynReceived:
		c.finQueued = true
	case Established:
		c.finQueued = true
		c.to(FinWait1)
	case CloseWait:
		c.finQueued = true
		c.to(LastAck)
	}
}

// Abort ends the connection with a RST (RFC 9293 3.10.5).
func (c *Conn) Abort() {
	if c.state == Closed {
		return
	}
	if c.state.synchronised() && c.state != TimeWait || c.state == SynReceived {
		c.rst = rstReply{pending: true, flags: RST, seq: uint32(c.nxt)}
	}
	c.to(Closed)
	c.dropAll()
}

// fail ends the connection without a word to the peer.
func (c *Conn) fail(why Events) {
	c.to(Closed)
	c.events |= why
	c.dropAll()
}

// dropAll forgets what was to be sent.
func (c *Conn) dropAll() {
	c.segs.clear()
	c.end, c.nxt = c.una, c.una
	c.finQueued = false
}

// SetNoDelay switches Nagle's rule off, or to the configured one (TCP_NODELAY).
func (c *Conn) SetNoDelay(on bool) {
	c.nagle = c.cfg.Nagle
	if on {
		c.nagle = NagleOff
	}
}

// TakeEvents returns the events since the last call.
func (c *Conn) TakeEvents() Events {
	e := c.events
	c.events = 0
	return e
}

// State returns the state of the connection.
func (c *Conn) State() State { return c.state }

// Acts is the ledger so far.
func (c *Conn) Acts() *Acts { return &c.acts }

// Counters returns the counters so far.
func (c *Conn) Counters() Counters { return c.counters }

// Unsent is the payload written and not yet sent, in bytes.
func (c *Conn) Unsent() int64 { return max(int64(c.end-c.nxt), 0) }

// Unacked is the payload written and not yet acknowledged, in bytes.
func (c *Conn) Unacked() int64 { return c.queued() }

// Readable is how many bytes Read would return.
func (c *Conn) Readable() int64 { return c.readable() }

// Info returns a look at the connection. Before the handshake its MSS is what this side
// would send.
func (c *Conn) Info() Info {
	mss := c.mss
	if mss == 0 {
		mss = int64(c.cfg.MSS)
		if c.cfg.Timestamps {
			mss -= timestampsLen
		}
	}
	return Info{State: c.state, Cwnd: c.cc.Bytes(), Ssthresh: c.cc.Ssthresh(), InFlight: c.pipe(), SendWindow: c.wnd,
		ReceiveWindow: int64(c.rcvAdv - c.rcvNxt), SendBuffer: c.sndBuf, SendQueued: c.queued(), ReceiveBuffer: c.rcvBuf,
		ReceiveQueued: c.readable(), SRTT: c.rtt.srtt, RTTVar: c.rtt.rttvar, MinRTT: c.rtt.least(), RTO: c.backedOff(), MSS: int(mss),
		Recovering: c.ca != caOpen}
}

// Alpha is DCTCP's estimate in units of 2^-20.
func (c *Conn) Alpha() int64 { return c.cc.Alpha() }

// unwrap returns the 64-bit number nearest to base whose low 32 bits are s.
func unwrap(s uint32, base uint64) uint64 { return base + uint64(int64(int32(s-uint32(base)))) }

// headerMSS is the value of the MSS option that this side sends.
func (c *Conn) headerMSS() uint16 { return uint16(min(c.cfg.MSS, 65535)) }

// setMSS takes the smaller of the two sides' segment sizes.
func (c *Conn) setMSS(peer uint16) {
	c.peerMSS = int64(peer)
	if peer == 0 {
		c.peerMSS = defaultMSS
	}
	c.mss = min(int64(c.cfg.MSS), max(c.peerMSS, MinMSS))
	if c.tsOK {
		c.mss -= timestampsLen
	}
	c.rcvMSS = min(c.mss, defaultMSS)
}

// timestampsLen is what the timestamps option takes of each segment, with padding.
const timestampsLen = 12

// tsNow is the timestamp clock.
func (c *Conn) tsNow(now units.Time) uint32 { return uint32(now/c.cfg.TimestampTick) + 1 }

// scaleFor is the shift with which a window of size n fits into 16 bits.
func scaleFor(n int64) (shift uint8) {
	for n>>shift > 65535 && shift < maxScale {
		shift++
	}
	return shift
}

// takeOptions notes what the peer's SYN offers, as far as this side does.
func (c *Conn) takeOptions(o *wire.TCPOptions) {
	c.sackOK = o.SACKPermitted && c.cfg.Recovery != NewReno
	c.tsOK = o.HasTimestamps && c.cfg.Timestamps
	if c.tsOK {
		c.tsRecent = o.TSVal
	}
	c.sndScale, c.rcvScale = 0, 0
	c.scaled = o.HasWindowScale && c.cfg.WindowScaling
	if c.scaled {
		c.sndScale, c.rcvScale = min(o.WindowScale, maxScale), scaleFor(c.cfg.Receive.Max)
	}
	c.setMSS(o.MSS)
}
