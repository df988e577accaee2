package subnet

import (
	"strings"
	"testing"
)

const ibsimNet = "# ibsim\nSwitch\t8 \"Switch1\"\n[1]\t\"Hca1\"[1]\n[2]\t\"Hca2\"[1]\n\nHca\t2 \"Hca1\"\n[1]\t\"Switch1\"[1]\n\nHca\t2 \"Hca2\"\n"

// What ibnetdiscover (infiniband-diags 44) printed of ibsim 0.10 with that net file.
const ibsimDiscovered = `switchguid=0x200000(200000)
Switch	8 "S-0000000000200000"		# "Switch1" base port 0 lid 0 lmc 0
[1]	"H-0000000000100000"[1](100001) 		# "Hca1" lid 0 4xSDR
[2]	"H-0000000000100003"[1](100004) 		# "Hca2" lid 0 4xSDR

caguid=0x100000
Ca	2 "H-0000000000100000"		# "Hca1"
[1](100001) 	"S-0000000000200000"[1]		# lid 0 lmc 0 "Switch1" lid 0 4xSDR

caguid=0x100003
Ca	2 "H-0000000000100003"		# "Hca2"
[1](100004) 	"S-0000000000200000"[2]		# lid 0 lmc 0 "Switch1" lid 0 4xSDR
`

// A net file of ibsim and what ibnetdiscover finds in ibsim are one network. A link may stand
// on either side alone.
func TestIBSim(t *testing.T) {
	a, err := Parse([]byte(ibsimNet), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse([]byte(ibsimDiscovered), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !IsDiscovery([]byte(ibsimNet)) || len(a.Links) != 2 || len(a.Warnings) > 0 {
		t.Errorf("%d links, warnings %q", len(a.Links), a.Warnings)
	}
	for _, n := range b.Nodes {
		i, ok := a.NodeByName(n.Name)
		if !ok || a.Nodes[i].GUID != n.GUID || len(a.Nodes[i].Ports) != len(n.Ports) {
			t.Errorf("%s: %v, want GUID %v and %d ports", n.Name, a.Nodes[i].GUID, n.GUID, len(n.Ports)-1)
			continue
		}
		for p := range n.Ports {
			got, want := a.Nodes[i].Ports[p], n.Ports[p]
			if got.GUID != want.GUID || (got.Link < 0) != (want.Link < 0) || want.Link >= 0 && a.Nodes[got.Peer].Name != b.Nodes[want.Peer].Name {
				t.Errorf("%s:%d: %+v, want %+v", n.Name, p, got, want)
			}
		}
	}
}

func TestBadIBSim(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Switch 8 \"a\"\n[1] \"b\"[1]\n", `2:5: there is no node "b"; each needs a line such as Hca 1 "b"`},
		{"Switch 8 \"a\"\nSwitch 8 \"a\"\n", "2:10: a has a record on line 1 already; each node has one"},
		{"Switch 8 \"a\"\n[1] \"a\"[1]\n", "2:5: port 1 of switch a (0x0000000000200000) is linked to itself"},
		{"Switch 8 \"a\"\nHca 1 \"b\"\n[1] \"a\"[1] w=4\n", `3:12: "w=4" stands where the end of the line should`},
		{"Switch 8 \"a\"\nmodule x\n", `2:1: "module" stands where a node of ibsim (Switch, Hca, Ca, Rt) or a port such as [1] should`},
		{"Switch 8 \"a\nx", `1:11: "a" stands where the name of a node and the double quote that ends it should`},
		{"Switch 2 \"a\"\nHca 1 \"b\"\n[1] \"a\"[3]\n", "port"},
	} {
		_, err := Parse([]byte(tt.text), ParseOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
}
