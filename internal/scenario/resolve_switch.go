package scenario

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// resolver turns settings into the parameters of a Valid.
type resolver struct {
	keys              []key  // of the scenario
	alone             bool   // it has a server and no topology
	header            object // where the keys of the whole scenario stand
	d                 *decoder
	v                 *Valid
	without           Without     // what an experiment removes
	known             Known       // see Source
	ofStack           Stack       // see stack
	compared          bool        // the stack stands beside others, over the scenario's own
	allInfiniBand     bool        // of a comparison: its TCP shares a network with InfiniBand, and runs over that
	mtu               units.Bytes // path MTU
	switches          []switchSettings
	nics              []nicSettings // both by node index
	hostObj           object        // the sections host, nic and switch
	nicObj, switchObj object
	ends              []bool          // where TCP connections end, by node; while warnings are given
	base              hostSettings    // what it comes to, before what single hosts have of their own
	workload          *node           // the list of entries
	entries           map[string]bool // their names; looked up, never iterated
	numbered          map[string]int  // the last number of a kind of entry; likewise
	entryKeys         []key           // the kinds of entry, each a section
	classes           uint8           // priorities that the workload's data uses
	warned            []warning

	baseDSCP    [64]uint8      // the switch section's DSCP map
	initialRate units.Rate     // dcqcn.initial_rate; 0: the port's
	dcqcn       *dcqcnSettings // nil: none
	dcqcnGiven  object
	controllers *congestion.Registry // nil: those of package congestion
	controlObj  object
	ns3Gap      rdma.GapRule
	topologyAt  pos
	vlan        bool // frames carry an 802.1Q tag
	ipv6        bool // and the header of IPv6

	tcp           tcpSettings
	iwarp         iwarpSettings
	failover      failoverSettings
	noise         noiseSettings
	trains        bool             // steps of training are all that runs, and noise is not given
	balancing     fabric.Balancing // the key routing; nil: ecmp
	routingKeys   object           // likewise
	upDown        bool             // the key paths
	unselective   string           // see cardThatGoesBack
	ib            infinibandSettings
	latencySource string // of InfiniBand switches that give no latency

	downAt map[units.Time]pos // where the first down_at of that time stands; looked up, never iterated

	nccl        ncclSettings
	hostPath    hostPath              // the key gpudirect: over what servers say
	taken       map[jobSite]string    // by what job; looked up
	waits       []wait                // by number of their trigger, behind those of the scenario
	spans       map[string]seriesSpan // by the name of an entry; looked up
	places      []place               // other than endpoints, in the order of their numbers
	placeNumber map[place]int         // looked up, never iterated

	bareHosts []int // hosts of several ports that the workload names without a port

	triggers      []trigger
	triggerNumber map[string]int        // from 1, by name; looked up, never iterated
	distinct      []fabric.SwitchParams // switches with ports or a memory of their own; see share
	noted         map[noted]bool        // profiles of packet memories in the notes; looked up, never iterated
	tierLatency   []units.Time          // pipeline by tier of switches, from 1; negative: not given
}

// warning is a risky setting, said once for all ports that share it.
type warning struct {
	kind string // what is the same
	text string // the first place
	more int
}

func (r *resolver) warn(kind, format string, args ...any) {
	for i := range r.warned {
		if r.warned[i].kind == kind {
			r.warned[i].more++
			return
		}
	}
	r.warned = append(r.warned, warning{kind, fmt.Sprintf(format, args...), 0})
}

func (r *resolver) note(key, value, source string) {
	for _, n := range r.v.Notes {
		if n.Key == key && n.Value == value {
			return
		}
	}
	r.v.Notes = append(r.v.Notes, note(key, value, source))
}

// maxFrame is the largest data frame: the first packet of an RDMA WRITE, or a
// full segment of TCP.
func (r *resolver) maxFrame() units.Bytes {
	rdma := r.mtu + units.Bytes(r.v.Wire.Data+r.v.Wire.RETH)
	switch {
	case r.onlyTCP():
		return r.tcpFrame()
	case r.anyTCP():
		return max(rdma, r.tcpFrame())
	}
	return rdma
}

// pfcOf returns the PFC settings of a node.
func (r *resolver) pfcOf(n int) *pfcSettings {
	if r.v.Graph.Nodes[n].Kind == topology.Host {
		return &r.nics[n].pfc
	}
	return &r.switches[n].pfc
}

// responseAt is how long a node takes to obey a PFC frame at a port's rate.
func (p *pfcSettings) responseAt(rate units.Rate) units.Time {
	if p.response >= 0 {
		return p.response
	}
	return quantaTime(responseQuanta(rate), rate)
}

// refreshFloor is the least distance of PFC refreshes in bytes of wire time:
// twenty PFC frames, so that they take no more than a twentieth of the wire.
const refreshFloor = 20 * 84 * units.Byte

// portPFC is the PFC of a port in both roles.
func (p *pfcSettings) portPFC(rate units.Rate) fabric.PFCParams {
	out := fabric.PFCParams{Enabled: p.enabled, Silent: p.silent, Quanta: uint16(p.quanta), Refresh: p.refresh, Response: p.responseAt(rate)}
	if out.Quanta == 0 {
		out.Refresh = 0
	} else if p.refresh < 0 {
		// Half the pause, but no more often than leaves the wire to data: very
		// short pauses lapse between refreshes.
		out.Refresh = max(quantaTime(int64(p.quanta), rate)/2, rate.TxTime(refreshFloor))
	}
	return out
}

// cableAt describes the link of a switch port for the headroom rules.
func (r *resolver) cableAt(n, port int) cable {
	s := &r.switches[n]
	link := r.v.Graph.LinkAt(n, port)
	peer := r.v.Graph.Nodes[n].Ports[port].Peer
	length := link.Length
	if length == 0 {
		length = units.Length(int64(link.Delay) * 1000 / units.PicosecondsPerMetre)
	}
	return cable{rate: link.Rate, delay: link.Delay, response: r.pfcOf(peer).responseAt(link.Rate), latency: s.latency,
		frame: r.maxFrame(), pfcWire: units.Bytes(r.v.Wire.Control + r.v.Wire.Overhead), length: length,
		portMTU: s.mtu, pathMTU: r.mtu, cell: s.pfc.cell, taken: s.memory.cell,
		jitter: r.v.NoiseAt(n).Pipeline + r.v.Noise.Card, fast: r.v.Noise.Clocks}
}

// headroomAt is the headroom of a lossless priority group of a port: given, or by rule where
// that is negative.
func (r *resolver) headroomAt(n, port int, given units.Bytes) units.Bytes {
	s, c := &r.switches[n], r.cableAt(n, port)
	bound := physicalHeadroom(c)
	switch {
	case given < 0 && s.pfc.rule == spectrumRule:
		given = spectrumHeadroom(c)
		r.note(fmt.Sprintf("switch.pfc.headroom (%v, %v)", c.rate, c.length), given.String(),
			fmt.Sprintf("Spectrum's rule (SONiC buffer_headroom_mellanox.lua, cell %v)", c.cell))
	case given < 0:
		r.note(fmt.Sprintf("switch.pfc.headroom (%v, %v)", c.rate, c.length), bound.String(),
			physicalBound(c))
		return bound
	}
	if given < bound && s.pfc.enabled != 0 {
		node := &r.v.Graph.Nodes[n]
		r.warn(fmt.Sprint("headroom", given, c), "%s port %d: headroom %v is short for the cable: %v over %v can need %v; frames may be dropped",
			node.Name, port+1, given, c.rate, c.length, bound)
		if r.v.ShortHeadroom == nil {
			r.v.ShortHeadroom = map[topology.Hop]units.Bytes{}
		}
		r.v.ShortHeadroom[topology.Hop{Node: n, Port: port}] = bound
	}
	return given
}

// resolveSwitch fills the parameters of switch n.
func (r *resolver) resolveSwitch(n int) {
	s, node := &r.switches[n], &r.v.Graph.Nodes[n]
	if r.onCredits(n) {
		r.resolveInfiniBandSwitch(n)
		return
	}
	if s.trustPCP && !r.vlan {
		r.d.fail(s.obj.at("trust"), "%s.trust: pcp classifies by the VLAN tag, and frames carry none; add vlan: true, or trust dscp", s.obj.path)
		return
	}
	out := fabric.SwitchParams{TrustPCP: s.trustPCP, PCPToPrio: s.pcp, Latency: s.latency, CutThrough: s.cutThrough,
		Salt: r.salt(n), Hash: r.hashOf(n), Balancing: r.balancing,
		DSCPToPrio: s.dscp, MarkAtEnqueue: s.ecn.atEnqueue, Arbitration: r.v.NoiseAt(n).Arbitration,
		Watchdog: r.watchdogOf(n)}
	if needs := r.needs(); needs.INT && !s.silent {
		out.INTScale = max(1, needs.INTScale)
	}
	if s.drops {
		out.MaxFrame = uint32(s.mtu) + ethernetLen(r.vlan)
	}
	if out.Memory = r.memoryOf(n); r.d.err != nil {
		return
	}
	out.Bounce = r.bounceOf(n)
	out.Ports = make([]fabric.PortParams, len(node.Ports))
	for port := range node.Ports {
		out.Ports[port] = r.switchPort(s, r.v.Graph.LinkAt(n, port).Rate)
	}
	r.lossyNotes(n, out.Memory)
	r.share(&out)
	r.v.Switches[n] = out
}

// share gives a switch the ports and the memory of an earlier one whose are the same: of a
// thousand equal switches the parameters would take more than their state.
func (r *resolver) share(out *fabric.SwitchParams) {
	for _, s := range r.distinct {
		if slices.Equal(s.Ports, out.Ports) && s.Memory.Equal(out.Memory) {
			out.Ports, out.Memory = s.Ports, s.Memory
			return
		}
	}
	if len(r.distinct) < mostDistinct {
		r.distinct = append(r.distinct, *out)
	}
}

// mostDistinct is how many different switches share looks through.
const mostDistinct = 16

// salt is that of switch n's ECMP hash.
func (r *resolver) salt(n int) uint64 { return rng.Mix64(r.v.Seed, uint64(n)) }

// lossyNotes says what limits the queues of a stack without PFC: the egress
// dynamic threshold that Azure's SONiC switches have for lossy classes, alpha
// 1/2 of what is free of 14 of 24 MB of buffer (NSDI 2023 appendix A, models
// 2.6).
func (r *resolver) lossyNotes(n int, m *mmu.Params) {
	s := &r.switches[n]
	if r.stack().PFC || s.memory.obj.n != nil {
		return
	}
	l := object{d: r.d, n: orEmpty(orEmpty(s.obj.n).Get("lossy")), path: "switch.lossy"}
	if s.lossyDen == 0 {
		r.note("switch.lossy", "unlimited: up to the memory", fromScenario)
		return
	}
	r.note("switch.lossy.alpha", fmt.Sprintf("%d/%d of the free pool", s.lossyNum, s.lossyDen), sourceOf(l, "alpha", fromAzure))
	for _, p := range m.Egress {
		if p.Name == egressLossyPool {
			r.note("switch.lossy.pool", p.Shared.String(), sourceOf(l, "pool", "7/12 of the buffer: "+fromAzure+", 14 of 24 MB"))
		}
	}
}

func (r *resolver) bufferOf(n int) units.Bytes {
	if b := r.switches[n].buffer; b > 0 {
		r.note("switch.buffer", b.String(), fromScenario)
		return b
	}
	fastest := units.Rate(0)
	for port := range r.v.Graph.Nodes[n].Ports {
		fastest = max(fastest, r.v.Graph.LinkAt(n, port).Rate)
	}
	b := defaultBuffer(fastest)
	r.note(fmt.Sprintf("switch.buffer (%v)", fastest), b.String(), "16 MiB per 50 Gb/s of the fastest port: "+fromRunScript)
	return b
}

func (r *resolver) switchPort(s *switchSettings, rate units.Rate) fabric.PortParams {
	out := fabric.PortParams{PFC: s.pfc.portPFC(rate), Strict: s.strict, Weight: s.weight, DWRRQuantum: r.maxFrame()}
	if !r.marking() {
		return out
	}
	out.RED = r.marks(s, rate)
	if out.RED != [fabric.Classes]fabric.RED{} {
		at := "dequeue"
		if s.ecn.atEnqueue {
			at = "enqueue"
		}
		r.note("switch.ecn.at", at, sourceOf(object{d: r.d, n: orEmpty(s.ecn.obj.n), path: ""}, "at", "where the ns-3 RDMA simulators mark; at: enqueue is the other"))
	}
	return out
}

// scaleRatio returns n*num/den for ratios below 2^17 and buffers below 2^41.
func scaleRatio(n units.Bytes, num, den int64) units.Bytes {
	return n/units.Bytes(den)*units.Bytes(num) + n%units.Bytes(den)*units.Bytes(num)/units.Bytes(den)
}
