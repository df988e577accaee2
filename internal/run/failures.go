package run

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// recordFailures writes down the links that failed within the run, what was lost
// on each, and how many flows took another path: a bit each in moved.
func (r *runner) recordFailures(out *record.Run, moved []uint64) {
	for _, w := range moved {
		out.FlowsMoved += bits.OnesCount64(w)
	}
	slices.SortStableFunc(out.Ledger, func(a, b record.Entry) int { return cmp.Compare(r.rerouted(a), r.rerouted(b)) })
	for _, f := range r.Valid.Failures {
		if f.DownPS > out.EndPS {
			continue
		}
		f.Switches = r.switchesChanged(&f, out.EndPS)
		if f.NoticedPS > out.EndPS {
			f.NoticedPS = -1
		}
		if f.ReroutedPS > out.EndPS {
			f.ReroutedPS = -1
		}
		if f.UpPS > out.EndPS {
			f.UpPS = 0
		}
		for i := range out.Ports {
			p := &out.Ports[i]
			here := fmt.Sprintf("%s:%d", p.Node, p.Port)
			if f.Link != here+" - "+p.Peer && f.Link != p.Peer+" - "+here {
				continue
			}
			for _, d := range p.DropCauses {
				if d.Cause == record.DropLinkDown || d.Cause == record.DropPortDown {
					f.LostFrames += d.Count
					f.LostBytes += d.Sum
				}
			}
		}
		out.Failures = append(out.Failures, f)
	}
	slices.SortStableFunc(out.Failures, func(a, b record.Failure) int { return cmp.Compare(a.DownPS, b.DownPS) })
}

// rerouted orders the ledger: lines on rerouting last, by node, whatever the
// partitions.
func (r *runner) rerouted(e record.Entry) int {
	if e.Question != record.Rerouted {
		return -1
	}
	node, _ := r.Valid.Graph.NodeByName(e.Node)
	return node
}

// switchesChanged counts the switches whose tables changed for a failure, up to end.
func (r *runner) switchesChanged(f *record.Failure, end units.Time) (n int) {
	if f.NoticedPS < 0 {
		return 0
	}
	last := f.ReroutedPS
	if last < 0 {
		last = f.NoticedPS
	}
	changed := make([]bool, len(r.Valid.Graph.Nodes))
	for i := range r.Valid.Tables {
		t := &r.Valid.Tables[i]
		if t.At >= f.NoticedPS && t.At <= min(last, end) && !changed[t.Node] {
			changed[t.Node] = true
			n++
		}
	}
	return n
}
