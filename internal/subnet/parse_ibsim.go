package subnet

import (
	"bytes"
	"strings"
)

// Net files of ibsim name nodes freely: a line such as
//
//	Switch 8 "Switch1"
//
// begins a node with so many ports, [1] "Hca1"[1] below it is a link, and of a link one
// side is enough. GUIDs follow from order as ibsim gives them: adapters from 0x100000, switches
// from 0x200000, each as many higher as the one before has ports, and one more.

// GUIDs of ibsim's first nodes.
const (
	ibsimAdapters GUID = 0x100000
	ibsimSwitches GUID = 0x200000
	ibsimRouters  GUID = 0x300000
)

// ibsimKind is the kind of node that a word begins; ok is false of other words.
func ibsimKind(word string) (kind Kind, ok bool) {
	switch word {
	case "Switch":
		return Switch, true
	case "Ca", "Hca":
		return CA, true
	case "Rt", "Router":
		return Router, true
	}
	return 0, false
}

// isIBSim looks for a first node whose name holds no GUID.
func isIBSim(text []byte) bool {
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		_, ok := ibsimKind(f[0])
		guid := len(f) > 2 && (strings.HasPrefix(f[2], `"S-`) || strings.HasPrefix(f[2], `"H-`) || strings.HasPrefix(f[2], `"R-`))
		return ok && len(f) > 2 && f[2][0] == '"' && !guid
	}
	return false
}

// ibsimReader reads a net file.
type ibsimReader struct {
	r       *reader
	names   map[string]int // records; looked up, never iterated
	next    [3]GUID        // by kind
	current int            // record that port lines belong to, -1 none
}

// ibsimForm reads the nodes, then the links, which may name nodes that come later.
func (r *reader) ibsimForm(text []byte) {
	b := ibsimReader{r: r, names: map[string]int{}}
	b.next = [3]GUID{CA: ibsimAdapters, Switch: ibsimSwitches, Router: ibsimRouters}
	for _, read := range []func(*cursor){b.node, b.link} {
		line := 0
		b.current = -1
		for raw := range bytes.Lines(text) {
			line++
			s := strings.TrimRight(string(raw), "\r\n")
			c := &cursor{r: r, line: line, s: s}
			if c.space(); c.done() || s[c.i] == '#' {
				continue
			}
			if read(c); r.err != nil {
				return
			}
		}
	}
}

// name reads a name in double quotes.
func (c *cursor) name() string {
	if !c.expect(`"`, "a node's name in double quotes") {
		return ""
	}
	name, _, ok := strings.Cut(c.s[c.i:], `"`)
	if !ok || name == "" {
		c.bad("the name of a node and the double quote that ends it")
		return ""
	}
	c.i += len(name) + 1
	return name
}

// node reads the lines that begin nodes.
func (b *ibsimReader) node(c *cursor) {
	if c.s[c.i] == '[' {
		return
	}
	start := c.i
	kind, ok := ibsimKind(c.word())
	if !ok {
		c.i = start
		c.bad("a node of ibsim (Switch, Hca, Ca, Rt) or a port such as [1]")
		return
	}
	ports := c.number("the number of ports", MaxPorts)
	c.space()
	at := c.at()
	name := c.name()
	if b.r.err != nil {
		return
	}
	if i, twice := b.names[name]; twice {
		b.r.fail(at, "%s has a record on line %d already; each node has one", name, b.r.records[i].at.line)
		return
	}
	i := b.r.node(kind, b.next[kind], at)
	rec := &b.r.records[i]
	rec.own, rec.base, rec.ports, rec.name = true, true, ports, name
	b.names[name] = i
	b.next[kind] += GUID(ports) + 1
}

// link reads the ports of the nodes. A side that the file leaves out is the mirror image.
func (b *ibsimReader) link(c *cursor) {
	r := b.r
	if c.s[c.i] != '[' {
		c.word()
		c.number("the number of ports", MaxPorts)
		b.current = b.names[c.name()]
		return
	}
	h := half{node: b.current, at: c.at()}
	if b.current < 0 {
		r.fail(h.at, "a port stands before any node; a line such as Hca 1 \"Hca1\" must come first. Is the file torn?")
		return
	}
	h.port = c.bracket()
	c.external()
	c.space()
	h.peerAt = c.at()
	name := c.name()
	if r.err != nil {
		return
	}
	peer, ok := b.names[name]
	if !ok {
		r.fail(h.peerAt, "there is no node %q; each needs a line such as Hca 1 %q", name, name)
		return
	}
	h.peer, h.peerPort = peer, c.bracket()
	if c.external(); r.err == nil && !c.peek("#") {
		c.end()
	}
	if r.err != nil {
		return
	}
	h.rate = linkRate{"4xSDR", 4 * laneRate("SDR")} // what ibsim's ports have
	h.portGUID, h.peerGUID = b.portGUID(h.node, h.port), b.portGUID(h.peer, h.peerPort)
	known := -1 // this port, from the other side's line
	for _, i := range r.records[h.node].halves {
		if r.halves[i].port == h.port {
			known = i
		}
	}
	if known >= 0 && r.halves[known].peer == h.peer && r.halves[known].peerPort == h.peerPort {
		return
	}
	r.addHalf(h)
	r.addHalf(half{node: h.peer, port: h.peerPort, peer: h.node, peerPort: h.port, at: h.at, peerAt: h.at, rate: h.rate,
		portGUID: h.peerGUID, peerGUID: h.portGUID})
}

// portGUID is that of an adapter's or router's port; switches have one for all.
func (b *ibsimReader) portGUID(node, port int) GUID {
	if rec := &b.r.records[node]; rec.kind != Switch {
		return rec.guid + GUID(port)
	}
	return 0
}
