package scenario

import (
	"cmp"
	"fmt"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// resolveDevices fills the parameters of every switch and NIC.
func (r *resolver) resolveDevices() {
	if r.d.err != nil {
		return
	}
	nodes := r.v.Graph.Nodes
	r.unselective = r.cardThatGoesBack()
	r.v.Switches, r.v.NICs = make([]fabric.SwitchParams, len(nodes)), make([]NIC, len(nodes))
	r.checkPortMTUs()
	if r.d.err != nil {
		return
	}
	for n := range nodes {
		if nodes[n].Kind == topology.Switch {
			r.resolveSwitch(n)
		} else {
			r.resolveNIC(n)
		}
		if r.d.err != nil {
			return
		}
	}
	r.resolveWindows()
	r.fitReordered()
	r.checkRecovery()
	r.checkInline()
}

// ethernetLen is what Ethernet puts around an IP packet.
func ethernetLen(vlan bool) uint32 {
	if vlan {
		return wire.EthernetLen + wire.FCSLen + wire.VLANLen
	}
	return wire.EthernetLen + wire.FCSLen
}

// checkPortMTUs refuses a path MTU whose packets a port cannot carry. A port's
// MTU is that of the IP packet: payload and 62+16 bytes of headers less the 18
// of Ethernet.
func (r *resolver) checkPortMTUs() {
	need := r.maxFrame() - units.Bytes(ethernetLen(r.vlan))
	if r.stack().Credits { // packets of path MTU stay on InfiniBand
		need = units.Bytes(r.tcp.mtu)
	}
	first, firstMTU := "", units.Bytes(0)
	for n := range r.v.Graph.Nodes {
		node := &r.v.Graph.Nodes[n]
		if !r.ethernetAt(n) {
			continue
		}
		mtu, o := r.switches[n].mtu, r.switches[n].obj
		if node.Kind == topology.Host {
			mtu, o = r.nics[n].mtu, r.nics[n].obj
		}
		if mtu < need && node.Kind == topology.Switch && r.switches[n].drops {
			r.warn("oversize", "%s drops packets of more than %d B: a full packet has %d B, so that messages longer than what fits never arrive",
				node.Name, int64(mtu), int64(need))
			continue
		}
		if mtu < need {
			if r.anyTCP() && need == units.Bytes(r.tcp.mtu) {
				at := o.at("mtu")
				if r.tcp.obj.has("mtu") {
					at = r.tcp.obj.at("mtu")
				}
				r.d.fail(at, "an IP packet of tcp.mtu, %d B, does not fit the port MTU %d of %s; lower tcp.mtu or raise the port MTU",
					int64(need), int64(mtu), node.Name)
				return
			}
			r.d.fail(o.at("mtu"), "a packet of path MTU %d is %d B long and does not fit the port MTU %d of %s; lower mtu or raise the port MTU",
				int64(r.mtu), int64(need), int64(mtu), node.Name)
			return
		}
		switch {
		case first == "":
			first, firstMTU = node.Name, mtu
		case mtu != firstMTU:
			fits := fmt.Sprintf("the path MTU %d", int64(r.mtu))
			if r.onlyTCP() {
				fits = fmt.Sprintf("tcp.mtu, %d,", r.tcp.mtu)
			}
			r.warn("mtu", "port MTUs differ along the path: %s has %d, %s has %d; %s fits both, larger ones may not",
				first, int64(firstMTU), node.Name, int64(mtu), fits)
		}
	}
}

// resolveNIC fills the parameters of host n's card.
func (r *resolver) resolveNIC(n int) {
	s, node := &r.nics[n], &r.v.Graph.Nodes[n]
	out := NIC{CNPClass: uint8(s.cnpClass), CNPDSCP: uint8(8 * s.cnpClass), TTL: uint8(s.ttl),
		RxBuffer: s.rxBuffer, RxXOFF: s.rxXOFF, RxXON: s.rxXON, DrainRate: s.drain,
		Faults: s.faults}
	r.checkFaults(n)
	if s.cnpDSCP >= 0 {
		out.CNPDSCP = uint8(s.cnpDSCP)
	}
	out.AckClass, out.AckDSCP = r.ackClass(s)
	r.recoverAs(s)
	out.Transport = r.transportOf(s)
	out.MaxRdAtomic, out.MaxDestRdAtomic, out.MaxInline = uint8(s.maxRd), uint8(s.maxDestRd), s.maxInline
	out.MTTCache, out.QPCCache, out.CacheMiss = s.mtt, s.qpc, s.miss
	out.Host, out.Server, out.Card = s.host.Host, s.server.inside(), s.card
	out.Host.Uneven = out.Host.MapIn && r.uneven()
	for port := range node.Ports {
		if s.drain == 0 && s.cached() && out.Server == nil { // the pipeline takes what the wire brings, but for misses
			out.DrainRate = max(out.DrainRate, r.v.Graph.LinkAt(n, port).Rate)
		}
	}
	if r.stack().Credits {
		r.resolveHCA(s, &out, n)
		r.v.NICs[n] = out
		return
	}
	headroom := units.Bytes(0)
	for port := range node.Ports {
		link := r.v.Graph.LinkAt(n, port)
		out.Ports = append(out.Ports, fabric.PortParams{PFC: s.pfc.portPFC(link.Rate), Strict: s.strict, Weight: s.weight, DWRRQuantum: r.maxFrame()})
		headroom = max(headroom, physicalHeadroom(cable{rate: link.Rate, delay: link.Delay, frame: r.maxFrame(),
			response: r.pfcOf(node.Ports[port].Peer).responseAt(link.Rate), pfcWire: units.Bytes(r.v.Wire.Control + r.v.Wire.Overhead)}))
	}
	r.receiveBuffer(s, node.Name, headroom, &out)
	r.v.NICs[n] = out
}

// ackClass is where ACKs go: with the data they answer, or in a class of their
// own with that class's selector as DSCP.
func (r *resolver) ackClass(s *nicSettings) (class, dscp uint8) {
	class, dscp = sameAsData, sameAsData
	for c := uint8(0); c < fabric.Classes; c++ {
		if r.tcp.rdma == 1<<c { // all data shares one class: name it
			class = c
		}
	}
	if s.ackClass >= 0 {
		if uint8(s.ackClass) != class {
			dscp = uint8(8 * s.ackClass)
		}
		class = uint8(s.ackClass)
	}
	if s.ackDSCP >= 0 {
		dscp = uint8(s.ackDSCP)
	}
	return class, dscp
}

// receiveBuffer places XOFF so that what still arrives after it fits.
func (r *resolver) receiveBuffer(s *nicSettings, name string, headroom units.Bytes, out *NIC) {
	if s.cached() {
		r.note(s.obj.path+".caches", fmt.Sprintf("%s translations, %s contexts, %v per miss", entries(s.mtt), entries(s.qpc), s.miss), r.missSource(s))
	}
	if out.RxXOFF == 0 {
		out.RxXOFF = s.rxBuffer - headroom
	}
	if out.RxXON < 0 {
		out.RxXON = out.RxXOFF / 2
	}
	if out.DrainRate == 0 && out.Server == nil && len(out.Faults) == 0 {
		return
	}
	drained := fmt.Sprintf("drained at %v", out.DrainRate)
	if out.DrainRate == 0 {
		drained = "drained as it fills"
	}
	if out.Server != nil {
		drained = "drained by the server's PCIe links"
	}
	if out.RxXOFF < r.maxFrame() {
		r.d.fail(s.obj.at("rx_buffer"), "rx_buffer %v of %s leaves no room below its headroom of %v; give at least %v",
			s.rxBuffer, name, headroom, headroom+2*r.maxFrame())
		return
	}
	if out.RxXON >= out.RxXOFF {
		r.d.fail(s.obj.at("rx_xon"), "rx_xon %v of %s is not below XOFF at %v; XON must lie below XOFF", out.RxXON, name, out.RxXOFF)
		return
	}
	if s.pfc.enabled == 0 {
		r.note(cmp.Or(s.obj.path, "nic")+".rx_buffer", fmt.Sprintf("%v, drops when full (no PFC), %s", s.rxBuffer, drained), fromScenario)
		return
	}
	if room := s.rxBuffer - out.RxXOFF; room < headroom {
		r.warn(fmt.Sprint("rx", room, headroom), "%s: %v above rx_xoff is short for the cable, which can need %v; frames may be dropped", name, room, headroom)
	}
	r.note(cmp.Or(s.obj.path, "nic")+".rx_buffer", fmt.Sprintf("%v, XOFF %v, XON %v, %s", s.rxBuffer, out.RxXOFF, out.RxXON, drained),
		"XOFF leaves the physical bound of headroom unless given")
}

// entries says how many a cache has.
func entries(n int) string {
	if n == 0 {
		return "all"
	}
	return fmt.Sprint(n)
}

func (r *resolver) missSource(s *nicSettings) string {
	if s.miss == cacheMiss {
		return "a fetch: median DMA read of 64 B on a Xeon E5, SIGCOMM 2018"
	}
	return fromScenario
}

// transportOf returns the index of the transport profile of a NIC, adding it
// when no NIC before has it.
func (r *resolver) transportOf(s *nicSettings) int {
	c := r.transport(s)
	for i := range r.v.Transports {
		if r.v.Transports[i] == c {
			return i
		}
	}
	r.v.Transports = append(r.v.Transports, c)
	return len(r.v.Transports) - 1
}

func (r *resolver) transport(s *nicSettings) rdma.Config {
	preset := s.recovery
	if preset == goBackN {
		preset = "nic"
	}
	c, err := rdma.Preset(preset)
	if err != nil {
		r.d.fail(s.obj.at("recovery"), "%v", err)
		return c
	}
	c.MTU, c.AckEvery, c.Wire, c.TimeQuantum = r.mtu, s.ackEvery, r.v.Wire, r.v.TimeQuantum
	c.RetryCount = uint8(s.retry)
	if s.timeout >= 0 {
		c.Timeout = rdma.TimeoutCode(uint8(s.timeout))
		c.TimeoutLow = min(c.TimeoutLow, c.Timeout)
	}
	r.adapt(s, &c)
	switch {
	case !c.Selective():
	case s.bitmap > 0:
		c.Bitmap = s.bitmap
	case s.card.Bitmap > 0:
		c.Bitmap = s.card.Bitmap
	}
	c.OutOfOrder = s.outOfOrder && c.Selective()
	c.RNRRetry, c.MinRNRTimer = uint8(s.rnrRetry), uint8(s.minRNR)
	c.CC, c.NAKNotifies = r.congestionOf(s), s.card.NAKNotifies
	c.SendCNP, c.ECT = c.CC != nil, r.marked()
	if c.Control = r.v.Control; c.Control != nil {
		needs := r.needs()
		c.SendCNP, c.CNPOnAck = needs.CNP, needs.Echo
		if needs.EveryAck {
			c.AckEvery = 1
		}
	}
	if r.stack().Credits && r.ib.cc.on {
		c.IBCC = &r.ib.cc.params
	}
	switch {
	case s.window.bytes > 0:
		c.Window, c.WindowBytes = rdma.WindowBytes, s.window.bytes
		r.fitBitmap(s, &c, s.window.bytes)
	case s.window.den > 0:
		c.Window = rdma.WindowBytes
	}
	return c
}

// recoverAs gives a NIC its recovery: what the scenario says, else the stack's, and
// what packets that take several ways ask for. IRN has a window of one BDP unless
// another is given (SIGCOMM 2018).
func (r *resolver) recoverAs(s *nicSettings) {
	given := s.recovery != ""
	if !given {
		s.recovery = r.stack().Recovery
	}
	r.reorder(s, given)
	if s.recovery == irn && !s.window.given {
		s.window = window{num: 1, den: 1}
	}
}

// checkRecovery refuses connections whose ends would not understand each other:
// one NAKs with ranges that the other does not read, or sends further ahead than
// the other's bitmap reaches.
func (r *resolver) checkRecovery() {
	if r.d.err != nil {
		return
	}
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		src, dst := r.v.Graph.HostOf(c.Src), r.v.Graph.HostOf(c.Dst)
		a, b := &r.v.Transports[r.v.NICs[src].Transport], &r.v.Transports[r.v.NICs[dst].Transport]
		switch s, d := &r.nics[src], &r.nics[dst]; {
		case s.recovery != d.recovery && (a.Selective() || b.Selective()):
			o := s.obj
			if o.n == nil || !o.has("recovery") {
				o = d.obj
			}
			r.d.fail(o.at("recovery"), "%s recovers by %s and its peer %s by %s; both ends of a connection need the same",
				r.v.Graph.Nodes[src].Name, s.recovery, r.v.Graph.Nodes[dst].Name, d.recovery)
			return
		case a.Selective() && b.Bitmap < a.Bitmap:
			r.d.fail(d.obj.at("bitmap"), "the bitmap of %s, %d packets, is smaller than what its peer %s may have outstanding, %d; give both ends the same",
				r.v.Graph.Nodes[dst].Name, b.Bitmap, r.v.Graph.Nodes[src].Name, a.Bitmap)
			return
		}
	}
}

// fitBitmap makes the bitmap large enough for a window, or refuses one that the
// scenario gave and that the window would never fit.
func (r *resolver) fitBitmap(s *nicSettings, c *rdma.Config, w units.Bytes) {
	need := c.WindowPackets(w)
	limit := int64(rdma.MaxBitmap)
	if s.bitmap > 0 {
		limit = int64(s.bitmap)
	}
	switch {
	case !c.Selective():
	case need <= limit:
		c.Bitmap = max(c.Bitmap, int(need))
	case s.bitmap > 0:
		r.d.fail(s.obj.at("bitmap"), "a bitmap of %d packets is smaller than the window of %v, which is %d packets of %d B; give a bitmap of at least %d, or a smaller window",
			s.bitmap, w, need, int64(c.MTU), need)
	default:
		r.d.fail(s.obj.at("window"), "a window of %v is %d packets of %d B, and no bitmap is larger than %d; give a smaller window or a larger mtu",
			w, need, int64(c.MTU), rdma.MaxBitmap)
	}
}

// congestionOf is the scenario's DCQCN, or a copy for a card that keeps CNPs apart at another
// end, or in another scope. Copies are shared through the transports that already have them.
func (r *resolver) congestionOf(s *nicSettings) *congestion.DCQCNParams {
	base := r.v.DCQCN
	if base == nil {
		return nil
	}
	own := *base
	switch s.coalesce {
	case congestion.AtReceiver.String():
		own.CNPCoalesce = congestion.AtReceiver
	case congestion.AtSender.String():
		own.CNPCoalesce = congestion.AtSender
	}
	r.cardDCQCN(s, &own)
	if s.cnpInterval >= 0 {
		own.MinTimeBetweenCNPs = s.cnpInterval
	}
	if own == *base {
		return base
	}
	for i := range r.v.Transports {
		if cc := r.v.Transports[i].CC; cc != nil && *cc == own {
			return cc
		}
	}
	return &own
}

// resolveWindows turns windows in BDPs into bytes per connection.
func (r *resolver) resolveWindows() {
	relative := false
	for n := range r.nics {
		relative = relative || r.nics[n].window.den > 0
	}
	if !relative || r.d.err != nil {
		return
	}
	r.v.Windows = make([]units.Bytes, len(r.v.Plan.Conns))
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		s := &r.nics[r.v.Graph.HostOf(c.Src)]
		r.v.Windows[i] = s.window.bytes
		if s.window.den == 0 {
			continue
		}
		rtt, rate, err := r.baseRTT(c.Src, c.Dst)
		if err != nil {
			r.d.fail(s.obj.at("window"), "window: %v", err)
			return
		}
		w := scaleRatio(bytesIn(rate, rtt), s.window.num, s.window.den)
		r.v.Windows[i] = max(w, r.mtu)
		for _, ep := range []int{c.Src, c.Dst} {
			host := r.v.Graph.HostOf(ep)
			if r.fitBitmap(&r.nics[host], &r.v.Transports[r.v.NICs[host].Transport], r.v.Windows[i]); r.d.err != nil {
				return
			}
		}
		r.note("nic.window", fmt.Sprintf("%v (base RTT %v at %v)", w, rtt, rate),
			"bandwidth-delay product: both ways' propagation and pipelines, a full frame out and an ACK back")
	}
}

// baseRTT is the time from the start of a full frame to the end of its ACK on
// an idle shortest path, and the path's lowest rate.
func (r *resolver) baseRTT(src, dst int) (units.Time, units.Rate, error) {
	return r.idleRTT(src, dst, r.maxFrame(), units.Bytes(r.v.Wire.Ack))
}

// idleRTT is baseRTT of frames of any length there and back.
func (r *resolver) idleRTT(src, dst int, there, back units.Bytes) (units.Time, units.Rate, error) {
	hops, err := r.v.Routes.Path(r.v.Graph, src, dst)
	if err != nil {
		return 0, 0, err
	}
	rtt := 2 * topology.PathDelay(r.v.Graph, hops)
	over := units.Bytes(r.v.Wire.Overhead)
	for i, h := range hops {
		rate := r.v.Graph.LinkAt(h.Node, h.Port).Rate
		rtt += rate.TxTime(there+over) + rate.TxTime(back+over)
		if i > 0 {
			rtt += 2 * r.switches[h.Node].latency
		}
	}
	return rtt, topology.PathRate(r.v.Graph, hops), nil
}
