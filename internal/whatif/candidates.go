package whatif

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/card"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// MostCandidates bounds the single changes that are tried for one message.
const MostCandidates = 16

// Candidates lists the single changes that may matter to message i, those first that are the
// likeliest: limits of both ends and of hosts that paused, failures before its end, what
// waited, paused, marked or dropped on its way and where that comes from, the traffic that it
// met there, the order of classes, limits of its connection, and other ways.
func (l *Lab) Candidates(i int) (out []Change) {
	add := func(c Change) {
		if !slices.ContainsFunc(out, c.Same) {
			out = append(out, c)
		}
	}
	l.cures(add)
	conn, g := l.keys[i].conn, l.Valid.Graph
	c := &l.Valid.Plan.Conns[conn]
	ends := [2]int{g.HostOf(c.Dst), g.HostOf(c.Src)}
	for _, n := range ends {
		l.hostLimits(n, add)
	}
	l.failures(i, add)
	l.settingsOf(conn, add)
	roots := l.roots(slices.Concat(l.ways.data(conn), l.ways.answers(conn)))
	for _, h := range roots {
		if peer := g.Nodes[h.Node].Ports[h.Port].Peer; g.Nodes[peer].Kind == topology.Host {
			l.hostLimits(peer, add)
		}
	}
	places := l.places(conn, roots)
	for _, h := range places[:min(len(places), 4)] {
		l.portChanges(h, conn, add)
	}
	if l.lossy() {
		add(Change{Kind: Loss})
	}
	if l.severalClasses() {
		add(Change{Kind: Classes})
	}
	l.limits(i, add)
	for _, entry := range l.rivals(i, places, 3) {
		add(Change{Kind: Entry, Entry: entry})
	}
	if l.anyPauses() {
		add(Change{Kind: Pauses})
	}
	controlled := func(t rdma.Config) bool { return t.CC != nil || t.IBCC != nil || t.Control != nil }
	if slices.ContainsFunc(l.Valid.Transports, controlled) &&
		c.Profile == 0 {
		add(Change{Kind: Control})
	}
	if c.SrcStaged || c.DstStaged {
		add(Change{Kind: GPUDirect})
	}
	slow := func(h topology.Hop) bool { return !l.tellsFaster(h) }
	if way := l.ways.data(conn); len(way) > 2 && !slices.ContainsFunc(way, slow) {
		add(Change{Kind: Line, Conn: conn})
	}
	for _, way := range l.ways.others(conn, 2) {
		add(Change{Kind: Way, Conn: conn, Path: way})
	}
	return out
}

// hostLimits adds what binds at a host.
func (l *Lab) hostLimits(n int, add func(Change)) {
	s := &l.Valid.NICs[n]
	if s.DrainRate > 0 || s.MTTCache > 0 || s.QPCCache > 0 {
		add(Change{Kind: Receiver, Node: n})
	}
	if len(s.Faults) > 0 {
		add(Change{Kind: Fault, Node: n})
	}
	if s.Server != nil {
		add(Change{Kind: PCIe, Node: n})
	}
	if s.Host.Costs != (host.Costs{}) || s.Host.Reposts || s.Host.RegisterBase+s.Host.RegisterPage+s.Host.Connect > 0 {
		add(Change{Kind: Core, Node: n})
	}
	if s.Card.Name != card.Ideal {
		add(Change{Kind: Card, Node: n})
	}
}

// everywhere lists what binds at any host, taken away at all: what a collective waits for is
// rarely one host's.
func (l *Lab) everywhere() (out []Change) {
	for n := range l.Valid.Graph.Nodes {
		if l.Valid.Graph.Nodes[n].Kind == topology.Host {
			l.hostLimits(n, func(c Change) {
				c.Node = Everywhere
				if !slices.ContainsFunc(out, c.Same) {
					out = append(out, c)
				}
			})
		}
	}
	return out
}

// failures adds the links that failed before message i ended.
func (l *Lab) failures(i int, add func(Change)) {
	f := &l.Run.Messages[i]
	end := units.Never
	if f.CompletionPS >= 0 {
		end = f.StartPS + f.CompletionPS
	}
	for k := range l.Valid.Graph.Links {
		if l.Valid.Graph.Links[k].FailsAt() < end {
			add(Change{Kind: Failure, Link: k})
		}
	}
}

// places lists the ports of a connection's way, and those that its pauses come from, at which
// something waited, was marked or was dropped: the worst first.
func (l *Lab) places(conn int, roots []topology.Hop) (out []topology.Hop) {
	for _, h := range slices.Concat(l.ways.data(conn), roots, l.ways.answers(conn)) {
		if e := l.ports[h]; e != nil && e.busy(l.frame) && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b topology.Hop) int {
		x, y := l.ports[a], l.ports[b]
		return cmp.Or(cmp.Compare(y.queue, x.queue), cmp.Compare(y.held, x.held))
	})
	return out
}

// WayPorts lists the ports of switches on the way of message i's data, each at a higher rate.
func (l *Lab) WayPorts(i int) (out []Change) {
	for _, h := range l.ways.data(l.keys[i].conn) {
		if l.Valid.Graph.Nodes[h.Node].Kind == topology.Switch && l.tellsFaster(h) {
			out = append(out, Change{Kind: Port, Node: h.Node, Port: h.Port})
		}
	}
	return out
}

// portChanges adds what takes a port away as a cause.
func (l *Lab) portChanges(h topology.Hop, conn int, add func(Change)) {
	if l.Valid.Graph.Nodes[h.Node].Kind == topology.Switch && l.tellsFaster(h) {
		add(Change{Kind: Port, Node: h.Node, Port: h.Port})
	}
	if slices.ContainsFunc(l.ways.through(h.Node, h.Port), func(c int) bool { return c != conn }) {
		add(Change{Kind: Others, Node: h.Node, Port: h.Port, Conn: conn})
	}
	if p := portOf(l.Valid, h.Node, h.Port); p.Credit != nil && l.ports[h].pauses+l.ports[h].held > 0 {
		add(Change{Kind: Credits, Node: h.Node, Port: h.Port})
	}
}

// tellsFaster reports whether a port that is Faster can write its rate into telemetry, if the congestion control
// needs any; hosts write none, and keep their rate.
func (l *Lab) tellsFaster(h topology.Hop) bool {
	if c := l.Valid.Control; c == nil || l.Valid.Graph.Nodes[h.Node].Kind != topology.Switch || !c.Settings.Needs().INT {
		return true
	}
	return coded(Faster * l.Valid.Graph.LinkAt(h.Node, h.Port).Rate)
}

// untold is why congestion control would be told wrong rates by telemetry; nil: it is not.
func untold(v *scenario.Valid) error {
	if v.Control == nil || !v.Control.Settings.Needs().INT {
		return nil
	}
	for n := range v.Graph.Nodes {
		if v.Graph.Nodes[n].Kind != topology.Switch {
			continue
		}
		for i := range v.Graph.Nodes[n].Ports {
			if rate := v.Graph.LinkAt(n, i).RateFrom(v.Graph, n); !coded(rate) {
				return fmt.Errorf("the telemetry header of %s has no code for a link of %s", v.Control.Title, rate.Human())
			}
		}
	}
	return nil
}

func coded(r units.Rate) bool { _, ok := congestion.INTRateCode(r); return ok }

// lossy reports whether links lose frames at random.
func (l *Lab) lossy() bool {
	return slices.ContainsFunc(
		l.Valid.Graph.Links,
		func(k topology.Link) bool { return k.Loss > 0 || k.BER > 0 || k.DropEvery > 0 },
	)
}

// severalClasses reports whether more than one class sent data through one port.
func (l *Lab) severalClasses() bool {
	for _, h := range l.hops() {
		if l.ports[h].classes > 1 {
			return true
		}
	}
	return false
}

// settingsOf adds settings of switches that may be wrong for a connection: a DSCP map, headroom that
// frames found full, hashes that chose among several ways.
func (l *Lab) settingsOf(conn int, add func(Change)) {
	c := &l.Valid.Plan.Conns[conn]
	for _, h := range l.ways.data(conn) {
		if s := l.Valid.Graph.Nodes[h.Node]; s.Kind == topology.Switch && l.Valid.Wire.Block == 0 {
			if p := &l.Valid.Switches[h.Node]; !p.TrustPCP && p.Bounce == nil && p.DSCPToPrio[c.DSCP&63] != c.Class {
				add(Change{Kind: Map, Node: h.Node, Conn: conn})
			}
			if l.Valid.Switches[h.Node].MaxFrame > 0 {
				add(Change{Kind: MTU})
			}
		}
	}
	if slices.ContainsFunc(l.Run.Ports, func(p record.Port) bool {
		return slices.ContainsFunc(p.DropCauses, func(d record.Drop) bool {
			return d.Cause == catalog.DropHeadroom && d.Count > 0
		})
	}) {
		add(Change{Kind: Headroom})
	}
	if (l.Run.HashedFlows > 0 || !ownHashes(l.Valid)) && len(l.ways.others(conn, 1)) > 0 && l.Valid.Wire.Block == 0 {
		add(Change{Kind: Hash})
	}
}

// anyPauses reports whether PFC paused anything.
func (l *Lab) anyPauses() bool {
	for _, h := range l.hops() {
		if e := l.ports[h]; e.sent > 0 && portOf(l.Valid, h.Node, h.Port).Credit == nil {
			return true
		}
	}
	return false
}

// hops lists the ports that did anything, in order.
func (l *Lab) hops() (out []topology.Hop) {
	for n := range l.Valid.Graph.Nodes {
		for p := range l.Valid.Graph.Nodes[n].Ports {
			if h := (topology.Hop{Node: n, Port: p}); l.ports[h] != nil {
				out = append(out, h)
			}
		}
	}
	return out
}

// limits adds what bounds message i's connection.
func (l *Lab) limits(i int, add func(Change)) {
	conn := l.keys[i].conn
	c := &l.Valid.Plan.Conns[conn]
	m := l.Valid.Plan.At(i)
	of := func(k Kind) { add(Change{Kind: k, Conn: conn}) }
	switch {
	case c.Service == workload.TCP:
		for _, k := range []Kind{ReceiveWindow, SendBuffer, CongestionWindow} {
			if p := l.Valid.TCP[c.Profile-1]; k != CongestionWindow || p.CC.Algorithm != congestion.NoWindow {
				of(k)
			}
		}
	default:
		t := l.Valid.Transports[l.Valid.NICs[l.Valid.Graph.HostOf(c.Src)].Transport]
		if t.Window != rdma.WindowNone || t.Selective() || t.SlowRestart != (rdma.SlowRestart{}) {
			of(Window)
		}
		if m.Verb == workload.Read || m.Verb.Atomic() {
			of(ReadDepth)
		}
		if c.Receives >= 0 || c.SRQ > 0 {
			of(Receives)
		}
	}
	if k := l.keys[i].nth; k > 0 && !l.ways.bound[conn] {
		add(Change{Kind: Earlier, Conn: conn, Count: k})
	}
}

// rivals lists the entries of the workload, message i's own apart, that sent most through
// places while it was under way: at most n.
func (l *Lab) rivals(i int, places []topology.Hop, n int) (out []int) {
	plan := l.Valid.Plan
	conn := l.keys[i].conn
	shared := make([]bool, len(plan.Conns))
	for _, h := range slices.Concat(places, l.ways.data(conn), l.ways.answers(conn)) {
		for _, c := range l.ways.through(h.Node, h.Port) {
			shared[c] = true
		}
	}
	bytes := make([]int64, len(plan.Entries))
	f := &l.Run.Messages[i]
	for k, m := range plan.All() {
		o := &l.Run.Messages[k]
		if shared[m.Conn] && plan.Conns[m.Conn].Entry != plan.Conns[conn].Entry &&
			overlap(f.StartPS, f.CompletionPS, o.StartPS, o.CompletionPS) {
			bytes[plan.Conns[m.Conn].Entry] += int64(m.Bytes)
		}
	}
	for e := range bytes {
		if bytes[e] > 0 {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(bytes[b], bytes[a]) })
	return out[:min(len(out), n)]
}

// overlap reports whether two messages were under way at once; a negative time is one that
// did not end.
func overlap(a, took, b, other units.Time) bool {
	end := func(start, d units.Time) units.Time {
		if d < 0 {
			return units.Never
		}
		return start + d
	}
	return a < end(b, other) && b < end(a, took)
}
