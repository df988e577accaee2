package balance

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/param"
	"github.com/hopscope/hopscope/internal/rng"
)

// Spray takes any port for each packet, with equal chance.
type Spray struct{}

// String is "spray".
func (Spray) String() string { return "spray" }

// KeepsOrder is false.
func (Spray) KeepsOrder() bool { return false }

// Mechanism is catalog.Spraying.
func (Spray) Mechanism() catalog.Mechanism { return catalog.Spraying }

// New implements fabric.Balancing.
func (Spray) New(_ int, rnd *rng.Stream) fabric.Balancer { return spray{rnd} }

type spray struct{ rnd *rng.Stream }

func (s spray) Choose(_ fabric.Arrival, ports fabric.Ports) int {
	return int(uint64(s.rnd.Uint32()) * uint64(ports.Len()) >> 32)
}

// RoundRobin takes the ports in turn, one turn per flow, which begins where the flow's hash says: packets of
// one flow load all ports alike, to one packet.
type RoundRobin struct{}

// String is "round-robin".
func (RoundRobin) String() string { return "round-robin" }

// KeepsOrder is false.
func (RoundRobin) KeepsOrder() bool { return false }

// Mechanism is catalog.Spraying.
func (RoundRobin) Mechanism() catalog.Mechanism { return catalog.Spraying }

// New implements fabric.Balancing.
func (RoundRobin) New(int, *rng.Stream) fabric.Balancer { return new(roundRobin) }

// roundRobin keeps how many packets of a flow have come.
type roundRobin struct{ flows flowTable[uint32] }

func (r *roundRobin) Choose(pk fabric.Arrival, ports fabric.Ports) int {
	k := r.flows.at(pk.Flow)
	*k++
	return int((uint64(pk.Flow) + uint64(*k)) % uint64(ports.Len()))
}

// Drill takes for each packet the shortest of the queues of Samples ports that are drawn and of the one that was
// shortest the last time (DRILL(d, 1); Ghorbani et al., SIGCOMM 2017). A port whose link is known to be down
// counts as the longest.
type Drill struct {
	Samples int // 1 to 16
}

func makeDrill() ([]param.Param, func() fabric.Balancing) {
	d := Drill{Samples: 2}
	params := []param.Param{{Name: "samples", Value: &d.Samples, Min: 1, Max: 16,
		Text: "How many ports are drawn for each packet.", Source: "DRILL(2, 1) of the paper (SIGCOMM 2017)"}}
	return params, func() fabric.Balancing { return d }
}

// String is "drill".
func (Drill) String() string { return "drill" }

// KeepsOrder is false.
func (Drill) KeepsOrder() bool { return false }

// Mechanism is catalog.Adaptive.
func (Drill) Mechanism() catalog.Mechanism { return catalog.Adaptive }

// New implements fabric.Balancing.
func (d Drill) New(ports int, rnd *rng.Stream) fabric.Balancer {
	return &drill{samples: d.Samples, rnd: rnd, last: make([]uint16, ports)}
}

type drill struct {
	samples int
	rnd     *rng.Stream
	last    []uint16 // by first port of a group: the port that was shortest
}

func (d *drill) Choose(_ fabric.Arrival, ports fabric.Ports) int {
	n := ports.Len()
	last := &d.last[ports.Number(0)]
	best := -1
	for i := range n {
		if ports.Number(i) == int(*last) {
			best = i
			break
		}
	}
	if best < 0 {
		best = d.rnd.IntN(n)
	}
	for range d.samples {
		if i := d.rnd.IntN(n); shorter(ports, i, best) {
			best = i
		}
	}
	*last = uint16(ports.Number(best))
	return best
}

// shorter reports whether candidate a has less to do than b.
func shorter(ports fabric.Ports, a, b int) bool {
	if up := ports.Up(a); up != ports.Up(b) {
		return up
	}
	return ports.Wait(a) < ports.Wait(b)
}
