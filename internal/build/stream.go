package build

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
	"github.com/hopscope/hopscope/wire"
)

// connectStream adds the two ends of TCP connection i to their hosts. The one at
// the connection's source opens it and writes.
func (b *builder) connectStream(specs []nic.Spec, i int) {
	c := &b.v.Plan.Conns[i]
	src, dst := b.g.Endpoints[c.Src], b.g.Endpoints[c.Dst]
	qs, qd := uint32(len(specs[src.Node].QPs)), uint32(len(specs[dst.Node].QPs))
	b.Responders = append(b.Responders, Responder{dst.Node, qd, qs})
	there := b.template(c, i, c.Src, c.Dst, 0)
	back := b.template(c, i, c.Dst, c.Src, 0)
	back.Flags |= packet.Reverse
	for _, p := range []*packet.Packet{&there, &back} {
		p.Flags |= packet.FlagsOfPCP(p.Class)
	}
	cfg, peer := b.streamConfig(c.Profile, src.Node), b.streamConfig(c.Profile, dst.Node)
	entry := b.v.Plan.EntryName(i)
	ahead := nic.QPKind{Port: src.Port, Entry: entry}
	behind := nic.QPKind{Port: dst.Port, Entry: entry}
	// A socket's buffers lie in the memory of the card's socket, wherever the data do.
	ahead.Memory, behind.Memory = b.socketPath(src, c.SrcDevice), b.socketPath(dst, c.DstDevice)
	ahead.Data.Class, behind.Data.Class = c.Class, c.Class
	active, passive := b.queuePair(&ahead, &there, dst.Node), b.queuePair(&behind, &back, src.Node)
	active.PeerQP, passive.PeerQP = qd, qs
	active.Stream, passive.Stream =
		&nic.StreamSpec{Config: cfg, Segment: there, ISS: b.firstSequence(i, 0), Active: true, NoDelay: c.NoDelay, Message: b.streamSizes[i][1]},
		&nic.StreamSpec{Config: peer, Segment: back, ISS: b.firstSequence(i, 1), NoDelay: c.NoDelay, Message: b.streamSizes[i][0]}
	if !b.v.Handshake {
		rtt := max(b.handshakeRTT(i), 1)
		active.Stream.Ahead = &tcp.Peer{Config: peer, ISS: passive.Stream.ISS, RTT: rtt}
		passive.Stream.Ahead = &tcp.Peer{Config: cfg, ISS: active.Stream.ISS, RTT: rtt}
	}
	if b.v.Close {
		active.Stream.Closes, passive.Stream.Closes = true, true
		active.Stream.Posts, active.Stream.Arrives = b.streamCounts[i][0], b.streamCounts[i][1]
	}
	if b.Carried != nil {
		active.Stream.Carry, passive.Stream.Carry = true, true
		passive.Stream.Inbox, active.Stream.Inbox = b.Carried.Inboxes[i].Data, b.Carried.Inboxes[i].Back
	}
	specs[src.Node].QPs = append(specs[src.Node].QPs, active)
	specs[dst.Node].QPs = append(specs[dst.Node].QPs, passive)
	b.streamEnds[i] = nic.StreamEnds{Active: qs, Passive: qd}
}

// streamConfig is a profile at a host: without super-segments where neither card nor
// kernel could cut them (Linux: sk_can_gso).
func (b *builder) streamConfig(profile, node int) *tcp.Config {
	cfg := &b.v.TCP[profile-1]
	if cfg.TSO == 0 || b.v.NICs[node].Host.Segmentation != host.NoSegmentation {
		return cfg
	}
	whole := *cfg
	whole.TSO = 0
	return &whole
}

// firstSequence is the initial sequence number of an end of connection i.
func (b *builder) firstSequence(i, end int) uint32 {
	return uint32(rng.Mix64(b.v.Seed, uint64(i)<<1|uint64(end)))
}

// sizeStreams finds the lengths of the messages of TCP connections, which are all
// alike each way: a pattern has one size, calls have one of requests and one of
// replies, and each item of a list has its own connection.
func (b *builder) sizeStreams() {
	plan := b.v.Plan
	if b.v.TCP == nil {
		return
	}
	b.streamEnds, b.streamSizes, b.streamCounts = make([]nic.StreamEnds, len(plan.Conns)), make([][2]int64, len(plan.Conns)), make([][2]int, len(plan.Conns))
	for i := range plan.Series {
		m := &plan.Series[i]
		if plan.Conns[m.Conn].Service != workload.TCP {
			continue
		}
		b.streamCounts[m.Conn][index(m.Back)] += m.Count
		n := &b.streamSizes[m.Conn][index(m.Back)]
		if *n != 0 && *n != int64(m.Bytes) {
			panic(fmt.Sprintf("build: BUG: messages of %d and %d bytes on TCP connection %d", *n, m.Bytes, m.Conn))
		}
		*n = int64(m.Bytes)
	}
}

// handshakeRTT is the idle round trip of connection i's SYN.
func (b *builder) handshakeRTT(i int) units.Time {
	there, back := b.Path(i)
	syn := units.Bytes(b.v.TCP[b.v.Plan.Conns[i].Profile-1].FrameOverhead() + wire.TCPLen + synOptions)
	return b.oneWay(there, syn) + b.oneWay(back, syn)
}

// synOptions is the length of the options of a SYN: MSS, SACK permitted,
// timestamps and window scale with padding.
const synOptions = 20
