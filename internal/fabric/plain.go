package fabric

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// The plain path takes a frame from its arrival at a switch to its next transmission in
// one go, where nothing is to be decided: a plain switch, an unimpaired link, a class with
// room in the buffer. Every function here reports false, and has then changed nothing,
// where any of that does not hold; the caller goes on with the slow path (arrive, forward,
// admit, enqueue; wake, start, dequeue, release, transmit), which serves every port and is
// always right. Both leave the same records, to the last bit: TestPlainPath runs random
// networks with and without.
//
// Why it is fast. A hop costs about as many cache lines as the packet, its event, two
// ports, a queue and a buffer account have, and a cell has fetched these for earlier
// frames; what is left is instructions, and branches that a processor guesses wrong.
//
//   - Whatever can be known of a switch or a port beforehand is one bit, looked at once.
//   - The memory is asked one question: does anything but "admitted" come of the frame, or
//     is there anything to note (mmu, Quiet)?
//   - Three frames in five find their port idle. They never enter its queue: what they
//     would take of the buffer and the queue they give back in the same instant, so that
//     only peaks and counts are left of it, and there is no wake-up to schedule.
//   - A port with one class waiting starts its head and asks for the next wake-up without
//     going through the scheduler, the gates and the link's own frames.
//   - What one step of the slow path stores and the next loads stays in registers.
//
// Bounds checks stay: without them a tenth of the instructions goes and none of the time.

// isPlain reports whether frames may take the plain path through a switch.
func (s *swtch) isPlain() bool {
	return !s.credited && !s.cutThrough && s.maxFrame == 0 && !s.markAtEnqueue && s.hashes() && s.moves == nil &&
		s.bounce == nil && s.hoqLife == 0 && s.packetLife == 0
}

// hashes reports whether its own hash chooses among equal ports.
func (s *swtch) hashes() bool { return s.balancer == nil && s.hash.Kind == HashOwn }

// isDirect reports whether frames may go straight through a switch whose links have
// credits.
func (s *swtch) isDirect() bool {
	return s.credited && s.hashes() && s.moves == nil && s.hoqLife == 0 && s.packetLife == 0
}

// way returns the local port by which a plain or direct switch sends a frame on; ok is false
// where the slow path must look: the frame has no hops left, as those of a link's own have
// none, its route is pinned, or there is none.
func (s *swtch) way(pk *packet.Packet) (local uint16, ok bool) {
	member, ways := topology.Unpack(s.routes.to(pk.Dst))
	if pk.TTL <= 1 || pk.Flags&packet.Pinned != 0 || ways == 0 {
		return 0, false
	}
	if ways > 1 {
		member += ECMP(pk.Hash, s.salt, ways)
	}
	return s.members[member], true
}

// plainArrive forwards a frame that arrives at port i, whose plain bit is set.
func (n *Net) plainArrive(now units.Time, i int, p *Port, slot uint32) bool {
	pk := n.part.Rec(slot)
	sw := &n.switches[p.node]
	local, ok := sw.way(pk)
	if !ok || sw.waiting > 0 { // of candidates the slow path takes care
		return false
	}
	e := sw.base + int(local)
	c := sw.class(pk) & (Classes - 1)
	out, q := &n.ports[e], &n.queues[c][e]
	size := int32(pk.Frame)
	m := &sw.memory
	g := m.Group(int(p.local), int(c))
	cells := m.Cells(pk.Frame)
	accounted := sw.unaccounted>>c&1 == 0
	if pk.ECN == packet.NotECT && q.bytes+size > q.kmin {
		return false
	}
	if accounted && !(g.Quiet(cells) && (!g.QueuesBind() || m.QuietQueue(g, int(local), cells))) && !m.Calm(now, g, int(local), cells) {
		return false
	}

	n.fingerprint += arrivalHash(now, p.id, pk.Frame)
	n.part.NoteWork()
	n.arrived = now
	pk.TTL--
	pk.In, pk.Out, pk.Class = p.local, local, c
	if pk.DSCP&packet.Stamped != 0 {
		n.StampIn(now, e, pk)
	}
	if out.ready|out.shut&(1<<c) == 0 && !out.control && out.idle(now) {
		// It joins the queue and leaves it in one instant. That the queue is empty has been noted.
		q.last = now
		if size > q.peak {
			q.peak = size
			n.cold[e].peakAt[c] = now
		}
		q.sent.Packets++
		q.sent.Bytes += int64(size)
		n.plainTransmit(now, e, out, pk, slot)
		return true
	}
	if accounted && !m.Keep(g, int(local), cells) {
		n.part.Bug("%s: %s", sw.name, m.Broken(g, m.Queue(g, int(local))))
	}
	n.enqueue(now, e, out, q, pk, slot)
	if out.wakeAt != out.freeAt || now == out.freeAt { // else it looks as soon as it can
		n.startOrWait(now, e, out)
	}
	return true
}

// plainWake starts the next frame of port i, whose transmitter is free and whose plain bit
// is set.
func (n *Net) plainWake(now units.Time, i int, p *Port) bool {
	c := uint8(bits.TrailingZeros8(p.ready)) & (Classes - 1)
	if p.ready != 1<<c || p.shut != 0 || p.control || p.contended {
		return false
	}
	sw := &n.switches[p.node]
	if sw.waiting > 0 {
		return false
	}
	q := &n.queues[c][i]
	slot := q.head
	pk := n.part.Rec(slot)
	if sw.unaccounted>>c&1 == 0 {
		m := &sw.memory
		g := m.Group(int(pk.In), int(c))
		if !m.GiveBack(g, int(p.local), m.Cells(pk.Frame)) {
			return false
		}
	}
	q.head = pk.Next
	q.integrate(now)
	q.bytes -= int32(pk.Frame)
	q.least = min(q.least, q.bytes)
	q.sent.Add(pk)
	if q.bytes > q.kmin {
		n.mark(now, sw, i, c, q.bytes, pk)
	}
	n.plainTransmit(now, i, p, pk, slot)
	if q.head == 0 {
		p.ready = 0
		return true
	}
	p.wakeAt = p.freeAt
	n.part.At(p.freeAt, sim.Order(p.freeAt-now, p.source+uint32(p.ports)), sim.MakeRef(evWake|uint32(i), 0))
	return true
}

// plainTransmit is transmit for a port of a plain switch.
func (n *Net) plainTransmit(now units.Time, i int, p *Port, pk *packet.Packet, slot uint32) {
	var tx units.Time
	if b := pk.Frame + uint32(p.overhead); p.psByte != 0 {
		tx = timeOf(b, p.psByte)
	} else {
		tx = n.txTime(p, b)
	}
	p.startAt = now
	p.freeAt = now + tx
	p.lastClass = pk.Class
	d := tx + p.lead
	if p.header != 0 {
		d = n.way(now, i, p, tx)
	} else if p.jittered {
		d = n.jitters[i].late(now, tx, d, 0)
	}
	n.hops++
	n.plainHops++
	side := uint32(0)
	if pk.DSCP&packet.Stamped != 0 {
		side = n.leave(now, i, p, pk)
	}
	n.part.Send(int(p.peerPart), p.peerCell, now+d, sim.Order(d, p.source), evArrive|p.peerPort, slot, side)
}

// plainCredited takes a frame that has arrived at port i, whose direct bit is set, straight
// through, where its next port is idle and has the credits. The input buffer is left in
// the instant in which it was entered.
func (n *Net) plainCredited(now units.Time, i int, p *Port, pk *packet.Packet, slot uint32) bool {
	vl := pk.Class & (Classes - 1)
	if n.credits[vl][i].size > MaxCredits {
		return false
	}
	sw := &n.switches[p.node]
	local, ok := sw.way(pk)
	if !ok {
		return false
	}
	e := sw.base + int(local)
	c := sw.outVL(p.local, local, pk.SL()) & (Classes - 1)
	out, q := &n.ports[e], &n.queues[c][e]
	size := int32(pk.Frame)
	if e == i || out.ready|out.shut != 0 || out.control || out.contended || !out.idle(now) ||
		sw.cutThrough && out.rate > p.rate || sw.markAtEnqueue && size > q.kmin || !n.fits(now, e, c, pk.Frame) {
		return false
	}

	n.takeIn(now, i, pk)
	pk.TTL--
	pk.In, pk.Out = p.local, local
	pk.SetVL(pk.Class)
	pk.Class = c
	if pk.DSCP&packet.Stamped != 0 {
		n.StampIn(now, e, pk)
	}
	q.last = now
	if size > q.peak {
		q.peak = size
		n.cold[e].peakAt[c] = now
	}
	q.sent.Add(pk)
	n.leaveInput(now, sw, e, c, pk)
	again := out.control // something of the link's own behind it
	n.plainHops++
	n.transmit(now, e, out, slot)
	if again {
		n.wakeAt(out, e, out.freeAt, out.freeAt-now, 0)
	}
	return true
}
