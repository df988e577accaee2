package fabric

import (
	"math"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// pg is the ingress accounting of one (port, priority group).
type pg struct {
	used, headroom         int32 // bytes in the reserve and the shared pool; bytes in headroom
	reserved, headroomSize int32
	static                 int32 // XOFF threshold when positive
	xonOffset              int32
	alpha                  fraction
	xoff                   bool
	peak, peakHeadroom     int32
	// See calm. In a lossy class both are those of the port's egress queue.
	calmUse  int32
	calmPool int64
	// nearest is the least room so far up to XOFF; in a lossy class that of the
	// port's egress queue up to its dynamic threshold.
	nearest int32
}

// above returns how much of the shared pool the group uses.
func (g *pg) above() int32 { return max(0, g.used-g.reserved) }

// threshold is the XOFF limit of g's shared use while pool bytes of the shared pool are
// in use: static, or alpha times what is free (Choudhury and Hahne's dynamic threshold).
func (s *swtch) threshold(g *pg, pool int64) int64 {
	if g.static > 0 {
		return int64(g.static)
	}
	return g.alpha.of(s.shared - pool)
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

// admitLossless accounts a frame to its ingress port and priority group:
// reserve, shared pool up to the threshold, then headroom. It reports whether
// there was room, and whether the group has now crossed XOFF.
func (n *Net) admitLossless(now units.Time, sw *swtch, i int, c uint8, size int32) (admitted, xoff bool) {
	g := &n.pgs[c][i]
	if mutantShortHeadroom && g.peak == 0 {
		g.headroomSize -= 3 * (4096 + 78)
	}
	t := sw.threshold(g, sw.used)
	used := g.used + size
	g.calmUse = -1
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
	room := n.noteRoom(now, sw, i, c, g, g.used, sw.used)
	if g.headroom > 0 || room <= 0 {
		return true, n.crossed(now, i, c, g)
	}
	sw.settle(g, room)
	return true, false
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

// noteRoom returns what is left up to XOFF to the group of class c at port i once it
// uses used bytes and the pool holds pool, and notes it when that is the least so far.
func (n *Net) noteRoom(now units.Time, sw *swtch, i int, c uint8, g *pg, used int32, pool int64) int64 {
	room := sw.threshold(g, pool) - int64(max(0, used-g.reserved))
	if room < int64(g.nearest) {
		n.nearer(i, c, g, room, record.Approach{Value: int64(used), Threshold: int64(max(used, g.reserved)) + room, At: now})
	}
	return room
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
		if a := g.above(); a == 0 || int64(a+g.xonOffset) <= sw.threshold(g, sw.used) {
			g.xoff = false
			n.ports[i].wantPause(c, false)
			if i != e {
				n.kick(now, i)
			}
		}
	}
}

// admitLossy is the egress dynamic threshold of a lossy priority: the queue
// may grow to alpha times what is free of the lossy pool.
func (n *Net) admitLossy(now units.Time, sw *swtch, e int, c uint8, size int32) bool {
	g := &n.pgs[c][e]
	g.calmUse = math.MaxInt32
	g.calmPool = math.MaxInt64
	if sw.lossyAlpha != 0 {
		use := n.queues[c][e].bytes + size
		room := n.noteLossyRoom(now, sw, e, c, g, use)
		if int64(size) > sw.lossyPool-sw.lossyUsed || room < 0 {
			g.calmUse = -1
			return false
		}
		sw.settleLossy(g, room)
	}
	sw.lossyUsed += int64(size)
	return true
}

// noteLossyRoom returns what is left to a queue that holds use bytes with the frame that
// comes, and notes it when that is the least so far.
func (n *Net) noteLossyRoom(now units.Time, sw *swtch, e int, c uint8, g *pg, use int32) int64 {
	limit := sw.lossyAlpha.of(sw.lossyPool - sw.lossyUsed)
	room := limit - int64(use)
	if room < int64(g.nearest) {
		n.nearer(e, c, g, room, record.Approach{Value: int64(use), Threshold: limit, At: now})
	}
	return room
}

// The plain path (plain.go) asks one question: may this frame be admitted without
// anything else to follow: no XOFF, no headroom, no drop? The answer is worked out ahead:
// up to a use of calmUse bytes, while the pool holds at most calmPool bytes, it is yes.
// With a dynamic threshold others lower it as they take from the pool, so that there is a
// bound of the pool for every bound of the use; a frame that passes either is admitted on
// the slow path, which works both out anew. Of what stands here the plain path knows calm,
// book, keep and giveBack only.

// calmShare is how much others may take from the pool, at most, for a byte of the group's
// own, before its bounds are worked out anew.
const calmShare = 4

// calm reports whether a frame of class c that goes to queue q is admitted and nothing
// else happens. g is its ingress group, or in a lossy class what pgs has for q's port.
func (s *swtch) calm(g *pg, q *queue, c uint8, size int32) bool {
	if s.lossless>>c&1 != 0 {
		return g.used+size <= g.calmUse && s.used+int64(size) <= g.calmPool
	}
	return q.bytes+size <= g.calmUse && s.lossyUsed+int64(size) <= g.calmPool
}

// settle works out the bounds of a group that is room bytes short of XOFF.
func (s *swtch) settle(g *pg, room int64) {
	g.calmPool = s.shared
	if g.static <= 0 {
		g.calmPool = min(s.shared, s.used+calmMargin(g.alpha, room-1))
	}
	if t := s.threshold(g, g.calmPool); t > 0 {
		g.calmUse = int32(min(int64(g.reserved)+t-1, math.MaxInt32))
	}
}

// settleLossy works out the bounds of a queue that is room bytes short of its limit.
func (s *swtch) settleLossy(g *pg, room int64) {
	g.calmPool = min(s.lossyPool, s.lossyUsed+calmMargin(s.lossyAlpha, room))
	g.calmUse = int32(min(s.lossyAlpha.of(s.lossyPool-g.calmPool), math.MaxInt32))
}

// calmMargin splits room, which is alpha times what others take and what the group takes.
func calmMargin(alpha fraction, room int64) int64 {
	return room << 16 / (int64(alpha) + 1<<16/calmShare)
}

// book notes the peaks and the nearness to thresholds that a frame of ingress port i and
// egress port e brings about, for which calm holds. It returns what the frame makes of the
// group's use and of the pool: the caller's to keep where the frame stays.
func (n *Net) book(now units.Time, sw *swtch, i, e int, c uint8, g *pg, q *queue, size int32) (used int32, pool int64) {
	if sw.lossless>>c&1 == 0 {
		if sw.lossyAlpha != 0 {
			n.noteLossyRoom(now, sw, e, c, g, q.bytes+size)
		}
		return 0, sw.lossyUsed + int64(size)
	}
	used = g.used + size
	pool = sw.used + int64(min(size, max(0, used-g.reserved)))
	g.peak = max(g.peak, used)
	sw.peakUsed = max(sw.peakUsed, pool)
	if sw.threshold(g, pool)-int64(max(0, used-g.reserved)) < int64(g.nearest) {
		n.noteRoom(now, sw, i, c, g, used, pool)
	}
	return used, pool
}

// keep takes what book returned into account: the frame stays.
func (s *swtch) keep(g *pg, c uint8, used int32, pool int64) {
	if s.lossless>>c&1 == 0 {
		s.lossyUsed = pool
		return
	}
	g.used, s.used = used, pool
}

// giveBack returns the room of a frame of size bytes that came in by group g, of a
// lossless class, and reports true; false, and nothing has changed, where more may follow.
func (s *swtch) giveBack(g *pg, c uint8, size int32) bool {
	// Were an account to fall below zero, the slow path would say which.
	if s.lossless>>c&1 == 0 {
		if s.lossyUsed < int64(size) {
			return false
		}
		s.lossyUsed -= int64(size)
		return true
	}
	shared := min(size, g.above())
	if g.calmUse < 0 || g.used < size || s.used < int64(shared) {
		return false
	}
	g.used -= size
	s.used -= int64(shared)
	return true
}
