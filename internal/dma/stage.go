package dma

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Without GPUDirect, data of a GPU go through pinned buffers in the host's memory. The
// application copies a chunk out of the GPU, and hands it to the network when it knows
// that it is there; at the far end a chunk that has come is copied into the GPU. Every
// copy has its launch and its end to be waited for; copies of one GPU in one direction
// share a copy engine, one after the other. The thread that launches copies is one per
// connection and end.

// staging is what both ends of a staged connection have.
type staging struct {
	e      *Engine
	chain  Chain
	engine *copyEngine
	chunk  units.Bytes
	thread units.Time // when the last launch was through
}

func (e *Engine) staging(c *Chain, gpu, direction int) staging {
	return staging{e: e, chain: *c, engine: &e.engines[2*gpu+direction], chunk: e.tree.Costs.StageChunk}
}

// copy copies n bytes that may go from a time on, and says when the application knows
// that they are there.
func (s *staging) copy(at units.Time, n units.Bytes) (known units.Time) {
	c := &s.e.tree.Costs
	s.thread = max(s.thread, at) + c.CopyLaunch
	start := max(s.thread, s.engine.free)
	done := s.e.Copy(start, &s.chain, n)
	s.engine.free = done - s.chain.latency
	s.engine.copied += n
	s.engine.copies++
	s.engine.busy += s.engine.free - start
	s.engine.trace.Add(start, s.engine.free, 0)
	return done + c.CopySync
}

// StageOut is the sending end of a staged connection: a stream of bytes out of a GPU,
// in messages.
type StageOut struct {
	staging
	posted   []int64 // where messages end that are not copied whole
	first    int     // of posted
	chunks   []chunk // copied and kept, a ring with a place per buffer
	head, n  int
	copied   int64 // where the last copy ends
	released int64 // what lies before need not be kept
}

// chunk is a copy: where in the stream it lies, and when it is known to be there.
type chunk struct {
	from, to int64
	known    units.Time
}

// copyEngine moves data between a GPU and the host's memory in one direction, one copy
// after the other.
type copyEngine struct {
	free   units.Time // when it is
	busy   units.Time // with copies
	copied units.Bytes
	copies int64
	trace  *record.SliceLog // nil: nobody asked
}

// CopyUse is what a copy engine has done.
type CopyUse struct {
	GPU    int  // index into the tree's devices
	In     bool // into the GPU
	Copied units.Bytes
	Copies int64
	Busy   units.Time
	Seen   *record.SliceLog // when it copied; nil: Trace was not called
}

// Copies lists the copy engines that have copied anything, by GPU, out of it before into
// it.
func (e *Engine) Copies() (out []CopyUse) {
	for i := range e.engines {
		if x := &e.engines[i]; x.copies > 0 {
			out = append(out, CopyUse{GPU: i / 2, In: i%2 == 1, Copied: x.copied, Copies: x.copies, Busy: x.busy, Seen: x.trace})
		}
	}
	return out
}

// copiesAhead is how many copies are under way beyond what was asked for: one that
// runs and one behind it, so that the engine is never idle for a launch.
const copiesAhead = 2

// StageOut makes the sending end of a staged connection; the chain leads from the GPU
// to the host's memory.
func (e *Engine) StageOut(c *Chain, gpu int) *StageOut {
	s := &StageOut{staging: e.staging(c, gpu, 0)}
	s.chunks = make([]chunk, max(1, e.tree.Costs.Bounce/s.chunk))
	return s
}

// Post adds a message of n bytes to the stream. Its copies begin.
func (s *StageOut) Post(now units.Time, n units.Bytes) {
	if n == 0 {
		return
	}
	end := s.copied
	if k := len(s.posted); k > s.first {
		end = s.posted[k-1]
	} else {
		s.posted, s.first = s.posted[:0], 0
	}
	s.posted = append(s.posted, end+int64(n))
	s.start(now, s.released)
}

// Ready is when all of the stream before an end is in host memory, for an end that was
// posted: not later than now if it is, Never while there is no buffer for it, until
// Release. It starts the copies of it and those ahead.
func (s *StageOut) Ready(now units.Time, end int64) units.Time {
	s.start(now, end)
	if end > s.copied {
		return units.Never
	}
	for i := range s.n {
		if c := s.at(i); end <= c.to {
			return c.known
		}
	}
	return now
}

// Copied is up to where the stream is known to be in host memory.
func (s *StageOut) Copied(now units.Time) int64 {
	for i := range s.n {
		if c := s.at(i); c.known > now {
			return c.from
		}
	}
	return s.copied
}

// Release says that the stream before an end need not be kept: it was acknowledged.
func (s *StageOut) Release(now units.Time, end int64) {
	s.released = max(s.released, end)
	for s.n > 0 && s.at(0).to <= s.released {
		s.head = (s.head + 1) % len(s.chunks)
		s.n--
	}
	s.start(now, s.released)
}

func (s *StageOut) at(i int) *chunk { return &s.chunks[(s.head+i)%len(s.chunks)] }

// start begins the copies for what lies before an end, and those ahead of them, as far
// as there are buffers. A chunk ends with its message.
func (s *StageOut) start(now units.Time, end int64) {
	for s.first < len(s.posted) && s.n < len(s.chunks) && s.ahead(end) < copiesAhead {
		c := chunk{from: s.copied, to: min(s.copied+int64(s.chunk), s.posted[s.first])}
		c.known = s.copy(now, units.Bytes(c.to-c.from))
		s.copied = c.to
		if c.to == s.posted[s.first] {
			s.first++
		}
		s.n++
		*s.at(s.n - 1) = c
	}
}

// ahead counts the copies of what lies beyond an end.
func (s *StageOut) ahead(end int64) (n int) {
	for i := s.n - 1; i >= 0 && s.at(i).from >= end; i-- {
		n++
	}
	return n
}

// StageIn is the receiving end of a staged connection: what came for a GPU is copied
// into it, chunk by chunk. The buffers it waits in are not counted: who is slower than
// the network has a copy engine with a long queue.
type StageIn struct {
	staging
	waiting units.Bytes // came, not copied
	placed  units.Time  // when all of it is in host memory
	known   units.Time
}

// StageIn makes the receiving end of a staged connection; the chain leads from the
// host's memory to the GPU.
func (e *Engine) StageIn(c *Chain, gpu int) *StageIn {
	return &StageIn{staging: e.staging(c, gpu, 1)}
}

// Land says that n bytes more will be in host memory, to the application's knowledge, at
// a time, the last of their message or not. It returns when all that was copied so far is in the GPU, to the
// application's knowledge; with the last bytes of a message that is all of it.
func (s *StageIn) Land(placed units.Time, n units.Bytes, last bool) (known units.Time) {
	s.waiting += n
	s.placed = max(s.placed, placed)
	for s.waiting >= s.chunk || last && s.waiting > 0 {
		part := min(s.waiting, s.chunk)
		s.waiting -= part
		s.known = s.copy(s.placed, part)
	}
	return max(s.known, s.placed)
}
