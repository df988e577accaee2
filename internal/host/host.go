// Package host is what a server's processor and memory do for the network: the
// cores that make system calls, copy, process packets, take interrupts and wake
// applications, and the memory that copies move through. It is a pure model: time
// is an argument, and what a task is for stays with its owner.
//
// The owner (the network card's device) gives the host tasks and frames, and sets
// the timers that the host asks for:
//
//	h.Arrive(now, q, host.Frame{...})     // a frame is in memory; an interrupt may follow
//	t := host.Task{Kind: myWrite, ...}
//	h.Write(&t, bytes)                    // what the call costs
//	h.Submit(now, core, host.Process, &t)
//	for _, x := range h.Timers() { schedule Expire(x.At, x.Source) }; h.ClearTimers()
//
//	// when a timer comes
//	h.Expire(now, source)
//	if core, ok := h.Core(source); ok {
//		for {
//			t, ok := h.Finished(now, core)
//			if !ok { break }
//			... // act on t: the segment is received, the data was read
//		}
//	}
//
// A core does one task at a time to its end; tasks of equal class in the order in
// which they came; softirqs before processes, whose task stands still meanwhile.
package host

import (
	"fmt"
	"math/bits"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// Limits of a host.
const (
	MaxCores = 256
	maxParts = 6
)

// Class is the context in which a core runs a task.
type Class uint8

// Classes, the first before the second.
const (
	Softirq Class = iota // also the handlers of interrupts
	Process
)

// Spec describes a host to New.
type Spec struct {
	Cores   int        // 1 to MaxCores
	Sockets int        // 1 to Cores; cores are dealt to sockets in blocks
	Memory  units.Rate // DRAM bandwidth of a socket; 0: no limit
	// Server is the memory of the server that the host is in, which others use too;
	// nil: it has its own, of rate Memory. The card then writes frames to it before
	// they Arrive.
	Server Memory
	NIC    int  // the socket whose memory the card writes to; below Sockets
	Remote bool // applications run on the next socket, not on the card's
	// Late is how much later than its costs say, at most, an idle core begins with an
	// interrupt or a wakeup: uniform from 0. It takes no processor time. Draws come from
	// the stream of Seed that has the host's Name.
	Late units.Time
	Seed uint64
	Name string
	Costs
	Options
}

// Memory is the DRAM of a server's sockets.
type Memory interface {
	// Move passes bytes of a core's work, which takes the core a time, through the DRAM of
	// a socket, and returns when they are through.
	Move(now units.Time, socket int, n units.Bytes, over units.Time) units.Time
}

// Check says what is wrong with a specification.
func (s *Spec) Check() error {
	switch {
	case s.Cores < 1 || s.Cores > MaxCores:
		return fmt.Errorf("%d cores; a host has 1 to %d", s.Cores, MaxCores)
	case s.Sockets < 1 || s.Sockets > s.Cores:
		return fmt.Errorf("%d sockets for %d cores; a socket has at least one", s.Sockets, s.Cores)
	case s.NIC < 0 || s.NIC >= s.Sockets:
		return fmt.Errorf("the card is at socket %d of %d", s.NIC, s.Sockets)
	case s.Memory < 0:
		return fmt.Errorf("negative memory bandwidth")
	}
	return s.Options.check()
}

// Task is a piece of work. Its owner fills in the first fields, the methods of
// Host that name the work its cost. A finished receive task carries a segment.
type Task struct {
	Kind      uint8 // the owner's, below KindReceive
	Direction Direction
	Conn      uint32 // the owner's
	Arg       uint64 // the owner's
	Segment   Segment

	n      uint8
	causes [maxParts]Cause
	times  [maxParts]units.Time
	memory units.Bytes // through DRAM while the task runs
	copied units.Bytes // of them, or of the cache, copied
}

// KindReceive is the kind of the host's own tasks: a core took frames from a
// receive queue. Their Segment may be empty (Frames 0).
const KindReceive = 255

// Add makes t take time for a cause.
func (t *Task) Add(c Cause, d units.Time) {
	if d == 0 {
		return
	}
	for i := range t.n {
		if t.causes[i] == c {
			t.times[i] += d
			return
		}
	}
	t.causes[t.n], t.times[t.n] = c, d
	t.n++
}

// Cost is the processor time that t takes, without waiting for memory.
func (t *Task) Cost() (d units.Time) {
	for i := range t.n {
		d += t.times[i]
	}
	return d
}

// fifo holds tasks in order, in a ring.
type fifo struct {
	tasks   []Task
	head, n int
}

func (f *fifo) len() int { return f.n }

func (f *fifo) push(t *Task) {
	if f.n == len(f.tasks) {
		tasks := make([]Task, max(4, f.n+f.n/4+1)) // hosts with many messages have thousands
		copy(tasks[copy(tasks, f.tasks[f.head:]):], f.tasks[:f.head])
		f.tasks, f.head = tasks, 0
	}
	at := f.head + f.n
	if at >= len(f.tasks) {
		at -= len(f.tasks)
	}
	f.tasks[at] = *t
	f.n++
}

func (f *fifo) pop(t *Task) {
	*t = f.tasks[f.head]
	if f.head++; f.head == len(f.tasks) {
		f.head = 0
	}
	f.n--
}

// core is one processor core.
type core struct {
	running, reported bool // running a task; its end was reported
	class             Class
	task              Task
	end               units.Time // of task
	suspended         bool       // a process's task stands still for softirqs
	below             Task
	left              units.Time // of below
	queue             [2]fifo
	idleSince         units.Time
	busySince         units.Time // if not idle
	awakened          bool       // the task starts on an idle core
	started           units.Time // of the present stretch of softirqs
	polled            int        // frames taken in it
}

func (c *core) idle() bool {
	return !c.running && !c.suspended && c.queue[0].len()+c.queue[1].len() == 0
}

// Host is the processors and the memory of one server.
type Host struct {
	spec   Spec
	cores  []core
	queues []queue
	frames frameSlab
	memory []units.Time // per socket: when what was asked of its DRAM is done
	timers []Timer
	bill   Bill
	late   []stretch           // see Progressed
	busy   []record.StretchLog // by core
	trace  []record.SliceLog   // likewise; nil: nobody asked
	rnd    rng.Quick
}

// Timer asks for Expire at a time. Source says whose it is: a core's or a queue's.
type Timer struct {
	At     units.Time
	Source uint32
}

// New returns an idle host. The specification must have passed Check.
func New(s Spec) *Host {
	h := &Host{spec: s, cores: make([]core, s.Cores), busy: make([]record.StretchLog, s.Cores),
		memory: make([]units.Time, s.Sockets)}
	h.queues = make([]queue, s.Cores)
	for i := range h.queues {
		h.queues[i].init(&h.spec)
	}
	h.rnd = rng.NewQuick(s.Seed, "noise/"+s.Name)
	h.bill.Cores = make([]Times, s.Cores)
	return h
}

// Timers lists the timers that became necessary since ClearTimers. One that is
// superseded comes all the same, and does nothing.
func (h *Host) Timers() []Timer { return h.timers }

// ClearTimers forgets the timers that were set.
func (h *Host) ClearTimers() { h.timers = h.timers[:0] }

func (h *Host) timer(at units.Time, source int) {
	h.timers = append(h.timers, Timer{at, uint32(source)})
}

// Core is the core that a timer's source stands for; false: it is a queue's.
func (h *Host) Core(source uint32) (int, bool) {
	return int(source), int(source) < len(h.cores)
}

// Expire runs the timer of a source. For a queue it is the interrupt. For a core it
// does nothing: Finished says what the core has done.
func (h *Host) Expire(now units.Time, source uint32) {
	if int(source) >= len(h.cores) {
		h.interrupt(now, int(source)-len(h.cores))
	}
}

// Trace has the host list from now on when each core is busy, up to so many slices.
func (h *Host) Trace(most int) {
	h.trace = make([]record.SliceLog, len(h.cores))
	for i := range h.trace {
		h.trace[i].Most = most
	}
}

// Traces is when each core was busy, as far as it is idle again; nil: Trace was not called.
func (h *Host) Traces() []record.SliceLog { return h.trace }

// socket is the socket of a core.
func (h *Host) socket(core int) int { return core * h.spec.Sockets / h.spec.Cores }

// Application is the core that application i runs on: the cores in turn, from the
// card's socket on, or from the next one with Remote.
func (h *Host) Application(i int) int {
	s := h.spec.NIC
	if h.spec.Remote {
		s++
	}
	first := (s*h.spec.Cores + h.spec.Sockets - 1) / h.spec.Sockets
	return (first + i) % h.spec.Cores
}

// Idle reports whether a core has nothing to do.
func (h *Host) Idle(core int) bool { return h.cores[core].idle() }

// Working counts the tasks that are not finished, and the frames that no core has
// taken yet.
func (h *Host) Working() (n int) {
	for i := range h.cores {
		c := &h.cores[i]
		n += c.queue[0].len() + c.queue[1].len()
		if c.running {
			n++
		}
		if c.suspended {
			n++
		}
	}
	for i := range h.queues {
		n += h.queues[i].waiting()
	}
	return n
}

// Submit gives a core a task. It reports true, and the owner acts at once, if the
// task takes no time and the core is idle: then there is no timer.
func (h *Host) Submit(now units.Time, core int, class Class, t *Task) bool {
	c := &h.cores[core]
	if c.idle() && t.Cost() == 0 && t.memory == 0 {
		h.bill.add(core, t)
		return true
	}
	c.queue[class].push(t)
	switch {
	case !c.running:
		c.awakened, c.busySince = true, now
		h.next(now, core)
	case class == Softirq && c.class == Process && !c.reported && c.end > now:
		c.below, c.left, c.suspended = c.task, c.end-now, true
		c.running = false
		h.next(now, core)
	}
	return false
}

// Finished returns the task that a core is through with at a time, until it has
// none. The core goes on when it is called again, so that what the owner submits
// meanwhile queues behind what it had.
func (h *Host) Finished(now units.Time, core int) (*Task, bool) {
	c := &h.cores[core]
	if c.running && c.reported {
		c.running, c.reported = false, false
		h.continuePoll(now, core)
		h.next(now, core)
	}
	if !c.running || c.end > now {
		return nil, false
	}
	c.reported = true
	h.bill.add(core, &c.task)
	return &c.task, true
}

// next starts what a core that runs nothing has to do next.
func (h *Host) next(now units.Time, core int) {
	c := &h.cores[core]
	switch {
	case c.queue[Softirq].len() > 0:
		c.queue[Softirq].pop(&c.task)
		h.start(now, core, Softirq)
	case c.suspended:
		c.suspended = false
		c.task, c.class = c.below, Process
		c.running, c.end = true, now+c.left
		c.polled = 0
		h.timer(c.end, core)
	case c.queue[Process].len() > 0:
		c.queue[Process].pop(&c.task)
		c.polled = 0
		h.start(now, core, Process)
	default:
		c.idleSince, c.polled = now, 0
		h.late = append(h.late, stretch{core, c.busySince, now})
		h.busy[core].Add(c.busySince, now)
		if h.trace != nil {
			h.trace[core].Add(c.busySince, now, 0)
		}
	}
}

// start runs the core's task from now on. A copy is over when the core and the
// memory of its socket are through with it.
func (h *Host) start(now units.Time, core int, class Class) {
	c := &h.cores[core]
	if c.polled == 0 {
		c.started = now
	}
	if c.task.Kind == KindReceive {
		h.poll(now, core)
	}
	now += h.leaveIdle(now, c)
	c.running, c.class = true, class
	c.end = now + c.task.Cost()
	if m := h.move(now, h.socket(core), c.task.memory, c.task.Cost()); m > c.end {
		c.task.Add(Copy, m-c.end) // the core waits for memory
		c.end = m
	}
	h.timer(c.end, core)
}

// leaveIdle charges an interrupt or a wakeup with the way out of the idle state, and
// returns by how much it comes late. A core that was idle for less time than the way takes
// did not enter the state.
func (h *Host) leaveIdle(now units.Time, c *core) (late units.Time) {
	exit := h.spec.Costs.IdleExit
	if c.awakened && !h.spec.BusyPoll {
		for _, cause := range c.task.causes[:c.task.n] {
			if cause == Interrupt || cause == Wakeup {
				if now-c.idleSince >= exit {
					c.task.Add(cause, exit)
				}
				late = h.delay()
				break
			}
		}
	}
	c.awakened = false
	return late
}

// delay draws by how much an interrupt or a wakeup comes late.
func (h *Host) delay() units.Time {
	if h.spec.Late == 0 {
		return 0
	}
	hi, _ := bits.Mul64(h.rnd.Uint64(), uint64(h.spec.Late))
	return units.Time(hi)
}

// move passes bytes of work that takes a core a time through a socket's DRAM and says
// when they are through.
func (h *Host) move(now units.Time, socket int, n units.Bytes, over units.Time) units.Time {
	h.bill.DRAM += n
	switch {
	case n == 0:
		return now
	case h.spec.Server != nil:
		return h.spec.Server.Move(now, socket, n, over)
	case h.spec.Memory == 0:
		return now
	}
	h.memory[socket] = max(h.memory[socket], now) + h.spec.Memory.TxTimeLong(n)
	return h.memory[socket]
}
