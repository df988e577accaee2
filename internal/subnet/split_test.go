package subnet

import (
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// twoLeaves is one spine (node 2) over two leaves (0 and 1) of two hosts (3 to 6);
// the manager runs at the first host, on leaf1.
func twoLeaves(t *testing.T) *Fabric {
	t.Helper()
	g, err := topology.LeafSpine(topology.LeafSpineParams{Leaves: 2, Spines: 1, HostsPerLeaf: 2, HostLink: line, Uplink: line})
	return made(t, g, err, 0)
}

func linkOf(f *Fabric, node, port int) int { return f.Nodes[node].Ports[port].Link }

// A subnet that is cut in two: the manager writes its half alone, and nobody
// writes the other, whose table still leads to the dead link. The engines agree,
// and without the other half up/down and fat-tree have nothing to complain of.
func TestSplit(t *testing.T) {
	f := twoLeaves(t)
	up := linkOf(f, 1, 3)
	dead := make([]bool, len(f.Links))
	dead[up] = true
	for _, engine := range Engines() {
		opt := Options{Engine: engine, Roots: []int{2}}
		if engine == "minhop" {
			opt.Roots = nil
		}
		tables := routed(t, f, opt)
		now, err := tables.Reroute(dead, opt)
		if err != nil {
			t.Fatalf("%s: %v", engine, err)
		}
		if !slices.Equal(now.LFT[1], tables.LFT[1]) {
			t.Errorf("%s: the table of leaf2 changed, which nobody reaches", engine)
		}
		// leaf1 and the spine forget leaf2 and its two hosts.
		if changes := tables.Changes(now); len(changes) != 6 || changes[0].New != NoPort {
			t.Errorf("%s: changes %+v, want 3 entries at 2 switches", engine, changes)
		}
		s := f.Splits(now.Fabric)
		if len(s) != 1 || s[0].Left != 2 || !slices.Equal(s[0].Switches, []int{1}) || len(s[0].Others) != 2 {
			t.Errorf("%s: splits %+v", engine, s)
		}
		if a := now.Analyse(); a.Unreachable != 8 || a.Hops[2] != 4 {
			t.Errorf("%s: %d unreachable, hops %v: each leaf's two hosts have one another", engine, a.Unreachable, a.Hops)
		}
	}
}

// A manager whose own link fails reaches no switch: it changes nothing, in no
// time at all but its own NodeInfo, description.
func TestManagerCutOff(t *testing.T) {
	f := twoLeaves(t)
	own := f.Nodes[3].Ports[1].Link
	dead := make([]bool, len(f.Links))
	dead[own] = true
	for _, engine := range []string{"minhop", "updn", "ftree"} {
		opt := Options{Engine: engine}
		if engine != "minhop" {
			opt.Roots = []int{2}
		}
		tables := routed(t, f, opt)
		now, err := tables.Reroute(dead, opt)
		if err != nil {
			t.Fatalf("%s: %v", engine, err)
		}
		if n := len(tables.Changes(now)); n != 0 {
			t.Errorf("%s: %d entries change", engine, n)
		}
		if s := f.Splits(now.Fabric); len(s) != 1 || s[0].Left != 0 || len(s[0].Switches) != 3 || len(s[0].Others) != 3 {
			t.Errorf("%s: splits %+v", engine, s)
		}
		if r := tables.Recover(now, DefaultTiming()); r.SweepSMPs != 2 || r.Blocks != 0 || r.Compute != 0 {
			t.Errorf("%s: %+v", engine, r)
		}
	}
}

// A failure that no manager can hear of is not noticed, and one that cuts the
// manager off is noticed but not rerouted.
func TestSweepsOutOfReach(t *testing.T) {
	f := twoLeaves(t)
	opt := Options{Engine: "minhop"}
	tables := routed(t, f, opt)
	at := func(ms int64) units.Time { return units.Time(ms) * units.Millisecond }
	up, far, own := linkOf(f, 1, 3), linkOf(f, 1, 1), f.Nodes[3].Ports[1].Link
	all, err := tables.Sweeps([]Failure{{up, at(1)}, {far, at(20)}, {own, at(40)}}, opt, DefaultTiming())
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 {
		t.Fatalf("%d sweeps, want one for the uplink and one for the manager's own link", len(all))
	}
	if s := &all[0]; !s.Finds(up) || !s.Reroutes(up) || s.Finds(far) || s.Have[1] != 0 || s.Have[0] == 0 || s.Have[2] == 0 {
		t.Errorf("first sweep: %+v", s.Have)
	}
	if s := &all[1]; s.Finds(far) || !s.Finds(own) || s.Reroutes(own) || slices.Max(s.Have) != 0 {
		t.Errorf("second sweep: %+v", s.Have)
	}
}

// Two planes that share hosts alone have a manager each, and a failure in the
// second is rerouted by its own.
func TestManagersOfPlanes(t *testing.T) {
	g := new(topology.Graph)
	var hosts, switches []int
	for _, name := range []string{"a", "b"} {
		h, err := g.AddHost(name)
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, h)
	}
	for _, name := range []string{"p0", "p1", "p2"} {
		s, err := g.AddSwitch(name, 1)
		if err != nil {
			t.Fatal(err)
		}
		switches = append(switches, s)
	}
	// Plane 0 is p0 with a and b; plane 1 is p1 with a, p2 with b, and two cables
	// between p1 and p2.
	for _, l := range [][2]int{{hosts[0], switches[0]}, {hosts[1], switches[0]}, {hosts[0], switches[1]}, {hosts[1], switches[2]},
		{switches[1], switches[2]}, {switches[1], switches[2]}} {
		if err := g.AddLink(l[0], l[1], line); err != nil {
			t.Fatal(err)
		}
	}
	f := made(t, g, g.Finish(), 0)
	if m := f.Managers(); len(m) != 2 || f.Endports[m[0]] != (End{hosts[0], 1}) || f.Endports[m[1]] != (End{hosts[0], 2}) {
		t.Fatalf("managers %v", m)
	}
	opt := Options{Engine: "minhop"}
	tables := routed(t, f, opt)
	port := int(tables.Lookup(switches[1], f.port(End{hosts[1], 2}).LID))
	dead := make([]bool, len(f.Links))
	dead[linkOf(f, switches[1], port)] = true
	now, err := tables.Reroute(dead, opt)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := tables.Analyse(), now.Analyse(); len(tables.Changes(now)) == 0 || a.Unreachable != b.Unreachable || len(f.Splits(now.Fabric)) != 0 {
		t.Errorf("%d changes, %d unreachable, %d before, splits %+v", len(tables.Changes(now)), b.Unreachable, a.Unreachable, f.Splits(now.Fabric))
	}
}
