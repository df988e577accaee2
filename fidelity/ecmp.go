package fidelity

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// ecmp, case F30: eight flows at line rate and eight links, each flow on one of
// them by its hash. A link is busy when at least one flow is on it, so that the
// mean utilisation is 1-(1-1/8)^8.
func (c *checker) ecmp() {
	const seeds = 500
	sum := 0.0
	for seed := uint64(1); seed <= seeds; seed++ {
		sum += uplinks(c.seeded("f30-ecmp", &seed), data)
	}
	const expected = 0.6564 // 1-(7/8)^8
	c.within("one queue pair per flow: mean utilisation, 500 seeds", expected, sum/seeds, 0.02, "balls in bins: 1-(1-1/8)^8")
	c.perPacket()
	c.split(4, 0.58)
	c.split(16, 0.74)
}

// split: each message in k equal parts, each part on a link by its hash. All is
// done when the link with the most parts is, so that what counts is the
// completion time of one flow alone over that of the slowest of eight.
func (c *checker) split(k int, expected float64) {
	const seeds = 500
	qps := fmt.Sprintf("workload[0].flows.qps=%d", k)
	one := uint64(1)
	alone := slowest(c.seeded("f30-split", &one, qps, "workload[0].flows.list=[{from: h0, to: h8}]"))
	sum := 0.0
	for seed := uint64(1); seed <= seeds; seed++ {
		sum += float64(alone) / float64(slowest(c.seeded("f30-split", &seed, qps)))
	}
	c.within(fmt.Sprintf("message split over %d queue pairs: mean utilisation by completion, 500 seeds", k), expected, sum/seeds, 0.02,
		"balls in bins: 1 / most parts on a link")
}

// slowest is the longest completion time of a run's messages.
func slowest(r *record.Run) (t units.Time) {
	for _, f := range r.Messages {
		t = max(t, f.CompletionPS)
	}
	return t
}

// uplinks is the mean utilisation of leaf1's links to the spines in a class.
func uplinks(r *record.Run, class int) (mean float64) {
	for i := range r.Ports {
		if p := &r.Ports[i]; p.Node == "leaf1" && p.Class == class && strings.HasPrefix(p.Peer.Node, "spine") {
			mean += p.Utilisation / 8
		}
	}
	return mean
}

// perPacket: with the port that would start it first for every packet, eight flows at
// line rate fill eight links, whatever their hashes.
func (c *checker) perPacket() {
	const source = "as many packets as links in a packet's time, each on an idle one"
	for _, stack := range []string{"rocev2-pfc-only", "infiniband"} {
		class := data
		if stack == "infiniband" {
			class = 0
		}
		seed := uint64(1)
		r := c.seeded("f30-ecmp", &seed, "routing=adaptive", "stack="+stack, "nic.recovery=selective-repeat", "nic.out_of_order=true")
		c.within("adaptive routing, "+stack+": mean utilisation", 1, uplinks(r, class), 0.01, source)
	}
}
