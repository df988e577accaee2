package workload

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/units"
)

// Op names an operation of a plan: a message by its number, before Finish by the
// index of its series, a
// local operation by what OpOfLocal makes of its index in Plan.Locals. Finish
// sorts messages and renames with them what the plan knows.
type Op int32

// OpOfMessage names message i.
func OpOfMessage(i int) Op { return Op(i) }

// OpOfLocal names local operation i.
func OpOfLocal(i int) Op { return Op(^i) }

// End is what of an operation another one waits for.
type End uint8

// Ends. A local operation has the first alone, at its host.
const (
	Completed End = iota // of a message: at the requester, however it ends
	Received             // of a message: the responder has accepted its last byte
	numEnds
)

// NoDevice stands for no device of a server.
const NoDevice int16 = -1

// Local is an operation inside one host, such as the step of a collective that
// takes a chunk out of a receive buffer, reduces it and hands it on.
type Local struct {
	Host  int // node index
	Entry int // workload entry it belongs to
	// Label says what it does and what its delay is made of; an index into
	// Plan.Labels.
	Label uint16
	// Awaits: it starts when all the operations that it is After have ended; else
	// at Start.
	Awaits   bool
	Start    units.Time
	Work     units.Time // what it takes at least from when its data begin to move
	From, To int16      // devices of the host's server that its data move between; NoDevice: none
	Bytes    units.Bytes
}

// MaxLocals bounds the local operations of a plan, MaxEdges what they and
// messages wait for.
const (
	MaxLocals = 1 << 24
	MaxEdges  = 1 << 27
)

// edge says that one operation starts after another has ended.
type edge struct {
	from, to Op
	end      End
}

// AddLocal adds a local operation and returns its name.
func (p *Plan) AddLocal(l Local) Op {
	p.Locals = append(p.Locals, l)
	return OpOfLocal(len(p.Locals) - 1)
}

// Size is how much has been added to a plan: series of messages, local operations and what
// they wait for.
type Size struct{ series, locals, edges int }

// Size is that of the plan.
func (p *Plan) Size() Size { return Size{len(p.Series), len(p.Locals), len(p.edges)} }

// Grow makes room for n times what was added since a plan had a size, so that nothing of what
// is alike and many is copied as it grows.
func (p *Plan) Grow(since Size, n int) {
	p.Series = slices.Grow(p.Series, n*(len(p.Series)-since.series))
	p.Locals = slices.Grow(p.Locals, n*(len(p.Locals)-since.locals))
	p.edges = slices.Grow(p.edges, n*(len(p.edges)-since.edges))
}

// Label is what local operations have in common: what they do, and what takes them
// time before their data move, or in all.
type Label struct {
	Text     string
	Parts    []Part
	Computes bool // of a job's computations, which move no data
	Copies   bool // of a job's copies
}

// Part is a named part of a local operation's time.
type Part struct {
	Name string
	Time units.Time
}

// Delay is the sum of the parts.
func (l *Label) Delay() (d units.Time) {
	for _, p := range l.Parts {
		d += p.Time
	}
	return d
}

// AddLabel returns the number of a label of local operations.
func (p *Plan) AddLabel(text string, parts ...Part) uint16 {
	for i := range p.Labels {
		if l := &p.Labels[i]; l.Text == text && !l.Computes && !l.Copies && slices.Equal(l.Parts, parts) {
			return uint16(i)
		}
	}
	p.Labels = append(p.Labels, Label{Text: text, Parts: parts})
	return uint16(len(p.Labels) - 1)
}

// AddComputation returns the number of the label of computations of a name.
func (p *Plan) AddComputation(text string) uint16 {
	for i := range p.Labels {
		if l := &p.Labels[i]; l.Text == text && l.Computes {
			return uint16(i)
		}
	}
	p.Labels = append(p.Labels, Label{Text: text, Computes: true})
	return uint16(len(p.Labels) - 1)
}

// AddCopy returns the number of the label of a job's copies of a name.
func (p *Plan) AddCopy(text string) uint16 {
	for i := range p.Labels {
		if l := &p.Labels[i]; l.Text == text && l.Copies {
			return uint16(i)
		}
	}
	p.Labels = append(p.Labels, Label{Text: text, Copies: true})
	return uint16(len(p.Labels) - 1)
}

// AddMessage appends a message to a connection and returns its name.
func (p *Plan) AddMessage(m Message) Op {
	p.add(Series{Message: m, Count: 1})
	return OpOfMessage(len(p.Series) - 1)
}

// After has op wait for an end of another operation, which must be at the host
// where op starts. A message that waits is started by nothing else.
func (p *Plan) After(op, other Op, end End) {
	if op >= 0 {
		p.Series[op].Awaits, p.Series[op].Start = true, units.Never
	} else {
		p.Locals[^op].Awaits = true
	}
	p.edges = append(p.edges, edge{other, op, end})
}

// Collective is what a run has to know of a collective to report it: when it is
// over, and what nccl-tests prints of it.
type Collective struct {
	Entry     int
	Op        string // as scenarios write it
	Algorithm string
	Protocol  string
	Ranks     int
	Channels  int
	Chunk     units.Bytes // of a step, at most
	Bytes     units.Bytes
	Count     int64 // elements
	Root      int   // -1: none
	Reduces   bool
	Start     units.Time
	// Program is its number in Plan.Programs, from 1, where its operations are made as it runs;
	// 0: they are the plan's.
	Program int
	// Last lists, by iteration, the operations with which its ranks end; not of programs.
	Last [][]Op
}

// Connect appends a connection from one endpoint to another and returns its index.
func (p *Plan) Connect(entry, from, to int, o Options) int { return p.connect(entry, from, to, 0, o) }

// Graph is what operations wait for. They are numbered from 0: the messages of
// the plan in its order, then its local operations in theirs.
type Graph struct {
	// Need is, by operation, how many ends start it; 0: it starts by time or by a
	// trigger.
	Need  []int32
	first []int32 // by operation and end: where its list begins in then; one more at the end
	then  []int32
}

// Released lists the operations that wait for an end of operation op, in the
// order in which that was said. None for a nil graph.
func (g *Graph) Released(op int, end End) []int32 {
	if g == nil {
		return nil
	}
	k := op*int(numEnds) + int(end)
	return g.then[g.first[k]:g.first[k+1]]
}

// Waited reports whether operations wait for op. None does of a nil graph.
func (g *Graph) Waited(op int) bool {
	for end := Completed; end < numEnds; end++ {
		if len(g.Released(op, end)) > 0 {
			return true
		}
	}
	return false
}

// number is the place of an operation in a graph.
func (p *Plan) number(op Op) int {
	if op >= 0 {
		return int(op)
	}
	return p.total + int(^op)
}

// renameMessages follows a sort: to[i] is the new index of message i.
func (p *Plan) renameMessages(to []int32) {
	for i := range p.edges {
		e := &p.edges[i]
		if e.from >= 0 {
			e.from = Op(to[e.from])
		}
		if e.to >= 0 {
			e.to = Op(to[e.to])
		}
	}
}

// finishGraph checks what operations wait for and lists it by operation.
func (p *Plan) finishGraph(net Network) error {
	p.Graph = nil
	if len(p.Locals) > MaxLocals || len(p.edges) > MaxEdges {
		return fmt.Errorf("the workload has %d local operations that wait %d times; at most %d and %d are possible", len(p.Locals), len(p.edges), MaxLocals, MaxEdges)
	}
	if len(p.Locals) == 0 && len(p.edges) == 0 {
		return nil
	}
	n := p.total + len(p.Locals)
	g := &Graph{Need: make([]int32, n), first: make([]int32, n*int(numEnds)+1), then: make([]int32, len(p.edges))}
	for i := range p.edges {
		e := &p.edges[i]
		if err := p.checkEdge(net, e); err != nil {
			return err
		}
		g.Need[p.number(e.to)]++
		g.first[p.number(e.from)*int(numEnds)+int(e.end)+1]++
	}
	for k := 1; k < len(g.first); k++ {
		g.first[k] += g.first[k-1]
	}
	at := make([]int32, len(g.first)-1)
	copy(at, g.first)
	for i := range p.edges {
		e := &p.edges[i]
		k := p.number(e.from)*int(numEnds) + int(e.end)
		g.then[at[k]] = int32(p.number(e.to))
		at[k]++
	}
	p.Graph = g
	return nil
}

// checkEdge refuses a wait that no host can keep: it needs to see the end.
func (p *Plan) checkEdge(net Network, e *edge) error {
	entry, at, ok := p.endsAt(net, e.from, e.end)
	_, starts, _ := p.endsAt(net, e.to, Completed)
	switch {
	case !ok:
		return p.fail(entry, "an operation waits for a message to be received that its responder does not see the end of; use RC or TCP, and no READ or atomic")
	case at != starts:
		return p.fail(entry, "an operation waits for one that ends at another host")
	case e.to >= 0 && p.At(int(e.to)).Trigger > 0:
		return p.fail(entry, "a message is started by a trigger and waits for an operation; keep one")
	}
	return nil
}

// endsAt is the entry of an operation and the host at which it has the given end,
// if it has it.
func (p *Plan) endsAt(net Network, op Op, end End) (entry, host int, ok bool) {
	if op < 0 {
		l := &p.Locals[^op]
		return l.Entry, l.Host, end == Completed
	}
	m := p.At(int(op))
	c := &p.Conns[m.Conn]
	poster, peer := p.Ends(&m)
	if end == Completed {
		return c.Entry, net.HostOf(poster), true
	}
	return c.Entry, net.HostOf(peer), m.tellsResponder(c)
}

// tellsResponder reports whether the responder knows when it has all of the
// message, which then has arrived for good.
func (m *Message) tellsResponder(c *Conn) bool {
	return m.Verb != Read && !m.Verb.Atomic() && c.Service.Reliable()
}

// Waits reports whether a trigger or other operations start the message, not the
// clock.
func (m *Message) Waits() bool { return m.Trigger > 0 || m.Awaits }
