package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/visible"
)

// MostElements is how many marks the topology has at most before anything is opened.
const MostElements = 200

// way is one direction of a link.
type way struct {
	from, to record.PortID
	rows     []int // of the port in the JSON, one for each class that was used
	use      float64
	held     int64
	drops    int64
}

// link is a cable between two nodes, by their numbers.
type link struct {
	a, b int
	ways [2]way // from a, and from b
}

// network is a run's topology with what happened on its links.
type network struct {
	nodes []record.NetworkNode
	tier  []int
	links []link
	top   int   // the highest tier
	part  []int // of a node: its part of the network without the highest tier; -1: of that
	parts int
}

// networkOf is the network of a run; nil: the record has none.
func networkOf(r *record.Run) *network {
	if r.Network == nil || len(r.Network.Links) == 0 {
		return nil
	}
	n := &network{nodes: r.Network.Nodes}
	rows := map[record.PortID][]int{}
	for i := range r.Ports {
		id := r.Ports[i].ID()
		rows[id] = append(rows[id], i)
	}
	at := map[string]int{}
	for i := range n.nodes {
		at[n.nodes[i].Name] = i
	}
	for _, l := range r.Network.Links {
		k := link{a: at[l.A.Node], b: at[l.B.Node]}
		for side, ends := range [2][2]record.PortID{{l.A, l.B}, {l.B, l.A}} {
			w := way{from: ends[0], to: ends[1], rows: rows[ends[0]]}
			for _, i := range w.rows {
				p := &r.Ports[i]
				w.use, w.held, w.drops = w.use+p.Utilisation, w.held+int64(p.HeldPS), w.drops+p.Dropped
			}
			k.ways[side] = w
		}
		n.links = append(n.links, k)
	}
	n.setTiers()
	n.setParts()
	return n
}

// neighbours lists for each node those it has links to.
func (n *network) neighbours() [][]int {
	out := make([][]int, len(n.nodes))
	for i := range n.links {
		l := &n.links[i]
		out[l.a], out[l.b] = append(out[l.a], l.b), append(out[l.b], l.a)
	}
	return out
}

// setTiers takes the tiers that the topology states; of switches without one it is how far they
// are from hosts.
func (n *network) setTiers() {
	n.tier = make([]int, len(n.nodes))
	next := n.neighbours()
	var queue []int
	for i := range n.nodes {
		n.tier[i] = n.nodes[i].Tier
		if !n.nodes[i].Switch {
			queue = append(queue, i)
		}
	}
	far := make([]int, len(n.nodes))
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, k := range next[i] {
			if n.nodes[k].Switch && far[k] == 0 {
				far[k] = far[i] + 1
				queue = append(queue, k)
			}
		}
	}
	for i := range n.nodes {
		if n.nodes[i].Switch && n.tier[i] == 0 {
			n.tier[i] = max(1, far[i])
		}
		n.top = max(n.top, n.tier[i])
	}
}

// setParts divides what lies below the highest tier into parts that only that joins. Hosts that
// are parts by themselves and have the same neighbours are one.
func (n *network) setParts() {
	n.part = make([]int, len(n.nodes))
	for i := range n.part {
		n.part[i] = -1
	}
	next := n.neighbours()
	alone := map[string]int{}
	for i := range n.nodes {
		if n.tier[i] == n.top || n.part[i] >= 0 {
			continue
		}
		members := []int{i}
		n.part[i] = n.parts
		for k := 0; k < len(members); k++ {
			for _, to := range next[members[k]] {
				if n.tier[to] != n.top && n.part[to] < 0 {
					n.part[to] = n.parts
					members = append(members, to)
				}
			}
		}
		if len(members) == 1 {
			key := fmt.Sprint(slices.Sorted(slices.Values(next[i])))
			if k, known := alone[key]; known {
				n.part[i] = k
				continue
			}
			alone[key] = n.parts
		}
		n.parts++
	}
}

// group is nodes that are drawn as one box.
type group struct {
	label string
	tier  int
	nodes []int
	part  int // -1: of the highest tier, or of several
	x, y  float64
	w     float64
}

// bundle is links that are drawn as one: all between two groups.
type bundle struct {
	a, b  int // groups
	links []int
}

// picture is groups and bundles.
type picture struct {
	*network
	groups  []group
	bundles []bundle
	of      []int // of a node: its group; -1: none
	spacing map[int]float64
}

// arrange puts nodes into groups by key, in order of appearance; those without a key are left
// out. Links within a group are not drawn. Of single nodes each link is a bundle.
func (n *network) arrange(key func(node int) string) *picture {
	p := &picture{network: n}
	at := map[string]int{}
	of := make([]int, len(n.nodes))
	p.of = of
	for i := range n.nodes {
		k := key(i)
		of[i] = -1
		if k == "" {
			continue
		}
		g, known := at[k]
		if !known {
			g = len(p.groups)
			at[k] = g
			p.groups = append(p.groups, group{tier: n.tier[i], part: n.part[i]})
		}
		of[i] = g
		p.groups[g].nodes = append(p.groups[g].nodes, i)
		if p.groups[g].part != n.part[i] {
			p.groups[g].part = -1
		}
	}
	pairs := map[[2]int]int{}
	for i := range n.links {
		a, b := of[n.links[i].a], of[n.links[i].b]
		if a < 0 || b < 0 || a == b {
			continue
		}
		pair := [2]int{min(a, b), max(a, b)}
		k, known := pairs[pair]
		if single := len(p.groups[a].nodes) == 1 && len(p.groups[b].nodes) == 1; !known || single {
			k = len(p.bundles)
			pairs[pair] = k
			p.bundles = append(p.bundles, bundle{a: a, b: b})
		}
		p.bundles[k].links = append(p.bundles[k].links, i)
	}
	for g := range p.groups {
		p.groups[g].label = n.label(p.groups[g].nodes)
	}
	return p
}

// label names a group: by its node, or by how many of which there are.
func (n *network) label(nodes []int) string {
	first := n.nodes[nodes[0]].Name
	if len(nodes) == 1 {
		return first
	}
	what := "hosts"
	if n.nodes[nodes[0]].Switch {
		what = "switches"
	}
	return fmt.Sprintf("%d %s %s … %s", len(nodes), what, first, n.nodes[nodes[len(nodes)-1]].Name)
}

// elements is how many marks the picture takes.
func (p *picture) elements() int {
	count := len(p.groups)
	for i := range p.bundles {
		for side := range 2 {
			w := p.most(&p.bundles[i], side)
			count++
			if w.held != nil {
				count++
			}
			if w.drops != nil {
				count++
			}
		}
	}
	return count
}

// whole has a box for every node.
func (n *network) whole() *picture {
	return n.arrange(func(node int) string { return n.nodes[node].Name })
}

// folded has a box for the nodes of a tier in each part, and for the highest tier; of many parts
// those with the busiest links are told apart and the others are one.
func (n *network) folded() *picture {
	order := n.busiestParts()
	for keep := len(order); ; keep = keep * 3 / 4 {
		kept := map[int]bool{}
		for _, part := range order[:keep] {
			kept[part] = true
		}
		p := n.arrange(func(node int) string {
			part := n.part[node]
			if part >= 0 && !kept[part] {
				part = -2
			}
			return fmt.Sprint(part, " ", n.tier[node])
		})
		if p.elements() <= MostElements-legendElements || keep == 0 {
			return p
		}
	}
}

// busiestParts are the parts, that with the most held and used link first.
func (n *network) busiestParts() []int {
	use := make([]float64, n.parts)
	for i := range n.links {
		l := &n.links[i]
		for _, end := range [2]int{l.a, l.b} {
			if part := n.part[end]; part >= 0 {
				for side := range l.ways {
					w := &l.ways[side]
					use[part] = max(use[part], w.use+math.Min(float64(w.held)/1e9, 1)+math.Min(float64(w.drops), 1))
				}
			}
		}
	}
	order := make([]int, n.parts)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(use[b], use[a]) })
	return order
}

// opened shows every node of a part, and the highest tier as one box.
func (n *network) opened(part int) *picture {
	return n.arrange(func(node int) string {
		switch n.part[node] {
		case part:
			return "node " + n.nodes[node].Name
		case -1:
			return "top"
		}
		return ""
	})
}

// worst are the ways of a bundle, in one direction, that were used, held and dropped most; nil:
// none was.
type worst struct{ use, held, drops *way }

// most finds the worst ways from group a (side 0) or b of a bundle.
func (p *picture) most(b *bundle, side int) (w worst) {
	from := b.a
	if side == 1 {
		from = b.b
	}
	for _, i := range b.links {
		l := &p.links[i]
		v := &l.ways[0]
		if p.of[l.a] != from {
			v = &l.ways[1]
		}
		if len(v.rows) > 0 && (w.use == nil || v.use > w.use.use) {
			w.use = v
		}
		if v.held > 0 && (w.held == nil || v.held > w.held.held) {
			w.held = v
		}
		if v.drops > 0 && (w.drops == nil || v.drops > w.drops.drops) {
			w.drops = v
		}
	}
	return w
}

// place gives every group its place: a row per tier, the highest at the top, in an order that
// keeps links short.
func (p *picture) place(width, gap float64) (height float64) {
	rows := map[int][]int{}
	highest := 0
	for g := range p.groups {
		rows[p.groups[g].tier] = append(rows[p.groups[g].tier], g)
		highest = max(highest, p.groups[g].tier)
	}
	joined := make([][]int, len(p.groups))
	for i := range p.bundles {
		b := &p.bundles[i]
		joined[b.a], joined[b.b] = append(joined[b.a], b.b), append(joined[b.b], b.a)
	}
	p.spacing = map[int]float64{}
	for t, row := range rows {
		p.spacing[t] = width / float64(len(row))
	}
	y := 24.0 + p.above(highest)
	depth := map[int]float64{}
	for t := highest; t >= 0; t-- {
		if len(rows[t]) > 0 {
			depth[t] = y
			y += gap
		}
	}
	for t := 0; t <= highest; t++ {
		row := rows[t]
		if len(row) == 0 {
			continue
		}
		if t == 0 { // hosts of a switch beside each other
			slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(first(joined[a]), first(joined[b])) })
		} else { // above the middle of what is below
			slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(p.middle(joined[a], t), p.middle(joined[b], t)) })
		}
		room := width / float64(len(row))
		for i, g := range row {
			p.groups[g].x, p.groups[g].y = (float64(i)+0.5)*room, depth[t]
			width := 8 + characterWidth*float64(visible.Width(short(p.groups[g].label, 30)))
			p.groups[g].w = math.Min(room-4, math.Max(26, width))
		}
	}
	return y - gap + 40
}

// bow is how far the links between two groups of a tier go up, so that they pass above those
// between them.
func (p *picture) bow(a, b *group) float64 {
	if a.tier != b.tier || math.Abs(a.x-b.x) < 1.5*p.spacing[a.tier] {
		return 0
	}
	return 18 + 0.05*math.Abs(a.x-b.x)
}

// above is what a tier's bows may take.
func (p *picture) above(tier int) float64 {
	for i := range p.bundles {
		if b := &p.bundles[i]; p.groups[b.a].tier == tier && p.groups[b.b].tier == tier && len(p.groups) > 2 {
			return 18 + 0.05*chartWidth/2
		}
	}
	return 0
}

// first is the least of some groups.
func first(of []int) int {
	if len(of) == 0 {
		return 0
	}
	return slices.Min(of)
}

// middle is where the groups below a tier are, on average.
func (p *picture) middle(of []int, tier int) float64 {
	sum, n := 0.0, 0.0
	for _, g := range of {
		if p.groups[g].tier < tier {
			sum, n = sum+p.groups[g].x, n+1
		}
	}
	return sum / max(n, 1)
}

// classes are the distinct parts of a picture in words, for a caption.
func (p *picture) classes() string {
	var out []string
	for g := range p.groups {
		if len(p.groups[g].nodes) > 1 {
			out = append(out, p.groups[g].label)
		}
	}
	return strings.Join(out, ", ")
}
