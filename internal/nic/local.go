package nic

import (
	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// LocalRun is when a local operation of the plan did what; Never: not yet. With it stands
// what a host must know of the operation: there are hundreds of thousands, each comes back
// three or four times, and its cache line, of 64 bytes, is all that is fetched each time.
type LocalRun struct {
	Due   units.Time // all that it was after had ended
	Moved units.Time // its delay was over, and its data began to move
	Done  units.Time
	left  units.Bytes // of its data, that are still to move

	bytes   units.Bytes
	work    units.Time
	chain   *dma.Chain // the way of its data; nil: it moves none
	turning int32      // from 1, its place among those that take turns; 0: it does not
	label   uint16
	sliced  bool // it moves its data in slices, so that what else moves there comes in between
}

// slice is what a copy of a job books of its way at once, as staged copies do (server.Costs.StageChunk).
const slice = 512 * units.KiB

// Runs is when the local operations of the plan ran, in its order. nil: it has
// neither triggers nor a graph.
func (t *Triggers) Runs() []LocalRun {
	if t == nil {
		return nil
	}
	return t.runs
}

// Move says over which chain of its host's engine local operation l moves its data.
func (t *Triggers) Move(l int, c *dma.Chain) { t.runs[l].chain = c }

// ended starts what waits for an end of operation op, here.
func (h *Host) ended(now units.Time, op int, end workload.End) {
	t := h.triggers
	for _, next := range t.graph.Released(op, end) {
		t.left[next]--
		if t.left[next] > 0 {
			continue
		}
		if l := int(next) - len(t.starts); l >= 0 {
			h.beginLocal(now, uint32(l))
		} else {
			h.trigger(now, t.starts[next].post)
		}
	}
}

// beginLocal starts local operation l, whose delay begins.
func (h *Host) beginLocal(now units.Time, l uint32) {
	run := h.localRun(l)
	run.Due = now
	h.running++
	d := h.delay(run.label)
	h.timer(now+d, d, timerLocal, l)
}

// local goes on with local operation l, one part of which is over.
func (h *Host) local(now units.Time, l uint32) {
	run := h.localRun(l)
	if run == nil {
		return
	}
	if run.Due == units.Never { // it waited for nothing but its time
		h.running--
		h.beginLocal(now, l)
		return
	}
	if run.turning != 0 {
		if run.turning == computes {
			h.computed(now, l)
			return
		}
		h.turned(now, l)
		return
	}
	first := run.Moved == units.Never
	if first {
		run.Moved, run.left = now, run.bytes
	}
	if first || run.left > 0 {
		if h.turn(now, l, run) {
			return
		}
		if at := h.move(now, run); at > now {
			h.timer(at, at-now, timerLocal, l)
			return
		}
	}
	run.Done = now
	h.running--
	h.net.Part().NoteWork()
	h.localEnded(now, l)
}

// move moves what is left of a local operation, and returns when all its data have left, or
// over PCIe are there: no sooner than its own work lets it.
func (h *Host) move(now units.Time, run *LocalRun) units.Time {
	left, c := run.left, run.chain
	run.left = 0
	switch {
	case c == nil:
		return now + run.work
	case c.NVLink():
		pace, _ := run.pace()
		return max(now+pace, h.path.Rest(now, c, left), run.Moved+run.work)
	default:
		if run.sliced && left > slice {
			run.left, left = left-slice, slice
		}
		return max(now+run.work, h.path.Copy(now, c, left), run.Moved+run.work)
	}
}
