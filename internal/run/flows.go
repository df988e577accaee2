package run

import (
	"context"
	"slices"
	"time"

	"github.com/hopscope/hopscope/internal/account"
	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/flow"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// checkFlows refuses what runs at flow level have no answer to.
func (o *Options) checkFlows(v *scenario.Valid) error {
	what := ""
	switch {
	case o.Capture != nil:
		what = "a capture shows packets"
	case o.Series != nil || o.Watch != nil || o.Snapshots != nil:
		what = "series and counters are of queues and packets"
	case o.Trace || o.Timeline:
		what = "timelines show packets and queues"
	case o.TracePauses:
		what = "pauses hold packets"
	default:
		what = flow.Unanswered(v)
	}
	if what == "" {
		return nil
	}
	return &scenario.Error{Msg: "--level flow: " + what + ", of which flows know nothing; use --level packets"}
}

// flows runs a scenario at flow level and writes down what that knows.
func flows(ctx context.Context, w *build.World, opt Options) *record.Run {
	v := w.Valid
	shown := time.Now()
	f := flow.Run(ctx, v, flow.Options{
		Packets: packetsFor(ctx, v),
		Progress: func(now units.Time, completed int) {
			if opt.Progress != nil && time.Since(shown) >= 100*time.Millisecond {
				shown = time.Now()
				opt.Progress(Progress{Now: now, Stop: v.Stop, Completed: completed, Messages: v.Plan.Len()})
			}
		},
	})
	out := &record.Run{Scenario: v.Name, Description: v.Description, Stack: v.Stack, Layers: v.Layers(), Seed: v.Seed,
		EndPS: f.End, Stopped: f.Stopped, Events: f.Events, Notes: v.Notes, Warnings: slices.Clone(v.Warnings),
		WireOverhead: v.Wire.Overhead, PFCFrame: v.Wire.Control, FrameHeader: v.Wire.Data, RETH: v.Wire.RETH,
		MinFrame: v.Wire.MinFrame, Level: flow.Level(v)}
	if v.MeasureFrom != units.Never {
		out.Warnings = append(out.Warnings, "measure: flows have no queues and utilisation, so that the window says nothing")
	}
	r := &runner{Ends: account.EndsOf(w), ctx: ctx, opt: opt}
	ideals := r.newIdeals()
	out.Messages = make([]record.Message, 0, v.Plan.Len())
	for i, m := range v.Plan.All() {
		x := r.flowMessage(i, m, &f.Messages[i], f.End)
		if x.CompletionPS < 0 {
			out.OpenMessages++
		}
		x.IdealPS = ideals.of(m)
		out.Messages = append(out.Messages, x)
	}
	out.Collectives = flowCollectives(v, f)
	if len(v.Plan.Jobs) > 0 {
		out.Jobs = account.JobsOf(w, f.Jobs, f.End)
	}
	out.Loads = loads(v.Plan, out.Messages)
	return out
}

// flowMessage is what became of a message.
func (r *runner) flowMessage(i int, m *workload.Message, t *flow.Message, end units.Time) record.Message {
	start := m.Start
	if m.Waits() {
		start = min(t.Due, end)
	}
	src, dst := r.endNames(m)
	x := record.Message{Src: src, Dst: dst, Service: r.Service(m.Conn), Call: int(m.Call), Reply: m.Reply,
		Workload: r.Valid.Plan.EntryName(m.Conn), Verb: m.Verb.String(), Bytes: int64(m.Bytes), Number: int32(i),
		StartPS: start, CompletionPS: -1, Status: "open"}
	switch {
	case t.Done != units.Never:
		x.CompletionPS, x.Status = t.Done-start, "success"
	case t.Due != units.Never:
		x.OpenPS = end - start
	}
	if m.Call > 0 || !r.Is(m.Conn, catalog.Acknowledges) {
		x.DeliveredPS = -1
		if t.Received != units.Never {
			x.DeliveredPS = t.Received - start
		}
	}
	return x
}

// flowCollectives are the collectives, and when they were over.
func flowCollectives(v *scenario.Valid, f *flow.Result) (out []record.Collective) {
	for i, x := range account.CollectivesOf(v.Plan) {
		c := &v.Plan.Collectives[i]
		if c.Program > 0 {
			for _, at := range f.Ends[c.Program-1] {
				x.EndPS = append(x.EndPS, over(at))
			}
			out = append(out, x)
			continue
		}
		for _, ends := range c.Last {
			at := units.Time(0)
			for _, op := range ends {
				at = max(at, f.Locals[int(^op)])
			}
			x.EndPS = append(x.EndPS, over(at))
		}
		out = append(out, x)
	}
	return out
}

// over is when something was over; -1: it was not.
func over(at units.Time) units.Time {
	if at == units.Never {
		return -1
	}
	return at
}

// packetsFor runs for the flow level what it takes over from packets.
func packetsFor(ctx context.Context, v *scenario.Valid) flow.Packets {
	return flow.Packets{
		Messages: func(m *workload.Message, sizes []units.Bytes) []units.Time {
			return eachAlone(ctx, v, m, sizes)
		},
		Inside: func(p *workload.Program) units.Time { return insideAlone(ctx, v, p) },
	}
}

// eachAlone runs messages like m by themselves, one of each size, each over a connection of its own that is
// like m's. It returns the times to their completions, 0 of those that have none.
func eachAlone(ctx context.Context, v *scenario.Valid, m *workload.Message, sizes []units.Bytes) []units.Time {
	one := undisturbed(v)
	one.Windows, one.BaseRTTs = nil, nil
	plan := &workload.Plan{Entries: v.Plan.Entries, SRQs: v.Plan.SRQs, Labels: v.Plan.Labels}
	last := workload.Op(-1)
	for i, bytes := range sizes {
		x := *m
		x.Call, x.Reply, x.Trigger, x.SendDone, x.RecvDone, x.Awaits, x.Start = 0, false, 0, 0, 0, false, 0
		x.Conn, x.Bytes = i, bytes
		plan.Conns = append(plan.Conns, v.Plan.Conns[m.Conn])
		if v.Windows != nil {
			one.Windows = append(one.Windows, v.Windows[m.Conn])
		}
		if v.BaseRTTs != nil {
			one.BaseRTTs = append(one.BaseRTTs, v.BaseRTTs[m.Conn])
		}
		op := plan.AddMessage(x)
		if i > 0 {
			plan.After(op, last, workload.Completed)
		}
		last = op
	}
	out := make([]units.Time, len(sizes))
	one.Plan = plan
	if plan.Finish(one.Graph) != nil {
		return out
	}
	w, err := build.New(one, build.Options{})
	if err != nil {
		return out
	}
	r := Simulate(ctx, w, Options{Workers: 1, alone: true, bare: true})
	for i, x := range plan.All() {
		if m := &r.Messages[i]; m.Status == "success" {
			out[x.Conn] = m.CompletionPS
		}
	}
	return out
}

// insideAlone runs one iteration of a program, whose ranks are in one server, by itself.
func insideAlone(ctx context.Context, v *scenario.Valid, p *workload.Program) units.Time {
	one, own := undisturbed(v), *p
	own.Called, own.Iterations, own.Start, own.Collective = false, 1, 0, 0
	one.Plan = &workload.Plan{Entries: v.Plan.Entries, Labels: slices.Clone(v.Plan.Labels),
		Collectives: []workload.Collective{{Entry: p.Entry, Ranks: len(p.Ranks), Root: -1, Program: 1}}}
	one.Plan.AddProgram(&own)
	if one.Plan.Finish(one.Graph) != nil {
		return 0
	}
	w, err := build.New(one, build.Options{})
	if err != nil {
		return 0
	}
	r := Simulate(ctx, w, Options{Workers: 1, alone: true, bare: true})
	if len(r.Collectives) != 1 {
		return 0
	}
	return r.Collectives[0].TookPS()
}
