package workload

import "github.com/hopscope/hopscope/internal/units"

// Program is a collective whose steps are made when a rank reaches them. A plan lists the
// operations of others one by one, and what they wait for; of a program it has the ranks, the
// connections and a rule that says what step k of a thread block does. What takes memory while
// it runs is what is under way.
type Program struct {
	Entry      int // workload entry it belongs to
	Collective int // in Plan.Collectives
	Iterations int // one after the other
	Start      units.Time
	// Called: an operation of a job starts each iteration of a rank, in place of the clock and of
	// the end of the one before. Collective is -1 then.
	Called bool
	// Free: an experiment in which thread blocks move data as fast as what joins the devices does.
	Free   bool
	Blocks int    // thread blocks of a rank's kernel, each of which holds a multiprocessor
	Launch uint16 // label of the start of a rank's kernel
	Ranks  []ProgramRank
	// Calls are the labels, by rank, of what its thread takes beside the kernels to call for an
	// iteration, one after the other; nil: nothing. Their orders are the last of an iteration.
	Calls []uint16
	// PerRank is how many lanes, thread blocks or parts of one, each rank has: lane l is one
	// of rank l / PerRank.
	PerRank int
	// Edges lists the edges; nil: they are too many, and Pairs makes them and their connections
	// when they are first used.
	Edges []ProgramEdge
	Pairs ProgramPairs
	Moves []ProgramMove
	// Conns is how many connections Pairs make, and Conn the first of those in the plan that
	// stand for them.
	Conns, Conn int
	PairEdges   int             // of Pairs: how many edges there are
	Most        units.Bytes     // of Pairs: in a message
	Endpoints   []int           // of Pairs: by rank
	Memories    map[int][]int16 // of Pairs: by host, memories through which units pass inside it
	Slots       int             // units in flight on an edge, at most: 1 to MaxProgramSlots
	Rule        ProgramRule
	// Orders is how many places an iteration has in the order of operations; see
	// ProgramStep.Order.
	Orders uint64
	// Bytes is what its messages carry in all iterations.
	Bytes units.Bytes
	// Verb is that of its data, SlotVerb that of the news that slots are free, of SlotBytes.
	Verb, SlotVerb Verb
	SlotBytes      units.Bytes
}

// MaxProgramSteps bounds the steps of a program. They take no memory, but each about a
// microsecond of the processor: twenty hours.
const MaxProgramSteps = 1 << 36

// MaxProgramSlots bounds the units in flight on an edge of a program.
const MaxProgramSlots = 64

// ProgramRank is a member of a program.
type ProgramRank struct {
	Host   int   // node index
	Device int16 // of its server; NoDevice: it is the host itself
}

// NoLabel stands for no operation where one might have a label.
const NoLabel = ^uint16(0)

// ProgramEdge leads from one rank of a program to another. Units pass over it in order: a step
// puts one on it, and one of the other rank takes it.
type ProgramEdge struct {
	From, To int32 // ranks
	// Local: inside one host. Else a message carries each unit, over connection Conn, and
	// others, over Back, the news that its slot is free.
	// Of Pairs the connections are numbers of theirs.
	Local      bool
	Conn, Back int32
	// Next is the device to which a unit is copied that is not put there by the step itself,
	// NoDevice: none; Memory that of the host's memory in which it lies then, NoDevice: it
	// is where it belongs.
	Next, Memory int16
	// Labels of what proxies do at either end, and of the copies before: NoLabel: nothing.
	Copy, Read, Post, Arrive, Clear uint16
	Units                           int         // of an iteration
	Most                            units.Bytes // on the wire, of one
	Bytes                           units.Bytes // on the wire, of all of an iteration; not of local edges
}

// ProgramStep is what a lane does next.
type ProgramStep struct {
	// Order is its place in the order of all operations of an iteration, which decides what
	// comes first of what falls due at one host at one time. Behind it are SubOrders places
	// for each edge that it puts a unit on.
	Order    uint64
	Label    uint16
	From, To int16 // devices that its own data move between
	Bytes    units.Bytes
	Work     units.Time
	Folded   bool    // it moves the unit that it puts on an edge to that one's next device itself
	Takes    []int32 // edges
	Puts     []int32
	After    []ProgramAfter
}

// ProgramAfter says that a step waits until another lane of its host is through with so many
// steps of the iteration.
type ProgramAfter struct {
	Lane  int32
	Steps int
}

// ProgramMove is a way between devices of a host that steps move data over beside those of edges.
type ProgramMove struct {
	Host     int // node index
	From, To int16
}

// Places behind a step's order for what follows from a unit that it puts on an edge.
const (
	OrderCopy = 1 + iota
	OrderRead
	OrderPost
	OrderClear
	OrderArrive
	SubOrders = iota
)

// ProgramRule makes the steps of a program. It is asked by all hosts at the same time.
type ProgramRule interface {
	// Steps is how many a lane has in an iteration; 0: it is not used.
	Steps(lane int32) int
	// Step fills in step k of a lane, from 0. The room of the lists in s is used again.
	Step(lane int32, k int, s *ProgramStep)
	// Unit is the order of the step that puts unit k of an iteration on an edge, which of its
	// edges that is, and what the unit takes on the wire.
	Unit(edge int32, k int) (order uint64, put int, wire units.Bytes)
}

// OtherOrder is what ProgramTurns says of rings that are not what they are turned to.
const OtherOrder = "a channel passes servers in another order"

// ProgramTurns is a ProgramRule that can tell whether its ranks do the same.
type ProgramTurns interface {
	// Turns says why rank to[r] does not do step by step what rank r does, with as many bytes, over the edges
	// that go on from it as those of r do, and at each host in the same order; "": it does.
	Turns(to []int32) (why string)
}

// ProgramPairs makes the edges of a program each of whose ranks sends to every other, when
// they are used, and connections of their own. It is asked by all hosts at the same time.
type ProgramPairs interface {
	// Edge fills in an edge.
	Edge(edge int32, e *ProgramEdge)
	// Carrier is what a connection is for: an edge, or the news of its slots; and the ranks
	// between whose network ports it is.
	Carrier(conn int32) (edge int32, news bool, from, to int32)
	// Conn is that of a rank to another for data, or for news, but for its source port, which
	// Port says; with its ends for all of the same rank.
	Conn(from, to int32, news bool) Conn
	Port(conn int32) uint16
}

// Bases are by program, and then by job, its first place in the order of the operations of hosts, and how many places
// there are in all. What has no host in common may share places.
func (p *Plan) Bases() (first []uint64, all uint64) {
	next := make(map[int]uint64) // by host; looked up, never iterated
	place := func(ranks []ProgramRank, size uint64) {
		base := uint64(0)
		for i := range ranks {
			base = max(base, next[ranks[i].Host])
		}
		for i := range ranks {
			next[ranks[i].Host] = base + size
		}
		first, all = append(first, base), max(all, base+size)
	}
	for _, g := range p.Programs {
		place(g.Ranks, g.Orders*uint64(g.Iterations))
	}
	for _, j := range p.Jobs {
		most := 1
		for l := range j.Lists {
			most = max(most, len(j.Lists[l].Ops))
		}
		place(j.Ranks, uint64(len(j.Ranks))*uint64(most))
	}
	return first, all
}

// Steps is how many steps the lanes of its ranks take in all iterations.
func (g *Program) Steps() (n int64) {
	for lane := range len(g.Ranks) * g.PerRank {
		n += int64(g.Rule.Steps(int32(lane)))
	}
	return n * int64(g.Iterations)
}

// AddProgram adds a program to the plan.
func (p *Plan) AddProgram(g *Program) { p.Programs = append(p.Programs, g) }
