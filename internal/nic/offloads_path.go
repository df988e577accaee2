package nic

import (
	"github.com/hopscope/hopscope/internal/iwarp"
	"github.com/hopscope/hopscope/internal/units"
)

// Where a host has a server, a card that runs TCP reads payload ahead of the transmitter, FPDU by FPDU, in the order
// in which they will be sent; what it has sent it keeps until it is acknowledged (Linux iw_cxgb4: snd_win), so that
// nothing is read twice.

// ahead is what the card has planned of a queue pair and not sent.
type ahead struct {
	allowed uint32     // of the FPDUs asked for, those whose payload is there
	asking  units.Time // timer for the next of them; 0: none
	planned bool       // an FPDU is planned and not asked for: n bytes of payload, the last of end bytes to be copied
	n       uint32
	end     int64
}

// worked lets queue pair q go on: the card has its next work request, or payload.
func (h offloads) worked(now units.Time, q uint32) {
	h.settle(now, &h.qps[q])
	h.goOn(now, q, 0)
}

// askAhead plans the next FPDUs of queue pair q as far as there is room for their payload, has the card read that, and
// lets those go whose payload is there.
func (h offloads) askAhead(now units.Time, q uint32) {
	p, x := &h.path.qps[q], h.qps[q].offloaded
	if x.qp.State() >= iwarp.Terminating {
		h.forget(q)
		x.ahead = ahead{}
		return
	}
	x.qp.Reach(p.works)
	for h.room(q, &p.fresh) {
		if !x.planned {
			n, why := x.qp.Plan()
			if why != iwarp.Sent {
				break
			}
			x.planned, x.n, x.end = true, n, x.qp.Planned()
		}
		if !h.isCopied(now, q) {
			break
		}
		if h.specs[q].Inline {
			x.n = 0
		}
		h.ask(now, q, &p.fresh, 0, x.n)
		x.planned = false
	}
	for x.allowed < p.fresh.n && p.fresh.at(x.allowed).ready <= now {
		x.allowed++
		x.qp.Allow(1)
	}
	if x.allowed < p.fresh.n {
		h.comeBack(now, q, p.fresh.at(x.allowed).ready)
	}
}

// isCopied reports whether the payload of the FPDU that is planned is out of the GPU, if it comes from there; if not
// the queue pair comes back when it is.
func (h offloads) isCopied(now units.Time, q uint32) bool {
	out := h.specs[q].Memory.Out
	if out == nil {
		return true
	}
	at := out.Ready(now, h.qps[q].offloaded.end)
	if at > now && at != units.Never { // else what is acknowledged makes room
		h.comeBack(now, q, at)
	}
	return at <= now
}

// comeBack has queue pair q go on at a time.
func (h offloads) comeBack(now units.Time, q uint32, at units.Time) {
	if x := h.qps[q].offloaded; x.asking <= now || at < x.asking {
		x.asking = at
		h.pend(now, at, doneAhead, q)
	}
}

// awaited notes in the account what a queue pair that has nothing to send waits for inside the server.
func (h offloads) awaited(now units.Time, q uint32) {
	p, x, a := &h.path.qps[q], h.qps[q].offloaded, h.qps[q].account
	a.sampled = false
	switch {
	case p.fresh.n > 0:
		a.fetchUntil, a.fetchStage = p.fresh.at(0).ready, Reading
	case x.planned:
		a.fetchUntil, a.fetchStage = units.Never, Copying
	default:
		a.fetchUntil, a.fetchStage = units.Never, WorkFetch
		if h.specs[q].Memory.Out != nil && p.works == p.rung {
			a.fetchStage = Copying
		}
	}
}

// onItsWay gives back the room of an FPDU that is sent a first time.
func (h offloads) onItsWay(q uint32) {
	if x := h.qps[q].offloaded; x.part.Fresh && x.allowed > 0 {
		h.drop(q, &h.path.qps[q].fresh, 1)
		x.allowed--
	}
}

// releaseAcked gives the buffers of copies back of what will not be sent again.
func (h offloads) releaseAcked(now units.Time, q uint32) {
	if out := h.specs[q].Memory.Out; out != nil {
		out.Release(now, h.qps[q].offloaded.qp.Released())
		h.ringCopied(now, q)
	}
}
