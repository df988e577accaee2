package scenario

import (
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// Cable is the link of a switch's port as the headroom rules see it, and what they come to.
type Cable struct {
	Rate     units.Rate
	Length   units.Length
	Delay    units.Time  // propagation, one way
	Quanta   int64       // of the peer's response by IEEE 802.3 31B.3.7
	Response units.Time  // of the peer, from the end of a PFC frame to its gate
	Pipeline units.Time  // of this switch, which precedes admission
	Jitter   units.Time  // of the peer's card and of this switch's pipeline together
	Fast     int         // the peer's clock may be fast by so many parts per million
	Frame    units.Bytes // the largest lossless frame
	PFC      units.Bytes // a PFC frame on the wire
	PortMTU  units.Bytes
	PathMTU  units.Bytes
	Cell     units.Bytes // of Spectrum's rule
	Taken    units.Bytes // cell that the memory is given out in; 0 or 1: bytes
}

func (c Cable) bare() cable {
	return cable{rate: c.Rate, delay: c.Delay, response: c.Response, latency: c.Pipeline, frame: c.Frame, pfcWire: c.PFC,
		length: c.Length, portMTU: c.PortMTU, pathMTU: c.PathMTU, cell: c.Cell, taken: c.Taken,
		jitter: c.Jitter, fast: c.Fast}
}

// Physical is the headroom that can be needed, the default of switch.pfc.headroom.
func (c Cable) Physical() units.Bytes { return physicalHeadroom(c.bare()) }

// Spectrum is the headroom that headroom_rule: spectrum gives.
func (c Cable) Spectrum() units.Bytes { return spectrumHeadroom(c.bare()) }

// CellFactor is how many bytes of memory a byte of the worst packets takes by Spectrum's rule.
func (c Cable) CellFactor() float64 { return cellFactor(c.Cell) }

// Tile is what waits on a Spectrum switch's tile by its rule, in bytes; 0 on those that have none.
func (c Cable) Tile() float64 { return spectrumTile(c.bare()) }

// InFlight is what passes within t at the peer's fastest rate, rounded up.
func (c Cable) InFlight(t units.Time) units.Bytes { return bytesIn(c.Top(), t) }

// Top is the rate of a peer whose clock is as fast as it may be.
func (c Cable) Top() units.Rate { return fastest(c.bare()) }

// Cables reads a scenario, and lists the cables of every switch's ports, by node and port.
func Cables(s Source) (*Valid, map[topology.Hop]Cable, error) {
	cables := map[topology.Hop]Cable{}
	s.look = func(r *resolver) {
		for n := range r.v.Graph.Nodes {
			node := &r.v.Graph.Nodes[n]
			if node.Kind != topology.Switch || r.onCredits(n) {
				continue
			}
			for port := range node.Ports {
				c := r.cableAt(n, port)
				cables[topology.Hop{Node: n, Port: port}] = Cable{Rate: c.rate, Length: c.length, Delay: c.delay,
					Quanta: responseQuanta(c.rate), Response: c.response, Pipeline: c.latency, Jitter: c.jitter, Fast: c.fast,
					Frame: c.frame, PFC: c.pfcWire, PortMTU: c.portMTU, PathMTU: c.pathMTU, Cell: c.cell, Taken: c.taken}
			}
		}
	}
	v, err := Read(s)
	return v, cables, err
}

// Shipped is what a switch's table, as it is shipped, has for ports of a rate and cables up to a
// length.
type Shipped struct {
	Preset, About string // of switch.memory.preset
	Length        units.Length
	Headroom      units.Bytes
}

// ShippedHeadroom lists the rows that shipped tables have for a cable: of each the one with the
// least length that is not below the cable's.
func ShippedHeadroom(rate units.Rate, length units.Length) (out []Shipped) {
	for _, p := range memoryPresets() {
		m := p.memory()
		row, short := m.profile(losslessGroup).rowFor(rate, length)
		if row != nil && !short {
			out = append(out, Shipped{p.name, p.about, row.length, row.headroom})
		}
	}
	return out
}

// MemoryAbout is what a preset of switch.memory is, in words.
func MemoryAbout(preset string) string {
	for _, p := range memoryPresets() {
		if p.name == preset {
			return p.about
		}
	}
	return ""
}
