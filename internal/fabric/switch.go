package fabric

import (
	"math"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/units"
)

// swtch is a shared-memory switch: one pool, accounted per ingress port and
// priority group (what arrives) and per egress queue (what waits).
type swtch struct {
	name     string
	base     int // first port
	nports   int
	shared   int64 // lossless pool: buffer less reserves and headrooms
	used     int64
	peakUsed int64

	lossyPool, lossyUsed   int64
	lossyAlpha             fraction // zero: no limit
	routes                 []uint16 // per destination endpoint: index into groups
	groups                 []uint32 // ECMP groups: offset<<8|count into members
	members                []uint16
	salt                   uint64
	lossless, unaccounted  uint8
	markAtEnqueue, markAny bool
	cutThrough             bool
	credited               bool    // its links have credits: no shared buffer
	sl2vl                  []uint8 // see SwitchParams.SL2VL
	hoqLife, packetLife    units.Time
	trustPCP               bool
	prio                   [64]uint8 // by DSCP, or by PCP in the first eight
	rnd                    rng.Stream
	spreading              Spreading
	turn                   uint32     // see spread
	spray                  rng.Stream // likewise
	moves                  *moves     // nil: the tables never change
}

// pg is the ingress accounting of one (port, priority group).
type pg struct {
	used, headroom         int32 // bytes in the reserve and the shared pool; bytes in headroom
	reserved, headroomSize int32
	static                 int32 // XOFF threshold when positive
	xonOffset              int32
	alpha                  fraction
	xoff                   bool
	peak, peakHeadroom     int32
	// nearest is the least room so far up to XOFF; in a lossy class that of the
	// port's egress queue up to its dynamic threshold.
	nearest int32
}

// above returns how much of the shared pool the group uses.
func (g *pg) above() int32 { return max(0, g.used-g.reserved) }

// threshold is the XOFF limit of g's shared use: static, or alpha times what
// is free of the pool (Choudhury and Hahne's dynamic threshold).
func (s *swtch) threshold(g *pg) int64 {
	if g.static > 0 {
		return int64(g.static)
	}
	return g.alpha.of(s.shared - s.used)
}

// fraction is a non-negative ratio in fixed point: exact when its denominator
// is a power of two up to 2^16, as the alphas of switches are.
type fraction int64

func newFraction(num, den int64) fraction {
	if den == 0 {
		return 0
	}
	return fraction(num << 16 / den)
}

// of returns the fraction of v, rounded down.
func (f fraction) of(v int64) int64 { return v * int64(f) >> 16 }

// forward routes a frame that arrived at port i of a switch.
func (n *Net) forward(now units.Time, i int, pk *packet.Packet, slot uint32) {
	p := &n.ports[i]
	sw := &n.switches[p.node]
	if pk.TTL <= 1 {
		n.discard(now, i, dropTTL, slot)
		return
	}
	if !n.route(sw, pk) {
		n.discard(now, i, dropNoRoute, slot)
		return
	}
	pk.TTL--
	pk.In = p.local
	if sw.credited {
		pk.SetVL(pk.Class)
		pk.Class = sw.outVL(pk)
	} else {
		pk.Class = sw.class(pk)
	}
	if sw.cutThrough && n.ports[sw.base+int(pk.Out)].rate > p.rate {
		// A faster egress would run dry: wait for the last bit.
		wire := pk.Frame + uint32(n.wire.Overhead)
		rest := n.txTime(p, wire) - n.txTime(p, min(wire, uint32(n.wire.Preamble+n.wire.Header)))
		n.part.At(now+rest, sim.Order(rest, p.source), sim.MakeRef(evWhole|uint32(i), slot))
		return
	}
	n.admit(now, i, sw, pk, slot)
}

// outVL is the lane on which a packet leaves, by the ports and its service level
// (IBTA 7.6.6).
func (s *swtch) outVL(pk *packet.Packet) uint8 {
	if len(s.sl2vl) == 16 {
		return s.sl2vl[pk.SL()]
	}
	return s.sl2vl[(int(pk.In)*s.nports+int(pk.Out))*16+int(pk.SL())]
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
	g := sw.groups[sw.routes[pk.Dst]]
	switch k := g & 0xff; k {
	case 0:
		return sw.moves != nil && n.routeMoved(sw, pk, g>>8)
	case 1:
		pk.Out = sw.members[g>>8]
	default:
		if sw.spreading != ByHash {
			pk.Out = n.spread(n.part.Now(), sw, sw.members[g>>8:g>>8+k])
			return true
		}
		pk.Out = sw.members[g>>8+ECMP(pk.Hash, sw.salt, k)]
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

// admit is the switch's decision on a frame: room in the buffer or not, XOFF
// or not, mark or not; then it waits in the egress queue.
func (n *Net) admit(now units.Time, i int, sw *swtch, pk *packet.Packet, slot uint32) {
	c := pk.Class & (Classes - 1)
	e := sw.base + int(pk.Out)
	size := int32(pk.Frame)
	xoff := false
	switch {
	case sw.unaccounted>>c&1 != 0 || sw.credited: // credits have made room for it
	case sw.lossless>>c&1 != 0:
		admitted := false
		if admitted, xoff = n.admitLossless(now, sw, i, c, size); !admitted {
			n.drop(now, i, c, dropHeadroom, slot)
			if xoff {
				n.setPause(now, i, c, true)
			}
			return
		}
	default:
		if !n.admitLossy(now, sw, e, c, size) {
			n.drop(now, e, c, dropEgress, slot)
			return
		}
	}
	q, out := &n.queues[c][e], &n.ports[e]
	if sw.markAtEnqueue && q.bytes+size > q.kmin {
		n.mark(now, sw, e, c, q.bytes+size, pk)
	}
	if mutantCountTwice || mutantDuplicate || mutantLose || mutantReorder || mutantNoPeak {
		if slot = n.mutateAdmitted(now, sw, e, c, slot); slot == 0 {
			return
		}
		pk = n.part.Rec(slot)
	}
	if pk.DSCP&packet.Stamped != 0 {
		n.StampIn(now, e, pk)
	}
	n.enqueue(now, e, out, q, pk, slot)
	if sw.hoqLife > 0 || sw.packetLife > 0 {
		n.entered(now, sw, e, c)
	}
	if xoff {
		n.setPause(now, i, c, true)
	}
	n.startOrWait(now, e, out)
}

// admitLossless accounts a frame to its ingress port and priority group:
// reserve, shared pool up to the threshold, then headroom. It reports whether
// there was room, and whether the group has now crossed XOFF.
func (n *Net) admitLossless(now units.Time, sw *swtch, i int, c uint8, size int32) (admitted, xoff bool) {
	g := &n.pgs[c][i]
	if mutantShortHeadroom && g.peak == 0 {
		g.headroomSize -= 3 * (4096 + 78)
	}
	t := sw.threshold(g)
	used := g.used + size
	switch {
	case used <= g.reserved:
		g.used = used
	case int64(used-g.reserved) > t || int64(min(size, used-g.reserved)) > sw.shared-sw.used:
		if g.headroom+size > g.headroomSize {
			// Only what is queued can bring the XON.
			return false, g.used+g.headroom > 0 && n.crossed(now, i, c, g)
		}
		g.headroom += size
		g.peakHeadroom = max(g.peakHeadroom, g.headroom)
	default:
		g.used = used
		sw.used += int64(min(size, used-g.reserved))
		sw.peakUsed = max(sw.peakUsed, sw.used)
	}
	g.peak = max(g.peak, g.used+g.headroom)
	if g.xoff || n.ports[i].pfc>>c&1 == 0 {
		return true, false
	}
	room := sw.threshold(g) - int64(g.above())
	if room < int64(g.nearest) {
		n.nearer(i, c, g, room, record.Approach{Value: int64(g.used), Threshold: int64(max(g.used, g.reserved)) + room, At: now})
	}
	return true, (g.headroom > 0 || room <= 0) && n.crossed(now, i, c, g)
}

// crossed notes that a group reached XOFF, also when the frame that would have
// crossed it found no room. It reports false where it had before, or where
// there is nobody to pause.
func (n *Net) crossed(now units.Time, i int, c uint8, g *pg) bool {
	if g.xoff || n.ports[i].pfc>>c&1 == 0 {
		return false
	}
	g.xoff = true
	n.cold[i].xoff[c].Add(now, int64(g.used+g.headroom))
	return true
}

// nearer notes that a use of class c at port i came nearer to its threshold
// than ever before: room is what was left.
func (n *Net) nearer(i int, c uint8, g *pg, room int64, a record.Approach) {
	g.nearest = int32(max(room, math.MinInt32))
	n.cold[i].near[c] = a
}

// release returns a frame's buffer when its transmission at port e starts, headroom
// first, and tells the upstream port to go on when enough is free: behind this frame
// if it leaves by the port that it came in by.
func (n *Net) release(now units.Time, sw *swtch, e int, c uint8, pk *packet.Packet) {
	if sw.unaccounted>>c&1 != 0 || mutantSkipRelease && pk.PSN%64 == 63 {
		return
	}
	size := int32(pk.Frame)
	if sw.lossless>>c&1 == 0 {
		sw.lossyUsed -= int64(size)
		if sw.lossyUsed < 0 {
			n.part.Bug("%s: lossy pool below zero", sw.name)
		}
		return
	}
	i := sw.base + int(pk.In)
	g := &n.pgs[c][i]
	h := min(g.headroom, size)
	rest := size - h
	shared := min(rest, g.above())
	g.headroom -= h
	g.used -= rest
	sw.used -= int64(shared)
	if g.used < 0 || sw.used < 0 {
		n.part.Bug("%s port %d class %d: buffer accounting below zero (group %d, pool %d)", sw.name, pk.In+1, c, g.used, sw.used)
	}
	if g.xoff && g.headroom == 0 {
		if a := g.above(); a == 0 || int64(a+g.xonOffset) <= sw.threshold(g) {
			g.xoff = false
			n.ports[i].wantPause(c, false)
			if i != e {
				n.kick(now, i)
			}
		}
	}
}
