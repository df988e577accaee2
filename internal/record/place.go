package record

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
)

// Place is where something happens, and who acts there. The zero one is nowhere: of a
// stage, at the message's own queue pair. Places compare by ==.
type Place struct {
	Kind   catalog.PlaceKind
	Layer  catalog.Layer // of a port's class
	Class  uint8         // of a port: priority or virtual lane
	Port   int32         // of the node, from 1
	ToPort int32         // of the node at the far end of a link
	Number int32         // of a queue pair, connection or core at its host
	Node   string        // a host or switch; of a cable or link, the one at its near end
	To     string        // the node at the far end of a cable or link
	Inside string        // a link or memory inside the host: "nic0 to cpu0"
}

// placeJSON is a Place in JSON: its name, and what the name says.
type placeJSON struct {
	Name   string            `json:"name"` // as reports write it
	Kind   catalog.PlaceKind `json:"kind"`
	Node   string            `json:"node"` // a host or switch; of a cable or link, the one at its near end
	Port   int32             `json:"port,omitempty"`
	Class  *uint8            `json:"class,omitempty"` // of a port: priority or virtual lane
	Layer  *catalog.Layer    `json:"link_layer,omitempty"`
	Number *int32            `json:"number,omitempty"`  // of a queue pair, connection or core
	To     string            `json:"to,omitempty"`      // the node at the far end
	ToPort int32             `json:"to_port,omitempty"` // of a link
	Inside string            `json:"inside,omitempty"`  // a link or memory inside the host
}

// MarshalJSON writes the name of the place and what it is made of.
func (p Place) MarshalJSON() ([]byte, error) {
	x := placeJSON{Name: p.String(), Kind: p.Kind, Node: p.Node, Port: p.Port, To: p.To, ToPort: p.ToPort,
		Inside: p.Inside}
	switch p.Kind {
	case catalog.AtPortClass:
		x.Class, x.Layer = &p.Class, &p.Layer
	case catalog.AtQueuePair, catalog.AtConnection, catalog.AtCore:
		x.Number = &p.Number
	}
	return json.Marshal(x)
}

// UnmarshalJSON reads what MarshalJSON wrote; the name is not looked at.
func (p *Place) UnmarshalJSON(data []byte) error {
	var x placeJSON
	if err := json.Unmarshal(data, &x); err != nil {
		return err
	}
	*p = Place{Kind: x.Kind, Node: x.Node, Port: x.Port, To: x.To, ToPort: x.ToPort, Inside: x.Inside}
	if x.Class != nil {
		p.Class = *x.Class
	}
	if x.Layer != nil {
		p.Layer = *x.Layer
	}
	if x.Number != nil {
		p.Number = *x.Number
	}
	return nil
}

// PortAt is a port of a node, from 1.
func PortAt(node string, port int) Place {
	return Place{Kind: catalog.AtPort, Node: node, Port: int32(port)}
}

// ClassAt is a class of a port of a node, from 1.
func ClassAt(node string, port, class int, layer catalog.Layer) Place {
	return Place{Kind: catalog.AtPortClass, Node: node, Port: int32(port), Class: uint8(class), Layer: layer}
}

// QPAt is a queue pair of a host, or of a service that streams the end of a connection.
func QPAt(service catalog.Service, host string, qp int) Place {
	kind := catalog.AtQueuePair
	if service.Is(catalog.Streams) {
		kind = catalog.AtConnection
	}
	return Place{Kind: kind, Node: host, Number: int32(qp)}
}

// HostAt is a whole host.
func HostAt(host string) Place { return Place{Kind: catalog.AtHost, Node: host} }

// SwitchAt is a whole switch.
func SwitchAt(node string) Place { return Place{Kind: catalog.AtSwitch, Node: node} }

// CableAt is a cable, one way.
func CableAt(from, to string) Place { return Place{Kind: catalog.AtCable, Node: from, To: to} }

// InsideAt is a link or memory inside a host.
func InsideAt(host, link string) Place {
	return Place{Kind: catalog.AtInside, Node: host, Inside: link}
}

// LinkAt is a link both ways, between ports of two nodes, from 1.
func LinkAt(node string, port int, to string, toPort int) Place {
	return Place{Kind: catalog.AtLink, Node: node, Port: int32(port), To: to, ToPort: int32(toPort)}
}

// Joins reports whether a link has an end at each of two ports.
func (p Place) Joins(a, b PortID) bool { return p.Ends(a) && p.Ends(b) && a != b }

// Ends reports whether a link has an end at a port.
func (p Place) Ends(at PortID) bool {
	return at == p.PortID() || at == PortID{p.To, int(p.ToPort)}
}

// PortName is how reports name a port of a node, from 1: "leaf1:3"; of port 0 only the node is known.
func PortName(node string, port int) string {
	if port == 0 {
		return node
	}
	return node + ":" + strconv.Itoa(port)
}

// Ptr returns a pointer to a place, for accounts.
func (p Place) Ptr() *Place { return &p }

// PortID names a port.
type PortID struct {
	Node string `json:"node"`
	Port int    `json:"port"` // 1-based, in the order links name the node
}

// String is how reports name the port: "leaf1:3".
func (p PortID) String() string { return PortName(p.Node, p.Port) }

// Place is the port.
func (p PortID) Place() Place { return PortAt(p.Node, p.Port) }

// PortID is the port of a place that has one.
func (p Place) PortID() PortID { return PortID{p.Node, int(p.Port)} }

// IsZero reports whether it is nowhere.
func (p Place) IsZero() bool { return p.Kind == catalog.Nowhere }

// String is how reports name the place: "leaf1:3", "leaf1:3 prio 3", "h2 qp 17", "h0 to leaf1".
func (p Place) String() string {
	port := func() string { return PortName(p.Node, int(p.Port)) }
	switch p.Kind {
	case catalog.AtPort:
		return port()
	case catalog.AtPortClass:
		return fmt.Sprintf("%s %s %d", port(), p.Layer.English().Class, p.Class)
	case catalog.AtQueuePair:
		return fmt.Sprintf("%s qp %d", p.Node, p.Number)
	case catalog.AtConnection:
		return fmt.Sprintf("%s tcp %d", p.Node, p.Number)
	case catalog.AtSwitch, catalog.AtHost:
		return p.Node
	case catalog.AtCable:
		return p.Node + " to " + p.To
	case catalog.AtLink:
		return fmt.Sprintf("%s - %s:%d", port(), p.To, p.ToPort)
	case catalog.AtInside:
		return p.Node + " " + p.Inside
	case catalog.AtCore:
		return fmt.Sprintf("core %d of %s", p.Number, p.Node)
	case catalog.AtReceiveBuffer:
		return "receive buffer of " + p.Node
	case catalog.AtReceiveQueue:
		return "receive queue of " + p.Node
	case catalog.AtCardCaches:
		return "NIC caches of " + p.Node
	case catalog.AtInputBuffer:
		return "input buffer of " + port()
	case catalog.AtWay:
		return "the way to " + p.Node
	}
	return ""
}

// In is the place as a report in a language names it.
func (p Place) In(l lang.Language) string {
	if l != lang.Chinese {
		return p.String()
	}
	switch p.Kind {
	case catalog.AtPortClass:
		return fmt.Sprintf("%s %s %d", PortName(p.Node, int(p.Port)), p.Layer.Words(l).Class, p.Class)
	case catalog.AtCable:
		return p.Node + " 至 " + p.To
	case catalog.AtCore:
		return fmt.Sprintf("%s 的 %d 号核", p.Node, p.Number)
	case catalog.AtReceiveBuffer:
		return p.Node + " 的接收缓冲"
	case catalog.AtReceiveQueue:
		return p.Node + " 的接收队列"
	case catalog.AtCardCaches:
		return p.Node + " 的网卡缓存"
	case catalog.AtInputBuffer:
		return PortName(p.Node, int(p.Port)) + " 的输入缓冲"
	case catalog.AtWay:
		return "到 " + p.Node + " 的路径"
	}
	return p.String()
}
