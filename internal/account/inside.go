package account

import (
	"slices"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/workload"
)

// ServerHops lists the places inside the host of an end: from the memory to the card at
// the source, from the card to the memory at the destination. What is staged goes
// through the memory of the card's socket.
func ServerHops(v *scenario.Valid, endpoint int, device int16, staged, source bool) (hops []record.WayHop) {
	ep := v.Graph.Endpoints[endpoint]
	t := v.NICs[ep.Node].Server
	if t == nil {
		return nil
	}
	nic := t.Nets[ep.Port].Card
	dram := t.DRAMOf(nic)
	memory := dram
	if device != workload.NoDevice {
		memory = int(device)
	}
	host := v.Graph.Nodes[ep.Node].Name
	if staged && memory != dram {
		// The GPU's copy engine writes to the memory, or reads from it.
		hops = append(hops, TreeHops(t, host, memory, dram, !source, source)...)
		memory = dram
	}
	hops = append(hops, TreeHops(t, host, memory, nic, source, source)...)
	if !source {
		slices.Reverse(hops)
	}
	return hops
}

// TreeHops lists the hops between a memory and what reads from it or writes to it. Data
// leave the memory if out.
func TreeHops(t *server.Tree, host string, memory, to int, read, out bool) (hops []record.WayHop) {
	path, err := t.Path(memory, to)
	if err != nil {
		return nil // the scenario was refused
	}
	for i, h := range path {
		l := &t.Links[h.Link]
		x := record.WayHop{Host: host, Name: HopName(t, h, out), What: l.Kind.String(), RateBps: l.Rate, LatencyPS: l.Latency}
		if l.Kind == server.PCIe {
			x.What = "PCIe " + l.PCIe.String()
		}
		if t.Devices[to].Kind == server.DRAM {
			x.What += ", copy"
		}
		switch l.Kind {
		case server.PCIe:
			at := t.PCIeAt(path, i, read)
			x.Rule = "credit"
			x.RateBps, x.BufferBytes = at.WriteRate(), int64(t.Costs.PostedCredits)
			if read {
				x.RateBps, x.BufferBytes = at.ReadRate(), int64(t.Costs.ReadTags)*int64(at.MRRS)
			}
		case server.HBM:
			if read && t.Devices[to].Kind == server.NIC { // else a copy reads DRAM
				x.LatencyPS += t.Costs.HBMRead
			}
		case server.MemoryBus:
			if read {
				x.LatencyPS += t.Costs.DRAMRead
			}
		}
		hops = append(hops, x)
	}
	return hops
}

// HopName names a link of a server by the way of the data, as its counters do.
func HopName(t *server.Tree, h server.Hop, out bool) string {
	l := &t.Links[h.Link]
	from, to := t.Devices[t.Start(h)].Name, t.Devices[t.End(h)].Name
	if l.Kind == server.HBM || l.Kind == server.MemoryBus {
		return "memory of " + t.Devices[l.B].Name
	}
	if !out {
		from, to = to, from
	}
	return from + " to " + to
}
