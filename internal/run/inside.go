package run

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// recordInside completes the limits of queue pairs and host ports with what the links
// inside hosts allow: at the sender the card's reads, at the receiver its writes.
func (r *runner) recordInside(out *record.Run) {
	if !slices.ContainsFunc(r.Servers, func(e *dma.Engine) bool { return e != nil }) {
		return
	}
	x := insides{runner: r, ports: map[string][]*record.Port{}, qps: map[qpAt]*record.QPLimits{}, known: map[wayInside]record.InsideLimit{}, uses: map[int][]dma.LinkUse{}, end: out.EndPS}
	for i := range out.Ports {
		p := &out.Ports[i]
		name := fmt.Sprintf("%s:%d", p.Node, p.Port)
		x.ports[name] = append(x.ports[name], p)
	}
	for i := range out.QPs {
		x.qps[qpAt{out.QPs[i].Host, out.QPs[i].QP}] = &out.QPs[i].Limits
	}
	reads, both := r.reads(), bothWays(r.Valid.Plan)
	for i := range r.Valid.Plan.Conns {
		c, to := &r.Valid.Plan.Conns[i], r.Responders[i]
		src, dst := r.memoryAt(c.Src, c.SrcDevice, c.SrcStaged), r.memoryAt(c.Dst, c.DstDevice, c.DstStaged)
		if !reads[i] || both[i] {
			x.flow(src, dst, to.Requester)
		}
		if reads[i] || both[i] {
			x.flow(dst, src, to.QP)
		}
	}
}

// qpAt is a queue pair of a host.
type qpAt struct {
	host string
	qp   int
}

// insides finds the records that recordInside completes.
type insides struct {
	*runner
	ports map[string][]*record.Port
	qps   map[qpAt]*record.QPLimits
	known map[wayInside]record.InsideLimit
	uses  map[int][]dma.LinkUse // by node
	end   units.Time
}

// wayInside is a way between the memory and the card of a node, in one direction.
type wayInside struct {
	node, memory, card int
	write              bool
}

// memoryAt is where the data at an end of a connection lie.
type memoryAt struct {
	topology.Endpoint
	tree         *server.Tree // nil: no server
	memory, card int
}

func (r *runner) memoryAt(ep int, device int16, staged bool) memoryAt {
	m := memoryAt{Endpoint: r.Valid.Graph.Endpoints[ep]}
	e := r.Servers[m.Node]
	if e == nil {
		return m
	}
	m.tree = e.Tree()
	m.card = m.tree.Nets[m.Port].Card
	m.memory = m.tree.DRAMOf(m.card)
	if device != workload.NoDevice && !staged {
		m.memory = int(device)
	}
	return m
}

// flow notes what bounds data that queue pair q sends.
func (x *insides) flow(from, to memoryAt, q uint32) {
	g := x.Valid.Graph
	l := x.qps[qpAt{g.Nodes[from.Node].Name, int(q)}]
	if from.tree != nil && l != nil {
		l.Inside = append(l.Inside, x.bound(&from, false))
	}
	if to.tree == nil {
		return
	}
	w := x.bound(&to, true)
	if l != nil {
		l.Inside = append(l.Inside, w)
	}
	for _, port := range x.ports[x.portName(to.Node, to.Port)] {
		l := &port.Limits
		if l.Inside == nil || w.Bps < l.Inside.Bps {
			l.Inside, l.DrainBps = &w, w.Bps
		}
	}
}

// bound is what bounds the card's reads from a memory, or its writes.
func (x *insides) bound(at *memoryAt, write bool) record.InsideLimit {
	key := wayInside{at.Node, at.memory, at.card, write}
	if l, ok := x.known[key]; ok {
		return l
	}
	p, err := at.tree.Predict(at.memory, at.card)
	if err != nil {
		panic("run: BUG: data moved where there is no way: " + err.Error())
	}
	flow := p.Read
	if write {
		flow = p.Write
	}
	if x.uses[at.Node] == nil {
		x.uses[at.Node] = x.Servers[at.Node].Links()
	}
	both := p.Duplex < flow.Rate && x.bothWays(at, p.Path[len(p.Path)-1].Link)
	if both {
		flow.Rate = p.Duplex
		if p.DuplexLimit >= 0 {
			flow.Limit = p.DuplexLimit
		}
	}
	out := x.limit(at, p.Path, flow, write)
	out.Both = both
	x.misses(&out, at, p.Path)
	x.known[key] = out
	return out
}

// bothWays reports whether a link, that of a card, carried data both ways, of one way no
// more than twice those of the other.
func (x *insides) bothWays(at *memoryAt, link int) bool {
	var n [2]units.Bytes
	for i := range x.uses[at.Node] {
		if u := &x.uses[at.Node][i]; u.Link == link && u.Forward {
			n[0] = u.Payload
		} else if u.Link == link {
			n[1] = u.Payload
		}
	}
	return n[0] > 0 && n[0] <= 2*n[1] && n[1] <= 2*n[0]
}

// misses notes the misses of the IOMMU of a root complex on a way, where one page in
// eight or more missed.
func (x *insides) misses(out *record.InsideLimit, at *memoryAt, path []server.Hop) {
	for _, h := range path {
		for _, u := range x.Servers[at.Node].IOMMUs() {
			if at.tree.End(h) == u.Root && 8*u.Misses >= u.Pages && out.IOTLBMisses == 0 {
				out.IOTLBMisses, out.WalkPS = u.Misses, at.tree.Costs.IOTLBMiss
			}
		}
	}
}

// limit is what bounds a way between memory and card: by its links alone, but where
// others kept one of them busy for most of the run that one is named.
func (x *insides) limit(at *memoryAt, path []server.Hop, flow server.Flow, write bool) record.InsideLimit {
	out := record.InsideLimit{Host: x.Valid.Graph.Nodes[at.Node].Name, Bps: flow.Rate, Write: write}
	best := x.end / 2
	for k, h := range path {
		for i := range x.uses[at.Node] {
			u := &x.uses[at.Node][i]
			if u.Link != h.Link || !u.Memory && u.Forward != (h.Forward != write) {
				continue
			}
			if h.Link == flow.Limit && out.Link == "" || flow.Limit < 0 && k == 0 || u.Busy > best {
				in := linkInside(at.tree, u)
				out.Link, out.Kind = in.Name, in.Kind
				best = max(best, u.Busy)
			}
		}
	}
	if flow.Limit < 0 {
		out.Kind = "read tags"
		if write {
			out.Kind = "posted credits"
		}
	}
	return out
}
