package sim

import (
	"fmt"
	"math/bits"
	"slices"
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
	// Run executes what Part.Next gives until there is nothing left: the events of
	// one cell in one window. Part.Coming has them beforehand, so that the memory
	// they need can be fetched in one go instead of one cache miss after the other.
	Run()
	// Adopt takes over side record number side of partition from, which
	// belongs to record i that has just arrived from there; parity says in
	// which half of from's side records it stands.
	Adopt(from, parity int, side, i uint32)
}

// mail is an event for another partition that carries a record.
type mail struct {
	at    units.Time
	order uint64
	tag   uint32
	rec   uint32
	side  uint32 // side record's number, 0 none
}

// Records lie in blocks, which never move. Every partition makes blocks of its own in
// its share of one table; a record that changes hands keeps its number, and when it is
// freed it goes back to the partition that made it.
const (
	blockBits = 12
	blockSize = 1 << blockBits
	tableSize = 1 << 16 // blocks, of 268 million records

	// MaxParts is how many partitions an engine may have.
	MaxParts = tableSize
)

// Part is one partition: its own clock, queue and records. During a window exactly one
// worker touches it. Its nodes form cells that run one after the other, so that the
// cache lines of a node are fetched once for all its events of a window.
type Part[R any] struct {
	ID      int
	Handler Handler

	now    units.Time
	worked units.Time // latest NoteWork of the current cell
	last   units.Time // latest of the cells before
	events int64
	live   int64 // pending events that are not Background
	q      queue
	limit  units.Time // end of the current window; 0 between windows
	cell   uint64     // the current cell, in its place in an order
	cells  int

	blocks *[tableSize]*[blockSize]R // the table of all partitions
	share  uint                      // log2 of how many records a partition may make
	made   uint32                    // records made so far
	free   []uint32
	inUse  int // records taken here less records freed here, whoever made them

	// out[parity][dst] is what this window sends, home[parity][maker] the records of
	// others that it freed; they fetch both in the next window, while this part
	// writes the other half.
	out     [2][][]mail
	home    [2][][]uint32
	windows int64
	parity  int
	mailMin units.Time
	mailN   int64
	inbox   []*Part[R] // all parts, by ID
	nextAt  units.Time // earliest pending event after the last window
}

func newPart[R any](id, parts int, width units.Time, blocks *[tableSize]*[blockSize]R) *Part[R] {
	p := &Part[R]{ID: id, blocks: blocks, share: uint(bits.Len(uint(tableSize/parts))-1) + blockBits, nextAt: units.Never, mailMin: units.Never}
	p.q.init(width)
	for i := range p.out {
		p.out[i], p.home[i] = make([][]mail, parts), make([][]uint32, parts)
	}
	if id == 0 {
		p.makeRecord() // number 0 stands for none
	}
	return p
}

// Now returns the time of the event being executed.
func (p *Part[R]) Now() units.Time { return p.now }

// Current returns the order (see Order) and the low word of the event being executed, by
// which it stands among those of its time and node.
func (p *Part[R]) Current() (order uint64, low uint32) {
	e := p.q.current()
	return e.order &^ (e.cell() << orderBits), e.ref.Low()
}

// Events counts the events executed so far.
func (p *Part[R]) Events() int64 { return p.events }

// Window numbers the windows of a run; what a window sends is fetched in the
// next one, so that its parity tells two halves of a mailbox apart.
func (p *Part[R]) Window() int64 { return p.windows }

// NoteWork tells the engine that the current event belongs to the run's length:
// it delivered a record, or ended a message. Timers alone do not prolong a run.
func (p *Part[R]) NoteWork() { p.worked = p.now }

// Alloc returns the number of a free record, which holds what its last user left
// there.
func (p *Part[R]) Alloc() uint32 {
	p.inUse++
	if n := len(p.free); n > 0 {
		i := p.free[n-1]
		p.free = p.free[:n-1]
		return i
	}
	return p.makeRecord()
}

// makeRecord makes one more record.
func (p *Part[R]) makeRecord() uint32 {
	if p.made>>p.share != 0 {
		p.Bug("more than %d records at a time", p.made)
	}
	i := uint32(p.ID)<<p.share + p.made
	if i&(blockSize-1) == 0 {
		p.blocks[i>>blockBits] = new([blockSize]R)
	}
	p.made++
	return i
}

// Free gives record i back.
func (p *Part[R]) Free(i uint32) {
	p.inUse--
	if maker := int(i >> p.share); maker != p.ID {
		p.home[p.parity][maker] = append(p.home[p.parity][maker], i)
		return
	}
	p.free = append(p.free, i)
}

// Rec returns record i, which stays where it is.
func (p *Part[R]) Rec(i uint32) *R { return &p.blocks[i>>blockBits%tableSize][i%blockSize] }

// AddCell adds a cell and returns its number. Nodes that share state, or whose records
// reach one another within a window, are of one cell.
func (p *Part[R]) AddCell() int {
	if p.cells == MaxCells {
		p.Bug("more than %d cells", MaxCells)
	}
	p.cells++
	return p.cells - 1
}

// Cells counts the cells.
func (p *Part[R]) Cells() int { return p.cells }

// SetCell makes a cell the current one, to schedule its first events before the run.
func (p *Part[R]) SetCell(c int) { p.cell = uint64(c) << orderBits }

// At schedules an event for the current cell. order comes from Order.
func (p *Part[R]) At(at units.Time, order uint64, ref Ref) {
	if at < p.now {
		p.Bug("event scheduled at %d ps, in the past", at)
	}
	if at < p.limit {
		p.q.pushSoon(Event{at, order | p.cell, ref})
		return
	}
	p.live += int64(^ref >> 63)
	p.q.push(Event{at, order | p.cell, ref})
}

// Send schedules an event that carries record i for a cell of partition dst, which may
// be this one. The record moves along: i is no longer the caller's.
//
// side, when not zero, numbers a side record that the handler keeps and the
// receiver's Handler.Adopt fetches; it stands for nothing within a partition.
func (p *Part[R]) Send(dst int, cell uint32, at units.Time, order uint64, tag, i, side uint32) {
	order |= uint64(cell) << orderBits
	if dst == p.ID && at >= p.limit {
		p.live++
		w := p.q.window(at)
		if c := p.q.room(w); c != nil { // what push does
			c.add(at, order, MakeRef(tag, i))
			return
		}
		p.q.pushNew(w, Event{at, order, MakeRef(tag, i)})
		return
	}
	p.sendOther(dst, at, order, tag, i, side)
}

// sendOther is Send to another partition, or within the window.
func (p *Part[R]) sendOther(dst int, at units.Time, order uint64, tag, i, side uint32) {
	if at < p.limit {
		if dst != p.ID || order>>orderBits<<orderBits != p.cell {
			p.Bug("record sent to cell %d of partition %d for %d ps, before the window ends at %d: the lookahead is too long",
				order>>orderBits, dst, at, p.limit)
		}
		p.q.pushSoon(Event{at, order, MakeRef(tag, i)})
		return
	}
	box := &p.out[p.parity][dst]
	*box = append(*box, mail{at, order, tag, i, side})
	p.mailMin = min(p.mailMin, at)
	p.mailN++
	p.inUse--
}

// Next takes the next event of the current cell and makes it the one being executed;
// nil when none is left. The event stays as it is until the call after it.
func (p *Part[R]) Next() *Event {
	e := p.q.merge()
	if e != nil {
		p.now = e.at
	}
	return e
}

// Ahead is Next where nothing that the cell scheduled within the window is due by then;
// nil where something is, or nothing is left. It is small enough to become part of a loop.
func (p *Part[R]) Ahead() *Event {
	q := &p.q
	if q.done == len(q.mine) {
		return nil
	}
	e := q.event(q.mine[q.done])
	if e.at >= q.soonAt {
		return nil
	}
	q.done++
	p.now = e.at
	return e
}

// Coming returns the events with which the current cell began, unsorted.
func (p *Part[R]) Coming() []Event { return p.q.here }

// window executes every event before limit, after taking in what the other
// partitions sent in the window before.
func (p *Part[R]) window(limit units.Time) {
	p.windows++
	p.parity = int(p.windows & 1)
	p.mailMin, p.mailN = units.Never, 0
	for _, src := range p.inbox {
		p.fetch(src)
	}
	p.live -= p.q.begin(limit, p.cells)
	p.limit = limit
	for k := range p.q.cells {
		cell, events := p.q.beginCell(k)
		p.cell, p.now, p.worked = uint64(cell)<<orderBits, 0, 0
		p.Handler.Run()
		p.events += int64(events + len(p.q.soon))
		p.last = max(p.last, p.worked)
	}
	p.q.end()
	p.now, p.limit = 0, 0
	p.nextAt = p.q.next()
}

// fetch takes in what src sent here in the window before, and which records of ours
// it freed.
func (p *Part[R]) fetch(src *Part[R]) {
	parity := p.parity ^ 1
	if home := &src.home[parity][p.ID]; len(*home) > 0 {
		p.free = append(p.free, *home...)
		*home = (*home)[:0]
	}
	box := &src.out[parity][p.ID]
	if len(*box) == 0 {
		return
	}
	for k := range *box {
		m := &(*box)[k]
		if m.side != 0 {
			p.Handler.Adopt(src.ID, parity, m.side, m.rec)
		}
		p.q.push(Event{m.at, m.order, MakeRef(m.tag, m.rec)})
	}
	p.live += int64(len(*box))
	p.inUse += len(*box)
	*box = (*box)[:0]
}

// Bug panics with the time, the partition and the last events of the current cell: an
// invariant is broken, the program is wrong, and no result can be trusted.
func (p *Part[R]) Bug(format string, args ...any) {
	var b strings.Builder
	fmt.Fprintf(&b, "sim: BUG at %d ps in partition %d, cell %d: %s\nlast events (time, tag, low):",
		p.now, p.ID, p.cell>>orderBits, fmt.Sprintf(format, args...))
	for _, e := range p.q.executed() {
		fmt.Fprintf(&b, "\n  %d ps  %#x  %d", e.at, e.ref.Tag(), e.ref.Low())
	}
	panic(b.String())
}

// executed returns the last events of the current cell, those of this window.
func (q *queue) executed() []Event {
	const most = 32
	done := slices.Clone(q.soon[max(0, q.head-most):q.head])
	for _, key := range q.mine[max(0, q.done-most):q.done] {
		done = append(done, *q.event(key))
	}
	slices.SortFunc(done, func(a, b Event) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	return done[max(0, len(done)-most):]
}

func bug(format string, args ...any) { panic("sim: BUG: " + fmt.Sprintf(format, args...)) }
