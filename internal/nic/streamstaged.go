package nic

import "github.com/hopscope/hopscope/internal/units"

// Sockets know nothing of GPUs. An application whose data lie in one copies them out,
// chunk by chunk, and writes what is there; and what it reads it copies into the GPU,
// where a message ends.

// streamStage is what a connection's end knows of its copies.
type streamStage struct {
	until  units.Time // when the chunk that is to be written next is in host memory; 0 or Never: no wait
	landed int        // messages read whole, whose copies are under way or done
	taken  int64      // payload read of messages behind them
}

// offerCopied is how much of n bytes to be written next has been copied out of the GPU.
// If nothing has, it comes back when something is.
func (h *Host) offerCopied(now units.Time, q uint32, n int64) int64 {
	out, st := h.specs[q].Memory.Out, h.qps[q].stream
	if out == nil || n == 0 {
		return n
	}
	x := &st.path.stage
	if there := out.Copied(now) - st.wrote; there > 0 {
		x.until = units.Never
		return min(n, there)
	}
	if at := out.Ready(now, st.wrote+1); at != x.until && at != units.Never {
		x.until = at
		h.restless++
		h.timer(at, at-now, timerSegment, q|staging)
	}
	return 0
}

// releaseCopied gives the buffers back that the socket has no use for: those it has
// copied, or without a copy those whose data are acknowledged.
func (h *Host) releaseCopied(now units.Time, q uint32) {
	if out := h.specs[q].Memory.Out; out != nil {
		st := h.qps[q].stream
		end := st.wrote
		if h.path.pinned {
			end -= st.conn.Unacked()
		}
		out.Release(now, end)
	}
}

// copyIn has what the application has just read, n bytes, copied into the GPU.
func (h *Host) copyIn(now units.Time, q uint32, n int64) {
	in, st := h.specs[q].Memory.In, h.qps[q].stream
	size := h.specs[q].Stream.Message
	for x := &st.path.stage; n > 0 && size > 0; {
		part := min(n, size-x.taken)
		n -= part
		x.taken += part
		placed := in.Land(now, units.Bytes(part), x.taken == size)
		if x.taken < size {
			return
		}
		x.taken = 0
		a := &st.arrivals[x.landed]
		a.Read, a.Placed = now, placed
		x.landed++
		h.restless++
		h.timer(placed, placed-now, timerSegment, q|staging)
	}
}

// staged lets connection q go on: a copy is done.
func (h *Host) staged(now units.Time, q uint32) {
	s := &h.qps[q]
	st := s.stream
	h.settle(now, s)
	for st.reads < st.path.stage.landed && st.arrivals[st.reads].Placed <= now {
		h.messageEnded(st)
	}
	if s.watched {
		h.accepted(now, q)
	}
	h.serve(now, q)
}

// messageEnded counts a message whose bytes are where they belong.
func (h *Host) messageEnded(st *stream) {
	st.reads++
	h.left--
	h.net.Part().NoteWork()
}

// landed counts the messages read whole that are or were copied into a GPU.
func (st *stream) landed() int {
	if st.path == nil {
		return 0
	}
	return st.path.stage.landed
}

// copying reports whether the application waits for a copy out of the GPU.
func (st *stream) copying(now units.Time) bool {
	return st.path != nil && st.path.stage.until > now && st.path.stage.until != units.Never && st.first < len(st.calls)
}
