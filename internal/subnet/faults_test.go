package subnet

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Each way in which an entry of a file can be wrong is found at its line; tables
// that are right have no fault, whatever the engine.
func TestFaults(t *testing.T) {
	f := ring(t, 4, 1)
	for _, engine := range Engines() {
		if got := reread(t, routed(t, fatTreeOf(t, 4, 3, 0), Options{Engine: engine}), "", "").Faults(); len(got) != 0 {
			t.Errorf("%s: faults %+v in good tables", engine, got)
		}
	}
	tables := routed(t, f, Options{Engine: "minhop"})
	if tables.Faults() != nil {
		t.Error("tables that an engine made were judged as a file's")
	}
	// The first switch, its LID, that of its host, and of a host of another switch.
	s := tables.leaves[0]
	own := f.Endports[tables.adapters[0][0]]
	far := f.Endports[tables.adapters[1][0]]
	line := func(lid LID, port int, kind string) string {
		return fmt.Sprintf("0x%04x %03d : (%s", lid, port, kind)
	}
	const adapter = "Channel Adapter portguid"
	farLID, ownLID := f.port(far).LID, f.port(own).LID
	farPort, ownPort := int(tables.Lookup(s, farLID)), f.port(own).PeerPort
	next := f.Nodes[s].Ports[farPort].Peer
	if next != f.leafOf(far) {
		t.Fatal("the two leaves are no neighbours")
	}
	// A switch of the ring has its host and two neighbours; nothing else is linked.
	for name, tt := range map[string]struct {
		old, new string
		want     Fault
	}{
		"own host's port":  {line(farLID, farPort, adapter), line(farLID, ownPort, adapter), Fault{What: NotHere, LID: farLID, Node: s, Port: uint8(ownPort)}},
		"port 0":           {line(ownLID, ownPort, adapter), line(ownLID, 0, adapter), Fault{What: NotHere, LID: ownLID, Node: s, Port: 0}},
		"an entry missing": {line(ownLID, ownPort, adapter), "0x0000 255 : (", Fault{What: NoEntry, LID: ownLID, Node: s, Port: NoPort}},
	} {
		got := reread(t, tables, tt.old, tt.new).Faults()
		if len(got) != 1 || got[0].What != tt.want.What || got[0].LID != tt.want.LID || got[0].Node != tt.want.Node || got[0].Port != tt.want.Port {
			t.Errorf("%s: faults %+v, want %+v", name, got, tt.want)
		} else if got[0].Line == 0 != (tt.want.What == NoEntry) {
			t.Errorf("%s: line %d", name, got[0].Line)
		}
	}
	// The neighbour sends back what it got: two entries form a loop, and no path
	// of the loop counts as a dependency.
	back := f.Nodes[s].Ports[farPort].PeerPort
	bad := reread(t, tables, "", "")
	bad.LFT[next][farLID] = uint8(back)
	got := bad.Faults()
	if len(got) != 1 || got[0].What != Forwarded || !slices.Equal(got[0].Loop, []End{{s, farPort}, {next, back}}) {
		t.Errorf("loop: %+v", got)
	}
	if a, b := tables.CreditLoops(0), bad.CreditLoops(0); b.Dependencies > a.Dependencies {
		t.Errorf("%d dependencies with a forwarding loop, %d without", b.Dependencies, a.Dependencies)
	}
	dead := make([]bool, len(f.Links))
	dead[f.Nodes[s].Ports[farPort].Link] = true
	bad = reread(t, tables, "", "")
	var err error
	if bad.Fabric, err = f.Without(dead); err != nil {
		t.Fatal(err)
	}
	for _, x := range bad.Faults() {
		if x.What != DeadPort || x.Line == 0 {
			t.Errorf("a port without a link: %+v", x)
		}
	}
	if len(bad.Faults()) == 0 {
		t.Error("entries to a port without a link were not found")
	}
}

// reread writes tables, changes the first old to new and reads them back.
func reread(t *testing.T, tables *Tables, old, new string) *Tables {
	t.Helper()
	var b bytes.Buffer
	if err := tables.WriteLFTs(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if old != "" && !strings.Contains(text, old) {
		t.Fatalf("%q is not in the tables:\n%s", old, text)
	}
	got, err := ReadLFTs(tables.Fabric, []byte(strings.Replace(text, old, new, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return got
}
