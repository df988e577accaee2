package nic

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// job is a job of the plan, and what its ranks have come to. All hosts share it; each writes
// what is its ranks'.
type job struct {
	*workload.Job
	base  uint64 // its first place in the order of operations
	ranks []jobRank
	ideal []idealGroup
}

// idealGroup is what ranks of an ideal group, or pair, have come to.
type idealGroup struct {
	here []jobCaller  // who waits for the others, or of a pair the receiver
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
	runs      []JobRun   // of this step, by operation of its list
	over      [][]JobRun // of steps that it is through with, which nobody has taken yet
	spare     []JobRun   // room for a step's
	jitter    rng.Stream // of computations
}

// JobRun is when an operation of a job began, all that it waits for being over, and ended; Never: not yet.
type JobRun struct{ Begin, End units.Time }

// computing is a computation under way. Those of one GPU share what kernels of calls leave of its
// multiprocessors in equal parts.
type computing struct {
	op     int32  // of the list
	number uint32 // of its operation
	rest   int64  // what is still to be done, in ps of one multiprocessor
	due    units.Time
	at     units.Time // for which a timer is set; Never: none
}

// JobRank is a rank of a job that is at a host.
type JobRank struct{ Job, Rank int32 }

// jobCaller is who called the iteration of a program that a rank is in.
type jobCaller struct{ job, rank, op int32 }

// JobEnd is when the last rank of a job at a host was through with it, and how it came to that.
type JobEnd struct {
	At   units.Time
	Rank int32
	path path
}

// Path is the critical path to that end.
func (e *JobEnd) Path(labels int) *Path { return pathFrom(e.path, labels) }

// startJobs sets the timers of the ranks of jobs at this host.
func (h *Host) startJobs() {
	x := &h.programs
	x.ends = make([]JobEnd, len(x.jobs))
	for _, r := range x.ownJobs {
		j := &x.jobs[r.Job]
		list := &j.Lists[j.List[r.Rank]]
		if len(list.Ops) == 0 {
			continue
		}
		s := &j.ranks[r.Rank]
		s.need, s.left = slices.Clone(list.Need), len(list.Ops)
		if j.Jitter > 0 {
			s.jitter = rng.New(j.Seed, fmt.Sprintf("jobs/%s/rank %d/jitter", j.Name, r.Rank))
		}
		s.newRuns(len(list.Ops))
		op := h.newOp(x.jobNumber(r.Job, r.Rank, 0), opJob, r.Job, r.Rank, 0)
		op.label = j.Begin
		h.timer(j.Start, j.Start, timerLocal, op.number)
		h.running++
		h.left++
	}
}

// jobNumber is the number of an operation of a job, of those of its ranks' lists one after the other.
func (x *programs) jobNumber(of, rank int32, op int) uint32 {
	j := &x.jobs[of]
	most := 1
	for l := range j.Lists {
		most = max(most, len(j.Lists[l].Ops))
	}
	return x.first + uint32((j.base+uint64(rank)*uint64(most)+uint64(op))%uint64(^uint32(0)-x.first))
}

// stepJob begins a step of a rank.
func (h *Host) stepJob(now units.Time, of, rank int32) {
	j := &h.programs.jobs[of]
	list := &j.Lists[j.List[rank]]
	for k := range list.Ops {
		if list.Need[k] == 0 {
			h.beginJobOp(now, of, rank, int32(k))
		}
	}
}

// beginJobOp begins an operation of a rank.
func (h *Host) beginJobOp(now units.Time, of, rank, op int32) {
	j := &h.programs.jobs[of]
	s, list := &j.ranks[rank], &j.Lists[j.List[rank]]
	s.runs[op].Begin = now
	o := &list.Ops[op]
	switch {
	case o.Kind == workload.JobCompute && o.Host && o.Time > 0:
		h.passes(now, now+h.jobTime(of, rank, o.Time), o.Label, jobCaller{of, rank, op})
	case o.Kind == workload.JobCompute && o.Time > 0:
		h.compute(now, of, rank, op)
	case o.Kind == workload.JobCalls && j.Calls[o.Call].Seats[rank].Program >= 0:
		if j.Ideal != nil {
			h.meetIdeally(now, of, rank, op)
			return
		}
		h.launchCall(now, of, rank, op)
	case o.Kind == workload.JobCopies:
		h.copies(now, of, rank, op)
	default:
		h.jobOpOver(now, of, rank, op)
	}
}

// copies begins a copy, which takes turns with all else that moves there.
func (h *Host) copies(now units.Time, of, rank, op int32) {
	x := &h.programs
	j := &x.jobs[of]
	o := &j.Lists[j.List[rank]].Ops[op]
	way := &j.Ways[o.Call][rank]
	run := h.newOp(x.jobNumber(of, rank, int(op)), opMove, of, rank, int(op))
	run.label, run.sliced = o.Label, true
	h.moves(run, way.From, way.To, o.Bytes)
	h.beginLocal(now, run.number)
}

// launchCall launches the kernel of a rank for an iteration of a program.
func (h *Host) launchCall(now units.Time, of, rank, op int32) {
	x := &h.programs
	j := &x.jobs[of]
	seat := j.Calls[j.Lists[j.List[rank]].Ops[op].Call].Seats[rank]
	p := &x.list[seat.Program]
	p.callers[seat.Rank] = jobCaller{of, rank, op}
	h.occupy(now, of, rank, p.held)
	r := &p.ranks[seat.Rank]
	launch := h.newOp(p.number(int(r.iteration), uint64(seat.Rank), x.first), opLaunch, seat.Program, seat.Rank, 0)
	launch.label = p.Launch
	h.beginLocal(now, launch.number)
}

// meetIdeally has a rank come to a call of an ideal network.
func (h *Host) meetIdeally(now units.Time, of, rank, op int32) {
	j := &h.programs.jobs[of]
	c := &j.Calls[j.Lists[j.List[rank]].Ops[op].Call]
	seat := c.Seats[rank]
	g := &j.ideal[seat.Program]
	switch {
	case !c.Message:
		if g.here = append(g.here, jobCaller{of, rank, op}); len(g.here) < int(j.Ideal.Members[seat.Program]) {
			return
		}
		all := g.here
		g.here = nil
		for _, m := range all {
			h.ideally(now, now+j.Ideal.Delay, m)
		}
	case seat.Rank == 0:
		if len(g.here) > 0 {
			to := g.here[0]
			g.here = g.here[:0]
			h.ideally(now, now+j.Ideal.Delay, to)
		} else {
			g.sent = append(g.sent, now)
		}
		h.jobOpOver(now, of, rank, op)
	case len(g.sent) > 0:
		at := g.sent[0] + j.Ideal.Delay
		g.sent = g.sent[1:]
		h.ideally(now, max(now, at), jobCaller{of, rank, op})
	default:
		g.here = append(g.here, jobCaller{of, rank, op})
	}
}

// ideally ends a rank's call at a time.
func (h *Host) ideally(now, at units.Time, c jobCaller) {
	h.passes(now, at, h.programs.jobs[c.job].Ideal.Label, c)
}

// passes ends a rank's operation at a time.
func (h *Host) passes(now, at units.Time, label uint16, c jobCaller) {
	x := &h.programs
	op := h.newOp(x.jobNumber(c.job, c.rank, int(c.op)), opPass, c.job, c.rank, int(c.op))
	op.label, op.work = label, at-now
	h.beginLocal(now, op.number)
}

// called goes on after a rank's kernel of a call is over.
func (h *Host) called(now units.Time, p *program, rank int32) {
	c := p.callers[rank]
	h.occupy(now, c.job, c.rank, -p.held)
	h.jobOpOver(now, c.job, c.rank, c.op)
}

// jobOpEnded goes on after the begin of a rank, or a computation.
func (h *Host) jobOpEnded(now units.Time, op *programOp) {
	if op.kind == opJob {
		h.stepJob(now, op.of, op.at)
		return
	}
	h.jobOpOver(now, op.of, op.at, int32(op.unit))
}

// jobOpOver starts what waits for an operation of a rank.
func (h *Host) jobOpOver(now units.Time, of, rank, op int32) {
	x := &h.programs
	j := &x.jobs[of]
	s, list := &j.ranks[rank], &j.Lists[j.List[rank]]
	s.runs[op].End = now
	s.left--
	for _, next := range list.Released(int(op)) {
		if s.need[next]--; s.need[next] == 0 {
			h.beginJobOp(now, of, rank, next)
		}
	}
	if s.left > 0 || s.step >= j.Steps {
		return
	}
	s.over, s.runs = append(s.over, s.runs), nil
	x.stepped++
	if s.step++; s.step < j.Steps {
		copy(s.need, list.Need)
		s.left = len(list.Ops)
		s.newRuns(len(list.Ops))
		h.stepJob(now, of, rank)
		return
	}
	h.left--
	if e := &x.ends[of]; e.path == nil || now > e.At {
		e.At, e.Rank, e.path = now, rank, append(e.path[:0], x.path...)
	}
}

// compute begins a computation.
func (h *Host) compute(now units.Time, of, rank, op int32) {
	x := &h.programs
	j := &x.jobs[of]
	s, o := &j.ranks[rank], &j.Lists[j.List[rank]].Ops[op]
	h.progress(now, of, rank)
	run := h.newOp(x.jobNumber(of, rank, int(op)), opCompute, of, rank, int(op))
	run.label, run.Due, run.Moved, run.turning = o.Label, now, now, computes
	h.running++
	s.computing = append(s.computing, computing{op: op, number: run.number, rest: int64(h.jobTime(of, rank,
		o.Time)) * int64(max(1, j.Processors[rank])), at: units.Never})
	h.share(now, of, rank)
}

// leastJitter is the least factor of a computation.
const leastJitter = 0.1

// jobTime is what a computation of a time takes this time at a rank that may be slow, or vary.
func (h *Host) jobTime(of, rank int32, t units.Time) units.Time {
	j := &h.programs.jobs[of]
	if j.Slow != nil {
		t = t * units.Time(j.Slow[rank]) / 1000
	}
	if j.Jitter > 0 {
		x := -6.0 // twelve draws from 0 to 1 have a variance of 1: nearly normal
		for range 12 {
			x += j.ranks[rank].jitter.Float64()
		}
		t = units.Time(float64(t) * max(leastJitter, 1+j.Jitter*x))
	}
	return t
}

// computes is the mark of a computation in LocalRun.turning.
const computes = -1

// occupy gives multiprocessors of a rank's GPU to a kernel of a call, or with n below 0 back.
func (h *Host) occupy(now units.Time, of, rank, n int32) {
	j := &h.programs.jobs[of]
	if s := &j.ranks[rank]; j.Processors[rank] > 0 && n != 0 {
		h.progress(now, of, rank)
		s.taken += n
		h.share(now, of, rank)
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
func (h *Host) progress(now units.Time, of, rank int32) {
	j := &h.programs.jobs[of]
	s := &j.ranks[rank]
	if d := int64(now - s.since); d > 0 && len(s.computing) > 0 {
		for i := range s.computing {
			c := &s.computing[i]
			c.rest = max(0, c.rest-d*j.free(rank)/int64(len(s.computing)))
		}
	}
	s.since = now
}

// share sets the timers of the computations of a rank, each for when it will be over if nothing
// changes. A timer that comes too early sets another one.
func (h *Host) share(now units.Time, of, rank int32) {
	j := &h.programs.jobs[of]
	s := &j.ranks[rank]
	for i := range s.computing {
		c := &s.computing[i]
		free, n := j.free(rank), int64(len(s.computing))
		c.due = now + units.Time((c.rest*n+free-1)/free)
		if c.due < c.at {
			c.at = c.due
			h.timer(c.due, c.due-now, timerLocal, c.number)
		}
	}
}

// computed goes on with a computation whose timer has come.
func (h *Host) computed(now units.Time, number uint32) {
	x := &h.programs
	op := x.ops[x.index[number]]
	s := &x.jobs[op.of].ranks[op.at]
	i := slices.IndexFunc(s.computing, func(c computing) bool { return c.number == number })
	c := &s.computing[i]
	switch {
	case now != c.at: // another one has been set since
		return
	case now < c.due:
		c.at = c.due
		h.timer(c.due, c.due-now, timerLocal, c.number)
		return
	}
	h.progress(now, op.of, op.at)
	s.computing = slices.Delete(s.computing, i, i+1)
	op.turning, op.Done = 0, now
	h.running--
	h.net.Part().NoteWork()
	h.share(now, op.of, op.at)
	h.localEnded(now, number)
}

// newRuns makes room for the runs of a step.
func (s *jobRank) newRuns(n int) {
	if s.runs, s.spare = s.spare, nil; s.runs == nil {
		s.runs = make([]JobRun, n)
	}
	for i := range s.runs {
		s.runs[i] = JobRun{units.Never, units.Never}
	}
}

// JobSteps is how many steps the host's ranks of jobs are through with, all together.
func (h *Host) JobSteps() int64 { return h.programs.stepped }

// LaneSteps is how many steps the lanes of the host's ranks of programs are through with.
func (h *Host) LaneSteps() int64 { return h.programs.taken }

// JobStep is how many steps a rank is through with.
func (h *Host) JobStep(of, rank int) int {
	if h.programs.Programs == nil {
		return 0
	}
	return h.programs.jobs[of].ranks[rank].step
}

// JobRuns is when the operations of a rank's list ran in the first step that was not dropped yet; nil: the rank
// has none, or has not begun.
func (h *Host) JobRuns(of, rank int) []JobRun {
	if h.programs.Programs == nil {
		return nil
	}
	s := &h.programs.jobs[of].ranks[rank]
	if len(s.over) > 0 {
		return s.over[0]
	}
	return s.runs
}

// DropJobRuns drops what JobRuns returns, of a step that is over at the rank.
func (h *Host) DropJobRuns(of, rank int) {
	if s := &h.programs.jobs[of].ranks[rank]; len(s.over) > 0 {
		s.spare = s.over[0]
		s.over = slices.Delete(s.over, 0, 1)
	}
}

// JobEnd is the end of the host's last rank of a job.
func (h *Host) JobEnd(of int) *JobEnd {
	if h.programs.Programs == nil || h.programs.ends[of].path == nil {
		return nil
	}
	return &h.programs.ends[of]
}
