package tcp

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// Poll fills p with the next segment to send and returns Sent, or says why there
// is none; the time is when to ask again, for Pacing only, else Never. The owner
// polls until it does not say Sent.
func (c *Conn) Poll(now units.Time, p *packet.Packet) (Reason, units.Time) {
	c.hasSide = false
	if c.rst.pending {
		c.emitReset(p)
		return Sent, now
	}
	switch c.state {
	case Closed, Listen:
		return NotOpen, units.Never
	case SynSent, SynReceived:
		return c.pollHandshake(now, p)
	}
	if c.prior.pending {
		c.emitPrior(now, p)
		return Sent, now
	}
	if c.ackNow && (len(c.ofo.spans) > 0 || c.ofo.dsack.end != 0) {
		c.emitAck(now, p) // alone, so that it counts as a duplicate and has room for SACK
		return Sent, now
	}
	reason, until := c.pollData(now, p)
	switch {
	case reason == Sent:
		return Sent, until
	case c.ackNow:
		c.emitAck(now, p)
		return Sent, now
	}
	c.noteFlight(reason == Cwnd || reason == TSODefer)
	if reason == ReceiveWindow && c.segs.empty() && c.timer == timerNone {
		c.setTimer(timerPersist, now+c.backedOff())
	}
	return reason, until
}

// PolledSide is the side record of the latest segment; nil if it has none.
func (c *Conn) PolledSide() *packet.Side {
	if c.hasSide {
		return &c.side
	}
	return nil
}

func (c *Conn) pollHandshake(now units.Time, p *packet.Packet) (Reason, units.Time) {
	if !c.synDue {
		if c.ackNow && c.state == SynReceived {
			c.emitAck(now, p)
			return Sent, now
		}
		return Connecting, units.Never
	}
	c.synDue = false
	c.emitSYN(now, p)
	return Sent, now
}

// pollData sends again what is lost, then a probe that is due, then what is new.
func (c *Conn) pollData(now units.Time, p *packet.Packet) (Reason, units.Time) {
	switch c.state {
	case Established, CloseWait, FinWait1, Closing, LastAck:
	default:
		return Idle, units.Never
	}
	if c.cfg.Pacing && now < c.paceAt && (c.Unsent() > 0 || c.segs.lost > c.segs.retrans) {
		return Pacing, c.paceAt
	}
	if i := c.segs.nextLost(); i != none {
		if !c.atOnce && c.cc.Bytes()-c.pipe() < min(c.mss, int64(c.segs.at(i).len)) {
			return Cwnd, units.Never
		}
		c.atOnce = false
		c.retransmit(now, p, i)
		return Sent, c.paced(now)
	}
	if c.probe {
		c.probe = false
		if c.sendProbe(now, p) {
			return Sent, c.paced(now)
		}
		c.arm(now)
	}
	return c.pollNew(now, p)
}

// pollNew sends new data, or a FIN.
func (c *Conn) pollNew(now units.Time, p *packet.Packet) (Reason, units.Time) {
	avail := c.Unsent()
	usable := int64(c.una) + c.wnd - int64(c.nxt)
	if c.override {
		c.override = false
		return c.overrideWindow(now, p, avail, usable)
	}
	if avail == 0 {
		if !c.finQueued || c.finSent {
			return Idle, units.Never
		}
		if usable < 1 {
			return ReceiveWindow, units.Never
		}
		c.sendNew(now, p, 0)
		return Sent, c.paced(now)
	}
	n := min(avail, c.mss)
	if usable < n && (usable <= 0 || usable < c.maxWnd/2) { // RFC 9293 3.8.6.2.1
		return ReceiveWindow, units.Never
	}
	c.afterIdle(now) // not before: until the window opens the pause goes on
	n = min(n, usable)
	room := c.cc.Bytes() - c.pipe()
	if room < n {
		return Cwnd, units.Never
	}
	if c.holdSmall(avail, n) {
		return NagleWait, units.Never
	}
	if c.cfg.TSO > 0 {
		goal := c.burst()
		limit := min(room, usable)
		if c.deferTSO(now, avail, limit, goal) {
			return TSODefer, units.Never
		}
		n = max(n, c.whole(avail, min(avail, limit, goal)))
	}
	c.sendNew(now, p, n)
	return Sent, c.paced(now)
}

// holdSmall is Nagle's rule for a segment of n bytes, with a FIN behind it as an
// exception.
func (c *Conn) holdSmall(avail, n int64) bool {
	if n >= c.mss || c.finQueued && n == avail {
		return false
	}
	switch c.nagle {
	case NagleRFC896:
		return c.nxt > c.una
	case NagleMinshall:
		return c.small > c.una
	}
	return false
}

// burst is how much one super-segment carries: a millisecond's worth at the
// pacing rate and more on short paths, two segments at least (Linux
// tcp_tso_autosize with its defaults).
func (c *Conn) burst() int64 {
	most := int64(c.cfg.TSO)
	n := most
	if c.rtt.srtt > 0 {
		n = mulDiv(c.pacingBytes(), int64(units.Second>>10), int64(c.rtt.srtt))
		if shift := c.rtt.least() / units.Microsecond >> 9; shift < 32 {
			n += most >> shift
		}
	}
	n = min(max(n, 2*c.mss), most)
	return max(n-n%c.mss, c.mss)
}

// whole takes n bytes down to full segments, unless it is all there is and the
// rest may go as it is.
func (c *Conn) whole(avail, n int64) int64 {
	rest := n % c.mss
	if n < c.mss || rest == 0 || n == avail && !c.holdSmall(avail, rest) {
		return n
	}
	return n - rest
}

// deferTSO reports whether a super-segment is worth waiting for: the window lets
// less than a third of itself out, more data is there, something was sent in the
// latest millisecond, and an ACK is due within half a round trip (Linux
// tcp_tso_should_defer, tcp_tso_win_divisor 3).
func (c *Conn) deferTSO(now units.Time, avail, limit, goal int64) bool {
	if limit >= goal || avail <= limit || c.segs.empty() || c.ca == caRecovery || c.ca == caLoss {
		return false
	}
	if limit >= min(c.wnd, c.cc.Bytes())/3 || now-c.lastSent > units.Millisecond {
		return false
	}
	return now-c.segs.at(c.segs.head).at >= c.rtt.srtt/2
}

// overrideWindow handles a window that stayed too small until the persist timer
// expired: it sends what fits, or a segment outside the window, which the peer
// has to answer (RFC 9293 3.8.6.1; Linux sends it without data).
func (c *Conn) overrideWindow(now units.Time, p *packet.Packet, avail, usable int64) (Reason, units.Time) {
	if usable > 0 && (avail > 0 || c.finQueued && !c.finSent) {
		c.sendNew(now, p, min(avail, usable, c.mss))
		return Sent, now
	}
	if avail == 0 && (!c.finQueued || c.finSent) {
		return Idle, units.Never
	}
	c.counters.Probes++
	c.setTimer(timerPersist, now+c.backedOff())
	c.fill(now, p, ACK, c.una-1, 0)
	c.counters.SentSegments++
	return Sent, now
}

// afterIdle restarts slow start after the connection was idle for longer than the
// timeout (RFC 5681 4.1).
func (c *Conn) afterIdle(now units.Time) {
	if !c.segs.empty() || c.lastSent == 0 {
		return
	}
	idle := now - c.lastSent
	c.cc.OnIdle(idle)
	if c.cfg.SlowStartAfterIdle && c.ca == caOpen && idle > c.rto() {
		c.cc.Restart(&c.cfg.CC, idle, c.rto())
	}
	c.lastSent = now
}

// sendNew sends n bytes of new data, and the FIN if it comes next.
func (c *Conn) sendNew(now units.Time, p *packet.Packet, n int64) {
	flags, seq := ACK, c.nxt
	// Linux pushes every super-segment, for the peer's GRO (__tcp_transmit_skb).
	if n > c.mss || n > 0 && c.nxt+uint64(n) == c.end {
		flags |= PSH
	}
	if c.finQueued && !c.finSent && c.nxt+uint64(n) == c.end {
		flags |= FIN
		c.finSent = true
	}
	if c.cwrQueued && n > 0 {
		flags |= CWR
		c.cwrQueued = false
	}
	if c.segs.empty() {
		c.rtoBase = now
	}
	for left := n; left > 0; left -= c.mss {
		k := min(left, c.mss)
		fin := flags&FIN != 0 && k == left
		c.segs.push(now, c.nxt, uint32(k)+b2u(fin), fin)
		c.nxt += uint64(k) + uint64(b2u(fin))
		if k < c.mss {
			c.small = c.nxt
		}
	}
	if n == 0 {
		c.segs.push(now, c.nxt, 1, true)
		c.nxt++
	}
	c.fill(now, p, flags, seq, n)
	c.mark(p, true)
	c.sent(now, p)
}

func b2u(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// retransmit sends segment i again.
func (c *Conn) retransmit(now units.Time, p *packet.Packet, i uint32) {
	s := c.segs.at(i)
	c.segs.resent(now, i)
	if i == c.segs.head {
		c.rtoBase = now
	}
	flags, n := ACK, int64(s.len)
	if s.fin {
		flags |= FIN
		n--
	}
	if n > 0 && s.seq+uint64(n) == c.end {
		flags |= PSH
	}
	c.fill(now, p, flags, s.seq, n)
	p.Flags |= packet.Retrans
	c.noteRetransmit(now)
	c.mark(p, false)
	switch {
	case c.tlpEnd != 0:
		c.acts.RetransTLP.Add(now, n)
	case c.ca == caLoss:
		c.acts.RetransRTO.Add(now, n)
	default:
		c.acts.RetransFast.Add(now, n)
	}
	c.counters.Retransmitted++
	c.counters.RetransBytes += n
	c.sent(now, p)
}

// sendProbe sends a tail loss probe: new data if there is some and the peer's
// window admits it, else the last segment again (RFC 8985 7.3).
func (c *Conn) sendProbe(now units.Time, p *packet.Packet) bool {
	if c.segs.empty() || c.tlpEnd != 0 {
		return false
	}
	c.counters.TLPs++
	c.rtoBase = now
	n := min(c.Unsent(), c.mss)
	usable := int64(c.una) + c.wnd - int64(c.nxt)
	if n > 0 && usable >= n {
		c.tlpRetrans = false
		c.tlpEnd = c.nxt + uint64(n)
		c.sendNew(now, p, n)
		return true
	}
	c.tlpRetrans, c.tlpEnd = true, c.nxt
	c.retransmit(now, p, c.segs.tail-1)
	return true
}

// sent counts a segment with data or FIN and starts the timers.
func (c *Conn) sent(now units.Time, p *packet.Packet) {
	c.lastSent = now
	if p.Payload > 0 && c.dataAt > 0 && now-c.dataAt < c.cfg.DelayedAck {
		c.pingpong = true
	}
	if c.ca == caCWR || c.ca == caRecovery {
		c.prrOut += int64(p.Payload)
	}
	c.counters.SentSegments += int64(Segments(p))
	c.counters.SentBytes += int64(p.Payload)
	if c.timer == timerPersist {
		c.setTimer(timerNone, units.Never)
	}
	if c.cfg.Pacing && c.rtt.srtt > 0 {
		c.paceAt = now + units.Time(mulDiv(int64(p.Payload), int64(c.rtt.srtt), max(c.pacingBytes(), 1)))
	}
	c.arm(now)
}

// pacingBytes is what pacing lets out per round trip (Linux tcp_update_pacing_rate).
func (c *Conn) pacingBytes() int64 {
	ratio := c.cfg.PacingCA
	if c.cc.Bytes() < c.cc.Ssthresh()/2 {
		ratio = c.cfg.PacingSS
	}
	return mulDiv(c.cc.Bytes(), int64(ratio), 100)
}

// paced is when the next segment may go.
func (c *Conn) paced(now units.Time) units.Time { return max(now, c.paceAt) }

// mark sets the ECN code point: ECT on new data only (RFC 3168 6.1.5), with DCTCP
// on everything, as Linux does.
func (c *Conn) mark(p *packet.Packet, fresh bool) {
	if c.ecnOK && (c.cfg.ECN == ECNDCTCP || fresh && p.Payload > 0) {
		p.ECN = packet.ECT0
	}
}

// emitAck fills p with an acknowledgement.
func (c *Conn) emitAck(now units.Time, p *packet.Packet) {
	c.fill(now, p, ACK, c.nxt, 0)
	c.mark(p, false)
	c.counters.SentSegments++
	c.counters.PureAcks++
}

// emitPrior fills p with the acknowledgement that DCTCP owes for what came before
// the marking changed.
func (c *Conn) emitPrior(now units.Time, p *packet.Packet) {
	r := c.prior
	c.prior.pending = false
	c.fillAt(now, p, ACK, c.nxt, 0, r.ack, r.ece)
	c.mark(p, false)
	c.counters.SentSegments++
	c.counters.PureAcks++
}

// fill makes p a segment of n bytes from seq that acknowledges all that arrived.
func (c *Conn) fill(now units.Time, p *packet.Packet, flags uint8, seq uint64, n int64) {
	c.fillAt(now, p, flags, seq, n, c.rcvNxt, c.oweECE || c.ceState)
	c.ackNow = false
	c.delackAt = units.Never
	c.unacked = 0
	c.pushed = false
	c.acked = c.rcvNxt
	if c.quick > 0 {
		c.quick--
	}
}

func (c *Conn) fillAt(now units.Time, p *packet.Packet, flags uint8, seq uint64, n int64, ack uint64, ece bool) {
	*p = c.tmpl
	if ece && c.ecnOK {
		flags |= ECE
		c.acts.ECESent.Add(now, 0)
	}
	p.Opcode, p.PSN, p.AETH, p.Payload = flags, uint32(seq), uint32(ack), uint32(n)
	length := uint32(headerLen)
	c.advertise(now)
	p.DMALen = uint32(min((c.rcvAdv-ack)>>c.rcvScale, 65535))
	if c.tsOK {
		p.DMALen |= segTimestamps
		p.VA = uint64(c.tsNow(now))<<32 | uint64(c.tsRecent)
		length += timestampsLen
	}
	c.side.SACKs, c.side.Data = 0, nil
	if c.data != nil && n > 0 {
		c.attach(seq, n)
	}
	if k := c.sackRoom(n); k > 0 && c.sackOK && c.ofo.blocks(&c.side, k) > 0 {
		c.hasSide = true
		c.acts.SACKSent.Add(now, 0)
		length += 4 + 8*uint32(c.side.SACKs)
	}
	c.ofo.dsack = span{}
	p.DMALen |= length << segLenShift
	if n > c.mss {
		p.DestQP = uint32(c.mss) << 16
	}
	setFrame(p, c.cfg.FrameOverhead()-frameLen)
}

// headerLen is the length of a TCP header without options.
const headerLen = 20

// sackRoom is how many SACK blocks fit beside n bytes of data: into the options,
// and into the MSS.
func (c *Conn) sackRoom(n int64) int {
	if len(c.ofo.spans) == 0 && c.ofo.dsack.end == 0 {
		return 0
	}
	room := int64(40)
	if c.tsOK {
		room -= timestampsLen
	}
	if n > 0 {
		room = min(room, c.mss-n)
	}
	return int(min(max(room-4, 0)/8, 4))
}

// emitSYN fills p with a SYN, or a SYN-ACK once the peer's SYN has arrived.
func (c *Conn) emitSYN(now units.Time, p *packet.Packet) {
	*p = c.tmpl
	c.synAt = now
	flags := SYN
	answer := c.state == SynReceived
	mss := int64(c.cfg.MSS)
	if answer && c.tsOK {
		mss -= timestampsLen // known by now
	}
	win := c.firstWindow(mss)
	if answer {
		flags |= ACK
		p.AETH = uint32(c.rcvNxt)
		c.rcvAdv = max(c.rcvAdv, c.rcvNxt+uint64(win))
		if c.ecnOK {
			flags |= ECE
		}
	} else if c.cfg.ECN != ECNOff {
		flags |= ECE | CWR
	}
	p.Opcode, p.PSN = flags, uint32(c.iss)
	p.DestQP = uint32(c.headerMSS())
	p.DMALen = uint32(win)
	length := uint32(headerLen + 4)
	if ts := c.cfg.Timestamps && (!answer || c.tsOK); ts {
		p.DMALen |= segTimestamps
		p.VA = uint64(c.tsNow(now))<<32 | uint64(c.tsRecent)
		length += timestampsLen
	}
	if sack := c.cfg.Recovery != NewReno && (!answer || c.sackOK); sack {
		p.DMALen |= segSACKOK
		if p.DMALen&segTimestamps == 0 {
			length += 4
		}
	}
	if scale := c.cfg.WindowScaling && (!answer || c.scaled); scale {
		p.DMALen |= segScale | uint32(scaleFor(c.cfg.Receive.Max))<<segScaleShift
		length += 4
	}
	p.DMALen |= length << segLenShift
	if c.ecnOK && c.cfg.ECN == ECNDCTCP {
		p.ECN = packet.ECT0
	}
	setFrame(p, c.cfg.FrameOverhead()-frameLen)
	c.counters.SentSegments++
}

// emitReset fills p with a RST.
func (c *Conn) emitReset(p *packet.Packet) {
	*p = c.tmpl
	p.Opcode, p.PSN, p.AETH = c.rst.flags, c.rst.seq, c.rst.ack
	if c.rst.flags&ACK == 0 {
		p.AETH = 0
	}
	p.DMALen = headerLen << segLenShift
	setFrame(p, c.cfg.FrameOverhead()-frameLen)
	c.rst.pending = false
	c.counters.SentSegments++
}

// mulDiv is a*b/c rounded down, for values not below 0 whose quotient fits.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(q)
}
