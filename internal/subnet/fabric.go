// Package subnet is the subnet manager of an InfiniBand network: it discovers
// nodes, gives out LIDs, fills the linear forwarding tables of the switches by a
// routing engine, and says what the tables amount to: hops, load per link, credit
// loops, and what a failed link changes. It reads a topology.Graph or the output
// of ibnetdiscover and knows no devices.
package subnet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// GUID is a 64-bit global identifier (EUI-64) of a node, a port or a system.
type GUID uint64

func (g GUID) String() string { return fmt.Sprintf("0x%016x", uint64(g)) }

// LID is a local identifier: the address of an endport within the subnet.
type LID uint16

// Limits of InfiniBand addresses (IBTA volume 1, 4.1.3 and 14.2.5).
const (
	MaxUnicastLID = 0xBFFF // unicast LIDs are 1 to this; 0xC000 to 0xFFFE are multicast
	MaxLMC        = 7      // an endport has 2^LMC consecutive LIDs
	MaxPorts      = 254    // of a switch: 8-bit port numbers from 1; 255 is none
)

// Kind tells channel adapters, switches and routers apart.
type Kind uint8

// Kinds of node, in the order of NodeInfo.NodeType.
const (
	CA Kind = iota
	Switch
	Router
)

func (k Kind) String() string { return [...]string{"CA", "switch", "router"}[k] }

// Node is a channel adapter, a switch or a router.
type Node struct {
	Kind     Kind
	GUID     GUID
	System   GUID   // of the chassis; the node's own when nothing else is known
	Name     string // the node description
	Enhanced bool   // a switch whose port 0 may have an LMC
	// Ports is indexed by port number. Ports[0] is the management port of a
	// switch; with other kinds it is unused.
	Ports []Port
}

// Port is one port of a node.
type Port struct {
	GUID     GUID
	LID      LID // base LID of an endport; 0 none
	LMC      uint8
	Peer     int // node at the other end, -1 none
	PeerPort int // its port number
	Link     int // index into Fabric.Links, -1 none
}

// End is one end of a link.
type End struct {
	Node, Port int // node index and port number, from 1
}

// Link is a cable.
type Link struct {
	A, B End
	Rate units.Rate // data rate after the line code
	Name string     // width and speed as InfiniBand names them, such as 4xHDR; "" if unknown
}

// Fabric is what a subnet manager discovers. Endports are the ports with
// addresses: port 0 of every switch and every linked port of the other nodes, by
// port GUID.
type Fabric struct {
	Nodes    []Node
	Links    []Link
	Endports []End
	Warnings []string // what is odd about the source, a line each

	managers []int           // of the fabric without failures; nil: this is it
	graph    *topology.Graph // what FromGraph was made of, or nil
}

// Name returns a node's port as reports print it, such as leaf1:3.
func (f *Fabric) Name(e End) string { return fmt.Sprintf("%s:%d", f.Nodes[e.Node].Name, e.Port) }

// Channel names one direction of a link, from the port at e to its peer.
func (f *Fabric) Channel(e End) string {
	p := &f.Nodes[e.Node].Ports[e.Port]
	return f.Name(e) + " -> " + f.Name(End{p.Peer, p.PeerPort})
}

// Count returns how many nodes are of a kind.
func (f *Fabric) Count(k Kind) int {
	n := 0
	for i := range f.Nodes {
		if f.Nodes[i].Kind == k {
			n++
		}
	}
	return n
}

// NodeByName returns the index of the node with that name or GUID.
func (f *Fabric) NodeByName(name string) (int, bool) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Name == name || strings.EqualFold(name, n.GUID.String()) {
			return i, true
		}
	}
	return 0, false
}

// addNode appends a node without links whose ports are numbered to ports.
func (f *Fabric) addNode(kind Kind, guid GUID, name string, ports int) int {
	n := Node{Kind: kind, GUID: guid, System: guid, Name: name, Ports: make([]Port, ports+1)}
	for i := range n.Ports {
		n.Ports[i] = Port{Peer: -1, Link: -1}
	}
	f.Nodes = append(f.Nodes, n)
	return len(f.Nodes) - 1
}

// join records a link between two free ports.
func (f *Fabric) join(l Link) {
	i := len(f.Links)
	f.Links = append(f.Links, l)
	a, b := &f.Nodes[l.A.Node].Ports[l.A.Port], &f.Nodes[l.B.Node].Ports[l.B.Port]
	a.Peer, a.PeerPort, a.Link = l.B.Node, l.B.Port, i
	b.Peer, b.PeerPort, b.Link = l.A.Node, l.A.Port, i
}

// finish lists the endports by GUID, the order in which a subnet manager keeps
// its port table.
func (f *Fabric) finish() {
	f.Endports = f.Endports[:0]
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Kind == Switch {
			f.Endports = append(f.Endports, End{i, 0})
			continue
		}
		for p := 1; p < len(n.Ports); p++ {
			if n.Ports[p].Peer >= 0 {
				f.Endports = append(f.Endports, End{i, p})
			}
		}
	}
	slices.SortStableFunc(f.Endports, func(a, b End) int { return cmp.Compare(f.port(a).GUID, f.port(b).GUID) })
}

func (f *Fabric) port(e End) *Port { return &f.Nodes[e.Node].Ports[e.Port] }

// isSwitch reports whether node n is one; n may be -1.
func (f *Fabric) isSwitch(n int) bool { return n >= 0 && f.Nodes[n].Kind == Switch }

// leafOf returns the switch that an endport hangs on: itself for a switch, -1
// for a port cabled to another channel adapter.
func (f *Fabric) leafOf(e End) int {
	if f.Nodes[e.Node].Kind == Switch {
		return e.Node
	}
	if peer := f.port(e).Peer; f.isSwitch(peer) {
		return peer
	}
	return -1
}

// guidBase begins the GUIDs of generated nodes: the universal/local bit of the
// EUI-64 is set, so that no maker's range is used.
const guidBase GUID = 0x02 << 56

// FromGraph takes the nodes of a generated or described topology. Node i gets
// GUID 0x02000000 with i+1 in the low 32 bits times 256; the GUID of a port of a
// host adds its number. Local port p of the graph is port p+1 here.
func FromGraph(g *topology.Graph) (*Fabric, error) {
	f := &Fabric{graph: g}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		kind := CA
		if n.Kind == topology.Switch {
			kind = Switch
		}
		if len(n.Ports) > MaxPorts {
			return nil, fmt.Errorf("%s %s has %d ports; an InfiniBand %s has at most %d, so spread the links over more switches",
				n.Kind, n.Name, len(n.Ports), n.Kind, MaxPorts)
		}
		guid := guidBase + GUID(i+1)<<8
		f.addNode(kind, guid, n.Name, len(n.Ports))
		for p := range f.Nodes[i].Ports {
			f.Nodes[i].Ports[p].GUID = guid
			if kind == CA {
				f.Nodes[i].Ports[p].GUID += GUID(p)
			}
		}
	}
	for i := range g.Links {
		l := &g.Links[i]
		f.join(Link{A: End{l.A, l.PortA + 1}, B: End{l.B, l.PortB + 1}, Rate: l.Rate})
	}
	f.finish()
	return f, nil
}
