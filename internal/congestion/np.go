package congestion

import "github.com/hopscope/hopscope/internal/units"

// NP limits the congestion notifications of one flow to one per interval. It is
// the notification point of a NIC that coalesces at the receiver, and the
// filter before the reaction point of one that coalesces at the sender. The
// zero value lets the first one through.
type NP struct {
	next units.Time
}

// OnCE reports whether a CE-marked packet (or, at the sender, a CNP) at now is
// to be answered: the first, and then any that comes at least interval after
// the last one that was. interval 0 answers all.
func (n *NP) OnCE(interval, now units.Time) bool {
	if now < n.next {
		return false
	}
	n.next = now + interval
	return true
}
