package nic

import (
	"github.com/hopscope/hopscope/internal/card"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// What passing through a card takes (package card; docs/models/nic.md). Frames come in
// through the receive pipeline, in order, before the receive buffer. What is sent passes the
// send pipeline behind what it waited for: the work request where that brings all, else the
// payload (hostpath.go, readahead.go); answers pass it here. A card behind no PCIe link posts
// and sends in one instant, so that what it receives passes both of the two here.

// What a timer of the receive path is for, in the top of low; the rest is a frame's slot, or
// without any the port whose receive buffer drains.
const (
	laterNAK     uint32 = 1 << 29 // a NAK has its effect
	laterAnswer  uint32 = 1 << 30 // an answer joins the queue of its class
	laterArrival uint32 = 1 << 31 // a frame is through the receive pipeline
	laterMask           = laterNAK | laterAnswer | laterArrival
)

// receivePipeline is what a frame that comes in passes before anything looks at it.
func (h *Host) receivePipeline() units.Time {
	if h.path == nil {
		return h.card.Send + h.card.Receive
	}
	return h.card.Receive
}

// sendPipeline is what an answer passes.
func (h *Host) sendPipeline() units.Time {
	if h.path == nil {
		return 0
	}
	return h.card.Send
}

// after has something done to the frame in slot in a while.
func (h *Host) after(now, d units.Time, what, slot uint32) {
	h.passing++
	h.timer(now+d, d, timerDrain, what|slot)
}

// passed goes on with a frame after a while.
func (h *Host) passed(now units.Time, low uint32) {
	h.passing--
	part, slot := h.net.Part(), low&^laterMask
	part.NoteWork()
	switch pk := part.Rec(slot); low & laterMask {
	case laterArrival:
		h.receive(now, int(pk.In), slot)
	case laterAnswer:
		i := int(pk.In)
		h.queueControl(now, i, slot)
		h.net.Kick(now, h.ports[i].fabricPort)
	case laterNAK:
		h.replies.N, h.replies.CNPAfter = 0, 0
		q, here := h.slotOf(pk.DestQP)
		if !here {
			part.Free(slot)
			return
		}
		h.deliverAnswer(now, q, pk)
		h.reply(now, int(h.qps[q].port), slot)
	}
}

// Receive implements fabric.Host.
func (h *Host) Receive(now units.Time, i int, slot uint32) {
	d := h.receivePipeline()
	if d == 0 {
		h.receive(now, i, slot)
		return
	}
	pk := h.net.Part().Rec(slot)
	if pk.Kind == packet.Segment { // what the kernel's receiving was measured to take has it
		h.receive(now, i, slot)
		return
	}
	pk.In = uint16(i)
	if pk.DSCP&packet.Stamped != 0 {
		h.net.StampIn(now, h.ports[i].fabricPort, pk)
	}
	h.after(now, d, laterArrival, slot)
}

// through notes that the frame in slot is through the card of port i and goes to its queue
// pair; what waited in the receive buffer has noted it.
func (h *Host) through(now units.Time, i int, slot uint32) {
	if h.receivePipeline() == 0 {
		return
	}
	if pk := h.net.Part().Rec(slot); pk.DSCP&packet.Stamped != 0 && pk.Kind != packet.Segment {
		h.net.StampOut(now, h.ports[i].fabricPort, pk)
	}
}

// answer sends the acknowledgement, NAK or CNP in slot from port i.
func (h *Host) answer(now units.Time, i int, slot uint32) {
	pk := h.net.Part().Rec(slot)
	d := h.sendPipeline()
	if isSequenceNAK(pk) {
		d += h.card.NAKDelay
	}
	if pk.Kind == packet.CNP {
		if h.meetings.notified++; h.meetings.notified%record.SampleEvery == 1 {
			h.net.AddSample(pk)
		}
	}
	if pk.DSCP&packet.Stamped != 0 {
		h.net.StampIn(now, h.ports[i].fabricPort, pk)
	}
	if d == 0 {
		h.queueControl(now, i, slot)
		return
	}
	pk.In = uint16(i)
	h.after(now, d, laterAnswer, slot)
}

// heedsLater takes the sequence error NAK in slot, if its requester is to do what it asks for
// later only: until then it sends on.
func (h *Host) heedsLater(now units.Time, slot uint32) bool {
	if h.card.NAKReaction == 0 || !isSequenceNAK(h.net.Part().Rec(slot)) {
		return false
	}
	h.after(now, h.card.NAKReaction, laterNAK, slot)
	return true
}

// isSequenceNAK reports whether a packet tells of a gap.
func isSequenceNAK(pk *packet.Packet) bool {
	return pk.Kind == packet.Ack && pk.Opcode != rdma.OpAtomicAck && uint8(pk.AETH>>24) == rdma.SynNAKSeq
}

// turnTo is when the card turns to a work request of queue pair q that is posted now:
// those follow each other at a rate.
func (h *Host) turnTo(now units.Time, q uint32) units.Time {
	x := &h.path.qps[q]
	at := max(now, x.idle)
	x.idle = at + h.card.QPGap
	return at
}

// takesLater has the card take up the next work request of queue pair q, which it has, when
// its turn among those of all queue pairs of the port comes, if that is not now.
func (h *Host) takesLater(now units.Time, q uint32) bool {
	if h.card.Gap == 0 {
		return false
	}
	c := &h.path.cards[h.qps[q].port]
	at := max(now, c.idle)
	c.idle = at + h.card.Gap
	if at > now {
		h.pend(now, at, doneTurn, h.number(q))
	}
	return at > now
}

// pushed reports whether a work request of n bytes of payload comes along with the doorbell,
// so that the card need not read it: where one follows another that is still to be read, it
// is read like that.
func (h *Host) pushed(q uint32, wr *rdma.WorkRequest) bool {
	switch {
	case h.card.BlueFlame == card.InlineOnly:
		return wr.Inline
	case h.card.BlueFlame == 0 || h.path.qps[q].rung != h.path.qps[q].works:
		return false
	}
	return workBytes(h.path.costs.WQE, wr) <= h.card.BlueFlame
}

// workBytes is the length of a work request in an mlx5 work queue, in basic blocks: inline
// payload stands behind 16 B of control, 16 B of remote address where there is one, and 4 B
// with its length (rdma-core providers/mlx5).
func workBytes(block units.Bytes, wr *rdma.WorkRequest) units.Bytes {
	if !wr.Inline {
		return block
	}
	n := 20 + wr.Bytes
	if wr.Verb == rdma.Write || wr.Verb == rdma.WriteImm {
		n += 16
	}
	return (n + block - 1) / block * block
}
