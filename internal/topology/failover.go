package topology

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/units"
)

// Failover is how fast an Ethernet network notices that a link failed, or came
// back, and by which rules it routes then.
type Failover struct {
	Detect   units.Time // from the event until the switches at both ends know; units.Never: they never do
	Converge units.Time // from then until they have new tables, and all others but for PerHop; units.Never likewise
	// PerHop is what news take from a switch to its neighbours.
	PerHop units.Time
	// Programming is what each node takes to write its new tables; nil: no time.
	Programming []units.Time
	Rules       Rules
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
	node  int // that alone comes to know; everyone: all do
}

const everyone = -1

// Changes lists the tables that the failures of a graph's links bring, by time,
// then node. A switch at an end of a failed link withdraws its port once it has
// detected the failure, from every group of equal-cost paths; it has no other
// paths then than those of the same length. Once the network has converged all
// switches have the paths of what is left; as long as some have and others have
// not, they may send packets to each other in a loop.
func (f Failover) Changes(g *Graph, routes *Routes) ([]Tables, error) {
	w := &withdrawal{g: g, rules: f.Rules, local: make([]bool, len(g.Links)), known: make([][]int, len(g.Nodes)),
		recent: []routesWithout{{"", routes}}}
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

// FansOut reports whether switches get new tables one after the other.
func (f Failover) FansOut() bool {
	return f.PerHop > 0 || slices.ContainsFunc(f.Programming, func(t units.Time) bool { return t > 0 })
}

// Delays are what each node takes longer than the ends of a link to have tables without it; -1: a
// host, or a switch that no news reach.
func (f Failover) Delays(g *Graph, link int) []units.Time {
	delay := make([]units.Time, len(g.Nodes))
	for n := range delay {
		delay[n] = -1
	}
	var queue []int
	for _, end := range []int{g.Links[link].A, g.Links[link].B} {
		if g.Nodes[end].Kind == Switch {
			delay[end], queue = 0, append(queue, end)
		}
	}
	for i := 0; i < len(queue); i++ {
		for _, p := range g.Nodes[queue[i]].Ports {
			if p.Link != link && g.Nodes[p.Peer].Kind == Switch && delay[p.Peer] < 0 {
				delay[p.Peer] = delay[queue[i]] + f.PerHop
				queue = append(queue, p.Peer)
			}
		}
	}
	for n := range delay {
		if f.Programming != nil && delay[n] >= 0 {
			delay[n] += f.Programming[n]
		}
	}
	return delay
}

// sights lists what switches come to know, by time.
func (f Failover) sights(g *Graph) []sight {
	var seen []sight
	note := func(link int, at units.Time, down bool) {
		if at == units.Never {
			return
		}
		seen = append(seen, sight{at + f.Detect, link, true, down, everyone})
		switch at += f.Detect + f.Converge; {
		case f.Converge == units.Never:
		case !f.FansOut():
			seen = append(seen, sight{at, link, false, down, everyone})
		default:
			for n, delay := range f.Delays(g, link) {
				if delay >= 0 {
					seen = append(seen, sight{at + delay, link, false, down, n})
				}
			}
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
	g      *Graph
	rules  Rules
	local  []bool          // by link: known to be down at its ends
	known  [][]int         // by node: the links that it has routes without, in order
	recent []routesWithout // the latest that were computed
	last   []Tables        // by node
	out    []Tables
}

// routesWithout are the routes without some links, which key names.
type routesWithout struct {
	key    string
	routes *Routes
}

// mostRecent is how many routes are kept: as news spread, few sets of links are known at once.
const mostRecent = 16

// learn takes in what becomes known at one instant and notes the tables that
// change with it.
func (w *withdrawal) learn(seen []sight) error {
	touched := make([]bool, len(w.g.Nodes))
	for _, s := range seen {
		if s.local {
			w.local[s.link] = s.down
			touched[w.g.Links[s.link].A], touched[w.g.Links[s.link].B] = true, true
			continue
		}
		for n := range touched {
			if s.node == everyone || s.node == n {
				w.known[n] = with(w.known[n], s.link, s.down)
				touched[n] = true
			}
		}
	}
	for node, yes := range touched {
		if !yes || w.g.Nodes[node].Kind != Switch {
			continue
		}
		if err := w.note(seen[0].at, node); err != nil {
			return err
		}
	}
	return nil
}

// with is an ordered list of links with one more, or one less.
func with(list []int, link int, down bool) []int {
	k, there := slices.BinarySearch(list, link)
	switch {
	case there == down:
		return list
	case down:
		return slices.Insert(slices.Clip(list), k, link)
	}
	return slices.Delete(slices.Clone(list), k, k+1)
}

// routes are those without some links.
func (w *withdrawal) routes(without []int) (*Routes, error) {
	key := ""
	for _, link := range without {
		key += strconv.Itoa(link) + " "
	}
	if k := slices.IndexFunc(w.recent, func(r routesWithout) bool { return r.key == key }); k >= 0 {
		return w.recent[k].routes, nil
	}
	dead := make([]bool, len(w.g.Links))
	for _, link := range without {
		dead[link] = true
	}
	routes, err := w.rules.Without(w.g, dead)
	if err != nil {
		return nil, err
	}
	if w.recent = append(w.recent, routesWithout{key, routes}); len(w.recent) > mostRecent {
		w.recent = slices.Delete(w.recent, 0, 1)
	}
	return routes, nil
}

// note adds the tables of a switch at an instant, if they differ from those before.
func (w *withdrawal) note(at units.Time, node int) error {
	base, err := w.routes(w.known[node])
	if err != nil {
		return err
	}
	now := Tables{At: at, Node: node, Group: base.Group[node], Members: base.Members[node]}
	var dead []uint16
	for port, p := range w.g.Nodes[node].Ports {
		if w.local[p.Link] && !slices.Contains(w.known[node], p.Link) {
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
	return nil
}

// Of returns the local ports by which t sends to endpoint ep.
func (t *Tables) Of(ep int) []uint16 {
	return of(t.Members, t.Group[ep])
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
			for _, m := range of(members, g) {
				if !slices.Contains(ports, m) {
					kept = append(kept, m)
				}
			}
			small = Pack(at, len(kept)-at)
			left[g] = small
		}
		out[ep] = small
	}
	return out, kept
}
