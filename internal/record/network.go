package record

import "github.com/hopscope/hopscope/internal/units"

// Network is the topology that a run had.
type Network struct {
	Nodes []NetworkNode `json:"nodes"` // hosts and switches
	Links []NetworkLink `json:"links"` // each once
}

// NetworkNode is a host or a switch.
type NetworkNode struct {
	Name string `json:"name"` // as reports call it
	// Tier is 0 of a host, 1 of a leaf, 2 of an aggregation switch or spine, 3 of a core; 0 of
	// a switch too where the topology does not say.
	Tier   int  `json:"tier"`
	Switch bool `json:"switch,omitempty"` // else it is a host
	// Alike are the switches below whose hashes go together with this one's: what comes up from one of
	// them by one link is spread over a part of the links up from here alone.
	Alike []string `json:"hashes_alike,omitempty"`
}

// NetworkLink is a link between two ports.
type NetworkLink struct {
	A       PortID     `json:"a"`        // one end
	B       PortID     `json:"b"`        // the other end
	RateBps units.Rate `json:"rate_bps"` // each way
}
