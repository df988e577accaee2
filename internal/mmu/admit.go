package mmu

import (
	"math"

	"github.com/hopscope/hopscope/internal/units"
)

// Cells returns how many cells a frame of b bytes takes.
func (m *Memory) Cells(b uint32) int32 {
	if m.cell == 1 {
		return int32(b)
	}
	return int32((b + m.cell - 1) / m.cell)
}

// Bytes returns the bytes of n cells.
func (m *Memory) Bytes(n int32) int64 { return int64(n) * int64(m.cell) }

// Group returns the group of an ingress port and priority.
func (m *Memory) Group(port, class int) *Group { return &m.groups[class*m.ports+port] }

// Queue returns the queue of an egress port, of the priority of group g and in the part of
// the memory that g fills.
func (m *Memory) Queue(g *Group, port int) *Queue { return &m.queues[int(g.firstQueue)+port] }

// Admit charges a frame of n cells to group g and queue k, or refuses it and changes
// nothing. What the group's reserve, its share of the pool and its headroom
// take, they take in that order; a frame is never split between pool and headroom. due
// says that the group's peer is to stop now: also a frame that found no room may say so,
// where something is queued that can bring the XON.
func (m *Memory) Admit(g *Group, k *Queue, n int32) (v Verdict, due bool) {
	if v := k.admits(n, g.lossless); v != Admitted {
		return v, false
	}
	from := g.pool
	ingress := g.beyond(n)
	switch {
	case ingress == 0 || ingress <= from.free() && g.used+n-g.reserved <= g.limit.of(from.free()):
		g.take(n)
	case !g.lossless:
		return IngressEnd, false
	case n > m.rests[g.rest].headroomSize-g.headroom || from.headroom > 0 && n > from.headroom-from.headroomUsed:
		if due = !g.xoff && g.used+g.headroom > 0; due {
			g.stop()
		}
		return HeadroomEnd, due
	default:
		g.headroom += n
		of := &m.rests[g.rest]
		of.peakHeadroom = max(of.peakHeadroom, g.headroom)
		if from.headroom > 0 {
			from.headroomUsed += n
		}
	}
	g.peak = max(g.peak, g.used+g.headroom)
	if k.pool != nil {
		k.take(n)
	}
	g.part.held += n
	if due = g.lossless && !g.xoff && (g.headroom > 0 || g.Slack() <= 0); due {
		g.stop()
	}
	return Admitted, due
}

// admits says whether the queue's threshold and pool let n more cells wait. What an egress
// pool keeps as headroom is for lossless frames alone.
func (k *Queue) admits(n int32, lossless bool) Verdict {
	if k.pool == nil {
		return Admitted
	}
	switch {
	case k.Room(n) < 0:
		return EgressEnd
	case k.beyond(n) <= k.pool.free(), lossless && k.beyond(n)-k.pool.headroom <= k.pool.free():
		return Admitted
	}
	return PoolEnd
}

// Slack returns how many cells the group is below its threshold, which others move as they
// fill the pool. At 0 or less XOFF is due; a group has its reserve even where nothing of
// the pool is left, unless it is eager.
func (g *Group) Slack() int32 {
	use := g.used - g.reserved
	if g.eager {
		use = max(0, use)
	}
	return g.limit.of(g.pool.free()) - use
}

// Room returns how many cells the queue would be below its threshold with n more, and what
// is below 0 above it.
func (k *Queue) Room(n int32) int32 { return k.limit.of(k.pool.free()) - max(0, k.used+n-k.reserved) }

// Limited reports whether the queue has a threshold.
func (k *Queue) Limited() bool { return k.pool != nil && k.limit.fixed != math.MaxInt32 }

// Release gives back the n cells of a frame that Admit charged to group g and queue k:
// headroom first, then the pool, then the reserve. It reports whether the group's peer
// may go on now.
func (m *Memory) Release(g *Group, k *Queue, n int32) (xon bool) {
	if k.pool != nil {
		k.give(n)
	}
	headroom := min(g.headroom, n)
	g.headroom -= headroom
	if g.pool.headroom > 0 {
		g.pool.headroomUsed -= headroom
	}
	g.give(n - headroom)
	g.part.held -= n
	if !g.xoff || g.headroom > 0 || !m.belowXON(g) {
		return false
	}
	g.xoff = false
	m.settle(g)
	return true
}

// belowXON reports whether a group whose headroom is empty has room for its peer to go on.
func (m *Memory) belowXON(g *Group) bool {
	above, of := g.above(), &m.rests[g.rest]
	return above == 0 || g.used <= of.xon || of.xonOffset >= 0 && int64(above)+int64(of.xonOffset) <= int64(g.limit.of(g.pool.free()))
}

// A path for most frames (Quiet, Calm, Keep, GiveBack) asks first whether anything but
// "admitted" comes of one: XOFF, headroom, a drop, a use higher or nearer to its threshold
// than ever before. Where a group uses u cells, its reserve at least, and its pool p, room r
// is left below a dynamic threshold if
//
//	alpha * (size - p) >= r + u - reserved
//
// so that alpha*p + u has a bound for each r, which is worked out anew only when the least
// room so far changes.

// settle works out the bound up to which the group neither stops its peer nor drops, and has
// no less room than ever before.
func (m *Memory) settle(g *Group) {
	of, room := &m.rests[g.rest], int32(0)
	if g.lossless { // of others nothing is noted
		room = max(g.spare(), of.room)
	}
	g.quiet = of.empty - int64(room)<<16
}

// empty is the bound up to which no less than no room is left; where thresholds are cut off,
// beyond 2^31-1 cells, one that nothing keeps.
func (g *Group) empty() int64 {
	of := int64(g.limit.fixed) << 16
	if g.limit.alpha != 0 {
		of = int64(g.limit.alpha) * int64(g.pool.size)
	}
	if of>>16 > math.MaxInt32 {
		return math.MinInt64 / 2
	}
	return of + int64(g.reserved)<<16
}

// spare is the least room that a group keeps without stopping its peer or dropping.
func (g *Group) spare() int32 {
	if g.lossless {
		return 1
	}
	return 0
}

// stop notes that the group's peer is to stop.
func (g *Group) stop() { g.xoff, g.quiet = true, math.MinInt64 }

// Quiet reports whether n more cells in group g are admitted and nothing else happens, nor is
// there anything to note of it, as far as the group goes: where its queues bind, QuietQueue
// has to say so too. If not, Calm may still hold. It is small enough to become part of a path.
func (g *Group) Quiet(n int32) bool {
	most := max(g.used+n, g.reserved)
	p := g.pool.used + most - max(g.used, g.reserved)
	return int64(most)<<16+int64(g.limit.alpha)*int64(p) <= g.quiet && p <= g.pool.size && g.used+n <= g.peak
}

// QueuesBind reports whether some of the queues that group g fills can refuse a frame.
func (g *Group) QueuesBind() bool { return g.queuesBind }

// QuietQueue is Quiet for the queue of an egress port, of which nothing is noted where the
// group stops its peer.
func (m *Memory) QuietQueue(g *Group, port int, n int32) bool {
	k := m.Queue(g, port)
	return k.admits(n, g.lossless) == Admitted && (g.lossless || !k.Limited() || k.Room(n) >= k.room)
}

// Calm reports whether a frame of n cells that came in by group g and goes to an egress port
// is admitted and nothing else happens, and notes then what is new of it.
func (m *Memory) Calm(now units.Time, g *Group, port int, n int32) bool {
	free, ingress := g.pool.free(), g.beyond(n)
	room := g.limit.of(free-ingress) - max(0, g.used+n-g.reserved)
	if g.xoff || ingress > free || room < g.spare() {
		return false
	}
	if g.queuesBind {
		k := m.Queue(g, port)
		if k.admits(n, g.lossless) != Admitted {
			return false
		}
		if !g.lossless && k.Limited() {
			m.NoteQueue(now, k, n)
		}
	}
	g.peak = max(g.peak, g.used+n)
	if g.lossless && m.rests[g.rest].note(now, g.used+n, g.reserved, room) {
		m.settle(g)
	}
	return true
}

// Keep charges a frame for which Calm holds. It reports false where more is held then than
// the memory has, which no valid memory lets happen.
func (m *Memory) Keep(g *Group, port int, n int32) bool {
	g.take(n)
	if g.queuesBind {
		if k := m.Queue(g, port); k.pool != nil {
			k.take(n)
		}
	}
	g.part.held += n
	return g.part.held <= g.part.size
}

// GiveBack is Release for a group that has not stopped its peer. It reports false, and has
// changed nothing, where Release must look: XON may follow, or an account would fall below
// zero.
func (m *Memory) GiveBack(g *Group, port int, n int32) bool {
	ingress := g.shared(n)
	if g.xoff || g.used < n || g.pool.used < ingress || g.queuesBind && !m.giveBack(m.Queue(g, port), n) {
		return false
	}
	g.used -= n
	g.pool.used -= ingress
	g.part.held -= n
	return true
}

func (m *Memory) giveBack(k *Queue, n int32) bool {
	if k.pool == nil {
		return true
	}
	egress := k.shared(n)
	if k.used < n || k.pool.used < egress {
		return false
	}
	k.used -= n
	k.pool.used -= egress
	return true
}

// Note notes how near to XOFF a lossless group is after Admit.
func (m *Memory) Note(now units.Time, g *Group) {
	room := g.limit.of(g.pool.free()) - max(0, g.used-g.reserved)
	if m.rests[g.rest].note(now, g.used, g.reserved, room) && !g.xoff {
		m.settle(g)
	}
}

// NoteQueue notes how near a queue with a threshold comes to it with n more cells, which are
// to wait in it.
func (m *Memory) NoteQueue(now units.Time, k *Queue, n int32) {
	k.note(now, k.used+n, k.reserved, k.Room(n))
}

// note notes a use that has less room than any before, and reports whether it has.
func (a *approach) note(now units.Time, use, reserved, room int32) bool {
	if room >= a.room {
		return false
	}
	a.room = room
	if margin := int64(max(use, reserved)) + int64(room) - int64(use); margin < a.margin {
		a.use, a.margin, a.at = use, margin, now
	}
	return true
}

// NearestXOFF returns the use of a lossless group that came nearest to its threshold, and
// the threshold, in bytes, and when that was first; ok is false if nothing came in by it.
func (m *Memory) NearestXOFF(g *Group) (use, threshold int64, at units.Time, ok bool) {
	return m.nearest(&m.rests[g.rest].approach)
}

// NearestDrop is NearestXOFF for the queue of an egress port and priority, in the part of
// the memory where it came nearest.
func (m *Memory) NearestDrop(port, class int) (use, threshold int64, at units.Time, ok bool) {
	a := &m.queues[class*m.ports+port].approach
	for i := range m.parts {
		if b := &m.queues[(i*Classes+class)*m.ports+port].approach; b.margin < a.margin || b.margin == a.margin && b.at < a.at {
			a = b
		}
	}
	return m.nearest(a)
}

// QueueAlone returns the most that the queue of an egress port and priority may hold while nothing else is
// in its part of the memory, in bytes; 0: as much as that holds. With a dynamic threshold, alpha times what
// is free, that is alpha / (1 + alpha) of the part (Choudhury and Hahne 1998, equation 3 with one queue).
func (m *Memory) QueueAlone(port, class int) int64 {
	k := &m.queues[class*m.ports+port]
	switch {
	case !k.Limited():
		return 0
	case k.limit.alpha == 0:
		return m.Bytes(k.limit.fixed + k.reserved)
	}
	alpha := int64(k.limit.alpha)
	return m.Bytes(int32(int64(k.pool.size)*alpha/(1<<16+alpha)) + k.reserved)
}

func (m *Memory) nearest(a *approach) (use, threshold int64, at units.Time, ok bool) {
	if a.margin == math.MaxInt64 {
		return 0, 0, 0, false
	}
	use = m.Bytes(a.use)
	return use, use + a.margin*int64(m.cell), a.at, true
}

// Stopped reports whether the group has stopped its peer.
func (g *Group) Stopped() bool { return g.xoff }

// Lossless reports whether the group stops its peer rather than drop.
func (g *Group) Lossless() bool { return g.lossless }

// Peaks returns the most that group g held, and that of its headroom, in bytes.
func (m *Memory) Peaks(g *Group) (held, headroom int64) {
	return m.Bytes(g.peak), m.Bytes(m.rests[g.rest].peakHeadroom)
}

// Using returns what group g holds, in bytes.
func (m *Memory) Using(g *Group) int64 { return m.Bytes(g.used + g.headroom) }

// Headroom returns the most that group g may hold beyond its threshold, in bytes.
func (m *Memory) Headroom(g *Group) int64 { return m.Bytes(m.rests[g.rest].headroomSize) }

// Broken says what is wrong with the books of group g and queue k, or "": more is held
// than there is, or less than nothing.
func (m *Memory) Broken(g *Group, k *Queue) string {
	switch {
	case g.used < 0 || g.pool.used < 0 || g.pool.headroomUsed < 0:
		return "a group or its pool holds less than nothing"
	case k.pool != nil && (k.used < 0 || k.pool.used < 0):
		return "a queue or its pool holds less than nothing"
	case g.part.held > g.part.size:
		return "more is held than the memory has"
	case g.part.held < 0:
		return "the memory holds less than nothing"
	}
	return ""
}

// Empty says what is still held when nothing should be, or "".
func (m *Memory) Empty() string {
	for i := range m.groups {
		if g := &m.groups[i]; g.used != 0 || g.headroom != 0 {
			return "a group"
		}
	}
	for i := range m.queues {
		if m.queues[i].used != 0 {
			return "a queue"
		}
	}
	for _, pools := range [][]pool{m.ingress, m.egress} {
		for i := range pools {
			if pools[i].used != 0 || pools[i].headroomUsed != 0 {
				return "a pool"
			}
		}
	}
	for _, p := range m.parts {
		if p.held != 0 {
			return "the memory"
		}
	}
	return ""
}

// Held returns the bytes that wait in the memory.
func (m *Memory) Held() (b units.Bytes) {
	for _, p := range m.parts {
		b += units.Bytes(m.Bytes(p.held))
	}
	return b
}
