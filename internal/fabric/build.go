package fabric

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// portCold is what the packet path rarely looks at.
type portCold struct {
	name                        string // "leaf1:3"
	node                        string
	wire                        *wire.Profile // of its link
	peer                        record.PortID
	pfc                         PFCParams
	updateInterval              units.Time // of credits
	waitFrom, dataEnd, xmitWait units.Time // see countWait
	waitTick                    WaitTick
	lanes                       int  // of an InfiniBand link
	repeating                   bool // flow-control packets are repeated
	red                         [Classes]redCurve
	fecn                        *FECNParams
	intRate                     uint8 // what stands for the port's rate in telemetry
	victim                      bool
	eligible                    [Classes]uint32 // see markFECN
	marks                       [Classes]record.Act
	xoff                        [Classes]record.Act
	peakAt                      [Classes]units.Time
	drops                       [Classes]*dropStat
	fills                       [Classes]*filled // see noteFill
	ahead                       *aheadOf         // nil: no class waited for another
	impair                      *impairment
	// Time spent on frames that carry no data, and the part of it that began
	// while a class was paused; hosts only.
	controlTime   units.Time
	controlPaused [Classes]units.Time
	controlShut   uint8 // classes paused while the last such frame is on the wire
	nominal       units.Rate
	measured      *[Classes]measured // nil without a measured window
}

// measured is the state of a queue at the start and the end of the measured window.
type measured struct{ from, to snapshot }

// window returns what is kept of the measured window, for which most runs need no room.
func (c *portCold) window() *[Classes]measured {
	if c.measured == nil {
		c.measured = new([Classes]measured)
	}
	return c.measured
}

// snapshot is what a measured window subtracts.
type snapshot struct {
	unsent units.Time // of the frame on the wire
	area   float64
	sent   Sent
	min    int64
	// At the start the peak so far, at the end the peak within.
	peak   int32
	peakAt units.Time
}

// SwitchSpec is what a Net needs to build a switch.
type SwitchSpec struct {
	Name    string
	Ports   int
	Params  *SwitchParams
	Group   []uint32 // topology.Routes of this switch
	Members []uint16
	Changes []Tables // in order of time
	// Resilient: flows keep their port when others of its group are withdrawn.
	Resilient bool
	Seed      uint64
}

// PortSpec is what a Net needs to build a port.
type PortSpec struct {
	ID          uint32        // global port number
	Source      uint32        // global order number; see Sources
	Node        string        // name: "leaf1"
	Wire        *wire.Profile // of the link; shared, read only
	Peer        record.PortID
	Local       int
	NodePorts   int
	Rate        units.Rate
	Nominal     units.Rate // in whose bit times the link's own frames speak of time; 0: Rate
	Lanes       int        // of an InfiniBand link; 0: four
	Delay       units.Time
	PeerPart    int
	PeerCell    int        // within the peer's partition
	PeerPort    int        // index in the peer's Net
	Latency     units.Time // pipeline of the node, when it is a switch
	PeerLatency units.Time // pipeline of the peer, likewise
	PeerCut     bool       // the peer forwards cut-through
	Params      *PortParams
	PeerCredit  *CreditParams // of the peer; nil unless the link has credits
	Lifetimes   bool          // some switch has lifetime limits; the same for all ports
	Loss, BER   float64
	FEC         string // see topology.Link
	Spared      uint8  // likewise
	DropEvery   int
	Outages     []Outage // in order of time, apart from each other
	Noise       Noise
	Seed        uint64
}

// Outage is a time within which a link carries nothing. Noticed is when the node at
// this end learns that it is down, Back that it works again; Never: it does not.
type Outage struct {
	Down, Up, Noticed, Back units.Time
}

// Sources is how many order numbers a node of n ports takes: what its ports
// send, their wake-ups, their PFC timers, then the timers of a host.
func Sources(n int) int { return 3*n + HostKinds }

// NewNet returns an empty fabric on a partition. pins is shared and read-only.
func NewNet(part *Part, quantum units.Time, pins []Pin) *Net {
	n := &Net{part: part, quantum: quantum, pins: pins, tables: make(map[*uint32]routes)}
	part.Handler = n
	n.SetPeers([]*Net{n})
	return n
}

// AddSwitch adds a switch; its ports must be added next, in order.
func (n *Net) AddSwitch(s SwitchSpec) int32 {
	p := s.Params
	prio := p.DSCPToPrio
	if p.TrustPCP {
		copy(prio[:], p.PCPToPrio[:])
	}
	n.switches = append(n.switches, swtch{
		name: s.Name, base: len(n.ports), nports: s.Ports,
		routes: n.routesOf(s.Group), members: s.Members, salt: p.Salt, hash: p.Hash,
		unaccounted:   p.Unaccounted,
		markAtEnqueue: p.MarkAtEnqueue, markAny: p.MarkAny, cutThrough: p.CutThrough, maxFrame: p.MaxFrame,
		credited: p.SL2VL != nil, sl2vl: p.SL2VL, hoqLife: p.HOQLife, packetLife: p.PacketLife,
		trustPCP: p.TrustPCP, prio: prio, rnd: rng.New(s.Seed, s.Name+"/mark"), wred: rng.New(s.Seed, s.Name+"/wred"),
		arbitration: p.Arbitration, draw: rng.New(s.Seed, s.Name+"/arbitration"),
		moves: newMoves(&s, len(n.pins)), bounce: p.Bounce, intScale: p.INTScale,
	})
	sw := &n.switches[len(n.switches)-1]
	if p.Balancing != nil {
		rnd := rng.New(s.Seed, s.Name+"/spray")
		sw.balancing, sw.balancer = p.Balancing, p.Balancing.New(s.Ports, &rnd)
	}
	if p.Memory != nil {
		sw.memory = n.newMemory(s.Name, p.Memory)
	}
	if p.Watchdog != nil {
		sw.watchdog = &watchdog{WatchdogParams: p.Watchdog}
	}
	sw.plain = !n.Slow && !faulty && sw.isPlain()
	sw.direct = !n.Slow && !faulty && sw.isDirect()
	return int32(len(n.switches) - 1)
}

// AddHost adds a host; its ports must be added next. It returns the host's
// node number for AddPort and the index for HostTimer.
func (n *Net) AddHost(h Host) (node int32, index int) {
	n.hosts = append(n.hosts, h)
	return int32(^(len(n.hosts) - 1)), len(n.hosts) - 1
}

// Reserve makes room for a number of ports in all: lists that grow port by port leave as
// much behind as they hold.
func (n *Net) Reserve(ports int) {
	ports -= len(n.ports)
	n.ports = slices.Grow(n.ports, ports)
	n.cold = slices.Grow(n.cold, ports)
	n.sched = slices.Grow(n.sched, ports)
	n.jitters = slices.Grow(n.jitters, ports)
	for c := range Classes {
		n.queues[c] = slices.Grow(n.queues[c], ports)
	}
}

// AddPort adds a port to node and returns its index.
func (n *Net) AddPort(node int32, s PortSpec) int {
	p := Port{
		lead: s.Delay + s.PeerLatency, delay: s.Delay, rate: s.Rate,
		peerPart: int32(s.PeerPart), peerPort: uint32(s.PeerPort), peerCell: uint32(s.PeerCell),
		source: s.Source, ports: uint16(s.NodePorts), local: uint16(s.Local),
		node: node, pfc: s.Params.PFC.Enabled, id: s.ID, wakeAt: noWake,
		jittered: s.Noise.Dispatch > 0 || s.Noise.Pipeline > 0, overhead: uint16(s.Wire.Overhead),
	}
	if n.quantum == 0 {
		p.psByte = bytePicos(s.Rate, s.Noise.Slow)
	}
	if s.PeerCut {
		p.header = n.txTime(&p, uint32(s.Wire.Preamble+s.Wire.Header))
	}
	c := portCold{node: s.Node, wire: s.Wire, name: portName(s.Node, s.Local), peer: s.Peer, pfc: s.Params.PFC,
		fecn: s.Params.FECN, victim: s.Params.Victim, nominal: cmp.Or(s.Nominal, s.Rate), lanes: cmp.Or(s.Lanes, 4)}
	c.intRate, _ = congestion.INTRateCode(s.Rate)
	if s.Loss > 0 || s.BER > 0 || s.DropEvery > 0 || len(s.Outages) > 0 {
		p.impaired = true
		c.impair = &impairment{rnd: rng.New(s.Seed, "link/"+c.name), loss: s.Loss, ber: s.BER, every: s.DropEvery, late: s.Latency, fec: fecOf(&s), spared: s.Spared,
			outages: s.Outages, lost: make([]record.Act, len(s.Outages))}
	}
	for k := range Classes {
		q := queue{least: math.MaxInt32}
		c.red[k], q.kmin = s.Params.RED[k].curve()
		if s.Params.FECN != nil {
			q.kmin = int32(s.Params.FECN.Threshold)
		}
		n.queues[k] = append(n.queues[k], q)
		if s.Lifetimes {
			n.lives[k] = append(n.lives[k], lifetime{})
		}
	}
	p.plain = node >= 0 && n.switches[node].plain && !p.impaired
	p.direct = node >= 0 && n.switches[node].direct && !p.impaired
	n.ports = append(n.ports, p)
	n.cold = append(n.cold, c)
	n.sched = append(n.sched, NewScheduler(s.Params))
	n.jitters = append(n.jitters, jitter{rnd: rng.NewQuick(s.Seed, "noise/"+c.name), dispatch: uint32(s.Noise.Dispatch), pipeline: uint32(s.Noise.Pipeline)})
	i := len(n.ports) - 1
	if s.PeerCredit != nil {
		n.addCredits(i, &s)
	}
	n.scheduleLink(i, &s)
	if node >= 0 && s.Local == s.NodePorts-1 {
		n.startWatchdog(&n.switches[node])
	}
	return i
}

// addCredits makes port i follow the rule of credits.
func (n *Net) addCredits(i int, s *PortSpec) {
	p := &n.ports[i]
	p.credited = true
	n.cold[i].waitFrom, n.cold[i].waitTick = units.Never, s.Params.Credit.Wait
	n.setCredits(i, s.Params.Credit, s.PeerCredit)
}

// newMemory returns the memory of a switch. The scenario has checked what it is made of.
func (n *Net) newMemory(name string, p *mmu.Params) mmu.Memory {
	if mutantShortHeadroom {
		p = shortHeadroom(p)
	}
	m, err := mmu.New(p)
	if err != nil {
		n.part.Bug("%s: %v", name, err)
	}
	return *m
}

// Part returns the partition the fabric lives on.
func (n *Net) Part() *Part { return n.part }

// Kick tells port i of a host that something became ready to send.
func (n *Net) Kick(now units.Time, i int) { n.kick(now, i) }

// SetPauses makes host port i pause or resume classes of the switch: a receive
// buffer filled to bytes, or emptied.
func (n *Net) SetPauses(now units.Time, i int, classes uint8, xoff bool, bytes int64) {
	for v := classes &^ n.cold[i].pfc.Silent; v != 0; v &= v - 1 {
		c := uint8(bits.TrailingZeros8(v))
		if xoff {
			n.cold[i].xoff[c].Add(now, bytes)
			n.ports[i].want |= 1 << c
		} else {
			n.ports[i].want &^= 1 << c
		}
	}
	n.ports[i].control = true
	n.kick(now, i)
}

// PauseAnyway tells the peer of host port i to stop or go on with classes, though no buffer asks
// for it.
func (n *Net) PauseAnyway(now units.Time, i int, classes uint8, xoff bool) {
	for v := classes; v != 0; v &= v - 1 {
		n.ports[i].wantPause(uint8(bits.TrailingZeros8(v)), xoff)
	}
	n.kick(now, i)
}

// DropReceived drops a frame that host port i has no receive buffer for.
func (n *Net) DropReceived(now units.Time, i int, slot uint32) {
	n.drop(now, i, n.part.Rec(slot).Class, catalog.DropReceive, slot)
}

// HostTimer schedules Host.Timer at a time for the host with the given index
// (of AddHost); source is the host's first order number for timers, age the
// time since the timer was armed.
func (n *Net) HostTimer(at, age units.Time, index int, source uint32, kind uint8, low uint32) {
	n.part.At(at, sim.Order(age, source+uint32(kind)), sim.MakeRef(evHost+uint32(kind)<<tagShift|uint32(index), low))
}

// Rate is the rate of port i's link.
func (n *Net) Rate(i int) units.Rate { return n.ports[i].rate }

// SerialisationTime is the time of a frame on the wire of port i.
func (n *Net) SerialisationTime(i int, frame uint32) units.Time {
	return n.txTime(&n.ports[i], frame+uint32(n.ports[i].overhead))
}

// ArrivalTime is how long after the start of its transmission by port i a frame has arrived
// at the peer, delay and noise apart: whole, or its header at a cut-through switch that sends
// it on no faster than the rate next.
func (n *Net) ArrivalTime(i int, frame uint32, next units.Rate) units.Time {
	tx, p := n.SerialisationTime(i, frame), &n.ports[i]
	if p.header != 0 && next <= p.rate {
		tx = min(tx, p.header)
	}
	return tx
}

// FrameOf is the frame that takes t on the wire of port i: the inverse of SerialisationTime.
func (n *Net) FrameOf(i int, t units.Time) uint32 {
	p := &n.ports[i]
	hi, lo := bits.Mul64(uint64(t), uint64(p.rate))
	b, _ := bits.Div64(hi, lo, 8_000_000_000_000)
	if p.psByte != 0 {
		hi, lo = bits.Mul64(uint64(t), 1<<byteScale)
		b, _ = bits.Div64(hi, lo+p.psByte/2, p.psByte)
	}
	return uint32(b) - uint32(p.overhead)
}

func portName(node string, local int) string {
	return node + ":" + itoa(local+1)
}
