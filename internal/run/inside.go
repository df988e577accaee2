package run

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/account"
	"github.com/hopscope/hopscope/internal/catalog"
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
	x := insides{runner: r, ports: map[string][]*record.Port{}, qps: map[qpAt]*record.QPLimits{},
		known: map[wayInside]record.InsideLimit{}, uses: map[int][]dma.LinkUse{}}
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
	if w.Duplex != nil && x.bothWays(&to) {
		w = *w.Duplex
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
	p := predict(at.tree, at.memory, at.card)
	one := p.Read
	if write {
		one = p.Write
	}
	out := x.limit(at, &p, one, write)
	if p.Duplex < one.Rate {
		both := server.Flow{Rate: p.Duplex, Limit: one.Limit}
		if p.DuplexLimit >= 0 {
			both.Limit = p.DuplexLimit
		}
		duplex := x.limit(at, &p, both, write)
		duplex.Both = true
		out.Duplex = &duplex
	}
	x.known[key] = out
	return out
}

// predict is what the way between a memory and a card allows; data moved there.
func predict(t *server.Tree, memory, card int) server.Prediction {
	p, err := t.Predict(memory, card)
	if err != nil {
		panic("run: BUG: data moved where there is no way: " + err.Error())
	}
	return p
}

// bothWays reports whether the link of a card carried data both ways, of one way no more than twice
// those of the other.
func (x *insides) bothWays(at *memoryAt) bool {
	if x.uses[at.Node] == nil {
		x.uses[at.Node] = x.Servers[at.Node].Links()
	}
	var n [2]units.Bytes
	for i := range x.uses[at.Node] {
		switch u := &x.uses[at.Node][i]; {
		case at.tree.Links[u.Link].B != at.card || u.Memory:
		case u.Forward:
			n[0] = u.Payload
		default:
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

// limit is what bounds a way between memory and card by its links alone: of links that are as slow the
// one that is nearest to the card.
func (x *insides) limit(at *memoryAt, p *server.Prediction, flow server.Flow, write bool) record.InsideLimit {
	t := at.tree
	out := record.InsideLimit{Host: x.Valid.Graph.Nodes[at.Node].Name, Bps: flow.Rate, Write: write,
		Memory: t.Devices[at.memory].Name, Card: t.Devices[at.card].Name}
	named := p.Path[len(p.Path)-1]
	if flow.Limit >= 0 {
		named = narrowest(t, p.Path, flow.Limit, !write)
	}
	out.Link, out.Kind = account.HopName(t, named, !write), kindInside(&t.Links[named.Link])
	if flow.Limit < 0 {
		out.Kind = "read tags"
		if write {
			out.Kind = "posted credits"
		}
	}
	out.Why = why(at, p, flow, named.Link)
	x.misses(&out, at, p.Path)
	return out
}

// narrowest is the hop over a link of a path, or if that is passed once the last of those that are alike.
func narrowest(t *server.Tree, path []server.Hop, link int, read bool) server.Hop {
	first, last, times := -1, -1, 0
	for i, h := range path {
		if h.Link == link {
			times++
		}
		if h.Link == link && first < 0 {
			first, last = i, i
		}
		if first >= 0 && t.Links[h.Link].Kind == t.Links[link].Kind && t.Links[h.Link].Rate == t.Links[link].Rate &&
			t.PCIeAt(path, i, read) == t.PCIeAt(path, first, read) {
			last = i
		}
	}
	if times > 1 {
		return path[first]
	}
	return path[last]
}

// why is what makes a way slow that a link of it bounds.
func why(at *memoryAt, p *server.Prediction, flow server.Flow, link int) catalog.Reason {
	t := at.tree
	if t.ACS {
		free := *t
		free.ACS = false
		if o := predict(&free, at.memory, at.card); len(o.Path) < len(p.Path) && better(&o, p, flow.Rate) {
			return catalog.ReasonACS
		}
	}
	crosses := slices.ContainsFunc(p.Path, func(h server.Hop) bool { return t.Links[h.Link].Kind == server.Interconnect })
	switch {
	case crosses && (flow.Limit < 0 || t.Links[link].Kind == server.Interconnect):
		return catalog.ReasonSockets
	case flow.Limit >= 0 && t.SlowLink(link):
		return catalog.ReasonSlot
	}
	return catalog.NoReason
}

// better reports whether another way allows a twentieth more than a rate that bounds one: one way, or
// both ways.
func better(other, p *server.Prediction, rate units.Rate) bool {
	o := other.Duplex
	switch rate {
	case p.Read.Rate:
		o = other.Read.Rate
	case p.Write.Rate:
		o = other.Write.Rate
	}
	return o > rate+rate/20
}
