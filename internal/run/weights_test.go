package run_test

import (
	"math"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/scenario"
)

// sentBy is the share of the frames of leaf1's data class that left by each of its ports up.
func sentBy(t *testing.T, v *scenario.Valid) []float64 {
	r := simulate(t, v, 1, 1)
	var shares []float64
	total := 0.0
	for i := range r.Ports {
		if p := &r.Ports[i]; p.Node == "leaf1" && p.Class == 3 && strings.HasPrefix(p.Peer.Node, "spine") {
			shares, total = append(shares, float64(p.TxBytes)), total+float64(p.TxBytes)
		}
	}
	for i := range shares {
		shares[i] /= total
	}
	return shares
}

// TestWeightedShares: three spines by links of 10:6:1 have 38, 22 and 4 of 64 slots, 151, 90 and 15 of 256
// (controllers F48), and packets that each draw a slot keep to it.
func TestWeightedShares(t *testing.T) {
	const text = `
noise: off
routing: spray
topology:
  hosts: [src, dst]
  switches: [leaf1, spine1, spine2, spine3, leaf2]
  links:
    - {between: [src, leaf1], rate: 800Gbps}
    - {between: [dst, leaf2], rate: 800Gbps}
    - {between: [leaf1, spine1], rate: 1000Gbps}
    - {between: [leaf1, spine2], rate: 600Gbps}
    - {between: [leaf1, spine3], rate: 100Gbps}
    - {between: [spine1, leaf2], rate: 1000Gbps}
    - {between: [spine2, leaf2], rate: 600Gbps}
    - {between: [spine3, leaf2], rate: 100Gbps}
switch: {ecmp: {weights: path}}
workload: [flow: {from: src, to: dst, size: 40MB}]
`
	for slots, want := range map[string][]float64{"64": {38. / 64, 22. / 64, 4. / 64}, "256": {151. / 256, 90. / 256, 15. / 256}} {
		got := sentBy(t, parse(t, text, "switch.ecmp.slots="+slots))
		for i, w := range want {
			// Four standard deviations of 9,766 draws, of which acknowledgements in another class are none.
			if d := math.Abs(got[i] - w); d > 4*math.Sqrt(w*(1-w)/9766) {
				t.Errorf("%s slots: port %d has %.4f, not %.4f", slots, i, got[i], w)
			}
		}
	}
}

// TestWeightsFollowAFailure: of two links from spine1 to leaf2 one fails. From when all know, leaf1 has a
// third of its packets to leaf2 go by spine1; with weights by its own links half of them.
func TestWeightsFollowAFailure(t *testing.T) {
	const text = `
noise: off
routing: spray
topology:
  leaf_spine: {leaves: 2, spines: 2, parallel: 2, hosts_per_leaf: 1, host_link: 300Gbps, uplink: 100Gbps}
  links: [{between: [leaf2, spine1], nth: 1, down_at: 100us}]
failover: {detect: 10us, converge: 10us}
measure: {from: 400us, to: 1ms}
stop: 1ms
dcqcn: none
switch: {ecmp: {weights: path}}
workload: [flow: {from: h0, to: h1, size: 60MB}]
`
	by := func(set ...string) float64 {
		spine1, spine2 := 0.0, 0.0
		r := simulate(t, parse(t, text, set...), 1, 1)
		for i := range r.Ports {
			if p := &r.Ports[i]; p.Node == "leaf1" && p.Class == 3 {
				switch p.Peer.Node {
				case "spine1":
					spine1 += p.Utilisation
				case "spine2":
					spine2 += p.Utilisation
				}
			}
		}
		return spine1 / (spine1 + spine2)
	}
	// 22 of 64 slots lead to spine1: 64/6 each, rounded up.
	if share := by(); math.Abs(share-22./64) > 0.02 {
		t.Errorf("with weights by path spine1 has %.3f", share)
	}
	if share := by("switch.ecmp.weights=link"); math.Abs(share-.5) > 0.02 {
		t.Errorf("with weights by link spine1 has %.3f", share)
	}
}
