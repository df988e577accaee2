package fabric

import "github.com/hopscope/hopscope/internal/record"

// Queue names the queue of one class of port Port of the partition Part.
type Queue struct {
	Part, Port int
	Class      uint8
}

// Behind lists the queues of the switch at the other end of port i that hold what
// came in by its port in class c, and so keep class c of port i shut: in the order
// of ports and classes. Only a consistent cut tells.
func (n *Net) Behind(i int, c uint8) (out []Queue) {
	p := &n.ports[i]
	peer := n.peers[p.peerPart]
	in := &peer.ports[p.peerPort]
	if in.node < 0 {
		return nil
	}
	sw := &peer.switches[in.node]
	for e := sw.base; e < sw.base+sw.nports; e++ {
		for class := range uint8(Classes) {
			if peer.holds(e, class, in.local, c) {
				out = append(out, Queue{int(p.peerPart), e, class})
			}
		}
	}
	return out
}

// holds reports whether the queue of a class of port e has a frame that came in by
// a port, in class c.
func (n *Net) holds(e int, class uint8, port uint16, c uint8) bool {
	sw := &n.switches[n.ports[e].node]
	for slot := n.queues[class][e].head; slot != 0; slot = n.part.Rec(slot).Next {
		pk := n.part.Rec(slot)
		if pk.In == port && sw.cameIn(pk) == c {
			return true
		}
	}
	return false
}

// PortName is how reports name port i.
func (n *Net) PortName(i int) record.PortID {
	return record.PortID{Node: n.cold[i].node, Port: int(n.ports[i].local) + 1}
}
