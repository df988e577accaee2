package subnet

import (
	"bytes"
	"strings"
)

// portKind returns the kind of node that CA, SW or RT stands for, -1 for
// anything else.
func portKind(s string) int {
	switch s {
	case "CA":
		return int(CA)
	case "SW":
		return int(Switch)
	case "RT":
		return int(Router)
	}
	return -1
}

// portForm reads ibnetdiscover -p: a line per port, linked or not. Here a port
// of an adapter is known by its port GUID alone, so each is a node of its own.
func (r *reader) portForm(text []byte) {
	line := 0
	for raw := range bytes.Lines(text) {
		line++
		c := &cursor{r: r, line: line, s: strings.TrimRight(string(raw), " \t\r\n")}
		if c.space(); c.done() || c.s[c.i] == '#' {
			continue
		}
		r.portRow(c)
		if r.err != nil {
			return
		}
	}
}

// portEnd is one end of a line of the port form.
type portEnd struct {
	kind Kind
	lid  LID
	port int
	guid GUID
	at   place
}

func (c *cursor) portEnd() (e portEnd) {
	c.space()
	e.at = c.at()
	at := c.i
	kind := portKind(c.word())
	if kind < 0 {
		c.i = at
		c.bad("CA, SW or RT")
		return e
	}
	e.kind = Kind(kind)
	e.lid = LID(c.number("a LID", MaxUnicastLID))
	if c.r.err == nil {
		c.space()
		portAt := c.at()
		if e.port = c.number("a port number", MaxPorts); c.r.err == nil && e.port == 0 {
			c.r.fail(portAt, "a line is about port 0, which is a switch's own; ports count from 1")
		}
	}
	if c.r.err == nil && c.expect("0x", "a GUID such as 0x0002c9020040f160") {
		e.guid = c.hex("a GUID")
		if c.r.err == nil && e.guid == 0 {
			c.r.fail(c.at(), "a node has GUID 0; each needs its own")
		}
	}
	return e
}

// portRow reads one line: a port, and what it is linked to if anything.
func (r *reader) portRow(c *cursor) {
	a := c.portEnd()
	if r.err != nil {
		return
	}
	rate := c.rate()
	if r.err != nil {
		return
	}
	if !c.peek("-") {
		name := c.singleQuoted("the node's description, or - and what the port is linked to")
		if r.opt.Partial && r.err == nil && r.otherLID(a) {
			return
		}
		r.portOf(a, name, true)
		return
	}
	c.i++
	b := c.portEnd()
	if r.err != nil || !c.expect("(", "the descriptions of both nodes in round brackets") {
		return
	}
	names := c.singleQuoted("the descriptions")
	if r.err == nil {
		c.expect(")", "a closing bracket")
	}
	mine, other, ok := strings.Cut(names, "' - '")
	if r.err == nil && !ok {
		r.fail(c.at(), "one description stands where two should, as in ( 'host HCA-1' - 'leaf1' )")
	}
	if r.err != nil {
		return
	}
	if r.opt.Partial && r.otherLID(a, b) {
		return
	}
	i := r.portOf(a, mine, true)
	j := r.portOf(b, other, false)
	if r.err != nil {
		return
	}
	h := half{node: i, port: a.port, peer: j, peerPort: b.port, rate: rate, at: a.at, peerAt: b.at,
		lid: a.lid, peerLID: b.lid}
	if a.kind != Switch {
		h.portGUID = a.guid
	}
	if b.kind != Switch {
		h.peerGUID = b.guid
	}
	r.addHalf(h)
}

// otherLID reports whether an end of a line has another LID than an earlier line
// gives it, and warns: an excerpt may be of several sweeps, or subnets. The line is
// then left out.
func (r *reader) otherLID(ends ...portEnd) bool {
	for _, e := range ends {
		if i, ok := r.guid[e.guid]; ok && r.records[i].lid != 0 && r.records[i].lid != e.lid {
			r.warnf(e.at, "GUID %s has LID %d here and LID %d on line %d; this line is left out", e.guid, e.lid, r.records[i].lid, r.records[i].at.line)
			return true
		}
	}
	return false
}

// singleQuoted takes text between single quotes, the last of the line being the
// closing one.
func (c *cursor) singleQuoted(what string) string {
	if !c.expect("'", what) {
		return ""
	}
	end := strings.LastIndexByte(c.s[c.i:], '\'')
	if end < 0 {
		c.i = len(c.s)
		c.bad("the single quote that ends the description")
		return ""
	}
	text := c.s[c.i : c.i+end]
	c.i += end + 1
	return visible(text)
}

// portOf notes what a line says of a node and returns its record.
func (r *reader) portOf(e portEnd, name string, own bool) int {
	if r.err != nil {
		return 0
	}
	i := r.node(e.kind, e.guid, e.at)
	if r.err != nil {
		return i
	}
	rec := &r.records[i]
	if rec.lid != 0 && rec.lid != e.lid {
		r.fail(e.at, "GUID %s has LID %d here and LID %d on line %d; a GUID names one port", e.guid, e.lid, rec.lid, rec.at.line)
		return i
	}
	if rec.lid == 0 {
		rec.lid = e.lid
	}
	if rec.name == "" || own && !rec.own {
		rec.name = strings.TrimSpace(name)
	}
	if own && !rec.own {
		rec.own, rec.at = true, e.at
	}
	if own {
		rec.ports = max(rec.ports, e.port)
	}
	return i
}
