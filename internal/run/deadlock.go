package run

import (
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/record"
)

// waits finds a cycle among the queues that wait for each other at the end of a
// run: each is shut, because frames that it would send behind lie in the next.
type waits struct {
	nets []*fabric.Net
	done map[fabric.Queue]bool // looked up, never iterated; false: on the path
	path []fabric.Queue
}

// cycle returns the first cycle of waits in the order of ports, beginning with its
// first port in that order; nil when there is none.
func (r *runner) cycle() []record.Waiting {
	w := waits{nets: r.Nets, done: map[fabric.Queue]bool{}}
	order := map[fabric.Queue]int{}
	for k, place := range r.Place {
		for c := range uint8(fabric.Classes) {
			order[fabric.Queue{Part: place.Part, Port: place.Index, Class: c}] = k
		}
	}
	for _, place := range r.Place {
		for c := range uint8(fabric.Classes) {
			found := w.follow(fabric.Queue{Part: place.Part, Port: place.Index, Class: c})
			if found == nil {
				continue
			}
			first := 0
			for k := range found {
				if order[found[k]] < order[found[first]] {
					first = k
				}
			}
			return w.names(append(found[first:len(found):len(found)], found[:first]...))
		}
	}
	return nil
}

// follow goes on from q, if it is shut, to what keeps it so.
func (w *waits) follow(q fabric.Queue) (cycle []fabric.Queue) {
	n := w.nets[q.Part]
	done, seen := w.done[q]
	switch {
	case done || !n.Paused(q.Port, q.Class):
		return nil
	case seen:
		for k := range w.path {
			if w.path[k] == q {
				return w.path[k:]
			}
		}
	}
	w.done[q] = false
	w.path = append(w.path, q)
	for _, next := range n.Behind(q.Port, q.Class) {
		if cycle = w.follow(next); cycle != nil {
			return cycle
		}
	}
	w.path = w.path[:len(w.path)-1]
	w.done[q] = true
	return nil
}

func (w *waits) names(cycle []fabric.Queue) (out []record.Waiting) {
	for _, q := range cycle {
		out = append(out, record.Waiting{Port: w.nets[q.Part].PortName(q.Port), Class: int(q.Class), Layer: w.nets[q.Part].Layer(q.Port)})
	}
	return out
}
