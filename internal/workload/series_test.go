package workload

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// listed is what a plan's flows come to, one message after the other, in the order of
// (Start, entry, order of appending).
type listed struct {
	plan     *Plan
	messages []Message
}

// flow adds a flow to the plan and its messages to the list.
func (l *listed) flow(t *testing.T, entry, from, to int, size units.Bytes, o Options) {
	t.Helper()
	conn := len(l.plan.Conns)
	var drawn rng.Stream
	if o.Place.Stream != nil {
		drawn = *o.Place.Stream
	}
	if err := l.plan.Flow(entry, from, to, size, o); err != nil {
		t.Fatal(err)
	}
	slots := max(o.Region/size, 1)
	for q := range o.QPs {
		for i := range o.Count {
			m := Message{Conn: conn + q, Bytes: size, Offset: o.Place.Offset, Start: o.Start + units.Time(i)*o.Every}
			switch o.Place.Order {
			case Sequential:
				m.Offset = units.Bytes(i) % slots * size
			case Random:
				m.Offset = units.Bytes(drawn.IntN(int(slots))) * size
			}
			l.messages = append(l.messages, m)
		}
	}
}

// TestSeriesAreTheirMessages: what a plan makes of series is what a list of all
// messages, sorted, would be, for random flows whose rhythms mix or not.
func TestSeriesAreTheirMessages(t *testing.T) {
	mixed := 0
	for seed := range uint64(400) {
		s := rng.New(seed, "flows")
		l := listed{plan: &Plan{}}
		drawn := rng.New(seed, "offsets")
		for e := range 1 + s.IntN(3) {
			entry := l.plan.AddEntry(fmt.Sprint(e))
			for range 1 + s.IntN(2) {
				o := DefaultOptions()
				o.QPs, o.Count = 1+s.IntN(3), 1+s.IntN(5)
				o.Start, o.Every = units.Time(s.IntN(3)*10), units.Time(s.IntN(4)*5)
				o.Region = units.Bytes(s.IntN(4) * 100)
				switch o.Place.Order = Order(s.IntN(3)); o.Place.Order {
				case Fixed:
					o.Place.Offset = units.Bytes(s.IntN(9))
				case Random:
					o.Place.Stream = &drawn
				}
				l.flow(t, entry, 0, 1, 30, o)
			}
		}
		if err := l.plan.Finish(twoHosts{}); err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(l.messages, func(a, b Message) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(l.plan.Conns[a.Conn].Entry, l.plan.Conns[b.Conn].Entry))
		})
		if l.plan.order.mixed {
			mixed++
		}
		compareMessages(t, seed, l.plan, l.messages)
	}
	if mixed < 100 || mixed > 300 {
		t.Errorf("the rhythms of %d of 400 plans mix: too few of either kind are tried", mixed)
	}
}

func compareMessages(t *testing.T, seed uint64, p *Plan, want []Message) {
	t.Helper()
	if p.Len() != len(want) {
		t.Fatalf("seed %d: %d messages, want %d", seed, p.Len(), len(want))
	}
	n := 0
	for i, m := range p.All() {
		if i != n || *m != want[i] || p.At(i) != want[i] {
			t.Fatalf("seed %d: message %d is %+v and %+v, want %+v", seed, i, *m, p.At(i), want[i])
		}
		n++
	}
	if n != len(want) {
		t.Errorf("seed %d: %d messages in turn, want %d", seed, n, len(want))
	}
	reach := make([]units.Bytes, len(p.Conns))
	for i := range want {
		reach[want[i].Conn] = max(reach[want[i].Conn], want[i].Offset+want[i].Bytes)
	}
	for i := range p.Series {
		if s := &p.Series[i]; s.Reach() != reach[s.Conn] {
			t.Errorf("seed %d: series %d reaches up to %d, want %d", seed, i, s.Reach(), reach[s.Conn])
		}
	}
}

// TestSeriesTakeNoMemory: what a count repeats is not listed, whatever the number.
func TestSeriesTakeNoMemory(t *testing.T) {
	took := func(count int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p := &Plan{}
		o := DefaultOptions()
		o.Count, o.Every, o.QPs = count, 10, 4
		if err := p.Flow(p.AddEntry("many"), 0, 1, 100, o); err != nil {
			t.Fatal(err)
		}
		if err := p.Finish(twoHosts{}); err != nil {
			t.Fatal(err)
		}
		if p.Len() != 4*count || p.At(4*count-1).Start != units.Time(count-1)*10 {
			t.Fatalf("%d messages, the last at %d", p.Len(), p.At(4*count-1).Start)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := took(10), took(MaxMessages/4); many > few+4096 {
		t.Errorf("40 messages take %d bytes, %d take %d", few, MaxMessages, many)
	}
}
