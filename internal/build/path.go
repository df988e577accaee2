package build

import (
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
	"github.com/hopscope/hopscope/wire"
)

// Path is the way of connection i's packets, from its source host's port on:
// the pinned one, or what ECMP chooses at each switch. back is the way of what
// answers them. Both are nil where the routes end.
func (w *World) Path(i int) (there, back []topology.Hop) { return w.AppendPath(nil, nil, i) }

// AppendPath is Path into room that there is.
func (w *World) AppendPath(there, back []topology.Hop, i int) (t, b []topology.Hop) {
	return w.AppendWay(there, back, &w.Valid.Plan.Conns[i])
}

// AppendWay is AppendPath of a connection that need not be the plan's.
func (w *World) AppendWay(there, back []topology.Hop, c *workload.Conn) (t, b []topology.Hop) {
	if c.Path != nil {
		return w.pinnedPath(c.Src, c.Dst, c.Path), w.pinnedPath(c.Dst, c.Src, reversed(c.Path))
	}
	return w.hashedPath(there, c.Src, c.Dst, c.SrcPort), w.hashedPath(back, c.Dst, c.Src, c.SrcPort)
}

// Hash is that by which switches choose among equal ports for the packets of a connection, or those that answer.
func (w *World) Hash(c *workload.Conn, answers bool) uint32 {
	if answers {
		return fiveTuple(c.Dst, c.Src, c.SrcPort)
	}
	return fiveTuple(c.Src, c.Dst, c.SrcPort)
}

func (w *World) pinnedPath(src, dst int, nodes []int) (hops []topology.Hop) {
	ports, err := topology.PinnedPathBetween(w.Valid.Graph, src, dst, nodes)
	if err != nil {
		return nil
	}
	for k, p := range ports {
		hops = append(hops, topology.Hop{Node: nodes[k], Port: p})
	}
	return hops
}

func (w *World) hashedPath(hops []topology.Hop, src, dst int, srcPort uint16) []topology.Hop {
	g := w.Valid.Graph
	hash := fiveTuple(src, dst, srcPort)
	at := topology.Hop{Node: g.Endpoints[src].Node, Port: g.Endpoints[src].Port}
	hops = append(hops[:0], at)
	for len(hops) <= len(g.Nodes) {
		node := g.Nodes[at.Node].Ports[at.Port].Peer
		if g.Nodes[node].Kind == topology.Host {
			return hops
		}
		ports := w.Valid.Routes.Lookup(node, dst)
		if len(ports) == 0 {
			return nil
		}
		k := w.Valid.Switches[node].Choose(hash, uint32(len(ports)))
		if len(ports) == 1 {
			k = 0
		}
		at = topology.Hop{Node: node, Port: int(ports[k])}
		hops = append(hops, at)
	}
	return nil
}

// BaseRTT is the idle round trip of a full packet of connection i and its ACK:
// serialisation (of a cut-through switch's header only, unless its egress is
// faster), propagation and pipelines both ways, and the receive buffer's drain.
// there and back are its Path.
func (w *World) BaseRTT(i int, there, back []topology.Hop) units.Time {
	v := w.Valid
	c := &v.Plan.Conns[i]
	_, data, _ := w.Frames(c)
	rtt := w.oneWay(there, data) + w.AnswerTime(c, back)
	if d := v.NICs[v.Graph.HostOf(c.Dst)].DrainRate; d > 0 {
		rtt += d.TxTime(data)
	}
	return rtt
}

// AnswerTime is the idle time of the acknowledgement of a connection's packet, along back, to where it is
// taken out of the receive buffer.
func (w *World) AnswerTime(c *workload.Conn, back []topology.Hop) units.Time {
	_, _, ack := w.Frames(c)
	t := w.oneWay(back, ack)
	if d := w.Valid.NICs[w.Valid.Graph.HostOf(c.Src)].DrainRate; d > 0 {
		t += d.TxTime(ack)
	}
	return t
}

// Frames are those of a full packet of a connection, with what payload it has, and of its acknowledgement.
func (w *World) Frames(c *workload.Conn) (payload, data, ack units.Bytes) {
	v := w.Valid
	if c.Profile > 0 {
		data, ack = w.segmentFrames(c)
		payload = units.Bytes(v.TCP[c.Profile-1].MSS)
		if v.TCP[c.Profile-1].Timestamps {
			payload -= timestamps
		}
		return payload, data, ack
	}
	payload = v.Transports[v.NICs[v.Graph.HostOf(c.Src)].Transport].MTU
	return payload, units.Bytes(max(v.Wire.Data+int(payload), v.Wire.MinFrame)),
		units.Bytes(max(v.Wire.Ack, v.Wire.MinFrame))
}

// segmentFrames are the frames of a full segment and of an acknowledgement.
func (w *World) segmentFrames(c *workload.Conn) (data, ack units.Bytes) {
	cfg := &w.Valid.TCP[c.Profile-1]
	n := cfg.FrameOverhead() + wire.TCPLen
	data, ack = units.Bytes(n+cfg.MSS), units.Bytes(n)
	if cfg.Timestamps {
		ack += timestamps
	}
	return data, max(ack, wire.MinFrameLen)
}

// timestamps is the length of the timestamps option with padding.
const timestamps = 12

// ReadRTT is the idle round trip on connection i of a READ request for n bytes, at
// most a packet, and its response; of an atomic's with n 0.
func (w *World) ReadRTT(i int, n units.Bytes) units.Time {
	v := w.Valid
	there, back := w.Path(i)
	ask := v.Wire.Data + v.Wire.RETH
	answer := v.Wire.Data + wire.AETHLen + int(n)
	if v.Wire.Pad > 0 {
		answer += -int(n) & (v.Wire.Pad - 1)
	}
	if n == 0 {
		ask, answer = v.Wire.Data+wire.AtomicETHLen, v.Wire.Ack+wire.AtomicAckETHLen
	}
	return w.oneWay(there, units.Bytes(max(ask, v.Wire.MinFrame))) + w.oneWay(back, units.Bytes(max(answer, v.Wire.MinFrame)))
}

// oneWay is the idle time of a frame along hops.
func (w *World) oneWay(hops []topology.Hop, frame units.Bytes) (t units.Time) {
	for k := range hops {
		t += w.overHop(hops, k, frame)
	}
	return t
}

// overHop is the idle time from when a frame starts at the k-th of hops to when it may
// start at the next.
func (w *World) overHop(hops []topology.Hop, k int, frame units.Bytes) (t units.Time) {
	v, h := w.Valid, hops[k]
	sizes := v.WireAt(h.Node, h.Port)
	n := frame + units.Bytes(sizes.Overhead)
	link := v.Graph.LinkAt(h.Node, h.Port)
	if k+1 < len(hops) {
		peer := v.Graph.Nodes[h.Node].Ports[h.Port].Peer
		next := v.Graph.LinkAt(hops[k+1].Node, hops[k+1].Port)
		if v.Switches[peer].CutThrough && next.RateFrom(v.Graph, peer) <= link.RateFrom(v.Graph, h.Node) {
			n = min(n, units.Bytes(sizes.Preamble+sizes.Header))
		}
		t = v.Switches[peer].Latency
	}
	return t + link.RateFrom(v.Graph, h.Node).TxTime(n) + link.Delay
}

// CreditLoop is the idle time from when a packet of connection i starts at the k-th of
// hops, of a link with credits, to when its credits are back; and how many such packets,
// of the path MTU, the input buffer at the other end grants at once, and as how many are freed there
// before the sender is told. 0 without credits.
func (w *World) CreditLoop(i int, hops []topology.Hop, k int) (loop units.Time, packets, untold int64) {
	v, c, h := w.Valid, &w.Valid.Plan.Conns[i], hops[k]
	end := v.Graph.Nodes[h.Node].Ports[h.Port]
	var port *fabric.PortParams
	if v.Graph.Nodes[end.Peer].Kind == topology.Switch {
		port = &v.Switches[end.Peer].Ports[end.PeerPort]
	} else {
		port = &v.NICs[end.Peer].Ports[end.PeerPort]
	}
	if port.Credit == nil {
		return 0, 0, 0
	}
	src := v.Graph.Endpoints[c.Src].Node
	frame := units.Bytes(v.Wire.Data) + v.Transports[v.NICs[src].Transport].MTU
	granted := min(uint32(port.Credit.Blocks[c.Class]), fabric.MaxCredits)
	link := v.Graph.LinkAt(h.Node, h.Port)
	back := link.Rate.TxTime(units.Bytes(v.Wire.Control+v.Wire.Overhead)) + link.Delay
	blocks := fabric.Blocks(uint32(frame))
	untold = int64((uint32(port.Credit.Update[c.Class]) + blocks - 1) / blocks)
	return w.overHop(hops, k, frame) + back, int64(granted / blocks), untold
}
