package run

import (
	"slices"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// Bounds of what a page shows over time.
const (
	timelineEvery   = 100 * units.Nanosecond // between two samples, of which pairs become one
	timelineSamples = 1000                   // most; half of them at least, of a run that is long enough
	timelineCurves  = 8                      // of each quantity
	timelineChanges = 4_000_000              // kept in memory
)

// timeline is what to sample for a page; nil: nothing.
func (o *Options) timeline() *SeriesOptions {
	if !o.Timeline {
		return nil
	}
	return &SeriesOptions{Every: timelineEvery, Top: timelineCurves, fold: timelineSamples, Quantities: []record.Quantity{
		record.SeriesQueue, record.SeriesPaused, record.SeriesRate, record.SeriesWindow, record.SeriesGoodput}}
}

// traceCurves is how many curves of each quantity a trace has.
const traceCurves = 64

// trace is what to sample for a timeline in detail; nil: nothing.
func (o *Options) trace() *SeriesOptions {
	if !o.Trace {
		return nil
	}
	return &SeriesOptions{Every: timelineEvery, Top: traceCurves, fold: 4 * timelineSamples, Quantities: []record.Quantity{
		record.SeriesQueue, record.SeriesBuffer, record.SeriesRate, record.SeriesWindow, record.SeriesGoodput}}
}

// foldFull makes one sample of two when there are as many as wanted, and samples half as often
// from then on. An odd number leaves no half of a pair.
func (s *sampler) foldFull() {
	if s.out.Samples%2 == 0 || s.out.Samples < s.opt.fold && s.changes < timelineChanges {
		return
	}
	if s.still == nil && s.calm() {
		before := s.out // folding leaves its curves as they are
		before.Curves = slices.Clone(s.out.Curves)
		s.still = &before
	}
	s.out.Fold()
	s.next = s.out.FromPS + units.Time(s.out.Samples)*s.out.EveryPS
	s.changes = 0
	for i := range s.out.Curves {
		s.changes += s.out.Curves[i].Changes()
	}
	if s.changes >= timelineChanges { // every sample changes nearly all: so many are all there can be
		s.opt.fold = max(s.out.Samples, 3)
	}
}

// calm reports whether nothing changed in the later half of the samples.
func (s *sampler) calm() bool {
	for i := range s.out.Curves {
		if s.out.Curves[i].LastChange() > s.out.Samples/2 {
			return false
		}
	}
	return true
}

// cutStill leaves out the time at the end in which nothing changed, if it is so long that what
// came before could not be seen beside it: a deadlock's timers run for a thousand times as long.
func (s *sampler) cutStill() {
	if s.still == nil {
		return
	}
	end := s.still.FromPS + units.Time(s.still.Samples)*s.still.EveryPS
	s.out = *s.still
	s.leaveOut("everything from %v on: nothing changed any more", end)
}

// network is the topology as it stands in a record.
func (r *runner) network() *record.Network {
	g := r.Valid.Graph
	out := &record.Network{Nodes: make([]record.NetworkNode, len(g.Nodes)), Links: make([]record.NetworkLink,
		len(g.Links))}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		out.Nodes[i] = record.NetworkNode{Name: n.Name, Tier: n.Tier, Switch: n.Kind == topology.Switch}
	}
	for _, pair := range r.Valid.Alike {
		n := &out.Nodes[pair[1]]
		n.Alike = append(n.Alike, g.Nodes[pair[0]].Name)
	}
	for i := range g.Links {
		l := &g.Links[i]
		out.Links[i] = record.NetworkLink{RateBps: l.Rate, A: record.PortID{Node: g.Nodes[l.A].Name, Port: l.PortA + 1},
			B: record.PortID{Node: g.Nodes[l.B].Name, Port: l.PortB + 1}}
	}
	return out
}

// lines notes of each queue pair's curves the rate of the slowest link of its path, or that of a receiver slower still.
func lines(out *record.Run) {
	if out.Timeline == nil {
		return
	}
	type end struct {
		host string
		qp   int
	}
	slowest := make(map[end]units.Rate)
	for i := range out.QPs {
		q := &out.QPs[i]
		for _, h := range q.Limits.Path {
			at := end{q.Host, q.QP}
			for _, rate := range [...]units.Rate{h.RateBps, q.Limits.DrainBps} {
				if least := slowest[at]; rate > 0 && (least == 0 || rate < least) {
					slowest[at] = rate
				}
			}
		}
	}
	for i := range out.Timeline.Curves {
		if c := &out.Timeline.Curves[i]; !c.Quantity.PerPort() {
			c.LineBps = slowest[end{c.Node, c.QP}]
		}
	}
}
