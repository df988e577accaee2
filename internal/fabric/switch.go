package fabric

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// swtch is a shared-memory switch; with credits it has no memory that its ports share.
type swtch struct {
	name   string
	base   int // first port
	nports int
	memory mmu.Memory

	routes                 routes // by destination endpoint
	members                []uint16
	salt                   uint64
	hash                   Hash
	unaccounted            uint8
	markAtEnqueue, markAny bool
	cutThrough             bool
	maxFrame               uint32
	credited               bool    // its links have credits: no shared buffer
	sl2vl                  []uint8 // see SwitchParams.SL2VL
	hoqLife, packetLife    units.Time
	trustPCP               bool
	prio                   [64]uint8  // by DSCP, or by PCP in the first eight
	rnd, wred              rng.Stream // of marks; of drops in their place
	arbitration            bool       // see candidate
	draw                   rng.Stream // among candidates
	waiting                uint32     // candidates at all ports
	balancing              Balancing  // nil: by hash
	balancer               Balancer   // likewise
	moves                  *moves     // nil: the tables never change
	strays                 record.Act // packets that left by another port than their hash says; see balance
	intScale               int        // see SwitchParams.INTScale
	watchdog               *watchdog  // nil: none
	bounce                 *BounceParams
	plain                  bool       // its ports may take the plain path
	direct                 bool       // likewise plainCredited
	crowd                  *mmu.Crowd // nil: every port stands for itself
}

// forward routes a frame that arrived at port i of a switch.
func (n *Net) forward(now units.Time, i int, pk *packet.Packet, slot uint32) {
	p := &n.ports[i]
	sw := &n.switches[p.node]
	if pk.TTL <= 1 {
		n.discard(now, i, catalog.DropTTL, slot)
		return
	}
	if sw.maxFrame > 0 && pk.Frame > sw.maxFrame {
		n.discard(now, i, catalog.DropOversize, slot)
		return
	}
	if !n.route(sw, pk) {
		n.discard(now, i, catalog.DropNoRoute, slot)
		return
	}
	pk.TTL--
	pk.In = p.local
	if sw.credited {
		pk.SetVL(pk.Class)
		pk.Class = sw.outVL(pk.In, pk.Out, pk.SL())
	} else {
		pk.Class = sw.class(pk)
		if sw.bounce != nil {
			sw.bounce.lift(pk)
		}
	}
	if sw.cutThrough && n.ports[sw.base+int(pk.Out)].rate > p.rate {
		// A faster egress would run dry: wait for the last bit.
		w := n.cold[i].wire
		wire := pk.Frame + uint32(w.Overhead)
		rest := n.txTime(p, wire) - n.txTime(p, min(wire, uint32(w.Preamble+w.Header)))
		n.part.At(now+rest, sim.Order(rest, p.source), sim.MakeRef(evWhole|uint32(i), slot))
		return
	}
	n.admit(now, i, sw, pk, slot)
}

// outVL is the lane on which a packet leaves, by the ports and its service level
// (IBTA 7.6.6).
func (s *swtch) outVL(in, out uint16, sl uint8) uint8 {
	if len(s.sl2vl) == 16 {
		return s.sl2vl[sl]
	}
	return s.sl2vl[(int(in)*s.nports+int(out))*16+int(sl)]
}

// class is the priority that the switch's trust map gives a frame.
func (s *swtch) class(pk *packet.Packet) uint8 {
	if s.trustPCP {
		return s.prio[pk.PCP()]
	}
	return s.prio[pk.DSCP&63]
}

// route sets pk.Out to the local egress port. It reports false when there is none.
func (n *Net) route(sw *swtch, pk *packet.Packet) bool {
	if pk.Flags&packet.Pinned != 0 {
		return n.pinned(pk)
	}
	switch at, k := topology.Unpack(sw.routes.to(pk.Dst)); k {
	case 0:
		return sw.moves != nil && n.routeMoved(sw, pk, at)
	case 1:
		pk.Out = sw.members[at]
	default:
		by := sw.members[at+sw.hash.Choose(pk.Hash, sw.salt, 0, k)]
		if sw.balancer != nil {
			n.balance(sw, pk, sw.members[at:at+k], int(by))
			return true
		}
		pk.Out = by
	}
	return true
}

// ECMP chooses one of n equal paths for a five-tuple hash at a switch with a
// salt.
func ECMP(hash uint32, salt uint64, n uint32) uint32 {
	h := rng.Mix64(uint64(hash), salt) >> 32
	return uint32(h * uint64(n) >> 32)
}

// pinned takes the next port of a pinned route.
func (n *Net) pinned(pk *packet.Packet) bool {
	pin := &n.pins[pk.Conn]
	way, hop := pin.There, int(pk.Hop)
	if pk.Flags&packet.Reverse != 0 {
		way = pin.Back
	}
	if hop >= len(way) {
		return false
	}
	pk.Out = way[hop]
	pk.Hop++
	return true
}

// refuse drops a frame from port i, in class in there, to port e, in class c, for which there is no
// room, at the port whose account has none.
func (n *Net) refuse(now units.Time, i, e int, in, c uint8, v mmu.Verdict, slot uint32) {
	switch v {
	case mmu.HeadroomEnd:
		n.drop(now, i, in, catalog.DropHeadroom, slot)
	case mmu.IngressEnd:
		n.drop(now, i, in, catalog.DropIngress, slot)
	case mmu.PoolEnd:
		n.drop(now, e, c, catalog.DropPool, slot)
	default:
		n.drop(now, e, c, catalog.DropEgress, slot)
	}
}

// admit is the switch's decision on a frame: room in the buffer or not, XOFF
// or not, mark or not; then it waits in the egress queue.
func (n *Net) admit(now units.Time, i int, sw *swtch, pk *packet.Packet, slot uint32) {
	c := pk.Class & (Classes - 1)
	in := sw.cameIn(pk)
	e := sw.base + int(pk.Out)
	size := int32(pk.Frame)
	q := &n.queues[c][e]
	if sw.watchdog != nil && n.stormDrops(now, sw, i, e, in, c, slot) {
		return
	}
	if q.bytes+size > q.kmin && n.early(sw, e, c, q.bytes+size, pk) {
		n.drop(now, e, c, catalog.DropWRED, slot)
		return
	}
	xoff := false
	switch {
	case sw.credited || sw.unaccounted>>c&1 != 0: // credits have made room for it
	default:
		v := mmu.EgressEnd
		if n.rivals.of(c, e).slot == 0 {
			v, xoff = n.charge(now, sw, i, e, in, c, pk.Frame)
		}
		if v != mmu.Admitted {
			if !n.candidate(now, sw, e, c, v, slot) {
				n.refuse(now, i, e, in, c, v, slot)
			}
			if xoff {
				n.noteFill(now, sw, i, in)
				n.setPause(now, i, in, true)
			}
			return
		}
	}
	if !n.place(now, sw, e, c, pk, slot, false) {
		return
	}
	if xoff {
		n.noteFill(now, sw, i, in)
		n.setPause(now, i, in, true)
	}
	n.startOrWait(now, e, &n.ports[e])
}

// place puts a frame that has room into its egress queue; waited says that it has been a
// candidate. It reports false if a deliberate fault has taken the frame.
func (n *Net) place(now units.Time, sw *swtch, e int, c uint8, pk *packet.Packet, slot uint32, waited bool) bool {
	size := int32(pk.Frame)
	q, out := &n.queues[c][e], &n.ports[e]
	if sw.markAtEnqueue && q.bytes+size > q.kmin {
		n.mark(now, sw, e, c, q.bytes+size, pk)
	}
	if mutantCountTwice || mutantDuplicate || mutantLose || mutantReorder || mutantNoPeak {
		if slot = n.mutateAdmitted(now, sw, e, c, slot); slot == 0 {
			return false
		}
		pk = n.part.Rec(slot)
	}
	if !waited && pk.DSCP&packet.Stamped != 0 {
		n.StampIn(now, e, pk)
	}
	n.enqueue(now, e, out, q, pk, slot)
	if sw.hoqLife > 0 || sw.packetLife > 0 {
		n.entered(now, sw, e, c)
	}
	return true
}
