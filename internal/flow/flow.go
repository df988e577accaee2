// Package flow runs a scenario as flows of bytes instead of packets: at each instant what is under way
// shares links, and places inside servers, so that rates are max-min fair, along the paths that packets
// would take. Rates change when a flow begins or ends, and only there is anything worked out. Nothing is
// queued, marked, paused or lost, so that it knows no congestion control; docs/scale.md says how far
// results are from those of packets.
package flow

import (
	"context"

	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Options say what a run takes over, and whom it tells how far it is.
type Options struct {
	Packets
	Progress func(now units.Time, completed int) // nil: nobody
}

// Packets runs parts of a scenario packet by packet, where flows take over what comes out.
type Packets struct {
	// Messages is what messages like one, of several sizes, take alone, by size; 0: it does not end.
	Messages func(*workload.Message, []units.Bytes) []units.Time
	// Inside is what a program whose ranks are in one server takes from its launch to its end, alone.
	Inside func(*workload.Program) units.Time
}

// Result is what came of a run.
type Result struct {
	End      units.Time       // of the last operation, or when the run was stopped
	Stopped  string           // "quiescence", "stop time", "interrupted" or "stalled"
	Messages []Message        // by number
	Ends     [][]units.Time   // by program and iteration: when its last rank was through; Never: it was not
	Locals   []units.Time     // by index in Plan.Locals: when it ended; Never: it did not
	Jobs     [][][]nic.JobRun // by job and rank
	Events   int64            // flows and operations that began or ended
	Solved   int64            // rates that were given to flows
	Moved    float64          // bytes on the wire that flows brought to their ends
}

// Message is when a message was due, had arrived and was complete; Never: not yet.
type Message struct{ Due, Received, Done units.Time }

// sim is a run.
type sim struct {
	*ways
	ctx    context.Context
	plan   *workload.Plan
	opt    Options
	agenda agenda
	out    Result

	need      []int32      // by operation: how many ends still start it
	carriers  []*carrier   // by connection, and 1 more where its messages go back
	next      int          // first message that starts by time and has not
	done      int          // messages
	activated []int        // by trigger
	delays    []units.Time // by label
	programs  []program
	known     map[string]alone     // what programs take alone; looked up, never iterated
	kinds     map[*server.Tree]int // of servers, by number; likewise
	jobs      []job
}

// Kinds of events.
const (
	evStart    eventKind = iota // an operation starts
	evReady                     // a message comes to the wire
	evReceived                  // one has arrived
	evDone                      // one is complete
	evMove                      // a local operation's data begin to move
	evLocal                     // it is over
	evProgram                   // a program begins, by the clock
	evRankOver                  // a rank is through with an iteration of a program
	evBegin                     // a rank of a job begins
	evCompute                   // a computation may be over
	evPass                      // what takes a rank a time of its own is over
)

// Run runs a scenario. When ctx ends it returns what there is until then.
func Run(ctx context.Context, v *scenario.Valid, opt Options) *Result {
	plan := v.Plan
	s := &sim{ways: newWays(v, &network{}, opt.Messages), ctx: ctx, plan: plan, opt: opt,
		need: make([]int32, plan.Len()+len(plan.Locals)), carriers: make([]*carrier, 2*len(plan.Conns)),
		activated: make([]int, len(plan.Triggers)), known: make(map[string]alone), kinds: make(map[*server.Tree]int)}
	if plan.Graph != nil {
		copy(s.need, plan.Graph.Need)
	}
	for i := range plan.Labels {
		s.delays = append(s.delays, plan.Labels[i].Delay())
	}
	s.out.Messages = make([]Message, plan.Len())
	for i := range s.out.Messages {
		s.out.Messages[i] = Message{units.Never, units.Never, units.Never}
	}
	s.out.Locals = make([]units.Time, len(plan.Locals))
	for i := range s.out.Locals {
		s.out.Locals[i] = units.Never
		if l := &plan.Locals[i]; !l.Awaits {
			s.agenda.add(event{at: l.Start, kind: evStart, a: int32(plan.Len() + i)})
		}
	}
	s.startPrograms()
	s.startJobs()
	s.run()
	s.finish()
	return &s.out
}

// looks is how many steps there are between two looks at whether the run is to stop.
const looks = 1024

// run carries out what is due until nothing is.
func (s *sim) run() {
	s.out.Stopped = "quiescence"
	now := units.Time(0)
	for steps := 1; ; steps++ {
		if steps%looks == 0 && s.opt.Progress != nil {
			s.opt.Progress(now, s.done)
		}
		if steps%looks == 0 && s.ctx.Err() != nil {
			s.out.Stopped = "interrupted"
			s.out.End = now
			return
		}
		s.settle(now)
		at := s.upcoming()
		if at == units.Never {
			return
		}
		if at > s.v.Stop {
			s.out.Stopped = "stop time"
			s.out.End = s.v.Stop
			return
		}
		now = at
		s.out.End = now
		for len(s.ends) > 0 && s.ends[0].due == now {
			f := s.ends[0]
			s.out.Events++
			f.over(now)
		}
		for s.next < s.plan.Len() && s.starts(now) {
		}
		for len(s.agenda.heap) > 0 && s.agenda.heap[0].at == now {
			s.out.Events++
			s.happen(s.agenda.next())
		}
	}
}

// upcoming is when something happens next.
func (s *sim) upcoming() units.Time {
	at := units.Never
	if len(s.ends) > 0 {
		at = s.ends[0].due
	}
	if len(s.agenda.heap) > 0 {
		at = min(at, s.agenda.heap[0].at)
	}
	if s.next < s.plan.Len() {
		m := s.plan.At(s.next)
		at = min(at, m.Start)
	}
	return at
}

// starts starts the next message if it is due.
func (s *sim) starts(now units.Time) bool {
	m := s.plan.At(s.next)
	if m.Start > now {
		return false
	}
	s.post(now, int32(s.next), &m)
	s.next++
	return true
}

// happen carries out an event.
func (s *sim) happen(e event) {
	switch e.kind {
	case evStart:
		s.begin(e.at, e.a)
	case evReady:
		s.ready(e.at, e.a)
	case evReceived:
		s.received(e.at, e.a)
	case evDone:
		s.completed(e.at, e.a)
	case evMove:
		s.move(e.at, e.a)
	case evLocal:
		s.out.Locals[int(e.a)-s.plan.Len()] = e.at
		s.release(e.at, e.a, workload.Completed)
	case evProgram:
		s.launchAll(e.at, e.of)
	case evRankOver:
		s.rankOver(e.at, e.of, e.a)
	case evBegin:
		s.stepJob(e.at, e.of, e.a)
	case evCompute:
		s.computed(e.at, e.of, e.a, e.b)
	case evPass:
		s.jobOpOver(e.at, e.of, e.a, e.b)
	}
}

// finish says how the run ended, of which something may be left that nothing starts any more.
func (s *sim) finish() {
	s.out.Solved = s.solved
	for i := range s.programs {
		s.out.Ends = append(s.out.Ends, s.programs[i].ends)
	}
	for i := range s.jobs {
		var runs [][]nic.JobRun
		for r := range s.jobs[i].ranks {
			runs = append(runs, s.jobs[i].ranks[r].runs)
		}
		s.out.Jobs = append(s.out.Jobs, runs)
	}
	if s.out.Stopped == "quiescence" && s.open() {
		s.out.Stopped = "stalled"
	}
}

// open reports whether a message, a program or a job is not over.
func (s *sim) open() bool {
	for i := range s.out.Messages {
		if s.out.Messages[i].Done == units.Never {
			return true
		}
	}
	return s.programsOpen() || s.jobsOpen()
}

// hostKind is the number of the kind of a host's server.
func (s *sim) hostKind(host int) int {
	t := s.v.NICs[host].Server
	n, known := s.kinds[t]
	if !known {
		n = len(s.kinds)
		s.kinds[t] = n
	}
	return n
}
