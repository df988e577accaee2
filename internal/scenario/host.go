package scenario

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// hostSettings is the `host` section, and what `hosts` overrides of it.
type hostSettings struct {
	Host
	preset, card string
}

// hostKeys are the keys of a host section. why says why the kernel does nothing.
func hostKeys(s *hostSettings, why func() string) []key {
	return append(processorKeys(s, why), registrationKeys(s)...)
}

// Presets of hosts that name none: what RDMA alone costs is small and left out
// unless the scenario gives it; TCP without its host is not TCP.
const (
	freeHost = "free"
	tcpHost  = "linux-xeon"
)

// defaultHost costs nothing.
func defaultHost() hostSettings {
	s := hostSettings{Host: Host{PageSize: 4 * units.KiB}}
	s.take(freeHost)
	return s
}

// take makes s a host of a preset, with the preset's card.
func (s *hostSettings) take(preset string) {
	s.Spec, _ = host.Preset(preset)
	s.preset, s.card = preset, host.Cards()[0]
}

// maxHostCost bounds each cost, so that sums of them stay far from the clock's
// end.
const maxHostCost = 10 * units.Second

// maxKernelCost bounds what a kernel and its driver do for one call, frame or segment, and
// maxModeration how long a card holds an interrupt back: no measurement is near them.
const (
	maxKernelCost = units.Millisecond
	maxModeration = 10 * units.Millisecond
)

// registrationKeys say what memory and connections cost, on which no preset has a say.
func registrationKeys(s *hostSettings) []key {
	return []key{
		countedKey("register", &s.Register, []string{"ahead", "once", "per-message"}, "When memory is registered: ahead of the run, once (a queue pair's whole region before its "+
			"first message) or per message (its own pages before each).").unless(func() string {
			return when(s.Register != RegisterAhead && s.RegisterBase == 0 && s.RegisterPage == 0,
				"registering costs nothing; give registration: {base: .., per_page: ..}, as measured on your hosts")
		}),
		sectionKey("registration", []key{
			costKey("base", &s.RegisterBase, "Time of one registration.").otherwise("0"),
			costKey("per_page", &s.RegisterPage, "Time of each page that it pins.").otherwise("0"),
		}, "What registering memory costs.").unless(func() string {
			return when(s.Register == RegisterAhead, "memory is registered ahead of the run; give register: once or per-message")
		}),
		choiceKey("page_size", &s.PageSize, []string{"4KB", "64KB", "2MB", "1GB"}, []units.Bytes{4 * units.KiB, 64 * units.KiB, 2 * units.MiB, units.GiB},
			"Size of memory pages, a power of two."),
		costKey("connect", &s.Connect, "Set-up of a connection, before the first message of each queue pair.").otherwise("0"),
	}
}

// readProcessors applies the keys that say what kernel and application cost.
func readProcessors(o object, s *hostSettings) {
	o.read(processorKeys(s, nil))
	s.settle(o)
}

// readHosts gives every host its processors, once the workload tells where TCP
// connections end: there the host section stands over preset linux-xeon, elsewhere
// over free.
func (r *resolver) readHosts() {
	if r.d.err != nil {
		return
	}
	over := r.tcpEnds()
	var sections [2]*hostSettings // over free, and over linux-xeon
	for n := range r.nics {
		if r.v.Graph.Nodes[n].Kind != topology.Host {
			continue
		}
		k, preset := 0, freeHost
		if over[n] {
			k, preset = 1, tcpHost
		}
		if sections[k] == nil {
			sections[k] = &hostSettings{}
			sections[k].take(preset)
			readProcessors(r.hostObj, sections[k])
		}
		s := &r.nics[n]
		s.host.takeProcessors(sections[k])
		if s.hostOwn.n != nil {
			s.hostOwn.read(processorKeysOfHost(&s.host))
			s.host.settle(s.hostOwn)
		}
	}
	for _, s := range sections {
		if s != nil {
			r.base = *s // with TCP, that of its hosts
		}
	}
	r.giveProxies()
}

// giveProxies gives the threads that post and poll for GPUs their costs and a core each,
// where the scenario says neither.
func (r *resolver) giveProxies() {
	threads := make([]int, len(r.nics))
	note := func(endpoint int, thread int16) {
		n := r.v.Graph.HostOf(endpoint)
		threads[n] = max(threads[n], int(thread))
	}
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		note(c.Src, c.SrcThread)
		note(c.Dst, c.DstThread)
	}
	p := collective.DefaultProxy()
	for n := range r.nics {
		s := &r.nics[n]
		said := func(key string) bool { return r.hostObj.has(key) || s.hostOwn.n != nil && s.hostOwn.has(key) }
		if threads[n] == 0 || said("post") || said("poll") || said("repost") {
			continue
		}
		s.host.Proxy = host.Proxy{Post: p.Post, Poll: p.Poll, Repost: p.Repost}
		if !said("cores") {
			s.host.Cores = max(s.host.Cores, threads[n]+1)
		}
	}
}

// takeProcessors copies all but what readRegistration reads.
func (s *hostSettings) takeProcessors(from *hostSettings) {
	s.preset, s.card = from.preset, from.card
	s.Spec, s.Reposts = from.Spec, from.Reposts
}

// tcpEnds tells by node where TCP connections end: at all hosts if the workload
// has no queue pairs.
func (r *resolver) tcpEnds() []bool {
	ends := make([]bool, len(r.v.Graph.Nodes))
	for n := range ends {
		ends[n] = r.onlySockets() || r.onlyTCP() && r.kernelIWARP()
	}
	if r.v.Plan == nil {
		return ends
	}
	for i := range r.v.Plan.Conns {
		if c := &r.v.Plan.Conns[i]; c.Service == workload.TCP || c.Service == workload.IWARP && r.iwarp.Kernel {
			ends[r.v.Graph.HostOf(c.Src)], ends[r.v.Graph.HostOf(c.Dst)] = true, true
		}
	}
	return ends
}

// hostNotes lists what the host section says; with a preset all that hosts are
// like, as far as one has nothing else of its own.
func (r *resolver) hostNotes(o object) {
	section := object{d: r.d, n: orEmpty(o.n.Get("host")), path: "host"}
	said := flatten(section, nil)
	for i := range said {
		switch said[i].Key {
		case "host.post", "host.poll", "host.repost":
			if r.base.preset != freeHost {
				said[i].Key = strings.Replace(said[i].Key, "host.", "host.costs.", 1)
			}
		}
	}
	if r.base.preset != freeHost {
		for _, n := range r.base.notes() {
			if n.Key == "host.costs.crc" && !r.kernelIWARP() {
				continue // which nothing else has
			}
			for _, s := range said {
				if s.Key == n.Key || strings.HasPrefix(s.Key, n.Key+".") {
					n.Source = fromScenario
				}
			}
			if n.Key == "host.preset" && !section.has("preset") {
				n.Source = r.presetSource(n.Source)
			}
			r.v.Notes = append(r.v.Notes, n)
		}
	}
	for _, s := range said {
		if !r.base.lists(s.Key) && s.Key != "host.preset" {
			r.v.Notes = append(r.v.Notes, s)
		}
	}
	r.freeNotes()
}

// notes lists what a host with a preset is like; none if that is free.
func (s *hostSettings) notes() []record.Note {
	list := s.Notes(s.preset)
	if len(list) == 0 {
		return nil
	}
	card := note("host.offloads", s.card, "offloads of NVIDIA's ConnectX-4 and later (mlx5)")
	return append([]record.Note{list[0], card}, list[1:]...)
}

// presetSource says that a preset came by default, and where from.
func (r *resolver) presetSource(source string) string {
	if r.onlyTCP() && (r.kernelIWARP() || r.onlySockets()) {
		return "the default of hosts that run TCP: " + source
	}
	return "the default of hosts that run TCP, others cost nothing: " + source
}

// freeNotes points at hosts that run TCP and cost nothing.
func (r *resolver) freeNotes() {
	if !r.anySockets() && !r.kernelIWARP() {
		return
	}
	ends, runs := r.tcpEnds(), 0
	var free []string
	for n, is := range ends {
		if !is || r.v.Graph.Nodes[n].Kind != topology.Host {
			continue
		}
		if runs++; !r.nics[n].host.Kernel() {
			free = append(free, r.v.Graph.Nodes[n].Name)
		}
	}
	const nothing = "cost nothing, so that the network alone bounds TCP there"
	switch {
	case len(free) == 0:
	case len(free) == runs:
		r.note("host.preset", "free: hosts "+nothing, fromScenario)
	case len(free) == 1:
		r.note("host.free", free[0]+" costs nothing, so that the network alone bounds TCP there", fromScenario)
	default:
		r.note("host.free", fmt.Sprintf("%s and %d more %s", free[0], len(free)-1, nothing), fromScenario)
	}
}

// lists reports whether the preset's notes have a key, or what it is a part of.
func (s *hostSettings) lists(key string) bool {
	for _, n := range s.notes() {
		if n.Key == key || strings.HasPrefix(key, n.Key+".") {
			return true
		}
	}
	return false
}

// flatten lists the values of an object and of those in it.
func flatten(o object, to []record.Note) []record.Note {
	for _, f := range o.n.Fields {
		switch f.Value.Kind {
		case scalarNode:
			to = append(to, record.Note{Key: o.path + "." + f.Key, Value: f.Value.Text, Source: fromScenario})
		case mappingNode:
			to = flatten(object{d: o.d, n: f.Value, path: o.path + "." + f.Key}, to)
		}
	}
	return to
}

// kernelIdle says why the kernel of a host has nothing to do. Of a preset and its costs RDMA
// has those of posting and polling.
func (r *resolver) kernelIdle(n int) string {
	return when(!r.compared && !r.ends[n], passesBy)
}

const passesBy = "no connection there runs over TCP, and RDMA passes the kernel by; give stack: tcp or dctcp, or leave it out"
