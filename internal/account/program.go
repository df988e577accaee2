package account

import (
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// sum fills in what hosts kept of a program: when its iterations ended, and sums.
func (a *Book) sum(c *record.Collective, program int) {
	p := a.Valid.Plan.Programs[program]
	total := nic.NewProgramSums(len(a.Valid.Plan.Labels), p.Iterations)
	for node := range a.Hosts {
		if s := a.ProgramSums(node, program); s != nil {
			total.Add(s)
		}
	}
	for _, e := range total.Ends {
		if e.Ranks < len(p.Ranks)+len(p.Calls) {
			e.At = -1
		}
		c.EndPS = append(c.EndPS, e.At)
	}
	c.Sums = &record.CollectiveSums{FirstPostPS: -1, LastRank: -1}
	if last := len(c.EndPS) - 1; c.EndPS[last] >= 0 {
		c.Sums.LastRank = int(total.Ends[last].Last)
		if path := total.Path(); path != nil {
			c.Critical = a.pathOf(path, c.EndPS[last]-c.StartPS)
		}
	}
	if first := min(total.Messages.First, total.News.First); first != units.Never {
		c.Sums.FirstPostPS, c.Sums.LastCompletionPS = first, max(total.Messages.Last, total.News.Last)
	}
	if p := &total.Pairs; p.Made > 0 {
		c.Sums.QueuePairs = &record.PairSum{Made: p.Made, Most: p.Most, SentPackets: p.SentPackets, SentBytes: p.SentBytes,
			Retransmitted: p.Retransmitted, CNPsReceived: p.CNPsReceived, NAKsSent: p.NAKsSent, Timeouts: p.Timeouts}
	}
	for i := range total.Kinds {
		if k := &total.Kinds[i]; k.Count > 0 {
			c.Sums.Operations += k.Count
			c.Sums.Kinds = append(c.Sums.Kinds, a.localSum(&a.Valid.Plan.Labels[i], k))
		}
	}
	for _, m := range []struct {
		kind string
		sum  *nic.MessageSum
	}{{record.KindMessage, &total.Messages}, {record.KindSlot, &total.News}} {
		if m.sum.Count > 0 {
			c.Sums.Operations += m.sum.Count
			c.Sums.Kinds = append(c.Sums.Kinds, messageSum(m.kind, m.sum))
		}
	}
}

// pathOf is a critical path of which a program kept what its operations took by kind, in the order
// of labels. It must add up to that of the collective.
func (a *Book) pathOf(p *nic.Path, all units.Time) (out []record.CriticalGroup) {
	for i := range p.Kinds {
		k, label := &p.Kinds[i], &a.Valid.Plan.Labels[i]
		if k.Count == 0 {
			continue
		}
		g := record.CriticalGroup{Kind: label.Text, Count: int(k.Count), TimePS: k.Time}
		for _, part := range label.Parts {
			if part.Time > 0 {
				g.Stages = append(g.Stages, record.CriticalStage{Label: part.Name, Count: g.Count,
					TimePS: part.Time * units.Time(k.Count)})
			}
		}
		if moving := k.Time - label.Delay()*units.Time(k.Count); moving > 0 {
			s := record.CriticalStage{Stage: catalog.StageCopy, TimePS: moving}
			switch {
			case label.Copies:
				s = record.CriticalStage{Label: record.StageCopying, Count: g.Count, TimePS: moving}
			case label.Computes:
				s = record.CriticalStage{Label: record.StageComputing, Count: g.Count, TimePS: moving}
			}
			g.Stages = append(g.Stages, s)
		}
		out = append(out, g)
	}
	if m := &p.Messages; m.Count > 0 {
		g := record.CriticalGroup{Kind: record.KindMessage, Count: int(m.Count), TimePS: m.Time + p.Placing}
		for _, s := range messageSum(g.Kind, m).Stages {
			g.Stages = append(g.Stages, record.CriticalStage{Stage: s.Stage, Label: s.Label, TimePS: s.TimePS})
		}
		if p.Placing > 0 {
			g.Stages = append(g.Stages, record.CriticalStage{Stage: catalog.StagePlace, TimePS: p.Placing})
		}
		out = append(out, g)
	}
	if n := &p.News; n.Count > 0 {
		out = append(out, record.CriticalGroup{Kind: record.KindSlot, Count: int(n.Count), TimePS: n.Time,
			Stages: []record.CriticalStage{{Label: "posted, and on the way", Count: int(n.Count), TimePS: n.Time}}})
	}
	for i := range out {
		all -= out[i].TimePS
	}
	if all != 0 {
		panic("account: BUG: a critical path that was kept by kind does not add up")
	}
	return out
}

// localSum is about the local operations with a label.
func (a *Book) localSum(label *workload.Label, k *nic.KindSum) record.KindSum {
	out := record.KindSum{Kind: label.Text, Count: k.Count, TimePS: k.Delay + k.Moving, WaitedPS: k.Waited,
		LongestPS: k.Longest}
	for _, p := range label.Parts {
		if p.Time > 0 {
			out.Stages = append(out.Stages, record.StageSum{Label: p.Name, TimePS: p.Time * units.Time(k.Count)})
		}
	}
	if k.Moving > 0 {
		out.Stages = append(out.Stages, record.StageSum{Stage: catalog.StageCopy, TimePS: k.Moving})
	}
	return out
}

// messageSum is about messages of a kind.
func messageSum(kind string, m *nic.MessageSum) record.KindSum {
	out := record.KindSum{Kind: kind, Count: m.Count, TimePS: m.Time, LongestPS: m.Longest, Failed: m.Failed}
	out.Stages = append(out.Stages, record.StageSum{Stage: catalog.StageCPU, TimePS: m.Posting},
		record.StageSum{Stage: catalog.StageEarlierWork, TimePS: m.Earlier})
	for s, d := range m.Before {
		out.Stages = append(out.Stages, record.StageSum{Stage: stageNames[s], TimePS: d})
	}
	out.Stages = append(out.Stages, record.StageSum{Label: "on the way, and acknowledged", TimePS: m.Rest},
		record.StageSum{Stage: catalog.StageEntry, TimePS: m.Polling})
	out.Stages = slices.DeleteFunc(out.Stages, func(s record.StageSum) bool { return s.TimePS == 0 })
	return out
}
