package nic

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// CNPs take time inside a card: from the mark to the CNP, and from its arrival to the
// reaction point. What is on its way there is nothing but a timer of its queue pair:
// all CNPs of one are alike.

// What a timer of a queue pair is for, in the top of low.
const (
	lateReaction uint32 = 1 << 30
	lateCNP      uint32 = 1 << 31
)

// sendLateCNP queues the CNP with which queue pair q answers a mark of some time ago.
func (h *Host) sendLateCNP(now units.Time, q uint32) {
	s := &h.qps[q]
	cnp, ok := s.qp.LateCNP(now)
	if !ok {
		return
	}
	part := h.net.Part()
	slot := part.Alloc()
	*part.Rec(slot) = cnp
	h.answer(now, int(s.port), slot)
	h.net.Kick(now, h.ports[s.port].fabricPort)
}

// hearsLater takes the CNP in slot, which has arrived for queue pair q, if its reaction
// point is to hear of it later only.
func (h *Host) hearsLater(now units.Time, q, slot uint32) bool {
	d := h.qps[q].qp.ReactionDelay()
	if d == 0 {
		return false
	}
	h.timer(now+d, d, timerQP, h.number(q)|lateReaction)
	h.meet(now, h.used(q), replies, h.net.Part().Rec(slot))
	h.net.FreeSides(h.net.Part().Rec(slot))
	h.net.Part().Free(slot)
	return true
}

// hear tells queue pair q's reaction point of a CNP that arrived some time ago.
func (h *Host) hear(now units.Time, q uint32) {
	h.heard = packet.Packet{Kind: packet.CNP}
	h.deliverAnswer(now, q, &h.heard)
}
