package scenario

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/names"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/typo"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// pattern is a kind of workload entry and its keys, with the options that it takes.
type pattern struct {
	name, text string
	keys       func() []key
}

// patterns are the kinds of workload entry.
func (r *resolver) patterns() []pattern {
	options := func() []key { return r.optionKeys(r.newOptions()) }
	with := func(own ...key) func() []key { return func() []key { return joinKeys(own, options()) } }
	hosts := func(name, text string) key { return listKey(name, "list of hosts", readLater, text) }
	from, to, all := hostKey("from", "Where the data come from."), hostKey("to", "Where the data go."), hosts("hosts", "The hosts.").otherwise("`all`")
	flows := func() []key { return append([]key{from, to}, usedBy(options(), perFlow)...) }
	return []pattern{
		{"incast", "Several hosts send to one.", with(hosts("from", "Where the data come from.").otherwise("all other hosts"), to)},
		{"permutation", "Each host sends to one other, by the seed.", with(all)},
		{"flow", "One host sends to another.", with(from, to)},
		{"all_to_all", "Each host sends to every other.", with(all)},
		{"flows", "A list of flows.", with(
			listedKey("list", flows, readLater, "The flows, each with what differs from the options beside the list."),
			textKey("rows", "table", anyScalar(), func(object, string) {}, "The same but for `path` as a table of comma-separated values under a header that names the columns."),
			textKey("file", "name of a file", anyScalar(), func(object, string) {}, "Such a table beside the scenario."))},
		{"poisson", "Messages that come at random at each host, see [poisson](#poisson).", func() []key {
			return r.arrivalKeys(r.newArrivals())
		}},
		{"rpc", "Remote procedure calls, see [rpc](#rpc).", func() []key {
			return r.callKeys(&calls{entryOptions: *r.newCallOptions(), RPC: workload.RPC{NoDelay: true}})
		}},
		{"collective", "An AllReduce or the like, see [collective](#collective).", func() []key { return r.collectiveKeys(newCollectiveEntry(), r.newOptions()) }},
	}
}

// flowKeys are the keys of an item of flows.
func (r *resolver) flowKeys() []key {
	return find(find(r.entryKeys, "flows").keys(), "list").keys()
}

// hostKey is the name of a host, which r.one looks up.
func hostKey(name, text string) key {
	return otherKey(name, "host", []jsonSchema{anyScalar()}, readLater, text).need("name a host")
}

// patternKeys are the keys of an entry.
func (r *resolver) patternKeys() (keys []key) {
	for _, p := range r.patterns() {
		keys = append(keys, readElsewhere(p.name, p.keys, p.text))
	}
	return keys
}

// readWorkload builds the plan.
func (r *resolver) readWorkload(n, jobs *node) {
	if r.d.err != nil {
		return
	}
	if n == nil && jobs != nil {
		n = &node{Kind: sequenceNode, Pos: jobs.Pos, Items: []*node{}}
	} else if n == nil || n.Kind != sequenceNode || len(n.Items) == 0 {
		at := pos{}
		if n != nil {
			at = n.Pos
		}
		r.d.fail(at, "workload has no entries; give a list such as - incast: {from: [h0, h1], to: h4, size: 64MB}")
		return
	}
	r.v.Plan, r.workload, r.entryKeys = &workload.Plan{}, n, r.patternKeys()
	for i, item := range n.Items {
		r.readEntry(item, i)
	}
	r.readJobs(jobs)
	if r.d.err != nil {
		return
	}
	r.noteClasses()
	if r.without.Messages != nil {
		r.v.Plan.Silence(r.without.Messages)
	}
	r.addTriggers()
	if r.d.err != nil {
		return
	}
	if err := r.v.Plan.Finish(r.v.Graph); err != nil {
		at := n.Pos
		var e *workload.EntryError
		if errors.As(err, &e) && e.Entry < len(n.Items) {
			at = n.Items[e.Entry].Pos
		}
		r.d.fail(at, "%v", err)
	}
}

// unsized stands for the size of messages that is still to be given; 0 is one.
const unsized units.Bytes = -1

// readEntry reads one pattern with its options.
func (r *resolver) readEntry(item *node, i int) {
	path := indexed("workload", i)
	o := r.d.object(item, path, r.entryKeys)
	if r.d.err != nil {
		return
	}
	if len(o.n.Fields) != 1 {
		r.d.fail(o.n.Pos, "%s has %d patterns; give one of %s per list item", path, len(o.n.Fields), suggestList(keyNames(r.entryKeys)))
		return
	}
	kind := o.n.Fields[0].Key
	p := o.object(kind, find(r.entryKeys, kind).keys())
	mark, first := r.v.Plan.Mark(), len(r.v.Plan.Series)
	switch kind {
	case "rpc":
		r.readCalls(p)
	case "poisson":
		r.readArrivals(p)
	case "collective":
		r.readCollective(p)
	default:
		r.readPattern(p, kind)
	}
	if r.d.err == nil && (kind != "flows" && p.text("enabled") == "false" || slices.Contains(r.without.Entries, i)) {
		r.v.Plan.Drop(mark)
	}
	if kind != "collective" && r.d.err == nil {
		r.noteSeries(len(r.v.Plan.Entries)-1, first)
	}
}

// readPattern reads an entry that is neither calls nor a collective.
func (r *resolver) readPattern(p object, kind string) {
	entry := r.addEntry(kind, p)
	e := r.newOptions()
	r.readOptions(p, e, r.optionKeys(e))
	if kind != "flows" || p.has("size") {
		r.readSize(p, e)
	}
	r.asStream(&e.Options)
	e.HostOf = r.v.Graph.HostOf
	if e.Place.Order == workload.Random {
		stream := rng.New(r.v.Seed, "workload/"+r.v.Plan.Entries[entry]+"/offset")
		e.Place.Stream = &stream
	}
	if p.has("every") && !p.has("count") {
		p.fail("every", "without count there is only one message; give count as well")
	}
	if r.d.err != nil {
		return
	}
	first, way := len(r.v.Plan.Conns), r.readGPUDirect(p)
	if err := r.addPattern(kind, p, entry, e); err != nil {
		r.d.fail(p.n.Pos, "%s: %v", p.path, err)
	}
	r.settlePlaces(first, way)
	r.warnGPUDirect(p, first)
	if e.srq > 0 && e.Verb.TakesReceive() && !e.sockets() && r.d.err == nil {
		r.v.Plan.ShareReceives(r.v.Graph, entry, e.srq)
	}
}

// addEntry adds an entry to the plan, under the name that it has or gets.
func (r *resolver) addEntry(kind string, o object) int {
	name, ok := o.scalar("name")
	if !ok {
		name = r.uniqueName(kind)
	}
	if r.entries == nil {
		r.entries = map[string]bool{}
	}
	r.entries[name] = true
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
func (r *resolver) uniqueName(kind string) string {
	if !r.entries[kind] {
		return kind
	}
	if r.numbered == nil {
		r.numbered = map[string]int{}
	}
	for n := max(2, r.numbered[kind]+1); ; n++ {
		if name := fmt.Sprintf("%s %d", kind, n); !r.entries[name] {
			r.numbered[kind] = n
			return name
		}
	}
}

func (r *resolver) readPath(o object) []int {
	var path []int
	for _, item := range o.list("path") {
		i, ok := r.v.Graph.NodeByName(item.Text)
		if item.Kind != scalarNode || !ok {
			r.d.fail(item.Pos, "%s: there is no node %q; %s", o.join("path"), item.Text, suggestNode(r.v.Graph, item.Text))
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
	if w := typo.Nearest(name, names); w != "" {
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
	if item.Kind != scalarNode {
		r.d.fail(item.Pos, "%s: a host is a name, and this is %s", o.join(key), item.Kind)
		return 0
	}
	if host, device := r.divided(item.Text); device != "" {
		return r.inServer(o, key, item, host, device)
	}
	ep, ok := r.hostEndpoint(o, key, item, item.Text)
	if !ok {
		return 0
	}
	if node := r.v.Graph.HostOf(ep); r.v.Graph.Nodes[node].Is(item.Text) && len(r.v.Graph.Nodes[node].Ports) > 1 {
		r.bareHosts = append(r.bareHosts, node)
	}
	return ep
}

// divided is what names a place inside a host, "h0:2/gpu3", as "h0:2" and "gpu3"; the name of a
// node has nothing inside, whatever it holds.
func (r *resolver) divided(text string) (host, inside string) {
	if _, is := r.v.Graph.NodeByName(text); is {
		return text, ""
	}
	return names.Inside(text)
}

// hostEndpoint looks up a host's port by its name.
func (r *resolver) hostEndpoint(o object, key string, item *node, name string) (ep int, ok bool) {
	ep, err := r.v.Graph.EndpointByName(name)
	if err != nil {
		hint := ""
		if _, known := r.v.Graph.NodeByName(name); !known {
			hint = "; " + suggestOf(r.v.Graph, topology.Host, name)
		}
		r.d.fail(item.Pos, "%s: %v%s", o.join(key), err, hint)
		return 0, false
	}
	return ep, true
}

// one reads a single host that must be given.
func (r *resolver) one(o object, key string) int {
	v := o.n.Get(key)
	if v == nil {
		r.d.fail(o.n.Pos, "%s has no %s; name a host", o.path, key)
		return 0
	}
	return r.endpoint(o, key, v)
}

// many reads a list of hosts; absent or "all" means every host port.
func (r *resolver) many(o object, key string) []int {
	v := o.n.Get(key)
	var eps []int
	if v == nil || v.Kind == scalarNode && v.Text == "all" {
		for ep := range r.v.Graph.Endpoints {
			eps = append(eps, ep)
		}
		return eps
	}
	for _, item := range o.list(key) {
		host, inside := r.divided(item.Text)
		switch {
		case r.d.err != nil:
		case item.Text == "gpus":
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
func (r *resolver) addPattern(kind string, o object, entry int, e *entryOptions) error {
	plan, g, size, opt := r.v.Plan, placed{r}, e.size, e.Options
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
		if v := o.n.Get("from"); v == nil || v.Kind == scalarNode {
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
	r.addFlows(o, entry, e)
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
func (r *resolver) addFlows(o object, entry int, all *entryOptions) {
	list := o.list("list")
	items, path := slices.Values(list), o.path+".list"
	if rows := o.n.Get("rows"); rows != nil {
		if o.has("list") {
			o.fail("rows", "flows has a list and rows; keep one")
		}
		if _, ok := o.scalar("rows"); ok {
			items, path = r.d.traceRows(rows, r.traceColumnNames()), o.path+".rows"
		}
	}
	if r.d.err == nil && len(list) == 0 && !o.has("rows") {
		r.d.fail(o.n.Pos, "%s has no list, rows or file; give items such as {from: h0, to: h4, size: 1MB, start: 5us}", o.path)
	}
	one := *all
	own := usedBy(r.optionKeys(&one), perFlow)
	keys := r.flowKeys()
	i := 0
	for item := range items {
		one = *all
		r.addFlow(r.d.object(item, indexed(path, i), keys), entry, &one, own)
		if r.d.err != nil {
			return
		}
		i++
	}
}

// addFlow appends one item of a list, which keys read into e.
func (r *resolver) addFlow(f object, entry int, e *entryOptions, keys []key) {
	f.read(keys)
	if e.size == unsized || f.has("size") {
		r.readSize(f, e)
	}
	if f.has("start") {
		e.Trigger = 0
	}
	r.settleClass(f, e)
	checkTrigger(f)
	from, to, mark := r.one(f, "from"), r.one(f, "to"), r.v.Plan.Mark()
	if r.d.err != nil {
		return
	}
	defer func() {
		if !e.enabled && r.d.err == nil {
			r.v.Plan.Drop(mark)
		}
	}()
	if err := r.v.Plan.Flow(entry, from, to, e.size, e.Options); err != nil {
		r.d.fail(f.n.Pos, "%s: %v", f.path, err)
	}
}
