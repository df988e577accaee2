package scenario

import (
	"math"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// Fixed numbers of the simulators' buffer policy.
const (
	ns3Reserve   = 4096 // per ingress port and class, charged once per port
	ns3XON       = 3072
	ns3Shift     = 3    // alpha is 2^-shift at the NICs' rate
	ns3Unpaused  = 0x01 // class 0: strict, not accounted, never paused
	ns3Classes17 = 0xfe
)

func (r *resolver) ns3Routes(topo word) {
	if r.d.err != nil {
		return
	}
	routes, err := topology.ComputeRoutes(r.v.Graph)
	if err != nil {
		r.d.fail(topo.Pos, "%v", err)
		return
	}
	r.v.Routes = routes
	r.resolveFailover(topo.Pos) // at once: those simulators compute all routes anew as a link goes down
}

// ns3DCQCN fills the reaction point from the config file. RP_TIMER and
// EWMA_GAIN must be given: the simulators take 0 for them when they are not.
func (r *resolver) ns3DCQCN(c *ns3Config) {
	if r.d.err != nil {
		return
	}
	on := c.flag("ENABLE_QCN", "1") // its keys are read even so: what is wrong stays wrong
	p, err := congestion.Preset("ns3")
	if err != nil {
		r.d.fail(pos{}, "%v", err)
		return
	}
	p.DCETCPRTT = c.microseconds("ALPHA_RESUME_INTERVAL", "55")
	p.RateReduceMonitorPeriod = c.microseconds("RATE_DECREASE_INTERVAL", "4")
	own := r.ns3ModeOf(c).number == 1
	if on && own {
		c.need("RP_TIMER", "300")
		c.need("EWMA_GAIN", "0.00390625")
	}
	p.RPGTimeReset = c.microseconds("RP_TIMER", "300")
	p.DCETCPG, p.DCETCPGBits = ns3Gain(r.d.decimal(c.word("EWMA_GAIN", "0.00390625"), "EWMA_GAIN", 1))
	p.RPGThreshold = int(c.number("FAST_RECOVERY_TIMES", "5", 1, 31))
	p.RPGAIRate = r.d.ns3Rate(c.word("RATE_AI", "5Mb/s"), "RATE_AI")
	p.RPGHAIRate = r.d.ns3Rate(c.word("RATE_HAI", "50Mb/s"), "RATE_HAI")
	p.RPGMinRate = r.d.ns3Rate(c.word("MIN_RATE", "100Mb/s"), "MIN_RATE")
	p.ClampTargetRate = c.flag("CLAMP_TARGET_RATE", "0")
	if r.d.err != nil || !on || !own {
		return
	}
	if err := p.Validate(); err != nil {
		r.d.fail(pos{}, "%v", err)
		return
	}
	r.v.DCQCN = &p
}

// microseconds reads a whole number of microseconds above zero.
func (c *ns3Config) microseconds(key, otherwise string) units.Time {
	return units.Time(c.number(key, otherwise, 1, 1e9)) * units.Microsecond
}

// ns3Gain turns the gain g into what alpha keeps, 1 - g, with ten bits where
// they hold it exactly and twenty otherwise.
func ns3Gain(gain float64) (g int64, bits uint8) {
	scaled := int64(math.Round(gain * (1 << 20)))
	if scaled%1024 == 0 {
		return 1024 - scaled/1024, 10
	}
	return 1<<20 - scaled, 20
}

// ns3NICRate is the rate of the first host's link, against which the
// simulators scale alpha.
func ns3NICRate(g *topology.Graph) units.Rate {
	e := g.Endpoints[0]
	return g.LinkAt(e.Node, e.Port).Rate
}

// ns3Switches fills the switches: shared buffer, PFC without timer, marking at
// dequeue of any packet.
func (r *resolver) ns3Switches(c *ns3Config) {
	if r.d.err != nil {
		return
	}
	g := r.v.Graph
	r.v.Switches = make([]fabric.SwitchParams, len(g.Nodes))
	buffer := r.ns3Buffer(c)
	var kmin, kmax, pmax []ns3Rated
	if r.controlled() {
		kmin = c.rateMap("KMIN_MAP", "1 100000000000 400", 1e9)
		kmax = c.rateMap("KMAX_MAP", "1 100000000000 1600", 1e9)
		pmax = c.rateMap("PMAX_MAP", "1 100000000000 0.2", 1)
	}
	for n := range g.Nodes {
		if g.Nodes[n].Kind != topology.Switch || r.d.err != nil {
			continue
		}
		sw := fabric.SwitchParams{Salt: rng.Mix64(r.v.Seed, uint64(n)), MarkAny: true, Unaccounted: ns3Unpaused}
		shared, memory := buffer, &mmu.Params{Cell: 1, Parts: 1, Egress: []mmu.Pool{{Name: egressLosslessPool}}}
		for d := range sw.DSCPToPrio {
			sw.DSCPToPrio[d] = uint8(d / 8)
		}
		for port := range g.Nodes[n].Ports {
			link := g.LinkAt(n, port)
			headroom := ns3Headroom(link.Rate, link.Delay)
			shared -= headroom + ns3Reserve
			memory.Groups = append(memory.Groups, ns3Groups(headroom, link.Rate, ns3NICRate(g)))
			memory.Queues = append(memory.Queues, [mmu.Classes]mmu.QueueProfile{})
			// Reserves and headrooms of all classes: those simulators take one per port off the pool.
			memory.Size += fabric.Classes * (headroom + ns3Reserve)
			pp := ns3Port()
			sw.INTScale = r.needs().INTScale
			if r.controlled() {
				red := c.ns3RED(kmin, kmax, pmax, link.Rate)
				for class := 1; class < fabric.Classes; class++ {
					pp.RED[class] = red
				}
			}
			sw.Ports = append(sw.Ports, pp)
		}
		if r.d.err == nil && shared <= 0 {
			r.d.fail(c.word("BUFFER_SIZE", "").Pos, "BUFFER_SIZE %v is smaller than the reserves and headrooms of switch %d, %v in all; give more",
				buffer, n, buffer-shared)
		}
		memory.Size += shared
		memory.Ingress = []mmu.Pool{{Name: losslessPool, Shared: shared}}
		memory.Egress[0].Shared = memory.Size
		sw.Memory = memory
		r.v.Switches[n] = sw
	}
}

// ns3Headroom is rate*delay/8*3 with the simulators' truncations: 37500 B at
// 100 Gb/s over 1 us.
func ns3Headroom(rate units.Rate, delay units.Time) units.Bytes {
	ns := int64(delay / units.Nanosecond)
	hi := int64(rate) / 8 / 1e9 * ns // whole bytes per ns first: no overflow
	lo := int64(rate) % 8e9 * ns / 8e9
	return units.Bytes((hi + lo) * 3)
}

// ns3Groups is the ingress accounting of one port. Alpha doubles with every
// doubling of the port's rate above the NICs'.
func ns3Groups(headroom units.Bytes, rate, nic units.Rate) (pg [mmu.Classes]mmu.GroupProfile) {
	shift := ns3Shift
	for ; rate > nic && shift > 0; rate /= 2 {
		shift--
	}
	for class := 1; class < fabric.Classes; class++ {
		pg[class] = mmu.GroupProfile{Lossless: true, Eager: true, Reserved: ns3Reserve, Headroom: headroom, Limit: mmu.Threshold{Num: 1, Den: 1 << shift}, XONOffset: ns3XON}
	}
	return pg
}

// ns3Port obeys PFC in classes 1 to 7 at once and without timer; class 0 is
// strict, the rest share.
func ns3Port() fabric.PortParams {
	return fabric.PortParams{PFC: fabric.PFCParams{Enabled: ns3Classes17}, Strict: ns3Unpaused, DWRRQuantum: 1500}
}

func (c *ns3Config) ns3RED(kmin, kmax, pmax []ns3Rated, rate units.Rate) fabric.RED {
	lo, hi := c.lookup("KMIN_MAP", kmin, rate), c.lookup("KMAX_MAP", kmax, rate)
	p := c.lookup("PMAX_MAP", pmax, rate)
	if c.d.err == nil && lo.value > hi.value {
		c.d.fail(lo.pos, "KMIN_MAP has %g kB for %d bit/s, above %g in KMAX_MAP; marking starts at Kmin and is certain above Kmax", lo.value, rate, hi.value)
	}
	return fabric.RED{KMin: kilobytes(lo.value), KMax: kilobytes(hi.value), PMax: p.value}
}

// ns3NICs fills the hosts and their transport. ACK_HIGH_PRIO moves ACKs to
// class 0 inside the host only; switches keep them with the data.
func (r *resolver) ns3NICs(c *ns3Config) {
	if r.d.err != nil {
		return
	}
	t, err := rdma.Preset("ns3")
	if err != nil {
		r.d.fail(pos{}, "%v", err)
		return
	}
	t.MTU, t.Wire, t.TimeQuantum, t.CC = r.mtu, r.v.Wire, r.v.TimeQuantum, r.v.DCQCN
	t.Control, t.Gap = r.v.Control, r.ns3Gap
	if c.flag("HAS_WIN", "0") {
		t.Window = rdma.WindowBytes
		if c.flag("VAR_WIN", "0") {
			t.Window = rdma.WindowVar
		}
		t.WindowBytes = r.ns3Windows(c.flag("GLOBAL_T", "1"))
	}
	r.v.Transports = []rdma.Config{t}
	nic := NIC{AckClass: sameAsData, AckDSCP: sameAsData, CNPClass: dataClass, CNPDSCP: 8 * dataClass, TTL: 64}
	for class := uint8(0); class < fabric.Classes; class++ {
		if r.classes == 1<<class {
			nic.AckClass = class
		}
	}
	if c.flag("ACK_HIGH_PRIO", "0") {
		nic.AckClass = 0
	}
	g := r.v.Graph
	r.v.NICs = make([]NIC, len(g.Nodes))
	for n := range g.Nodes {
		if g.Nodes[n].Kind != topology.Host {
			continue
		}
		host := nic
		for range g.Nodes[n].Ports {
			host.Ports = append(host.Ports, ns3Port())
		}
		r.v.NICs[n] = host
	}
}

// ns3Windows returns the largest BDP of any pair; with global false it also
// gives each connection its own pair's.
func (r *resolver) ns3Windows(global bool) units.Bytes {
	if !global {
		r.v.Windows = make([]units.Bytes, len(r.v.Plan.Conns))
		for i := range r.v.Plan.Conns {
			r.v.Windows[i] = r.ns3BDP(r.v.Plan.Conns[i].Src, r.v.Plan.Conns[i].Dst)
		}
	}
	most := units.Bytes(0)
	reps := r.ns3Representatives()
	for _, a := range reps {
		for _, b := range reps {
			if a != b {
				most = max(most, r.ns3BDP(a, b))
			}
		}
	}
	return most
}

// ns3Representatives picks two hosts per (switch, rate, delay): all pairs of
// the others have the same paths.
func (r *resolver) ns3Representatives() []int {
	type like struct {
		peer  int
		rate  units.Rate
		delay units.Time
	}
	g, seen := r.v.Graph, map[like]int{} // looked up, never iterated
	var reps []int
	for ep, e := range g.Endpoints {
		link := g.LinkAt(e.Node, e.Port)
		k := like{g.Nodes[e.Node].Ports[e.Port].Peer, link.Rate, link.Delay}
		if seen[k] < 2 {
			seen[k]++
			reps = append(reps, ep)
		}
	}
	return reps
}

// ns3BDP is base RTT times the path's lowest rate; the base RTT is twice the
// propagation and one payload's serialisation per link of the path, truncated
// to nanoseconds. 4160 ns and 52000 B for a star at 100 Gb/s with 1 us links.
func (r *resolver) ns3BDP(src, dst int) units.Bytes {
	rtt, rate, err := ns3BaseRTT(r.v.Graph, r.v.Routes, src, dst, r.mtu)
	if err != nil {
		return 0 // no flow runs between them: pairs of flows are checked before
	}
	bdp := bytesIn(rate, rtt)
	if rate.TxTimeLong(bdp) > rtt { // truncated there
		bdp--
	}
	return bdp
}
