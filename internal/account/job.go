package account

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Jobs adds up what jobs do, a step when it is over at all ranks: what each operation did is kept no longer.
type Jobs struct {
	*Ends
	// Told, if not nil, hears of each step that is over.
	Told  func(record.StepOver)
	books []*jobBook
	seen  int64 // steps of ranks that were over at the last look
}

// NewJobs begins the books of the jobs of a run: with lanes, of some ranks what a page draws, and with traced, of all
// what a timeline in detail shows.
func NewJobs(e *Ends, lanes, traced bool) *Jobs {
	s := &Jobs{Ends: e}
	for i, j := range e.Valid.Plan.Jobs {
		s.books = append(s.books, newJobBook(e, j, i, lanes, traced))
	}
	return s
}

// Look adds up the steps that are over. Nothing may run meanwhile.
func (s *Jobs) Look() {
	if len(s.books) == 0 {
		return
	}
	seen := int64(0)
	for _, h := range s.Hosts {
		if h != nil {
			seen += h.JobSteps()
		}
	}
	if seen == s.seen {
		return
	}
	s.seen = seen
	for _, x := range s.books {
		for x.step < x.Steps && x.stepOver() {
			x.addStep(units.Never)
			if s.Told != nil {
				s.Told(x.told())
			}
		}
	}
}

// Steps is how many steps of all jobs are over, and how many there are.
func (s *Jobs) Steps() (over, of int) {
	for _, x := range s.books {
		over, of = over+x.step, of+x.Steps
	}
	return over, of
}

// Jobs are the records of the jobs, of a run that has come to an end, with what a trace shows of them.
func (s *Jobs) Jobs(b *Book, end units.Time) (out []record.Job, traces []record.RankTrace, leftOut []string) {
	s.Look()
	for _, x := range s.books {
		out = append(out, *x.finish(b, end))
		traces, leftOut = append(traces, x.traces...), append(leftOut, x.cut...)
	}
	return out, traces, leftOut
}

// JobsOf are the jobs of a run that has come to an end, by when their operations ran: by job and rank, step after step.
func JobsOf(w *build.World, runs [][][]nic.JobRun, end units.Time) (out []record.Job) {
	e := EndsOf(w)
	for i, j := range w.Valid.Plan.Jobs {
		x := newJobBook(e, j, i, false, false)
		x.source = &listedRuns{Job: j, runs: runs[i], at: make([]int, len(j.Ranks))}
		for x.step < x.Steps && x.stepOver() {
			x.addStep(units.Never)
		}
		out = append(out, *x.finish(nil, end))
	}
	return out
}

// jobRuns knows when the operations of the ranks of a job ran.
type jobRuns interface {
	// JobStep is how many steps a rank is through with, JobRuns the runs of the first that was not dropped; nil: it has
	// none.
	JobStep(job, rank int) int
	JobRuns(job, rank int) []nic.JobRun
	DropJobRuns(job, rank int)
}

// listedRuns are those of a run that has ended, by rank.
type listedRuns struct {
	*workload.Job
	runs [][]nic.JobRun
	at   []int // by rank: the first step that was not dropped
}

// of are the runs of a rank in a step.
func (x *listedRuns) of(rank, step int) []nic.JobRun {
	n := len(x.Lists[x.List[rank]].Ops)
	if n == 0 || len(x.runs[rank]) < (step+1)*n {
		return nil
	}
	return x.runs[rank][step*n : (step+1)*n]
}

// JobStep implements jobRuns.
func (x *listedRuns) JobStep(_, rank int) (step int) {
	open := func(r nic.JobRun) bool { return r.End == units.Never }
	for step = x.at[rank]; step < x.Steps; step++ {
		runs := x.of(rank, step)
		if runs == nil || slices.ContainsFunc(runs, open) {
			break
		}
	}
	return step
}

// JobRuns implements jobRuns.
func (x *listedRuns) JobRuns(_, rank int) []nic.JobRun { return x.of(rank, x.at[rank]) }

// DropJobRuns implements jobRuns.
func (x *listedRuns) DropJobRuns(_, rank int) { x.at[rank]++ }

// jobBook is a job while it is recorded.
type jobBook struct {
	*Ends
	*workload.Job
	nr     int
	source jobRuns
	out    record.Job
	step   int          // the first that is not added up
	at     []units.Time // by rank: up to when its time is added up
	// base is by program the first of its meetings of a step, and turn how many of them the rank at hand has come to.
	base, turn []int32
	met        []meeting
	late       []map[int32]int64 // by call and rank: how often it came last
	rows       [][]record.JobTime
	runs       [][]nic.JobRun // of the step at hand, by rank; nil: it has none
	changes    []change
	active     []int
	meets      []int32 // by operation of the rank at hand: its meeting; -1: none
	lanes      bool
	before     []record.JobTime // the shares at the step before
	traces     []record.RankTrace
	traced     []int // by rank: how many operations may still be listed
	cut        []string
}

// meeting is when ranks came to a call of a group, and left it.
type meeting struct {
	first, last, end units.Time // Never: one has not
	call             int32
	rank             int32 // that came last
	seats            int32 // that have come
}

func newJobBook(e *Ends, j *workload.Job, nr int, lanes, traced bool) *jobBook {
	x := &jobBook{Ends: e, Job: j, nr: nr, source: e.World, lanes: lanes}
	x.out = record.Job{Workload: e.Valid.Plan.Entries[j.Entry], Ranks: len(j.Ranks), StartPS: j.Start, Peak: j.Peak,
		Stages: j.Stages, MicroBatches: j.Micro, Chunks: j.Chunks}
	for _, l := range j.List {
		x.out.Flops += j.Lists[l].Flops
	}
	programs := len(e.Valid.Plan.Programs)
	if j.Ideal != nil {
		programs = len(j.Ideal.Members)
	}
	x.base, x.turn = make([]int32, programs), make([]int32, programs)
	counts := make([]int32, programs)
	for r := range j.Ranks {
		x.at = append(x.at, j.Start)
		clear(x.turn)
		x.eachCall(r, func(_ int, _ *workload.JobOp, program int32) {
			x.turn[program]++
			counts[program] = max(counts[program], x.turn[program])
		})
	}
	sum := int32(0)
	for p, n := range counts {
		x.base[p] = sum
		sum += n
	}
	x.met = make([]meeting, sum)
	x.rows, x.runs = make([][]record.JobTime, len(j.Ranks)), make([][]nic.JobRun, len(j.Ranks))
	x.late = make([]map[int32]int64, len(j.Calls))
	for i := range j.Calls {
		x.out.Calls = append(x.out.Calls, record.JobCall{Name: j.Calls[i].Name, Bytes: int64(j.Calls[i].Bytes),
			LastRank: -1})
		x.late[i] = make(map[int32]int64)
	}
	if traced {
		x.startTrace()
	}
	return x
}

// eachCall calls f with the operations of a rank that call, and the programs that they call.
func (x *jobBook) eachCall(rank int, f func(op int, o *workload.JobOp, program int32)) {
	list := &x.Lists[x.List[rank]]
	for k := range list.Ops {
		if o := &list.Ops[k]; o.Kind == workload.JobCalls {
			if p := x.Calls[o.Call].Seats[rank].Program; p >= 0 {
				f(k, o, p)
			}
		}
	}
}

// eachMeeting calls f with the operations of a rank that call, and the meetings of a step that they are.
func (x *jobBook) eachMeeting(rank int, f func(op int, o *workload.JobOp, meeting int32)) {
	x.eachCall(rank, func(_ int, _ *workload.JobOp, p int32) { x.turn[p] = 0 })
	x.eachCall(rank, func(k int, o *workload.JobOp, p int32) {
		f(k, o, x.base[p]+x.turn[p])
		x.turn[p]++
	})
}

// stepOver reports whether all ranks are through with the step at hand.
func (x *jobBook) stepOver() bool {
	for r := range x.Ranks {
		if len(x.Lists[x.List[r]].Ops) > 0 && x.source.JobStep(x.nr, r) <= x.step {
			return false
		}
	}
	return true
}

// addStep adds up a step: with end below Never one that is not over, of a run that ended then.
func (x *jobBook) addStep(end units.Time) {
	for r := range x.Ranks {
		x.runs[r] = nil
		if x.source.JobStep(x.nr, r) >= x.step && x.at[r] < end {
			x.runs[r] = x.source.JobRuns(x.nr, r)
		}
	}
	x.meet()
	x.addCalls()
	if end != units.Never {
		x.addOpen()
	}
	from := x.Start
	if x.step > 0 {
		from = x.out.EndPS[x.step-1]
	}
	over, last := from, -1
	for r := range x.Ranks {
		until := x.ended(r)
		if until > over && until != units.Never {
			over, last = until, r
		}
	}
	drawn := x.drawn(max(last, 0), end)
	for r := range x.Ranks {
		until := min(x.ended(r), end)
		var lanes *laneBook
		if slices.Contains(drawn, r) {
			lanes = x.newLanes(r, from, min(over, end))
		}
		if x.runs[r] != nil && until > x.at[r] {
			x.sweep(r, until, lanes)
			x.at[r] = until
		}
		if x.runs[r] != nil {
			x.trace(r)
		}
		lanes.finish(x.runs[r])
	}
	for r := range x.Ranks {
		if x.runs[r] != nil {
			x.source.DropJobRuns(x.nr, r)
		}
	}
	if end == units.Never {
		x.out.EndPS, x.out.LastRank = append(x.out.EndPS, over), append(x.out.LastRank, last)
		x.step++
	}
}

// ended is when a rank was through with the step at hand; Never: it was not.
func (x *jobBook) ended(rank int) (at units.Time) {
	at = x.at[rank]
	for i := range x.runs[rank] {
		at = max(at, x.runs[rank][i].End)
	}
	return at
}

// finish ends the record of a job in a run that has ended.
func (x *jobBook) finish(b *Book, end units.Time) *record.Job {
	out := &x.out
	over := end
	if x.step == x.Steps {
		over = out.EndPS[x.step-1]
	}
	for s, begun := x.step, true; s < x.Steps; s++ {
		if begun = begun && x.begun(end); begun {
			x.addStep(end)
		}
		x.step++
		out.EndPS, out.LastRank = append(out.EndPS, -1), append(out.LastRank, -1)
	}
	for r := range x.Ranks {
		if d := over - x.at[r]; d > 0 {
			x.spend(r, record.JobIdle, "", d)
		}
		out.Times = append(out.Times, x.rows[r]...)
	}
	for i := range out.Calls {
		for r := range x.Ranks {
			if n := x.late[i][int32(r)]; n > out.Calls[i].LastCount {
				out.Calls[i].LastRank, out.Calls[i].LastCount = r, n
			}
		}
	}
	out.Calls = slices.DeleteFunc(out.Calls, func(c record.JobCall) bool { return c.Count == 0 })
	if last := len(out.EndPS) - 1; out.EndPS[last] < 0 {
		slices.SortStableFunc(out.Open, func(a, b record.JobOpen) int { return cmp.Compare(a.Rank, b.Rank) })
		out.Open = out.Open[:min(len(out.Open), mostOpen)]
	} else {
		var best *nic.JobEnd
		for _, h := range x.Hosts {
			if h == nil {
				continue
			}
			if e := h.JobEnd(x.nr); e != nil && (best == nil || e.At > best.At) {
				best = e
			}
		}
		if best != nil {
			out.Critical = b.pathOf(best.Path(len(x.Valid.Plan.Labels)), best.At-x.Start)
		}
	}
	return out
}

// mostOpen is how many operations under way are told.
const mostOpen = 8

// addOpen adds the operations that were under way in the step at hand at the end of the run, of so many ranks as
// are told.
func (x *jobBook) addOpen() {
	n := 0
	for r, runs := range x.runs {
		if n >= mostOpen {
			return
		}
		list := &x.Lists[x.List[r]]
		meets := make([]int32, len(runs))
		for k := range meets {
			meets[k] = -1
		}
		if runs != nil {
			x.eachMeeting(r, func(k int, _ *workload.JobOp, n int32) { meets[k] = n })
		}
		for k := range runs {
			if runs[k].Begin == units.Never || runs[k].End != units.Never {
				continue
			}
			o := record.JobOpen{Rank: r, Step: x.step, Operation: list.Names[list.Ops[k].Name], SincePS: runs[k].Begin,
				Awaits: -1}
			if meets[k] >= 0 && x.met[meets[k]].last == units.Never {
				o.Awaits = int(x.met[meets[k]].rank)
			}
			x.out.Open = append(x.out.Open, o)
			n++
		}
	}
}

// begun reports whether a rank was in the step at hand when the run ended.
func (x *jobBook) begun(end units.Time) bool {
	for r := range x.Ranks {
		if x.at[r] < end && x.source.JobRuns(x.nr, r) != nil {
			return true
		}
	}
	return false
}

// meet finds when ranks came to the meetings of the step at hand.
func (x *jobBook) meet() {
	for i := range x.met {
		x.met[i] = meeting{first: units.Never}
	}
	for r, runs := range x.runs {
		x.eachMeeting(r, func(k int, o *workload.JobOp, n int32) {
			run := nic.JobRun{Begin: units.Never, End: units.Never}
			if runs != nil {
				run = runs[k]
			}
			m := &x.met[n]
			if m.seats == 0 {
				m.call = o.Call
			}
			m.first = min(m.first, run.Begin)
			if m.seats == 0 || run.Begin > m.last {
				m.last, m.rank = run.Begin, int32(r)
			}
			m.end = max(m.end, run.End)
			m.seats++
		})
	}
}

// addCalls adds the meetings of the step at hand to those of their calls. A message counts with the lower rank.
func (x *jobBook) addCalls() {
	for i := range x.met {
		m := &x.met[i]
		if m.seats == 0 || m.end == units.Never || m.last == units.Never {
			continue
		}
		c := &x.out.Calls[m.call]
		c.Count++
		c.TimePS += m.end - m.last
		c.WaitPS += m.last - m.first
		c.LongestPS = max(c.LongestPS, m.end-m.last)
		if m.last > m.first {
			x.late[m.call][m.rank]++
		}
	}
}

// change is that an operation begins, or with end set is over.
type change struct {
	at  units.Time
	run int // -1: a call's last rank comes
	end bool
}

// timeKey is what a rank does.
type timeKey struct{ kind, what string }

// sweep adds up what a rank did in the step at hand, up to a time, in the order in which that came.
func (x *jobBook) sweep(rank int, until units.Time, lanes *laneBook) {
	list, runs := &x.Lists[x.List[rank]], x.runs[rank]
	x.meets = slices.Grow(x.meets[:0], len(runs))[:len(runs)]
	for k := range x.meets {
		x.meets[k] = -1
	}
	x.eachMeeting(rank, func(k int, _ *workload.JobOp, n int32) { x.meets[k] = n })
	x.changes = x.changes[:0]
	for k := range runs {
		if runs[k].Begin == units.Never || runs[k].Begin == runs[k].End {
			continue
		}
		x.changes = append(x.changes, change{runs[k].Begin, k, false})
		if runs[k].End != units.Never {
			x.changes = append(x.changes, change{runs[k].End, k, true})
		}
		if n := x.meets[k]; n >= 0 {
			if at := x.met[n].last; at != units.Never && at > runs[k].Begin && at < runs[k].End {
				x.changes = append(x.changes, change{at, -1, false}) // from waiting to moving
			}
		}
	}
	x.changes = append(x.changes, change{until, -1, false})
	slices.SortStableFunc(x.changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	x.active = x.active[:0]
	now := x.at[rank]
	for _, c := range x.changes {
		if at := min(c.at, until); at > now {
			key := x.does(list, now)
			x.spend(rank, key.kind, key.what, at-now)
			x.traceState(rank, key, now, at)
			lanes.state(key, now, at)
			now = at
		}
		switch {
		case c.run < 0:
		case c.end:
			x.active = slices.DeleteFunc(x.active, func(k int) bool { return k == c.run })
		default:
			x.active = append(x.active, c.run)
		}
	}
}

// spend adds to what a rank did.
func (x *jobBook) spend(rank int, kind, what string, d units.Time) {
	rows := x.rows[rank]
	for i := range rows {
		if rows[i].Kind == kind && rows[i].What == what {
			rows[i].TimePS += d
			return
		}
	}
	x.rows[rank] = append(rows, record.JobTime{Rank: rank, Kind: kind, What: what, TimePS: d})
}

// does says what a rank does from an instant on: the first of the computations that run, or else of the
// calls whose data move, or else of copies, of what the host does, or of calls that wait for others.
func (x *jobBook) does(list *workload.JobList, now units.Time) timeKey {
	waits, beside := timeKey{record.JobStuck, ""}, timeKey{}
	for _, k := range x.active {
		switch o := &list.Ops[k]; {
		case o.Kind == workload.JobCompute && !o.Host:
			return timeKey{record.JobComputes, x.Valid.Plan.Labels[o.Label].Text}
		case o.Kind == workload.JobCopies && beside.kind != record.JobCopies:
			beside = timeKey{record.JobCopies, list.Names[o.Name]}
		case o.Kind == workload.JobCompute && beside.kind == "":
			beside = timeKey{record.JobHost, x.Valid.Plan.Labels[o.Label].Text}
		}
	}
	for _, k := range x.active {
		o := &list.Ops[k]
		if o.Kind != workload.JobCalls {
			continue
		}
		c := &x.Calls[o.Call]
		switch n := x.meets[k]; {
		case n < 0 || now >= x.met[n].last:
			return timeKey{record.JobExposed, c.Name}
		case waits.kind == record.JobStuck && c.Message:
			waits = timeKey{record.JobMessage, c.Name}
		case waits.kind == record.JobStuck:
			waits = timeKey{record.JobWaits, c.Name}
		}
	}
	if beside.kind != "" {
		return beside
	}
	return waits
}

// told is what is told of the step that was added up last.
func (x *jobBook) told() record.StepOver {
	n := len(x.out.EndPS)
	out := record.StepOver{Job: x.out.Workload, Step: n, Of: x.Steps, Took: x.out.EndPS[n-1] - x.Start,
		Last: x.out.LastRank[n-1]}
	if n > 1 {
		out.Took = x.out.EndPS[n-1] - x.out.EndPS[n-2]
	}
	sums := make([]record.JobTime, 0, 8) // mean of ranks, by kind
	for _, rows := range x.rows {
		for i := range rows {
			k := slices.IndexFunc(sums, func(s record.JobTime) bool { return s.Kind == rows[i].Kind })
			if k < 0 {
				k = len(sums)
				sums = append(sums, record.JobTime{Kind: rows[i].Kind})
			}
			sums[k].TimePS += rows[i].TimePS
		}
	}
	for _, s := range sums {
		if k := slices.IndexFunc(x.before, func(b record.JobTime) bool { return b.Kind == s.Kind }); k >= 0 {
			s.TimePS -= x.before[k].TimePS
		}
		s.TimePS /= units.Time(len(x.Ranks))
		out.Shares = append(out.Shares, s)
	}
	x.before = sums
	return out
}
