package run

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/account"
	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/names"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/topology"
)

// inside looks at two ends in the server of one host, if they are: data go from memory to
// memory by NVLink, if there is one, and by PCIe. It takes the time of the copy alone,
// without what launching it takes.
func (p *pather) inside(v *scenario.Valid) (bool, error) {
	node, from, fromOK := deviceNamed(v, p.opt.From)
	other, to, toOK := deviceNamed(v, p.opt.To)
	if !fromOK || !toOK || node != other || from == to {
		return false, p.checkBare(v, fromOK, toOK)
	}
	t, host := v.NICs[node].Server, v.Graph.Nodes[node].Name
	for _, nv := range []bool{true, false} {
		e := dma.New(t)
		chain, err := e.Chain(from, to)
		hops := []record.WayHop(nil)
		way := record.PathWay{Name: "PCIe"}
		if nv {
			way.Name = "NVLink"
			chain, err = e.NVChain(from, to)
			hops = nvHops(t, host, from, to)
		} else if err == nil {
			hops = copyHops(t, host, from, to)
		}
		switch {
		case err != nil && nv:
			continue
		case err != nil:
			return false, &scenario.Error{Msg: fmt.Sprintf("%s to %s: %v", p.opt.From, p.opt.To, err)}
		}
		way.Hops, way.CompletionPS = hops, e.Copy(0, &chain, p.opt.Size)
		p.out.Ways = append(p.out.Ways, way)
	}
	p.out.Scenario = v.Name
	return true, nil
}

// checkBare refuses a place inside a server together with the bare name of its host,
// which does not say where in it.
func (p *pather) checkBare(v *scenario.Valid, fromOK, toOK bool) error {
	bare, device := p.opt.To, p.opt.From
	if toOK {
		bare, device = p.opt.From, p.opt.To
	}
	host := names.Node(device)
	if fromOK == toOK || names.Node(bare) != host {
		return nil
	}
	return &scenario.Error{Msg: fmt.Sprintf("%s to %s: both are in %s; name the place in it, such as %s/dram0 or %s/gpu1, or another host", p.opt.From, p.opt.To, host, host, host)}
}

// copyHops lists the hops of a copy over PCIe: a GPU writes to the memory, or reads from
// DRAM.
func copyHops(t *server.Tree, host string, from, to int) []record.WayHop {
	if t.Devices[from].Kind == server.DRAM {
		return account.TreeHops(t, host, from, to, true, true)
	}
	hops := account.TreeHops(t, host, to, from, false, false)
	slices.Reverse(hops)
	return hops
}

// deviceNamed finds a place inside a server: "h0/gpu3", "h0:2/gpu3".
func deviceNamed(v *scenario.Valid, end string) (node, device int, ok bool) {
	_, name := names.Inside(end)
	node, known := v.Graph.NodeByName(names.Node(end))
	if name == "" || !known || v.Graph.Nodes[node].Kind != topology.Host || v.NICs[node].Server == nil {
		return 0, 0, false
	}
	t := v.NICs[node].Server
	device = t.Find(name)
	return node, device, device >= 0 && (t.Devices[device].Kind == server.GPU || t.Devices[device].Kind == server.DRAM)
}

// nvHops lists the hops between two GPUs over NVLink.
func nvHops(t *server.Tree, host string, from, to int) (hops []record.WayHop) {
	path, _ := t.NVPath(from, to)
	for _, h := range path {
		l := &t.Links[h.Link]
		x := record.WayHop{Host: host, Name: account.HopName(t, h, true), What: l.Kind.String(), RateBps: l.Rate, LatencyPS: l.Latency}
		if l.Kind == server.NVLink {
			x.What = fmt.Sprintf("NVLink x%d", max(l.Count, 1))
		}
		hops = append(hops, x)
	}
	return hops
}
