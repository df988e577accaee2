package nic

import (
	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// LocalRun is when a local operation of the plan did what; Never: not yet.
type LocalRun struct {
	Due   units.Time // all that it was after had ended
	Moved units.Time // its delay was over, and its data began to move
	Done  units.Time
	left  units.Bytes // of its data, that are still to move
}

// Runs is when the local operations of the plan ran, in its order. nil: it has
// neither triggers nor a graph.
func (t *Triggers) Runs() []LocalRun {
	if t == nil {
		return nil
	}
	return t.runs
}

// Move says over which chain of its host's engine local operation l moves its data.
func (t *Triggers) Move(l int, c *dma.Chain) { t.moves[l] = c }

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
	h.triggers.runs[l].Due = now
	h.running++
	d := h.triggers.delays[h.triggers.locals[l].Label]
	h.timer(now+d, d, timerLocal, l)
}

// local goes on with local operation l, one part of which is over.
func (h *Host) local(now units.Time, l uint32) {
	run := &h.triggers.runs[l]
	if run.Due == units.Never { // it waits for nothing but its time
		h.beginLocal(now, l)
		return
	}
	first := run.Moved == units.Never
	if first {
		run.Moved, run.left = now, h.triggers.locals[l].Bytes
	}
	if first || run.left > 0 {
		if at := h.move(now, l); at > now {
			h.timer(at, at-now, timerLocal, l)
			return
		}
	}
	run.Done = now
	h.running--
	h.net.Part().NoteWork()
	h.ended(now, len(h.triggers.starts)+int(l), workload.Completed)
}

// move moves what local operation l moves in one turn, and returns when its next turn
// comes, or after the last when all its data have left, and over PCIe are there. All that
// move data over a link at a time take turns on it, none faster than its own work lets it.
func (h *Host) move(now units.Time, l uint32) units.Time {
	run, local, c := &h.triggers.runs[l], &h.triggers.locals[l], h.triggers.moves[l]
	if c == nil {
		run.left = 0
		return now + local.Work
	}
	n, pace := run.left, local.Work
	turn, way := c.Turn()
	if turn > 0 && local.Bytes > turn {
		n = min(n, turn)
		pace /= units.Time((local.Bytes + turn - 1) / turn)
	}
	next := max(now+pace, h.path.Copy(now, c, n)-way)
	run.left -= n
	if run.left == 0 {
		return max(next, run.Moved+local.Work)
	}
	return next
}
