package opensm

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/subnet"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

var record = flag.String("record", "", "write what was measured to a dated file in this `folder`")

// tolerance is how much fuller our fullest channel may be than OpenSM's, and the
// other way round.
const tolerance = 0.10

// network is a fabric to route, and the roots that updn and ftree are given;
// none: they find their own.
type network struct {
	name   string
	fabric *subnet.Fabric
	roots  []string
	ftree  bool // OpenSM takes it for a fat-tree
	lmc    int
}

var link = topology.LinkSpec{Rate: 100 * units.Gbps}

func fabricOf(t *testing.T, g *topology.Graph, err error) *subnet.Fabric {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	f, err := subnet.FromGraph(g)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// mesh joins switches s0, s1, ... as pairs says, with hosts on each.
func mesh(t *testing.T, switches, hosts int, pairs [][2]int) *subnet.Fabric {
	t.Helper()
	g := new(topology.Graph)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range switches {
		_, err := g.AddSwitch("s"+strconv.Itoa(i), 1)
		must(err)
	}
	for _, p := range pairs {
		must(g.AddLink(p[0], p[1], link))
	}
	for i := range switches * hosts {
		h, err := g.AddHost("h" + strconv.Itoa(i))
		must(err)
		must(g.AddLink(h, i/hosts, link))
	}
	return fabricOf(t, g, g.Finish())
}

func ring(n int) (pairs [][2]int) {
	for i := range n {
		pairs = append(pairs, [2]int{i, (i + 1) % n})
	}
	return pairs
}

func torus(n int) (pairs [][2]int) {
	for x := range n {
		for y := range n {
			pairs = append(pairs, [2]int{x*n + y, (x+1)%n*n + y}, [2]int{x*n + y, x*n + (y+1)%n})
		}
	}
	return pairs
}

// random is a tree with as many cables more as it has switches.
func random(seed uint64, n int) (pairs [][2]int) {
	r := rng.New(seed, "opensm")
	for i := 1; i < n; i++ {
		pairs = append(pairs, [2]int{i, r.IntN(i)})
	}
	for len(pairs) < 2*n {
		if a, b := r.IntN(n), r.IntN(n); a != b {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	return pairs
}

func networks(t *testing.T) []network {
	t.Helper()
	star := func() *subnet.Fabric { g, err := topology.Star(8, link); return fabricOf(t, g, err) }
	leafSpine := func(p topology.LeafSpineParams) *subnet.Fabric {
		p.HostLink, p.Uplink = link, link
		g, err := topology.LeafSpine(p)
		return fabricOf(t, g, err)
	}
	fatTree := func(k int, edge topology.Ratio) *subnet.Fabric {
		g, err := topology.FatTree(topology.FatTreeParams{K: k, Tiers: 3, Edge: edge, HostLink: link, LeafLink: link, CoreLink: link})
		return fabricOf(t, g, err)
	}
	rail := func() *subnet.Fabric {
		g, err := topology.RailOptimised(topology.RailParams{Servers: 8, Rails: 4, ServersPerGroup: 4, Spines: 4, HostLink: link, Uplink: link})
		return fabricOf(t, g, err)
	}
	list := []network{
		{name: "star of 8", fabric: star()},
		{name: "leaf-spine 8x4, 4 hosts per leaf", fabric: leafSpine(topology.LeafSpineParams{Leaves: 8, Spines: 4, HostsPerLeaf: 4}), ftree: true},
		{name: "leaf-spine 6x3, 9 hosts per leaf, 2 cables each", fabric: leafSpine(topology.LeafSpineParams{Leaves: 6, Spines: 3, HostsPerLeaf: 9, Parallel: 2}), ftree: true},
		{name: "leaf-spine 8x4, LMC 2", fabric: leafSpine(topology.LeafSpineParams{Leaves: 8, Spines: 4, HostsPerLeaf: 4}), lmc: 2},
		{name: "fat-tree k=4", fabric: fatTree(4, topology.Ratio{}), ftree: true},
		{name: "fat-tree k=8", fabric: fatTree(8, topology.Ratio{}), ftree: true},
		{name: "fat-tree k=8, 2:1", fabric: fatTree(8, topology.Ratio{Down: 2, Up: 1}), ftree: true},
		{name: "fat-tree k=12", fabric: fatTree(12, topology.Ratio{}), ftree: true},
		{name: "rail-optimised, 8 servers of 4 ports", fabric: rail(), ftree: true},
		{name: "ring of 4", fabric: mesh(t, 4, 2, ring(4)), roots: []string{"s0"}},
		{name: "ring of 7", fabric: mesh(t, 7, 1, ring(7)), roots: []string{"s3"}},
		{name: "torus 4x4", fabric: mesh(t, 16, 2, torus(4)), roots: []string{"s0"}},
		{name: "torus 5x5", fabric: mesh(t, 25, 1, torus(5)), roots: []string{"s12"}},
		{name: "irregular, 12 switches", fabric: mesh(t, 12, 3, random(1, 12)), roots: []string{"s0"}},
		{name: "irregular, 40 switches", fabric: mesh(t, 40, 2, random(2, 40)), roots: []string{"s0"}},
	}
	if data := os.Getenv("HOPSCOPE_DATA"); data != "" {
		text, err := os.ReadFile(filepath.Join(data, "infiniband", "superbench-ib_traffic_topo_aware_ibnetdiscover.txt"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := subnet.Parse(text, subnet.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, network{name: "a real subnet's file (SuperBench)", fabric: f, roots: []string{"MF0;rmd70-0101-0908-01ib1-A:MCS8500/S01/U1"}})
	}
	if testing.Short() {
		const small = 50 // nodes
		list = slices.DeleteFunc(list, func(n network) bool { return len(n.fabric.Nodes) > small })
	}
	return list
}

// Hopscope and OpenSM route the same networks: every adapter reaches every other
// in the same number of links, the fullest channels are within 10 %, and neither has
// a credit loop where the engine promises none. Both forms of what ibnetdiscover
// prints are read.
func TestOpenSM(t *testing.T) {
	needPrograms(t)
	var table strings.Builder
	for _, n := range networks(t) {
		for _, engine := range subnet.Engines() {
			if engine == "ftree" && !n.ftree {
				continue
			}
			t.Run(n.name+"/"+engine, func(t *testing.T) { table.WriteString(compare(t, n, engine)) })
		}
	}
	const head = "network | engine | fullest channel: OpenSM | hopscope | mean | loops: OpenSM | hopscope | entries in use that differ\n"
	t.Log("\n" + head + table.String())
	if *record != "" {
		save(t, head+table.String())
	}
}

func needPrograms(t *testing.T) {
	t.Helper()
	for _, p := range Programs() {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed (Debian: apt-get install opensm ibsim-utils infiniband-diags)", p)
		}
	}
}

// Where an engine does not suit the network OpenSM falls back to MinHop, and
// hopscope says so.
func TestUnsuited(t *testing.T) {
	needPrograms(t)
	for _, tt := range []struct{ engine, want string }{{"ftree", "no fat-tree"}, {"updn", "no switch stands out as a root"}} {
		f := mesh(t, 6, 1, ring(6))
		r, err := Run(t.Context(), t.TempDir(), Net(f), Manager(f), "-R", tt.engine)
		if err != nil {
			t.Fatal(err)
		}
		if r.Engine != "minhop" {
			t.Errorf("OpenSM used %s on a ring that was to be routed by %s", r.Engine, tt.engine)
		}
		if _, err := subnet.Route(f, subnet.Options{Engine: tt.engine}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s on a ring: %v", tt.engine, err)
		}
	}
}

// An adapter on a spine, as the aggregation nodes of SHARP are, makes it a leaf for
// OpenSM too: of a tree whose root has one it finds no roots, and no fat-tree.
func TestAdapterOnRoot(t *testing.T) {
	needPrograms(t)
	tree := [][2]int{{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}, {2, 6}}
	for _, onRoot := range []bool{false, true} {
		g := new(topology.Graph)
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range 7 {
			_, err := g.AddSwitch("s"+strconv.Itoa(i), 1)
			must(err)
		}
		for _, p := range tree {
			must(g.AddLink(p[0], p[1], link))
		}
		for i, at := range []int{3, 4, 5, 6, 3, 4, 5, 6, 0} {
			if at == 0 && !onRoot {
				continue
			}
			h, err := g.AddHost("h" + strconv.Itoa(i))
			must(err)
			must(g.AddLink(h, at, link))
		}
		f := fabricOf(t, g, g.Finish())
		for _, engine := range []string{"updn", "ftree"} {
			r, err := Run(t.Context(), t.TempDir(), Net(f), Manager(f), "-R", engine)
			if err != nil {
				t.Fatal(err)
			}
			must(f.AssignLIDs(f.Manager(), 0))
			if _, err := subnet.Route(f, subnet.Options{Engine: engine}); (r.Engine == engine) == onRoot || (err == nil) == onRoot {
				t.Errorf("%s, adapter on the root %v: OpenSM used %s, hopscope says %v", engine, onRoot, r.Engine, err)
			}
		}
	}
}

// compare routes one network on both sides.
func compare(t *testing.T, n network, engine string) string {
	dir := t.TempDir()
	args := []string{"-R", engine, "-l", strconv.Itoa(n.lmc)}
	var roots []int
	if engine == "updn" {
		roots = rootsOf(t, n)
	}
	if len(roots) > 0 {
		args = append(args, "-a", rootFile(t, dir, n.fabric, roots))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := Run(ctx, dir, Net(n.fabric), Manager(n.fabric), args...)
	if err != nil {
		t.Fatal(err)
	}
	if r.Engine != engine {
		t.Fatalf("OpenSM used %s", r.Engine)
	}
	f, err := subnet.Parse(r.Topology, subnet.ParseOptions{})
	if err != nil {
		t.Fatalf("ibnetdiscover: %v", err)
	}
	checkPorts(t, f, r.Ports)
	theirs, err := subnet.ReadLFTs(f, r.LFTs)
	if err != nil {
		t.Fatalf("opensm-lfts.dump: %v", err)
	}
	ours, err := subnet.Route(f, subnet.Options{Engine: engine, Roots: renamed(t, f, roots)})
	if err != nil {
		t.Fatal(err)
	}
	return judge(t, n.name, engine, theirs, ours)
}

// judge holds both tables against the rules and returns a row of the record.
func judge(t *testing.T, name, engine string, theirs, ours *subnet.Tables) string {
	a, b := theirs.Analyse(), ours.Analyse()
	if a.Unreachable != 0 || b.Unreachable != 0 {
		t.Errorf("unreachable: OpenSM %d, hopscope %d", a.Unreachable, b.Unreachable)
	}
	if !slices.Equal(a.Hops, b.Hops) {
		checkLonger(t, engine, theirs, ours, a.Hops)
	}
	if d := float64(b.Worst-a.Worst) / float64(max(a.Worst, 1)); d > tolerance || d < -tolerance {
		t.Errorf("fullest channel: OpenSM %d, hopscope %d", a.Worst, b.Worst)
	}
	x, y := theirs.CreditLoops(0).Knots, ours.CreditLoops(0).Knots
	if engine != "minhop" && (x != 0 || y != 0) || (x > 0) != (y > 0) {
		t.Errorf("credit loops: OpenSM %d, hopscope %d", x, y)
	}
	used := inUse(theirs)
	for k := range inUse(ours) {
		used[k] = true
	}
	differ := 0
	for _, c := range theirs.Changes(ours) {
		if used[entry{c.Node, c.LID}] {
			differ++
		}
	}
	return fmt.Sprintf("%s | %s | %d | %d | %.1f | %d | %d | %d of %d\n", name, engine, a.Worst, b.Worst, b.Mean(), x, y, differ, len(used))
}

// entry is one entry of a switch's table.
type entry struct {
	node int
	lid  subnet.LID
}

// inUse lists the entries that paths between adapters take. Others matter to
// switches alone: those of switches off every path to an adapter, and LIDs of
// switches.
func inUse(t *subnet.Tables) map[entry]bool {
	f := t.Fabric
	used := map[entry]bool{}
	for _, to := range f.Endports {
		p := f.Nodes[to.Node].Ports[to.Port]
		if f.Nodes[to.Node].Kind == subnet.Switch {
			continue
		}
		for _, from := range f.Endports {
			if from.Node == to.Node || f.Nodes[from.Node].Kind == subnet.Switch {
				continue
			}
			for lid := p.LID; lid < p.LID+1<<p.LMC; lid++ {
				hops, err := t.Path(from, lid)
				if err != nil {
					continue // judge counts it as unreachable
				}
				for _, e := range hops[1:] {
					used[entry{e.Node, lid}] = true
				}
			}
		}
	}
	return used
}

// checkLonger accepts other hop counts in one case, whose cause it holds OpenSM
// to: updn, where OpenSM's are exactly those of firstVisit and no path of ours is
// longer than OpenSM's.
func checkLonger(t *testing.T, engine string, theirs, ours *subnet.Tables, hops []int64) {
	if want := firstVisit(ours); engine != "updn" || !slices.Equal(hops, want) {
		t.Fatalf("hops: OpenSM %v, hopscope %v; updn by the first visit would give %v", hops, ours.Analyse().Hops, want)
	}
	f := ours.Fabric
	shorter := 0
	for _, to := range f.Endports {
		for _, from := range f.Endports {
			if from.Node == to.Node || f.Nodes[from.Node].Kind == subnet.Switch || f.Nodes[to.Node].Kind == subnet.Switch {
				continue
			}
			lid := f.Nodes[to.Node].Ports[to.Port].LID
			a, err1 := theirs.Path(from, lid)
			b, err2 := ours.Path(from, lid)
			if err1 != nil || err2 != nil || len(b) > len(a) {
				t.Fatalf("%s to LID %d: OpenSM %d links (%v), hopscope %d (%v)", f.Name(from), lid, len(a), err1, len(b), err2)
			}
			if len(b) < len(a) {
				shorter++
			}
		}
	}
	t.Logf("%d paths are shorter than OpenSM's, which follow the first visit of its search", shorter)
}

// rootsOf returns the node indices of the roots in the network as it was made.
func rootsOf(t *testing.T, n network) (roots []int) {
	for _, name := range n.roots {
		i, ok := n.fabric.NodeByName(name)
		if !ok {
			t.Fatalf("there is no root %s", name)
		}
		roots = append(roots, i)
	}
	return roots
}

// rootFile writes the GUIDs that ibsim gives the roots: it numbers switches from
// 0x200000 on, in order of the file.
func rootFile(t *testing.T, dir string, f *subnet.Fabric, roots []int) string {
	guid := 0x200000
	var text strings.Builder
	for n := range f.Nodes {
		if f.Nodes[n].Kind != subnet.Switch {
			continue
		}
		if slices.Contains(roots, n) {
			fmt.Fprintf(&text, "0x%016x\n", guid)
		}
		guid++
	}
	file := filepath.Join(dir, "roots")
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// renamed finds the roots in what was discovered, by the names that Net gave.
func renamed(t *testing.T, f *subnet.Fabric, roots []int) (found []int) {
	for _, n := range roots {
		i, ok := f.NodeByName(fmt.Sprintf("n%d", n))
		if !ok {
			t.Fatalf("root n%d was not discovered", n)
		}
		found = append(found, i)
	}
	return found
}

// checkPorts reads the form of a line per port: the same number of links and of
// adapters' ports, with the same LIDs.
func checkPorts(t *testing.T, f *subnet.Fabric, text []byte) {
	g, err := subnet.Parse(text, subnet.ParseOptions{})
	if err != nil {
		t.Fatalf("ibnetdiscover -p: %v", err)
	}
	if len(g.Links) != len(f.Links) || len(g.Endports) != len(f.Endports) {
		t.Fatalf("ibnetdiscover -p shows %d links and %d endports, without -p there are %d and %d", len(g.Links), len(g.Endports), len(f.Links), len(f.Endports))
	}
	for i := range f.Endports {
		a := f.Nodes[f.Endports[i].Node].Ports[f.Endports[i].Port]
		b := g.Nodes[g.Endports[i].Node].Ports[g.Endports[i].Port]
		if a.GUID != b.GUID || a.LID != b.LID {
			t.Errorf("port %s has LID %d, with -p %s has %d", a.GUID, a.LID, b.GUID, b.LID)
		}
	}
}

// save writes the record.
func save(t *testing.T, text string) {
	version, err := exec.Command("opensm", "--version").CombinedOutput()
	if err != nil {
		t.Logf("opensm --version: %v", err)
	}
	program := "OpenSM"
	for line := range strings.Lines(string(version)) {
		if strings.HasPrefix(line, "OpenSM ") {
			program = strings.TrimSpace(line)
		}
	}
	day := time.Now().UTC().Format(time.DateOnly)
	head := fmt.Sprintf("%s, %s on ibsim; repeat: cd oracle && go test ./opensm -v -record ../results\npaths: from every adapter's port to every LID of every other adapter; loops: strongly connected\ncomponents of the channel dependency graph; entries in use: those on a path between adapters, on either side\n\n", day, program)
	if err := os.MkdirAll(*record, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*record, day+"-opensm.txt"), []byte(head+text), 0o644); err != nil {
		t.Fatal(err)
	}
}
