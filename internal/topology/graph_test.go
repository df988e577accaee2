package topology

import (
	"math"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

func spec(rate units.Rate) LinkSpec { return LinkSpec{Rate: rate, Length: 5 * units.Metre} }

// build makes a graph from "name name" links; names that begin with h are hosts.
func build(t *testing.T, links string) *Graph {
	t.Helper()
	g := new(Graph)
	node := func(name string) int {
		i, ok := g.NodeByName(name)
		if ok {
			return i
		}
		var err error
		if strings.HasPrefix(name, "h") {
			i, err = g.AddHost(name)
		} else {
			i, err = g.AddSwitch(name, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	for link := range strings.SplitSeq(links, ",") {
		ends := strings.Fields(link)
		if err := g.AddLink(node(ends[0]), node(ends[1]), spec(100*units.Gbps)); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Finish(); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestAddErrors(t *testing.T) {
	good := spec(units.Gbps)
	with := func(change func(*LinkSpec)) LinkSpec { s := good; change(&s); return s }
	for _, c := range []struct {
		name string
		do   func(g *Graph) error
		want string
	}{
		{"duplicate host", func(g *Graph) error { _, err := g.AddHost("a"); return err },
			`host "a" has the name of another host; names must be unique`},
		{"host named like switch", func(g *Graph) error { _, err := g.AddHost("s"); return err },
			`host "s" has the name of another switch; names must be unique`},
		{"empty name", func(g *Graph) error { _, err := g.AddSwitch("", 1); return err },
			`a switch has no name; give it one that no other node has`},
		{"twice", func(g *Graph) error { g.AddHost("h:1"); _, err := g.AddSwitch("h:1", 0); return err },
			`switch "\"h:1\"" has the name of another host; names must be unique`},
		{"self link", func(g *Graph) error { return g.AddLinkByName("a", "a", good) },
			`link a to a: a link must join two different nodes`},
		{"unknown node", func(g *Graph) error { return g.AddLinkByName("a", "x", good) },
			`link a to x: there is no node "x"; declare it first`},
		{"unknown index", func(g *Graph) error { return g.AddLink(0, 9, good) },
			`link names node 9, but the nodes are 0 to 2`},
		{"no rate", func(g *Graph) error { return g.AddLinkByName("a", "s", LinkSpec{}) },
			`link a to s: rate 0bps must be above 0 and at most 100Tbps`},
		{"negative rate", func(g *Graph) error { return g.AddLink(0, 2, with(func(s *LinkSpec) { s.Rate = -1 })) },
			`link a to s: rate -1bps must be above 0 and at most 100Tbps`},
		{"long cable", func(g *Graph) error {
			return g.AddLink(0, 2, with(func(s *LinkSpec) { s.Length = 20001 * units.Kilometre }))
		},
			`link a to s: length 20001km must be from 0 to 20000km`},
		{"slow cable", func(g *Graph) error {
			return g.AddLink(0, 2, LinkSpec{Rate: 1, Delay: 101 * units.Millisecond})
		},
			`link a to s: delay 101ms must be from 0 to 100ms`},
		{"length and delay", func(g *Graph) error {
			return g.AddLink(0, 2, with(func(s *LinkSpec) { s.Delay = units.Microsecond }))
		},
			`link a to s: delay 1us contradicts length 5m, which takes 25ns; give one of them`},
		{"loss", func(g *Graph) error { return g.AddLink(0, 2, with(func(s *LinkSpec) { s.Loss = 1.5 })) },
			`link a to s: loss 1.5 must be a probability from 0 to 1`},
		{"NaN", func(g *Graph) error { return g.AddLink(0, 2, with(func(s *LinkSpec) { s.BER = math.NaN() })) },
			`link a to s: bit error rate NaN must be a probability from 0 to 1`},
		{"drop every", func(g *Graph) error { return g.AddLink(0, 2, with(func(s *LinkSpec) { s.DropEvery = -1 })) },
			`link a to s: drop_every -1 must be at least 0 (0: never)`},
		{"down before start", func(g *Graph) error {
			return g.AddLink(0, 2, with(func(s *LinkSpec) { s.Outages = []Outage{{Down: -1, Up: 5}} }))
		},
			`link a to s: an outage from -1ps on must begin after the start`},
		{"no link", func(g *Graph) error { return g.Finish() },
			`host a has no link; connect it or leave it out`},
		{"two islands", func(g *Graph) error {
			s2, _ := g.AddSwitch("s2", 1)
			if err := g.AddLink(0, 2, good); err != nil {
				return err
			}
			if err := g.AddLink(1, s2, good); err != nil {
				return err
			}
			return g.Finish()
		},
			`hosts a and b are not connected; add the missing links`},
		{"no host", func(g *Graph) error { return new(Graph).Finish() },
			`the topology has no host; add at least two`},
		{"too many ports", func(g *Graph) error {
			for range MaxPorts {
				if err := g.AddLink(0, 2, good); err != nil {
					return err
				}
			}
			return g.AddLink(1, 2, good)
		},
			`link b to s: s has more than 65535 ports; spread the links over more switches`},
	} {
		g := new(Graph)
		g.AddHost("a")
		g.AddHost("b")
		g.AddSwitch("s", 1)
		if err := c.do(g); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

// A node is found by its name, whatever it holds, and by what it is called in reports; so are
// ports.
func TestAnyName(t *testing.T) {
	names := []string{"a:7", "a", "b/gpu0", "x->y", "数 据", " c", "\"d\"", "e\nf", "<svg onload=x>"}
	g := new(Graph)
	g.AddSwitch("s:1/2", 0)
	for i, name := range names {
		if n, err := g.AddHost(name); err != nil || n != i+1 {
			t.Fatalf("%q: %d, %v", name, n, err)
		}
		for range 2 {
			if err := g.AddLinkByName(name, "s:1/2", LinkSpec{Rate: units.Gbps}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := g.Finish(); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if ep, err := g.EndpointByName(name); err != nil || ep != 2*i {
			t.Errorf("%q is endpoint %d, %v; want %d", name, ep, err, 2*i)
		}
		for port := range 2 {
			called := g.EndpointName(2*i + port)
			if ep, err := g.EndpointByName(called); err != nil || ep != 2*i+port {
				t.Errorf("%q is endpoint %d, %v; want %d", called, ep, err, 2*i+port)
			}
		}
	}
	if _, err := g.EndpointByName("a:3"); err == nil || !strings.Contains(err.Error(), `a has no port "3"`) {
		t.Errorf("a:3: %v", err)
	}
}

func TestLinkDefaults(t *testing.T) {
	g := new(Graph)
	g.AddHost("h0")
	g.AddHost("h1")
	if err := g.AddLinkByName("h0", "h1", LinkSpec{Rate: units.Gbps, Length: 100 * units.Metre}); err != nil {
		t.Fatal(err)
	}
	if err := g.AddLinkByName("h0", "h1", LinkSpec{Rate: units.Gbps, Delay: units.Microsecond, Outages: []Outage{{Down: 7, Up: units.Never}}}); err != nil {
		t.Fatal(err)
	}
	if l := g.Links[0]; l.Delay != 500*units.Nanosecond || l.FailsAt() != units.Never {
		t.Errorf("100 m cable: delay %v, down at %v; want 500ns, never", l.Delay, l.FailsAt())
	}
	if l := g.Links[1]; l.Delay != units.Microsecond || l.Length != 0 || l.FailsAt() != 7 {
		t.Errorf("link with a delay: %+v", l)
	}
}

func TestEndpoints(t *testing.T) {
	g := build(t, "h0 s,h1 s,h1 s2,s s2,h2 s2")
	want := []Endpoint{{0, 0}, {2, 0}, {2, 1}, {4, 0}}
	for ep, e := range want {
		if g.Endpoints[ep] != e {
			t.Errorf("endpoint %d is %+v, want %+v", ep, g.Endpoints[ep], e)
		}
		if g.HostOf(ep) != e.Node || g.First[e.Node] != ep-e.Port {
			t.Errorf("endpoint %d: host %d, first %d", ep, g.HostOf(ep), g.First[e.Node])
		}
		if back, err := g.EndpointByName(g.EndpointName(ep)); err != nil || back != ep {
			t.Errorf("%s is endpoint %d, %v; want %d", g.EndpointName(ep), back, err, ep)
		}
	}
	if s, _ := g.NodeByName("s"); g.First[s] != -1 {
		t.Errorf("First of a switch is %d, want -1", g.First[s])
	}
	if name := g.EndpointName(2); name != "h1:2" {
		t.Errorf("second port of h1 is called %s", name)
	}
	for name, want := range map[string]string{
		"h9":   `there is no host "h9"`,
		"s":    `s is a switch; name a host`,
		"h1:3": `h1 has no port "3"; its ports are 1 to 2`,
		"h1:x": `h1 has no port "x"; its ports are 1 to 2`,
	} {
		if _, err := g.EndpointByName(name); err == nil || err.Error() != want {
			t.Errorf("EndpointByName(%s): %v, want %s", name, err, want)
		}
	}
	checkWiring(t, g)
}

// checkWiring: both ends of every link agree about it.
func checkWiring(t *testing.T, g *Graph) {
	t.Helper()
	for i, l := range g.Links {
		a, b := g.Nodes[l.A].Ports[l.PortA], g.Nodes[l.B].Ports[l.PortB]
		if a != (Port{i, l.B, l.PortB}) || b != (Port{i, l.A, l.PortA}) {
			t.Fatalf("link %d %+v: ends %+v and %+v", i, l, a, b)
		}
	}
}
