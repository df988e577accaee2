package pcie

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

func gbps(r units.Rate) string { return fmt.Sprintf("%.2f", float64(r)/1e9) }

// TestPublishedRates: models.md F25. A generation 3 x8 link with an MPS of 256 B leaves
// 57.88 of 63.0 Gb/s to TLPs (Neugebauer et al., SIGCOMM 2018, section 3). The x16
// goodputs come from pcie-model with its tables; models.md 7.1 quotes them.
func TestPublishedRates(t *testing.T) {
	l := New(3, 8)
	if got := gbps(l.Raw()) + " " + gbps(l.TLPRate()); got != "63.02 57.88" {
		t.Errorf("gen3 x8: raw and TLP %s Gb/s, published 63.0 and 57.88", got)
	}
	for _, c := range []struct {
		gen, mps    int
		write, read float64 // Gb/s; 0: not quoted
	}{
		{3, 256, 103.9, 105.5}, {4, 256, 207.9, 210.9}, {5, 256, 415.8, 421.8},
		{4, 512, 219, 0}, {5, 512, 438, 0},
	} {
		l := New(c.gen, 16)
		l.MPS = units.Bytes(c.mps)
		if got := float64(l.WriteRate()) / 1e9; math.Abs(got-c.write) > 0.5 && c.mps == 512 || math.Abs(got-c.write) > 0.06 && c.mps == 256 {
			t.Errorf("gen%d x16 MPS %d: writes %.2f Gb/s, published %v", c.gen, c.mps, got, c.write)
		}
		if got := float64(l.ReadRate()) / 1e9; c.read > 0 && math.Abs(got-c.read) > 0.06 {
			t.Errorf("gen%d x16 MPS %d: completions %.2f Gb/s, published %v", c.gen, c.mps, got, c.read)
		}
	}
}

// TestWithoutLinkLayer: models.md 7.1 gives 115, 230 and 461 Gb/s for x16 writes of
// 256 B when nothing but TLPs is on the link: raw * 256 / 280.
func TestWithoutLinkLayer(t *testing.T) {
	for gen, want := range map[int]string{3: "115", 4: "230", 5: "461"} {
		if got := fmt.Sprintf("%.0f", float64(New(gen, 16).Raw())*256/280/1e9); got != want {
			t.Errorf("gen%d: %s Gb/s, want %s", gen, got, want)
		}
	}
}

// TestAckLimits compares the formula with rows of the specification's tables 3-7 to
// 3-9 (PCIe Base Specification 5.0), as pcie-model lists them.
func TestAckLimits(t *testing.T) {
	tables := map[int]map[int][]int64{ // generation, width: MPS 128 to 4096
		1: {1: {237, 416, 559, 1071, 2095, 4143}, 4: {73, 118, 154, 282, 538, 1050}, 8: {67, 107, 86, 150, 278, 534}, 16: {48, 72, 86, 150, 278, 534}},
		2: {1: {288, 467, 610, 1122, 2146, 4194}, 2: {179, 268, 340, 596, 1108, 2132}, 8: {118, 158, 137, 201, 329, 585}, 16: {99, 123, 137, 201, 329, 585}},
		3: {1: {333, 512, 655, 1167, 2191, 4239}, 4: {169, 214, 250, 378, 634, 1146}, 8: {163, 203, 182, 246, 374, 630}, 16: {144, 168, 182, 246, 374, 630}},
	}
	for gen, widths := range tables {
		for width, row := range widths {
			for i, want := range row {
				l := Link{Gen: gen, Width: width, MPS: 128 << i, MRRS: 512}
				if got := l.ackLimit(); got != want {
					t.Errorf("gen%d x%d MPS %v: limit %d, table %d", gen, width, l.MPS, got, want)
				}
			}
		}
	}
}

// TestBytesAgreeWithRates: what a long transfer takes at the raw rate is its goodput.
func TestBytesAgreeWithRates(t *testing.T) {
	const n = 1 << 20
	for gen := 1; gen <= 6; gen++ {
		for _, width := range []int{1, 2, 4, 8, 12, 16} {
			for _, mps := range []units.Bytes{128, 256, 512, 4096} {
				l := Link{Gen: gen, Width: width, MPS: mps, MRRS: 512}
				if err := l.Check(); err != nil {
					t.Fatal(err)
				}
				for what, got := range map[string][2]float64{
					"writes":      {float64(n) / float64(l.WriteBytes(n)), float64(l.WriteRate()) / float64(l.Raw())},
					"completions": {float64(n) / float64(l.CompletionBytes(n)), float64(l.ReadRate()) / float64(l.Raw())},
				} {
					if math.Abs(got[0]/got[1]-1) > 1e-5 {
						t.Errorf("%v MPS %v: %s %v by bytes, %v by rate", l, mps, what, got[0], got[1])
					}
				}
			}
		}
	}
}

// TestSmallTransfers counts TLPs: a byte costs a header, one more than MPS or MRRS
// costs another (headers of 24, 24 and 20 B: models.md 7.1).
func TestSmallTransfers(t *testing.T) {
	l := New(3, 16)
	num, den := l.share()
	on := func(n int64) units.Bytes { return units.Bytes((n*den + num - 1) / num) }
	for _, c := range []struct {
		what string
		got  units.Bytes
		tlp  int64
	}{
		{"write 1", l.WriteBytes(1), 25}, {"write 256", l.WriteBytes(256), 280}, {"write 257", l.WriteBytes(257), 305},
		{"read 1", l.ReadRequestBytes(1), 24}, {"read 512", l.ReadRequestBytes(512), 24}, {"read 513", l.ReadRequestBytes(513), 48},
		{"completion 64", l.CompletionBytes(64), 84}, {"completion 257", l.CompletionBytes(257), 297},
		{"nothing", l.WriteBytes(0), 0},
	} {
		if c.got != on(c.tlp) {
			t.Errorf("%s: %v, want %v: TLPs of %d B", c.what, c.got, on(c.tlp), c.tlp)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		l    Link
		want string
	}{
		{New(0, 16), "generation 0"}, {New(7, 16), "generation 7"},
		{New(3, 3), "3 lanes"}, {New(3, 32), "32 lanes"}, {New(3, 0), "0 lanes"},
		{Link{Gen: 3, Width: 16, MPS: 100, MRRS: 512}, "payload size of 100B"}, {Link{Gen: 3, Width: 16, MPS: 256, MRRS: 8192}, "request size of 8KiB"},
	} {
		if err := c.l.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.l, err, c.want)
		}
	}
	for hundred, want := range map[int]int{25: 1, 80: 3, 160: 4, 320: 5, 640: 6} {
		if gen, ok := GenOf(hundred); !ok || gen != want {
			t.Errorf("GenOf(%d) = %d %v", hundred, gen, ok)
		}
	}
	if _, ok := GenOf(100); ok {
		t.Error("10 GT/s is no generation")
	}
}

// TestCut: NCCL reckons that what an Intel root complex passes between devices, in TLPs
// of 64 B, takes 6/5 of the bandwidth (INTEL_P2P_OVERHEAD in src/graph/topo.h). Headers
// alone give (64+24)/64 over (256+24)/256 = 1.257 for writes.
func TestCut(t *testing.T) {
	l, cut := New(5, 16), New(5, 16)
	cut.Cut = 64
	if got := float64(l.WriteRate()) / float64(cut.WriteRate()); math.Abs(got-1.2571) > 1e-4 {
		t.Errorf("64 B TLPs take %.4f of the bandwidth, want 88/64 / (280/256) = 1.2571", got)
	}
	if got, want := cut.WriteBytes(256), l.onLink(256+4*24); got != want {
		t.Errorf("256 B in TLPs of 64 B: %v, want %v", got, want)
	}
}
