package hopscope

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/balance"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/param"
	"github.com/hopscope/hopscope/internal/rng"
)

// Ways of switches to choose among equal ports.
type (
	// BalancerKind is a way as the key routing offers it: its name, what it does, and its parameters.
	BalancerKind = balance.Kind
	// Balancing is a way with the values of its parameters.
	Balancing = fabric.Balancing
	// Balancer chooses for the packets of one switch.
	Balancer = fabric.Balancer
	// Arrival is what a balancer knows of a packet, and Ports are those that it may take.
	Arrival = fabric.Arrival
	// Ports are the equal ports towards a packet's destination.
	Ports = fabric.Ports
	// Random is a stream of random numbers of the run's seed.
	Random = rng.Stream
	// Param declares a parameter: the key of the scenario, its bounds, what it means and where the default is from.
	Param = param.Param
)

// What the ledger may call the way in which packets took another port than their flow's hash says.
const (
	Spraying = catalog.Spraying // whatever the loads are
	Adaptive = catalog.Adaptive // by load
	Flowlets = catalog.Flowlets // as their flow had paused
)

// WithBalancers adds ways to balance load, which scenarios then name under routing.
func WithBalancers(kinds ...BalancerKind) Option {
	return func(l *Library) error {
		for _, k := range kinds {
			if own := k.Make; own != nil {
				k.Make = func() ([]Param, func() Balancing) { return guardedMake(k.Name, own) }
			}
			if err := checkBalancer(k, append(balance.All(), l.known.Balancers...)); err != nil {
				return err
			}
			l.known.Balancers = append(l.known.Balancers, k)
		}
		return nil
	}
}

// checkBalancer says what is wrong with the declaration of a balancer.
func checkBalancer(k BalancerKind, known []BalancerKind) error {
	switch {
	case !param.ProperName(k.Name):
		return fmt.Errorf("balancer %q: a name has small letters, digits and hyphens, from a letter on, such as my-spray",
			k.Name)
	case k.Name == "ecmp" || slices.ContainsFunc(known, func(o BalancerKind) bool { return o.Name == k.Name }):
		return fmt.Errorf("balancer %s: there is one of that name already; give another name", k.Name)
	case k.Text == "" || k.Make == nil:
		return fmt.Errorf("balancer %s: it needs a text and Make", k.Name)
	}
	params, make := k.Make()
	if err := param.CheckAll(params); err != nil {
		return fmt.Errorf("balancer %s: %w", k.Name, err)
	}
	if make == nil {
		return fmt.Errorf("balancer %s: Make returns no function that makes it", k.Name)
	}
	if b := make(); b == nil || b.String() != k.Name || b.Mechanism() == 0 {
		return fmt.Errorf("balancer %s: what it makes must have that name, and a mechanism", k.Name)
	}
	return nil
}
