package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/pcie"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// serverSettings is the key `server`: what is inside a host.
type serverSettings struct {
	tree   *server.Tree // nil: nothing, data are at the card
	staged bool         // gpudirect: off
	obj    object       // where it stands
	notes  []record.Note
}

// noServer is the word for a host without an inside.
const noServer = "none"

func serverKeys() []string {
	return []string{"preset", "file", "text", "acs", "iommu", "relaxed_ordering", "mps", "mrrs", "gpudirect", "links", "costs"}
}

// readServer reads `server` of the scenario or of one host, over what hosts have
// otherwise.
func (r *resolver) readServer(parent object, base *serverSettings) *serverSettings {
	parent.note("server", anyScalar())
	v := parent.n.get("server")
	if v == nil && !parent.describing() {
		return base
	}
	if v != nil && v.kind == scalarNode {
		s := &serverSettings{obj: object{r.d, &node{pos: v.pos}, parent.join("server")}}
		if v.text != noServer {
			s.take(parent, "server", v.text)
		}
		return s
	}
	o := parent.object("server", serverKeys()...)
	s := base.copy()
	s.obj = o
	o.note("preset", wordsOf(server.Presets()...))
	if text, ok := o.scalar("preset"); ok {
		if o.has("file") {
			o.fail("file", "server has a preset and a file; keep one")
		}
		s.take(o, "preset", text)
	}
	r.readServerFile(o, s)
	if r.d.err == nil && s.tree == nil && !o.describing() {
		r.d.fail(o.n.pos, "%s names no server; give preset: with one of %s, or file:", o.path, suggestList(server.Presets()))
	}
	if o.describing() {
		s.take(parent, "", server.Presets()[0])
	}
	if r.d.err == nil {
		r.readServerOptions(o, s)
	}
	return s
}

// copy is a server of one's own to change.
func (s *serverSettings) copy() *serverSettings {
	out := &serverSettings{}
	if s == nil {
		return out
	}
	*out = *s
	out.notes = slices.Clone(s.notes)
	if s.tree != nil {
		t := *s.tree
		t.Devices, t.Links = slices.Clone(t.Devices), slices.Clone(t.Links)
		out.tree = &t
	}
	return out
}

// take makes s a preset.
func (s *serverSettings) take(o object, key, name string) {
	t, err := server.Preset(name)
	if err != nil {
		hint := suggest(name, server.Presets())
		o.fail(key, "there is no server %q; %s", name, hint)
		return
	}
	s.tree, s.notes, s.staged = t, t.Notes, false
}

// readServerOptions changes a server.
func (r *resolver) readServerOptions(o object, s *serverSettings) {
	t := s.tree
	r.onOff(o, "acs", &t.ACS, "redirect", "direct")
	r.onOff(o, "iommu", &t.IOMMU, "on", "off")
	r.onOff(o, "relaxed_ordering", &t.Relaxed, "on", "off")
	direct := !s.staged
	r.onOff(o, "gpudirect", &direct, "on", "off")
	s.staged = !direct
	r.readTLPSize(o, s, "mps", func(l *pcie.Link, n units.Bytes) { l.MPS = n })
	r.readTLPSize(o, s, "mrrs", func(l *pcie.Link, n units.Bytes) { l.MRRS = n })
	r.readServerLinks(o, s)
	r.readServerCosts(o, s)
	for _, k := range []string{"acs", "iommu", "relaxed_ordering", "mps", "mrrs", "gpudirect"} {
		if text, ok := o.scalar(k); ok {
			s.say(k, text)
		}
	}
	if err := t.Check(); err != nil && r.d.err == nil {
		r.d.fail(o.n.pos, "%s: %v", o.path, err)
	}
}

// readTLPSize reads a size that all PCIe links have.
func (r *resolver) readTLPSize(o object, s *serverSettings, key string, set func(l *pcie.Link, n units.Bytes)) {
	var n units.Bytes
	if !o.size(key, &n) {
		return
	}
	probe := pcie.New(3, 16)
	if set(&probe, n); probe.Check() != nil {
		o.fail(key, "%v is no size that PCIe has; it is a power of 2 from 128B to 4096B", n)
		return
	}
	for i := range s.tree.Links {
		if l := &s.tree.Links[i]; l.Kind == server.PCIe {
			set(&l.PCIe, n)
		}
	}
}

// say notes what the scenario has given.
func (s *serverSettings) say(key, value string) {
	for i := range s.notes {
		if s.notes[i].Key == "server."+key {
			s.notes = append(s.notes[:i:i], s.notes[i+1:]...)
			break
		}
	}
	s.notes = append(s.notes, note("server."+key, value, fromScenario))
}

// onOff reads one of two words.
func (r *resolver) onOff(o object, key string, dst *bool, yes, no string) {
	word := no
	if o.word(key, &word, yes, no) {
		*dst = word == yes
	}
}

// readServerLinks changes single links, each named after the device below it, or all
// of a kind.
func (r *resolver) readServerLinks(o object, s *serverSettings) {
	if o.describing() {
		readServerLink(r.d.object(nil, o.join("links")+".*", serverLinkKeys()...), s, nil)
		return
	}
	links := o.n.get("links")
	if links == nil {
		return
	}
	if links.kind != mappingNode {
		o.fail("links", "is %s; it maps devices to what their links are like, as in {nic0: {gen: 4, width: 8}}", links.kind)
		return
	}
	for _, f := range links.fields {
		at := s.linksOf(f.key)
		if len(at) == 0 {
			r.d.fail(f.pos, "%s has no link of %q; name a device such as nic0, or interconnect, nvlink, hbm; %s", s.tree.Name, f.key, suggestName(s.deviceNames(), f.key))
			return
		}
		readServerLink(r.d.object(f.value, o.join("links")+"."+f.key, serverLinkKeys()...), s, at)
	}
}

func serverLinkKeys() []string { return []string{"gen", "width", "rate", "latency"} }

// linksOf lists the links that a name means.
func (s *serverSettings) linksOf(name string) (out []int) {
	t := s.tree
	for i := range t.Links {
		l := &t.Links[i]
		between := t.Devices[l.A].Kind == server.Root && t.Devices[l.B].Kind == server.Root
		switch {
		case name == "interconnect" && between, name == "nvlink" && l.Kind == server.NVLink, name == "hbm" && l.Kind == server.HBM,
			t.Devices[l.B].Name == name && !between && l.Kind != server.NVLink && l.Kind != server.HBM:
			out = append(out, i)
		}
	}
	return out
}

func (s *serverSettings) deviceNames() (names []string) {
	for i := range s.tree.Devices {
		names = append(names, s.tree.Devices[i].Name)
	}
	return names
}

// readServerLink changes links.
func readServerLink(o object, s *serverSettings, links []int) {
	var gen, width int
	var rate units.Rate
	latency := units.Time(-1)
	o.integer("gen", &gen, 1, 6)
	o.integer("width", &width, 1, 16)
	if o.rate("rate", &rate) && rate == 0 {
		o.fail("rate", "a link of 0bps carries nothing; give more, or leave it out for what the server has")
	}
	readCost(o, "latency", &latency)
	for _, i := range links {
		l := &s.tree.Links[i]
		switch {
		case l.Kind != server.PCIe && gen+width > 0:
			o.fail(firstOf2(o, "gen", "width"), "this is a link of %s; give its rate and latency", l.Kind)
		case l.Kind == server.PCIe && rate > 0:
			o.fail("rate", "this is a PCIe link, whose rate follows from gen and width; give those")
		}
		if gen > 0 {
			l.PCIe.Gen = gen
		}
		if width > 0 {
			l.PCIe.Width = width
		}
		if rate > 0 {
			l.Rate = rate
		}
		if latency >= 0 {
			l.Latency = latency
		}
		if k := s.tree.Devices[l.B].Kind; rate > 0 && (l.Kind == server.MemoryBus && k == server.DRAM || l.Kind == server.HBM) {
			s.tree.Devices[l.B].Memory = rate
		}
		if l.Kind == server.PCIe && l.PCIe.Check() != nil {
			o.fail("width", "%v", l.PCIe.Check())
		}
	}
	if o.d.err == nil && len(links) > 0 {
		_, key, _ := strings.Cut(o.path, "server.")
		s.say(key, s.linkText(links[0]))
	}
}

// firstOf2 is the one of two keys that is given.
func firstOf2(o object, a, b string) string {
	if o.has(a) {
		return a
	}
	return b
}

// linkText says what a link is like.
func (s *serverSettings) linkText(i int) string {
	l := &s.tree.Links[i]
	if l.Kind == server.PCIe {
		return fmt.Sprintf("%v, %v", l.PCIe, l.Latency)
	}
	return fmt.Sprintf("%v, %v", l.Rate, l.Latency)
}

// readServerCosts changes the parts that belong to devices.
func (r *resolver) readServerCosts(o object, s *serverSettings) {
	fields := s.tree.Costs.Fields()
	keys := make([]string, len(fields))
	for i := range fields {
		keys[i] = fields[i].Key
	}
	costs := o.object("costs", keys...)
	for _, f := range fields {
		switch v := f.Value.(type) {
		case *units.Time:
			readCost(costs, f.Key, v)
		case *units.Bytes:
			if costs.size(f.Key, v) && (*v < f.Min || *v > f.Max) {
				costs.fail(f.Key, "%v is not from %v to %v", *v, f.Min, f.Max)
			}
		case *int:
			costs.integer(f.Key, v, int(f.Min), int(f.Max))
		}
		if text, ok := costs.scalar(f.Key); ok {
			s.say("costs."+f.Key, text)
		}
	}
	if p := s.tree.Costs.IOTLBPage; p&(p-1) != 0 {
		costs.fail("iotlb_page", "%v is not a power of 2; x86 has pages of 4KiB, 2MiB and 1GiB", p)
	}
}

// checkServers makes sure that the ports of hosts have cards.
func (r *resolver) checkServers() {
	for n := range r.v.Graph.Nodes {
		node := &r.v.Graph.Nodes[n]
		if r.d.err != nil || node.Kind != topology.Host || r.nics[n].server.inside() == nil {
			continue
		}
		s := r.nics[n].server
		cards := s.tree.NICs()
		if len(node.Ports) > len(cards) {
			r.d.fail(s.obj.keyPos(""), "%s has %d ports and its server, %s, has %s; port i is a port of card i: take fewer ports or another server",
				node.Name, len(node.Ports), s.tree.Name, cardCount(len(cards)))
			return
		}
		if r.nics[n].drain > 0 {
			r.d.fail(r.nics[n].obj.keyPos("drain_rate"), "drain_rate: %s has a server, whose PCIe links drain the receive buffer; remove one of the two", node.Name)
			return
		}
		for port := range node.Ports {
			if line := r.v.Graph.LinkAt(n, port).Rate; len(s.tree.Devices[cards[port]].Ports) > 0 && s.tree.Devices[cards[port]].Ports[0] > 0 && line > s.tree.Devices[cards[port]].Ports[0] {
				r.warn("card rate", "%s port %d runs at %v and its card, %s of %s, has a port of %v; the topology's rate is used", node.Name, port+1, line,
					s.tree.Devices[cards[port]].Name, s.tree.Name, s.tree.Devices[cards[port]].Ports[0])
			}
		}
	}
}

func cardCount(n int) string {
	if n == 1 {
		return "one card"
	}
	return fmt.Sprintf("%d cards", n)
}

// inside is the tree of a host; nil: none.
func (s *serverSettings) inside() *server.Tree {
	if s == nil {
		return nil
	}
	return s.tree
}

// serverNotes lists what is inside hosts: that of most, then those of single hosts.
func (r *resolver) serverNotes() {
	var seen []*serverSettings
	for n := range r.nics {
		s := r.nics[n].server
		if s.inside() == nil || slices.Contains(seen, s) {
			continue
		}
		seen = append(seen, s)
		r.note(s.obj.path, s.tree.Name, fromScenario)
		for _, x := range s.notes {
			key := strings.TrimPrefix(x.Key, "server")
			r.note(s.obj.path+key, x.Value, x.Source)
		}
	}
}

// serverSheets are the presets of servers.
func serverSheets() (out []Sheet) {
	about := map[string]string{
		"dgx-a100": "NVIDIA DGX A100", "hgx-a100": "a server with an HGX A100 board", "dgx-h100": "NVIDIA DGX H100",
		"hgx-h100": "a server with an HGX H100 board", "dgx-b200": "NVIDIA DGX B200", "gb200-nvl72": "a compute tray of NVIDIA GB200 NVL72",
		"two-socket": "a server with two sockets and one card"}
	for _, name := range server.Presets() {
		if t, err := server.Preset(name); err == nil {
			out = append(out, Sheet{"server", name, about[name], t.Notes})
		}
	}
	return out
}
