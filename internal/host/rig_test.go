package host

import (
	"container/heap"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// rig drives one host: frames of one or more streams arrive at a line rate as long
// as a window allows, every segment is acknowledged, and one application per stream
// reads what there is.
type rig struct {
	t       testing.TB
	h       *Host
	now     units.Time
	events  eventHeap
	seq     int64
	streams []stream
	line    units.Rate
	mtu     int // payload of a frame
	header  int
	window  units.Bytes
	read    units.Bytes // size of the application's buffer
	next    int         // stream of the next frame
	blocked bool        // no stream may send
	latest  units.Time  // when the last byte was read
}

type stream struct {
	core    int
	seq     uint32
	left    units.Bytes // to send; negative: without end
	held    units.Bytes // in flight or in the socket
	ready   units.Bytes // in the socket
	unacked int         // frames
	reading bool
	got     units.Bytes
}

type event struct {
	at     units.Time
	seq    int64
	source int // of a timer; -1: the line is free
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

// Kinds of the rig's tasks.
const (
	rigRead uint8 = iota
	rigAck
)

func newRig(t testing.TB, s Spec, cores ...int) *rig {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, h: New(s), line: 100 * units.Gbps, mtu: 8948, header: 52 + 18, window: 3 * units.MB, read: 128 * units.KiB}
	for _, c := range cores {
		r.streams = append(r.streams, stream{core: c, left: -1})
	}
	r.at(0, -1)
	return r
}

func (r *rig) at(at units.Time, source int) {
	r.seq++
	heap.Push(&r.events, event{at, r.seq, source})
}

// run drives the host until a time, or until nothing happens any more.
func (r *rig) run(until units.Time) {
	for r.events.Len() > 0 && r.events[0].at <= until {
		e := heap.Pop(&r.events).(event)
		r.now = e.at
		if e.source < 0 {
			r.send()
		} else {
			r.expire(uint32(e.source))
		}
		for _, x := range r.h.Timers() {
			r.at(x.At, int(x.Source))
		}
		r.h.ClearTimers()
	}
	r.now = max(r.now, until)
}

// send lets the next stream whose window is open send a frame.
func (r *rig) send() {
	for range r.streams {
		s := &r.streams[r.next]
		n := r.next
		r.next = (r.next + 1) % len(r.streams)
		size := min(units.Bytes(r.mtu), r.window-s.held)
		if s.left >= 0 {
			size = min(size, s.left)
		}
		if size < units.Bytes(r.mtu) && (s.left < 0 || size < s.left) || size == 0 {
			continue
		}
		f := Frame{Conn: uint32(n), Seq: s.seq, Payload: uint32(size), Length: uint32(int(size) + r.header)}
		if s.left >= 0 {
			s.left -= size
			f.Push = s.left == 0
		}
		s.seq += uint32(size)
		s.held += size
		at := r.now + r.line.TxTime(size+units.Bytes(r.header)+20)
		if !r.h.Arrive(r.now, r.h.Queue(uint32(n), s.core), f) {
			r.t.Fatal("the receive queue is full")
		}
		r.at(at, -1)
		return
	}
	r.blocked = true
}

func (r *rig) expire(source uint32) {
	r.h.Expire(r.now, source)
	core, ok := r.h.Core(source)
	if !ok {
		return
	}
	for {
		t, ok := r.h.Finished(r.now, core)
		if !ok {
			return
		}
		r.finish(t)
	}
}

func (r *rig) finish(t *Task) {
	switch t.Kind {
	case KindReceive:
		if t.Segment.Frames > 0 {
			s := &r.streams[t.Conn]
			s.ready += t.Segment.Payload
			core := r.h.Queue(t.Conn, s.core)
			r.acknowledge(s, core, t.Segment.Frames)
			r.h.Release(&t.Segment)
			if !s.reading {
				r.readMore(t.Conn, true)
			}
		}
	case rigRead:
		s := &r.streams[t.Conn]
		n := units.Bytes(t.Arg)
		s.got += n
		s.held -= n
		r.latest = r.now
		s.reading = false
		if s.ready > 0 {
			r.readMore(t.Conn, false)
		}
		if r.blocked {
			r.blocked = false
			r.at(r.now, -1)
		}
	}
}

// acknowledge answers every second frame (RFC 5681 4.2).
func (r *rig) acknowledge(s *stream, core, frames int) {
	if s.unacked += frames; s.unacked < 2 {
		return
	}
	s.unacked = 0
	ack := Task{Kind: rigAck}
	r.h.Output(&ack, Receive, 1)
	r.h.Submit(r.now, core, Softirq, &ack)
}

func (r *rig) readMore(conn uint32, woken bool) {
	s := &r.streams[conn]
	n := min(s.ready, r.read)
	s.ready -= n
	s.reading = true
	t := Task{Kind: rigRead, Conn: conn, Arg: uint64(n)}
	if woken {
		r.h.Woken(&t)
	}
	r.h.Read(&t, s.core, n)
	if r.h.Submit(r.now, s.core, Process, &t) {
		r.finish(&t)
	}
}

// got is what the applications have read.
func (r *rig) got() (n units.Bytes) {
	for i := range r.streams {
		n += r.streams[i].got
	}
	return n
}

// goodput is that per time, in Gb/s.
func (r *rig) goodput() float64 { return float64(r.got()) * 8 / float64(r.now) * 1000 }
