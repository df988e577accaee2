package server

import (
	"fmt"
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/pcie"
	"github.com/hopscope/hopscope/internal/units"
)

func predict(t *testing.T, tree *Tree, memory, nic string) Prediction {
	t.Helper()
	p, err := tree.Predict(tree.Find(memory), tree.Find(nic))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func preset(t *testing.T, name string) *Tree {
	t.Helper()
	tree, err := Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func gbps(r units.Rate) float64 { return float64(r) / 1e9 }

func near(t *testing.T, what string, got, want, permille float64) {
	t.Helper()
	if math.Abs(got/want-1) > permille/1000 {
		t.Errorf("%s: %.5g, want %.5g", what, got, want)
	}
}

// TestPredictDirect: a GPU and a card below one switch get the goodput of the link
// (models.md 7.1), and a latency that is the sum of its parts.
func TestPredictDirect(t *testing.T) {
	tree := preset(t, "dgx-h100")
	p := predict(t, tree, "gpu0", "nic0")
	l := pcie.New(5, 16)
	near(t, "writes", gbps(p.Write.Rate), gbps(l.WriteRate()), 0.1)
	near(t, "reads", gbps(p.Read.Rate), gbps(l.ReadRate()), 0.1)
	if tree.Links[p.Read.Limit].Kind != PCIe || tree.Links[p.Write.Limit].Kind != PCIe {
		t.Errorf("limits %d and %d are no PCIe links", p.Read.Limit, p.Write.Limit)
	}
	on := func(n units.Bytes) units.Time { return l.Raw().TxTime(n) }
	hbm := tree.Devices[tree.Find("gpu0")].Memory.TxTime(64)
	// Two links of 70 ns and a switch of 105 ns, each way.
	way := 2*portLatency + switchLatency
	if want := way + 2*on(l.WriteBytes(64)) + hbm; p.Write.Latency != want {
		t.Errorf("a write takes %v, its parts %v", p.Write.Latency, want)
	}
	if want := 2*way + 2*on(l.ReadRequestBytes(64)) + 2*on(l.CompletionBytes(64)) + hbm + tree.Costs.HBMRead; p.Read.Latency != want {
		t.Errorf("a read takes %v, its parts %v", p.Read.Latency, want)
	}
}

// TestPredictACS: with ACS redirection both directions pass the uplink of the switch
// both ways, which halves what it carries: 50 to 56 % of direct (models.md F26;
// NVIDIA/nccl#949 went from 56 to 96 % with ACS off).
func TestPredictACS(t *testing.T) {
	tree := preset(t, "dgx-a100")
	direct := predict(t, tree, "gpu0", "nic0")
	tree.ACS = true
	turned := predict(t, tree, "gpu0", "nic0")
	if len(turned.Path) != len(direct.Path)+2 {
		t.Fatalf("ACS: %d hops, direct %d", len(turned.Path), len(direct.Path))
	}
	share := float64(turned.Duplex) / float64(direct.Duplex)
	if share < 0.50 || share > 0.56 {
		t.Errorf("ACS leaves %.3f of %.1f Gb/s, published 0.50 to 0.56", share, gbps(direct.Duplex))
	}
	if up := tree.Links[turned.DuplexLimit]; tree.Devices[up.A].Kind != Root || tree.Devices[up.B].Kind != Switch {
		t.Errorf("the limit is %+v, want the switch's uplink", up)
	}
	if turned.Write.Latency <= direct.Write.Latency {
		t.Error("the way over the root complex is not longer")
	}
}

// TestPredictTags: 32 requests of 512 B outstanding in 1 us are 131 Gb/s (models.md
// F25).
func TestPredictTags(t *testing.T) {
	tree := preset(t, "two-socket")
	tree.Costs.ReadTags = 32
	p := predict(t, tree, "dram0", "nic0")
	tree.Costs.DRAMRead += units.Microsecond - tree.readLatency(p.Path, 512)
	p = predict(t, tree, "dram0", "nic0")
	near(t, "reads", gbps(p.Read.Rate), 131.07, 0.1)
	if p.Read.Limit != -1 {
		t.Errorf("the limit is link %d, want tags", p.Read.Limit)
	}
}

// TestPredictSockets: across sockets the interconnect limits, and an Intel root complex
// cuts what it passes between devices.
func TestPredictSockets(t *testing.T) {
	tree := preset(t, "dgx-h100")
	far := predict(t, tree, "gpu0", "nic7")
	near(t, "reads across sockets", gbps(far.Read.Rate), 176, 0.1)
	if tree.Links[far.Read.Limit].Kind != Interconnect {
		t.Errorf("the limit is %v", tree.Links[far.Read.Limit].Kind)
	}
	node := predict(t, tree, "gpu0", "nic1")
	cut := pcie.New(5, 16)
	cut.Cut = 64
	near(t, "writes through a root complex", gbps(node.Write.Rate), gbps(cut.WriteRate()), 0.2)
	credits := predict(t, tree, "dram0", "nic0")
	near(t, "writes to DRAM", gbps(credits.Write.Rate), gbps(pcie.New(5, 16).WriteRate()), 0.2)
}

// TestHalvedParts: the latency of a read moves by exactly what a part is halved by, and
// a rate by half where that link is the limit.
func TestHalvedParts(t *testing.T) {
	before := predict(t, preset(t, "dgx-h100"), "gpu0", "nic0")
	for _, c := range []struct {
		what  string
		halve func(*Tree) units.Time // returns what that saves a read
	}{
		{"HBM read", func(tree *Tree) units.Time {
			tree.Costs.HBMRead /= 2
			return 165 * units.Nanosecond
		}},
		{"link of the card", func(tree *Tree) units.Time {
			l := &tree.Links[before.Path[len(before.Path)-1].Link]
			saved := l.Latency - l.Latency/2
			l.Latency /= 2
			return 2 * saved
		}},
		{"DRAM read", func(tree *Tree) units.Time { // not on the way
			tree.Costs.DRAMRead /= 2
			return 0
		}},
	} {
		tree := preset(t, "dgx-h100")
		saved := c.halve(tree)
		if got := before.Read.Latency - predict(t, tree, "gpu0", "nic0").Read.Latency; got != saved {
			t.Errorf("%s halved: a read is %v shorter, want %v", c.what, got, saved)
		}
	}
	tree := preset(t, "dgx-h100")
	tree.Links[before.Path[len(before.Path)-1].Link].PCIe.Width = 8
	after := predict(t, tree, "gpu0", "nic0")
	near(t, "a x8 card", gbps(after.Write.Rate)/gbps(before.Write.Rate), gbps(pcie.New(5, 8).WriteRate())/gbps(pcie.New(5, 16).WriteRate()), 1)
	if after.Write.Limit != before.Path[len(before.Path)-1].Link {
		t.Errorf("a x8 card is not the limit: %d", after.Write.Limit)
	}
}

// TestPredictAll: every memory and card of every preset has a prediction within what
// its links carry.
func TestPredictAll(t *testing.T) {
	for _, tree := range presets(t) {
		for _, n := range tree.NICs() {
			for m := range tree.Devices {
				if k := tree.Devices[m].Kind; k != GPU && k != DRAM {
					continue
				}
				p, err := tree.Predict(m, n)
				if err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprint(tree.Name, " ", tree.Devices[m].Name, " ", tree.Devices[n].Name)
				if p.Duplex > min(p.Read.Rate, p.Write.Rate) || p.Read.Rate <= 0 || p.Write.Latency <= 0 || p.Read.Latency <= 2*p.Write.Latency-200*units.Nanosecond {
					t.Errorf("%s: %+v", name, p)
				}
			}
		}
	}
}

// TestSharesAddUp: what the hops contribute is the whole latency, on every way between a
// memory and a card.
func TestSharesAddUp(t *testing.T) {
	for _, tree := range presets(t) {
		for m := range tree.Devices {
			if k := tree.Devices[m].Kind; k != GPU && k != DRAM {
				continue
			}
			for _, n := range tree.NICs() {
				p, err := tree.Predict(m, n)
				if err != nil {
					t.Fatal(err)
				}
				memory, hops := tree.Shares(p.Path)
				read, write := memory.Read, memory.Write
				for _, s := range hops {
					read, write = read+s.Read, write+s.Write
				}
				if read != p.Read.Latency || write != p.Write.Latency {
					t.Errorf("%s: %d to %d: shares add up to %v and %v, not %v and %v", tree.Name, m, n, read, write, p.Read.Latency, p.Write.Latency)
				}
			}
		}
	}
}
