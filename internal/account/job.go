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

// Jobs are those of the run, which has come to an end.
func (a *Book) Jobs(end units.Time) (out []record.Job) {
	for i, j := range a.Valid.Plan.Jobs {
		x := jobBook{Book: a, Job: j, nr: i, end: end}
		out = append(out, x.record())
	}
	return out
}

// JobsOf are the jobs of a run that has come to an end, by when their operations ran: by job and rank.
func JobsOf(w *build.World, runs [][][]nic.JobRun, end units.Time) (out []record.Job) {
	a := &Book{Ends: EndsOf(w)}
	for i, j := range w.Valid.Plan.Jobs {
		x := jobBook{Book: a, Job: j, nr: i, end: end, runs: runs[i]}
		out = append(out, x.record())
	}
	return out
}

// jobBook is a job while it is recorded.
type jobBook struct {
	*Book
	*workload.Job
	nr   int
	end  units.Time // of the run
	ends []units.Time
	met  map[meetingKey]*meeting // looked up, never iterated
	runs [][]nic.JobRun          // by rank
}

// meetingKey is an iteration of a program.
type meetingKey struct{ program, iteration int32 }

// meeting is when ranks came to an iteration, and left it.
type meeting struct {
	call             int32
	first, last, end units.Time // Never: one has not
	rank             int32      // that came last
	seats            int        // that have come
}

func (x *jobBook) record() record.Job {
	out := record.Job{Workload: x.Valid.Plan.Entries[x.Entry], Ranks: len(x.Ranks), StartPS: x.Start, Peak: x.Peak}
	for r := len(x.runs); r < len(x.Ranks); r++ {
		x.runs = append(x.runs, x.JobRuns(x.nr, r))
	}
	for _, l := range x.List {
		out.Flops += x.Lists[l].Flops
	}
	x.stepEnds(&out)
	order := x.meet()
	out.Calls = x.calls(order)
	for r := range x.Ranks {
		out.Times = append(out.Times, x.times(r)...)
	}
	if last := len(out.EndPS) - 1; out.EndPS[last] < 0 {
		out.Open = x.open()
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
			out.Critical = x.pathOf(best.Path(len(x.Valid.Plan.Labels)), best.At-x.Start)
		}
	}
	return out
}

// mostOpen is how many operations under way are told.
const mostOpen = 8

// open are the operations under way at the end of the run, by rank.
func (x *jobBook) open() (out []record.JobOpen) {
	for r, runs := range x.runs {
		list := &x.Lists[x.List[r]]
		keys := make(map[int]meetingKey)
		x.each(r, func(run int, _ *workload.JobOp, key meetingKey) { keys[run] = key })
		for k := range runs {
			if runs[k].Begin == units.Never || runs[k].End != units.Never {
				continue
			}
			o := record.JobOpen{Rank: r, Step: k / len(list.Ops), Operation: list.Names[list.Ops[k%len(list.Ops)].Name],
				SincePS: runs[k].Begin, Awaits: -1}
			if m := x.met[keys[k]]; m != nil && m.last == units.Never {
				o.Awaits = int(m.rank)
			}
			if out = append(out, o); len(out) == mostOpen {
				return out
			}
		}
	}
	return out
}

// stepEnds fills in when steps ended.
func (x *jobBook) stepEnds(out *record.Job) {
	for s := range x.Steps {
		at, rank := x.Start, -1
		for r, runs := range x.runs {
			n := len(x.Lists[x.List[r]].Ops)
			for _, run := range runs[s*n : (s+1)*n] {
				switch {
				case run.End == units.Never:
					at = units.Never
				case run.End > at:
					at, rank = run.End, r
				}
			}
		}
		if at == units.Never {
			out.EndPS, out.LastRank = append(out.EndPS, -1), append(out.LastRank, -1)
			x.ends = append(x.ends, x.end)
			continue
		}
		out.EndPS, out.LastRank = append(out.EndPS, at), append(out.LastRank, rank)
		x.ends = append(x.ends, at)
	}
}

// meet finds when ranks came to the iterations of programs, and returns these in an order.
func (x *jobBook) meet() (order []meetingKey) {
	x.met = make(map[meetingKey]*meeting)
	for r, runs := range x.runs {
		x.each(r, func(k int, o *workload.JobOp, key meetingKey) {
			run := &runs[k]
			m := x.met[key]
			if m == nil {
				m = &meeting{call: o.Call, first: units.Never}
				x.met[key] = m
				order = append(order, key)
			}
			m.first = min(m.first, run.Begin)
			if m.seats == 0 || run.Begin > m.last {
				m.last, m.rank = run.Begin, int32(r)
			}
			m.end = max(m.end, run.End)
			m.seats++
		})
	}
	return order
}

// each calls f with the runs of a rank that call, and the iteration that each was.
func (x *jobBook) each(rank int, f func(run int, o *workload.JobOp, key meetingKey)) {
	list := &x.Lists[x.List[rank]]
	iterations := make(map[int32]int32)
	for s := range x.Steps {
		for k := range list.Ops {
			o := &list.Ops[k]
			if o.Kind != workload.JobCalls {
				continue
			}
			if p := x.Calls[o.Call].Seats[rank].Program; p >= 0 {
				f(s*len(list.Ops)+k, o, meetingKey{p, iterations[p]})
				iterations[p]++
			}
		}
	}
}

// calls adds up the iterations by call. A message counts with who sends it.
func (x *jobBook) calls(order []meetingKey) []record.JobCall {
	out := make([]record.JobCall, len(x.Calls))
	late := make([]map[int32]int64, len(x.Calls))
	for i := range out {
		out[i] = record.JobCall{Name: x.Calls[i].Name, Bytes: int64(x.Calls[i].Bytes), LastRank: -1}
		late[i] = make(map[int32]int64)
	}
	for _, key := range order {
		m := x.met[key]
		c := &out[m.call]
		if m.end == units.Never || m.last == units.Never {
			continue
		}
		c.Count++
		c.TimePS += m.end - m.last
		c.WaitPS += m.last - m.first
		c.LongestPS = max(c.LongestPS, m.end-m.last)
		if m.last > m.first {
			late[m.call][m.rank]++
		}
	}
	for i := range out {
		for r := range x.Ranks {
			if n := late[i][int32(r)]; n > out[i].LastCount {
				out[i].LastRank, out[i].LastCount = r, n
			}
		}
	}
	return slices.DeleteFunc(out, func(c record.JobCall) bool { return c.Count == 0 })
}

// change is that an operation begins, or with end set is over.
type change struct {
	at  units.Time
	run int
	end bool
}

// timeKey is what a rank does.
type timeKey struct{ kind, what string }

// times are what a rank did, in the order in which that first came.
func (x *jobBook) times(rank int) (out []record.JobTime) {
	list, runs := &x.Lists[x.List[rank]], x.runs[rank]
	keys := make(map[int]meetingKey, len(runs))
	x.each(rank, func(run int, _ *workload.JobOp, key meetingKey) { keys[run] = key })
	var changes []change
	for k := range runs {
		if runs[k].Begin == units.Never || runs[k].Begin == runs[k].End {
			continue
		}
		changes = append(changes, change{runs[k].Begin, k, false})
		if runs[k].End != units.Never {
			changes = append(changes, change{runs[k].End, k, true})
		}
		if m := x.met[keys[k]]; m != nil && m.last != units.Never && m.last > runs[k].Begin && m.last < runs[k].End {
			changes = append(changes, change{m.last, -1, false}) // from waiting to moving
		}
	}
	for _, e := range x.ends {
		changes = append(changes, change{e, -1, false})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	sums := make(map[timeKey]int) // index in out
	var active []int
	now, ended := x.Start, x.ended(rank)
	for i, c := range changes {
		at := min(c.at, x.ends[len(x.ends)-1])
		if at > now {
			key := x.does(rank, list, active, keys, now, ended)
			n, known := sums[key]
			if !known {
				n = len(out)
				sums[key], out = n, append(out, record.JobTime{Rank: rank, Kind: key.kind, What: key.what})
			}
			out[n].TimePS += at - now
			now = at
		}
		switch {
		case changes[i].run < 0:
		case c.end:
			active = slices.DeleteFunc(active, func(k int) bool { return k == c.run })
		default:
			active = append(active, c.run)
		}
	}
	return out
}

// ended is by step when the rank was through with it.
func (x *jobBook) ended(rank int) []units.Time {
	n := len(x.Lists[x.List[rank]].Ops)
	out := make([]units.Time, x.Steps)
	for s := range out {
		for _, run := range x.runs[rank][s*n : (s+1)*n] {
			out[s] = max(out[s], run.End)
		}
	}
	return out
}

// does says what a rank does from an instant on: the first of the computations that run, or else of the
// calls whose data move, or else of copies, of what the host does, or of calls that wait for others.
func (x *jobBook) does(rank int, list *workload.JobList, active []int, keys map[int]meetingKey, now units.Time,
	ended []units.Time) timeKey {
	waits, beside := timeKey{}, timeKey{}
	for _, k := range active {
		switch o := &list.Ops[k%len(list.Ops)]; {
		case o.Kind == workload.JobCompute && !o.Host:
			return timeKey{record.JobComputes, x.Valid.Plan.Labels[o.Label].Text}
		case o.Kind == workload.JobCopies && beside.kind != record.JobCopies:
			beside = timeKey{record.JobCopies, list.Names[o.Name]}
		case o.Kind == workload.JobCompute && beside.kind == "":
			beside = timeKey{record.JobHost, x.Valid.Plan.Labels[o.Label].Text}
		}
	}
	for _, k := range active {
		o := &list.Ops[k%len(list.Ops)]
		if o.Kind != workload.JobCalls {
			continue
		}
		c := &x.Calls[o.Call]
		switch m := x.met[keys[k]]; {
		case m == nil || now >= m.last:
			return timeKey{record.JobExposed, c.Name}
		case waits.kind == "" && c.Message:
			waits = timeKey{record.JobMessage, c.Name}
		case waits.kind == "":
			waits = timeKey{record.JobWaits, c.Name}
		}
	}
	if beside.kind != "" {
		return beside
	}
	if waits.kind != "" {
		return waits
	}
	for s, at := range ended {
		if now >= at && now < x.ends[s] {
			return timeKey{record.JobIdle, ""}
		}
	}
	return timeKey{record.JobStuck, ""}
}
