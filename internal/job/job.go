// Package job is about programs that ranks run, such as steps of training: computations, collectives
// and messages from rank to rank, in streams, with what each waits for. It checks that ranks meet
// in the same order and that everything can start, and turns a job into the programs of package collective.
package job

import (
	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/units"
)

// Kind says what an operation does.
type Kind uint8

// Kinds of operations.
const (
	Compute    Kind = iota
	Collective      // over a communicator
	Send            // to a rank, which receives it
	Recv
	Mark // nothing: others wait for it, and it has a time
	Copy // data between a GPU and its host's memory, or another GPU of the host
)

func (k Kind) String() string {
	return [...]string{"compute", "collective", "send", "recv", "mark", "copy"}[k]
}

// Spec is a job.
type Spec struct {
	Name  string
	Start units.Time
	Steps int // how often ranks run their lists, one after the other; at least 1
	Ranks int
	Comms []Comm
	Lists []List
	Of    []int32 // by rank: its list
	// Slow, Jitter and Seed are as workload.Job has them.
	Slow     []int32
	Jitter   float64
	Seed     uint64
	matrices [][][]units.Bytes // of sizes, by sender and receiver
	// Ideal: in place of the network and NVLink, calls take Delay and nothing else, where all ranks
	// are on one host.
	Ideal bool
	Delay units.Time
	// Peak is what a rank's GPU can do, in floating-point operations a second; 0: not known.
	Peak float64
	// Stages, Micro and Chunks are those of its pipeline, of so many stages with so many micro-batches, and chunks of
	// a stage; Stages 0: it has none.
	Stages, Micro, Chunks int
}

// Comm is a family of communicators that have one purpose: each rank is in one group at most.
type Comm struct {
	Name   string    // "tp"
	Groups [][]int32 // ranks, in the order of their ring
	of     []member  // by rank
}

// member is a rank's group, and its place there; group -1: it has none.
type member struct{ group, place int32 }

// List is what ranks run. Operations of a stream run one after the other, in the order of the list,
// and so do those of a communicator and messages between two ranks.
type List struct{ Ops []Op }

// Op is an operation of a list.
type Op struct {
	Kind   Kind
	Name   string // which operation it is: "forward of layer 3"; may be empty
	Label  string // of computations: what times are added up by: "forward"
	Stream string
	// Time is what a computation takes with all multiprocessors of its GPU, Flops how many floating-point
	// operations of the model it does; 0: not known.
	Time  units.Time
	Flops float64
	Host  bool // the computation runs on the host, and takes its time whatever the GPU does
	Coll  collective.Op
	On    int         // of collectives: the communicator, in Spec.Comms
	Bytes units.Bytes // as nccl-tests counts them, or of a message
	Root  int         // of broadcast: place in its group
	// Of AllToAll, if any is given, what ranks send to each other in place of equal parts of Bytes, as alltoallv has it:
	// Sizes by sender and receiver, as places in the group; or Sends of the rank that does the operation to each place,
	// and Receives, if it says so, what it expects of each.
	Sizes           [][]units.Bytes
	Sends, Receives []units.Bytes
	matrix          int    // in Spec.matrices, from 1; 0: none
	From, To        Memory // of copies
	// Peer is the other rank of a message: that rank, or if Relative is set so many after the own one.
	Peer     int
	Relative bool
	Tag      int     // messages of a pair are in order among those of a tag
	After    []int32 // operations of the list that it waits for
}

// uneven reports whether ranks send parts of different sizes.
func (o *Op) uneven() bool { return o.Sizes != nil || o.Sends != nil }

// what is the operation in a word.
func (o *Op) what() string {
	switch {
	case o.Kind == Collective && o.uneven():
		return o.Coll.String() + "v"
	case o.Kind == Collective:
		return o.Coll.String()
	}
	return o.Kind.String()
}

// Memory is an end of a copy.
type Memory struct {
	Host bool // the memory of the host, nearest to the rank's GPU
	// Else the GPU of the rank itself, or if Other is set of another one: Peer, or if Relative is set so many on.
	Other    bool
	Peer     int
	Relative bool
}

// rank is whose GPU an end of a rank's copy is; -1: none's, it is the host's memory.
func (m *Memory) rank(rank int) int {
	switch {
	case m.Host:
		return -1
	case !m.Other:
		return rank
	case m.Relative:
		return rank + m.Peer
	}
	return m.Peer
}

// peer is the other rank of a message of a rank's.
func (o *Op) peer(rank int) int {
	if o.Relative {
		return rank + o.Peer
	}
	return o.Peer
}

// MostLabels bounds the labels of a job's computations, by which times are added up.
const MostLabels = 64

// MostOperations bounds what a run keeps of a job: operations of all ranks in a step, which take 16 bytes
// each, 24 GB in all.
const MostOperations = 24 << 30 / 16

// Strided are the groups of so many ranks each, from one to the next of which it is stride.
func Strided(ranks, size, stride int) (groups [][]int32) {
	for first := range ranks {
		if first/stride%size != 0 {
			continue
		}
		group := make([]int32, size)
		for k := range group {
			group[k] = int32(first + k*stride)
		}
		groups = append(groups, group)
	}
	return groups
}
