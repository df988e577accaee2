package run

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/units"
)

// patience is how long a run goes on after the last queue pair with something to do
// began to try in vain: for all that is on its way to arrive, and longer than any
// window, so that the run ends at the same time however wide the window was in which
// that was seen.
func (r *runner) patience() units.Time { return max(10*units.Millisecond, r.grace()) }

// suspect looks, now and then, whether the run does nothing but try in vain, and if
// so sets the time at which that is decided.
func (r *runner) suspect(now units.Time) bool {
	if r.verdict != units.Never || now < r.suspectAt || !r.tries() {
		return false
	}
	r.suspectAt = now + r.patience()/2
	since, _, vain := r.inVain()
	if vain {
		r.verdict = since + r.patience()
	}
	return vain
}

// tries reports whether some queue pair has tried in vain for a while, in the run so
// far.
func (r *runner) tries() bool {
	for _, h := range r.Hosts {
		if h != nil && h.TriedInVain() {
			return true
		}
	}
	return false
}

// inVain reports whether all open messages are of queue pairs that try in vain for
// want of receives, or wait for such messages to end, of which it gives the number;
// and since when.
func (r *runner) inVain() (since units.Time, waiting int, vain bool) {
	plan, open := r.Valid.Plan, 0
	for i, m := range plan.All() {
		state := &r.Messages[i]
		switch {
		case state.Posted == units.Never && m.Start == units.Never:
			waiting++
		case state.Posted == units.Never:
			return 0, 0, false
		case state.Done != units.Never:
			since = max(since, state.Done)
		case !r.Is(m.Conn, catalog.Verbs|catalog.Acknowledges): // those of TCP that were read count as well
		default:
			began := r.refusedSince(m.Conn)
			if began == units.Never {
				return 0, 0, false
			}
			open++
			since = max(since, began, state.Posted)
		}
	}
	for i := range plan.Locals {
		if at := plan.Locals[i].Start; at != units.Never {
			since = max(since, at)
		}
	}
	return since, waiting, open > 0 && open+waiting == r.open()
}

// refusedSince is since when connection c tries in vain to send messages for which
// its responder has no receive; Never: it does not.
func (r *runner) refusedSince(c int) units.Time {
	to := r.Responders[c]
	responder := r.Hosts[to.Node]
	began := r.Hosts[r.Valid.Graph.HostOf(r.Valid.Plan.Conns[c].Src)].InVain(to.Requester)
	if began == units.Never || responder.ReceivesWaiting(to.QP) != 0 {
		return units.Never
	}
	if n := responder.Accepted(to.QP); n > 0 {
		began = max(began, responder.Acceptance(to.QP, n-1).At)
	}
	return began
}

// decide ends a run, of which everything before the verdict has happened, as stalled
// if it does nothing but try in vain: no application has anything to do that might
// post receives, and nothing is on its way that messages wait for. Else it looks
// again later.
func (r *runner) decide() {
	since, waiting, vain := r.inVain()
	switch idle := waiting == 0 || int64(r.Engine.Alive()) == r.repeats(); {
	case !vain:
		r.verdict = units.Never
	case since+r.patience() > r.verdict:
		r.verdict = since + r.patience()
	case !idle || r.paused() > 0 || r.working() > 0 || r.restless() > 0:
		r.verdict += r.patience() / 3
	default:
		r.stopped, r.gaveUp = stalled, true
	}
}
