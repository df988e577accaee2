package collective

import (
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// A broadcast's ring takes as many steps as it has ranks (ncclTopoGetAlgoTime's nsteps in
// src/graph/tuning.cc: 2(n-1) of AllReduce, n-1 of ReduceScatter and AllGather, else n):
// over 8 GPUs of one server 8.4 us and eight hops over NVLink of 3.4 us with Simple.
func TestBroadcastSteps(t *testing.T) {
	s := Spec{Op: Broadcast, Ranks: ranksOf(1, 8), Speeds: Speeds{Intra: 370, NVLink: true, Generation: Hopper}, GPU: GPUCosts(GPU{})}
	if got, want := s.Latency(Ring, Simple), 8.4+8*3.4; math.Abs(got-want) > 1e-9 {
		t.Errorf("broadcast over 8 GPUs: %.3f us, want %.3f", got, want)
	}
	s.Op = AllGather
	if got, want := s.Latency(Ring, Simple), 8.4+7*3.4; math.Abs(got-want) > 1e-9 {
		t.Errorf("AllGather over 8 GPUs: %.3f us, want %.3f", got, want)
	}
	// As each byte passes every step once, bandwidth is that of the channels: 12 of 30 GB/s.
	s.Op = Broadcast
	if got, want := s.Bandwidth(Ring, Simple), 360.0; math.Abs(got-want) > 1e-9 {
		t.Errorf("broadcast: %.3f GB/s, want %.3f", got, want)
	}
}

// The table of what trees lack ends with 256 MB, 2^22 times 64 B: Simple has nine tenths
// there, all of it from the next on (treeCorrectionFactor in src/graph/tuning.cc).
func TestTreeCorrectionEnds(t *testing.T) {
	for log, want := range map[int]float64{20: .8, 21: .9, 22: .9, 23: 1, 40: 1} {
		if got := treeCorrection(Simple, log); got != want {
			t.Errorf("at 2^%d times 64 B Simple has %v, want %v", log, got, want)
		}
	}
	s := Spec{Op: AllReduce, Ranks: ranksOf(4, 8), Speeds: Speeds{Inter: 384, Intra: 370, NVLink: true, Generation: Hopper}, Bytes: 128 * units.MiB, GPU: GPUCosts(GPU{})}
	want := s.Latency(Tree, Simple) + float64(s.Bytes)/(1000*.9*s.Bandwidth(Tree, Simple))
	if got := s.Estimate(Tree, Simple); math.Abs(got-want) > 1e-6 {
		t.Errorf("128 MiB over trees: %.3f us, want %.3f", got, want)
	}
}

// Between servers a ring of 64 B and more for each rank and channel takes 1.4 times its latency
// ("plateau effect of ring"), 1.9 times before Ampere; in one server, or for
// little, none.
func TestRingPlateau(t *testing.T) {
	for _, c := range []struct {
		hosts      int
		bytes      units.Bytes
		generation Generation
		version    int
		factor     float64
	}{{4, 64 * units.MiB, Hopper, 226, 1.4}, {4, 32768, Hopper, 226, 1.4}, {4, 32764, Hopper, 226, 1}, {1, 64 * units.MiB, Hopper, 226, 1},
		{4, 64 * units.MiB, Volta, 226, 1.9}, {4, 64 * units.MiB, Hopper, 218, 1.4}} {
		s := Spec{Op: AllReduce, Ranks: ranksOf(c.hosts, 8), Speeds: Speeds{Inter: 384, Intra: 370, NVLink: true, Generation: c.generation}, Bytes: c.bytes, GPU: GPUCosts(GPU{}), Version: c.version}
		data := float64(c.bytes) / (1000 * s.Bandwidth(Ring, Simple))
		if got, want := s.Estimate(Ring, Simple)-data, c.factor*s.Latency(Ring, Simple); math.Abs(got-want) > 1e-6 {
			t.Errorf("%v over %d hosts: %.3f us beside the data, want %.3f", c.bytes, c.hosts, got, want)
		}
	}
}

// Over the network a step of a point-to-point transfer carries a quarter of a slot below
// one slot, half of one below eight, and else a whole (addP2pToPlan in src/enqueue.cc).
func TestPeerChunks(t *testing.T) {
	const step = 128 * units.KiB
	p := peers{network: true, step: step}
	for _, c := range []struct{ bytes, want units.Bytes }{
		{step - 1, step / 4}, {step, step / 2}, {8*step - 1, step / 2}, {8 * step, step}, {9 * step, step},
	} {
		if got := p.chunk(c.bytes); got != c.want {
			t.Errorf("%v go in steps of %v, want %v", c.bytes, got, c.want)
		}
	}
	p.network = false
	if got := p.chunk(1); got != step {
		t.Errorf("inside a server in steps of %v, want %v", got, step)
	}
}

// Of the GPUs that share a card the nearest to it is the host's head there, of equally near
// ones the first.
func TestHeads(t *testing.T) {
	ranks := make([]Rank, 6)
	for i, distance := range []int{2, 1, 1, 3, 3, 4} {
		ranks[i] = Rank{Endpoint: i / 3, Device: int16(i), Distance: distance}
	}
	b := &builder{Spec: &Spec{Ranks: ranks}}
	if got := b.heads([]int{0, 1, 2, 3, 4, 5}); len(got) != 2 || got[0] != 1 || got[1] != 3 {
		t.Errorf("heads %v, want [1 3]", got)
	}
}
