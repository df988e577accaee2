package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/balance"
	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/foreign"
	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/scenarios"
	"github.com/hopscope/hopscope/wire"
)

// Info names a shipped scenario.
type Info struct {
	Name, Description string
	Symptoms          []Symptom
	Reduced           []string // changes that make a smaller one of it; nil: it takes no minutes
}

// List returns the shipped scenarios in alphabetical order.
func List() []Info {
	var out []Info
	entries, _ := fs.ReadDir(scenarios.FS, ".") // sorted by name
	for _, e := range entries {
		src, err := fs.ReadFile(scenarios.FS, e.Name()+"/scenario.yaml")
		if err != nil {
			continue
		}
		info := Info{Name: e.Name()}
		if root, bad := tree.Parse(e.Name(), src); bad == nil {
			if d := root.Get("description"); d != nil {
				info.Description = d.Text
			}
			if y := root.Get("symptoms"); y != nil {
				info.Symptoms = symptomsOf(y)
			}
			info.Reduced = reducedOf(root)
		}
		out = append(out, info)
	}
	return out
}

// Source is a scenario, and what is put over it.
type Source struct {
	Name string // of a shipped scenario, or a file; of Text, its name in errors
	Text []byte // the scenario's text; nil: Name is opened
	// Imported, made of files of another program, stands in place of both; nil: it was not.
	Imported *importer.Scenario

	// Stack stands in place of the scenario's own, of which sections that no other can use are left out; or a column,
	// "rocev2 staged". "": the scenario's own.
	Stack string
	// Stacks are all that Stack is compared with, nil: it runs alone. So that host CPU compares like with like, hosts
	// that name no preset have in all columns that of TCP if one of them runs TCP.
	Stacks  []string
	Set     []string // path=value
	Seed    *uint64
	Single  *Single // in place of the workload; nil: the scenario's
	Sweep   *Sweep  // of a collective; nil: the scenario's sizes
	Without Without // what an experiment removes
	Known   Known   // what it may name beside what the program has

	look func(*resolver) // after it was read; nil: nobody does
}

// Known is what scenarios may name beside what the program itself has.
type Known struct {
	Balancers   []balance.Kind         // under routing
	Controllers []congestion.Algorithm // under controller
}

// Load reads a scenario: the name of a shipped one or a file. Each element of
// set is a --set argument, path=value; seed, when not nil, replaces the
// scenario's. The error is always an *Error.
func Load(nameOrFile string, set []string, seed *uint64) (*Valid, error) {
	return Read(Source{Name: nameOrFile, Set: set, Seed: seed})
}

// Parse checks the text of a scenario; file is its name in errors.
func Parse(file string, src []byte, set []string, seed *uint64) (*Valid, error) {
	return Read(Source{Name: file, Text: src, Set: set, Seed: seed})
}

// Read reads a scenario. The error is always an *Error.
func Read(s Source) (*Valid, error) {
	if s.Imported != nil {
		return s.imported()
	}
	if s.Text == nil {
		var bad *Error
		if s.Name, s.Text, bad = open(s.Name); bad != nil {
			return nil, bad
		}
	}
	root, bad := s.parse()
	if bad != nil {
		return nil, bad
	}
	if root.Kind != mappingNode {
		return nil, root.Pos.Errorf("a scenario is a mapping with the keys topology and workload; this is %s", root.Kind)
	}
	v, bad := s.resolve(root)
	if bad != nil {
		if s.Single != nil && bad.Line == 0 { // the entry is nothing that the user wrote
			bad.Msg = withoutEntry(bad.Msg)
		}
		return nil, bad
	}
	return v, nil
}

// imported checks a scenario that an importer made of other files.
func (s Source) imported() (*Valid, error) {
	in := s.Imported
	s.Name, s.Text, s.Set = in.File, nil, in.Set
	v, bad := s.resolve(in.Root)
	if bad != nil {
		return nil, bad
	}
	v.Warnings = append(slices.Clone(in.Warnings), v.Warnings...)
	v.Notes = append(slices.Clone(in.Notes), v.Notes...)
	return v, nil
}

// parse reads the text as YAML, and says of another kind of file what it is.
func (s Source) parse() (*node, *Error) {
	root, bad := tree.Parse(s.Name, s.Text)
	if bad != nil || root.Get("topology") == nil || root.Get("workload") == nil && root.Get("jobs") == nil {
		if other := foreign.Instead(s.Text, "a scenario", foreign.Scenario); other != "" {
			return nil, pos{File: s.Name}.Errorf("%s", other)
		}
	}
	return root, bad
}

// open finds the text of a scenario.
func open(nameOrFile string) (file string, src []byte, bad *Error) {
	if nameOrFile == "" {
		return "", nil, pos{}.Errorf("the name is empty; name a scenario or a file")
	}
	var names []string
	for _, i := range List() {
		names = append(names, i.Name)
	}
	if contains(names, nameOrFile) {
		src, err := fs.ReadFile(scenarios.FS, nameOrFile+"/scenario.yaml")
		if err == nil {
			return nameOrFile, src, nil
		}
	}
	src, err := files.Read(nameOrFile, maxFile)
	var long *files.TooLongError
	switch {
	case errors.As(err, &long):
		return "", nil, pos{File: nameOrFile}.Errorf("is longer than %d MiB; no scenario is: put long lists of flows into a trace file", maxFile>>20)
	case err == nil:
		return nameOrFile, src, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, pos{File: nameOrFile}.Errorf("no such file and no shipped scenario of that name; %s", tree.Suggest(filepath.Base(nameOrFile), names))
	}
	if info, e := os.Stat(nameOrFile); e == nil && info.IsDir() {
		if _, e := os.Stat(filepath.Join(nameOrFile, "run.json")); e == nil {
			return "", nil, pos{File: nameOrFile}.Errorf("is a run directory; hopscope report prints it")
		}
		return "", nil, pos{File: nameOrFile}.Errorf("is a folder; name a scenario file")
	}
	return "", nil, pos{File: nameOrFile}.Errorf("cannot be read: %v; name a readable scenario file", importer.Cause(err))
}

// maxFile bounds a scenario file in bytes.
const maxFile = 16 << 20

// changed reports whether anything is put over the text.
func (s *Source) changed() bool {
	return s.Stack != "" || len(s.Set) > 0 || s.Seed != nil || s.Single != nil || s.Sweep != nil
}

// apply puts it over the tree.
func (s *Source) apply(root *node) *Error {
	for _, set := range s.Set {
		if bad := applySet(root, set, s.Known); bad != nil {
			return bad
		}
	}
	if s.Stack != "" && root.Get("ns3") != nil {
		return pos{File: "--stacks"}.Errorf("an ns3 section puts the rules of the ns-3 RDMA simulators in place of any stack, so there are none to compare; vary its keys with hopscope run, such as --set ns3.ENABLE_QCN=0")
	}
	if s.Stack != "" {
		if bad := setColumn(root, s.Stack, s.Known); bad != nil {
			return bad
		}
	}
	hostsAlike(root, s.Stacks)
	if s.Single != nil {
		if bad := s.Single.apply(root); bad != nil {
			return bad
		}
	}
	if s.Sweep != nil {
		if bad := s.Sweep.apply(root); bad != nil {
			return bad
		}
	}
	if s.Seed != nil {
		at := pos{File: "--seed"}
		root.Put("seed", at, &node{Kind: scalarNode, Text: strconv.FormatUint(*s.Seed, 10), Pos: at})
	}
	return nil
}

// resolve checks a tree after the changes.
func (s Source) resolve(root *node) (*Valid, *Error) {
	file, src := s.Name, s.Text
	if bad := s.apply(root); bad != nil {
		return nil, bad
	}
	r := &resolver{d: &decoder{file: file, readFile: importer.ReadFile}, v: &Valid{Wire: wire.Ethernet},
		compared: s.Stack != "", without: s.Without, known: s.Known}
	inlined := r.d.inlineTraces(root)
	inlined = r.d.inlineServers(root) || inlined
	inlined = r.d.inlineSizes(root) || inlined
	r.resolve(root)
	if r.allInfiniBand {
		r = &resolver{d: r.d, v: &Valid{Wire: wire.Ethernet}, compared: true, without: s.Without, known: s.Known, allInfiniBand: true}
		r.resolve(root)
	}
	if r.d.err != nil {
		return nil, r.d.err
	}
	if r.v.Name == "" {
		r.v.Name = nameOf(file)
		src = named(r.v.Name, root, src)
	}
	r.v.Source = src
	if src == nil || s.changed() || inlined {
		r.v.Source = tree.Render(root)
	}
	if s.look != nil {
		s.look(r)
	}
	return r.v, nil
}

// named puts a name that followed from the file's into the tree and the text:
// what is kept of a scenario lies in a file of another name. A text that cannot
// begin with another key is given up.
func named(name string, root *node, src []byte) []byte {
	root.Fields = append([]field{{Key: "name", Value: tree.Text(name)}}, root.Fields...)
	out := append([]byte("name: "+tree.RenderText(name)+"\n"), src...)
	if again, bad := tree.Parse("", out); src == nil || bad != nil || again.Get("topology") == nil {
		return nil
	}
	return out
}

// nameOf names a scenario after its file, or after the folder of a file that
// is called scenario.yaml.
func nameOf(file string) string {
	base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if dir := filepath.Base(filepath.Dir(file)); base == "scenario" && dir != "." && dir != string(filepath.Separator) {
		return dir
	}
	return base
}

// rootKeys are the keys of a scenario. Sections are read one by one, in the order in which they
// depend on each other; the keys that stand for them here are those of defaults.
func (r *resolver) rootKeys() []key {
	allSwitches := func() []key { sw := defaultSwitch(); return grouped("switch", r.switchKeys(&sw)) }
	allHosts := func() *nicSettings { nic := defaultNIC(defaultPFC()); return &nic }
	return joinKeys(r.headerKeys(), []key{
		readElsewhere("topology", r.topologyKeys, "Nodes and links.").otherwise("with `server`: one such server"),
		readElsewhere("switch", allSwitches, "All switches."),
		namedKey("switches", allSwitches, readLater, "Keys of `switch` for single switches: `switches: {leaf1: {buffer: 8MB}}`."),
		readElsewhere("nic", func() []key { return r.nicKeys(allHosts()) }, "The cards of all hosts."),
		readElsewhere("host", func() []key { return hostKeys(&allHosts().host, nil) }, "What the application on a host, its kernel and its memory cost."),
		r.serverKey(),
		namedKey("hosts", func() []key { return r.oneHostKeys(allHosts()) }, readLater,
			"Keys of `nic` and `host`, and `server`, for single hosts: `hosts: {h4: {drain_rate: 40Gbps, repost: 5us}}`."),
		r.gpuDirectKey("Data of GPUs in all hosts, over what `server` says; an entry of the workload may say otherwise.").
			otherwise("as the servers say").unless(r.noGPUData),
		r.dcqcnKey(newDCQCN()).unless(func() string {
			return when(r.stack().Credits && !r.compared && r.header.text("dcqcn") != "none", "InfiniBand has congestion control of its own: see infiniband.congestion_control")
		}),
		r.controllerKey(),
		readElsewhere("tcp", func() []key { return r.tcpKeys(r.newProfile(plainTCP)) }, "What the ends of TCP connections do.").unless(func() string {
			return when(!r.anyTCP() && !r.compared, "no connection runs over TCP; take the stack tcp or dctcp, or give it to a workload entry")
		}),
		readElsewhere("iwarp", func() []key { return r.iwarpKeys() }, "What the stack `iwarp` has beyond `tcp`.").unless(func() string {
			return when(!r.tcp.used[offloadedTCP] && !r.compared, "nothing runs over iWARP; give stack: iwarp")
		}),
		readElsewhere("infiniband", r.infinibandKeys, "What the stack infiniband has beyond the others.").unless(func() string {
			return when(!r.stack().Credits && !r.compared, "the stack "+r.v.Stack+" has no credits; give stack: infiniband")
		}),
		readElsewhere("failover", r.failoverKeys, "How fast a failed link is noticed and rerouted.").unless(func() string {
			return when(!r.compared && !r.anyDown(), "no link has a down_at")
		}),
		r.noiseKey(),
		readElsewhere("nccl", func() []key { return ncclKeys(&ncclSettings{version: collective.DefaultVersion}) }, "How collectives decide: the version of NCCL and its variables.").unless(func() string {
			return when(len(r.v.Plan.Collectives) == 0 && !r.compared, "there is no collective")
		}),
		namedKey("triggers", func() []key { return triggerKeys(new(trigger)) }, readLater, "What starts messages when others end, by name."),
		listedKey("workload", r.patternKeys, readLater, "What is sent: a list of patterns, one each.").
			otherwise("with `jobs`: nothing else").exactlyOne(),
		r.jobsKey(),
		readElsewhere("ns3", ns3Keys, "The rules of the ns-3 RDMA simulators in place of all device settings, see [files](#files-of-the-ns-3-rdma-simulators)."),
	})
}

// text is the text of a single value; "": none is given.
func (o object) text(name string) string {
	if v := o.n.Get(name); v != nil && v.Kind == scalarNode {
		return v.Text
	}
	return ""
}

// warnIdleScenario looks at the keys of the scenario itself, and at the sections that are the
// same everywhere.
func (r *resolver) warnIdleScenario() {
	for i := range r.keys {
		if k := &r.keys[i]; r.header.has(k.name) {
			if why := k.useless(); why != "" {
				r.ignored(r.header, k.name, "%s", why)
			}
		}
	}
	if r.dcqcn != nil && r.header.has("dcqcn") {
		r.warnIdle(r.dcqcnGiven, r.dcqcn.keys())
	}
	if r.anyTCP() && r.header.has("tcp") {
		r.warnIdle(r.tcp.obj, r.tcpKeys(r.newProfile(plainTCP)))
	}
	if r.stack().Credits && r.header.has("infiniband") {
		r.warnIdle(r.ib.obj, r.infinibandKeys())
	}
	r.warnIdle(r.noise.obj, r.noiseKey().inner)
	if r.header.has("failover") {
		r.warnIdle(r.failover.obj, r.failoverKeys())
	}
}

// resolve reads the sections in the order in which they depend on each other.
func (r *resolver) resolve(root *node) {
	if root.Get("ns3") != nil {
		r.resolveNS3Scenario(root)
		return
	}
	r.setDefaults()
	r.keys = r.rootKeys()
	o := r.d.object(root, "", r.keys)
	r.readHeader(o)
	r.readNoise(o)
	r.readTopology(root.Get("topology"), root.Get("server"))
	if r.d.err == nil {
		r.without.neverFail(r.v.Graph)
	}
	r.readDevices(o)
	r.hostPath = r.readGPUDirect(o)
	r.readNCCL(o)
	r.tellServers()
	r.readController(o)
	r.readDCQCN(o)
	r.readIWARP(o)
	r.readTCP(o)
	r.readTriggerList(o)
	r.readWorkload(root.Get("workload"), root.Get("jobs"))
	r.readHosts()
	r.splitNetworks(o)
	r.cutThrough()
	if r.d.err != nil || r.allInfiniBand && r.anyTCP() {
		return
	}
	r.readInfiniBand(o)
	r.readFailover(o)
	if r.d.err != nil {
		return
	}
	r.route(o)
	if r.stack().Credits {
		r.resolveCredits()
	}
	if r.d.err != nil {
		return
	}
	r.checkPairs(o)
	r.resolveTCP()
	r.resolveDevices()
	r.checkController(o)
	r.notes(o)
	r.resolveFailover(o.at("topology"))
	r.checkCarried(o)
	r.checkHostPath(o)
	r.warnings()
}

// headerKeys are the keys of the scenario that are no sections of their own.
func (r *resolver) headerKeys() []key {
	v := r.v
	return []key{
		lineKey("name", &v.Name, "Name in reports.").otherwise("the file's"),
		lineKey("description", &v.Description, "One sentence, for people.").otherwise("empty"),
		r.symptomsKey(),
		r.reducedKey(),
		textKey("seed", "0 to 2^64-1", jsonSchema{"type": []string{"integer", "string"}, "minimum": 0, "pattern": "^[0-9]+$"}, func(o object, text string) {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				o.fail("seed", "%q is not a whole number from 0 to 2^64-1", text)
				return
			}
			v.Seed = n
		}, "Of everything random: marking, losses, permutations, ECMP salts.").otherwise("1"),
		textKey("stack", quoted(StackNames()), wordsOf(StackNames()...), func(o object, text string) {
			v.Stack = text
			if msg := CheckStack(text); msg != "" {
				o.fail("stack", "%s", msg)
			}
		}, "What the network is: `rocev2` (PFC, ECN, DCQCN), `rocev2-pfc-only` (PFC alone), `rocev2-ecn-only` (ECN and DCQCN, no PFC), `rocev2-none`, `rocev2-lossy` (as "+
			"`rocev2-ecn-only`, with selective repeat), `rocev2-irn`, `infiniband`, `tcp`, `dctcp` or `iwarp`; see [compare](../compare.md).").otherwise("`rocev2`"),
		r.routingKey(),
		r.pathsKey(),
		r.pathMTUKey(),
		r.payloadKey(),
		flagKey("vlan", &r.vlan, "Every frame but PFC's carries an 802.1Q tag, 4 bytes, with the sender's priority as PCP.").
			check(func(object) { r.useHeaders() }).
			unless(func() string { return when(r.stack().Credits && !r.compared, "InfiniBand has no VLAN tags") }),
		eitherKey("ip", &r.ipv6, "v4", "v6", "What carries RoCEv2 and TCP: IPv4, or IPv6, whose header is 20 bytes longer.").
			check(func(object) { r.useHeaders() }).
			unless(func() string {
				return when(r.stack().Credits && !r.compared && !r.anyTCP(), "InfiniBand packets have no IP header")
			}),
		timeKey("stop", &v.Stop, "End of the run; without it the run ends when all is done.").otherwise("`never`").or("never", func() { v.Stop = units.Never }).
			nonzero("ends before anything happens; give a later time, or leave stop out to run until all is done"),
		timeKey("time_quantum", &v.TimeQuantum, "Truncate wire and pacing times to this; 0: picoseconds, rounded up.").otherwise("0"),
		flagKey("carry_data", &v.CarryData, "Messages have real bytes, which are compared at the end of the run; at most 1 GB in all, source and destination counted; see "+
			"[memory](../models/memory.md#real-bytes)."),
		sectionKey("measure", []key{
			timeKey("from", &v.MeasureFrom, "Begin of the window.").otherwise("0"),
			timeKey("to", &v.MeasureTo, "End of the window.").otherwise("the end of the run"),
		}, "Window for utilisation, mean, least and largest queue; what reaches beyond the end of the run is cut off, with a warning.").
			opening(func(object) { v.MeasureFrom = 0 }).finish(r.checkMeasure),
	}
}

// setDefaults gives the keys of the scenario what holds without them.
func (r *resolver) setDefaults() {
	v := r.v
	r.mtu, v.Seed, v.Stack = 4096, 1, stackRoCEv2
	v.Stop, v.MeasureFrom, v.MeasureTo = units.Never, units.Never, units.Never
	r.tcp.mtu = defaultTCPMTU
	r.ib = defaultInfiniBand()
	r.noise = defaultNoise()
	r.failover = failoverSettings{topology.Failover{Detect: units.Millisecond, Converge: 10 * units.Millisecond}, true, object{}}
}

func (r *resolver) readHeader(o object) {
	r.header = o
	o.read(r.headerKeys())
	if r.stack().Credits {
		r.v.Wire = wire.InfiniBand
	}
}

// useHeaders gives frames a tag, where they can have one, and IPv6.
func (r *resolver) useHeaders() {
	if r.stack().Credits {
		r.vlan = false
		return
	}
	switch {
	case r.vlan && r.ipv6:
		r.v.Wire = wire.EthernetVLANIPv6
	case r.vlan:
		r.v.Wire = wire.EthernetVLAN
	case r.ipv6:
		r.v.Wire = wire.EthernetIPv6
	}
}

// ipLen is the length of the IP header.
func (r *resolver) ipLen() int {
	if r.ipv6 {
		return wire.IPv6Len
	}
	return wire.IPv4Len
}

func plainText(s string) (string, error) {
	if strings.ContainsAny(s, "\r\n") {
		return strings.Join(strings.Fields(s), " "), nil
	}
	return s, nil
}

// pathMTUKey is the path MTU of RDMA's packets. Those of TCP, and so of iWARP, have the IP packet's in the section tcp.
func (r *resolver) pathMTUKey() key {
	k := byteCountKey("mtu", &r.mtu, "256, 512, 1024, 2048, 4096", "Path MTU, the payload of a full packet in bytes; "+
		"of what TCP carries see `tcp.mtu`.",
		func(v int) bool { return v == 256 || v == 512 || v == 1024 || v == 2048 || v == 4096 },
		"is not a path MTU that a RoCEv2 packet can have; use 256, 512, 1024, 2048 or 4096 (IBTA)")
	parse := k.parse
	k.parse = func(o object, name string) bool {
		text := o.text(name)
		n, err := strconv.Atoi(strings.TrimSuffix(text, "B"))
		if ibta := n >= 256 && n <= 4096 && n&(n-1) == 0; err == nil && !ibta && !r.compared && carriedByTCP(r.v.Stack) {
			o.fail(name, "%q: the stack %s has no path MTU, and the MTU of its IP packets is tcp.mtu; "+
				"give tcp: {mtu: %d}", text, r.v.Stack, n)
		}
		return parse(o, name)
	}
	return k.unless(r.noPathMTU)
}

// noPathMTU is the reason for the size of RDMA's packets where TCP carries everything.
func (r *resolver) noPathMTU() string {
	return when(!r.compared && r.onlyTCP(), fmt.Sprintf("TCP carries everything, in IP packets of tcp.mtu: %d B", r.tcp.mtu))
}

// payloadKey is how much of the path MTU a packet uses: models that count packets of a round
// size are met with it.
func (r *resolver) payloadKey() key {
	var v units.Bytes
	return sizeKey("packet_payload", &v, "Payload of a full packet where that is to be less than the path MTU, for comparison with models that count packets of a round size: "+
		"`918B` makes 1000 B on the wire.").otherwise("`mtu`").check(func(o object) {
		if v < 1 || v > r.mtu {
			o.fail("packet_payload", "%v is not from 1B to the path MTU of %d B; RC packets other than a message's last carry exactly the path MTU unless this says less", v, int64(r.mtu))
			return
		}
		r.mtu = v
	}).unless(r.noPathMTU)
}

func (r *resolver) checkMeasure(m object) {
	if r.v.MeasureTo <= r.v.MeasureFrom {
		m.fail("to", "%v is not after from %v", r.v.MeasureTo, r.v.MeasureFrom)
	}
	if r.v.Stop <= r.v.MeasureFrom {
		m.fail("from", "%v is not before stop %v", r.v.MeasureFrom, r.v.Stop)
	}
}

// readDevices reads the settings of every switch and host.
func (r *resolver) readDevices(o object) {
	if r.d.err != nil {
		return
	}
	nodes := len(r.v.Graph.Nodes)
	sw := defaultSwitch()
	if r.stack().Credits {
		sw.latency, sw.cutThrough = -1, true // by rate: see cutThrough
	}
	r.readSwitch(o.n.Get("switch"), "switch", &sw)
	r.switchObj, r.baseDSCP = sw.obj, sw.dscp
	nic := defaultNIC(sw.pfc)
	keys := r.nicKeys(&nic)
	r.nicObj = o.object("nic", keys)
	if o.has("nic") {
		nic.obj = r.nicObj
		nic.read(nic.obj, keys)
	}
	r.hostObj = o.object("host", hostKeys(&nic.host, nil))
	r.hostObj.read(registrationKeys(&nic.host))
	nic.server = r.readServer(o, nil)
	r.withoutPFC(&sw.pfc, &nic.pfc)
	r.switches, r.nics = make([]switchSettings, nodes), make([]nicSettings, nodes)
	for n := range r.v.Graph.Nodes {
		r.switches[n], r.nics[n] = sw, nic
		r.latencyOfTier(n, &r.switches[n])
	}
	r.overrides(o, "switches", topology.Switch, func(n int, v *node, path string) {
		r.readSwitch(v, path, &r.switches[n])
		r.withoutPFC(&r.switches[n].pfc)
	})
	r.switchesDown()
	r.overrides(o, "hosts", topology.Host, func(n int, v *node, path string) {
		s := &r.nics[n]
		one := r.d.object(v, path, r.oneHostKeys(s))
		s.obj, s.hostOwn = one, one
		s.read(one, r.nicKeysOfHost(s))
		one.read(registrationKeys(&s.host))
		s.server = r.readServer(one, s.server)
		r.withoutPFC(&s.pfc)
	})
	r.cardServers()
	r.checkServers()
}

// oneHostKeys are the keys of a single host.
func (r *resolver) oneHostKeys(s *nicSettings) []key {
	ofHost := slices.DeleteFunc(hostKeys(&s.host, nil), func(k key) bool { return k.name == "preset" })
	return joinKeys(grouped("nic", r.nicKeysOfHost(s)), grouped("host", ofHost), []key{r.serverKey()})
}

// read applies the keys of a nic section, or of one host's.
func (s *nicSettings) read(o object, keys []key) {
	o.read(keys)
	s.checkReceiveBuffer(o)
}

// withoutPFC switches PFC off where the stack has none.
func (r *resolver) withoutPFC(settings ...*pfcSettings) {
	for _, p := range settings {
		if !r.stack().PFC {
			p.enabled = 0
		}
	}
}

// overrides applies the sections of named nodes.
func (r *resolver) overrides(o object, key string, kind topology.Kind, apply func(n int, v *node, path string)) {
	v := o.n.Get(key)
	if v == nil || r.d.err != nil {
		return
	}
	if v.Kind != mappingNode {
		o.fail(key, "is %s; it maps names to settings", v.Kind)
		return
	}
	for _, f := range v.Fields {
		n, ok := r.v.Graph.NodeByName(f.Key)
		if !ok {
			r.d.fail(f.Pos, "%s: there is no %s %q; %s", key, kind, f.Key, suggestOf(r.v.Graph, kind, f.Key))
			return
		}
		if got := r.v.Graph.Nodes[n].Kind; got != kind {
			r.d.fail(f.Pos, "%s: %s is a %s; put it under %s", key, f.Key, got, map[topology.Kind]string{topology.Host: "hosts", topology.Switch: "switches"}[got])
			return
		}
		apply(n, f.Value, key+"."+f.Key)
	}
}

// checkPairs makes sure that every connection has a route.
func (r *resolver) checkPairs(o object) {
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		if r.initialRate > 0 && c.InitialRate == 0 {
			c.InitialRate = r.initialRate
		}
		var err error
		if c.Path != nil {
			_, err = topology.PinnedPathBetween(r.v.Graph, c.Src, c.Dst, c.Path)
		} else {
			err = r.v.Routes.CheckPair(r.v.Graph, c.Src, c.Dst)
		}
		if err != nil {
			at, path := r.entryAt(o, c.Entry)
			r.d.fail(at, "%s: %v%s", path, err, r.railHint(c))
			return
		}
	}
}

// entryAt is where an entry of the plan stands, and its path: of the workload, or behind those a job.
func (r *resolver) entryAt(o object, entry int) (pos, string) {
	for _, key := range []string{"workload", "jobs"} {
		list := o.n.Get(key)
		if list == nil {
			continue
		}
		if entry < len(list.Items) {
			return list.Items[entry].Pos, indexed(key, entry)
		}
		entry -= len(list.Items)
	}
	return o.n.Pos, "workload"
}

func note(key, value, source string) record.Note {
	return record.Note{Key: key, Value: value, Source: source}
}
