package run

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/names"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// SeriesOptions say what to sample. Samples are taken between two windows of the
// engine, so that a run takes the same course with them and without.
type SeriesOptions struct {
	Quantities []record.Quantity
	Every      units.Time // at least a nanosecond
	// Ports are "leaf1:3", ports counted from 1, or a node's name for all of its
	// ports, or "all"; QPs are "h2:0", "h2" or "all". Without any, the Top curves
	// of each quantity are kept that say most: the longest queues, the ports
	// paused longest, the queue pairs slowed most.
	Ports, QPs []string
	Top        int
	fold       int // most samples, of which pairs then become one; 0: sampling ends
	// Watch, unless nil, is shown each sample, in the order of curves, and none is kept. It is called between
	// two windows of the run, and may keep neither slice.
	Watch func(now units.Time, curves []record.Curve, values []int64)
}

// Bounds of what a run samples, so that memory and files stay small.
const (
	maxSamples = 100_000    // per curve
	maxValues  = 10_000_000 // of all curves that were asked for by name
	maxChanges = 20_000_000 // kept in memory
)

// all stands for every port or queue pair.
const all = "all"

// check makes sure that every name means something; the error is the user's.
func (o *SeriesOptions) check(v *scenario.Valid) error {
	if o.Every < units.Nanosecond {
		return &scenario.Error{Msg: fmt.Sprintf("series: a sample every %v is too often; give at least 1ns", o.Every)}
	}
	ports, requesters := partsOf(v)
	for _, name := range o.Ports {
		if !named([]string{name}, ports) {
			return wrongPart(v.Graph, name, "port", ports)
		}
	}
	for _, name := range o.QPs {
		if !named([]string{name}, requesters) {
			return wrongPart(v.Graph, name, "queue pair that posts", requesters)
		}
	}
	return nil
}

// part is a port or a requester: a node and its number there.
type part struct {
	node   string
	number int
}

func (p part) String() string { return fmt.Sprintf("%s:%d", p.node, p.number) }

// partsOf lists all ports, counted from 1, and all requesters, numbered as build
// does: each connection takes the next number at either end. Of a connection that
// carries messages both ways, both ends are.
func partsOf(v *scenario.Valid) (ports, requesters []part) {
	for n := range v.Graph.Nodes {
		for local := range v.Graph.Nodes[n].Ports {
			ports = append(ports, part{v.Graph.Nodes[n].Name, local + 1})
		}
	}
	used, both := make([]int, len(v.Graph.Nodes)), bothWays(v.Plan)
	for i := range v.Plan.Conns {
		src, dst := v.Graph.HostOf(v.Plan.Conns[i].Src), v.Graph.HostOf(v.Plan.Conns[i].Dst)
		requesters = append(requesters, part{v.Graph.Nodes[src].Name, used[src]})
		if both[i] {
			requesters = append(requesters, part{v.Graph.Nodes[dst].Name, used[dst]})
		}
		used[src]++
		used[dst]++
	}
	return ports, requesters
}

// wrongPart says what is wrong with a name that means no part.
func wrongPart(g *topology.Graph, name, what string, parts []part) error {
	node := names.Node(name)
	if _, ok := g.NodeByName(node); !ok {
		return &scenario.Error{Msg: fmt.Sprintf("series: there is no node %q; name a %s as %v, all of a node as %s, or all", node, what, parts[0], parts[0].node)}
	}
	var there []string
	for _, p := range parts {
		if p.node == node {
			there = append(there, p.String())
		}
	}
	if len(there) == 0 {
		return &scenario.Error{Msg: fmt.Sprintf("series: %s has no %s; name one such as %v", node, what, parts[0])}
	}
	return &scenario.Error{Msg: fmt.Sprintf("series: %s is no %s; %s has %d, from %s to %s", name, what, node, len(there), there[0], there[len(there)-1])}
}

// named reports whether one of what was asked for means one of parts.
func named(asked []string, parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool {
		return slices.ContainsFunc(asked, func(a string) bool {
			return a == all || a == p.node || a == p.String() || names.Quoted(a) == p.node
		})
	})
}

// sampler takes samples of one run.
type sampler struct {
	*runner
	opt     *SeriesOptions
	next    units.Time // of the next sample; Never: no more
	out     record.Series
	limit   int // samples
	changes int
	latest  []int64        // by curve, for Watch
	still   *record.Series // as it was before pairs became one and after which nothing changed; nil: something did
	ports   []portProbe
	conns   []connProbe
	boxes   []boxProbe
}

// portProbe is a port and class that is sampled; the indices are into the
// curves, -1 for none.
type portProbe struct {
	place                int // global number
	class                uint8
	queue, pause, paused int
	clock                units.Time // paused at the sample before
}

// boxProbe is a switch that is sampled.
type boxProbe struct {
	place int // of one of its ports, a global number
	curve int
}

// connProbe is a connection that is sampled.
type connProbe struct {
	conn          int
	reads         bool // the end at the connection's destination sends the data
	rate, goodput int
	window        int
	delivered     int64
}

// end is a queue pair at its host.
type end struct {
	host *nic.Host
	qp   uint32
}

// dataEnds are the queue pairs that send a connection's data and take it. Its
// curves bear the requester's name in any case.
func (s *sampler) dataEnds(c *connProbe) (from, to end) {
	src, at := s.Valid.Graph.HostOf(s.Valid.Plan.Conns[c.conn].Src), s.Responders[c.conn]
	from, to = end{s.Hosts[src], at.Requester}, end{s.Hosts[at.Node], at.QP}
	if c.reads {
		from, to = to, from
	}
	return from, to
}

// newSampler prepares the curves that may be wanted; nil when none is.
func (r *runner) newSampler(opt *SeriesOptions) *sampler {
	if opt == nil {
		return nil
	}
	s := &sampler{runner: r, opt: opt, limit: maxSamples}
	s.addPorts()
	s.addConns()
	if len(opt.Ports)+len(opt.QPs) > 0 {
		s.limit = min(s.limit, maxValues/max(1, len(s.out.Curves)))
	}
	if opt.Watch != nil {
		s.latest = make([]int64, len(s.out.Curves))
	}
	s.next = r.firstPost(units.Never) / opt.Every * opt.Every
	s.out.Quantities, s.out.EveryPS, s.out.FromPS = opt.Quantities, opt.Every, s.next
	return s
}

// curve adds a curve if its quantity is wanted.
func (s *sampler) curve(c record.Curve) int {
	if !slices.Contains(s.opt.Quantities, c.Quantity) {
		return -1
	}
	s.out.Curves = append(s.out.Curves, c)
	return len(s.out.Curves) - 1
}

// addPorts adds every port, in each class that carries data.
func (s *sampler) addPorts() {
	classes := uint8(0)
	for i := range s.Valid.Plan.Conns {
		classes |= 1 << s.Valid.Plan.Conns[i].Class
	}
	for id, place := range s.Place {
		node := &s.Valid.Graph.Nodes[place.Node]
		if node.Kind == topology.Switch && place.Local == 0 {
			if k := s.curve(record.Curve{Quantity: record.SeriesBuffer, Node: node.Name}); k >= 0 {
				s.boxes = append(s.boxes, boxProbe{id, k})
			}
		}
		if len(s.opt.Ports) > 0 && !named(s.opt.Ports, []part{{node.Name, place.Local + 1}}) {
			continue
		}
		end := node.Ports[place.Local]
		for c := range uint8(8) {
			if classes>>c&1 == 0 {
				continue
			}
			base := record.Curve{Node: node.Name, Port: place.Local + 1, Class: int(c),
				Peer: s.portName(end.Peer, end.PeerPort)}
			p := portProbe{place: id, class: c, queue: -1}
			if node.Kind == topology.Switch { // a card holds queue pairs, not frames
				base.Quantity = record.SeriesQueue
				p.queue = s.curve(base)
			}
			base.Quantity = record.SeriesPause
			p.pause = s.curve(base)
			base.Quantity = record.SeriesPaused
			p.paused = s.curve(base)
			s.ports = append(s.ports, p)
		}
	}
}

// addConns adds the requester of every connection, and the other end where that
// posts messages too.
func (s *sampler) addConns() {
	plan, reads, both := s.Valid.Plan, s.reads(), bothWays(s.Valid.Plan)
	for i := range plan.Conns {
		src, to := s.Valid.Graph.HostOf(plan.Conns[i].Src), s.Responders[i]
		there, back := part{s.Valid.Graph.Nodes[src].Name, int(to.Requester)}, part{s.Valid.Graph.Nodes[to.Node].Name, int(to.QP)}
		s.addConn(connProbe{conn: i, reads: reads[i]}, there, back)
		if both[i] {
			s.addConn(connProbe{conn: i, reads: true}, back, there)
		}
	}
}

// addConn adds a queue pair or end of a connection, with what it is named by.
func (s *sampler) addConn(p connProbe, own, peer part) {
	if len(s.opt.QPs) > 0 && !named(s.opt.QPs, []part{own}) {
		return
	}
	plan := s.Valid.Plan
	base := record.Curve{Node: own.node, QP: own.number, Workload: plan.EntryName(p.conn),
		Peer: record.QPAt(s.Service(p.conn), peer.node, peer.number).String()}
	base.Quantity = record.SeriesRate
	p.rate = s.curve(base)
	base.Quantity = record.SeriesGoodput
	p.goodput = s.curve(base)
	base.Quantity = record.SeriesWindow
	p.window = s.curve(base)
	s.conns = append(s.conns, p)
}

// due is when the next sample is taken; Never: none is.
func (s *sampler) due() units.Time {
	if s == nil {
		return units.Never
	}
	return s.next
}

// sampleTo executes everything before the last sample that is due by limit, with
// a stop at each. A network in which nothing moves is watched just as without
// samples, so that a deadlock ends at the same time and with the same counts.
func (r *runner) sampleTo(limit units.Time) {
	for {
		next := min(r.series.due(), r.page.due(), r.trace.due(), r.watch.due(), r.shots.due())
		if r.stopped != "" || next > min(limit, r.Valid.Stop) || next == units.Never || r.Engine.Next() == units.Never {
			return
		}
		if r.stuck() && r.resolve(next) {
			return
		}
		r.advance(next)
		for _, s := range [...]*sampler{r.series, r.page, r.trace, r.watch} {
			if s.due() == next && (r.stopped == "" || r.stopped == quiescent) {
				s.sample(next)
			}
		}
		if r.shots.due() == next && (r.stopped == "" || r.stopped == quiescent) {
			r.shots.take()
		}
	}
}

// sample notes every curve at the cut now.
func (s *sampler) sample(now units.Time) {
	n := s.out.Samples
	note := func(curve int, v int64) {
		if curve >= 0 && s.latest != nil {
			s.latest[curve] = v
		} else if curve >= 0 && s.out.Curves[curve].Add(n, v) {
			s.changes++
			s.still = nil
		}
	}
	for i := range s.ports {
		p := &s.ports[i]
		place := s.Place[p.place]
		net := s.Nets[place.Part]
		if p.queue >= 0 {
			note(p.queue, net.QueueBytes(place.Index, p.class))
		}
		paused := int64(0)
		if net.Paused(place.Index, p.class) {
			paused = 1
		}
		note(p.pause, paused)
		if p.paused >= 0 {
			clock := net.PausedClock(now, place.Index, p.class)
			note(p.paused, int64(clock-p.clock))
			p.clock = clock
		}
	}
	for i := range s.boxes {
		place := s.Place[s.boxes[i].place]
		note(s.boxes[i].curve, s.Nets[place.Part].HeldBytes(place.Index))
	}
	for i := range s.conns {
		c := &s.conns[i]
		from, to := s.dataEnds(c)
		if c.rate >= 0 {
			rate, _ := from.host.RateAt(now, from.qp)
			note(c.rate, int64(rate))
		}
		if c.window >= 0 {
			note(c.window, from.host.WindowOf(from.qp))
		}
		delivered := to.host.DeliveredTo(to.qp)
		note(c.goodput, delivered-c.delivered)
		c.delivered = delivered
	}
	s.out.Samples++
	s.next += s.out.EveryPS
	if s.latest != nil {
		s.opt.Watch(now, s.out.Curves, s.latest)
		return
	}
	if s.opt.fold > 0 {
		s.foldFull()
		return
	}
	if s.out.Samples >= s.limit || s.changes > maxChanges {
		s.leaveOut("everything from %v on: %d samples are as many as a run keeps; sample less often",
			s.next, s.out.Samples)
		s.next = units.Never
	}
}

func (s *sampler) leaveOut(format string, args ...any) {
	s.out.LeftOut = append(s.out.LeftOut, fmt.Sprintf(format, args...))
}

// series chooses the curves to keep: what was asked for, or those that say most.
func (s *sampler) series(end units.Time) *record.Series {
	if s == nil {
		return nil
	}
	s.cutStill()
	out := s.out
	out.Curves = nil
	for _, q := range slices.Concat(record.Quantities[:], []record.Quantity{record.SeriesPaused, record.SeriesBuffer}) {
		var curves []int
		for i := range s.out.Curves {
			if s.out.Curves[i].Quantity == q {
				curves = append(curves, i)
			}
		}
		asked := s.opt.QPs
		if q.PerPort() {
			asked = s.opt.Ports
		}
		if len(asked) == 0 {
			curves = s.most(q, curves, end)
		}
		for _, i := range curves {
			out.Curves = append(out.Curves, s.out.Curves[i])
		}
	}
	out.LeftOut = s.out.LeftOut
	return &out
}

// most returns the curves of one quantity that say most, in the network's order.
func (s *sampler) most(q record.Quantity, curves []int, end units.Time) []int {
	weight := s.weights(q, end)
	active := slices.DeleteFunc(slices.Clone(curves), func(i int) bool {
		return (q.PerPort() || q == record.SeriesWindow) && !s.out.Curves[i].Nonzero()
	})
	ranked := slices.Clone(active)
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	kept := ranked[:min(len(ranked), s.opt.Top)]
	if n := len(ranked) - len(kept); n > 0 {
		s.leaveOut("%s of %d of the %d %s", q, n, len(ranked), map[bool]string{
			true: "ports that had any at a sample", false: "queue pairs: those slowed least"}[q.PerPort()])
	}
	slices.Sort(kept)
	return kept
}

// weights returns how much a curve of quantity q says.
func (s *sampler) weights(q record.Quantity, end units.Time) func(curve int) int64 {
	switch q {
	case record.SeriesQueue, record.SeriesBuffer:
		return func(i int) int64 { return s.out.Curves[i].Max() }
	case record.SeriesPause:
		return func(i int) int64 { return int64(s.out.Curves[i].Above(s.out.Samples)) }
	case record.SeriesPaused:
		return func(i int) int64 { return s.out.Curves[i].Sum(s.out.Samples) }
	}
	slowed := map[int]int64{}
	for i := range s.conns {
		c := &s.conns[i]
		from, _ := s.dataEnds(c)
		_, least := from.host.RateAt(end, from.qp)
		slowed[c.rate], slowed[c.goodput], slowed[c.window] = -int64(least), -int64(least), -int64(least)
	}
	return func(i int) int64 { return slowed[i] }
}
