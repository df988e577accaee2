package flow

import (
	"slices"

	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// job is a job of the plan, and what its ranks have come to.
type job struct {
	*workload.Job
	ranks []jobRank
	ideal []idealGroup
}

// idealGroup is what ranks of an ideal group, or pair, have come to.
type idealGroup struct {
	here []caller     // who waits for the others, or of a pair the receiver
	sent []units.Time // of a pair: when what is not received yet was sent
}

// jobRank is what a rank of a job has come to.
type jobRank struct {
	need      []int32 // by operation of its list: how many others it waits for
	left      int     // operations of this step that are not over
	step      int
	taken     int32 // multiprocessors that kernels of calls hold
	computing []computing
	since     units.Time // when what they have still to do was last brought up to date
	runs      []nic.JobRun
}

// computing is a computation under way. Those of one GPU share what kernels of calls leave of its
// multiprocessors in equal parts, as at packet level.
type computing struct {
	op   int32      // of the list
	rest int64      // what is still to be done, in ps of one multiprocessor
	due  units.Time // when it is over if nothing changes
	at   units.Time // for which an event is set; Never: none
}

// startJobs has the ranks of jobs begin at their time.
func (s *sim) startJobs() {
	for i, j := range s.plan.Jobs {
		x := job{Job: j, ranks: make([]jobRank, len(j.Ranks))}
		if j.Ideal != nil {
			x.ideal = make([]idealGroup, len(j.Ideal.Members))
		}
		for r := range x.ranks {
			list, k := &j.Lists[j.List[r]], &x.ranks[r]
			if len(list.Ops) == 0 {
				continue
			}
			k.need, k.left = slices.Clone(list.Need), len(list.Ops)
			k.runs = make([]nic.JobRun, j.Steps*len(list.Ops))
			for n := range k.runs {
				k.runs[n] = nic.JobRun{Begin: units.Never, End: units.Never}
			}
			s.agenda.add(event{at: j.Start, kind: evBegin, of: int32(i), a: int32(r)})
		}
		s.jobs = append(s.jobs, x)
	}
}

// jobsOpen reports whether a job is not over.
func (s *sim) jobsOpen() bool {
	for i := range s.jobs {
		j := &s.jobs[i]
		for r := range j.ranks {
			if len(j.ranks[r].runs) > 0 && j.ranks[r].step < j.Steps {
				return true
			}
		}
	}
	return false
}

// stepJob begins a step of a rank.
func (s *sim) stepJob(now units.Time, of, rank int32) {
	j := &s.jobs[of]
	list := &j.Lists[j.List[rank]]
	for k := range list.Ops {
		if list.Need[k] == 0 {
			s.beginJobOp(now, of, rank, int32(k))
		}
	}
}

// beginJobOp begins an operation of a rank.
func (s *sim) beginJobOp(now units.Time, of, rank, op int32) {
	j := &s.jobs[of]
	r, list := &j.ranks[rank], &j.Lists[j.List[rank]]
	r.runs[r.step*len(list.Ops)+int(op)].Begin = now
	o := &list.Ops[op]
	switch {
	case o.Kind == workload.JobCompute && o.Host && o.Time > 0:
		s.agenda.add(event{at: now + o.Time, kind: evPass, of: of, a: rank, b: op})
	case o.Kind == workload.JobCompute && o.Time > 0:
		s.compute(now, of, rank, op)
	case o.Kind == workload.JobCalls && j.Calls[o.Call].Seats[rank].Program >= 0:
		if j.Ideal != nil {
			s.meetIdeally(now, of, rank, op)
			return
		}
		s.call(now, of, rank, op)
	default:
		s.agenda.add(event{at: now, kind: evPass, of: of, a: rank, b: op})
	}
}

// call has a rank come to a call.
func (s *sim) call(now units.Time, of, rank, op int32) {
	j := &s.jobs[of]
	seat := j.Calls[j.Lists[j.List[rank]].Ops[op].Call].Seats[rank]
	x := &s.programs[seat.Program]
	x.callers[seat.Rank] = caller{of, rank, op}
	s.occupy(now, of, rank, int32(x.Blocks))
	s.come(now, seat.Program, seat.Rank)
}

// called goes on after a rank's call is over.
func (s *sim) called(now units.Time, x *program, rank int32) {
	c := x.callers[rank]
	s.occupy(now, c.job, c.rank, -int32(x.Blocks))
	s.jobOpOver(now, c.job, c.rank, c.op)
}

// meetIdeally has a rank come to a call of an ideal network.
func (s *sim) meetIdeally(now units.Time, of, rank, op int32) {
	j := &s.jobs[of]
	c := &j.Calls[j.Lists[j.List[rank]].Ops[op].Call]
	seat := c.Seats[rank]
	g := &j.ideal[seat.Program]
	over := func(at units.Time, c caller) {
		s.agenda.add(event{at: at, kind: evPass, of: c.job, a: c.rank, b: c.op})
	}
	switch {
	case !c.Message:
		if g.here = append(g.here, caller{of, rank, op}); len(g.here) < int(j.Ideal.Members[seat.Program]) {
			return
		}
		for _, m := range g.here {
			over(now+j.Ideal.Delay, m)
		}
		g.here = nil
	case seat.Rank == 0:
		if len(g.here) > 0 {
			over(now+j.Ideal.Delay, g.here[0])
			g.here = g.here[:0]
		} else {
			g.sent = append(g.sent, now)
		}
		over(now, caller{of, rank, op})
	case len(g.sent) > 0:
		over(max(now, g.sent[0]+j.Ideal.Delay), caller{of, rank, op})
		g.sent = g.sent[1:]
	default:
		g.here = append(g.here, caller{of, rank, op})
	}
}

// jobOpOver starts what waits for an operation of a rank.
func (s *sim) jobOpOver(now units.Time, of, rank, op int32) {
	j := &s.jobs[of]
	r, list := &j.ranks[rank], &j.Lists[j.List[rank]]
	r.runs[r.step*len(list.Ops)+int(op)].End = now
	r.left--
	for _, next := range list.Released(int(op)) {
		if r.need[next]--; r.need[next] == 0 {
			s.beginJobOp(now, of, rank, next)
		}
	}
	if r.left > 0 || r.step >= j.Steps {
		return
	}
	if r.step++; r.step < j.Steps {
		copy(r.need, list.Need)
		r.left = len(list.Ops)
		s.stepJob(now, of, rank)
	}
}

// compute begins a computation.
func (s *sim) compute(now units.Time, of, rank, op int32) {
	j := &s.jobs[of]
	r, o := &j.ranks[rank], &j.Lists[j.List[rank]].Ops[op]
	s.progress(now, of, rank)
	r.computing = append(r.computing, computing{op: op, at: units.Never,
		rest: int64(o.Time) * int64(max(1, j.Processors[rank]))})
	s.share(now, of, rank)
}

// occupy gives multiprocessors of a rank's GPU to a kernel of a call, or with n below 0 back.
func (s *sim) occupy(now units.Time, of, rank, n int32) {
	j := &s.jobs[of]
	if j.Processors[rank] > 0 && n != 0 {
		s.progress(now, of, rank)
		j.ranks[rank].taken += n
		s.share(now, of, rank)
	}
}

// free is what kernels of calls leave of a rank's multiprocessors, at least one.
func (j *job) free(rank int32) int64 {
	if n := j.Processors[rank]; n > 0 {
		return int64(max(1, n-j.ranks[rank].taken))
	}
	return 1
}

// progress brings what computations of a rank have still to do up to now.
func (s *sim) progress(now units.Time, of, rank int32) {
	j := &s.jobs[of]
	r := &j.ranks[rank]
	if d := int64(now - r.since); d > 0 && len(r.computing) > 0 {
		for i := range r.computing {
			c := &r.computing[i]
			c.rest = max(0, c.rest-d*j.free(rank)/int64(len(r.computing)))
		}
	}
	r.since = now
}

// share sets the events of the computations of a rank, each for when it will be over if nothing changes. One
// that comes too early sets another.
func (s *sim) share(now units.Time, of, rank int32) {
	j := &s.jobs[of]
	r := &j.ranks[rank]
	free, n := j.free(rank), int64(len(r.computing))
	for i := range r.computing {
		c := &r.computing[i]
		if c.due = now + units.Time((c.rest*n+free-1)/free); c.due < c.at {
			c.at = c.due
			s.agenda.add(event{at: c.due, kind: evCompute, of: of, a: rank, b: c.op})
		}
	}
}

// computed goes on with a computation whose event has come.
func (s *sim) computed(now units.Time, of, rank, op int32) {
	r := &s.jobs[of].ranks[rank]
	i := slices.IndexFunc(r.computing, func(c computing) bool { return c.op == op && c.at == now })
	if i < 0 { // another one has been set since
		return
	}
	c := &r.computing[i]
	if now < c.due {
		c.at = c.due
		s.agenda.add(event{at: c.due, kind: evCompute, of: of, a: rank, b: op})
		return
	}
	s.progress(now, of, rank)
	r.computing = slices.Delete(r.computing, i, i+1)
	s.share(now, of, rank)
	s.jobOpOver(now, of, rank, op)
}
