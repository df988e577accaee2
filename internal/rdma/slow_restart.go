package rdma

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// SlowRestart configures a small window after a timeout. NVIDIA's NICs have a slow
// restart (roce_slow_restart, roce_slow_restart_idle) whose rule is not published;
// this one is TCP's (RFC 5681): after a timeout one packet may be outstanding, and
// with each window acknowledged twice as many, up to what the queue pair may have
// otherwise.
type SlowRestart struct {
	On bool
	// Idle, when positive, has a requester that had nothing outstanding for so long
	// begin with RFC 5681's initial window; see restartWindow.
	Idle units.Time
}

// restartWindow is the initial window of RFC 5681 in packets of mtu bytes.
func restartWindow(mtu units.Bytes) uint32 {
	switch {
	case mtu > 2190:
		return 2
	case mtu > 1095:
		return 3
	}
	return 4
}

// slowRestart is its state; the window is QP.maxOut.
type slowRestart struct {
	full uint32     // what maxOut is without
	end  uint64     // the window doubles when all before this has arrived
	idle units.Time // since when nothing is outstanding; Never while something is, or nothing ever was
	acts record.Act
}

// narrow lets n packets be outstanding from now on.
func (s *slowRestart) narrow(q *QP, now units.Time, n uint32) {
	q.maxOut = min(n, s.full)
	s.end = q.una + uint64(q.maxOut)
	s.acts.Add(now, 1)
}

// progress notes that everything before seq has arrived, una already being there.
func (s *slowRestart) progress(q *QP, now units.Time, seq uint64) {
	if q.maxOut < s.full && seq >= s.end {
		q.maxOut = min(2*q.maxOut, s.full)
		s.end = seq + uint64(q.maxOut)
	}
	s.idle = units.Never
	if seq == q.high {
		s.idle = now
	}
}

// afterIdle narrows the window when the requester gets work after having had none
// outstanding for Idle (RFC 5681 4.1).
func (q *QP) afterIdle(now units.Time) {
	s := q.cold.extras.adaptive.restart
	if s == nil || q.cfg.SlowRestart.Idle == 0 || s.idle == units.Never || q.cold.posted != q.high {
		return
	}
	if n := restartWindow(q.cfg.MTU); now-s.idle >= q.cfg.SlowRestart.Idle && n < q.maxOut {
		s.narrow(q, now, n)
	}
}

// restarting reports whether a slow restart keeps the window small.
func (q *QP) restarting() bool {
	return q.adapts && q.cold.extras.adaptive.restart != nil && q.maxOut < q.cold.extras.adaptive.restart.full
}

// SlowRestarts is the ledger of the slow restart: how often the window was made
// small.
func (q *QP) SlowRestarts() (a record.Act) {
	if q.adapts && q.cold.extras.adaptive.restart != nil {
		a = q.cold.extras.adaptive.restart.acts
	}
	return a
}
