package nic

import (
	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/units"
)

// Thread blocks that move data over NVLink share its links in turns of a few KiB, hundreds
// of them per step. Nothing but the inside of their own server sees a turn, so it is no
// event: turns wait in a list and are taken, in the order in which events of theirs would
// have come, when something else is booked inside the server, or when a copy must go on.
// The first turn of a copy and the last are parts of events: what follows from a copy comes
// in its own time and order.
//
// For that a copy has a timer at the earliest time at which all its turns but the last can
// have been taken: had it the links to itself. Where others delay it, the timer is set
// again.

// blocks are the copies of a host that take turns.
type blocks struct {
	next   []blockTurn // the turns that come, in their order
	first  int         // of next: those before were taken
	copies []turning
	free   []int32
	// singly has every turn be an event; see Spec.
	singly bool
}

// blockTurn is the next turn of a copy, and its place among the events of the host.
type blockTurn struct {
	at    units.Time
	order uint64
	copy  int32
	l     uint32
}

func (a *blockTurn) before(b *blockTurn) bool {
	return a.at < b.at || a.at == b.at && (a.order < b.order || a.order == b.order && a.l < b.l)
}

// turning is a copy that takes turns.
type turning struct {
	turns *dma.Turns
	pace  units.Time // from turn to turn at least, by the work of its threads
	least units.Time // and by the links too
	at    units.Time // of its next turn
	age   units.Time // then, since the turn before
	left  int64      // whole turns before the last
}

// pace is the time between two turns of a local operation by its own work, and how many
// there are.
func (r *LocalRun) pace() (pace units.Time, n int64) {
	size, _ := r.chain.Turns().Pace()
	if r.bytes <= size {
		return r.work, 1
	}
	n = int64((r.bytes + size - 1) / size)
	return r.work / units.Time(n), n
}

// turn takes a turn of local operation l, if there are others behind it.
func (h *Host) turn(now units.Time, l uint32, run *LocalRun) bool {
	if run.chain == nil || !run.chain.NVLink() {
		return false
	}
	turns := run.chain.Turns()
	size, least := turns.Pace()
	if run.left <= size {
		return false
	}
	pace, n := run.pace()
	h.takeTurns(now)
	run.left -= size
	next := max(now+pace, turns.Take(now))
	x := turning{turns: turns, pace: pace, least: max(pace, least), at: next, age: next - now, left: n - 2}
	if h.blocks.singly || n == 2 || x.least < 2 { // its timer would not come between two turns
		h.timer(next, next-now, timerLocal, l)
		return true
	}
	run.left -= size * units.Bytes(x.left)
	run.turning = h.blocks.add(x)
	h.blocks.push(blockTurn{next, h.turnOrder(x.age), run.turning, l})
	h.awaitTurns(now, l, &x)
	return true
}

// turnOrder is the order of a turn, so long after the one before, among events of its time.
func (h *Host) turnOrder(age units.Time) uint64 {
	return sim.Order(age, h.source+uint32(timerLocal))
}

// awaitTurns sets the timer of a copy: just after its whole turns can all have been taken, and
// before its last can come.
func (h *Host) awaitTurns(now units.Time, l uint32, x *turning) {
	at := x.at + x.least*units.Time(x.left-1) + 1
	h.timer(at, at-now, timerLocal, l)
}

// turned is what the timer of local operation l does.
func (h *Host) turned(now units.Time, l uint32) {
	h.takeTurns(now)
	run := h.localRun(l)
	x := &h.blocks.copies[run.turning-1]
	if x.left > 0 {
		h.awaitTurns(now, l, x)
		return
	}
	h.timer(x.at, x.age, timerLocal, l)
	h.blocks.free = append(h.blocks.free, run.turning)
	run.turning = 0
}

// takeTurns takes the turns that come before the event being executed.
func (h *Host) takeTurns(now units.Time) {
	if t := &h.blocks; t.first < len(t.next) && t.next[t.first].at <= now {
		order, low := h.net.Part().Current()
		h.takeTurnsBefore(&blockTurn{at: now, order: order, l: low})
	}
}

// takeTurnsBefore takes the turns that come before another.
func (h *Host) takeTurnsBefore(end *blockTurn) {
	t := &h.blocks
	for t.first < len(t.next) {
		u := t.next[t.first]
		if !u.before(end) {
			return
		}
		t.first++
		x := &t.copies[u.copy-1]
		at := max(u.at+x.pace, x.turns.Take(u.at))
		x.at, x.age = at, at-u.at
		if x.left--; x.left == 0 {
			continue
		}
		u.at, u.order = at, h.turnOrder(at-u.at)
		if n := len(t.next); n < cap(t.next) && t.next[n-1].at < at {
			t.next = append(t.next, u)
		} else {
			t.push(u)
		}
	}
}

// Settle takes the turns that come before a time at which a run ends.
func (h *Host) Settle(at units.Time) { h.takeTurnsBefore(&blockTurn{at: at}) }

// add adds a copy and returns its place, from 1.
func (t *blocks) add(x turning) int32 {
	if n := len(t.free); n > 0 {
		k := t.free[n-1]
		t.free = t.free[:n-1]
		t.copies[k-1] = x
		return k
	}
	t.copies = append(t.copies, x)
	return int32(len(t.copies))
}

// push puts a turn in its place, which is nearly always at the end.
func (t *blocks) push(u blockTurn) {
	if len(t.next) == cap(t.next) && t.first > 0 {
		t.next = t.next[:copy(t.next, t.next[t.first:])]
		t.first = 0
	}
	t.next = append(t.next, u)
	k := len(t.next) - 1
	for ; k > t.first && u.before(&t.next[k-1]); k-- {
		t.next[k] = t.next[k-1]
	}
	t.next[k] = u
}
