package server

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/pcie"
	"github.com/hopscope/hopscope/internal/units"
)

// presets returns every preset, as wired and with ACS.
func presets(t *testing.T) []*Tree {
	t.Helper()
	var out []*Tree
	for _, name := range Presets() {
		for _, acs := range []bool{false, true} {
			tree, err := Preset(name)
			if err != nil {
				t.Fatal(err)
			}
			tree.ACS = acs
			out = append(out, tree)
		}
	}
	return out
}

// TestPathsArePaths: hops follow each other, lead from end to end, pass no device and
// no link direction twice (but for the way back down after ACS), and are the same
// backwards.
func TestPathsArePaths(t *testing.T) {
	for _, tree := range presets(t) {
		for a := range tree.Devices {
			for b := range tree.Devices {
				if a == b || tree.Devices[a].Kind == NVSwitch || tree.Devices[b].Kind == NVSwitch {
					continue
				}
				there, err := tree.Path(a, b)
				if err != nil {
					t.Fatalf("%s: %v", tree.Name, err)
				}
				checkWalk(t, tree, a, b, there)
				back, err := tree.Path(b, a)
				if err != nil || len(back) != len(there) {
					t.Fatalf("%s: %d to %d: back %v %v", tree.Name, a, b, back, err)
				}
				for i, h := range back {
					if mirror := there[len(there)-1-i]; h.Link != mirror.Link || h.Forward == mirror.Forward {
						t.Errorf("%s: %d to %d: %v is not the reverse of %v", tree.Name, a, b, back, there)
						break
					}
				}
			}
		}
	}
}

func checkWalk(t *testing.T, tree *Tree, a, b int, path []Hop) {
	t.Helper()
	at, links, places := a, map[Hop]bool{}, map[int]int{}
	for _, h := range path {
		if tree.Start(h) != at || links[h] {
			t.Fatalf("%s: %d to %d: %v is no path", tree.Name, a, b, path)
		}
		at, links[h] = tree.End(h), true
		if tree.Links[h.Link].Kind != HBM {
			places[at]++
		}
	}
	if at != b {
		t.Fatalf("%s: %d to %d ends at %d", tree.Name, a, b, at)
	}
	for d, n := range places {
		if n > 1 && (!tree.ACS || tree.Devices[d].Kind != Switch) {
			t.Errorf("%s: %d to %d passes %s %d times", tree.Name, a, b, tree.Devices[d].Name, n)
		}
	}
}

// TestClassesAreSymmetric, and what NVLink joins has a way over it.
func TestClassesAreSymmetric(t *testing.T) {
	for _, tree := range presets(t) {
		for a := range tree.Devices {
			for b := range tree.Devices {
				if tree.Class(a, b) != tree.Class(b, a) || (tree.Class(a, b) == SelfX) != (a == b) {
					t.Errorf("%s: %s and %s: %v, %v", tree.Name, tree.Devices[a].Name, tree.Devices[b].Name, tree.Class(a, b), tree.Class(b, a))
				}
			}
		}
		for _, a := range tree.GPUs() {
			for _, b := range tree.GPUs() {
				path, ok := tree.NVPath(a, b)
				if ok != (a != b) {
					t.Fatalf("%s: NVLink from %d to %d: %v", tree.Name, a, b, ok)
				}
				if ok {
					checkWalk(t, tree, a, b, path)
				}
			}
		}
	}
}

// matrix returns the classes of GPUs and cards, a row per GPU.
func matrix(tree *Tree) string {
	var rows []string
	for _, g := range tree.GPUs() {
		var row []string
		for _, n := range tree.NICs() {
			row = append(row, tree.Class(g, n).String())
		}
		rows = append(rows, strings.Join(row, " "))
	}
	return strings.Join(rows, "\n")
}

// TestPublishedClasses compares with what nvidia-smi topo -m shows on such systems:
// NVIDIA/nccl#1453 (HGX H100) and NVIDIA/DCGM#149 (DGX A100, whose PXB is PIX here
// because the bridges inside a PEX88096 count as one switch).
func TestPublishedClasses(t *testing.T) {
	for name, want := range map[string]string{
		"hgx-h100": `PIX NODE NODE NODE SYS SYS SYS SYS
NODE PIX NODE NODE SYS SYS SYS SYS
NODE NODE PIX NODE SYS SYS SYS SYS
NODE NODE NODE PIX SYS SYS SYS SYS
SYS SYS SYS SYS PIX NODE NODE NODE
SYS SYS SYS SYS NODE PIX NODE NODE
SYS SYS SYS SYS NODE NODE PIX NODE
SYS SYS SYS SYS NODE NODE NODE PIX`,
		"dgx-a100": `PIX PIX SYS SYS SYS SYS SYS SYS
PIX PIX SYS SYS SYS SYS SYS SYS
SYS SYS PIX PIX SYS SYS SYS SYS
SYS SYS PIX PIX SYS SYS SYS SYS
SYS SYS SYS SYS PIX PIX SYS SYS
SYS SYS SYS SYS PIX PIX SYS SYS
SYS SYS SYS SYS SYS SYS PIX PIX
SYS SYS SYS SYS SYS SYS PIX PIX`,
	} {
		tree, _ := Preset(name)
		if got := matrix(tree); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestNearestCard: on the eight-GPU systems card i belongs to GPU i, also where two
// cards are equally near (NCCL spreads them).
func TestNearestCard(t *testing.T) {
	for _, tree := range presets(t) {
		nics, used := tree.NICs(), map[int]bool{}
		for i, g := range tree.GPUs() {
			net, class := tree.NetFor(g, len(tree.Nets))
			nic := tree.Nets[net].Card
			if nic != nics[i] {
				t.Errorf("%s: gpu%d uses %s (%v), want nic%d", tree.Name, i, tree.Devices[nic].Name, class, i)
			}
			used[nic] = true
		}
		if len(used) != len(tree.GPUs()) {
			t.Errorf("%s: %d GPUs use %d cards", tree.Name, len(tree.GPUs()), len(used))
		}
	}
	for _, c := range []struct{ gpu, n, want int }{{0, 4, 0}, {1, 4, 2}, {2, 4, 1}, {3, 4, 3}, {5, 3, 2}, {7, 1, 0}} {
		if got := spread(c.gpu, c.n); got != c.want {
			t.Errorf("GPU %d of %d cards: %d, want %d (NCCL mirrorBits)", c.gpu, c.n, got, c.want)
		}
	}
}

// TestRemoteRead: the parts add up to the 547 ns median of a 64 B DMA read that
// Neugebauer et al. (SIGCOMM 2018, figure 5) measured from a card on a generation 3 x8
// link of a Xeon E5, and 100 ns more from the memory of the other socket.
func TestRemoteRead(t *testing.T) {
	tree, _ := Preset("two-socket")
	nic := tree.NICs()[0]
	for i := range tree.Links {
		if tree.Links[i].B == nic {
			tree.Links[i].PCIe = pcie.New(3, 8)
		}
	}
	read := func(dram int) units.Time {
		path, err := tree.Path(dram, nic)
		if err != nil {
			t.Fatal(err)
		}
		total := tree.Costs.DRAMRead
		for _, h := range path {
			l := &tree.Links[h.Link]
			total += 2 * l.Latency
			if l.Kind == PCIe {
				total += l.PCIe.Raw().TxTime(l.PCIe.ReadRequestBytes(64)) + l.PCIe.Raw().TxTime(l.PCIe.CompletionBytes(64))
			}
		}
		return total
	}
	local, remote := read(tree.Find("dram0")), read(tree.Find("dram1"))
	if local < 545*units.Nanosecond || local > 549*units.Nanosecond {
		t.Errorf("64 B read takes %v, measured 547 ns", local)
	}
	if remote-local != 100*units.Nanosecond {
		t.Errorf("remote memory costs %v more, measured 100 ns", remote-local)
	}
}

func TestUnknownPreset(t *testing.T) {
	if _, err := Preset("dgx-z9"); err == nil || !strings.Contains(err.Error(), `"dgx-z9"`) || !strings.Contains(err.Error(), "dgx-h100") {
		t.Errorf("%v", err)
	}
}

// TestUnjoined: errors for what nothing joins.
func TestUnjoined(t *testing.T) {
	tree, _ := Preset("dgx-h100")
	nv := tree.Find("nvswitch0")
	if _, err := tree.Path(nv, tree.NICs()[0]); err == nil || !strings.Contains(err.Error(), "no root complex") {
		t.Errorf("%v", err)
	}
	var links []Link
	for _, l := range tree.Links {
		if l.Kind != Interconnect {
			links = append(links, l)
		}
	}
	tree.Links = links
	gpus := tree.GPUs()
	if _, err := tree.Path(gpus[0], gpus[7]); err == nil || !strings.Contains(err.Error(), "nothing joins") {
		t.Errorf("%v", err)
	}
}

// TestNotes: every preset lists sources, and each key once.
func TestNotes(t *testing.T) {
	for _, tree := range presets(t) {
		seen := map[string]bool{}
		for _, n := range tree.Notes {
			if n.Source == "" || n.Value == "" || seen[n.Key] {
				t.Errorf("%s: note %+v", tree.Name, n)
			}
			seen[n.Key] = true
		}
	}
}

// TestCosts: every cost has a note and can be changed by the name that the note has.
func TestCosts(t *testing.T) {
	for _, tree := range presets(t) {
		if err := tree.Check(); err != nil {
			t.Errorf("%s: %v", tree.Name, err)
		}
	}
	c := DefaultCosts(5)
	notes, fields := c.Notes(""), c.Fields()
	if len(notes) != len(fields) {
		t.Errorf("%d notes of %d costs", len(notes), len(fields))
	}
	for i := range min(len(notes), len(fields)) {
		if notes[i].Key != fields[i].Key {
			t.Errorf("note %s beside cost %s", notes[i].Key, fields[i].Key)
		}
	}
}

// TestCheck: trees that are none.
func TestCheck(t *testing.T) {
	for want, spoil := range map[string]func(*Tree){
		"generation 9":           func(tree *Tree) { tree.Links[tree.parent(tree.Find("nic0"))].PCIe.Gen = 9 },
		"nic0 hangs off no root": func(tree *Tree) { tree.Links[tree.parent(tree.Find("nic0"))].B = tree.Find("nic1") },
		"gpu0 has no memory": func(tree *Tree) {
			h := tree.hbm(tree.Find("gpu0"))
			tree.Links = append(tree.Links[:h], tree.Links[h+1:]...)
		},
		"less than any link":      func(tree *Tree) { tree.Links[tree.parent(tree.Find("dram0"))].Rate = 0 },
		"read_tags is out of":     func(tree *Tree) { tree.Costs.ReadTags = 0 },
		"links towards a root":    func(tree *Tree) { tree.Links = append(tree.Links, tree.Links[tree.parent(tree.Find("gpu0"))]) },
		"a latency of 2s":         func(tree *Tree) { tree.Links[0].Latency = 2 * units.Second },
		"joins devices 99":        func(tree *Tree) { tree.Links[0].A = 99 },
		"posted_credits is out o": func(tree *Tree) { tree.Costs.PostedCredits = 64 },
	} {
		tree := preset(t, "dgx-h100")
		spoil(tree)
		if err := tree.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
