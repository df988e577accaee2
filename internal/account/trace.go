package account

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Bounds of what a run lists for a timeline: about so many slices of queue pairs in all, and of all else. Each queue
// pair gets an equal part, as does each port, link and core, so that what is listed does not depend on how the
// network is cut. They take 100 MB at most.
const (
	tracedPairs = 3_000_000
	tracedRest  = 1_000_000
	leastTraced = 100 // the least such part
)

// StartTrace has all devices list from now on what a timeline shows. It must come before anything happens.
func (e *Ends) StartTrace() {
	rest := len(e.Place)
	for i := range e.Servers {
		if s := e.Servers[i]; s != nil {
			for k := range s.Tree().Links {
				if s.Tree().Links[k].Kind == server.PCIe {
					rest += 2
				}
			}
		}
	}
	pairs, most := max(leastTraced, tracedPairs/max(1, len(e.Valid.Plan.Conns))), max(leastTraced, tracedRest/max(1, rest))
	for _, n := range e.Nets {
		n.Trace(most)
	}
	for node, h := range e.Hosts {
		if h != nil {
			h.Trace(pairs, most)
		}
		if s := e.Servers[node]; s != nil {
			s.Trace(most)
		}
	}
}

// Trace is what the devices listed since StartTrace.
func (e *Ends) Trace() *record.Trace {
	t := &tracer{Ends: e, out: &record.Trace{}}
	for node, h := range e.Hosts {
		if h != nil {
			h.Traces(func(p nic.PairTrace) { t.pair(h.Name, &p) })
			t.cores(h)
			t.inside(node)
		}
	}
	t.locals()
	t.ports()
	return t.out
}

// tracer puts a trace together.
type tracer struct {
	*Ends
	out *record.Trace
}

// cut notes that a list ended before the run did.
func (t *tracer) cut(what string, from units.Time) {
	if from > 0 {
		t.out.LeftOut = append(t.out.LeftOut, fmt.Sprintf("%s: from %v on", what, from))
	}
}

// pair adds what a queue pair or connection did.
func (t *tracer) pair(host string, p *nic.PairTrace) {
	service, names := catalog.RC, stageNames
	if int(p.Conn) < len(t.Valid.Plan.Conns) {
		service = t.Service(int(p.Conn))
	}
	if service.Is(catalog.Streams) {
		names = streamNames()
	}
	place := record.QPAt(service, host, int(p.QP))
	t.cut(place.String(), p.Spent.Full)
	t.cut(place.String()+", what was sent again", p.Full)
	pair := record.PairTrace{Place: place}
	for _, s := range p.Spent.Seen {
		if stage := names[s.What]; stage != catalog.StageIdle {
			pair.Stages = append(pair.Stages, record.StageSlice{Slice: s.Slice, Stage: stage})
		}
	}
	if len(pair.Stages) > 0 {
		t.out.Pairs = append(t.out.Pairs, pair)
	}
	for _, m := range p.Moments {
		x := record.Moment{At: m.At, What: record.MomentRewind, Place: place, By: told(m.By, service), Src: host,
			Dst: p.Peer, QP: int(p.QP)}
		if m.Sent {
			x.What, x.By, x.PSN, x.Payload = record.MomentResend, "", m.PSN, int64(m.Payload)
		}
		t.out.Resends = append(t.out.Resends, x)
	}
}

// told is what told a queue pair, or connection, of a loss.
func told(by rdma.Trigger, service catalog.Service) string {
	switch by {
	case rdma.ByTimer:
		return "retransmission timer"
	case rdma.ByRNR:
		return "RNR NAK"
	case rdma.ByResponse:
		return "missing response"
	}
	if service.Is(catalog.Streams) {
		return "loss detection"
	}
	return "NAK"
}

// cores adds when cores were busy.
func (t *tracer) cores(h *nic.Host) {
	cores := h.CoreTraces()
	for i := range cores {
		lane := record.LaneTrace{Host: h.Name, Group: "cores", Name: fmt.Sprintf("core %d", i)}
		for _, s := range cores[i].Seen {
			lane.Seen = append(lane.Seen, record.LabelSlice{Slice: s.Slice, Label: "busy"})
		}
		t.lane(&lane, cores[i].Full)
	}
}

// lane adds a lane that was busy at all.
func (t *tracer) lane(l *record.LaneTrace, full units.Time) {
	t.cut(l.Host+" "+l.Name, full)
	if len(l.Seen) > 0 {
		t.out.Lanes = append(t.out.Lanes, *l)
	}
}

// inside adds the PCIe links and copy engines of a node that has a server.
func (t *tracer) inside(node int) {
	e := t.Servers[node]
	if e == nil {
		return
	}
	host := t.Valid.Graph.Nodes[node].Name
	for _, use := range e.Links() {
		seen := use.Seen()
		lane := record.LaneTrace{Host: host, Group: "PCIe", Name: use.Name}
		for _, s := range seen {
			lane.Seen = append(lane.Seen, record.LabelSlice{Slice: s, Label: "busy"})
		}
		t.lane(&lane, 0)
	}
	for _, use := range e.Copies() {
		name := "copies out"
		if use.In {
			name = "copies in"
		}
		lane := record.LaneTrace{Host: host, Group: e.Tree().Devices[use.GPU].Name, Name: name}
		for _, s := range use.Seen.Seen {
			lane.Seen = append(lane.Seen, record.LabelSlice{Slice: s.Slice, Label: "copy"})
		}
		t.lane(&lane, use.Seen.Full)
	}
}

// locals adds the operations inside hosts that were not messages, by the GPU that they belong to.
func (t *tracer) locals() {
	type owner struct {
		node   int
		device int16
	}
	lanes, first := map[owner]int{}, len(t.out.Lanes)
	left := tracedRest
	for i := range t.Valid.Plan.Locals {
		l, ran := &t.Valid.Plan.Locals[i], &t.Locals[i]
		if ran.Done == units.Never || ran.Done <= ran.Due {
			continue
		}
		if left--; left < 0 {
			t.out.LeftOut = append(t.out.LeftOut, fmt.Sprintf("local operations behind the first %d", tracedRest))
			break
		}
		at := owner{l.Host, t.gpuOf(l)}
		k, known := lanes[at]
		if !known {
			k = len(t.out.Lanes)
			lanes[at] = k
			lane := record.LaneTrace{Host: t.Valid.Graph.Nodes[l.Host].Name, Group: "host", Name: "operations"}
			if at.device != workload.NoDevice {
				lane.Group = t.Servers[l.Host].Tree().Devices[at.device].Name
			}
			t.out.Lanes = append(t.out.Lanes, lane)
		}
		t.out.Lanes[k].Seen = append(t.out.Lanes[k].Seen,
			record.LabelSlice{Slice: record.Slice{From: ran.Due, To: ran.Done}, Label: t.Valid.Plan.Labels[l.Label].Text})
	}
	for k := first; k < len(t.out.Lanes); k++ {
		slices.SortStableFunc(t.out.Lanes[k].Seen, func(a, b record.LabelSlice) int { return cmp.Compare(a.From, b.From) })
	}
}

// gpuOf is the GPU that a local operation belongs to; NoDevice: none.
func (t *tracer) gpuOf(l *workload.Local) int16 {
	if e := t.Servers[l.Host]; e != nil {
		for _, d := range [...]int16{l.From, l.To} {
			if d != workload.NoDevice && e.Tree().Devices[d].Kind == server.GPU {
				return d
			}
		}
	}
	return workload.NoDevice
}

// ports adds when gates were shut, and what was dropped.
func (t *tracer) ports() {
	place := func(port uint32, class uint8) record.Place {
		at := t.Place[port]
		return record.ClassAt(t.Valid.Graph.Nodes[at.Node].Name, at.Local+1, int(class), t.Nets[at.Part].Layer(at.Index))
	}
	global := make([][]uint32, len(t.Nets))
	for id, at := range t.Place {
		for len(global[at.Part]) <= at.Index {
			global[at.Part] = append(global[at.Part], 0)
		}
		global[at.Part][at.Index] = uint32(id)
		for c := range uint8(fabric.Classes) {
			seen, full := t.Nets[at.Part].Shut(at.Index, c)
			if len(seen) > 0 {
				t.out.Gates = append(t.out.Gates, record.GateTrace{Place: place(uint32(id), c), Seen: seen})
			}
			if full > 0 {
				t.cut(place(uint32(id), c).String()+", when it was held", full)
			}
		}
	}
	var drops []fabric.Dropped
	cut := map[[2]uint32]units.Time{}
	for part, n := range t.Nets {
		drops = append(drops, n.Ended(func(i int, c uint8, from units.Time) {
			cut[[2]uint32{global[part][i], uint32(c)}] = from
		})...)
	}
	for id := range uint32(len(t.Place)) {
		for c := range uint32(fabric.Classes) {
			if from := cut[[2]uint32{id, c}]; from > 0 {
				t.cut(place(id, uint8(c)).String()+", what ended there", from)
			}
		}
	}
	slices.SortStableFunc(drops, func(a, b fabric.Dropped) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.Conn, b.Conn), cmp.Compare(a.PSN, b.PSN), cmp.Compare(a.Payload, b.Payload))
	})
	for i := range drops {
		d := &drops[i]
		m := record.Moment{At: d.At, What: record.MomentDrop, Place: place(d.Port, d.Class), Cause: d.Cause,
			PSN: d.PSN, Payload: int64(d.Payload), QP: -1}
		if int(d.Conn) < len(t.Responders) {
			g, to := t.Valid.Graph, t.Responders[d.Conn]
			m.Src, m.Dst = g.Nodes[g.HostOf(t.Valid.Plan.Conns[d.Conn].Src)].Name, g.Nodes[to.Node].Name
			m.QP = int(to.Requester)
			if d.Answer {
				m.Src, m.Dst, m.QP = m.Dst, m.Src, int(to.QP)
			}
		}
		t.out.Drops = append(t.out.Drops, m)
	}
}
