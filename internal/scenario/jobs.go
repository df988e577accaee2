package scenario

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/job"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// maxSteps bounds how often a job's ranks run their lists.
const maxSteps = 1 << 20

// jobEntry is a job while it is read.
type jobEntry struct {
	collectiveEntry
	steps int
	ideal bool
	delay units.Time
	files jobFile
	comms []commSettings
	jobPlacement
	byOp [][]jobOp // by rank: what it runs, before ranks that run the same share a list
}

// commSettings are those of a communicator.
type commSettings struct {
	name      string
	size      int
	stride    int
	algorithm collective.Algorithm
	protocol  collective.Protocol
	channels  int
	pos       pos
}

// jobOp is an operation of a rank's list, and where it stands in the scenario.
type jobOp struct {
	job.Op
	item int
}

// jobsKey is the key of jobs.
func (r *resolver) jobsKey() key {
	return listedKey("jobs", func() []key { return r.jobKeys(newJobEntry(), r.newOptions()) }, readLater,
		"Programs that ranks run, such as steps of training, see [jobs](#jobs).").otherwise("none")
}

func newJobEntry() *jobEntry { return &jobEntry{collectiveEntry: *newCollectiveEntry(), steps: 1} }

// jobKeys are the keys of a job.
func (r *resolver) jobKeys(j *jobEntry, e *entryOptions) []key {
	own := r.collectiveKeys(&j.collectiveEntry, e)
	shared := slices.DeleteFunc(own, func(k key) bool {
		return slices.Contains(
			[]string{
				"op",
				"size",
				"sizes",
				"algorithm",
				"protocol",
				"channels",
				"chunk",
				"slices",
				"records",
				"count",
				"root",
				"stack",
			},
			k.name,
		)
	})
	return joinKeys(placementKeys(&j.jobPlacement), []key{
		numberKey("steps", &j.steps, 1, maxSteps, "How often ranks run their operations, one after the other."),
		eitherKey("network", &j.ideal, "simulated", "ideal",
			"`ideal`: in place of the network and NVLink calls take `delay` and nothing else, where all ranks are on "+
				"one host: what remains is "+"the order of the operations."),
		timeKey("delay", &j.delay, "What a call takes on an ideal network.").otherwise("0").within(0, int64(job.MostTime),
			"is longer than anything in a step; give at most 3600s").unless(func() string {
			return when(!j.ideal,
				"the network is simulated; give network: ideal")
		}),
		namedKey("communicators", func() []key { return commKeys(new(commSettings)) }, readLater,
			"Groups of ranks that carry out collectives, by name: `{tp: {size: 8}, dp: {size: 2, stride: 8}}`. "+
				"Each rank is in one group of a name at most.").otherwise("none"),
		sectionKey("model", modelKeys(newModel()), "A training step by the shape of its model and how it is spread, "+
			"in place of operations; [model](../models/training.md)."),
		textKey("file", "name of a file", anyScalar(), func(object, string) {}, "In place of operations a workload "+
			"file of "+
			"SimAI, or traces of Chakra, a file for each rank: `trace.%d.et`; [model](../models/training.md#files)."),
		lineKey("communicators_file", &j.files.groups, "Communicators of traces, as JSON such as `{\"1\": [0, 1]}`.").
			otherwise("one of all ranks"),
		eitherKey("sizes", &j.files.share, "whole", "share", "Whether the size of an AllGather in traces is that of "+
			"the whole "+
			"tensor, or what each rank has."),
		listedKey("operations", jobOpKeys, readLater, "What ranks do, in order: a list of operations, one each. Those of "+
			"a stream run one after the other, and so do those on a communicator.").otherwise("`model`").exactlyOne(),
	}, shared)
}

// commKeys are the keys of a communicator.
func commKeys(c *commSettings) []key {
	return []key{
		numberKey("size", &c.size, 1, collective.MaxRanks, "Ranks of a group.").otherwise("`groups`"),
		numberKey("stride", &c.stride, 1, collective.MaxRanks,
			"From a rank of a group to the next: with size 2 and stride 8 the groups are 0 and 8, 1 and 9, "+
				"...").otherwise("1"),
		listKey("groups", "list of lists of ranks", readLater,
			"The groups one by one, such as `[[0, 3], [1, 2]]`, in place of `size`."),
		countedKey("algorithm", &c.algorithm, collective.Algorithms(),
			"Of its collectives, as in [collective](#collective); those that do not have it take `auto`."),
		countedKey("protocol", &c.protocol, collective.Protocols(), "NCCL's protocol; `auto`: by its tuning model."),
		numberKey("channels", &c.channels, 1, collective.MaxChannels,
			"Parts of the data, each with thread blocks of its own.").otherwise("as NCCL would"),
	}
}

// jobCollectives are the operations of jobs that are collectives.
func jobCollectives() []string {
	return []string{"allreduce", "reducescatter", "allgather", "broadcast", "alltoall"}
}

// jobOpKeys are the kinds of operations of a job.
func jobOpKeys() (keys []key) {
	one := func(name, text string) {
		keys = append(keys, readElsewhere(name, func() []key { return opKeys(name, new(opSettings)) }, text))
	}
	one("compute", "Kernels that compute.")
	for _, name := range jobCollectives() {
		one(name, "A collective over a communicator. The k-th at a rank is the k-th at all ranks of its group.")
	}
	one("send", "A message to another rank, which receives it. It is over when its data have left their buffers.")
	one("recv", "Receives a message of another rank. The k-th of a pair of ranks is the k-th that was sent.")
	one("alltoallv", "An AllToAll in which each rank sends each other one as much as `sizes` say.")
	one("copy", "Data between the GPU and its host's memory, or another GPU of the host.")
	one("host", "Work of the host, which takes its time whatever the GPU does.")
	one("mark", "Nothing: other operations wait for it.")
	return keys
}

// opSettings is what an operation says.
type opSettings struct {
	name, on, stream string
	time             units.Time
	flops            float64
	size             units.Bytes
	root, tag        int
}

// opKeys are the keys of an operation of a kind.
func opKeys(kind string, s *opSettings) []key {
	keys := grouped("operation", []key{
		lineKey("name", &s.name,
			"Name, for `after` and in reports. Times of computations are added up by it.").otherwise("the kind"),
		listKey("ranks", "`all`, rank, range or list", readLater,
			"Who does it: numbers and ranges such as `[0, 8..15]`.").otherwise("`all`"),
		lineKey("stream", &s.stream,
			"Operations of one stream run one after the other.").otherwise("`compute`, the communicator's name, `send`, " +
			"`recv`, `mark`"),
		listKey("after", "list of names", readLater,
			"Operations of the same rank that must be over: the latest of that name before this one, or else the "+
				"first after it."),
	})
	switch kind {
	case "compute":
		keys = append(keys, timeKey("time", &s.time,
			"What it takes with the GPU to itself. Kernels of collectives take multiprocessors away, as many as "+
				"they have channels.").need("give the time, such as time: 1ms"), realKey("flops", &s.flops,
			"Floating-point operations of the model that it does, for utilisation (MFU).").otherwise("not known"))
	case "send":
		keys = append(keys, textKey("to", "rank, `+8`, `-8`", anyScalar(), func(object, string) {},
			"The receiver: a rank, or with a sign so many ranks on.").need("name a rank, or with a sign so many ranks on, "+
			"such as to: +8"),
			sizeKey("size", &s.size, "Bytes.").need("give the bytes"), numberKey("tag", &s.tag, 0, math.MaxInt32,
				"Messages of a pair meet in the order of those of a tag."))
	case "recv":
		keys = append(keys, textKey("from", "rank, `+8`, `-8`", anyScalar(), func(object, string) {},
			"The sender, likewise.").need("name a rank, or with a sign so many ranks on, such as from: -8"), sizeKey("size",
			&s.size, "Bytes.").need("give the bytes"), numberKey("tag", &s.tag, 0, math.MaxInt32,
			"Messages of a pair meet in the order of those of a tag."))
	case "host":
		keys = append(keys, timeKey("time", &s.time, "What it takes.").need("give the time, such as time: 1ms"))
	case "copy":
		end := func(name, text string) key {
			return textKey(name, "`gpu`, `host`, rank, `+1`, `-1`", anyScalar(), func(object, string) {}, text)
		}
		keys = append(keys, end("from", "Where the data are: `gpu`, that of the rank itself, `host`, the memory of its host "+
			"nearest to it, or the GPU of another rank in the host.").otherwise("`gpu`"),
			end("to", "Where they go, likewise.").otherwise("`host`"), sizeKey("size", &s.size, "Bytes.").need("give the bytes"))
	case "alltoallv":
		keys = append(keys, lineKey("on", &s.on, "The communicator.").need("name a communicator"),
			listKey("sizes", "list of sizes, or of such lists", readLater, "What the rank sends to each of its group, itself "+
				"included, in their order; or such a list for each rank of the group: `[[0, 1MB], [2MB, 0]]`.").need(
				"give what is sent to each rank"),
			listKey("receives", "list of sizes", readLater, "What it expects from each: who sends another size is named.").
				otherwise("what they send"))
	case "mark":
	default:
		keys = append(keys, lineKey("on", &s.on, "The communicator.").need("name a communicator"), sizeKey("size",
			&s.size,
			"Bytes, as in [collective](#collective); rounded up to equal parts of whole elements.").need("give the bytes"))
		if kind == "broadcast" {
			keys = append(keys, numberKey("root", &s.root, 0, collective.MaxRanks-1,
				"Place in its group of the rank that has the data."))
		}
	}
	return keys
}

// readJobs reads all jobs.
func (r *resolver) readJobs(n *node) {
	if n == nil || r.d.err != nil {
		return
	}
	if n.Kind != sequenceNode {
		r.d.fail(n.Pos, "jobs is %s; give a list such as - {ranks: gpus, operations: [...]}", n.Kind)
		return
	}
	for i, item := range n.Items {
		j, e := newJobEntry(), r.newOptions()
		keys := r.jobKeys(j, e)
		r.readJob(r.d.object(item, indexed("jobs", i), keys), keys, j, e)
	}
}

// readJob reads a job and appends it.
func (r *resolver) readJob(o object, keys []key, j *jobEntry, e *entryOptions) {
	entry := r.addEntry("job", o)
	e.class, e.dscp = int(e.Class), int(e.DSCP)
	o.read(keys)
	r.settleClass(o, e)
	r.ncclClass(o, e)
	e.Verb = workload.WriteImm // NCCL's, net_ib.cc
	switch {
	case OverTCP(r.v.Stack):
		o.d.fail(o.n.Pos, "%s: operations of jobs go over queue pairs, and the stack is %s; take an RDMA stack", o.path,
			r.v.Stack)
	case Narrow(r.v.Stack):
		o.d.fail(o.n.Pos, "%s: operations of jobs are writes with immediate data, which iWARP has none of before RFC 7306; "+
			"take another RDMA stack", o.path)
	}
	r.warnIdle(o, keys)
	j.Version, j.Env = r.nccl.version, r.nccl.env
	j.Start, e.Start = e.Start, workload.DefaultOptions().Start
	r.readRanks(o, &j.Spec)
	r.placeRanks(o, j)
	r.readStepCosts(o, &j.collectiveEntry)
	if r.d.err != nil {
		return
	}
	if r.v.CarryData {
		o.d.fail(o.n.Pos, "%s: carry_data compares messages one by one, which jobs do not keep; leave it out", o.path)
		return
	}
	spec, items := r.jobSpec(o, j, entry)
	if r.d.err != nil {
		return
	}
	at := func(err error) pos {
		var bad *job.Error
		if errors.As(err, &bad) && items != nil {
			return o.n.Get("operations").Items[items[bad.List][bad.Op]].Pos
		}
		return o.n.Pos
	}
	if err := spec.Check(); err != nil {
		r.d.fail(at(err), "%s: %v", o.path, err)
		return
	}
	mark := r.v.Plan.Mark()
	if err := job.Build(r.v.Plan, entry, &spec, &jobPlace{r, j, e, entry}); err != nil {
		r.d.fail(at(err), "%s: %v", o.path, err)
	}
	if o.text("enabled") == "false" || slices.Contains(r.without.Entries, entry) {
		r.v.Plan.Drop(mark)
	}
}

// jobSpec reads what ranks of a job do, and where operations stand by list, if the scenario lists them.
func (r *resolver) jobSpec(o object, j *jobEntry, entry int) (spec job.Spec, items [][]int) {
	spec = job.Spec{
		Name:  r.v.Plan.Entries[entry],
		Start: j.Start,
		Steps: j.steps,
		Ranks: len(j.Ranks),
		Ideal: j.ideal,
		Delay: j.delay,
		Slow:  j.slow, Jitter: j.jitter, Seed: r.v.Seed,
	}
	switch {
	case !onlyOne(o, "model", "operations", "file"):
		r.d.fail(o.n.Pos, "%s has no operations; give a list such as - compute: {name: forward, time: 1ms}, or a model "+
			"or a file: one of the three", o.path)
	case o.has("operations"):
		spec.Peak = gpuOf(r.gpuName(j.Ranks)).Flops
		r.readComms(o, j, &spec)
		r.readOperations(o, j, &spec)
		items = j.share(&spec)
	case o.has("communicators"):
		o.fail("communicators", "stands with operations; models and files have their own")
	case o.has("model"):
		r.readModel(o, j, &spec)
	default:
		r.readJobFile(o, j, &spec)
	}
	return spec, items
}

// onlyOne reports whether a section has one of some keys.
func onlyOne(o object, keys ...string) bool {
	n := 0
	for _, k := range keys {
		if o.has(k) {
			n++
		}
	}
	return n == 1
}

// readComms reads the communicators of a job.
func (r *resolver) readComms(o object, j *jobEntry, spec *job.Spec) {
	v := o.n.Get("communicators")
	if v == nil || r.d.err != nil {
		return
	}
	if v.Kind != mappingNode {
		o.fail("communicators", "is %s; it maps names to groups, such as {tp: {size: 8}}", v.Kind)
		return
	}
	for _, f := range v.Fields {
		c := commSettings{name: f.Key, stride: 1, pos: f.Pos}
		keys := commKeys(&c)
		s := r.d.object(f.Value, o.join("communicators")+"."+f.Key, keys)
		s.read(keys)
		if r.d.err != nil {
			return
		}
		comm := job.Comm{Name: f.Key}
		switch {
		case s.has("groups") && s.has("size"):
			s.fail("groups", "names the ranks one by one, and size says how many; keep one")
		case s.has("groups"):
			for _, item := range s.n.Get("groups").Items {
				var group []int32
				if item.Kind != sequenceNode || len(item.Items) == 0 {
					r.d.fail(item.Pos, "%s: a group is a list of ranks, such as [0, 3]", s.join("groups"))
					return
				}
				for _, x := range item.Items {
					group = append(group, r.rankNumber(s.join("groups"), x, spec.Ranks))
				}
				comm.Groups = append(comm.Groups, group)
			}
		case c.size == 0:
			r.d.fail(f.Pos, "%s has neither size nor groups; give one, such as size: 8", s.path)
		case spec.Ranks%(c.size*c.stride) != 0:
			s.fail("size",
				"%d ranks do not divide into groups of %d with stride %d; size times stride must divide the ranks", spec.Ranks,
				c.size, c.stride)
		default:
			comm.Groups = job.Strided(spec.Ranks, c.size, c.stride)
		}
		j.comms, spec.Comms = append(j.comms, c), append(spec.Comms, comm)
	}
}

// rankNumber reads the number of a rank.
func (r *resolver) rankNumber(path string, n *node, ranks int) int32 {
	v, err := strconv.Atoi(n.Text)
	if n.Kind != scalarNode || err != nil || v < 0 || v >= ranks {
		r.d.fail(n.Pos, "%s: %q is not a rank from 0 to %d", path, n.Text, ranks-1)
		return 0
	}
	return int32(v)
}

// ranksOf reads who carries out an operation.
func (r *resolver) ranksOf(o object, ranks int) (out []int32) {
	v := o.n.Get("ranks")
	if v == nil || v.Kind == scalarNode && v.Text == "all" {
		for k := range ranks {
			out = append(out, int32(k))
		}
		return out
	}
	seen := make([]bool, ranks)
	for _, item := range o.list("ranks") {
		lo, hi, isRange := strings.Cut(item.Text, "..")
		first := r.rankNumber(o.join("ranks"), &node{Kind: item.Kind, Text: lo, Pos: item.Pos}, ranks)
		last := first
		if isRange {
			last = r.rankNumber(o.join("ranks"), &node{Kind: item.Kind, Text: hi, Pos: item.Pos}, ranks)
		}
		if last < first {
			r.d.fail(item.Pos, "%s: %q ends before it begins", o.join("ranks"), item.Text)
		}
		if r.d.err != nil {
			return nil
		}
		for k := first; k <= last; k++ {
			if seen[k] {
				r.d.fail(item.Pos, "%s has rank %d twice", o.join("ranks"), k)
				return nil
			}
			seen[k] = true
		}
	}
	for k, is := range seen {
		if is {
			out = append(out, int32(k))
		}
	}
	return out
}

// readOperations reads the operations into the lists of ranks.
func (r *resolver) readOperations(o object, j *jobEntry, spec *job.Spec) {
	v := o.n.Get("operations")
	if r.d.err != nil {
		return
	}
	if v.Kind != sequenceNode || len(v.Items) == 0 {
		o.fail("operations", "is no list with operations; give one such as - compute: {name: forward, time: 1ms}")
		return
	}
	j.byOp = make([][]jobOp, spec.Ranks)
	var members [][]int32
	kinds := jobOpKeys()
	for i, item := range v.Items {
		path := indexed(o.join("operations"), i)
		x := r.d.object(item, path, kinds)
		if r.d.err != nil {
			return
		}
		if len(x.n.Fields) != 1 {
			r.d.fail(item.Pos, "%s has %d operations; give one per list item", path, len(x.n.Fields))
			return
		}
		kind := x.n.Fields[0].Key
		var s opSettings
		keys := opKeys(kind, &s)
		p := x.object(kind, keys)
		p.read(keys)
		op := r.jobOp(p, kind, &s, spec)
		ranks := r.ranksOf(p, spec.Ranks)
		if r.d.err != nil {
			return
		}
		members = append(members, ranks)
		for _, rank := range ranks {
			j.byOp[rank] = append(j.byOp[rank], jobOp{op, i})
		}
	}
	for i, item := range v.Items {
		kind := item.Fields[0].Key
		p := object{r.d, item.Fields[0].Value, indexed(o.join("operations"), i) + "." + kind, false}
		if p.n == nil || !p.has("after") {
			continue
		}
		for _, name := range p.list("after") {
			for _, rank := range members[i] {
				r.awaits(p, name, j.byOp[rank], i, int(rank))
			}
		}
	}
}

// jobOp is an operation as a job has it.
func (r *resolver) jobOp(p object, kind string, s *opSettings, spec *job.Spec) job.Op {
	op := job.Op{
		Name:   s.name,
		Label:  s.name,
		Stream: s.stream,
		Time:   s.time,
		Flops:  s.flops,
		Bytes:  s.size,
		Root:   s.root,
		Tag:    s.tag,
	}
	if op.Name == "" {
		op.Name, op.Label = kind, kind
	}
	stream, peer := kind, ""
	switch kind {
	case "compute":
		op.Kind = job.Compute
	case "host":
		op.Kind, op.Host = job.Compute, true
	case "copy":
		op.Kind, op.From, op.To = job.Copy, r.copyEnd(p, "from", "gpu"), r.copyEnd(p, "to", "host")
	case "mark":
		op.Kind, stream = job.Mark, "mark "+op.Name
	case "send":
		op.Kind, peer = job.Send, "to"
	case "recv":
		op.Kind, peer = job.Recv, "from"
	default:
		op.Kind, stream = job.Collective, s.on
		op.Coll = collective.Op(indexOf(strings.TrimSuffix(kind, "v"), collective.Ops()))
		if kind == "alltoallv" {
			r.readSizes(p, &op)
		}
		op.On = slices.IndexFunc(spec.Comms, func(c job.Comm) bool { return c.Name == s.on })
		if op.On < 0 && r.d.err == nil {
			var names []string
			for i := range spec.Comms {
				names = append(names, spec.Comms[i].Name)
			}
			p.fail("on", "there is no communicator %q; %s", s.on, suggestName(names, s.on))
		}
	}
	if op.Stream == "" {
		op.Stream = stream
	}
	if peer != "" && r.d.err == nil {
		text, _ := p.scalar(peer)
		n, err := strconv.Atoi(text)
		if err != nil {
			p.fail(peer, "%q is neither a rank nor, with a sign, so many ranks on", text)
		}
		op.Peer, op.Relative = n, strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-")
	}
	return op
}

// copyEnd reads an end of a copy.
func (r *resolver) copyEnd(p object, name, usual string) (m job.Memory) {
	text, ok := p.scalar(name)
	if !ok {
		text = usual
	}
	switch text {
	case "gpu":
	case "host":
		m.Host = true
	default:
		n, err := strconv.Atoi(text)
		if err != nil && r.d.err == nil {
			p.fail(name, "%q is neither gpu, host, a rank nor, with a sign, so many ranks on", text)
		}
		m.Other, m.Peer, m.Relative = true, n, strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-")
	}
	return m
}

// readSizes reads what ranks send to each other in an alltoallv.
func (r *resolver) readSizes(p object, op *job.Op) {
	row := func(items []*node) (out []units.Bytes) {
		out = []units.Bytes{}
		for _, x := range items {
			b, err := units.ParseBytes(x.Text)
			if x.Kind != scalarNode || err != nil {
				r.d.fail(x.Pos, "%s: %q is no size such as 1MB", p.path, x.Text)
				return nil
			}
			out = append(out, b)
		}
		return out
	}
	items := p.list("sizes")
	if r.d.err != nil {
		return
	}
	if len(items) > 0 && items[0].Kind == sequenceNode {
		op.Sizes = [][]units.Bytes{}
		for _, x := range items {
			if x.Kind != sequenceNode {
				r.d.fail(x.Pos, "%s is a list of lists, one for each rank of the group, or one list", p.join("sizes"))
				return
			}
			op.Sizes = append(op.Sizes, row(x.Items))
		}
	} else {
		op.Sends = row(items)
	}
	if p.has("receives") {
		op.Receives = row(p.list("receives"))
	}
}

// awaits has operation i of a rank's list wait for the one that a name means there.
func (r *resolver) awaits(p object, name *node, list []jobOp, i, rank int) {
	own := slices.IndexFunc(list, func(x jobOp) bool { return x.item == i })
	found := -1
	for k := own - 1; k >= 0 && found < 0; k-- {
		if list[k].Name == name.Text {
			found = k
		}
	}
	for k := own + 1; k < len(list) && found < 0; k++ {
		if list[k].Name == name.Text {
			found = k
		}
	}
	if found < 0 {
		var names []string
		for k := range list {
			if k != own {
				names = append(names, list[k].Name)
			}
		}
		r.d.fail(name.Pos, "%s: rank %d has no operation %q; %s", p.join("after"), rank, name.Text, suggestName(names,
			name.Text))
		return
	}
	list[own].After = append(slices.Clone(list[own].After), int32(found))
}

// share gives ranks that run the same one list, and returns by list where its operations stand.
func (j *jobEntry) share(spec *job.Spec) (items [][]int) {
	groups := make([][]int, len(spec.Comms)) // by rank
	for c := range spec.Comms {
		groups[c] = make([]int, spec.Ranks)
		for g, members := range spec.Comms[c].Groups {
			for _, r := range members {
				groups[c][r] = g
			}
		}
	}
	known := make(map[string]int32) // looked up, never iterated
	for rank, ops := range j.byOp {
		var id strings.Builder
		for _, o := range ops {
			fmt.Fprint(&id, o.item, ":")
			if o.Sends != nil && o.On >= 0 { // what its group sends may be another's
				fmt.Fprint(&id, groups[o.On][rank], ":")
			}
		}
		n, is := known[id.String()]
		if !is {
			n = int32(len(spec.Lists))
			known[id.String()] = n
			var list job.List
			var at []int
			for _, o := range ops {
				list.Ops, at = append(list.Ops, o.Op), append(at, o.item)
			}
			spec.Lists, items = append(spec.Lists, list), append(items, at)
		}
		spec.Of = append(spec.Of, n)
	}
	return items
}

// jobPlace joins the ranks of a job.
type jobPlace struct {
	*resolver
	*jobEntry
	options *entryOptions
	entry   int
}

// Rank implements job.Place.
func (p *jobPlace) Rank(k int) (workload.ProgramRank, int32) {
	x := &p.Ranks[k]
	out := workload.ProgramRank{Host: x.Host, Device: x.Device}
	if x.Device == workload.NoDevice {
		return out, 0
	}
	return out, int32(multiprocessors(p.nics[x.Host].server.tree.Devices[x.Device].Chip))
}

// multiprocessors is how many a GPU has, by its compute capability (NVIDIA's architecture whitepapers:
// V100 80, A100 108, H100 SXM5 132, B200 148); 0: not known.
func multiprocessors(chip string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(chip, "sm"))
	switch {
	case n >= 100:
		return 148
	case n >= 90:
		return 132
	case n >= 80:
		return 108
	case n >= 70:
		return 80
	}
	return 0
}

// Call implements job.Place.
func (p *jobPlace) Call(
	ranks []int32,
	op collective.Op,
	bytes units.Bytes,
	sizes [][]units.Bytes,
	root, comm int,
	times int,
) (*workload.Program, error) {
	s := p.Spec
	s.Ranks = nil
	for _, k := range ranks {
		s.Ranks = append(s.Ranks, p.Ranks[k])
	}
	s.Op, s.Bytes, s.Root, s.Iterations, s.OneWay = op, bytes, root, times, comm < 0
	s.Speeds, s.Sizes = p.speeds(s.Ranks), sizes
	if comm >= 0 {
		c := &p.comms[comm]
		s.Protocol, s.Channels = c.protocol, c.channels
		if c.algorithm == collective.AutoAlgorithm || op.Has(c.algorithm) {
			s.Algorithm = c.algorithm
		}
	}
	return collective.Call(p.v.Plan, p.entry, s, p.options.Options)
}

// Memory implements job.Place.
func (p *jobPlace) Memory(k int, host bool) (int16, bool) {
	x := &p.Ranks[k]
	if x.Device == workload.NoDevice || !host {
		return x.Device, x.Device != workload.NoDevice
	}
	dram := p.nics[x.Host].server.tree.DRAMOf(int(x.Device))
	return int16(dram), dram >= 0
}
