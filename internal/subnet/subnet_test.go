package subnet

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

var line = topology.LinkSpec{Rate: 400 * units.Gbps}

// made returns the fabric of a topology with LIDs.
func made(t *testing.T, g *topology.Graph, err error, lmc uint8) *Fabric {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	f, err := FromGraph(g)
	if err == nil {
		err = f.AssignLIDs(f.Manager(), lmc)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func fatTreeOf(t *testing.T, k, tiers int, lmc uint8) *Fabric {
	t.Helper()
	g, err := topology.FatTree(topology.FatTreeParams{K: k, Tiers: tiers, HostLink: line, LeafLink: line, CoreLink: line})
	return made(t, g, err, lmc)
}

// ring joins switches s0, s1, ... in a circle, each with hosts of its own.
func ring(t *testing.T, switches, hosts int) *Fabric {
	t.Helper()
	g := new(topology.Graph)
	for i := range switches {
		if _, err := g.AddSwitch(fmt.Sprintf("s%d", i), 1); err != nil {
			t.Fatal(err)
		}
	}
	for i := range switches {
		if err := g.AddLink(i, (i+1)%switches, line); err != nil {
			t.Fatal(err)
		}
	}
	for i := range switches * hosts {
		h, err := g.AddHost(fmt.Sprintf("h%d", i))
		if err == nil {
			err = g.AddLink(h, i/hosts, line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return made(t, g, g.Finish(), 0)
}

// irregular joins switches by a random tree and some more cables.
func irregular(t *testing.T, seed uint64) *Fabric {
	t.Helper()
	r := rng.New(seed, "irregular")
	g := new(topology.Graph)
	n := 3 + int(r.Uint64()%10)
	add := func(a, b int) {
		if err := g.AddLink(a, b, line); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		if _, err := g.AddSwitch(fmt.Sprintf("s%d", i), 1); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			add(i, int(r.Uint64()%uint64(i)))
		}
	}
	for range r.Uint64() % uint64(2*n) {
		if a, b := int(r.Uint64()%uint64(n)), int(r.Uint64()%uint64(n)); a != b {
			add(a, b)
		}
	}
	for i := range n + 2 {
		h, err := g.AddHost(fmt.Sprintf("h%d", i))
		if err != nil {
			t.Fatal(err)
		}
		add(h, int(r.Uint64()%uint64(n)))
	}
	return made(t, g, g.Finish(), uint8(seed%3))
}

func routed(t *testing.T, f *Fabric, opt Options) *Tables {
	t.Helper()
	tables, err := Route(f, opt)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

// A LID names one port, blocks are aligned, and the manager's comes first.
func TestLIDs(t *testing.T) {
	for lmc := range uint8(MaxLMC + 1) {
		f := fatTreeOf(t, 4, 3, lmc)
		used := map[LID]bool{}
		for _, e := range f.Endports {
			p := f.port(e)
			want := lmc
			if f.isSwitch(e.Node) {
				want = 0
			}
			if p.LMC != want || int(p.LID)%(1<<p.LMC) != 0 {
				t.Errorf("LMC %d: %s has LID %d, LMC %d", lmc, f.Name(e), p.LID, p.LMC)
			}
			for l := range LID(1) << p.LMC {
				if used[p.LID+l] || p.LID == 0 {
					t.Errorf("LMC %d: LID %d of %s is taken", lmc, p.LID+l, f.Name(e))
				}
				used[p.LID+l] = true
			}
		}
		if first := f.port(f.Endports[f.Manager()]).LID; first != 1<<lmc {
			t.Errorf("LMC %d: the manager has LID %d, want the first block", lmc, first)
		}
		if top := len(f.owners()) - 1; lmc == 0 && top != len(f.Endports) {
			t.Errorf("LIDs reach %d for %d endports", top, len(f.Endports))
		}
	}
}

// 1024 adapters and 320 switches: with LMC 5 they take 32768 + 320 LIDs; with
// LMC 6 the adapters alone would take 65536 of 49151.
func TestLIDsRunOut(t *testing.T) {
	f := fatTreeOf(t, 16, 3, 5)
	if top := len(f.owners()) - 1; top > MaxUnicastLID || top < 1024*32+320 {
		t.Errorf("LMC 5 reaches LID %d", top)
	}
	before := f.port(f.Endports[0]).LID
	err := f.AssignLIDs(f.Manager(), 6)
	want := "LIDs run out: 1024 ports with 2^6 = 64 LIDs each and 320 switches need 65856 of the 49151 unicast LIDs (1 to 0xbfff); LMC 5 is the largest that fits"
	if err == nil || err.Error() != want {
		t.Errorf("LMC 6: %v\nwant %s", err, want)
	}
	if f.port(f.Endports[0]).LID != before {
		t.Error("a refused assignment changed LIDs")
	}
	if err := f.AssignLIDs(0, 8); err == nil || !strings.Contains(err.Error(), "0 to 7") {
		t.Errorf("LMC 8: %v", err)
	}
}

// Hop counts have closed forms: with h = k/2 hosts per leaf, h-1 others are two
// links away; with three tiers h*(h-1) of the pod four, the rest six. The fullest
// link of N hosts is one up from a leaf, with h senders and (N-h)/h receivers. Only
// minhop and updn with three tiers do worse: they count all LIDs in turn, at a leaf
// and again above it, so that an aggregation switch, which sees every h-th LID
// alone, sends all of them up by one port: h^2 senders to (N-h^2)/h receivers.
// OpenSM's tables have the same links as full (docs/fidelity.md).
func TestTreesClosedForm(t *testing.T) {
	for _, tt := range []struct{ k, tiers int }{{4, 2}, {8, 2}, {4, 3}, {8, 3}} {
		f := fatTreeOf(t, tt.k, tt.tiers, 0)
		h := int64(tt.k / 2)
		hosts := int64(f.Count(CA))
		want := make([]int64, 2*tt.tiers+1)
		want[2], want[4] = hosts*(h-1), hosts*(hosts-h)
		if tt.tiers == 3 {
			want[4], want[6] = hosts*h*(h-1), hosts*(hosts-h*h)
		}
		for _, engine := range Engines() {
			worst, bound := hosts-h, 1.0
			if tt.tiers == 3 && engine != "ftree" {
				worst = h * (hosts - h*h)
				bound = float64(hosts-1) / float64(worst)
			}
			tables := routed(t, f, Options{Engine: engine})
			a := tables.Analyse()
			if !slices.Equal(a.Hops, want) {
				t.Errorf("%v %s: hops %v, want %v", tt, engine, a.Hops, want)
			}
			if a.Unreachable != 0 || a.Worst != worst || math.Abs(a.Bound-bound) > 1e-12 {
				t.Errorf("%v %s: %d unreachable, bound %g, worst link %d, want 0, %g, %d", tt, engine, a.Unreachable, a.Bound, a.Worst, bound, worst)
			}
			if l := tables.CreditLoops(0); l.Knots != 0 {
				t.Errorf("%v %s: %d knots", tt, engine, l.Knots)
			}
		}
	}
}

// shiftLoad returns the most flows that share a channel when every adapter, in
// the order of the tree, sends to the one shift further.
func shiftLoad(t *testing.T, tables *Tables, order []End, shift int) int {
	t.Helper()
	load := map[End]int{}
	most := 0
	for i, from := range order {
		to := order[(i+shift)%len(order)]
		hops, err := tables.Path(from, tables.Fabric.port(to).LID)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hops {
			load[h]++
			most = max(most, load[h])
		}
	}
	return most
}

// The fat-tree engine's promise (OpenSM; Zahavi 2012): no two flows of a shift
// share a link of a full tree, whatever the shift. An entry that is moved to
// another up port breaks it, so the check can fail.
func TestFatTreeShift(t *testing.T) {
	for _, shape := range [][2]int{{4, 2}, {8, 2}, {4, 3}, {6, 3}, {8, 3}} {
		f := fatTreeOf(t, shape[0], shape[1], 0)
		tables := routed(t, f, Options{Engine: "ftree"})
		order := tables.AdapterOrder()
		for shift := 1; shift < len(order); shift++ {
			if most := shiftLoad(t, tables, order, shift); most != 1 {
				t.Fatalf("k %d, %d tiers: shift %d puts %d flows on one link", shape[0], shape[1], shift, most)
			}
		}
		leaf, lid := f.leafOf(order[0]), f.port(order[len(order)-1]).LID
		old := tables.LFT[leaf][lid]
		for p := range f.Nodes[leaf].Ports {
			if peer := f.Nodes[leaf].Ports[p].Peer; f.isSwitch(peer) && p != int(old) {
				tables.LFT[leaf][lid] = uint8(p)
			}
		}
		worst := 0
		for shift := 1; shift < len(order); shift++ {
			worst = max(worst, shiftLoad(t, tables, order, shift))
		}
		if worst < 2 {
			t.Errorf("k %d: a spoilt table still routes every shift without sharing", shape[0])
		}
	}
}

// F23: on a ring of four with all shortest paths, the channels of a direction
// wait for one another in a circle; up/down leaves one dependency out, and reaches
// everybody all the same.
func TestRingCreditLoop(t *testing.T) {
	f := ring(t, 4, 1)
	tables := routed(t, f, Options{Engine: "minhop"})
	l := tables.CreditLoops(0)
	if l.Knots != 1 || len(l.Cycles) != 1 || len(l.Cycles[0]) != 4 {
		t.Fatalf("minhop: %d knots, cycles %v; want a cycle of the 4 channels of one direction", l.Knots, l.Cycles)
	}
	for i, e := range l.Cycles[0] {
		next := l.Cycles[0][(i+1)%4]
		if f.port(e).Peer != next.Node {
			t.Errorf("%s is followed by %s, which does not begin where it ends", f.Channel(e), f.Channel(next))
		}
	}
	if _, err := Route(f, Options{Engine: "updn"}); err == nil || !strings.Contains(err.Error(), "no switch stands out as a root") {
		t.Errorf("updn without roots: %v", err)
	}
	up := routed(t, f, Options{Engine: "updn", Roots: []int{0}})
	if l := up.CreditLoops(0); l.Knots != 0 {
		t.Errorf("updn: cycle %v", l.Cycles)
	}
	if a := up.Analyse(); a.Unreachable != 0 || a.Hops[3] != 8 || a.Hops[4] != 4 {
		t.Errorf("updn: hops %v, %d unreachable", a.Hops, a.Unreachable)
	}
}

// On random networks every engine that takes them reaches every adapter by every
// LID; minhop's paths are as short as a search finds; up/down never goes up after
// down, and so closes no cycle.
func TestIrregular(t *testing.T) {
	loops := 0
	for seed := range uint64(60) {
		f := irregular(t, seed)
		minhop := routed(t, f, Options{Engine: "minhop"})
		updn := routed(t, f, Options{Engine: "updn", Roots: []int{int(seed) % f.Count(Switch)}})
		loops += minhop.CreditLoops(0).Knots
		if l := updn.CreditLoops(0); l.Knots != 0 {
			t.Fatalf("seed %d: updn closes the cycle %v", seed, l.Cycles)
		}
		u := newUpDown(f, updn.Rank)
		h := newHops(f)
		for _, to := range f.Endports {
			h.towards(f.leafOf(to))
			for _, from := range f.Endports {
				if from.Node == to.Node || f.isSwitch(from.Node) || f.isSwitch(to.Node) {
					continue
				}
				for lid := f.port(to).LID; lid < f.port(to).LID+1<<f.port(to).LMC; lid++ {
					short, err := minhop.Path(from, lid)
					if want := int(h.dist[f.leafOf(from)]) + 2; err != nil || len(short) != want {
						t.Fatalf("seed %d: minhop %s to LID %d takes %d links, want %d (%v)", seed, f.Name(from), lid, len(short), want, err)
					}
					hops, err := updn.Path(from, lid)
					if err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					down := false
					for _, e := range hops[1 : len(hops)-1] {
						up := u.compare(f.port(e).Peer, e.Node) < 0
						if up && down {
							t.Fatalf("seed %d: path to LID %d goes up after down at %s", seed, lid, f.Name(e))
						}
						down = down || !up
					}
				}
			}
		}
	}
	if loops == 0 {
		t.Error("no network had a credit loop with minhop, so the test of updn shows nothing")
	}
}

// With an LMC, the LIDs of a port leave a leaf by as many spines as there are.
func TestLMCSpreads(t *testing.T) {
	g, err := topology.LeafSpine(topology.LeafSpineParams{Leaves: 2, Spines: 4, HostsPerLeaf: 4, HostLink: line, Uplink: line})
	f := made(t, g, err, 2)
	for _, engine := range []string{"minhop", "updn"} {
		tables := routed(t, f, Options{Engine: engine})
		for _, e := range f.Endports {
			if f.isSwitch(e.Node) {
				continue
			}
			for leaf := range 2 {
				if leaf == f.leafOf(e) {
					continue
				}
				peers := map[int]bool{}
				for l := range LID(4) {
					peers[f.Nodes[leaf].Ports[tables.Lookup(leaf, f.port(e).LID+l)].Peer] = true
				}
				if len(peers) != 4 {
					t.Errorf("%s: 4 LIDs of %s leave leaf %d by %d spines", engine, f.Name(e), leaf, len(peers))
				}
			}
		}
	}
	if _, err := Route(f, Options{Engine: "ftree"}); err == nil || !strings.Contains(err.Error(), "LMC 2") {
		t.Errorf("ftree with LMC: %v", err)
	}
}

// What is no fat-tree is refused with the place.
func TestNoFatTree(t *testing.T) {
	star, err := topology.Star(3, line)
	one := made(t, star, err, 0)
	spineHost := func() *Fabric {
		g, err := topology.LeafSpine(topology.LeafSpineParams{Leaves: 2, Spines: 2, HostsPerLeaf: 2, HostLink: line, Uplink: line})
		if err != nil {
			t.Fatal(err)
		}
		h, _ := g.AddHost("x")
		s, _ := g.NodeByName("spine1")
		if err := g.AddLink(h, s, line); err != nil {
			t.Fatal(err)
		}
		return made(t, g, g.Finish(), 0)
	}()
	lopsided := func() *Fabric {
		g, err := topology.LeafSpine(topology.LeafSpineParams{Leaves: 3, Spines: 2, HostsPerLeaf: 2, HostLink: line, Uplink: line})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.AddLinkByName("leaf3", "spine2", line); err != nil {
			t.Fatal(err)
		}
		return made(t, g, g.Finish(), 0)
	}()
	tests := []struct {
		f    *Fabric
		want string
	}{
		{one, "1 ranks of switches; a tree has 2 to 8"},
		{ring(t, 4, 1), "1 ranks of switches; a tree has 2 to 8"},
		{spineHost, "link leaf1:3 -> spine1:1 joins two switches of rank 1"},
		{lopsided, "leaf3 has 2 links to spine2, where leaf1 has 1 to spine1"},
	}
	for _, tt := range tests {
		if _, err := Route(tt.f, Options{Engine: "ftree"}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	roots := []int{3, 4}
	tables := routed(t, lopsided, Options{Engine: "ftree", Roots: roots})
	if a := tables.Analyse(); a.Unreachable != 0 || tables.CreditLoops(0).Knots != 0 {
		t.Errorf("with roots: %d unreachable", a.Unreachable)
	}
	_, err = Route(one, Options{Engine: "dor"})
	if err == nil || err.Error() != `there is no routing engine "dor"; use one of minhop, updn, ftree` {
		t.Errorf("unknown engine: %v", err)
	}
}

// The shape for the simulator says the same as the tables.
func TestRoutes(t *testing.T) {
	f := fatTreeOf(t, 4, 3, 1)
	tables := routed(t, f, Options{Engine: "minhop"})
	for offset := range 2 {
		r, err := tables.Routes(offset)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Check(f.graph); err != nil {
			t.Fatal(err)
		}
		for n := range f.Nodes {
			if !f.isSwitch(n) {
				continue
			}
			for ep, e := range f.graph.Endpoints {
				want := []uint16{uint16(tables.Lookup(n, f.port(End{e.Node, e.Port + 1}).LID+LID(offset))) - 1}
				if got := r.Lookup(n, ep); !slices.Equal(got, want) {
					t.Fatalf("%s to endpoint %d: ports %v, want %v", f.Nodes[n].Name, ep, got, want)
				}
			}
		}
	}
}

// A failed link moves only the entries that used it (OpenSM's promise); a link
// nobody uses moves none; and the time adds up.
func TestReroute(t *testing.T) {
	f := fatTreeOf(t, 4, 3, 0)
	for _, engine := range Engines() {
		opt := Options{Engine: engine}
		if engine == "ftree" {
			opt.Roots = []int{16, 17, 18, 19} // the cores: without the link it is no regular tree
		}
		tables := routed(t, f, opt)
		for l, link := range f.Links {
			if !f.isSwitch(link.A.Node) || !f.isSwitch(link.B.Node) {
				continue
			}
			dead := make([]bool, len(f.Links))
			dead[l] = true
			now, err := tables.Reroute(dead, opt)
			if err != nil {
				t.Fatalf("%s without %s: %v", engine, f.Channel(link.A), err)
			}
			if a := now.Analyse(); a.Unreachable != 0 || now.CreditLoops(0).Knots != 0 {
				t.Fatalf("%s without %s: %d unreachable", engine, f.Channel(link.A), a.Unreachable)
			}
			for _, c := range tables.Changes(now) {
				if c.New != NoPort && now.Fabric.Nodes[c.Node].Ports[c.New].Peer < 0 && c.New > 0 {
					t.Fatalf("%s: an entry leads to the dead link", engine)
				}
				lost := c.Old != NoPort && now.Fabric.Nodes[c.Node].Ports[c.Old].Peer < 0
				if h := newHops(now.Fabric); engine == "minhop" && !lost {
					h.towards(now.Fabric.leafOf(f.Endports[now.Owner[c.LID]]))
					if h.leads(c.Node, int(c.Old)) {
						t.Fatalf("minhop moved LID %d at %s although port %d still serves", c.LID, f.Nodes[c.Node].Name, c.Old)
					}
				}
			}
		}
	}
	tables := routed(t, f, Options{Engine: "minhop"})
	now, err := tables.Reroute(make([]bool, len(f.Links)), Options{Engine: "minhop"})
	if err != nil || len(tables.Changes(now)) != 0 {
		t.Errorf("without a failure %d entries change (%v)", len(tables.Changes(now)), err)
	}
	if _, err = tables.Reroute([]bool{true}, Options{Engine: "minhop"}); err == nil {
		t.Error("a short list of links was taken")
	}
}

// Two leaves of two hosts and one spine, less the second cable of a pair: the
// sweep takes 1 + 7 descriptions + 3 SwitchInfo + NodeInfo per linked switch port +
// PortInfo per port, all counted by hand.
func TestRecover(t *testing.T) {
	g, err := topology.LeafSpine(topology.LeafSpineParams{Leaves: 2, Spines: 1, HostsPerLeaf: 2, Parallel: 2, HostLink: line, Uplink: line})
	f := made(t, g, err, 0)
	tables := routed(t, f, Options{Engine: "minhop"})
	dead := make([]bool, len(f.Links))
	dead[f.Nodes[0].Ports[3].Link] = true
	now, err := tables.Reroute(dead, Options{Engine: "minhop"})
	if err != nil {
		t.Fatal(err)
	}
	r := tables.Recover(now, Timing{Detect: units.Millisecond, SMP: 40 * units.Microsecond, Outstanding: 4, Compute: 10 * units.Nanosecond})
	// NodeInfo: 1 + leaf1 3 + leaf2 4 + spine 3; descriptions 7; SwitchInfo 3;
	// PortInfo: 5 + 5 + 5 for the switches with port 0, 4 for the hosts.
	if want := 1 + 10 + 7 + 3 + 15 + 4; r.SweepSMPs != want {
		t.Errorf("sweep takes %d packets, want %d", r.SweepSMPs, want)
	}
	if r.Blocks != 2 { // LIDs 1 to 7 are in block 0 of leaf1 and of the spine
		t.Errorf("%d blocks change, want 2", r.Blocks)
	}
	want := units.Millisecond + 10*40*units.Microsecond + 3*8*10*units.Nanosecond + 40*units.Microsecond
	if r.Total() != want {
		t.Errorf("recovery takes %v, want %v", r.Total(), want)
	}
}

// What the manager does not reach any more is neither swept nor programmed: the
// spine of two leaves loses the second leaf, and only the manager's half is left.
func TestRecoverFromSplit(t *testing.T) {
	g, err := topology.LeafSpine(topology.LeafSpineParams{Leaves: 2, Spines: 1, HostsPerLeaf: 2, HostLink: line, Uplink: line})
	f := made(t, g, err, 0)
	tables := routed(t, f, Options{Engine: "minhop"})
	dead := make([]bool, len(f.Links))
	dead[f.Nodes[1].Ports[3].Link] = true
	now, err := tables.Reroute(dead, Options{Engine: "minhop"})
	if err != nil {
		t.Fatal(err)
	}
	r := tables.Recover(now, Timing{SMP: units.Microsecond, Outstanding: 1})
	// Manager's node, leaf1, the other host, the spine: NodeInfo 1 + 3 + 1,
	// descriptions 4, SwitchInfo 2, PortInfo 4 + 3 + 2.
	if want := 5 + 4 + 2 + 9; r.SweepSMPs != want || r.Blocks != 2 {
		t.Errorf("sweep of %d packets, %d blocks, want %d and 2", r.SweepSMPs, r.Blocks, want)
	}
	if a := now.Analyse(); a.Unreachable != 8 {
		t.Errorf("%d paths are lost, want 8: two hosts to two, both ways", a.Unreachable)
	}
}

// Ports on no switch count too: a cable between two hosts is a path of one link,
// and a host whose cable died has lost its paths both ways.
func TestLoosePorts(t *testing.T) {
	g := new(topology.Graph)
	a, _ := g.AddHost("a")
	b, _ := g.AddHost("b")
	if err := g.AddLink(a, b, line); err != nil {
		t.Fatal(err)
	}
	f := made(t, g, g.Finish(), 1)
	got := routed(t, f, Options{Engine: "minhop"}).Analyse()
	if !slices.Equal(got.Hops, []int64{0, 4}) || got.Unreachable != 0 {
		t.Errorf("a cable: hops %v, %d unreachable, want 2 LIDs each way", got.Hops, got.Unreachable)
	}
	star, err := topology.Star(4, line)
	f = made(t, star, err, 1)
	tables := routed(t, f, Options{Engine: "minhop"})
	for _, dead := range [][]bool{{true, false, false, false}, {true, true, false, false}} {
		now, err := tables.Reroute(dead, Options{Engine: "minhop"})
		if err != nil {
			t.Fatal(err)
		}
		alive := int64(0)
		for _, d := range dead {
			if !d {
				alive++
			}
		}
		left := 2 * alive * (alive - 1) // two LIDs each
		if got := now.Analyse(); got.Hops[2] != left || got.Unreachable != 2*4*3-left {
			t.Errorf("%d hosts of 4 alive: hops %v, %d unreachable, want %d and %d", alive, got.Hops, got.Unreachable, left, 2*4*3-left)
		}
	}
}

// Service levels break every loop of shortest paths, and trees need one. On a
// ring with an odd number of switches two do, as with a dateline. With an even
// number n the paths between opposite switches lead the same way round both ways
// here (the lowest port breaks the tie), so that each of the n/2 pairs covers the
// ring but for two dependencies; as both ways share a level, no two pairs fit one,
// and n/2 are needed. With one level too few it is an error that says so.
func TestServiceLevels(t *testing.T) {
	for n := 5; n <= 10; n++ {
		want := 2
		if n%2 == 0 {
			want = n / 2
		}
		f := ring(t, n, 1)
		tables := routed(t, f, Options{Engine: "minhop"})
		if err := tables.AssignSLs(want - 1); err == nil || !strings.Contains(err.Error(), " service levels do not break all credit loops") {
			t.Errorf("ring of %d on %d levels: %v", n, want-1, err)
		}
		if tables.Layer != nil || tables.CreditLoops(0).Knots == 0 {
			t.Errorf("ring of %d: a refused assignment left something", n)
		}
		if err := tables.AssignSLs(8); err != nil || tables.Layers != want {
			t.Fatalf("ring of %d: %d levels (%v), want %d", n, tables.Layers, err, want)
		}
		for sl := range tables.Layers + 1 {
			l := tables.CreditLoops(uint8(sl))
			if l.Knots != 0 || (sl < tables.Layers) != (l.Dependencies > 0) {
				t.Errorf("ring of %d, SL %d: %d knots, %d dependencies", n, sl, l.Knots, l.Dependencies)
			}
		}
		for _, a := range f.Endports {
			for _, b := range f.Endports {
				if x, y := tables.SL(a, f.port(b).LID), tables.SL(b, f.port(a).LID); x != y {
					t.Fatalf("%s to %s has SL %d, back %d", f.Name(a), f.Name(b), x, y)
				}
			}
		}
	}
	tree := routed(t, fatTreeOf(t, 8, 3, 1), Options{Engine: "minhop"})
	if err := tree.AssignSLs(1); err != nil || tree.Layers != 1 {
		t.Errorf("fat-tree: %d levels (%v)", tree.Layers, err)
	}
	for seed := range uint64(40) {
		tables := routed(t, irregular(t, seed), Options{Engine: "minhop"})
		if err := tables.AssignSLs(MaxSLs); err != nil {
			t.Fatal(err)
		}
		for sl := range tables.Layers {
			if l := tables.CreditLoops(uint8(sl)); l.Knots != 0 {
				t.Fatalf("seed %d: SL %d of %d has the cycle %v", seed, sl, tables.Layers, l.Cycles)
			}
		}
	}
}
