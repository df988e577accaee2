// Package training turns the description of a training step, a model's shape and how it is spread over GPUs,
// into a job: computations by a roofline, collectives and messages in the order of a schedule.
package training

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/units"
)

// Model is the shape of a transformer.
type Model struct {
	Layers, Hidden, Heads, KVHeads int // KVHeads: of grouped-query attention; 0: as many as Heads
	FFN                            int // width of the feed-forward part; 0: four times Hidden
	Gated                          bool
	Sequence, Vocabulary           int
	Experts, TopK                  int // of a mixture of experts in each layer; 0: none
}

// Recompute says which activations are computed again in the backward pass.
type Recompute uint8

// Kinds of recomputation.
const (
	KeepAll       Recompute = iota
	Selective               // the core of attention
	FullRecompute           // the whole layer
)

// Recomputes lists the kinds as scenarios write them, in their order.
func Recomputes() []string { return []string{"none", "selective", "full"} }

// Precision is the format in which matrices are multiplied.
type Precision uint8

// Formats.
const (
	BF16 Precision = iota
	FP8
)

// Precisions lists the formats as scenarios write them, in their order.
func Precisions() []string { return []string{"bf16", "fp8"} }

// Step is a training step.
type Step struct {
	Model
	TP, CP, PP, DP, EP int // ranks of each dimension; all at least 1. EP divides DP
	Chunks             int // of a stage, in the interleaved schedule; 1: 1F1B
	MicroBatch         int // sequences
	Batch              int // sequences of a step, of all ranks
	SequenceParallel   bool
	Recompute          Recompute
	Precision          Precision
	// Zero is the stage of ZeRO: 0: gradients are reduced everywhere; 1, 2: each rank has a part of
	// the optimizer's state; 3: and of the parameters.
	Zero          int
	GradientBytes int  // of a gradient on the wire: 4 or 2
	Overlap       bool // gradients are reduced while the last micro-batch goes backward
	TieEmbeddings bool // the first and the last stage share them
	GPU           GPU
	// Unfused: the scores of attention go through memory, as before FlashAttention.
	Unfused bool
	// Forward and Backward, if given, are what a layer takes for a micro-batch, in place of the roofline; of
	// Backward what recomputation takes comes on top.
	Forward, Backward units.Time
}

// GPU is what computations take on a GPU.
type GPU struct {
	Name        string
	Flops       float64 // of BF16 matrices, a second
	FP8         float64 // of FP8 ones; 0: it has none
	HBM         float64 // bytes a second
	Processors  int     // multiprocessors
	Gemm        float64 // share of the peak that large matrices reach
	Attention   float64 // and the core of attention
	MemoryShare float64 // share of HBM's bandwidth
	GemmSource  string
}

// GPUs are those that are known, with their sources: peaks and bandwidth from NVIDIA's datasheets (dense, SXM);
// shares from training.md C1 but for Gemm, which is fitted on one published step for each.
func GPUs() []GPU {
	return []GPU{
		{Name: "a100", Flops: 312e12, HBM: 2.039e12, Processors: 108, Gemm: 0.80, Attention: 0.60, MemoryShare: 0.8,
			GemmSource: "Megatron's 1.7B of SC'21, table 1"},
		{
			Name:        "h100",
			Flops:       989e12,
			FP8:         1979e12,
			HBM:         3.35e12,
			Processors:  132,
			Gemm:        0.70,
			Attention:   0.45,
			MemoryShare: 0.8,
			GemmSource:  "large matrices on H100, 0.65 to 0.75",
		},
		{
			Name:        "b200",
			Flops:       2250e12,
			FP8:         4500e12,
			HBM:         8e12,
			Processors:  148,
			Gemm:        0.70,
			Attention:   0.45,
			MemoryShare: 0.8,
			GemmSource:  "as H100's, assumed",
		},
	}
}

// Peak is what the GPU can do in the step's precision, in floating-point operations a second.
func (s *Step) Peak() float64 {
	if s.Precision == FP8 {
		return s.GPU.FP8
	}
	return s.GPU.Flops
}

// Ranks is how many ranks the step has.
func (s *Step) Ranks() int { return s.TP * s.CP * s.PP * s.DP }

// MicroBatches is how many a rank goes through in a step.
func (s *Step) MicroBatches() int { return s.Batch / (s.DP * s.MicroBatch) }

// kv is the width of keys, and of values.
func (s *Step) kv() int {
	if s.KVHeads == 0 {
		return s.Hidden
	}
	return s.Hidden / s.Heads * s.KVHeads
}

// ffn is the width of the feed-forward part.
func (s *Step) ffn() int {
	if s.FFN == 0 {
		return 4 * s.Hidden
	}
	return s.FFN
}

// matrices is how many the feed-forward part has: SwiGLU and the like have one more.
func (s *Step) matrices() int {
	if s.Gated {
		return 3
	}
	return 2
}

// Check refuses what cannot be spread as it says.
func (s *Step) Check() error {
	switch {
	case s.Layers%(s.PP*s.Chunks) != 0:
		return fmt.Errorf("%d layers do not divide into %d stages of %d chunks each", s.Layers, s.PP, s.Chunks)
	case s.Heads%s.TP != 0:
		return fmt.Errorf("%d heads do not divide over tp %d", s.Heads, s.TP)
	case s.Hidden%s.Heads != 0:
		return fmt.Errorf("hidden %d does not divide into %d heads", s.Hidden, s.Heads)
	case s.KVHeads > 0 && s.Heads%s.KVHeads != 0:
		return fmt.Errorf("%d heads do not share %d kv_heads in equal parts", s.Heads, s.KVHeads)
	case s.Batch%(s.DP*s.MicroBatch) != 0:
		return fmt.Errorf("batch %d does not divide into micro-batches of %d on dp %d: give a multiple of %d",
			s.Batch, s.MicroBatch, s.DP, s.DP*s.MicroBatch)
	case s.Sequence%s.CP != 0:
		return fmt.Errorf("sequence %d does not divide over cp %d", s.Sequence, s.CP)
	case s.Chunks > 1 && s.PP == 1:
		return fmt.Errorf("chunks %d: without stages (pp 1) there is nothing to interleave", s.Chunks)
	case s.Chunks > 1 && s.MicroBatches()%s.PP != 0:
		return fmt.Errorf("%d micro-batches: the interleaved schedule takes as many as a multiple of pp %d",
			s.MicroBatches(), s.PP)
	case s.Experts > 0 && (s.TopK < 1 || s.TopK > s.Experts):
		return fmt.Errorf("top_k %d of %d experts", s.TopK, s.Experts)
	case s.Experts == 0 && s.EP > 1:
		return fmt.Errorf("ep %d: the model has no experts", s.EP)
	case s.EP > 1 && s.Experts%s.EP != 0:
		return fmt.Errorf("%d experts do not divide over ep %d", s.Experts, s.EP)
	case s.DP*s.CP%s.EP != 0:
		return fmt.Errorf("ep %d does not divide the %d ranks of dp and cp, which it is a part of", s.EP, s.DP*s.CP)
	case s.Zero > 0 && s.DP*s.CP == 1:
		return fmt.Errorf("zero %d: with one rank there is nothing to divide", s.Zero)
	case s.Zero == 3 && s.PP > 1:
		return fmt.Errorf("zero 3 with stages (pp %d) would gather parameters for each micro-batch; use zero 1", s.PP)
	case s.Precision == FP8 && s.GPU.FP8 == 0:
		return fmt.Errorf("a %s has no fp8", s.GPU.Name)
	}
	return nil
}
