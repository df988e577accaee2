package tcp

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// Peer is what an end that is connected ahead has to know of the other.
type Peer struct {
	Config *Config
	ISS    uint32     // its initial sequence number
	RTT    units.Time // that of the handshake, at least 1 ps: the first sample of the round trip
}

// Connect makes a closed c established at time now, as if it had been opened
// before: the handshake with the peer is carried through in no time, the one
// sample of the round trip apart, and neither counted nor told of as an event.
// active says which side opened.
func (c *Conn) Connect(now units.Time, iss uint32, active bool, peer Peer) {
	other := new(Conn)
	other.Init(peer.Config, packet.Packet{})
	if active {
		other.Listen()
		c.Open(now, iss)
	} else {
		c.Listen()
		other.Open(now, peer.ISS)
	}
	var p packet.Packet
	for moved := true; moved; {
		moved = false
		for why, _ := c.Poll(now, &p); why == Sent; why, _ = c.Poll(now, &p) {
			other.Receive(now, &p, nil, peer.ISS)
			moved = true
		}
		for why, _ := other.Poll(now, &p); why == Sent; why, _ = other.Poll(now, &p) {
			c.Receive(now, &p, nil, iss)
			moved = true
		}
	}
	if c.state != Established {
		panic("tcp: BUG: a handshake without loss ended in " + c.state.String())
	}
	if c.cfg.FirstWindow > 0 || peer.Config.FirstWindow > 0 { // each has told the other meanwhile
		c.advertise(now)
		other.advertise(now)
		c.wnd = max(c.wnd, int64(other.rcvAdv-other.rcvNxt))
		c.maxWnd = max(c.maxWnd, c.wnd)
	}
	c.rtt.init(c.cfg)
	c.rtt.sample(peer.RTT)
	c.rtt.min = min(c.rtt.min, peer.RTT)
	c.acts, c.counters = Acts{}, Counters{}
	c.quick = c.cfg.QuickAcks
	c.TakeEvents()
}

// InOrder is the payload that has arrived in order so far, in bytes.
func (c *Conn) InOrder() int64 { return c.counters.Delivered }

// ReceivedAt is where in the peer's stream the payload of a segment begins, from 0, and SentAt where in this side's
// that of a segment polled does.
func (c *Conn) ReceivedAt(p *packet.Packet) int64 { return int64(unwrap(p.PSN, c.rcvNxt) - c.irs - 1) }

// SentAt: see ReceivedAt.
func (c *Conn) SentAt(p *packet.Packet) int64 { return int64(unwrap(p.PSN, c.una) - c.iss - 1) }

// CameAhead counts the segments that came ahead of a missing one and were kept.
func (c *Conn) CameAhead() int64 { return c.counters.OutOfOrder }

// Losses counts how often segments were taken for lost so far: by acknowledgements,
// by time and by expiries of the retransmission timer.
func (c *Conn) Losses() int64 {
	return c.acts.LossDupAck.Count + c.acts.LossRACK.Count + c.acts.RTO.Count
}

// Outstanding is how much was sent and not acknowledged, selectively either, in sequence
// numbers.
func (c *Conn) Outstanding() int64 { return int64(c.nxt-c.una) - c.segs.sacked }

// Scaled reports whether the ends agreed on window scaling (RFC 7323 2.2).
func (c *Conn) Scaled() bool { return c.scaled }

// Probing reports whether a tail loss probe is outstanding.
func (c *Conn) Probing() bool { return c.tlpEnd != 0 }

// DeferredBy says which window it is that TSO deferral waits for: Cwnd or
// ReceiveWindow, whichever lets less out.
func (c *Conn) DeferredBy() Reason {
	if int64(c.una)+c.wnd-int64(c.nxt) < c.cc.Bytes()-c.pipe() {
		return ReceiveWindow
	}
	return Cwnd
}
