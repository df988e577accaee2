package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/subnet"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// infinibandSettings is the `infiniband` section: what the stack infiniband has
// beyond the others, alike for all its links.
type infinibandSettings struct {
	vls                 int
	buffer, hcaBuffer   units.Bytes // of each VL, at switches and at hosts; endlessBuffer: no end
	update              units.Bytes // -1: a quarter of what the buffer lets be granted
	sl2vl               []uint8     // 16 entries
	high, low           []fabric.VLWeight
	highLimit           int
	hoqLife, packetLife int    // codes
	generation          string // of switches, which says what PortXmitWait counts; genAuto: by their ports
	grh                 bool
	subnet              subnetSettings
	cc                  ibccSettings
	obj                 object
	arbitration         *fabric.VLArbitration
	switchPort, hcaPort *fabric.CreditParams
}

// Sources of the section's defaults.
const (
	fromOpenSM  = "OpenSM's defaults (osm_base.h), cut to the VLs in operation"
	mostCredits = "the most that a flow-control packet can grant, 2048 blocks (IBTA 7.9.4); vendors publish no sizes"
)

// endlessBuffer stands for an input buffer that takes whatever comes; its word is unlimited.
const (
	endlessBuffer units.Bytes = -1
	unlimited                 = "unlimited"
)

// serviceLevels is the number of SLs (IBTA 7.6.5).
const serviceLevels = 16

// never stands for a lifetime without limit: codes above 19 (IBTA 14.2.5.4).
const neverCode = 20

// defaultInfiniBand is what holds without the section.
func defaultInfiniBand() infinibandSettings {
	most := fabric.MaxCredits * wire.CreditBlock * units.Byte
	return infinibandSettings{generation: genAuto, vls: fabric.Classes, buffer: most, update: -1,
		hoqLife: neverCode, packetLife: neverCode, subnet: subnetSettings{engine: subnet.Engines()[0], sls: 1}, cc: newIBCC()}
}

// readInfiniBand reads the section. It stands behind the workload's, because
// service levels are checked against it.
func (r *resolver) readInfiniBand(o object) {
	s := &r.ib
	keys := r.infinibandKeys()
	s.obj = o.object("infiniband", keys)
	s.obj.read(keys)
	if !s.obj.has("hca_buffer") {
		s.hcaBuffer = s.buffer
	}
	r.readVLs(s.obj)
	if s.grh && r.stack().Credits {
		r.v.Wire = wire.InfiniBandGRH
	}
}

// infinibandKeys are the keys of the section.
func (r *resolver) infinibandKeys() []key {
	s := &r.ib
	lanes := jsonSchema{"type": "string"}
	later := func(object, string) {} // see readVLs
	return joinKeys([]key{
		numberKey("vls", &s.vls, 1, fabric.Classes, "Data VLs in operation: 1, 2, 4 or 8.").check(func(o object) {
			if s.vls&(s.vls-1) != 0 {
				o.fail("vls", "%d is no number of data VLs that a port can operate; give 1, 2, 4 or 8", s.vls)
			}
		}),
		sizeKey("buffer", &s.buffer, "Input buffer of each VL at each receiving port; credits are blocks of 64 B of it, and no more than 128 KiB are ever granted. `unlimited`: it takes whatever comes, and nobody waits for credits.").otherwise("128KiB").
			or(unlimited, func() { s.buffer = endlessBuffer }),
		sizeKey("hca_buffer", &s.hcaBuffer, "The same at the ports of hosts.").otherwise("`buffer`").or(unlimited, func() { s.hcaBuffer = endlessBuffer }),
		sizeKey("update", &s.update, "So much must have been freed before a flow-control packet says so at once; less is told within 65,536 symbol times.").
			otherwise("a quarter of the buffer, 32 KiB at most"),
		textKey("sl2vl", "list such as `0,1,2,3`", lanes, later, "The VL of each of the 16 service levels, as in opensm.conf. `class` in the workload is the service level, 0 unless "+
			"given; answers take that of what they answer.").otherwise("`0,1,2,...` modulo `vls`"),
		textKey("vlarb_high", "list of `VL:weight`, `none`", lanes, later, "VL arbitration table of high priority, in units of 64 B, as in opensm.conf; at most 64 entries.").otherwise("`0:4`"),
		textKey("vlarb_low", "list of `VL:weight`, `none`", lanes, later, "The table of low priority.").otherwise("`1:4,2:4,...`"),
		numberKey("high_limit", &s.highLimit, 0, 255, "Times 4 KB may the high table send before the low one has a turn; 0: one packet, 255: no limit."),
		lifeKey("hoq_life", &s.hoqLife, "A packet that stands at the head of a switch's queue for 4.096 us * 2^n is discarded; 0 to 19."),
		lifeKey("packet_life", &s.packetLife, "The same for its whole time in a switch."),
		wordKey("switch_generation", &s.generation, []string{genAuto, fabric.TickQuantum.String(), fabric.TickSwitchIB.String()},
			"What ports count as one `PortXmitWait`: `quantum` (to Quantum-3) the time of 8 bytes at the port's rate, `switch-ib-2` (and SwitchX, Switch-IB) that of 32 bytes on each of its "+
				"lanes; `auto`: `quantum` for a switch with a port of HDR or faster, by its lanes (so `2xHDR`), `switch-ib-2` for others; hosts as their switch."),
		flagKey("grh", &s.grh, "Every packet carries a GRH, 40 bytes."),
	}, r.subnetKeys(), []key{r.ibccKey()})
}

// lifeKey is a lifetime code: 4.096 us * 2^n, or never.
func lifeKey(name string, code *int, text string) key {
	return numberKey(name, code, 0, neverCode, text).otherwise("`never`").or("never", func() { *code = neverCode })
}

// readVLs reads the map of service levels and the arbitration tables, in the
// words of opensm.conf: "0,1,2" and "0:4,1:0".
func (r *resolver) readVLs(o object) {
	s := &r.ib
	s.sl2vl = make([]uint8, serviceLevels)
	for sl := range s.sl2vl {
		s.sl2vl[sl] = uint8(sl % s.vls)
	}
	s.high = []fabric.VLWeight{{VL: 0, Weight: 4}}
	for vl := 1; vl < s.vls; vl++ {
		s.low = append(s.low, fabric.VLWeight{VL: uint8(vl), Weight: 4})
	}
	if text, ok := o.scalar("sl2vl"); ok {
		items := strings.Split(text, ",")
		if len(items) != serviceLevels {
			o.fail("sl2vl", "has %d entries; give the VL of each of the %d service levels, such as 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3", len(items), serviceLevels)
			return
		}
		for sl, item := range items {
			vl, ok := s.vl(item)
			if !ok {
				o.fail("sl2vl", "service level %d has no VL: %q is not one of 0 to %d, which vls: %d operates", sl, strings.TrimSpace(item), s.vls-1, s.vls)
				return
			}
			s.sl2vl[sl] = vl
		}
	}
	r.readArbitration(o, "vlarb_high", &s.high)
	r.readArbitration(o, "vlarb_low", &s.low)
}

// vl reads a VL in operation.
func (s *infinibandSettings) vl(text string) (uint8, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 8)
	return uint8(n), err == nil && int(n) < s.vls
}

func (r *resolver) readArbitration(o object, key string, table *[]fabric.VLWeight) {
	text, ok := o.scalar(key)
	if !ok {
		return
	}
	*table = nil
	if text == "none" {
		return
	}
	for _, item := range strings.Split(text, ",") {
		lane, weight, _ := strings.Cut(item, ":")
		vl, ok := r.ib.vl(lane)
		w, err := strconv.ParseUint(strings.TrimSpace(weight), 10, 8)
		if !ok || err != nil {
			o.fail(key, "%q is no entry; write VL:weight with a VL from 0 to %d and a weight from 0 to 255, such as 0:192,1:64, or none", strings.TrimSpace(item), r.ib.vls-1)
			return
		}
		*table = append(*table, fabric.VLWeight{VL: vl, Weight: uint8(w)})
	}
	if len(*table) > 64 {
		o.fail(key, "has %d entries; a VL arbitration table holds 64 (IBTA 7.6.9)", len(*table))
	}
}

// resolveCredits turns the section into the parameters of ports.
func (r *resolver) resolveCredits() {
	if r.d.err != nil {
		return
	}
	s := &r.ib
	s.arbitration = &fabric.VLArbitration{High: s.high, Low: s.low, HighLimit: uint8(s.highLimit)}
	s.switchPort = r.credits("buffer", s.buffer)
	s.hcaPort = s.switchPort
	if s.obj.has("hca_buffer") {
		s.hcaPort = r.credits("hca_buffer", s.hcaBuffer)
	}
	if r.d.err != nil {
		return
	}
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		c.DSCP = c.Class // the service level stands in its place
		c.Class = s.sl2vl[c.Class]
	}
	r.classes = 0
	for i := range r.v.Plan.Conns {
		r.classes |= 1 << r.v.Plan.Conns[i].Class
	}
	r.checkWeights()
}

// credits are the input buffers of a port.
func (r *resolver) credits(key string, size units.Bytes) *fabric.CreditParams {
	s := &r.ib
	const largestBuffer = 2 * units.MiB
	endless := size == endlessBuffer
	if endless {
		size = fabric.MaxCredits * wire.CreditBlock
	}
	largest := int64(fabric.Blocks(uint32(r.maxFrame())))
	blocks := int64(size) / wire.CreditBlock
	if blocks < largest || size > largestBuffer {
		s.obj.fail(key, "%v is no input buffer of a VL; give %v, for one packet of path MTU %d, to %v", size, units.Bytes(largest*wire.CreditBlock), int64(r.mtu), units.Bytes(largestBuffer))
		return nil
	}
	// What was freed and is not told yet must leave room for a packet in what may be
	// granted, or the sender would wait for the timer.
	granted := min(blocks, fabric.MaxCredits)
	most := max(1, granted-largest)
	update := min(granted/4, most)
	if s.update >= 0 {
		update = (int64(s.update) + wire.CreditBlock - 1) / wire.CreditBlock
		if update < 1 || update > most {
			s.obj.fail("update", "%v leaves a sender waiting with less than a packet's credits; give 64B to %v, what is granted at most less a packet", s.update, units.Bytes(most*wire.CreditBlock))
			return nil
		}
	}
	out := &fabric.CreditParams{Endless: endless}
	for vl := range s.vls {
		out.Blocks[vl], out.Update[vl] = uint16(blocks), uint16(update)
	}
	return out
}

// checkWeights refuses a VL in use that no table serves.
func (r *resolver) checkWeights() {
	s := &r.ib
	for sl, vl := range s.sl2vl {
		used := false
		for i := range r.v.Plan.Conns {
			used = used || int(r.v.Plan.Conns[i].DSCP) == sl
		}
		served := false
		for _, table := range [][]fabric.VLWeight{s.high, s.low} {
			for _, e := range table {
				served = served || e.VL == vl && e.Weight > 0
			}
		}
		if used && !served {
			key := "vlarb_low"
			if !s.obj.has(key) {
				key = "vlarb_high"
			}
			s.obj.fail(key, "VL %d, which service level %d uses, has no weight in vlarb_high or vlarb_low and would never send", vl, sl)
			return
		}
	}
}

// switchLatency is the cut-through latency of switches whose fastest port has at
// most a rate.
type switchLatency struct {
	upTo    units.Rate
	speed   string
	latency units.Time
	source  string
}

// portToPort lists the latencies by speed, from the pages of the vendors' switches
// (models.md 6.5).
func portToPort() []switchLatency {
	const pages = "vendor's pages: "
	return []switchLatency{
		{56 * units.Gbps, "up to FDR", 170 * units.Nanosecond, pages + "QDR and FDR switches 165 to 200 ns"},
		{100 * units.Gbps, "EDR", 90 * units.Nanosecond, pages + "EDR switches 90 ns"},
		{200 * units.Gbps, "HDR", 130 * units.Nanosecond, pages + "HDR switches 130 ns"},
		{topology.MaxRate, "NDR and faster", 150 * units.Nanosecond, "assumed: the pages on NDR switches disagree, below 150 ns or about 330 ns"},
	}
}

// latencyNotes lists the latencies for `show`.
func latencyNotes() (out []record.Note) {
	for _, l := range portToPort() {
		out = append(out, note("switch.latency ("+l.speed+")", l.latency.String()+" port to port, by the fastest port", l.source))
	}
	return out
}

// cutThrough gives switches that say nothing what InfiniBand switches have.
func (r *resolver) cutThrough() {
	if !r.stack().Credits || r.d.err != nil {
		return
	}
	for n := range r.v.Graph.Nodes {
		s := &r.switches[n]
		if r.v.Graph.Nodes[n].Kind != topology.Switch {
			continue
		}
		if !r.onCredits(n) {
			r.asEthernet(s)
			continue
		}
		if s.latency >= 0 {
			continue
		}
		fastest := units.Rate(0)
		for port := range r.v.Graph.Nodes[n].Ports {
			fastest = max(fastest, 4*r.v.Graph.LinkAt(n, port).LaneRate()) // 2xHDR is a port of an HDR switch
		}
		for _, l := range portToPort() {
			if fastest <= l.upTo {
				s.latency, r.latencySource = l.latency, l.source
				break
			}
		}
	}
}

// genAuto stands for the generation that the lanes of a switch's ports name.
const genAuto = "auto"

// counting are the input buffers of a node's ports, with what they count as PortXmitWait: a
// generation is a switch's, and a host's port is assumed to be of that of its switch.
func (r *resolver) counting(c *fabric.CreditParams, n int) *fabric.CreditParams {
	const hdr = 50 * units.Gbps // of one lane
	out, g := *c, r.v.Graph
	if p := g.Nodes[n].Ports; g.Nodes[n].Kind == topology.Host && len(p) > 0 && g.Nodes[p[0].Peer].Kind == topology.Switch {
		n = p[0].Peer
	}
	out.Wait = fabric.TickSwitchIB
	for port := range g.Nodes[n].Ports {
		if g.LinkAt(n, port).LaneRate() >= hdr {
			out.Wait = fabric.TickQuantum
		}
	}
	switch r.ib.generation {
	case fabric.TickQuantum.String():
		out.Wait = fabric.TickQuantum
	case fabric.TickSwitchIB.String():
		out.Wait = fabric.TickSwitchIB
	}
	return &out
}

// resolveInfiniBandSwitch fills the parameters of switch n.
func (r *resolver) resolveInfiniBandSwitch(n int) {
	s, ib := &r.switches[n], &r.ib
	out := fabric.SwitchParams{Latency: s.latency, CutThrough: s.cutThrough, Salt: r.salt(n), Hash: r.hashOf(n),
		Balancing: r.balancing, SL2VL: ib.sl2vl, HOQLife: fabric.Lifetime(ib.hoqLife), PacketLife: fabric.Lifetime(ib.packetLife)}
	ports := len(r.v.Graph.Nodes[n].Ports)
	fecn := r.fecn()
	out.MarkAtEnqueue = fecn != nil
	credit := r.counting(ib.switchPort, n)
	for port := range ports {
		out.Ports = append(out.Ports, fabric.PortParams{Credit: credit, VLArb: ib.arbitration, FECN: fecn, Victim: r.victim(n, port)})
	}
	r.v.Switches[n] = out
}

// resolveHCA fills the ports of a host's adapter. Its receive buffer is the
// input buffers of its VLs; answers travel on the lane of what they answer.
func (r *resolver) resolveHCA(s *nicSettings, out *NIC, n int) {
	out.RxBuffer, out.RxXOFF, out.RxXON = 0, 0, 0
	out.AckClass, out.AckDSCP = sameAsData, sameAsData
	out.CNPClass = sameAsData // the lane and service level of what was marked
	credit := r.counting(r.ib.hcaPort, n)
	for port := range r.v.Graph.Nodes[n].Ports {
		if r.creditsAt(n, port) {
			out.Ports = append(out.Ports, fabric.PortParams{Credit: credit, VLArb: r.ib.arbitration})
			continue
		}
		out.Ports = append(out.Ports, fabric.PortParams{Strict: s.strict, Weight: s.weight, DWRRQuantum: r.maxFrame()})
	}
	if s.drain > 0 {
		r.note(s.obj.path+".drain_rate", s.drain.String()+", out of the input buffers", fromScenario)
	}
}

// bufferText says how large an input buffer is.
func bufferText(n units.Bytes) string {
	if n == endlessBuffer {
		return "no end: nobody waits for credits"
	}
	return n.String() + " per VL and port"
}

// infinibandNotes says what the section and its defaults have put in.
func (r *resolver) infinibandNotes() {
	s := &r.ib
	o := s.obj
	if o.n == nil {
		o.n = &node{}
	}
	vls := func(text string, key, otherwise string) { r.note("infiniband."+key, text, sourceOf(o, key, otherwise)) }
	vls(fmt.Sprint(s.vls), "vls", "VLCap VL0-7, as HCAs and switches ship; nine to fifteen are not modelled")
	vls(bufferText(s.buffer), "buffer", mostCredits)
	if o.has("hca_buffer") {
		vls(bufferText(s.hcaBuffer), "hca_buffer", "")
	}
	update := units.Bytes(s.switchPort.Update[0]) * wire.CreditBlock
	of := "the buffer"
	if s.buffer > fabric.MaxCredits*wire.CreditBlock {
		of = "the 128KiB that are granted at most"
	}
	vls(update.String()+" freed", "update", "assumed: a quarter of "+of+"; else within 65,536 symbol times (IBTA 7.9.4)")
	var lanes []string
	for _, vl := range s.sl2vl {
		lanes = append(lanes, fmt.Sprint(vl))
	}
	vls(strings.Join(lanes, ","), "sl2vl", fromOpenSM)
	vls(tableText(s.high), "vlarb_high", fromOpenSM)
	vls(tableText(s.low), "vlarb_low", fromOpenSM)
	vls(fmt.Sprint(s.highLimit), "high_limit", fromOpenSM)
	vls(lifeText(s.hoqLife), "hoq_life", "off; OpenSM sets 18, 1.07 s")
	vls(lifeText(s.packetLife), "packet_life", "off; OpenSM sets 18, 1.07 s")
	vls(s.generation, "switch_generation", "the unit of PortXmitWait by the fastest lanes of a switch: ibdiagnet manual 2.13; of hosts' ports assumed to be the same")
	vls(s.subnet.engine, "routing", "OpenSM's default")
	if o.has("sls") {
		vls(fmt.Sprintf("at most %d", s.subnet.sls), "sls", "")
	}
	r.ibccNotes()
}

// creditSwitchNotes are the notes of an InfiniBand switch.
func (r *resolver) creditSwitchNotes(o object, s *switchSettings) {
	r.note("switch.latency", s.latency.String()+" port to port", sourceOf(o, "latency", r.latencySource))
	how := "store-and-forward"
	if s.cutThrough {
		how = "cut-through"
	}
	r.note("switch.forwarding", how, sourceOf(o, "forwarding", "InfiniBand switches cut through"))
	r.infinibandNotes()
}

func tableText(table []fabric.VLWeight) string {
	var out []string
	for _, e := range table {
		out = append(out, fmt.Sprintf("%d:%d", e.VL, e.Weight))
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ",")
}

func lifeText(code int) string {
	if d := fabric.Lifetime(code); d > 0 {
		return fmt.Sprintf("%d (%v)", code, d)
	}
	return "never"
}
