package workload

import "github.com/hopscope/hopscope/internal/units"

// Job is a program that ranks run, such as steps of training: each rank has a list of operations,
// which start when what they wait for at that rank is over. Ranks meet in calls, which are
// programs: an operation that calls starts its rank's kernel and is over when that ends.
type Job struct {
	Entry int // workload entry it belongs to
	Name  string
	Start units.Time
	Begin uint16 // label of the start of a rank, which takes no time
	Ranks []ProgramRank
	// Processors is by rank how many multiprocessors its GPU has, which kernels of calls take
	// from those of computations; 0: they do not share.
	Processors []int32
	Lists      []JobList
	List       []int32 // by rank: which it runs
	Calls      []JobCall
	Ways       [][]JobWay // of copies, by rank
	Steps      int        // how often ranks run their lists, one after the other; at least 1
	// Peak is what a rank's GPU can do, in floating-point operations a second; 0: not known.
	Peak float64
	// Slow is by rank how many times as long its computations take, in thousandths; nil: none does. Jitter is the
	// standard deviation of a factor that each computation takes besides, drawn by rank from a stream of Seed.
	Slow   []int32
	Jitter float64
	Seed   uint64
	// Ideal, when not nil, stands for the network and NVLink.
	Ideal *Ideal
	// Stages, Micro and Chunks are those of its pipeline: stages, micro-batches, and chunks of a stage; Stages 0: none.
	Stages, Micro, Chunks int
}

// Ideal is a network without cost, inside one host: a collective is over for all its ranks when the last
// one has come to it, a message when it was sent and its receiver waits for it. Both take Delay; who
// sends goes on at once.
type Ideal struct {
	Delay   units.Time
	Label   uint16
	Members []int32 // by group or pair, which stand for programs in JobCall.Seats: how many ranks it has
}

// JobCall is a collective, or a message from one rank to another, that operations call.
type JobCall struct {
	Name string
	// Message: from one rank to another, of which this is one end.
	Message bool
	Bytes   units.Bytes // as nccl-tests counts them
	Seats   []JobSeat   // by rank
}

// JobWay is between which devices of a host a copy moves data.
type JobWay struct{ From, To int16 }

// JobSeat is a rank's place in the program of a call; Program is -1 where it has none.
type JobSeat struct{ Program, Rank int32 }

// JobKind says what an operation of a job does.
type JobKind uint8

// Kinds of operations.
const (
	JobCompute JobKind = iota // kernels that take Time with all multiprocessors of the GPU
	JobCalls                  // a call
	JobMark                   // nothing
	JobCopies                 // data between devices of the host
)

// JobOp is an operation of a list.
type JobOp struct {
	Kind  JobKind
	Host  bool        // a computation on the host, which shares nothing
	Label uint16      // of computations
	Time  units.Time  // of computations
	Call  int32       // in Job.Calls; of copies in Job.Ways
	Bytes units.Bytes // of copies
	Name  int32       // in JobList.Names
	// Stream is the one that it stands in, in JobList.Streams: they run one after the other.
	Stream int32
}

// JobList is what ranks run. Operations are in an order in which they may start.
type JobList struct {
	Ops     []JobOp
	Names   []string
	Streams []string
	Flops   float64 // floating-point operations of the model that it does
	Need    []int32 // by operation: how many others it waits for
	first   []int32 // by operation: where its list begins in then; one more at the end
	then    []int32
}

// NewJobList lists operations, each of which waits for those of after.
func NewJobList(ops []JobOp, names []string, after [][]int32) JobList {
	l := JobList{Ops: ops, Names: names, Need: make([]int32, len(ops)), first: make([]int32, len(ops)+1)}
	for i, list := range after {
		l.Need[i] = int32(len(list))
		for _, from := range list {
			l.first[from+1]++
		}
	}
	for i := range ops {
		l.first[i+1] += l.first[i]
	}
	l.then = make([]int32, l.first[len(ops)])
	at := make([]int32, len(ops))
	copy(at, l.first)
	for i, list := range after {
		for _, from := range list {
			l.then[at[from]] = int32(i)
			at[from]++
		}
	}
	return l
}

// Released lists the operations that wait for operation op, in the order of the list.
func (l *JobList) Released(op int) []int32 { return l.then[l.first[op]:l.first[op+1]] }

// AddJob adds a job to the plan.
func (p *Plan) AddJob(j *Job) { p.Jobs = append(p.Jobs, j) }
