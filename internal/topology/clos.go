package topology

import (
	"fmt"
	"strconv"
)

// ClosTier describes one tier of switches of a Clos network, lowest first.
type ClosTier struct {
	RadixDown int      // links down of each switch, at least 1
	RadixUp   int      // links up; 0 in the top tier
	Bundle    int      // parallel links to each switch below, tier 2 and up; 0 counts as 1
	Link      LinkSpec // of the links down
}

// ClosParams describes a folded Clos network of two or three tiers by the
// radices of its switches, as the topology files of htsim do. How many switches
// there are follows.
type ClosParams struct {
	Hosts       int // h0, h1, ..., at least 2
	HostsPerPod int // three tiers; 0 or all of them with two
	Tiers       []ClosTier
}

// closShape is what the radices amount to.
type closShape struct {
	pods, leaves, aggs, cores int // in all
	aggsPerPod                int // three tiers; with two: the spines
	upsPerAgg                 int // cores above each aggregation switch
}

// Clos generates the network. Names are those of LeafSpine with two tiers and
// of FatTree with three; a switch's ports are what is below it, then its
// uplinks. The l-th bundle up of the p-th aggregation switch of a pod leads to
// core l*n+p, where a pod has n of them (htsim's wiring).
func Clos(p ClosParams) (*Graph, error) {
	s, err := p.shape()
	if err != nil {
		return nil, err
	}
	b := builder{g: new(Graph)}
	leaves, aggs, cores := b.closSwitches(s, len(p.Tiers))
	for h := range p.Hosts {
		b.link(b.host("h"+strconv.Itoa(h)), leaves[h/p.Tiers[0].RadixDown], p.Tiers[0].Link, 1)
	}
	perPod := s.leaves / s.pods
	for l, leaf := range leaves {
		for i := range s.aggsPerPod {
			b.link(leaf, aggs[l/perPod*s.aggsPerPod+i], p.Tiers[1].Link, p.bundle(1))
		}
	}
	for a, agg := range aggs {
		for l := range s.upsPerAgg {
			b.link(agg, cores[l*s.aggsPerPod+a%s.aggsPerPod], p.Tiers[2].Link, p.bundle(2))
		}
	}
	return b.finish()
}

// closSwitches adds the switches tier by tier, as LeafSpine and FatTree do.
func (b *builder) closSwitches(s closShape, tiers int) (leaves, aggs, cores []int) {
	if tiers == 2 {
		for i := range s.leaves {
			leaves = append(leaves, b.sw("leaf"+strconv.Itoa(i+1), 1))
		}
		for i := range s.aggs {
			aggs = append(aggs, b.sw("spine"+strconv.Itoa(i+1), 2))
		}
		return leaves, aggs, nil
	}
	for pod := range s.pods {
		for i := range s.leaves / s.pods {
			leaves = append(leaves, b.sw(fmt.Sprintf("pod%d-leaf%d", pod, i), 1))
		}
		for i := range s.aggsPerPod {
			aggs = append(aggs, b.sw(fmt.Sprintf("pod%d-agg%d", pod, i), 2))
		}
	}
	for i := range s.cores {
		cores = append(cores, b.sw("core"+strconv.Itoa(i), 3))
	}
	return leaves, aggs, cores
}

func (p *ClosParams) bundle(tier int) int { return max(1, p.Tiers[tier].Bundle) }

// shape derives the numbers of switches and checks that every radix comes out
// whole.
func (p *ClosParams) shape() (closShape, error) {
	var s closShape
	if len(p.Tiers) != 2 && len(p.Tiers) != 3 {
		return s, fmt.Errorf("clos: %d tiers of switches; give 2 or 3", len(p.Tiers))
	}
	pod := p.HostsPerPod
	if pod == 0 {
		pod = p.Hosts
	}
	counts := []count{{"clos: hosts", p.Hosts, 2}, {"clos: hosts per pod", pod, 1}}
	for i, t := range p.Tiers {
		counts = append(counts, count{fmt.Sprintf("clos: radix_down of tier %d", i+1), t.RadixDown, 1})
		if i < len(p.Tiers)-1 {
			counts = append(counts, count{fmt.Sprintf("clos: radix_up of tier %d", i+1), t.RadixUp, 1})
		}
		counts = append(counts, count{fmt.Sprintf("clos: bundle of tier %d", i+1), t.Bundle, 0})
	}
	if err := checkCounts(0, 0, counts...); err != nil {
		return s, err
	}
	if len(p.Tiers) == 2 && pod != p.Hosts {
		return s, fmt.Errorf("clos: two tiers are one pod; %d hosts per pod must be all %d", pod, p.Hosts)
	}
	low, mid := p.Tiers[0], p.Tiers[1]
	if p.Hosts%pod != 0 || pod%low.RadixDown != 0 {
		return s, fmt.Errorf("clos: %d hosts in pods of %d on leaves of %d do not come out whole; change one of them", p.Hosts, pod, low.RadixDown)
	}
	s.pods = p.Hosts / pod
	s.leaves = p.Hosts / low.RadixDown
	perPod := s.leaves / s.pods
	if perPod*low.RadixUp%mid.RadixDown != 0 {
		return s, fmt.Errorf("clos: %d leaves with %d uplinks each do not fill switches with %d links down; change one of them", perPod, low.RadixUp, mid.RadixDown)
	}
	s.aggsPerPod = perPod * low.RadixUp / mid.RadixDown
	s.aggs = s.aggsPerPod * s.pods
	if s.aggsPerPod*p.bundle(1) != low.RadixUp {
		return s, fmt.Errorf("clos: %d uplinks of a leaf in bundles of %d do not reach each of the %d switches above it; change radix_up, radix_down or bundle",
			low.RadixUp, p.bundle(1), s.aggsPerPod)
	}
	links := p.Hosts + s.leaves*low.RadixUp
	if len(p.Tiers) == 3 {
		if err := p.coreShape(&s); err != nil {
			return s, err
		}
		links += s.aggs * mid.RadixUp
	}
	return s, checkCounts(p.Hosts+s.leaves+s.aggs+s.cores, links)
}

func (p *ClosParams) coreShape(s *closShape) error {
	mid, top := p.Tiers[1], p.Tiers[2]
	s.upsPerAgg = mid.RadixUp / p.bundle(2)
	s.cores = s.upsPerAgg * s.aggsPerPod
	if mid.RadixUp%p.bundle(2) != 0 || top.RadixDown != s.pods*p.bundle(2) {
		return fmt.Errorf("clos: cores with %d links down do not join %d pods whose switches have %d uplinks in bundles of %d; change radix_down, radix_up or bundle",
			top.RadixDown, s.pods, mid.RadixUp, p.bundle(2))
	}
	return nil
}
