package metrics

import (
	"slices"

	"github.com/hopscope/hopscope/internal/record"
)

// filledInVain says of a port that dominates that at least half of what it sent was packets sent again over links that
// had failed, their data or what should have answered them, so that it is full for that; "": it was not.
func (x *index) filledInVain(dominating *Verdict, links []record.Place) string {
	place := dominating.Cause.Place
	p := x.ports[portClass{place.PortID(), int(place.Class)}]
	if p == nil {
		return ""
	}
	vain, most, senders := int64(0), (*record.QP)(nil), map[int]bool{} // looked up, never iterated
	for n := range min(len(x.r.Messages), mostJudged) {
		f := &x.r.Messages[x.judged(n)]
		k, ok := x.sender(f)
		if !ok || senders[k] || x.r.QPs[k].Retransmitted == 0 {
			continue
		}
		q := &x.r.QPs[k]
		if x.hop(int32(k), p.ID()) < 0 || q.Limits.Class != p.Class || !x.lostOn(f, links) {
			continue
		}
		senders[k] = true
		if vain += q.Retransmitted; most == nil || q.Retransmitted > most.Retransmitted {
			most = q
		}
	}
	if 2*vain < p.TxPackets || vain == 0 {
		return ""
	}
	return x.l.Sprintf("%.0f %% to %s, which %s packets filled that %s%s sent again for that",
		float64(dominating.Cause.Milli)/10,
		x.nameOf(&dominating.Cause), FormatCount(vain), qpActor(most), andMore(x.l, len(senders)-1, x.l.Of("queue pair")))
}

// lostOn reports whether something of a message, or what answered it, was lost on one of some links that had failed.
func (x *index) lostOn(f *record.Message, links []record.Place) bool {
	for _, l := range x.lost(f) {
		at := x.metPort(&record.Met{Port: l.Port})
		if linkFailed(l.Cause) && slices.ContainsFunc(links, func(k record.Place) bool { return k.Ends(at) }) {
			return true
		}
	}
	return false
}
