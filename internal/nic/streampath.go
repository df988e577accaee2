package nic

import (
	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
)

// The frames of a TCP connection pass the server's links too. A doorbell tells the
// card of a segment that the kernel has made; the card reads its descriptor, then the
// payload of its frames ahead of the transmitter, as with queue pairs, also while it
// still cuts the segment before. What comes in it writes to a receive queue in memory,
// where the kernel finds it.

// streamPath is what a connection's end has there.
type streamPath struct {
	here  units.Time // when the card has the descriptor of the segment that waits
	wait  units.Time // when the card has the payload of the frame whose turn it was
	base  uint64     // number of the first frame of the segment being cut; frames count from the first ever
	stage streamStage
	came  asked // frames on their way to memory, in order: key is their slot, ready when they came in
}

// socketMemory is a server's memory to a host whose first socket is one of it.
type socketMemory struct {
	*dma.Engine
	first int
}

// Move implements host.Memory.
func (m socketMemory) Move(now units.Time, socket int, n units.Bytes, over units.Time) units.Time {
	return m.Engine.Move(now, (m.first+socket)%m.Sockets(), n, over)
}

// serverMemory has the host copy through its server's memory. Its sockets are those of
// the server, if it has the cores for them; else it is on the first card's.
func serverMemory(cpu *host.Spec, e *dma.Engine) {
	cpu.NIC = max(0, e.Socket(e.Tree().Nets[0].Card))
	if cpu.Sockets = e.Sockets(); cpu.Sockets > cpu.Cores {
		cpu.Server, cpu.Sockets, cpu.NIC = socketMemory{e, cpu.NIC}, 1, 0
		return
	}
	cpu.Server = socketMemory{e, 0}
}

// socketChains puts the last-level cache before the memory of a connection's ways:
// what is copied into the socket the card finds there, and what it writes is evicted
// in part before it is copied out.
func (p *hostPath) socketChains(m *MemoryPath, cpu *host.Spec) {
	missed := 1000
	if cpu.Send == host.SendCopy && !cpu.NoDDIO {
		missed = 0
	}
	read, write := p.Through(m.Read, missed), p.Through(m.Write, cpu.Evicted())
	m.Read, m.Write = &read, &write
}

// ringSegment has the card told of the segment that waits, whose descriptor it reads.
func (h *Host) ringSegment(now units.Time, q uint32) {
	if h.path == nil {
		return
	}
	work, costs := h.specs[q].Memory.Work, h.path.costs
	at := h.path.Fetch(now, work, costs.DoorbellBytes, costs.WQE)
	h.qps[q].stream.path.here = at
	h.restless++
	h.timer(at, at-now, timerSegment, q)
}

// The timers of frames in memory and of copies; the others are of what the card has.
const (
	landed  = 1 << 31
	staging = 1 << 30
)

// segmentTimer runs a timer of a connection's path through the server.
func (h *Host) segmentTimer(now units.Time, low uint32) {
	h.restless--
	switch {
	case low&landed != 0:
		h.segmentLanded(now, low&^landed)
	case low&staging != 0:
		h.staged(now, low&^staging)
	default:
		h.segmentHere(now, low)
	}
}

// segmentHere lets connection q go on: the card has the descriptor of its segment, or
// the payload of its next frame.
func (h *Host) segmentHere(now units.Time, q uint32) {
	s := &h.qps[q]
	h.net.Part().NoteWork()
	h.settle(now, s)
	switch st := s.stream; {
	case st.failed != 0:
		h.forget(q)
	case st.cut < st.frames && !s.scheduled && st.path.wait <= now:
		h.ready(now, q, now)
	case st.cut < st.frames:
		h.askFrames(now, q)
	default:
		h.load(now, q)
	}
	h.streamChanged(now, s)
	h.net.Kick(now, h.ports[s.port].fabricPort)
}

// mayCut reports whether the card has the payload of the frame of connection q whose
// turn it is; if not it comes back to it when it does.
func (h *Host) mayCut(now units.Time, q uint32) bool {
	at := h.askFrames(now, q)
	if at <= now {
		return true
	}
	h.qps[q].stream.path.wait = at
	a := h.qps[q].account
	a.fetchUntil, a.fetchStage, a.sampled = at, Reading, false
	h.restless++
	h.timer(at, at-now, timerSegment, q)
	return false
}

// askFrames has the card read payload of connection q ahead, as far as there is room,
// and says when it has that of the next frame.
func (h *Host) askFrames(now units.Time, q uint32) units.Time {
	st, x := h.qps[q].stream, &h.path.qps[q]
	next := st.path.base + uint64(st.cut)
	for x.fresh.n > 0 && x.fresh.at(0).key < next {
		h.drop(q, &x.fresh, 1)
	}
	key := next
	if x.fresh.n > 0 {
		key = x.fresh.at(x.fresh.n-1).key + 1
	}
	for h.room(q, &x.fresh) {
		n, ok := st.framePayload(now, key)
		if !ok {
			break
		}
		h.ask(now, q, &x.fresh, key, n)
		key++
	}
	if x.fresh.n > 0 && x.fresh.at(0).key == next {
		return x.fresh.at(0).ready
	}
	return now
}

// framePayload is the payload of a frame by its number, if the card has its segment's
// descriptor.
func (st *stream) framePayload(now units.Time, key uint64) (uint32, bool) {
	i := int(key - st.path.base)
	if i < st.frames {
		return tcp.CutPayload(&st.seg, i), true
	}
	if i -= st.frames; i < st.kernel.frames && st.path.here <= now {
		return tcp.CutPayload(&st.kernel.made, i), true
	}
	return 0, false
}

// landSegment has the card write a frame to the receive queue of connection q, with
// its completion entry.
func (h *Host) landSegment(now units.Time, q, slot uint32) {
	x, st := &h.path.qps[q], h.stream(now, q).stream
	n := units.Bytes(h.net.Part().Rec(slot).Frame) + h.path.costs.CQE
	accepted, done := h.path.Write(now, h.specs[q].Memory.Write, n)
	rx := &h.ports[h.qps[q].port].rx
	rx.writing = max(rx.writing, accepted)
	x.placed = max(x.placed, done)
	st.path.came.push(reading{key: uint64(slot), ready: now})
	h.restless++
	h.timer(x.placed, x.placed-now, timerSegment, q|landed)
}

// segmentLanded gives the kernel the next frame of connection q that is in memory.
func (h *Host) segmentLanded(now units.Time, q uint32) {
	came := &h.qps[q].stream.path.came
	r := came.at(0)
	slot, at := uint32(r.key), r.ready
	came.head++
	came.n--
	h.arrive(now, q, slot, at)
}
