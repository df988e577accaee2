package fabric

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/sim"
)

// Warm implements sim.Handler. A hop touches a dozen cache lines that depend on
// one another (packet, route, egress port, queue, buffer accounting); taken
// event by event, each is a miss that the next must wait for. Here the same
// lines are read for all events of a bucket, one level of the chain at a time,
// so that the misses of a level overlap. Nothing is changed but what a route
// lookup leaves in the packet.
func (n *Net) Warm(next []sim.Event) {
	n.sink += n.warmRecords(next) + n.warmRoutes(next) + n.warmEgress(next)
}

// warmRecords reads the port of every event and the packet of every arrival.
func (n *Net) warmRecords(next []sim.Event) (sink uint64) {
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
	return sink
}

// warmRoutes reads the route of arrivals at switches and the queue of wake-ups.
func (n *Net) warmRoutes(next []sim.Event) (sink uint64) {
	for _, e := range next {
		ref := e.Ref()
		i := ref.Tag() & tagIndex
		p := &n.ports[i]
		if p.node < 0 {
			if ref.Tag()&^tagIndex == evWake {
				sink += n.hosts[^p.node].WarmSend(int(p.local))
			}
			continue
		}
		switch ref.Tag() &^ tagIndex {
		case evArrive:
			if pk := n.part.Rec(ref.Low()); pk.Kind != packet.Pause {
				sw := &n.switches[p.node]
				sink += uint64(sw.routes[pk.Dst]) + uint64(n.pgs[sw.class(pk)][i].used)
			}
		case evWake:
			if p.ready != 0 {
				sink += uint64(n.queues[bits.TrailingZeros8(p.ready)&7][i].head)
			}
		}
	}
	return sink
}

// warmEgress reads the egress port and queue of arrivals, and the packet that a
// wake-up will send.
func (n *Net) warmEgress(next []sim.Event) (sink uint64) {
	for _, e := range next {
		ref := e.Ref()
		i := ref.Tag() & tagIndex
		p := &n.ports[i]
		if p.node < 0 {
			if ref.Tag()&^tagIndex == evArrive {
				sink += n.hosts[^p.node].WarmReceive(n.part.Rec(ref.Low()))
			}
			continue
		}
		switch ref.Tag() &^ tagIndex {
		case evArrive:
			pk := n.part.Rec(ref.Low())
			if pk.Kind == packet.Pause {
				continue
			}
			sw := &n.switches[p.node]
			if n.route(sw, pk) {
				o := sw.base + int(pk.Out)
				q := &n.queues[sw.class(pk)][o]
				sink += uint64(n.ports[o].freeAt) + uint64(n.ports[o].id) + uint64(q.bytes)
				if q.tail != 0 {
					sink += uint64(n.part.Rec(q.tail).Next)
				}
			}
		case evWake:
			if p.ready != 0 {
				c := bits.TrailingZeros8(p.ready) & 7
				pk := n.part.Rec(n.queues[c][i].head)
				sink += uint64(n.pgs[c][n.switches[p.node].base+int(pk.In)].used)
			}
		}
	}
	return sink
}
