package scenario

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
	"github.com/hopscope/hopscope/wire"
)

// ns3SectionKeys are the keys of the ns3 section of a scenario: those of the
// config files but for names of files, monitors, and what links say themselves.
func ns3SectionKeys() []string {
	elsewhere := strings.Fields(`TOPOLOGY_FILE FLOW_FILE TRACE_FILE TRACE_OUTPUT_FILE FCT_OUTPUT_FILE PFC_OUTPUT_FILE
		QLEN_MON_FILE QLEN_MON_START QLEN_MON_END ENABLE_TRACE LINK_DOWN ERROR_RATE_PER_LINK DATA_RATE LINK_DELAY`)
	var keys []string
	for _, k := range ns3Names() {
		if !slices.Contains(elsewhere, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// ns3Keys are the keys of the section.
func ns3Keys() (keys []key) {
	known := ns3Words()
	for _, name := range ns3SectionKeys() {
		values, form := "as there", numberOrText()
		if known[name] < 0 {
			values, form = "mapping of rates in bit/s", mapOf(anyScalar())
		}
		keys = append(keys, otherKey(name, values, []jsonSchema{form}, readLater, "The key of that name in config files of the ns-3 RDMA simulators."))
	}
	return keys
}

// resolveNS3Scenario reads a scenario whose ns3 section puts the rules of the
// ns-3 RDMA simulators in place of all device settings.
func (r *resolver) resolveNS3Scenario(root *node) {
	allowed := []string{"name", "description", "seed", "topology", "measure", "triggers", "workload", "ns3"}
	r.setDefaults()
	r.keys = r.rootKeys()
	for _, f := range root.fields {
		if find(r.keys, f.key) != nil && !contains(allowed, f.key) {
			r.d.fail(f.pos, "%s: beside ns3 the rules are those of the ns-3 RDMA simulators; leave it out, or change keys of ns3", f.key)
		}
	}
	o := r.d.object(root, "", r.keys)
	r.readHeader(o)
	r.failover = failoverSettings{} // routes change at once
	r.v.Wire, r.v.TimeQuantum = wire.NS3, units.Nanosecond
	c := r.ns3Section(root.get("ns3"))
	r.ns3Header(c)
	r.readTopology(root.get("topology"))
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
	for _, key := range ns3SectionKeys() {
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
		if k.DownAt != units.Never {
			l.add("down_at", text(k.DownAt.String()))
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
