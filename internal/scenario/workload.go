package scenario

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// patterns are the kinds of workload entry.
func patterns() []string {
	return []string{"incast", "permutation", "flow", "all_to_all", "flows", "rpc", "collective"}
}

// optionKeys are the keys every pattern takes but rpc and collective, see
// rpcKeys and collectiveKeys.
func optionKeys() []string {
	return []string{"name", "size", "verb", "service", "start", "count", "every", "class", "dscp", "stack", "qps", "split",
		"rkey", "remote_access", "receives", "receive_size", "srq", "region", "offset", "fence", "inline",
		"initial_rate", "gpudirect", "path", "src_port", "dst_port", "trigger", "send_done", "recv_done"}
}

// readWorkload builds the plan.
func (r *resolver) readWorkload(n *node) {
	if r.d.err != nil {
		return
	}
	if n == nil || n.kind != sequenceNode || len(n.items) == 0 {
		at := pos{}
		if n != nil {
			at = n.pos
		}
		r.d.fail(at, "workload has no entries; give a list such as - incast: {from: [h0, h1], to: h4, size: 64MB}")
		return
	}
	r.v.Plan, r.workload = &workload.Plan{}, n
	for i, item := range n.items {
		r.readEntry(item, i)
	}
	if r.d.err != nil {
		return
	}
	r.noteClasses()
	r.addTriggers()
	if err := r.v.Plan.Finish(r.v.Graph); err != nil {
		at := n.pos
		var e *workload.EntryError
		if errors.As(err, &e) && e.Entry < len(n.items) {
			at = n.items[e.Entry].pos
		}
		r.d.fail(at, "%v", err)
	}
}

// unsized stands for the size of messages that is still to be given; 0 is one.
const unsized units.Bytes = -1

// readEntry reads one pattern with its options.
func (r *resolver) readEntry(item *node, i int) {
	path := indexed("workload", i)
	o := r.d.object(item, path, patterns()...)
	if r.d.err != nil {
		return
	}
	o.exactlyOne()
	if len(o.n.fields) != 1 {
		r.d.fail(o.n.pos, "%s has %d patterns; give one of %s per list item", path, len(o.n.fields), suggestList(patterns()))
		return
	}
	kind := o.n.fields[0].key
	if kind == "rpc" {
		r.readCalls(o.object(kind, rpcKeys()...))
		return
	}
	if kind == "collective" {
		r.readCollective(o.object(kind, collectiveKeys()...))
		return
	}
	own := map[string][]string{"incast": {"from", "to"}, "flow": {"from", "to"}, "permutation": {"hosts"},
		"all_to_all": {"hosts"}, "flows": {"list", "rows", "file"}}[kind]
	p := o.object(kind, append(own, optionKeys()...)...)
	entry := r.addEntry(kind, p)
	opt := r.readOptions(kind, p)
	size := unsized
	if kind != "flows" || p.has("size") || p.describing() {
		r.readSize(p, &opt, &size)
	}
	shared := r.readSharedReceives(p, &opt)
	r.asStream(p, &opt)
	if opt.Place.Order == workload.Random {
		stream := rng.New(r.v.Seed, "workload/"+r.v.Plan.Entries[entry]+"/offset")
		opt.Place.Stream = &stream
	}
	if r.d.err != nil {
		return
	}
	first, way := len(r.v.Plan.Conns), r.readGPUDirect(p)
	if err := r.addPattern(kind, p, entry, size, opt); err != nil {
		r.d.fail(p.n.pos, "%s: %v", p.path, err)
	}
	r.settlePlaces(first, way)
	r.warnGPUDirect(p, first)
	if shared > 0 && r.d.err == nil {
		r.v.Plan.ShareReceives(r.v.Graph, entry, shared)
	}
}

// addEntry adds an entry to the plan, under the name that it has or gets.
func (r *resolver) addEntry(kind string, o object) int {
	name, ok := o.scalar("name")
	if !ok {
		name = uniqueName(kind, r.v.Plan.Entries)
	}
	return r.v.Plan.AddEntry(name)
}

func suggestList(words []string) string {
	out := words[0]
	for i, w := range words[1:] {
		if i == len(words)-2 {
			out += " or " + w
		} else {
			out += ", " + w
		}
	}
	return out
}

// uniqueName numbers a pattern that occurs more than once: incast, incast 2.
func uniqueName(kind string, taken []string) string {
	name := kind
	for n := 2; contains(taken, name); n++ {
		name = fmt.Sprintf("%s %d", kind, n)
	}
	return name
}

// readOptions reads what all patterns share.
func (r *resolver) readOptions(kind string, o object) workload.Options {
	opt := workload.DefaultOptions()
	if kind == "rpc" {
		opt.Verb = workload.Send
	}
	if r.stack().Credits {
		opt.Class, opt.DSCP = 0, 0 // service level 0
	}
	r.readEntryStack(o, &opt)
	r.readVerb(o, &opt)
	o.time("start", &opt.Start)
	o.time("every", &opt.Every)
	o.integer("count", &opt.Count, 1, workload.MaxMessages)
	if o.has("every") && !o.has("count") && kind != "rpc" {
		o.fail("every", "without count there is only one message; give count as well")
	}
	o.integer("qps", &opt.QPs, 1, 65536)
	o.boolean("split", &opt.Split)
	r.readClass(o, &opt)
	word := "right"
	if o.word("rkey", &word, "right", "wrong") {
		opt.WrongRKey = word == "wrong"
	}
	readRights(o, &opt)
	readReceives(o, &opt)
	r.readPlacement(o, &opt)
	if o.rate("initial_rate", &opt.InitialRate) && opt.InitialRate == 0 {
		o.fail("initial_rate", "0 would never send; give a rate such as 5Gbps")
	}
	opt.Path = r.readPath(o)
	r.readUDPPorts(o, &opt)
	r.readTriggers(o, &opt)
	r.warnIgnoredOptions(o, &opt)
	return opt
}

// readUDPPorts reads the source port, which ECMP hashes, and the destination
// port that files for other programs show.
func (r *resolver) readUDPPorts(o object, opt *workload.Options) {
	src, dst := int(opt.SrcPort), int(opt.DstPort)
	o.integer("src_port", &src, 1, 65535)
	o.integer("dst_port", &dst, 0, 65535)
	opt.SrcPort, opt.DstPort = uint16(src), uint16(dst)
}

// readClass reads class and dscp; either follows from the other. Priority p
// has the DSCP of AF p1, 8p+2, so that 3 is 26. On InfiniBand class is a service
// level, of which there are more.
func (r *resolver) readClass(o object, opt *workload.Options) {
	class, dscp, most := int(opt.Class), int(opt.DSCP), 7
	if r.stack().Credits || o.describing() {
		most = serviceLevels - 1
	}
	o.integer("class", &class, 0, most)
	if !o.has("dscp") && o.has("class") {
		dscp = 8*(class&7) + 2
		if class == 0 {
			dscp = 0
		}
	}
	if o.integer("dscp", &dscp, 0, 63) && !o.has("class") {
		class = int(r.baseDSCP[dscp])
	}
	opt.Class, opt.DSCP = uint8(class), uint8(dscp)
}

func (r *resolver) readPath(o object) []int {
	o.note("path", listOf(anyScalar()))
	var path []int
	for _, item := range o.list("path") {
		i, ok := r.v.Graph.NodeByName(item.text)
		if item.kind != scalarNode || !ok {
			r.d.fail(item.pos, "%s: there is no node %q; %s", o.join("path"), item.text, suggestNode(r.v.Graph, item.text))
			return nil
		}
		path = append(path, i)
	}
	if path != nil && r.d.err == nil {
		if _, err := topology.PinnedPath(r.v.Graph, path); err != nil {
			o.fail("path", "%v", err)
		}
	}
	return path
}

// suggestNode names the node nearest to a wrong name.
func suggestNode(g *topology.Graph, name string) string {
	names := make([]string, 0, len(g.Nodes))
	for i := range g.Nodes {
		names = append(names, g.Nodes[i].Name)
	}
	return suggestName(names, name)
}

// suggestOf is suggestNode among hosts or switches.
func suggestOf(g *topology.Graph, kind topology.Kind, name string) string {
	var names []string
	for i := range g.Nodes {
		if g.Nodes[i].Kind == kind {
			names = append(names, g.Nodes[i].Name)
		}
	}
	return suggestName(names, name)
}

func suggestName(names []string, name string) string {
	if w := nearest(name, names); w != "" {
		return fmt.Sprintf("did you mean %q?", w)
	}
	switch len(names) {
	case 0:
		return "there is none"
	case 1:
		return fmt.Sprintf("the only one is %q", names[0])
	}
	return fmt.Sprintf("the first is %q and the last %q", names[0], names[len(names)-1])
}

// endpoint looks up a host, "h4", "h4:2" for its second port, or "h4/gpu3" for a place
// in its server.
func (r *resolver) endpoint(o object, key string, item *node) int {
	if r.d.err != nil {
		return 0
	}
	if item.kind != scalarNode {
		r.d.fail(item.pos, "%s: a host is a name, and this is %s", o.join(key), item.kind)
		return 0
	}
	if host, device, inside := strings.Cut(item.text, "/"); inside {
		return r.inServer(o, key, item, host, device)
	}
	ep, ok := r.hostEndpoint(o, key, item, item.text)
	if !ok {
		return 0
	}
	if node := r.v.Graph.HostOf(ep); item.text == r.v.Graph.Nodes[node].Name && len(r.v.Graph.Nodes[node].Ports) > 1 {
		r.bareHosts = append(r.bareHosts, node)
	}
	return ep
}

// hostEndpoint looks up a host's port by its name.
func (r *resolver) hostEndpoint(o object, key string, item *node, name string) (ep int, ok bool) {
	ep, err := r.v.Graph.EndpointByName(name)
	if err != nil {
		hint := ""
		if _, known := r.v.Graph.NodeByName(name); !known {
			hint = "; " + suggestOf(r.v.Graph, topology.Host, name)
		}
		r.d.fail(item.pos, "%s: %v%s", o.join(key), err, hint)
		return 0, false
	}
	return ep, true
}

// one reads a single host that must be given.
func (r *resolver) one(o object, key string) int {
	o.need(key)
	v := o.n.get(key)
	if v == nil {
		r.d.fail(o.n.pos, "%s has no %s; name a host", o.path, key)
		return 0
	}
	return r.endpoint(o, key, v)
}

// many reads a list of hosts; absent or "all" means every host port.
func (r *resolver) many(o object, key string) []int {
	o.note(key, listOf(anyScalar()))
	o.note(key, anyScalar())
	v := o.n.get(key)
	var eps []int
	if v == nil || v.kind == scalarNode && v.text == "all" {
		for ep := range r.v.Graph.Endpoints {
			eps = append(eps, ep)
		}
		return eps
	}
	for _, item := range o.list(key) {
		host, inside, _ := strings.Cut(item.text, "/")
		switch {
		case r.d.err != nil:
		case item.text == "gpus":
			eps = append(eps, r.gpus(o, key, item, "")...)
		case inside == "gpus":
			eps = append(eps, r.gpus(o, key, item, host)...)
		default:
			eps = append(eps, r.endpoint(o, key, item))
		}
	}
	return eps
}

// addPattern appends the messages of one entry.
func (r *resolver) addPattern(kind string, o object, entry int, size units.Bytes, opt workload.Options) error {
	plan, g := r.v.Plan, placed{r}
	switch kind {
	case "flow":
		from, to := r.one(o, "from"), r.one(o, "to")
		if r.d.err != nil {
			return nil
		}
		return plan.Flow(entry, from, to, size, opt)
	case "incast":
		to := r.one(o, "to")
		from := r.many(o, "from")
		if r.d.err != nil {
			return nil
		}
		if v := o.n.get("from"); v == nil || v.kind == scalarNode {
			from = otherHosts(g, from, to)
		}
		return plan.Incast(entry, from, to, size, opt)
	case "all_to_all":
		eps := r.many(o, "hosts")
		if r.d.err != nil {
			return nil
		}
		return plan.AllToAll(entry, g, eps, size, opt)
	case "permutation":
		eps := r.many(o, "hosts")
		if r.d.err != nil {
			return nil
		}
		stream := rng.New(r.v.Seed, "workload/"+plan.Entries[entry])
		return plan.Permutation(entry, g, eps, size, &stream, opt)
	}
	r.addFlows(o, entry, size, opt)
	return nil
}

// otherHosts drops the ports of to's own host.
func otherHosts(g workload.Network, eps []int, to int) []int {
	var out []int
	for _, ep := range eps {
		if g.HostOf(ep) != g.HostOf(to) {
			out = append(out, ep)
		}
	}
	return out
}

// addFlows appends an explicit list; an item may override what stands beside
// the list.
func (r *resolver) addFlows(o object, entry int, size units.Bytes, opt workload.Options) {
	items, path := o.list("list"), o.path+".list"
	if rows := o.n.get("rows"); rows != nil {
		if o.has("list") {
			o.fail("rows", "flows has a list and rows; keep one")
		}
		if _, ok := o.scalar("rows"); ok {
			items, path = r.d.traceRows(rows), o.path+".rows"
		}
	}
	if r.d.err == nil && len(items) == 0 {
		r.d.fail(o.n.pos, "%s has no list, rows or file; give items such as {from: h0, to: h4, size: 1MB, start: 5us}", o.path)
	}
	keys := append(traceKeys(), "path")
	for i, item := range items {
		r.addFlow(r.d.object(item, indexed(path, i), keys...), entry, size, opt)
		if r.d.err != nil {
			return
		}
	}
}

// addFlow appends one item of a list.
func (r *resolver) addFlow(f object, entry int, size units.Bytes, opt workload.Options) {
	if size == unsized || f.has("size") {
		r.readSize(f, &opt, &size)
	}
	if f.time("start", &opt.Start) {
		opt.Trigger = 0
	}
	if f.has("class") || f.has("dscp") || f.describing() {
		r.readClass(f, &opt)
	}
	if f.has("path") || f.describing() {
		opt.Path = r.readPath(f)
	}
	r.readUDPPorts(f, &opt)
	r.readTriggers(f, &opt)
	from, to := r.one(f, "from"), r.one(f, "to")
	if r.d.err != nil {
		return
	}
	if err := r.v.Plan.Flow(entry, from, to, size, opt); err != nil {
		r.d.fail(f.n.pos, "%s: %v", f.path, err)
	}
}
