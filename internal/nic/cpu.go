package nic

import "github.com/hopscope/hopscope/internal/units"

// CPU is what a host's application needs for its part of the work. It is one
// thread that does one thing after the other, in the order in which they fall
// due. All 0 means a thread that costs no time. Costs differ from host to host
// and no standard states them; a doorbell, the largest part of a post, is put at
// 100 to 300 ns.
type CPU struct {
	Post units.Time // to post a work request to a send queue, doorbell included
	Poll units.Time // to poll a completion and look at it
	// Repost is what the application takes for a received message until it has
	// posted a receive work request in place of the one that it took.
	Repost units.Time
	// Reposts: receive work requests are posted anew. Without it those that a
	// connection starts with (rdma.Attrs.Receives) are all there are.
	Reposts bool
}

// taskKind is what a host's application does.
type taskKind uint8

const (
	taskPost    taskKind = iota // posts a work request
	taskPoll                    // polls a completion of a send queue
	taskReceive                 // polls a completion of a receive queue, and posts a receive if it does so
	numTaskKinds
)

// task is a piece of work of a host's application.
type task struct {
	kind taskKind
	qp   uint32
	done units.Time // when the thread is through with it
	post Post       // taskPost
	prep units.Time // taskPost: connecting and registering before it
	id   uint32     // taskPoll: the message
}

// thread is a host's application at work: what it has not finished yet, in order.
type thread struct {
	CPU
	freeAt units.Time
	tasks  []task
	head   int
}

// cost is the time that a task takes.
func (c *CPU) cost(k taskKind) units.Time {
	switch k {
	case taskPost:
		return c.Post
	case taskPoll:
		return c.Poll
	}
	if c.Reposts {
		return c.Poll + c.Repost
	}
	return c.Poll
}

// work gives the application something to do, which falls due now. A thread
// that is idle does at once what costs no time.
func (h *Host) work(now units.Time, t *task) {
	c := &h.cpu
	cost := c.cost(t.kind) + t.prep
	s := &h.qps[t.qp]
	s.tasks[t.kind]++
	s.busy += cost
	if cost == 0 && c.freeAt <= now && c.head == len(c.tasks) {
		h.finish(now, t)
		return
	}
	c.freeAt = max(c.freeAt, now) + cost
	t.done = c.freeAt
	if c.head == len(c.tasks) {
		c.tasks, c.head = c.tasks[:0], 0
		h.timer(t.done, t.done-now, timerCPU, 0)
	}
	c.tasks = append(c.tasks, *t)
}

// Working counts what the application has still to do of what fell due.
func (h *Host) Working() int { return len(h.cpu.tasks) - h.cpu.head }

// finished ends the tasks that the application is through with.
func (h *Host) finished(now units.Time) {
	c := &h.cpu
	for c.head < len(c.tasks) && c.tasks[c.head].done <= now {
		t := c.tasks[c.head]
		h.finish(now, &t) // may add tasks
		c.head++
		h.net.Part().NoteWork()
	}
	if c.head == len(c.tasks) {
		return
	}
	if c.head >= 64 && c.head >= len(c.tasks)/2 {
		c.tasks, c.head = c.tasks[:copy(c.tasks, c.tasks[c.head:])], 0
	}
	done := c.tasks[c.head].done
	h.timer(done, done-now, timerCPU, 0)
}

// finish does what a task is for.
func (h *Host) finish(now units.Time, t *task) {
	switch t.kind {
	case taskPost:
		h.postOne(now, &t.post)
	case taskPoll:
		if m := &h.messages[t.id]; m.SendDone > 0 {
			h.triggers.activate(now, int(m.SendDone))
		}
	case taskReceive:
		if h.cpu.Reposts {
			h.qps[t.qp].qp.PostReceive(1)
		}
	}
}
