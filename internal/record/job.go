package record

import "github.com/hopscope/hopscope/internal/units"

// Job is a program that ranks ran.
type Job struct {
	Workload string     `json:"workload"`
	Ranks    int        `json:"ranks"`
	StartPS  units.Time `json:"start_ps"` // when its ranks began
	// EndPS is by step when its last rank was through with it; -1: it was not.
	EndPS    []units.Time `json:"end_ps"`
	LastRank []int        `json:"last_rank"` // by step, that rank; -1: the step is not over
	// Flops are the floating-point operations of the model that all ranks do in a step; 0: not known.
	Flops float64 `json:"flops,omitempty"`
	// Peak is what a rank's GPU can do, in floating-point operations a second; 0: not known.
	Peak float64 `json:"peak_flops_per_s,omitempty"`
	// AlonePS is what a step takes in the mean where nothing else runs; 0: it was not run alone.
	AlonePS      units.Time `json:"alone_ps,omitempty"`
	Stages       int        `json:"stages,omitempty"`        // of its pipeline; 0: it has none that is known
	MicroBatches int        `json:"micro_batches,omitempty"` // that each stage goes through in a step
	Chunks       int        `json:"chunks,omitempty"`        // of a stage, in the interleaved schedule
	// Times are those of each rank, one after the other: of a rank they add up to the time from the start to
	// the last step's end, or to the end of the run.
	Times []JobTime `json:"times"`
	Calls []JobCall `json:"calls,omitempty"` // what ranks called
	// Open are operations under way at the end of the run, of the first ranks that have any.
	Open []JobOpen `json:"open,omitempty"`
	// Critical is the critical path from the start to the last end; see Collective.Critical.
	Critical []CriticalGroup `json:"critical_path,omitempty"`
	// LaneStep is the step that Lanes are of, from 1.
	LaneStep int `json:"lane_step,omitempty"`
	// Lanes are those of some ranks over a step, of a run that was asked for a page: of each rank what it spent its time
	// on, and then its streams.
	Lanes []JobLane `json:"lanes,omitempty"`
}

// StepOver is a step of a job that is over.
type StepOver struct {
	Job      string
	Step, Of int        // from 1
	Took     units.Time // from the end of the one before
	Last     int        // the rank that was through with it last
	Shares   []JobTime  // of what ranks did in it, by kind, in the mean
}

// JobLane is a stream of a rank over time, or what the rank spent its time on.
type JobLane struct {
	Rank   int    `json:"rank"`             // from 0
	Host   string `json:"host"`             // where it is
	Device string `json:"device,omitempty"` // its GPU
	Stream string `json:"stream,omitempty"` // "": what the rank spent its time on
	// Spans are in the order of their begins. Those shorter than a part in 1200 of the step are put together.
	Spans []JobSpan `json:"spans"`
}

// JobSpan is a piece of a lane.
type JobSpan struct {
	FromPS units.Time `json:"from_ps"` // when it begins
	PS     units.Time `json:"ps"`      // how long it is
	BusyPS units.Time `json:"busy_ps"` // the part of it in which operations ran
	// Kind is of a stream "compute", "collective", "message", "copy" or "host", of a rank that of JobTime.
	Kind  string `json:"kind"`
	Name  string `json:"name,omitempty"` // of the first operation, or what most of it was spent on
	Count int    `json:"operations"`     // that were put together in it
}

// Kinds of what a stream runs.
const (
	LaneComputes = "compute"
	LaneCalls    = "collective"
	LaneMessage  = "message"
	LaneCopies   = "copy"
	LaneHost     = "host"
)

// RankTrace is what a rank of a job did, operation by operation.
type RankTrace struct {
	Job          string
	Rank         int
	Host, Device string
	States       []LabelSlice // what it spent its time on
	Streams      []StreamTrace
}

// StreamTrace is a stream of a rank.
type StreamTrace struct {
	Name string
	Ops  []OpSlice
}

// OpSlice is when an operation ran.
type OpSlice struct {
	LabelSlice
	Came units.Time // when the last rank of a call had come, which was rank Last; -1: it is no call
	Last int
	Kind string // LaneComputes and its like
}

// JobSays says in words what a rank spends its time on, by the kind and name of a JobTime.
func JobSays(kind, what string) string {
	switch kind {
	case JobComputes:
		return "computes: " + what
	case JobExposed:
		return "exposed communication: " + what
	case JobCopies:
		return "copies: " + what
	case JobHost:
		return "host works: " + what
	case JobWaits:
		return "waits for other ranks: " + what
	case JobMessage:
		return "bubble, other rank has not come: " + what
	case JobIdle:
		return "step over, others are not"
	}
	return "nothing runs"
}

// Where the time of a rank of a job goes.
const (
	JobComputes = "compute"       // a computation runs
	JobExposed  = "communication" // none does, and data of a call move
	JobCopies   = "copy"          // none of these, and data are copied inside the host
	JobHost     = "host"          // none of these, and the host works
	JobMessage  = "bubble"        // none does, and the other rank of a message has not come to it
	JobWaits    = "wait"          // none does, and a rank of a collective has not come to it
	JobIdle     = "over"          // all of its operations of the step are over, and other ranks' are not
	JobStuck    = "unstarted"     // nothing runs, and something is still to come
)

// Stages of a job's own computations and copies on a critical path.
const (
	StageComputing = "computing"
	StageCopying   = "copying"
)

// JobTime is how long a rank did something in all steps.
type JobTime struct {
	Rank int `json:"rank"` // from 0
	// Kind is "compute" (a computation runs), "communication" (none does, and data of a call move), "copy" (neither, and
	// data are copied inside the host), "host" (none of these, and the host works), "wait" (none
	// does, and a rank of a collective has not come to it), "bubble" (none does, and the other rank of a message has
	// not come to it), "over" (its operations of the step are over, and others' are not) or "unstarted".
	Kind   string     `json:"kind"`
	What   string     `json:"what,omitempty"` // the name of a computation, or a call
	TimePS units.Time `json:"time_ps"`
}

// JobOpen is an operation that was under way at the end of the run.
type JobOpen struct {
	Rank      int        `json:"rank"`      // that carries it out
	Step      int        `json:"step"`      // of the job, from 0
	Operation string     `json:"operation"` // its name
	SincePS   units.Time `json:"since_ps"`  // when it began
	// Awaits is the first rank that has not come to it; -1: all have, or it meets none.
	Awaits int `json:"awaits"`
}

// JobCall is what ranks call: a collective on a communicator, or a message.
type JobCall struct {
	Name  string `json:"name"`  // "allreduce on dp"
	Bytes int64  `json:"bytes"` // as nccl-tests counts them
	Count int64  `json:"count"` // by groups, in all steps
	// TimePS is a sum over them of the time from when the last rank had come to it until it was over at all.
	TimePS    units.Time `json:"time_ps"`
	WaitPS    units.Time `json:"wait_ps"`    // sum of that from the first rank's coming to the last's
	LongestPS units.Time `json:"longest_ps"` // of TimePS
	LastRank  int        `json:"last_rank"`  // who came last most often; -1: nobody did more than others
	LastCount int64      `json:"last_count"` // how often
}

// StepPS is what a step took in the mean of those that are over; 0: none is.
func (j *Job) StepPS() units.Time {
	n, last := 0, j.StartPS
	for _, end := range j.EndPS {
		if end >= 0 {
			n, last = n+1, end
		}
	}
	return (last - j.StartPS) / units.Time(max(n, 1))
}
