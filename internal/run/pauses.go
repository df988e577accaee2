package run

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/record"
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
