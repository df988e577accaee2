package mmu

import (
	"math/rand/v2"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// TestCrowd holds that what a Crowd says of the ports of all images, of which one set runs, is what the memory
// says where all of them do, block by block and in each block image by image.
func TestCrowd(t *testing.T) {
	const images, blocks, class = 5, 2, 3
	const perBlock = 2 // ports of a block that run
	port := func(block, image, k int) int { return (block*images+image)*perBlock + k }
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := box(blocks*images*perBlock, 1, 208, 2<<20, 0, GroupProfile{Lossless: true, Reserved: 1000 * units.Bytes(r.IntN(3)),
			Limit: Threshold{Num: 1 + int64(r.IntN(8)), Den: 8}, Headroom: 1 << 20, XONOffset: -1}, QueueProfile{})
		all, some := open(t, p), open(t, p)
		crowd := NewCrowd(some, images)
		held := make([][]int32, blocks*perBlock) // frames that a port that runs holds
		for now := range units.Time(200) {
			for block := range blocks {
				type step struct {
					k      int
					cells  int32
					enters bool
				}
				var steps []step
				for range r.IntN(4) {
					s := step{k: r.IntN(perBlock), cells: 1 + r.Int32N(20), enters: true}
					if h := &held[block*perBlock+s.k]; len(*h) > r.IntN(8) {
						s.cells, s.enters, *h = (*h)[0], false, (*h)[1:]
					} else {
						*h = append(*h, s.cells)
					}
					steps = append(steps, s)
				}
				do := func(m *Memory, image int, s step) {
					g := m.Group(port(block, image, s.k), class)
					if s.enters {
						if v, due := m.Admit(g, m.Queue(g, 0), s.cells); v != Admitted || due {
							t.Fatal("the test fills the memory")
						}
						m.Note(now, g)
						return
					}
					m.Release(g, m.Queue(g, 0), s.cells)
				}
				for image := range images {
					for _, s := range steps {
						do(all, image, s)
					}
				}
				for _, s := range steps {
					crowd.Begin(now, 0, block)
					g := some.Group(port(block, 0, s.k), class)
					before := crowd.Pool(g)
					do(some, 0, s)
					if s.enters {
						crowd.Admitted(g, before)
					} else {
						crowd.Released(g, before)
					}
				}
			}
		}
		if crowd.Settle(); crowd.Crossed() {
			t.Fatal("an image came to its threshold")
		}
		for block := range blocks {
			for k := range perBlock {
				for image := range images {
					use, threshold, at, ok := all.NearestXOFF(all.Group(port(block, image, k), class))
					use2, threshold2, at2, ok2 := crowd.NearestXOFF(some.Group(port(block, 0, k), class), image)
					if use != use2 || threshold != threshold2 || at != at2 || ok != ok2 {
						t.Errorf("seed %d, block %d, port %d, image %d: %d of %d at %d (%v), with all %d of %d at %d (%v)", seed, block, k,
							image, use2, threshold2, at2, ok2, use, threshold, at, ok)
					}
				}
			}
		}
	}
}

// A crowd says so when an image comes to its threshold though the set that runs does not.
func TestCrowdCrosses(t *testing.T) {
	m := open(t, box(8, 1, 1, 1000, 0, GroupProfile{Lossless: true, Limit: Threshold{Num: 1, Den: 1}, Headroom: 100}, QueueProfile{}))
	c := NewCrowd(m, 8)
	g := m.Group(0, 3)
	for now, want := range []bool{false, true} { // 8 x 60 of 1000 leave 520, 8 x 120 leave 40
		c.Begin(units.Time(now), 0, 0)
		before := c.Pool(g)
		if v, due := m.Admit(g, m.Queue(g, 0), 60); v != Admitted || due {
			t.Fatal("the set that runs came to its threshold")
		}
		c.Admitted(g, before)
		if c.Settle(); c.Crossed() != want {
			t.Errorf("after %d frames: %v", now+1, c.Crossed())
		}
	}
}
