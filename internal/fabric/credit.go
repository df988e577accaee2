package fabric

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// Credits count blocks modulo 4096, and a flow-control packet grants at most half
// of that (IBTA 7.9.4; models.md 6.1).
const (
	creditMask  = 4095
	MaxCredits  = 2048  // blocks that a flow-control packet can grant
	symbolTimes = 65536 // a symbol is a byte on one lane
)

// Blocks is how many credits a packet of so many bytes takes.
func Blocks(frame uint32) uint32 { return (frame + wire.CreditBlock - 1) / wire.CreditBlock }

// CreditParams describes a port's input buffers, one per VL.
type CreditParams struct {
	Blocks [Classes]uint16 // size of each; at most MaxCredits are ever granted
	// Update is how many blocks must have been freed before a flow-control packet
	// says so at once; fewer are told of within 65,536 symbol times.
	Update [Classes]uint16
	Wait   WaitTick // unit of PortXmitWait
	// Endless has the buffers take whatever comes: the peer sends as if it always had
	// credits, which flow-control packets still count.
	Endless bool
}

// WaitTick is the unit in which a generation of devices counts PortXmitWait (NVIDIA's
// ibdiagnet manual 2.13).
type WaitTick uint8

// The units.
const (
	TickQuantum  WaitTick = iota // Quantum to Quantum-3: the time of 8 bytes at the port's rate
	TickSwitchIB                 // SwitchX, Switch-IB, Switch-IB 2: of 32 bytes on one lane
)

func (t WaitTick) String() string { return [...]string{"quantum", "switch-ib-2"}[t] }

// Bits is how many bits a port would send within one unit, on all its lanes.
func (t WaitTick) Bits(lanes int) uint64 {
	if t == TickSwitchIB {
		return 32 * 8 * uint64(lanes)
	}
	return 8 * 8
}

// count is how many whole units a time at a rate has.
func (t WaitTick) count(d units.Time, rate units.Rate, lanes int) int64 {
	hi, lo := bits.Mul64(uint64(d), uint64(rate))
	n, _ := bits.Div64(hi, lo, uint64(units.Second)*t.Bits(lanes))
	return int64(n)
}

// UpdateInterval is the longest time for which a port keeps to itself that
// something changed: 65,536 symbol times (IBTA 7.9.4.1).
func UpdateInterval(r units.Rate, lanes int) units.Time {
	return r.TxTimeLong(symbolTimes * units.Bytes(lanes))
}

// creditState is one VL of one port: as the sender that counts what it may
// still send, and as the receiver that counts what its input buffer holds.
type creditState struct {
	sent     uint16 // FCTBS: blocks sent
	limit    uint16 // FCCL of the latest flow-control packet
	received uint16 // ABR: blocks received
	missed   uint16 // blocks that the link lost; the peer's next FCTBS puts ABR right
	toldSent uint16 // in the latest flow-control packet we sent
	told     uint16
	size     uint16 // of the input buffer, in blocks
	occupied uint16
	peak     uint16
	update   uint16
	active   bool // something was sent or received
	endless  bool // the input buffer takes whatever comes
	free     bool // the peer's does: no credits are needed
	starved  record.Act
	updates  int64 // flow-control packets sent, repeats apart
	arrived  Sent
	least    uint16 // credits left when there were fewest, and when
	leastAt  units.Time
}

// grant is FCCL: how far the peer may send.
func (s *creditState) grant() uint16 {
	free := min(s.size-s.occupied, MaxCredits)
	if mutantExtraCredit {
		free++
	}
	return (s.received + free) & creditMask
}

// news reports whether something has changed since the latest flow-control packet.
func (s *creditState) news() bool { return s.grant() != s.told || s.sent != s.toldSent }

// fits answers the gate's question: may a packet of this size of class c start
// now? A link that is down takes everything, and loses it.
func (n *Net) fits(now units.Time, i int, c uint8, frame uint32) bool {
	if mutantSharedLane && c != 0 && !n.fits(now, i, 0, frame) {
		return false
	}
	s := &n.credits[c][i]
	if s.free {
		return true
	}
	left := (s.limit - s.sent - uint16(Blocks(frame))) & creditMask
	return left <= MaxCredits || n.ports[i].impaired && n.cold[i].impair.failed(now)
}

// MayStart reports whether host port i may send a packet of so many bytes of
// class c now; if not, the class is shut until credits come.
func (n *Net) MayStart(now units.Time, i int, c uint8, frame uint32) bool {
	if n.fits(now, i, c, frame) {
		return true
	}
	n.starve(now, i, c)
	return false
}

func (n *Net) starve(now units.Time, i int, c uint8) {
	n.credits[c][i].starved.Add(now, 0)
	n.closeGate(now, i, c)
	n.cold[i].waitFrom = min(n.cold[i].waitFrom, max(now, n.ports[i].freeAt))
}

// spend counts a packet that port i starts in class c, and shuts the class if
// what stands behind it in a switch's queue does not fit.
func (n *Net) spend(now units.Time, i int, c uint8, frame uint32) {
	s := &n.credits[c][i]
	s.sent = (s.sent + uint16(Blocks(frame))) & creditMask
	s.active = true
	if left := (s.limit - s.sent) & creditMask; left < s.least && !s.free {
		s.least, s.leastAt = left, now
	}
	n.tellLater(now, i)
	if n.ports[i].node >= 0 {
		n.checkHead(now, i, c)
	}
}

// checkHead shuts the open class c of switch port i if the head of its queue
// does not fit.
func (n *Net) checkHead(now units.Time, i int, c uint8) {
	if head := n.queues[c][i].head; head != 0 && !n.fits(now, i, c, n.part.Rec(head).Frame) {
		n.starve(now, i, c)
	}
}

// headFrame is the size of what class c of port i would send next; 0: nothing.
func (n *Net) headFrame(i int, c uint8) uint32 {
	if p := &n.ports[i]; p.node < 0 {
		return n.hosts[^p.node].HeadFrame(int(p.local), c)
	}
	if head := n.queues[c][i].head; head != 0 {
		return n.part.Rec(head).Frame
	}
	return 0
}

// reopen opens the classes of port i whose head fits by now, or that have
// nothing to send any more. It reports whether there was one.
func (n *Net) reopen(now units.Time, i int) (opened bool) {
	for v := n.ports[i].shut; v != 0; v &= v - 1 {
		c := uint8(bits.TrailingZeros8(v))
		if frame := n.headFrame(i, c); frame == 0 || n.fits(now, i, c, frame) {
			n.openGate(now, i, c)
			opened = true
			switch {
			case n.ports[i].shut != 0:
			case frame == 0:
				n.cold[i].waitFrom = units.Never
			default: // what keeps a host from sending now is not credits
				n.countWait(now, i, &n.ports[i])
			}
		}
	}
	return opened
}

// takeIn puts a packet that arrived at port i into the input buffer of its VL. Where
// that is larger than what may be granted at once, the grant moves on: it reports
// whether a flow-control packet is due.
func (n *Net) takeIn(now units.Time, i int, pk *packet.Packet) (due bool) {
	c := pk.Class & (Classes - 1)
	s := &n.credits[c][i]
	b := uint16(Blocks(pk.Frame))
	s.received = (s.received + b) & creditMask
	s.active = true
	s.arrived.Add(pk)
	if s.endless {
		n.tellLater(now, i)
		return false
	}
	s.occupied += b
	s.peak = max(s.peak, s.occupied)
	if s.occupied > s.size {
		n.part.Bug("%s VL %d: %d blocks in an input buffer of %d: more was sent than there were credits for", n.cold[i].name, pk.Class, s.occupied, s.size)
	}
	if sw := n.ports[i].node; sw >= 0 && s.inputFull(pk) {
		n.noteFill(now, &n.switches[sw], i, c)
	}
	return s.size > MaxCredits && n.updateDue(now, i, c)
}

// GiveBack returns the room of a packet that has left the input buffer of VL c
// of port i, and tells the peer when enough has become free.
func (n *Net) GiveBack(now units.Time, i int, c uint8, frame uint32) {
	if n.giveBack(now, i, c, frame) {
		n.kick(now, i)
	}
}

// giveBack is GiveBack without looking whether the transmitter is free. It reports
// whether a flow-control packet is due.
func (n *Net) giveBack(now units.Time, i int, c uint8, frame uint32) bool {
	s := &n.credits[c&(Classes-1)][i]
	if s.endless {
		return false
	}
	b := uint16(Blocks(frame))
	if mutantLostBlock {
		b--
	}
	if b > s.occupied {
		n.part.Bug("%s VL %d: %d blocks leave an input buffer that holds %d", n.cold[i].name, c, b, s.occupied)
	}
	s.occupied -= b
	return n.updateDue(now, i, c)
}

// updateDue reports whether the grant of VL c of port i has moved on far enough for a
// flow-control packet at once; if not, one comes within 65,536 symbol times.
func (n *Net) updateDue(now units.Time, i int, c uint8) bool {
	if s := &n.credits[c][i]; (s.grant()-s.told)&creditMask < s.update {
		n.tellLater(now, i)
		return false
	}
	p := &n.ports[i]
	p.want |= 1 << c
	p.control = true
	return true
}

// Timers of flow-control packets, as low words of evRefresh.
const (
	creditNews   = 0
	creditRepeat = 1
)

// leaveInput frees the input buffer of a packet that port i of a switch starts. If
// it came in by that very port (new tables may send it back), the flow-control packet
// goes behind it.
func (n *Net) leaveInput(now units.Time, sw *swtch, i int, c uint8, pk *packet.Packet) {
	if n.lives[c] != nil {
		n.left(now, sw, i, c)
	}
	if in := sw.base + int(pk.In); n.giveBack(now, in, pk.VL(), pk.Frame) && in != i {
		n.kick(now, in)
	}
}

// tellLater makes sure that the peer of port i hears of a change within 65,536
// symbol times. A link that may lose flow-control packets repeats them from its
// first change on (one that fails: from then on), for ever: that keeps no run alive.
func (n *Net) tellLater(now units.Time, i int) {
	p := &n.ports[i]
	if p.armed {
		return
	}
	p.armed = true
	n.creditTimer(now, i, creditNews, 0)
	if p.impaired && n.cold[i].impair.loses() {
		n.repeatCredits(now, i)
	}
}

// repeatCredits has port i repeat its flow-control packets from now on.
func (n *Net) repeatCredits(now units.Time, i int) {
	if k := &n.cold[i]; !k.repeating {
		k.repeating = true
		n.creditTimer(now, i, creditRepeat, sim.Background)
	}
}

func (n *Net) creditTimer(now units.Time, i int, kind uint32, background sim.Ref) {
	p, d := &n.ports[i], n.cold[i].updateInterval
	n.part.At(now+d, sim.Order(d, p.source+2*uint32(p.ports)), background|sim.MakeRef(evRefresh|uint32(i), kind))
}

// refreshCredits sends flow-control packets for the VLs of port i of which the
// peer does not know the latest, or repeats those of all in use.
func (n *Net) refreshCredits(now units.Time, i int, kind uint32) {
	p := &n.ports[i]
	if kind == creditRepeat {
		n.creditTimer(now, i, creditRepeat, sim.Background)
	} else {
		p.armed = false
	}
	for c := range uint8(Classes) {
		if s := &n.credits[c][i]; s.news() || kind == creditRepeat && s.active {
			p.want |= 1 << c
		}
	}
	if p.want != 0 {
		p.control = true
		n.kick(now, i)
	}
}

// creditFrame returns a flow-control packet with the state of the lowest VL of
// port i that has something to tell, or 0.
func (n *Net) creditFrame(now units.Time, i int) uint32 {
	p := &n.ports[i]
	if p.want == 0 {
		p.control = false
		return 0
	}
	c := uint8(bits.TrailingZeros8(p.want))
	p.want &^= 1 << c
	p.control = p.want != 0
	s := &n.credits[c][i]
	flags := uint8(0)
	if s.news() {
		s.told, s.toldSent = s.grant(), s.sent
		s.updates++
	} else {
		flags = packet.Retrans
		n.repeats++
	}
	n.linkFrames++
	slot := n.part.Alloc()
	*n.part.Rec(slot) = packet.Packet{
		Kind: packet.Credit, Class: c, Frame: uint32(n.cold[i].wire.Control), Flags: flags,
		Payload: uint32(s.sent) | uint32(s.told)<<12,
	}
	return slot
}

// receiveCredit takes a flow-control packet in: what the peer has sent puts our
// count of what arrived right, and its limit may open the gate.
func (n *Net) receiveCredit(now units.Time, i int, slot uint32) {
	pk := n.part.Rec(slot)
	c, limit := pk.Class&(Classes-1), uint16(pk.Payload>>12)&creditMask
	n.creditGone(pk)
	n.part.Free(slot)
	s := &n.credits[c][i]
	s.limit = limit
	if s.missed != 0 {
		s.received = (s.received + s.missed) & creditMask
		s.missed = 0
		n.tellLater(now, i)
	}
	if n.ports[i].shut != 0 && n.reopen(now, i) {
		n.kick(now, i)
	}
}

// creditGone counts a flow-control packet that arrived or was lost.
func (n *Net) creditGone(pk *packet.Packet) {
	n.linkFrames--
	if pk.Flags&packet.Retrans != 0 {
		n.repeats--
	}
}

// releaseDown lets what waits at a port whose link has gone down go, to be lost, as flow-control packets are.
func (n *Net) releaseDown(now units.Time, i int) {
	n.repeatCredits(now, i)
	if n.reopen(now, i) {
		n.kick(now, i)
	}
}

// startCredited books that port i starts a frame.
func (n *Net) startCredited(now units.Time, i int, p *Port, pk *packet.Packet) {
	if pk.Kind.Link() {
		p.lastClass = Classes // none: its Class is the VL that it is about
		return
	}
	n.countWait(now, i, p)
	n.cold[i].dataEnd = p.freeAt
	n.spend(now, i, pk.Class, pk.Frame)
}

// countWait counts the time for which port i had something to send and sent
// nothing, for want of credits: up to now, where a transmission begins or the run
// ends. What could start would have, as soon as the packet before was through.
func (n *Net) countWait(now units.Time, i int, p *Port) {
	k := &n.cold[i]
	if k.waitFrom == units.Never {
		return
	}
	k.xmitWait += max(0, now-max(k.waitFrom, k.dataEnd))
	if p.shut == 0 {
		k.waitFrom = units.Never
	}
}

// setCredits gives port i its input buffers, and what its peer granted while the
// link came up.
func (n *Net) setCredits(i int, own, peer *CreditParams) {
	n.cold[i].updateInterval = UpdateInterval(n.cold[i].nominal, n.cold[i].lanes)
	for c := range n.credits {
		n.credits[c] = append(n.credits[c], make([]creditState, i-len(n.credits[c]))...) // of ports of other networks
		s := creditState{size: own.Blocks[c], update: own.Update[c], limit: min(peer.Blocks[c], MaxCredits), endless: own.Endless, free: peer.Endless}
		s.told, s.least = s.grant(), s.limit
		n.credits[c] = append(n.credits[c], s)
	}
}

// Untold counts the ports of which the peer has still to hear, or that have
// still to hear of it. Only a consistent cut tells.
func (n *Net) Untold() (ports int) {
	if n.credits[0] == nil {
		return 0
	}
	for i := range n.ports {
		if p := &n.ports[i]; p.credited && (p.armed || p.want != 0 || p.impaired && n.disagree(i)) {
			ports++
		}
	}
	return ports
}

// disagree reports whether losses have left the two ends of port i's link with
// different counts. A link that goes down leaves them so.
func (n *Net) disagree(i int) bool {
	p := &n.ports[i]
	if len(n.cold[i].impair.outages) > 0 {
		return false
	}
	for c := range n.credits {
		s, peer := &n.credits[c][i], &n.peers[p.peerPart].credits[c][p.peerPort]
		if s.missed != 0 || s.limit != peer.told {
			return true
		}
	}
	return false
}

// Repeats counts the flow-control packets in flight that say nothing new.
func (n *Net) Repeats() int64 { return n.repeats }

// checkCredits panics unless the input buffers are empty and both ends of each
// link agree: called when no packet is alive and no peer has anything to tell.
// What is granted and not used is then all of the peer's buffer.
func (n *Net) checkCredits() {
	for c := range n.credits {
		for i := range n.credits[c] {
			s, p := &n.credits[c][i], &n.ports[i]
			if !p.credited {
				continue
			}
			if s.occupied != 0 {
				n.part.Bug("%s VL %d: %d blocks in its input buffer but no packet is alive", n.cold[i].name, c, s.occupied)
			}
			peer := &n.peers[p.peerPart].credits[c][p.peerPort]
			if left := (s.limit - s.sent) & creditMask; !p.impaired && left != min(peer.size, MaxCredits) {
				n.part.Bug("%s VL %d: %d credits left at rest, and the peer's buffer has %d blocks", n.cold[i].name, c, left, peer.size)
			}
		}
	}
}
