package build

import (
	"sort"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/workload"
)

// Size of partitions, in ports. A partition's ports, queues, packets in flight
// and events should fit a second-level cache; small networks are still cut, so
// that more than one worker finds work.
const (
	portsPerPartition = 512
	smallPartition    = 16
	smallPartitions   = 8
	// warmPorts is the size of a network whose ports, queues and packets no
	// longer fit a second-level cache of 1 MB, at about 1 KB per port.
	warmPorts = 1024
)

// partitionCount follows from the topology alone, never from the workers.
func partitionCount(ports int) int {
	return max(1, min(ports/smallPartition, smallPartitions+ports/portsPerPartition))
}

// partition assigns every node to one of at most n partitions: hosts go with
// their first leaf, other switches with the neighbour that has the fewest so
// far, and the resulting line of clusters is cut into n pieces of about equal
// numbers of ports. zero[l] marks links without any delay, whose ends must
// share a partition, and so must the nodes of each group of joined. It returns
// the partition of each node and their number.
func partition(g *topology.Graph, n int, zero []bool, joined [][]int) ([]int, int) {
	cluster := clusters(g)
	glue(g, cluster, zero, joined)
	weight := make([]int, len(g.Nodes))
	total := 0
	for i, c := range cluster {
		weight[c] += len(g.Nodes[i].Ports)
		total += len(g.Nodes[i].Ports)
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

// glue merges the clusters at the two ends of links without delay, and those of
// the nodes of each group.
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
	for i := range p.Messages {
		m := &p.Messages[i]
		from, to := p.Ends(m)
		join(m.Trigger, from)
		join(m.SendDone, from)
		join(m.RecvDone, to)
	}
	return groups
}
