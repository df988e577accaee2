package collective

import (
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// NCCL's own estimates: the least of all algorithms and protocols, by a second writing of
// ncclTopoTuneModel and ncclTopoGetAlgoTime of 2.26.2 and 2.29.3 in another language, with
// the graphs that NCCL finds in these machines given by hand (microseconds).
func TestEstimates(t *testing.T) {
	type machine struct {
		op           Op
		hosts, gpus  int
		intra, inter float64
		generation   Generation
		amd, own     bool
	}
	machines := map[string]machine{
		"H1":  {AllReduce, 1, 8, 370.8, 400, Hopper, false, false},
		"H1g": {ReduceScatter, 1, 8, 370.8, 400, Hopper, false, false},
		"H2":  {AllReduce, 2, 8, 370.8, 400, Hopper, false, false},
		"H8":  {AllReduce, 8, 8, 370.8, 400, Hopper, false, false},
		"B1":  {AllReduce, 1, 8, 721.8, 400, Blackwell, false, false},
		"B2":  {AllReduce, 2, 8, 721.8, 400, Blackwell, false, false},
		"B2g": {AllGather, 2, 8, 721.8, 400, Blackwell, false, false},
		"A2":  {AllReduce, 2, 8, 240, 200, Ampere, true, false},
		"H2o": {AllReduce, 2, 8, 370.8, 400, Hopper, false, true}, // each GPU with a card of its own
		"H8o": {AllReduce, 8, 8, 370.8, 400, Hopper, false, true},
		"B2o": {AllReduce, 2, 8, 721.8, 400, Blackwell, false, true},
		"B21": {AllGather, 2, 1, 721.8, 50, Blackwell, false, false},
	}
	for _, c := range []struct {
		machine string
		version int
		bytes   units.Bytes
		choice  string
		us      float64
	}{
		{"H1", 226, 1024, "ring ll", 15.0127},
		{"H1", 226, 262144, "ring ll", 18.2536},
		{"H1", 226, 4194304, "nvls simple", 40.7286},
		{"H1", 226, 268435456, "nvls simple", 1031.6330},
		{"H1", 229, 1024, "ring ll", 15.0127},
		{"H1", 229, 262144, "ring ll", 18.2536},
		{"H1", 229, 4194304, "nvls simple", 47.9376},
		{"H1", 229, 268435456, "ring simple", 1360.8946},
		{"H2", 226, 1024, "tree ll", 25.2583},
		{"H2", 226, 262144, "tree ll128", 51.4762},
		{"H2", 226, 4194304, "nvlstree simple", 68.7286},
		{"H2", 226, 268435456, "nvlstree simple", 1059.6330},
		{"H2", 229, 1024, "tree ll", 25.2583},
		{"H2", 229, 262144, "tree ll128", 51.4762},
		{"H2", 229, 4194304, "nvlstree simple", 83.8371},
		{"H2", 229, 268435456, "nvlstree simple", 1157.1737},
		{"H8", 226, 1024, "tree ll", 45.3115},
		{"H8", 226, 262144, "tree ll128", 86.2664},
		{"H8", 226, 4194304, "tree ll128", 127.6972},
		{"H8", 226, 268435456, "nvlstree simple", 1786.7216},
		{"H8", 229, 1024, "tree ll", 45.3115},
		{"H8", 229, 262144, "tree ll128", 86.2664},
		{"H8", 229, 4194304, "tree ll128", 127.6972},
		{"H8", 229, 268435456, "nvlstree simple", 1602.2745},
		{"B1", 226, 1024, "ring ll", 15.0064},
		{"B1", 226, 262144, "ring ll", 16.6268},
		{"B1", 226, 4194304, "nvls simple", 32.8643},
		{"B1", 226, 268435456, "nvls simple", 528.3165},
		{"B1", 229, 1024, "ring ll", 15.0064},
		{"B1", 229, 262144, "ring ll", 16.6268},
		{"B1", 229, 4194304, "nvls simple", 36.4688},
		{"B1", 229, 268435456, "ring simple", 708.4473},
		{"B2", 226, 1024, "tree ll", 25.2583},
		{"B2", 226, 262144, "tree ll128", 51.1383},
		{"B2", 226, 4194304, "nvlstree simple", 66.1072},
		{"B2", 226, 268435456, "nvlstree simple", 891.8608},
		{"B2", 229, 1024, "tree ll", 25.2583},
		{"B2", 229, 262144, "tree ll128", 51.9489},
		{"B2", 229, 4194304, "nvlstree simple", 82.6147},
		{"B2", 229, 268435456, "nvlstree simple", 1078.9390},
		{"B2g", 226, 1024, "ring ll", 23.3246},
		{"B2g", 226, 262144, "ring ll", 29.6015},
		{"B2g", 226, 4194304, "ring ll128", 55.7304},
		{"B2g", 226, 268435456, "ring simple", 725.3600},
		{"B2g", 229, 1024, "ring ll", 23.3246},
		{"B2g", 229, 262144, "ring ll", 29.6015},
		{"B2g", 229, 4194304, "ring ll128", 58.8058},
		{"B2g", 229, 268435456, "ring simple", 725.3600},
		{"A2", 226, 1024, "tree ll", 25.3011},
		{"A2", 226, 262144, "tree ll128", 53.9613},
		{"A2", 226, 4194304, "tree ll128", 114.0360},
		{"A2", 226, 268435456, "ring simple", 2907.6000},
		{"A2", 229, 1024, "tree ll", 25.3011},
		{"A2", 229, 262144, "tree ll128", 53.9613},
		{"A2", 229, 4194304, "tree ll128", 114.0360},
		{"A2", 229, 268435456, "ring simple", 2907.6000},
		{"B21", 226, 1024, "ring ll", 11.6213},
		{"B21", 226, 262144, "ring ll", 17.0613},
		{"B21", 226, 4194304, "ring simple", 66.0907},
		{"B21", 226, 268435456, "ring simple", 2818.6027},
		{"B21", 229, 1024, "ring ll", 11.6213},
		{"B21", 229, 262144, "ring ll", 17.0613},
		{"B21", 229, 4194304, "ring simple", 66.0907},
		{"B21", 229, 268435456, "ring simple", 2818.6027},
		{"H1g", 226, 1024, "ring ll", 10.8064},
		{"H1g", 226, 262144, "ring ll", 12.4268},
		{"H1g", 226, 4194304, "ring ll", 36.8285},
		{"H1g", 226, 268435456, "ring simple", 684.6473},
		{"H1g", 229, 1024, "ring ll", 10.8064},
		{"H1g", 229, 262144, "ring ll", 12.4268},
		{"H1g", 229, 4194304, "ring ll", 36.8285},
		{"H1g", 229, 268435456, "ring simple", 684.6473},
		{"H2o", 226, 262144, "tree ll128", 52.0014},
		{"H2o", 226, 524288, "nvlstree simple", 54.9661},
		{"H2o", 226, 1048576, "nvlstree simple", 56.9322},
		{"H2o", 226, 268435456, "nvlstree simple", 1059.6330},
		{"H2o", 229, 524288, "tree ll128", 55.5028},
		{"H2o", 229, 4194304, "nvlstree simple", 83.8371},
		{"H8o", 226, 1048576, "tree ll128", 100.2244},
		{"H8o", 226, 4194304, "nvlstree simple", 135.2144},
		{"H8o", 229, 4194304, "tree ll128", 135.6732},
		{"B2o", 226, 262144, "tree ll128", 51.6039},
		{"B2o", 226, 524288, "nvlstree simple", 54.6384},
		{"B2o", 229, 1048576, "tree ll128", 64.7301},
	} {
		m := machines[c.machine]
		s := Spec{Op: m.op, Ranks: ranksOf(m.hosts, m.gpus), Bytes: c.bytes, Version: c.version, GPU: GPUCosts(GPU{}),
			Speeds: Speeds{Intra: m.intra, Inter: m.inter, NVLink: m.gpus > 1, NVSwitch: m.gpus > 1, AMD: m.amd, OwnCards: m.own, Generation: m.generation}}
		if m.gpus == 1 {
			s.Speeds.NVLink = true // of GPUs that take no part
		}
		s.choose()
		got := s.Estimate(s.Algorithm, s.Protocol)
		if choice := s.Algorithm.String() + " " + s.Protocol.String(); choice != c.choice || math.Abs(got-c.us) > 1e-3*c.us {
			t.Errorf("%s, %d, %v: %s, %.4f us, want %s, %.4f", c.machine, c.version, c.bytes, choice, got, c.choice, c.us)
		}
	}
}
