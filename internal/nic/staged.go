package nic

import (
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
)

// What is staged is copied out of the GPU before the card may read it, in chunks
// (dma.StageOut). A work request is posted when the first of its chunks is there; the
// copies of the others go on meanwhile. What a READ takes from a peer lies in the
// peer's pinned memory: its processor has no part in a READ.

// staged is what a queue pair knows of copies out of a GPU.
type staged struct {
	posted  int64     // payload of all messages so far
	waiting []waiting // work requests that are not posted, as their first chunk is not there
	timer   units.Time
	copied  units.Time // when the next packet's payload is out of the GPU; only within gate
}

// waiting is a work request to be posted when all before an end is copied.
type waiting struct {
	part int64
	wr   rdma.WorkRequest
}

// copyOut begins the copies of a message.
func (h *Host) copyOut(now units.Time, q uint32, wr *rdma.WorkRequest) {
	x, out := &h.path.qps[q], h.specs[q].Memory.Out
	begin := x.posted
	x.posted += int64(wr.Bytes)
	out.Post(now, wr.Bytes)
	x.waiting = append(x.waiting, waiting{min(x.posted, begin+int64(h.path.costs.StageChunk)), *wr})
	h.ringCopied(now, q)
}

// ringCopied posts the work requests whose first chunk is there, and comes back when
// that of the next is.
func (h *Host) ringCopied(now units.Time, q uint32) {
	x, out := &h.path.qps[q], h.specs[q].Memory.Out
	for len(x.waiting) > 0 {
		w := &x.waiting[0]
		at := out.Ready(now, w.part)
		if at > now {
			if at != units.Never && at != x.timer { // else what is acknowledged makes room
				x.timer = at
				h.pend(now, at, doneCopied, h.number(q))
			}
			return
		}
		s := &h.qps[q]
		h.settle(now, s)
		h.ring(now, q, &w.wr)
		if s.account.fetchUntil == units.Never {
			s.account.fetchStage = WorkFetch
		}
		x.waiting = x.waiting[:copy(x.waiting, x.waiting[1:])]
	}
}

// copiedAt is when the payload of the packet at a place may be read: Never while there
// is no buffer for it.
func (h *Host) copiedAt(now units.Time, q uint32, at rdma.Place) units.Time {
	out := h.specs[q].Memory.Out
	if out == nil {
		return now
	}
	return out.Ready(now, h.qps[q].qp.EndAt(at))
}

// releaseCopies gives the buffers back of what will not be sent again.
func (h *Host) releaseCopies(now units.Time, q uint32) {
	if out := h.specs[q].Memory.Out; out != nil {
		out.Release(now, h.qps[q].qp.Released())
		h.ringCopied(now, q)
	}
}
