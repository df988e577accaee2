package nic

import (
	"slices"

	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
)

// Attempt is one transmission of a message's last packet that a rewind made
// void, or several of them that RNR NAKs followed.
type Attempt struct {
	Before  Times // the queue pair's time up to Start; of several the sum
	Start   units.Time
	Rewound units.Time // of several the last
	Taken   units.Time // when the latest READ response before Rewound was taken
	// Refused is how long it waited for its RNR NAK, of several in all, if the log of
	// rewinds no longer tells; else 0.
	Refused units.Time
}

// Missing is for how long what was sent was on its way in vain.
func (f *Attempt) Missing() units.Time {
	if f.Refused > 0 {
		return f.Refused
	}
	return f.Rewound - f.Start
}

// Rewind is a time at which a queue pair went back to send again.
type Rewind struct {
	At units.Time
	By rdma.Trigger
	// Wait is how long the queue pair had waited for receive work requests (RNR)
	// in its life up to then.
	Wait units.Time
}

// refusals are the latest rewinds of a queue pair if they were all after RNR NAKs,
// while no message ended or was sent for the first time.
type refusals struct {
	count  int        // of the log's last entries
	from   units.Time // the first of them
	inVain units.Time // when there were keptRewinds of them; Never: not yet
}

// keptRewinds is how many of such rewinds are kept one by one: the responder may
// have accepted what was sent after one of the last of them, but more are never on
// their way. Those before are of no use but for their sums.
const keptRewinds = 16

// refused notes that the latest rewind was after an RNR NAK.
func (h *Host) refused(now units.Time, a *account) {
	r := &a.refusals
	if r.count == 0 {
		r.from, r.inVain = now, units.Never
	}
	r.count++
	if r.count == keptRewinds && r.inVain == units.Never {
		r.inVain, h.inVain = now, true
	}
	if r.count > keptRewinds {
		h.coalesce(a)
	}
}

// coalesce takes the two oldest of a queue pair's refusals but the first, which says
// when the waits began, as one; and the transmissions that they made void.
func (h *Host) coalesce(a *account) {
	r := &a.refusals
	oldest := len(a.log) - r.count + 1
	until := a.log[oldest+1].At
	a.log = slices.Delete(a.log, oldest, oldest+1)
	r.count--
	for _, id := range a.queue[a.head:a.unsent] {
		h.note(id).coalesce(r.from, until)
	}
	first := len(a.resends)
	for first > 0 && a.resends[first-1].Rewound >= r.from {
		first--
	}
	kept := slices.DeleteFunc(a.resends[first:], func(s Resend) bool { return s.Rewound < until })
	a.resends = a.resends[:first+len(kept)]
}

// coalesce takes the transmissions made void from one time to another as one. They
// are the same for the account: the queue pair's time and waits for an RNR NAK in
// turn, which add up.
func (m *MessageAccount) coalesce(from, to units.Time) {
	first, end := len(m.Failed), len(m.Failed)
	for first > 0 && m.Failed[first-1].Rewound >= from {
		first--
		if m.Failed[first].Rewound > to {
			end = first
		}
	}
	if first == end {
		return
	}
	into := &m.Failed[first]
	into.Refused = into.Missing()
	for k := first + 1; k < end; k++ {
		f := &m.Failed[k]
		for s := range into.Before {
			into.Before[s] += f.Before[s]
		}
		into.Refused += f.Missing()
		into.Rewound, into.Taken = f.Rewound, f.Taken
	}
	m.Failed = slices.Delete(m.Failed, first+1, end)
}

// InVain is since when queue pair q tries in vain to send: when RNR NAKs had
// answered it keptRewinds times in a row and it may go on without end. Never: it
// does not.
func (h *Host) InVain(q uint32) units.Time {
	s := &h.qps[q]
	if !s.opened() || s.account == nil || s.account.refusals.count == 0 || h.specs[q].Config.RNRRetry != 7 {
		return units.Never
	}
	return s.account.refusals.inVain
}

// TriedInVain reports whether some queue pair tried in vain at some time; see InVain.
func (h *Host) TriedInVain() bool { return h.inVain }

// ReceivesWaiting is the number of receive work requests of queue pair q that no
// message has taken; negative: always enough.
func (h *Host) ReceivesWaiting(q uint32) int64 {
	if !h.qps[q].opened() {
		return -1
	}
	return h.end(q).waiting(q)
}
