package training

import (
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/job"
	"github.com/hopscope/hopscope/internal/units"
)

func step(change func(*Step)) *Step {
	s := &Step{
		Model:         Model{Layers: 8, Hidden: 1024, Heads: 16, Sequence: 1024, Vocabulary: 32000},
		TP:            1,
		CP:            1,
		PP:            1,
		DP:            1,
		EP:            1,
		Chunks:        1,
		MicroBatch:    1,
		Batch:         8,
		GradientBytes: 4,
		Overlap:       true,
		GPU:           GPUs()[0],
	}
	if change != nil {
		change(s)
	}
	return s
}

// makespan of a schedule in which a forward turn takes 1 and a backward one 2, by relaxation over its graph.
func makespan(p, m, v int) float64 {
	lists := make([][]slot, p)
	type key struct {
		stage int
		slot
	}
	end, at, now := map[key]float64{}, make([]int, p), make([]float64, p)
	for r := range p {
		lists[r] = schedule(p, r, m, v)
	}
	for moved := true; moved; {
		moved = false
		for r := range p {
			for at[r] < len(lists[r]) {
				s := lists[r][at[r]]
				from, first := key{r - 1, s}, !s.backward && r == 0 && s.chunk == 0
				switch {
				case !s.backward && r == 0:
					from = key{p - 1, slot{false, s.micro, s.chunk - 1}}
				case s.backward && r == p-1 && s.chunk == v-1:
					from = key{r, slot{false, s.micro, s.chunk}}
				case s.backward && r == p-1:
					from = key{0, slot{true, s.micro, s.chunk + 1}}
				case s.backward:
					from = key{r + 1, s}
				}
				t, ready := end[from]
				if !first && !ready {
					break
				}
				took := 1 / float64(v)
				if s.backward {
					took *= 2
				}
				now[r] = max(now[r], t) + took
				end[key{r, s}], moved = now[r], true
				at[r]++
			}
		}
	}
	for r := range p {
		if at[r] < len(lists[r]) {
			return math.NaN()
		}
	}
	out := 0.0
	for _, t := range now {
		out = max(out, t)
	}
	return out
}

// The makespan of 1F1B is (m+p-1)(tf+tb), of the interleaved schedule m(tf+tb) + (p-1)(tf+tb)/v (Narayanan et al.,
// SC'21, 2.2; training.md C2).
func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		p, m, v int
		want    float64
	}{{4, 8, 1, 33}, {8, 64, 1, 213}, {4, 8, 2, 28.5}, {8, 64, 3, 199}, {8, 16, 4, 53.25}, {1, 5, 1, 15}, {2, 2, 1, 9}} {
		if got := makespan(c.p, c.m, c.v); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("p %d, m %d, v %d: %v, want %v", c.p, c.m, c.v, got, c.want)
		}
	}
}

// Every layout makes a job that can be carried out, whose collectives have the bytes of the closed forms
// (training.md C3), and whose operations of the model are 6 of each parameter and token, and attention's.
func TestJobs(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Step)
	}{
		{"alone", nil},
		{"dp", func(s *Step) { s.DP = 4 }},
		{"dp, zero", func(s *Step) { s.DP, s.Zero = 4, 1 }},
		{"fsdp", func(s *Step) { s.DP, s.Zero = 4, 3 }},
		{"tp", func(s *Step) { s.TP = 4 }},
		{"tp, sequence parallel", func(s *Step) { s.TP, s.SequenceParallel = 4, true }},
		{"tp, recomputation", func(s *Step) { s.TP, s.Recompute = 4, FullRecompute }},
		{"pp", func(s *Step) { s.PP = 4 }},
		{"pp of two", func(s *Step) { s.PP, s.TieEmbeddings = 2, true }},
		{"interleaved", func(s *Step) { s.PP, s.Chunks = 2, 2 }},
		{"all", func(s *Step) { s.TP, s.SequenceParallel, s.PP, s.Chunks, s.DP, s.Zero = 2, true, 2, 2, 2, 1 }},
		{"cp", func(s *Step) { s.CP, s.TP, s.DP = 2, 2, 2 }},
		{"experts", func(s *Step) { s.DP, s.EP, s.Experts, s.TopK, s.TP, s.SequenceParallel = 4, 4, 8, 2, 2, true }},
		{"given times", func(s *Step) { s.Forward, s.Backward, s.PP = units.Millisecond, 2*units.Millisecond, 2 }},
	} {
		s := step(c.change)
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		j := s.Job("j", 0, 1)
		if err := j.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		flops := 0.0
		for _, l := range j.Of {
			for k := range j.Lists[l].Ops {
				flops += j.Lists[l].Ops[k].Flops
			}
		}
		h, seq := float64(s.Hidden), float64(s.Sequence)
		active := 1.0
		if s.Experts > 0 {
			active = float64(s.TopK)
		}
		tokens := float64(s.Batch) * seq
		want := 3 * tokens * (float64(s.Layers)*(2*h*h*(4+8*active)+4*seq*h) + 2*h*float64(s.Vocabulary))
		if math.Abs(flops/want-1) > 1e-9 {
			t.Errorf("%s: %.6g operations, want %.6g", c.name, flops, want)
		}
		if s.Forward > 0 {
			total := units.Time(0)
			for k := range j.Lists[0].Ops {
				if o := &j.Lists[0].Ops[k]; o.Label == "forward" || o.Label == "backward" {
					total += o.Time
				}
			}
			if want := units.Time(s.Layers/s.PP*s.MicroBatches()) * 3 * units.Millisecond; total < want-units.Microsecond ||
				total > want+units.Microsecond {
				t.Errorf("%s: the first stage computes %v, want %v", c.name, total, want)
			}
		}
	}
}

// bytes is what the collectives of a communicator carry in a rank's list.
func bytesOf(j *job.Spec, rank int, comm string) (sum units.Bytes, n int) {
	for k := range j.Lists[j.Of[rank]].Ops {
		if o := &j.Lists[j.Of[rank]].Ops[k]; o.Kind == job.Collective && j.Comms[o.On].Name == comm {
			sum += o.Bytes
			n++
		}
	}
	return sum, n
}

// Bytes of each communicator by the closed forms of training.md C3.
func TestTraffic(t *testing.T) {
	s := step(func(s *Step) { s.TP, s.SequenceParallel, s.DP, s.Zero = 4, true, 2, 1 })
	j := s.Job("j", 0, 1)
	activation := 2 * s.Sequence * s.Hidden
	// Of each layer and micro-batch forward two AllGathers and two ReduceScatters, backward the same.
	if got, n := bytesOf(j, 0, "tp"); n != 8*s.Layers*s.MicroBatches() || got != units.Bytes(n*activation) {
		t.Errorf("tp: %d collectives of %v in all, want %d of %d", n, got, 8*s.Layers*s.MicroBatches(), activation)
	}
	parameters := float64(s.Layers)*(12*1024*1024/4+4*1024) + 2*32000*1024/4
	if got, _ := bytesOf(j, 0, "dp"); math.Abs(
		float64(got)-6*parameters,
	) > 100 { // gradients in FP32, parameters in BF16
		t.Errorf("dp: %v, want %.0f", got, 6*parameters)
	}
	p := step(func(s *Step) { s.PP, s.Chunks, s.TP, s.SequenceParallel = 2, 2, 2, true }).Job("j", 0, 1)
	messages := 0
	for k := range p.Lists[0].Ops {
		if o := &p.Lists[0].Ops[k]; o.Kind == job.Send {
			messages++
			if o.Bytes != units.Bytes(activation/2) {
				t.Errorf("a message of %v, want %d", o.Bytes, activation/2)
			}
		}
	}
	if want := 8*2 + 8*1; messages != want { // both chunks forward, and the second backward
		t.Errorf("the first stage sends %d messages, want %d", messages, want)
	}
}

// What cannot be spread is refused.
func TestCheck(t *testing.T) {
	for _, change := range []func(*Step){
		func(s *Step) { s.PP = 3 }, func(s *Step) { s.TP = 3 }, func(s *Step) { s.DP = 3 }, func(s *Step) { s.CP = 3 },
		func(s *Step) { s.Chunks = 2 }, func(s *Step) { s.PP, s.Chunks, s.Batch = 4, 2, 6 }, func(s *Step) { s.EP = 2 },
		func(s *Step) { s.Experts = 4 }, func(s *Step) { s.Experts, s.TopK, s.EP, s.DP = 4, 2, 3, 6 }, func(s *Step) { s.Zero = 1 },
		func(s *Step) { s.Zero, s.DP, s.PP = 3, 2, 2 }, func(s *Step) { s.Precision = FP8 }, func(s *Step) { s.KVHeads = 3 },
		func(s *Step) { s.Hidden = 1000 },
	} {
		if err := step(change).Check(); err == nil {
			t.Errorf("%+v is taken", step(change))
		}
	}
}

// A large product reaches the share of the peak that is given, and never more; one that is small or thin does
// not, and one of few operations for its bytes takes what memory does.
func TestGemm(t *testing.T) {
	s := step(nil)
	share := func(m, n, k float64) float64 { return 2 * m * n * k / s.gemm(m, n, k) / s.GPU.Flops }
	if got := share(16384, 12288, 12288); math.Abs(got-s.GPU.Gemm) > 1e-9 {
		t.Errorf("a large product reaches %v of the peak, want %v", got, s.GPU.Gemm)
	}
	if got := share(128, 256*109, 8192); got > s.GPU.Gemm*0.51 ||
		got < s.GPU.Gemm*0.49 { // a wave, and one tile of another
		t.Errorf("one tile more than a wave: %v of the peak, want half of %v", got, s.GPU.Gemm)
	}
	if m, k := 16384.0, 16.0; math.Abs(s.gemm(m, m, k)-(2*m*k*2+2*m*m)/(s.GPU.HBM*s.GPU.MemoryShare)) > 1e-12 {
		t.Error("a thin product does not take what memory takes")
	}
}
