package fabric

import (
	"testing"

	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// rig is one switch with a host at every port, all in one partition. The hosts
// send what the test tells them and note what arrives.
type rig struct {
	t      *testing.T
	engine *sim.Engine[packet.Packet]
	net    *Net
	hosts  []*rigHost
}

// rigPort describes the link at one port of the switch.
type rigPort struct {
	rate      units.Rate
	delay     units.Time
	loss, ber float64
	every     int
	downAt    units.Time // 0: never
	host, sw  PortParams
	pg        [Classes]PGParams
}

// rigSwitch is a switch whose memory is one pool for lossless and lossy groups, with headroom
// of each group its own, and an egress pool of LossyPool for lossy queues.
type rigSwitch struct {
	SwitchParams
	Shared, LossyPool              units.Bytes
	EgressAlphaNum, EgressAlphaDen int64
	Lossless                       uint8
}

// PGParams is one ingress port and priority.
type PGParams struct {
	Reserved, Headroom, Static, XONOffset units.Bytes
	AlphaNum, AlphaDen                    int64
}

// params puts the memory together.
func (s *rigSwitch) params(ports []rigPort) *SwitchParams {
	if s.SL2VL != nil {
		return &s.SwitchParams
	}
	m := &mmu.Params{Cell: 1, Size: s.Shared, Ingress: []mmu.Pool{{Shared: s.Shared}}, Egress: []mmu.Pool{{Shared: units.GB * 2}, {Shared: s.LossyPool}}}
	if s.LossyPool == 0 {
		m.Egress[1] = m.Egress[0]
	}
	for i := range ports {
		var gs [Classes]mmu.GroupProfile
		var qs [Classes]mmu.QueueProfile
		for c, g := range ports[i].pg {
			if s.Lossless>>c&1 == 1 {
				gs[c] = mmu.GroupProfile{Lossless: true, Reserved: g.Reserved, Headroom: g.Headroom, XONOffset: g.XONOffset, Limit: mmu.Threshold{Num: g.AlphaNum, Den: g.AlphaDen, Static: g.Static}}
				if g.Static > 0 {
					gs[c].Limit.Den = 0
				}
				m.Size += g.Reserved + g.Headroom
			} else {
				qs[c] = mmu.QueueProfile{Pool: 1, Limit: mmu.Threshold{Num: s.EgressAlphaNum, Den: s.EgressAlphaDen}}
			}
		}
		m.Groups, m.Queues = append(m.Groups, gs), append(m.Queues, qs)
	}
	s.Memory = m
	return &s.SwitchParams
}

// rigHost sends its queue in order as far as classes are open.
type rigHost struct {
	net    *Net
	index  int
	source uint32
	port   int
	queue  []packet.Packet
	timers []func(now units.Time)
	got    []arrival
	sent   [Classes]Sent
	sentAt []units.Time
	keeps  bool // on InfiniBand: gives no room back
}

type arrival struct {
	at units.Time
	packet.Packet
}

func (h *rigHost) Receive(now units.Time, _ int, slot uint32) {
	pk := *h.net.part.Rec(slot)
	h.got = append(h.got, arrival{now, pk})
	h.net.part.Free(slot)
	if h.net.ports[h.port].credited && !h.keeps {
		h.net.GiveBack(now, h.port, pk.Class, pk.Frame)
	}
}

func (h *rigHost) Next(now units.Time, _ int, open uint8) (uint32, units.Time) {
	for k := range h.queue {
		c := h.queue[k].Class
		if open>>c&1 == 0 {
			continue
		}
		if h.net.ports[h.port].credited && !h.net.MayStart(now, h.port, c, h.queue[k].Frame) {
			open &^= 1 << c
			continue
		}
		slot := h.net.part.Alloc()
		*h.net.part.Rec(slot) = h.queue[k]
		h.sent[h.queue[k].Class].Add(&h.queue[k])
		h.sentAt = append(h.sentAt, now)
		if k == 0 {
			h.queue = h.queue[1:]
		} else {
			h.queue = append(h.queue[:k], h.queue[k+1:]...)
		}
		return slot, 0
	}
	return 0, units.Never
}

func (h *rigHost) HeadFrame(_ int, class uint8) uint32 {
	for k := range h.queue {
		if h.queue[k].Class == class {
			return h.queue[k].Frame
		}
	}
	return 0
}
func (h *rigHost) WaitingSince(units.Time, int, uint8) units.Time { return units.Never }
func (h *rigHost) ReceiveLimits(int, uint8) (l record.PortLimits) { return l }
func (h *rigHost) SentFrames(_ int, class uint8) Sent             { return h.sent[class] }
func (h *rigHost) Timer(now units.Time, _ uint8, low uint32)      { h.timers[low](now) }

// newRig builds the switch. Endpoint i is the host at port i.
func newRig(t *testing.T, sw rigSwitch, ports []rigPort) *rig {
	t.Helper()
	return newRigOf(t, wire.Ethernet, sw, ports)
}

// newRigOf is newRig with links of another kind.
func newRigOf(t *testing.T, profile wire.Profile, sw rigSwitch, ports []rigPort) *rig {
	t.Helper()
	r := &rig{t: t, engine: sim.New[packet.Packet](1, units.Microsecond)}
	part := r.engine.Parts()[0]
	part.SetCell(part.AddCell())
	r.net = NewNet(part, 0, nil)
	spec := SwitchSpec{Name: "sw", Ports: len(ports), Params: sw.params(ports), Seed: 1}
	for i := range ports {
		spec.Group = append(spec.Group, topology.Pack(i, 1))
		spec.Members = append(spec.Members, uint16(i))
	}
	node := r.net.AddSwitch(spec)
	n := len(ports)
	for i := range ports {
		p := &ports[i]
		s := rigSpec(p, uint32(i))
		s.Node, s.Local, s.NodePorts, s.Source = "sw", i, n, uint32(i)
		s.PeerPort = n + i
		s.Params, s.PeerCredit, s.Wire = &p.sw, p.host.Credit, &profile
		s.Lifetimes = sw.HOQLife+sw.PacketLife > 0
		r.net.AddPort(node, s)
	}
	for i := range ports {
		p := &ports[i]
		h := &rigHost{net: r.net, port: n + i, source: uint32(Sources(n)+i*Sources(1)) + 3}
		id, index := r.net.AddHost(h)
		h.index = index
		s := rigSpec(p, uint32(n+i))
		s.Node, s.NodePorts, s.Source = "h"+itoa(i), 1, h.source-3
		s.PeerPort, s.PeerLatency, s.PeerCut = i, sw.Latency, sw.CutThrough
		s.Params, s.PeerCredit, s.Wire = &p.host, p.sw.Credit, &profile
		s.Lifetimes = sw.HOQLife+sw.PacketLife > 0
		r.net.AddPort(id, s)
		r.hosts = append(r.hosts, h)
	}
	return r
}

func rigSpec(p *rigPort, id uint32) PortSpec {
	var outages []Outage
	if p.downAt > 0 {
		outages = []Outage{{p.downAt, units.Never, units.Never, units.Never}}
	}
	return PortSpec{ID: id, Rate: p.rate, Delay: p.delay, Loss: p.loss, BER: p.ber, DropEvery: p.every, Outages: outages, Seed: uint64(id)}
}

// at calls f at host i at a time.
func (r *rig) at(i int, at units.Time, f func(now units.Time)) {
	h := r.hosts[i]
	h.timers = append(h.timers, f)
	r.net.HostTimer(at, at, h.index, h.source, 0, uint32(len(h.timers)-1))
}

// send queues n frames of a size from host i to host to at a time.
func (r *rig) send(i, to int, at units.Time, n int, frame uint32, class uint8) {
	r.at(i, at, func(now units.Time) {
		h := r.hosts[i]
		for k := range n {
			h.queue = append(h.queue, packet.Packet{Frame: frame, Dst: uint32(to), Class: class, DSCP: 8 * class,
				TTL: 9, ECN: packet.ECT0, PSN: uint32(k), Hash: uint32(rng.Mix64(uint64(i), uint64(to)))})
		}
		r.net.Kick(now, h.port)
	})
}

// run executes everything before limit, or all there is.
func (r *rig) run(limit units.Time) {
	r.engine.Prime()
	r.engine.Run(limit, 1, func(units.Time) bool { return true })
}

// star is n equal ports of a lossless class 3, all of it shared memory without
// limits that matter.
func star(n int, rate units.Rate, delay units.Time) (rigSwitch, []rigPort) {
	sw := rigSwitch{Shared: units.GB, Lossless: 1 << 3}
	for d := range sw.DSCPToPrio {
		sw.DSCPToPrio[d] = uint8(d / 8)
	}
	ports := make([]rigPort, n)
	for i := range ports {
		ports[i] = rigPort{rate: rate, delay: delay}
		ports[i].sw.PFC.Enabled, ports[i].host.PFC.Enabled = 1<<3, 1<<3
		for c := range ports[i].pg {
			ports[i].pg[c] = PGParams{AlphaNum: 8, AlphaDen: 1, Headroom: units.MB}
		}
	}
	return sw, ports
}
