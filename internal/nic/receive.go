package nic

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// ReceiveSpec is a receive buffer between the port and the host. With
// DrainRate 0 the host takes every frame as it arrives.
type ReceiveSpec struct {
	Size, XOFF, XON units.Bytes
	DrainRate       units.Rate
}

// receiveBuffer is a hop with a drain: frames leave it in order at a constant
// rate, and only then does the transport see them.
type receiveBuffer struct {
	ReceiveSpec
	classes uint8 // PFC priorities to pause
	bytes   units.Bytes
	peak    units.Bytes
	peakAt  units.Time
	queue   fifo
	used    bool // frames may wait here
	xoff    bool
	stalled units.Time // spent on fetching what caches did not hold
	writing units.Time // when PCIe has accepted the latest write
}

// buffer takes a frame into port i's receive buffer.
func (h *Host) buffer(now units.Time, i int, slot uint32) {
	rx := &h.ports[i].rx
	if h.hold(now, i, slot) && rx.queue.head == slot {
		h.drain(now, i)
	}
}

// hold puts a frame at the end of port i's receive buffer and reports whether there
// was room for it.
func (h *Host) hold(now units.Time, i int, slot uint32) bool {
	rx := &h.ports[i].rx
	part := h.net.Part()
	pk := part.Rec(slot)
	size := units.Bytes(pk.Frame)
	if rx.Size > 0 && rx.bytes+size > rx.Size {
		h.net.DropReceived(now, h.ports[i].fabricPort, slot)
		return false
	}
	if pk.DSCP&packet.Stamped != 0 {
		h.noteArrival(now, pk)
	}
	if pk.DSCP&packet.Stamped != 0 && (h.receivePipeline() == 0 || pk.Kind == packet.Segment) { // else it did as it came in
		h.net.StampIn(now, h.ports[i].fabricPort, pk)
	}
	rx.bytes += size
	if rx.bytes > rx.peak {
		rx.peak, rx.peakAt = rx.bytes, now
	}
	pk.Next = 0
	if rx.queue.head == 0 {
		rx.queue.head = slot
	} else {
		part.Rec(rx.queue.tail).Next = slot
	}
	rx.queue.tail = slot
	if !rx.xoff && rx.XOFF > 0 && rx.bytes > rx.XOFF {
		rx.xoff = true
		h.pauseSwitch(now, i)
	}
	return true
}

// drain starts to move the frame at the head to the host, after what the card
// must fetch for it.
func (h *Host) drain(now units.Time, i int) {
	rx := &h.ports[i].rx
	pk := h.net.Part().Rec(rx.queue.head)
	stall := h.stall(pk)
	rx.stalled += stall
	at := units.Never
	if h.faults == nil {
		at = now + stall + rx.DrainRate.TxTime(units.Bytes(pk.Frame))
	} else if at = h.drainedAt(now+stall, rx.DrainRate, units.Bytes(pk.Frame)); at == units.Never {
		return
	}
	h.timer(at, at-now, timerDrain, uint32(i))
}

// drained delivers the frame at the head and goes on with the next.
func (h *Host) drained(now units.Time, i int) {
	rx := &h.ports[i].rx
	if h.path != nil {
		h.landed(now, i)
		return
	}
	slot := h.release(i)
	if rx.queue.head != 0 {
		h.drain(now, i)
	}
	h.leave(now, i, slot)
}

// release takes the frame at the head of port i's receive buffer out.
func (h *Host) release(i int) (slot uint32) {
	rx := &h.ports[i].rx
	slot = rx.queue.head
	pk := h.net.Part().Rec(slot)
	rx.queue.head = pk.Next
	rx.bytes -= units.Bytes(pk.Frame)
	return slot
}

// leave goes on with a frame that has left port i's receive buffer.
func (h *Host) leave(now units.Time, i int, slot uint32) {
	rx := &h.ports[i].rx
	part := h.net.Part()
	if rx.xoff && rx.bytes <= rx.XON {
		rx.xoff = false
		h.pauseSwitch(now, i)
	}
	part.NoteWork()
	if pk := part.Rec(slot); pk.DSCP&packet.Stamped != 0 {
		h.net.StampOut(now, h.ports[i].fabricPort, pk)
	}
	if h.ports[i].credited {
		h.giveBack(now, i, slot)
	}
	h.deliver(now, i, slot)
}

// pauseSwitch tells the switch to stop or go on with every lossless class.
func (h *Host) pauseSwitch(now units.Time, i int) {
	rx := &h.ports[i].rx
	if h.pausing {
		return // for good, whatever the buffer holds
	}
	h.net.SetPauses(now, h.ports[i].fabricPort, rx.classes, rx.xoff, int64(rx.bytes))
}
