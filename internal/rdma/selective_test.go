package rdma

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// TestResentIsLost: when every packet is acknowledged and the network keeps its
// order and loses data only, exactly what was lost is sent again, once per loss,
// whatever the pattern.
func TestResentIsLost(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		cfg := mustPreset(t, []string{"selective-repeat", "irn"}[seed%2])
		cfg.MTU, cfg.AckEvery, cfg.Bitmap = 1024, 1, []int{512, 20, 3}[seed%3]
		cfg.Timeout, cfg.TimeoutLow = TimeoutCode(8), 0
		odds := 3 + rng.IntN(60)
		lost := int64(0)
		l := newLoop(t, cfg, attrs(), attrs())
		l.fate = func(_ int, p *packet.Packet) fate {
			lose := p.Kind == packet.Data && rng.IntN(odds) == 0
			if lose {
				lost++
			}
			return fate{lose: lose}
		}
		for i := range uint32(20) {
			l.post(0, WorkRequest{ID: i, Verb: Verb(i % 2), Bytes: units.Bytes(rng.Int64N(40_000))})
		}
		l.run(units.Second)
		c := l.qp[0].Counters()
		if len(l.cq[0].Entries) != 20 || c.Retransmitted != lost {
			t.Errorf("seed %d: %d completions, %d packets lost and %d sent again", seed, len(l.cq[0].Entries), lost, c.Retransmitted)
		}
	}
}

// TestGapsPack: what fits in the word of a selective NAK comes back as it was.
func TestGapsPack(t *testing.T) {
	for _, g := range []gaps{
		{latest: 1, n: 1, r: [nakRanges]span{{0, 1}}},
		{latest: MaxBitmap - 1, n: 4, r: [nakRanges]span{{0, 63}, {63 + 511, 63}, {700, 1}, {701, 63}}},
		{latest: 12, n: 3, r: [nakRanges]span{{0, 2}, {3, 1}, {11, 1}}},
	} {
		if got := unpack(g.pack()); got != g {
			t.Errorf("%+v came back as %+v", g, got)
		}
	}
	if g := unpack(0); g.n != 0 {
		t.Errorf("nothing is %+v", g)
	}
}

// TestGapsListed: the ranges of random bitmaps, across words, the bitmap's end
// and the PSN wrap, against counting packet by packet.
func TestGapsListed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		size := []int{64, 100, 512}[rng.IntN(3)]
		epsn := uint32(rng.IntN(1 << 24))
		if rng.IntN(4) == 0 {
			epsn = psnMask - 20
		}
		rx := newReorder(size)
		limit := uint32(1 + rng.IntN(size-1))
		rx.end = (epsn + limit + 1) & psnMask
		here := make([]bool, limit+1)
		dense := 1 + rng.IntN(60)
		for k := uint32(1); k <= limit; k++ {
			if k == limit || rng.IntN(dense) != 0 {
				rx.put(&packet.Packet{PSN: (epsn + k) & psnMask}, nil)
				here[k] = true
			}
		}
		var want []uint32 // missing, as far as four ranges of 63 go
		ranges, length := 0, 0
		for k := uint32(0); k <= limit; k++ {
			switch {
			case here[k]:
				length = 0
				continue
			case length == 0 || length == 63:
				ranges, length = ranges+1, 0
			}
			if ranges > nakRanges {
				break
			}
			length++
			want = append(want, k)
		}
		g := rx.gaps(epsn, limit)
		var got []uint32
		for _, r := range unpack(g.pack()).r {
			for k := range r.n {
				got = append(got, r.from+k)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("bitmap of %d, PSN %d, %v: listed %v, want %v", size, epsn, here, got, want)
		}
	}
}

// TestReadBeyondBitmap: a READ takes a place in the receive bitmap for each packet
// of its answer; one that ends beyond it is dropped, and no place is marked. One
// that ends with it is kept.
func TestReadBeyondBitmap(t *testing.T) {
	cfg := mustPreset(t, "selective-repeat")
	cfg.Bitmap = 64
	for _, c := range []struct{ packets, held uint32 }{{54, 54}, {55, 0}} {
		l := newLoop(t, cfg, attrs(), attrs())
		q := &l.qp[1]
		p := packet.Packet{Kind: packet.Data, Opcode: OpReadRequest, PSN: 10, VA: base, RKey: rkey, DMALen: c.packets * uint32(cfg.MTU)}
		q.Receive(0, &p, new(Replies))
		discarded := q.Counters().Discarded == 1
		if q.held != c.held || discarded != (c.held == 0) {
			t.Errorf("a READ of PSNs 10 to %d: %d places marked, discarded %v", 9+c.packets, q.held, discarded)
		}
	}
}

// BenchmarkResponsesAhead is a READ response that arrives while earlier ones are
// missing, one in each quarter of the bitmap: its time does not depend on the
// bitmap's size.
func BenchmarkResponsesAhead(b *testing.B) {
	for _, n := range []int{512, MaxBitmap} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			cfg, err := Preset("selective-repeat")
			if err != nil {
				b.Fatal(err)
			}
			cfg.Bitmap, cfg.MTU = n, 1024
			var q QP
			k := n
			for b.Loop() {
				if k++; k >= n {
					b.StopTimer()
					q, k = QP{}, 1
					q.Connect(&Setup{Config: &cfg, CQ: new(CompletionQueue), Line: 100 * units.Gbps, Attrs: attrs()}, 0)
					if err := q.Post(0, WorkRequest{Verb: Read, Bytes: units.Bytes(n) * 1024, VA: base, RKey: rkey}); err != nil {
						b.Fatal(err)
					}
					for range 4 { // a request for each quarter
						q.Poll(q.nextAvail, new(packet.Packet))
					}
					b.StartTimer()
				}
				if k%(n/4) == 0 || k == n-1 {
					continue
				}
				q.Receive(q.nextAvail, &packet.Packet{Kind: packet.Response, Opcode: OpReadRespMiddle, PSN: uint32(k), Payload: 1024}, new(Replies))
			}
		})
	}
}
