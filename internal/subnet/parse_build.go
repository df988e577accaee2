package subnet

import (
	"fmt"
	"strings"
)

// addHalf notes one side's line about a link.
func (r *reader) addHalf(h half) {
	if r.err != nil {
		return
	}
	for _, i := range r.records[h.node].halves {
		if r.halves[i].port == h.port {
			r.fail(h.at, "port %d of %s stands on line %d already; a port has one link", h.port, r.title(h.node), r.halves[i].at.line)
			return
		}
	}
	if h.node == h.peer && h.port == h.peerPort {
		r.fail(h.peerAt, "port %d of %s is linked to itself", h.port, r.title(h.node))
		return
	}
	r.records[h.node].halves = append(r.records[h.node].halves, len(r.halves))
	r.halves = append(r.halves, h)
}

// title names a record for errors.
func (r *reader) title(i int) string {
	rec := &r.records[i]
	if rec.name == "" {
		return fmt.Sprintf("%s %s", rec.kind, rec.guid)
	}
	return fmt.Sprintf("%s %s (%s)", rec.kind, rec.name, rec.guid)
}

// warnf keeps the first warnings in full.
func (r *reader) warnf(at place, format string, args ...any) {
	msg := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	r.warn = append(r.warn, fmt.Sprintf("%d:%d: %s", at.line, at.col, msg))
}

// build turns records and lines into a fabric and checks that they agree.
func (r *reader) build() {
	if len(r.records) == 0 {
		r.fail(place{1, 1}, "the file names no node; is it output of ibnetdiscover?")
		return
	}
	r.checkPorts()
	f := &Fabric{}
	r.f = f
	for i := range r.records {
		rec := &r.records[i]
		f.addNode(rec.kind, rec.guid, rec.name, rec.ports)
		n := &f.Nodes[i]
		n.System, n.Enhanced = rec.system, rec.kind == Switch && !rec.base
		if n.Name == "" {
			n.Name = rec.guid.String()
		}
		if rec.kind == Switch {
			n.Ports[0].GUID, n.Ports[0].LID, n.Ports[0].LMC = rec.guid, rec.lid, rec.lmc
		}
	}
	for i := range r.halves {
		if r.err == nil {
			r.joinHalf(&r.halves[i])
		}
	}
	if r.err == nil {
		r.uniqueNames()
		f.finish()
		r.checkLIDs()
		f.Warnings = r.warn
	}
	if r.err == nil {
		r.checkPieces()
	}
}

// checkPorts sees that every node has the ports that are spoken of. A node
// without a record has as many as its neighbours need; only channel adapters may
// lack one, for all that matters of them stands on the switch's line.
func (r *reader) checkPorts() {
	for i := range r.halves {
		h := &r.halves[i]
		rec, peer := &r.records[h.node], &r.records[h.peer]
		if h.port > rec.ports {
			r.fail(h.at, "port %d of %s, which has %d ports", h.port, r.title(h.node), rec.ports)
			return
		}
		switch {
		case peer.own && h.peerPort > peer.ports && !r.byPort:
			r.fail(h.peerAt, "port %d of %s, which has %d ports", h.peerPort, r.title(h.peer), peer.ports)
			return
		case !peer.own && peer.kind == Switch && !r.opt.Partial:
			r.fail(h.peerAt, "%s is linked here but has no record of its own; add it, or use --partial if the file is an excerpt", r.title(h.peer))
			return
		}
		peer.ports = max(peer.ports, h.peerPort)
	}
}

// joinHalf adds the link of a line unless its other side has done so, and
// checks that both sides agree.
func (r *reader) joinHalf(h *half) {
	f := r.f
	mine, other := &f.Nodes[h.node].Ports[h.port], &f.Nodes[h.peer].Ports[h.peerPort]
	back := r.halfAt(h.peer, h.peerPort)
	switch {
	case back != nil && (back.peer != h.node || back.peerPort != h.port):
		r.fail(h.at, "port %d of %s is linked to port %d of %s, which line %d links to port %d of %s; both sides must agree",
			h.port, r.title(h.node), h.peerPort, r.title(h.peer), back.at.line, back.peerPort, r.title(back.peer))
		return
	case back == nil && r.records[h.peer].own && !r.opt.Partial:
		r.fail(h.at, "the link from port %d of %s to port %d of %s is named from this side only; the record of the other (line %d) lacks it",
			h.port, r.title(h.node), h.peerPort, r.title(h.peer), r.records[h.peer].at.line)
		return
	case back == nil && other.Peer >= 0:
		r.fail(h.peerAt, "port %d of %s has two links; a port has one", h.peerPort, r.title(h.peer))
		return
	case back == nil:
		r.warnf(h.at, "the link from port %d of %s to port %d of %s is named from this side only", h.port, r.title(h.node), h.peerPort, r.title(h.peer))
	}
	r.setEndport(h.node, mine, h.portGUID, h.lid, h.at)
	mine.LMC = max(mine.LMC, h.lmc)
	r.setEndport(h.peer, other, h.peerGUID, h.peerLID, h.peerAt)
	r.switchLID(h)
	if r.err != nil || mine.Peer >= 0 {
		return
	}
	rate := h.rate
	if back != nil && back.rate.rate != rate.rate {
		if rate.rate == 0 || back.rate.rate > 0 && back.rate.rate < rate.rate {
			rate = back.rate
		}
		r.warnf(h.at, "line %d gives this link another rate; the lower one, %s, counts", back.at.line, rate.name)
	}
	if rate.rate == 0 {
		r.warnf(h.at, "the speed of a link is unknown; 4xSDR is assumed")
		rate = linkRate{"4xSDR", 4 * laneRate("SDR")}
	}
	f.join(Link{A: End{h.node, h.port}, B: End{h.peer, h.peerPort}, Rate: rate.rate, Name: rate.name})
}

// halfAt returns the line of a node's port, nil if it has none.
func (r *reader) halfAt(node, port int) *half {
	for _, i := range r.records[node].halves {
		if r.halves[i].port == port {
			return &r.halves[i]
		}
	}
	return nil
}

// setEndport notes the GUID and LID of an adapter's port, from its own record
// or from the other side of the link.
func (r *reader) setEndport(node int, p *Port, guid GUID, lid LID, at place) {
	if r.records[node].kind == Switch {
		p.GUID = r.records[node].guid
		return
	}
	if p.GUID != 0 && p.GUID != guid {
		r.fail(at, "the port has GUID %s here and %s on the other side of the link; they must agree", guid, p.GUID)
		return
	}
	if guid == 0 {
		r.fail(at, "a port has GUID 0; each needs its own")
		return
	}
	if p.GUID == 0 {
		if first, ok := r.ports[guid]; ok {
			r.fail(at, "port GUID %s stands on line %d for another port; each port has its own", guid, first.line)
			return
		}
		r.ports[guid] = at
	}
	if p.LID != 0 && lid != 0 && p.LID != lid {
		r.fail(at, "the port with GUID %s has LID %d here and LID %d on the other side of the link; they must agree", guid, lid, p.LID)
		return
	}
	p.GUID = guid
	if lid != 0 {
		p.LID = lid
	}
}

// switchLID compares the LID of a switch as its neighbour has it, and takes it
// when the switch has no record.
func (r *reader) switchLID(h *half) {
	rec := &r.records[h.peer]
	if rec.kind != Switch || h.peerLID == 0 {
		return
	}
	port0 := &r.f.Nodes[h.peer].Ports[0]
	if port0.LID == 0 {
		port0.LID = h.peerLID
	}
	if port0.LID != h.peerLID {
		r.fail(h.peerAt, "%s has LID %d here and LID %d on line %d; they must agree", r.title(h.peer), h.peerLID, port0.LID, rec.at.line)
	}
}

// uniqueNames makes the names of nodes differ: node descriptions may repeat.
func (r *reader) uniqueNames() {
	seen := map[string]int{} // looked up, never iterated
	for i := range r.f.Nodes {
		seen[r.f.Nodes[i].Name]++
	}
	for i := range r.f.Nodes {
		if n := &r.f.Nodes[i]; seen[n.Name] > 1 {
			n.Name = fmt.Sprintf("%s (%s)", n.Name, n.GUID)
		}
	}
}

// checkLIDs sees that no LID has two owners and that blocks are aligned, then
// completes them.
func (r *reader) checkLIDs() {
	f := r.f
	owner := make([]int, MaxUnicastLID+1<<MaxLMC+1)
	for i, e := range f.Endports {
		p := f.port(e)
		if p.LID == 0 {
			continue
		}
		at := r.records[e.Node].at
		if int(p.LID)%(1<<p.LMC) != 0 || int(p.LID)+1<<p.LMC-1 > MaxUnicastLID {
			r.fail(at, "LID %d of %s cannot have LMC %d: its %d LIDs must begin at a multiple of %d and end by %d",
				p.LID, f.Name(e), p.LMC, 1<<p.LMC, 1<<p.LMC, MaxUnicastLID)
			return
		}
		for l := int(p.LID); l < int(p.LID)+1<<p.LMC; l++ {
			if owner[l] > 0 {
				r.fail(at, "LID %d belongs to %s and to %s; each LID has one owner", l, f.Name(f.Endports[owner[l]-1]), f.Name(e))
				return
			}
			owner[l] = i + 1
		}
	}
	if err := f.completeLIDs(); err != nil {
		r.fail(place{1, 1}, "%v", err)
	}
}

// checkPieces counts the parts that no link joins: a subnet manager sees one.
func (r *reader) checkPieces() {
	f := r.f
	seen := make([]bool, len(f.Nodes))
	var firsts []int
	for i := range f.Nodes {
		if seen[i] {
			continue
		}
		firsts = append(firsts, i)
		seen[i] = true
		queue := []int{i}
		for q := 0; q < len(queue); q++ {
			for _, p := range f.Nodes[queue[q]].Ports {
				if p.Peer >= 0 && !seen[p.Peer] {
					seen[p.Peer] = true
					queue = append(queue, p.Peer)
				}
			}
		}
	}
	if len(firsts) == 1 {
		return
	}
	at := r.records[firsts[1]].at
	if !r.opt.Partial {
		r.fail(at, "no link joins %s to %s; a subnet is one piece, so add the missing links, or use --partial if the file is an excerpt",
			r.title(firsts[1]), r.title(firsts[0]))
		return
	}
	r.f.Warnings = append(r.f.Warnings, fmt.Sprintf("%d:%d: the file shows %d pieces that no link joins; each is routed by itself", at.line, at.col, len(firsts)))
}
