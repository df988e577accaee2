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
// nothing but bounds. What the group's reserve, its share of the pool and its headroom
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
		g.calmUse = -1
		return IngressEnd, false
	case n > g.headroomSize-g.headroom || from.headroom > 0 && n > from.headroom-from.headroomUsed:
		g.calmUse = -1
		due = !g.xoff && g.used+g.headroom > 0
		g.xoff = g.xoff || due
		return HeadroomEnd, due
	default:
		g.headroom += n
		g.peakHeadroom = max(g.peakHeadroom, g.headroom)
		if from.headroom > 0 {
			from.headroomUsed += n
		}
	}
	g.peak = max(g.peak, g.used+g.headroom)
	if k.pool != nil {
		k.take(n)
	}
	m.held[g.part] += n
	switch room := g.Slack(); {
	case g.xoff:
	case g.lossless && (g.headroom > 0 || room <= 0):
		due, g.xoff, g.calmUse = true, true, -1
	default:
		g.settle(1, room)
	}
	return Admitted, due
}

// admits says whether the queue's threshold and pool let n more cells wait. The pool's
// end stops lossy frames only: what a lossless group has room for is not dropped where it
// leaves because others fill the egress pool.
func (k *Queue) admits(n int32, lossless bool) Verdict {
	if k.pool == nil {
		return Admitted
	}
	room := k.Room(n)
	switch {
	case room < 0:
		k.calmUse = -1
		return EgressEnd
	case !lossless && k.beyond(n) > k.pool.free():
		k.calmUse = -1
		return PoolEnd
	}
	k.settle(0, room)
	return Admitted
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
	m.held[g.part] -= n
	if !g.xoff || g.headroom > 0 || !g.belowXON() {
		return false
	}
	g.xoff = false
	return true
}

// belowXON reports whether a group whose headroom is empty has room for its peer to go on.
func (g *Group) belowXON() bool {
	above := g.above()
	return above == 0 || g.used <= g.xon || g.xonOffset >= 0 && int64(above)+int64(g.xonOffset) <= int64(g.limit.of(g.pool.free()))
}

// A path for most frames (Calm, Book, Keep, GiveBack) asks one question: is the frame
// admitted and nothing else follows, no XOFF, no headroom, no drop? The answer is worked
// out ahead: up to a use of calmUse, while the pool holds at most calmPool, it is yes. With
// a dynamic threshold others lower it as they take from the pool, so that there is a bound
// of the pool for every bound of the use; a frame that passes either is left to Admit,
// which works both out anew.

// calmShare is how much others may take from the pool, at most, for a cell of one's own,
// before the bounds are worked out anew.
const calmShare = 4

// settle works out the bounds of an account that is room cells below its threshold, of
// which spare are to be left.
func (a *account) settle(spare, room int32) {
	a.calmUse, a.calmPool = -1, a.pool.size
	if a.limit.alpha != 0 {
		margin := int64(max(0, room-spare)) << 16 / (int64(a.limit.alpha) + 1<<16/calmShare)
		a.calmPool = int32(min(int64(a.pool.size), int64(a.pool.used)+margin))
	}
	if t := a.limit.of(a.pool.size - a.calmPool); t >= spare {
		a.calmUse = int32(min(int64(a.reserved)+int64(t)-int64(spare), math.MaxInt32))
	}
}

// calm reports whether n more cells are within the bounds.
func (a *account) calm(n int32) bool { return a.used+n <= a.calmUse && a.pool.used+n <= a.calmPool }

// Calm reports whether a frame of n cells that came in by group g and goes to queue k is
// admitted and nothing else happens.
func (m *Memory) Calm(g *Group, k *Queue, n int32) bool {
	return g.calm(n) && (k.pool == nil || k.calm(n))
}

// Keep charges a frame for which Calm holds. It reports false where more is held then than
// the memory has, which no valid memory lets happen.
func (m *Memory) Keep(g *Group, k *Queue, n int32) bool {
	g.take(n)
	if k.pool != nil {
		k.take(n)
	}
	held := &m.held[g.part]
	*held += n
	return *held <= m.size
}

// GiveBack is Release for a group that has not stopped its peer. It reports false, and has
// changed nothing, where Release must look: XON may follow, or an account would fall below
// zero.
func (m *Memory) GiveBack(g *Group, k *Queue, n int32) bool {
	ingress := g.shared(n)
	if g.xoff || g.used < n || g.pool.used < ingress {
		return false
	}
	if k.pool != nil {
		egress := k.shared(n)
		if k.used < n || k.pool.used < egress {
			return false
		}
		k.used -= n
		k.pool.used -= egress
	}
	g.used -= n
	g.pool.used -= ingress
	m.held[g.part] -= n
	return true
}

// Nears reports whether the queue comes nearer to its threshold than ever before with n more.
func (k *Queue) Nears(n int32) bool { return k.Room(n) < k.nearest }

// Nears reports whether the group comes nearer to XOFF than ever before with n more, for
// which Calm holds.
func (g *Group) Nears(n int32) bool { return g.room(n) < g.nearest }

// room is what is left up to XOFF with n more.
func (g *Group) room(n int32) int32 {
	return g.limit.of(g.pool.free()-g.beyond(n)) - max(0, g.used+n-g.reserved)
}

// Nearer notes how near the account of group g came to XOFF with n more cells for which
// Calm holds, or n 0 after Admit. It reports the use and the threshold, in bytes, where
// that is nearer than ever before.
func (m *Memory) Nearer(g *Group, n int32) (use, threshold int64, nearer bool) {
	use32, room := g.used+n, g.room(n)
	if room >= g.nearest {
		return 0, 0, false
	}
	g.nearest = room
	return m.Bytes(use32), m.Bytes(max(use32, g.reserved)) + m.Bytes(room), true
}

// NearerQueue is Nearer for a queue with a threshold that n more cells are to wait in.
func (m *Memory) NearerQueue(k *Queue, n int32) (use, threshold int64, nearer bool) {
	room := k.Room(n)
	if room >= k.nearest {
		return 0, 0, false
	}
	k.nearest = room
	use32 := k.used + n
	return m.Bytes(use32), m.Bytes(max(use32, k.reserved)) + m.Bytes(room), true
}

// Peak notes that group g held n cells more for an instant.
func (g *Group) Peak(n int32) { g.peak = max(g.peak, g.used+n) }

// Stopped reports whether the group has stopped its peer.
func (g *Group) Stopped() bool { return g.xoff }

// Lossless reports whether the group stops its peer rather than drop.
func (g *Group) Lossless() bool { return g.lossless }

// Peaks returns the most that group g held, and that of its headroom, in bytes.
func (m *Memory) Peaks(g *Group) (held, headroom int64) {
	return m.Bytes(g.peak), m.Bytes(g.peakHeadroom)
}

// Using returns what group g holds, in bytes.
func (m *Memory) Using(g *Group) int64 { return m.Bytes(g.used + g.headroom) }

// Headroom returns the most that group g may hold beyond its threshold, in bytes.
func (m *Memory) Headroom(g *Group) int64 { return m.Bytes(g.headroomSize) }

// Broken says what is wrong with the books of group g and queue k, or "": more is held
// than there is, or less than nothing.
func (m *Memory) Broken(g *Group, k *Queue) string {
	switch {
	case g.used < 0 || g.pool.used < 0 || g.pool.headroomUsed < 0:
		return "a group or its pool holds less than nothing"
	case k.pool != nil && (k.used < 0 || k.pool.used < 0):
		return "a queue or its pool holds less than nothing"
	case m.held[g.part] > m.size:
		return "more is held than the memory has"
	case m.held[g.part] < 0:
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
	for _, n := range m.held {
		if n != 0 {
			return "the memory"
		}
	}
	return ""
}

// Held returns the bytes that wait in the memory.
func (m *Memory) Held() (b units.Bytes) {
	for _, n := range m.held {
		b += units.Bytes(m.Bytes(n))
	}
	return b
}
