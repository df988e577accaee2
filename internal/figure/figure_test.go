package figure_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/figure"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// net builds a run whose every link was used both ways, held and lossy.
type net struct {
	record.Run
	ports map[string]int
}

func newNet() *net {
	n := &net{ports: map[string]int{}}
	n.Network = &record.Network{}
	n.EndPS = units.Millisecond
	return n
}

func (n *net) node(name string, tier int) string {
	n.Network.Nodes = append(n.Network.Nodes, record.NetworkNode{Name: name, Tier: tier, Switch: tier > 0})
	return name
}

func (n *net) link(a, b string) {
	n.ports[a]++
	n.ports[b]++
	x, y := record.PortID{Node: a, Port: n.ports[a]}, record.PortID{Node: b, Port: n.ports[b]}
	n.Network.Links = append(n.Network.Links, record.NetworkLink{A: x, B: y, RateBps: 100 * units.Gbps})
	for _, e := range [2][2]record.PortID{{x, y}, {y, x}} {
		k := len(n.Ports)
		n.Ports = append(n.Ports, record.Port{Node: e[0].Node, Port: e[0].Port, Peer: e[1], TxPackets: 1,
			Utilisation: float64(k%100) / 100, HeldPS: units.Time(k%7) * units.Microsecond, Dropped: int64(k % 5)})
	}
}

// fatTree has k pods (Al-Fares et al., SIGCOMM 2008).
func fatTree(k int) *net {
	n := newNet()
	var cores []string
	for c := range k * k / 4 {
		cores = append(cores, n.node(fmt.Sprintf("core%d", c), 3))
	}
	for p := range k {
		var leaves []string
		for l := range k / 2 {
			leaf := n.node(fmt.Sprintf("pod%d-leaf%d", p, l), 1)
			leaves = append(leaves, leaf)
			for h := range k / 2 {
				n.link(n.node(fmt.Sprintf("h%d", (p*k/2+l)*k/2+h), 0), leaf)
			}
		}
		for a := range k / 2 {
			agg := n.node(fmt.Sprintf("pod%d-agg%d", p, a), 2)
			for _, leaf := range leaves {
				n.link(leaf, agg)
			}
			for c := range k / 2 {
				n.link(agg, cores[a*k/2+c])
			}
		}
	}
	return n
}

func leafSpine(leaves, spines, hosts int) *net {
	n := newNet()
	for l := range leaves {
		leaf := n.node(fmt.Sprintf("leaf%d", l+1), 1)
		for h := range hosts {
			n.link(n.node(fmt.Sprintf("h%d", l*hosts+h), 0), leaf)
		}
	}
	for s := range spines {
		spine := n.node(fmt.Sprintf("spine%d", s+1), 2)
		for l := range leaves {
			n.link(fmt.Sprintf("leaf%d", l+1), spine)
		}
	}
	return n
}

// ring has switches of no stated tier in a circle, hosts at each.
func ring(switches, hosts int) *net {
	n := newNet()
	for s := range switches {
		name := fmt.Sprintf("s%d", s)
		n.Network.Nodes = append(n.Network.Nodes, record.NetworkNode{Name: name, Switch: true})
		for h := range hosts {
			n.link(n.node(fmt.Sprintf("h%d", s*hosts+h), 0), name)
		}
	}
	for s := range switches {
		n.link(fmt.Sprintf("s%d", s), fmt.Sprintf("s%d", (s+1)%switches))
	}
	return n
}

var mark = regexp.MustCompile(`<(rect|path|circle)`)

// However large a network is, its drawing takes at most 200 marks, the busiest link is among them
// with its place in the JSON, and what is folded can be opened.
func TestTopologyFolds(t *testing.T) {
	for _, c := range []struct {
		name  string
		net   *net
		parts int
	}{
		{"star", leafSpine(1, 0, 5), 0}, {"small", leafSpine(3, 2, 5), 0}, {"fat-tree of 1,024", fatTree(16), 16},
		{"fat-tree of 8,192", fatTree(32), 32}, {"64 leaves", leafSpine(64, 16, 32), 64}, {"one switch", leafSpine(1, 0, 1000), 1},
		{"ring", ring(100, 4), 100},
	} {
		f, parts, left := figure.Topology(&c.net.Run)
		file := string(f.File())
		wellFormed(t, c.name, file)
		if n := len(mark.FindAllString(f.Inline(), -1)); n > figure.MostElements {
			t.Errorf("%s: %d marks, want at most %d", c.name, n, figure.MostElements)
		}
		if len(parts)+left != c.parts {
			t.Errorf("%s: %d parts, want %d", c.name, len(parts)+left, c.parts)
		}
		busiest := 0
		for i := range c.net.Ports {
			if c.net.Ports[i].Utilisation > c.net.Ports[busiest].Utilisation {
				busiest = i
			}
		}
		if c.name != "ring" && !strings.Contains(file, fmt.Sprintf(`data-path="/ports/%d/utilisation"`, busiest)) {
			t.Errorf("%s: the busiest link is not drawn", c.name)
		}
		for _, p := range parts {
			wellFormed(t, c.name, string(p.File()))
		}
	}
}

// wellFormed fails unless a file is XML without variables of a page.
func wellFormed(t *testing.T, name, file string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(file))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if strings.Contains(file, "var(") || strings.Contains(file, "http://") && strings.Count(file, "http://") > 1 {
		t.Errorf("%s: the file needs a page or a network", name)
	}
}

// Bars of a waterfall and of a stacked row have the lengths of their times, along one axis.
func TestBarsHaveTheirLengths(t *testing.T) {
	width := func(file, path string) (w float64) {
		m := regexp.MustCompile(`width="([0-9.]+)" height="[0-9.]+" class="[a-z0-9]+" data-path="` + path + `"`).FindStringSubmatch(file)
		if m == nil {
			t.Fatalf("no bar of %s", path)
		}
		fmt.Sscan(m[1], &w)
		return w
	}
	f := figure.Stacked("s", "t", []figure.Row{
		{Name: "a", Segments: []figure.Segment{{Part: catalog.PartHeld, PS: 3000, Path: "/a"}, {Part: catalog.PartWire, PS: 1000, Path: "/b"}}},
		{Name: "b", Segments: []figure.Segment{{Part: catalog.PartHeld, PS: 2000, Path: "/c"}}},
	})
	file := string(f.File())
	if a, b, c := width(file, "/a"), width(file, "/b"), width(file, "/c"); a/b < 2.99 || a/b > 3.01 || a/c < 1.49 || a/c > 1.51 {
		t.Errorf("bars of 3000, 1000 and 2000 ps are %g, %g and %g long", a, b, c)
	}
	file = string(figure.Waterfall("w", "t", "/w", []figure.Bar{{PS: 500, Path: "/a"}, {From: 500, PS: 1500,
		Path: "/b"}}).File())
	if a, b := width(file, "/a"), width(file, "/b"); b/a < 2.99 || b/a > 3.01 {
		t.Errorf("bars of 500 and 1500 ps are %g and %g long", a, b)
	}
}

// Names are text in SVG whatever they hold.
func TestNamesInSVG(t *testing.T) {
	evil := "<svg onload=alert(1)>\"'\n\x1b[0m\xff鱼"
	n := newNet()
	n.link(n.node(evil, 0), n.node("sw", 1))
	n.link(n.node("h1", 0), "sw")
	f, _, _ := figure.Topology(&n.Run)
	tree := metrics.PauseTree{Root: metrics.Cause{Place: record.HostAt(evil)},
		Branches: []metrics.Branch{{Port: record.ClassAt(evil, 1, 3, catalog.Ethernet), HeldPS: 5, PausedPS: 9}}}
	for _, f := range []*figure.Figure{f, figure.PauseTree(&n.Run, &tree, 0),
		figure.Measures("m", evil, []figure.Measure{{Name: evil, Value: 2, Text: evil, Path: evil, Kind: evil}}, 1)} {
		wellFormed(t, f.Name, string(f.File()))
		if s := f.Inline() + string(f.File()); strings.Contains(s, "<svg onload") || strings.ContainsAny(s, "\x1b") {
			t.Errorf("%s: a name acts as markup", f.Name)
		}
	}
}
