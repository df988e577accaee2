package dma

import (
	"math/rand/v2"
	"testing"

	"github.com/hopscope/hopscope/internal/pcie"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
)

// randomTree is a server of random shape, with its cards and its memories.
func randomTree(rnd *rand.Rand) (tree *server.Tree, cards, memories []int) {
	r := newRig()
	gen := func() int { return 1 + rnd.IntN(5) }
	width := func() int { return 1 << rnd.IntN(5) }
	var uppers, roots []int
	for range 1 + rnd.IntN(3) {
		root, dram := r.root(string(rune('a' + len(roots))))
		for _, other := range roots {
			r.link(server.Link{Kind: server.Interconnect, A: other, B: root, Rate: units.Rate(50+rnd.IntN(500)) * units.Gbps, Latency: 50 * ns})
		}
		roots, uppers, memories = append(roots, root), append(uppers, root), append(memories, dram)
	}
	for range rnd.IntN(4) {
		sw := r.add(server.Switch, "switch")
		r.pci(uppers[rnd.IntN(len(uppers))], sw, gen(), width())
		uppers = append(uppers, sw)
	}
	for range 1 + rnd.IntN(4) {
		g := r.gpu("gpu")
		r.pci(uppers[rnd.IntN(len(uppers))], g, gen(), width())
		memories = append(memories, g)
	}
	for range 1 + rnd.IntN(3) {
		n := r.add(server.NIC, "nic")
		r.pci(uppers[rnd.IntN(len(uppers))], n, gen(), width())
		cards = append(cards, n)
	}
	for i := range r.t.Links {
		if l := &r.t.Links[i]; l.Kind == server.PCIe {
			l.PCIe.MPS = 128 << rnd.IntN(3)
			l.PCIe.MRRS = 128 << rnd.IntN(6)
			l.Latency = units.Time(20+rnd.IntN(300)) * ns
		}
	}
	r.t.ACS, r.t.IOMMU, r.t.Relaxed = rnd.IntN(2) == 0, rnd.IntN(2) == 0, rnd.IntN(2) == 0
	r.t.Costs.ReadTags = 8 << rnd.IntN(6)
	return r.t, cards, memories
}

// In servers of any shape: every link carries the bytes of the transfers that pass it
// and no others; it has not worked longer than from the first call to the end of what it
// is booked for; a
// transfer takes at least the time of its slowest link and all latencies; a read ends
// after one asked for before over the same chain, and so does a write in order.
func TestRandomServers(t *testing.T) {
	for seed := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		tree, cards, memories := randomTree(rnd)
		e := New(tree)
		var chains []*Chain
		var paths [][]server.Hop
		reads := map[*Chain]bool{}
		for range 6 {
			from, to := cards[rnd.IntN(len(cards))], memories[rnd.IntN(len(memories))]
			read := rnd.IntN(2) == 0
			if read {
				from, to = to, from
			}
			c := chain(t, e, from, to)
			path, _ := tree.Path(from, to)
			chains, paths, reads[c] = append(chains, c), append(paths, path), read
		}
		want := make([]units.Bytes, 2*len(tree.Links))
		last := map[*Chain]units.Time{}
		now, end := units.Time(0), units.Time(0)
		for range 300 {
			now += units.Time(rnd.IntN(3000)) * ns
			k := rnd.IntN(len(chains))
			c, n := chains[k], units.Bytes(1+rnd.IntN(4096))
			var done units.Time
			if reads[c] {
				done = e.Read(now, c, n)
			} else {
				var accepted units.Time
				accepted, done = e.Write(now, c, n)
				if accepted < now || accepted > done {
					t.Fatalf("seed %d: accepted at %v, asked at %v, done at %v", seed, accepted, now, done)
				}
			}
			least := now
			slowest := units.Time(0)
			for _, p := range paths[k] {
				l := &tree.Links[p.Link]
				least += l.Latency
				if l.Kind == server.PCIe {
					slowest = max(slowest, l.PCIe.Raw().TxTimeLong(n))
				} else {
					slowest = max(slowest, l.Rate.TxTimeLong(n))
				}
				i := 2 * p.Link
				if p.Forward && l.Kind != server.MemoryBus && l.Kind != server.HBM {
					i++
				}
				want[i] += n
			}
			if done < least+slowest {
				t.Fatalf("seed %d: %d B done after %v, latencies %v and slowest link %v", seed, n, done-now, least-now, slowest)
			}
			if done < last[c] && (reads[c] || !tree.Relaxed) {
				t.Fatalf("seed %d: done at %v, the one before at %v", seed, done, last[c])
			}
			last[c] = done
			end = max(end, done)
		}
		for i := range e.tracks {
			got := &e.tracks[i].carried
			if got.Payload != want[i] {
				t.Errorf("seed %d: link %d carried %d B of %d", seed, i/2, got.Payload, want[i])
			}
			if booked := max(end, e.tracks[i].free); got.Busy > booked {
				t.Errorf("seed %d: link %d was busy for %v of %v", seed, i/2, got.Busy, booked)
			}
		}
	}
}

// busy is an engine with transfers of several cards to call in turn.
func busy(t testing.TB) (e *Engine, read, written *Chain, copied *Chain) {
	tree, err := server.Preset("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	tree.IOMMU = true
	e = New(tree)
	gpu, nic := tree.GPUs()[0], tree.NICs()[0]
	get := func(from, to int) *Chain {
		c, err := e.Chain(from, to)
		if err != nil {
			t.Fatal(err)
		}
		return &c
	}
	return e, get(gpu, nic), get(nic, gpu), get(gpu, tree.DRAMOf(gpu))
}

// Transfers allocate nothing.
func TestNoAllocation(t *testing.T) {
	e, read, written, copied := busy(t)
	now := units.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += 100 * ns
		e.Read(now, read, 4096)
		e.Write(now, written, 4096)
		e.Copy(now, copied, 65536)
	}); n > 0 {
		t.Errorf("%v allocations per transfer", n)
	}
}

func BenchmarkRead(b *testing.B) {
	e, read, _, _ := busy(b)
	now := units.Time(0)
	for b.Loop() {
		now += 90 * ns
		e.Read(now, read, 4096)
	}
}

func BenchmarkWrite(b *testing.B) {
	e, _, written, _ := busy(b)
	now := units.Time(0)
	for b.Loop() {
		now += 90 * ns
		e.Write(now, written, 4096)
	}
}

// The default sizes of links are those that costs are made for.
func TestUnitOfWrites(t *testing.T) {
	for gen := 1; gen <= 6; gen++ {
		if c := server.DefaultCosts(gen); c.PostedCredits < longestWrite || pcie.DefaultMPS > longestWrite {
			t.Errorf("generation %d: credits of %v, writes of %v", gen, c.PostedCredits, longestWrite)
		}
	}
}
