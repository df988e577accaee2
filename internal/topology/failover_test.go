package topology

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// What each switch of two leaves and two spines has from when on, as a link from
// the first leaf fails, and comes back: by time, switch and destination, in ports
// from 0. A leaf's ports 0 are its host's.
func TestChanges(t *testing.T) {
	spec := LinkSpec{Rate: units.Gbps, Delay: 1}
	g, err := LeafSpine(LeafSpineParams{Leaves: 2, Spines: 2, HostsPerLeaf: 1, Parallel: 1, HostLink: spec, Uplink: spec})
	if err != nil {
		t.Fatal(err)
	}
	leaf1, _ := g.NodeByName("leaf1")
	for i := range g.Links {
		if l := &g.Links[i]; g.Nodes[l.A].Name+g.Nodes[l.B].Name == "leaf1spine1" || g.Nodes[l.B].Name+g.Nodes[l.A].Name == "leaf1spine1" {
			l.Outages = []Outage{{Down: 100, Up: 1000}}
		}
	}
	routes, err := ComputeRoutes(g)
	if err != nil {
		t.Fatal(err)
	}
	show := func(f Failover) (out []string) {
		changes, err := f.Changes(g, routes)
		if err != nil {
			t.Fatal(err)
		}
		for i := range changes {
			c := &changes[i]
			out = append(out, fmt.Sprint(int64(c.At), " ", g.Nodes[c.Node].Name, c.Of(0), c.Of(1)))
		}
		return out
	}
	if got := routes.Lookup(leaf1, 1); !slices.Equal(got, []uint16{1, 2}) {
		t.Fatalf("leaf1 reaches h1 by %v", got)
	}
	for _, c := range []struct {
		name string
		f    Failover
		want []string
	}{
		{"noticed at the ends first", Failover{Detect: 10, Converge: 50}, []string{
			"110 leaf1[0] [2]", // its group shrinks
			"110 spine1[] [1]", // no other way of that length
			"160 leaf2[2] [0]", // has learned that spine1 is no way
			"160 spine1[1] [1]",
		}},
		{"never noticed", Failover{Detect: units.Never, Converge: 1}, nil},
	} {
		got := show(c.f)
		if c.want == nil {
			if got != nil {
				t.Errorf("%s: %v", c.name, got)
			}
			continue
		}
		if len(got) < 4 || !slices.Equal(got[:4], c.want) {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
		// All is as it was once the link is back and everyone knows.
		last := map[string]string{}
		for _, line := range got {
			var at, rest string
			fmt.Sscanf(line, "%s", &at)
			rest = line[len(at)+1:]
			last[rest[:5]] = rest
		}
		for name, want := range map[string]string{"leaf1": "leaf1[0] [1 2]", "leaf2": "leaf2[1 2] [0]", "spine": "spine1[0] [1]"} {
			if last[name] != want {
				t.Errorf("%s: in the end %q, want %q", c.name, last[name], want)
			}
		}
	}
	if got := show(Failover{Detect: 0, Converge: 0}); len(got) < 2 || got[0] != "100 leaf1[0] [2]" || got[1] != "100 leaf2[2] [0]" {
		t.Errorf("at once: %q", got)
	}
	if got := show(Failover{Detect: 10, Converge: units.Never}); !slices.Equal(got, []string{"110 leaf1[0] [2]", "110 spine1[] [1]", "1010 leaf1[0] [1 2]", "1010 spine1[0] [1]"}) {
		t.Errorf("at the ends alone: %q", got)
	}
}
