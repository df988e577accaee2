package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// notes writes down what presets and rules have put in, after what the devices
// noted of themselves.
func (r *resolver) notes(o object) {
	if r.d.err != nil {
		return
	}
	if r.onlyTCP() {
		r.tcpNotes()
	} else if o.has("packet_payload") {
		r.note("packet_payload", r.mtu.String(), fromScenario)
	} else {
		r.note("mtu", fmt.Sprintf("%dB", int64(r.mtu)), sourceOf(o, "mtu", "IBTA path MTU, the largest"))
	}
	sw := o.n.Get("switch")
	s := object{d: r.d, n: orEmpty(sw), path: "switch"}
	first := -1
	for n := range r.v.Graph.Nodes {
		if r.v.Graph.Nodes[n].Kind == topology.Switch {
			first = n
			break
		}
	}
	if first >= 0 && r.stack().Credits {
		r.creditSwitchNotes(s, &r.switches[first])
	} else if first >= 0 {
		r.switchNotes(s, &r.switches[first])
	}
	r.cardNotes()
	for i := range r.v.Transports {
		if !r.onlyTCP() {
			r.transportNotes(o, i)
		}
	}
	if r.anyTCP() && !r.onlyTCP() {
		r.tcpNotes()
	}
	r.noiseNotes()
	r.hostNotes(o)
	r.serverNotes()
	r.controllerNotes()
	if r.v.DCQCN == nil {
		return
	}
	for _, n := range r.v.DCQCN.Notes() {
		key := strings.TrimPrefix(n.Key, "dcqcn.")
		if key != "preset" && r.dcqcnGiven.has(key) {
			n.Source = fromScenario
		}
		r.v.Notes = append(r.v.Notes, n)
	}
}

func orEmpty(n *node) *node {
	if n == nil {
		return &node{}
	}
	return n
}

func sourceOf(o object, key, otherwise string) string {
	if o.has(key) {
		return fromScenario
	}
	return otherwise
}

func (r *resolver) switchNotes(s object, set *switchSettings) {
	if r.vlan {
		r.note("vlan", "802.1Q tag on every frame, 4 B", fromScenario)
	}
	if r.ipv6 {
		r.note("ip", "v6: 20 B more in every frame than with IPv4", fromScenario)
	}
	if set.trustPCP {
		r.note("switch.trust", "pcp: priority by the VLAN tag", fromScenario)
	}
	latency := sourceOf(s, "latency", "assumed pipeline of a shared-memory Ethernet switch")
	if len(r.tierLatency) > 0 && r.tierLatency[0] >= 0 {
		latency = fromScenario
	}
	r.note("switch.latency", set.latency.String(), latency)
	if set.pfc.enabled == 0 {
		from := fromScenario
		if !r.stack().PFC {
			from = r.stack().without()
		}
		r.note("switch.pfc", "none", from)
		return
	}
	p := object{d: r.d, n: orEmpty(s.n.Get("pfc")), path: "switch.pfc"}
	r.note("switch.pfc.enabled", "priorities "+maskText(set.pfc.enabled), sourceOf(p, "enabled", "RoCEv2 deployments: one lossless class, priority 3"))
	if set.pfc.xoff > 0 {
		r.note("switch.pfc.xoff", set.pfc.xoff.String(), fromScenario)
	} else {
		r.note("switch.pfc.alpha", fmt.Sprintf("%d/%d", set.pfc.alphaNum, set.pfc.alphaDen), sourceOf(p, "alpha", fromAzure))
	}
	r.note("switch.pfc.xon_offset", set.pfc.xonOffset.String(), sourceOf(p, "xon_offset", fromAzure))
	r.note("switch.pfc.reserved", set.pfc.reserved.String(), sourceOf(p, "reserved", fromRunScript))
	r.note("switch.pfc.quanta", fmt.Sprint(set.pfc.quanta), sourceOf(p, "quanta", "IEEE 802.3 annex 31B, the largest; sent again at half the time"))
	response := "IEEE 802.3 31B.3.7 by rate"
	if set.pfc.response >= 0 {
		response = set.pfc.response.String()
	}
	r.note("switch.pfc.response", response, sourceOf(p, "response", "IEEE 802.3 31B.3.7"))
}

func maskText(mask uint8) string {
	var out []string
	for p := range 8 {
		if mask>>p&1 == 1 {
			out = append(out, fmt.Sprint(p))
		}
	}
	return strings.Join(out, ", ")
}

// transportNotes lists one profile; keys that the nic section gives are the
// scenario's.
func (r *resolver) transportNotes(o object, i int) {
	nic := object{d: r.d, n: orEmpty(o.n.Get("nic")), path: "nic"}
	for _, n := range r.v.Transports[i].Notes() {
		key := strings.TrimPrefix(n.Key, "transport.")
		if key == "retry_count" {
			key = "retry"
		}
		switch {
		case nic.n.Kind == mappingNode && nic.gives(key), key == "mtu" && o.has("mtu"):
			n.Source = fromScenario
		}
		if i > 0 {
			n.Key = fmt.Sprintf("transport[%d].%s", i, key)
		}
		r.v.Notes = append(r.v.Notes, n)
	}
}

// gives reports whether a section has key, which may name one of a section in it.
func (o object) gives(key string) bool {
	section, inner, nested := strings.Cut(key, ".")
	if !nested {
		return o.has(key)
	}
	n := o.n.Get(section)
	return n != nil && n.Kind == mappingNode && n.Get(inner) != nil
}

// warnings collects what is legal but risky.
func (r *resolver) warnings() {
	if r.d.err != nil {
		return
	}
	r.checkQuantum()
	r.warnClasses()
	r.warnPFC()
	switch {
	case !r.marked() || r.anyMarking(r.classes) || !r.anyVerbs(): // of TCP and inside one server nothing is told
	case len(r.v.Graph.Nodes) == r.hosts():
		r.warn("noecn", "%s runs but no switch joins the hosts, so nothing marks: it will never hear of congestion; give dcqcn: none",
			r.controlTitle())
	default:
		r.warn("noecn", "%s runs but no switch marks the data's class: it will never hear of congestion; "+
			"give switch.ecn thresholds, or dcqcn: none", r.controlTitle())
	}
	r.warnLoss()
	r.warnShortTimeouts()
	r.warnUnmarked()
	r.warnFewFrames()
	r.noteBalancing()
	r.warnReordered()
	r.warnGap()
	r.warnNotECT()
	if mask := r.tcp.classes[dataCenterTCP]; r.tcp.used[dataCenterTCP] && !r.anyMarking(mask) {
		r.warn("dctcp unmarked", "DCTCP runs but no switch marks its class: it cuts after losses only, as Reno does; give switch.ecn thresholds, or take the stack tcp")
	}
	r.warnDown()
	r.warnPolarised()
	r.warnTTL()
	r.warnEndless()
	r.warnFirstPorts()
	r.warnStarts()
	r.warnDCQCN()
	r.warnIdleDevices()
	r.warnIdleScenario()
	for _, w := range r.warned {
		if w.more > 0 {
			w.text += fmt.Sprintf(" (and %d more like it)", w.more)
		}
		r.v.Warnings = append(r.v.Warnings, w.text)
	}
}

// checkQuantum holds the time quantum against the frames of the fastest link:
// none takes less than one quantum, so that a coarse one slows the link down.
func (r *resolver) checkQuantum() {
	q, fastest := r.v.TimeQuantum, units.Rate(0)
	for i := range r.v.Graph.Links {
		fastest = max(fastest, r.v.Graph.Links[i].Rate)
	}
	if q == 0 || fastest == 0 {
		return
	}
	w := &r.v.Wire
	full := fastest.TxTime(r.mtu + units.Bytes(w.Data+w.RETH+w.Overhead))
	shortest := fastest.TxTime(units.Bytes(min(w.Control, w.Ack, w.CNP) + w.Overhead))
	switch {
	case q > full:
		r.header.fail("time_quantum", "%v is longer than a full frame takes at %v; give at most %v", q, fastest, full)
	case q > shortest:
		r.warn("quantum", "time_quantum %v is longer than the shortest frame takes at %v (%v): those frames take one quantum each", q, fastest, shortest)
	}
}

// hosts counts the hosts.
func (r *resolver) hosts() (n int) {
	for i := range r.v.Graph.Nodes {
		if r.v.Graph.Nodes[i].Kind == topology.Host {
			n++
		}
	}
	return n
}

// warnClasses looks for data that switches put in another or a lossy class.
func (r *resolver) warnClasses() {
	if r.stack().Credits {
		return // service levels are mapped by sl2vl
	}
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		entry := r.v.Plan.Entries[c.Entry]
		for n := range r.v.Graph.Nodes {
			if r.v.Graph.Nodes[n].Kind != topology.Switch {
				continue
			}
			name, s := r.v.Graph.Nodes[n].Name, &r.switches[n]
			kind, code, got := "DSCP", c.DSCP, s.dscp[c.DSCP]
			if s.trustPCP { // the NIC's priority is the code point of its tag
				kind, code, got = "PCP", c.Class, s.pcp[c.Class]
			}
			if got != c.Class {
				r.warn(fmt.Sprint("dscp", code, c.Class, got), "%s: %s %d is priority %d there, while the NIC sends it in priority %d", name, kind, code, got, c.Class)
			} else if s.pfc.enabled>>c.Class&1 == 0 && r.stack().PFC && c.Profile == 0 {
				r.warn(fmt.Sprint("lossy", c.Class), "%s: %s uses priority %d without PFC, so congestion drops its packets", name, entry, c.Class)
			}
		}
		if i >= 64 {
			return // entries share classes; the first connections show them all but in contrived files
		}
	}
}

// warnPFC looks for ends of a link that disagree and pauses that run out.
func (r *resolver) warnPFC() {
	g := r.v.Graph
	for i := range g.Links {
		k := &g.Links[i]
		a, b := r.pfcOf(k.A), r.pfcOf(k.B)
		if a.enabled != b.enabled {
			r.warn("pfcmask", "PFC differs on the link %s to %s: priorities %s against %s; pauses of the others are ignored",
				g.Nodes[k.A].Name, g.Nodes[k.B].Name, orNone(a.enabled), orNone(b.enabled))
		}
		for _, p := range []*pfcSettings{a, b} {
			pause := quantaTime(int64(p.quanta), k.Rate)
			if p.enabled != 0 && p.quanta > 0 && (p.refresh == 0 || r.refreshWithin(p, k.Rate) > pause) {
				how := "is not" // or only when the refresh meets a full frame
				if p.refresh != 0 && p.refresh < pause {
					how = "may not be"
				}
				r.warn("refresh", "%s to %s: a pause of %d quanta ends after %v and %s refreshed before that; the sender starts again while the buffer is full, and headroom does not hold",
					g.Nodes[k.A].Name, g.Nodes[k.B].Name, p.quanta, pause, how)
			}
		}
	}
}

// refreshWithin is the longest time between two PFC frames of a pause that
// lasts: the refresh interval, then a full frame that has just begun and the
// PFC frame itself.
func (r *resolver) refreshWithin(p *pfcSettings, rate units.Rate) units.Time {
	over := units.Bytes(r.v.Wire.Overhead)
	return p.portPFC(rate).Refresh + rate.TxTime(r.maxFrame()+over) + rate.TxTime(units.Bytes(r.v.Wire.Control)+over)
}

func orNone(mask uint8) string {
	if mask == 0 {
		return "none"
	}
	return maskText(mask)
}

func (r *resolver) anyMarking(classes uint8) bool {
	for n := range r.v.Switches {
		for p := range r.v.Switches[n].Ports {
			for c, red := range r.v.Switches[n].Ports[p].RED {
				if red.KMax > 0 && classes>>c&1 == 1 {
					return true
				}
			}
		}
	}
	return false
}

// warnNotECT looks for traffic that cannot be marked in classes that mark: WRED drops it there.
func (r *resolver) warnNotECT() {
	if r.stack().Credits {
		return
	}
	var marked, acks, cnps uint8
	for c := range uint8(8) {
		if r.anyMarking(1 << c) {
			marked |= 1 << c
		}
	}
	for n := range r.v.NICs {
		if p := &r.v.NICs[n]; len(p.Ports) > 0 && r.tcp.rdma != 0 {
			if p.AckClass != sameAsData && r.tcp.rdma&^(1<<p.AckClass) != 0 {
				acks |= 1 << p.AckClass
			}
			if p.CNPClass != sameAsData && (r.v.DCQCN != nil || r.needs().CNP) {
				cnps |= 1 << p.CNPClass
			}
		}
	}
	say := func(classes uint8, what, cure string) {
		for c := range 8 {
			if classes&marked>>c&1 == 1 {
				r.warn(fmt.Sprint("not ECT", what, c), "%s in priority %d are not ECN-capable, and switches mark there: above Kmin WRED drops them as often as it marks others; %s", what, c, cure)
			}
		}
	}
	if r.tcp.used[plainTCP] && r.tcp.profiles[plainTCP].ECN == tcp.ECNOff {
		say(r.tcp.classes[plainTCP], "TCP's packets", "give tcp.ecn: classic, a class of their own, or switch.ecn.priorities")
	}
	if !r.marked() {
		say(r.tcp.rdma, "RDMA packets", "give the stack DCQCN, another class, or switch.ecn.priorities")
	}
	say(acks, "acknowledgements", "give nic.ack_class a class that marks nothing, or leave it out")
	say(cnps, "CNPs", "give nic.cnp_class a class that marks nothing")
}

// warnTTL looks for packets that expire on their way: each switch takes one off
// the TTL and drops what comes with 1 (RFC 791).
func (r *resolver) warnTTL() {
	const deepest = 32 // switches; paths of more are not looked for
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		ttl := r.nics[r.v.Graph.HostOf(c.Src)].ttl
		if ttl > deepest {
			continue
		}
		switches := len(c.Path) - 2
		if c.Path == nil {
			hops, err := r.v.Routes.Path(r.v.Graph, c.Src, c.Dst)
			if err != nil {
				continue
			}
			switches = len(hops) - 1 // a hop per sending port, the host's first
		}
		if ttl <= switches {
			r.warn("ttl", "%s: ttl %d expires on the way from %s to %s, which crosses %d switches: nothing arrives; give at least %d",
				r.v.Plan.Entries[c.Entry], ttl, r.v.Graph.EndpointName(c.Src), r.v.Graph.EndpointName(c.Dst), switches, switches+1)
		}
	}
}

// warnLoss points at links that lose packets when nothing would notice.
func (r *resolver) warnLoss() {
	if !r.losesPackets() {
		return
	}
	for n := range r.nics {
		if r.v.Graph.Nodes[n].Kind == topology.Host && r.nics[n].timeout == 0 {
			r.warn("notimeout", "%s: links lose packets and timeout 0 means none: a lost last packet is never sent again", r.v.Graph.Nodes[n].Name)
		}
	}
}

// warnShortTimeouts points at timers that expire before an answer can have come.
func (r *resolver) warnShortTimeouts() {
	longest := units.Time(0)
	for i := range r.v.Graph.Links {
		longest = max(longest, r.v.Graph.Links[i].Delay)
	}
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		n := r.v.Graph.HostOf(c.Src)
		t := &r.v.Transports[r.v.NICs[n].Transport]
		shortest, adapts := t.Timeout, t.Adaptive.Min > 0
		if adapts {
			shortest = t.Adaptive.Min
		}
		const crossed = 16 // cables there and back, at most, of paths that are not looked at
		if shortest == 0 || shortest > crossed*longest || c.Service != workload.RC {
			continue
		}
		if rtt, _, err := r.baseRTT(c.Src, c.Dst); err == nil && rtt > shortest {
			give := fmt.Sprintf("a nic.timeout of at least %d", timeoutCodeFor(rtt))
			if adapts {
				give = fmt.Sprintf("an adaptive_timeout.min of more than %v", rtt)
			}
			r.warn("short timeout", "%s: a timeout of %v expires before the answer can come, %v after a packet: packets are sent again though nothing was lost, and messages may fail; give %s",
				r.v.Plan.Entries[c.Entry], shortest, rtt, give)
		}
	}
}

// timeoutCodeFor is the least Local ACK Timeout longer than t.
func timeoutCodeFor(t units.Time) (code uint8) {
	for code = 1; code < 31 && rdma.TimeoutCode(code) <= t; code++ {
	}
	return code
}

// losesPackets reports whether a link loses packets, or fails.
func (r *resolver) losesPackets() bool {
	return slices.ContainsFunc(r.v.Graph.Links, func(k topology.Link) bool {
		return k.Loss > 0 || k.BER > 0 || k.DropEvery > 0 || len(k.Outages) > 0
	})
}
