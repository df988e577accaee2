package fabric

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/sim"
)

// warmBatch is how many events are warmed at a time.
const warmBatch = 32

// incoming is what Warm knows of a frame about to arrive at a switch.
type incoming struct {
	i  uint32 // port
	pk *packet.Packet
	sw *swtch
}

// Warm implements sim.Handler. A hop touches a dozen cache lines that depend on
// one another (packet, route, egress port, queue, buffer accounting); taken
// event by event, each is a miss that the next must wait for. Here the same
// lines are read for all events of a bucket, one level of the chain at a time,
// so that the misses of a level overlap. Nothing is changed but what a route
// lookup leaves in the packet.
func (n *Net) Warm(next []sim.Event) {
	for len(next) > warmBatch {
		n.warm(next[:warmBatch])
		next = next[warmBatch:]
	}
	n.warm(next)
}

func (n *Net) warm(next []sim.Event) {
	var sink uint64
	for _, e := range next {
		ref := e.Ref()
		i := ref.Tag() & tagIndex
		switch ref.Tag() &^ tagIndex {
		case evArrive:
			sink += uint64(n.part.Rec(ref.Low()).Frame) + uint64(n.ports[i].id)
		case evWake:
			sink += uint64(n.ports[i].freeAt) + uint64(n.ports[i].id)
		}
	}
	var arrivals [warmBatch]incoming
	k := 0
	for _, e := range next {
		ref := e.Ref()
		i := ref.Tag() & tagIndex
		switch ref.Tag() &^ tagIndex {
		case evArrive:
			pk, p := n.part.Rec(ref.Low()), &n.ports[i]
			switch {
			case pk.Kind.Link():
			case p.node < 0:
				sink += n.hosts[^p.node].WarmReceive(pk)
			default:
				sw := &n.switches[p.node]
				sink += uint64(sw.routes[pk.Dst])
				arrivals[k] = incoming{i, pk, sw}
				k++
			}
		case evWake:
			sink += n.warmSend(int(i))
		}
	}
	for _, a := range arrivals[:k] {
		sink += n.warmAdmission(a)
	}
	n.sink += sink
}

// warmSend reads what port i will send: a switch's head of queue, whose
// ingress accounting is read later, with the packet at hand.
func (n *Net) warmSend(i int) uint64 {
	p := &n.ports[i]
	if p.node < 0 {
		return n.hosts[^p.node].WarmSend(int(p.local))
	}
	if p.ready == 0 {
		return 0
	}
	return uint64(n.part.Rec(n.queues[bits.TrailingZeros8(p.ready)&7][i].head).Frame)
}

// warmAdmission reads the buffer accounting, egress port and queue of an
// arrival.
func (n *Net) warmAdmission(a incoming) uint64 {
	if a.sw.spreading != ByHash {
		return 0 // the port depends on the queues at the time of arrival
	}
	if a.sw.moves != nil { // the tables may change before it arrives
		return 0
	}
	if !n.route(a.sw, a.pk) {
		return 0
	}
	c := a.pk.Class & (Classes - 1) // as it arrived: near enough on InfiniBand
	if !a.sw.credited {
		c = a.sw.class(a.pk) & (Classes - 1)
	}
	o := a.sw.base + int(a.pk.Out)
	q := &n.queues[c][o]
	return uint64(n.pgs[c][a.i].used) + uint64(n.ports[o].freeAt) + uint64(n.ports[o].id) + uint64(q.bytes) +
		uint64(n.part.Rec(q.tail).Next)
}
