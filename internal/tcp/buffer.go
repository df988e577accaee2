package tcp

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// rcvSpace is the receiver's side of autotuning: dynamic right-sizing (Fisk and
// Feng, 2001) as Linux has it (tcp_rcv_space_adjust, tcp_grow_window).
type rcvSpace struct {
	limit int64      // the most that is advertised so far (rcv_ssthresh)
	bytes int64      // the most that the application read in a round trip
	read  uint64     // what had been read when this one began, at time at
	at    units.Time //
	rtt   units.Time // as the receiver sees it; 0: unknown
	seq   uint64     // a window's worth from seqAt ends here; 0: none was begun
	seqAt units.Time
}

// firstWindow is what the SYN of a side advertises whose segments carry mss bytes:
// whole segments, as Linux has it (tcp_select_initial_window), and no more than the
// unscaled field can say.
func (c *Conn) firstWindow(mss int64) int64 {
	n := min(c.rcvBuf, 65535)
	if n > mss {
		n -= n % mss
	}
	return n
}

// initBuffers sizes the buffers when the connection is established.
func (c *Conn) initBuffers(now units.Time) {
	if c.cfg.Send.Max > c.cfg.Send.Initial {
		c.growSend(int64(c.cfg.CC.InitialWindow))
	}
	limit := int64(c.rcvAdv - c.rcvNxt)
	if first := min(c.cfg.FirstWindow, c.cfg.Receive.Max); first > 0 {
		c.rcvBuf = max(c.rcvBuf, first)
		limit = first
	}
	if c.autotunes() && c.cfg.FirstWindow == 0 {
		// A segment of the buffer is kept back (tcp_init_buffer_space) until the first
		// one comes: what the first window brings is then more than was expected, and
		// the buffer grows.
		limit = min(limit, max(c.rcvBuf-c.mss, 2*c.mss))
	}
	c.space = rcvSpace{limit: limit, read: c.read, at: now}
	c.space.bytes = min(limit, int64(c.cfg.CC.InitialWindow)*c.mss)
}

// autotunes reports whether the receive buffer grows.
func (c *Conn) autotunes() bool { return c.cfg.Receive.Max > c.cfg.Receive.Initial }

// segmentMemory is what Linux reckons a segment in the send buffer takes: payload
// and headers rounded up to a power of two, and the sk_buff (tcp_sndbuf_expand).
func (c *Conn) segmentMemory() int64 {
	const overhead, skb = 640, 256
	return 1<<bits.Len64(uint64(c.mss+overhead-1)) + skb
}

// growSend enlarges the send buffer to twice a window of n segments.
func (c *Conn) growSend(n int64) {
	c.sndBuf = min(max(c.sndBuf, 2*n*c.segmentMemory()), c.cfg.Send.Max)
}

// wakeWriter enlarges the send buffer if it, and not the window, is what limits
// (tcp_should_expand_sndbuf), and says when a blocked writer may go on: with a
// third of the buffer free (sk_stream_is_writeable).
func (c *Conn) wakeWriter() {
	if !c.blocked {
		return
	}
	if c.cfg.Send.Max > c.sndBuf && c.pipe() < c.cc.Bytes() {
		c.growSend(max(c.cc.Bytes()/c.mss, int64(c.cfg.CC.InitialWindow)))
	}
	if free := c.sndBuf - c.queued(); free >= c.queued()/2 && free > 0 {
		c.blocked = false
		c.events |= Writable
	}
}

// growWindow opens the advertised window by two segments per segment received, up
// to the buffer, and to what the header can say.
func (c *Conn) growWindow(p *packet.Packet) {
	most := min(c.rcvBuf, int64(65535)<<c.rcvScale)
	if s := &c.space; s.limit < most {
		s.limit = min(s.limit+2*c.mss*int64(Segments(p)), most)
		if c.cfg.AckOnGrowth {
			c.quick |= 1
		}
	}
}

// timeReceiver measures the receiver's round trip by a segment in order: by its
// timestamp's echo, or by a window's worth of data, which takes a round trip at least
// (tcp_rcv_rtt_measure_ts, tcp_rcv_rtt_measure).
func (c *Conn) timeReceiver(now units.Time, p *packet.Packet) {
	s := &c.space
	if !c.autotunes() {
		return
	}
	if c.tsOK && p.DMALen&segTimestamps != 0 && int64(p.Payload) >= c.rcvMSS {
		if echo := uint32(p.VA); echo != 0 {
			c.receiverRTT(units.Time(max(int32(c.tsNow(now)-echo), 1)) * c.cfg.TimestampTick)
		}
		return
	}
	if c.tsOK || c.rcvNxt < s.seq {
		return
	}
	if r := max(now-s.seqAt, 1); s.seq != 0 && (s.rtt == 0 || r < s.rtt) {
		s.rtt = r
	}
	s.seq, s.seqAt = c.rcvNxt+max(c.rcvAdv-c.acked, 1), now // as much as was told of last, from here on
}

// receiverRTT averages over eight samples (tcp_rcv_rtt_update).
func (c *Conn) receiverRTT(r units.Time) {
	if c.space.rtt == 0 {
		c.space.rtt = r
		return
	}
	c.space.rtt += (r - c.space.rtt) / 8
}

// adjustSpace enlarges the receive buffer when the application read more in a
// round trip than in any before: to twice that and 16 segments, and further by
// twice the relative growth (tcp_rcv_space_adjust).
func (c *Conn) adjustSpace(now units.Time) {
	s := &c.space
	if s.rtt == 0 || now-s.at < s.rtt {
		return
	}
	if n := int64(c.read - s.read); n > s.bytes {
		win := 2*n + 16*c.mss
		win += 2 * mulDiv(win, n-s.bytes, s.bytes)
		c.rcvBuf = max(c.rcvBuf, min(win, c.cfg.Receive.Max))
		s.bytes = n
	}
	s.read, s.at = c.read, now
}

// freeWindow is how far past RCV.NXT the window may reach.
func (c *Conn) freeWindow() int64 { return max(min(c.rcvBuf-c.readable(), c.space.limit), 0) }

// advertise moves the right edge of the receive window. The edge never moves left,
// and only in steps of half the buffer or a full segment (RFC 9293 3.8.6.2.2, 3.8.6.3).
func (c *Conn) advertise(at units.Time) {
	unit := int64(1) << c.rcvScale
	most := min(int64(65535)<<c.rcvScale, MaxWindow)
	now := int64(c.rcvAdv - c.rcvNxt)
	if c.rcvAdv < c.rcvNxt {
		now = 0
	}
	free := min(c.freeWindow(), most) &^ (unit - 1)
	if free-now >= min(c.rcvBuf/2, c.mss) {
		now = free
	}
	now = (now + unit - 1) &^ (unit - 1)
	if now == 0 && c.rcvAdv > c.acked {
		c.counters.ZeroWindows++
	}
	if edge := c.rcvNxt + uint64(now); edge != c.rcvAdv {
		c.rcvAdv, c.toldAt = edge, at
	}
}

// noteUnheard counts a segment of a sender that does not know of the room it was
// told of two round trips ago: the update was lost. It is a zero-window probe, or
// data in order that a window cut short: less than a full segment, and not the last
// of what was written.
func (c *Conn) noteUnheard(now units.Time, p *packet.Packet, seq uint64) {
	probe := p.Payload == 0 && seq+1 == c.rcvNxt
	short := p.Payload > 0 && seq == c.rcvNxt && int64(p.Payload) < c.rcvMSS && p.Opcode&PSH == 0 && SegmentSize(p) == 0
	if !probe && !short || p.Opcode&(SYN|FIN|RST) != 0 || now-c.toldAt <= 2*c.rtt.srtt {
		return
	}
	if int64(c.rcvAdv-c.rcvNxt) >= c.rcvMSS {
		c.counters.UpdatesLost++
	}
}

// windowUpdate reports whether what was read is worth telling the peer: the
// window at least doubles, from half of what it could be or less (Linux
// tcp_cleanup_rbuf).
func (c *Conn) windowUpdate() bool {
	now := max(int64(c.rcvAdv-c.rcvNxt), 0)
	free := c.freeWindow()
	return 2*now <= min(c.rcvBuf, c.space.limit) && free >= 2*now && free-now >= min(c.rcvBuf/2, c.mss)
}
