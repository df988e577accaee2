package scenario

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// defaultLength is the cable of links that say neither length nor delay: a
// copper cable within a rack.
const defaultLength = 5 * units.Metre

// generator is a shape that a topology can be made of.
type generator struct {
	name, text string
	keys       []key                                                    // read before the graph is built
	links      func() []key                                             // those of links, each over what stands for all of them
	build      func(s object, graph func(g *topology.Graph, err error)) // reads links and makes the graph
}

// generators are the shapes.
func (r *resolver) generators() []generator {
	return []generator{r.star(), r.leafSpine(), r.fatTree(), r.clos(), r.rail()}
}

// topologyKeys are the keys of the topology section.
func (r *resolver) topologyKeys() (keys []key) {
	for _, g := range r.generators() {
		keys = append(keys, readElsewhere(g.name, func() []key { return joinKeys(g.keys, g.links()) }, g.text))
	}
	names := func(name, text string) key { return listKey(name, "list of names", readLater, text) }
	links := func() []key {
		return joinKeys(explicitLinkKeys(new(linkItem)), grouped("link", r.linkKeys(new(topology.LinkSpec))))
	}
	return append(keys,
		names("hosts", "Names of the hosts of an explicit topology, which may hold anything: "+
			"`\"fe80::1\":2` is a port of one with a colon, a slash or an arrow."),
		names("switches", "Names of its switches."),
		names("order", "All hosts and switches, when their numbers matter: they break ties between events of one instant, and salt the ECMP hash. Without it hosts come first."),
		listedKey("links", links, readLater, "The links of an explicit topology; or changes to single links of a shape."))
}

// linkItem is what an item of links says beside the link's own keys.
type linkItem struct {
	parallel, nth int
	faster        string // the node whose port alone has the speedup; "": both
}

// explicitLinkKeys are those of an item of links, beside the link's own.
func explicitLinkKeys(x *linkItem) []key {
	return []key{
		listKey("between", "list of two names", readLater, "The two nodes that the link joins, such as `[h0, leaf1]`.").need("name the two nodes of a link"),
		numberKey("parallel", &x.parallel, 1, 256, "Of an explicit topology: how many such links there are.").otherwise("1"),
		numberKey("nth", &x.nth, 1, 256, "Beside a shape: which of several parallel links is changed, from 1.").otherwise("all"),
		lineKey("speedup_of", &x.faster, "The switch, one of the link's two nodes, whose port alone has the `speedup`.").otherwise("both nodes").check(func(o object) {
			if !o.has("speedup") {
				o.fail("speedup_of", "says whose port is faster, and nothing says by how much; give speedup as well, such as speedup: 16")
			}
		}),
	}
}

// readTopology builds the graph. A topology is a generator, perhaps with some
// of its links changed by `links`, or explicit hosts, switches and links.
//
// A server without a topology is one host, with a port that its collectives do not need.
func (r *resolver) readTopology(n, server *node) {
	if n == nil && server != nil {
		alone, bad := tree.Parse(r.d.file, []byte("rail: {servers: 1, rails: 1, link: 400Gbps}"))
		if bad != nil {
			r.d.err = bad
			return
		}
		n, r.alone = alone, true
	}
	o := r.d.object(n, "topology", r.topologyKeys())
	if r.d.err != nil {
		return
	}
	if n == nil {
		r.d.fail(pos{}, "topology is missing; the shortest is topology: {star: {hosts: 5, link: 400Gbps}}")
		return
	}
	r.topologyAt = o.n.Pos
	var shapes []string
	var shape generator
	var names []string
	for _, g := range r.generators() {
		names = append(names, g.name)
		if o.has(g.name) {
			shapes, shape = append(shapes, g.name), g
		}
	}
	if o.has("hosts") || o.has("switches") {
		shapes = append(shapes, "explicit hosts and switches")
	}
	if len(shapes) != 1 {
		what := "nothing"
		if len(shapes) > 0 {
			what = strings.Join(shapes, " and ")
		}
		r.d.fail(o.n.Pos, "topology gives %s; give one of %s, or hosts, switches and links", what, strings.Join(names, ", "))
		return
	}
	if shape.name == "" {
		r.readExplicit(o)
		return
	}
	r.generate(o, shape)
	if r.d.err == nil && o.has("order") {
		o.fail("order", "numbers the nodes of explicit hosts and switches; leave it out beside %s", shapes[0])
	}
	if r.d.err == nil {
		r.changeLinks(o)
	}
}

// graph keeps a generator's result, with its error at the generator's place.
func (r *resolver) graph(at pos, g *topology.Graph, err error) {
	if err != nil {
		r.d.fail(at, "%v", err)
		return
	}
	r.v.Graph = g
}

// generate makes the graph of a shape.
func (r *resolver) generate(o object, shape generator) {
	s := o.object(shape.name, joinKeys(shape.keys, shape.links()))
	s.read(shape.keys)
	if r.d.err == nil {
		shape.build(s, func(g *topology.Graph, err error) { r.graph(s.n.Pos, g, err) })
	}
}

// neededNumber is numberKey for a key that must be there.
func neededNumber(name string, dst *int, lo, hi int, text string) key {
	return numberKey(name, dst, lo, hi, text).otherwise("").need(fmt.Sprintf("give a whole number from %d to %d", lo, hi))
}

// unusedLink is the rate of a link that nothing crosses.
const unusedLink = 400 * units.Gbps

func (r *resolver) star() generator {
	hosts, link := 0, new(topology.LinkSpec)
	return generator{"star", "Hosts h0, h1, ... at one switch, sw.",
		[]key{neededNumber("hosts", &hosts, 1, topology.MaxNodes, "Number of hosts. One is enough where all that is sent "+
			"stays inside it; it then needs no `link`.")},
		func() []key { return append(r.tierKeys("link"), grouped("link", r.linkKeys(link)[1:])...) },
		func(s object, graph func(*topology.Graph, error)) {
			spec := r.readLink(s, *link)
			if hosts == 1 && !s.has("link") {
				spec.Rate = unusedLink
			} else {
				spec = r.tier(s, "link", spec)
			}
			if r.d.err == nil {
				graph(topology.Star(hosts, spec))
			}
		}}
}

func (r *resolver) leafSpine() generator {
	p := topology.LeafSpineParams{Parallel: 1}
	var ratio topology.Ratio
	return generator{"leaf_spine", "Two tiers: leaf1, leaf2, ... with hosts, each joined to spine1, spine2, ...",
		[]key{
			neededNumber("leaves", &p.Leaves, 1, topology.MaxNodes, "Number of leaves."),
			neededNumber("hosts_per_leaf", &p.HostsPerLeaf, 1, topology.MaxNodes, "Hosts at each leaf."),
			numberKey("spines", &p.Spines, 1, topology.MaxNodes, "Number of spines; or give `oversubscription`."),
			numberKey("parallel", &p.Parallel, 1, 256, "Uplinks from a leaf to each spine."),
			ratioOf("oversubscription", &ratio, "Rate of a leaf's links down to that of its links up, such as `2:1`; spines or `parallel` follow from it."),
		}, func() []key {
			return append(r.tierKeys("link", "host_link", "uplink"), r.cableKeys(new(topology.LinkSpec))...)
		},
		func(s object, graph func(*topology.Graph, error)) {
			p.HostLink, p.Uplink = r.tiers(s, "host_link", "uplink")
			if s.has("oversubscription") {
				if err := p.Oversubscribe(ratio); err != nil {
					s.fail("oversubscription", "%v", err)
				}
			} else if p.Spines == 0 {
				r.d.fail(s.n.Pos, "%s: the number of spines is missing; give spines, or oversubscription such as 2:1", s.path)
			}
			if r.d.err == nil {
				graph(topology.LeafSpine(p))
			}
		}}
}

// ratioOf is a ratio such as 2:1.
func ratioOf(name string, dst *topology.Ratio, text string) key {
	return otherKey(name, "ratio such as `2:1`", []jsonSchema{numberOrText()}, func(o object, name string) bool {
		return read(o, name, dst, topology.ParseRatio)
	}, text)
}

func (r *resolver) fatTree() generator {
	p := topology.FatTreeParams{Tiers: 3}
	return generator{"fat_tree", "A fat tree of switches with k ports: pod0-leaf0, pod0-agg0, core0.",
		[]key{
			neededNumber("k", &p.K, 2, 128, "Ports of a switch, an even number."),
			numberKey("tiers", &p.Tiers, 2, 3, "Tiers of switches."),
			ratioOf("oversubscription", &p.Edge, "At the edge, such as `2:1`."),
		}, func() []key {
			return append(r.tierKeys("link", "host_link", "leaf_link", "core_link"), r.cableKeys(new(topology.LinkSpec))...)
		},
		func(s object, graph func(*topology.Graph, error)) {
			p.HostLink, p.LeafLink = r.tiers(s, "host_link", "leaf_link")
			p.CoreLink = p.LeafLink
			if s.has("core_link") {
				p.CoreLink = r.tier(s, "core_link", p.LeafLink)
			}
			if r.d.err == nil {
				graph(topology.FatTree(p))
			}
		}}
}

func (r *resolver) rail() generator {
	var p topology.RailParams
	return generator{"rail", "Servers with a port in each of several rails, which spines may join: group1-rail1.",
		[]key{
			neededNumber("servers", &p.Servers, 1, topology.MaxNodes, "Number of servers."),
			neededNumber("rails", &p.Rails, 1, 64, "NIC ports per server, each in a rail of its own."),
			numberKey("servers_per_group", &p.ServersPerGroup, 1, topology.MaxNodes, "Servers that share a switch per rail.").otherwise("all"),
			numberKey("spines", &p.Spines, 0, topology.MaxNodes, "Number of spines; 0: rails stay apart."),
			numberKey("parallel", &p.Parallel, 1, 256, "Uplinks from a rail's switch to each spine.").otherwise("1"),
		}, func() []key {
			return append(r.tierKeys("link", "host_link", "uplink"), r.cableKeys(new(topology.LinkSpec))...)
		},
		func(s object, graph func(*topology.Graph, error)) {
			p.HostLink, p.Uplink = r.tiers(s, "host_link", "uplink")
			if r.d.err == nil {
				graph(topology.RailOptimised(p))
			}
		}}
}

// tierKeys are the keys of the links of a tier, by their names.
func (r *resolver) tierKeys(names ...string) (keys []key) {
	for _, name := range names {
		k := r.tierKey(name, new(topology.LinkSpec))
		k.inner, k.later = nil, func() []key { return r.tierKey(name, new(topology.LinkSpec)).inner }
		keys = append(keys, k)
	}
	return keys
}

// tierKey is a link: a rate, or a mapping. A link needs a rate.
func (r *resolver) tierKey(name string, spec *topology.LinkSpec) key {
	text := map[string]string{"link": "Links of all tiers.", "host_link": "Links of hosts.", "uplink": "Links to spines.",
		"leaf_link": "Links between leaves and the tier above.", "core_link": "Links to the core."}[name]
	preset := map[string]string{"host_link": "`link`", "uplink": "as hosts' links", "leaf_link": "as hosts' links", "core_link": "`leaf_link`"}[name]
	return sectionKey(name, grouped("link", r.linkKeys(spec)), text).otherwise(preset).shortFor("rate").
		opening(func(l object) { startLink(l, spec) }).
		finish(func(l object) {
			if spec.Rate == 0 {
				r.d.fail(l.n.Pos, "%s: has no rate; give one such as rate: 400Gbps", l.path)
			}
		})
}

// tiers reads the links of hosts and of the fabric: link stands for both,
// length and delay beside them are defaults of both, and a fabric link that is
// not given is like a host's.
func (r *resolver) tiers(s object, host, fabric string) (hostLink, fabricLink topology.LinkSpec) {
	base := r.readLink(s, topology.LinkSpec{})
	if s.has("link") {
		base = r.tier(s, "link", base)
	}
	hostLink, fabricLink = base, base
	if s.has(host) || !s.has("link") {
		hostLink = r.tier(s, host, base)
		if !s.has("link") {
			fabricLink = hostLink
		}
	}
	if s.has(fabric) {
		fabricLink = r.tier(s, fabric, base)
	}
	return hostLink, fabricLink
}

// tier reads a link over spec.
func (r *resolver) tier(o object, name string, spec topology.LinkSpec) topology.LinkSpec {
	k := r.tierKey(name, &spec)
	o.read([]key{k.need("give a rate such as " + name + ": 400Gbps")})
	return spec
}

// startLink prepares a link for the keys that stand in o.
func startLink(o object, spec *topology.LinkSpec) {
	if o.has("length") && o.has("delay") {
		o.fail("delay", "a link has a length or a delay; keep one")
	}
	if spec.Length == 0 && spec.Delay == 0 && !o.has("delay") {
		spec.Length = defaultLength
	}
}

// readLink reads the link keys that stand in o over spec.
func (r *resolver) readLink(o object, spec topology.LinkSpec) topology.LinkSpec {
	startLink(o, &spec)
	o.read(r.linkKeys(&spec))
	return spec
}

// linkKeys are the keys of one link or one tier of links.
func (r *resolver) linkKeys(s *topology.LinkSpec) []key {
	outages := outageReader{r: r, spec: s}
	return joinKeys([]key{
		rateOrSpeedKey("rate", &s.Rate, &s.Lanes, "1 Mbps to 100 Tbps, or an InfiniBand speed: `NDR` for four lanes, `2xNDR` for two; `SDR` to `XDR`, 1, 2, 4, 8 or 12 lanes."),
	}, r.cableKeys(s), []key{
		probabilityKey("loss", &s.Loss, "Probability that a frame is lost, in each direction."),
		otherKey("loss_priorities", "list of 0 to 7", prioritiesKey("", nil, "").forms, func(o object, name string) bool {
			var mask uint8
			ok := o.priorities(name, &mask)
			s.Spared = ^mask
			return ok
		}, "Priorities of which `loss` loses frames, such as `[6]` for CNPs.").otherwise("all").
			unless(func() string { return when(s.Loss == 0, "no frame is lost by chance; give loss") }).unless(r.noEthernet),
		probabilityKey("ber", &s.BER, "Bit error rate, in each direction; with `fec` the one before it corrects."),
		wordKey("fec", &s.FEC, fecNames(), "Forward error correction: a frame is lost if a codeword that it lies in has more wrong symbols than it "+
			"corrects (IEEE 802.3 clauses 91, 119, 172).").otherwise("`none`: `ber` is what is left").or("none", func() { s.FEC = "" }).
			unless(func() string { return when(s.BER == 0, "there are no bit errors; give ber") }),
		numberKey("drop_every", &s.DropEvery, 0, 1<<30, "Drop each n-th data packet."),
		numberKey("speedup", &s.Speedup, 1, topology.MaxSpeedup, "How many times faster than `rate` the ports of switches at this link send, while thresholds, headroom, marks and the line "+
			"rates of hosts stay those of `rate`: what a port costs, without setting up anything else.").otherwise("1"),
	}, outages.keys())
}

// fecNames are the names of the kinds of forward error correction.
func fecNames() (names []string) {
	for _, f := range wire.FECs() {
		names = append(names, f.Name)
	}
	return names
}

// cableKeys are the keys of the cable alone.
func (r *resolver) cableKeys(s *topology.LinkSpec) []key {
	return grouped("link", []key{
		lengthKey("length", &s.Length, "Cable at 5 ns per metre, up to 20,000 km.").otherwise(defaultLength.String()).check(func(o object) {
			s.Delay = 0
			if s.Length > topology.MaxLength {
				o.fail("length", "a cable of %v is absurd; the longest accepted is %v", s.Length, units.Length(topology.MaxLength))
			}
		}),
		timeKey("delay", &s.Delay, "Propagation one way, in place of a length.").check(func(o object) {
			s.Length = 0
			if s.Delay > topology.MaxDelay {
				o.fail("delay", "a cable with a delay of %v is absurd; the longest accepted is %v", s.Delay, units.Time(topology.MaxDelay))
			}
		}),
	})
}

// rateOrSpeedKey is a rate, or the name of an InfiniBand speed: NDR for four lanes, 2xNDR for
// two.
func rateOrSpeedKey(name string, dst *units.Rate, lanes *int, text string) key {
	k := rateKey(name, dst, text)
	k.values = append(k.values, "speed such as `NDR` or `2xNDR`")
	k.forms = append(k.forms, jsonSchema{"type": "string", "pattern": "^([0-9]+ ?[xX] ?)?[A-Za-z]{3}(10)?$"})
	k.parse = func(o object, name string) bool {
		return read(o, name, dst, func(text string) (rate units.Rate, err error) {
			rate, *lanes, err = parseLinkRate(text)
			return rate, err
		})
	}
	return k.check(func(o object) {
		if *dst < units.Mbps || *dst > topology.MaxRate {
			o.fail(name, "a link of %v is not simulated; give 1Mbps to %v", *dst, units.Rate(topology.MaxRate))
		}
	})
}

// parseLinkRate reads a rate, or a speed with its lanes.
func parseLinkRate(text string) (rate units.Rate, lanes int, err error) {
	if bps, lanes, ok := wire.ParseLinkSpeed(text); ok {
		return units.Rate(bps), lanes, nil
	}
	if likeSpeed(text) {
		return 0, 0, fmt.Errorf("%q is no speed of InfiniBand links; %s", text, linkSpeedWords())
	}
	rate, err = units.ParseRate(text)
	return rate, 0, err
}

// likeSpeed reports whether a text ends as the names of InfiniBand's speeds do.
func likeSpeed(text string) bool {
	return strings.HasSuffix(strings.ToUpper(strings.TrimRight(text, "0123456789 ")), "DR")
}

// linkSpeedWords lists the names of speeds and the widths.
func linkSpeedWords() string {
	var names, widths []string
	for _, s := range wire.LinkSpeeds() {
		names = append(names, s.Name)
	}
	for _, w := range wire.LinkWidths() {
		widths = append(widths, fmt.Sprintf("%dx", w))
	}
	return fmt.Sprintf("write one of %s, with a width of %s before it unless it is 4x, such as 2xNDR, or a rate such as 400Gbps", strings.Join(names, ", "), strings.Join(widths, ", "))
}

// readExplicit builds a graph node by node.
func (r *resolver) readExplicit(o object) {
	g := new(topology.Graph)
	r.addNodes(o, g)
	for i, item := range o.list("links") {
		path, x := indexed("topology.links", i), linkItem{parallel: 1}
		l := r.itemOfLinks(item, path, &x)
		if l.has("nth") {
			l.fail("nth", "counts the links of a shape; leave it out of an explicit topology")
		}
		a, b := r.between(l)
		spec := r.readLink(l, topology.LinkSpec{})
		if r.d.err == nil && !l.has("rate") {
			r.d.fail(l.n.Pos, "%s has no rate; give one such as rate: 400Gbps", path)
		}
		for range x.parallel {
			if r.d.err != nil {
				return
			}
			if err := g.AddLinkByName(a, b, spec); err != nil {
				r.d.fail(l.at("between"), "%v", err)
				return
			}
			r.speedUp(l, &g.Links[len(g.Links)-1], g, &x, spec.Speedup)
		}
	}
	if r.d.err != nil {
		return
	}
	err := g.Finish()
	r.graph(o.n.Pos, g, err)
}

// addNodes adds hosts, then switches, or all of them as `order` lists them:
// nodes that ask at the same instant are served by their numbers.
func (r *resolver) addNodes(o object, g *topology.Graph) {
	kinds := []struct {
		items []*node
		add   func(name string) error
	}{
		{o.list("hosts"), func(name string) error { _, err := g.AddHost(name); return err }},
		{o.list("switches"), func(name string) error { _, err := g.AddSwitch(name, 0); return err }},
	}
	if !o.has("order") {
		for _, k := range kinds {
			for _, item := range k.items {
				r.addNode(item, k.add)
			}
		}
		return
	}
	kindOf := map[string]int{} // looked up, never iterated
	total := 0
	for i, k := range kinds {
		for _, item := range k.items {
			kindOf[item.Text] = i
			total++
		}
	}
	order := o.list("order")
	for _, item := range order {
		kind, ok := kindOf[item.Text]
		if !ok {
			r.d.fail(item.Pos, "topology.order names %q, which is neither among hosts nor among switches", item.Text)
			return
		}
		r.addNode(item, kinds[kind].add)
	}
	if r.d.err == nil && len(order) != total {
		o.fail("order", "lists %d of %d hosts and switches; list each once, or leave order out", len(order), total)
	}
}

func (r *resolver) addNode(item *node, add func(string) error) {
	if r.d.err != nil {
		return
	}
	if item.Kind != scalarNode {
		r.d.fail(item.Pos, "a node is a name, and this is %s", item.Kind)
		return
	}
	if err := add(item.Text); err != nil {
		r.d.fail(item.Pos, "%v", err)
	}
}

// between reads the two ends of a link.
func (r *resolver) between(l object) (a, b string) {
	ends := l.list("between")
	if r.d.err != nil {
		return "", ""
	}
	if len(ends) != 2 || ends[0].Kind != scalarNode || ends[1].Kind != scalarNode {
		r.d.fail(l.at("between"), "%s: between names the two nodes of a link, such as [h0, leaf1]", l.path)
		return "", ""
	}
	return ends[0].Text, ends[1].Text
}

// itemOfLinks reads what an item of links says beside the link's own keys.
func (r *resolver) itemOfLinks(item *node, path string, x *linkItem) object {
	own := explicitLinkKeys(x)
	l := r.d.object(item, path, joinKeys(own, r.linkKeys(new(topology.LinkSpec))))
	l.read(own[1:]) // between says more when it is missing
	return l
}

// changeLinks applies `links` to a generated graph: each item changes the
// link between two nodes, all parallel ones or the nth.
func (r *resolver) changeLinks(o object) {
	g := r.v.Graph
	for i, item := range o.list("links") {
		path := indexed("topology.links", i)
		var x linkItem
		l := r.itemOfLinks(item, path, &x)
		if l.has("parallel") {
			l.fail("parallel", "is of the links of an explicit topology; a shape has its own")
		}
		a, b := r.between(l)
		if r.d.err != nil {
			return
		}
		found := 0
		for j := range g.Links {
			k := &g.Links[j]
			from, to := &g.Nodes[k.A], &g.Nodes[k.B]
			if from.Is(a) && to.Is(b) || from.Is(b) && to.Is(a) {
				found++
				if x.nth == 0 || x.nth == found {
					r.changeLink(l, k)
					r.speedUp(l, k, g, &x, max(k.Speedup[0], k.Speedup[1]))
				}
			}
		}
		if r.d.err == nil && found == 0 {
			r.d.fail(l.at("between"), "%s: there is no link between %s and %s; name two neighbours", path, a, b)
		}
		if r.d.err == nil && x.nth > found {
			l.fail("nth", "%d is beyond the %d links between %s and %s; count from 1", x.nth, found, a, b)
		}
	}
}

// speedUp has the port of one node alone send faster, where the item says so.
func (r *resolver) speedUp(l object, k *topology.Link, g *topology.Graph, x *linkItem, times int) {
	if x.faster == "" || r.d.err != nil {
		return
	}
	k.Speedup = [2]int{}
	for end, node := range [2]int{k.A, k.B} {
		if g.Nodes[node].Is(x.faster) {
			k.Speedup[end] = times
			if g.Nodes[node].Kind == topology.Host {
				l.fail("speedup_of", "%s is a host, whose line rate stays as it is; name a switch, or give another rate", x.faster)
			}
			return
		}
	}
	l.fail("speedup_of", "%q is neither of the link's nodes; give %s or %s", x.faster, g.Nodes[k.A].Name, g.Nodes[k.B].Name)
}

func (r *resolver) changeLink(l object, k *topology.Link) {
	spec := topology.LinkSpec{Rate: k.Rate, Lanes: k.Lanes, Length: k.Length, Loss: k.Loss, Spared: k.Spared, BER: k.BER, FEC: k.FEC, DropEvery: k.DropEvery, Speedup: max(k.Speedup[0], k.Speedup[1])}
	if k.Length == 0 {
		spec.Delay = k.Delay
	}
	if l.has("length") {
		spec.Delay = 0
	}
	spec = r.readLink(l, spec)
	k.Rate, k.Lanes, k.Length, k.Loss, k.Spared, k.BER, k.FEC, k.DropEvery = spec.Rate, spec.Lanes, spec.Length, spec.Loss, spec.Spared, spec.BER, spec.FEC, spec.DropEvery
	k.Delay = spec.Delay
	if l.has("speedup") {
		k.Speedup = [2]int{spec.Speedup, spec.Speedup}
	}
	if l.text("down_at") == neverFails {
		k.Outages = nil
	}
	if spec.Length > 0 {
		k.Delay = spec.Length.Delay()
	}
	if r.d.err == nil {
		r.addOutages(l, k, spec.Outages)
	}
}
