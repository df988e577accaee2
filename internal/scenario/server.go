package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/pcie"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/units"
)

// serverSettings is the key `server`: what is inside a host.
type serverSettings struct {
	tree   *server.Tree // nil: nothing, data are at the card
	staged bool         // gpudirect: off
	direct bool         // gpudirect: on, whatever NCCL's rules say
	// implied: the scenario says nothing of it but its cards.
	implied bool
	obj     object // where it stands
	notes   []record.Note
}

// noServer is the word for a host without an inside.
const noServer = "none"

// serverKeys are the keys of the section, which change s.
func (r *resolver) serverKeys(s *serverSettings) []key {
	t, direct, preset, nvswitch := s.tree, !s.staged, "", false
	if t == nil {
		t = new(server.Tree)
	}
	text := func(name, values, text string) key {
		return textKey(name, values, anyScalar(), func(object, string) {}, text) // see readServerFile
	}
	links := namedKey("links", func() []key { return linkInsideKeys(new(linkInside)) }, s.readLinks, "Single links, each named after the device below it (`nic0`, `gpu3`, `switch1`, `dram0`), or all of a kind "+
		"(`interconnect`, `nvlink`, `hbm`).")
	return joinKeys([]key{
		wordKey("preset", &preset, server.Presets(), "A server that is known; `hopscope show dgx-h100` lists its constants with their sources. `gb200-nvl72` is one tray."),
		text("file", "name of a file", "A topology file of NCCL or RCCL, or output of `nvidia-smi topo -m` ([server files](server.md)), relative to the scenario; `server: topo.xml` is short for it. "+
			"A run keeps the file's content as `text` beside it."),
		text("text", "text", "The content of such a file."),
		links,
		sectionKey("costs", s.said(serverCostKeys(t), "costs."), "Parts that belong to devices.").otherwise("the preset's").finish(func(o object) {
			if p := t.Costs.IOTLBPage; p&(p-1) != 0 {
				o.fail("iotlb_page", "%v is not a power of 2; x86 has pages of 4KiB, 2MiB and 1GiB", p)
			}
		}),
	}, s.said([]key{
		eitherKey("acs", &t.ACS, "direct", "redirect", "`redirect`: access control services send what one device sends another up to the root complex."),
		eitherKey("iommu", &t.IOMMU, "off", "on", "`on`: DMA addresses are translated, with misses."),
		eitherKey("relaxed_ordering", &t.Relaxed, "off", "on", "`off`: posted writes keep their order.").otherwise("`on`"),
		eitherKey("gpudirect", &direct, "off", "on", "`off`: data of GPUs go through the host's memory, by copies; `on`: never, whatever NCCL's levels say.").
			otherwise("by `net_gdr_level`").check(func(object) { s.staged, s.direct = !direct, direct }),
		s.levelKey("net_gdr_level", "Farthest class at which NCCL has a card read and write a GPU's memory (NCCL_NET_GDR_LEVEL); farther ones go through the host's memory.",
			func(c server.Class) { t.DirectLevel = c }).otherwise("`PXB`; where GPUs are packaged with CPUs `PHB`"),
		s.levelKey("p2p_level", "Farthest class at which NCCL has GPUs of a server read and write each other's memory (NCCL_P2P_LEVEL); `LOC`: only over NVLink.",
			func(c server.Class) { t.PeerLevel = c }).otherwise("`PXB`; `SYS` for two GPUs on AMD's processors"),
		eitherKey("nvswitch", &nvswitch, "off", "on", "Whether NVLinks join all GPUs through NVSwitches, as on HGX boards.").otherwise("as the file says, or its GPUs' model has it").check(func(o object) {
			if err := t.SetNVSwitch(nvswitch); err != nil {
				o.fail("nvswitch", "%v", err)
			}
		}),
		s.tlpSizeKey("mps", "Largest payload of every PCIe link, a power of two from 128B to 4096B.", func(l *pcie.Link, n units.Bytes) { l.MPS = n }).otherwise("256B"),
		flagKey("unbound", new(bool), "`true`: nothing inside binds: links are 64 times as fast and have no latency, memories answer at once, tags and credits do not run out, no address is translated. To see what the inside costs.").
			check(func(o object) {
				if o.text("unbound") == "true" {
					*t = *t.Unbound()
				}
			}),
		s.tlpSizeKey("mrrs", "Largest read request of every PCIe link.", func(l *pcie.Link, n units.Bytes) { l.MRRS = n }).otherwise("512B"),
	}, ""))
}

// levelKey is a class of NCCL's.
func (s *serverSettings) levelKey(name, text string, set func(server.Class)) key {
	word := ""
	return wordKey(name, &word, server.Levels(), text).check(func(object) { set(server.Level(word)) })
}

// serverKey is the key of a scenario or host, which readServer reads.
func (r *resolver) serverKey() key {
	k := readElsewhere("server", func() []key {
		s := &serverSettings{}
		s.tree, _ = server.Preset(server.Presets()[0])
		return r.serverKeys(s)
	}, "What is inside hosts: a preset, a file or a section that changes one; `none` takes it away.").otherwise("none").shortFor("preset")
	k.forms, k.group = []jsonSchema{anyScalar()}, "server"
	return k
}

// serverCostKeys are the parts that belong to devices.
func serverCostKeys(t *server.Tree) (keys []key) {
	for _, f := range t.Costs.Fields() {
		switch v := f.Value.(type) {
		case *units.Time:
			keys = append(keys, costKey(f.Key, v, f.Text))
		case *units.Bytes:
			keys = append(keys, sizeKey(f.Key, v, f.Text).within(int64(f.Min), int64(f.Max), fmt.Sprintf("is not from %v to %v", f.Min, f.Max)))
		case *int:
			keys = append(keys, numberKey(f.Key, v, int(f.Min), int(f.Max), f.Text))
		}
	}
	for i := range keys {
		keys[i] = keys[i].otherwise("")
	}
	return keys
}

// said has what the scenario gives noted.
func (s *serverSettings) said(keys []key, prefix string) []key {
	for i := range keys {
		name := keys[i].name
		keys[i] = keys[i].check(func(o object) { s.say(prefix+name, o.text(name)) })
	}
	return keys
}

// readServer reads `server` of the scenario or of one host, over what hosts have
// otherwise.
func (r *resolver) readServer(parent object, base *serverSettings) *serverSettings {
	v := parent.n.Get("server")
	if v == nil {
		return base
	}
	if v.Kind == scalarNode {
		s := &serverSettings{obj: object{d: r.d, n: &node{Pos: v.Pos}, path: parent.join("server")}}
		if v.Text != noServer {
			s.take(parent, "server", v.Text)
		}
		return s
	}
	s := base.copy()
	o := parent.object("server", r.serverKeys(s))
	s.obj = o
	if text, ok := o.scalar("preset"); ok {
		if o.has("file") {
			o.fail("file", "server has a preset and a file; keep one")
		}
		s.take(o, "preset", text)
	}
	r.readServerFile(o, s)
	if r.d.err == nil && s.tree == nil {
		r.d.fail(o.n.Pos, "%s names no server; give preset: with one of %s, or file:", o.path, suggestList(server.Presets()))
	}
	if r.d.err != nil {
		return s
	}
	o.read(r.serverKeys(s))
	if r.d.err == nil {
		if err := s.tree.Check(); err != nil {
			r.d.fail(o.n.Pos, "%s: %v", o.path, err)
		}
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
		hint := tree.Suggest(name, server.Presets())
		o.fail(key, "there is no server %q; %s", name, hint)
		return
	}
	s.tree, s.notes, s.staged, s.direct = t, t.Notes, false, false
}

// tlpSizeKey is a size that all PCIe links have.
func (s *serverSettings) tlpSizeKey(name, text string, set func(l *pcie.Link, n units.Bytes)) key {
	var n units.Bytes
	return sizeKey(name, &n, text).check(func(o object) {
		probe := pcie.New(3, 16)
		if set(&probe, n); probe.Check() != nil {
			o.fail(name, "%v is no size that PCIe has; it is a power of 2 from 128B to 4096B", n)
			return
		}
		for i := range s.tree.Links {
			if l := &s.tree.Links[i]; l.Kind == server.PCIe {
				set(&l.PCIe, n)
			}
		}
	})
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

// readLinks changes single links, each named after the device below it, or all of a kind.
func (s *serverSettings) readLinks(o object, name string) bool {
	links := o.n.Get(name)
	if links.Kind != mappingNode {
		o.fail(name, "is %s; it maps devices to what their links are like, as in {nic0: {gen: 4, width: 8}}", links.Kind)
		return false
	}
	for _, f := range links.Fields {
		at := s.linksOf(f.Key)
		if len(at) == 0 {
			o.d.fail(f.Pos, "%s has no link of %q; name a device such as nic0, or interconnect, nvlink, hbm; %s", s.tree.Name, f.Key, suggestName(s.deviceNames(), f.Key))
			return false
		}
		change := linkInside{latency: -1, nvlinks: -1}
		keys := linkInsideKeys(&change)
		one := o.d.object(f.Value, o.join(name)+"."+f.Key, keys)
		one.read(keys)
		if change.nvlinks >= 0 {
			s.changeNVLinks(one, change.nvlinks, f.Key)
		}
		s.changeLinks(one, &change, at)
	}
	return true
}

// linkInside is what changes about links inside a server; 0 or, of the latency, less: nothing.
type linkInside struct {
	gen, width int
	nvlinks    int // -1: as they are
	rate       units.Rate
	latency    units.Time
}

// linkInsideKeys are the keys of such a change.
func linkInsideKeys(l *linkInside) []key {
	return []key{
		numberKey("gen", &l.gen, 1, 6, "Generation of a PCIe link."),
		numberKey("nvlinks", &l.nvlinks, 1, 72, "NVLinks of a GPU that are up, of those that it has."),
		numberKey("width", &l.width, 1, 16, "Lanes of a PCIe link: 1, 2, 4, 8, 12 or 16."),
		rateKey("rate", &l.rate, "Rate of another link, per direction.").check(func(o object) {
			if l.rate == 0 {
				o.fail("rate", "a link of 0bps carries nothing; give more, or leave it out for what the server has")
			}
		}),
		costKey("latency", &l.latency, "One way."),
	}
}

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

// changeLinks changes links.
func (s *serverSettings) changeLinks(o object, by *linkInside, links []int) {
	gen, width, rate, latency := by.gen, by.width, by.rate, by.latency
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
	if o.d.err == nil && (gen+width > 0 || rate > 0 || latency >= 0) {
		_, key, _ := strings.Cut(o.path, "server.")
		s.say(key, s.linkText(links[0]))
	}
}

// changeNVLinks leaves so many NVLinks of a GPU.
func (s *serverSettings) changeNVLinks(o object, up int, gpu string) {
	changed := false
	for i := range s.tree.Links {
		l := &s.tree.Links[i]
		if l.Kind != server.NVLink || s.tree.Devices[l.A].Name != gpu && s.tree.Devices[l.B].Name != gpu {
			continue
		}
		if up > l.Count {
			o.fail("nvlinks", "%s has %d NVLinks; give at most that", gpu, l.Count)
			return
		}
		l.Rate, l.Count, changed = l.Rate*units.Rate(up)/units.Rate(l.Count), up, true
	}
	if !changed {
		o.fail("nvlinks", "%s of %s is no GPU with NVLinks; name one that is, such as gpu0", gpu, s.tree.Name)
		return
	}
	s.say("links."+gpu+".nvlinks", fmt.Sprint(up))
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

// checkServers makes sure that the ports of hosts have cards.
func (r *resolver) checkServers() {
	for n := range r.v.Graph.Nodes {
		node := &r.v.Graph.Nodes[n]
		if r.d.err != nil || node.Kind != topology.Host || r.nics[n].server.inside() == nil {
			continue
		}
		s := r.nics[n].server
		if len(s.tree.Nets) == 0 && r.alone {
			s.tree.AddCard()
			s.notes = append(s.notes, note("server.nic0", "a card that the server lacks",
				"assumed: every host has a port, which nothing here uses"))
		}
		nets := s.tree.Nets
		if len(node.Ports) > len(nets) {
			r.d.fail(s.obj.at(""), "%s has %d ports and its server, %s, has %s; port i of a host is port i of its cards: take fewer ports or another server",
				node.Name, len(node.Ports), s.tree.Name, portCount(len(nets)))
			return
		}
		if r.nics[n].drain > 0 {
			r.d.fail(r.nics[n].obj.at("drain_rate"), "drain_rate: %s has a server, whose PCIe links drain the receive buffer; remove one of the two", node.Name)
			return
		}
		for port := range node.Ports {
			if line := r.v.Graph.LinkAt(n, port).Rate; nets[port].Rate > 0 && line > nets[port].Rate {
				r.warn("card rate", "%s port %d runs at %v and its card, %s of %s, has a port of %v; the topology's rate is used", node.Name, port+1, line,
					s.tree.Devices[nets[port].Card].Name, s.tree.Name, nets[port].Rate)
			}
		}
		if s.implied {
			continue
		}
		if s.tree.IOMMU && !s.tree.ACS && len(s.tree.GPUs()) > 0 {
			r.warn("iommu "+s.obj.path, "%s: iommu is on and acs direct: Linux turns ACS redirection on with an IOMMU, so that what devices send each other goes up to the root complex; "+
				"give acs: redirect, or take the IOMMU to be in passthrough (iommu: off)", node.Name)
		}
		for _, w := range s.tree.SlowLinks() {
			r.warn("slow link "+s.obj.path+w.Text, "%s: %s", node.Name, w.Text)
		}
	}
}

func portCount(n int) string {
	switch n {
	case 0:
		return "no network card"
	case 1:
		return "one network port"
	}
	return fmt.Sprintf("%d network ports", n)
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
		if s.inside() == nil || s.implied || slices.Contains(seen, s) {
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
		"hgx-h100": "a server with an HGX H100 board", "dgx-b200": "NVIDIA DGX B200", "hgx-b200": "a server with an HGX B200 board and EPYC processors", "gb200-nvl72": "a compute tray of NVIDIA GB200 NVL72",
		"two-socket": "a server with two sockets and one card"}
	for _, name := range server.Presets() {
		if t, err := server.Preset(name); err == nil {
			out = append(out, Sheet{"server", name, about[name], t.Notes, nil})
		}
	}
	return out
}
