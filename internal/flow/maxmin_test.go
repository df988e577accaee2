package flow

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// on is a flow over links, each with a weight of 1.
func on(most float64, links ...int32) *flow {
	f := &flow{most: most, over: func(units.Time) {}}
	for _, l := range links {
		f.uses = append(f.uses, use{link: l, weight: 1})
	}
	return f
}

// The parking lot of Bertsekas and Gallager, section 6.5.2: a flow over all links has the share of the
// tightest, and each of the others what that leaves of its own.
func TestParkingLot(t *testing.T) {
	var n network
	a, b := n.add(1), n.add(3)
	long, first, second := on(9, a, b), on(9, a), on(9, b)
	for _, f := range []*flow{long, first, second} {
		n.start(f, 1e6, 0)
	}
	n.settle(0)
	for _, x := range []struct {
		what string
		f    *flow
		want float64
	}{{"long", long, .5}, {"first", first, .5}, {"second", second, 2.5}} {
		if math.Abs(x.f.rate-x.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", x.what, x.f.rate, x.want)
		}
	}
	n.stop(first) // the long one takes all of its tightest link
	n.settle(10)
	if math.Abs(long.rate-1) > 1e-12 || math.Abs(second.rate-2) > 1e-12 {
		t.Errorf("rates %v and %v after the first went, want 1 and 2", long.rate, second.rate)
	}
	if long.rest != 1e6-5 {
		t.Errorf("%v bytes are left, want 5 less than there were", long.rest)
	}
}

// A flow that something else limits leaves the rest to others.
func TestLimitedFlow(t *testing.T) {
	var n network
	l := n.add(10)
	slow, fast := on(2, l), on(1e9, l)
	n.start(slow, 100, 0)
	n.start(fast, 100, 0)
	n.settle(0)
	if slow.rate != 2 || fast.rate != 8 {
		t.Errorf("rates %v and %v, want 2 and 8", slow.rate, fast.rate)
	}
}

// Whatever starts and ends, rates are feasible and max-min fair: no link carries more than it can, and each
// flow is as fast as something beside the links allows it, or has a full link on which none is faster. And what
// was worked out for the flows that a change could reach is what working all out again gives.
func TestMaxMin(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := &network{}
		for range 2 + r.IntN(20) {
			n.add(1 + 9*r.Float64())
		}
		var flows []*flow
		for step := range 60 {
			if len(flows) > 0 && r.IntN(3) == 0 {
				k := r.IntN(len(flows))
				n.stop(flows[k])
				flows = append(flows[:k], flows[k+1:]...)
			} else {
				f := &flow{most: 1e9, over: func(units.Time) {}}
				if r.IntN(4) == 0 {
					f.most = 3 * r.Float64()
				}
				for _, l := range r.Perm(len(n.links))[:1+r.IntN(min(4, len(n.links)))] {
					f.uses = append(f.uses, use{link: int32(l), weight: .1 + 2*r.Float64()})
				}
				n.start(f, 1e9, units.Time(step))
				flows = append(flows, f)
			}
			if r.IntN(3) > 0 {
				n.settle(units.Time(step))
				checkMaxMin(t, n, flows)
				checkAgain(t, n, flows)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func checkMaxMin(t *testing.T, n *network, flows []*flow) {
	t.Helper()
	load, fastest := make([]float64, len(n.links)), make([]float64, len(n.links))
	for _, f := range flows {
		for _, u := range f.uses {
			load[u.link] += u.weight * f.rate
			fastest[u.link] = max(fastest[u.link], f.rate)
		}
	}
	for l := range n.links {
		if load[l] > n.links[l].capacity*(1+1e-6) {
			t.Errorf("link %d carries %v of %v", l, load[l], n.links[l].capacity)
		}
	}
	for i, f := range flows {
		held := f.rate >= f.most*(1-1e-6)
		for _, u := range f.uses {
			full := load[u.link] >= n.links[u.link].capacity*(1-1e-6)
			held = held || full && f.rate >= fastest[u.link]*(1-1e-6)
		}
		if !held {
			t.Errorf("flow %d at %v could be faster", i, f.rate)
		}
	}
}

func checkAgain(t *testing.T, n *network, flows []*flow) {
	t.Helper()
	again := &network{}
	for i := range n.links {
		again.add(n.links[i].capacity)
	}
	for _, f := range flows {
		g := &flow{most: f.most}
		for _, u := range f.uses {
			g.uses = append(g.uses, use{link: u.link, weight: u.weight})
		}
		again.start(g, 1, 0)
		defer func() {
			if math.Abs(g.rate-f.rate) > 1e-6*g.rate {
				t.Errorf("rate %v, and %v when all is worked out again", f.rate, g.rate)
			}
		}()
	}
	again.settle(0)
}

// Ends come in the order of their times, whatever happens to flows meanwhile.
func TestEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var e ends
	flows := make([]*flow, 100)
	for i := range flows {
		flows[i] = &flow{number: int32(i + 1)}
	}
	for range 5000 {
		f := flows[r.IntN(len(flows))]
		if r.IntN(3) == 0 {
			e.remove(f)
			continue
		}
		f.due = units.Time(r.IntN(50))
		e.put(f)
		for i, g := range e {
			if int(g.place) != i+1 || i > 0 && e.less(g, e[(i-1)/2]) {
				t.Fatalf("the heap is out of order at %d", i)
			}
		}
	}
}
