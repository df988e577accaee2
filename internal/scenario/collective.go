package scenario

import (
	"math"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// collectiveEntry is an entry of collectives while it is read.
type collectiveEntry struct {
	collective.Spec
	sizes    sizeRange
	overhead units.Time
	costs    []collective.Cost // as far as the scenario gives them
}

// newCollectiveEntry is what holds without keys.
func newCollectiveEntry() *collectiveEntry {
	return &collectiveEntry{Spec: collective.Spec{Iterations: 1}, costs: collective.GPUCosts(collective.GPU{})}
}

// collectiveKeys are the keys of a collective.
func (r *resolver) collectiveKeys(s *collectiveEntry, e *entryOptions) []key {
	costs := make([]key, len(s.costs))
	for i := range s.costs {
		c := &s.costs[i]
		costs[i] = costKey(c.Key, &c.Time, "Time of: "+c.Name+".").otherwise("see the model").check(func(object) { c.Source = fromScenario })
	}
	return joinKeys([]key{
		countedKey("op", &s.Op, collective.Ops(), "The operation; with `sendrecv` each rank sends to the next.").otherwise("").need("give one of " + suggestList(collective.Ops())),
		sizeKey("size", &s.Bytes, "Bytes, counted as nccl-tests does: the larger of what a rank gives and what it gets; whole elements of 4 bytes, and of `reducescatter`, `allgather` and "+
			"`alltoall` an equal part for each rank.").otherwise("`sizes`"),
		sectionKey("sizes", s.sizes.keys(), "Sizes in place of one, each a collective by itself, well after the one before: the table that nccl-tests prints. Sizes are rounded down to equal parts."),
		listKey("ranks", "list of GPUs or hosts, `all`, `gpus`, `hosts`", readLater, "GPUs (`h0/gpu3`, `h0/gpus`) or hosts (`h4`, or `h4:2` for its second port) in the order of the ring; "+
			"`all`: every GPU, or where there is none every host by its first port.").otherwise("`all`"),
		countedKey("algorithm", &s.Algorithm, collective.Algorithms(), "`ring` (NCCL's: each passes through every host once); `single-ring` (one over the ranks in their order); `tree`, `nvls` (one host) and `nvlstree` (`allreduce` only); `pairwise` (`alltoall`, `sendrecv`); `hierarchical`: what `ring` was called; "+
			"`auto`: by NCCL's tuning model."),
		countedKey("protocol", &s.Protocol, collective.Protocols(), "NCCL's protocol; `auto`: by its tuning model."),
		numberKey("channels", &s.Channels, 1, collective.MaxChannels, "Parts of the data, each with a ring or tree of its own; of `alltoall` those that all peers share.").
			otherwise("1; `tree`: 2; more on GPUs, see the model"),
		sizeKey("chunk", &s.Chunk, "Payload of one step of a channel, at most.").otherwise("2MiB (ring, `simple`), 512KiB (`simple`), 32KiB (`ll`), 576000B (`ll128`)").check(func(o object) {
			if s.Chunk < collective.Element || s.Chunk > workload.MaxBytes {
				o.fail("chunk", "%s is not from %s to %s", s.Chunk, collective.Element, units.Bytes(workload.MaxBytes))
			}
		}),
		numberKey("slices", &s.Slices, 1, collective.MaxSlices, "Messages into which a chunk above 32KiB is cut.").otherwise("2 (ring, `simple`), 1"),
		countedKey("records", &s.Records, collective.RecordKinds(),
			"What is kept of the operations: `messages`, each of them; `sums`, times added up by kind, in little "+
				"memory and without a critical path (rings, `broadcast` and `alltoall`).").
			otherwise("`messages` up to 1,048,576 operations, then `sums`"),
		numberKey("count", &s.Iterations, 1, collective.MaxIterations, "How often, one after the other."),
		numberKey("root", &s.Root, 0, collective.MaxRanks-1, "Rank that has the data of `broadcast`.").unless(func() string {
			return when(s.Op != collective.Broadcast, s.Op.String()+" has no root")
		}),
		timeKey("overhead", &s.overhead, "What each step that sends takes beside the network, where ranks are hosts.").otherwise("0"),
		sectionKey("costs", costs, "Parts of a step where ranks are GPUs."),
	}, usedBy(r.optionKeys(e), ofCollectives))
}

// readCollective reads a collective and appends its operations.
func (r *resolver) readCollective(o object) {
	entry := r.addEntry("collective", o)
	e, s := r.newOptions(), newCollectiveEntry()
	r.readEntryStack(o, &e.Options)
	e.class, e.dscp = int(e.Class), int(e.DSCP)
	keys := r.collectiveKeys(s, e)
	o.read(keys)
	r.settleClass(o, e)
	r.ncclClass(o, e)
	e.Verb = workload.WriteImm // NCCL's, net_ib.cc: the responder must know of the end
	switch {
	case e.sockets():
		e.Service, e.Verb = workload.TCP, workload.Send
	case e.Profile > 0: // which has no immediate data
		e.Service, e.Verb = workload.IWARP, workload.Send
	}
	r.warnIdle(o, keys)
	s.Version, s.Env = r.nccl.version, r.nccl.env
	r.warnEnv(o, &s.Spec)
	s.Start, e.Start = e.Start, workload.DefaultOptions().Start
	r.readRanks(o, &s.Spec)
	r.readStepCosts(o, s)
	s.checkSizes(o)
	if r.d.err != nil {
		return
	}
	if r.v.CarryData { // which are compared message by message
		if s.Records == collective.SumRecords {
			o.fail("records", "sums stands with carry_data, which looks at each message; use messages")
			return
		}
		s.Records = collective.EachRecord
	}
	if s.Start > workload.MaxStart {
		o.fail("start", "%s is later than %s, the latest possible", s.Start, units.Time(workload.MaxStart))
		return
	}
	first := len(r.v.Plan.Conns)
	for _, s.Bytes = range s.all() {
		if err := collective.Build(r.v.Plan, entry, s.Spec, e.Options); err != nil {
			r.d.fail(o.n.Pos, "%s: %v", o.path, err)
			return
		}
		s.Start += s.apart()
	}
	for i := first; i < len(r.v.Plan.Conns); i++ { // NCCL sets TCP_NODELAY on its sockets (misc/socket.cc)
		r.v.Plan.Conns[i].NoDelay = r.v.Plan.Conns[i].Service == workload.TCP
	}
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
	staged := r.readGPUDirect(o)
	v := o.n.Get("ranks")
	word := ""
	if v == nil {
		word = "all"
	} else if v.Kind == scalarNode {
		word = v.Text
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
	if r.d.err != nil {
		return
	}
	for _, number := range places {
		p := r.placeOf(number)
		rank := collective.Rank{Endpoint: p.endpoint, Host: r.v.Graph.HostOf(p.endpoint), Device: p.device}
		if p.device != workload.NoDevice {
			t := r.nics[rank.Host].server.tree
			card := t.Nets[r.v.Graph.Endpoints[p.endpoint].Port].Card
			rank.Distance = int(t.Class(int(p.device), card))
			rank.Far = rank.Distance > int(server.PXB) && t.HasNVSwitch()
		}
		rank.Staged = r.staged(p, &workload.Conn{Service: workload.RC}, staged) || r.stagedByNCCL(p, staged)
		s.Ranks = append(s.Ranks, rank)
	}
	if r.rankServer(s.Ranks) == nil {
		r.ignored(o, "gpudirect", "no rank is a GPU; give a server and ranks such as h0/gpu0")
	}
	s.Between = func(from, to *collective.Rank) int16 { return r.memoryBetween(from, to, staged) }
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
	out := collective.Speeds{Inter: r.slowestHost(ranks)}
	t := r.rankServer(ranks)
	if t == nil {
		return out
	}
	gpus := t.GPUs()
	if len(gpus) == 0 {
		return out
	}
	if len(gpus) > 1 {
		path, joined := t.NVPath(gpus[0], gpus[1])
		if !joined {
			path, _ = t.Path(gpus[0], gpus[1]) // refused below, where it is needed
		}
		out.NVLink, out.NVSwitch = joined, joined && t.HasNVSwitch()
		for _, h := range path {
			if rate := float64(t.LinkRate(h.Link)) / 8e9; out.Intra == 0 || rate < out.Intra {
				out.Intra = rate
			}
		}
	}
	if root := t.RootOf(gpus[0]); root >= 0 {
		out.AMD = t.Devices[root].Chip == server.AMD
	}
	out.Generation = generation(t.Devices[gpus[0]].Chip)
	out.OwnCards = ownCards(t)
	return out
}

// ownCards reports whether no two GPUs are as near to one card as the nearest pair of a GPU and
// a card is.
func ownCards(t *server.Tree) bool {
	nearest, sharers := server.Class(math.MaxUint8), 0
	for _, net := range t.Nets {
		for _, gpu := range t.GPUs() {
			nearest = min(nearest, t.Class(gpu, net.Card))
		}
	}
	for _, net := range t.Nets {
		n := 0
		for _, gpu := range t.GPUs() {
			if t.Class(gpu, net.Card) == nearest {
				n++
			}
		}
		sharers = max(sharers, n)
	}
	return sharers == 1
}

// generation is the row of NCCL's tables for a GPU: by compute capability 80, 90 and 100
// are the first of theirs.
func generation(chip string) collective.Generation {
	n, _ := strconv.Atoi(strings.TrimPrefix(chip, "sm"))
	switch {
	case n >= 100:
		return collective.Blackwell
	case n >= 90:
		return collective.Hopper
	case n >= 80:
		return collective.Ampere
	}
	return collective.Volta
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
func (r *resolver) readStepCosts(o object, s *collectiveEntry) {
	if s.overhead > 0 {
		parts := []workload.Part{{Name: "overhead", Time: s.overhead}}
		s.Costs.Inside, s.Costs.Outside = parts, parts
	}
	t := r.rankServer(s.Ranks)
	switch {
	case r.d.err != nil:
	case t == nil:
		r.ignored(o, "costs", "no rank is a GPU; give overhead, or a server and ranks such as h0/gpu0")
	case s.overhead > 0:
		o.fail("overhead", "stands for what steps take on plain hosts; ranks that are GPUs have costs")
	default:
		s.GPU = collective.GPUCosts(collective.GPU{HBMRead: t.Costs.HBMRead, Launch: t.Costs.KernelLaunch, Link: betweenGPUs(t), Generation: s.Speeds.Generation})
		for i := range s.GPU {
			if s.costs[i].Source == fromScenario {
				s.GPU[i] = s.costs[i]
			}
			r.note(o.path+".costs."+s.GPU[i].Key, s.GPU[i].Time.String(), s.GPU[i].Source)
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
