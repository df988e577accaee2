package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Ways of queue pairs are those at the start. What new tables send another way shows in what ports carried.

// barest is the largest frame that carries no data, in bytes: an acknowledgement of RoCE with telemetry over IPv6.
const barest = 128

// carried is about how many bytes of data a port sent in its class, headers apart.
func carried(p *record.Port) int64 { return max(0, p.TxBytes-barest*p.TxPackets) }

// moved is about how many bytes of data a port sent that had another way at the start, or that came round to it
// again; 0 too where packets have no way of their own.
func (x *index) moved(p *record.Port) int64 {
	if len(x.r.Failures) == 0 || x.strayed() {
		return 0
	}
	return max(x.astray(p), x.cameRound(p))
}

// astray is what of the data of a port no queue pair sent whose way it was on at the start.
func (x *index) astray(p *record.Port) int64 {
	n := carried(p)
	for _, i := range x.class(x.out(p.ID()), p.Class) {
		n -= x.r.QPs[i].SentBytes
	}
	return max(0, n)
}

// cameRound is what reached a port because a forwarding loop brought it back to its switch.
func (x *index) cameRound(p *record.Port) (n int64) {
	for k := range x.r.Loops {
		if after, before := x.r.Loops[k].Beside(p.Node); after == p.Peer.Node {
			n = max(n, x.astrayTo(before, p.Node, p.Class))
		}
	}
	return n
}

// astrayTo is what of the data that one switch sent to another had another way at the start; of any class with -1.
func (x *index) astrayTo(from, to string, class int) (n int64) {
	for i := range x.r.Ports {
		if p := &x.r.Ports[i]; p.Node == from && p.Peer.Node == to && (p.Class == class || class < 0) {
			n += x.astray(p)
		}
	}
	return n
}

// sayLoops tells of the forwarding loop that took most frames by their TTL, or else that most went round in, in
// words that follow; "": there was none, or nothing came to it.
func (x *index) sayLoops() string {
	var worst *record.Loop
	most := int64(0)
	for k := range x.r.Loops {
		l := &x.r.Loops[k]
		if worst != nil && worst.Expired > l.Expired {
			continue
		}
		round := x.astrayTo(l.Nodes[len(l.Nodes)-1], l.Nodes[0], -1) // what no way at the start led back
		for i := 1; i < len(l.Nodes); i++ {
			round = max(round, x.astrayTo(l.Nodes[i-1], l.Nodes[i], -1))
		}
		if l.Expired > 0 && (worst == nil || l.Expired > worst.Expired) || round > most {
			worst, most = l, round
		}
	}
	switch {
	case worst == nil:
		return ""
	case worst.Expired == 0:
		return x.l.Of("; packets ") + SayLoop(x.l, worst)
	}
	return x.l.Sprintf("; packets %s, and %s ended their TTL", SayLoop(x.l, worst), plural(x.l, worst.Expired, "frame"))
}

// after tells what new tables did after a failure, in words that follow "went to that".
func (x *index) after() string {
	var to *record.Port
	most := int64(0)
	for i := range x.r.Ports {
		p := &x.r.Ports[i]
		if n := x.moved(p); n > most && 2*n >= carried(p) && Congested(p) {
			to, most = p, n
		}
	}
	if to == nil {
		return x.sayLoops()
	}
	return x.l.Sprintf(" and to what waited at %s, where new tables led what took another way%s", to.ID(), x.sayLoops())
}

// movedTo is the failure after which new tables brought to a port a good part of what it sent; nil: none did.
func (x *index) movedTo(p *record.Port) *record.Failure {
	if n := carried(p); n == 0 || 4*x.moved(p) < n {
		return nil
	}
	for i := range x.r.Failures {
		if f := &x.r.Failures[i]; f.NoticedPS >= 0 {
			return f
		}
	}
	return nil
}

// orMoved blames a failure in place of a port that is overfed only for what new tables moved there: that is most
// of what it carried, or by the ways as they were at the start no more came to it, or to the port that a packet
// would have taken, than it sends.
func (x *index) orMoved(cause Cause, how string, f *record.Message) (Cause, string) {
	k, ok := x.sender(f)
	if len(x.r.Failures) == 0 || cause.Kind != catalog.CausePort || !ok {
		return cause, how
	}
	failure := cmp.Or(x.failureOn(&x.r.QPs[k], f), x.failedBefore(f))
	if failure == nil || failure.Silent || failure.NoticedPS < 0 {
		return cause, how
	}
	at := cause.Place.PortID()
	p := x.ports[portClass{at, int(cause.Place.Class)}]
	if p == nil || 2*x.moved(p) < carried(p) && !x.onlyMoved(p, &x.r.QPs[k], f) {
		return cause, how
	}
	how += x.l.Of(", to which new tables sent what another way took; ") + x.sayFailure(failure)
	return failed(failure), how
}

// onlyMoved reports whether new tables changed what a switch sends a message by, and by the ways as they were at
// the start no more came to the port, or to the one that a packet would have taken, than it sends.
func (x *index) onlyMoved(p *record.Port, q *record.QP, f *record.Message) bool {
	if !x.tablesMoved(p.Node, f.StartPS, f.StartPS+f.Life()) {
		return false
	}
	for _, h := range q.Limits.Path {
		if h.Port.Node == p.Node {
			p = x.ports[portClass{h.Port, p.Class}]
			break
		}
	}
	if p == nil {
		return false
	}
	_, rate := x.feeds(p)
	return rate <= p.RateBps
}

// tablesMoved reports whether new tables had a switch send packets another way within a time.
func (x *index) tablesMoved(node string, from, to units.Time) bool {
	return x.r.Evidence != nil && slices.ContainsFunc(x.r.Evidence.Detours, func(d record.Detour) bool {
		return d.Node == node && d.By == catalog.NoMechanism && d.Packets.First <= to && d.Packets.Last >= from &&
			d.Packets.Count > 0
	})
}
