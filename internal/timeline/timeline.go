// Package timeline draws a run as a trace of Perfetto: a group of tracks per host and switch, with a track for each
// class of a port, each queue pair with its messages, each GPU, PCIe link and core. What slices of a track add up to
// is what the run's accounts say.
package timeline

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/perfetto"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// mostMessages is how many messages a timeline has at most; with a dozen stages each their slices take 300 MB.
const mostMessages = 300_000

// Write writes the timeline of a run and returns what it leaves out, in words. A run that was not asked for a trace,
// such as one that was read back, has messages with their accounts, and of ports and cores what it kept as evidence.
func Write(to io.Writer, r *record.Run) (leftOut []string, err error) {
	out := bufio.NewWriterSize(to, 1<<18)
	d := &drawing{Writer: perfetto.New(out), r: r, trace: r.Trace, end: r.EndPS}
	if d.trace == nil {
		d.trace = kept(r)
	}
	d.index()
	d.ranks()
	for _, n := range d.nodes {
		d.node(n)
	}
	d.leave()
	if err := d.Err(); err != nil {
		return nil, err
	}
	return d.left, out.Flush()
}

// drawing is a timeline that is being written.
type drawing struct {
	*perfetto.Writer
	r       *record.Run
	trace   *record.Trace
	end     units.Time
	nodes   []*node
	at      map[string]*node
	sent    map[end][]int32 // messages by who posted them
	arrived map[end][]int32 // and by who took them
	peers   map[end]end
	left    []string
}

// end is a queue pair of a host, or an end of a connection.
type end struct {
	host string
	qp   int
}

// node is what there is to show of a host or switch.
type node struct {
	name   string
	gates  []*record.GateTrace
	drops  []*record.Moment
	lanes  []*record.LaneTrace
	curves []*record.TimeCurve
	pairs  map[int]*record.PairTrace // by number
	again  map[int][]*record.Moment  // likewise
	qps    []*record.QP
}

// node is that of a name, which comes behind those that are known already.
func (d *drawing) of(name string) *node {
	n := d.at[name]
	if n == nil {
		n = &node{name: name, pairs: map[int]*record.PairTrace{}, again: map[int][]*record.Moment{}}
		d.at[name] = n
		d.nodes = append(d.nodes, n)
	}
	return n
}

// index finds what belongs to each node.
func (d *drawing) index() {
	d.at, d.sent, d.arrived, d.peers = map[string]*node{}, map[end][]int32{}, map[end][]int32{}, map[end]end{}
	if d.r.Network != nil {
		for i := range d.r.Network.Nodes {
			d.of(d.r.Network.Nodes[i].Name)
		}
	}
	for i := range d.r.QPs {
		q := &d.r.QPs[i]
		d.of(q.Host).qps = append(d.of(q.Host).qps, q)
		d.peers[end{q.Host, q.QP}] = end{q.Peer.Node, int(q.Peer.Number)}
	}
	for i := range d.trace.Gates {
		g := &d.trace.Gates[i]
		d.of(g.Place.Node).gates = append(d.of(g.Place.Node).gates, g)
	}
	for i := range d.trace.Drops {
		m := &d.trace.Drops[i]
		d.of(m.Place.Node).drops = append(d.of(m.Place.Node).drops, m)
	}
	for i := range d.trace.Pairs {
		p := &d.trace.Pairs[i]
		d.of(p.Place.Node).pairs[int(p.Place.Number)] = p
	}
	for i := range d.trace.Resends {
		m := &d.trace.Resends[i]
		n := d.of(m.Place.Node)
		n.again[int(m.Place.Number)] = append(n.again[int(m.Place.Number)], m)
	}
	for i := range d.trace.Lanes {
		l := &d.trace.Lanes[i]
		d.of(l.Host).lanes = append(d.of(l.Host).lanes, l)
	}
	if c := d.trace.Counters; c != nil {
		for i := range c.Curves {
			d.of(c.Curves[i].Node).curves = append(d.of(c.Curves[i].Node).curves, &c.Curves[i])
		}
	}
	for i := range d.r.Messages {
		m := &d.r.Messages[i]
		from := end{record.HostOf(m.Src), m.QP}
		d.sent[from] = append(d.sent[from], int32(i))
		if to, ok := d.peers[from]; ok {
			d.arrived[to] = append(d.arrived[to], int32(i))
		}
	}
}

// node draws all of a host or switch, if there is anything.
func (d *drawing) node(n *node) {
	if len(n.gates)+len(n.drops)+len(n.lanes)+len(n.curves)+len(n.qps) == 0 {
		return
	}
	group := d.Track(0, n.name)
	for _, c := range n.curves {
		if c.Quantity == record.SeriesBuffer {
			d.curve(group, "memory in use", c)
		}
	}
	d.classes(group, n)
	for _, q := range n.qps {
		d.pair(group, n, q)
	}
	d.lanes(group, n)
}

// classes draws the classes of a node's ports of which there is anything to show, in their order.
func (d *drawing) classes(group perfetto.Track, n *node) {
	type class struct {
		place record.Place
		gate  *record.GateTrace
		queue *record.TimeCurve
		drops []*record.Moment
	}
	var list []*class
	of := func(p record.Place) *class {
		for _, c := range list {
			if c.place.PortID() == p.PortID() && c.place.Class == p.Class {
				return c
			}
		}
		list = append(list, &class{place: p})
		return list[len(list)-1]
	}
	for _, g := range n.gates {
		of(g.Place).gate = g
	}
	for _, m := range n.drops {
		c := of(m.Place)
		c.drops = append(c.drops, m)
	}
	for _, q := range n.curves {
		if q.Quantity == record.SeriesQueue {
			of(record.ClassAt(q.Node, q.Port, q.Class, d.layerOf(q))).queue = q
		}
	}
	slices.SortStableFunc(list, func(a, b *class) int {
		return cmp.Or(cmp.Compare(a.place.Port, b.place.Port), cmp.Compare(a.place.Class, b.place.Class))
	})
	for _, c := range list {
		track := d.Track(group, c.place.String())
		if c.gate != nil {
			d.gate(track, c.gate)
		}
		if len(c.drops) > 0 {
			drops := d.Track(track, "drops")
			for _, m := range c.drops {
				d.Instant(drops, m.At, perfetto.Event{Name: "drop: " + m.Cause.String(), Category: "drop", Notes: frame(m)})
			}
		}
		if c.queue != nil {
			d.curve(track, "queue", c.queue)
		}
	}
}

// layerOf is the link layer of the port that a curve is of.
func (d *drawing) layerOf(c *record.TimeCurve) catalog.Layer {
	for i := range d.r.Ports {
		if p := &d.r.Ports[i]; p.Node == c.Node && p.Port == c.Port {
			return p.Layer
		}
	}
	return catalog.Ethernet
}

// frame are the annotations of a frame.
func frame(m *record.Moment) []perfetto.Note {
	notes := []perfetto.Note{{Name: "psn", Number: int64(m.PSN)}, {Name: "payload_bytes", Number: m.Payload}}
	if m.QP >= 0 {
		notes = append(notes, perfetto.Note{Name: "src", Text: m.Src}, perfetto.Note{Name: "dst", Text: m.Dst},
			perfetto.Note{Name: "qp", Number: int64(m.QP)})
	}
	return notes
}

// gate draws when a class might not send, and in it when a frame waited for that.
func (d *drawing) gate(track perfetto.Track, g *record.GateTrace) {
	held := g.Place.Layer.Vocabulary().Held
	for i := range g.Seen {
		s := &g.Seen[i]
		d.Begin(track, s.From, s.To, perfetto.Event{Name: held.String(), Category: category(held)})
		if s.Held < s.To {
			d.Slice(track, max(s.Held, s.From), s.To, perfetto.Event{Name: "frame waits", Category: "held"})
		}
		d.End(track, s.To)
	}
}

// category is what stages are chosen by.
func category(s catalog.Stage) string {
	switch s.Base() {
	case catalog.StagePaused:
		return "paused"
	case catalog.StageCredits:
		return "without credit"
	case catalog.StageResending:
		return "retransmitting"
	}
	if s.Part() == catalog.PartCores {
		return "waiting for a core"
	}
	return s.Part().String()
}

// curve draws a counter. A sample shows what was just before its time.
func (d *drawing) curve(parent perfetto.Track, name string, c *record.TimeCurve) {
	unit := map[record.Quantity]string{record.SeriesRate: "bit/s"}[c.Quantity]
	if unit == "" {
		unit = "bytes"
	}
	track, t := d.Counter(parent, name, unit), d.trace.Counters
	d.Value(track, t.FromPS, 0)
	for k, at := range c.At {
		d.Value(track, min(t.FromPS+units.Time(at)*t.EveryPS, d.end), c.Value[k])
	}
}

// pair draws a queue pair: what it spent its time on, what it sent again, its messages, and those that came to it.
func (d *drawing) pair(group perfetto.Track, n *node, q *record.QP) {
	track := d.Track(group, fmt.Sprintf("%s to %s, %s", q.Name(), q.Peer.String(), q.Workload))
	if p := n.pairs[q.QP]; p != nil {
		for i := range p.Stages {
			s := &p.Stages[i]
			d.Slice(track, s.From, s.To, perfetto.Event{Name: s.Stage.String(), Category: category(s.Stage)})
		}
	}
	if again := n.again[q.QP]; len(again) > 0 {
		retransmissions := d.Track(track, "retransmissions")
		for _, m := range again {
			e := perfetto.Event{Name: "told by " + m.By, Category: "loss"}
			if m.What == record.MomentResend {
				e = perfetto.Event{Name: "sent again", Category: "retransmitting", Notes: frame(m)}
			}
			d.Instant(retransmissions, m.At, e)
		}
	}
	me := end{q.Host, q.QP}
	d.messages(track, d.sent[me])
	d.arrivals(track, d.arrived[me])
	for _, c := range n.curves {
		if !c.Quantity.PerPort() && c.QP == q.QP {
			d.curve(track, map[record.Quantity]string{record.SeriesRate: "rate", record.SeriesWindow: "window",
				record.SeriesGoodput: "goodput per sample"}[c.Quantity], c)
		}
	}
}

// lanes draws what else of a host was busy, grouped by what it belongs to.
func (d *drawing) lanes(group perfetto.Track, n *node) {
	groups := map[string]perfetto.Track{}
	for _, l := range n.lanes {
		parent, known := groups[l.Group]
		if !known {
			parent = d.Track(group, l.Group)
			groups[l.Group] = parent
		}
		var free rows
		for i := range l.Seen {
			s := &l.Seen[i]
			track := free.take(s.From, s.To, func() perfetto.Track { return d.Track(parent, l.Name) })
			d.Slice(track, s.From, s.To, perfetto.Event{Name: s.Label, Category: l.Group})
		}
	}
}

// leave says what did not find room, or was not kept.
func (d *drawing) leave() {
	d.left = append(d.left, d.trace.LeftOut...)
	if d.trace.Counters != nil {
		for _, what := range d.trace.Counters.LeftOut {
			d.left = append(d.left, "of counters "+what)
		}
	}
	if n := int64(len(d.r.Messages)); n > mostMessages {
		d.left = append(d.left, fmt.Sprintf("messages from number %s on, of %s", metrics.FormatCount(mostMessages),
			metrics.FormatCount(n)))
	}
	for i := range d.r.Collectives {
		if c := &d.r.Collectives[i]; c.Sums != nil {
			d.left = append(d.left, fmt.Sprintf("the %s operations of collective %s, which were added up as they ran",
				metrics.FormatCount(c.Sums.Operations), c.Workload))
		}
	}
}
