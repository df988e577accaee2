package training

import (
	"math"

	"github.com/hopscope/hopscope/internal/units"
)

// Tiles of matrix kernels, by which multiprocessors have work: training.md C1.
const tileM, tileN = 128, 256

// gemm is what a product of M x K and K x N takes: by the peak, as far as its tiles fill waves of all
// multiprocessors, or by what it reads and writes.
func (s *Step) gemm(m, n, k float64) float64 {
	peak, width := s.GPU.Flops, 2.0
	if s.Precision == FP8 {
		peak, width = s.GPU.FP8, 1
	}
	tiles := math.Ceil(m/tileM) * math.Ceil(n/tileN)
	sms := float64(s.GPU.Processors)
	full := tiles / (math.Ceil(tiles/sms) * sms) // of the last wave a part
	if tiles > 8*sms {
		full = 1 // kernels that stay (stream-K) divide what is left
	}
	edges := m * n / (math.Ceil(m/tileM) * tileM * math.Ceil(n/tileN) * tileN)
	compute := 2 * m * n * k / (peak * s.GPU.Gemm * full * edges)
	memory := (m*k*width + k*n*width + m*n*2) / (s.GPU.HBM * s.GPU.MemoryShare)
	return max(compute, memory)
}

// moved is what reading and writing so many bytes takes.
func (s *Step) moved(bytes float64) float64 { return bytes / (s.GPU.HBM * s.GPU.MemoryShare) }

// part is what a piece of a layer takes, in seconds, and the operations of the model that it does.
type part struct {
	forward, input, weight float64 // of the backward pass: gradients of inputs, and of weights
	core                   float64 // of forward, what selective recomputation does again
	flops                  float64 // forward
}

func (p part) scaled(by float64) part {
	return part{p.forward * by, p.input * by, p.weight * by, p.core * by, p.flops}
}

// tokens of a micro-batch at a rank.
func (s *Step) tokens() float64 { return float64(s.MicroBatch*s.Sequence) / float64(s.CP) }

// unfusedBytes is what a score takes in memory where kernels are not fused: written by the product of queries and
// keys (2 bytes), read and written by softmax (4) and by dropout (4, and 1 of its mask), and read by the
// product with values (2).
const unfusedBytes = 13

// Bytes of memory for each value of an activation that a norm, and the residual with dropout before it, read
// and write. Forward: the norm 2 and 2, dropout and addition 2, 2, 1 of the mask and 2. Backward: 2, 2 and 2 of
// the norm, 4 of the residual's sum, 2, 1 and 2 of dropout.
const normForward, normBackward = 11, 15

// normed is what that takes. They are divided over tp where sequences are.
func (s *Step) normed(bytes float64) float64 {
	bytes *= s.tokens() * float64(s.Hidden)
	if s.SequenceParallel {
		bytes /= float64(s.TP)
	}
	return s.moved(bytes)
}

// attention is the first half of a layer: norm, queries, keys and values, scores, and the projection.
func (s *Step) attention() part {
	t, h, tp, kv := s.tokens(), float64(s.Hidden), float64(s.TP), float64(s.kv())
	qkv, proj := s.gemm(t, (h+2*kv)/tp, h), s.gemm(t, h, h/tp)
	seq := float64(s.Sequence)
	flops := 4 * t * seq * h / tp // scores, and values by them
	core := flops / (s.GPU.Flops * s.GPU.Attention)
	if s.Unfused {
		core += s.moved(unfusedBytes * t * seq * float64(s.Heads) / tp)
	}
	return part{
		forward: qkv + proj + core + s.normed(normForward),
		input:   s.gemm(t, h, (h+2*kv)/tp) + s.gemm(t, h/tp, h) + 2*core + s.normed(normBackward),
		weight:  s.gemm(h, (h+2*kv)/tp, t) + s.gemm(h/tp, h, t),
		core:    core,
		flops:   2*t*(h*(h+2*kv)+h*h)/tp + flops,
	}
}

// feed is the second half: norm and the feed-forward part, or its experts.
func (s *Step) feed() part {
	t, h, f, n := s.tokens(), float64(s.Hidden), float64(s.ffn()), float64(s.matrices())
	tp := float64(s.TP)
	active := t
	if s.Experts > 0 { // of all tokens of the ep ranks, those that come to this rank's experts
		active = t * float64(s.TopK)
	}
	up := s.gemm(active, f/tp, h)
	down := s.gemm(active, h, f/tp)
	// The activation reads and writes each of its values, with a gate two; backward the gradient as well.
	forward := s.normed(normForward) + s.moved(2*n*active*f/tp)
	backward := s.normed(normBackward) + s.moved(3*n*active*f/tp)
	return part{
		forward: (n-1)*up + down + forward,
		input:   (n-1)*s.gemm(active, h, f/tp) + s.gemm(active, f/tp, h) + backward,
		weight:  (n-1)*s.gemm(h, f/tp, active) + s.gemm(f/tp, h, active),
		flops:   2 * active * n * h * f / tp,
	}
}

// head is the last part: norm, logits and loss.
func (s *Step) head() part {
	t, h, v := s.tokens(), float64(s.Hidden), float64(s.Vocabulary)/float64(s.TP)
	memory := s.moved(4 * 4 * t * v) // logits in FP32, read for the loss and its gradient
	return part{
		forward: s.gemm(t, v, h) + memory,
		input:   s.gemm(t, h, v),
		weight:  s.gemm(h, v, t),
		flops:   2 * t * h * v,
	}
}

// parameters of a layer at a rank: those that all ranks of dp have, and those of its experts.
func (s *Step) parameters() (shared, experts float64) {
	h, kv, f, n := float64(s.Hidden), float64(s.kv()), float64(s.ffn()), float64(s.matrices())
	tp := float64(s.TP)
	shared = (h*(h+2*kv)+h*h)/tp + 4*h
	if s.Experts == 0 {
		return shared + n*h*f/tp, 0
	}
	return shared + h*float64(s.Experts), n * h * f / tp * float64(s.Experts) / float64(s.EP)
}

// adamBytes is what a step of Adam reads and writes of each parameter, in mixed precision with master copies in
// FP32, as Megatron-LM's optimizer goes about it: gradients to the master's 8, their norm 4, clipping 8, Adam
// 16 and 12, parameters to BF16 6, and gradients to zero 4.
const adamBytes = 58

// optimizer is what a step of Adam takes: ZeRO divides it.
func (s *Step) optimizer(shared, experts float64) float64 {
	if s.Zero > 0 {
		n := float64(s.DP * s.CP)
		shared, experts = shared/n, experts/(n/float64(s.EP))
	}
	return s.moved(adamBytes * (shared + experts))
}

// seconds is a time.
func seconds(t float64) units.Time { return units.Time(math.Round(t * float64(units.Second))) }
