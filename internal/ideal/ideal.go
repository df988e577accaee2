// Package ideal says what a message takes alone on an idle network, by formula: the time that
// slowdowns are relative to.
//
// A message of n packets crosses a row of stations: the sender's port, the ports of the switches on
// its way, and what the receiver drains at. Each serves packets one after the other, and a packet
// leaves it for the next when it has been served, or of a cut-through switch once its head is there.
// Of equal packets the last leaves the row after the service of one at every station, and of the
// n-1 others at the slowest: Bertsekas and Gallager, Data Networks, 2nd ed., section 1.3 has this
// pipeline of a message in packets. The first and the last packet differ in length; both are followed.
package ideal

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
	"github.com/hopscope/hopscope/wire"
)

// Formula computes ideal times of a world's messages.
type Formula struct {
	w    *build.World
	ways []way        // of the connections that were asked for last, by their remainder
	free []units.Time // room for pass
	// there and back are room for follow.
	there, back []topology.Hop
}

// kept is how many ways are kept: messages come by connection, or those of many connections in turn. A way for each of
// a million connections would take more than their rows.
const kept = 4096

// New is the formula of a world.
func New(w *build.World) *Formula {
	return &Formula{w: w, ways: make([]way, min(kept, len(w.Valid.Plan.Conns)))}
}

// station is a port on the way of a message.
type station struct {
	rate units.Rate
	// after is from when a packet was served, or of cut its head was, until it may be served next.
	after units.Time
	cut   bool
}

// way is what the packets of a connection pass.
type way struct {
	conn        int32     // whose it is, and one; 0: nobody's
	exact       bool      // nothing on it is slower than the sender, or lacks credits for it
	there, back []station // nil: the formula says nothing
	mtu         units.Bytes
	window      int         // packets that may be outstanding; 0: any number
	fits        units.Bytes // longest frame that all switches take; 0: any

	// The message that was asked for last.
	bytes units.Bytes
	verb  workload.Verb
	time  units.Time
}

// Time is that from post to completion of a message of the plan. It is exact unless the message is in
// its own way, since what it passes is slower than its sender or grants it too few credits: then it is what
// the slowest station takes. It is 0 where the formula says nothing: through servers, and of TCP.
func (f *Formula) Time(m *workload.Message) (t units.Time, exact bool) {
	y := &f.ways[m.Conn%len(f.ways)]
	if y.conn != int32(m.Conn)+1 {
		f.follow(y, m.Conn)
	}
	if y.there == nil {
		return 0, false
	}
	if m.Bytes != y.bytes || m.Verb != y.verb || y.time == 0 {
		y.time, y.bytes, y.verb = f.time(y, m), m.Bytes, m.Verb
	}
	return y.time, y.exact
}

// time is Time where there is one: work before the first packet, the packets' way, and that of the
// last answer. Lengths of headers are those of IBTA 9.2.
func (f *Formula) time(y *way, m *workload.Message) units.Time {
	v := f.w.Valid
	c := &v.Plan.Conns[m.Conn]
	src, dst := &v.NICs[v.Graph.HostOf(c.Src)], &v.NICs[v.Graph.HostOf(c.Dst)]
	t := src.Host.Post + registration(&src.Host, m) + src.Card.Send
	data, ack := v.Wire.Data, v.Wire.Ack // with what congestion control has packets carry
	head, tail := 0, 0                   // beyond what all data packets have: of the first packet, and of the last
	switch m.Verb {
	case workload.Read:
		ask := one(f.frame(v.Wire.Data + v.Wire.RETH))
		head = wire.AETHLen // of the first response and of the last, which may be one
		if m.Bytes <= y.mtu {
			head = 0
		}
		answer := f.packets(m.Bytes, y.mtu, data, head, wire.AETHLen)
		asking := f.pass(y.there, ask) + dst.Card.Receive + dst.Card.Send
		return t + asking + f.within(y, y.back, answer, asking+src.Card.Receive) + src.Card.Receive
	case workload.CompareSwap, workload.FetchAdd:
		ask, answer := one(f.frame(v.Wire.Data+wire.AtomicETHLen)), one(f.frame(v.Wire.Ack+wire.AtomicAckETHLen))
		return t + f.pass(y.there, ask) + dst.Card.Receive + dst.Card.Send + f.pass(y.back, answer) + src.Card.Receive
	case workload.Write:
		head = v.Wire.RETH
	case workload.WriteImm:
		head, tail = v.Wire.RETH, wire.ImmDtLen
	case workload.SendImm:
		tail = wire.ImmDtLen
	case workload.SendInv:
		tail = wire.IETHLen
	}
	if c.Service == workload.UD {
		head = wire.DETHLen
	}
	p := f.packets(m.Bytes, y.mtu, data, head, tail)
	if y.fits > 0 && max(p.first, p.middle)-units.Bytes(v.Wire.Overhead) > y.fits {
		return 0 // a switch drops it
	}
	if c.Service != workload.RC { // complete when the last bit has left; the gap behind it counts no more
		port := y.there[0]
		return t + f.pass([]station{{rate: port.rate}}, p) - port.rate.TxTime(units.Bytes(v.Wire.Overhead-v.Wire.Preamble))
	}
	answering := dst.Card.Receive + dst.Card.Send + f.pass(y.back, one(f.frame(ack))) + src.Card.Receive
	return t + f.within(y, y.there, p, answering) + answering
}

// within is pass where a window lets a sender have only so much underway: of one that is smaller than
// what the loop of a packet and its answer holds, a whole one goes each loop. rest is what the loop
// has beside the packet's way.
func (f *Formula) within(y *way, row []station, p packets, rest units.Time) units.Time {
	loop := f.pass(row, one(p.middle)) + rest
	if y.window == 0 || p.n <= y.window || units.Time(y.window)*f.slowest(row, p.middle) >= loop {
		return f.pass(row, p)
	}
	loops := (p.n - 1) / y.window
	last := packets{(p.n-1)%y.window + 1, p.middle, p.middle, p.last}
	if last.n == 1 {
		last.first = p.last
	}
	return units.Time(loops)*loop + f.pass(row, last)
}

// slowest is the longest that a packet is served.
func (f *Formula) slowest(row []station, frame units.Bytes) (t units.Time) {
	for k := range row {
		t = max(t, row[k].rate.TxTime(frame))
	}
	return t
}

// registration is what an application takes that registers the memory of each message.
func registration(h *scenario.Host, m *workload.Message) units.Time {
	if h.Register != scenario.RegisterPerMessage || m.Bytes == 0 {
		return 0
	}
	pages := (m.Offset%h.PageSize + m.Bytes + h.PageSize - 1) / h.PageSize
	return h.RegisterBase + units.Time(pages)*h.RegisterPage
}

// Way writes down what the packets of a connection pass: equal texts take equal times. "": it has no way.
func (f *Formula) Way(conn int) string {
	v := f.w.Valid
	c := &v.Plan.Conns[conn]
	there, back := f.w.Path(conn)
	if there == nil || back == nil {
		return ""
	}
	return fmt.Sprint(f.stations(nil, there, v.NICs[v.Graph.HostOf(c.Dst)].DrainRate),
		f.stations(nil, back, v.NICs[v.Graph.HostOf(c.Src)].DrainRate))
}

// packets are those of a message, by what each takes of the wire.
type packets struct {
	n                   int
	first, middle, last units.Bytes
}

// one is a single packet.
func one(frame units.Bytes) packets { return packets{n: 1, first: frame} }

// packets cuts a message. Packets have data bytes beside their payload, the first head more and the
// last tail.
func (f *Formula) packets(bytes, mtu units.Bytes, data, head, tail int) packets {
	n := max(int((bytes+mtu-1)/mtu), 1)
	rest := f.padded(bytes-units.Bytes(n-1)*mtu) + data + tail
	if n == 1 {
		return one(f.frame(rest + head))
	}
	return packets{n, f.frame(head + data + f.padded(mtu)), f.frame(data + f.padded(mtu)), f.frame(rest)}
}

// padded is a payload with its padding.
func (f *Formula) padded(payload units.Bytes) int {
	n := int(payload)
	if pad := f.w.Valid.Wire.Pad; pad > 0 {
		n += -n & (pad - 1)
	}
	return n
}

// frame is what a frame takes of the wire.
func (f *Formula) frame(n int) units.Bytes {
	return units.Bytes(max(n, f.w.Valid.Wire.MinFrame) + f.w.Valid.Wire.Overhead)
}

// pass is from when the first of packets may be served at the first station until the last has left
// the last one.
func (f *Formula) pass(row []station, p packets) (t units.Time) {
	f.free = append(f.free[:0], make([]units.Time, len(row))...) // when each station has served what came
	free := f.free
	send := func(frame units.Bytes) (at units.Time) {
		for k := range row {
			s := &row[k]
			begin := max(at, free[k])
			free[k] = begin + s.rate.TxTime(frame)
			at = free[k]
			if s.cut {
				at = begin + s.rate.TxTime(min(frame, units.Bytes(f.w.Valid.Wire.Preamble+f.w.Valid.Wire.Header)))
			}
			at += s.after
		}
		return at
	}
	t = send(p.first)
	if p.n > 2 {
		t = send(p.middle)
		for k := range row {
			free[k] += units.Time(p.n-3) * f.slowest(row[:k+1], p.middle)
		}
	}
	if p.n > 1 {
		t = send(p.last)
	}
	return t
}

// follow has y be the way of a connection.
func (f *Formula) follow(y *way, i int) {
	v := f.w.Valid
	c := &v.Plan.Conns[i]
	src, dst := v.Graph.Endpoints[c.Src].Node, v.Graph.Endpoints[c.Dst].Node
	if c.Profile > 0 || v.NICs[src].Server != nil || v.NICs[dst].Server != nil {
		*y = way{conn: int32(i) + 1}
		return
	}
	there, back := f.w.AppendPath(f.there, f.back, i)
	if there == nil || back == nil {
		*y = way{conn: int32(i) + 1}
		return
	}
	f.there, f.back = there, back
	*y = way{conn: int32(i) + 1, mtu: v.Transports[v.NICs[src].Transport].MTU,
		there: f.stations(y.there[:0], there, v.NICs[dst].DrainRate), back: f.stations(y.back[:0], back, v.NICs[src].DrainRate)}
	data, hops := y.there, there
	if c.Reads {
		data, hops = y.back, back
	}
	for _, h := range there[1:] {
		if most := units.Bytes(v.Switches[h.Node].MaxFrame); most > 0 && (y.fits == 0 || most < y.fits) {
			y.fits = most
		}
	}
	t := &v.Transports[v.NICs[src].Transport]
	if c.Service == workload.RC {
		y.window = window(v, t, i)
	}
	y.exact = !slices.ContainsFunc(data, func(s station) bool { return s.rate < data[0].rate }) &&
		!f.starved(i, hops, data, f.frame(v.Wire.Data+int(y.mtu))) &&
		(y.window == 0 || t.AckEvery == 1 && !c.Reads) && // a window has READs ask in parts
		!held(t.CC, c.InitialRate, data[0].rate)
}

// starved reports whether an input buffer on a way grants fewer credits than keep its slowest station busy.
func (f *Formula) starved(conn int, hops []topology.Hop, row []station, frame units.Bytes) bool {
	for k := range hops {
		loop, packets, untold := f.w.CreditLoop(conn, hops, k)
		if loop > 0 && loop > units.Time(packets-untold)*f.slowest(row, frame) {
			return true
		}
	}
	return false
}

// held reports whether congestion control begins below the line's rate or ends there.
func held(cc *congestion.DCQCNParams, initial, line units.Rate) bool {
	return cc != nil && (initial > 0 && initial < line || cc.RPGMaxRate > 0 && cc.RPGMaxRate < line)
}

// window is how many packets of a connection may be outstanding; 0: any number.
func window(v *scenario.Valid, t *rdma.Config, conn int) (packets int) {
	if t.Window != rdma.WindowNone {
		w := t.WindowBytes
		if v.Windows != nil && v.Windows[conn] > 0 {
			w = v.Windows[conn]
		}
		packets = int(t.WindowPackets(w))
	}
	if t.Selective() && (packets == 0 || t.Bitmap < packets) {
		packets = t.Bitmap
	}
	return packets
}

// stations appends the ports of a way, and the drain at its end.
func (f *Formula) stations(row []station, hops []topology.Hop, drain units.Rate) []station {
	v := f.w.Valid
	for k, h := range hops {
		link := v.Graph.LinkAt(h.Node, h.Port)
		s := station{rate: link.RateFrom(v.Graph, h.Node), after: link.Delay}
		if k+1 < len(hops) {
			peer := v.Graph.Nodes[h.Node].Ports[h.Port].Peer
			next := v.Graph.LinkAt(hops[k+1].Node, hops[k+1].Port)
			s.cut = v.Switches[peer].CutThrough && next.RateFrom(v.Graph, peer) <= s.rate
			s.after += v.Switches[peer].Latency
		}
		row = append(row, s)
	}
	if drain > 0 {
		row = append(row, station{rate: drain})
	}
	return row
}
