package nic

import (
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/units"
)

// taskKind is what a host's application does. It is one process, on the first
// core, that does one thing after the other, in the order in which they fall due.
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
	post Post       // taskPost
	prep units.Time // taskPost: connecting and registering before it
	id   uint32     // taskPoll: the message
	// of is the kind of a queue pair that a program makes: it has still to be made, or may be
	// over when the task is done. nil: qp is there.
	of *QPKind
}

// processors are a host's cores with the tasks they have not finished.
type processors struct {
	*host.Host
	reposts bool
	kernel  bool                   // the kernel's work takes time, or goes through a server
	tasks   []*[taskBlock]keptTask // by number
	posts   []*Post                // to be used again by those that post
	free    []uint32
}

func newProcessors(s *Spec) processors {
	spec := s.CPU
	if spec.Cores == 0 {
		spec, _ = host.Preset("free")
	}
	if s.Server != nil {
		serverMemory(&spec, s.Server)
	}
	return processors{Host: host.New(spec), reposts: s.Reposts, kernel: spec.Kernel() || s.Server != nil}
}

// keptTask is a task that waits, with its post apart: most have none.
type keptTask struct {
	kind   taskKind
	qp, id uint32
	prep   units.Time
	of     *QPKind
	post   *Post
}

// taskBlock is how many tasks are made room for at a time.
const taskBlock = 32

// at is a task by its number.
func (c *processors) at(k uint32) *keptTask { return &c.tasks[k/taskBlock][k%taskBlock] }

// put numbers a task.
func (c *processors) put(t *task) uint64 {
	n := len(c.free)
	if n == 0 {
		for k := range uint32(taskBlock) {
			c.free = append(c.free, uint32(len(c.tasks)+1)*taskBlock-1-k)
		}
		c.tasks, n = append(c.tasks, new([taskBlock]keptTask)), taskBlock
	}
	k := c.free[n-1]
	c.free = c.free[:n-1]
	x := keptTask{kind: t.kind, qp: t.qp, id: t.id, prep: t.prep, of: t.of}
	if t.kind == taskPost {
		x.post = c.newPost()
		*x.post = t.post
	}
	*c.at(k) = x
	return uint64(k)
}

// newPost makes room for a post.
func (c *processors) newPost() *Post {
	if len(c.posts) == 0 {
		block := make([]Post, taskBlock)
		for k := range block {
			c.posts = append(c.posts, &block[k])
		}
	}
	p := c.posts[len(c.posts)-1]
	c.posts = c.posts[:len(c.posts)-1]
	return p
}

// take returns a numbered task, whose number is free then.
func (c *processors) take(k uint64) task {
	c.free = append(c.free, uint32(k))
	x := c.at(uint32(k))
	t := task{kind: x.kind, qp: x.qp, id: x.id, prep: x.prep, of: x.of}
	if x.post != nil {
		t.post = *x.post
		c.posts, x.post = append(c.posts, x.post), nil
	}
	return t
}

// work gives the application something to do, which falls due now. One that is
// idle does at once what costs no time.
func (h *Host) work(now units.Time, t *task) {
	c := &h.cpu
	x := host.Task{Kind: uint8(t.kind)}
	core := 0
	q := t.of
	if q == nil {
		q = h.specs[t.qp].QPKind
	}
	if q.Thread > 0 {
		core = c.Application(q.Thread - 1)
	}
	own := q.Proxy != host.Proxy{}
	if own { // beside the application on the first core
		core = c.Application(q.Thread)
	}
	switch {
	case own && t.kind == taskPost:
		x.Add(host.Post, q.Proxy.Post+t.prep)
	case own && t.kind == taskPoll:
		x.Add(host.Poll, q.Proxy.Poll)
	case own && t.kind == taskReceive:
		x.Direction = host.Receive
		x.Add(host.Poll, q.Proxy.Poll)
		x.Add(host.Post, q.Proxy.Repost)
	default:
		h.charge(t, &x, &core)
	}

	if t.of == nil {
		s := h.used(t.qp)
		s.tasks[t.kind]++
		s.busy += x.Cost()
	}
	x.Arg = c.put(t)
	if c.Submit(now, core, host.Process, &x) {
		c.take(x.Arg)
		h.finish(now, t)
	}
	h.setCPUTimers(now)
}

// charge charges a task by the host's costs.
func (h *Host) charge(t *task, x *host.Task, core *int) {
	c := &h.cpu
	on, by := 0, noCall
	if t.of == nil { // else a program's, which has no slot yet
		on, by = h.end(t.qp).callsOn(t.qp)
	}
	if by != noCall {
		*core = on
	}
	switch t.kind {
	case taskPost:
		switch by {
		case byWrite:
			x.Add(host.Post, t.prep)
		case byVerbs:
			c.PostCall(x, t.prep)
		default:
			c.PostWork(x, t.prep)
		}
	case taskPoll:
		c.PollWork(x, host.Transmit, false)
	case taskReceive:
		c.PollWork(x, host.Receive, c.reposts)
	}
}

// setCPUTimers sets the timers that the cores have asked for.
func (h *Host) setCPUTimers(now units.Time) {
	for _, x := range h.cpu.Timers() {
		h.timer(x.At, x.At-now, timerCPU, x.Source)
	}
	h.cpu.ClearTimers()
}

// finished ends the tasks that a core is through with.
func (h *Host) finished(now units.Time, source uint32) {
	c := &h.cpu
	c.Expire(now, source)
	core, ok := c.Core(source)
	for ok {
		var x *host.Task
		if x, ok = c.Finished(now, core); ok && x.Kind >= uint8(numTaskKinds) {
			if x.Kind != host.KindReceive || x.Segment.Frames > 0 {
				h.end(x.Conn).ran(now, x)
			}
			h.net.Part().NoteWork()
		} else if ok {
			t := c.take(x.Arg)
			h.finish(now, &t) // may add tasks
			h.net.Part().NoteWork()
		}
	}
	h.setCPUTimers(now)
}

// finish does what a task is for.
func (h *Host) finish(now units.Time, t *task) {
	switch t.kind {
	case taskPost:
		if t.of != nil {
			t.post.QP = h.connected(t.post.QP)
		}
		h.end(t.post.QP).post(now, t.post)
	case taskPoll:
		h.message(t.id).Polled = now
		h.completed(now, t.id)
	case taskReceive:
		if h.cpu.reposts && t.of == nil {
			h.end(t.qp).repost(t.qp)
		}
	}
}

// Working counts what the host's processors have still to do of what fell due, and
// the local operations that run.
func (h *Host) Working() int { return h.cpu.Working() + h.running }
