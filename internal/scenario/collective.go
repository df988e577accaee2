package scenario

import (
	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// collectiveKeys are the keys of a collective.
func collectiveKeys() []string {
	return []string{"name", "op", "ranks", "size", "algorithm", "protocol", "channels", "chunk", "slices", "count", "root", "overhead",
		"start", "class", "dscp", "stack"}
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
	var overhead units.Time
	if o.time("overhead", &overhead) && overhead > 0 {
		s.Costs.Send = []workload.Part{{Name: "overhead", Time: overhead}}
	}
	r.readRanks(o, &s)
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

// readRanks reads the members of a collective; absent or "all" means every host by
// its first port.
func (r *resolver) readRanks(o object, s *collective.Spec) {
	o.note("ranks", listOf(anyScalar()))
	o.note("ranks", wordsOf("all", "hosts"))
	v := o.n.get("ranks")
	var eps []int
	switch {
	case v == nil, v.kind == scalarNode && (v.text == "all" || v.text == "hosts"):
		for ep, e := range r.v.Graph.Endpoints {
			if e.Port == 0 {
				eps = append(eps, ep)
			}
		}
	default:
		for _, item := range o.list("ranks") {
			eps = append(eps, r.endpoint(o, "ranks", item))
		}
	}
	if r.d.err != nil || o.describing() {
		return
	}
	slowest := units.Rate(0)
	for _, ep := range eps {
		e := r.v.Graph.Endpoints[ep]
		s.Ranks = append(s.Ranks, collective.Rank{Endpoint: ep, Host: e.Node, Device: workload.NoDevice})
		if rate := r.lineRate(e); slowest == 0 || rate < slowest {
			slowest = rate
		}
	}
	s.Speeds = collective.Speeds{Inter: float64(slowest) / 8e9, Network: 1}
}

// lineRate is the rate of an endpoint's link.
func (r *resolver) lineRate(e topology.Endpoint) units.Rate {
	return r.v.Graph.LinkAt(e.Node, e.Port).Rate
}
