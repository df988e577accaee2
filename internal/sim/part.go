package sim

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// Ref is what an event carries to its handler: a tag of the handler's own in
// the high word (the top bit is the engine's) and a record index or a small
// number in the low word.
type Ref uint64

// Background marks an event that keeps nothing alive: it may repeat for ever
// without any message making progress (a PFC refresh, a pause expiry).
const Background Ref = 1 << 63

// MakeRef joins tag and low word.
func MakeRef(tag, low uint32) Ref { return Ref(tag)<<32 | Ref(low) }

// Tag returns the high word without the engine's bit.
func (r Ref) Tag() uint32 { return uint32(r>>32) &^ (1 << 31) }

// Low returns the low word.
func (r Ref) Low() uint32 { return uint32(r) }

// Handler executes the events of one partition.
type Handler interface {
	Handle(now units.Time, ref Ref)
	// Warm is told which events come next, so that the memory they need can be
	// fetched in one go instead of one cache miss after the other. What it
	// changes must not depend on whether or when it is called.
	Warm(next []Event)
	// Adopt takes over side record number side of partition from, which
	// belongs to record i that has just arrived from there; parity says in
	// which half of from's side records it stands.
	Adopt(from, parity int, side, i uint32)
}

// mail is an event for another partition together with the record it carries.
type mail[R any] struct {
	at    units.Time
	order uint64
	tag   uint32
	side  uint32 // side record's number, 0 none
	rec   R
}

// Part is one partition: its own clock, queue and slab of records. During a
// window exactly one worker touches it.
type Part[R any] struct {
	ID      int
	Handler Handler
	// Warming lets the handler warm the events to come. It pays where the
	// working set of all partitions is larger than a second-level cache.
	Warming bool

	now    units.Time
	last   units.Time // last time an event carried a record or NoteWork was called
	events int64
	live   int64 // pending events that are not Background
	q      queue
	slab   []R
	free   []uint32
	// out[parity][dst]: what this window sends; the receiver drains it in the
	// next window while this part writes the other half.
	out     [2][][]mail[R]
	windows int64
	parity  int
	mailMin units.Time
	mailN   int64
	inbox   []*Part[R] // all parts, by ID
	nextAt  units.Time // earliest pending event after the last window
	ahead   []Event    // scratch of window
	limit   units.Time // end of the current window

	history [32]past
}

// past is an executed event, kept for Bug.
type past struct {
	at  units.Time
	ref Ref
}

func newPart[R any](id, parts int) *Part[R] {
	p := &Part[R]{ID: id, slab: make([]R, 1, 1024), nextAt: units.Never, mailMin: units.Never}
	p.q.init()
	for i := range p.out {
		p.out[i] = make([][]mail[R], parts)
	}
	return p
}

// Now returns the time of the event being executed.
func (p *Part[R]) Now() units.Time { return p.now }

// Current returns the order (see Order) and the low word of the event being executed, by
// which it stands among those of its time and node.
func (p *Part[R]) Current() (order uint64, low uint32) {
	e := &p.q.cur[p.q.pos-1]
	return e.key & orderMask, e.ref.Low()
}

// Events counts the events executed so far.
func (p *Part[R]) Events() int64 { return p.events }

// Window numbers the windows of a run; what a window sends is fetched in the
// next one, so that its parity tells two halves of a mailbox apart.
func (p *Part[R]) Window() int64 { return p.windows }

// NoteWork tells the engine that the current event belongs to the run's length:
// it delivered a record, or ended a message. Timers alone do not prolong a run.
func (p *Part[R]) NoteWork() { p.last = p.now }

// Alloc returns the index of a free record, which holds what its last user
// left there. Pointers from Rec are invalid after Alloc.
func (p *Part[R]) Alloc() uint32 {
	if n := len(p.free); n > 0 {
		i := p.free[n-1]
		p.free = p.free[:n-1]
		return i
	}
	p.slab = append(p.slab, *new(R))
	return uint32(len(p.slab) - 1)
}

// Free returns record i to the slab.
func (p *Part[R]) Free(i uint32) { p.free = append(p.free, i) }

// Rec returns record i, valid until the next Alloc.
func (p *Part[R]) Rec(i uint32) *R { return &p.slab[i] }

// Alive counts the records in use.
func (p *Part[R]) Alive() int { return len(p.slab) - 1 - len(p.free) }

// At schedules an event on this partition. order comes from Order.
func (p *Part[R]) At(at units.Time, order uint64, ref Ref) {
	if at < p.now {
		p.Bug("event scheduled at %d ps, in the past", at)
	}
	if ref&Background == 0 {
		p.live++
	}
	p.q.push(at, order, ref)
}

// Send schedules an event that carries record i on partition dst, which may be
// this one. The record moves along: i is no longer the caller's.
//
// side, when not zero, numbers a side record that the handler keeps and the
// receiver's Handler.Adopt fetches; it stands for nothing within a partition.
func (p *Part[R]) Send(dst int, at units.Time, order uint64, tag, i, side uint32) {
	if dst == p.ID {
		p.live++
		p.q.push(at, order, MakeRef(tag, i))
		return
	}
	if at < p.limit {
		p.Bug("record sent to partition %d for %d ps, before the window ends at %d: the lookahead is too long", dst, at, p.limit)
	}
	box := &p.out[p.parity][dst]
	*box = append(*box, mail[R]{at, order, tag, side, p.slab[i]})
	p.mailMin = min(p.mailMin, at)
	p.mailN++
	p.Free(i)
}

// window executes every event before limit, after taking in what the other
// partitions sent in the window before.
func (p *Part[R]) window(limit units.Time) {
	p.windows++
	p.parity = int(p.windows & 1)
	p.limit = limit
	p.mailMin, p.mailN = units.Never, 0
	for _, src := range p.inbox {
		box := src.out[p.parity^1][p.ID]
		for k := range box {
			m := &box[k]
			i := p.Alloc()
			p.slab[i] = m.rec
			if m.side != 0 {
				p.Handler.Adopt(src.ID, p.parity^1, m.side, i)
			}
			p.live++
			p.q.push(m.at, m.order, MakeRef(m.tag, i))
		}
		src.out[p.parity^1][p.ID] = box[:0]
	}
	warm := int64(0) // buckets before this one have been warmed
	for {
		if p.Warming && p.q.cursor >= warm {
			p.ahead, warm = p.q.gather(p.ahead[:0], limit)
			p.Handler.Warm(p.ahead)
		}
		for p.q.pos < len(p.q.cur) {
			e := p.q.cur[p.q.pos]
			at := units.Time(p.q.cursor)<<bucketBits | units.Time(e.key>>orderBits)
			if at >= limit {
				p.nextAt = at
				return
			}
			p.q.pos++
			p.now = at
			p.history[p.events&31] = past{at, e.ref}
			p.events++
			if e.ref&Background == 0 {
				p.live--
			}
			p.Handler.Handle(at, e.ref)
		}
		if !p.q.advance(limit) {
			break
		}
	}
	p.nextAt = p.q.next()
}

// Bug panics with the time, the partition and its last events: an invariant is
// broken, the program is wrong, and no result can be trusted.
func (p *Part[R]) Bug(format string, args ...any) {
	var b strings.Builder
	fmt.Fprintf(&b, "sim: BUG at %d ps in partition %d: %s\nlast events (time, tag, low):", p.now, p.ID, fmt.Sprintf(format, args...))
	for k := max(0, p.events-32); k < p.events; k++ {
		e := p.history[k&31]
		fmt.Fprintf(&b, "\n  %d ps  %#x  %d", e.at, e.ref.Tag(), e.ref.Low())
	}
	panic(b.String())
}

func bug(format string, args ...any) { panic("sim: BUG: " + fmt.Sprintf(format, args...)) }
