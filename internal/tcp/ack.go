package tcp

import (
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// ackWork is what one acknowledgement brought.
type ackWork struct {
	acked     int64      // cumulatively
	delivered int64      // acknowledged for the first time, selectively too
	first     units.Time // transmission of the oldest segment acknowledged that was sent once; and
	last      units.Time // of the latest
	sackAt    units.Time // likewise of segments selectively acknowledged
	timed     bool       // first and last count
	sackTimed bool
	again     bool // a segment that was sent again was acknowledged
	dsack     bool // the peer reports a duplicate
	probed    bool // a tail loss probe is out
	duplicate bool // RFC 5681 2: nothing new, while something is outstanding
	tsecr     uint32
	hasTS     bool
}

// receiveAck handles the acknowledgement of a segment in a synchronised state
// (RFC 9293 3.10.7.4, fifth). It reports whether the rest of the segment counts.
func (c *Conn) receiveAck(now units.Time, p *packet.Packet, side *packet.Side, seq uint64) bool {
	ack := unwrap(p.AETH, c.una)
	if ack > c.nxt || ack+uint64(c.maxWnd) < c.una { // RFC 5961 5.2
		c.challenge()
		return false
	}
	w := ackWork{tsecr: uint32(p.VA), hasTS: c.tsOK && p.DMALen&segTimestamps != 0}
	before, flight := c.una, int64(c.nxt-c.una)
	w.duplicate = ack == c.una && flight > 0 && p.Payload == 0 && p.Opcode&(SYN|FIN) == 0 && c.window(p) == c.wnd
	c.retries(ack > before)
	c.updateWindow(p, seq, ack)
	if ack > c.una {
		c.advance(now, ack, &w)
	}
	if side != nil && side.SACKs > 0 && c.sackOK {
		c.takeSACK(now, ack, side, &w)
		if w.dsack {
			c.noteDSACK(side.SACK[0], before)
		}
	}
	if !c.sackOK && w.duplicate {
		c.countDuplicate(&w)
	}
	c.measure(now, &w)
	c.takeECE(now, p.Opcode&ECE != 0, &w, flight)
	w.probed = c.tlpEnd != 0
	bare := w.acked == 0 && p.Payload == 0 && (side == nil || side.SACKs == 0)
	if c.probeAcked(ack, w.dsack, bare) && c.ca == caOpen {
		c.cut(now, congestion.CutLoss, flight)
		c.endReduction()
	}
	c.tryUndo(now, &w)
	c.rackDSACK(w.dsack && !w.probed)
	c.endRecovery()
	if c.detect(now, &w) || c.ca == caOpen && c.segs.lost > 0 {
		c.enterRecovery(now, flight)
	}
	c.setWindow(now, &w, flight)
	if w.acked > 0 || w.delivered > 0 {
		c.arm(now)
	}
	c.wakeWriter()
	return true
}

// retries notes that the peer answered.
func (c *Conn) retries(progress bool) {
	if progress || c.timer == timerPersist {
		c.tries = 0
	}
}

// window is the receive window that a segment advertises, in bytes.
func (c *Conn) window(p *packet.Packet) int64 { return int64(uint16(p.DMALen)) << c.sndScale }

// updateWindow takes the peer's window from segments not older than the latest
// that changed it. RFC 9293 3.10.7.4 also compares the acknowledgement with that
// segment's, SND.WL2; as SND.UNA is never below it, the first test says it all.
func (c *Conn) updateWindow(p *packet.Packet, seq, ack uint64) {
	if ack < c.una || seq < c.wl1 {
		return
	}
	win := c.window(p)
	if c.timer == timerPersist && win > c.wnd {
		c.backoff = 0
		c.setTimer(timerNone, units.Never)
	}
	c.wnd, c.wl1 = win, seq
	c.maxWnd = max(c.maxWnd, win)
}

// advance moves SND.UNA.
func (c *Conn) advance(now units.Time, ack uint64, w *ackWork) {
	w.acked = int64(ack - c.una)
	for !c.segs.empty() {
		s := c.segs.at(c.segs.head)
		if s.end() > ack {
			if s.seq < ack {
				c.segs.trim(uint32(ack - s.seq))
			}
			break
		}
		if !s.sacked {
			w.delivered += int64(s.len)
			c.rackUpdate(now, s, w, false)
			c.timeSegment(s, w)
		}
		if s.again {
			w.again = true
		}
		c.segs.pop()
	}
	if !c.sackOK { // duplicate ACKs have counted some of it
		w.delivered = max(w.delivered-c.dupBytes, min(w.delivered, c.mss))
	}
	c.una = ack
	c.dupAcks = 0
	c.dupBytes = max(c.dupBytes-max(w.acked-c.mss, 0), 0)
	if c.segs.empty() {
		c.dupBytes = 0
	}
	c.rtoBase = now // RFC 6298 5.3
	if c.finSent && ack > c.end {
		c.finAcked(now)
	}
}

// timeSegment notes when a segment that was sent only once left (Karn's rule).
func (c *Conn) timeSegment(s *sentSegment, w *ackWork) {
	if s.again {
		return
	}
	if !w.timed {
		w.timed, w.first = true, s.at
	}
	w.last = s.at
}

// takeSACK marks what the SACK blocks of an ACK report (RFC 2018, 2883), in the order
// of sequence numbers, so that blocks of one ACK do not pass for reordering.
func (c *Conn) takeSACK(now units.Time, ack uint64, side *packet.Side, w *ackWork) {
	var blocks [4]span
	n := 0
	for i, b := range side.SACK[:side.SACKs] {
		s := span{unwrap(b.Left, c.una), unwrap(b.Right, c.una)}
		if s.start >= s.end || s.end > c.nxt {
			continue
		}
		if i == 0 && (s.end <= ack || side.SACKs > 1 && within(s, side.SACK[1], c.una)) {
			w.dsack = true
			c.counters.DSACKs++
			continue
		}
		if s.end > c.una {
			k := n
			for ; k > 0 && blocks[k-1].start > s.start; k-- {
				blocks[k] = blocks[k-1]
			}
			blocks[k] = s
			n++
		}
	}
	for _, s := range blocks[:n] {
		c.sackRange(now, s, w)
	}
}

// within reports whether s lies in block b (RFC 2883 4.1.2).
func within(s span, b packet.SACKBlock, base uint64) bool {
	return s.start >= unwrap(b.Left, base) && s.end <= unwrap(b.Right, base)
}

// sackRange marks the segments of s, those apart that the ACK before named too.
func (c *Conn) sackRange(now units.Time, s span, w *ackWork) {
	seen := span{}
	for _, k := range c.seen {
		if k.start < s.end && k.end > s.start && k.end-k.start > seen.end-seen.start {
			seen = k
		}
	}
	if seen.end == 0 {
		c.sackSegments(now, s, w)
	} else {
		c.sackSegments(now, span{s.start, min(seen.start, s.end)}, w)
		c.sackSegments(now, span{max(seen.end, s.start), s.end}, w)
	}
	c.seen[c.seenAt&3] = s
	c.seenAt++
}

func (c *Conn) sackSegments(now units.Time, r span, w *ackWork) {
	if r.start >= r.end {
		return
	}
	for i := c.segs.find(r.start); i != c.segs.tail; i++ {
		s := c.segs.at(i)
		if s.end() > r.end {
			return
		}
		if s.sacked {
			continue
		}
		w.delivered += int64(s.len)
		c.rackUpdate(now, s, w, true)
		if !s.again {
			w.sackTimed, w.sackAt = true, s.at
		}
		c.segs.sack(i)
	}
}

// countDuplicate counts a duplicate ACK of a connection without SACK: some
// segment has left the network (RFC 5681 3.2).
func (c *Conn) countDuplicate(w *ackWork) {
	c.dupAcks++
	if n := min(c.mss, int64(c.nxt-c.una)-c.dupBytes-c.mss); n > 0 {
		c.dupBytes += n
		w.delivered += n
	}
}

// measure takes a round-trip sample (RFC 6298 3, 4; RFC 7323 4).
func (c *Conn) measure(now units.Time, w *ackWork) {
	var sample, latest units.Time
	switch {
	case w.timed && !w.again:
		sample, latest = now-w.first, now-w.last
	case w.sackTimed:
		sample, latest = now-w.sackAt, now-w.sackAt
	case w.acked > 0 && w.hasTS && w.tsecr != 0:
		// By the echoed timestamp, to a tick; a shorter time counts as one.
		sample = units.Time(max(int32(c.tsNow(now)-w.tsecr), 1)) * c.cfg.TimestampTick
	default:
		return
	}
	c.rtt.sample(sample)
	c.backoff = 0
	if latest > 0 {
		c.rtt.min = min(c.rtt.min, latest)
		c.cc.OnRTT(&c.cfg.CC, congestion.RTT{Now: now, RTT: latest, Una: c.una, Nxt: c.nxt, Slack: c.ackSlack(), Paced: c.cfg.Pacing})
	}
}

// ackSlack is how far segmentation offload may hold ACKs apart: what four of its
// super-segments take at the pacing rate, a millisecond at most (Linux
// hystart_ack_delay).
func (c *Conn) ackSlack() units.Time {
	t := mulDiv(4*int64(c.cfg.TSO), int64(c.rtt.srtt), max(c.pacingBytes(), 1))
	return min(units.Time(t), units.Millisecond)
}

// takeECE handles the echo of congestion marks (RFC 3168 6.1.2, RFC 8257 3.3).
func (c *Conn) takeECE(now units.Time, ece bool, w *ackWork, flight int64) {
	if !c.ecnOK {
		return
	}
	if c.cfg.CC.Algorithm == congestion.DCTCP && w.acked > 0 {
		marked := int64(0)
		if ece {
			marked = w.acked
		}
		c.cc.OnMarks(&c.cfg.CC, w.acked, marked, c.una, c.nxt)
	}
	if ece && c.ca == caOpen && flight > 0 {
		c.cut(now, congestion.CutECN, flight)
		c.enter(caCWR)
		if c.cfg.CWRGrowth {
			c.endReduction()
		}
	}
}
