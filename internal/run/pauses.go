package run

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// pauses joins the partitions' lists: by time, node, port and class; the events
// of one class keep the order in which they happened.
func (r *runner) pauses() []record.PauseEvent {
	var all []record.PauseEvent
	for _, n := range r.Nets {
		all = append(all, n.Pauses()...)
	}
	node := func(name string) int {
		i, _ := r.Valid.Graph.NodeByName(name)
		return i
	}
	slices.SortStableFunc(all, func(a, b record.PauseEvent) int {
		if c := cmp.Compare(a.At, b.At); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(node(a.Node), node(b.Node)), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Class, b.Class))
	})
	return all
}

// storms joins the partitions' lists: by time, node, port and class.
func (r *runner) storms() (all []record.Storm) {
	for _, n := range r.Nets {
		all = n.Storms(all)
	}
	slices.SortStableFunc(all, func(a, b record.Storm) int {
		i, _ := r.Valid.Graph.NodeByName(a.Port.Node)
		k, _ := r.Valid.Graph.NodeByName(b.Port.Node)
		return cmp.Or(cmp.Compare(a.FromPS, b.FromPS), cmp.Compare(i, k), cmp.Compare(a.Port.Port, b.Port.Port),
			cmp.Compare(a.Class, b.Class))
	})
	return all
}

// faults lists what went wrong with cards up to end, and warns of what was to come later.
func (r *runner) faults(end units.Time) (all []record.Fault) {
	for n := range r.Valid.NICs {
		for _, f := range r.Valid.NICs[n].Faults {
			if f.From > end {
				continue
			}
			x := record.Fault{Node: r.Valid.Graph.Nodes[n].Name, Kind: f.Kind, FromPS: f.From, ToPS: f.To, RateBps: f.Rate}
			if f.To > end {
				x.ToPS = -1
			}
			x.Lapses, _ = slices.BinarySearch(f.Lapses, end)
			all = append(all, x)
		}
	}
	return all
}

// pauseClasses are the priorities for which PFC is on at a switch.
func (r *runner) pauseClasses() (out []int) {
	on := uint8(0)
	for i := range r.Valid.Switches {
		for _, p := range r.Valid.Switches[i].Ports {
			on |= p.PFC.Enabled
		}
	}
	for c := range fabric.Classes {
		if on>>c&1 != 0 {
			out = append(out, c)
		}
	}
	return out
}
