package scenario

import (
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
	"github.com/hopscope/hopscope/wire"
)

// ns3Declared declares the keys of the simulators' config files: those of an ns3 section, then
// those for names of files, monitors, and what links say themselves.
func ns3Declared() (section, elsewhere []key) {
	one := func(name, text string) key {
		return otherKey(name, "as in config files", []jsonSchema{numberOrText()}, readLater, text)
	}
	byRate := func(name, text string) key {
		return otherKey(name, "mapping of rates in bit/s", []jsonSchema{mapOf(anyScalar())}, readLater, text)
	}
	section = []key{
		one("ENABLE_QCN", "0: no ECN and no congestion control.").otherwise("1"),
		one("CC_MODE", "Congestion control; 1 is DCQCN, others are not built yet.").otherwise("1"),
		one("PACKET_PAYLOAD_SIZE", "Payload of a full packet in bytes.").otherwise("1000"),
		one("SIMULATOR_STOP_TIME", "End of the run in seconds; it begins at 2.").otherwise("4.0"),
		one("ALPHA_RESUME_INTERVAL", "Period of the update of DCQCN's alpha in microseconds.").otherwise("55"),
		one("RATE_DECREASE_INTERVAL", "Least time between two cuts in microseconds.").otherwise("4"),
		one("CLAMP_TARGET_RATE", "1: every cut sets the target rate to the rate before it.").otherwise("0"),
		one("RP_TIMER", "Period of the timer that raises the rate in microseconds; must be given with `ENABLE_QCN: 1`."),
		one("EWMA_GAIN", "Gain g of DCQCN's alpha; must be given with `ENABLE_QCN: 1`."),
		one("FAST_RECOVERY_TIMES", "Stage at which fast recovery ends.").otherwise("5"),
		one("RATE_AI", "Step of active increase.").otherwise("5Mb/s"),
		one("RATE_HAI", "Step of hyper increase.").otherwise("50Mb/s"),
		one("MIN_RATE", "Lowest rate of a flow.").otherwise("100Mb/s"),
		byRate("KMAX_MAP", "Queue in kB above which everything is marked, for every link rate of the topology."),
		byRate("KMIN_MAP", "Queue in kB up to which nothing is marked."),
		byRate("PMAX_MAP", "Probability of a mark at `KMAX_MAP`."),
		one("BUFFER_SIZE", "Packet memory of a switch in MiB, up to 1024."),
		one("HAS_WIN", "1: flows have a window of one bandwidth-delay product.").otherwise("0"),
		one("VAR_WIN", "1: the window shrinks with the rate.").otherwise("0"),
		one("GLOBAL_T", "1: all windows are those of the longest round trip.").otherwise("1"),
		one("ACK_HIGH_PRIO", "1: hosts send ACKs in the first class.").otherwise("0"),
		one("L2_BACK_TO_ZERO", "Only 0: go-back-N."),
		one("RATE_BOUND", "Only 1: hosts pace."),
		one("L2_ACK_INTERVAL", "Not 0, which would never acknowledge."),
	}
	for _, name := range strings.Fields(`USE_DYNAMIC_PFC_THRESHOLD DCTCP_RATE_AI L2_CHUNK_SIZE FAST_REACT U_TARGET MI_THRESH INT_MULTI MULTI_RATE
		SAMPLE_FEEDBACK PINT_LOG_BASE PINT_PROB PAUSE_TIME`) {
		section = append(section, one(name, "Known and without effect with `CC_MODE: 1`, as there."))
	}
	for _, name := range strings.Fields(`TOPOLOGY_FILE FLOW_FILE TRACE_FILE TRACE_OUTPUT_FILE FCT_OUTPUT_FILE PFC_OUTPUT_FILE
		QLEN_MON_FILE QLEN_MON_START QLEN_MON_END ENABLE_TRACE ERROR_RATE_PER_LINK DATA_RATE LINK_DELAY LINK_DOWN`) {
		elsewhere = append(elsewhere, one(name, "Of config files only."))
	}
	for _, name := range ns3Monitors() {
		elsewhere = append(elsewhere, one(name, "Of config files only: what SimAI monitors."))
	}
	return section, elsewhere
}

// ns3Monitors are keys of SimAI's config files that say what to write while it runs.
func ns3Monitors() []string {
	return strings.Fields(`BW_MON_FILE RATE_MON_FILE CNP_MON_FILE MON_START MON_END QP_MON_INTERVAL QLEN_MON_INTERVAL
		BW_MON_INTERVAL`)
}

// ns3Keys are the keys of the section.
func ns3Keys() []key {
	section, _ := ns3Declared()
	return section
}

// ns3Names are all keys of config files.
func ns3Names() []string {
	section, elsewhere := ns3Declared()
	return keyNames(joinKeys(section, elsewhere))
}

// ns3Words tells the number of words that follow each key in config files; -1 for maps, which
// begin with their length.
func ns3Words() map[string]int {
	section, elsewhere := ns3Declared()
	words := map[string]int{}
	for _, k := range joinKeys(section, elsewhere) {
		words[k.name] = 1
		if k.forms[0]["type"] == "object" {
			words[k.name] = -1
		}
	}
	words["LINK_DOWN"] = 3
	return words
}

// resolveNS3Scenario reads a scenario whose ns3 section puts the rules of the
// ns-3 RDMA simulators in place of all device settings.
func (r *resolver) resolveNS3Scenario(root *node) {
	allowed := []string{"name", "description", "symptoms", "seed", "topology", "measure", "triggers", "workload", "noise",
		"ns3"}
	r.setDefaults()
	r.keys = r.rootKeys()
	for _, f := range root.fields {
		if find(r.keys, f.key) != nil && !contains(allowed, f.key) {
			r.d.fail(f.pos, "%s: beside ns3 the rules are those of the ns-3 RDMA simulators; leave it out, or change keys of ns3", f.key)
		}
	}
	o := r.d.object(root, "", r.keys)
	r.readHeader(o)
	r.noise = noiseSettings{}
	r.readNoise(o)
	if r.v.Noise != (Noise{}) {
		r.warn("noise", "with noise the result no longer reproduces the ns-3 RDMA simulators, which have none; give noise: off")
	}
	r.failover = failoverSettings{} // routes change at once
	r.v.Wire, r.v.TimeQuantum = wire.NS3, units.Nanosecond
	c := r.ns3Section(root.get("ns3"))
	r.ns3Header(c)
	r.readTopology(root.get("topology"), nil)
	r.readTriggerList(o)
	r.readNS3Workload(root.get("workload"))
	if r.d.err != nil {
		return
	}
	r.ns3Routes(ns3Word{pos: o.at("topology")})
	if r.d.err == nil {
		r.checkPairs(o)
	}
	r.ns3Devices(c)
}

// readNS3Workload is readWorkload for a scenario without a switch section.
func (r *resolver) readNS3Workload(n *node) {
	for d := range r.baseDSCP {
		r.baseDSCP[d] = uint8(d / 8)
	}
	r.readWorkload(n)
	if r.d.err != nil {
		return
	}
	for i := range r.v.Plan.Series {
		m := &r.v.Plan.Series[i]
		if c := &r.v.Plan.Conns[m.Conn]; m.Verb > workload.Send || c.Service != workload.RC {
			r.d.fail(r.entryPos(c.Entry), "workload[%d]: %s over %s is nothing that the ns-3 RDMA simulators have; use write or send, or leave the ns3 section out", c.Entry, m.Verb, c.Service)
			return
		}
	}
}

// ns3Section reads the section as if it were a config file. Maps by rate are
// written as mappings.
func (r *resolver) ns3Section(n *node) *ns3Config {
	c := &ns3Config{d: r.d, file: r.d.file, keys: map[string][]ns3Word{}, at: map[string]pos{}}
	o := r.d.object(n, "ns3", ns3Keys())
	known := ns3Words()
	for _, f := range o.n.fields {
		c.at[f.key] = f.pos
		switch {
		case f.value.kind == scalarNode && known[f.key] == 1:
			c.keys[f.key] = []ns3Word{{f.value.text, f.value.pos}}
		case f.value.kind == mappingNode && known[f.key] < 0:
			words := []ns3Word{{strconv.Itoa(len(f.value.fields)), f.pos}}
			for _, g := range f.value.fields {
				words = append(words, ns3Word{g.key, g.pos}, ns3Word{g.value.text, g.value.pos})
			}
			c.keys[f.key] = words
		case known[f.key] < 0:
			r.d.fail(f.value.pos, "ns3.%s is %s; it maps rates in bit/s to values, such as {100000000000: 400}", f.key, f.value.kind)
		default:
			r.d.fail(f.value.pos, "ns3.%s is %s; one value is needed", f.key, f.value.kind)
		}
	}
	return c
}

// ns3Tree writes what the three files say as a scenario that needs no other
// file and runs the same.
func (r *resolver) ns3Tree(c *ns3Config, seed *uint64) *node {
	root := &node{kind: mappingNode}
	root.add("name", text(r.v.Name))
	root.add("description", text(r.v.Description))
	if seed != nil {
		root.add("seed", text(strconv.FormatUint(*seed, 10)))
	}
	root.add("topology", explicitTree(r.v.Graph))
	section := root.add("ns3", &node{kind: mappingNode})
	for _, key := range keyNames(ns3Keys()) {
		words := c.keys[key]
		switch {
		case len(words) == 1:
			section.add(key, text(words[0].text))
		case len(words) > 1:
			m := section.add(key, &node{kind: mappingNode})
			for w := words; len(w) >= 3; w = w[2:] {
				if m.get(w[1].text) == nil { // the first entry of a rate counts
					m.add(w[1].text, text(w[2].text))
				}
			}
		}
	}
	flows := &node{kind: mappingNode}
	flows.add("flows", r.flowsTree())
	root.add("workload", &node{kind: sequenceNode, items: []*node{flows}})
	return root
}

// add appends a field and returns its value.
func (n *node) add(key string, value *node) *node {
	n.fields = append(n.fields, field{key: key, value: value})
	return value
}

// text is a scalar.
func text(s string) *node { return &node{kind: scalarNode, text: s} }

// texts is a list of scalars.
func texts(list []string) *node {
	n := &node{kind: sequenceNode}
	for _, s := range list {
		n.items = append(n.items, text(s))
	}
	return n
}

// explicitTree writes a graph node by node and link by link. The order of the
// nodes is kept, and with it the course of the run.
func explicitTree(g *topology.Graph) *node {
	var hosts, switches, order []string
	sorted := true // hosts, then switches
	for i := range g.Nodes {
		n := &g.Nodes[i]
		order = append(order, n.Name)
		if n.Kind == topology.Host {
			hosts = append(hosts, n.Name)
			sorted = sorted && len(switches) == 0
		} else {
			switches = append(switches, n.Name)
		}
	}
	t := &node{kind: mappingNode}
	t.add("hosts", texts(hosts))
	t.add("switches", texts(switches))
	if !sorted {
		t.add("order", texts(order))
	}
	links := t.add("links", &node{kind: sequenceNode})
	for i := range g.Links {
		k := &g.Links[i]
		l := &node{kind: mappingNode}
		l.add("between", texts([]string{g.Nodes[k.A].Name, g.Nodes[k.B].Name}))
		l.add("rate", text(k.Rate.String()))
		l.add("delay", text(k.Delay.String()))
		if k.Loss > 0 {
			l.add("loss", text(strconv.FormatFloat(k.Loss, 'f', -1, 64)))
		}
		if at := k.FailsAt(); at != units.Never {
			l.add("down_at", text(at.String()))
		}
		links.items = append(links.items, l)
	}
	return t
}

// flowsTree writes the plan, which is one entry of single messages, as rows.
// What all flows share stands above them.
func (r *resolver) flowsTree() *node {
	plan, g := r.v.Plan, r.v.Graph
	first := &plan.Conns[0]
	class, src, dst := true, true, true
	for i := range plan.Conns {
		k := &plan.Conns[i]
		class = class && k.Class == first.Class
		src = src && k.SrcPort == first.SrcPort
		dst = dst && k.DstPort == first.DstPort
	}
	n := &node{kind: mappingNode}
	number := func(v int) string { return strconv.Itoa(v) }
	header := "from,to,size,start"
	for _, c := range []struct {
		key   string
		same  bool
		value int
	}{
		{"class", class, int(first.Class)}, {"dscp", class, int(first.DSCP)},
		{"src_port", src, int(first.SrcPort)}, {"dst_port", dst, int(first.DstPort)},
	} {
		if c.same {
			n.add(c.key, text(number(c.value)))
		} else {
			header += "," + c.key
		}
	}
	var b strings.Builder
	b.WriteString(header)
	for _, m := range plan.All() {
		k := &plan.Conns[m.Conn]
		b.WriteString("\n" + g.EndpointName(k.Src) + "," + g.EndpointName(k.Dst) + "," + m.Bytes.String() + "," + m.Start.String())
		if !class {
			b.WriteString("," + number(int(k.Class)) + "," + number(int(k.DSCP)))
		}
		if !src {
			b.WriteString("," + number(int(k.SrcPort)))
		}
		if !dst {
			b.WriteString("," + number(int(k.DstPort)))
		}
	}
	n.add("rows", text(b.String()))
	return n
}
