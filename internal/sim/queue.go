package sim

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/hopscope/hopscope/internal/units"
)

// An event's key orders it among the events of its node (design, section 4):
// time, then when its cause began (the older first), then where it came from.
//
//	63      51 50        20 19       0
//	| offset  | ^age       | source   |
//
// The offset is the time within the bucket, so that a bucket sorts on one
// word; the age is the time since the cause began, saturated at 2^31-1 ps (2.15 ms);
// the source numbers (origin node, kind, port or timer) in that order.
const (
	bucketBits = 13 // a bucket spans 8192 ps
	ringBits   = 10 // 1024 buckets: a horizon of 8.39 us
	ringSize   = 1 << ringBits
	ringMask   = ringSize - 1
	bucketSpan = units.Time(1) << bucketBits

	sourceBits = 20
	ageBits    = 31
	orderBits  = ageBits + sourceBits
	orderMask  = 1<<orderBits - 1

	// MaxSource is the largest source number.
	MaxSource = 1<<sourceBits - 1
)

// Order packs the part of a key that does not depend on the bucket.
func Order(age units.Time, source uint32) uint64 {
	if uint64(age) > 1<<ageBits-1 {
		age = 1<<ageBits - 1
	}
	return (1<<ageBits-1-uint64(age))<<sourceBits | uint64(source)
}

// Event is one entry of the queue: no pointers, and enough to sort a bucket
// without touching what it refers to.
type Event struct {
	key uint64
	ref Ref
}

// Ref returns what the event carries.
func (a Event) Ref() Ref { return a.ref }

func (a Event) before(b Event) bool {
	return a.key < b.key || a.key == b.key && a.ref < b.ref
}

// chunk is a piece of a bucket, two cache lines.
type chunk struct {
	next uint32
	n    uint32
	_    uint64
	ev   [7]Event
}

// distant is an event beyond the ring's horizon.
type distant struct {
	at    units.Time
	order uint64
	ref   Ref
}

func (a distant) before(b distant) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.order < b.order || a.order == b.order && a.ref < b.ref
}

// queue is the pending-event set of one partition: a ring of buckets for the
// next 8 us, a 4-ary heap for what lies beyond, and the current bucket, sorted.
type queue struct {
	cursor int64 // number of the current bucket (time >> bucketBits)
	cur    []Event
	pos    int // next entry of cur
	heads  [ringSize]uint32
	used   [ringSize / 64]uint64
	inRing int
	chunks []chunk
	free   uint32
	far    []distant
}

func (q *queue) init() {
	q.chunks = make([]chunk, 1, 256) // chunk 0 means none
	q.cur = make([]Event, 0, 64)
}

// push adds an event at time at, which must not lie before the current bucket.
func (q *queue) push(at units.Time, order uint64, ref Ref) {
	b := int64(at >> bucketBits)
	d := b - q.cursor
	if uint64(d) < ringSize {
		e := Event{uint64(at&(bucketSpan-1))<<orderBits | order, ref}
		if d == 0 {
			q.insertCurrent(e)
			return
		}
		q.insertRing(int(b&ringMask), e)
		return
	}
	if d < 0 {
		bug("event at %d ps scheduled before the current bucket at %d ps", at, q.cursor<<bucketBits)
	}
	q.pushFar(distant{at, order, ref})
}

func (q *queue) insertCurrent(e Event) {
	at := len(q.cur)
	if at-q.pos > 32 {
		rest := q.cur[q.pos:]
		at = q.pos + sort.Search(len(rest), func(i int) bool { return e.before(rest[i]) })
	} else {
		for at > q.pos && e.before(q.cur[at-1]) {
			at--
		}
	}
	q.cur = append(q.cur, e)
	copy(q.cur[at+1:], q.cur[at:])
	q.cur[at] = e
}

func (q *queue) insertRing(b int, e Event) {
	q.inRing++
	h := q.heads[b]
	if h != 0 {
		if c := &q.chunks[h]; c.n < uint32(len(c.ev)) {
			c.ev[c.n] = e
			c.n++
			return
		}
	} else {
		q.used[b>>6] |= 1 << (b & 63)
	}
	n := q.free
	if n != 0 {
		q.free = q.chunks[n].next
	} else {
		n = uint32(len(q.chunks))
		q.chunks = append(q.chunks, chunk{})
	}
	c := &q.chunks[n]
	c.next, c.n, c.ev[0] = h, 1, e
	q.heads[b] = n
}

// advance makes the next non-empty bucket that starts before limit the current
// one. It reports false, leaving the cursor at or before limit, if there is none.
func (q *queue) advance(limit units.Time) bool {
	q.cur, q.pos = q.cur[:0], 0
	for {
		b := q.nextBucket()
		if len(q.far) > 0 {
			if f := int64(q.far[0].at >> bucketBits); b < 0 || f < b {
				b = f
			}
		}
		if b < 0 || units.Time(b)<<bucketBits >= limit {
			// Nothing before limit: what others send may arrive from limit on.
			if l := int64(limit >> bucketBits); l > q.cursor {
				q.moveTo(l)
			}
			return false
		}
		q.moveTo(b)
		if len(q.cur) > 0 {
			return true
		}
	}
}

// moveTo makes bucket b current: every pending event lies at or after it.
func (q *queue) moveTo(b int64) {
	q.cursor = b
	for len(q.far) > 0 && int64(q.far[0].at>>bucketBits)-b < ringSize {
		d := q.popFar()
		q.push(d.at, d.order, d.ref)
	}
	i := int(b & ringMask)
	h := q.heads[i]
	if h == 0 {
		return
	}
	q.heads[i] = 0
	q.used[i>>6] &^= 1 << (i & 63)
	// The chunks are linked last to first; taken first to last, what one source
	// sent stands in order.
	n := 0
	for c := h; c != 0; c = q.chunks[c].next {
		n += int(q.chunks[c].n)
	}
	q.inRing -= n
	n += len(q.cur) // what came from the heap
	q.cur = slices.Grow(q.cur, n-len(q.cur))[:n]
	for h != 0 {
		c := &q.chunks[h]
		n -= int(c.n)
		copy(q.cur[n:], c.ev[:c.n])
		next := c.next
		c.next = q.free
		q.free = h
		h = next
	}
	sortEvents(q.cur)
}

// sortEvents is an insertion sort for the handful of events that a bucket
// holds as a rule; where many hosts go in lock-step there are thousands.
func sortEvents(ev []Event) {
	if len(ev) > 48 {
		slices.SortFunc(ev, func(a, b Event) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		return
	}
	for i := 1; i < len(ev); i++ {
		e := ev[i]
		k := i
		for k > 0 && e.before(ev[k-1]) {
			ev[k] = ev[k-1]
			k--
		}
		ev[k] = e
	}
}

// warmEvents is how many events are warmed together: enough for their cache
// misses to overlap, few enough for the lines to stay in the first-level cache.
const warmEvents = 24

// gather appends the current bucket's events and those of the next buckets
// that start before limit, until there are warmEvents of them. It returns the
// first bucket it left out.
func (q *queue) gather(to []Event, limit units.Time) ([]Event, int64) {
	to = append(to, q.cur[q.pos:]...)
	b := q.cursor
	for len(to) < warmEvents {
		next := q.usedAfter(b)
		if next < 0 || units.Time(next)<<bucketBits >= limit {
			break
		}
		for h := q.heads[next&ringMask]; h != 0; h = q.chunks[h].next {
			c := &q.chunks[h]
			to = append(to, c.ev[:c.n]...)
		}
		b = next
	}
	return to, b + 1
}

// nextBucket returns the number of the first used bucket after the cursor, or -1.
func (q *queue) nextBucket() int64 {
	if q.inRing == 0 {
		return -1
	}
	return q.usedAfter(q.cursor)
}

// usedAfter returns the number of the first used bucket after b, or -1.
func (q *queue) usedAfter(b int64) int64 {
	start := int((b + 1) & ringMask)
	w := start >> 6
	word := q.used[w] &^ (1<<(start&63) - 1)
	for range len(q.used) + 1 {
		if word != 0 {
			i := w<<6 | bits.TrailingZeros64(word)
			if d := b + 1 + int64((i-start)&ringMask); d-q.cursor < ringSize {
				return d
			}
			return -1
		}
		w = (w + 1) & (len(q.used) - 1)
		word = q.used[w]
	}
	return -1
}

// next returns the time of the earliest pending event, or Never.
func (q *queue) next() units.Time {
	if q.pos < len(q.cur) {
		return units.Time(q.cursor)<<bucketBits | units.Time(q.cur[q.pos].key>>orderBits)
	}
	at := units.Never
	if b := q.nextBucket(); b >= 0 {
		least := uint64(bucketSpan)
		for h := q.heads[b&ringMask]; h != 0; h = q.chunks[h].next {
			c := &q.chunks[h]
			for _, e := range c.ev[:c.n] {
				least = min(least, e.key>>orderBits)
			}
		}
		at = units.Time(b)<<bucketBits | units.Time(least)
	}
	if len(q.far) > 0 {
		at = min(at, q.far[0].at)
	}
	return at
}

func (q *queue) pushFar(d distant) {
	q.far = append(q.far, d)
	i := len(q.far) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !d.before(q.far[up]) {
			break
		}
		q.far[i] = q.far[up]
		i = up
	}
	q.far[i] = d
}

func (q *queue) popFar() distant {
	top := q.far[0]
	n := len(q.far) - 1
	d := q.far[n]
	q.far = q.far[:n]
	i := 0
	for {
		least := -1
		for c := 4*i + 1; c <= 4*i+4 && c < n; c++ {
			if least < 0 || q.far[c].before(q.far[least]) {
				least = c
			}
		}
		if least < 0 || !q.far[least].before(d) {
			break
		}
		q.far[i] = q.far[least]
		i = least
	}
	if n > 0 {
		q.far[i] = d
	}
	return top
}
