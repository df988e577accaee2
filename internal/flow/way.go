package flow

import (
	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/ideal"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// ways finds the links that connections take, and what they and messages take alone.
type ways struct {
	*network
	v       *scenario.Valid
	world   *build.World
	formula *ideal.Formula
	alone   func(*workload.Message, []units.Bytes) []units.Time
	ports   [][]int32           // link, from 1, by node and port: from the port to its peer
	drains  []int32             // likewise of what empties the receive buffer of a host
	taken   [][]units.Time      // by node and port: when the card last took up a work request
	insides map[inside]int32    // looked up, never iterated
	alike   []int               // by node, as ideal.Alike
	limits  map[likeness]limits // looked up, never iterated
	// Room for paths.
	there, back []topology.Hop
	room        []sharedHop
	balanced    bool // see spread
}

// way is what a connection takes.
type way struct {
	uses []use // of a byte on the wire of the first link
	limits
	// What its packets have: payload at most, and bytes of the wire beside it; first, what the first of a
	// message has more.
	payload, header, first, least, overhead units.Bytes
	pad                                     units.Bytes
	before                                  units.Time // from the post of a message to its first byte on the wire
	answer                                  units.Time // from its arrival to its completion
	conn                                    int        // of the plan, whose times it has
}

// point is what a message of so many bytes takes alone, as packets.
type point struct {
	bytes units.Bytes
	time  units.Time
}

// grid is for which sizes packets are run where no formula says what a message takes alone; times between
// are on the line from one to the next, and beyond the last on that of the last two.
var grid = [...]units.Bytes{64, 4 * units.KiB, 64 * units.KiB, units.MiB, 2 * units.MiB}

// streamGrid is that of TCP, which has to find its window first.
var streamGrid = [...]units.Bytes{64, 4 * units.KiB, 64 * units.KiB, units.MiB, 4 * units.MiB, 16 * units.MiB,
	32 * units.MiB}

func newWays(v *scenario.Valid, n *network, alone func(*workload.Message, []units.Bytes) []units.Time) *ways {
	world := &build.World{Valid: v}
	w := &ways{network: n, v: v, world: world, formula: ideal.New(world), alone: alone,
		ports: make([][]int32, len(v.Graph.Nodes)), drains: make([]int32, len(v.Graph.Nodes)),
		insides: map[inside]int32{}, alike: ideal.Alike(v.NICs), limits: map[likeness]limits{},
		balanced: balanced(v)}
	for node := range v.Graph.Nodes {
		w.ports[node] = make([]int32, len(v.Graph.Nodes[node].Ports))
		w.taken = append(w.taken, make([]units.Time, len(w.ports[node])))
	}
	return w
}

// perPS is a rate in bytes/ps.
func perPS(r units.Rate) float64 { return float64(r) / 8e12 }

// port is the link that leaves by a port.
func (w *ways) port(h topology.Hop) int32 {
	at := &w.ports[h.Node][h.Port]
	if *at == 0 {
		*at = w.add(perPS(w.v.Graph.LinkAt(h.Node, h.Port).RateFrom(w.v.Graph, h.Node))) + 1
	}
	return *at - 1
}

// drain is what empties the receive buffer of a host.
func (w *ways) drain(node int, rate units.Rate) int32 {
	if w.drains[node] == 0 {
		w.drains[node] = w.add(perPS(rate)) + 1
	}
	return w.drains[node] - 1
}

// of is the way of a connection, whose messages are of a verb and about so long. conn is its number in the
// plan, or that of one that is like it.
func (w *ways) of(c *workload.Conn, conn int, verb workload.Verb, bytes units.Bytes) *way {
	v := w.v
	there, back := w.world.AppendWay(w.there, w.back, c)
	if there == nil || back == nil {
		return nil
	}
	w.there, w.back = there, back
	payload, data, ack := w.world.Frames(c)
	src, dst := v.Graph.Endpoints[c.Src].Node, v.Graph.Endpoints[c.Dst].Node
	y := &way{payload: payload, header: data - payload, conn: conn, pad: units.Bytes(v.Wire.Pad),
		least: units.Bytes(v.Wire.MinFrame)}
	if c.Profile == 0 && (verb == workload.Write || verb == workload.WriteImm) {
		y.first = units.Bytes(v.Wire.RETH)
	}
	y.before = v.NICs[src].Host.Post + v.NICs[src].Card.Send
	if c.Service.Reliable() {
		peer, own := &v.NICs[dst].Card, &v.NICs[src].Card
		y.answer = w.world.AnswerTime(c, back) + peer.Receive + peer.Send + own.Receive
	}
	y.overhead = units.Bytes(v.WireAt(there[0].Node, there[0].Port).Overhead)
	n := max(1, (bytes+payload-1)/payload)
	wire := float64(y.wire(bytes))
	// What answers take, for each byte of the message on the wire.
	answers := 0.0
	switch every := units.Bytes(v.Transports[v.NICs[src].Transport].AckEvery); {
	case !c.Service.Reliable():
	case verb == workload.Read || verb.Atomic(): // a request
		answers = 1
	case c.Service == workload.RC:
		answers = float64((n + every - 1) / every)
	default: // of TCP, every other segment
		answers = float64(n+1) / 2
	}
	if verb == workload.Read {
		there, back, src, dst = back, there, dst, src
	}
	for _, h := range w.spread(there, c, verb == workload.Read) {
		more := units.Bytes(v.WireAt(h.Node, h.Port).Overhead) - y.overhead
		y.uses = append(y.uses, use{link: w.port(h.Hop), weight: h.share * (1 + float64(n*more)/wire)})
	}
	for _, h := range w.spread(back, c, verb != workload.Read) {
		if answers > 0 {
			frame := ack + units.Bytes(v.WireAt(h.Node, h.Port).Overhead)
			y.uses = append(y.uses, use{link: w.port(h.Hop), weight: h.share * answers * float64(frame) / wire})
		}
	}
	if d := v.NICs[dst].DrainRate; d > 0 {
		y.uses = append(y.uses, use{link: w.drain(dst, d), weight: (wire - float64(n*y.overhead)) / wire})
	}
	share := float64(bytes) / wire
	if bytes > 0 {
		from, to := c.SrcDevice, c.DstDevice
		fromStaged, toStaged := c.SrcStaged, c.DstStaged
		a, b := c.Src, c.Dst
		if verb == workload.Read {
			from, to, fromStaged, toStaged, a, b = to, from, toStaged, fromStaged, b, a
		}
		y.uses = w.behind(y.uses, a, from, fromStaged, true, share)
		y.uses = w.behind(y.uses, b, to, toStaged, false, share)
	}
	y.uses = merged(y.uses)
	w.limit(y, c, verb, bytes)
	return y
}

// merged adds up the uses of a link.
func merged(uses []use) []use {
	out := uses[:0]
next:
	for _, u := range uses {
		for i := range out {
			if out[i].link == u.link {
				out[i].weight += u.weight
				continue next
			}
		}
		out = append(out, u)
	}
	return out
}

// wire is what a message takes of the wire.
func (y *way) wire(bytes units.Bytes) units.Bytes {
	n := max(1, (bytes+y.payload-1)/y.payload)
	last := bytes - (n-1)*y.payload
	if y.pad > 0 {
		last += -last & (y.pad - 1)
	}
	rest := last + y.header
	if n == 1 {
		return max(rest+y.first, y.least) + y.overhead
	}
	return (n-1)*(y.payload+y.header+y.overhead) + y.first + max(rest, y.least) + y.overhead
}

// limits are how fast a way is alone, and what messages take on it.
type limits struct {
	most, fast float64 // bytes/ps on the wire: in the window that it has, and alone
	exact      bool    // the formula of ideal times holds
	points     []point // else: what messages take alone
	opens      bool    // it has to find its window first
}

// likeness is what ways with equal limits have in common.
type likeness struct {
	there, back     uint64 // paths, as hashes of rates and latencies
	from, to        int    // as ways.alike
	srcDevice       int16
	dstDevice       int16
	srcStaged       bool
	dstStaged       bool
	inline, threads bool
	verb            workload.Verb
	service         workload.Service
	profile         int
	class           uint8
	bytes           units.Bytes // of inline ones
	window          units.Bytes
	rate            units.Rate
}

// limit finds how fast a way is alone: as its links allow, or the window of its queue pair.
func (w *ways) limit(y *way, c *workload.Conn, verb workload.Verb, bytes units.Bytes) {
	v := w.v
	key := likeness{there: w.hash(w.there), back: w.hash(w.back), from: w.alike[v.Graph.HostOf(c.Src)],
		to: w.alike[v.Graph.HostOf(c.Dst)], srcDevice: c.SrcDevice, dstDevice: c.DstDevice, srcStaged: c.SrcStaged,
		dstStaged: c.DstStaged, inline: c.Inline, threads: c.SrcThread > 0, verb: verb, service: c.Service,
		profile: c.Profile, class: c.Class, rate: c.InitialRate}
	if c.Inline {
		key.bytes = bytes
	}
	if v.Windows != nil {
		key.window = v.Windows[y.conn]
	}
	known, is := w.limits[key]
	if !is {
		known = w.newLimits(y, c, verb, bytes)
		w.limits[key] = known
	}
	y.limits = known
}

// hash tells paths apart that take different times.
func (w *ways) hash(hops []topology.Hop) uint64 {
	out := uint64(len(hops))
	for _, h := range hops {
		l := w.v.Graph.LinkAt(h.Node, h.Port)
		next := &w.v.Switches[w.v.Graph.Nodes[h.Node].Ports[h.Port].Peer]
		cut := uint64(0)
		if next.CutThrough {
			cut = 1
		}
		rate := uint64(l.RateFrom(w.v.Graph, h.Node))
		for _, n := range [...]uint64{rate, uint64(l.Delay), uint64(next.Latency), cut} {
			out = rng.Mix64(out, n)
		}
	}
	return out
}

func (w *ways) newLimits(y *way, c *workload.Conn, verb workload.Verb, bytes units.Bytes) limits {
	out := limits{fast: 1e9}
	for _, u := range y.uses {
		out.fast = min(out.fast, w.links[u.link].capacity/u.weight)
	}
	out.most = out.fast
	m := workload.Message{Conn: y.conn, Verb: verb, Bytes: 16 * units.MiB}
	if verb.Atomic() {
		m.Bytes = workload.AtomicSize
		_, out.exact = w.formula.Time(&m)
		if !out.exact {
			out.points = []point{{m.Bytes, w.alone(&m, []units.Bytes{m.Bytes})[0]}}
		}
		return out
	}
	at, exact := w.formula.Time(&m)
	if out.exact = exact; exact {
		m.Bytes *= 2
		twice, _ := w.formula.Time(&m)
		out.slope(y, point{16 * units.MiB, at}, point{32 * units.MiB, twice})
		return out
	}
	sizes := grid[:]
	switch {
	case c.Inline:
		sizes = []units.Bytes{bytes}
	case c.Profile > 0:
		out.opens, sizes = true, streamGrid[:]
	}
	times := make([]units.Time, 0, len(sizes))
	if c.Profile > 0 { // on hosts that nothing has woken before
		for i := range sizes {
			times = append(times, w.alone(&m, sizes[i:i+1])...)
		}
	} else {
		times = w.alone(&m, sizes)
	}
	for i, t := range times {
		if t > 0 {
			out.points = append(out.points, point{sizes[i], t})
		}
	}
	if n := len(out.points); n > 1 {
		out.slope(y, out.points[n-2], out.points[n-1])
	}
	return out
}

// slope takes over the rate that follows from what messages of two sizes take alone.
func (l *limits) slope(y *way, a, b point) {
	if b.time > a.time {
		l.most = min(l.most, float64(y.wire(b.bytes)-y.wire(a.bytes))/float64(b.time-a.time))
	}
	if l.most > l.fast*(1-1e-4) { // rounding
		l.most = l.fast
	}
	l.fast = l.most
}

// latency is what a message takes beside its bytes' time on the wire, alone. So many bytes have gone the same
// way before.
func (w *ways) latency(y *way, m *workload.Message, before units.Bytes) units.Time {
	if y.opens && before > 0 {
		late := func(n units.Bytes) units.Time { return y.between(n) - units.Time(float64(y.wire(n))/y.fast) }
		return max(0, late(before+m.Bytes)-late(before)) + y.between(1)
	}
	own := units.Time(float64(y.wire(m.Bytes)) / y.fast)
	like := *m
	like.Conn = y.conn
	if y.exact {
		t, _ := w.formula.Time(&like)
		return max(0, t-own)
	}
	return max(0, y.between(m.Bytes)-own)
}

// between is what a message takes alone, between those that were run.
func (y *way) between(bytes units.Bytes) units.Time {
	p := y.points
	if len(p) == 0 {
		return 0
	}
	if bytes <= p[0].bytes || len(p) == 1 {
		return p[0].time
	}
	k := 1
	for k < len(p)-1 && bytes > p[k].bytes {
		k++
	}
	a, b := p[k-1], p[k]
	return a.time + units.Time(float64(b.time-a.time)*float64(bytes-a.bytes)/float64(b.bytes-a.bytes))
}
