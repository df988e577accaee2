package scenario

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
	"github.com/hopscope/hopscope/wire"
)

// tcpSettings is the `tcp` section. Connections of one scenario are of one
// profile, or of two: that of the stack tcp and that of dctcp.
type tcpSettings struct {
	obj       object
	mtu       int  // IP packet of the hosts' ports, bytes
	handshake bool // connections are opened by the run
	closes    bool // and closed behind their last message
	profiles  [3]tcp.Config
	used      [3]bool
	classes   [3]uint8 // priorities that connections of each profile use
	rdma      uint8    // priorities that queue pairs use
}

// Profiles, in the order of tcpSettings.profiles, and of Valid.TCP from 1.
const (
	plainTCP = iota
	dataCenterTCP
	offloadedTCP // iWARP's
)

// defaultTCPMTU is what data centres set where ports carry it; Linux begins with
// 1500.
const defaultTCPMTU = 9000

// tcpProfile is a profile while the tcp section is read over it.
type tcpProfile struct {
	tcp.Config
	number         int // plainTCP, dataCenterTCP or offloadedTCP
	preset         string
	sndbuf, rcvbuf units.Bytes
	first          units.Bytes // first_window; 0: what a SYN can say
	tuned          bool
}

// newProfile is what holds without the section.
func (r *resolver) newProfile(number int) *tcpProfile {
	p := &tcpProfile{number: number, preset: "linux"}
	r.takePreset(p)
	return p
}

// takePreset makes a profile what its preset is; that of DCTCP has one of its own.
func (r *resolver) takePreset(p *tcpProfile) {
	name := p.preset
	if p.number == dataCenterTCP {
		name = stackDCTCP
	}
	c, err := tcp.Preset(name)
	if p.number == offloadedTCP {
		c, err = r.iwarp.TCP, nil
	}
	if err != nil {
		panic("scenario: BUG: " + err.Error())
	}
	c.Tag, c.IPv6, c.MSS = r.vlan, r.ipv6, r.largestMSS()
	p.Config = c
	p.sndbuf, p.rcvbuf = units.Bytes(c.Send.Max), units.Bytes(c.Receive.Max)
	p.tuned = c.Send.Max > c.Send.Initial
	p.startWindow()
}

// startWindow gives the RFCs' preset the window that they count in bytes.
func (p *tcpProfile) startWindow() {
	if p.number == plainTCP && p.preset == "reno" {
		p.CC.InitialWindow = tcp.InitialWindow3390(p.MSS)
	}
}

// largestMSS is the payload of a packet of the MTU.
func (r *resolver) largestMSS() int { return r.tcp.mtu - r.ipLen() - wire.TCPLen }

// readTCP reads the tcp section, once for each profile.
func (r *resolver) readTCP(root object) {
	o := root.object("tcp", r.tcpKeys(r.newProfile(plainTCP)))
	r.tcp.obj = o
	o.read(r.tcpEndKeys()) // the MTU bounds what follows
	for i := range r.tcp.profiles {
		p := r.newProfile(i)
		o.read(r.profileKeys(p))
		if i == offloadedTCP {
			p.TSO = 0 // a segment is an FPDU
		}
		if r.d.err == nil {
			p.settle(o)
		}
		r.tcp.profiles[i] = p.Config
	}
}

// tcpKeys are the keys of the tcp section.
func (r *resolver) tcpKeys(p *tcpProfile) []key {
	keys := append(r.tcpEndKeys(), r.profileKeys(p)...)
	for _, name := range []string{"tso", "nagle"} {
		k := find(keys, name)
		k.idle = append(k.idle, r.wholeFPDUs)
	}
	return keys
}

// tcpEndKeys are those of all connections.
func (r *resolver) tcpEndKeys() []key {
	t := &r.tcp
	return []key{
		numberKey("mtu", &t.mtu, 576, 65535, "Largest IP packet of the hosts; must fit `switch.mtu` and `nic.mtu`. Linux begins with 1500."),
		eitherKey("handshake", &t.handshake, "ahead", "first-message",
			"Connections are open when the run begins, with one round trip measured; or the first message opens its connection."),
		eitherKey("close", &t.closes, "never", "last-message",
			"Connections stay open; or each end closes, the sender behind its last message and the receiver when it has read all."),
	}
}

// profileKeys are those of a profile.
func (r *resolver) profileKeys(p *tcpProfile) []key {
	own := func() string {
		switch {
		case r.compared || r.tcp.used[plainTCP]:
			return ""
		case r.tcp.used[dataCenterTCP]:
			return "the stack dctcp has a preset, a congestion control and a use of ECN of its own"
		}
		return "the stack iwarp has a preset, a congestion control and a use of ECN of its own: see iwarp"
	}
	cc, ecn := "cubic", "off"
	congestionControl := wordKey("cc", &cc, []string{"cubic", "reno", "none"}, "Congestion control of the stack `tcp`; with `none` its window never limits what is sent.").unless(own).check(func(object) {
		if p.number == plainTCP {
			p.CC.Algorithm, _ = congestion.WindowAlgorithmNamed(cc)
		}
	})
	parse := congestionControl.parse
	congestionControl.parse = func(o object, name string) bool {
		if o.text(name) == stackDCTCP {
			o.fail(name, "dctcp needs switches that mark, so it is a stack of its own; give stack: dctcp, and leave cc out")
		}
		return parse(o, name)
	}
	return joinKeys([]key{
		wordKey("preset", &p.preset, []string{"linux", "reno"}, "`linux`, or `reno`: the RFCs without options; the stack `dctcp` has a preset of its own.").
			unless(own).check(func(object) { r.takePreset(p) }),
		congestionControl,
		numberKey("mss", &p.MSS, tcp.MinMSS, tcp.MaxMSS, "Payload of a full segment, before the 12 bytes that timestamps take.").
			otherwise("`mtu` - 40, with `ip: v6` - 60").
			check(func(o object) {
				if p.MSS > r.largestMSS() {
					o.fail("mss", "%d does not fit the MTU of %d B; give at most %d, which leaves room for the headers of IP and TCP, or raise tcp.mtu",
						p.MSS, r.tcp.mtu, r.largestMSS())
				}
				p.startWindow()
			}),
		wordKey("ecn", &ecn, []string{"off", "classic"}, "`classic` (RFC 3168): switches then mark the class by `switch.ecn`. The stack `dctcp` has its own.").
			unless(own).check(func(object) {
			if p.number == plainTCP && ecn == "classic" {
				p.ECN = tcp.ECNClassic
			}
		}),
	}, r.lossKeys(p), sendingKeys(p), bufferKeys(p))
}

// lossKeys say how losses are found, what bounds the timeout, and how a receiver
// acknowledges.
func (r *resolver) lossKeys(p *tcpProfile) []key {
	const atOnce = "would time out at once; give a time such as 200ms"
	return []key{
		spokenKey("recovery", &p.Recovery, []tcp.Recovery{tcp.NewReno, tcp.SACK, tcp.RACK}, "How losses are found and repaired."),
		flagKey("timestamps", &p.Timestamps, "The timestamps option (RFC 7323)."),
		flagKey("window_scaling", &p.WindowScaling, "The window scale option (RFC 7323)."),
		flagKey("prr", &p.PRR, "Proportional rate reduction (RFC 6937)."),
		flagKey("cwr_growth", &p.CWRGrowth, "A window cut for ECE grows at once; else it is held for a round trip, as in Linux ([what that changes](../models/tcp.md#checks)).").
			unless(func() string {
				return when(!r.compared && !r.tcp.used[dataCenterTCP] && r.tcp.profiles[plainTCP].ECN == tcp.ECNOff,
					"no connection negotiates ECN, so that no ECE comes; give ecn: classic, or take the stack dctcp")
			}),
		timeKey("rto_min", &p.MinRTO, "Lower bound of the retransmission timeout.").nonzero(atOnce),
		timeKey("rto_initial", &p.InitialRTO, "The retransmission timeout before a round trip was measured.").nonzero(atOnce),
		timeKey("rto_max", &p.MaxRTO, "Upper bound of the retransmission timeout.").nonzero(atOnce),
		timeKey("delayed_ack", &p.DelayedAck, "How long an acknowledgement may wait; `none`: not at all.").or("none", func() { p.DelayedAck = 0 }).
			within(0, int64(500*units.Millisecond-1), "is too long; an acknowledgement waits for less than 500ms (RFC 9293 3.8.6.3)"),
		numberKey("ack_every", &p.AckEvery, 1, 1<<16, "Full segments per ACK."),
		numberKey("quick_acks", &p.QuickAcks, 0, 1<<20, "ACKs after the start that do not wait, unless this end answers with data."),
	}
}

// sendingKeys say what a sender may send, and in what pieces.
func sendingKeys(p *tcpProfile) []key {
	tso := true
	return []key{
		flagKey("tso", &tso, "Super-segments of up to 64 KB, which the card cuts.").check(func(object) { p.TSO = map[bool]int{true: 65535}[tso] }),
		numberKey("initial_window", &p.CC.InitialWindow, 1, 10000, "Segments that may be sent before the first ACK (`reno`: 4380 bytes, 2 to 4 segments, RFC 3390)."),
		eitherKey("cubic", &p.CC.CubicLinux, "rfc9438", "linux", "CUBIC as Linux computes it, or as the RFC describes it ([difference](../models/tcp.md#congestion-control)).").
			otherwise("`linux` (`reno`: `rfc9438`)").check(func(o object) {
			if p.CC.Algorithm == congestion.Reno {
				o.fail("cubic", "Reno has no part of CUBIC; leave cubic out, or take cc: cubic")
			}
		}),
		spokenKey("hystart", &p.CC.HyStart, []congestion.HyStart{congestion.HyStartOff, congestion.HyStartPlus, congestion.HyStartLinux},
			"How the first slow start ends before a loss: `linux` (with `cc: cubic` only), `rfc9406` (HyStart++), `off`.").otherwise("`linux` (`reno`, `dctcp`: `off`)").
			check(func(o object) {
				if p.CC.HyStart == congestion.HyStartLinux && p.CC.Algorithm == congestion.Reno {
					o.fail("hystart", "linux is part of Linux's CUBIC; give rfc9406 or off, or take cc: cubic")
				}
			}),
		flagKey("slow_start_after_idle", &p.SlowStartAfterIdle, "The window shrinks when nothing was sent for a timeout."),
		flagKey("pacing", &p.Pacing, "Segments are spread over the round trip."),
		spokenKey("nagle", &p.Nagle, []tcp.Nagle{tcp.NagleOff, tcp.NagleRFC896, tcp.NagleMinshall}, "When a segment that is not full waits for the one before."),
	}
}

// bufferKeys say how large the socket's buffers are: where autotuning may take them, or
// what they are from the start.
func bufferKeys(p *tcpProfile) []key {
	const bound = "is no socket buffer; give 1B to 1GiB (RFC 7323 2.3) of payload, such as 4MB"
	return []key{
		sizeKey("sndbuf", &p.sndbuf, "Largest size of the sender's buffer, in payload; what `autotuning` may grow to.").within(1, tcp.MaxWindow, bound),
		sizeKey("rcvbuf", &p.rcvbuf, "The same of the receiver's.").within(1, tcp.MaxWindow, bound),
		sizeKey("first_window", &p.first, "What a receiver grants as soon as the connection is established, up to `rcvbuf`: that of a connection which has been in use.").
			otherwise("what a SYN can say, 64KiB at most").within(1, tcp.MaxWindow, "is no receive window; give 1B to 1GiB (RFC 7323 2.3), such as 4MB"),
		flagKey("autotuning", &p.tuned, "Buffers grow; else they have that size from the start."),
	}
}

// settle completes what the keys have read together.
func (p *tcpProfile) settle(o object) {
	if p.Timestamps && p.TimestampTick == 0 {
		p.TimestampTick = units.Millisecond
	}
	if p.MaxRTO < max(p.MinRTO, p.InitialRTO) {
		o.fail("rto_max", "%v is below rto_min %v or rto_initial %v; it bounds both", p.MaxRTO, p.MinRTO, p.InitialRTO)
	}
	p.Send.Max, p.Receive.Max, p.FirstWindow = int64(p.sndbuf), int64(p.rcvbuf), int64(p.first)
	if p.first > p.rcvbuf {
		o.fail("first_window", "%v is more than the receive buffer of %v may hold; give a larger rcvbuf, or less", p.first, p.rcvbuf)
	}
	for _, b := range []*tcp.Buffer{&p.Send, &p.Receive} {
		b.Initial = min(b.Initial, b.Max)
		if !p.tuned {
			b.Initial = b.Max
		}
	}
	if err := p.Validate(); err != nil {
		o.d.fail(o.n.Pos, "%v", err)
	}
}

// profileOf is the TCP profile of a stack's name; ok is false for others.
func profileOf(stack string) (profile int, ok bool) {
	switch stack {
	case stackTCP:
		return plainTCP, true
	case stackDCTCP:
		return dataCenterTCP, true
	case stackIWARP:
		return offloadedTCP, true
	}
	return 0, false
}

// readEntryStack reads the stack of a workload entry: the scenario's own, or TCP
// beside an RDMA stack on Ethernet.
func (r *resolver) readEntryStack(o object, opt *workload.Options) {
	name := r.v.Stack
	if text, ok := o.scalar("stack"); ok {
		isTCP := OverTCP(text)
		switch msg := CheckStack(text); {
		case msg != "":
			o.fail("stack", "%s", msg)
		case text == r.v.Stack:
		case text == stackIWARP && r.stack().Credits && !r.compared:
			o.fail("stack", "iWARP is carried by TCP, which needs Ethernet, and the stack %s has none; "+
				"give stack: iwarp to the scenario, or leave stack out here", r.v.Stack)
		case !isTCP:
			o.fail("stack", "%q beside %q: a fabric is set up for one stack, beside which only tcp and dctcp can run; leave stack out here", text, r.v.Stack)
		case r.stack().Credits && r.severalNetworks() && !r.allInfiniBand:
			name = text // on a network of its own: see splitNetworks
		case r.stack().Credits && r.compared: // the others have both, and this has one
			r.warn("entry stack", "%s runs over %s: TCP needs Ethernet", o.path, r.v.Stack)
		case r.stack().Credits:
			o.fail("stack", "%q needs Ethernet, and the stack %s has none; give its hosts ports on a network of their own, "+
				"or take an RoCEv2 stack", text, r.v.Stack)
		default:
			name = text
		}
	}
	profile, ok := profileOf(name)
	if !ok || r.d.err != nil {
		return
	}
	opt.Profile = profile + 1
	opt.Class, opt.DSCP = 0, 0 // best effort
	r.tcp.used[profile] = true
}

// asStream makes the messages of an entry what a byte stream carries.
func (r *resolver) asStream(opt *workload.Options) {
	if opt.Profile == 0 || opt.Profile-1 == offloadedTCP {
		return
	}
	opt.Service, opt.Verb, opt.Fence, opt.Inline = workload.TCP, workload.Send, false, false
	opt.Receives, opt.ReceiveSize, opt.Region, opt.WrongRKey, opt.Denied, opt.InitialRate = -1, 0, 0, false, 0, 0
	opt.Place = workload.Placement{}
}

// noteClasses sums up which priorities the workload's data uses.
func (r *resolver) noteClasses() {
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		r.classes |= 1 << c.Class
		if c.Profile > 0 {
			r.tcp.classes[c.Profile-1] |= 1 << c.Class
		} else {
			r.tcp.rdma |= 1 << c.Class
		}
	}
}

// besideTCP are the priorities of RDMA on networks that TCP may share.
func (r *resolver) besideTCP() uint8 {
	if r.stack().Credits {
		return 0
	}
	return r.tcp.rdma
}

// anyTCP reports whether TCP carries any of the workload, and onlyTCP whether all of it.
func (r *resolver) anyTCP() bool  { return r.anySockets() || r.tcp.used[offloadedTCP] }
func (r *resolver) onlyTCP() bool { return r.anyTCP() && r.tcp.rdma == 0 }

// anySockets reports whether the workload has TCP connections of the kernel, and onlySockets whether it has nothing
// else.
func (r *resolver) anySockets() bool  { return r.tcp.used[plainTCP] || r.tcp.used[dataCenterTCP] }
func (r *resolver) onlySockets() bool { return r.onlyTCP() && !r.tcp.used[offloadedTCP] }

// tcpFrame is the largest frame of a TCP segment.
func (r *resolver) tcpFrame() units.Bytes {
	n := units.Bytes(r.tcp.mtu + wire.EthernetLen + wire.FCSLen)
	if r.vlan {
		n += wire.VLANLen
	}
	return n
}

// resolveTCP hands over the profiles.
func (r *resolver) resolveTCP() {
	t := &r.tcp
	if r.d.err != nil {
		return
	}
	r.checkSegmentation()
	if !r.anyTCP() {
		return
	}
	r.resolveIWARP()
	r.v.TCP, r.v.Handshake, r.v.Close = t.profiles[:], t.handshake, t.closes
	if shared := t.classes[dataCenterTCP] & r.besideTCP(); shared != 0 {
		r.warn("dctcp class", "priority %s carries DCTCP and RDMA, and switches mark both by one curve, that of RDMA; give DCTCP a class of its own", maskText(shared))
	}
}

// uneven reports whether full segments carry no whole pages, which then cannot be mapped, and warns of it.
func (r *resolver) uneven() bool {
	for k := range r.tcp.profiles {
		c, options := &r.tcp.profiles[k], 0
		if c.Timestamps {
			options = timestampOption
		}
		payload := c.MSS - options
		if r.tcp.used[k] && payload%host.PageSize != 0 {
			whole := max(1, payload/host.PageSize) * host.PageSize
			r.warn("uneven pages", "host.receive: zerocopy maps nothing, as full segments carry %d B, no whole pages of %d B: "+
				"all is copied, after a call in vain; give tcp.mtu: %d", payload, host.PageSize,
				whole+options+r.ipLen()+wire.TCPLen)
			return true
		}
	}
	return false
}

// timestampOption is what timestamps take of a segment, padding included (RFC 7323).
const timestampOption = 12

// checkSegmentation refuses super-segments, when asked for, at hosts where nothing
// can cut them: TCP then makes segments of one frame.
func (r *resolver) checkSegmentation() {
	if !r.tcp.obj.has("tso") || r.tcp.profiles[plainTCP].TSO == 0 {
		return
	}
	for n, ends := range r.tcpEnds() {
		if s := &r.nics[n].host; ends && r.v.Graph.Nodes[n].Kind == topology.Host && s.Segmentation == host.NoSegmentation {
			r.tcp.obj.fail("tso", "%s has neither TSO nor GSO (offloads: %s); leave tso out, or give offloads: connectx-5", r.v.Graph.Nodes[n].Name, s.card)
			return
		}
	}
}

// tcpNotes lists the profiles in use.
func (r *resolver) tcpNotes() {
	t := &r.tcp
	for i, prefix := range []string{"tcp.", "dctcp.", "iwarp.tcp."} {
		if !t.used[i] {
			continue
		}
		r.note(prefix+"mtu", fmt.Sprintf("%d B", t.mtu), sourceOf(t.obj, "mtu", "jumbo frames, as data centres set them; Linux begins with 1500"))
		r.note(prefix+"handshake", map[bool]string{false: "ahead: connections are open when the run begins", true: "with the first message"}[t.handshake],
			sourceOf(t.obj, "handshake", "connections that last, as those of storage and RPC systems do"))
		if t.closes {
			r.note(prefix+"close", "behind the last message", fromScenario)
		}
		for _, n := range t.profiles[i].Notes() {
			key := strings.TrimPrefix(n.Key, "tcp.")
			n.Source = r.tcpSource(i, key, n.Source)
			n.Key = prefix + key
			r.v.Notes = append(r.v.Notes, n)
		}
	}
	r.iwarpNotes()
}

// tcpSource is where a value of a profile comes from; preset is the source otherwise.
func (r *resolver) tcpSource(profile int, key, preset string) string {
	o := r.tcp.obj
	own := key == "preset" || key == "cc" || key == "ecn"
	switch {
	case profile == offloadedTCP && own && r.iwarp.obj.has(key):
		return fromScenario
	case profile == offloadedTCP && key != "mss" && (own || !o.has(key)):
		return r.iwarp.source(key, preset)
	case profile != plainTCP && own:
		return preset // its own, whatever the section says
	case o.has(key), o.has("autotuning") && (key == "sndbuf" || key == "rcvbuf"):
		return fromScenario
	case key == "mss":
		return "MTU less 40 B of IPv4 and TCP headers (RFC 9293 3.7.1)"
	}
	return preset
}

// dctcpRED is a step at K: 20 packets of 1500 B at 1 Gb/s and 65 at 10 Gb/s
// (Alizadeh et al., SIGCOMM 2010, section 3.4), and from there in proportion to
// the rate.
func dctcpRED(rate units.Rate) ratedRED {
	const packet = 1500 * units.Byte
	row := ratedRED{rate, fabric.RED{KMin: 20 * packet, PMax: 1}, "DCTCP, SIGCOMM 2010: 20 packets of 1500 B at 1 Gb/s"}
	if rate > units.Gbps {
		row.red.KMin = max(row.red.KMin, scaleBytes(65*packet, rate, 10*units.Gbps))
		row.from = "DCTCP, SIGCOMM 2010: 65 packets of 1500 B at 10 Gb/s, scaled with the rate"
	}
	row.red.KMax = row.red.KMin
	return row
}

// marks is the marking curve of each class of a port, zero where it has none.
func (r *resolver) marks(s *switchSettings, rate units.Rate) (out [fabric.Classes]fabric.RED) {
	step := (r.tcp.classes[dataCenterTCP] | r.iwarpMarked(tcp.ECNDCTCP)) &^ r.besideTCP()
	if r.needs().Step {
		step |= r.tcp.rdma
	}
	mask := step
	switch {
	case s.ecn.priorities >= 0:
		mask = uint8(s.ecn.priorities)
	case r.stack().ECN && r.marked():
		mask |= r.tcp.rdma // what is not ECN-capable would be dropped where others are marked
	}
	if r.tcp.profiles[plainTCP].ECN != tcp.ECNOff && r.tcp.used[plainTCP] && s.ecn.priorities < 0 {
		mask |= r.tcp.classes[plainTCP]
	}
	if s.ecn.priorities < 0 {
		mask |= r.iwarpMarked(tcp.ECNClassic)
	}
	row := s.ecn.redFor(rate)
	for c := range out {
		switch {
		case mask>>c&1 == 0:
		case step>>c&1 == 1 && !s.ecn.off && !s.ecn.gives(rate):
			own := dctcpRED(rate)
			out[c] = own.red
			r.note(fmt.Sprintf("switch.ecn for DCTCP (%v)", rate), fmt.Sprintf("K %v", own.red.KMin), own.from)
		default:
			out[c] = row.red
			if row.red.KMax > 0 {
				r.note(fmt.Sprintf("switch.ecn (%v)", rate), fmt.Sprintf("Kmin %v, Kmax %v, Pmax %g", row.red.KMin, row.red.KMax, row.red.PMax), row.from)
			}
		}
	}
	checkRED(object{d: r.d, n: s.ecn.obj.n, path: ""}, row.red)
	return out
}

// gives reports whether the scenario says at what length ports of a rate mark.
func (e *ecnSettings) gives(rate units.Rate) bool {
	for _, row := range e.perRate {
		if row.rate == rate {
			return true
		}
	}
	return e.kmin > 0 || e.kmax > 0
}

// marking reports whether switches mark anything.
func (r *resolver) marking() bool {
	return r.stack().ECN || r.tcp.used[dataCenterTCP] || r.tcp.used[plainTCP] && r.tcp.profiles[plainTCP].ECN != tcp.ECNOff ||
		r.tcp.used[offloadedTCP] && r.tcp.profiles[offloadedTCP].ECN != tcp.ECNOff
}

// tcpSheets are the presets of TCP.
func tcpSheets() (out []Sheet) {
	summary := map[string]string{"linux": "TCP as Linux has it: CUBIC, SACK, RACK-TLP", "reno": "TCP as the RFCs have it: Reno and NewReno, without options"}
	for _, name := range tcp.Presets() {
		c, err := tcp.Preset(name)
		if err != nil || name == stackDCTCP { // the stack's own sheet has it
			continue
		}
		notes := c.Notes()
		for i := range notes {
			notes[i].Key = "tcp." + strings.TrimPrefix(notes[i].Key, "tcp.")
		}
		out = append(out, Sheet{"tcp", name, summary[name], notes, nil})
	}
	return out
}

// warnUnmarked looks for queues of DCTCP that drop before they mark.
func (r *resolver) warnUnmarked() {
	for n := range r.v.Switches {
		s := &r.v.Switches[n]
		for p := range s.Ports {
			for c, red := range s.Ports[p].RED {
				if r.tcp.classes[dataCenterTCP]>>c&1 == 0 || red.KMax == 0 || s.Memory.Groups[p][c].Lossless {
					continue
				}
				q := &s.Memory.Queues[p][c]
				most := highest(q.Reserved, q.Limit, s.Memory.Egress[q.Pool].Shared)
				if red.KMin > most {
					r.warn("dctcp mark", "%s port %d: marking starts at %v, and a queue of priority %d drops at %v at the latest: DCTCP never sees a mark; lower switch.ecn, or raise switch.buffer or switch.lossy",
						r.v.Graph.Nodes[n].Name, p+1, red.KMin, c, most)
				}
			}
		}
	}
}

// twoWindows is the first windows of two senders, in full segments (RFC 6928: 10 each).
const twoWindows = 20

// warnFewFrames looks for lossy queues that take less than what two senders begin with: whole
// windows are lost then, of which no acknowledgement tells, and each timeout doubles the next.
func (r *resolver) warnFewFrames() {
	var connections [fabric.Classes]int
	for i := range r.v.Plan.Conns {
		if c := &r.v.Plan.Conns[i]; c.Profile > 0 {
			connections[c.Class]++
		}
	}
	frame := r.tcpFrame()
	for n := range r.v.Switches {
		m := r.v.Switches[n].Memory
		if m == nil {
			continue // InfiniBand's drops nothing
		}
		for p := range r.v.Switches[n].Ports {
			for c, count := range connections {
				if count < 2 || m.Groups[p][c].Lossless {
					continue
				}
				q, g, parts := &m.Queues[p][c], &m.Groups[p][c], units.Bytes(m.Parts)
				most := min(highest(q.Reserved, q.Limit, m.Egress[q.Pool].Shared/parts),
					highest(g.Reserved, g.Limit, m.Ingress[g.Pool].Shared/parts))
				if frames := most / frame; frames >= 1 && frames < twoWindows { // below a frame all are lost
					r.warn("few frames", "%s port %d: the %v that priority %d may use hold %d of the largest "+
						"TCP frames (%v), fewer than the %d with which two senders begin: whole windows are lost, "+
						"and a sender that times out again and again may starve; "+
						"give it more memory, or lower tcp.mtu", r.v.Graph.Nodes[n].Name, p+1, most, c, frames, frame, twoWindows)
				}
			}
		}
	}
}
