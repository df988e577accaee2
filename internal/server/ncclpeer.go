package server

import "strings"

// peerLink is what both GPUs, or a GPU and the NVSwitches, say of the links between
// them. a and b are indices in xmlReader.nodes, a the lower.
type peerLink struct {
	a, b  int      // b is toSwitch for NVSwitches
	said  [2]int   // how many links a and b name; a alone to NVSwitches
	count int      // what is taken
	el    *element // of the first that names it
}

// namedPeer is an <nvlink> or <xgmi> before its target is known.
type namedPeer struct {
	from   string // bus number of the GPU it stands in
	target string
	class  string
	count  int
	el     *element
}

// readPeer reads an <nvlink> or <xgmi> of a GPU.
func (r *xmlReader) readPeer(n *pciNode, e *element) error {
	target, _ := e.attr("target")
	class, _ := e.attr("tclass")
	count, err := e.integer("count", 1)
	switch {
	case err != nil:
		return err
	case target == "":
		return e.attrErrorf("target", "<%s> has no target; write the bus number of the other end", e.name)
	case count < 0 || count > maxPeerLinks:
		return e.attrErrorf("count", "count=%d; a GPU has 1 to %d such links", count, maxPeerLinks)
	case count == 0:
		r.warn(e.line, "count=0: no link is up; left out")
		return nil
	}
	r.named = append(r.named, namedPeer{n.bus, strings.ToLower(target), strings.ToLower(class), int(count), e})
	return nil
}

// maxPeerLinks bounds the links of a GPU: Blackwell has 18, and NVLink 6 twice that.
const maxPeerLinks = 72

// resolvePeers finds the ends of all links between GPUs.
func (r *xmlReader) resolvePeers(*element) error {
	for i := range r.named {
		x := &r.named[i]
		from := r.at[x.from]
		to, known := r.at[x.target]
		switch {
		case strings.HasPrefix(x.class, "0x0680") && x.class != "0x068001":
			r.addSwitched(from, x)
		case !known:
			r.warn(x.el.line, "the other end of this link, %s, is not in the file; the link is left out", clip(x.target))
		case r.nodes[to].kind != GPU:
			r.warn(x.el.line, "the other end of this link is %s, no GPU; the link is left out", r.nodes[to].label())
		case to == from:
			return x.el.attrErrorf("target", "the target is the GPU itself; a link has another GPU or an NVSwitch at its other end")
		default:
			r.addDirect(from, to, x)
		}
	}
	for i := range r.peers {
		r.settle(&r.peers[i])
	}
	return nil
}

// settle decides how many links there are when both ends do not say the same.
func (r *xmlReader) settle(p *peerLink) {
	p.count = max(p.said[0], p.said[1])
	if p.b == toSwitch || p.said[0] == p.said[1] {
		return
	}
	a, b := r.nodes[p.a].label(), r.nodes[p.b].label()
	if p.said[0] == 0 || p.said[1] == 0 {
		r.warn(p.el.line, "only one of %s and %s names the link between them; it is taken to be there", a, b)
		return
	}
	p.count = min(p.said[0], p.said[1])
	r.warn(p.el.line, "%s names %d links to %s, which names %d; %d are taken", a, p.said[0], b, p.said[1], p.count)
}

// addSwitched adds a GPU's links to one of the NVSwitches.
func (r *xmlReader) addSwitched(gpu int, x *namedPeer) {
	p := r.peer(gpu, toSwitch, x.el)
	p.said[0] += x.count
}

// addDirect adds what one of two GPUs says of the links between them.
func (r *xmlReader) addDirect(from, to int, x *namedPeer) {
	p := r.peer(min(from, to), max(from, to), x.el)
	if from == p.a {
		p.said[0] += x.count
	} else {
		p.said[1] += x.count
	}
}

// peer finds or begins the entry of two ends.
func (r *xmlReader) peer(a, b int, el *element) *peerLink {
	for i := range r.peers {
		if p := &r.peers[i]; p.a == a && p.b == b {
			return p
		}
	}
	r.peers = append(r.peers, peerLink{a: a, b: b, el: el})
	return &r.peers[len(r.peers)-1]
}
