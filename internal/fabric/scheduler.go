package fabric

import "math/bits"

// Scheduler chooses the class to serve: the strict ones first, the highest
// priority first, then deficit weighted round robin among the others; or by VL
// arbitration.
type Scheduler struct {
	arb     *vlArbiter // nil: strict and weighted round robin
	strict  uint8
	cur     uint8
	deficit [Classes]int32
	quantum [Classes]int32 // bytes a class may send per round
}

// NewScheduler returns the scheduler that p describes.
func NewScheduler(p *PortParams) Scheduler {
	s := Scheduler{strict: p.Strict}
	if p.VLArb != nil {
		s.arb = newVLArbiter(p.VLArb)
	}
	for c := range s.quantum {
		s.quantum[c] = max(1, int32(p.DWRRQuantum)) * max(1, int32(p.Weight[c]))
	}
	return s
}

// Pick returns the class to serve among those in avail, which is not zero.
func (s *Scheduler) Pick(avail uint8) uint8 {
	if avail&(avail-1) == 0 {
		return uint8(bits.TrailingZeros8(avail))
	}
	if s.arb != nil {
		return s.arb.pick(avail)
	}
	if strict := avail & s.strict; strict != 0 {
		return uint8(bits.Len8(strict) - 1)
	}
	for {
		if avail>>s.cur&1 != 0 && s.deficit[s.cur] > 0 {
			return s.cur
		}
		s.deficit[s.cur] = min(s.deficit[s.cur], 0)
		s.cur = (s.cur + 1) % Classes
		if avail>>s.cur&1 != 0 {
			s.deficit[s.cur] += s.quantum[s.cur]
		}
	}
}

// Charge books a frame that class c sent. A class that was served alone has no
// credit left to take from.
func (s *Scheduler) Charge(c uint8, frame uint32) {
	if s.arb != nil {
		s.arb.charge(c, frame)
		return
	}
	if s.deficit[c] > 0 {
		s.deficit[c] -= int32(frame)
	}
}
