package sim

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// note is the record of the random-message test.
type note struct {
	node  int
	value uint64
	hops  int
}

// chatter is a set of nodes that answer every note with up to two others, after
// delays drawn from the node's own stream, so that the order of events at a
// node decides everything that follows.
type chatter struct {
	part  *Part[note]
	nodes []*talker
	where []place // by node
}

// place is where a node lies.
type place struct{ part, cell int }

type talker struct {
	rnd   *rand.Rand
	state uint64
	seen  int
	seq   uint32
}

const (
	tagNote = iota
	tagTimer
)

const testLookahead = 900

func (c *chatter) Adopt(_, _ int, _, _ uint32)    {}
func (h *checkOrder) Adopt(_, _ int, _, _ uint32) {}
func (h *hold) Adopt(_, _ int, _, _ uint32)       {}

func (c *chatter) Run() {
	for e := c.part.Next(); e != nil; e = c.part.Next() {
		c.handle(e.At(), e.Ref())
	}
}

func (c *chatter) handle(now units.Time, ref Ref) {
	if ref.Tag() == tagTimer {
		t := c.nodes[ref.Low()]
		t.state = t.state*31 + uint64(now)
		return
	}
	n := *c.part.Rec(ref.Low())
	c.part.Free(ref.Low())
	c.part.NoteWork()
	t := c.nodes[n.node]
	t.seen++
	t.state = (t.state ^ n.value) * 0x9e3779b97f4a7c15
	if n.hops == 0 {
		return
	}
	for range 1 + t.rnd.IntN(2) {
		to := t.rnd.IntN(len(c.where))
		// Coarse delays make ties frequent; some lie beyond the ring.
		d := units.Time(testLookahead + 100*t.rnd.IntN(12))
		if to == n.node {
			d /= 10 // within the window: a node is its own neighbour
		}
		if t.rnd.IntN(50) == 0 {
			d += 20 * units.Microsecond
		}
		i := c.part.Alloc()
		*c.part.Rec(i) = note{to, t.state + uint64(t.seq), n.hops - 1}
		t.seq++
		c.part.Send(c.where[to].part, uint32(c.where[to].cell), now+d, Order(d, uint32(n.node)<<10|t.seq&1023), tagNote, i, 0)
	}
	if t.rnd.IntN(3) == 0 {
		c.part.At(now+300, Order(300, uint32(n.node)<<10|1), MakeRef(tagTimer, uint32(n.node)))
	}
}

// runChatter returns what came of a run and how many events each partition executed.
// shuffle draws where the nodes lie: partitions, and cells of up to three nodes.
func runChatter(t *testing.T, nodes, parts, workers int, shuffle uint64) (string, []int64) {
	t.Helper()
	e := New[note](parts, testLookahead)
	where := make([]place, nodes)
	rnd := rand.New(rand.NewPCG(shuffle, 1))
	for i := range where {
		where[i].part = i % parts
		if shuffle != 0 {
			where[i].part = rnd.IntN(parts)
		}
		p := e.Parts()[where[i].part]
		if p.cells == 0 || shuffle == 0 || rnd.IntN(3) == 0 {
			p.AddCell()
		}
		where[i].cell = p.cells - 1
	}
	all := make([]*talker, nodes)
	for i := range all {
		all[i] = &talker{rnd: rand.New(rand.NewPCG(7, uint64(i)))}
	}
	for _, p := range e.Parts() {
		p.Handler = &chatter{p, all, where}
	}
	for i := range nodes {
		p := e.Parts()[where[i].part]
		k := p.Alloc()
		*p.Rec(k) = note{i, uint64(i), 14}
		p.Send(p.ID, uint32(where[i].cell), 0, Order(0, uint32(i)<<10), tagNote, k, 0)
	}
	e.Prime()
	e.Run(units.Never, workers, func(units.Time) bool { return true })
	if e.Alive() != 0 || e.Live() != 0 {
		t.Fatalf("alive %d, live %d at the end", e.Alive(), e.Live())
	}
	s := fmt.Sprint(e.Events(), e.LastWork())
	for _, n := range all {
		s += fmt.Sprintf(" %x/%d", n.state, n.seen)
	}
	var per []int64
	for _, p := range e.Parts() {
		per = append(per, p.events)
	}
	return s, per
}

func TestSameBytesOnAnyPartsAndWorkers(t *testing.T) {
	want, _ := runChatter(t, 24, 1, 1, 0)
	for _, parts := range []int{1, 2, 3, 7, 24} {
		for _, workers := range []int{1, 2, 4, 7} {
			for shuffle := range uint64(3) {
				got, per := runChatter(t, 24, parts, workers, shuffle)
				if got != want {
					t.Fatalf("parts %d workers %d shuffle %d:\n got %s\nwant %s", parts, workers, shuffle, got, want)
				}
				if parts == 7 && shuffle == 0 {
					for i, n := range per {
						if n == 0 {
							t.Fatalf("partition %d executed nothing", i)
						}
					}
				}
			}
		}
	}
}

// TestCellsSortLikeASort drives one partition against plain lists: every cell executes
// its events in their order, and no event of a window is left for the next. Limits fall
// anywhere in a window.
func TestCellsSortLikeASort(t *testing.T) {
	for _, width := range []units.Time{2, 100, 5000, 3_000_000} {
		for _, cells := range []int{1, 2, 17} {
			t.Run(fmt.Sprintf("width %d cells %d", width, cells), func(t *testing.T) { sortsLikeASort(t, width, cells) })
		}
	}
}

func sortsLikeASort(t *testing.T, width units.Time, cells int) {
	e := New[note](1, width)
	h := &checkOrder{t: t, p: e.Parts()[0], rnd: rand.New(rand.NewPCG(1, uint64(width))), pending: make([][]Event, cells)}
	h.p.Handler = h
	for c := range cells {
		h.p.SetCell(h.p.AddCell())
		for range 200 / cells {
			h.add(c, units.Time(h.rnd.Int64N(1_000_000)))
		}
	}
	e.Prime()
	for limit := units.Time(0); e.Next() != units.Never; limit = e.Next() + 1 + units.Time(h.rnd.Int64N(7000)) {
		e.Run(limit, 1, func(upTo units.Time) bool {
			h.upTo = upTo
			for c, left := range h.pending {
				for _, v := range left {
					if v.at < upTo {
						t.Fatalf("event of cell %d at %d ps is left over at %d", c, v.at, upTo)
					}
				}
			}
			return true
		})
	}
	for c, left := range h.pending {
		if len(left) != 0 {
			t.Fatalf("%d events of cell %d are left", len(left), c)
		}
	}
	if h.n < checkedEvents || e.Live() != 0 || e.Events() != int64(h.n) {
		t.Fatalf("%d executed, %d counted, %d live", h.n, e.Events(), e.Live())
	}
}

const checkedEvents = 20000

type checkOrder struct {
	t       *testing.T
	p       *Part[note]
	rnd     *rand.Rand
	pending [][]Event  // by cell
	upTo    units.Time // everything before has happened
	n       int
}

// add schedules an event for the current cell.
func (h *checkOrder) add(cell int, at units.Time) {
	e := Event{at, Order(units.Time(h.rnd.IntN(4)), uint32(h.rnd.IntN(3))), MakeRef(uint32(cell), uint32(h.rnd.IntN(100)))}
	if h.rnd.IntN(4) == 0 {
		e.ref |= Background
	}
	h.pending[cell] = append(h.pending[cell], e)
	h.p.At(e.at, e.order, e.ref)
}

func (h *checkOrder) Run() {
	coming := h.p.Coming()
	cell := int(coming[0].Ref().Tag())
	for k := range coming {
		if tag := coming[k].Ref().Tag(); tag != uint32(cell) {
			h.t.Fatalf("cell %d is given an event of cell %d", cell, tag)
		}
	}
	for e := h.p.Next(); e != nil; e = h.p.Next() {
		h.execute(cell, e)
	}
}

func (h *checkOrder) execute(cell int, got *Event) {
	left := h.pending[cell]
	least := 0
	for i := range left {
		if left[i].before(&left[least]) {
			least = i
		}
	}
	if e := left[least]; e.at != got.At() || e.ref != got.Ref() || h.p.Now() != e.at || e.at < h.upTo {
		h.t.Fatalf("executed %d ps ref %x at %d, want %d ps ref %x from %d on", got.At(), got.Ref(), h.p.Now(), e.at, e.ref, h.upTo)
	}
	now, ref := got.At(), got.Ref()
	if order, low := h.p.Current(); order != left[least].order || low != ref.Low() {
		h.t.Fatalf("the current event has order %x and %d, want %x and %d", order, low, left[least].order, ref.Low())
	}
	h.pending[cell] = append(left[:least], left[least+1:]...)
	h.n++
	for h.n < checkedEvents && len(h.pending[cell]) < 200/len(h.pending)+1 {
		d := units.Time(h.rnd.Int64N(3000))
		switch h.rnd.IntN(20) {
		case 0:
			d = units.Time(h.rnd.Int64N(30_000_000))
		case 1, 2:
			d = 0
		}
		h.add(cell, now+d)
	}
	if got.At() != now || got.Ref() != ref {
		h.t.Fatal("an event changed while it was executed")
	}
}

// TestWindowsTileTime: each time has one window, no window is wider than asked for, and
// the next begins where it ends.
func TestWindowsTileTime(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 200_000 {
		var q queue
		width := 2 + units.Time(rnd.Int64N(1<<rnd.IntN(34)+1))
		q.init(width)
		at := units.Time(rnd.Int64N(1 << (1 + rnd.IntN(61))))
		w := q.window(at)
		from, to := q.startOf(w), q.startOf(w+1)
		off, _ := bits.Mul64(uint64(width), uint64(width)) // of the inverse, in ps
		if at < from || at >= to || to-from > width || to-from < width-1-units.Time(off) {
			t.Fatalf("width %d: %d ps lies in window %d, [%d, %d)", width, at, w, from, to)
		}
		if q.window(from) != w || from > 0 && q.window(from-1) != w-1 || q.window(to) != w+1 {
			t.Fatalf("width %d: window %d is not [%d, %d)", width, w, from, to)
		}
	}
}

// parcel is the record of the tests of mail.
type parcel struct{ value uint64 }

// postman sends parcels one way, from partition 0 to partition 1, and numbers a side
// record for each.
type postman struct {
	t       *testing.T
	part    *Part[parcel]
	left    int
	sent    *[2][]uint32 // by parity: the records sent, by side number less one
	first   []*parcel    // where records were met first
	numbers map[uint32]int
	adopted map[uint32]bool
	got     uint64
}

func (h *postman) Adopt(from, parity int, side, i uint32) {
	if from != 0 || h.part.ID != 1 {
		h.t.Fatalf("partition %d adopts from %d", h.part.ID, from)
	}
	if got := h.sent[parity][side-1]; got != i {
		h.t.Fatalf("side record %d of parity %d belongs to record %d, not %d", side, parity, got, i)
	}
	h.adopted[i] = true
}

func (h *postman) Run() {
	p := h.part
	for e := p.Next(); e != nil; e = p.Next() {
		if p.ID == 1 {
			i := e.Ref().Low()
			if !h.adopted[i] {
				h.t.Fatalf("record %d arrives before its side record", i)
			}
			delete(h.adopted, i)
			h.got += p.Rec(i).value
			p.Free(i)
			continue
		}
		parity := int(p.Window() & 1)
		h.sent[parity] = h.sent[parity][:0] // there is one event in a window
		for range 3 {
			i := p.Alloc()
			k, known := h.numbers[i]
			if !known {
				k = len(h.first)
				h.numbers[i] = k
				h.first = append(h.first, p.Rec(i))
			}
			if h.first[k] != p.Rec(i) {
				h.t.Fatalf("record %d has moved", i)
			}
			p.Rec(i).value = uint64(h.left)
			h.sent[parity] = append(h.sent[parity], i)
			p.Send(1, 0, e.At()+1000, Order(1000, uint32(h.left&1023)), 7, i, uint32(len(h.sent[parity])))
		}
		if h.left--; h.left > 0 {
			p.At(e.At()+1000, Order(1000, 1), MakeRef(7, 0))
		}
	}
}

// TestRecordsGoHome: records that go one way only come back to the partition that made
// them, so that it needs no more than are under way; and none ever moves.
func TestRecordsGoHome(t *testing.T) {
	for _, workers := range []int{1, 2} {
		e := New[parcel](2, 1000)
		var sent [2][]uint32
		var men [2]*postman
		for k, p := range e.Parts() {
			p.AddCell()
			men[k] = &postman{t: t, part: p, left: 10_000, sent: &sent, numbers: map[uint32]int{}, adopted: map[uint32]bool{}}
			p.Handler = men[k]
		}
		e.Parts()[0].At(0, 0, MakeRef(7, 0))
		e.Prime()
		e.Run(units.Never, workers, func(upTo units.Time) bool {
			if n := e.Alive(); n > 3*3 {
				t.Fatalf("%d records alive", n)
			}
			return true
		})
		if made := len(men[0].first); made > 3*5 {
			t.Errorf("%d records made for 3 a window", made)
		}
		if want := uint64(3 * 10_000 * 10_001 / 2); men[1].got != want || e.Alive() != 0 || e.Live() != 0 {
			t.Errorf("values of %d arrived, want %d; %d records alive, %d events live", men[1].got, want, e.Alive(), e.Live())
		}
	}
}

// TestBugs: what would break the order of events is refused, and the report names the
// last events of the cell.
func TestBugs(t *testing.T) {
	for name, c := range map[string]struct {
		violate func(p *Part[note], now units.Time)
		want    string
	}{
		"the past":          {func(p *Part[note], now units.Time) { p.At(now-1, 0, 0) }, "in the past"},
		"another cell":      {func(p *Part[note], now units.Time) { p.Send(0, 1, now+1, 0, 0, p.Alloc(), 0) }, "cell 1 of partition 0"},
		"another partition": {func(p *Part[note], now units.Time) { p.Send(1, 0, now+1, 0, 0, p.Alloc(), 0) }, "cell 0 of partition 1"},
	} {
		e := New[note](2, 1000)
		for _, p := range e.Parts() {
			p.AddCell()
			p.AddCell()
		}
		p := e.Parts()[0]
		p.Handler = &breaks{p, c.violate}
		p.SetCell(0)
		p.At(10, 0, MakeRef(0x11, 1))
		p.At(20, 0, MakeRef(0x22, 2))
		e.Prime()
		func() {
			defer func() {
				msg := fmt.Sprint(recover())
				for _, want := range []string{c.want, "at 20 ps", "10 ps  0x11  1", "15 ps  0x33  3", "20 ps  0x22  2"} {
					if !strings.Contains(msg, want) {
						t.Errorf("%s: %q lacks %q", name, msg, want)
					}
				}
			}()
			e.Run(units.Never, 1, func(units.Time) bool { return true })
		}()
	}
}

type breaks struct {
	p       *Part[note]
	violate func(p *Part[note], now units.Time)
}

func (h *breaks) Adopt(_, _ int, _, _ uint32) {}

func (h *breaks) Run() {
	for e := h.p.Next(); e != nil; e = h.p.Next() {
		switch e.At() {
		case 10:
			h.p.At(15, 0, MakeRef(0x33, 3))
		case 20:
			h.violate(h.p, e.At())
		}
	}
}

// BenchmarkBareLoop is an event taken and one scheduled, with nothing beside them.
func BenchmarkBareLoop(b *testing.B) {
	e := New[note](1, units.Microsecond)
	p := e.Parts()[0]
	h := &hold{p: p, rnd: rand.New(rand.NewPCG(1, 2))}
	p.Handler = h
	for c := range 500 {
		p.SetCell(p.AddCell())
		for i := range 100 {
			p.At(units.Time(i*10_000+c), Order(1000, uint32(i)), MakeRef(0, uint32(i)))
		}
	}
	e.Prime()
	b.ReportAllocs()
	b.ResetTimer()
	e.Run(units.Never, 1, func(units.Time) bool { return h.n < b.N })
}

type hold struct {
	p   *Part[note]
	rnd *rand.Rand
	n   int
}

func (h *hold) Run() {
	for e := h.p.Next(); e != nil; e = h.p.Next() {
		h.n++
		d := 1_000_000 + units.Time(h.rnd.Uint32()&0xffff)
		h.p.At(e.At()+d, Order(d, e.Ref().Low()), e.Ref())
	}
}
