package tcp

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// Receive handles a segment of this connection; side is its side record, nil
// without one, and is read during the call only. iss is this side's initial
// sequence number should the segment open a connection.
func (c *Conn) Receive(now units.Time, p *packet.Packet, side *packet.Side, iss uint32) {
	c.counters.Received++
	switch c.state {
	case Closed:
		c.refuse(p)
	case Listen:
		c.receiveListen(now, p, iss)
	case SynSent:
		c.receiveSynSent(now, p)
	default:
		c.receiveSegment(now, p, side)
	}
}

// seqLen is how many sequence numbers a segment takes.
func seqLen(p *packet.Packet) uint32 {
	n := p.Payload
	if p.Opcode&SYN != 0 {
		n++
	}
	if p.Opcode&FIN != 0 {
		n++
	}
	return n
}

// refuse answers a segment for which there is no connection (RFC 9293 3.10.7.1).
func (c *Conn) refuse(p *packet.Packet) {
	c.counters.Discarded++
	if p.Opcode&RST != 0 {
		return
	}
	c.rst = rstReply{pending: true, flags: RST | ACK, ack: p.PSN + seqLen(p)}
	if p.Opcode&ACK != 0 {
		c.rst = rstReply{pending: true, flags: RST, seq: p.AETH}
	}
}

// receiveListen is RFC 9293 3.10.7.2.
func (c *Conn) receiveListen(now units.Time, p *packet.Packet, iss uint32) {
	switch {
	case p.Opcode&RST != 0:
		c.counters.Discarded++
	case p.Opcode&ACK != 0:
		c.refuse(p)
	case p.Opcode&SYN != 0:
		c.to(SynReceived)
		c.begin(now, iss)
		c.takeSYN(p)
		c.ecnOK = c.cfg.ECN != ECNOff && p.Opcode&(ECE|CWR) == ECE|CWR
		c.synDue = true
	default:
		c.counters.Discarded++
	}
}

// takeSYN notes the peer's initial sequence number and options.
func (c *Conn) takeSYN(p *packet.Packet) {
	c.irs = 1<<32 + uint64(p.PSN)
	c.rcvNxt, c.rcvAdv, c.read, c.acked = c.irs+1, c.irs+1, c.irs+1, c.irs+1
	if c.state == SynSent {
		c.rcvAdv += uint64(c.firstWindow(int64(c.cfg.MSS))) // what the SYN said
	}
	c.wnd, c.wl1 = int64(uint16(p.DMALen)), c.irs
	c.maxWnd = c.wnd
	h := Header(p, nil)
	c.takeOptions(&h.Options)
}

// receiveSynSent is RFC 9293 3.10.7.3.
func (c *Conn) receiveSynSent(now units.Time, p *packet.Packet) {
	ackOK := p.Opcode&ACK != 0 && p.AETH == uint32(c.nxt)
	if p.Opcode&ACK != 0 && !ackOK {
		c.refuse(p)
		return
	}
	if p.Opcode&RST != 0 {
		if ackOK {
			c.fail(ResetByPeer)
		} else {
			c.counters.Discarded++
		}
		return
	}
	if p.Opcode&SYN == 0 {
		c.counters.Discarded++
		return
	}
	c.takeSYN(p)
	if !ackOK { // simultaneous open
		c.to(SynReceived)
		c.ecnOK = c.cfg.ECN != ECNOff && p.Opcode&(ECE|CWR) == ECE|CWR
		c.synDue = true
		return
	}
	c.ecnOK = c.cfg.ECN != ECNOff && p.Opcode&(ECE|CWR) == ECE
	c.synDue = false
	c.synAcked(now)
	c.ackNow = true
}

// synAcked completes the handshake; the SYN was acknowledged.
func (c *Conn) synAcked(now units.Time) {
	again := c.backoff
	if again == 0 {
		c.rtt.sample(now - c.synAt)
		c.rtt.min = min(c.rtt.min, now-c.synAt)
	}
	c.una = c.iss + 1
	c.tries = 0
	c.established(now)
	if again > 1 { // RFC 5681 3.1 after one; Linux after two, as the first comes early (RFC 6298 2.1)
		c.cc.Set(c.mss)
	}
}

// receiveSegment is RFC 9293 3.10.7.4: a segment in any other state.
func (c *Conn) receiveSegment(now units.Time, p *packet.Packet, side *packet.Side) {
	seq := unwrap(p.PSN, c.rcvNxt)
	again := c.repeated(p, seq)
	if c.outdated(p) || !again && !c.acceptable(p, seq) {
		c.unacceptable(now, p, seq)
		return
	}
	if p.Opcode&RST != 0 {
		c.receiveReset(seq)
		return
	}
	if p.Opcode&SYN != 0 {
		c.receiveSecondSYN()
		return
	}
	if p.Opcode&ACK == 0 {
		c.counters.Discarded++
		return
	}
	if c.state == SynReceived {
		if p.AETH != uint32(c.nxt) {
			c.refuse(p)
			return
		}
		c.synDue = false
		c.synAcked(now)
		c.wnd, c.wl1 = c.window(p), seq
		c.maxWnd = max(c.maxWnd, c.wnd)
	}
	c.noteTimestamp(p, seq)
	if !c.receiveAck(now, p, side, seq) || c.state == Closed {
		return
	}
	if again {
		if seqLen(p) > 0 {
			c.unacceptable(now, p, seq)
		}
		return
	}
	c.takeCE(now, p)
	if p.Payload > 0 || p.Opcode&FIN != 0 {
		c.receiveText(now, p, side, seq)
	}
}

// outdated is PAWS (RFC 7323 5.3).
func (c *Conn) outdated(p *packet.Packet) bool {
	if !c.tsOK || p.DMALen&segTimestamps == 0 || p.Opcode&RST != 0 || int32(uint32(p.VA>>32)-c.tsRecent) >= 0 {
		return false
	}
	c.counters.PAWS++
	return true
}

// repeated reports whether all of a segment has arrived before and it reaches up to what
// was acknowledged last: sent again because that acknowledgement is on its way or lost.
// Its own acknowledgement and timestamp count, as in Linux (tcp_sequence): without that
// the next ACK would echo the first transmission's time, and pass for a slow path.
func (c *Conn) repeated(p *packet.Packet, seq uint64) bool {
	end := seq + uint64(seqLen(p))
	return c.state.synchronised() && p.Opcode&(SYN|RST) == 0 && end <= c.rcvNxt && end >= c.acked && seq < c.rcvNxt
}

// acceptable is the first check of RFC 9293 3.10.7.4.
func (c *Conn) acceptable(p *packet.Packet, seq uint64) bool {
	n := uint64(seqLen(p))
	edge := max(c.rcvAdv, c.rcvNxt+1) // a segment at RCV.NXT counts even when the window is closed
	if n == 0 {
		return seq >= c.rcvNxt && seq < edge || seq == c.rcvNxt
	}
	return seq < edge && seq+n > c.rcvNxt
}

// unacceptable answers a segment outside the window.
func (c *Conn) unacceptable(now units.Time, p *packet.Packet, seq uint64) {
	c.counters.Discarded++
	c.noteUnheard(now, p, seq)
	if p.Opcode&RST != 0 {
		return
	}
	if n := uint64(seqLen(p)); n > 0 && p.Opcode&SYN == 0 && seq+n <= c.rcvNxt {
		c.counters.Duplicates++
		c.ofo.dsack = span{seq, seq + n} // with the number of a FIN, as in Linux
	}
	if c.state == SynReceived && p.Opcode&(SYN|ACK) == SYN {
		c.synDue = true // our SYN-ACK was lost
		return
	}
	if c.state == TimeWait && p.Opcode&FIN != 0 {
		c.setTimer(timerTimeWait, now+c.cfg.TimeWait)
	}
	c.ackNow = true
}

// receiveReset takes a RST at exactly RCV.NXT and challenges others (RFC 5961 3).
func (c *Conn) receiveReset(seq uint64) {
	if seq != c.rcvNxt {
		c.challenge()
		return
	}
	if c.state == SynReceived && c.passive {
		c.listenAgain()
		return
	}
	if c.state == TimeWait {
		c.fail(Finished)
		return
	}
	c.fail(ResetByPeer)
}

// receiveSecondSYN takes a SYN within the window: the peer has begun anew before
// the handshake was complete, or is to say what it means (RFC 5961 4).
func (c *Conn) receiveSecondSYN() {
	if c.state == SynReceived && c.passive {
		c.listenAgain()
		return
	}
	c.challenge()
}

// listenAgain gives a passive open up.
func (c *Conn) listenAgain() {
	c.dropAll()
	c.setTimer(timerNone, units.Never)
	c.synDue = false
	c.to(Listen)
}

// challenge asks the peer, by an acknowledgement, what it means (RFC 5961).
func (c *Conn) challenge() {
	c.counters.ChallengeAcks++
	c.ackNow = true
}

// noteTimestamp updates TS.Recent (RFC 7323 4.3).
func (c *Conn) noteTimestamp(p *packet.Packet, seq uint64) {
	if c.tsOK && p.DMALen&segTimestamps != 0 && seq <= c.acked {
		c.tsRecent = uint32(p.VA >> 32)
	}
}

// takeCE notes congestion marks and, in classic ECN, the sender's CWR.
func (c *Conn) takeCE(now units.Time, p *packet.Packet) {
	if !c.ecnOK {
		return
	}
	ce := p.ECN == packet.CE
	if ce {
		c.acts.CEReceived.Add(now, int64(p.Payload))
	}
	if c.cfg.ECN == ECNClassic {
		if p.Opcode&CWR != 0 {
			c.oweECE = false
		}
		if ce {
			c.oweECE = true
		}
		return
	}
	// RFC 8257 3.2: acknowledge what came before the change with the old flag,
	// and, as Linux does, the segment at hand at once.
	if p.Payload > 0 && ce != c.ceState {
		if c.delackAt != units.Never {
			c.prior = priorAck{pending: true, ece: c.ceState, ack: c.rcvNxt}
		}
		c.ceState = ce
		c.ackNow = true
	}
}

// receiveText takes the data and the FIN of a segment (RFC 9293 3.10.7.4,
// seventh and eighth).
func (c *Conn) receiveText(now units.Time, p *packet.Packet, side *packet.Side, seq uint64) {
	switch c.state {
	case Established, FinWait1, FinWait2:
	default:
		c.ackNow = true // the peer has sent FIN: nothing new can follow
		return
	}
	end := seq + uint64(p.Payload)
	if p.Opcode&FIN != 0 && end <= c.rcvAdv {
		c.rcvFin = end
		end++
	}
	r := span{max(seq, c.rcvNxt), min(end, max(c.rcvAdv, c.rcvNxt))}
	c.keep(side, seq, span{r.start, min(r.end, seq+uint64(p.Payload))})
	if p.Opcode&FIN != 0 && c.rcvFin == seq+uint64(p.Payload) {
		r.end = end
	}
	if size := int64(SegmentSize(p)); size > 0 {
		c.rcvMSS = max(c.rcvMSS, min(size, c.mss))
	} else {
		c.rcvMSS = max(c.rcvMSS, min(int64(p.Payload), c.mss))
	}
	if r.start >= r.end {
		c.ackNow = true // all of it beyond a closed window
		return
	}
	if seq < c.rcvNxt && p.Payload > 0 {
		c.ofo.dsack = span{seq, c.rcvNxt}
	}
	if r.start > c.rcvNxt {
		c.receiveAhead(now, p, r)
		return
	}
	c.noteUnheard(now, p, seq)
	c.receiveInOrder(now, p, r)
}

// receiveAhead keeps a segment that is ahead of a missing one, and says so at
// once (RFC 5681 4.2).
func (c *Conn) receiveAhead(now units.Time, p *packet.Packet, r span) {
	c.counters.OutOfOrder++
	c.acts.SequenceGap.Add(now, 0)
	if dup := c.ofo.add(r); dup.end != 0 {
		c.counters.Duplicates++
		c.ofo.dsack = dup
	}
	c.ackNow = true
	if c.sackOK {
		c.growWindow(p) // without SACK the window stays, so that the ACK is a duplicate
	} else {
		c.acts.DupAckSent.Add(now, 0)
	}
}

// receiveInOrder advances RCV.NXT and decides how soon to acknowledge.
func (c *Conn) receiveInOrder(now units.Time, p *packet.Packet, r span) {
	before := c.rcvNxt
	hadGap := len(c.ofo.spans) > 0
	c.rcvNxt = r.end
	if hadGap {
		c.rcvNxt = c.ofo.advance(r.end)
	}
	n := int64(c.rcvNxt - before)
	c.pushed, c.dataAt = c.pushed || p.Opcode&PSH != 0, now
	if c.rcvFin != 0 && c.rcvNxt > c.rcvFin {
		n--
		c.peerClosed(now)
	}
	c.counters.Delivered += n
	if n > 0 {
		c.growWindow(p)
		c.timeReceiver(now, p)
		if c.starved {
			c.starved = false
			c.events |= Readable
		}
	}
	c.unacked += int64(c.rcvNxt - before)
	c.scheduleAck(now, hadGap)
}

// scheduleAck acknowledges at once what RFC 5681 4.2 says cannot wait: every
// second full segment, and what fills a gap.
func (c *Conn) scheduleAck(now units.Time, hadGap bool) {
	switch {
	case c.cfg.DelayedAck == 0, hadGap, c.ofo.dsack.end != 0, c.unacked > int64(c.cfg.AckEvery-1)*c.rcvMSS:
		c.ackNow = true
	case c.quick > 0 && !c.pingpong: // Linux tcp_in_quickack_mode
		c.ackNow = true
	case c.delackAt == units.Never:
		c.delackAt = now + c.cfg.DelayedAck
	}
}

// peerClosed takes the peer's FIN, behind which nothing is missing.
func (c *Conn) peerClosed(now units.Time) {
	c.events |= PeerClosed
	c.ackNow = true
	switch c.state {
	case Established:
		c.to(CloseWait)
	case FinWait1:
		c.to(Closing)
	case FinWait2:
		c.timeWait(now)
	}
}

// finAcked takes the acknowledgement of this side's FIN.
func (c *Conn) finAcked(now units.Time) {
	switch c.state {
	case FinWait1:
		c.to(FinWait2)
	case Closing:
		c.timeWait(now)
	case LastAck:
		c.to(Closed)
		c.events |= Finished
	}
}

// timeWait begins 2 MSL.
func (c *Conn) timeWait(now units.Time) {
	c.to(TimeWait)
	c.setTimer(timerTimeWait, now+c.cfg.TimeWait)
}
