package balance

import (
	"testing"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// rig is one switch of 100 Gb/s ports: hosts that send at the first, and as many hosts at equal ports behind
// them, which are the ways to endpoint 0.
type rig struct {
	engine *sim.Engine[packet.Packet]
	net    *fabric.Net
	hosts  []*host
	in     int
}

const (
	lineRate = 100 * units.Gbps
	class    = 3
	delay    = 10 * units.Nanosecond
)

// newRig builds the switch with in senders and out equal ports.
func newRig(t *testing.T, in, out int, b fabric.Balancing, pins []fabric.Pin) *rig {
	t.Helper()
	n := in + out
	memory := &mmu.Params{Cell: 1, Size: units.GB, Ingress: []mmu.Pool{{Shared: units.GB}}, Egress: []mmu.Pool{{Shared: units.GB}}}
	for range n {
		var gs [fabric.Classes]mmu.GroupProfile
		for c := range gs {
			gs[c].Limit = mmu.Threshold{Num: 8, Den: 1}
		}
		var qs [fabric.Classes]mmu.QueueProfile
		for c := range qs {
			qs[c].Limit = mmu.Threshold{Num: 8, Den: 1}
		}
		memory.Groups, memory.Queues = append(memory.Groups, gs), append(memory.Queues, qs)
	}
	params := &fabric.SwitchParams{Memory: memory, Balancing: b}
	for d := range params.DSCPToPrio {
		params.DSCPToPrio[d] = uint8(d / 8)
	}
	r := &rig{engine: sim.New[packet.Packet](1, units.Microsecond), in: in}
	part := r.engine.Parts()[0]
	part.SetCell(part.AddCell())
	r.net = fabric.NewNet(part, 0, pins)
	spec := fabric.SwitchSpec{Name: "sw", Ports: n, Params: params, Seed: 1, Group: []uint32{uint32(out)}}
	for i := range out {
		spec.Members = append(spec.Members, uint16(in+i))
	}
	node := r.net.AddSwitch(spec)
	port := fabric.PortSpec{Wire: &wire.Ethernet, Rate: lineRate, Delay: delay, Params: &fabric.PortParams{}}
	for i := range n {
		s := port
		s.ID, s.Source, s.Node, s.Local, s.NodePorts, s.PeerPort = uint32(i), uint32(i), "sw", i, n, n+i
		r.net.AddPort(node, s)
	}
	for i := range n {
		h := &host{net: r.net, port: n + i, source: uint32(fabric.Sources(n)+i*fabric.Sources(1)) + 3}
		id, index := r.net.AddHost(h)
		h.index = index
		s := port
		s.ID, s.Source, s.Node, s.NodePorts, s.PeerPort = uint32(n+i), h.source-3, "h", 1, i
		r.net.AddPort(id, s)
		r.hosts = append(r.hosts, h)
	}
	return r
}

// at has sender i send n frames of a flow at a time.
func (r *rig) at(i int, at units.Time, n int, bytes uint32, flow uint32, flags uint8) {
	h := r.hosts[i]
	h.timers = append(h.timers, func(now units.Time) {
		for range n {
			h.queue = append(h.queue, packet.Packet{Frame: bytes, Class: class, DSCP: 8 * class, TTL: 9, PSN: h.next,
				Hash: uint32(rng.Mix64(uint64(flow), 1)), Conn: 0, Flags: flags})
			h.next++
		}
		r.net.Kick(now, h.port)
	})
	r.net.HostTimer(at, at, h.index, h.source, 0, uint32(len(h.timers)-1))
}

// run executes all there is.
func (r *rig) run() {
	r.engine.Prime()
	r.engine.Run(units.Never, 1, func(units.Time) bool { return true })
}

// arrived counts what came by each of the equal ports.
func (r *rig) arrived() (n []int) {
	for _, h := range r.hosts[r.in:] {
		n = append(n, len(h.got))
	}
	return n
}

// host sends its queue in order.
type host struct {
	net    *fabric.Net
	index  int
	source uint32
	port   int
	next   uint32
	queue  []packet.Packet
	timers []func(now units.Time)
	got    []packet.Packet
}

func (h *host) Receive(_ units.Time, _ int, slot uint32) {
	part := h.net.Part()
	h.got = append(h.got, *part.Rec(slot))
	part.Free(slot)
}

func (h *host) Next(units.Time, int, uint8) (uint32, units.Time) {
	if len(h.queue) == 0 {
		return 0, units.Never
	}
	part := h.net.Part()
	slot := part.Alloc()
	*part.Rec(slot) = h.queue[0]
	h.queue = h.queue[1:]
	return slot, 0
}

func (h *host) HeadFrame(int, uint8) uint32                    { return 0 }
func (h *host) WaitingSince(units.Time, int, uint8) units.Time { return units.Never }
func (h *host) ReceiveLimits(int, uint8) (l record.PortLimits) { return l }
func (h *host) SentFrames(int, uint8) (s fabric.Sent)          { return s }
func (h *host) Timer(now units.Time, _ uint8, low uint32)      { h.timers[low](now) }
