package host

import "github.com/hopscope/hopscope/internal/units"

// Frame is a received frame, as far as the host looks at it.
type Frame struct {
	Conn    uint32 // what may be merged: the owner's number of the connection
	Slot    uint32 // the owner's record
	Seq     uint32 // of its first byte
	Payload uint32 // bytes
	Length  uint32 // bytes of the frame, all headers included
	// Key is equal for frames whose headers allow merging: acknowledgement number,
	// timestamps, ECN bits. Alone frames are merged with none: pure
	// acknowledgements, SYN, FIN, RST, CWR.
	Key   uint64
	Alone bool
	Push  bool       // ends a segment
	At    units.Time // when it came; the owner's
	// Landed is when it was in memory; the owner's.
	Landed units.Time
}

// Segment is what GRO makes of frames: one of them, or several that follow each
// other. Walk it with First and Host.Following.
type Segment struct {
	Conn    uint32
	Frames  int         // 0: no segment
	Payload units.Bytes // of all
	First   uint32      // for Host.Frame
	last    uint32
	next    uint32 // sequence number that follows
	size    uint32 // payload of each frame but the last
	key     uint64
}

// frameSlab keeps the frames that wait; entry 0 is not used.
type frameSlab struct {
	frames []Frame
	links  []uint32
	free   uint32
	used   int
}

func (s *frameSlab) put(f *Frame) uint32 {
	s.used++
	if s.free == 0 {
		if len(s.frames) == 0 {
			s.frames, s.links = make([]Frame, 1, 64), make([]uint32, 1, 64)
		}
		s.frames, s.links = append(s.frames, *f), append(s.links, 0)
		return uint32(len(s.frames) - 1)
	}
	i := s.free
	s.free = s.links[i]
	s.frames[i], s.links[i] = *f, 0
	return i
}

// Frame returns frame i of a segment of a finished task, and the one that follows
// it, 0 after the last.
func (h *Host) Frame(i uint32) (*Frame, uint32) { return &h.frames.frames[i], h.frames.links[i] }

// Release forgets a segment's frames. The owner calls it once for every segment.
func (h *Host) Release(s *Segment) {
	if s.Frames == 0 {
		return
	}
	h.frames.used -= s.Frames
	h.frames.links[s.last] = h.frames.free
	h.frames.free = s.First
	s.Frames = 0
}

// groSlots is how many segments of different connections a queue merges at a time:
// MAX_GRO_SKBS of Linux's hash buckets.
const groSlots = 8

// Held counts the frames that were put into a receive queue and not released.
func (h *Host) Held() int { return h.frames.used }

// queue is a receive queue of the card, served by the core of its number.
type queue struct {
	first, last uint32 // frames that no core has taken
	n           int
	polling     bool // NAPI polls; the card gives no interrupts
	scheduled   bool // a poll is queued on the core
	taken       bool // the interrupt that began the polling is charged
	used        bool
	budget      int  // frames left of this poll
	emptied     bool // it found the queue empty, and takes no more frames
	slots       [groSlots]Segment
	merging     int // slots in use, the oldest first
	ready       [groSlots + 2]Segment
	nready      int
	moderator
}

func (q *queue) init(s *Spec) { q.moderator.init(s.Moderation) }

// waiting counts frames in memory that were not handed over.
func (q *queue) waiting() int { return q.n + q.merging + q.nready }

// Queue is the receive queue for a flow: that of the application's core with flow
// steering (aRFS), else the one that the hash chooses (RSS).
func (h *Host) Queue(hash uint32, application int) int {
	if h.spec.FlowSteering {
		return application
	}
	return int(hash % uint32(len(h.queues)))
}

// Arrive puts a frame that the card has received into a queue. It reports false,
// and the frame is lost, if the queue is full.
func (h *Host) Arrive(now units.Time, i int, f Frame) bool {
	q := &h.queues[i]
	if q.n >= h.spec.Ring {
		h.bill.RingDrops++
		return false
	}
	k := h.frames.put(&f)
	if q.n == 0 {
		q.first = k
	} else {
		h.frames.links[q.last] = k
	}
	q.last = k
	q.n++
	q.used = true
	q.count(&f)
	h.write(now, units.Bytes(f.Length))
	if q.polling {
		return true
	}
	if h.spec.BusyPoll {
		h.begin(now, i, false)
	} else if at, changed := q.arrived(now); at == now {
		h.interrupt(now, i)
	} else if changed {
		h.timer(at, len(h.cores)+i)
	}
	return true
}

// write is the card's writing of a frame to memory: into the cache, from which the
// part goes to DRAM that is evicted before it is read; or to DRAM at once.
func (h *Host) write(now units.Time, n units.Bytes) {
	n = n * units.Bytes(h.spec.Evicted()) / 1000
	if h.spec.Server != nil {
		h.bill.DRAM += n // it went there before the frame arrived
		return
	}
	h.move(now, h.spec.NIC, n, 0)
}

// Evicted is how many permille of what the card writes go to DRAM.
func (s *Spec) Evicted() int {
	if s.NoDDIO {
		return 1000
	}
	return s.Costs.MissIn
}

// interrupt begins polling on a queue's core, if one is due.
func (h *Host) interrupt(now units.Time, i int) {
	q := &h.queues[i]
	if q.polling || q.n == 0 || q.due > now {
		return
	}
	h.bill.Interrupts++
	q.interrupts++
	h.begin(now, i, true)
}

// begin has a queue's core poll it.
func (h *Host) begin(now units.Time, i int, interrupt bool) {
	h.queues[i].open(interrupt, h.spec.Budget)
	h.Submit(now, i, Softirq, &Task{Kind: KindReceive, Direction: Receive, memory: -1})
}

// open begins the polling of a queue, whose first poll is queued on its core. What a
// poll takes is decided when it starts.
func (q *queue) open(interrupt bool, budget int) {
	q.polling, q.scheduled, q.taken, q.budget, q.emptied = true, true, !interrupt, budget, false
}

// poll makes the core's task of what waits in its queue: frames until a segment is
// complete or the budget is used up, then the segment. An empty queue completes
// all segments.
func (h *Host) poll(now units.Time, core int) {
	q, c, cost := &h.queues[core], &h.cores[core], &h.spec.Costs
	t := &c.task
	t.memory = 0
	q.scheduled = false
	if !q.taken {
		q.taken = true
		t.Add(Interrupt, cost.Interrupt)
	}
	for q.nready == 0 && q.n > 0 && q.budget > 0 && !q.emptied {
		k := q.first
		q.first = h.frames.links[k]
		h.frames.links[k] = 0
		q.n--
		q.budget--
		c.polled++
		f := &h.frames.frames[k]
		h.bill.FramesIn++
		t.Add(Input, cost.RxFrame+units.Time(pages(units.Bytes(f.Length)))*cost.RxPage)
		h.merge(q, f, k)
	}
	if q.n == 0 && q.budget > 0 {
		q.emptied = true
	}
	if q.nready == 0 && q.emptied {
		for q.merging > 0 {
			q.complete(0)
		}
	}
	t.Segment = Segment{}
	if q.nready > 0 {
		t.Segment = q.ready[0]
		q.nready--
		copy(q.ready[:q.nready], q.ready[1:])
		t.Conn = t.Segment.Conn
		t.Add(Input, cost.Input)
		h.bill.SegmentsIn++
	}
}

// continuePoll goes on with the poll of a core's queue after one of its tasks.
// NAPI ends when it has found the queue empty and all segments have gone up; what
// came meanwhile begins another period of the card's moderation. When its budget is used up it queues behind
// other softirqs, and, when the budget of softirqs is, behind processes: that is
// ksoftirqd.
func (h *Host) continuePoll(now units.Time, core int) {
	q, c := &h.queues[core], &h.cores[core]
	if !q.polling || q.scheduled || c.task.Kind != KindReceive {
		return
	}
	if q.emptied && q.merging+q.nready == 0 {
		q.polling = false
		q.polled(now)
		h.rearm(now, core)
		return
	}
	class := Softirq
	if q.budget == 0 {
		q.budget = h.spec.Budget
		if c.polled >= h.spec.RoundBudget || now-c.started >= h.spec.RoundTime {
			class = Process
		}
	}
	q.scheduled = true
	c.queue[class].push(&Task{Kind: KindReceive, Direction: Receive, memory: -1})
}

// rearm lets the card interrupt again for the frames that came while the core
// polled. An interrupt at once takes the core next.
func (h *Host) rearm(now units.Time, i int) {
	q := &h.queues[i]
	if q.n == 0 {
		return
	}
	if due := q.leftover(now, q.n); due > now && !h.spec.BusyPoll {
		h.timer(due, len(h.cores)+i)
		return
	}
	if !h.spec.BusyPoll {
		h.bill.Interrupts++
		q.interrupts++
	}
	q.open(!h.spec.BusyPoll, h.spec.Budget)
	h.cores[i].queue[Softirq].push(&Task{Kind: KindReceive, Direction: Receive, memory: -1})
}

// merge gives a frame to GRO, which completes what cannot grow.
func (h *Host) merge(q *queue, f *Frame, k uint32) {
	slot := -1
	for i := range q.merging {
		if q.slots[i].Conn == f.Conn {
			slot = i
		}
	}
	if slot >= 0 {
		s := &q.slots[slot]
		if s.takes(f, h.spec.GRO) {
			h.frames.links[s.last] = k
			s.last = k
			s.Frames++
			s.Payload += units.Bytes(f.Payload)
			s.next += f.Payload
			if f.Push || f.Payload < s.size || s.Payload+units.Bytes(s.size) > h.spec.GRO {
				q.complete(slot)
			}
			return
		}
		q.complete(slot)
	}
	one := Segment{Conn: f.Conn, Frames: 1, Payload: units.Bytes(f.Payload), First: k, last: k,
		next: f.Seq + f.Payload, size: f.Payload, key: f.Key}
	if f.Alone || f.Push || f.Payload == 0 || 2*one.Payload > h.spec.GRO {
		q.ready[q.nready] = one
		q.nready++
		return
	}
	if q.merging == groSlots {
		q.complete(0)
	}
	q.slots[q.merging] = one
	q.merging++
}

// takes reports whether a frame continues a segment.
func (s *Segment) takes(f *Frame, longest units.Bytes) bool {
	return !f.Alone && f.Payload > 0 && f.Seq == s.next && f.Key == s.key && f.Payload <= s.size &&
		s.Payload+units.Bytes(f.Payload) <= longest
}

// complete moves a segment to those that go up.
func (q *queue) complete(slot int) {
	q.ready[q.nready] = q.slots[slot]
	q.nready++
	copy(q.slots[slot:q.merging-1], q.slots[slot+1:q.merging])
	q.merging--
}
