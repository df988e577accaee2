package record

import "github.com/hopscope/hopscope/internal/units"

// Processors is what the cores and the memory of one host did for the network.
type Processors struct {
	Host  string `json:"host"`
	Cores int    `json:"cores"`
	// Moderation is how the card holds back interrupts, in words; "": it does not.
	Moderation string `json:"moderation,omitempty"`
	// Times are the cores' time by direction of the data and by cause; those above 0.
	Times []CPUTime `json:"times"`
	// BusyPS is each core's time, up to the last core that did anything.
	BusyPS []units.Time `json:"busy_ps"`
	// ByCore are the cores that did anything, in order, each with its part of Times.
	ByCore      []CoreTimes `json:"by_core"`
	CopiedBytes int64       `json:"copied_bytes"` // between user and kernel memory
	DRAMBytes   int64       `json:"dram_bytes"`   // read and written, by cores and card
	Syscalls    int64       `json:"syscalls"`
	Interrupts  int64       `json:"interrupts"`
	Wakeups     int64       `json:"wakeups"`
	FramesIn    int64       `json:"frames_in"`   // that cores took from receive queues
	SegmentsIn  int64       `json:"segments_in"` // that GRO made of them
	FramesOut   int64       `json:"frames_out"`
	SegmentsOut int64       `json:"segments_out"`         // that the kernel made, before TSO
	GSOFrames   int64       `json:"gso_frames,omitempty"` // of frames_out: software cut them off segments
	RingDrops   int64       `json:"ring_drops"`           // frames that found their receive queue full
}

// CoreTimes is what one core spent its time on.
type CoreTimes struct {
	Core  int       `json:"core"` // from 0
	Times []CPUTime `json:"times"`
	// InTimePS is how long it worked up to the last completion (Run.LastCompletion),
	// without the busy polls that found nothing.
	InTimePS units.Time `json:"in_time_ps"`
	// Seen is when it was busy.
	Seen Stretches `json:"seen,omitempty"`
}

// CPUTime is the time that cores spent for one direction and cause.
type CPUTime struct {
	Direction string     `json:"direction"` // "transmit" or "receive"
	Cause     string     `json:"cause"`     // "copy" and the like: docs/models/host-cost.md
	PS        units.Time `json:"ps"`
}

// BusyPoll is the Cause of time in which cores polled and found nothing.
const BusyPoll = "busy poll"

// TotalPS is the time of all directions and causes.
func (p *Processors) TotalPS() (t units.Time) {
	for _, x := range p.Times {
		t += x.PS
	}
	return t
}
