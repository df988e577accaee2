package run

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/workload"
)

// endNames names the ends of a message, with the device in which its data lie. Those of one
// connection share the text.
func (r *runner) endNames(m *workload.Message) (from, to string) {
	if r.ends == nil {
		r.ends = make([][2]string, len(r.Valid.Plan.Conns))
	}
	ends := &r.ends[m.Conn]
	if ends[0] == "" {
		ends[0], ends[1] = r.Valid.EndNames(&r.Valid.Plan.Conns[m.Conn])
	}
	if m.Back {
		return ends[1], ends[0]
	}
	return ends[0], ends[1]
}

// servers lists what went over the links inside hosts.
func (r *runner) servers() (out []record.Server) {
	for node, e := range r.Servers {
		if e == nil {
			continue
		}
		r.Hosts[node].Settle(r.reached)
		s := record.Server{Host: r.Valid.Graph.Nodes[node].Name, Server: e.Tree().Name}
		for _, use := range e.Links() {
			if use.Transfers > 0 {
				s.Links = append(s.Links, linkInside(e.Tree(), &use))
			}
		}
		for _, use := range e.Copies() {
			s.Copies = append(s.Copies, record.CopyEngine{GPU: e.Tree().Devices[use.GPU].Name, In: use.In, Bytes: int64(use.Copied), Copies: use.Copies, BusyPS: use.Busy})
		}
		for _, use := range e.IOMMUs() {
			s.IOMMUs = append(s.IOMMUs, record.IOMMU{Root: e.Tree().Devices[use.Root].Name, Pages: use.Pages, Misses: use.Misses, WalkPS: e.Tree().Costs.IOTLBMiss, WaitedPS: use.Waited})
		}
		if len(s.Links) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// linkInside writes down one direction of a link, or a memory.
func linkInside(t *server.Tree, use *dma.LinkUse) record.ServerLink {
	l := &t.Links[use.Link]
	out := record.ServerLink{Name: use.Name, Kind: kindInside(l), Rate: l.Rate, PayloadBytes: int64(use.Payload), Bytes: int64(use.Bytes), Transfers: use.Transfers,
		BusyPS: use.Busy, WaitedPS: use.Waited, CreditsPS: use.Credits, PeakPS: use.Peak, PeakAtPS: use.PeakAt}
	if l.Kind == server.PCIe {
		out.Rate = l.PCIe.TLPRate()
	}
	return out
}

// kindInside is what a link inside a host is called.
func kindInside(l *server.Link) string {
	switch l.Kind {
	case server.PCIe:
		return record.KindPCIe + l.PCIe.String()
	case server.NVLink:
		return fmt.Sprintf("NVLink x%d", max(l.Count, 1))
	case server.MemoryBus:
		return record.KindDRAM
	}
	return l.Kind.String()
}
