package calc

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/units"
)

// result is the value of a step of a calculation.
func result(t *testing.T, c *report.Calculation, part, step string) float64 {
	t.Helper()
	for _, p := range c.Parts {
		for _, s := range p.Steps {
			if strings.HasPrefix(p.Title, part) && s.Name == step {
				return s.Value
			}
		}
	}
	t.Fatalf("there is no %q in a part %q", step, part)
	return 0
}

func kinds(n int, rate units.Rate, length units.Length) []Ports {
	return []Ports{{n, rate * units.Gbps, length * units.Metre}}
}

// Tables that SONiC ships (pg_profile_lookup.ini): Gb/s, metres, xoff in bytes. The SN5600's are
// computed, for path MTU 1024; the others are lists.
func TestPublishedHeadroom(t *testing.T) {
	for _, row := range []struct {
		asic         string
		gbps, metres int64
		want         units.Bytes
	}{
		{"sn5600", 10, 5, 45056}, {"sn5600", 100, 5, 113664}, {"sn5600", 200, 5, 131072}, {"sn5600", 400, 5, 231424}, {"sn5600", 800, 5, 257024},
		{"sn5600", 25, 40, 52224}, {"sn5600", 100, 40, 126976}, {"sn5600", 400, 40, 283648}, {"sn5600", 800, 40, 362496},
		{"sn5600", 50, 300, 118784}, {"sn5600", 100, 300, 225280}, {"sn5600", 400, 300, 677888}, {"sn5600", 800, 300, 1150976},
		{"7060CX-32S", 40, 5, 66560}, {"tomahawk", 50, 40, 96096}, {"TH", 100, 300, 268736},
		{"Tomahawk 5", 400, 5, 425958}, {"th5", 400, 300, 839216}, {"th5", 400, 500, 1136396}, {"7060X6", 800, 300, 1621536},
		{"td3", 100, 40, 160000},
	} {
		s := Switch{
			ASIC:  row.asic,
			Ports: kinds(4, units.Rate(row.gbps), units.Length(row.metres)),
			Set:   []string{"mtu=1024"},
		}
		c, err := Headroom(s)
		if err != nil {
			t.Errorf("%v: %v", row, err)
			continue
		}
		if want := "Headroom of a lossless priority at " + (units.Rate(row.gbps) * units.Gbps).Human() + " over " +
			(units.Length(row.metres) * units.Metre).Human() + ": " + count(int64(row.want)) + " B"; !strings.HasPrefix(c.Title, want) {
			t.Errorf("%v: %s", row, c.Title)
		}
	}
}

// Every row of the real file, to the byte.
func TestPublishedFile(t *testing.T) {
	dir := os.Getenv("HOPSCOPE_DATA")
	if dir == "" {
		t.Skip("HOPSCOPE_DATA names no folder")
	}
	for file, asic := range map[string]string{"SN5600": "sn5600", "7060CX-32S": "tomahawk", "7060X6-64PE-B-P32O64": "tomahawk5", "7050CX3-32S-C32": "trident3"} {
		text, err := os.ReadFile(filepath.Join(dir, "sonic", "pg_profile_lookup-"+file+".ini"))
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 6 || f[0] == "#" || f[0] == "##" {
				continue
			}
			speed, _ := strconv.ParseInt(f[0], 10, 64)
			length, _ := units.ParseLength(f[1])
			xoff, _ := strconv.ParseInt(f[4], 10, 64)
			s := Switch{ASIC: asic, Ports: []Ports{{2, units.Rate(speed) * units.Mbps, length}}, Set: []string{"mtu=1024"}}
			b, err := s.read()
			if err != nil {
				t.Fatal(err)
			}
			if got := b.memory.Groups[0][b.class].Headroom; int64(got) != xoff {
				t.Errorf("%s: %s over %s: %d, the table has %d", file, f[0], f[1], got, xoff)
			}
			rows++
		}
		if rows == 0 {
			t.Errorf("%s has no rows", file)
		}
	}
}

// The terms of the bound add up to it, and it is what the memory of a simulation has
// (docs/models/headroom.md, whose table a test of scenarios holds).
func TestHeadroomTermsAddUp(t *testing.T) {
	for _, set := range [][]string{nil, {"noise=off"}, {"mtu=1024", "switch.latency=1us"}, {"switch.memory.preset=tomahawk5"}} {
		for _, rate := range []units.Rate{25, 100, 400} {
			for _, length := range []units.Length{5, 40, 300} {
				s := Switch{Ports: kinds(2, rate, length), Set: set}
				c, err := Headroom(s)
				if err != nil {
					t.Fatal(err)
				}
				sum := 0.0
				for _, step := range c.Parts[0].Steps {
					if !step.Result {
						sum += step.Value
					}
				}
				if got := result(t, c, "What can arrive", "headroom"); got != sum {
					t.Errorf("%dG %dm %v: %v, the terms come to %v", rate, length, set, got, sum)
				}
				b, _ := s.read()
				if got := float64(b.memory.Groups[0][b.class].Headroom); len(set) != 1 && got != sum {
					t.Errorf("%dG %dm %v: the memory has %v, the calculator %v", rate, length, set, got, sum)
				}
			}
		}
	}
	c, err := Headroom(Switch{Ports: kinds(32, 400, 5)})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"propagation, both ways": 2500, "response of the peer": 57926, "pipeline": 15002, "jitter": 11001,
		"frames": 12522, "PFC frame": 84, "headroom": 99035} { // worked by hand in docs/models/headroom.md
		if got := result(t, c, "What can arrive", name); math.Abs(got-want) > 1 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// sonic-mgmt's tests of real switches (tests/qos/files/qos_params.*.yaml): packets of a cell at
// which XOFF came and from which on they were dropped. Tomahawk 5 pauses a packet later here.
func TestThresholdsOfSwitches(t *testing.T) {
	for _, c := range []struct {
		asic       string
		ports      []Ports
		xoff, drop float64
		slack      float64
	}{
		{"tomahawk", kinds(32, 40, 300), 6542, 7063, 0},
		{"tomahawk", kinds(32, 50, 300), 6542, 7225, 0},
		{"tomahawk", kinds(32, 100, 300), 6542, 7835, 0},
		{"tomahawk5", kinds(96, 400, 300), 103397, 106702, 1},
		{"tomahawk5", kinds(96, 800, 300), 103397, 109782, 1},
	} {
		made, err := Buffer(Switch{ASIC: c.asic, Ports: c.ports})
		if err != nil {
			t.Fatal(err)
		}
		if got := result(t, made, "A lossless group", "XOFF, alone"); math.Abs(got-c.xoff) > c.slack {
			t.Errorf("%s %v: XOFF at %v cells, measured %v", c.asic, c.ports, got, c.xoff)
		}
		if got := result(t, made, "A lossless group", "first drop, alone"); math.Abs(got-c.drop) > c.slack {
			t.Errorf("%s %v: drops from cell %v on, measured %v", c.asic, c.ports, got, c.drop)
		}
	}
}

// Zhu et al., SIGCOMM 2015, section 4: 12 MB, 32 ports of 40 Gb/s, 8 lossless priorities with
// 22.4 KB of headroom each, beta 8, which divides by 8: ECN at less than 21.76 KB comes before PFC
// whatever 32 queues do. All priorities hold their share, from one port: 8 groups that fill together,
// alpha 1.
func TestPaperOfDCQCN(t *testing.T) {
	s := Switch{Ports: kinds(32, 40, 5), Set: []string{"switch.buffer=12MB", "switch.pfc.enabled=[0,1,2,3,4,5,6,7]",
		"switch.pfc.headroom=22.4KB", "switch.pfc.alpha=1", "switch.pfc.reserved=0"}}
	b, err := s.read()
	if err != nil {
		t.Fatal(err)
	}
	if shared, _ := b.pool(0); shared != 12_000_000-8*32*22_400 {
		t.Fatalf("%d bytes are shared", shared)
	}
	got, err := b.together(0, 8)
	if err != nil {
		t.Fatal(err)
	}
	if each := float64(got) / 32; math.Abs(each-21756) > 2 {
		t.Errorf("a queue may hold %.1f B, the paper's formula gives 21,755.6", each)
	}
}

// From how many queues on PFC acts first: the closed forms, and cell by cell.
func TestQueuesBeforeMarks(t *testing.T) {
	for _, kmin := range []units.Bytes{100 * units.KB, 400 * units.KB, 1600 * units.KB, 3 * units.MB} {
		for _, s := range []Switch{
			{ASIC: "trident3", Ports: kinds(64, 100, 40)},
			{ASIC: "tomahawk", Ports: kinds(32, 100, 40)},
			{ASIC: "azure", Ports: kinds(48, 100, 40)},
			{Ports: kinds(64, 100, 40), Set: []string{"switch.buffer=40MB", "switch.pfc.alpha=1/2"}},
		} {
			b, err := s.read()
			if err != nil {
				t.Fatal(err)
			}
			shared, m := b.pool(0)
			k := float64(b.marked(0, kmin))
			l := b.memory.Groups[0][b.class].Limit
			alpha, free := float64(l.Num)/float64(l.Den), float64(shared)
			_, ports := b.inPart(0)
			check := func(name string, got int64, want float64, most int) {
				if want = math.Max(1, math.Ceil(want)); want > float64(most) {
					want = 0
				}
				if math.Abs(float64(got)-want) > 1 { // a cell more or less at the threshold
					t.Errorf("%v at Kmin %v: %d queues %s, the closed form gives %v", s, kmin, got, name, want)
				}
			}
			n, err := b.single(0, kmin)
			if err != nil {
				t.Fatal(err)
			}
			check("fed by one port", n, (float64(m)+free*alpha/(1+alpha))/k, len(b.memory.Groups))
			if n, err = b.spread(0, kmin); err != nil {
				t.Fatal(err)
			}
			check("each fed by its own", n, (free-(k-float64(m))/alpha)/(k-float64(m)), ports)
		}
	}
}

// Case F6 of fidelity: marks, CNPs and queue of the renewal fixed point and of packet runs of the
// published algorithm, packets of 1000 B, for 40, 100 and 400 Gb/s.
func TestFixedPoint(t *testing.T) {
	cc, err := congestion.Preset("paper")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		gbps    units.Rate
		flows   int
		p, cnps float64
	}{{40, 2, 0.001027, 2277}, {40, 10, 0.008253, 3432}, {40, 16, 0.01504, 3830}, {100, 2, 0.000311, 1770}, {100, 10, 0.002531, 2734},
		{100, 64, 0.02726, 4250}, {400, 64, 0.004648, 3079}} {
		e, ok := fixedPoint(&cc, c.gbps*units.Gbps, c.flows, 1000)
		if !ok || math.Abs(e.p-c.p) > 0.02*c.p || math.Abs(e.cnps-c.cnps) > 0.02*c.cnps {
			t.Errorf(
				"%dG, %d flows: p %.4f %%, %.0f CNPs/s, want %.4f %%, %.0f",
				c.gbps,
				c.flows,
				100*e.p,
				e.cnps,
				100*c.p,
				c.cnps,
			)
		}
	}
}

func TestBadPorts(t *testing.T) {
	usual := Ports{32, 100 * units.Gbps, 5 * units.Metre}
	for text, want := range map[string]string{
		"x400Gbps": `"" is no number of ports`, "32x": "rate", "32x400": "has no unit", "1": "at least 2 ports", "4000": "more than 1024",
		"32x0Gbps": "sends nothing", "32x1Gbps:5": "has no unit", "-3": `"-3" is no number`, "2,": `"" is no number`,
	} {
		if _, err := ParsePorts(text, usual); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", text, err)
		}
	}
	got, err := ParsePorts("48, 16x800Gbps:40m,2:1km", usual)
	if err != nil || len(got) != 3 || got[0] != (Ports{48, usual.Rate, usual.Length}) ||
		got[1] != (Ports{16, 800 * units.Gbps, 40 * units.Metre}) ||
		got[2].Length != 1000*units.Metre {
		t.Errorf("%v, %v", got, err)
	}
}

// The title says where a value comes from, and that it is short of the bound where it is.
func TestHeadroomSaysWhence(t *testing.T) {
	for _, c := range []struct {
		asic   string
		rate   units.Rate
		length units.Length
		want   string
	}{
		{"tomahawk", 100 * units.Gbps, 40 * units.Metre, ": 177,632 B, by the table of tomahawk for cables up to 40m"},
		{"tomahawk", 400 * units.Gbps, 300 * units.Metre, ", by the physical bound, as tomahawk has no row for this cable"},
		{"TH", 100 * units.Gbps, 300 * units.Metre, ": 268,736 B, by the table of TH for cables up to 300m"},
		{"sn5600", 400 * units.Gbps, 5 * units.Metre, ": 234,496 B, by Spectrum's rule for sn5600"},
		{"trident3", 100 * units.Gbps, 2000 * units.Metre,
			": 160,000 B, though no row of trident3 is for this cable; short of the bound, 872,192 B"},
	} {
		got, err := Headroom(Switch{ASIC: c.asic, Ports: []Ports{{32, c.rate, c.length}}})
		if err != nil || !strings.HasSuffix(got.Title, c.want) {
			t.Errorf("%s: %v, want %s", c.asic, err, c.want)
			if err == nil {
				t.Error(got.Title)
			}
		}
	}
}

// A curve to begin with has a Kmin of two frames or more, a Pmax only where there is a p, and what cannot work is said.
func TestCurvesThatCannotWork(t *testing.T) {
	for _, c := range []struct {
		rate, rtt   int64 // Gb/s, us
		pmax, notes bool
	}{{1, 8, false, false}, {400, 8, true, false}, {400, 1000, true, true}} {
		got, err := ECN(Switch{Ports: kinds(32, units.Rate(c.rate), 5)}, Flows{16, units.Time(c.rtt) * units.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		if kmin := result(t, got, "A curve to begin with", "Kmin"); kmin < 2*4096 {
			t.Errorf("%d Gb/s: Kmin %v", c.rate, kmin)
		}
		pmax := false
		for _, p := range got.Parts {
			for _, s := range p.Steps {
				pmax = pmax || p.Title == "A curve to begin with" && s.Name == "Pmax"
			}
		}
		all := strings.Join(got.Notes, " ")
		if pmax != c.pmax || strings.Contains(all, "above one port's XOFF") != c.notes ||
			strings.Contains(all, "more than the switch's memory") != c.notes || strings.Contains(all, "The fixed point is") != c.pmax {
			t.Errorf("%d Gb/s, %d us: Pmax %v, %s", c.rate, c.rtt, pmax, all)
		}
	}
}
