package tcp

import "github.com/hopscope/hopscope/internal/units"

// rack is the state of RACK (RFC 8985 5.2, 5.3). Where the standard orders
// transmissions by time and, within a tick, by sequence number, this counts them:
// a burst leaves at one instant, and a retransmission in it may have any number.
type rack struct {
	order      uint32     // of the segment delivered that was sent last
	any        bool       // order counts
	rtt        units.Time // round trip of the latest segment delivered
	fack       uint64     // highest number acknowledged, selectively too
	reordered  bool       // reordering was seen
	mult       uint8      // multiplier of the reordering window
	persist    uint8      // recoveries until it falls back to 1
	dsackRound uint64     // until this is acknowledged, DSACKs count as one; 0: none did
	reoAt      units.Time // when more segments may be overdue; Never: none waits
}

// reoPersist is how many recoveries a raised reordering window lasts (RFC 8985 6.2 step 4).
const reoPersist = 16

func (r *rack) init() { *r = rack{mult: 1, reoAt: units.Never} }

// rackUpdate takes a segment that was just acknowledged for the first time,
// cumulatively or selectively (RFC 8985 6.2 steps 2 and 3).
func (c *Conn) rackUpdate(now units.Time, s *sentSegment, w *ackWork, selective bool) {
	r := &c.rack
	if s.end() > r.fack {
		r.fack = s.end()
	} else if s.end() < r.fack && !s.again {
		r.reordered = true
	}
	rtt := now - s.at
	if s.again {
		// An acknowledgement that the retransmission cannot have caused tells
		// nothing about when it was sent. The timestamp that a selective one
		// echoes is that of an older segment (RFC 7323 4.3) and tells nothing either.
		if !selective && w.hasTS && int32(w.tsecr-c.tsNow(s.at)) < 0 || rtt < c.rtt.least() {
			return
		}
	}
	r.rtt = rtt
	if !r.any || int32(s.order-r.order) > 0 {
		r.any, r.order = true, s.order
	}
}

// reoWindow is how much later than a segment sent after it one may arrive (RFC
// 8985 6.2 step 4).
func (c *Conn) reoWindow() units.Time {
	if !c.rack.reordered && (c.ca == caRecovery || c.ca == caLoss || c.segs.sackedSegs >= DupThresh) {
		return 0
	}
	return min(units.Time(c.rack.mult)*c.rtt.least()/4, c.rtt.srtt)
}

// rackDSACK widens the reordering window once per round trip in which the peer
// reports a duplicate. As in Linux only after reordering was seen, and not for a
// tail loss probe, which no reordering causes.
func (c *Conn) rackDSACK(dsack bool) {
	r := &c.rack
	if r.dsackRound != 0 && c.una >= r.dsackRound {
		r.dsackRound = 0
	}
	if r.dsackRound == 0 && dsack && r.reordered {
		r.dsackRound = c.nxt
		r.mult = min(r.mult+1, 254)
		r.persist = reoPersist
	}
}

// rackRecovered counts a recovery that ended.
func (r *rack) recovered() {
	if r.persist > 0 {
		r.persist--
	}
	if r.persist == 0 {
		r.mult = 1
	}
}

// rackDetect marks segments that are overdue as lost (RFC 8985 6.2 step 5). It
// reports whether there were any and notes when the next will be.
func (c *Conn) rackDetect(now units.Time) (found bool) {
	r := &c.rack
	wait := c.rack.rtt + c.reoWindow()
	r.reoAt = units.Never
	var latest units.Time
	for i := c.segs.listHead(); i != none; {
		s := c.segs.at(i)
		if !r.any || int32(r.order-s.order) <= 0 {
			break
		}
		next := s.next
		if s.at+wait <= now {
			n := int64(s.len)
			if c.segs.lose(i) {
				c.acts.LossRACK.Add(now, n)
				found = true
			}
		} else {
			latest = max(latest, s.at+wait)
		}
		i = next
	}
	if latest > 0 {
		r.reoAt = latest
	}
	return found
}

// rackTimeout marks the oldest segment and those that are overdue as lost when
// the retransmission timer has expired (RFC 8985 6.3).
func (c *Conn) rackTimeout(now units.Time) {
	wait := c.rack.rtt + c.reoWindow()
	c.segs.lose(c.segs.head)
	for i := c.segs.listHead(); i != none; {
		s := c.segs.at(i)
		next := s.next
		if s.at+wait > now {
			break // the rest was sent later still
		}
		c.segs.lose(i)
		i = next
	}
}

// probeTimeout is when a tail loss probe is due (RFC 8985 7.2).
func (c *Conn) probeTimeout(now units.Time) units.Time {
	pto := 2*c.rtt.srtt + c.cfg.ProbeSlack
	if c.segs.count() == 1 {
		pto = 2*c.rtt.srtt + max(c.cfg.MaxAckDelay, c.cfg.ProbeSlack)
	}
	return now + pto
}

// probes reports whether a tail loss probe may be scheduled: nothing is known to
// be missing and no probe is out (RFC 8985 7.2).
func (c *Conn) probes() bool {
	return c.cfg.Recovery == RACK && c.sackOK && (c.ca == caOpen || c.ca == caCWR) && c.rtt.srtt > 0 &&
		c.segs.sackedSegs == 0 && c.segs.lost == 0 && c.tlpEnd == 0
}

// probeAcked ends a tail loss probe's episode (RFC 8985 7.4.2). It reports
// whether the probe repaired a loss, which then counts as congestion.
func (c *Conn) probeAcked(ack uint64, dsack, bare bool) bool {
	if c.tlpEnd == 0 || ack < c.tlpEnd {
		return false
	}
	repaired := false
	switch {
	case !c.tlpRetrans, dsack:
	case ack > c.tlpEnd:
		repaired = true
	case !bare:
		return false // the ACK of the original or of the probe: the next one tells
	}
	c.tlpEnd = 0
	return repaired
}
