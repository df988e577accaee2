package build

import (
	"github.com/hopscope/hopscope/internal/iwarp"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/tcp"
)

// connectOffload adds the two ends of connection i, of queue pairs that TCP carries, to their hosts: what verbs know of
// them is as with RC, what TCP knows as with a connection of sockets. The end at the connection's source opens it.
func (b *builder) connectOffload(specs []nic.Spec, i int) {
	c := &b.v.Plan.Conns[i]
	src, dst := b.g.Endpoints[c.Src], b.g.Endpoints[c.Dst]
	qs, qd := uint32(len(specs[src.Node].QPs)), uint32(len(specs[dst.Node].QPs))
	b.Responders = append(b.Responders, Responder{dst.Node, qd, qs})
	there := b.template(c, i, c.Src, c.Dst, qd)
	back := b.template(c, i, c.Dst, c.Src, qs)
	back.Flags |= packet.Reverse
	for _, p := range []*packet.Packet{&there, &back} {
		p.DestQP = 0 // of a segment it stands for options of TCP
		p.Flags |= packet.FlagsOfPCP(p.Class)
	}
	req, rsp := b.ends(c, i, b.regionSize[i], there, back)
	active, passive := b.queuePair(req, &there, dst.Node), b.queuePair(rsp, &back, src.Node)
	active.PeerQP, passive.PeerQP = qd, qs
	cfg := b.v.IWARP
	own, other := *active.QPKind, *passive.QPKind // which others may share
	active.QPKind, passive.QPKind = &own, &other
	active.Offload = &iwarp.Spec{Config: cfg, Segment: there, ISS: b.firstSequence(i, 0), Active: true}
	passive.Offload = &iwarp.Spec{Config: cfg, Segment: back, ISS: b.firstSequence(i, 1)}
	if !b.v.Handshake {
		rtt := max(b.handshakeRTT(i), 1)
		ahead := func(iss uint32) *iwarp.Peer {
			return &iwarp.Peer{Peer: tcp.Peer{Config: &cfg.TCP, ISS: iss, RTT: rtt}, Config: cfg}
		}
		active.Offload.Ahead, passive.Offload.Ahead = ahead(passive.Offload.ISS), ahead(active.Offload.ISS)
	}
	specs[src.Node].QPs = append(specs[src.Node].QPs, active)
	specs[dst.Node].QPs = append(specs[dst.Node].QPs, passive)
	b.streamEnds[i] = nic.StreamEnds{Active: qs, Passive: qd}
}
