package subnet

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/topology"
)

// NoPort is the entry of a linear forwarding table for a LID that the switch
// drops (IBTA volume 1, 14.2.5.11).
const NoPort = 255

// Tables are the linear forwarding tables of all switches of a fabric.
type Tables struct {
	Fabric *Fabric
	Engine string  // which routing engine filled them
	Owner  []int32 // by LID: index into Fabric.Endports, -1 for a LID nobody has
	// LFT is nil for nodes that do not forward, else one output port per LID from
	// 0 to the top of Owner; 0 is the switch itself.
	LFT [][]uint8
	// Rank is the rank of each switch, 0 for roots, if the engine has ranks.
	Rank []int
	// Layer is the service level of the paths between two leaves, by index into
	// Leaves; nil: SL 0 everywhere. AssignSLs fills it.
	Layer  [][]uint8
	Layers int // number of service levels in use, at least 1

	lines     [][]int32 // by node and LID: line of the file that the entry stands on; nil: not from a file
	leafIndex []int32   // by node: index into leaves, -1
	leaves    []int     // switches with channel adapters, in node order
	adapters  [][]int   // by leaf: its endports that are no switches
}

func newTables(f *Fabric, engine string) *Tables {
	t := &Tables{Fabric: f, Engine: engine, Owner: f.owners(), LFT: make([][]uint8, len(f.Nodes)), Layers: 1}
	for i := range f.Nodes {
		if f.Nodes[i].Kind != Switch {
			continue
		}
		t.LFT[i] = make([]uint8, len(t.Owner))
		for l := range t.LFT[i] {
			t.LFT[i][l] = NoPort
		}
	}
	t.findLeaves()
	return t
}

// findLeaves lists the switches that channel adapters hang on.
func (t *Tables) findLeaves() {
	f := t.Fabric
	behind := make([][]int, len(f.Nodes))
	for i, e := range f.Endports {
		if leaf := f.leafOf(e); leaf >= 0 && f.Nodes[e.Node].Kind != Switch {
			behind[leaf] = append(behind[leaf], i)
		}
	}
	t.leafIndex = make([]int32, len(f.Nodes))
	for n := range f.Nodes {
		t.leafIndex[n] = -1
		if len(behind[n]) > 0 {
			t.leafIndex[n] = int32(len(t.leaves))
			t.leaves = append(t.leaves, n)
			t.adapters = append(t.adapters, behind[n])
		}
	}
}

// Lookup returns the port by which switch node sends to lid; NoPort: it drops.
func (t *Tables) Lookup(node int, lid LID) uint8 {
	if int(lid) >= len(t.LFT[node]) {
		return NoPort
	}
	return t.LFT[node][lid]
}

// Path returns the ports that transmit on the way from an endport to a LID, the
// source first. It is an error that says where when the tables do not lead there.
func (t *Tables) Path(from End, to LID) ([]End, error) {
	f := t.Fabric
	if int(to) >= len(t.Owner) || t.Owner[to] < 0 {
		return nil, fmt.Errorf("no endport has LID %d", to)
	}
	end := f.Endports[t.Owner[to]]
	hops := []End{from}
	at := f.port(from)
	for node, port := at.Peer, at.PeerPort; node != end.Node || port != end.Port && f.Nodes[node].Kind != Switch; {
		if !f.isSwitch(node) {
			return nil, fmt.Errorf("LID %d leads from %s to %s, which is not its owner and does not forward", to, f.Name(from), f.Nodes[node].Name)
		}
		out := t.Lookup(node, to)
		if out == NoPort || int(out) >= len(f.Nodes[node].Ports) || f.Nodes[node].Ports[out].Peer < 0 {
			return nil, fmt.Errorf("%s has no port for LID %d on the way from %s", f.Nodes[node].Name, to, f.Name(from))
		}
		if len(hops) > len(f.Nodes) {
			return nil, fmt.Errorf("LID %d loops: from %s it never arrives", to, f.Name(from))
		}
		hops = append(hops, End{node, int(out)})
		node, port = f.Nodes[node].Ports[out].Peer, f.Nodes[node].Ports[out].PeerPort
	}
	return hops, nil
}

// SL returns the service level of the path from an endport to a LID.
func (t *Tables) SL(from End, to LID) uint8 {
	if t.Layer == nil || int(to) >= len(t.Owner) || t.Owner[to] < 0 {
		return 0
	}
	src, dst := t.Fabric.leafOf(from), t.Fabric.leafOf(t.Fabric.Endports[t.Owner[to]])
	if src < 0 || dst < 0 || t.leafIndex[src] < 0 || t.leafIndex[dst] < 0 {
		return 0
	}
	return t.Layer[t.leafIndex[src]][t.leafIndex[dst]]
}

// Routes gives the tables the shape in which the simulated switches hold
// theirs: for every switch and endpoint of the graph that the fabric was made
// from, a group of one port, that of the endpoint's base LID plus offset (modulo
// its 2^LMC LIDs).
func (t *Tables) Routes(offset int) (*topology.Routes, error) {
	g := t.Fabric.graph
	if g == nil {
		return nil, fmt.Errorf("the fabric was read from a file; only one made from a topology has routes for the simulator")
	}
	lids := make([]LID, len(g.Endpoints))
	for ep, e := range g.Endpoints {
		p := t.Fabric.port(End{e.Node, e.Port + 1})
		lids[ep] = p.LID + LID(offset%(1<<p.LMC))
	}
	r := &topology.Routes{Group: make([][]uint32, len(g.Nodes)), Members: make([][]uint16, len(g.Nodes))}
	for n := range g.Nodes {
		if g.Nodes[n].Kind != topology.Switch {
			continue
		}
		for p := range g.Nodes[n].Ports {
			r.Members[n] = append(r.Members[n], uint16(p))
		}
		r.Group[n] = make([]uint32, len(lids))
		for ep, lid := range lids {
			if port := t.Lookup(n, lid); port != NoPort && port > 0 {
				r.Group[n][ep] = topology.Pack(int(port-1), 1)
			}
		}
	}
	return r, nil
}
