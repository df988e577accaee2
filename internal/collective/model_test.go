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
	s := Spec{Op: Broadcast, Ranks: ranksOf(1, 8), Speeds: Speeds{Intra: 370, NVLink: true}}
	if got, want := s.Latency(Ring, Simple), 8.4+8*3.4; math.Abs(got-want) > 1e-9 {
		t.Errorf("broadcast over 8 GPUs: %.3f us, want %.3f", got, want)
	}
	s.Op = AllGather
	if got, want := s.Latency(Ring, Simple), 8.4+7*3.4; math.Abs(got-want) > 1e-9 {
		t.Errorf("AllGather over 8 GPUs: %.3f us, want %.3f", got, want)
	}
	// As each byte passes every step once, bandwidth is that of the links.
	s.Op = Broadcast
	if got, want := s.Bandwidth(Ring, Simple, 24), 370.0; math.Abs(got-want) > 1e-9 {
		t.Errorf("broadcast: %.3f GB/s, want %.3f", got, want)
	}
}

// The table of what trees lack ends with 128 MB, 2^21 times 64 B: Simple has nine tenths
// there, all of it from 256 MB on (treeCorrectionFactor in src/graph/tuning.cc).
func TestTreeCorrectionEnds(t *testing.T) {
	for log, want := range map[int]float64{20: .8, 21: .9, 22: 1, 40: 1} {
		if got := treeCorrection(protocolIndex(Simple), log); got != want {
			t.Errorf("at 2^%d times 64 B Simple has %v, want %v", log, got, want)
		}
	}
	s := Spec{Op: AllReduce, Ranks: ranksOf(4, 8), Speeds: Speeds{Inter: 384, Intra: 370, NVLink: true, Hopper: true}, Bytes: 128 * units.MiB}
	want := s.Latency(Tree, Simple) + float64(s.Bytes)/(1000*.9*s.Bandwidth(Tree, Simple, 16))
	if got := s.Estimate(Tree, Simple, 16); math.Abs(got-want) > 1e-6 {
		t.Errorf("128 MiB over trees: %.3f us, want %.3f", got, want)
	}
}

// Between servers a ring of much data takes 1.9 times its latency, as NCCL's model had it
// before it told GPUs apart ("plateau effect of ring"); in one server, or for little, none.
func TestRingPlateau(t *testing.T) {
	for _, c := range []struct {
		hosts  int
		bytes  units.Bytes
		factor float64
	}{{4, 64 * units.MiB, 1.9}, {4, 131072, 1.9}, {4, 131068, 1}, {1, 64 * units.MiB, 1}} {
		s := Spec{Op: AllReduce, Ranks: ranksOf(c.hosts, 8), Speeds: Speeds{Inter: 384, Intra: 370, NVLink: true, Hopper: true}, Bytes: c.bytes}
		data := float64(c.bytes) / (1000 * s.Bandwidth(Ring, Simple, 16))
		if got, want := s.Estimate(Ring, Simple, 16)-data, c.factor*s.Latency(Ring, Simple); math.Abs(got-want) > 1e-6 {
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
