package hopscope

import (
	"fmt"
	"runtime/metrics"

	"github.com/hopscope/hopscope/internal/param"
)

// guard watches over a balancer that the program brings: if it panics, allocates without bound or chooses a port that
// there is not, the run ends with its name. Those of hopscope itself run without.
type guard struct {
	kind, name string
	calls      uint64
	allocated  uint64 // in calls that were looked at
	sample     [1]metrics.Sample
}

// One call of so many is looked at, and what all are taken to have allocated is bounded: a balancer may hold a table of
// flows, but not something for each packet.
const (
	guardEvery = 256
	guardBytes = 4 << 30
)

func newGuard(kind, name string) *guard {
	return &guard{kind: kind, name: name, sample: [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}}
}

// caught turns a panic into the fault that ends the run.
func (g *guard) caught() { param.Recovered(recover(), g.kind, g.name, "") }

// begin notes, in some calls, what the program has allocated so far.
func (g *guard) begin() uint64 {
	if g.calls++; g.calls%guardEvery != 0 {
		return 0
	}
	metrics.Read(g.sample[:])
	return g.sample[0].Value.Uint64()
}

// end adds up what such a call allocated. Other goroutines may have done so meanwhile; they do little.
func (g *guard) end(before uint64) {
	if before == 0 {
		return
	}
	metrics.Read(g.sample[:])
	g.allocated += g.sample[0].Value.Uint64() - before
	if g.allocated > guardBytes/guardEvery {
		what := fmt.Sprintf("allocates without bound: about %d bytes in each of %d calls", g.allocated*guardEvery/g.calls, g.calls)
		panic(param.Fault{Kind: g.kind, Name: g.name, What: what})
	}
}

// guardedMake calls what makes a balancing of the program's, under guard.
func guardedMake(name string, own func() ([]Param, func() Balancing)) ([]Param, func() Balancing) {
	defer func() { param.Recovered(recover(), "balancer", name, " in Make") }()
	params, of := own()
	if of == nil {
		return params, nil
	}
	return params, func() Balancing {
		defer func() { param.Recovered(recover(), "balancer", name, " in Make") }()
		if b := of(); b != nil {
			return guardedBalancing{b}
		}
		return nil
	}
}

// guardedBalancing is a balancing of the program's, under guard.
type guardedBalancing struct{ Balancing }

func (b guardedBalancing) New(ports int, rnd *Random) Balancer {
	g := &guardedBalancer{guard: newGuard("balancer", b.String())}
	defer func() { param.Recovered(recover(), g.kind, g.name, " in New") }()
	if g.of = b.Balancing.New(ports, rnd); g.of == nil {
		panic(param.Fault{Kind: g.kind, Name: g.name, What: "has no balancer: New returned nil"})
	}
	return g
}

type guardedBalancer struct {
	*guard
	of Balancer
}

func (b *guardedBalancer) Choose(pk Arrival, ports Ports) int {
	defer b.caught()
	before := b.begin()
	k := b.of.Choose(pk, ports)
	b.end(before)
	if k < 0 || k >= ports.Len() {
		panic(param.Fault{Kind: b.kind, Name: b.name, What: fmt.Sprintf("chose port %d of %d", k, ports.Len())})
	}
	return k
}
