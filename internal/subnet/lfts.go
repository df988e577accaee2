package subnet

import (
	"bufio"
	"fmt"
	"io"
)

// WriteLFTs writes the forwarding tables as dump_lfts prints them: a head per
// switch, a line per LID that somebody has, and the number of such lines. The
// switch is named by its LID where dump_lfts, which comes by directed route, shows
// that route.
func (t *Tables) WriteLFTs(w io.Writer) error {
	b := bufio.NewWriter(w)
	f := t.Fabric
	for n := range f.Nodes {
		if f.Nodes[n].Kind != Switch {
			continue
		}
		sw := &f.Nodes[n]
		fmt.Fprintf(b, "Unicast lids [0x0-0x%x] of switch Lid %d guid %s (%s):\n  Lid  Out   Destination\n       Port     Info \n",
			len(t.Owner)-1, sw.Ports[0].LID, sw.GUID, sw.Name)
		valid := 0
		for lid := 1; lid < len(t.Owner); lid++ {
			port := t.Lookup(n, LID(lid))
			if port == NoPort || t.Owner[lid] < 0 {
				continue
			}
			valid++
			e := f.Endports[t.Owner[lid]]
			fmt.Fprintf(b, "0x%04x %03d : (%s portguid %s: '%s')\n", lid, port, longKind(f.Nodes[e.Node].Kind), f.port(e).GUID, f.Nodes[e.Node].Name)
		}
		fmt.Fprintf(b, "%d valid lids dumped \n", valid)
	}
	return b.Flush()
}

// longKind names a kind of node as the diagnostic tools do.
func longKind(k Kind) string {
	return [...]string{"Channel Adapter", "Switch", "Router"}[k]
}
