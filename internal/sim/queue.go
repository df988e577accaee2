package sim

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/hopscope/hopscope/internal/units"
)

// An event's order stands beside its time. It orders the events of one instant at a
// node (design, section 4): when their causes began, the older first, then where they
// came from; the cell stands above both.
//
//	63    51 50        20 19       0
//	| cell  | ^age       | source   |
//
// The age is the time since the cause began, saturated at 2^31-1 ps (2.15 ms); the
// source numbers (origin node, kind, port or timer) in that order.
const (
	sourceBits = 20
	ageBits    = 31
	orderBits  = ageBits + sourceBits

	// MaxSource is the largest source number.
	MaxSource = 1<<sourceBits - 1
	// MaxCells is how many cells a partition may have.
	MaxCells = 1 << (64 - orderBits)
)

// Order packs the part of an event's order that does not depend on the cell.
func Order(age units.Time, source uint32) uint64 {
	if uint64(age) > 1<<ageBits-1 {
		age = 1<<ageBits - 1
	}
	return (1<<ageBits-1-uint64(age))<<sourceBits | uint64(source)
}

// Parts are what Order packed: an age, inverted, and a source.
func Parts(order uint64) (age uint64, source uint32) {
	return order >> sourceBits, uint32(order & (1<<sourceBits - 1))
}

// Event is one entry of the queue. It holds no pointers.
type Event struct {
	at    units.Time
	order uint64 // cell and order
	ref   Ref
}

// At returns when the event happens.
func (e *Event) At() units.Time { return e.at }

// Ref returns what the event carries.
func (e *Event) Ref() Ref { return e.ref }

func (e *Event) cell() uint64 { return e.order >> orderBits }

func (e *Event) before(f *Event) bool {
	return e.at < f.at || e.at == f.at && (e.order < f.order || e.order == f.order && e.ref < f.ref)
}

// The ring covers this many windows from the current one on.
const (
	ringSize = 1024
	ringMask = ringSize - 1
)

// chunk is a piece of a slot.
type chunk struct {
	next *chunk // scheduled before it
	n    uint32
	min  units.Time // of the events' times
	ev   [chunkSize]Event
}

const (
	chunkSize = 64
	chunkMask = chunkSize - 1
)

// add appends an event to c, which has room for it.
func (c *chunk) add(at units.Time, order uint64, ref Ref) {
	e := &c.ev[c.n&chunkMask]
	e.at, e.order, e.ref = at, order, ref
	c.min = min(c.min, at)
	c.n++
}

// slot holds the events of one window in the order in which they were scheduled.
type slot struct {
	last   *chunk // nil: none
	chunks int
}

// min returns the earliest time of the slot's events, Never without.
func (s *slot) min() units.Time {
	at := units.Never
	for c := s.last; c != nil; c = c.next {
		at = min(at, c.min)
	}
	return at
}

// queue is the pending-event set of one partition. Events wait unsorted in the slot of
// their window, or in a 4-ary heap when that lies beyond the ring. When a window
// begins, its events are dealt out to their cells, so that those of a cell lie side by
// side; each cell sorts its own, by keys of 8 bytes, just before it runs.
type queue struct {
	inverse uint64 // 2^64 divided by the width of a window, rounded up
	cursor  int64  // number of the current window
	used    [ringSize / 64]uint64
	slots   [ringSize]slot
	spare   []*chunk
	far     heap

	dealing []*chunk // of the window that begins
	ev      []Event  // of the current window, cell by cell
	ends    []uint32 // where the events of each cell end in ev; 0 for cells without
	cells   []uint32 // cells with events, in the order of their first ones
	start   units.Time

	here []Event     // of the current cell, in the order in which they were scheduled
	few  [256]uint64 // room for mine, behind a 0; indexed by bytes it needs no checks
	many []uint64    // room for more than fewKeys
	mine []uint64    // of the events of here, sorted: time within the window above the place in here
	done int         // how many of mine have been taken
	soon []Event     // what the current cell scheduled within the window, sorted
	head int         // next entry of soon
	// after is what comes after all of soon, while that is full: see pushSoon.
	after heap
	// soonAt is the time of the next entry of soon, Never without.
	soonAt units.Time
	late   int // done when one of soon was last taken; -1 before
}

// init sets the width of windows, at least 2 ps.
func (q *queue) init(width units.Time) {
	inverse, _ := bits.Div64(1, 0, uint64(width))
	q.inverse = inverse + 1
}

// window numbers the window of a time. No window is wider than the width, as the
// inverse is rounded up.
func (q *queue) window(at units.Time) int64 {
	w, _ := bits.Mul64(uint64(at), q.inverse)
	return int64(w)
}

// startOf returns the first time of window w.
func (q *queue) startOf(w int64) units.Time {
	t, rest := bits.Div64(uint64(w), 0, q.inverse)
	if rest != 0 {
		t++
	}
	return units.Time(t)
}

// room returns the chunk for events of window w; nil where there is none yet.
func (q *queue) room(w int64) *chunk {
	c := q.slots[w&ringMask].last
	if c == nil || c.n == chunkSize || uint64(w-q.cursor) >= ringSize {
		return nil
	}
	return c
}

// push adds an event, which must not lie before the current window.
func (q *queue) push(e Event) {
	w := q.window(e.at)
	if c := q.room(w); c != nil {
		c.add(e.at, e.order, e.ref)
		return
	}
	q.pushNew(w, e)
}

// pushNew is push where a chunk begins or the event lies beyond the ring.
func (q *queue) pushNew(w int64, e Event) {
	if w < q.cursor {
		bug("event at %d ps scheduled before the current window at %d ps", e.at, q.startOf(q.cursor))
	}
	if w-q.cursor >= ringSize {
		q.far.push(e)
		return
	}
	var c *chunk
	if n := len(q.spare); n > 0 {
		c = q.spare[n-1]
		q.spare = q.spare[:n-1]
	} else {
		c = new(chunk)
	}
	i := w & ringMask
	s := &q.slots[i]
	if s.last == nil {
		q.used[i>>6] |= 1 << (i & 63)
	}
	c.next, c.n, c.min, c.ev[0] = s.last, 1, e.at, e
	s.last = c
	s.chunks++
}

// next returns the time of the earliest pending event, or Never.
func (q *queue) next() units.Time {
	at := units.Never
	first := q.cursor & ringMask
	word := q.used[first>>6] &^ (1<<(first&63) - 1)
	for k := int64(0); k <= int64(len(q.used)); k++ { // the first word twice: its low bits come last
		i := (first>>6 + k) & (int64(len(q.used)) - 1)
		if k > 0 {
			word = q.used[i]
		}
		if word != 0 {
			at = q.slots[i<<6|int64(bits.TrailingZeros64(word))].min()
			break
		}
	}
	if len(q.far) > 0 {
		at = min(at, q.far[0].at)
	}
	return at
}

// begin makes the window that ends with limit the current one and deals its events
// out to their cells. It returns how many of them are not Background.
func (q *queue) begin(limit units.Time, cells int) (live int64) {
	w := q.window(limit - 1)
	q.cursor = w
	for len(q.far) > 0 && q.window(q.far[0].at)-w < ringSize {
		q.push(q.far.pop())
	}
	i := w & ringMask
	s := &q.slots[i]
	if s.min() >= limit {
		return 0
	}
	q.start = q.startOf(w)
	q.dealing = slices.Grow(q.dealing, s.chunks)[:s.chunks]
	for c, k := s.last, s.chunks; c != nil; c = c.next {
		k--
		q.dealing[k] = c
	}
	*s = slot{}
	q.used[i>>6] &^= 1 << (i & 63)
	if limit < q.startOf(w+1) {
		q.keepFrom(limit)
	}
	return q.deal(cells)
}

// deal puts the window's events side by side, cell by cell. It returns how many are not
// Background.
func (q *queue) deal(cells int) (live int64) {
	if len(q.ends) < cells {
		q.ends = make([]uint32, cells)
	}
	if n := len(q.dealing) * chunkSize; len(q.ev) < n {
		q.ev = make([]Event, n+n/2)
	}
	for _, c := range q.dealing {
		for i := range c.ev[:c.n] {
			e := &c.ev[i]
			n := &q.ends[e.cell()]
			if *n == 0 {
				q.cells = append(q.cells, uint32(e.cell()))
			}
			*n++
			live += int64(^e.ref >> 63)
		}
	}
	sum := uint32(0)
	for _, c := range q.cells {
		n := q.ends[c]
		q.ends[c] = sum
		sum += n
	}
	ev, ends := q.ev, q.ends
	for _, c := range q.dealing {
		for i := range c.ev[:c.n] {
			e := &c.ev[i]
			to := &ends[e.cell()]
			d := &ev[*to]
			d.at, d.order, d.ref = e.at, e.order, e.ref
			*to++
		}
	}
	q.spare = append(q.spare, q.dealing...)
	q.dealing = q.dealing[:0]
	return live
}

// keepFrom puts the events from limit on back: a run stops within the window.
func (q *queue) keepFrom(limit units.Time) {
	for _, c := range q.dealing {
		n := c.n
		c.n = 0
		for _, e := range c.ev[:n] {
			if e.at < limit {
				c.ev[c.n] = e
				c.n++
			} else {
				q.push(e)
			}
		}
	}
}

// event returns the event of a key of the current cell.
func (q *queue) event(key uint64) *Event { return &q.here[uint32(key)] }

// beginCell makes the k-th cell of the window the current one.
func (q *queue) beginCell(k int) (cell uint32, events int) {
	cell = q.cells[k]
	from := uint32(0)
	if k > 0 {
		from = q.ends[q.cells[k-1]]
	}
	q.here = q.ev[from:q.ends[cell]]
	q.sort()
	q.soon, q.head, q.soonAt = q.soon[:0], 0, units.Never
	q.done, q.late = 0, -1
	return cell, len(q.mine)
}

// end forgets the window's events.
func (q *queue) end() {
	for _, c := range q.cells {
		q.ends[c] = 0
	}
	q.cells = q.cells[:0]
	q.here, q.mine, q.done = nil, nil, 0
}

// fewKeys is up to how many keys insertion sorts fastest.
const fewKeys = 64

// sort makes the keys of the current cell, sorted by time, and within one instant by the
// order of their events.
func (q *queue) sort() {
	if n := len(q.here); n <= fewKeys {
		q.mine = q.few[1 : n+1]
		if !q.insert() {
			return
		}
	} else {
		if len(q.many) < n {
			q.many = make([]uint64, 2*n)
		}
		q.mine = q.many[:n]
		for i := range q.here {
			q.mine[i] = uint64(q.here[i].at-q.start)<<32 | uint64(i)
		}
		slices.Sort(q.mine)
	}
	keys := q.mine
	first := 0 // of the keys of one instant
	for i := 1; i < len(keys); i++ {
		if keys[i]>>32 == keys[first]>>32 {
			q.placeLast(keys[first : i+1])
		} else {
			first = i
		}
	}
}

// insert makes the keys of at most fewKeys events, sorted. It reports whether two of them
// have one time.
func (q *queue) insert() (ties bool) {
	least := uint64(math.MaxUint64)
	here := q.here
	start := q.start
	for i := range here {
		key := uint64(here[i].at-start)<<32 | uint64(i)
		k := uint8(i + 1)
		left := q.few[k-1]
		for left > key {
			q.few[k] = left
			k--
			left = q.few[k-1]
		}
		q.few[k] = key
		if k > 1 { // of two of one time that with the lower place is left of the other
			least = min(least, left^key)
		}
	}
	return least>>32 == 0
}

// placeLast puts the last key in its place among the others, all of one instant.
func (q *queue) placeLast(keys []uint64) {
	n := len(keys) - 1
	key := keys[n]
	e := q.event(key)
	if q.event(keys[n-1]).before(e) {
		return
	}
	k := sort.Search(n-1, func(i int) bool { return e.before(q.event(keys[i])) })
	copy(keys[k+1:], keys[k:n])
	keys[k] = key
}

// merge takes the next event of the current cell where some of soon are waiting, or
// nothing is; nil when there is none.
func (q *queue) merge() *Event {
	if q.head < len(q.soon) {
		s := &q.soon[q.head]
		if q.done == len(q.mine) || s.before(q.event(q.mine[q.done])) {
			q.head++
			if q.head == len(q.soon) && len(q.after) > 0 {
				q.refill()
			}
			q.late = q.done
			q.soonAt = units.Never
			if q.head < len(q.soon) {
				q.soonAt = q.soon[q.head].at
			}
			return s
		}
	}
	if q.done == len(q.mine) {
		return nil
	}
	q.done++
	return q.event(q.mine[q.done-1])
}

// current returns the event that was taken last.
func (q *queue) current() *Event {
	if q.late == q.done {
		return &q.soon[q.head-1]
	}
	return q.event(q.mine[q.done-1])
}

// soonMost is how many events the sorted list of soon holds at most: insertion into it is
// cheap while it is short. In a server a thousand may wait.
const soonMost = 64

// soonNear is up to how many places from the end of the list one after the other is tried for an event.
const soonNear = 4

// pushSoon adds what the current cell schedules within the window. What comes after the
// events of a full list waits in a heap.
func (q *queue) pushSoon(e Event) {
	q.soonAt = min(q.soonAt, e.at)
	s := q.soon[q.head:]
	if n := len(s); n == 0 || n < soonMost && len(q.after) == 0 && !e.before(&s[n-1]) {
		q.soon = append(q.soon, e)
		return
	} else if n == soonMost {
		if !e.before(&s[n-1]) {
			q.after.push(e)
			return
		}
		q.after.push(s[n-1])
		s = s[:n-1]
	} else if n > 0 && len(q.after) > 0 && !e.before(&s[n-1]) {
		q.after.push(e)
		return
	}
	q.soon = append(q.soon[:q.head+len(s)], e)
	s = q.soon[q.head:]
	k := len(s) - 1
	for lo := max(0, k-soonNear); k > lo && e.before(&s[k-1]); k-- {
		s[k] = s[k-1]
	}
	if k > 0 && e.before(&s[k-1]) {
		from, to := 0, k-1 // it is before s[to]
		for from < to {
			if m := (from + to) / 2; e.before(&s[m]) {
				to = m
			} else {
				from = m + 1
			}
		}
		copy(s[to+1:k+1], s[to:k])
		k = to
	}
	s[k] = e
}

// refill takes events from the heap into the empty list.
func (q *queue) refill() {
	for range min(soonMost/2, len(q.after)) {
		q.soon = append(q.soon, q.after.pop())
	}
}

// heap is a 4-ary heap of events: the earliest stands first.
type heap []Event

func (h *heap) push(e Event) {
	ev := append(*h, e)
	i := len(ev) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&ev[up]) {
			break
		}
		ev[i] = ev[up]
		i = up
	}
	ev[i] = e
	*h = ev
}

func (h *heap) pop() Event {
	top := (*h)[0]
	n := len(*h) - 1
	e := (*h)[n]
	ev := (*h)[:n]
	i := 0
	for {
		least := -1
		for c := 4*i + 1; c <= 4*i+4 && c < n; c++ {
			if least < 0 || ev[c].before(&ev[least]) {
				least = c
			}
		}
		if least < 0 || !ev[least].before(&e) {
			break
		}
		ev[i] = ev[least]
		i = least
	}
	if n > 0 {
		ev[i] = e
	}
	*h = ev
	return top
}
