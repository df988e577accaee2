package tcp

import (
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/units"
)

// timerKind is what the one timer of a connection waits for; these exclude each
// other.
type timerKind uint8

const (
	timerNone     timerKind = iota
	timerRTO                // retransmission (RFC 6298)
	timerProbe              // tail loss probe (RFC 8985 7)
	timerReorder            // RACK's reordering window (RFC 8985 6.2)
	timerPersist            // zero window (RFC 9293 3.8.6.1)
	timerTimeWait           // 2 MSL
)

func (k timerKind) String() string {
	return [...]string{"none", "retransmission", "tail loss probe", "reordering", "persist", "time-wait"}[k]
}

func (c *Conn) setTimer(k timerKind, at units.Time) { c.timer, c.timerAt = k, at }

// Deadline is the earliest time at which Expire has something to do.
func (c *Conn) Deadline() units.Time { return min(c.timerAt, c.delackAt) }

// Expire runs the timers due at or before now.
func (c *Conn) Expire(now units.Time) {
	if c.delackAt <= now {
		c.delackAt = units.Never
		c.ackNow = true
		c.pingpong = false // no answer came in time
	}
	if c.timerAt > now {
		return
	}
	k := c.timer
	c.setTimer(timerNone, units.Never)
	switch k {
	case timerRTO:
		c.timeout(now)
	case timerProbe:
		c.probe = true
	case timerReorder:
		flight := int64(c.nxt - c.una)
		if c.rackDetect(now) {
			c.enterRecovery(now, flight)
			c.setWindow(now, &ackWork{}, flight)
		}
		c.arm(now)
	case timerPersist:
		c.persist(now)
	case timerTimeWait:
		c.to(Closed)
		c.events |= Finished
	}
}

// arm sets the timer for what is outstanding.
func (c *Conn) arm(now units.Time) {
	switch {
	case !c.state.synchronised() || c.state == TimeWait || c.timer == timerPersist:
	case c.segs.empty():
		c.setTimer(timerNone, units.Never)
	case c.rack.reoAt != units.Never:
		c.setTimer(timerReorder, c.rack.reoAt)
	case c.probes():
		c.setTimer(timerProbe, min(c.probeTimeout(now), c.rtoBase+c.backedOff()))
	default:
		c.setTimer(timerRTO, c.rtoBase+c.backedOff())
	}
}

// timeout is the expiry of the retransmission timer (RFC 6298 5.4 to 5.7, RFC
// 5681 3.1).
func (c *Conn) timeout(now units.Time) {
	c.acts.RTO.Add(now, 0)
	limit := c.cfg.Retries
	if !c.state.synchronised() {
		limit = c.cfg.SYNRetries
	}
	if c.tries++; int(c.tries) > limit {
		c.fail(TimedOut)
		return
	}
	c.backoff = min(c.backoff+1, 31)
	if !c.state.synchronised() {
		c.synDue = true
		c.setTimer(timerRTO, now+c.backedOff())
		return
	}
	flight := int64(c.nxt - c.una)
	c.dupAcks, c.dupBytes = 0, 0
	c.tlpEnd, c.probe = 0, false
	c.rack.reoAt = units.Never
	if c.cfg.Recovery == RACK && c.sackOK {
		c.rackTimeout(now)
	} else {
		c.loseAll()
	}
	if c.ca == caOpen {
		c.cut(now, congestion.CutTimeout, flight)
	} else {
		c.acts.CutRTO.Add(now, c.cc.Bytes()-c.mss)
	}
	c.cc.Set(max(c.pipe(), 0) + c.mss)
	c.enter(caLoss)
	c.rtoBase = now
	c.arm(now)
}

// loseAll takes everything for lost that was not selectively acknowledged (RFC
// 6675 5.1).
func (c *Conn) loseAll() {
	for i := c.segs.head; i != c.segs.tail; i++ {
		c.segs.lose(i)
	}
}

// persist sends what fits into a window that stays too small, or asks for a
// larger one.
func (c *Conn) persist(now units.Time) {
	if c.tries++; int(c.tries) > c.cfg.Retries {
		c.fail(TimedOut)
		return
	}
	c.backoff = min(c.backoff+1, 31)
	c.counters.Persists++
	c.override = true
}
