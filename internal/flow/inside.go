package flow

import (
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// inside is a link of a host's server, in one direction; of memories, both.
type inside struct {
	host, link int
	forward    bool
}

// over adds the links of a path inside a server to what a flow uses, weight bytes for each of its own, and
// returns their latency. A reader fetches the data, or else they are written.
func (w *ways) over(uses []use, host int, path []server.Hop, reads bool, weight float64) ([]use, units.Time) {
	t := w.v.NICs[host].Server
	late := units.Time(0)
	for i, h := range path {
		l := &t.Links[h.Link]
		rate := l.Rate
		key := inside{host, h.Link, h.Forward}
		switch {
		case l.Kind == server.HBM || l.Kind == server.MemoryBus:
			key.forward = false
		case l.Kind == server.PCIe && reads:
			rate = t.PCIeAt(path, i, true).ReadRate()
		case l.Kind == server.PCIe:
			rate = t.PCIeAt(path, i, false).WriteRate()
		}
		late += l.Latency
		if rate == 0 {
			continue
		}
		n, known := w.insides[key]
		if !known {
			n = w.add(perPS(rate))
			w.insides[key] = n
		}
		// One link may take more time for some bytes than for others, as PCIe does for reads.
		uses = append(uses, use{link: n, weight: weight * w.links[n].capacity / perPS(rate)})
	}
	return uses, late
}

// copies adds the links of a copy between two devices of a host: NVLinks where there are any.
func (w *ways) copies(uses []use, host int, from, to int16, weight float64) ([]use, units.Time) {
	t := w.v.NICs[host].Server
	if t == nil || from == to {
		return uses, 0
	}
	path, ok := t.NVPath(int(from), int(to))
	if !ok {
		var err error
		if path, err = t.Path(int(from), int(to)); err != nil {
			return uses, 0
		}
	}
	return w.over(uses, host, path, t.Devices[from].Kind == server.DRAM, weight)
}

// behind adds the links between the card of an endpoint and the memory that data lie in, to which they go
// unless out.
func (w *ways) behind(uses []use, endpoint int, device int16, staged, out bool, weight float64) []use {
	ep := w.v.Graph.Endpoints[endpoint]
	t := w.v.NICs[ep.Node].Server
	if t == nil {
		return uses
	}
	card := t.Nets[ep.Port].Card
	dram := t.DRAMOf(card)
	memory := dram
	if device != workload.NoDevice {
		memory = int(device)
	}
	if staged && memory != dram { // a copy takes them through the memory of the socket
		from, to := int16(memory), int16(dram)
		if !out {
			from, to = to, from
		}
		uses, _ = w.copies(uses, ep.Node, from, to, weight)
		memory = dram
	}
	from, to := memory, card
	if !out {
		from, to = to, from
	}
	path, err := t.Path(from, to)
	if err != nil {
		return uses
	}
	uses, _ = w.over(uses, ep.Node, path, out, weight)
	return uses
}
