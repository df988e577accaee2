package sim

import (
	"fmt"
	"math/rand/v2"
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
	where []int // node -> partition
}

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

func (c *chatter) Warm([]Event)    {}
func (h *checkOrder) Warm([]Event) {}
func (h *hold) Warm([]Event)       {}

func (c *chatter) Adopt(_, _ int, _, _ uint32)    {}
func (h *checkOrder) Adopt(_, _ int, _, _ uint32) {}
func (h *hold) Adopt(_, _ int, _, _ uint32)       {}

func (c *chatter) Handle(now units.Time, ref Ref) {
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
		if t.rnd.IntN(50) == 0 {
			d += 20 * units.Microsecond
		}
		i := c.part.Alloc()
		*c.part.Rec(i) = note{to, t.state + uint64(t.seq), n.hops - 1}
		t.seq++
		c.part.Send(c.where[to], now+d, Order(d, uint32(n.node)<<10|t.seq&1023), tagNote, i, 0)
	}
	if t.rnd.IntN(3) == 0 {
		c.part.At(now+300, Order(300, uint32(n.node)<<10|1), MakeRef(tagTimer, uint32(n.node)))
	}
}

func runChatter(t *testing.T, nodes, parts, workers int, shuffle uint64) (string, []int64) {
	t.Helper()
	e := New[note](parts, testLookahead)
	where := make([]int, nodes)
	rnd := rand.New(rand.NewPCG(shuffle, 1))
	for i := range where {
		where[i] = i % parts
		if shuffle != 0 {
			where[i] = rnd.IntN(parts)
		}
	}
	all := make([]*talker, nodes)
	for i := range all {
		all[i] = &talker{rnd: rand.New(rand.NewPCG(7, uint64(i)))}
	}
	for _, p := range e.Parts() {
		p.Handler = &chatter{p, all, where}
	}
	for i := range nodes {
		p := e.Parts()[where[i]]
		k := p.Alloc()
		*p.Rec(k) = note{i, uint64(i), 14}
		p.Send(p.ID, 0, Order(0, uint32(i)<<10), tagNote, k, 0)
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

// TestQueueSortsLikeASort drives the queue alone against a plain minimum.
func TestQueueSortsLikeASort(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	p := newPart[note](0, 1)
	p.inbox = []*Part[note]{p}
	var pending []distant
	h := &checkOrder{t: t, p: p, rnd: rnd, pending: &pending}
	p.Handler = h
	for range 200 {
		h.add(units.Time(rnd.Int64N(1_000_000)))
	}
	for limit := units.Time(0); p.q.next() != units.Never; limit += 5000 {
		p.window(limit)
	}
	if len(pending) != 0 || h.n < 20000 {
		t.Fatalf("%d left, %d executed", len(pending), h.n)
	}
}

type checkOrder struct {
	t       *testing.T
	p       *Part[note]
	rnd     *rand.Rand
	pending *[]distant
	n       int
}

func (h *checkOrder) add(at units.Time) {
	d := distant{at, Order(units.Time(h.rnd.IntN(4)), uint32(h.rnd.IntN(3))), MakeRef(1, uint32(h.rnd.IntN(100)))}
	*h.pending = append(*h.pending, d)
	h.p.At(d.at, d.order, d.ref)
}

func (h *checkOrder) Handle(now units.Time, ref Ref) {
	least := 0
	for i, d := range *h.pending {
		if d.before((*h.pending)[least]) {
			least = i
		}
	}
	if d := (*h.pending)[least]; d.at != now || d.ref != ref {
		h.t.Fatalf("executed %d ps ref %x, want %d ps ref %x", now, ref, d.at, d.ref)
	}
	*h.pending = append((*h.pending)[:least], (*h.pending)[least+1:]...)
	h.n++
	for h.n < 20000 && len(*h.pending) < 200 {
		d := units.Time(h.rnd.Int64N(3000))
		switch h.rnd.IntN(20) {
		case 0:
			d = units.Time(h.rnd.Int64N(30_000_000))
		case 1, 2:
			d = 0
		}
		h.add(now + d)
	}
}

func BenchmarkBareLoop(b *testing.B) {
	p := newPart[note](0, 1)
	p.inbox = []*Part[note]{p}
	h := &hold{p: p, rnd: rand.New(rand.NewPCG(1, 2))}
	p.Handler = h
	for i := range 50000 {
		p.At(units.Time(i*20), Order(1000, uint32(i)), MakeRef(0, uint32(i)))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for limit := units.Time(0); h.n < b.N; limit += 1_000_000 {
		p.window(limit)
	}
}

type hold struct {
	p   *Part[note]
	rnd *rand.Rand
	n   int
}

func (h *hold) Handle(now units.Time, ref Ref) {
	h.n++
	d := 1_000_000 + units.Time(h.rnd.Uint32()&0xffff)
	h.p.At(now+d, Order(d, ref.Low()), ref)
}
