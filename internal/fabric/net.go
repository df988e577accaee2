package fabric

import (
	"math"
	"math/bits"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/units"
)

// Part is the partition a Net lives on.
type Part = sim.Part[packet.Packet]

// Net is the fabric of one partition: all its ports, queues and switches in
// flat arrays, and the handler of its events.
type Net struct {
	part     *Part
	quantum  units.Time
	ports    []Port
	queues   [Classes][]queue       // per class, then per port: the classes in use lie dense
	cold     []portCold             // per port
	gates    perClass[gate]         // when classes were shut, and how long
	pauses   perClass[pauseState]   // what the peer makes us do, and we it
	lives    [Classes][]lifetime    // of the heads of queues; empty without lifetime limits
	credits  [Classes][]creditState // likewise on InfiniBand; empty on Ethernet
	sched    []Scheduler            // per port
	jitters  []jitter               // likewise; those that delay nothing are not asked
	rivals   perClass[rival]        // of switch ports; see candidate
	switches []swtch
	tables   map[*uint32]routes // those that switches share, by where they stand; looked up, never iterated
	hosts    []Host
	pins     []Pin

	fingerprint uint64
	hops        int64
	plainHops   int64  // those of frames on the plain path
	sink        uint32 // keeps warm's reads alive

	// Warming has the fabric fetch what a cell's events need before it runs. It pays
	// where the working set of all partitions is larger than a second-level cache.
	Warming bool
	// Slow has all ports take the slow path: a test may compare. It is set before there
	// are switches.
	Slow bool

	peers      []*Net
	records    slab[sideRecord] // what stamped packets number
	stamps     slab[Stamps]
	sides      slab[packet.SideCopy]
	told       slab[packet.Telemetry]
	fault      *congestion.Fault // see StopFor
	sideOut    [2][]sideBox      // by parity of the window, then partition
	linkFrames int64             // PFC frames or flow-control packets sent less received: may be negative
	repeats    int64             // flow-control packets among them that say nothing new
	received   int64             // frames that arrived at hosts
	dropped    int64             // frames dropped on links and in switches, frames of a link's own apart
	arrived    units.Time        // latest arrival of such a frame in the current cell, or one before it
	moved      units.Time        // last arrival or drop of a frame that is not the link's own, up to the current cell
	stirred    units.Time        // last event that may make something move: PFC frames, refreshes and expiries apart
	measuring  bool
	end        units.Time // of the run, once it is over
	lossy      []uint64   // a bit per connection; see noteLoss
	rooms      rooms
	candidates candidates             // see balance
	walks      []waiting              // room for fillOf
	walksOn    []uint32               // likewise: those that have frames left
	lossesOf   map[uint32]*flowLosses // by flowBit; looked up, never iterated
	trace      *pauseTrace            // nil: pauses are counted but not listed
	timeline   *timeline              // nil: likewise what a timeline shows
	taps       *taps                  // nil: nothing is looked at
	folded     *folded                // nil: every port stands for itself
}

// Host is a network card as the fabric sees it: it takes frames that arrive
// and gives the next one to send.
type Host interface {
	// Receive takes over record slot, which arrived whole at local port.
	Receive(now units.Time, port int, slot uint32)
	// Next returns the record to send from port now, whose class must be in
	// open, or 0; and when to ask again: 0 for as soon as the port is free,
	// Never when nothing is waiting for time alone.
	Next(now units.Time, port int, open uint8) (slot uint32, again units.Time)
	// HeadFrame returns the size of what Next would send first in class, or a bound
	// of it; 0 when nothing waits.
	HeadFrame(port int, class uint8) uint32
	// WaitingSince returns since when something of class has been ready to
	// leave port but for the gate; Never if nothing is.
	WaitingSince(now units.Time, port int, class uint8) units.Time
	// SentFrames counts what a port sent in a class.
	SentFrames(port int, class uint8) Sent
	// ReceiveLimits returns how near the receive buffer of a port came to XOFF.
	ReceiveLimits(port int, class uint8) record.PortLimits
	// Timer executes a timer set with Net.HostTimer.
	Timer(now units.Time, kind uint8, low uint32)
}

// Pin is the pinned route of one connection: the egress port at the k-th
// switch of the way there and back. Paths is nil for a connection that is not
// pinned.
type Pin struct{ There, Back []uint16 }

// Port is the hot part of one port: two cache lines.
type Port struct {
	startAt units.Time // start of the transmission in progress, or of the last
	freeAt  units.Time // when the transmitter is free
	wakeAt  units.Time // pending wake-up; noWake: none
	lead    units.Time // propagation, and the peer's pipeline latency
	delay   units.Time // propagation alone: what a PFC frame takes
	psByte  uint64     // time of a byte in 2^-20 ps, where that is exact or the clock is not, and no quantum rounds it; else 0
	rate    units.Rate
	header  units.Time // cut-through peer: time of the header; 0 store-and-forward

	peerPart int32
	peerPort uint32
	source   uint32 // order number of what this port sends; +ports: its wake-ups, +2*ports: its PFC timers
	ports    uint16 // ports of this node
	local    uint16
	node     int32 // index into switches, or ^index into hosts

	ready       uint8 // classes with frames queued (switch)
	shut        uint8 // classes the gate holds back
	want        uint8 // classes we want the peer to pause, or of which it is to hear
	told        uint8 // what the last PFC frame said
	control     bool  // a PFC frame or flow-control packet may be due
	refresh     bool  // ... because a pause needs refreshing
	impaired    bool  // the link loses frames or goes down
	contended   bool  // several classes waited when the last frame was chosen
	pfc         uint8
	armed       bool // refresh timer
	credited    bool // the link has credits
	lastControl bool // the last frame sent carried no data (host)
	lastClass   uint8
	plain       bool  // frames may take the plain path in, and out
	direct      bool  // frames may go straight through: see plainCredited
	jittered    bool  // see Net.jitters
	stormed     uint8 // classes whose pauses the switch's watchdog has it ignore
	tapped      bool  // see Net.Tap
	id          uint32
	peerCell    uint32
	overhead    uint16   // see wire.Profile
	_           [13]byte // to two cache lines
}

// noWake stands for no pending wake-up.
const noWake units.Time = -1

// queue is an egress queue: frames linked through their records.
type queue struct {
	head, tail uint32
	bytes      int32
	peak       int32
	last       units.Time // when bytes last changed
	area       [2]uint64  // integral of bytes over time, 128 bits
	kmin       int32      // mark above; MaxInt32: never
	least      int32
	sent       Sent
}

// Sent counts frames and their bytes.
type Sent struct{ Packets, Bytes int64 }

// Add counts a frame.
func (s *Sent) Add(pk *packet.Packet) {
	s.Packets++
	s.Bytes += int64(pk.Frame)
}

// integrate brings the time integral of the queue up to now.
func (q *queue) integrate(now units.Time) {
	if q.bytes != 0 {
		hi, lo := bits.Mul64(uint64(q.bytes), uint64(now-q.last))
		var carry uint64
		q.area[0], carry = bits.Add64(q.area[0], lo, 0)
		q.area[1] += hi + carry
	}
	q.last = now
}

// mean returns the average length over a time d.
func (q *queue) mean(d units.Time) float64 {
	if d <= 0 {
		return 0
	}
	return (float64(q.area[1])*math.Exp2(64) + float64(q.area[0])) / float64(d)
}

// Event tags: a kind and an index.
const (
	tagShift = 27
	tagIndex = 1<<tagShift - 1
)

const (
	evArrive  uint32 = iota << tagShift // a frame reached port
	evWhole                             // a cut-through frame that had to wait for its last bit
	evPause                             // a PFC frame takes effect at port
	evWake                              // port may be free
	evRefresh                           // port refreshes its pauses or credits
	evExpire                            // pause of a class of port runs out, or the time of a queue's head
	evHost                              // timer of a host; the host's own kinds follow
)

// HostKinds is the number of timer kinds a Host may use.
const HostKinds = 8

// evLink is behind those: something happens to the link of port, or, from
// newTables on, the tables of its switch change.
const evLink = evHost + HostKinds<<tagShift

// evWatch has the watchdog of the switch of port, its first, look at its queues.
const evWatch = evLink + 1<<tagShift

// Run implements sim.Handler.
func (n *Net) Run() {
	if n.Warming {
		n.warm()
	}
	part := n.part
	for {
		e := part.Ahead()
		if e == nil {
			if e = part.Next(); e == nil {
				n.moved = max(n.moved, n.arrived)
				return
			}
		}
		now, ref := e.At(), e.Ref()
		tag := ref.Tag()
		i := int(tag & tagIndex)
		switch tag &^ tagIndex {
		case evArrive:
			if p := &n.ports[i]; !p.plain || !n.plainArrive(now, i, p, ref.Low()) {
				n.arrive(now, i, ref.Low())
			}
		case evWake:
			if ref&sim.Background == 0 {
				n.stir(now)
			}
			if p := &n.ports[i]; p.wakeAt == now { // else superseded by an earlier one
				p.wakeAt = noWake
				if !p.plain || now < p.freeAt || !n.plainWake(now, i, p) {
					n.startOrWait(now, i, p)
				}
			}
		default:
			n.handle(now, ref)
		}
	}
}

// handle executes an event other than an arrival or a wake-up.
func (n *Net) handle(now units.Time, ref sim.Ref) {
	tag := ref.Tag()
	i := int(tag & tagIndex)
	switch tag &^ tagIndex {
	case evWhole:
		n.stir(now)
		n.moved = max(n.moved, now)
		n.admit(now, i, &n.switches[n.ports[i].node], n.part.Rec(ref.Low()), ref.Low())
	case evPause:
		n.obey(now, i, ref.Low())
	case evRefresh:
		if n.ports[i].credited {
			n.refreshCredits(now, i, ref.Low())
			return
		}
		n.refreshPauses(now, i)
	case evExpire:
		if n.ports[i].credited {
			n.lifetimeOver(now, i, uint8(ref.Low()))
			return
		}
		n.expire(now, i, uint8(ref.Low()))
	case evLink:
		n.stir(now)
		n.linkEvent(now, i, ref.Low())
	case evWatch:
		n.watch(now, i, ref.Low())
	default:
		n.stir(now)
		kind := uint8((tag&^tagIndex - evHost) >> tagShift)
		n.hosts[i].Timer(now, kind, ref.Low())
	}
}

// stir notes an event that may make something move. Cells run one after the other, so
// that time goes back between them.
func (n *Net) stir(now units.Time) { n.stirred = max(n.stirred, now) }

// arrive takes a frame off the wire.
func (n *Net) arrive(now units.Time, i int, slot uint32) {
	p := &n.ports[i]
	pk := n.part.Rec(slot)
	if pk.Kind.Link() {
		n.arriveLink(now, i, p, pk, slot)
		return
	}
	n.fingerprint += arrivalHash(now, p.id, pk.Frame)
	n.part.NoteWork()
	n.arrived = now
	if p.impaired && n.lost(now, i, pk) {
		n.FreeSides(pk)
		n.part.Free(slot)
		return
	}
	if p.tapped {
		n.tap(now, p, pk, false)
	}
	if p.direct && n.plainCredited(now, i, p, pk, slot) {
		return
	}
	if p.credited && n.takeIn(now, i, pk) {
		n.kick(now, i)
	}
	if p.node < 0 {
		n.received++
		n.hosts[^p.node].Receive(now, int(p.local), slot)
		return
	}
	n.forward(now, i, pk, slot)
}

// arriveLink takes a frame of the link's own off the wire. What only repeats is
// no part of the run's course: it may go on for ever.
func (n *Net) arriveLink(now units.Time, i int, p *Port, pk *packet.Packet, slot uint32) {
	repeat := pk.Kind == packet.Credit && pk.Flags&packet.Retrans != 0
	if !repeat {
		n.fingerprint += arrivalHash(now, p.id, pk.Frame)
	}
	if p.impaired && n.lost(now, i, pk) {
		n.part.Free(slot)
		return
	}
	if p.tapped {
		n.tap(now, p, pk, false)
	}
	if pk.Kind == packet.Credit {
		n.receiveCredit(now, i, slot)
	} else {
		n.receivePause(now, i, slot)
	}
}

// arrivalHash is one term of the fingerprint: a folded product, so that every
// bit of time, port and length moves about half of its bits.
func arrivalHash(now units.Time, port, frame uint32) uint64 {
	hi, lo := bits.Mul64(uint64(now)^0x9e3779b97f4a7c15, (uint64(port)<<32|uint64(frame))^0xd1b54a32d192ed03)
	return hi ^ lo
}

// idle reports whether port p may start a frame in the current event: its
// transmitter is free and no wake-up of this very instant is still to come.
func (p *Port) idle(now units.Time) bool { return now >= p.freeAt && p.wakeAt != now }

// kick makes port i look for something to send: something became ready.
func (n *Net) kick(now units.Time, i int) {
	n.startOrWait(now, i, &n.ports[i])
}

// startOrWait starts the next frame of port p, number i, or makes sure that it
// looks again when its transmitter is free.
func (n *Net) startOrWait(now units.Time, i int, p *Port) {
	if p.idle(now) {
		n.start(now, i, p)
	} else if now < p.freeAt {
		n.wakeAt(p, i, p.freeAt, p.freeAt-p.startAt, 0)
	}
}

// wakeAt makes sure that port i looks again at time at; background is
// sim.Background where that alone keeps no run alive.
func (n *Net) wakeAt(p *Port, i int, at, age units.Time, background sim.Ref) {
	if p.wakeAt != noWake && p.wakeAt <= at {
		return
	}
	p.wakeAt = at
	n.part.At(at, sim.Order(age, p.source+uint32(p.ports)), background|sim.MakeRef(evWake|uint32(i), 0))
}

// start begins the transmission of the next frame of port i, if there is one.
func (n *Net) start(now units.Time, i int, p *Port) {
	var slot uint32
	if p.control {
		slot = n.linkFrame(now, i, p)
	}
	again, background := units.Time(0), sim.Ref(0)
	switch {
	case slot != 0:
		background = sim.Background
		// A frame of the link's own goes first; what waits behind it is asked for at freeAt.
	case p.node >= 0:
		if avail := p.ready &^ p.shut; avail != 0 {
			c := n.pick(p, i, avail)
			slot = n.dequeue(now, i, p, c)
			if avail&(avail-1) != 0 {
				n.NoteAhead(now, i, c, avail, n.part.Rec(slot).Frame)
			}
		}
		if p.ready&^p.shut == 0 && !p.control {
			again = units.Never
		}
	default:
		if p.credited && p.shut != 0 {
			n.reopen(now, i) // what stands at a head may have changed
		}
		slot, again = n.hosts[^p.node].Next(now, int(p.local), ^p.shut)
	}
	if slot != 0 {
		n.transmit(now, i, p, slot)
	}
	if again != units.Never && (slot != 0 || again > now) {
		at := max(again, p.freeAt)
		n.wakeAt(p, i, at, at-now, background)
	}
}

// linkFrame returns what port i has to tell its peer, or 0.
func (n *Net) linkFrame(now units.Time, i int, p *Port) uint32 {
	if p.credited {
		return n.creditFrame(now, i)
	}
	return n.pauseFrame(now, i)
}

// transmit commits a frame: its arrival at the peer is certain from here on.
func (n *Net) transmit(now units.Time, i int, p *Port, slot uint32) {
	if now < p.freeAt {
		n.part.Bug("port %d starts a frame %d ps before it is free", p.id, p.freeAt-now)
	}
	pk := n.part.Rec(slot)
	tx := n.txTime(p, pk.Frame+uint32(p.overhead))
	if mutantFast {
		tx -= tx / 16
	}
	p.startAt = now
	p.freeAt = now + tx
	p.lastClass = pk.Class
	if p.tapped {
		n.tap(now, p, pk, true)
	}
	if p.node < 0 {
		if p.lastControl = !pk.Kind.CarriesData(); p.lastControl {
			n.cold[i].bookControl(tx, p.shut)
		}
	}
	var d units.Time
	if pk.Kind.Link() {
		d = tx + p.delay
	} else {
		if d = tx + p.lead; p.header != 0 {
			d = n.way(now, i, p, tx)
		} else if p.jittered {
			d = n.jitters[i].late(now, tx, d, 0)
		}
		n.hops++
	}
	if p.credited {
		n.startCredited(now, i, p, pk)
	}
	order := sim.Order(d, p.source)
	if mutantTieBreak {
		order = uint64(slot) & sim.MaxSource
	}
	if mutantEarlyStart && pk.PSN%4 == 3 {
		p.freeAt = now
	}
	side := uint32(0)
	if pk.DSCP&packet.Stamped != 0 {
		side = n.leave(now, i, p, pk)
	}
	n.part.Send(int(p.peerPart), p.peerCell, now+d, order, evArrive|p.peerPort, slot, side)
}

// way is the time from now to the arrival of a frame that takes tx on the wire.
func (n *Net) way(now units.Time, i int, p *Port, tx units.Time) units.Time {
	d, rest := tx, units.Time(0)
	if p.header != 0 && p.header < tx {
		d, rest = p.header, tx-p.header
	}
	d += p.lead
	if p.jittered {
		d = n.jitters[i].late(now, tx, d, rest)
	}
	return d
}

// txTime is the time of b bytes on the wire: rounded up to a picosecond, to the nearest
// where the clock is not exact, or truncated to the scenario's quantum, of which it takes one at least.
func (n *Net) txTime(p *Port, b uint32) units.Time {
	if p.psByte != 0 {
		return timeOf(b, p.psByte)
	}
	if n.quantum == 0 {
		return p.rate.TxTime(units.Bytes(b))
	}
	t := units.Time(int64(b) * 8e12 / int64(p.rate))
	return max(n.quantum, t-t%n.quantum)
}

// pick chooses among the classes in avail.
func (n *Net) pick(p *Port, i int, avail uint8) uint8 {
	if avail&(avail-1) == 0 {
		return uint8(bits.TrailingZeros8(avail))
	}
	p.contended = true
	return n.sched[i].Pick(avail)
}

// dequeue takes the head of class c off port i's queue at the start of its
// transmission, marks it if due and releases its buffer.
func (n *Net) dequeue(now units.Time, i int, p *Port, c uint8) uint32 {
	q := &n.queues[c][i]
	slot := q.head
	pk := n.part.Rec(slot)
	q.head = pk.Next
	if q.head == 0 {
		p.ready &^= 1 << c
	}
	q.integrate(now)
	q.bytes -= int32(pk.Frame)
	q.least = min(q.least, q.bytes)
	q.sent.Add(pk)
	if p.contended {
		n.sched[i].Charge(c, pk.Frame)
		p.contended = p.ready&(p.ready-1) != 0
	}
	sw := &n.switches[p.node]
	if q.bytes > q.kmin && !sw.markAtEnqueue {
		n.mark(now, sw, i, c, q.bytes, pk)
	}
	if sw.credited {
		n.leaveInput(now, sw, i, c, pk)
		return slot
	}
	n.release(now, sw, i, c, pk)
	return slot
}

// enqueue adds a frame to q, the queue of class c of port p, number i.
func (n *Net) enqueue(now units.Time, i int, p *Port, q *queue, pk *packet.Packet, slot uint32) {
	c := pk.Class
	pk.Next = 0
	if q.head == 0 {
		q.head = slot
		p.ready |= 1 << c
		if p.shut>>c&1 != 0 {
			n.gates[c][i].waitFrom = now
		} else if p.credited {
			n.checkHead(now, i, c)
		}
	} else {
		n.part.Rec(q.tail).Next = slot
	}
	q.tail = slot
	q.integrate(now)
	q.bytes += int32(pk.Frame)
	if q.bytes > q.peak {
		q.peak = q.bytes
		n.cold[i].peakAt[c] = now
	}
}
