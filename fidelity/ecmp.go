package fidelity

import "strings"

// ecmp, case F30: eight flows at line rate and eight links, each flow on one of
// them by its hash. A link is busy when at least one flow is on it, so that the
// mean utilisation is 1-(1-1/8)^8.
func (c *checker) ecmp() {
	const seeds = 500
	sum := 0.0
	for seed := uint64(1); seed <= seeds; seed++ {
		r := c.seeded("f30-ecmp", &seed)
		for i := range r.Ports {
			if p := &r.Ports[i]; p.Node == "leaf1" && p.Class == data && strings.HasPrefix(p.Peer, "spine") {
				sum += p.Utilisation / 8
			}
		}
	}
	const expected = 0.6564 // 1-(7/8)^8
	c.within("one queue pair per flow: mean utilisation, 500 seeds", expected, sum/seeds, 0.02, "balls in bins: 1-(1-1/8)^8")
}
