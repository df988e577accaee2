package subnet

// Fault is an entry of tables from a file that does not lead to the owner of its
// LID, or a circle of entries.
type Fault struct {
	What FaultKind
	LID  LID
	Node int   // the switch; of a loop the first by number
	Port uint8 // that it sends by
	Line int   // of the file; 0 for an entry that is missing
	Loop []End // of a loop: the ports that send, from Node on
}

// FaultKind says what is wrong with an entry.
type FaultKind uint8

// Kinds of fault.
const (
	NoEntry   FaultKind = iota // an adapter's LID, which cables lead to, has none
	DeadPort                   // no link is at the port
	NotHere                    // port 0, or an adapter, of somebody else
	Forwarded                  // the entries of several switches form a loop
)

// Faults looks at every entry of tables that ReadLFTs has read, LID by LID: where
// the switches send it, and whether that goes round in a circle. An entry that is
// missing counts for LIDs of adapters, at switches that cables join to them.
func (t *Tables) Faults() []Fault {
	if t.lines == nil {
		return nil
	}
	var out []Fault
	h := newHops(t.Fabric)
	seen := make([]int, len(t.Fabric.Nodes)) // by node: the walk that came by
	walk := 0
	for lid := 1; lid < len(t.Owner); lid++ {
		if t.Owner[lid] < 0 {
			continue
		}
		owner := t.Fabric.Endports[t.Owner[lid]]
		if home := t.Fabric.leafOf(owner); home >= 0 {
			h.towards(home)
		} else {
			continue
		}
		before := walk
		for n := range t.LFT {
			if t.LFT[n] == nil {
				continue
			}
			if f, bad := t.entryFault(n, LID(lid), owner, h); bad {
				out = append(out, f)
			}
			walk++
			if loop := t.loopFrom(n, LID(lid), seen, before, walk); loop != nil {
				first := loop[0]
				out = append(out, Fault{Forwarded, LID(lid), first.Node, uint8(first.Port), int(t.lines[first.Node][lid]), loop})
			}
		}
	}
	return out
}

// entryFault judges one entry by itself.
func (t *Tables) entryFault(n int, lid LID, owner End, h *hops) (Fault, bool) {
	f := Fault{LID: lid, Node: n, Port: t.Lookup(n, lid), Line: int(t.lines[n][lid])}
	switch {
	case f.Port == NoPort:
		f.What = NoEntry
		return f, !t.Fabric.isSwitch(owner.Node) && h.dist[n] >= 0
	case f.Port == 0:
		f.What = NotHere
		return f, n != owner.Node
	}
	p := &t.Fabric.Nodes[n].Ports[f.Port]
	if p.Peer < 0 {
		f.What = DeadPort
		return f, true
	}
	f.What = NotHere
	return f, !t.Fabric.isSwitch(p.Peer) && (p.Peer != owner.Node || p.PeerPort != owner.Port)
}

// loopFrom follows a LID from switch n until it ends, meets a switch that an
// earlier walk of the same LID (numbered above before) came by, or closes a circle,
// which it returns.
func (t *Tables) loopFrom(n int, lid LID, seen []int, before, walk int) []End {
	for t.Fabric.isSwitch(n) && seen[n] <= before {
		seen[n] = walk
		port := t.Lookup(n, lid)
		if port == NoPort || port == 0 {
			return nil
		}
		n = t.Fabric.Nodes[n].Ports[port].Peer
	}
	if !t.Fabric.isSwitch(n) || seen[n] != walk {
		return nil
	}
	loop := []End{{n, int(t.Lookup(n, lid))}}
	for at := t.next(loop[0]); at != n; {
		e := End{at, int(t.Lookup(at, lid))}
		loop = append(loop, e)
		at = t.next(e)
	}
	return loop
}

// next returns the node that a port leads to.
func (t *Tables) next(e End) int { return t.Fabric.Nodes[e.Node].Ports[e.Port].Peer }
