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
	profiles  [2]tcp.Config
	used      [2]bool
	classes   [2]uint8 // priorities that connections of each profile use
	rdma      uint8    // priorities that queue pairs use
}

// Profiles, in the order of tcpSettings.profiles, and of Valid.TCP from 1.
const (
	plainTCP = iota
	dataCenterTCP
)

// defaultTCPMTU is what data centres set where ports carry it; Linux begins with
// 1500.
const defaultTCPMTU = 9000

// tcpKeys are the keys of the tcp section.
func tcpKeys() []string {
	return []string{"preset", "cc", "mtu", "mss", "handshake", "close", "recovery", "ecn", "timestamps", "window_scaling", "tso", "initial_window",
		"cubic", "hystart", "prr", "cwr_growth", "slow_start_after_idle", "pacing", "rto_min", "rto_initial", "rto_max", "delayed_ack", "ack_every", "quick_acks", "nagle",
		"sndbuf", "rcvbuf", "autotuning"}
}

// readTCP reads the tcp section.
func (r *resolver) readTCP(root object) {
	o := root.object("tcp", tcpKeys()...)
	t := &r.tcp
	t.obj, t.mtu = o, defaultTCPMTU
	o.integer("mtu", &t.mtu, 576, 65535)
	word := "ahead"
	if o.word("handshake", &word, "ahead", "first-message") {
		t.handshake = word == "first-message"
	}
	word = "never"
	if o.word("close", &word, "never", "last-message") {
		t.closes = word == "last-message"
	}
	for i := range t.profiles {
		r.readProfile(o, i)
	}
}

// readProfile makes the profile of a stack: its preset with what the section
// changes.
func (r *resolver) readProfile(o object, i int) {
	preset, cc := "linux", ""
	o.word("preset", &preset, "linux", "reno")
	if text, ok := o.scalar("cc"); ok && text == stackDCTCP {
		o.fail("cc", "dctcp needs switches that mark, so it is a stack of its own; give stack: dctcp, and leave cc out")
	}
	o.word("cc", &cc, "cubic", "reno")
	if i == dataCenterTCP {
		preset = "dctcp"
	}
	c, err := tcp.Preset(preset)
	if err != nil {
		panic("scenario: BUG: " + err.Error())
	}
	if cc != "" && i == plainTCP {
		c.CC.Algorithm, _ = congestion.WindowAlgorithmNamed(cc)
	}
	c.Tag = r.vlan
	c.MSS = r.tcp.mtu - wire.IPv4Len - wire.TCPLen
	if o.integer("mss", &c.MSS, tcp.MinMSS, tcp.MaxMSS) && c.MSS > r.tcp.mtu-wire.IPv4Len-wire.TCPLen {
		o.fail("mss", "%d does not fit the MTU of %d B; give at most %d, which leaves room for the headers of IPv4 and TCP, or raise tcp.mtu",
			c.MSS, r.tcp.mtu, r.tcp.mtu-wire.IPv4Len-wire.TCPLen)
	}
	if preset == "reno" {
		c.CC.InitialWindow = tcp.InitialWindow3390(c.MSS)
	}
	r.readLossDetection(o, &c, i)
	readAcks(o, &c)
	readSending(o, &c)
	readBuffers(o, &c)
	if r.d.err != nil {
		return
	}
	if err := c.Validate(); err != nil {
		r.d.fail(o.n.pos, "%v", err)
	}
	r.tcp.profiles[i] = c
}

// readLossDetection reads how losses are found and what bounds the timeout.
func (r *resolver) readLossDetection(o object, c *tcp.Config, i int) {
	kinds := []tcp.Recovery{tcp.NewReno, tcp.SACK, tcp.RACK}
	words := []string{kinds[0].String(), kinds[1].String(), kinds[2].String()}
	word := c.Recovery.String()
	o.word("recovery", &word, words...)
	for k := range kinds {
		if words[k] == word {
			c.Recovery = kinds[k]
		}
	}
	ecn := "off"
	if o.word("ecn", &ecn, "off", "classic"); i == plainTCP && ecn == "classic" {
		c.ECN = tcp.ECNClassic
	}
	o.boolean("timestamps", &c.Timestamps)
	o.boolean("window_scaling", &c.WindowScaling)
	if c.Timestamps && c.TimestampTick == 0 {
		c.TimestampTick = units.Millisecond
	}
	o.boolean("prr", &c.PRR)
	o.boolean("cwr_growth", &c.CWRGrowth)
	for _, t := range []struct {
		key string
		dst *units.Time
	}{{"rto_min", &c.MinRTO}, {"rto_initial", &c.InitialRTO}, {"rto_max", &c.MaxRTO}} {
		if o.time(t.key, t.dst) && *t.dst == 0 {
			o.fail(t.key, "0 would time out at once; give a time such as 200ms")
		}
	}
	if r.d.err == nil && c.MaxRTO < max(c.MinRTO, c.InitialRTO) {
		o.fail("rto_max", "%v is below rto_min %v or rto_initial %v; it bounds both", c.MaxRTO, c.MinRTO, c.InitialRTO)
	}
}

// readAcks reads how a receiver acknowledges.
func readAcks(o object, c *tcp.Config) {
	readOr(o, "delayed_ack", "none", 0, &c.DelayedAck, units.ParseTime)
	if o.d.err == nil && c.DelayedAck >= 500*units.Millisecond {
		o.fail("delayed_ack", "%v is too long; an acknowledgement waits for less than 500ms (RFC 9293 3.8.6.3)", c.DelayedAck)
	}
	o.integer("ack_every", &c.AckEvery, 1, 1<<16)
	o.integer("quick_acks", &c.QuickAcks, 0, 1<<20)
}

// readSending reads what a sender may send, and in what pieces.
func readSending(o object, c *tcp.Config) {
	tso := c.TSO > 0
	if o.boolean("tso", &tso) {
		c.TSO = 0
		if tso {
			c.TSO = 65535
		}
	}
	o.integer("initial_window", &c.CC.InitialWindow, 1, 10000)
	readCubic(o, c)
	o.boolean("slow_start_after_idle", &c.SlowStartAfterIdle)
	o.boolean("pacing", &c.Pacing)
	rules := []tcp.Nagle{tcp.NagleOff, tcp.NagleRFC896, tcp.NagleMinshall}
	words := []string{rules[0].String(), rules[1].String(), rules[2].String()}
	word := c.Nagle.String()
	o.word("nagle", &word, words...)
	for i := range rules {
		if words[i] == word {
			c.Nagle = rules[i]
		}
	}
}

// readCubic reads which of the two descriptions of CUBIC is followed, and how slow
// start ends before a loss.
func readCubic(o object, c *tcp.Config) {
	word := "rfc9438"
	if c.CC.CubicLinux {
		word = "linux"
	}
	if o.word("cubic", &word, "linux", "rfc9438") && c.CC.Algorithm == congestion.Reno {
		o.fail("cubic", "Reno has no part of CUBIC; leave cubic out, or take cc: cubic")
	}
	c.CC.CubicLinux = word == "linux"
	exits := []congestion.HyStart{congestion.HyStartOff, congestion.HyStartPlus, congestion.HyStartLinux}
	words := []string{exits[0].String(), exits[1].String(), exits[2].String()}
	word = c.CC.HyStart.String()
	if o.word("hystart", &word, words...) && word == words[congestion.HyStartLinux] && c.CC.Algorithm == congestion.Reno {
		o.fail("hystart", "linux is part of Linux's CUBIC; give rfc9406 or off, or take cc: cubic")
	}
	for i := range exits {
		if words[i] == word {
			c.CC.HyStart = exits[i]
		}
	}
}

// readBuffers reads the largest size of the socket's buffers: where autotuning
// may take them, or what they are from the start.
func readBuffers(o object, c *tcp.Config) {
	tuned := c.Send.Max > c.Send.Initial
	o.boolean("autotuning", &tuned)
	for _, b := range []struct {
		key string
		dst *tcp.Buffer
	}{{"sndbuf", &c.Send}, {"rcvbuf", &c.Receive}} {
		size := units.Bytes(b.dst.Max)
		if o.size(b.key, &size) && (size < 1 || size > tcp.MaxWindow) {
			o.fail(b.key, "%v is no socket buffer; give 1B to 1GiB (RFC 7323 2.3) of payload, such as 4MB", size)
			return
		}
		b.dst.Max = int64(size)
		b.dst.Initial = min(b.dst.Initial, b.dst.Max)
		if !tuned {
			b.dst.Initial = b.dst.Max
		}
	}
}

// profileOf is the TCP profile of a stack's name; ok is false for others.
func profileOf(stack string) (profile int, ok bool) {
	switch stack {
	case stackTCP:
		return plainTCP, true
	case stackDCTCP:
		return dataCenterTCP, true
	}
	return 0, false
}

// readEntryStack reads the stack of a workload entry: the scenario's own, or TCP
// beside an RDMA stack on Ethernet.
func (r *resolver) readEntryStack(o object, opt *workload.Options) {
	name := r.v.Stack
	o.note("stack", wordsOf(StackNames()...))
	if text, ok := o.scalar("stack"); ok {
		_, isTCP := profileOf(text)
		switch msg := CheckStack(text); {
		case msg != "":
			o.fail("stack", "%s", msg)
		case text == r.v.Stack:
		case !isTCP:
			o.fail("stack", "%q beside %q: a fabric is set up for one stack, beside which only tcp and dctcp can run; leave stack out here", text, r.v.Stack)
		case r.stack().Credits && r.compared: // the others have both, and this has one
			r.warn("entry stack", "%s runs over %s: TCP needs Ethernet", o.path, r.v.Stack)
		case r.stack().Credits:
			o.fail("stack", "%q needs Ethernet, and the stack %s has none; take an RoCEv2 stack", text, r.v.Stack)
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
func (r *resolver) asStream(o object, opt *workload.Options) {
	if opt.Profile == 0 {
		return
	}
	if !r.compared {
		for _, key := range []string{"verb", "service", "rkey", "remote_access", "receives", "receive_size", "srq", "region", "offset", "fence", "inline", "initial_rate"} {
			r.ignored(o, key, "TCP carries a stream of bytes from `from` to `to`")
		}
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

// anyTCP reports whether the workload has TCP connections, and onlyTCP whether it
// has nothing else.
func (r *resolver) anyTCP() bool  { return r.tcp.used[plainTCP] || r.tcp.used[dataCenterTCP] }
func (r *resolver) onlyTCP() bool { return r.anyTCP() && r.tcp.rdma == 0 }

// tcpFrame is the largest frame of a TCP segment.
func (r *resolver) tcpFrame() units.Bytes {
	n := units.Bytes(r.tcp.mtu + wire.EthernetLen + wire.FCSLen)
	if r.vlan {
		n += wire.VLANLen
	}
	return n
}

// resolveTCP hands over the profiles.
func (r *resolver) resolveTCP(root object) {
	t := &r.tcp
	if r.d.err != nil {
		return
	}
	r.warnIgnoredKernel()
	r.checkSegmentation()
	if !r.anyTCP() {
		if root.has("tcp") && !r.compared {
			r.warn("tcp", "tcp has no effect: no connection runs over TCP; take the stack tcp or dctcp, or give it to a workload entry")
		}
		return
	}
	r.v.TCP, r.v.Handshake, r.v.Close = t.profiles[:], t.handshake, t.closes
	if t.used[dataCenterTCP] && !r.compared {
		for _, key := range []string{"preset", "cc", "ecn"} {
			if !t.used[plainTCP] {
				r.ignored(t.obj, key, "the stack dctcp has a preset, a congestion control and a use of ECN of its own")
			}
		}
	}
	if !t.used[dataCenterTCP] && t.profiles[plainTCP].ECN == tcp.ECNOff && !r.compared {
		r.ignored(t.obj, "cwr_growth", "no connection negotiates ECN, so that no ECE comes; give ecn: classic, or take the stack dctcp")
	}
	if shared := t.classes[dataCenterTCP] & t.rdma; shared != 0 {
		r.warn("dctcp class", "priority %s carries DCTCP and RDMA, and switches mark both by one curve, that of RDMA; give DCTCP a class of its own", maskText(shared))
	}
}

// checkSegmentation refuses super-segments, when asked for, at hosts where nothing
// can cut them: TCP then makes segments of one frame.
func (r *resolver) checkSegmentation() {
	if !r.tcp.obj.has("tso") || r.tcp.profiles[plainTCP].TSO == 0 {
		return
	}
	for n, ends := range r.tcpEnds() {
		if s := &r.nics[n].host; ends && r.v.Graph.Nodes[n].Kind == topology.Host && s.Segmentation == host.NoSegmentation {
			r.tcp.obj.fail("tso", "%s has neither TSO nor GSO (card %s); leave tso out, or give card: connectx-5", r.v.Graph.Nodes[n].Name, s.card)
			return
		}
	}
}

// tcpNotes lists the profiles in use.
func (r *resolver) tcpNotes() {
	t := &r.tcp
	for i, prefix := range []string{"tcp.", "dctcp."} {
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
}

// tcpSource is where a value of a profile comes from; preset is the source otherwise.
func (r *resolver) tcpSource(profile int, key, preset string) string {
	o := r.tcp.obj
	switch {
	case profile == dataCenterTCP && (key == "preset" || key == "cc" || key == "ecn"):
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
	step := r.tcp.classes[dataCenterTCP] &^ r.tcp.rdma
	mask := step
	switch {
	case s.ecn.priorities >= 0:
		mask = uint8(s.ecn.priorities)
	case r.stack().ECN:
		mask |= r.classes
	}
	if r.tcp.profiles[plainTCP].ECN != tcp.ECNOff && r.tcp.used[plainTCP] && s.ecn.priorities < 0 {
		mask |= r.tcp.classes[plainTCP]
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
	checkRED(object{r.d, s.ecn.obj.n, ""}, row.red)
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
	return r.stack().ECN || r.tcp.used[dataCenterTCP] || r.tcp.used[plainTCP] && r.tcp.profiles[plainTCP].ECN != tcp.ECNOff
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
		out = append(out, Sheet{"tcp", name, summary[name], notes})
	}
	return out
}

// warnUnmarked looks for queues of DCTCP that drop before they mark: alone, a queue
// may take alpha/(1+alpha) of the lossy pool.
func (r *resolver) warnUnmarked() {
	for n := range r.v.Switches {
		s := &r.v.Switches[n]
		if s.EgressAlphaDen == 0 || s.LossyPool == 0 {
			continue
		}
		most := scaleRatio(s.LossyPool, s.EgressAlphaNum, s.EgressAlphaNum+s.EgressAlphaDen)
		for p := range s.Ports {
			for c, red := range s.Ports[p].RED {
				if r.tcp.classes[dataCenterTCP]>>c&1 == 1 && red.KMax > 0 && s.Lossless>>c&1 == 0 && red.KMin > most {
					r.warn("dctcp mark", "%s port %d: marking starts at %v, and a queue of priority %d drops at %v at the latest: DCTCP never sees a mark; lower switch.ecn, or raise switch.buffer or switch.lossy",
						r.v.Graph.Nodes[n].Name, p+1, red.KMin, c, most)
				}
			}
		}
	}
}
