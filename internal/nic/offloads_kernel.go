package nic

import (
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/iwarp"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// Where the host's kernel runs TCP for a queue pair, as Linux's siw does, and costs time, its frames wait in a receive
// queue until a core takes them, and a segment goes to the card when a core has made it. The application posts by a
// system call; the kernel copies payload into the segment (siw_qp_tx.c: where the application wants a completion) and
// out of it to where it belongs (siw_qp_rx.c, in the softirq), and works CRCs out, if there are any.

// HostKernel is the stage of a queue pair of which a core makes the next segment, or is to. Cards that run TCP fetch
// nothing that their caches did not hold.
const HostKernel = Fetching

// callPlace is a task after those of sockets: the kernel takes a segment of a queue pair, and places its payload.
const callPlace = callOutput + 1

// soft is what such a queue pair has on the cores, and in the card.
type soft struct {
	application int  // the core that posts, polls, and makes segments with data
	making      bool // a core makes the segment below
	waits       bool // it is made, and the card still has the one before it
	made        packet.Packet
	part        iwarp.Polled // what it is part of
	covers      int          // messages taken when it was made
	side, sent  sideOrNone   // of it, and of the one in the card
}

// sideOrNone is a side record that a segment has, or has not.
type sideOrNone struct {
	packet.SideCopy
	has bool
}

func (s *sideOrNone) set(side *packet.Side) {
	if s.has = side != nil; s.has {
		s.Set(side)
	}
}

// record is the side record; nil: there is none.
func (s *sideOrNone) record() *packet.Side {
	if !s.has {
		return nil
	}
	return &s.Side
}

// byKernel reports whether the kernel runs TCP for queue pair q, and that costs anything.
func (h offloads) byKernel(q uint32) bool { return h.cpu.kernel && h.specs[q].Offload.Config.Kernel }

// make has a core make the segments of queue pair q, one at a time, and the card take what is made.
func (h offloads) make(now units.Time, q uint32) {
	s := &h.qps[q]
	x := s.offloaded
	k := x.soft
	h.load(now, q)
	for !k.making && !k.waits {
		x.why, x.until = x.qp.Poll(now, &k.made)
		switch {
		case x.why == iwarp.Pacing && !x.inHeap:
			x.inHeap = true
			h.ports[s.port].pushPaced(paced{x.until, q})
			return
		case x.why != iwarp.Sent:
			return
		}
		k.part, k.covers, k.making = *x.qp.PolledPart(), len(s.taken.accepted), true
		k.side.set(x.qp.PolledSide())
		t := host.Task{Kind: callOutput, Conn: q}
		core, class := k.application, host.Process
		if k.made.Payload == 0 {
			core, class = h.receiveQueue(q), host.Softirq
			h.cpu.Output(&t, host.Receive, 1)
		} else {
			h.cpu.Output(&t, host.Transmit, 1)
			if k.made.Flags&packet.Retrans == 0 {
				h.cpu.Fill(&t, core, units.Bytes(k.part.Payload), units.Bytes(k.made.Payload), x.qp.Checked())
			}
		}
		if h.cpu.Submit(now, core, class, &t) {
			h.outputMade(now, q)
		}
		h.setCPUTimers(now)
	}
}

// outputMade goes on with the segment of queue pair q that a core has made. What acknowledges alone goes at once.
func (h offloads) outputMade(now units.Time, q uint32) {
	k := h.qps[q].offloaded.soft
	k.making = false
	if k.made.Payload == 0 && k.made.Opcode&control == 0 {
		h.acknowledge(now, q, &k.made, k.side.record(), k.covers)
		return
	}
	k.waits = true
	h.load(now, q)
}

// load gives the card the segment of queue pair q that is made, if it is through with the one before.
func (h offloads) load(now units.Time, q uint32) {
	x := h.qps[q].offloaded
	k := x.soft
	if x.has || !k.waits {
		return
	}
	x.seg, x.part, x.covers = k.made, k.part, k.covers
	k.side, k.sent = k.sent, k.side
	k.waits, x.has = false, true
	h.ready(now, q, now)
}

// takeIn puts a frame that came in into the receive queue of its queue pair q.
func (h offloads) takeIn(now units.Time, q, slot uint32) {
	if pk := h.net.Part().Rec(slot); pk.DSCP&packet.Stamped != 0 {
		h.net.StampIn(now, h.ports[h.qps[q].port].fabricPort, pk)
	}
	h.arrive(now, q, slot, now)
}

// place has the core that took frames of queue pair q place what they bring.
func (h offloads) place(now units.Time, seg *host.Segment) {
	q := seg.Conn
	x := h.open(now, q).offloaded
	t := host.Task{Kind: callPlace, Conn: q, Segment: *seg}
	core := h.receiveQueue(q)
	h.cpu.Place(&t, core, seg.Payload, x.qp.Checked())
	if h.cpu.Submit(now, core, host.Softirq, &t) {
		h.placed(now, &t.Segment)
	}
	h.setCPUTimers(now)
}

// placed gives the frames of a segment to their queue pair.
func (h offloads) placed(now units.Time, seg *host.Segment) {
	q := seg.Conn
	for k := seg.First; k != 0; {
		var f *host.Frame
		f, k = h.cpu.Frame(k)
		if pk := h.net.Part().Rec(f.Slot); pk.DSCP&packet.Stamped != 0 {
			h.net.StampOut(now, h.ports[h.qps[q].port].fabricPort, pk)
		}
		h.take(now, q, f.Slot)
	}
	h.cpu.Release(seg)
}

func (h offloads) ran(now units.Time, t *host.Task) {
	switch t.Kind {
	case host.KindReceive:
		h.place(now, &t.Segment)
	case callPlace:
		h.placed(now, &t.Segment)
	default:
		h.settle(now, &h.qps[t.Conn])
		h.outputMade(now, t.Conn)
		h.goOn(now, t.Conn, 0)
	}
}
