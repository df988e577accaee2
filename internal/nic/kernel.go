package nic

import (
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
)

// Where a host's kernel costs time, a TCP connection lives on its cores: frames
// wait in a receive queue until a core takes them, the application reads and writes
// in system calls of at most maxCall bytes, and a segment is handed to the card when
// a core has made it. One that is made waits in the card behind the one being cut.

// maxCall is the buffer of applications that send or receive streams: the default of
// iperf and netperf.
const maxCall = 128 * units.KiB

// Kinds of host.Task of TCP, after those of RDMA's application.
const (
	callRead   = uint8(numTaskKinds) + iota // Arg: bytes
	callWrite                               // Arg: bytes
	callNotify                              // MSG_ZEROCOPY's notification
	callClose
	callOutput // the segment in kernelEnd.made
)

// kernelEnd is what a connection's end has on the cores.
type kernelEnd struct {
	application int  // its core
	calling     bool // it is in a system call
	asleep      bool // it waits for one to be possible
	full        bool // the socket had no room for all; until Writable
	making      bool // a core makes the segment below
	made        packet.Packet
	frames      int // of made, which waits in the card; 0: none
	side        packet.SideCopy
	hasSide     bool
}

// Kernel reports whether the host's kernel costs anything.
func (h *Host) Kernel() bool { return h.cpu.kernel }

// submit gives a core a task of connection q.
func (h *Host) submit(now units.Time, core int, class host.Class, t *host.Task) {
	if h.cpu.Submit(now, core, class, t) {
		h.finishCall(now, t)
	}
	h.setCPUTimers(now)
}

// arrive puts a received segment, which came in at a time and is in memory now, into
// the receive queue of its connection.
func (h *Host) arrive(now units.Time, q, slot uint32, came units.Time) {
	pk := h.net.Part().Rec(slot)
	const alone = tcp.SYN | tcp.FIN | tcp.RST | tcp.CWR
	f := host.Frame{Conn: q, Slot: slot, Seq: pk.PSN, Payload: pk.Payload, Length: pk.Frame, At: came, Landed: now,
		Key:   uint64(pk.AETH)<<32 ^ pk.VA ^ uint64(tcp.HeaderLen(pk))<<8 ^ uint64(pk.ECN),
		Alone: pk.Payload == 0 || pk.Opcode&alone != 0, Push: pk.Opcode&tcp.PSH != 0}
	if !h.cpu.Arrive(now, h.receiveQueue(q), f) {
		h.net.DropReceived(now, h.ports[h.qps[q].port].fabricPort, slot)
	}
	h.setCPUTimers(now)
}

// receiveQueue is the queue of connection q, and so the core of its softirqs.
func (h *Host) receiveQueue(q uint32) int {
	return h.cpu.Queue(h.specs[q].Conn*2654435761>>8, h.cpu.Application(int(q)))
}

// received gives the frames of a segment that went through GRO to their connection.
func (h *Host) received(now units.Time, seg *host.Segment) {
	q := seg.Conn
	for k := seg.First; k != 0; {
		var f *host.Frame
		f, k = h.cpu.Frame(k)
		h.take(now, q, f)
	}
	h.cpu.Release(seg)
	h.serve(now, q)
}

// finishCall does what a finished task of a connection is for.
func (h *Host) finishCall(now units.Time, t *host.Task) {
	if t.Kind == host.KindReceive {
		if t.Segment.Frames > 0 {
			h.received(now, &t.Segment)
		}
		return
	}
	q, n := t.Conn, int64(t.Arg)
	s := h.stream(now, q)
	st := s.stream
	h.settle(now, s)
	switch t.Kind {
	case callRead:
		st.kernel.calling = false
		h.readBytes(now, q, n)
	case callWrite:
		st.kernel.calling = false
		st.fillBytes(now, n)
	case callOutput:
		h.made(now, q)
	case callClose:
		st.kernel.calling = false
		st.close()
	case callNotify:
	}
	h.serve(now, q)
}

// call has the application of connection q make its next system call, if there is
// anything to read, or to write and room for it.
func (h *Host) call(now units.Time, q uint32) {
	st := h.qps[q].stream
	k := &st.kernel
	if k.calling || st.failed != 0 {
		return
	}
	t := host.Task{Conn: q}
	switch n := min(st.conn.Readable(), int64(maxCall)); {
	case n > 0:
		t.Kind, t.Arg = callRead, uint64(n)
		h.wake(k, &t)
		h.cpu.Read(&t, k.application, units.Bytes(n))
	case h.closing(&h.qps[q], q):
		t.Kind = callClose
		h.wake(k, &t)
		h.cpu.Close(&t, st.over)
	default:
		if n = h.writable(now, q); n == 0 {
			k.asleep = !st.copying(now)
			return
		}
		t.Kind, t.Arg = callWrite, uint64(n)
		h.wake(k, &t)
		h.cpu.Write(&t, k.application, units.Bytes(n))
	}
	k.calling = true
	h.submit(now, k.application, host.Process, &t)
}

// wake charges a call with the wakeup of an application that sleeps.
func (h *Host) wake(k *kernelEnd, t *host.Task) {
	if k.asleep {
		k.asleep = false
		h.cpu.Woken(t)
	}
}

// writable is how many bytes the application can write in one call.
func (h *Host) writable(now units.Time, q uint32) int64 {
	st := h.qps[q].stream
	if st.first == len(st.calls) || st.kernel.full {
		return 0
	}
	want := h.offerCopied(now, q, min(st.calls[st.first].left, int64(maxCall)))
	n := st.conn.Offer(want)
	st.kernel.full = n < want
	return n
}

// fillBytes ends a call that wrote n bytes.
func (st *stream) fillBytes(now units.Time, n int64) {
	if st.first == len(st.calls) {
		return // the connection failed meanwhile
	}
	if st.put(now, n); st.calls[st.first].left == 0 {
		st.first++
	}
	if st.first == len(st.calls) {
		st.calls, st.first = st.calls[:0], 0
		st.kernel.full = false
	} else if st.kernel.full { // the rest waits until there is room again
		want := min(st.calls[st.first].left, int64(maxCall))
		st.kernel.full = st.conn.Offer(want) < want
	}
}

// made gives the card a segment that a core has made.
func (h *Host) made(now units.Time, q uint32) {
	k := &h.qps[q].stream.kernel
	k.making = false
	k.frames = tcp.Segments(&k.made)
	h.ringSegment(now, q)
	h.load(now, q)
}

// output has a core make the connection's next segment, unless one is being made
// or waits in the card. One that takes the core no time is made at once.
func (h *Host) output(now units.Time, q uint32) {
	k := &h.qps[q].stream.kernel
	for !k.making && k.frames == 0 && h.makeSegment(now, q) {
	}
}

// makeSegment has a core make the next segment, and reports whether it is made.
func (h *Host) makeSegment(now units.Time, q uint32) bool {
	s := &h.qps[q]
	st := s.stream
	k := &st.kernel
	st.why, st.until = st.conn.Poll(now, &k.made)
	switch {
	case st.why == tcp.Pacing && !st.inHeap:
		st.inHeap = true
		h.ports[s.port].pushPaced(paced{st.until, q})
	case st.why == tcp.Sent:
		if side := st.conn.PolledSide(); side != nil {
			k.side.Set(side)
			k.hasSide = true
		} else {
			k.hasSide = false
		}
		k.making = true
		t := host.Task{Kind: callOutput, Conn: q}
		d := host.Transmit
		if k.made.Payload == 0 {
			d = host.Receive
		}
		h.cpu.Output(&t, d, tcp.Segments(&k.made))
		made := h.cpu.Submit(now, h.receiveQueue(q), host.Softirq, &t)
		if made {
			h.made(now, q)
		}
		h.setCPUTimers(now)
		return made
	}
	return false
}

// load has the card cut the segment that a core has made, if it is through with the
// one before.
func (h *Host) load(now units.Time, q uint32) {
	s := &h.qps[q]
	st := s.stream
	k := &st.kernel
	if st.cut < st.frames || k.frames == 0 || h.path != nil && now < st.path.here {
		return
	}
	if h.path != nil {
		st.path.base += uint64(st.frames)
	}
	st.seg, st.frames, st.cut = k.made, k.frames, 0
	if st.hasSide = k.hasSide; k.hasSide {
		st.side.Set(&k.side.Side)
	}
	k.frames = 0
	h.ready(now, q, now)
}

// notify has the application of connection q take a notification of MSG_ZEROCOPY.
func (h *Host) notify(now units.Time, q uint32) {
	t := host.Task{Kind: callNotify, Conn: q}
	h.cpu.Notified(&t)
	if t.Cost() > 0 {
		h.submit(now, h.qps[q].stream.kernel.application, host.Process, &t)
	}
}
