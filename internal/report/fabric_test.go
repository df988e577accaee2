package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/subnet"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

func fabricOf(t *testing.T) *Fabric {
	t.Helper()
	link := topology.LinkSpec{Rate: 100 * units.Gbps}
	g, err := topology.LeafSpine(topology.LeafSpineParams{Leaves: 4, Spines: 2, HostsPerLeaf: 4, HostLink: link, Uplink: link})
	if err != nil {
		t.Fatal(err)
	}
	f, err := subnet.FromGraph(g)
	if err == nil {
		err = f.AssignLIDs(f.Manager(), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	before, err := subnet.Route(f, subnet.Options{Engine: "minhop"})
	if err != nil {
		t.Fatal(err)
	}
	dead := make([]bool, len(f.Links))
	dead[len(dead)-1] = true
	now, err := before.Reroute(dead, subnet.Options{Engine: "minhop"})
	if err != nil {
		t.Fatal(err)
	}
	r := NewFabric("four leaves", now)
	r.Fail(before, now, dead, subnet.DefaultTiming())
	return r
}

// Figures that can be had by hand: 16 adapters in fours below 4 leaves: 12 and
// 16*12 pairs. The leaf with one uplink left takes all 12 senders for each of its 4
// adapters over it, where 2 uplinks would do for the whole line.
func TestFabricFigures(t *testing.T) {
	r := fabricOf(t)
	if len(r.Hops) != 2 || r.Hops[0] != (FabricHops{2, 48}) || r.Hops[1] != (FabricHops{4, 192}) || r.Lost != 0 {
		t.Errorf("hops %+v, %d lost", r.Hops, r.Lost)
	}
	if r.Load.Largest != 48 || r.Load.Bound != 15.0/48 {
		t.Errorf("fullest channel %d, share %g, want 48 and 15/48", r.Load.Largest, r.Load.Bound)
	}
	if r.Load.All[0].Paths != r.Load.Largest || len(r.Load.All) != r.Load.Channels {
		t.Errorf("channels %+v", r.Load.All[0])
	}
	x := r.Failure
	if x.Entries != len(x.Changes) || x.TotalPS != x.DetectPS+x.SweepPS+x.ComputePS+x.ProgramPS || x.Links[0] != "leaf4:6 - spine2:4" {
		t.Errorf("failure %+v", x)
	}
}

// Without colour there are no control sequences, with it the words are the
// same; narrow and wide texts hold the same numbers; --verbose lists every LID.
func TestFabricText(t *testing.T) {
	r := fabricOf(t)
	text := func(opt TextOptions) string {
		var b strings.Builder
		if err := r.Text(&b, opt); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	plain := text(TextOptions{Width: 80})
	if strings.Contains(plain, "\x1b") {
		t.Error("control sequences without colour")
	}
	colour := text(TextOptions{Width: 80, Colour: true})
	if colour == plain || regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colour, "") != plain {
		t.Error("colour changes more than colour")
	}
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if narrow := text(TextOptions{Width: 40}); !strings.Contains(words(narrow), "carry 48 paths at most") {
		t.Errorf("narrow text:\n%s", narrow)
	}
	verbose := text(TextOptions{Width: 80, Verbose: true})
	if n := strings.Count(verbose, "0x02000000"); n != 22 || strings.Contains(verbose, "--verbose") {
		t.Errorf("--verbose lists %d of 22 endports", n)
	}
}
