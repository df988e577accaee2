package fabric

import (
	"fmt"
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// TestLatency: the time of one frame through one switch. Store-and-forward:
// every hop takes the whole frame on the wire, preamble and gap included.
// Cut-through: the switch acts on the header, except where the egress is faster
// and would run dry.
func TestLatency(t *testing.T) {
	const latency, delay = 300 * units.Nanosecond, 50 * units.Nanosecond
	for _, c := range []struct {
		in, out units.Rate
		frame   uint32
		cut     bool
	}{
		{100 * units.Gbps, 100 * units.Gbps, 4174, false},
		{100 * units.Gbps, 100 * units.Gbps, 64, false},
		{56 * units.Gbps, 100 * units.Gbps, 1000, false},
		{400 * units.Gbps, 25 * units.Gbps, 1500, false},
		{100 * units.Gbps, 100 * units.Gbps, 4174, true},
		{400 * units.Gbps, 25 * units.Gbps, 1500, true},
		{25 * units.Gbps, 400 * units.Gbps, 1500, true},
	} {
		t.Run(fmt.Sprintf("%v to %v, %d bytes, cut-through %t", c.in, c.out, c.frame, c.cut), func(t *testing.T) {
			sw, ports := star(2, c.in, delay)
			ports[1].rate = c.out
			sw.Latency, sw.CutThrough = latency, c.cut
			r := newRig(t, sw, ports)
			r.send(0, 1, 0, 1, c.frame, 3)
			r.run(units.Second)
			first := c.in.TxTime(units.Bytes(c.frame) + 20)
			if c.cut && c.out <= c.in {
				first = c.in.TxTime(8 + 64) // preamble and header
			}
			want := first + delay + latency + c.out.TxTime(units.Bytes(c.frame)+20) + delay
			if got := r.hosts[1].got; len(got) != 1 || got[0].at != want {
				t.Errorf("arrivals %v, want one at %d ps", got, want)
			}
		})
	}
}

// TestScheduler: strict classes first, the highest first; the others by deficit
// weighted round robin, which after each whole round has given every class its
// weight in quanta to within the frame that overdrew it.
func TestScheduler(t *testing.T) {
	strict := NewScheduler(&PortParams{Strict: 1<<6 | 1<<7, DWRRQuantum: 4174})
	for _, c := range []struct {
		avail, want uint8
	}{{1 << 3, 3}, {1<<3 | 1<<6, 6}, {1<<6 | 1<<7, 7}, {1<<0 | 1<<3 | 1<<7, 7}} {
		if got := strict.Pick(c.avail); got != c.want {
			t.Errorf("of classes %#x picked %d, want %d", c.avail, got, c.want)
		}
	}

	const quantum = 4174
	for _, frames := range [][2]uint32{{4174, 4174}, {64, 4174}, {4174, 100}, {1000, 1500}} {
		p := PortParams{DWRRQuantum: quantum}
		p.Weight[0], p.Weight[3] = 1, 3
		s := NewScheduler(&p)
		var sent [2]int64
		last, rounds := 1, int64(0) // a round begins with class 3
		for range 50000 {
			k := 0
			if s.Pick(1<<0|1<<3) == 3 {
				k = 1
			}
			if k == 1 && last == 0 { // a round is over
				rounds++
				for c, weight := range []int64{1, 3} {
					if over := sent[c] - rounds*weight*quantum; over < 0 || over >= int64(frames[c]) {
						t.Fatalf("frames of %v: class of weight %d sent %d bytes in %d rounds, want %d and less than a frame more",
							frames, weight, sent[c], rounds, rounds*weight*quantum)
					}
				}
			}
			s.Charge(uint8(3*k), frames[k])
			sent[k] += int64(frames[k])
			last = k
		}
		if rounds < 100 {
			t.Errorf("frames of %v: %d rounds in 50000 frames", frames, rounds)
		}
	}
}

// TestPortShares: two backlogged classes of a port share it 1:3.
func TestPortShares(t *testing.T) {
	sw, ports := star(3, 100*units.Gbps, 0)
	sw.Lossless = 1<<3 | 1<<4
	ports[2].sw.DWRRQuantum = 1520
	ports[2].sw.Weight[3], ports[2].sw.Weight[4] = 1, 3
	r := newRig(t, sw, ports)
	r.send(0, 2, 0, 4000, 1520, 3)
	r.send(1, 2, 0, 4000, 1520, 4)
	r.run(units.Second)
	var sent [Classes]int
	for _, a := range r.hosts[2].got[100:2100] { // both are queued all the while
		sent[a.Class]++
	}
	if sent[3] < 499 || sent[3] > 501 {
		t.Errorf("class 3 has %d of 2000 frames, want a quarter to within one", sent[3])
	}
}

// TestRED: marking follows the curve (models.md 1.1).
func TestRED(t *testing.T) {
	const draws = 200000
	red := RED{KMin: 100000, KMax: 400000, PMax: 0.2}
	for _, c := range []struct {
		queue int32
		want  float64
	}{
		{100001, 0.2 / 300000}, {175000, 0.05}, {250000, 0.1}, {400000, 0.2}, {400001, 1}, {2000000, 1},
	} {
		sw, ports := star(2, 100*units.Gbps, 0)
		ports[1].sw.RED[3] = red
		r := newRig(t, sw, ports)
		marked := 0
		for range draws {
			pk := packet.Packet{ECN: packet.ECT0}
			r.net.mark(0, &r.net.switches[0], 1, 3, c.queue, &pk)
			if pk.ECN == packet.CE {
				marked++
			}
		}
		sigma := math.Sqrt(c.want * (1 - c.want) / draws)
		if got := float64(marked) / draws; math.Abs(got-c.want) > 4*sigma {
			t.Errorf("queue %d: %.5f of the packets marked, want %.5f +- %.5f", c.queue, got, c.want, 4*sigma)
		}
	}
}

// TestWREDDrops: of frames that are not ECN-capable the curve drops as many as it marks of the
// others, in lossless classes too and before a pause; the drops have a cause of their own. A
// queue that stands between KMin and KMax is fed by two hosts: at one in p drops.
func TestWREDDrops(t *testing.T) {
	const draws = 200000
	red := RED{KMin: 100000, KMax: 400000, PMax: 0.2}
	for _, queue := range []int32{175000, 400000, 400001} {
		sw, ports := star(2, 100*units.Gbps, 0)
		ports[1].sw.RED[3] = red
		r := newRig(t, sw, ports)
		dropped, marked := 0, 0
		for range draws {
			if r.net.early(&r.net.switches[0], 1, 3, queue, &packet.Packet{ECN: packet.NotECT}) {
				dropped++
			}
			pk := packet.Packet{ECN: packet.ECT0}
			if r.net.mark(0, &r.net.switches[0], 1, 3, queue, &pk); pk.ECN == packet.CE {
				marked++
			}
			if r.net.early(&r.net.switches[0], 1, 3, queue, &pk) {
				t.Fatal("an ECN-capable frame is dropped")
			}
		}
		if p := float64(marked) / draws; math.Abs(float64(dropped)/draws-p) > 6*math.Sqrt(p*(1-p)/draws) {
			t.Errorf("queue %d: %d of %d dropped, %d marked", queue, dropped, draws, marked)
		}
	}
	for _, ecn := range []uint8{packet.NotECT, packet.ECT0} {
		sw, ports := star(3, 100*units.Gbps, 0)
		ports[2].sw.RED[3] = RED{KMin: 20000, KMax: 20000, PMax: 1}
		for i := range ports {
			ports[i].pg[3] = PGParams{Static: 400_000, Headroom: units.MB}
		}
		r := newRig(t, sw, ports)
		for i := range 2 {
			r.send(i, 2, 0, 200, 1520, 3)
			h := r.hosts[i]
			r.at(i, 1, func(units.Time) {
				for k := range h.queue {
					h.queue[k].ECN = ecn
				}
			})
		}
		r.run(units.Second)
		p := r.net.Port(2, 3, units.Second, 0)
		lost := int64(400 - len(r.hosts[2].got))
		switch {
		case ecn == packet.NotECT && (lost < 150 || p.Dropped != lost || p.DropCauses[0].Cause != catalog.DropWRED || p.PeakQueueBytes > 20000+1520 || p.Marked > 2):
			t.Errorf("not ECN-capable: %d lost, %d counted %+v, queue up to %d, %d marked", lost, p.Dropped, p.DropCauses, p.PeakQueueBytes, p.Marked)
		case ecn == packet.ECT0 && (lost != 0 || p.Marked == 0):
			t.Errorf("ECN-capable: %d lost, %d marked", lost, p.Marked)
		}
	}
}

// TestWhoIsMarked: only ECN-capable packets are marked, unless the switch marks
// any; a queue at KMin or below marks nothing.
func TestWhoIsMarked(t *testing.T) {
	for _, c := range []struct {
		ecn  uint8
		any  bool
		kmin units.Bytes
		want bool
	}{
		{packet.ECT0, false, 3000, true},
		{packet.ECT1, false, 3000, true},
		{packet.NotECT, false, 3000, false},
		{packet.NotECT, true, 3000, true},
		{packet.ECT0, false, 1 << 40, false},
		{packet.ECT0, false, 20 * 1520, false}, // the most that waits
	} {
		sw, ports := star(3, 100*units.Gbps, 0)
		sw.MarkAny = c.any
		ports[2].sw.RED[3] = RED{KMin: c.kmin, KMax: c.kmin, PMax: 1}
		r := newRig(t, sw, ports)
		for i := range 2 {
			r.send(i, 2, 0, 20, 1520, 3)
		}
		for i := range 2 {
			h := r.hosts[i]
			r.at(i, 1, func(units.Time) {
				for k := range h.queue {
					h.queue[k].ECN = c.ecn
				}
			})
		}
		r.run(units.Second)
		marked := 0
		for _, a := range r.hosts[2].got {
			if a.ECN == packet.CE {
				marked++
			}
		}
		if (marked > 0) != c.want || int64(marked) != r.net.Port(2, 3, units.Second, 0).Marked {
			t.Errorf("%+v: %d packets marked, %d counted", c, marked, r.net.Port(2, 3, units.Second, 0).Marked)
		}
	}
}

// TestDynamicThreshold: k groups that fill a pool of B together cross XOFF at
// alpha*B/(1+k*alpha) each (case F16: 18 MB, alpha 1/8).
func TestDynamicThreshold(t *testing.T) {
	const pool, frame = 18e6, 4174
	for _, k := range []int{1, 2, 4, 16} {
		// Host i sends at 200 Gb/s to host k+i at 100 Gb/s: all drain while they fill.
		sw, ports := star(2*k, 100*units.Gbps, 0)
		sw.Shared = pool
		for i := range ports {
			if i < k {
				ports[i].rate = 200 * units.Gbps
			}
			ports[i].pg[3].AlphaNum, ports[i].pg[3].AlphaDen = 1, 8
			ports[i].pg[3].XONOffset = pool // resume when empty: each fills anew
		}
		r := newRig(t, sw, ports)
		for i := range k {
			r.send(i, k+i, 0, 5_000_000/frame, frame, 3)
		}
		r.run(units.Second)
		want := pool / 8 / (1 + float64(k)/8)
		for i := range k {
			x := r.net.cold[i].xoff[3]
			if x.Count == 0 || math.Abs(float64(x.Sum)/float64(x.Count)-want) > frame {
				t.Errorf("%d groups: port %d crossed XOFF %d times at %d bytes in all, want each at %.0f +- a frame", k, i, x.Count, x.Sum, want)
			}
		}
	}
}

// TestReserve: the guaranteed minimum of a group is there even when others have
// taken the whole pool, and without headroom.
func TestReserve(t *testing.T) {
	sw, ports := star(3, 100*units.Gbps, 0)
	sw.Shared = 0
	for i := range ports {
		ports[i].pg[3] = PGParams{Reserved: 4096, AlphaNum: 1, AlphaDen: 1}
		ports[i].sw.PFC.Enabled, ports[i].host.PFC.Enabled = 0, 0
	}
	r := newRig(t, sw, ports)
	r.send(0, 2, 0, 2, 1000, 3)
	r.send(1, 2, 0, 2, 1000, 3)
	r.run(units.Second)
	if n := len(r.hosts[2].got); n != 4 {
		t.Errorf("%d of 4 frames pass; two of 1000 bytes fit into each reserve of 4096", n)
	}
}

// TestLossRates: each way a link loses frames, against its own rate.
func TestLossRates(t *testing.T) {
	const n, frame = 20000, 1000
	for _, c := range []struct {
		name  string
		port  rigPort
		lost  float64 // expected
		exact bool
	}{
		{"loss", rigPort{loss: 0.02}, 0.02 * n, false},
		{"bit errors", rigPort{ber: 1e-6}, n * (1 - math.Pow(1-1e-6, 8*frame)), false},
		{"every 256th", rigPort{every: 256}, n / 256, true},
		// Frame k arrives at (k+1)*81.6 ns + 100 ns; the first lost is k = 61.
		{"down", rigPort{downAt: 5150 * units.Nanosecond}, n - 61, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			sw, ports := star(2, 100*units.Gbps, 100*units.Nanosecond)
			ports[0].loss, ports[0].ber, ports[0].every, ports[0].downAt = c.port.loss, c.port.ber, c.port.every, c.port.downAt
			r := newRig(t, sw, ports)
			r.send(0, 1, 0, n, frame, 3)
			r.run(units.Second)
			lost := float64(n - len(r.hosts[1].got))
			tolerance := 4 * math.Sqrt(c.lost)
			if c.exact {
				tolerance = 0
			}
			if math.Abs(lost-c.lost) > tolerance {
				t.Errorf("%v frames of %d lost, want %.1f +- %.1f", lost, n, c.lost, tolerance)
			}
			if p := r.net.Port(r.hosts[0].port, 3, units.Second, 0); p.Dropped != int64(lost) || p.DroppedBytes != int64(lost)*frame {
				t.Errorf("counted %d frames and %d bytes", p.Dropped, p.DroppedBytes)
			}
		})
	}
}

// TestDamaged: the share of damaged frames is 1-(1-e)^b.
func TestDamaged(t *testing.T) {
	for _, ber := range []float64{0, 1e-12, 1e-8, 1e-5, 0.5, 1} {
		for _, bits := range []int{1, 512, 33392} {
			want := -math.Expm1(float64(bits) * math.Log1p(-ber))
			if got := damaged(ber, bits); math.Abs(got-want) > 1e-11 {
				t.Errorf("%d bits at %g: %g, want %g", bits, ber, got, want)
			}
		}
	}
}

// TestRouteSpread: the members of an ECMP group get equal shares of many flows,
// independently at switches of different salt.
func TestRouteSpread(t *testing.T) {
	const flows, links = 80000, 8
	table := compact([]uint32{links})
	members := []uint16{0, 1, 2, 3, 4, 5, 6, 7}
	n := &Net{}
	choose := func(s *swtch, hash uint32) uint16 {
		pk := packet.Packet{Hash: hash}
		n.route(s, &pk)
		return pk.Out
	}
	a := &swtch{routes: table, members: members, salt: 1}
	b := &swtch{routes: table, members: members, salt: 2}
	var joint [links][links]int
	for k := range flows {
		hash := uint32(rng.Mix64(uint64(k), 4791) >> 32)
		joint[choose(a, hash)][choose(b, hash)]++
	}
	const mean = flows / links / links
	chi := 0.0
	for i := range joint {
		for j := range joint[i] {
			d := float64(joint[i][j] - mean)
			chi += d * d / mean
		}
	}
	// 63 degrees of freedom: mean 63, standard deviation sqrt(126) = 11.2.
	if chi > 63+4*11.2 {
		t.Errorf("chi square of 64 pairs of choices is %.1f, want 63 +- 45", chi)
	}
}
