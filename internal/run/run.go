// Package run is the whole pipeline: a scenario in, what happened out. Every
// front end calls Do.
package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hopscope/hopscope/internal/account"
	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/importers"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// Fault ends a run because something that another program brought did what none may; see sim.Fault.
type Fault = sim.Fault

// Options say what to run and how.
type Options struct {
	Scenario string   // name of a shipped scenario, or a file
	Text     []byte   // a scenario's text, which Scenario then only names
	Stack    string   // over the scenario's own; "": as the scenario says
	Stacks   []string // all that Stack is compared with, itself among them; nil: it runs alone
	Set      []string // key=value, over the scenario's own values
	Seed     *uint64  // over the scenario's own
	Without  scenario.Without
	// Files are those of another program instead of Scenario, by the flag that names each on the
	// command line (package importers): {"ns3": "config.txt"}.
	Files    map[string]string
	Known    scenario.Known // what scenarios may name beside what the program has
	Workers  int            // goroutines; at least 1. Results do not depend on it
	Level    Level          // how to come to the result; "": LevelExact
	Progress func(Progress)

	// Check, if not nil, may refuse the scenario before it is built and run; its error is what Do returns.
	Check       func(*scenario.Valid) error
	TracePauses bool                  // list every pause and resumption in the record
	Series      *SeriesOptions        // what to sample; nil: nothing
	Timeline    bool                  // take the samples that a page shows
	Trace       bool                  // list what a timeline in detail shows, and take its samples
	Step        func(record.StepOver) // if not nil, hears of each step of a job that is over
	Watch       *SeriesOptions        // samples that are shown as they are taken; nil: none
	Capture     *Capture              // frames that are written as they pass; nil: none
	Snapshots   *SnapshotOptions      // when to look at all counters; nil: at the end only
	alone       bool                  // it is run for what a message, or a job, takes alone
	bare        bool                  // nothing is recorded but messages, collectives and jobs

	// Partitions overrides how the network is cut; 0 follows its size. Results
	// do not depend on it; tests hold that.
	Partitions int
}

// Progress is how far a run has come.
type Progress struct {
	Now                        units.Time // simulated
	Stop                       units.Time // Never: until quiescence
	Events                     int64
	DeliveredBytes, TotalBytes int64
	Completed, Messages        int
	StepsOver, Steps           int // of jobs
	// Done is how much of what jobs' kernels and messages have to do is done, Work all of it; 0: there is none.
	Done, Work int64
}

// Do loads, builds and runs a scenario. Errors are the user's (*scenario.Error), or ctx's
// where it ended before the run began, or the Fault that ended it. A run that ctx cancels ends at a consistent cut and
// returns what there is.
func Do(ctx context.Context, opt Options) (r *record.Run, v *scenario.Valid, err error) {
	why := ""
	w, err := Unless(ctx, func() (*build.World, error) {
		v, err := Load(opt)
		if err != nil {
			return nil, err
		}
		for _, s := range []*SeriesOptions{opt.Series, opt.Watch} {
			if s == nil {
				continue
			}
			if err := s.check(v); err != nil {
				return nil, err
			}
		}
		if opt.Check != nil {
			if err := opt.Check(v); err != nil {
				return nil, err
			}
		}
		if opt.Level == LevelFlow {
			return &build.World{Valid: v}, opt.checkFlows(v)
		}
		if err := opt.Capture.begin(v); err != nil {
			return nil, err
		}
		f, no := opt.fold(v)
		why = no
		w, err := build.New(v, build.Options{Workers: opt.Workers, Partitions: opt.Partitions, Fold: f})
		if err != nil {
			return nil, &scenario.Error{Msg: err.Error()}
		}
		return w, nil
	})
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		switch f := recover().(type) {
		case nil:
		case Fault:
			r, v, err = nil, nil, f
		default:
			panic(f)
		}
	}()
	if opt.Level == LevelFlow {
		return flows(ctx, w, opt), w.Valid, nil
	}
	r, why, err = exactly(ctx, w, opt, why)
	if err != nil {
		return nil, nil, err
	}
	r.Level = opt.level(w, why)
	if f := w.Fault(); f != nil {
		return nil, nil, f
	}
	return r, w.Valid, nil
}

// Unless returns what work returns, or ctx's error as soon as ctx ends: reading and building
// cannot be broken off everywhere, as in a library or while a pipe is silent. What work
// then still does is lost.
func Unless[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	if ctx.Done() == nil {
		return caught(work)
	}
	over := make(chan result, 1) // so that work can end though nobody waits
	go func() {
		value, err := caught(work)
		over <- result{value, err}
	}()
	select {
	case r := <-over:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Load reads the scenario that opt names, in whatever form. The error is the
// user's (*scenario.Error).
func Load(opt Options) (*scenario.Valid, error) {
	return caught(func() (*scenario.Valid, error) { return load(opt) })
}

// caught returns what work returns, or the Fault that it ends with.
func caught[T any](work func() (T, error)) (value T, err error) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case Fault:
			err = f
		default:
			panic(f)
		}
	}()
	return work()
}

func load(opt Options) (*scenario.Valid, error) {
	src := opt.source()
	if len(opt.Files) > 0 {
		made, err := importers.Read(opt.Files, opt.Set)
		if err != nil {
			return nil, err
		}
		src.Imported = made
	}
	return scenario.Read(src)
}

// source is the scenario that opt names, unless importers make it.
func (o *Options) source() scenario.Source {
	return scenario.Source{Name: o.Scenario, Text: o.Text, Stack: o.Stack, Stacks: o.Stacks, Set: o.Set, Seed: o.Seed,
		Without: o.Without, Known: o.Known}
}

// List returns the shipped scenarios.
func List() []scenario.Info { return scenario.List() }

// runner drives one world to its end.
type runner struct {
	*account.Ends
	ctx     context.Context
	opt     Options
	total   int64
	work    int64 // of jobs; see Progress
	shown   time.Time
	stopped string
	cut     units.Time // everything before has happened
	series  *sampler   // nil: no series
	page    *sampler   // nil: no timeline
	trace   *sampler   // nil: no trace
	watch   *sampler   // nil: nobody watches
	shots   *snapshots // nil: none
	look    int64      // after how many events differs looks again
	steps   *account.Jobs

	ranks    []record.RankTrace // of a trace
	ranksCut []string

	calls []bool      // see callers
	ends  [][2]string // by connection; see endNames

	reached   units.Time // everything before has happened
	verdict   units.Time // when it is decided whether the run tries in vain; Never: it does not seem so
	suspectAt units.Time // when to look again
	gaveUp    bool       // it did, at the verdict
}

// Why a run ended.
const (
	quiescent   = "quiescence"
	stopTime    = "stop time"
	interrupted = "interrupted"
	deadlock    = "deadlock" // ports hold frames, or are held, for ever
	stalled     = "stalled"  // messages are open, but nothing holds and nothing is pending but what is in vain
)

// Simulate runs a world to quiescence, its stop time, a deadlock or ctx's end.
func Simulate(ctx context.Context, w *build.World, opt Options) *record.Run {
	r := &runner{Ends: account.EndsOf(w), ctx: ctx, opt: opt, shown: time.Now(), verdict: units.Never, calls: callers(w.Valid.Plan)}
	for i := range w.Valid.Plan.Series {
		s := &w.Valid.Plan.Series[i]
		r.total += int64(s.Bytes) * int64(s.Count)
	}
	for _, p := range w.Valid.Plan.Programs {
		r.total += int64(p.Bytes)
		if len(w.Valid.Plan.Jobs) > 0 && opt.Progress != nil {
			r.work += p.Steps() + int64(p.Bytes)/workBytes
		}
	}
	if opt.TracePauses {
		for _, n := range r.Nets {
			n.TracePauses()
		}
	}
	r.series, r.page, r.watch = r.newSampler(opt.Series), r.newSampler(opt.timeline()), r.newSampler(opt.Watch)
	if r.trace = r.newSampler(opt.trace()); r.trace != nil {
		r.StartTrace()
	}
	r.tap()
	r.shots = r.newSnapshots()
	r.steps = account.NewJobs(r.Ends, opt.Timeline, opt.Trace)
	r.steps.Told = opt.Step
	started := time.Now()
	r.Engine.Clock = func() int64 { return int64(time.Since(started)) }
	v := w.Valid
	r.runTo(v.MeasureFrom)
	measured := v.MeasureFrom != units.Never && r.stopped == "" && !r.over()
	if measured {
		r.measure(v.MeasureFrom, true)
		r.runTo(v.MeasureTo)
	}
	to := v.MeasureTo
	if measured && r.stopped == "" {
		r.measure(to, false)
	}
	if r.stopped == "" {
		r.runTo(units.Never)
	}
	end := r.end()
	if measured && end < to {
		to = end
		r.measure(to, false)
	}
	r.checkConserved()
	if r.stopped != quiescent {
		r.Close(end)
	}
	for _, n := range r.Nets {
		n.Finish(r.still(end, measured))
	}
	return r.record(end, measured, to)
}

// still is up to when ports are reported: the end, or, of a deadlock without a measure
// window, when the last frame had moved and what it brought about was told to the peers.
// Only timers of endpoints come after that.
func (r *runner) still(end units.Time, measured bool) units.Time {
	if r.stopped != deadlock || measured {
		return end
	}
	var moved, way units.Time
	for _, n := range r.Nets {
		moved, way = max(moved, n.LastMove()), max(way, n.LongestControl())
	}
	return min(end, moved+way)
}

// end is the time at which the run ended.
func (r *runner) end() units.Time {
	switch r.stopped {
	case stopTime:
		return r.Valid.Stop
	case deadlock, stalled:
		if r.gaveUp {
			return r.verdict
		}
		return r.lastMove() + r.grace()
	case interrupted:
		return r.cut
	}
	return r.Engine.LastWork()
}

// runTo executes everything before limit, or before the end of the run if that
// comes first, and takes the samples that are due; stopped says why it ended.
func (r *runner) runTo(limit units.Time) {
	r.sampleTo(limit)
	if r.stopped == "" {
		r.advance(limit)
	}
}

// advance is runTo without samples.
func (r *runner) advance(limit units.Time) {
	bound := limit
	if r.Valid.Stop < bound {
		bound = r.Valid.Stop + 1 // what is due at the stop time still happens
	}
	for r.stopped == "" {
		stuck, vain := false, false
		r.Engine.Run(min(bound, r.verdict), max(1, r.opt.Workers), func(upTo units.Time) bool {
			r.cut = upTo
			r.writeTapped()
			r.steps.Look()
			r.progress(upTo)
			stuck = r.stuck()
			vain = r.suspect(upTo)
			return !r.finished() && !stuck && !vain
		})
		r.reached = r.cut
		if to := min(bound, r.verdict); r.Engine.Next() >= to {
			r.reached = to
		}
		switch {
		case r.stopped != "":
		case stuck && r.resolve(bound):
		case vain:
		case r.verdict < bound && r.Engine.Next() >= r.verdict:
			r.decide()
		case r.Engine.Next() >= bound:
			if bound == limit && limit != units.Never {
				return
			}
			switch {
			case r.Engine.Next() == units.Never:
				r.atRest()
			case r.over():
				r.stopped = quiescent
			default:
				r.stopped = stopTime
			}
		}
	}
}

// finished notes why the run is over, if it is.
func (r *runner) finished() bool {
	switch {
	case r.ctx.Err() != nil || r.Valid.Control != nil && r.Fault() != nil || r.differs():
		r.stopped = interrupted
	case int64(r.Engine.Alive()) == r.repeats() && r.open() == 0 && r.paused() == 0 && r.untold() == 0 && r.working() == 0 && r.restless() == 0:
		r.atRest()
	default:
		return false
	}
	return true
}

// over reports whether nothing is left to do but to tell a peer of credits: the
// run has ended, whatever is still said.
func (r *runner) over() bool {
	told := int64(0)
	for _, n := range r.Nets {
		told += n.LinkFrames()
	}
	return r.open() == 0 && r.paused() == 0 && int64(r.Engine.Alive()) == told && r.untold() > 0 && r.restless() == 0
}

// atRest decides what it means that nothing can happen any more.
func (r *runner) atRest() {
	r.stopped = quiescent
	switch {
	case int64(r.Engine.Alive()) > r.repeats() || r.open() > 0 && r.paused() > 0:
		r.stopped = deadlock
		return
	case r.open() > 0: // what was lost is never sent again
		r.stopped = stalled
	}
	for _, n := range r.Nets {
		n.CheckEmpty()
	}
}

// stuck reports whether nothing but PFC frames and their timers is pending.
func (r *runner) stuck() bool {
	live := r.Engine.Live()
	for _, n := range r.Nets {
		live -= n.LinkFrames()
	}
	return live == 0
}

// lastMove is when something last moved or might have begun to.
func (r *runner) lastMove() units.Time {
	t := r.Engine.LastWork()
	for _, n := range r.Nets {
		t = max(t, n.LastActivity())
	}
	return t
}

// grace is how long a stuck network may take to free itself: a pause that is
// not refreshed runs out, or an XON on its way takes effect. It is longer than
// any window, so that a deadlock ends at the same time however wide the window
// was that found it.
func (r *runner) grace() units.Time {
	var pause, way units.Time
	for _, n := range r.Nets {
		pause = max(pause, n.LongestPause())
		way = max(way, n.LongestControl())
	}
	return max(2*pause, build.MaxLookahead) + way
}

// resolve runs a stuck network until it moves again or the longest pause has
// run out twice; then nothing will move any more. It reports true when that is
// decided.
func (r *runner) resolve(bound units.Time) bool {
	last := r.lastMove()
	until := last + r.grace() + 1
	r.Engine.Run(min(bound, until), 1, func(upTo units.Time) bool {
		r.cut = upTo
		r.writeTapped()
		return r.ctx.Err() == nil && r.lastMove() == last
	})
	switch {
	case r.ctx.Err() != nil:
		r.stopped = interrupted
	case until < bound && r.lastMove() == last && r.stuck():
		r.atRest()
	default:
		return r.finished() // the last frames of the links' own have arrived meanwhile
	}
	return true
}

func (r *runner) open() (n int) {
	for _, h := range r.Hosts {
		if h != nil {
			n += h.Open()
		}
	}
	return n - r.abandoned()
}

// working counts what applications have still to do.
func (r *runner) working() (n int) {
	for _, h := range r.Hosts {
		if h != nil {
			n += h.Working()
		}
	}
	return n
}

// restless counts the ends of TCP connections that have something unacknowledged,
// or owe an acknowledgement, and the responders that have something to send.
func (r *runner) restless() (n int) {
	for _, h := range r.Hosts {
		if h != nil {
			n += h.Restless()
		}
	}
	return n
}

func (r *runner) paused() (n int) {
	for _, net := range r.Nets {
		n += net.ShutPorts()
	}
	return n
}

// repeats counts the flow-control packets on their way that say nothing new;
// links that may lose them carry some for ever.
func (r *runner) repeats() (n int64) {
	for _, net := range r.Nets {
		n += net.Repeats()
	}
	return n
}

// untold counts the ports of which a peer has still to hear.
func (r *runner) untold() (n int) {
	for _, net := range r.Nets {
		n += net.Untold()
	}
	return n
}

func (r *runner) measure(now units.Time, from bool) {
	for _, n := range r.Nets {
		n.Measure(now, from)
	}
	for _, h := range r.Hosts {
		if h != nil {
			h.Measure(from)
		}
	}
}

// workBytes of messages take about as long to simulate as a step of a kernel.
const workBytes = 4096

// progress reports at most ten times a second.
func (r *runner) progress(now units.Time) {
	if r.opt.Progress == nil || time.Since(r.shown) < 100*time.Millisecond {
		return
	}
	r.shown = time.Now()
	p := Progress{Now: now, Stop: r.Valid.Stop, Events: r.Engine.Events(), TotalBytes: r.total, Messages: len(r.Messages)}
	for _, h := range r.Hosts {
		if h != nil {
			p.DeliveredBytes += h.Delivered()
		}
	}
	p.Completed = p.Messages - r.open()
	if p.StepsOver, p.Steps = r.steps.Steps(); p.Steps > 0 {
		p.Done, p.Work = p.DeliveredBytes/workBytes, r.work
		for _, h := range r.Hosts {
			if h != nil {
				p.Done += h.LaneSteps()
			}
		}
	}
	r.opt.Progress(p)
}

// usedQPs counts the queue pairs that were used, of all hosts.
func (r *runner) usedQPs() (n int) {
	for _, h := range r.Hosts {
		if h != nil {
			n += h.Used()
		}
	}
	return n
}

// record writes down what happened.
func (r *runner) record(end units.Time, measured bool, to units.Time) *record.Run {
	v := r.Valid
	out := &record.Run{
		Scenario: v.Name, Description: v.Description, Stack: v.Stack, Layers: v.Layers(), Seed: v.Seed,
		EndPS: end, Stopped: r.stopped, OpenMessages: r.open(), Events: r.Engine.Events(),
		Notes: v.Notes, Warnings: r.warnings(end, measured),
	}
	window := units.Time(0)
	if measured {
		out.MeasureFrom, out.MeasureTo = v.MeasureFrom, to
		window = max(to-v.MeasureFrom, 1) // of a run that ended just as it began: nothing over something
	}
	out.WireOverhead, out.PFCFrame = v.Wire.Overhead, v.Wire.Control
	out.PauseClasses = r.pauseClasses()
	if v.DCQCN != nil {
		out.Control = v.DCQCN.Control()
	}
	still := r.still(end, measured)
	if r.stopped == deadlock {
		out.Cycle = r.cycle()
		out.StillPS = r.still(end, false)
	}
	out.FrameHeader, out.RETH, out.MinFrame = v.Wire.Data, v.Wire.RETH, v.Wire.MinFrame
	active := still - r.firstPost(still)
	var print uint64
	for _, n := range r.Nets {
		print += n.Fingerprint()
		out.PacketHops += n.Hops()
	}
	if r.Fold != nil {
		out.PacketHops, out.Events = out.PacketHops*int64(r.Fold.Images), out.Events*int64(r.Fold.Images)
	}
	if out.PacketHops > 0 { // without a packet there is no course to tell apart
		out.Fingerprint = fmt.Sprintf("%016x", print)
	}
	lossy := r.lossy()
	if r.recordFlows(out, lossy); r.opt.bare {
		return out
	}
	out.Pauses = r.pauses()
	out.Series, out.Timeline = r.series.series(end), r.page.series(end).Timeline(out.FirstPost())
	if out.Network = r.network(); r.trace != nil {
		out.Trace = r.Trace()
		out.Trace.Ranks, out.Trace.LeftOut = r.ranks, append(out.Trace.LeftOut, r.ranksCut...)
		out.Trace.Counters = r.trace.series(end).Timeline(out.FirstPost())
	}
	moved := make([]uint64, (2*len(v.Plan.Conns)+63)/64)
	r.recordPorts(out, active, window)
	rows := r.recordHosts(out, end, lossy)
	out.Servers = r.servers()
	for _, n := range r.Nets {
		out.Ledger = append(out.Ledger, n.Moved(moved)...)
	}
	r.recordFailures(out, moved)
	r.recordLoops(out)
	out.Storms, out.Faults = r.storms(), r.faults(end)
	r.recordPaths(out, rows)
	r.recordInside(out)
	r.jobsAlone(out)
	lines(out)
	out.Data = r.checkData()
	return out
}

// recordPorts writes down what ports did over a time active, or in a measured window. They
// are counted first, as a list that grows row by row leaves several times its size behind.
func (r *runner) recordPorts(out *record.Run, active, window units.Time) {
	rows := 0
	for _, place := range r.Place {
		for c := range uint8(fabric.Classes) {
			if r.Nets[place.Part].Active(place.Index, c) {
				rows++
			}
		}
	}
	out.Ports = slices.Grow(out.Ports, rows)
	out.Ledger = slices.Grow(out.Ledger, rows)
	for _, place := range r.Place {
		n := r.Nets[place.Part]
		if counters, ok := n.Counters(place.Index); ok {
			out.Counters = append(out.Counters, counters)
		}
		for c := range uint8(fabric.Classes) {
			if n.Active(place.Index, c) {
				p := n.Port(place.Index, c, active, window)
				r.unfoldPort(place, &p)
				if p.Limits.HeadroomBytes > 0 {
					p.Limits.HeadroomNeed = int64(r.Valid.ShortHeadroom[topology.Hop{Node: place.Node, Port: place.Local}])
				}
				out.Ports = append(out.Ports, p)
			}
			out.Ledger = n.AppendLedger(out.Ledger, place.Index, c)
		}
	}
}

// recordHosts writes down what queue pairs and processors did, and gives the queue pairs
// back: a million of them take more than their rows.
func (r *runner) recordHosts(out *record.Run, end units.Time, lossy []uint64) *qpRows {
	first, last := out.FirstPost(), out.LastCompletion()
	for _, h := range r.Hosts {
		if h != nil {
			h.EndNotes()
		}
	}
	out.QPs = slices.Grow(out.QPs, r.usedQPs())
	rows := &qpRows{first: make([]int, len(r.Hosts)+1)}
	pairs := r.foldedPairs(end)
	for node, h := range r.Hosts {
		rows.first[node] = len(out.QPs)
		if h == nil {
			continue
		}
		if r.Fold != nil {
			out.QPs = pairs.append(out.QPs, node)
		} else {
			out.QPs = h.AppendQPs(out.QPs, end)
		}
		out.Ledger = append(out.Ledger, h.Ledger(lossy)...)
		if p, any := h.Processors(first, last); any {
			if m := r.Valid.NICs[node].Host.Moderation; m.Adaptive || m.Time > 0 || m.Frames > 1 {
				p.Moderation = m.String()
			}
			p.Host = r.Valid.Graph.Nodes[node].Name
			out.Processors = append(out.Processors, p)
		}
		if r.Fold == nil {
			h.Retire()
		}
	}
	rows.all, rows.first[len(r.Hosts)] = out.QPs, len(out.QPs)
	return rows
}

// firstPost is when the first message is posted, or local operation begun; 0 when none is before end.
// Queues are empty until then, so that means over time count from there.
func (r *runner) firstPost(end units.Time) units.Time {
	first := units.Never
	for i := range r.Valid.Plan.Series {
		first = min(first, r.Valid.Plan.Series[i].Start)
	}
	for i := range r.Valid.Plan.Locals {
		if l := &r.Valid.Plan.Locals[i]; !l.Awaits {
			first = min(first, l.Start)
		}
	}
	for _, p := range r.Valid.Plan.Programs {
		first = min(first, p.Start)
	}
	if first >= end {
		return 0
	}
	return first
}

// lossy has a bit per connection of which something was dropped.
func (r *runner) lossy() []uint64 {
	conns := make([]uint64, len(r.Valid.Plan.Conns)/64+1)
	for _, n := range r.Nets {
		n.Lossy(conns)
	}
	return conns
}

func (r *runner) recordFlows(out *record.Run, lossy []uint64) {
	v := r.Valid
	a := account.New(r.Ends, lossy)
	out.Places = a.Places()
	out.Messages = make([]record.Message, 0, v.Plan.Len())
	ideals := r.newIdeals()
	for i, m := range v.Plan.All() {
		start := m.Start
		if m.Waits() { // when it was to be posted, or the end if it never was
			start = min(r.Messages[i].Due, out.EndPS)
		}
		src, dst := r.endNames(m)
		f := record.Message{
			Src: src, Dst: dst, Service: r.Service(m.Conn), Call: int(m.Call), Reply: m.Reply,
			QP: int(r.Messages[i].QP), Workload: v.Plan.EntryName(m.Conn), Verb: m.Verb.String(),
			Bytes: int64(m.Bytes), Number: int32(i), StartPS: start, CompletionPS: -1, Status: "open",
			IdealPS: ideals.of(m),
		}
		if r.Is(m.Conn, catalog.Streams) {
			a.Stream(&f, i)
			out.Messages = append(out.Messages, f)
			continue
		}
		if !r.Is(m.Conn, catalog.Acknowledges) {
			f.DeliveredPS = -1
			if at := a.Delivered(i); at != units.Never {
				f.DeliveredPS = at - start
			}
		}
		if r.Messages[i].Done != units.Never {
			a.End(&f, i, out.EndPS)
		} else {
			a.Open(&f, i)
		}
		if m.Call > 0 {
			f.DeliveredPS = r.Received(&f, i, out.EndPS)
		}
		out.Messages = append(out.Messages, f)
	}
	out.Collectives = a.Collectives()
	out.Jobs, r.ranks, r.ranksCut = r.steps.Jobs(a, out.EndPS)
	out.Loads = loads(v.Plan, out.Messages)
	out.Evidence = a.Evidence()
}

// portID is a port of a node by its number there, from 0.
func (r *runner) portID(node, local int) record.PortID {
	return record.PortID{Node: r.Valid.Graph.Nodes[node].Name, Port: local + 1}
}

func (r *runner) portName(node, local int) string {
	return fmt.Sprintf("%s:%d", r.Valid.Graph.Nodes[node].Name, local+1)
}
