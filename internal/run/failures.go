package run

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
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
	lost := r.lostInOutages()
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
		for _, end := range lost[f.Link.String()] {
			f.LostFrames += end[f.Nth].Count
			f.LostBytes += end[f.Nth].Sum
		}
		out.Failures = append(out.Failures, f)
	}
	slices.SortStableFunc(out.Failures, func(a, b record.Failure) int { return cmp.Compare(a.DownPS, b.DownPS) })
}

// lostInOutages is what each outage took at the two ends of a link, by the link's name.
func (r *runner) lostInOutages() map[string][][]record.Act {
	lost := map[string][][]record.Act{} // looked up, never iterated
	if len(r.Valid.Failures) == 0 {
		return nil
	}
	g := r.Valid.Graph
	for _, place := range r.Place {
		k := g.LinkAt(place.Node, place.Local)
		if acts := r.Nets[place.Part].LostInOutages(place.Index); len(acts) > 0 {
			lost[k.Name(g)] = append(lost[k.Name(g)], acts)
		}
	}
	return lost
}

// rerouted orders the ledger: lines on rerouting last, by node, whatever the
// partitions.
func (r *runner) rerouted(e record.Entry) int {
	if e.Question != catalog.Rerouted {
		return -1
	}
	node, _ := r.Valid.Graph.NodeByName(e.Actor.Node)
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
		if r.Valid.Wire.Block == 0 && !r.Valid.Failover.FansOut() && t.At != f.NoticedPS && t.At != last {
			continue // on account of another failure
		}
		if t.At >= f.NoticedPS && t.At <= min(last, end) && !changed[t.Node] {
			changed[t.Node] = true
			n++
		}
	}
	return n
}

// recordLoops writes down the forwarding loops that the run came to, and what ended its TTL in each.
func (r *runner) recordLoops(out *record.Run) {
	g := r.Valid.Graph
	for _, l := range r.Valid.Loops {
		if l.From > out.EndPS {
			continue
		}
		loop := record.Loop{To: g.Nodes[g.HostOf(l.Endpoint)].Name, FromPS: l.From, ToPS: l.To}
		if l.To > out.EndPS {
			loop.ToPS = -1
		}
		for k, n := range l.Nodes {
			loop.Nodes = append(loop.Nodes, g.Nodes[n].Name)
			before := l.Nodes[(k+len(l.Nodes)-1)%len(l.Nodes)]
			loop.Expired += expired(out, g.Nodes[n].Name, g.Nodes[before].Name, l.From)
		}
		out.Loops = append(out.Loops, loop)
	}
}

// expired counts the frames that came from a peer to a switch and had no hops left there, if some did
// after an instant.
func expired(out *record.Run, node, peer string, after units.Time) (n int64) {
	for i := range out.Ports {
		if p := &out.Ports[i]; p.Node == node && p.Peer.Node == peer {
			for _, d := range p.DropCauses {
				if d.Cause == catalog.DropTTL && d.Last >= after {
					n += d.Count
				}
			}
		}
	}
	return n
}
