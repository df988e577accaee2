package tcp

import (
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// undo is what is needed to take back a cut that turns out to be needless: nothing
// was lost, it only came late (RFC 4015, RFC 3708; Linux tcp_try_undo_recovery and
// its like).
type undo struct {
	before  congestion.Window // as it was before the cut
	from    uint64            // SND.UNA then; 0: nothing to take back
	retrans int               // segments sent again since or still out then, less those reported as duplicates
	any     bool              // there are such segments, the first sent again at the tick below
	tick    uint32            // of the timestamp clock
}

// note begins an episode whose cut can be taken back. Of earlier ones, out segments
// that were sent again are still on their way: their ACKs echo a time from before
// this episode and say nothing about it, so that the first of all counts (Linux
// tcp_init_undo, retrans_stamp).
func (u *undo) note(w *congestion.Window, una uint64, out int) {
	*u = undo{before: *w, from: una, retrans: out, any: u.any && out > 0, tick: u.tick}
}

// noteRetransmit counts a segment sent again.
func (c *Conn) noteRetransmit(now units.Time) {
	u := &c.undo
	if !u.any && c.tsOK {
		u.tick = c.tsNow(now)
	}
	u.any = true
	u.retrans++
}

// noteDSACK counts a duplicate that the peer reports: a retransmission that was not
// needed (Linux tcp_check_dsack).
func (c *Conn) noteDSACK(b packet.SACKBlock, before uint64) {
	u := &c.undo
	start, end := unwrap(b.Left, c.una), unwrap(b.Right, c.una)
	if u.from == 0 || end > before || end <= u.from {
		return
	}
	n := max(1, int((int64(end-start)+c.mss-1)/c.mss))
	u.retrans = max(u.retrans-n, 0)
}

// needless reports whether the cut was: everything sent again arrived twice (RFC
// 3708), or the ACK at hand echoes a timestamp from before the first
// retransmission (Eifel, RFC 3522).
func (c *Conn) needless(w *ackWork) bool {
	u := &c.undo
	if u.from == 0 || !u.any {
		return false
	}
	return u.retrans == 0 || c.delayed(w)
}

// delayed reports whether the ACK at hand was caused by an original that came late.
func (c *Conn) delayed(w *ackWork) bool {
	return c.undo.any && w.acked > 0 && w.hasTS && w.tsecr != 0 && int32(w.tsecr-c.undo.tick) < 0
}

// tryUndo takes the latest cut back if it was needless. What was taken for lost is
// in the network again.
func (c *Conn) tryUndo(now units.Time, w *ackWork) {
	if !c.cfg.Undo || c.ca == caCWR || !c.needless(w) {
		return
	}
	if c.ca == caRecovery && c.delayed(w) {
		c.rack.reordered = true // the hole was filled by what was only late (Linux tcp_try_undo_partial)
	}
	cwnd := c.cc.Bytes()
	if c.ca == caOpen {
		c.cc.Raise(&c.undo.before) // recovery has ended: growth goes on from where it is
	} else {
		c.cc = c.undo.before // RFC 9438 4.9.1
		c.cc.Set(max(cwnd, c.cc.Bytes()))
	}
	c.undo.from, c.recover = 0, c.una-1
	c.segs.unlose()
	c.dupAcks, c.dupBytes = 0, 0
	c.ca, c.atOnce, c.cwrQueued = caOpen, false, false
	c.backoff = 0
	c.acts.Undone.Add(now, c.cc.Bytes()-cwnd)
}

// unlose takes the marks off all segments that are lost and wait to be sent again,
// and puts them back into the list in the order of their transmissions.
func (b *scoreboard) unlose() {
	for i := b.head; i != b.tail; i++ {
		s := b.at(i)
		if !s.lost {
			continue
		}
		b.lost -= int64(s.len)
		s.lost = false
		if s.retrans { // it is in the list, and counts once
			b.retrans -= int64(s.len)
			s.retrans = false
			continue
		}
		b.insert(i)
	}
	b.resend = b.tail
}

// insert puts segment i into the list by its latest transmission.
func (b *scoreboard) insert(i uint32) {
	s := b.at(i)
	s.listed = true
	s.prev, s.next = none, b.first
	for s.next != none && int32(b.at(s.next).order-s.order) < 0 {
		s.prev, s.next = s.next, b.at(s.next).next
	}
	if s.prev == none {
		b.first = i
	} else {
		b.at(s.prev).next = i
	}
	if s.next == none {
		b.last = i
	} else {
		b.at(s.next).prev = i
	}
}
