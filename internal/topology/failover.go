package topology

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/units"
)

// Failover is how fast an Ethernet network notices that a link failed, or came
// back.
type Failover struct {
	Detect   units.Time // from the event until the switches at both ends know; units.Never: they never do
	Converge units.Time // from then until all other switches know; units.Never likewise
}

// Notices reports whether the switches at both ends come to know of an outage: it must
// last for longer than it takes to detect, and not be silent.
func (f Failover) Notices(o Outage) bool {
	return f.Detect != units.Never && !o.Silent && (o.Up == units.Never || o.Up-o.Down > f.Detect)
}

// Tables are what one switch forwards by from an instant on, in the form of Routes.
type Tables struct {
	At      units.Time
	Node    int
	Group   []uint32
	Members []uint16
}

// sight is one thing that switches come to know.
type sight struct {
	at    units.Time
	link  int
	local bool // at the ends of the link alone
	down  bool
}

// Changes lists the tables that the failures of a graph's links bring, by time,
// then node. A switch at an end of a failed link withdraws its port once it has
// detected the failure, from every group of equal-cost paths; it has no other
// paths then than those of the same length. Once the network has converged all
// switches have the shortest paths of what is left.
func (f Failover) Changes(g *Graph, routes *Routes) ([]Tables, error) {
	w := &withdrawal{g: g, base: routes, local: make([]bool, len(g.Links)), global: make([]bool, len(g.Links))}
	for n := range g.Nodes {
		w.last = append(w.last, Tables{Group: routes.Group[n], Members: routes.Members[n]})
	}
	seen := f.sights(g)
	for len(seen) > 0 {
		n := 1
		for n < len(seen) && seen[n].at == seen[0].at {
			n++
		}
		if err := w.learn(seen[:n]); err != nil {
			return nil, err
		}
		seen = seen[n:]
	}
	return w.out, nil
}

// sights lists what switches come to know, by time.
func (f Failover) sights(g *Graph) []sight {
	var seen []sight
	note := func(link int, at units.Time, down bool) {
		if at == units.Never {
			return
		}
		seen = append(seen, sight{at + f.Detect, link, true, down})
		if f.Converge != units.Never {
			seen = append(seen, sight{at + f.Detect + f.Converge, link, false, down})
		}
	}
	for i := range g.Links {
		for _, o := range g.Links[i].Outages {
			if f.Notices(o) {
				note(i, o.Down, true)
				note(i, o.Up, false)
			}
		}
	}
	slices.SortStableFunc(seen, func(a, b sight) int { return cmp.Compare(a.at, b.at) })
	return seen
}

// withdrawal is the state of Changes.
type withdrawal struct {
	g             *Graph
	base          *Routes  // without the links in global
	local, global []bool   // by link: known to be down at its ends; everywhere
	last          []Tables // by node
	out           []Tables
}

// learn takes in what becomes known at one instant and notes the tables that
// change with it.
func (w *withdrawal) learn(seen []sight) error {
	global := false
	for _, s := range seen {
		if s.local {
			w.local[s.link] = s.down
		} else {
			w.global[s.link] = s.down
			global = true
		}
	}
	if global {
		routes, err := RoutesWithout(w.g, w.global)
		if err != nil {
			return err
		}
		w.base = routes
	}
	for node := range w.g.Nodes {
		if w.g.Nodes[node].Kind != Switch || !global && !w.ends(node, seen) {
			continue
		}
		w.note(seen[0].at, node)
	}
	return nil
}

// ends reports whether a link that was seen ends at node.
func (w *withdrawal) ends(node int, seen []sight) bool {
	return slices.ContainsFunc(seen, func(s sight) bool {
		return w.g.Links[s.link].A == node || w.g.Links[s.link].B == node
	})
}

// note adds the tables of a switch at an instant, if they differ from those before.
func (w *withdrawal) note(at units.Time, node int) {
	now := Tables{At: at, Node: node, Group: w.base.Group[node], Members: w.base.Members[node]}
	var dead []uint16
	for port, p := range w.g.Nodes[node].Ports {
		if w.local[p.Link] && !w.global[p.Link] {
			dead = append(dead, uint16(port))
		}
	}
	if dead != nil {
		now.Group, now.Members = withoutPorts(now.Group, now.Members, dead)
	}
	if !now.same(&w.last[node]) {
		w.last[node] = now
		w.out = append(w.out, now)
	}
}

// Of returns the local ports by which t sends to endpoint ep.
func (t *Tables) Of(ep int) []uint16 {
	g := t.Group[ep]
	return t.Members[g>>8 : g>>8+g&0xff]
}

func (t *Tables) same(o *Tables) bool {
	for ep := range t.Group {
		if !slices.Equal(t.Of(ep), o.Of(ep)) {
			return false
		}
	}
	return true
}

// withoutPorts takes ports out of every group.
func withoutPorts(group []uint32, members, ports []uint16) ([]uint32, []uint16) {
	left := map[uint32]uint32{} // by group; looked up, never iterated
	out := make([]uint32, len(group))
	var kept []uint16
	for ep, g := range group {
		small, ok := left[g]
		if !ok {
			at := len(kept)
			for _, m := range members[g>>8 : g>>8+g&0xff] {
				if !slices.Contains(ports, m) {
					kept = append(kept, m)
				}
			}
			small = uint32(at)<<8 | uint32(len(kept)-at)
			left[g] = small
		}
		out[ep] = small
	}
	return out, kept
}
