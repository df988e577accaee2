// Package topology describes nodes, ports and links, generates the usual
// fabrics and computes their routing tables. It knows no devices.
package topology

import (
	"cmp"
	"fmt"

	"github.com/hopscope/hopscope/internal/units"
)

// Kind tells a host from a switch.
type Kind uint8

// Kinds of node.
const (
	Host Kind = iota
	Switch
)

func (k Kind) String() string {
	if k == Host {
		return "host"
	}
	return "switch"
}

// Node is a host (with one port per NIC port) or a switch.
type Node struct {
	Name string
	Kind Kind
	Tier int // 0 host, 1 leaf or ToR, 2 aggregation or spine, 3 core; informative
	// Ports lists the links of the node: Ports[i] is local port i (0-based here,
	// printed 1-based), in the order the links were added.
	Ports []Port
}

// Port is one end of a link.
type Port struct {
	Link     int // index into Graph.Links
	Peer     int // node index
	PeerPort int // local port index at the peer
}

// Link is a full-duplex cable.
type Link struct {
	A, B         int // node indices
	PortA, PortB int // local port indices
	Rate         units.Rate
	Lanes        int          // of its InfiniBand width; 0: not named
	Delay        units.Time   // propagation, one way
	Length       units.Length // 0 when the delay was given directly
	Loss         float64      // probability that a frame is lost, each direction
	Spared       uint8        // priorities of which no frame is lost by Loss, a bit each
	BER          float64      // bit error rate, each direction; where there is FEC, before that
	FEC          string       // that corrects bit errors, by its name in wire.FECs; "": none
	DropEvery    int          // drop each n-th data packet, 0 never
	Outages      []Outage     // in order of time; none: it stays up
	// Speedup is by how much the ports of A and B, where they are switches, send faster
	// than Rate says, which all thresholds follow; 0: 1.
	Speedup [2]int
}

// Outage is a time within which a link carries nothing, either way or one.
type Outage struct {
	Down, Up units.Time // Up is later; Never: the link stays down
	// Silent: both ends take the link for one that works, and nothing is rerouted.
	Silent bool
	// Sender is the node whose frames alone are lost; "": those of both.
	Sender string
	Switch string // that is down, and the link with it; "": the link alone
}

// DefaultLanes is the width of InfiniBand links that name none.
const DefaultLanes = 4

// Width is the number of lanes of the link.
func (l *Link) Width() int { return cmp.Or(l.Lanes, DefaultLanes) }

// LaneRate is the rate of one of them.
func (l *Link) LaneRate() units.Rate { return l.Rate / units.Rate(l.Width()) }

// Name names a link of g by its two ends, with ports from 1: "leaf1:3 - spine2:1".
func (l *Link) Name(g *Graph) string {
	return fmt.Sprintf("%s:%d - %s:%d", g.Nodes[l.A].Name, l.PortA+1, g.Nodes[l.B].Name, l.PortB+1)
}

// RateFrom is at what rate the port of node, one of the link's two, sends. The line rate of
// a host stays what it is.
func (l *Link) RateFrom(g *Graph, node int) units.Rate {
	end := 0
	if node == l.B {
		end = 1
	}
	if g.Nodes[node].Kind == Host {
		return l.Rate
	}
	return l.Rate * units.Rate(max(l.Speedup[end], 1))
}

// FailsAt is when the link fails first; Never: it stays up.
func (l *Link) FailsAt() units.Time {
	if len(l.Outages) == 0 {
		return units.Never
	}
	return l.Outages[0].Down
}

// ComesBack reports whether the link works once all its outages are over.
func (l *Link) ComesBack() bool {
	return len(l.Outages) == 0 || l.Outages[len(l.Outages)-1].Up != units.Never
}

// Graph is a whole network. Endpoints are host ports, numbered in (node, port)
// order; packets are addressed to endpoints. Build it with AddHost, AddSwitch
// and AddLink, then Finish.
type Graph struct {
	Nodes     []Node
	Links     []Link
	Endpoints []Endpoint
	First     []int // First[node] is the endpoint index of a host's port 0, -1 for switches

	byName map[string]int // node index by name; looked up, never iterated
}

// Endpoint is a host port: an address.
type Endpoint struct {
	Node, Port int
}
