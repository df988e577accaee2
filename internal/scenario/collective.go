package scenario

import (
	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// collectiveKeys are the keys of a collective.
func collectiveKeys() []string {
	return []string{"name", "op", "ranks", "size", "algorithm", "protocol", "channels", "chunk", "slices", "count", "root", "overhead", "costs",
		"start", "gpudirect", "class", "dscp", "stack"}
}

// readCollective reads a collective and appends its operations.
func (r *resolver) readCollective(o object) {
	entry := r.addEntry("collective", o)
	opt := workload.DefaultOptions()
	if r.stack().Credits {
		opt.Class, opt.DSCP = 0, 0 // service level 0
	}
	r.readEntryStack(o, &opt)
	r.readClass(o, &opt)
	opt.Verb = workload.WriteImm // NCCL's, net_ib.cc: the responder must know of the end
	if opt.Profile > 0 {
		opt.Service, opt.Verb = workload.TCP, workload.Send
	}
	s := collective.Spec{Iterations: 1}
	r.readCollectiveWords(o, &s)
	o.need("size")
	if !o.size("size", &s.Bytes) && r.d.err == nil && !o.describing() {
		r.d.fail(o.n.pos, "%s has no size; give the bytes of the operation, as nccl-tests does, such as size: 64MB", o.path)
	}
	o.integer("channels", &s.Channels, 1, collective.MaxChannels)
	if o.size("chunk", &s.Chunk) && (s.Chunk < collective.Element || s.Chunk > workload.MaxBytes) {
		o.fail("chunk", "%s is not from %s to %s", s.Chunk, collective.Element, units.Bytes(workload.MaxBytes))
	}
	o.integer("slices", &s.Slices, 1, collective.MaxSlices)
	o.integer("count", &s.Iterations, 1, collective.MaxIterations)
	o.integer("root", &s.Root, 0, collective.MaxRanks-1)
	if s.Op != collective.Broadcast {
		r.ignored(o, "root", "%s has no root", s.Op)
	}
	o.time("start", &s.Start)
	r.readRanks(o, &s)
	r.readStepCosts(o, &s)
	if r.d.err != nil || o.describing() {
		return
	}
	if s.Start > workload.MaxStart {
		o.fail("start", "%s is later than %s, the latest possible", s.Start, units.Time(workload.MaxStart))
		return
	}
	if err := collective.Build(r.v.Plan, entry, s, opt); err != nil {
		r.d.fail(o.n.pos, "%s: %v", o.path, err)
	}
}

// readCollectiveWords reads what is said in words: operation, algorithm, protocol.
func (r *resolver) readCollectiveWords(o object, s *collective.Spec) {
	op, algorithm, protocol := "", collective.AutoAlgorithm.String(), collective.AutoProtocol.String()
	o.need("op")
	if !o.word("op", &op, collective.Ops()...) && r.d.err == nil && !o.describing() {
		r.d.fail(o.n.pos, "%s has no op; give one of %s", o.path, suggestList(collective.Ops()))
	}
	o.word("algorithm", &algorithm, collective.Algorithms()...)
	o.word("protocol", &protocol, collective.Protocols()...)
	s.Op = collective.Op(indexOf(op, collective.Ops()))
	s.Algorithm = collective.Algorithm(indexOf(algorithm, collective.Algorithms()))
	s.Protocol = collective.Protocol(indexOf(protocol, collective.Protocols()))
}

// indexOf is the place of a word; 0 where it is none of them.
func indexOf(word string, words []string) int {
	for i, w := range words {
		if w == word {
			return i
		}
	}
	return 0
}

// readRanks reads the members of a collective; absent or "all" means every GPU, or
// where there is none every host by its first port.
func (r *resolver) readRanks(o object, s *collective.Spec) {
	o.note("ranks", listOf(anyScalar()))
	o.note("ranks", wordsOf("all", "hosts", "gpus"))
	staged := r.readGPUDirect(o)
	v := o.n.get("ranks")
	word := ""
	if v == nil {
		word = "all"
	} else if v.kind == scalarNode {
		word = v.text
	}
	var places []int
	switch {
	case word == "all" && !r.anyGPU(), word == "hosts":
		for ep, e := range r.v.Graph.Endpoints {
			if e.Port == 0 {
				places = append(places, ep)
			}
		}
	case word == "all":
		places = r.gpus(o, "ranks", o.n, "")
	default:
		places = r.many(o, "ranks")
	}
	if r.d.err != nil || o.describing() {
		return
	}
	for _, number := range places {
		p := r.placeOf(number)
		rank := collective.Rank{Endpoint: p.endpoint, Host: r.v.Graph.HostOf(p.endpoint), Device: p.device}
		if p.device != workload.NoDevice {
			t := r.nics[rank.Host].server.tree
			rank.Distance = int(t.Class(int(p.device), t.NICs()[r.v.Graph.Endpoints[p.endpoint].Port]))
		}
		rank.Staged = r.staged(p, &workload.Conn{Service: workload.RC}, staged)
		s.Ranks = append(s.Ranks, rank)
	}
	if r.rankServer(s.Ranks) == nil {
		r.ignored(o, "gpudirect", "no rank is a GPU; give a server and ranks such as h0/gpu0")
	}
	s.Speeds = r.speeds(s.Ranks)
	s.Inline = true
	for _, rank := range s.Ranks {
		s.Inline = s.Inline && r.nics[rank.Host].maxInline >= collective.SlotMessage
	}
}

// anyGPU reports whether a host has GPUs.
func (r *resolver) anyGPU() bool {
	for n := range r.nics {
		if t := r.nics[n].server.inside(); t != nil && len(t.GPUs()) > 0 {
			return true
		}
	}
	return false
}

// speeds are what the tuning model knows of the ranks: the slowest link between hosts,
// and what joins the GPUs of the first host.
func (r *resolver) speeds(ranks []collective.Rank) collective.Speeds {
	out := collective.Speeds{Network: 1}
	out.Inter = r.slowestHost(ranks)
	t := r.rankServer(ranks)
	if t == nil {
		return out
	}
	if gpus := t.GPUs(); len(gpus) > 1 {
		path, joined := t.NVPath(gpus[0], gpus[1])
		if !joined {
			path, _ = t.Path(gpus[0], gpus[1]) // refused below, where it is needed
		}
		out.NVLink = joined
		for _, h := range path {
			if rate := float64(t.LinkRate(h.Link)) / 8e9; out.Intra == 0 || rate < out.Intra {
				out.Intra = rate
			}
		}
	}
	// By what NVLink brings: 18 links and more from Hopper on, 12 of Ampere.
	out.Hopper = out.NVLink && out.Intra >= 300
	out.Ampere = out.NVLink && !out.Hopper && out.Intra >= 200
	return out
}

// slowestHost is the rate of all network ports that a host's ranks use together, in
// GB/s, of the host where that is least.
func (r *resolver) slowestHost(ranks []collective.Rank) float64 {
	sum := make([]units.Rate, len(r.v.Graph.Nodes))
	used := make([]bool, len(r.v.Graph.Endpoints))
	for _, rank := range ranks {
		if !used[rank.Endpoint] {
			used[rank.Endpoint] = true
			sum[rank.Host] += r.lineRate(r.v.Graph.Endpoints[rank.Endpoint])
		}
	}
	slowest := units.Rate(0)
	for _, rate := range sum {
		if rate > 0 && (slowest == 0 || rate < slowest) {
			slowest = rate
		}
	}
	return float64(slowest) / 8e9
}

// rankServer is the server of the first rank that is a GPU; nil: none is.
func (r *resolver) rankServer(ranks []collective.Rank) *server.Tree {
	for _, rank := range ranks {
		if rank.Device != workload.NoDevice {
			return r.nics[rank.Host].server.inside()
		}
	}
	return nil
}

// readStepCosts reads what steps take beside their transfers: a plain overhead, or
// the parts of a step on a GPU.
func (r *resolver) readStepCosts(o object, s *collective.Spec) {
	var overhead units.Time
	if o.time("overhead", &overhead) && overhead > 0 {
		parts := []workload.Part{{Name: "overhead", Time: overhead}}
		s.Costs.Inside, s.Costs.Outside = parts, parts
	}
	var gpu collective.GPU
	t := r.rankServer(s.Ranks)
	if t != nil {
		gpu = collective.GPU{HBMRead: t.Costs.HBMRead, Launch: t.Costs.KernelLaunch, Flush: !s.Speeds.Hopper}
		gpu.Link = betweenGPUs(t)
	}
	parts := collective.GPUCosts(gpu)
	keys := make([]string, len(parts))
	for i := range parts {
		keys[i] = parts[i].Key
	}
	costs := o.object("costs", keys...)
	for i := range parts {
		if readCost(costs, parts[i].Key, &parts[i].Time) {
			parts[i].Source = fromScenario
		}
	}
	switch {
	case r.d.err != nil || o.describing():
	case t == nil:
		r.ignored(o, "costs", "no rank is a GPU; give overhead, or a server and ranks such as h0/gpu0")
	case overhead > 0:
		o.fail("overhead", "stands for what steps take on plain hosts; ranks that are GPUs have costs")
	default:
		s.GPU = parts
		for _, c := range parts {
			r.note(o.path+".costs."+c.Key, c.Time.String(), c.Source)
		}
	}
}

// betweenGPUs is the latency from the first GPU of a server to the second.
func betweenGPUs(t *server.Tree) (sum units.Time) {
	gpus := t.GPUs()
	if len(gpus) < 2 {
		return 0
	}
	path, joined := t.NVPath(gpus[0], gpus[1])
	if !joined {
		path, _ = t.Path(gpus[0], gpus[1])
	}
	for _, h := range path {
		sum += t.Links[h.Link].Latency
	}
	return sum
}

// lineRate is the rate of an endpoint's link.
func (r *resolver) lineRate(e topology.Endpoint) units.Rate {
	return r.v.Graph.LinkAt(e.Node, e.Port).Rate
}
