package host

import "github.com/hopscope/hopscope/internal/units"

// Direction says for which way of the data a core works.
type Direction uint8

// Directions.
const (
	Transmit Direction = iota
	Receive
	NumDirections
)

func (d Direction) String() string { return [...]string{"transmit", "receive"}[d] }

// Cause says what a core's time goes into.
type Cause uint8

// Causes.
const (
	Syscall    Cause = iota // entering and leaving the kernel
	Copy                    // between user memory and socket buffers, waiting for memory included
	Output                  // transport, IP and driver of what is sent
	Input                   // likewise of what is received, in softirqs
	Interrupt               // taking interrupts, and leaving the idle state for them
	Wakeup                  // waking and switching to the application
	Pin                     // of user pages for MSG_ZEROCOPY; page cache of sendfile
	Completion              // notifications of MSG_ZEROCOPY
	Post                    // of RDMA work requests, and what prepares them
	Poll                    // of RDMA completions
	Doorbell                // writes to the card's registers
	Spin                    // of busy polling that finds nothing
	NumCauses
)

func (c Cause) String() string {
	return [...]string{"syscall", "copy", "output", "input", "interrupt", "wakeup", "pinning", "completion", "post", "poll", "doorbell", "busy poll"}[c]
}

// Bill is what a host's processors and memory did so far.
type Bill struct {
	Times [NumDirections][NumCauses]units.Time
	// Busy is each core's time in finished tasks.
	Busy   []units.Time
	Copied [NumDirections]units.Bytes // between user and kernel memory
	DRAM   units.Bytes                // read from and written to DRAM, by cores and card
	// Counts of what costs are charged per.
	Syscalls, Interrupts, Wakeups int64
	FramesIn, SegmentsIn          int64 // frames that cores took, and segments that GRO made of them
	FramesOut, SegmentsOut        int64 // frames on the wire, and segments that the stack made
	RingDrops                     int64 // frames that found the receive queue full
}

// Total is the processor time of all directions and causes.
func (b *Bill) Total() (t units.Time) {
	for d := range b.Times {
		for _, x := range b.Times[d] {
			t += x
		}
	}
	return t
}

// add books a finished task.
func (b *Bill) add(core int, t *Task) {
	row := &b.Times[t.Direction]
	for i := range t.n {
		row[t.causes[i]] += t.times[i]
		b.Busy[core] += t.times[i]
	}
	b.Copied[t.Direction] += t.copied
}

// Bill returns the account until a time. Cores that busy poll were never idle:
// what they had nothing to do counts as received by spinning.
func (h *Host) Bill(now units.Time) Bill {
	b := h.bill
	b.Busy = append([]units.Time(nil), b.Busy...)
	if !h.spec.BusyPoll {
		return b
	}
	for i := range h.queues {
		if h.queues[i].used {
			spin := max(now-b.Busy[i], 0)
			b.Times[Receive][Spin] += spin
			b.Busy[i] += spin
		}
	}
	return b
}
