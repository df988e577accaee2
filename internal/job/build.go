package job

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Place knows where ranks are, and joins them.
type Place interface {
	// Rank is where a rank is, and how many multiprocessors its GPU has; 0: not known.
	Rank(r int) (workload.ProgramRank, int32)
	// Call appends a collective over ranks that is called so often; comm is the communicator, in Spec.Comms, or
	// below 0 that of a message from the first rank to the second.
	// Of AllToAll sizes, if not nil, are what each sends to each in place of equal parts.
	Call(ranks []int32, op collective.Op, bytes units.Bytes, sizes [][]units.Bytes, root, comm, times int) (
		*workload.Program, error)
	// Memory is the device of the host that is the memory nearest to a rank's GPU, or that GPU; false: there is none.
	Memory(r int, host bool) (device int16, ok bool)
}

// callKey is what a call of a rank's list is made from once: a collective on a communicator, or a
// message to the same peer, as a number or so many ranks on.
type callKey struct {
	kind     Kind
	coll     collective.Op
	on, peer int
	relative bool
	tag      int
	bytes    units.Bytes
	root     int
	matrix   int
}

// programKey is that of a program: of a group, or of a pair of ranks.
type programKey struct {
	callKey
	a, b int32
}

// Build appends a job that has passed Check to a plan. Bytes are rounded up to what divides into
// equal parts of whole elements.
func Build(plan *workload.Plan, entry int, s *Spec, place Place) error {
	b := builder{
		Spec:     s,
		plan:     plan,
		place:    place,
		calls:    make(map[callKey]int32),
		programs: make(map[programKey]int32),
		ways:     make(map[[2]Memory]int32),
	}
	b.job = &workload.Job{
		Entry: entry,
		Name:  s.Name,
		Start: s.Start,
		Steps: s.Steps,
		Peak:  s.Peak,
		Slow:  s.Slow, Jitter: s.Jitter, Seed: s.Seed,
		List:  s.Of,
		Begin: plan.AddLabel("begin"),

		Stages: s.Stages,
		Micro:  s.Micro,
		Chunks: s.Chunks,
	}
	for r := range s.Ranks {
		rank, n := place.Rank(r)
		b.job.Ranks, b.job.Processors = append(b.job.Ranks, rank), append(b.job.Processors, n)
	}
	if s.Ideal {
		for r := range b.job.Ranks {
			if b.job.Ranks[r].Host != b.job.Ranks[0].Host {
				return fmt.Errorf("an ideal network joins the ranks of one host, and ranks 0 and %d are on two", r)
			}
		}
		b.job.Ideal = &workload.Ideal{Delay: s.Delay, Label: plan.AddComputation("ideal network")}
	}
	b.countCalls()
	waits := s.waits()
	for l := range s.Lists {
		if err := b.list(l, waits[l]); err != nil {
			return err
		}
	}
	for i := range b.keys {
		if err := b.seat(i); err != nil {
			return err
		}
	}
	plan.AddJob(b.job)
	return nil
}

type builder struct {
	*Spec
	plan     *workload.Plan
	place    Place
	job      *workload.Job
	calls    map[callKey]int32 // in job.Calls; looked up, never iterated
	keys     []callKey         // of job.Calls
	times    [][]int32         // by call and list: how often in a step
	programs map[programKey]int32
	ways     map[[2]Memory]int32 // in job.Ways; looked up, never iterated
	labels   int
}

// key is what the call of an operation is known by.
func (o *Op) key(s *Spec) callKey {
	if o.Kind == Collective {
		return callKey{kind: Collective, coll: o.Coll, on: o.On, bytes: o.Bytes, root: o.Root, matrix: o.matrix}
	}
	return callKey{kind: o.Kind, peer: o.Peer, relative: o.Relative, tag: o.Tag, bytes: o.Bytes}
}

// countCalls finds what is called, and how often each list does so.
func (b *builder) countCalls() {
	for l := range b.Lists {
		for k := range b.Lists[l].Ops {
			o := &b.Lists[l].Ops[k]
			if o.Kind != Collective && o.Kind != Send && o.Kind != Recv {
				continue
			}
			key := o.key(b.Spec)
			n, known := b.calls[key]
			if !known {
				n = int32(len(b.keys))
				b.calls[key] = n
				b.keys, b.times = append(b.keys, key), append(b.times, make([]int32, len(b.Lists)))
			}
			b.times[n][l]++
		}
	}
}

// list makes the operations of a list.
func (b *builder) list(l int, waits [][]int32) (err error) {
	ops := make([]workload.JobOp, len(waits))
	names, streams := newNumbers(), newNumbers()
	for k := range ops {
		o := &b.Lists[l].Ops[k]
		name := o.Name
		if name == "" {
			name = b.shown(o)
		}
		x := workload.JobOp{Kind: workload.JobMark, Name: names.of(name), Stream: streams.of(o.Stream)}
		switch o.Kind {
		case Compute:
			x.Kind, x.Time, x.Label, x.Host = workload.JobCompute, o.Time, b.label(o), o.Host
		case Collective, Send, Recv:
			x.Kind, x.Call = workload.JobCalls, b.calls[o.key(b.Spec)]
		case Copy:
			x.Kind, x.Bytes, x.Label = workload.JobCopies, o.Bytes, b.copyLabel(o)
			if x.Call, err = b.way(int32(l), k); err != nil {
				return err
			}
		}
		ops[k] = x
	}
	out := workload.NewJobList(ops, names.list, waits)
	out.Streams = streams.list
	for k := range ops {
		out.Flops += b.Lists[l].Ops[k].Flops
	}
	b.job.Lists = append(b.job.Lists, out)
	return nil
}

// shown is what an operation without a name is called on a timeline.
func (b *builder) shown(o *Op) string {
	switch o.Kind {
	case Collective:
		return fmt.Sprintf("%s of %s on %s", o.Coll, o.Bytes, b.Comms[o.On].Name)
	case Send, Recv:
		return fmt.Sprintf("%s of %s", o.Kind, o.Bytes)
	}
	return o.Kind.String()
}

// numbers give each text a number, from 0.
type numbers struct {
	list  []string
	known map[string]int32 // looked up, never iterated
}

func newNumbers() *numbers { return &numbers{known: make(map[string]int32)} }

func (x *numbers) of(text string) int32 {
	n, is := x.known[text]
	if !is {
		n = int32(len(x.list))
		x.known[text], x.list = n, append(x.list, text)
	}
	return n
}

// label is that of a computation; beyond MostLabels all have one.
func (b *builder) label(o *Op) uint16 {
	return b.labelOf(o, "compute", "other computations", func(l *workload.Label) bool { return l.Computes },
		b.plan.AddComputation)
}

// copyLabel is that of a copy; beyond MostLabels all have one.
func (b *builder) copyLabel(o *Op) uint16 {
	return b.labelOf(o, "copy", "other copies", func(l *workload.Label) bool { return l.Copies }, b.plan.AddCopy)
}

// labelOf is the label of an operation, by its text or that of those without one; once there are MostLabels, that of
// the others unless it is known.
func (b *builder) labelOf(o *Op, none, others string, kind func(*workload.Label) bool, add func(string) uint16) uint16 {
	text := cmp.Or(o.Label, none)
	known := func(l workload.Label) bool { return kind(&l) && l.Text == text }
	if b.labels >= MostLabels && !slices.ContainsFunc(b.plan.Labels, known) {
		text = others
	}
	before := len(b.plan.Labels)
	n := add(text)
	b.labels += len(b.plan.Labels) - before
	return n
}

// seat gives each rank its place in the programs of a call, which are made when they are first met:
// a message is the same program for who sends and who receives it.
func (b *builder) seat(call int) error {
	key := b.keys[call]
	c := workload.JobCall{
		Name:    b.callName(&key),
		Message: key.kind != Collective,
		Bytes:   key.bytes,
		Seats:   make([]workload.JobSeat, b.Ranks),
	}
	for r := range c.Seats {
		c.Seats[r].Program = -1
		times := int(b.times[call][b.Of[r]]) * b.Steps
		if times == 0 {
			continue
		}
		members, place := []int32(nil), int32(0)
		p := programKey{callKey: key}
		p.peer, p.relative = 0, false
		o := Op{Peer: key.peer, Relative: key.relative}
		switch key.kind {
		case Collective:
			at := b.Comms[key.on].of[r]
			members, place, p.a = b.Comms[key.on].Groups[at.group], at.place, at.group
		case Send:
			p.a, p.b = int32(r), int32(o.peer(r))
			members = []int32{p.a, p.b}
		default:
			p.kind, p.a, p.b, place = Send, int32(o.peer(r)), int32(r), 1
			members = []int32{p.a, p.b}
		}
		if len(members) < 2 {
			continue
		}
		n, known := b.programs[p]
		if !known {
			coll, comm := key.coll, key.on
			if key.kind != Collective {
				coll, comm, times = collective.SendRecv, -1, b.sends(&p)*b.Steps
			}
			if ideal := b.job.Ideal; ideal != nil {
				n = int32(len(ideal.Members))
				ideal.Members = append(ideal.Members, int32(len(members)))
			} else {
				bytes := wholeParts(coll, key.bytes, len(members))
				if _, err := b.place.Call(members, coll, bytes, b.sizes(key.matrix), key.root, comm, times); err != nil {
					return err
				}
				n = int32(len(b.plan.Programs) - 1)
			}
			b.programs[p] = n
		}
		c.Seats[r] = workload.JobSeat{Program: n, Rank: place}
	}
	b.job.Calls = append(b.job.Calls, c)
	return nil
}

// sends is how many messages of a size and tag a rank sends to another in a step.
func (b *builder) sends(p *programKey) (n int) {
	ops := b.Lists[b.Of[p.a]].Ops
	for k := range ops {
		if o := &ops[k]; o.Kind == Send && o.Bytes == p.bytes && o.Tag == p.tag && o.peer(int(p.a)) == int(p.b) {
			n++
		}
	}
	return n
}

// sizes are those of a matrix by its number; nil: there is none.
func (b *builder) sizes(matrix int) [][]units.Bytes {
	if matrix == 0 {
		return nil
	}
	return b.matrices[matrix-1]
}

// way is the number of the ways of a list's copy, by rank, which are found for those that have it.
func (b *builder) way(list int32, k int) (int32, error) {
	o := &b.Lists[list].Ops[k]
	key := [2]Memory{o.From, o.To}
	n, known := b.ways[key]
	if !known {
		n = int32(len(b.job.Ways))
		b.ways[key] = n
		b.job.Ways = append(b.job.Ways, make([]workload.JobWay, b.Ranks))
	}
	for r, l := range b.Of {
		if l != list {
			continue
		}
		way := &b.job.Ways[n][r]
		for _, end := range []struct {
			of  *Memory
			dst *int16
		}{{&o.From, &way.From}, {&o.To, &way.To}} {
			at := end.of.rank(r)
			if at >= 0 && b.job.Ranks[at].Host != b.job.Ranks[r].Host {
				return 0, wrong(list, k, "%s: the GPUs of ranks %d and %d are in two hosts; send and recv carry data between them",
					b.ofRank(r, k), r, at)
			}
			var ok bool
			whose := at
			if at < 0 {
				whose = r
			}
			if *end.dst, ok = b.place.Memory(whose, at < 0); !ok {
				return 0, wrong(list, k, "%s: rank %d is no GPU of a server, and a copy is between memories of one", b.ofRank(r, k),
					whose)
			}
		}
	}
	return n, nil
}

// callName is how accounts call a call.
func (b *builder) callName(key *callKey) string {
	switch key.kind {
	case Collective:
		name := key.coll.String()
		if key.matrix > 0 {
			name += "v"
		}
		return name + " on " + b.Comms[key.on].Name
	case Send:
		return "send"
	}
	return "receive"
}

// wholeParts rounds up to a size that divides into equal parts of whole elements.
func wholeParts(op collective.Op, bytes units.Bytes, n int) units.Bytes {
	unit := collective.Element
	if op == collective.ReduceScatter || op == collective.AllGather || op == collective.AllToAll {
		unit *= units.Bytes(n)
	}
	return (bytes + unit - 1) / unit * unit
}
