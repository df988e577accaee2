package subnet

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
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

// IsLFTs reports whether text looks like what ReadLFTs reads, by its first line that
// is not empty.
func IsLFTs(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("Unicast lids"))
}

// longKind names a kind of node as the diagnostic tools do.
func longKind(k Kind) string {
	return [...]string{"Channel Adapter", "Switch", "Router"}[k]
}

// ReadLFTs reads tables that dump_lfts (dump_fts) or OpenSM (opensm-lfts.dump)
// printed for a fabric: a head per switch with its GUID, then a LID and a port per
// line. LIDs and switches must be those of the fabric. An error is an *Error.
func ReadLFTs(f *Fabric, text []byte) (*Tables, error) {
	r := &reader{}
	d := &tableReader{r: r, t: newTables(f, "tables read from a file"), current: -1, seen: make([]int, len(f.Nodes))}
	d.t.lines = make([][]int32, len(f.Nodes))
	for n := range f.Nodes {
		d.t.lines[n] = make([]int32, len(d.t.LFT[n]))
	}
	line := 0
	for raw := range bytes.Lines(text) {
		line++
		c := &cursor{r: r, line: line, s: strings.TrimRight(string(raw), " \t\r\n")}
		d.line(c)
		if r.err != nil {
			return nil, r.err
		}
	}
	for n := range f.Nodes {
		if f.Nodes[n].Kind == Switch && d.seen[n] == 0 {
			r.fail(place{line + 1, 1}, "the file ends without a table of switch %s (%s); is it torn, or of another subnet?", f.Nodes[n].Name, f.Nodes[n].GUID)
			return nil, r.err
		}
	}
	return d.t, nil
}

// tableReader reads one switch after another.
type tableReader struct {
	r       *reader
	t       *Tables
	current int   // node whose table is being read, -1 none
	seen    []int // by node: the line of its head, 0 none
}

func (d *tableReader) line(c *cursor) {
	c.space()
	switch {
	case c.done() || strings.HasPrefix(c.s[c.i:], "Lid ") || strings.HasPrefix(c.s[c.i:], "Port "):
	case c.peek("Unicast lids"):
		d.head(c)
	case c.peek("0x"):
		d.entry(c)
	case c.s[c.i] >= '0' && c.s[c.i] <= '9' && strings.HasSuffix(c.s, "lids dumped"):
	case c.peek("***"): // that the command has a new name
	default:
		c.bad("Unicast lids of a switch, or a LID and a port such as 0x0001 001,")
	}
}

// head finds the switch by the GUID in "... of switch Lid 2 guid 0x...".
func (d *tableReader) head(c *cursor) {
	i := strings.Index(c.s, " guid ")
	if i < 0 {
		c.i = len(c.s)
		c.bad("guid and the GUID of the switch")
		return
	}
	c.i = i + len(" guid ")
	at := c.at()
	if !c.expect("0x", "a GUID such as 0x0002c9020040f160") {
		return
	}
	guid := c.hex("a GUID")
	if c.r.err != nil {
		return
	}
	n, ok := d.t.Fabric.NodeByName(guid.String())
	if !ok || d.t.LFT[n] == nil {
		c.r.fail(at, "there is no switch with GUID %s; are the tables of another subnet?", guid)
		return
	}
	if d.seen[n] > 0 {
		c.r.fail(at, "the table of switch %s stands on line %d already", d.t.Fabric.Nodes[n].Name, d.seen[n])
		return
	}
	d.current, d.seen[n] = n, c.line
}

// entry reads "0x0001 002" and leaves the rest, a comment.
func (d *tableReader) entry(c *cursor) {
	at := c.at()
	if d.current < 0 {
		c.r.fail(at, "an entry stands before the head of any switch; is the file torn?")
		return
	}
	c.i += len("0x")
	lid := c.hex("a LID")
	if c.r.err == nil && c.peek("UNREACHABLE") {
		return
	}
	port := c.number("a port", NoPort)
	if c.r.err != nil || port == NoPort {
		return
	}
	if int(lid) >= len(d.t.Owner) || d.t.Owner[lid] < 0 {
		c.r.fail(at, "nobody in the subnet has LID %d; are the tables of another one?", lid)
		return
	}
	if ports := len(d.t.Fabric.Nodes[d.current].Ports) - 1; port > ports {
		c.r.fail(at, "LID %d leaves by port %d of switch %s, which has %d ports", lid, port, d.t.Fabric.Nodes[d.current].Name, ports)
		return
	}
	d.t.LFT[d.current][lid], d.t.lines[d.current][lid] = uint8(port), int32(c.line)
}
