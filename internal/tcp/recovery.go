package tcp

import (
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/units"
)

// pipe is what the sender takes to be in the network, in bytes (RFC 6675 4).
func (c *Conn) pipe() int64 {
	b := &c.segs
	return int64(c.nxt-c.una) - b.sacked - b.lost + b.retrans - c.dupBytes - c.unsynced()
}

// unsynced is the SYN that was not acknowledged.
func (c *Conn) unsynced() int64 {
	if c.una == c.iss && c.nxt > c.una {
		return 1
	}
	return 0
}

// detect marks losses that the acknowledgement at hand proves. It reports whether
// there are new ones.
func (c *Conn) detect(now units.Time, w *ackWork) bool {
	if c.segs.empty() {
		c.rack.reoAt = units.Never
		return false
	}
	switch {
	case !c.sackOK:
		found := c.detectNewReno(now, w)
		// What is lost has not left the network as a duplicate.
		c.dupBytes = min(c.dupBytes, int64(c.nxt-c.una)-c.segs.lost)
		return found
	case c.cfg.Recovery == SACK:
		return c.detectSACK(now, w)
	}
	if w.delivered == 0 {
		return false
	}
	return c.rackDetect(now)
}

// detectNewReno takes the third duplicate ACK, and in recovery a partial ACK, for
// the loss of the oldest segment (RFC 6582 3.2). Duplicates of all that was out in the
// recovery before may be of what was sent again for nothing (step 2).
func (c *Conn) detectNewReno(now units.Time, w *ackWork) bool {
	third := c.dupAcks == DupThresh && w.acked == 0 && (c.ca == caOpen && c.una > c.recover || c.ca == caCWR)
	partial := w.acked > 0 && c.ca == caRecovery
	if !third && !partial || !c.loseDup(now, c.segs.head) {
		return false
	}
	c.atOnce = true
	return true
}

func (c *Conn) loseDup(now units.Time, i uint32) bool {
	n := int64(c.segs.at(i).len)
	if !c.segs.lose(i) {
		return false
	}
	c.acts.LossDupAck.Add(now, n)
	return true
}

// detectSACK marks every segment as lost above which more than two segments'
// worth is selectively acknowledged (RFC 6675 4, IsLost), once each. Three segments,
// however small, are a loss of the oldest (5, steps 2 and 4).
func (c *Conn) detectSACK(now units.Time, w *ackWork) (found bool) {
	b := &c.segs
	if b.sackedSegs >= DupThresh && b.judged == b.head && (c.ca == caOpen || c.ca == caCWR) {
		found = c.loseDup(now, b.head)
		b.judged++
	}
	for ; b.judged != b.tail && b.sacked-b.sackedBelow > (DupThresh-1)*c.mss; b.judged++ {
		s := b.at(b.judged)
		if s.sacked {
			b.sackedBelow += int64(s.len)
		} else if c.loseDup(now, b.judged) {
			found = true
		}
	}
	return found
}

// cut lowers the threshold, once per window (RFC 5681 3.1, RFC 3168 6.1.2).
func (c *Conn) cut(now units.Time, cause congestion.CutCause, flight int64) {
	before := c.cc.Bytes()
	c.undo.from = 0
	if cause != congestion.CutECN {
		c.undo.note(&c.cc, c.una, int((c.segs.retrans+c.mss-1)/c.mss))
	}
	c.cc.Cut(&c.cfg.CC, cause)
	off := before - c.cc.Ssthresh()
	switch cause {
	case congestion.CutLoss:
		c.acts.CutLoss.Add(now, off)
	case congestion.CutECN:
		c.acts.CutECE.Add(now, off)
	case congestion.CutTimeout:
		c.acts.CutRTO.Add(now, before-c.cc.Bytes())
	}
	c.prrDelivered, c.prrOut, c.recoverFS = 0, 0, max(flight, c.mss)
	c.cwrQueued = c.ecnOK
}

// enter changes where congestion control stands, until what was sent up to now
// is acknowledged.
func (c *Conn) enter(s caState) {
	c.ca = s
	c.recover = c.nxt
}

// enterRecovery begins fast recovery; what began as a reduction for ECE cuts no
// second time.
func (c *Conn) enterRecovery(now units.Time, flight int64) {
	switch c.ca {
	case caOpen:
		c.cut(now, congestion.CutLoss, flight)
		c.enter(caRecovery)
		c.atOnce = true
	case caCWR:
		c.enter(caRecovery)
		c.atOnce = true
	}
	c.tlpEnd = 0
}

// endRecovery leaves recovery when everything sent before it is acknowledged.
func (c *Conn) endRecovery() {
	if c.ca == caOpen || c.una < c.recover {
		return
	}
	if c.ca != caCWR {
		c.rack.recovered()
	}
	if c.ca == caRecovery || c.ca == caCWR && !c.cfg.CWRGrowth {
		c.endReduction()
	}
	if c.ca == caCWR {
		c.recover = c.una - 1 // nothing was sent again
	}
	c.ca = caOpen
	c.dupAcks, c.dupBytes = 0, 0
}

// endReduction leaves the window at the threshold (RFC 6937 3).
func (c *Conn) endReduction() { c.cc.Set(c.cc.Ssthresh()) }

// setWindow brings the window down in recovery and up otherwise.
func (c *Conn) setWindow(now units.Time, w *ackWork, flight int64) {
	switch {
	case c.ca == caRecovery, c.ca == caCWR && !c.cfg.CWRGrowth:
		if c.cfg.PRR {
			c.reduce(w)
		} else {
			c.cc.Set(c.cc.Ssthresh())
		}
	default:
		// Selective acknowledgements count once reordering is normal here (Linux
		// tcp_may_raise_cwnd).
		if w.delivered > 0 && (w.acked > 0 || c.rack.reordered) && c.cwndLimited() {
			c.cc.OnAck(&c.cfg.CC, congestion.WindowAck{Now: now, Bytes: w.delivered, SRTT: c.rtt.srtt})
		}
	}
}

// reduce is proportional rate reduction (RFC 6937 3.1, with its slow start
// reduction bound).
func (c *Conn) reduce(w *ackWork) {
	if w.delivered == 0 && c.prrOut > 0 {
		return
	}
	c.prrDelivered += w.delivered
	pipe, ssthresh := c.pipe(), c.cc.Ssthresh()
	var send int64
	if pipe > ssthresh {
		// Rounded up to segments, as the examples of RFC 6937 and Linux count.
		step := c.recoverFS * c.mss
		send = (c.prrDelivered*ssthresh+step-1)/step*c.mss - c.prrOut
	} else {
		limit := max(c.prrDelivered-c.prrOut, w.delivered) + c.mss
		send = min(ssthresh-pipe, limit)
	}
	if c.prrOut == 0 {
		send = max(send, c.mss) // the first retransmission
	}
	c.cc.Set(pipe + max(send, 0))
}

// cwndLimited reports whether the congestion window limited what was sent, so
// that it may grow (RFC 7661; Linux tcp_is_cwnd_limited). In slow start half of
// the window is enough.
func (c *Conn) cwndLimited() bool {
	if c.cc.SlowStart() {
		return c.cc.Bytes() < 2*c.maxOut
	}
	return c.limited
}

// noteFlight notes how much was in flight when there was nothing more to send,
// and whether the congestion window was why.
func (c *Conn) noteFlight(limited bool) {
	out := c.pipe()
	if c.una >= c.usage || limited || !c.limited && out > c.maxOut {
		c.limited, c.maxOut, c.usage = limited, out, c.nxt
	}
}
