package scenario

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/scenarios"
	"github.com/hopscope/hopscope/wire"
)

// Info names a shipped scenario.
type Info struct{ Name, Description string }

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
		if root, bad := parseTree(e.Name(), src); bad == nil {
			if d := root.get("description"); d != nil {
				info.Description = d.text
			}
		}
		out = append(out, info)
	}
	return out
}

// Load reads a scenario: the name of a shipped one or a file. Each element of
// set is a --set argument, path=value; seed, when not nil, replaces the
// scenario's. The error is always an *Error.
func Load(nameOrFile string, set []string, seed *uint64) (*Valid, error) {
	return LoadStack(nameOrFile, "", set, seed)
}

// LoadStack is Load with the scenario's stack replaced unless stack is "":
// sections that only the scenario's own stack can use are left out.
func LoadStack(nameOrFile, stack string, set []string, seed *uint64) (*Valid, error) {
	file, src, bad := open(nameOrFile)
	if bad != nil {
		return nil, bad
	}
	return ParseStack(file, src, stack, set, seed)
}

// open finds the text of a scenario.
func open(nameOrFile string) (file string, src []byte, bad *Error) {
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
	src, err := readLimited(nameOrFile)
	switch {
	case err == nil && len(src) > maxFile:
		return "", nil, pos{file: nameOrFile}.errorf("is longer than %d MiB; no scenario is: put long lists of flows into a trace file", maxFile>>20)
	case err == nil:
		return nameOrFile, src, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, pos{file: nameOrFile}.errorf("no such file and no shipped scenario of that name; %s", suggest(filepath.Base(nameOrFile), names))
	}
	if info, e := os.Stat(nameOrFile); e == nil && info.IsDir() {
		return "", nil, pos{file: nameOrFile}.errorf("is a folder; name a scenario file")
	}
	return "", nil, pos{file: nameOrFile}.errorf("cannot be read: %v; name a readable scenario file", rootCause(err))
}

// maxFile bounds a scenario file in bytes.
const maxFile = 16 << 20

// readLimited reads a file up to a little more than maxFile bytes.
func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

func rootCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Parse checks the text of a scenario; file is its name in errors.
func Parse(file string, src []byte, set []string, seed *uint64) (*Valid, error) {
	return ParseStack(file, src, "", set, seed)
}

// ParseStack is Parse with the stack replaced as by LoadStack.
func ParseStack(file string, src []byte, stack string, set []string, seed *uint64) (*Valid, error) {
	return parseChanged(file, src, changes{stack: stack, set: set, seed: seed})
}

// LoadColumn is LoadStack for one of the columns of a comparison. So that host CPU
// compares like with like, hosts that name no preset have in all its columns that
// of TCP if one of them runs TCP. A src other than nil is the scenario's text.
func LoadColumn(nameOrFile string, src []byte, stack string, stacks, set []string, seed *uint64) (*Valid, error) {
	file := nameOrFile
	if src == nil {
		var bad *Error
		if file, src, bad = open(nameOrFile); bad != nil {
			return nil, bad
		}
	}
	return parseChanged(file, src, changes{stack: stack, stacks: stacks, set: set, seed: seed})
}

// parseChanged is Parse with what the command line changes.
func parseChanged(file string, src []byte, c changes) (*Valid, error) {
	root, bad := parseTree(file, src)
	if kind := foreign(src); kind != "" && (bad != nil || root.kind != mappingNode) {
		return nil, pos{file: file}.errorf("%s", kind)
	}
	if bad != nil {
		return nil, bad
	}
	if root.kind != mappingNode {
		return nil, root.pos.errorf("a scenario is a mapping with the keys topology and workload; this is %s", root.kind)
	}
	v, bad := resolveTree(file, root, src, c)
	if bad != nil {
		return nil, bad
	}
	return v, nil
}

// changes are what the command line puts over a scenario.
type changes struct {
	stack  string   // or a column, "rocev2 staged"; "": the scenario's own
	stacks []string // all that stack is compared with; nil: it runs alone
	set    []string // path=value
	seed   *uint64
	single *Single // in place of the workload; nil: the scenario's
}

func (c changes) any() bool {
	return c.stack != "" || len(c.set) > 0 || c.seed != nil || c.single != nil
}

func (c changes) apply(root *node) *Error {
	for _, s := range c.set {
		if bad := applySet(root, s); bad != nil {
			return bad
		}
	}
	if c.stack != "" && root.get("ns3") != nil {
		return pos{file: "--stacks"}.errorf("an ns3 section puts the rules of the ns-3 RDMA simulators in place of any stack, so there are none to compare; vary its keys with hopscope run, such as --set ns3.ENABLE_QCN=0")
	}
	if c.stack != "" {
		if bad := setColumn(root, c.stack); bad != nil {
			return bad
		}
	}
	hostsAlike(root, c.stacks)
	if c.single != nil {
		if bad := c.single.apply(root); bad != nil {
			return bad
		}
	}
	if c.seed != nil {
		at := pos{file: "--seed"}
		root.put("seed", at, &node{kind: scalarNode, text: strconv.FormatUint(*c.seed, 10), pos: at})
	}
	return nil
}

// resolveTree checks a scenario after changes. src is its text if it has one.
func resolveTree(file string, root *node, src []byte, c changes) (*Valid, *Error) {
	if bad := c.apply(root); bad != nil {
		return nil, bad
	}
	r := &resolver{d: &decoder{file: file, readFile: os.ReadFile}, v: &Valid{Wire: wire.Ethernet}, compared: c.stack != ""}
	inlined := r.d.inlineTraces(root)
	inlined = r.d.inlineServers(root) || inlined
	r.resolve(root)
	if r.d.err != nil {
		return nil, r.d.err
	}
	if r.v.Name == "" {
		r.v.Name = nameOf(file)
		src = named(r.v.Name, root, src)
	}
	r.v.Source = src
	if src == nil || c.any() || inlined {
		r.v.Source = render(root)
	}
	return r.v, nil
}

// named puts a name that followed from the file's into the tree and the text:
// what is kept of a scenario lies in a file of another name. A text that cannot
// begin with another key is given up.
func named(name string, root *node, src []byte) []byte {
	root.fields = append([]field{{key: "name", value: text(name)}}, root.fields...)
	out := append([]byte("name: "+renderText(name)+"\n"), src...)
	if again, bad := parseTree("", out); src == nil || bad != nil || again.get("topology") == nil {
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

// rootKeys are the keys of a scenario.
func rootKeys() []string {
	return []string{"name", "description", "seed", "stack", "topology", "routing", "switch", "switches", "nic", "host", "server", "gpudirect", "hosts",
		"mtu", "packet_payload", "vlan", "dcqcn", "tcp", "infiniband", "failover", "measure", "stop", "time_quantum", "carry_data", "triggers", "workload", "ns3"}
}

// resolve reads the sections in the order in which they depend on each other.
func (r *resolver) resolve(root *node) {
	if root.get("ns3") != nil {
		r.resolveNS3Scenario(root)
		return
	}
	o := r.d.object(root, "", rootKeys()...)
	r.readHeader(o)
	r.readTopology(root.get("topology"))
	r.readDevices(o)
	r.hostPath = r.readGPUDirect(o)
	r.readDCQCN(root.get("dcqcn"))
	r.readTCP(o)
	r.readTriggerList(o)
	r.readWorkload(root.get("workload"))
	r.readHosts()
	if r.d.err != nil {
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
	r.resolveTCP(o)
	r.resolveDevices()
	r.notes(o)
	r.resolveFailover(o.at("topology"))
	r.checkCarried(o)
	r.checkHostPath(o)
	r.warnings()
}

func (r *resolver) readHeader(o object) {
	v := r.v
	read(o, "name", &v.Name, plainText)
	read(o, "description", &v.Description, plainText)
	v.Seed = 1
	read(o, "seed", &v.Seed, func(s string) (uint64, error) {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number from 0 to 2^64-1", s)
		}
		return n, nil
	})
	v.Stack = stackRoCEv2
	o.note("stack", wordsOf(StackNames()...))
	if text, ok := o.scalar("stack"); ok {
		v.Stack = text
		if msg := CheckStack(text); msg != "" {
			o.fail("stack", "%s", msg)
		}
	}
	if r.stack().Credits {
		v.Wire = wire.InfiniBand
	}
	readSpreading(o, &r.spreading)
	r.mtu = 4096
	readMTU(o, &r.mtu)
	readPayload(o, &r.mtu)
	if o.boolean("vlan", &r.vlan) && r.vlan {
		r.readVLAN(o)
	}
	v.Stop, v.MeasureFrom, v.MeasureTo = units.Never, units.Never, units.Never
	if readOr(o, "stop", "never", units.Never, &v.Stop, units.ParseTime) && v.Stop == 0 {
		o.fail("stop", "0 ends before anything happens; give a later time, or leave stop out to run until all is done")
	}
	o.time("time_quantum", &v.TimeQuantum)
	o.boolean("carry_data", &v.CarryData)
	r.header = o
	r.readMeasure(o)
}

// readVLAN gives frames a tag, where they can have one.
func (r *resolver) readVLAN(o object) {
	if !r.stack().Credits {
		r.v.Wire = wire.EthernetVLAN
		return
	}
	r.vlan = false
	if !r.compared {
		r.ignored(o, "vlan", "InfiniBand has no VLAN tags")
	}
}

func plainText(s string) (string, error) {
	if strings.ContainsAny(s, "\r\n") {
		return strings.Join(strings.Fields(s), " "), nil
	}
	return s, nil
}

// readMTU reads the path MTU, with or without B.
func readMTU(o object, mtu *units.Bytes) {
	text, ok := o.scalar("mtu")
	if !ok {
		return
	}
	v, err := strconv.Atoi(strings.TrimSuffix(text, "B"))
	switch {
	case err == nil && (v == 256 || v == 512 || v == 1024 || v == 2048 || v == 4096):
		*mtu = units.Bytes(v)
	default:
		o.fail("mtu", "%q is not a path MTU that a RoCEv2 packet can have; use 256, 512, 1024, 2048 or 4096 (IBTA)", text)
	}
}

// readPayload reads how much of the path MTU a packet uses: models that count
// packets of a round size are met with it.
func readPayload(o object, mtu *units.Bytes) {
	var v units.Bytes
	if !o.size("packet_payload", &v) || o.d.err != nil {
		return
	}
	if v < 1 || v > *mtu {
		o.fail("packet_payload", "%v is not from 1B to the path MTU of %d B; RC packets other than a message's last carry exactly the path MTU unless this says less", v, int64(*mtu))
		return
	}
	*mtu = v
}

func (r *resolver) readMeasure(o object) {
	if !o.has("measure") && !o.describing() {
		return
	}
	m := o.object("measure", "from", "to")
	r.v.MeasureFrom = 0
	m.time("from", &r.v.MeasureFrom)
	m.time("to", &r.v.MeasureTo)
	if r.d.err == nil && r.v.MeasureTo <= r.v.MeasureFrom {
		m.fail("to", "%v is not after from %v", r.v.MeasureTo, r.v.MeasureFrom)
	}
	if r.d.err == nil && r.v.Stop <= r.v.MeasureFrom {
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
	readSwitch(r.d, o.n.get("switch"), "switch", &sw)
	r.baseDSCP = sw.dscp
	nic := defaultNIC(sw.pfc)
	if nicObj := o.object("nic", nicKeys()...); o.has("nic") || o.describing() {
		nic.obj = nicObj
		readNIC(nicObj, &nic)
	}
	r.hostObj = o.object("host", hostKeys()...)
	readRegistration(r.hostObj, &nic.host)
	nic.server = r.readServer(o, nil)
	r.withoutPFC(&sw.pfc, &nic.pfc)
	r.switches, r.nics = make([]switchSettings, nodes), make([]nicSettings, nodes)
	for n := range r.v.Graph.Nodes {
		r.switches[n], r.nics[n] = sw, nic
		r.latencyOfTier(n, &r.switches[n])
	}
	r.overrides(o, "switches", topology.Switch, func(n int, v *node, path string) {
		readSwitch(r.d, v, path, &r.switches[n])
		r.withoutPFC(&r.switches[n].pfc)
	})
	r.overrides(o, "hosts", topology.Host, func(n int, v *node, path string) {
		one := r.d.object(v, path, append(append(nicKeys(), hostKeys()...), "server")...)
		r.nics[n].obj = one
		readNIC(one, &r.nics[n])
		r.nics[n].hostOwn = one
		readRegistration(one, &r.nics[n].host)
		r.nics[n].server = r.readServer(one, r.nics[n].server)
		r.withoutPFC(&r.nics[n].pfc)
	})
	r.checkServers()
	r.cutThrough()
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
	if o.describing() {
		apply(0, nil, key+".*")
		return
	}
	v := o.n.get(key)
	if v == nil || r.d.err != nil {
		return
	}
	if v.kind != mappingNode {
		o.fail(key, "is %s; it maps names to settings", v.kind)
		return
	}
	for _, f := range v.fields {
		n, ok := r.v.Graph.NodeByName(f.key)
		if !ok {
			r.d.fail(f.pos, "%s: there is no %s %q; %s", key, kind, f.key, suggestOf(r.v.Graph, kind, f.key))
			return
		}
		if got := r.v.Graph.Nodes[n].Kind; got != kind {
			r.d.fail(f.pos, "%s: %s is a %s; put it under %s", key, f.key, got, map[topology.Kind]string{topology.Host: "hosts", topology.Switch: "switches"}[got])
			return
		}
		apply(n, f.value, key+"."+f.key)
	}
}

// checkPairs makes sure that every connection has a route.
func (r *resolver) checkPairs(o object) {
	list := o.n.get("workload")
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
			r.d.fail(list.items[c.Entry].pos, "workload[%d]: %v%s", c.Entry, err, r.railHint(c))
			return
		}
	}
}

func note(key, value, source string) record.Note {
	return record.Note{Key: key, Value: value, Source: source}
}
