package account

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Bounds of what a page draws of a job: so many ranks, and of each stream so many pieces of a step, in which what is
// shorter is put together.
const (
	mostDrawn  = 12
	lanePieces = 1200
)

// drawn are the ranks that a page draws: the first of each list, such as those of the stages of a pipeline, and the
// one that was last, and if there is room others in equal distances.
func (x *jobBook) drawn(last int, end units.Time) (ranks []int) {
	if !x.lanes || end != units.Never && x.step > 0 {
		return nil
	}
	x.out.Lanes, x.out.LaneStep = nil, x.step+1
	add := func(r int) {
		if len(ranks) < mostDrawn && !slices.Contains(ranks, r) && len(x.Lists[x.List[r]].Ops) > 0 {
			ranks = append(ranks, r)
		}
	}
	add(last)
	for l := range x.Lists {
		if r := slices.Index(x.List, int32(l)); r >= 0 {
			add(r)
		}
	}
	for k := range mostDrawn {
		add(k * len(x.Ranks) / mostDrawn)
	}
	slices.Sort(ranks)
	return ranks
}

// laneBook makes the lanes of a rank. A nil one makes none.
type laneBook struct {
	*jobBook
	rank    int
	least   units.Time // what is shorter is put together
	from    units.Time
	states  record.JobLane
	sums    map[string]units.Time // of the piece of states at hand, by kind; looked up, never iterated
	longest units.Time
}

// newLanes begins the lanes of a rank in a step that goes from one time to another.
func (x *jobBook) newLanes(rank int, from, to units.Time) *laneBook {
	host, device := x.place(rank)
	b := &laneBook{jobBook: x, rank: rank, from: from, least: max(1, (to-from)/lanePieces)}
	b.states = record.JobLane{Rank: rank, Host: host, Device: device}
	return b
}

// place is where a rank is.
func (x *jobBook) place(rank int) (host, device string) {
	at := &x.Ranks[rank]
	if at.Device != workload.NoDevice && x.Servers[at.Host] != nil {
		device = x.Servers[at.Host].Tree().Devices[at.Device].Name
	}
	return x.Valid.Graph.Nodes[at.Host].Name, device
}

// state adds what the rank does from one time to another. A piece is named by what most of it is.
func (b *laneBook) state(key timeKey, from, to units.Time) {
	if b == nil {
		return
	}
	spans := b.states.Spans
	if n := len(spans); n > 0 {
		last := &spans[n-1]
		same := last.Kind == key.kind && last.Name == key.what && last.FromPS+last.PS == from
		if same || to-last.FromPS < b.least {
			last.PS = to - last.FromPS
			if b.sums[key.kind] += to - from; b.sums[key.kind] > b.longest {
				b.longest, last.Kind, last.Name = b.sums[key.kind], key.kind, key.what
			}
			last.BusyPS = last.PS
			return
		}
	}
	b.sums, b.longest = map[string]units.Time{key.kind: to - from}, to-from
	b.states.Spans = append(spans, record.JobSpan{FromPS: from, PS: to - from, BusyPS: to - from, Kind: key.kind,
		Name: key.what, Count: 1})
}

// finish adds the lanes of the rank's streams, each in its place.
func (b *laneBook) finish(runs []nic.JobRun) {
	if b == nil {
		return
	}
	list := &b.Lists[b.List[b.rank]]
	lanes := []record.JobLane{b.states}
	at := make([]int, len(list.Streams)) // by stream: its lane, 0: none yet
	order := make([]int, 0, len(runs))
	for k := range runs {
		if runs[k].Begin != units.Never && list.Ops[k].Kind != workload.JobMark {
			order = append(order, k)
		}
	}
	for _, k := range order {
		o, run := &list.Ops[k], runs[k]
		to := run.End
		if to == units.Never {
			to = b.at[b.rank]
		}
		if to <= run.Begin {
			continue
		}
		if at[o.Stream] == 0 {
			at[o.Stream] = len(lanes)
			lanes = append(lanes, record.JobLane{Rank: b.rank, Host: b.states.Host, Device: b.states.Device,
				Stream: list.Streams[o.Stream]})
		}
		lane := &lanes[at[o.Stream]]
		if n := len(lane.Spans); n > 0 {
			if last := &lane.Spans[n-1]; run.Begin-last.FromPS < b.least && to-run.Begin < b.least {
				last.PS = max(last.PS, to-last.FromPS)
				last.BusyPS += to - run.Begin
				last.Count++
				continue
			}
		}
		kind := b.laneKind(o)
		lane.Spans = append(lane.Spans, record.JobSpan{FromPS: run.Begin, PS: to - run.Begin, BusyPS: to - run.Begin,
			Kind: kind, Name: list.Names[o.Name], Count: 1})
	}
	b.out.Lanes = append(b.out.Lanes, lanes...)
}

// laneKind is what an operation is on a lane.
func (x *jobBook) laneKind(o *workload.JobOp) string {
	switch {
	case o.Kind == workload.JobCopies:
		return record.LaneCopies
	case o.Kind == workload.JobCalls && x.Calls[o.Call].Message:
		return record.LaneMessage
	case o.Kind == workload.JobCalls:
		return record.LaneCalls
	case o.Host:
		return record.LaneHost
	}
	return record.LaneComputes
}

// tracedOps is about how many operations of jobs a trace lists in all; each rank has an equal part.
const tracedOps = 2_000_000

// startTrace begins what a trace shows.
func (x *jobBook) startTrace() {
	most := max(leastTraced, tracedOps/len(x.Ranks))
	x.traces, x.traced = make([]record.RankTrace, len(x.Ranks)), make([]int, len(x.Ranks))
	for r := range x.Ranks {
		host, device := x.place(r)
		x.traced[r] = most
		x.traces[r] = record.RankTrace{Job: x.out.Workload, Rank: r, Host: host, Device: device}
		for _, name := range x.Lists[x.List[r]].Streams {
			x.traces[r].Streams = append(x.traces[r].Streams, record.StreamTrace{Name: name})
		}
	}
}

// traceState adds what a rank spent a time on.
func (x *jobBook) traceState(rank int, key timeKey, from, to units.Time) {
	if x.traced == nil || x.traced[rank] == 0 {
		return
	}
	t := &x.traces[rank]
	label := record.JobSays(key.kind, key.what)
	if n := len(t.States); n > 0 && t.States[n-1].To == from && t.States[n-1].Label == label {
		t.States[n-1].To = to
		return
	}
	t.States = append(t.States, record.LabelSlice{Slice: record.Slice{From: from, To: to}, Label: label})
}

// trace adds the operations of a rank in the step at hand.
func (x *jobBook) trace(rank int) {
	if x.traced == nil || x.traced[rank] == 0 {
		return
	}
	list, runs := &x.Lists[x.List[rank]], x.runs[rank]
	n := 0
	for k := range runs {
		if runs[k].Begin != units.Never && list.Ops[k].Kind != workload.JobMark {
			n++
		}
	}
	if x.traced[rank] < n {
		x.traced[rank] = 0
		x.cut = append(x.cut, fmt.Sprintf("operations of rank %d of %s from its step %d on", rank, x.out.Workload,
			x.step+1))
		return
	}
	x.traced[rank] -= n
	meets := make([]int32, len(runs))
	for k := range meets {
		meets[k] = -1
	}
	x.eachMeeting(rank, func(k int, _ *workload.JobOp, n int32) { meets[k] = n })
	for k := range runs {
		o, run := &list.Ops[k], runs[k]
		to := min(run.End, x.at[rank])
		if run.Begin == units.Never || o.Kind == workload.JobMark || to <= run.Begin {
			continue
		}
		s := record.OpSlice{LabelSlice: record.LabelSlice{Slice: record.Slice{From: run.Begin, To: to},
			Label: list.Names[o.Name]}, Came: run.Begin, Last: -1, Kind: x.laneKind(o)}
		if meets[k] >= 0 {
			m := &x.met[meets[k]]
			s.Came, s.Last = min(max(m.last, run.Begin), to), int(m.rank)
		}
		t := &x.traces[rank].Streams[o.Stream]
		t.Ops = append(t.Ops, s)
	}
}
