package fabric

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// Spreading is how a switch chooses among equal ports towards a destination.
type Spreading uint8

// Ways to spread.
const (
	ByHash   Spreading = iota // by the flow's five-tuple: a flow keeps its port
	Adaptive                  // each packet takes the port that would start it first
	Spray                     // each packet takes any of them, with equal chance
)

func (s Spreading) String() string { return [...]string{"ecmp", "adaptive", "spray"}[s] }

// spread chooses for one packet among ports, of which there are several. Packets
// of a flow may overtake each other from here on.
//
// Adaptive takes the port with the least wait (the rest of the frame on the wire and
// all that is queued). Among equal ones it takes the first at or behind the turn, which
// moves on by one port with every packet: no port is preferred, and the choice follows
// from the order of arrivals at the switch alone. A port whose link is known to be down
// is left out while another is up.
func (n *Net) spread(now units.Time, sw *swtch, ports []uint16) uint16 {
	if sw.spreading == Spray {
		return ports[uint64(sw.spray.Uint32())*uint64(len(ports))>>32]
	}
	sw.turn++
	at := int(sw.turn % uint32(len(ports)))
	best, least := ports[at], units.Never
	for range ports {
		e := sw.base + int(ports[at])
		if w := n.wait(now, e); w < least && !n.knownDown(e) {
			best, least = ports[at], w
		}
		if at++; at == len(ports) {
			at = 0
		}
	}
	return best
}

// spreadOff has pk take one of several ports, and counts it if that is not the one by its
// hash.
func (n *Net) spreadOff(sw *swtch, pk *packet.Packet, ports []uint16, byHash int) {
	pk.Out = n.spread(n.part.Now(), sw, ports)
	if int(pk.Out) != byHash {
		sw.strays.Add(n.part.Now(), 0)
	}
}

// wait is how long port i of a switch has to do with what it has, as if nothing held
// it back.
func (n *Net) wait(now units.Time, i int) units.Time {
	p := &n.ports[i]
	w := max(0, p.freeAt-now)
	queued := int32(0)
	for v := p.ready; v != 0; v &= v - 1 {
		queued += n.queues[bits.TrailingZeros8(v)&(Classes-1)][i].bytes
	}
	if queued > 0 {
		w += n.txTime(p, uint32(queued))
	}
	return w
}
