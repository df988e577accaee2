package fabric

import (
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// Where frames come at fixed distances to a full queue of a lossy class, the sender whose
// frames come just after another has left gets every place, and the others get none, for as
// long as the phases stay (Floyd and Jacobson, 1992). In a real network nobody knows them.
// So with SwitchParams.Arbitration a frame that finds no room is a candidate for the next:
// it waits beside the queue until a frame leaves that, and of all that came meanwhile a
// random one enters. The others are dropped, as many as without.

// rival is the frame that waits beside a full queue, by its record; 0: none does.
type rival struct {
	slot uint32
	seen uint32      // how many have come since the latest departure
	why  mmu.Verdict // why there was no room
}

// candidate holds a frame for which there is no room beside the queue of class c of port e,
// or drops it: of k frames since the latest departure each is held with probability 1/k.
// It reports false, and has done nothing, where frames of the class are not lossy or nothing
// will leave the queue.
func (n *Net) candidate(now units.Time, sw *swtch, e int, c uint8, v mmu.Verdict, slot uint32) bool {
	r := n.rivals.use(c, e, len(n.ports))
	if !sw.arbitration || v == mmu.HeadroomEnd || r.slot == 0 && n.queues[c][e].head == 0 {
		return false
	}
	pk := n.part.Rec(slot)
	if sw.memory.Group(int(pk.In), int(c)).Lossless() {
		return false
	}
	if pk.DSCP&packet.Stamped != 0 {
		n.StampIn(now, e, pk)
	}
	if r.slot == 0 {
		r.seen, r.why = 0, v
		sw.waiting++
	}
	r.seen++
	if r.slot == 0 || sw.draw.IntN(int(r.seen)) == 0 {
		slot, r.slot = r.slot, slot
	}
	if slot != 0 {
		n.refuse(now, sw.base+int(n.part.Rec(slot).In), e, c, c, r.why, slot)
	}
	return true
}

// admitCandidate lets the candidate for the queue of class c of port e in, of which a frame
// has left, if it finds room. If not, it waits for the next departure, or is dropped if there
// will be none.
func (n *Net) admitCandidate(now units.Time, sw *swtch, e int, c uint8) {
	slot := n.rivals.of(c, e).slot
	if slot == 0 {
		return
	}
	r := &n.rivals[c][e]
	pk := n.part.Rec(slot)
	v, _ := n.charge(now, sw, sw.base+int(pk.In), e, c, c, pk.Frame)
	if v != mmu.Admitted && n.queues[c][e].head != 0 {
		return
	}
	r.slot = 0
	sw.waiting--
	if v != mmu.Admitted {
		n.refuse(now, sw.base+int(pk.In), e, c, c, v, slot)
		return
	}
	n.place(now, sw, e, c, pk, slot, true)
}
