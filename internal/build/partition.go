package build

import (
	"slices"
	"sort"

	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Size of partitions, in ports. A worker takes whole partitions, so that each has two,
// if there are enough, to make up for unequal loads.
const (
	smallPartition      = 16
	partitionsPerWorker = 2
	// warmPorts is the size of a network whose ports, queues and packets no
	// longer fit a second-level cache of 1 MB, at about 1 KB per port.
	warmPorts = 1024
)

// partitionCount is how many partitions a network of so many ports is cut into.
func partitionCount(ports, workers int) int {
	if workers <= 1 {
		return 1
	}
	return max(1, min(ports/smallPartition, partitionsPerWorker*workers))
}

// insideLoad is how many ports have as many events as one of a host whose server moves
// data between its GPUs and cards: eight of eight such hosts, 64 ports, were 8.6 million in
// an AllReduce, in which 64 ports of switches had 1.4.
const insideLoad = 8

// loads is how many events each node has, next to others: its ports, those of hosts with a
// server more than once.
func loads(g *topology.Graph, inside func(node int) bool) []int {
	load := make([]int, len(g.Nodes))
	for i := range g.Nodes {
		if load[i] = len(g.Nodes[i].Ports); inside != nil && inside(i) {
			load[i] *= insideLoad
		}
	}
	return load
}

// partition assigns every node to one of at most n partitions: hosts go with the leaf of
// theirs that has the fewest so far, other switches with such a neighbour, and the
// resulting line of clusters is cut into n pieces of about equal loads. zero[l] marks
// links without any delay, whose ends must share a partition, and so must the nodes of
// each group of joined. It returns the partition of each node and their number.
func partition(g *topology.Graph, load []int, n int, zero []bool, joined [][]int) ([]int, int) {
	cluster := clusters(g)
	glue(g, cluster, zero, joined)
	weight := make([]int, len(g.Nodes))
	total := 0
	for i, c := range cluster {
		weight[c] += load[i]
		total += load[i]
	}
	order := make([]int, 0, len(g.Nodes))
	for c, w := range weight {
		if w > 0 {
			order = append(order, c)
		}
	}
	sort.Ints(order)
	of := make([]int, len(g.Nodes)) // cluster -> partition
	part, sum := 0, 0
	for k, c := range order {
		// Cut where the running sum passes the next n-th of the total, and
		// leave no partition empty.
		if k > 0 && sum*n >= (part+1)*total && part < n-1 {
			part++
		}
		of[c] = part
		sum += weight[c]
	}
	out := make([]int, len(g.Nodes))
	for i, c := range cluster {
		out[i] = of[c]
	}
	return out, part + 1
}

// Windows are as wide as the links allow, up to maxWindow: more events of a node lie
// together the wider they are. Where a few links are short, the nodes at their ends form
// one cell, in which events go by time, so that the others may be wide; that is worth it
// while such a cell has few enough events in a window. Where nearly all links are short
// and the network is so small that windows would be as good as empty, everything may be
// one cell. Events in a window are taken as its width times loads: at 100 Gb/s and 4 KB a
// busy port has one in about 250 ns.
const (
	maxWindow = 10 * units.Microsecond
	wideCell  = 128 * units.Microsecond // events that a cell of several nodes may have
	empty     = 8 * units.Microsecond   // events of all nodes for which a window is not worth it
)

// cells joins the nodes of each partition into cells: those whose links have less
// lookahead than a window is wide, and those of each group of joined. It returns the
// cell of each node, named by one of its nodes, and the width of the windows.
func cells(g *topology.Graph, load, part []int, ahead []units.Time, joined [][]int) ([]int, units.Time) {
	width := maxWindow
	for l := range g.Links {
		if part[g.Links[l].A] != part[g.Links[l].B] {
			width = min(width, ahead[l])
		}
	}
	widths := []units.Time{width}
	for _, a := range ahead {
		if a >= sim.MinLookahead && a < width {
			widths = append(widths, a)
		}
	}
	slices.Sort(widths)
	widths = slices.Compact(widths)
	least := 0
	cell, largest := joinCells(g, load, ahead, widths[0], joined)
	// Cells grow with the width, so that the widest of the good ones can be halved for.
	for most := len(widths); most-least > 1; {
		k := (least + most) / 2
		wider, size := joinCells(g, load, ahead, widths[k], joined)
		if size > largest && units.Time(size)*widths[k] > wideCell {
			most = k
			continue
		}
		least, cell = k, wider
	}
	width = widths[least]
	total := 0
	for _, n := range load {
		total += n
	}
	if least+1 < len(widths) && units.Time(total)*width < empty {
		wider, size := joinCells(g, load, ahead, widths[least+1], joined)
		if w := wideCell / units.Time(size); w > width {
			cell, width = wider, w
		}
	}
	return cell, width
}

// joinCells joins the nodes of links with less lookahead than width. It returns the
// load of the largest cell of several nodes beside the cells.
func joinCells(g *topology.Graph, load []int, ahead []units.Time, width units.Time, joined [][]int) (cell []int, largest int) {
	short := make([]bool, len(ahead))
	for l, a := range ahead {
		short[l] = a < width
	}
	cell = make([]int, len(g.Nodes))
	for i := range cell {
		cell[i] = i
	}
	glue(g, cell, short, joined)
	sum := make([]int, len(g.Nodes))
	for i, c := range cell {
		sum[c] += load[i]
		if i != c {
			largest = max(largest, sum[c])
		}
	}
	return cell, largest
}

// clusters names each node's cluster by the index of its leaf switch.
func clusters(g *topology.Graph) []int {
	cluster := make([]int, len(g.Nodes))
	load := make([]int, len(g.Nodes))
	for i := range cluster {
		cluster[i] = -1
	}
	for i, n := range g.Nodes {
		if n.Kind != topology.Host {
			continue
		}
		leaf := n.Ports[0].Peer
		for _, p := range n.Ports[1:] {
			if load[p.Peer] < load[leaf] {
				leaf = p.Peer
			}
		}
		cluster[i] = leaf
		cluster[leaf] = leaf
		load[leaf] += len(n.Ports)
	}
	// Spines, then cores: each round places the switches next to placed ones.
	for placed := true; placed; {
		placed = false
		var found []int
		for i := range g.Nodes {
			if cluster[i] < 0 {
				if c := lightest(g, i, cluster, load); c >= 0 {
					cluster[i] = -2 - c
					load[c] += len(g.Nodes[i].Ports)
					found = append(found, i)
				}
			}
		}
		for _, i := range found {
			cluster[i] = -2 - cluster[i]
			placed = true
		}
	}
	for i := range cluster {
		if cluster[i] < 0 {
			cluster[i] = i
		}
	}
	return cluster
}

// lightest returns the cluster with the least load among node's neighbours, or -1.
func lightest(g *topology.Graph, node int, cluster, load []int) int {
	best := -1
	for _, p := range g.Nodes[node].Ports {
		if c := cluster[p.Peer]; c >= 0 && (best < 0 || load[c] < load[best] || load[c] == load[best] && c < best) {
			best = c
		}
	}
	return best
}

// glue merges the clusters at the two ends of marked links, and those of the nodes of
// each group. A cluster is named by the least of its names.
func glue(g *topology.Graph, cluster []int, zero []bool, joined [][]int) {
	to := make([]int, len(g.Nodes)) // clusters merged into others: a forest
	for i := range to {
		to[i] = i
	}
	find := func(c int) int {
		for to[c] != c {
			to[c] = to[to[c]]
			c = to[c]
		}
		return c
	}
	merge := func(node, other int) {
		a, b := find(cluster[node]), find(cluster[other])
		to[max(a, b)] = min(a, b)
	}
	for l, z := range zero {
		if z {
			merge(g.Links[l].A, g.Links[l].B)
		}
	}
	for _, group := range joined {
		for _, node := range group {
			merge(group[0], node)
		}
	}
	for i := range cluster {
		cluster[i] = find(cluster[i])
	}
}

// triggerGroups lists the hosts that each trigger of a plan joins: an operation
// starts on one of them the instant another's ends.
func triggerGroups(p *workload.Plan, g *topology.Graph) [][]int {
	if len(p.Triggers) == 0 {
		return nil
	}
	groups := make([][]int, len(p.Triggers))
	join := func(id, ep int) {
		if id > 0 {
			groups[id-1] = append(groups[id-1], g.Endpoints[ep].Node)
		}
	}
	for i := range p.Series {
		m := &p.Series[i].Message
		from, to := p.Ends(m)
		join(m.Trigger, from)
		join(m.SendDone, from)
		join(m.RecvDone, to)
	}
	for i := range p.Triggers { // a relay stands before what it activates
		for _, other := range p.Triggers[i].Then {
			groups[i] = append(groups[i], groups[other-1]...)
		}
	}
	return groups
}
