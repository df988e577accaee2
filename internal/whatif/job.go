package whatif

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/workload"
)

// easeJobs makes a change that is about jobs.
func (c Change) easeJobs(v *scenario.Valid) {
	switch c.Kind {
	case Lines:
		for i := range v.Graph.Links {
			v.Graph.Links[i].Rate *= 2
		}
	case Uplinks:
		for _, h := range uplinks(v.Graph) {
			speedUp(v.Graph, h)
		}
	case Ports:
		for k := 0; k < len(c.Path); k += 2 {
			speedUp(v.Graph, topology.Hop{Node: c.Path[k], Port: c.Path[k+1]})
		}
	case Compute:
		for _, j := range v.Plan.Jobs {
			if j.Entry == c.Entry {
				noCompute(j)
			}
		}
	case Stragglers:
		for _, j := range v.Plan.Jobs {
			if j.Entry == c.Entry {
				j.Slow, j.Jitter = nil, 0
			}
		}
	case Kernels:
		for i := range v.Plan.Labels {
			if l := &v.Plan.Labels[i]; !l.Computes {
				l.Parts = nil
			}
		}
		for i, p := range v.Plan.Programs {
			free := *p
			free.Free = true
			v.Plan.Programs[i] = &free
		}
	}
}

// jobText says what a change does that names several ports, or computations.
func (c Change) jobText(v *scenario.Valid) string {
	if c.Kind == Stragglers {
		return "no rank of " + v.Plan.Entries[c.Entry] + " slow, and no jitter"
	}
	if c.Kind == Compute {
		return "computations of " + v.Plan.Entries[c.Entry] + " take no time"
	}
	var ports []string
	for k := 0; k < len(c.Path); k += 2 {
		ports = append(ports, fmt.Sprintf("%s:%d", v.Graph.Nodes[c.Path[k]].Name, c.Path[k+1]+1))
	}
	return fmt.Sprintf("%s at %d times their rates", strings.Join(ports, ", "), Faster)
}

// uplinks are the ports of switches that lead to other switches.
func uplinks(g *topology.Graph) (out []topology.Hop) {
	for n := range g.Nodes {
		for p := range g.Nodes[n].Ports {
			if g.Nodes[n].Kind == topology.Switch && g.Nodes[g.Nodes[n].Ports[p].Peer].Kind == topology.Switch {
				out = append(out, topology.Hop{Node: n, Port: p})
			}
		}
	}
	return out
}

// noCompute has the computations of a job take no time.
func noCompute(j *workload.Job) {
	for i := range j.Lists {
		j.Lists[i].Ops = slices.Clone(j.Lists[i].Ops)
		for k := range j.Lists[i].Ops {
			j.Lists[i].Ops[k].Time = 0
		}
	}
}

// mostPorts is how many ports are tried for a job one by one.
const mostPorts = 3

// jobCandidates lists the single changes that may matter to the steps of a job: other entries of the scenario, ports of
// switches at which most waited, congestion control, pauses, what binds at hosts, failures, settings.
func (l *Lab) jobCandidates(s *Subject) (out []Change) {
	add := func(c Change) {
		if !slices.ContainsFunc(out, c.Same) {
			out = append(out, c)
		}
	}
	v := l.Valid
	for e, name := range v.Plan.Entries {
		if name != s.Job && e < mostPorts+1 {
			add(Change{Kind: Entry, Entry: e})
		}
	}
	for _, j := range v.Plan.Jobs {
		if v.Plan.Entries[j.Entry] == s.Job && (j.Slow != nil || j.Jitter > 0) {
			add(Change{Kind: Stragglers, Entry: j.Entry})
		}
	}
	crowded := l.crowded(s.Job)
	for _, h := range crowded[:min(len(crowded), mostPorts)] {
		add(Change{Kind: Port, Node: h.Node, Port: h.Port})
	}
	if len(crowded) > 1 {
		add(portsAt(crowded))
	}
	if v.Control == nil {
		add(Change{Kind: Lines})
	}
	slow := func(h topology.Hop) bool { return !l.tellsFaster(h) }
	if ups := uplinks(v.Graph); len(ups) > 0 && !slices.ContainsFunc(ups, slow) {
		add(Change{Kind: Uplinks})
	}
	if slices.ContainsFunc(v.Transports, func(t rdma.Config) bool {
		return t.CC != nil || t.IBCC != nil || t.Control != nil
	}) {
		add(Change{Kind: Control})
	}
	if l.anyPauses() {
		add(Change{Kind: Pauses})
	}
	if slices.ContainsFunc(l.hops(), func(h topology.Hop) bool {
		return portOf(v, h.Node, h.Port).Credit != nil && l.ports[h].held > 0
	}) {
		add(Change{Kind: Credits, Node: Everywhere})
	}
	l.jobSurroundings(add)
	for e, name := range v.Plan.Entries {
		if name == s.Job {
			add(Change{Kind: Compute, Entry: e})
		}
	}
	return out
}

// jobSurroundings adds what binds at hosts, failures and settings.
func (l *Lab) jobSurroundings(add func(Change)) {
	v := l.Valid
	for _, c := range l.everywhere() {
		add(c)
	}
	if slices.ContainsFunc(v.Plan.Conns, func(c workload.Conn) bool { return c.SrcStaged || c.DstStaged }) {
		add(Change{Kind: GPUDirect})
	}
	if slices.ContainsFunc(v.Plan.Labels, func(x workload.Label) bool { return !x.Computes && x.Delay() > 0 }) {
		add(Change{Kind: Kernels})
	}
	for k := range v.Graph.Links {
		if v.Graph.Links[k].FailsAt() < l.Run.EndPS {
			add(Change{Kind: Failure, Link: k})
		}
	}
	if l.lossy() {
		add(Change{Kind: Loss})
	}
	if l.severalClasses() {
		add(Change{Kind: Classes})
	}
	if (l.Run.HashedFlows > 0 || !ownHashes(v)) && v.Wire.Block == 0 {
		add(Change{Kind: Hash})
	}
}

// portsAt is the change of several ports at once.
func portsAt(list []topology.Hop) Change {
	c := Change{Kind: Ports}
	for _, h := range list {
		c.Path = append(c.Path, h.Node, h.Port)
	}
	return c
}

// crowded lists the ports of switches that a job takes at which most waited, the worst first.
func (l *Lab) crowded(job string) (out []topology.Hop) {
	taken := map[record.PortID]bool{}
	for i := range l.Run.QPs {
		if q := &l.Run.QPs[i]; q.SentBytes > 0 && strings.TrimSuffix(q.Workload, " slots") == job {
			for _, h := range q.Limits.Path {
				taken[h.Port] = true
			}
		}
	}
	g := l.Valid.Graph
	for _, h := range l.hops() {
		at := record.PortID{Node: g.Nodes[h.Node].Name, Port: h.Port + 1}
		if g.Nodes[h.Node].Kind == topology.Switch && taken[at] && l.ports[h].busy(l.frame) && l.tellsFaster(h) {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b topology.Hop) int {
		x, y := l.ports[a], l.ports[b]
		return cmp.Or(cmp.Compare(y.marked, x.marked), cmp.Compare(y.queue, x.queue), cmp.Compare(y.held, x.held))
	})
	return out[:min(len(out), 2*mostPorts)]
}

// jobNamed is what takes away what a report says of a job, and the sentence.
func (l *Lab) jobNamed(k int) (changes []Change, said string) {
	c := metrics.JobCauseOf(l.Run, k)
	port := func() []Change { // of several in a row one faster port alone helps nobody
		var at []topology.Hop
		g := l.Valid.Graph
		for _, p := range c.Places {
			n, ok := g.NodeByName(p.Node)
			h := topology.Hop{Node: n, Port: int(p.Port) - 1}
			switch {
			case !ok || !l.tellsFaster(h):
			case g.Nodes[g.Nodes[n].Ports[h.Port].Peer].Kind == topology.Switch:
				return []Change{{Kind: Uplinks}}
			default:
				at = append(at, h)
			}
		}
		switch len(at) {
		case 0:
			return nil
		case 1:
			return []Change{{Kind: Port, Node: at[0].Node, Port: at[0].Port}}
		}
		return []Change{portsAt(at)}
	}
	switch c.Hold {
	case metrics.HoldOthers:
		for e, name := range l.Valid.Plan.Entries {
			if name == c.By[0] {
				changes = append(changes, Change{Kind: Entry, Entry: e})
			}
		}
	case metrics.HoldSlowRank:
		changes = []Change{{Kind: Stragglers, Entry: l.Valid.Plan.Jobs[k].Entry}}
	case metrics.HoldComputing:
		changes = []Change{{Kind: Compute, Entry: l.Valid.Plan.Jobs[k].Entry}}
	case metrics.HoldControl:
		changes = append([]Change{{Kind: Control}}, port()...)
	case metrics.HoldWindow:
		changes = []Change{{Kind: Window, Node: Everywhere}}
	case metrics.HoldPaused:
		changes = append([]Change{{Kind: Pauses}, {Kind: Credits, Node: Everywhere}}, port()...)
	case metrics.HoldInside, metrics.HoldCopies:
		changes = []Change{{Kind: PCIe, Node: Everywhere}, {Kind: Kernels}}
	case metrics.HoldLaunch:
		changes = []Change{{Kind: Kernels}}
	case metrics.HoldProxies:
		changes = []Change{{Kind: Kernels}, {Kind: Core, Node: Everywhere}, {Kind: Card, Node: Everywhere}}
	case metrics.HoldPort:
		changes = port()
	case metrics.HoldLine:
		changes = []Change{{Kind: Lines}}
	}
	if c.Slow {
		changes = append(changes, Change{Kind: Stragglers, Entry: l.Valid.Plan.Jobs[k].Entry})
	}
	return changes, c.Text
}
