package dma

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
)

// A card at full load both ways, which asks memory for twice what its tags bring as the
// transmit side of internal/nic does, gets what the links of its way allow both ways
// (server.Predict), whatever its link, its TLPs and its tags: no time of a link is lost,
// however far ahead reads are booked.
func TestBothWaysAtFullLoad(t *testing.T) {
	for _, name := range server.Presets() {
		for _, width := range []int{4, 8, 16} {
			for _, mps := range []units.Bytes{128, 256, 512} {
				for _, mrrs := range []units.Bytes{512, 4096} {
					for _, tags := range []int{32, 256, 512} {
						tree, err := server.Preset(name)
						if err != nil {
							t.Fatal(err)
						}
						bothWays(t, tree, width, mps, mrrs, tags)
					}
				}
			}
		}
	}
}

// bothWays is one case of TestBothWaysAtFullLoad.
func bothWays(t *testing.T, tree *server.Tree, width int, mps, mrrs units.Bytes, tags int) {
	t.Helper()
	nic := tree.NICs()[0]
	memory := tree.DRAMOf(nic)
	if g := tree.GPUs(); len(g) > 0 {
		memory = g[0]
	}
	tree.Costs.ReadTags = tags
	for i := range tree.Links {
		if l := &tree.Links[i]; l.Kind == server.PCIe {
			if l.PCIe.MPS, l.PCIe.MRRS = mps, mrrs; l.B == nic {
				l.PCIe.Width = width
			}
		}
	}
	want, err := tree.Predict(memory, nic)
	if err != nil {
		t.Fatal(err)
	}
	e := New(tree)
	const n = 4096
	read := &pump{c: chain(t, e, memory, nic), n: n, read: true, depth: max(1, 2*tags*int(mrrs)/n)}
	write := &pump{c: chain(t, e, nic, memory), n: n}
	const from, to = 200 * units.Microsecond, 600 * units.Microsecond
	got := rates(e, from, to, read, write)
	what := fmt.Sprintf("%s x%d, MPS %d, MRRS %d, %d tags", tree.Name, width, mps, mrrs, tags)
	for i, way := range []string{"read", "written"} {
		if share := got[i] / gbps(want.Duplex); share < 0.97 {
			t.Errorf("%s: %.1f Gb/s %s of %.1f both ways (%.1f, %.1f)", what, got[i], way, gbps(want.Duplex), got[0], got[1])
		}
	}
	for i := range e.tracks {
		if c := &e.tracks[i].carried; float64(c.Busy) > float64(max(to, e.tracks[i].free)) {
			t.Errorf("%s: link %d worked for %v of %v", what, i/2, c.Busy, e.tracks[i].free)
		}
	}
}

// What copies that begin later ask for over a link costs the card nothing before they do.
func TestCopiesBookedAhead(t *testing.T) {
	rate := func(copies bool) float64 {
		r, nic, gpu, dram, _ := below(4, 1, 1)
		e := New(r.t)
		read := &pump{c: chain(t, e, dram, nic[0]), n: 4096, read: true, depth: 64}
		write := &pump{c: chain(t, e, nic[0], dram), n: 4096}
		in := chain(t, e, dram, gpu[0])
		const end = 200 * units.Microsecond
		for now := units.Time(0); now < end; {
			now = step(e, []*pump{read, write})
			if copies {
				e.Copy(now+300*units.Microsecond, in, 64)
			}
		}
		return float64(write.moved) * 8000 / float64(end)
	}
	if with, without := rate(true), rate(false); with < 0.998*without {
		t.Errorf("%.1f Gb/s are written while copies are booked ahead, %.1f without", with, without)
	}
}
