package scenario

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/workload"
)

// A place is where data of a workload lie: an endpoint of the topology, and in its
// host's server a GPU or a memory. While an entry is read, places other than endpoints
// have numbers above those of endpoints, so that patterns need not know them.
type place struct {
	endpoint int
	device   int16 // of the server; workload.NoDevice: the memory of the card's socket
}

// placeOf tells what a number of a place means.
func (r *resolver) placeOf(number int) place {
	if n := len(r.v.Graph.Endpoints); number >= n {
		return r.places[number-n]
	}
	return place{number, workload.NoDevice}
}

// numberOf numbers a place.
func (r *resolver) numberOf(p place) int {
	n := len(r.v.Graph.Endpoints)
	if r.placeNumber == nil {
		r.placeNumber = make(map[place]int)
	}
	number, known := r.placeNumber[p]
	if !known {
		number = n + len(r.places)
		r.places = append(r.places, p)
		r.placeNumber[p] = number
	}
	return number
}

// placed is the network that patterns see: its endpoints are places.
type placed struct{ r *resolver }

// NumEndpoints implements workload.Network.
func (p placed) NumEndpoints() int { return len(p.r.v.Graph.Endpoints) + len(p.r.places) }

// HostOf implements workload.Network.
func (p placed) HostOf(number int) int { return p.r.v.Graph.HostOf(p.r.placeOf(number).endpoint) }

// EndpointName implements workload.Network.
func (p placed) EndpointName(number int) string {
	at := p.r.placeOf(number)
	name := p.r.v.Graph.EndpointName(at.endpoint)
	if at.device == workload.NoDevice {
		return name
	}
	return name + "/" + p.r.nics[p.HostOf(number)].server.tree.Devices[at.device].Name
}

// inServer looks up a place inside a host: "h0/gpu3", through the nearest card, or
// "h0:2/gpu3", through its second port.
func (r *resolver) inServer(o object, key string, item *node, host, device string) int {
	ep, ok := r.hostEndpoint(o, key, item, host)
	if !ok {
		return 0
	}
	n := r.v.Graph.HostOf(ep)
	name := r.v.Graph.Nodes[n].Name
	s := r.nics[n].server
	t := s.inside()
	if t == nil {
		r.d.fail(item.Pos, "%s: %s has no server, so no %q; give server: dgx-h100 for all hosts, or hosts: {%s: {server: ..}}", o.join(key), name, device, name)
		return 0
	}
	dev := t.Find(device)
	if dev < 0 || t.Devices[dev].Kind != server.GPU && t.Devices[dev].Kind != server.DRAM {
		r.d.fail(item.Pos, "%s: %s, a %s, has no GPU or memory %q; it has %s", o.join(key), name, t.Name, device, memories(t))
		return 0
	}
	port := r.v.Graph.Endpoints[ep].Port
	if host == name {
		if net, _ := t.NetFor(dev, len(r.v.Graph.Nodes[n].Ports)); net >= 0 {
			port = net
		}
	}
	if _, err := t.Path(dev, t.Nets[port].Card); err != nil {
		r.d.fail(item.Pos, "%s: data cannot get from %s of %s to a network card: %v", o.join(key), device, name, err)
		return 0
	}
	return r.numberOf(place{r.v.Graph.First[n] + port, int16(dev)})
}

// memories lists where data can lie in a server.
func memories(t *server.Tree) string {
	var parts []string
	for _, k := range []server.Kind{server.GPU, server.DRAM} {
		var names []string
		for i := range t.Devices {
			if t.Devices[i].Kind == k {
				names = append(names, t.Devices[i].Name)
			}
		}
		switch len(names) {
		case 0:
		case 1:
			parts = append(parts, names[0])
		default:
			parts = append(parts, names[0]+" to "+names[len(names)-1])
		}
	}
	return strings.Join(parts, ", ")
}

// gpus are the places of all GPUs of a host, or of all hosts: "h0/gpus" and "gpus".
func (r *resolver) gpus(o object, key string, item *node, host string) (out []int) {
	for n := range r.v.Graph.Nodes {
		node := &r.v.Graph.Nodes[n]
		if node.Kind != topology.Host || host != "" && host != node.Name || r.nics[n].server.inside() == nil {
			continue
		}
		t := r.nics[n].server.tree
		for _, g := range t.GPUs() {
			out = append(out, r.inServer(o, key, item, node.Name, t.Devices[g].Name))
		}
	}
	if len(out) == 0 && r.d.err == nil {
		of := "a server with GPUs"
		if host != "" {
			of = fmt.Sprintf("%s a server with GPUs", host)
		}
		r.d.fail(item.Pos, "%s: there are no GPUs; give %s, such as server: dgx-h100", o.join(key), of)
	}
	return out
}

// settlePlaces gives the connections of an entry their endpoints and devices.
func (r *resolver) settlePlaces(from int, entry hostPath) {
	if r.d.err != nil {
		return
	}
	for i := from; i < len(r.v.Plan.Conns); i++ {
		c := &r.v.Plan.Conns[i]
		src, dst := r.placeOf(c.Src), r.placeOf(c.Dst)
		c.Src, c.SrcDevice = src.endpoint, src.device
		c.Dst, c.DstDevice = dst.endpoint, dst.device
		c.SrcStaged, c.DstStaged = r.staged(src, c, entry), r.staged(dst, c, entry)
	}
}

// staged reports whether data of a place go through the host's memory: as the entry
// says, else as the scenario does for all, else as the server does. The kernel's TCP has
// no other way.
func (r *resolver) staged(p place, c *workload.Conn, entry hostPath) bool {
	if p.device == workload.NoDevice {
		return false
	}
	s := r.nics[r.v.Graph.HostOf(p.endpoint)].server
	if s.tree.Devices[p.device].Kind != server.GPU {
		return false
	}
	if entry == asServer {
		entry = r.hostPath
	}
	missing := s.tree.Devices[p.device].NoDirect || s.tree.Nets[r.v.Graph.Endpoints[p.endpoint].Port].NoDirect
	return c.Service == workload.TCP || entry == viaHost || entry == asServer && (s.staged || missing && !s.direct)
}

// stagedByNCCL reports whether NCCL takes data between a GPU and its card through the
// host's memory, where nothing but its own rules decides, and says so once for each server.
func (r *resolver) stagedByNCCL(p place, entry hostPath) bool {
	if entry == asServer {
		entry = r.hostPath
	}
	n := r.v.Graph.HostOf(p.endpoint)
	s := r.nics[n].server
	if p.device == workload.NoDevice || entry != asServer || s.staged || s.direct || r.alone {
		return false
	}
	staged, why := s.tree.Staged(int(p.device), r.v.Graph.Endpoints[p.endpoint].Port)
	if staged {
		r.warn("staged "+s.obj.path+why, "data between %s and %s of %s go through the host's memory, as NCCL takes them: %s; gpudirect: on takes them directly",
			s.tree.Devices[p.device].Name, s.tree.Devices[s.tree.Nets[r.v.Graph.Endpoints[p.endpoint].Port].Card].Name, r.v.Graph.Nodes[n].Name, why)
	}
	return staged
}

// memoryBetween returns the memory through which data pass from one GPU of a server to another,
// the receiver's as in NCCL's shared memory transport; workload.NoDevice: they go directly.
func (r *resolver) memoryBetween(from, to *collective.Rank, entry hostPath) int16 {
	s := r.nics[from.Host].server
	if from.Device == workload.NoDevice || s.inside() == nil || s.tree.Class(int(from.Device), int(to.Device)) <= server.NV {
		return workload.NoDevice
	}
	if entry == asServer {
		entry = r.hostPath
	}
	staged, why := s.tree.PeerStaged(int(from.Device), int(to.Device))
	switch {
	case entry == viaHost, entry == asServer && s.staged:
		staged, why = true, "gpudirect is off"
	case entry == gpuDirect:
		staged = false
	}
	dram := s.tree.DRAMOf(int(to.Device))
	if !staged || dram < 0 {
		return workload.NoDevice
	}
	r.warn("peers "+s.obj.path+why, "data between %s and %s of %s go through the host's memory (%s)", s.tree.Devices[from.Device].Name,
		s.tree.Devices[to.Device].Name, r.v.Graph.Nodes[from.Host].Name, why)
	return int16(dram)
}

// warnGPUDirect warns of an entry without GPUs.
func (r *resolver) warnGPUDirect(o object, from int) {
	for i := from; i < len(r.v.Plan.Conns); i++ {
		if c := &r.v.Plan.Conns[i]; c.SrcDevice != workload.NoDevice || c.DstDevice != workload.NoDevice {
			return
		}
	}
	r.ignored(o, "gpudirect", "no data of this entry lie in a GPU; name ends such as h0/gpu0")
}

// railHint says what would be right where two ports have no path but other ports of the
// same hosts have: each rail is a network of its own.
func (r *resolver) railHint(c *workload.Conn) string {
	g := r.v.Graph
	src := g.Endpoints[c.Src]
	for port := range g.Nodes[src.Node].Ports {
		ep := g.First[src.Node] + port
		if c.Path != nil || ep == c.Src || r.v.Routes.CheckPair(g, ep, c.Dst) != nil {
			continue
		}
		for i := range r.v.Plan.Collectives {
			if r.v.Plan.Collectives[i].Entry == c.Entry {
				return fmt.Sprintf(", or keep to rails, which lead from port to port (%s to %s): algorithm: ring does, with PXN", g.EndpointName(ep), g.EndpointName(c.Dst))
			}
		}
		return fmt.Sprintf(", or give ends on one rail, such as %s and %s", g.EndpointName(ep), g.EndpointName(c.Dst))
	}
	return ""
}
