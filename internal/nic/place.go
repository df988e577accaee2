package nic

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
)

// land takes a frame that came in at port i. It goes on at once if nothing is before
// it: the card writes the payload of one frame after the other, and takes the next
// when PCIe has accepted all of the one before. Else it waits in the receive buffer.
func (h *Host) land(now units.Time, i int, slot uint32) {
	rx := &h.ports[i].rx
	if rx.queue.head != 0 {
		h.hold(now, i, slot)
		return
	}
	wait := h.landing(now, i, slot)
	switch {
	case wait > 0 && h.hold(now, i, slot):
		if wait < units.Never {
			h.timer(now+wait, wait, timerDrain, uint32(i))
		}
	case wait > 0: // there was no room
	default:
		if h.ports[i].credited {
			h.giveBack(now, i, slot)
		}
		h.through(now, i, slot)
		h.deliver(now, i, slot)
	}
}

// landed lets the frame at the head of port i's receive buffer go on, and those behind
// it that need not wait either.
func (h *Host) landed(now units.Time, i int) {
	rx := &h.ports[i].rx
	for {
		h.leave(now, i, h.release(i))
		if rx.queue.head == 0 {
			return
		}
		if wait := h.landing(now, i, rx.queue.head); wait > 0 {
			if wait < units.Never {
				h.timer(now+wait, wait, timerDrain, uint32(i))
			}
			return
		}
	}
}

// landing is how long a frame that is next waits: for what the card must fetch for
// it, and for the write of the one before it.
func (h *Host) landing(now units.Time, i int, slot uint32) units.Time {
	rx := &h.ports[i].rx
	pk := h.net.Part().Rec(slot)
	stall := h.stall(pk)
	rx.stalled += stall
	wait := stall
	if brings(pk) {
		wait += max(0, rx.writing-now)
	}
	if h.faults != nil {
		if to := h.hungUntil(now); to == units.Never {
			return units.Never
		} else {
			wait = max(wait, to-now)
		}
	}
	return wait
}

// brings reports whether a frame may bring something to be written to memory.
func brings(pk *packet.Packet) bool { return pk.Kind.CarriesData() && pk.Payload > 0 }

// receiveAndStore gives a request to the responder, and its payload to memory.
func (h *Host) receiveAndStore(now units.Time, q uint32, pk *packet.Packet) {
	qp := h.qps[q].qp
	before, msn := qp.Intake(), qp.MSN()
	qp.ReceiveWith(now, pk, h.net.SideOf(pk), &h.replies)
	if qp.Kept(before, pk.Payload) {
		h.store(now, q, pk.Payload, qp.MSN() != msn)
	}
}

// store has the card write n bytes of payload that came in for queue pair q, the last
// of a message or not.
func (h *Host) store(now units.Time, q, n uint32, last bool) {
	x := &h.path.qps[q]
	accepted, done := h.path.Write(now, h.specs[q].Memory.Write, units.Bytes(n))
	rx := &h.ports[h.qps[q].port].rx
	rx.writing = max(rx.writing, accepted)
	x.landed = max(x.landed, done)
	x.placed = max(x.placed, done)
	if in := h.specs[q].Memory.In; in != nil {
		x.placed = max(x.placed, in.Land(x.landed+h.path.costs.Poll, units.Bytes(n), last))
	}
}

// storeResponse has the card write what a response brought: of an atomic the value
// before.
func (h *Host) storeResponse(now units.Time, q uint32, pk *packet.Packet, took bool) {
	switch {
	case took && pk.Payload > 0:
		h.store(now, q, pk.Payload, pk.Opcode == rdma.OpReadRespLast || pk.Opcode == rdma.OpReadRespOnly)
	case pk.Kind == packet.Ack && pk.Opcode == rdma.OpAtomicAck:
		h.store(now, q, uint32(rdma.AtomicBytes), true)
	}
}

// placedAt is when all that queue pair q has taken up so far is in the memory that the
// card writes to, and when it is where it belongs.
func (h *Host) placedAt(now units.Time, q uint32) (landed, placed units.Time) {
	if h.path == nil {
		return now, now
	}
	x := &h.path.qps[q]
	return max(now, x.landed), max(now, x.placed)
}

// pendPlaced waits until n messages that queue pair q has just accepted are placed.
func (h *Host) pendPlaced(now units.Time, q, n uint32) {
	_, at := h.placedAt(now, q)
	if s := h.specs[q].Accepting; s != nil && s.summed {
		h.takeOver(now, s, int(n))
	}
	for range n {
		h.pend(now, at, donePlaced, h.number(q))
	}
}

// messagePlaced notes that the next message of queue pair q is in memory.
func (h *Host) messagePlaced(now units.Time, q uint32) {
	h.path.qps[q].messages++
	if h.qps[q].watched {
		h.accepted(now, q)
	}
}
