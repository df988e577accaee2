package balance

import (
	"fmt"
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// Two senders at line rate and two equal ports: each packet finds one idle, none ever waits, and both carry
// the same.
func TestAdaptiveSpreads(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, 2, Adaptive{}, nil)
	r.at(0, 0, 500, 1000, 1, 0)
	r.at(1, 0, 500, 1000, 2, 0)
	r.run()
	got := r.arrived()
	if got[0] != 500 || got[1] != 500 {
		t.Errorf("%v packets by the two ports, want 500 each", got)
	}
	for p := 2; p < 4; p++ {
		if peak := r.net.Port(p, class, units.Second, 0).PeakQueueBytes; peak > 1000 {
			t.Errorf("port %d held %d bytes: a packet waited while the other port was idle", p, peak)
		}
	}
}

// A port that is busy gets nothing until the others have as much to do: the first is given 40 pinned packets.
func TestAdaptiveAvoids(t *testing.T) {
	t.Parallel()
	for _, b := range []fabric.Balancing{Adaptive{}, Drill{Samples: 2}} {
		least := map[bool]int{true: 15}[b == Adaptive{}] // DRILL stays with an idle port
		r := newRig(t, 2, 3, b, []fabric.Pin{{There: []uint16{2}}})
		r.at(0, 0, 40, 1000, 1, packet.Pinned)
		r.at(1, 500*units.Nanosecond, 60, 1000, 2, 0)
		r.run()
		mine := [3]int{}
		for i, h := range r.hosts[2:] {
			for _, a := range h.got {
				if a.Flags&packet.Pinned == 0 {
					mine[i]++
				}
			}
		}
		// The first sends the pinned packets as they come and is busy for two thirds of the time.
		if mine[0] > 60-35 || mine[1] < least || mine[2] < least || mine[0]+mine[1]+mine[2] != 60 {
			t.Errorf("%v: %v of 60 by the three ports; the first was busy for most of them", b, mine)
		}
	}
}

// Among idle ports the turn goes round, so that none is preferred.
func TestAdaptiveTurns(t *testing.T) {
	t.Parallel()
	for _, b := range []fabric.Balancing{Adaptive{}, RoundRobin{}} {
		r := newRig(t, 2, 3, b, nil)
		for k := range 30 {
			r.at(0, units.Time(k)*units.Microsecond, 1, 1000, 1, 0)
		}
		r.run()
		for i, n := range r.arrived() {
			if n != 10 {
				t.Errorf("%v: port %d took %d of 30, want 10", b, i, n)
			}
		}
	}
}

// Each port has an equal chance.
func TestSpray(t *testing.T) {
	t.Parallel()
	const n, k = 8000, 8
	r := newRig(t, 1, k, Spray{}, nil)
	r.at(0, 0, n, 100, 1, 0)
	r.run()
	chi := 0.0
	for _, got := range r.arrived() {
		d := float64(got) - n/k
		chi += d * d / (n / k)
	}
	if chi > 24.3 || chi < 0.6 { // 99.9 % and 0.1 % of chi-square with seven degrees of freedom
		t.Errorf("%v packets by port: chi-square %.1f", r.arrived(), chi)
	}
}

// Packets of each flow take the ports in turn, whatever others do.
func TestRoundRobin(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, 4, RoundRobin{}, nil)
	r.at(0, 0, 400, 1000, 1, 0)
	r.at(1, 0, 100, 1000, 2, 0)
	r.run()
	for i, n := range r.arrived() {
		if n != 125 {
			t.Errorf("port %d took %d of 500, want 125", i, n)
		}
	}
}

// A queue in front of each of n ports, n inputs which have a packet in a slot with probability rho: sprayed
// at random, rho + (n-1)/n rho^2/(2(1-rho)) packets are at a port, the one that it sends included: a discrete
// queue with binomial arrivals (reference sheet of controllers, F46). DRILL keeps far fewer.
func TestSprayQueue(t *testing.T) {
	t.Parallel()
	const n, frame, slots = 8, 1230, 60_000 // 100 ns with what the wire adds
	slot := units.Time(frame+20) * 80
	mean := func(b fabric.Balancing, rho float64) float64 {
		r := newRig(t, n, n, b, nil)
		rnd := rng.New(1, "arrivals")
		for k := range slots {
			for i := range n {
				if float64(rnd.Uint32())/math.Exp2(32) < rho {
					r.at(i, units.Time(k)*slot, 1, frame, uint32(i), 0)
				}
			}
		}
		r.run()
		sum, end := 0.0, slots*slot
		for p := n; p < 2*n; p++ {
			sum += r.net.Port(p, class, end, 0).MeanQueueBytes / frame
		}
		return sum / n
	}
	for _, rho := range []float64{.5, .8, .9} {
		// Those that wait: what the formula says without the packet on the wire, which is there for rho of the time.
		want := (n - 1.0) / n * rho * rho / (2 * (1 - rho))
		got := mean(Spray{}, rho)
		if math.Abs(got/want-1) > .03+.03*rho*rho { // the mean of 480,000 correlated values
			t.Errorf("load %g: %.3f packets wait at a port, want %.3f", rho, got, want)
		}
		if drill := mean(Drill{Samples: 2}, rho); drill > got/2 {
			t.Errorf("load %g: DRILL leaves %.3f packets waiting, spraying %.3f", rho, drill, got)
		}
	}
}

// A paced flow makes a flowlet of each packet where its gaps are longer than the timeout, and one of them all
// where they are not: wire bytes * 8 / rate (F47: 4178 B and 100 us, 0.334 Gb/s; 16 us, 2.09).
func TestFlowlets(t *testing.T) {
	t.Parallel()
	const wire = 4178
	for _, gap := range []units.Time{100 * units.Microsecond, 16 * units.Microsecond} {
		for _, b := range []fabric.Balancing{Flowlet{Gap: gap}, DLB{Weight: 50, Min: 20, Max: 80, Sample: 16 * units.Microsecond, Deep: deep, Gap: gap}} {
			limit := float64(wire*8) / (float64(gap) / 1e12) // bit/s
			if want := map[units.Time]float64{100 * units.Microsecond: .334e9, 16 * units.Microsecond: 2.09e9}[gap]; math.Abs(limit/want-1) > .001 {
				t.Fatalf("the limit is %g bit/s, want %g", limit, want)
			}
			for _, c := range []struct {
				rate float64
				want int64
			}{{limit * 1.001, 1}, {limit * .999, 1000}} {
				f := b.New(4, new(rng.Stream)).(*flowlets)
				ports := &idle{n: 4, down: -1}
				for k := range 1000 {
					ports.now = units.Time(float64(k) * wire * 8 / c.rate * 1e12)
					f.Choose(fabric.Arrival{Flow: 7, Bytes: wire - 20, Data: true}, ports)
				}
				if f.begun != c.want {
					t.Errorf("%v, gap %v: %d flowlets of 1000 packets at %.4g Gb/s, want %d", b, gap, f.begun, c.rate/1e9, c.want)
				}
			}
		}
	}
}

// A flowlet leaves a port whose link is down, and order is kept otherwise.
func TestFlowletsLeaveWhatIsDown(t *testing.T) {
	t.Parallel()
	rnd := rng.New(1, "flowlets")
	f := Flowlet{Gap: units.Millisecond}.New(4, &rnd)
	ports := &idle{n: 4, down: -1}
	first := f.Choose(fabric.Arrival{Flow: 1}, ports)
	for range 100 {
		if k := f.Choose(fabric.Arrival{Flow: 1}, ports); k != first {
			t.Fatalf("port %d after %d within a flowlet", k, first)
		}
	}
	ports.down = first
	moved := false
	for range 20 {
		moved = moved || f.Choose(fabric.Arrival{Flow: 1}, ports) != first
	}
	if !moved {
		t.Error("the flow stays with a link that is down")
	}
}

// At a constant rate R the register holds between 4 and 5 times R T where alpha is 0.2, and half load reads 3 to 4
// of a three-bit code (F49: 50 us).
func TestDiscountingRate(t *testing.T) {
	t.Parallel()
	const period = 50 * units.Microsecond
	d := dre{period: period, alpha: 200}
	half := units.Rate(lineRate / 2)
	for now := units.Time(0); now < 5*units.Millisecond; now += units.Microsecond {
		d.to(now, units.Bytes(float64(half)/8*float64(now)/1e12))
	}
	rt := float64(half) / 8 * float64(period) / 1e12
	if after, before := float64(d.after)/rt, float64(d.before)/rt; math.Abs(after-4) > .01 || math.Abs(before-5) > .01 {
		t.Errorf("the register holds %.3f to %.3f R T, want 4 to 5", after, before)
	}
	if load := d.share(lineRate); load < 49 || load > 50 {
		t.Errorf("the load reads %d %%, want 50", load)
	}
	if code := float64(d.share(lineRate)) / 100 * 7; code < 3 || code > 4 {
		t.Errorf("code %.2f, want 3 to 4", code)
	}
	// Nobody looks for 5 ms in which nothing is sent: all is forgotten.
	if d.to(10*units.Millisecond, d.sent); d.after > 10 {
		t.Errorf("%d bytes are left", d.after)
	}
}

// A port with 15 % of load is as good as an idle one, one above 80 % is the worst, and a long queue counts as
// its weight says (Juniper's example of egress-quantization).
func TestBands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		weight, load int
		wait         units.Time
		want         int
	}{
		{100, 0, 2 * deep, 7}, {100, 15, 0, 7}, {100, 20, 0, 7}, {100, 81, 0, 0}, {100, 50, 0, 4}, {100, 51, 0, 3},
		{0, 100, 0, 7}, {0, 0, 2 * deep, 0}, {50, 100, 0, 4}, {50, 100, 2 * deep, 0}, {50, 0, 2 * deep, 4},
	} {
		q := DLB{Weight: c.weight, Min: 20, Max: 80, Sample: 16 * units.Microsecond, Deep: deep}.New(2, new(rng.Stream)).(*quality)
		q.loads[0].percent, q.loads[0].end = int64(c.load), units.Never
		if got := q.band(&idle{n: 2, down: -1, wait: c.wait}, 0); got != c.want {
			t.Errorf("weight %d, load %d %%, wait %v: band %d, want %d", c.weight, c.load, c.wait, got, c.want)
		}
	}
}

// Two ports, of which pinned packets load one to 60 %: what remains shares the rest so that both do the same.
func TestDLB(t *testing.T) {
	t.Parallel()
	b := DLB{Weight: 50, Min: 20, Max: 80, Sample: 16 * units.Microsecond, Deep: deep}
	r := newRig(t, 2, 2, b, []fabric.Pin{{There: []uint16{2}}})
	const n = 10_000
	for k := range n {
		at := units.Time(k) * 100 * units.Nanosecond
		if k%5 < 3 {
			r.at(0, at, 1, 1230, 1, packet.Pinned)
		}
		r.at(1, at, 1, 1230, 2, 0)
	}
	r.run()
	got := r.arrived()
	if share := float64(got[0]) / float64(got[0]+got[1]); share < .45 || share > .55 {
		t.Errorf("%v packets by the two ports, want as many each", got)
	}
}

// Every way chooses a port that there is, allocates nothing once it knows its flows, and does the same again.
func TestChoices(t *testing.T) {
	for _, k := range All() {
		params, make := k.Make()
		of := make()
		t.Run(k.Name, func(t *testing.T) {
			var first []int
			for range 2 {
				rnd := rng.New(1, "again")
				b := of.New(16, &rnd)
				ports := &idle{n: 5, down: 2}
				var all []int
				choose := func() {
					ports.now += units.Microsecond
					c := b.Choose(fabric.Arrival{Flow: uint32(ports.now), Bytes: 1000, Data: true}, ports)
					if c < 0 || c >= 5 {
						t.Fatalf("chose %d of 5", c)
					}
					all = append(all, c)
				}
				for range 100 {
					choose()
				}
				if first == nil {
					first = all
				} else if fmt.Sprint(first) != fmt.Sprint(all) {
					t.Errorf("%v, then %v", first, all)
				}
				pk := fabric.Arrival{Flow: 3, Bytes: 1000, Data: true}
				if a := testing.AllocsPerRun(100, func() { b.Choose(pk, ports) }); a > 0 {
					t.Errorf("%g allocations per packet", a)
				}
			}
			if k.Text == "" || of.String() != k.Name || of.Mechanism() == 0 {
				t.Errorf("%+v says too little of itself", k)
			}
			for _, p := range params {
				if err := p.Check(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

const deep = 100 * units.Microsecond

// idle are ports that do nothing.
type idle struct {
	n, down int
	now     units.Time
	wait    units.Time
}

func (p *idle) Now() units.Time        { return p.now }
func (p *idle) Len() int               { return p.n }
func (p *idle) Number(i int) int       { return i }
func (p *idle) ByHash() int            { return 0 }
func (p *idle) Up(i int) bool          { return i != p.down }
func (p *idle) Wait(int) units.Time    { return p.wait }
func (p *idle) Queued(int) units.Bytes { return 0 }
func (p *idle) Sent(int) units.Bytes   { return 0 }
func (p *idle) Rate(int) units.Rate    { return lineRate }
