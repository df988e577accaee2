package nic

import "github.com/hopscope/hopscope/internal/units"

// Close writes the notes of all that is open when the run ends: where the time of each message went up to then,
// and what the responder of a READ has done for it. Nothing happens after it. Of messages that are added up those
// that are open are left out.
func (h *Host) Close(end units.Time) {
	for i := range h.qps {
		s := &h.qps[i]
		if s.life == nil || s.account == nil || s.summed {
			continue
		}
		h.settle(end, s)
		a := s.account
		for k := a.head; k < len(a.queue); k++ {
			h.stillUnsent(end, a, a.queue[k])
		}
		if a.serving != nil {
			h.stillAnswering(end, uint32(i))
		}
	}
}

// stillUnsent notes the time of a message whose last packet has not been sent, or not again.
func (h *Host) stillUnsent(end units.Time, a *account, id uint32) {
	if h.accounts[id]&1 == 0 {
		return // its queue pair has not come to it
	}
	m := h.note(id)
	if !m.begun || m.Start != units.Never || m.Done != units.Never {
		return
	}
	if m.After <= end {
		m.Before = a.sum.minus(&m.base)
	}
}

// stillAnswering notes the READs that were not answered whole as if the last response to each began at the end.
func (h *Host) stillAnswering(end units.Time, q uint32) {
	a, oldest := h.qps[q].account, h.end(q).oldest(q)
	last := a.turn // of the READ that the request before belongs to
	for i := range a.requests {
		r := &a.requests[i]
		if !r.begun && r.serial < oldest {
			continue
		}
		if !r.begun && r.goesOn {
			r.turn = last
		} else if !r.begun { // it is still behind others
			r.turn = turn{r.taken, r.way, end, a.sum}
		}
		last = r.turn
		before := a.sum.minus(&r.base)
		a.answers = append(a.answers, answered{end, h.noteAnswer(r, end, &before)})
	}
}
