package balance

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// Adaptive takes for each packet the port with the least wait: the rest of the frame on the wire and all that
// is queued. Among equal ones it takes the first at or behind the turn, which moves on by one port with every
// packet: no port is preferred, and the choice follows from the order of arrivals at the switch alone. A port
// whose link is known to be down is left out while another is up.
type Adaptive struct{}

// String is "adaptive".
func (Adaptive) String() string { return "adaptive" }

// KeepsOrder is false.
func (Adaptive) KeepsOrder() bool { return false }

// Mechanism is catalog.Adaptive.
func (Adaptive) Mechanism() catalog.Mechanism { return catalog.Adaptive }

// New implements fabric.Balancing.
func (Adaptive) New(int, *rng.Stream) fabric.Balancer { return new(adaptive) }

type adaptive struct{ turn uint32 }

func (a *adaptive) Choose(_ fabric.Arrival, ports fabric.Ports) int {
	a.turn++
	at := int(a.turn % uint32(ports.Len()))
	best, least := at, units.Never
	for range ports.Len() {
		if w := ports.Wait(at); w < least && ports.Up(at) {
			best, least = at, w
		}
		if at++; at == ports.Len() {
			at = 0
		}
	}
	return best
}
