package scenario

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// Sheet is one named set of parameters: a stack, a preset, a table of
// defaults, or a key of scenarios.
type Sheet struct {
	Kind    string        `json:"kind"` // stack, dcqcn, controller, congestion_control, transport, tcp, wire, switch, memory, nic, host, server, workload, key or scenario
	Name    string        `json:"name"`
	Summary string        `json:"summary"`
	Notes   []record.Note `json:"parameters"`
	// Layers, of a stack, are its API, transports and fabric.
	Layers *catalog.Layering `json:"layers,omitempty"`
}

// Sheets lists everything that Show knows, stacks first.
func (x Known) Sheets() []Sheet {
	var out []Sheet
	for _, s := range Stacks() {
		out = append(out, Sheet{Kind: "stack", Name: s.Name, Summary: s.Summary, Notes: s.notes(), Layers: &s.Layers})
	}
	out = append(out, dcqcnSheets()...)
	out = append(out, controllerSheets(x.controllers())...)
	out = append(out, ibccSheets()...)
	out = append(out, transportSheets()...)
	out = append(out, tcpSheets()...)
	out = append(out, wireSheets()...)
	out = append(out, switchSheets()...)
	out = append(out, memorySheets()...)
	out = append(out, cardSheets()...)
	out = append(out, hostSheets()...)
	out = append(out, iwarpSheets()...)
	out = append(out, serverSheets()...)
	return append(out, Sheet{"workload", "verbs", "what messages can be, and what each needs", verbNotes(), nil})
}

// Show returns the sheets of a name, "nvidia", or of a kind and name,
// "dcqcn.nvidia": presets of several kinds may share a name. A scenario's name or file
// gives all that its run would note, with set, elements of --set, applied to it; of the rest
// nothing can be set. The error is an *Error.
func (x Known) Show(name string, set []string) ([]Sheet, error) {
	if len(set) > 0 {
		if !isScenario(name) {
			return nil, &Error{Msg: fmt.Sprintf("--set changes a scenario, and %q is none; hopscope scenarios lists those that are shipped", name)}
		}
		return x.showScenario(name, set)
	}
	var found []Sheet
	var names []string
	for _, s := range x.Sheets() {
		if s.Name == name || s.Kind+"."+s.Name == name {
			found = append(found, s)
		}
		if !contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	if sheet, ok := x.keySheet(strings.TrimPrefix(name, "key.")); ok && len(found) == 0 {
		return []Sheet{sheet}, nil
	}
	if len(found) == 0 && isScenario(name) {
		return x.showScenario(name, nil)
	}
	if section, key := cutLast(name); len(found) == 0 && section != "" {
		if k := keyAt(allKeys(x), section); k != nil && k.keys() != nil {
			return nil, &Error{Msg: fmt.Sprintf("%q is no key of %s; %s", key, section, tree.Suggest(key, keyNames(k.keys())))}
		}
	}
	if name == "" {
		return nil, &Error{Msg: "the name is empty; name a stack, a preset, a key or a scenario"}
	}
	if len(found) == 0 {
		for _, shipped := range List() {
			names = append(names, shipped.Name)
		}
		return nil, &Error{Msg: fmt.Sprintf("%q is no stack, preset, key or scenario; %s", name, tree.Suggest(name, names))}
	}
	return found, nil
}

func (x Known) showScenario(name string, set []string) ([]Sheet, error) {
	v, err := Read(Source{Name: name, Set: set, Known: x})
	if err != nil {
		return nil, err
	}
	return []Sheet{{"scenario", v.Name, v.Description, v.Notes, nil}}, nil
}

// isScenario reports whether a name is that of a shipped scenario or of a file.
func isScenario(name string) bool {
	for _, i := range List() {
		if i.Name == name {
			return true
		}
	}
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.Contains(name, "/")
}

// cutLast splits a path before its last key.
func cutLast(path string) (section, key string) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// keySheet is what is known of a key of scenarios and of those in its section.
func (x Known) keySheet(path string) (Sheet, bool) {
	k := keyAt(allKeys(x), path)
	if k == nil || k.renamed != "" {
		return Sheet{}, false
	}
	list := []record.Note{k.note(path)}
	for _, inner := range k.keys() {
		if inner.renamed == "" {
			list = append(list, inner.note(path+"."+inner.name))
		}
	}
	return Sheet{"key", path, "what may stand there, what holds without it and what it means", list, nil}, true
}

// note says what may stand under a key, what holds without it, and what it means.
func (k *key) note(path string) record.Note {
	value := k.takes()
	if d := k.standard(); d != "" {
		value += "; default " + d
	}
	return note(path, plainMarkdown(value), plainMarkdown(k.text))
}

// notes lists a stack's parameters: those of a scenario that gives nothing but
// the stack, then the tables by rate that stand behind the rest.
func (s Stack) notes() []record.Note {
	const least = "topology: {star: {hosts: 2, link: 100Gbps}}\nworkload:\n  - flow: {from: h0, to: h1, size: 1MB}\n"
	const from = "what the stack is"
	transport := from
	if len(s.Layers.Transports) > 1 {
		transport += "; `service` of an entry takes one"
	}
	notes := []record.Note{
		note("api", s.Layers.API.String(), from),
		note("transport", s.Layers.TransportNames(), transport),
		note("fabric", s.Layers.Fabric.String(), from),
		note("pfc", onOff(s.PFC), from),
		note("ecn", onOff(s.ECN), from),
		note("dcqcn", onOff(s.CC), from),
	}
	v, err := Read(Source{Name: "stack", Text: []byte(least), Stack: s.Name})
	if err != nil { // the scenario above is checked by a test
		return notes
	}
	for _, n := range v.Notes {
		if strings.Contains(n.Key, "(") || n.Key == "switch.lossy.pool" || n.Key == "switch.pfc" || strings.HasPrefix(n.Key, "switch.memory.") {
			continue // by rate or by buffer: the tables below
		}
		if s.Credits && n.Key == "switch.latency" {
			notes = append(notes, latencyNotes()...)
			continue
		}
		notes = append(notes, n)
	}
	if !s.Credits {
		notes = append(notes, nicNotes()...)
	}
	notes = append(notes, note("wire", v.Wire.Name, "the default; hopscope show "+v.Wire.Name+" lists the sizes of its headers"))
	if s.Credits {
		return notes
	}
	notes = append(notes, bufferNotes()...)
	if s.ECN {
		notes = append(notes, ecnNotes()...)
	}
	if !s.PFC {
		return append(notes, lossyPoolNote())
	}
	notes = append(notes, headroomNotes()...)
	return append(notes, responseNotes()...)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func dcqcnSheets() (out []Sheet) {
	about := map[string]string{"nvidia": "DCQCN as NVIDIA's firmware ships it; the default", "nvidia-slow-cnp": "the same with the 55 us from mark to CNP that fit a lab's queues",
		"paper":    "DCQCN as published and deployed",
		"strawman": "the paper's counter-example: unfair", "ns3": "DCQCN of the ns-3 RDMA simulators"}
	for _, name := range congestion.Presets() {
		if p, err := congestion.Preset(name); err == nil {
			out = append(out, Sheet{"dcqcn", name, about[name], p.Notes(), nil})
		}
	}
	return out
}

// iwarpSheets are the presets of who runs iWARP, beyond what they have of TCP.
func iwarpSheets() (out []Sheet) {
	about := map[string]string{
		offloadPreset: "iWARP that the card runs, after Chelsio's T5 and T6; the default of stack iwarp",
		siwPreset:     "iWARP that the host's kernel runs, after Linux's siw"}
	for _, name := range []string{offloadPreset, siwPreset} {
		s := iwarpSettings{preset: name}
		s.take()
		notes := s.Notes()
		for _, n := range s.TCP.Notes() {
			key := strings.TrimPrefix(n.Key, "tcp.")
			notes = append(notes, note("iwarp."+n.Key, n.Value, s.source(key, n.Source)))
		}
		if s.Kernel {
			notes = append(notes,
				note("host.preset", tcpHost, "the default where the kernel runs iWARP: hopscope show "+tcpHost),
				note("post", "a system call", "Linux siw_verbs.c, siw_qp_tx.c: the send queue is served in it"),
				note("payload sent", "copied", "Linux siw_qp_tx.c: zero copy is for work requests without a completion"),
				note("payload received", "copied, in the softirq", "Linux siw_qp_rx.c"),
				note("completion", "when TCP has it acknowledged", "assumed, as with cards: siw has one when TCP has taken it"))
		}
		out = append(out, Sheet{"iwarp", name, about[name], notes, nil})
	}
	return out
}

// hostSheets are the presets of hosts that cost something: linux-xeon is what hosts
// that run TCP are by default.
func hostSheets() (out []Sheet) {
	for _, name := range host.Presets() {
		if name == freeHost {
			continue
		}
		s := hostSettings{}
		s.take(name)
		out = append(out, Sheet{"host", name, "processors, memory and kernel of a server with Xeons and Linux", s.notes(), nil})
	}
	return out
}

func transportSheets() (out []Sheet) {
	about := map[string]string{"nic": "reliable connected service as NICs ship it; the default", "ns3": "transport of the ns-3 RDMA simulators",
		"go-back-0":        "the whole message again after a loss, as early RoCE NICs did",
		"selective-repeat": "what is lost alone again, as newer NICs do", "irn": "selective repeat by the rules of IRN: BDP window, two timeouts"}
	for _, name := range rdma.Presets() {
		if c, err := rdma.Preset(name); err == nil {
			out = append(out, Sheet{"transport", name, about[name], c.Notes(), nil})
		}
	}
	return out
}

func wireSheets() (out []Sheet) {
	const ieee = "IEEE 802.3: preamble 7, SFD 1, gap 12"
	const ibta = "IBTA chapter 9 and annex A17 (RoCEv2)"
	ethernet := [7]string{ieee, "IEEE 802.3", "IEEE 802.1Qbb, padded", "assumed: the first 64 bytes",
		"Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4", ibta, ibta}
	tagged := ethernet
	tagged[4] += ", 802.1Q tag 4"
	ipv6 := ethernet
	ipv6[3] += " with IPv4, and 20 more"
	ipv6[4] = "Ethernet 14, IPv6 40, UDP 8, BTH 12, ICRC 4, FCS 4"
	taggedIPv6 := ipv6
	taggedIPv6[4] += ", 802.1Q tag 4"
	infiniband := [7]string{"IBTA volume 2: a delimiter before and behind", "no minimum", "IBTA 7.9.4: a flow-control packet", "IBTA 7.7: the LRH",
		"LRH 8, BTH 12, ICRC 4, VCRC 2", "IBTA chapter 9", "IBTA chapter 9"}
	global := infiniband
	global[4] = "LRH 8, GRH 40, BTH 12, ICRC 4, VCRC 2"
	var ns3 [7]string
	for i := range ns3 {
		ns3[i] = "ns-3 RDMA simulators"
	}
	for _, p := range []struct {
		profile wire.Profile
		summary string
		from    [7]string
	}{
		{wire.Ethernet, "RoCEv2 over IPv4 on Ethernet; the default", ethernet},
		{wire.EthernetVLAN, "the same with an 802.1Q tag", tagged},
		{wire.EthernetIPv6, "RoCEv2 over IPv6 on Ethernet, with ip: v6", ipv6},
		{wire.EthernetVLANIPv6, "the same with an 802.1Q tag", taggedIPv6},
		{wire.InfiniBand, "InfiniBand packets within a subnet", infiniband},
		{wire.InfiniBandGRH, "the same with a GRH in every packet", global},
		{wire.NS3, "frames of the ns-3 RDMA simulators", ns3},
	} {
		out = append(out, Sheet{"wire", p.profile.Name, p.summary, wireNotes(p.profile, p.from), nil})
	}
	return out
}

func wireNotes(p wire.Profile, from [7]string) []record.Note {
	size := func(n int) string { return fmt.Sprintf("%d B", n) }
	return []record.Note{
		note("wire.overhead", size(p.Overhead)+" per frame, on the wire only", from[0]),
		note("wire.min_frame", size(p.MinFrame), from[1]),
		note("wire.pfc_frame", size(p.Control), from[2]),
		note("wire.header", size(p.Header)+" before a cut-through switch can route", from[3]),
		note("wire.data", size(p.Data)+" around the payload", from[4]),
		note("wire.reth", size(p.RETH)+" more in the first packet of a WRITE", from[5]),
		note("wire.ack", size(p.Ack), from[6]),
		note("wire.cnp", size(p.CNP), from[6]),
	}
}

func switchSheets() []Sheet {
	s := defaultSwitch()
	return []Sheet{
		{"switch", "buffer", "packet buffer by the rate of the fastest port", append(bufferNotes(), lossyPoolNote(),
			note("switch.lossy.alpha", fmt.Sprintf("%d/%d of the free pool", s.lossyNum, s.lossyDen), fromAzure)), nil},
		{"switch", "ecn", "marking thresholds by link rate", ecnNotes(), nil},
		{"switch", "headroom", "what a lossless class keeps above XOFF", headroomNotes(), nil},
		{"switch", "pfc-response", "time to obey a PFC frame by link rate", responseNotes(), nil},
		{"nic", "classes", "priorities, code points and buffers of a NIC", nicNotes(), nil},
	}
}

// memorySheets are the memories that switches are shipped with.
func memorySheets() (out []Sheet) {
	for _, p := range memoryPresets() {
		m := p.memory()
		m.preset = p.name
		out = append(out, Sheet{"memory", p.name, p.about, m.notes(), nil})
	}
	return out
}

// nicNotes are the defaults of a NIC's classes, code points and buffers.
func nicNotes() []record.Note {
	n := defaultNIC(defaultPFC())
	return []record.Note{
		note("nic.class", fmt.Sprint(dataClass), "RoCEv2 deployments: one lossless class, priority 3"),
		note("nic.dscp", "26", "AF31 (RFC 2597), whose upper three bits are priority 3"),
		note("nic.cnp_class", fmt.Sprint(n.cnpClass), "NVIDIA firmware defaults: cnp_802p_prio"),
		note("nic.cnp_dscp", fmt.Sprint(cnpDSCP), "NVIDIA firmware defaults: cnp_dscp"),
		note("nic.ack_class", "the data's", "assumed: answers keep the class of what they answer"),
		note("nic.rx_buffer", n.rxBuffer.String(), "assumed, of the order that Swift (SIGCOMM 2020) names"),
		note("nic.max_rd_atomic", fmt.Sprint(n.maxRd), "what ConnectX adapters report as max_qp_rd_atom"),
		note("nic.max_dest_rd_atomic", fmt.Sprint(n.maxDestRd), "what ConnectX adapters report as max_qp_rd_atom"),
		note("nic.max_inline", n.maxInline.String(), "RDMA performance tests, for WRITE"),
		note("nic.cache_miss", n.miss.String(), "median DMA read of 64 B on a Xeon E5 (SIGCOMM 2018); with mtt_cache or qpc_cache"),
		note("nic.ttl", fmt.Sprint(n.ttl), "the default that IANA recommends"),
		note("nic.mtu", fmt.Sprintf("%d B", int64(n.mtu)), "assumed: jumbo frames; of the IP packet"),
	}
}

func bufferNotes() (out []record.Note) {
	for _, rate := range shownRates() {
		out = append(out, note(fmt.Sprintf("switch.buffer (%v)", rate), defaultBuffer(rate).String(), "16 MiB per 50 Gb/s of the fastest port: "+fromRunScript))
	}
	return out
}

func ecnNotes() (out []record.Note) {
	for _, rate := range shownRates() {
		row := tableRED(rate)
		out = append(out, note(fmt.Sprintf("switch.ecn (%v)", rate), fmt.Sprintf("Kmin %v, Kmax %v, Pmax %g", row.red.KMin, row.red.KMax, row.red.PMax), row.from))
	}
	return out
}

func lossyPoolNote() record.Note {
	return note("switch.lossy.pool", "7/12 of the buffer", fromAzure+": 14 of 24 MB")
}

// headroomNotes gives both rules, and what they come to for a short cable.
func headroomNotes() []record.Note {
	out := []record.Note{
		note("switch.pfc.headroom_rule", "physical", "C*(2*tprop + tresp + pipeline + jitter) + 3 frames (the third crosses XOFF) + 1 PFC frame; the default"),
		note("switch.pfc.headroom_rule", spectrumRule, "SONiC for Spectrum switches: lossless MTU + (port MTU + 2*cable + 0.8 KiB + response quanta + 120 ns on Spectrum-4 and -5) * cells of a 64 B packet, rounded up to 1 KiB"),
	}
	w, s, mtu, j := wire.Ethernet, defaultSwitch(), units.Bytes(4096), defaultNoise()
	for _, rate := range shownRates() {
		c := cable{rate: rate, length: 5 * units.Metre, delay: 5 * units.PicosecondsPerMetre, response: quantaTime(responseQuanta(rate), rate),
			latency: s.latency, frame: mtu + units.Bytes(w.Data+w.RETH), pfcWire: units.Bytes(w.Control + w.Overhead),
			portMTU: s.mtu, pathMTU: mtu, cell: s.pfc.cell, jitter: j.Pipeline + j.Card, fast: j.Clocks}
		out = append(out, note(fmt.Sprintf("switch.pfc.headroom (%v, 5m)", rate),
			fmt.Sprintf("physical %v, spectrum %v", physicalHeadroom(c), spectrumHeadroom(c)), "the rules above for MTU 4096"))
	}
	return out
}

func responseNotes() (out []record.Note) {
	for _, row := range responseRows() {
		out = append(out, note(fmt.Sprintf("switch.pfc.response (%v)", row.rate),
			fmt.Sprintf("%d quanta, %v", row.quanta, quantaTime(row.quanta, row.rate)), "IEEE 802.3 31B.3.7, as the SONiC headroom calculator lists it"))
	}
	return out
}

// shownRates are the link rates of the tables.
func shownRates() []units.Rate {
	return []units.Rate{25 * units.Gbps, 40 * units.Gbps, 50 * units.Gbps, 100 * units.Gbps, 200 * units.Gbps, 400 * units.Gbps, 800 * units.Gbps}
}
