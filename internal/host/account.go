package host

import (
	"slices"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

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
	Map                     // of received pages into the application, and out of it
	CRC                     // of FPDUs of iWARP, in software
	Completion              // notifications of MSG_ZEROCOPY
	Post                    // of RDMA work requests, and what prepares them
	Poll                    // of RDMA completions
	Doorbell                // writes to the card's registers
	Spin                    // of busy polling that finds nothing
	NumCauses
)

func (c Cause) String() string {
	return [...]string{"syscall", "copy", "output", "input", "interrupt", "wakeup", "pinning", "mapping", "crc",
		"completion", "post", "poll", "doorbell", "busy poll"}[c]
}

// Times is core time in ps by direction and cause.
type Times [NumDirections][NumCauses]units.Time

// Total is the time of all directions and causes.
func (x *Times) Total() (t units.Time) {
	for d := range x {
		for _, of := range x[d] {
			t += of
		}
	}
	return t
}

// Bill is what a host's processors and memory did so far.
type Bill struct {
	// Cores is each core's time in finished tasks; Times adds them up, and Busy the
	// causes of each.
	Cores []Times
	Times Times
	Busy  []units.Time
	// Before is each core's time, without spinning, up to the end of the work that the
	// bill was asked for.
	Before []units.Time
	Seen   []record.Stretches         // when each core was busy
	Copied [NumDirections]units.Bytes // between user and kernel memory
	DRAM   units.Bytes                // read from and written to DRAM, by cores and card
	// Counts of what costs are charged per.
	Syscalls, Interrupts, Wakeups int64
	FramesIn, SegmentsIn          int64 // frames that cores took, and segments that GRO made of them
	FramesOut, SegmentsOut        int64 // frames on the wire, and segments that the stack made
	GSOFrames                     int64 // of FramesOut: software cut them off segments
	RingDrops                     int64 // frames that found the receive queue full
}

// Total is the processor time of all cores.
func (b *Bill) Total() units.Time { return b.Times.Total() }

// sum fills in Times and Busy.
func (b *Bill) sum() {
	b.Times, b.Busy = Times{}, make([]units.Time, len(b.Cores))
	for i := range b.Cores {
		b.Busy[i] = b.Cores[i].Total()
		for d := range b.Cores[i] {
			for c, x := range b.Cores[i][d] {
				b.Times[d][c] += x
			}
		}
	}
}

// add books a finished task.
func (b *Bill) add(core int, t *Task) {
	row := &b.Cores[core][t.Direction]
	for i := range t.n {
		row[t.causes[i]] += t.times[i]
	}
	b.Copied[t.Direction] += t.copied
}

// stretch is a time in which a core was busy without a pause.
type stretch struct {
	core     int
	from, to units.Time
}

// Progressed says that the work which the bill is for goes on: it has not ended before.
// What the cores do from now on may come after its end, so that Bill has to know when
// they did it.
func (h *Host) Progressed() { h.late = h.late[:0] }

// Bill returns the account of all that the cores did, for work that went on between two
// times, the latter not before the last Progressed. Cores that busy poll were never
// idle in between: what they had nothing to do counts as received by spinning.
func (h *Host) Bill(from, to units.Time) Bill {
	b := h.bill
	b.Cores, b.Before = slices.Clone(b.Cores), make([]units.Time, len(b.Cores))
	for i := range b.Cores {
		b.Before[i] = b.Cores[i].Total()
	}
	for _, s := range h.late {
		b.Before[s.core] -= max(0, s.to-max(s.from, to))
	}
	for i := range h.queues {
		if h.spec.BusyPoll && h.queues[i].used {
			b.Cores[i][Receive][Spin] += max(to-from-b.Before[i], 0)
		}
	}
	b.sum()
	for i := range h.busy {
		b.Seen = append(b.Seen, h.busy[i].Seen)
	}
	return b
}
