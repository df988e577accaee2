package collective

import "github.com/hopscope/hopscope/internal/units"

// Constants of NCCL (src/include/device.h and collectives.h, init.cc), versions
// 2.12 to 2.22.
const (
	// steps is NCCL_STEPS: the slots of a connection's buffer.
	steps = 8
	// simpleBuffer is DEFAULT_BUFFSIZE; LL has 8 lines of 16 bytes for each of 512
	// threads and each slot, LL128 120 elements of 8 bytes for each of 640.
	simpleBuffer = 4 * units.MiB
	llBuffer     = 8 * 512 * steps * 16 * units.Byte
	ll128Buffer  = 120 * 640 * steps * 8 * units.Byte
	// minSlice is the smallest part of a chunk that Simple sends alone: a thirty-
	// second of a slice, in bytes.
	minSlice = 2 * simpleBuffer / steps / 32
)

// shape is how an algorithm and protocol cut data up.
type shape struct {
	chunk  units.Bytes // payload of a step, at most
	slices int         // messages of a chunk, at most
	slots  int         // messages in flight on a connection, at most
}

// shapeOf follows NCCL: a chunk of a ring with Simple spans 4 of the 8 slots and
// is sent in two slices (ALLREDUCE_CHUNKSTEPS, ALLREDUCE_SLICESTEPS and the like of
// ReduceScatter and AllGather); all others have chunks of one slot.
func (s *Spec) shapeOf() shape {
	var out shape
	switch s.Protocol {
	case LL:
		out = shape{chunk: llBuffer / steps / 2, slices: 1, slots: steps}
	case LL128:
		out = shape{chunk: ll128Buffer / steps * 15 / 16, slices: 1, slots: steps}
	default:
		out = shape{chunk: s.Env.buffer() / steps, slices: 1, slots: steps}
		if (s.Algorithm == Ring || s.Algorithm == SingleRing) && s.Op != Broadcast {
			out = shape{chunk: 4 * s.Env.buffer() / steps, slices: 2, slots: 4}
		}
	}
	if s.Chunk > 0 {
		out.chunk = s.Chunk
	}
	if s.Slices > 0 { // each spans as much less of the buffer
		out.slots = max(out.slots*s.Slices/out.slices, 2)
		out.slices = s.Slices
	}
	return out
}

// wireBytes is what the protocol sends for a payload: LL as much flag as data,
// LL128 8 bytes of flag with every 120.
func (p Protocol) wireBytes(n units.Bytes) units.Bytes {
	switch p {
	case LL:
		return 2 * n
	case LL128:
		return (n + 119) / 120 * 128
	}
	return n
}

// share is the k-th of n nearly equal parts of size in whole elements; what a part
// has more stands in the first.
func share(size units.Bytes, n, k int) units.Bytes {
	elements := size / Element
	part, rest := elements/units.Bytes(n), elements%units.Bytes(n)
	if units.Bytes(k) < rest {
		part++
	}
	return part * Element
}
