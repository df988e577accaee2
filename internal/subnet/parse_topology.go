package subnet

import (
	"bytes"
	"strings"
)

// topologyForm reads records of nodes: lines of key=value, a line that names
// the node, and a line per linked port.
func (r *reader) topologyForm(text []byte) {
	t := topologyReader{r: r, current: -1}
	line := 0
	for raw := range bytes.Lines(text) {
		line++
		c := &cursor{r: r, line: line, s: strings.TrimRight(string(raw), "\r\n")}
		t.line(c)
		if r.err != nil {
			return
		}
	}
	if t.keys && r.err == nil {
		r.fail(place{line + 1, 1}, "the file ends after the GUIDs of a node; is it torn?")
	}
}

type topologyReader struct {
	r       *reader
	current int  // record that port lines belong to, -1 none
	keys    bool // lines of key=value wait for their node
	system  GUID
	guid    GUID // of switchguid, caguid or rtguid; 0 none
	portGU  GUID // in brackets behind switchguid
}

func (t *topologyReader) line(c *cursor) {
	c.space()
	switch {
	case c.done() || c.s[c.i] == '#':
		return
	case c.s[c.i] == '[':
		t.portLine(c)
		return
	case strings.HasPrefix(c.s[c.i:], "Chassis") || strings.HasPrefix(c.s[c.i:], "Non-Chassis"):
		t.current = -1
		return
	}
	start := c.i
	word := c.word()
	if key, _, ok := strings.Cut(word, "="); ok && isHeaderKey(key) {
		c.i = start + len(key) + 1
		t.key(c, key)
		return
	}
	switch word {
	case "Switch":
		t.nodeLine(c, Switch)
	case "Ca":
		t.nodeLine(c, CA)
	case "Rt":
		t.nodeLine(c, Router)
	default:
		c.i = start
		c.bad("a node (Switch, Ca, Rt), a port such as [1], or one of vendid=, devid=, sysimgguid=, switchguid=, caguid=, rtguid=,")
	}
}

// key reads one key=value line.
func (t *topologyReader) key(c *cursor, key string) {
	if !t.keys {
		t.current, t.keys, t.system, t.guid, t.portGU = -1, true, 0, 0, 0
	}
	if !c.expect("0x", "0x and hexadecimal digits") {
		return
	}
	value := c.hex(key)
	switch key {
	case "sysimgguid":
		t.system = value
	case "switchguid", "caguid", "rtguid":
		t.guid = value
		if c.peek("(") {
			c.i++
			t.portGU = c.hex("a port GUID")
			c.expect(")", "a closing bracket")
		}
	}
	// sysimgguid may be followed by a chassis comment
	if c.peek("#") {
		return
	}
	if c.r.err == nil {
		c.end()
	}
}

// nodeName reads "S-0008f10400410015": the kind and GUID of a node.
func (c *cursor) nodeName() (Kind, GUID) {
	if !c.expect(`"`, `a node such as "S-0008f10400410015"`) {
		return 0, 0
	}
	kind := Kind(0)
	switch {
	case strings.HasPrefix(c.s[c.i:], "S-"):
		kind = Switch
	case strings.HasPrefix(c.s[c.i:], "H-"):
		kind = CA
	case strings.HasPrefix(c.s[c.i:], "R-"):
		kind = Router
	default:
		c.bad("S- (switch), H- (channel adapter) or R- (router) and a GUID")
		return 0, 0
	}
	c.i += 2
	guid := c.hex("a node GUID")
	if c.r.err == nil && guid == 0 {
		c.r.fail(c.at(), "a node has GUID 0; each needs its own")
	}
	if c.r.err == nil && (c.done() || c.s[c.i] != '"') {
		c.bad("the double quote that ends the node")
		return kind, guid
	}
	c.i++
	return kind, guid
}

// nodeLine reads the line that begins a record.
func (t *topologyReader) nodeLine(c *cursor, kind Kind) {
	r := t.r
	c.space()
	portsAt := c.at()
	ports := c.number("the number of ports", MaxPorts)
	if r.err == nil && ports == 0 {
		r.fail(portsAt, "a node has 0 ports; it needs at least one to be discovered")
	}
	c.space()
	at := c.at()
	named, guid := c.nodeName()
	if r.err != nil {
		return
	}
	if named != kind {
		r.fail(at, "the node is named as a %s, but the line begins as that of a %s", named, kind)
		return
	}
	if t.keys && t.guid != 0 && t.guid != guid {
		r.fail(at, "the node has GUID %s here and %s in the lines above it; they must agree", guid, t.guid)
		return
	}
	i := r.node(kind, guid, at)
	if r.err != nil {
		return
	}
	rec := &r.records[i]
	if rec.own {
		r.fail(at, "GUID %s has a record on line %d already; each node has one", guid, rec.at.line)
		return
	}
	rec.own, rec.at, rec.ports = true, at, ports
	if t.keys && t.system != 0 {
		rec.system = t.system
	}
	t.current, t.keys = i, false
	for c.peek("[") { // chassis and slot of grouped output
		end := strings.IndexByte(c.s[c.i:], ']')
		if end < 0 {
			c.i = len(c.s)
			c.bad("a closing bracket")
			return
		}
		c.i += end + 1
	}
	if c.expect("#", "# and the node's description") {
		rec.name = c.quoted("the node's description")
	}
	if r.err == nil && kind == Switch {
		t.switchPort0(c, rec)
	}
	if r.err == nil {
		c.end()
	}
}

// switchPort0 reads "base port 0 lid 3 lmc 0".
func (t *topologyReader) switchPort0(c *cursor, rec *record) {
	switch {
	case c.peek("base"):
		c.i += len("base")
		rec.base = true
	case c.peek("enhanced"):
		c.i += len("enhanced")
	default:
		c.bad("base or enhanced port 0 with its LID")
		return
	}
	if c.expect("port", "port 0") && c.expect("0", "port 0") {
		rec.lid, rec.lmc = c.lid(), c.lmc()
	}
}

// lid reads "lid 12".
func (c *cursor) lid() LID {
	if c.r.err != nil || !c.expect("lid", "lid and a number") {
		return 0
	}
	return LID(c.number("a LID", MaxUnicastLID))
}

// lmc reads "lmc 0".
func (c *cursor) lmc() uint8 {
	if c.r.err != nil || !c.expect("lmc", "lmc and a number") {
		return 0
	}
	return uint8(c.number("an LMC", MaxLMC))
}

// bracket reads a port number in square brackets.
func (c *cursor) bracket() int {
	if !c.expect("[", "a port number in square brackets") {
		return 0
	}
	at := c.at()
	n := c.number("a port number", MaxPorts)
	if c.r.err == nil && n == 0 {
		c.r.fail(at, "a link ends at port 0, which is a switch's own; ports count from 1")
	}
	if c.r.err == nil {
		c.expect("]", "a closing bracket")
	}
	return n
}

// external skips the label of an external port, such as [ext 5].
func (c *cursor) external() {
	if c.r.err == nil && c.peek("[") {
		if end := strings.IndexByte(c.s[c.i:], ']'); end > 0 {
			c.i += end + 1
		}
	}
}

// portLine reads one port of the current record.
func (t *topologyReader) portLine(c *cursor) {
	r := t.r
	h := half{node: t.current, at: c.at()}
	if t.current < 0 {
		r.fail(h.at, "a port stands before any node; a line such as Ca 1 \"H-...\" must come first. Is the file torn?")
		return
	}
	kind := r.records[t.current].kind
	h.port = c.bracket()
	if c.r.err == nil && kind != Switch {
		if c.expect("(", "the port GUID in round brackets") {
			h.portGUID = c.hex("a port GUID")
			c.expect(")", "a closing bracket")
		}
	}
	c.external()
	if r.err != nil {
		return
	}
	c.space()
	h.peerAt = c.at()
	peerKind, guid := c.nodeName()
	if r.err != nil {
		return
	}
	h.peerPort = c.bracket()
	c.external()
	if r.err == nil && peerKind != Switch && c.expect("(", "the port GUID in round brackets") {
		h.peerGUID = c.hex("a port GUID")
		c.expect(")", "a closing bracket")
	}
	if r.err != nil || !c.expect("#", "# and what is known of the link") {
		return
	}
	if kind != Switch {
		h.lid, h.lmc = c.lid(), c.lmc()
	}
	if r.err != nil {
		return
	}
	name := c.quoted("the neighbour's description")
	h.peerLID = c.lid()
	if r.err == nil {
		h.rate = c.rate()
	}
	t.extras(c)
	if r.err != nil {
		return
	}
	h.peer = r.node(peerKind, guid, h.peerAt)
	if p := &r.records[h.peer]; r.err == nil && p.name == "" && !p.own {
		p.name = name
	}
	r.addHalf(h)
}

// extras takes what newer versions append to a port line, such as s=4 w=2 v=3.
func (t *topologyReader) extras(c *cursor) {
	for c.r.err == nil {
		c.space()
		if c.done() {
			return
		}
		at := c.i
		key, value, ok := strings.Cut(c.word(), "=")
		if !ok || len(key) != 1 || value == "" || strings.Trim(value, "0123456789") != "" {
			c.i = at
			c.bad("the end of the line, or a letter=number")
		}
	}
}
