package balance

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/param"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// Flowlet takes any port, with equal chance, for the first packet of a flowlet, which begins when a flow
// has sent nothing for longer than Gap; the others follow it (LetFlow; Vanini et al., NSDI 2017). Order is kept
// where the ways differ by less than Gap. A port whose link is known to be down ends its flowlets.
type Flowlet struct {
	Gap units.Time // above 0
}

func makeFlowlet() ([]param.Param, func() fabric.Balancing) {
	f := Flowlet{Gap: 100 * units.Microsecond}
	params := []param.Param{{Name: "gap", Value: &f.Gap, Min: 1e3, Max: float64(units.Second),
		Text:   "The pause of a flow after which it may take another port. Order is kept where the ways differ by less.",
		Source: "LetFlow as the ConWeave artefact has it; the paper took 500us (NSDI 2017)"}}
	return params, func() fabric.Balancing { return f }
}

// String is "flowlet".
func (Flowlet) String() string { return "flowlet" }

// KeepsOrder is true: packets that follow each other within the gap take one port.
func (Flowlet) KeepsOrder() bool { return true }

// Mechanism is catalog.Flowlets.
func (Flowlet) Mechanism() catalog.Mechanism { return catalog.Flowlets }

// New implements fabric.Balancing.
func (f Flowlet) New(_ int, rnd *rng.Stream) fabric.Balancer {
	return &flowlets{gap: f.Gap, pick: func(ports fabric.Ports) int { return rnd.IntN(ports.Len()) }}
}

// flowlets keeps by flow when its last packet came and where it went.
type flowlets struct {
	gap   units.Time
	pick  func(ports fabric.Ports) int // a port for a new flowlet
	flows flowTable[flowlet]
	begun int64
}

type flowlet struct {
	last units.Time // and one: 0 is none yet
	port uint16
}

func (f *flowlets) Choose(pk fabric.Arrival, ports fabric.Ports) int {
	now := ports.Now()
	fl := f.flows.at(pk.Flow)
	fresh := fl.last == 0 || now-(fl.last-1) > f.gap
	fl.last = now + 1
	if !fresh {
		for i := range ports.Len() {
			if ports.Number(i) == int(fl.port) && ports.Up(i) {
				return i
			}
		}
	}
	f.begun++
	k := f.pick(ports)
	fl.port = uint16(ports.Number(k))
	return k
}
