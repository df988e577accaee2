package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// builder collects the first error of a generator, so that the shapes below
// read without checks between the lines.
type builder struct {
	g   *Graph
	err error
}

func (b *builder) host(name string) int {
	return b.node(b.g.AddHost(name))
}

func (b *builder) sw(name string, tier int) int {
	return b.node(b.g.AddSwitch(name, tier))
}

func (b *builder) node(i int, err error) int {
	if b.err == nil {
		b.err = err
	}
	return i
}

func (b *builder) link(a, c int, spec LinkSpec, parallel int) {
	for range parallel {
		if b.err == nil {
			b.err = b.g.AddLink(a, c, spec)
		}
	}
}

func (b *builder) finish() (*Graph, error) {
	if b.err != nil {
		return nil, b.err
	}
	if err := b.g.Finish(); err != nil {
		return nil, err
	}
	return b.g, nil
}

// atLeast checks one count of a generator against its bounds.
func atLeast(what string, n, least int) error {
	if n < least || n > MaxNodes {
		return fmt.Errorf("%s %d must be from %d to %d", what, n, least, MaxNodes)
	}
	return nil
}

// checkCounts checks each count of a generator, then the nodes and links of the
// whole, before anything is allocated. Each count is below 2^18, so three of
// them multiply without overflow.
func checkCounts(nodes, links int, counts ...count) error {
	for _, c := range counts {
		if err := atLeast(c.what, c.n, c.least); err != nil {
			return err
		}
	}
	if nodes > MaxNodes {
		return fmt.Errorf("the topology would have %d nodes; the largest has %d", nodes, MaxNodes)
	}
	if links > MaxLinks {
		return fmt.Errorf("the topology would have %d links; the largest has %d", links, MaxLinks)
	}
	return nil
}

type count struct {
	what     string
	n, least int
}

// Star joins hosts h0 to h<hosts-1> by one switch called sw; port i+1 of sw leads
// to h<i>.
func Star(hosts int, spec LinkSpec) (*Graph, error) {
	if err := checkCounts(hosts, hosts, count{"star: hosts", hosts, 1}); err != nil {
		return nil, err
	}
	b := builder{g: new(Graph)}
	sw := b.sw("sw", 1)
	for i := range hosts {
		b.link(b.host("h"+strconv.Itoa(i)), sw, spec, 1)
	}
	return b.finish()
}

// LeafSpineParams describes a two-tier Clos network: every leaf is joined to
// every spine.
type LeafSpineParams struct {
	Leaves       int // leaf1 to leaf<n>, at least 1
	Spines       int // spine1 to spine<n>, at least 1
	HostsPerLeaf int // h0, h1, ... leaf by leaf, at least 1
	Parallel     int // uplinks from a leaf to each spine; 0 counts as 1
	HostLink     LinkSpec
	Uplink       LinkSpec
}

// LeafSpine generates the network. A leaf's ports are its hosts, then its
// uplinks spine by spine; a spine's ports are the leaves in order.
func LeafSpine(p LeafSpineParams) (*Graph, error) {
	if p.Parallel == 0 {
		p.Parallel = 1
	}
	err := checkCounts(p.Leaves*(p.HostsPerLeaf+1)+p.Spines, p.Leaves*(p.HostsPerLeaf+p.Spines*p.Parallel),
		count{"leaf-spine: leaves", p.Leaves, 1},
		count{"leaf-spine: spines", p.Spines, 1},
		count{"leaf-spine: hosts per leaf", p.HostsPerLeaf, 1},
		count{"leaf-spine: parallel uplinks", p.Parallel, 1})
	if err != nil {
		return nil, err
	}
	b := builder{g: new(Graph)}
	spines := make([]int, p.Spines)
	leaves := make([]int, p.Leaves)
	for l := range leaves {
		leaves[l] = b.sw("leaf"+strconv.Itoa(l+1), 1)
	}
	for s := range spines {
		spines[s] = b.sw("spine"+strconv.Itoa(s+1), 2)
	}
	for i := range p.Leaves * p.HostsPerLeaf {
		b.link(b.host("h"+strconv.Itoa(i)), leaves[i/p.HostsPerLeaf], p.HostLink, 1)
	}
	for _, leaf := range leaves {
		for _, spine := range spines {
			b.link(leaf, spine, p.Uplink, p.Parallel)
		}
	}
	return b.finish()
}

// Ratio is an oversubscription ratio Down:Up, host bandwidth of a leaf to its
// uplink bandwidth; 3:1 means three times as much below as above.
type Ratio struct {
	Down, Up int
}

// ParseRatio reads "3:1", or "3" for 3:1. Both numbers are from 1 to 1000.
func ParseRatio(s string) (Ratio, error) {
	down, up, ok := strings.Cut(s, ":")
	if !ok {
		up = "1"
	}
	d, err1 := strconv.Atoi(down)
	u, err2 := strconv.Atoi(up)
	r := Ratio{Down: d, Up: u}
	if err1 != nil || err2 != nil || r.check() != nil {
		return Ratio{}, fmt.Errorf("%q is not an oversubscription ratio; write two whole numbers from 1 to 1000 such as 3:1", s)
	}
	return r, nil
}

func (r Ratio) check() error {
	if r.Down < 1 || r.Up < 1 || r.Down > 1000 || r.Up > 1000 {
		return fmt.Errorf("oversubscription %d:%d must be two whole numbers from 1 to 1000", r.Down, r.Up)
	}
	return nil
}

func (r Ratio) String() string { return strconv.Itoa(r.Down) + ":" + strconv.Itoa(r.Up) }

// Oversubscribe derives the uplinks of each leaf from a ratio: uplinks = hosts
// per leaf x host rate x Up / (uplink rate x Down). With Spines given it sets
// Parallel, else Spines (Parallel 0 counts as 1). It is an error when the
// uplinks do not come out whole or do not spread evenly over the spines.
func (p *LeafSpineParams) Oversubscribe(r Ratio) error {
	if err := r.check(); err != nil {
		return err
	}
	err := checkCounts(0, 0, count{"leaf-spine: hosts per leaf", p.HostsPerLeaf, 1},
		count{"leaf-spine: spines", p.Spines, 0}, count{"leaf-spine: parallel uplinks", p.Parallel, 0})
	if err != nil {
		return err
	}
	for _, spec := range [...]LinkSpec{p.HostLink, p.Uplink} {
		if _, err := spec.link(); err != nil {
			return fmt.Errorf("leaf-spine: %w", err)
		}
	}
	uplinks, ok := divide(int64(p.HostsPerLeaf)*int64(r.Up), int64(p.HostLink.Rate), int64(p.Uplink.Rate), int64(r.Down))
	if !ok {
		return fmt.Errorf("leaf-spine: %d hosts at %s per leaf with oversubscription %s do not need a whole number of %s uplinks; change hosts per leaf, rates or ratio",
			p.HostsPerLeaf, p.HostLink.Rate, r, p.Uplink.Rate)
	}
	if p.Spines == 0 {
		p.Parallel = max(p.Parallel, 1)
		if uplinks%p.Parallel != 0 {
			return fmt.Errorf("leaf-spine: %d uplinks per leaf do not divide into groups of %d parallel links; change one of them", uplinks, p.Parallel)
		}
		p.Spines = uplinks / p.Parallel
		return nil
	}
	if uplinks%p.Spines != 0 {
		return fmt.Errorf("leaf-spine: %d uplinks per leaf do not spread evenly over %d spines; change one of them", uplinks, p.Spines)
	}
	p.Parallel = uplinks / p.Spines
	return nil
}

// divide returns a*b/(c*d) when it is a whole number in a sane range. Rates are
// reduced first so that the products fit.
func divide(a, b, c, d int64) (int, bool) {
	k := gcd(b, c)
	b, c = b/k, c/k
	if b > MaxNodes*1000 || c > MaxNodes*1000 { // rates with nothing in common
		return 0, false
	}
	num, den := a*b, c*d
	if num%den != 0 || num/den < 1 || num/den > MaxNodes {
		return 0, false
	}
	return int(num / den), true
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// FatTreeParams describes a fat-tree of switches with K ports (Al-Fares et al.,
// SIGCOMM 2008).
type FatTreeParams struct {
	K     int // ports towards the fabric per switch and layer x 2; even, 2 to 128
	Tiers int // 2 or 3
	// Edge is the oversubscription at the edge: each leaf has K/2 x Down/Up hosts
	// below its K/2 uplinks. The zero Ratio means 1:1.
	Edge     Ratio
	HostLink LinkSpec
	LeafLink LinkSpec // leaf to aggregation (2 tiers: leaf to spine)
	CoreLink LinkSpec // aggregation to core; 3 tiers only
}

// FatTree generates the network. Three tiers: K pods of K/2 leaves and K/2
// aggregation switches, (K/2)^2 cores, K^3/4 hosts at 1:1; nodes are
// pod<p>-leaf<i>, pod<p>-agg<i>, core<i> and h<i>, all from 0, hosts in leaf
// order; aggregation switch i of every pod joins cores i*K/2 to i*K/2+K/2-1. Two
// tiers: K leaves and K/2 spines named as by LeafSpine, K^2/2 hosts at 1:1.
func FatTree(p FatTreeParams) (*Graph, error) {
	if p.K < 2 || p.K > 128 || p.K%2 != 0 {
		return nil, fmt.Errorf("fat-tree: k %d must be an even number from 2 to 128", p.K)
	}
	if p.Edge == (Ratio{}) {
		p.Edge = Ratio{1, 1}
	}
	if err := p.Edge.check(); err != nil {
		return nil, fmt.Errorf("fat-tree: %w", err)
	}
	half := p.K / 2
	if half*p.Edge.Down%p.Edge.Up != 0 || half*p.Edge.Down < p.Edge.Up {
		return nil, fmt.Errorf("fat-tree: k/2 = %d uplinks with oversubscription %s do not give a whole number of hosts per leaf; change k or the ratio", half, p.Edge)
	}
	hostsPerLeaf := half * p.Edge.Down / p.Edge.Up
	switch p.Tiers {
	case 2:
		return LeafSpine(LeafSpineParams{Leaves: p.K, Spines: half, HostsPerLeaf: hostsPerLeaf,
			HostLink: p.HostLink, Uplink: p.LeafLink})
	case 3:
		return fatTree3(p, half, hostsPerLeaf)
	}
	return nil, fmt.Errorf("fat-tree: tiers %d must be 2 or 3", p.Tiers)
}

func fatTree3(p FatTreeParams, half, hostsPerLeaf int) (*Graph, error) {
	if err := checkCounts(p.K*half*(hostsPerLeaf+2)+half*half, p.K*half*(hostsPerLeaf+p.K)); err != nil {
		return nil, err
	}
	b := builder{g: new(Graph)}
	var leaves, aggs, cores []int
	for pod := range p.K {
		for i := range half {
			leaves = append(leaves, b.sw(fmt.Sprintf("pod%d-leaf%d", pod, i), 1))
		}
		for i := range half {
			aggs = append(aggs, b.sw(fmt.Sprintf("pod%d-agg%d", pod, i), 2))
		}
	}
	for i := range half * half {
		cores = append(cores, b.sw("core"+strconv.Itoa(i), 3))
	}
	for i := range len(leaves) * hostsPerLeaf {
		b.link(b.host("h"+strconv.Itoa(i)), leaves[i/hostsPerLeaf], p.HostLink, 1)
	}
	for l, leaf := range leaves {
		pod := l / half
		for i := range half {
			b.link(leaf, aggs[pod*half+i], p.LeafLink, 1)
		}
	}
	for a, agg := range aggs {
		group := a % half * half
		for i := range half {
			b.link(agg, cores[group+i], p.CoreLink, 1)
		}
	}
	return b.finish()
}

// RailParams describes a rail-optimised network: port r of every server of a
// group goes to the group's leaf of rail r, so that GPUs of equal rank are one
// switch apart; spines join all leaves of all groups.
type RailParams struct {
	Servers         int // h0, h1, ..., at least 1
	Rails           int // NIC ports per server, at least 1
	ServersPerGroup int // 0: all servers in one group; the last group may be smaller
	Spines          int // spine1, ...; 0: rails stay apart (one group only)
	Parallel        int // uplinks from a leaf to each spine; 0 counts as 1
	HostLink        LinkSpec
	Uplink          LinkSpec
}

// RailOptimised generates the network. Leaves are group<g>-rail<r>, both from 1;
// a leaf's ports are its group's servers in order, then its uplinks.
func RailOptimised(p RailParams) (*Graph, error) {
	if p.Parallel == 0 {
		p.Parallel = 1
	}
	if p.ServersPerGroup == 0 {
		p.ServersPerGroup = max(p.Servers, 1)
	}
	err := checkCounts(0, 0,
		count{"rail-optimised: servers", p.Servers, 1},
		count{"rail-optimised: rails", p.Rails, 1},
		count{"rail-optimised: servers per group", p.ServersPerGroup, 1},
		count{"rail-optimised: spines", p.Spines, 0},
		count{"rail-optimised: parallel uplinks", p.Parallel, 1})
	if err != nil {
		return nil, err
	}
	groups := (p.Servers + p.ServersPerGroup - 1) / p.ServersPerGroup
	if p.Spines == 0 && groups > 1 {
		return nil, fmt.Errorf("rail-optimised: %d groups without spines are not connected; add spines or put all %d servers in one group", groups, p.Servers)
	}
	if err := checkCounts(p.Servers+p.Spines+groups*p.Rails, p.Rails*(p.Servers+groups*p.Spines*p.Parallel)); err != nil {
		return nil, err
	}
	b := builder{g: new(Graph)}
	leaves := make([]int, groups*p.Rails)
	for i := range leaves {
		leaves[i] = b.sw(fmt.Sprintf("group%d-rail%d", i/p.Rails+1, i%p.Rails+1), 1)
	}
	spines := make([]int, p.Spines)
	for s := range spines {
		spines[s] = b.sw("spine"+strconv.Itoa(s+1), 2)
	}
	for i := range p.Servers {
		h := b.host("h" + strconv.Itoa(i))
		for r := range p.Rails {
			b.link(h, leaves[i/p.ServersPerGroup*p.Rails+r], p.HostLink, 1)
		}
	}
	for _, leaf := range leaves {
		for _, spine := range spines {
			b.link(leaf, spine, p.Uplink, p.Parallel)
		}
	}
	return b.finish()
}
