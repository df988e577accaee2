package workload

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// Series is a message, or Count of them on one connection that differ in nothing but
// when they are posted and where they lie: what a pattern repeats is not listed.
type Series struct {
	Message            // the first of them
	Count   int        // at least 1
	Every   units.Time // from post to post; 0: all are posted at Start
	placed  *slots     // nil: all lie at Offset
	nr      int        // in the order of appending
}

// slots says where the messages of a series lie in their region: in one slot of their
// size after the other, or in slots that are drawn.
type slots struct {
	size  units.Bytes
	n     int           // slots of the region
	drawn *rng.Stream   // as it was before the first was drawn; nil: one after the other
	list  []units.Bytes // offsets of those drawn, made when someone wants to know
}

// newSlots are those of n messages, or nil if all lie at the placement's offset. It
// takes what they draw off the stream.
func (p *Placement) newSlots(n int, size, region units.Bytes) *slots {
	if p.Order == Fixed || size == 0 {
		return nil
	}
	s := &slots{size: size, n: int(max(region/size, 1))}
	if p.Order == Random {
		before := *p.Stream
		s.drawn = &before
		for range n {
			p.Stream.IntN(s.n)
		}
	}
	return s
}

// offset is where message k of n begins.
func (s *slots) offset(k, n int) units.Bytes {
	if s.drawn == nil {
		return units.Bytes(k%s.n) * s.size
	}
	if s.list == nil {
		stream := *s.drawn
		s.list = make([]units.Bytes, n)
		for i := range s.list {
			s.list[i] = units.Bytes(stream.IntN(s.n)) * s.size
		}
	}
	return s.list[k]
}

// put fills in message k of the series.
func (s *Series) put(m *Message, k int) {
	*m = s.Message
	if k > 0 && s.Every > 0 {
		m.Start += units.Time(k) * s.Every
	}
	if s.placed != nil {
		m.Offset = s.placed.offset(k, s.Count)
	}
}

// last is when the last of the series is posted.
func (s *Series) last() units.Time {
	if s.Every == 0 {
		return s.Start
	}
	return s.Start + units.Time(s.Count-1)*s.Every
}

// Reach is how far into the region the messages of the series go.
func (s *Series) Reach() units.Bytes {
	switch {
	case s.placed == nil:
		return s.Offset + s.Bytes
	case s.placed.drawn == nil:
		return units.Bytes(min(s.Count, s.placed.n)) * s.Bytes
	}
	far := units.Bytes(0)
	for k := range s.Count {
		far = max(far, s.placed.offset(k, s.Count))
	}
	return far + s.Bytes
}

// add appends a series.
func (p *Plan) add(s Series) {
	s.nr = len(p.Series)
	p.Series = append(p.Series, s)
	p.total += s.Count
}

// Mark is how far a plan has come that is being made.
type Mark struct{ series, edges, locals, collectives, programs, jobs, calls, total int }

// Mark notes how far the plan has come.
func (p *Plan) Mark() Mark {
	return Mark{len(p.Series), len(p.edges), len(p.Locals), len(p.Collectives), len(p.Programs),
		len(p.Jobs), p.Calls, p.total}
}

// Drop takes all operations away that were added since m, of a plan that is not finished.
// Connections stay, so that those of others keep their numbers, ports and hashes.
func (p *Plan) Drop(m Mark) {
	p.Series, p.edges, p.Locals, p.Collectives = p.Series[:m.series], p.edges[:m.edges], p.Locals[:m.locals], p.Collectives[:m.collectives]
	p.Programs, p.Jobs = p.Programs[:m.programs], p.Jobs[:m.jobs]
	p.Calls, p.total = m.calls, m.total
}

// Silence takes the messages of connections away from a plan that is not finished, and of
// others those that come before a number of them, as skip says: how many of its first
// messages a connection leaves out. What waits for others, or others wait for, stays.
func (p *Plan) Silence(skip func(conn int) int) {
	bound := make([]bool, len(p.Series))
	for _, e := range p.edges {
		for _, op := range [2]Op{e.from, e.to} {
			if op >= 0 {
				bound[op] = true
			}
		}
	}
	left := make([]int, len(p.Conns))
	for i := range left {
		left[i] = skip(i)
	}
	to := make([]int32, len(p.Series))
	kept := p.Series[:0]
	p.total = 0
	for i := range p.Series {
		s := p.Series[i]
		if n := min(left[s.Conn], s.Count); n > 0 && !bound[i] && s.Trigger == 0 {
			left[s.Conn] -= n
			s.put(&s.Message, n%s.Count)
			s.Count -= n
		}
		if s.Count == 0 {
			continue
		}
		to[i] = int32(len(kept))
		s.nr = len(kept)
		kept = append(kept, s)
		p.total += s.Count
	}
	p.Series = kept
	p.renameMessages(to)
}

// Len is the number of messages.
func (p *Plan) Len() int { return p.total }

// run is a stretch of the plan's order: n series that take turns, each with as many
// messages as the first, or one series alone.
type run struct {
	first   int // number of its first message
	series  int // index of its first series
	n, each int
}

// place is a message in its series.
type place struct{ series, k uint32 }

// order says where the messages of a sorted plan stand: by runs that follow each
// other, or, where series of different rhythms mix, in a list.
type order struct {
	runs  []run
	mixed bool
	list  []place // made when someone wants to know
}

// Arrange sorts the series and finds out where their messages stand; Finish does so
// too. Who changes series of a finished plan arranges it again.
func (p *Plan) Arrange() {
	slices.SortStableFunc(p.Series, func(a, b Series) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(p.Conns[a.Conn].Entry, p.Conns[b.Conn].Entry))
	})
	p.order = &order{}
	o := p.order
	first := 0
	for i := range p.Series {
		s := &p.Series[i]
		if i > 0 {
			before := &p.Series[i-1]
			if r := &o.runs[len(o.runs)-1]; turns(before, s) {
				r.n++
				first += s.Count
				continue
			}
			o.mixed = o.mixed || before.last() > before.Start && before.last() >= s.Start
		}
		o.runs = append(o.runs, run{first: first, series: i, n: 1, each: s.Count})
		first += s.Count
	}
}

// Single makes each message of a finished plan a series of its own, for who changes
// single ones.
func (p *Plan) Single() {
	all := make([]Series, 0, p.total)
	for _, m := range p.All() {
		all = append(all, Series{Message: *m, Count: 1, nr: len(all)})
	}
	p.Series = all
	p.Arrange()
}

// turns reports whether two series that follow each other are of one run.
func turns(a, b *Series) bool {
	if a.Count == 1 && b.Count == 1 {
		return true
	}
	return a.Every > 0 && a.Start == b.Start && a.Every == b.Every && a.Count == b.Count
}

// find is where message i of a sorted plan comes from.
func (p *Plan) find(i int) place {
	o := p.order
	if o.mixed {
		return p.listed()[i]
	}
	k, found := slices.BinarySearchFunc(o.runs, i, func(r run, i int) int { return cmp.Compare(r.first, i) })
	if !found {
		k--
	}
	r := &o.runs[k]
	i -= r.first
	return place{uint32(r.series + i%r.n), uint32(i / r.n)}
}

// At returns message i of a finished plan, in its order. The first call may list that:
// whoever shares a plan has asked it something before.
func (p *Plan) At(i int) (m Message) {
	at := p.find(i)
	p.Series[at.series].put(&m, int(at.k))
	return m
}

// All goes through the messages of a finished plan in its order. What it points to is
// overwritten by the next.
func (p *Plan) All() iter.Seq2[int, *Message] {
	return func(yield func(int, *Message) bool) {
		var m Message
		if p.order.mixed {
			for i, at := range p.listed() {
				p.Series[at.series].put(&m, int(at.k))
				if !yield(i, &m) {
					return
				}
			}
			return
		}
		i := 0
		for _, r := range p.order.runs {
			for j := range r.n * r.each {
				p.Series[r.series+j%r.n].put(&m, j/r.n)
				if !yield(i, &m) {
					return
				}
				i++
			}
		}
	}
}

// listed merges the series of a plan whose rhythms mix.
func (p *Plan) listed() []place {
	if p.order.list != nil {
		return p.order.list
	}
	list := make([]place, 0, p.total)
	h := merge{plan: p, next: make([]place, len(p.Series))}
	for i := range h.next {
		h.next[i].series = uint32(i)
	}
	heap.Init(&h)
	for len(h.next) > 0 {
		at := &h.next[0]
		list = append(list, *at)
		if at.k++; int(at.k) == p.Series[at.series].Count {
			heap.Pop(&h)
		} else {
			heap.Fix(&h, 0)
		}
	}
	p.order.list = list
	return list
}

// merge holds the next message of each series, the first of them on top.
type merge struct {
	plan *Plan
	next []place
}

func (h *merge) Len() int      { return len(h.next) }
func (h *merge) Swap(i, j int) { h.next[i], h.next[j] = h.next[j], h.next[i] }
func (h *merge) Push(x any)    { h.next = append(h.next, x.(place)) }

func (h *merge) Pop() any {
	last := len(h.next) - 1
	x := h.next[last]
	h.next = h.next[:last]
	return x
}

func (h *merge) Less(i, j int) bool {
	a, b := h.next[i], h.next[j]
	s, t := &h.plan.Series[a.series], &h.plan.Series[b.series]
	return cmp.Or(cmp.Compare(s.Start+units.Time(a.k)*s.Every, t.Start+units.Time(b.k)*t.Every),
		cmp.Compare(h.plan.Conns[s.Conn].Entry, h.plan.Conns[t.Conn].Entry), cmp.Compare(s.nr, t.nr)) < 0
}
