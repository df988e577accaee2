package subnet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// pair is a switch with two hosts in the topology form, as ibnetdiscover prints
// it of a simulated subnet.
const pair = `#
# Topology file: generated on Sun Nov 29 21:58:41 2026
#
# Initiated from node 0000000000100000 port 0000000000100001

vendid=0x0
devid=0x0
sysimgguid=0x200000
switchguid=0x200000(200000)
Switch	8 "S-0000000000200000"		# "sw" base port 0 lid 2 lmc 0
[1]	"H-0000000000100000"[1](100001) 		# "h0" lid 1 4xSDR
[2]	"H-0000000000100002"[1](100003) 		# "h1" lid 3 4xSDR

vendid=0x0
devid=0x0
sysimgguid=0x100002
caguid=0x100002
Ca	1 "H-0000000000100002"		# "h1"
[1](100003) 	"S-0000000000200000"[2]		# lid 3 lmc 0 "sw" lid 2 4xSDR

vendid=0x0
devid=0x0
sysimgguid=0x100000
caguid=0x100000
Ca	1 "H-0000000000100000"		# "h0"
[1](100001) 	"S-0000000000200000"[1]		# lid 1 lmc 0 "sw" lid 2 4xSDR
`

// pairPorts is the same subnet in the form of a line per port.
const pairPorts = `CA     3  1 0x0000000000100003 4x SDR - SW     2  2 0x0000000000200000 ( 'h1' - 'sw' )
SW     2  8 0x0000000000200000 4x SDR                                    'sw'
SW     2  3 0x0000000000200000 4x ???                                    'sw'
SW     2  2 0x0000000000200000 4x SDR - CA     3  1 0x0000000000100003 ( 'sw' - 'h1' )
SW     2  1 0x0000000000200000 4x SDR - CA     1  1 0x0000000000100001 ( 'sw' - 'h0' )
CA     1  1 0x0000000000100001 4x SDR - SW     2  1 0x0000000000200000 ( 'h0' - 'sw' )
`

// Both forms give the same subnet: the same names, LIDs, links and rates.
func TestBothForms(t *testing.T) {
	for _, text := range []string{pair, pairPorts} {
		if !IsDiscovery([]byte(text)) {
			t.Errorf("%.20q is not taken for output of ibnetdiscover", text)
		}
		f, err := Parse([]byte(text), ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Nodes) != 3 || len(f.Links) != 2 || len(f.Endports) != 3 || len(f.Warnings) != 0 {
			t.Fatalf("%d nodes, %d links, %d endports, warnings %v", len(f.Nodes), len(f.Links), len(f.Endports), f.Warnings)
		}
		for name, want := range map[string]struct {
			lid  LID
			port int
			guid GUID
		}{"h0": {1, 1, 0x100001}, "h1": {3, 1, 0x100003}, "sw": {2, 0, 0x200000}} {
			n, ok := f.NodeByName(name)
			if !ok || f.Nodes[n].Ports[want.port].LID != want.lid || f.Nodes[n].Ports[want.port].GUID != want.guid {
				t.Errorf("%s: %+v, want %+v", name, f.Nodes[n].Ports, want)
			}
		}
		for _, l := range f.Links {
			if l.Rate != 8*units.Gbps || l.Name != "4xSDR" {
				t.Errorf("link %+v, want 4xSDR, 8 Gb/s of data", l)
			}
		}
		if sw, _ := f.NodeByName("sw"); len(f.Nodes[sw].Ports)-1 != 8 {
			t.Errorf("the switch has %d ports, want 8", len(f.Nodes[sw].Ports)-1)
		}
	}
}

// What a file can have wrong, with the place.
func TestBadFiles(t *testing.T) {
	replace := func(text, old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in the file", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	torn := strings.Index(pair, `lid 3 lmc 0 "sw"`) + len("lid 3 lm")
	tests := []struct{ name, text, want string }{
		{"torn", pair[:torn], "19:47: \"lm\" stands where lmc and a number should"},
		{"torn at a word", pair[:torn-3], "19:46: the line ends where lmc and a number should stand; is the file torn?"},
		{"torn before a record", pair[:strings.Index(pair, `Ca	1 "H-0000000000100000"`)], "25:1: the file ends after the GUIDs of a node; is it torn?"},
		{"torn at the start", pair[strings.Index(pair, "[2]"):], "1:1: a port stands before any node"},
		{"one side", replace(pair, `[2]	"H-0000000000100002"[1](100003) 		# "h1" lid 3 4xSDR`+"\n", ""),
			"18:1: the link from port 1 of CA h1 (0x0000000000100002) to port 2 of switch sw (0x0000000000200000) is named from this side only; the record of the other (line 10) lacks it"},
		{"contradiction", replace(pair, `"S-0000000000200000"[2]`, `"S-0000000000200000"[1]`), "12:1: port 2 of switch sw (0x0000000000200000) is linked to port 1 of CA h1 (0x0000000000100002), which line 19 links to port 1 of switch sw (0x0000000000200000); both sides must agree"},
		{"duplicate node", pair + "Ca	1 \"H-0000000000100000\"		# \"again\"\n", "27:6: GUID 0x0000000000100000 has a record on line 25 already; each node has one"},
		{"duplicate port GUID", strings.ReplaceAll(pair, "100003", "100001"), "12:5: port GUID 0x0000000000100001 stands on line 11 for another port"},
		{"duplicate LID", strings.ReplaceAll(pair, "lid 3", "lid 1"), "18:6: LID 1 belongs to h0:1 and to h1:1; each LID has one owner"},
		{"port beyond", replace(pair, "Switch	8", "Switch	1"), "12:1: port 2 of switch sw (0x0000000000200000), which has 1 ports"},
		{"peer's port beyond", strings.Replace(pair, `[1](100003)`, `[7](100003)`, 1), "12:5: port 7 of CA h1 (0x0000000000100002), which has 1 ports"},
		{"port 0", replace(pair, "[2]	", "[0]	"), "12:2: a link ends at port 0"},
		{"port 300", replace(pair, "[2]	", "[300]	"), "12:2: a port number is beyond 254"},
		{"twice", replace(pair, "[2]	", "[1]	"), "12:1: port 1 of switch sw (0x0000000000200000) stands on line 11 already"},
		{"kind", replace(pair, `Ca	1 "H-0000000000100002"`, `Ca	1 "S-0000000000100002"`), "18:6: the node is named as a switch, but the line begins as that of a CA"},
		{"guid", replace(pair, "caguid=0x100002", "caguid=0x100009"), "18:6: the node has GUID 0x0000000000100002 here and 0x0000000000100009 in the lines above it"},
		{"speed", replace(pair, "4xSDR", "4xQQR"), `11:54: "QQR" stands where a link speed, one of SDR, DDR`},
		{"width", replace(pair, "4xSDR", "3xSDR"), `11:52: "3xSDR" stands where a link width, one of 1x, 2x, 4x, 8x, 12x, should`},
		{"LID", replace(pair, "lid 3", "lid 50000"), "12:50: a LID is beyond 49151"},
		{"other words", "hello\n", `1:1: "hello" stands where a node (Switch, Ca, Rt)`},
		{"empty", "", "1:1: the file names no node"},
		{"lmc", replace(pair, "lid 3 lmc 0", "lid 3 lmc 1"), "18:6: LID 3 of h1:1 cannot have LMC 1: its 2 LIDs must begin at a multiple of 2"},
		{"switch without record", pairPorts[:strings.Index(pairPorts, "\n")+1], "1:41: switch sw (0x0000000000200000) is linked here but has no record of its own"},
		{"two LIDs", pairPorts + "CA     4  1 0x0000000000100003 4x SDR      'h1'\n", "7:1: GUID 0x0000000000100003 has LID 4 here and LID 3 on line 1; a GUID names one port"},
		{"two pieces", pairPorts + "SW     9  1 0x0000000000300000 4x SDR      'far'\n", "7:1: no link joins switch far (0x0000000000300000) to CA h1"},
		{"one name", replace(pairPorts, "'h1' - 'sw'", "'h1'"), "1:80: one description stands where two should"},
		{"torn row", pairPorts[:45], "1:43: the line ends where a LID, a number from 0 to 49151, should stand; is the file torn?"},
	}
	for _, tt := range tests {
		_, err := Parse([]byte(tt.text), ParseOptions{})
		var at *Error
		if !errors.As(err, &at) || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwant %s", tt.name, err, tt.want)
		}
	}
}

// An excerpt is taken when asked for, with what is missing said.
func TestPartial(t *testing.T) {
	text := `CA   134  1 0x7cfe9003003b4bde 4x EDR - SW  1719 10 0x7cfe9003009ce5b0 ( 'o0001 HCA-1' - 'l1' )
SW  2052 37 0x506b4b03005c2740 4x ???                                    'l4'
`
	if _, err := Parse([]byte(text), ParseOptions{}); err == nil {
		t.Error("taken without being asked for")
	}
	f, err := Parse([]byte(text), ParseOptions{Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Links) != 1 || len(f.Warnings) != 2 || !strings.Contains(f.Warnings[0], "this side only") || !strings.Contains(f.Warnings[1], "2 pieces") {
		t.Errorf("%d links, warnings %q", len(f.Links), f.Warnings)
	}
	if f.Links[0].Rate != 100*units.Gbps {
		t.Errorf("4x EDR is %v", f.Links[0].Rate)
	}
}

// Roots in one piece of an excerpt rank nothing in another: there only the switch's
// own adapters have paths.
func TestRootsOfOnePiece(t *testing.T) {
	f, err := Parse([]byte(`SW 1 1 0x00000000000000a1 4x EDR - SW 2 1 0x00000000000000a2 ( 'sp' - 'lf' )
SW 2 1 0x00000000000000a2 4x EDR - SW 1 1 0x00000000000000a1 ( 'lf' - 'sp' )
SW 2 2 0x00000000000000a2 4x EDR - CA 3 1 0x00000000000000b1 ( 'lf' - 'h1' )
SW 2 3 0x00000000000000a2 4x EDR - CA 4 1 0x00000000000000b2 ( 'lf' - 'h2' )
SW 5 2 0x00000000000000c2 4x EDR - CA 6 1 0x00000000000000d1 ( 'far' - 'h3' )
SW 5 3 0x00000000000000c2 4x EDR - CA 7 1 0x00000000000000d2 ( 'far' - 'h4' )
`), ParseOptions{Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	sp, _ := f.NodeByName("sp")
	for _, engine := range []string{"updn", "ftree"} {
		tables := routed(t, f, Options{Engine: engine, Roots: []int{sp}})
		if a := tables.Analyse(); len(a.Hops) != 3 || a.Hops[2] != 4 || a.Unreachable != 8 {
			t.Errorf("%s: hops %v, %d unreachable, want 4 paths of 2 links and 8 lost", engine, a.Hops, a.Unreachable)
		}
		if order := tables.AdapterOrder(); engine == "ftree" && len(order) != 2 {
			t.Errorf("order %v, want the two adapters of the tree", order)
		}
	}
}

// The files of real subnets in the data folder.
func TestRealFiles(t *testing.T) {
	dir := os.Getenv("HOPSCOPE_DATA")
	if dir == "" {
		t.Skip("HOPSCOPE_DATA names no folder")
	}
	read := func(name string, partial bool) (*Fabric, error) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, "infiniband", name))
		if err != nil {
			t.Fatal(err)
		}
		if !IsDiscovery(text) {
			t.Errorf("%s is not taken for output of ibnetdiscover", name)
		}
		return Parse(text, ParseOptions{Partial: partial})
	}
	f, err := read("superbench-ib_traffic_topo_aware_ibnetdiscover.txt", false)
	if err != nil {
		t.Fatal(err)
	}
	super := f
	// 8 switches, 10 hosts and an aggregation node that has no record of its own.
	if f.Count(Switch) != 8 || f.Count(CA) != 11 || len(f.Links) != 18 || len(f.Warnings) != 1 {
		t.Errorf("%d switches, %d adapters, %d links, warnings %q", f.Count(Switch), f.Count(CA), len(f.Links), f.Warnings)
	}
	tables := routed(t, f, Options{Engine: "minhop"})
	a := tables.Analyse()
	// A tree has one path: pairs of a leaf 2 links, of a line card 4, others 6.
	if a.Hops[2] != 10 || a.Unreachable != 0 || tables.CreditLoops(0).Knots != 0 {
		t.Errorf("hops %v, %d unreachable", a.Hops, a.Unreachable)
	}
	if _, err := read("ibnetdiscover/test.out", false); err == nil || !strings.HasPrefix(err.Error(), "6:41: switch ib-i1l2s01") {
		t.Errorf("an excerpt of a real subnet: %v", err)
	}
	if f, err = read("ibnetdiscover/test.out", true); err != nil || f.Count(Switch) != 4 || f.Count(CA) != 3 || len(f.Links) != 4 {
		t.Errorf("the excerpt as such: %v", err)
	}
	if _, err := read("ibnetdiscover/test2.out", false); err == nil || !strings.HasPrefix(err.Error(), "5:41: GUID 0x946dae0300630bfe has LID 60 here and LID 78 on line 1") {
		t.Errorf("an excerpt with a GUID twice: %v", err)
	}
	if f, err = read("ibnetdiscover/test2.out", true); err != nil || len(f.Links) != 2 || !strings.HasPrefix(f.Warnings[0], "5:41: GUID 0x946dae0300630bfe has LID 60 here and LID 78 on line 1; this line is left out") {
		t.Errorf("taken as an excerpt: %v", err)
	}
	// A spine whose only adapter is its aggregation node looks like a leaf.
	for _, engine := range []string{"updn", "ftree"} {
		if _, err := Route(super, Options{Engine: engine}); err == nil || !strings.Contains(err.Error(), "S01/U1 counts as a leaf, for its aggregation node is a channel adapter") {
			t.Errorf("%s: %v", engine, err)
		}
	}
	spine, _ := super.NodeByName("MF0;rmd70-0101-0908-01ib1-A:MCS8500/S01/U1")
	for _, engine := range []string{"updn", "ftree"} {
		if a := routed(t, super, Options{Engine: engine, Roots: []int{spine}}).Analyse(); a.Unreachable != 0 {
			t.Errorf("%s with the spine as root: %d unreachable", engine, a.Unreachable)
		}
	}
}

// Whatever the bytes, Parse returns a fabric that can be routed and judged, or
// one line with a place inside the file.
func FuzzParse(f *testing.F) {
	f.Add([]byte(pair), true)
	f.Add([]byte(pairPorts), false)
	f.Add([]byte(pairPorts[:200]), true)
	f.Add([]byte("Switch 1 \"S-1\" # \"a\" base port 0 lid 1 lmc 0\n[1] \"S-2\"[1] # \"b\" lid 2 4xHDR s=4\n"), true)
	f.Fuzz(func(t *testing.T, text []byte, partial bool) {
		if len(text) > 20000 {
			return
		}
		fabric, err := Parse(text, ParseOptions{Partial: partial})
		if err != nil {
			var at *Error
			if !errors.As(err, &at) || at.Line < 1 || at.Col < 1 || at.Line > strings.Count(string(text), "\n")+2 || strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("error %q", err)
			}
			return
		}
		for _, engine := range Engines() {
			tables, err := Route(fabric, Options{Engine: engine})
			if err != nil {
				continue
			}
			tables.Analyse()
			tables.CreditLoops(0)
		}
	})
}
