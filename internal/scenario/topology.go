package scenario

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// defaultLength is the cable of links that say neither length nor delay: a
// copper cable within a rack.
const defaultLength = 5 * units.Metre

// linkKeys are the keys of one link or one tier of links.
func linkKeys() []string {
	return []string{"rate", "length", "delay", "loss", "ber", "drop_every", "down_at", "up_at"}
}

// generators are the shapes a topology can be made of.
func generators() []string { return []string{"star", "leaf_spine", "fat_tree", "clos", "rail"} }

// topologyKeys are the keys of the topology section.
func topologyKeys() []string {
	return append(generators(), "hosts", "switches", "order", "links")
}

// readTopology builds the graph. A topology is a generator, perhaps with some
// of its links changed by `links`, or explicit hosts, switches and links.
func (r *resolver) readTopology(n *node) {
	o := r.d.object(n, "topology", topologyKeys()...)
	if r.d.err != nil {
		return
	}
	if n == nil {
		r.d.fail(pos{}, "topology is missing; the shortest is topology: {star: {hosts: 5, link: 400Gbps}}")
		return
	}
	r.topologyAt = o.n.pos
	var shapes []string
	for _, g := range generators() {
		if o.has(g) {
			shapes = append(shapes, g)
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
		r.d.fail(o.n.pos, "topology gives %s; give one of %s, or hosts, switches and links", what, strings.Join(generators(), ", "))
		return
	}
	switch shapes[0] {
	case "star":
		r.readStar(o)
	case "leaf_spine":
		r.readLeafSpine(o)
	case "fat_tree":
		r.readFatTree(o)
	case "clos":
		r.readClos(o)
	case "rail":
		r.readRail(o)
	default:
		r.readExplicit(o)
		return
	}
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

func (r *resolver) readStar(o object) {
	s := o.object("star", append([]string{"hosts", "link"}, linkKeys()[1:]...)...)
	hosts := 0
	s.needInteger("hosts", &hosts, 2, topology.MaxNodes)
	spec := r.tier(s, "link", r.readLink(s, topology.LinkSpec{}))
	if r.d.err != nil {
		return
	}
	g, err := topology.Star(hosts, spec)
	r.graph(s.n.pos, g, err)
}

func (r *resolver) readLeafSpine(o object) {
	s := o.object("leaf_spine", "leaves", "spines", "hosts_per_leaf", "parallel", "oversubscription", "link", "host_link", "uplink", "length", "delay")
	p := topology.LeafSpineParams{Parallel: 1}
	s.needInteger("leaves", &p.Leaves, 1, topology.MaxNodes)
	s.needInteger("hosts_per_leaf", &p.HostsPerLeaf, 1, topology.MaxNodes)
	s.integer("spines", &p.Spines, 1, topology.MaxNodes)
	s.integer("parallel", &p.Parallel, 1, 256)
	p.HostLink, p.Uplink = r.tiers(s, "host_link", "uplink")
	var ratio topology.Ratio
	if read(s, "oversubscription", &ratio, topology.ParseRatio) {
		if err := p.Oversubscribe(ratio); err != nil && r.d.err == nil {
			s.fail("oversubscription", "%v", err)
		}
	} else if p.Spines == 0 {
		r.d.fail(s.n.pos, "%s: the number of spines is missing; give spines, or oversubscription such as 2:1", s.path)
	}
	if r.d.err != nil {
		return
	}
	g, err := topology.LeafSpine(p)
	r.graph(s.n.pos, g, err)
}

func (r *resolver) readFatTree(o object) {
	s := o.object("fat_tree", "k", "tiers", "oversubscription", "link", "host_link", "leaf_link", "core_link", "length", "delay")
	p := topology.FatTreeParams{Tiers: 3}
	s.needInteger("k", &p.K, 2, 128)
	s.integer("tiers", &p.Tiers, 2, 3)
	read(s, "oversubscription", &p.Edge, topology.ParseRatio)
	p.HostLink, p.LeafLink = r.tiers(s, "host_link", "leaf_link")
	p.CoreLink = p.LeafLink
	if s.has("core_link") || s.describing() {
		p.CoreLink = r.tier(s, "core_link", p.LeafLink)
	}
	if r.d.err != nil {
		return
	}
	g, err := topology.FatTree(p)
	r.graph(s.n.pos, g, err)
}

func (r *resolver) readRail(o object) {
	s := o.object("rail", "servers", "rails", "servers_per_group", "spines", "parallel", "link", "host_link", "uplink", "length", "delay")
	var p topology.RailParams
	s.needInteger("servers", &p.Servers, 1, topology.MaxNodes)
	s.needInteger("rails", &p.Rails, 1, 64)
	s.integer("servers_per_group", &p.ServersPerGroup, 1, topology.MaxNodes)
	s.integer("spines", &p.Spines, 0, topology.MaxNodes)
	s.integer("parallel", &p.Parallel, 1, 256)
	p.HostLink, p.Uplink = r.tiers(s, "host_link", "uplink")
	if r.d.err != nil {
		return
	}
	g, err := topology.RailOptimised(p)
	r.graph(s.n.pos, g, err)
}

// tiers reads the links of hosts and of the fabric: link stands for both,
// length and delay beside them are defaults of both, and a fabric link that is
// not given is like a host's.
func (r *resolver) tiers(s object, host, fabric string) (hostLink, fabricLink topology.LinkSpec) {
	base := r.readLink(s, topology.LinkSpec{})
	if s.has("link") || s.describing() {
		base = r.tier(s, "link", base)
	}
	hostLink, fabricLink = base, base
	if s.has(host) || !s.has("link") {
		hostLink = r.tier(s, host, base)
		if !s.has("link") {
			fabricLink = hostLink
		}
	}
	if s.has(fabric) || s.describing() {
		fabricLink = r.tier(s, fabric, base)
	}
	return hostLink, fabricLink
}

// tier reads a link: a rate, or a mapping. A link needs a rate.
func (r *resolver) tier(o object, key string, spec topology.LinkSpec) topology.LinkSpec {
	v := o.n.get(key)
	switch {
	case o.describing():
		o.linkRate(key, &spec.Rate)
		r.readLink(o.object(key, linkKeys()...), spec)
	case r.d.err != nil:
	case v == nil:
		r.d.fail(o.n.pos, "%s has no %s; give a rate such as %s: 400Gbps", o.path, key, key)
	case v.kind == scalarNode:
		o.linkRate(key, &spec.Rate)
		r.checkLink(o, key, spec)
	default:
		spec = r.readLink(o.object(key, linkKeys()...), spec)
		if r.d.err == nil && spec.Rate == 0 {
			o.fail(key, "has no rate; give one such as rate: 400Gbps")
		}
	}
	return spec
}

// readLink reads the link keys that stand in o over spec.
func (r *resolver) readLink(o object, spec topology.LinkSpec) topology.LinkSpec {
	if o.has("length") && o.has("delay") {
		o.fail("delay", "a link has a length or a delay; keep one")
		return spec
	}
	if spec.Length == 0 && spec.Delay == 0 && !o.has("delay") {
		spec.Length = defaultLength
	}
	if o.linkRate("rate", &spec.Rate) {
		r.checkLink(o, "rate", spec)
	}
	if o.length("length", &spec.Length) {
		spec.Delay = 0
		if spec.Length > topology.MaxLength {
			o.fail("length", "a cable of %v is absurd; the longest accepted is %v", spec.Length, units.Length(topology.MaxLength))
		}
	}
	if o.time("delay", &spec.Delay) {
		spec.Length = 0
		if spec.Delay > topology.MaxDelay {
			o.fail("delay", "a cable with a delay of %v is absurd; the longest accepted is %v", spec.Delay, units.Time(topology.MaxDelay))
		}
	}
	o.probability("loss", &spec.Loss)
	o.probability("ber", &spec.BER)
	o.integer("drop_every", &spec.DropEvery, 0, 1<<30)
	if o.time("down_at", &spec.DownAt) && spec.DownAt == 0 {
		o.fail("down_at", "0 would be a link that never was; leave the link out, or give a later time")
	}
	if o.has("down_at") {
		r.noteDownAt(spec.DownAt, o.at("down_at"))
	}
	if o.time("up_at", &spec.UpAt) && (!o.has("down_at") || spec.UpAt <= spec.DownAt) {
		o.fail("up_at", "%v is not after the link's failure; give down_at beside it, and a later time", spec.UpAt)
	}
	return spec
}

// linkRate reads a rate, or the name of an InfiniBand speed: NDR for four lanes,
// 2xNDR for two.
func (o object) linkRate(key string, dst *units.Rate) bool {
	o.note(key, quantityOf(units.RatePattern()))
	o.note(key, jsonSchema{"type": "string", "pattern": "^([0-9]+ ?[xX] ?)?[A-Za-z]{3}(10)?$"})
	return read(o, key, dst, func(text string) (units.Rate, error) {
		if bps, ok := wire.ParseLinkSpeed(text); ok {
			return units.Rate(bps), nil
		}
		if likeSpeed(text) {
			return 0, fmt.Errorf("%q is no speed of InfiniBand links; %s", text, linkSpeedWords())
		}
		return units.ParseRate(text)
	})
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

func (r *resolver) checkLink(o object, key string, spec topology.LinkSpec) {
	if r.d.err == nil && (spec.Rate < units.Mbps || spec.Rate > topology.MaxRate) {
		o.fail(key, "a link of %v is not simulated; give 1Mbps to %v", spec.Rate, units.Rate(topology.MaxRate))
	}
}

// readExplicit builds a graph node by node.
func (r *resolver) readExplicit(o object) {
	g := new(topology.Graph)
	r.addNodes(o, g)
	for i, item := range o.list("links") {
		path := indexed("topology.links", i)
		l := r.d.object(item, path, append([]string{"between", "parallel"}, linkKeys()...)...)
		a, b := r.between(l)
		parallel := 1
		l.integer("parallel", &parallel, 1, 256)
		spec := r.readLink(l, topology.LinkSpec{})
		if r.d.err == nil && !l.has("rate") {
			r.d.fail(l.n.pos, "%s has no rate; give one such as rate: 400Gbps", path)
		}
		for range parallel {
			if r.d.err != nil {
				return
			}
			if err := g.AddLinkByName(a, b, spec); err != nil {
				r.d.fail(l.at("between"), "%v", err)
			}
		}
	}
	if r.d.err != nil {
		return
	}
	err := g.Finish()
	r.graph(o.n.pos, g, err)
}

// addNodes adds hosts, then switches, or all of them as `order` lists them:
// nodes that ask at the same instant are served by their numbers.
func (r *resolver) addNodes(o object, g *topology.Graph) {
	names := listOf(anyScalar())
	for _, key := range []string{"hosts", "switches", "order"} {
		o.note(key, names)
	}
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
			kindOf[item.text] = i
			total++
		}
	}
	order := o.list("order")
	for _, item := range order {
		kind, ok := kindOf[item.text]
		if !ok {
			r.d.fail(item.pos, "topology.order names %q, which is neither among hosts nor among switches", item.text)
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
	if item.kind != scalarNode {
		r.d.fail(item.pos, "a node is a name, and this is %s", item.kind)
		return
	}
	if err := add(item.text); err != nil {
		r.d.fail(item.pos, "%v", err)
	}
}

// between reads the two ends of a link.
func (r *resolver) between(l object) (a, b string) {
	l.note("between", listOf(anyScalar()))
	ends := l.list("between")
	if r.d.err != nil {
		return "", ""
	}
	if len(ends) != 2 || ends[0].kind != scalarNode || ends[1].kind != scalarNode {
		r.d.fail(l.at("between"), "%s: between names the two nodes of a link, such as [h0, leaf1]", l.path)
		return "", ""
	}
	return ends[0].text, ends[1].text
}

// changeLinks applies `links` to a generated graph: each item changes the
// link between two nodes, all parallel ones or the nth.
func (r *resolver) changeLinks(o object) {
	g := r.v.Graph
	for i, item := range o.list("links") {
		path := indexed("topology.links", i)
		l := r.d.object(item, path, append([]string{"between", "nth"}, linkKeys()...)...)
		a, b := r.between(l)
		nth := 0
		l.integer("nth", &nth, 1, 256)
		if r.d.err != nil {
			return
		}
		found := 0
		for j := range g.Links {
			k := &g.Links[j]
			x, y := g.Nodes[k.A].Name, g.Nodes[k.B].Name
			if x == a && y == b || x == b && y == a {
				found++
				if nth == 0 || nth == found {
					r.changeLink(l, k)
				}
			}
		}
		if r.d.err == nil && found == 0 {
			r.d.fail(l.at("between"), "%s: there is no link between %s and %s; name two neighbours", path, a, b)
		}
		if r.d.err == nil && nth > found {
			l.fail("nth", "%d is beyond the %d links between %s and %s; count from 1", nth, found, a, b)
		}
	}
}

func (r *resolver) changeLink(l object, k *topology.Link) {
	spec := topology.LinkSpec{Rate: k.Rate, Length: k.Length, Loss: k.Loss, BER: k.BER, DropEvery: k.DropEvery}
	if k.Length == 0 {
		spec.Delay = k.Delay
	}
	if l.has("length") {
		spec.Delay = 0
	}
	spec = r.readLink(l, spec)
	k.Rate, k.Length, k.Loss, k.BER, k.DropEvery = spec.Rate, spec.Length, spec.Loss, spec.BER, spec.DropEvery
	k.Delay = spec.Delay
	if spec.Length > 0 {
		k.Delay = spec.Length.Delay()
	}
	if spec.DownAt > 0 {
		k.DownAt, k.UpAt = spec.DownAt, units.Never
	}
	if spec.UpAt > 0 {
		k.UpAt = spec.UpAt
	}
}
