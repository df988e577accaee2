package metrics

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// The functions below look for what stands behind a wait: the port or host at
// the root of a tree of pauses, the port that dropped, the port that marked.

// counts is the part, one in so many, that the pauses of a port must have of
// what they are to explain.
const counts = 10

// walk follows the pauses from a held port towards their root. Each time the
// peer's ingress buffer sent XOFF; of the egress ports that drain that buffer
// the one with the longest queue filled it; if that was itself paused for a
// good part of the time, what paused it comes next. held are the ports that
// were paused, root is the first that was not; with root nil a host's receive
// buffer ended the walk, or, with host empty too, the record does not tell.
func (x *index) walk(port record.PortID, class int) (held []record.PortID, root *record.Port, host string) {
	p := x.ports[portClass{port, class}]
	for p != nil && !slices.Contains(held, p.ID()) {
		held = append(held, p.ID())
		node := p.Peer.Node
		if x.hosts[node] {
			return held, nil, node
		}
		next := x.fullest(p.Peer, class)
		if next == nil {
			return held, nil, ""
		}
		paused := x.paused(next)
		if paused == 0 {
			return held, next, ""
		}
		if 2*paused < x.paused(p) {
			next = x.longestHeld(next, p, class)
		}
		if x.paused(next) < x.paused(p)/counts {
			return held, next, ""
		}
		p = next
	}
	return held, nil, ""
}

// longestHeld is, of the egress ports that filled what stopped port p, the one that was held longest, if that
// is at least half as long as p was, which the one that filled most was not: one fill that lasts weighs more
// than many that are soon over.
func (x *index) longestHeld(most, p *record.Port, class int) *record.Port {
	longest := x.paused(p) / 2
	for _, o := range x.fillers(p.Peer, class) {
		if paused := x.paused(o); paused > longest {
			most, longest = o, paused
		}
	}
	return most
}

// paused is how long a port might not send in the time that is asked about.
func (x *index) paused(p *record.Port) units.Time {
	if x.known.to == 0 || !x.witnessed() {
		return p.PausedPS + x.lasting(p, 0, x.r.EndPS)
	}
	return x.shut[portClass{p.ID(), p.Class}].Within(x.known.from, x.known.to) + x.lasting(p, x.known.from, x.known.to)
}

// lasting is how long of a time a port might not send after all had come to rest in a run that deadlocked,
// which what ports were paused does not count; 0: it might send then.
func (x *index) lasting(p *record.Port, from, to units.Time) units.Time {
	seen := x.shut[portClass{p.ID(), p.Class}]
	if still := x.r.StillPS; still > 0 && len(seen) > 0 && seen[len(seen)-1].To >= still {
		return max(0, to-max(from, still))
	}
	return 0
}

// fullest is the egress port for which most of what filled an ingress port waited as that
// stopped its peer. Where that was never seen it is, of the egress ports that data of the
// class takes after entering by the port, the one with the longest queue; nil if the record
// names none.
func (x *index) fullest(ingress record.PortID, class int) (p *record.Port) {
	key := portClass{ingress, class}
	if p := x.filledWith(ingress, class); p != nil {
		return p
	}
	if x.known.to > 0 && x.witnessed() {
		return x.busiest(ingress, class)
	}
	if p, known := x.queues[key]; known {
		return p
	}
	for _, e := range x.egressOf(x.class(x.in(ingress), class), ingress, class) {
		if p == nil || cmp.Or(cmp.Compare(e.MeanQueueBytes, p.MeanQueueBytes), cmp.Compare(e.PeakQueueBytes, p.PeakQueueBytes)) > 0 {
			p = e
		}
	}
	x.queues[key] = p
	return p
}

// busiest is the egress port that the most queue pairs took after an ingress port that sent in the
// time that is asked about, if by then it had been held, had marked or its link had failed; nil:
// none.
func (x *index) busiest(ingress record.PortID, class int) (p *record.Port) {
	taken, most := map[record.PortID]int{}, 0
	for _, k := range x.class(x.in(ingress), class) {
		if !x.sending(k) {
			continue
		}
		path := x.r.QPs[k].Limits.Path
		for n := 1; n < len(path); n++ {
			e := x.ports[portClass{path[n].Port, class}]
			if path[n-1].Peer != ingress || e == nil || !x.acted(e) {
				continue
			}
			if taken[path[n].Port]++; taken[path[n].Port] > most {
				p, most = e, taken[path[n].Port]
			}
		}
	}
	return p
}

// acted reports whether a port had been held, had marked or had had its link fail by the end of the
// time that is asked about.
func (x *index) acted(p *record.Port) bool {
	words := p.Layer.Vocabulary()
	return x.done(words.Hold, p.Place()) || x.done(words.Mark, p.Place()) ||
		slices.ContainsFunc(x.r.Failures, func(f record.Failure) bool { return f.Link.Ends(p.ID()) && f.DownPS <= x.known.to })
}

// holder is what shuts the gate of a port for a queue pair's class.
func (x *index) holder(port record.PortID, q *record.QP) string {
	layer := q.Layer
	if p := x.ports[portClass{port, q.Limits.Class}]; p != nil {
		layer = p.Layer
	}
	return layer.Words(x.l).Holder
}

// sayPaused follows the pauses to the port that could not send as fast as it
// was fed, or to the host that did not take what arrived.
func (x *index) sayPaused(port record.PortID, f *record.Message, q *record.QP) (cause Cause, how string) {
	held, root, host := x.walk(port, q.Limits.Class)
	how = x.holder(port, q) + x.l.Of(" held ") + port.String()
	if len(held) > 1 {
		how += x.l.Of(", behind it ") + listPorts(held[1:])
	}
	cause, because := x.sayRoot(held, root, host, q)
	if cause == (Cause{}) {
		return x.portCause(port, q), how + because
	}
	if root != nil {
		because += x.missing(f, q)
	}
	return x.orFailed(cause, how+x.l.Of(", because ")+because, f)
}

// orFailed blames the link in place of a port that was held, if it sends onto one that failed and something of
// the message was lost: credits and ends of pauses were, too. A port that was not held sends onto a link that
// failed as fast as ever.
func (x *index) orFailed(cause Cause, how string, f *record.Message) (Cause, string) {
	if cause.Kind != catalog.CausePort {
		return cause, how
	}
	failure := x.failureAt(cause.Place.PortID(), f)
	p := x.ports[portClass{cause.Place.PortID(), int(cause.Place.Class)}]
	if failure == nil || p == nil || x.paused(p) == 0 || !repeats(f.Account.Stages()) {
		return x.orMoved(cause, how, f)
	}
	return failed(failure), how + x.l.Of("; ") + x.sayFailure(failure)
}

// sayRoot tells what ended a walk over held ports; there is no cause when the record does
// not tell.
func (x *index) sayRoot(held []record.PortID, root *record.Port, host string, q *record.QP) (cause Cause, because string) {
	if len(held) > 0 {
		if cause, because = x.sayLoop(held[len(held)-1], q.Limits.Class, root, host); because != "" {
			return cause, because
		}
	}
	switch {
	case x.inCircle(held):
		return x.circle(), x.l.Sprintf("%d ports wait for each other in a circle: a deadlock", len(x.r.Cycle))
	case root != nil:
		return atPort(root), x.l.Sprintf("%s%s could not send as fast as it was fed", root.ID(), closed(x.l,
			x.sharedBy(root.ID(), q)))
	case host != "":
		if stall := x.mostlyStalled(host); stall != "" {
			return cachesOf(host), x.l.Of("the NIC of ") + host + " " + stall
		}
		if f := x.faultOf(host); f != nil {
			return ofCard(host), x.l.Of("the NIC of ") + host + " " + SayFault(x.l, f) + x.keepsUp(host)
		}
		rate := ""
		if d := x.drain(host); d != nil {
			rate = x.l.Of(" only at ") + drainRate(x.l, d)
		}
		return x.bufferOf(host), x.l.Sprintf("%s takes data%s", host, rate)
	}
	return Cause{}, x.l.Of("; the record does not show what filled the buffer behind it")
}

// closed ends, with a comma, words that were put into a sentence behind one; "" stays.
func closed(l lang.Language, words string) string {
	if words == "" {
		return ""
	}
	return words + l.Of(",")
}

// inCircle reports whether one of some ports is in the circle of a deadlock.
func (x *index) inCircle(held []record.PortID) bool {
	return slices.ContainsFunc(x.r.Cycle, func(w record.Waiting) bool { return slices.Contains(held, w.Port) })
}

// circle is the circle of a deadlock as a cause: its first port.
func (x *index) circle() Cause {
	w := &x.r.Cycle[0]
	return Cause{Kind: catalog.CausePort, Place: record.ClassAt(w.Port.Node, w.Port.Port, w.Class, w.Layer)}
}

// sayQueue tells where a message queued; if that port was itself paused for a
// good part of the message's time, what paused it is the cause.
func (x *index) sayQueue(port record.PortID, f *record.Message, q *record.QP) (cause Cause, how string) {
	how = x.l.Of("it waited in the queue of ") + port.String() + x.sharedBy(port, q)
	if at := x.metOn(f, port, false); at.Ahead*2 > at.Wait {
		cause = x.portCause(port, q)
		if x.strictAhead(&at) {
			cause.Kind = catalog.CauseClass
		}
		return cause, how + x.sayAhead(&at, q)
	}
	if p := x.ports[portClass{port, q.Limits.Class}]; p != nil && x.heldLong(p, f, false) {
		held, root, host := x.walk(port, q.Limits.Class)
		if at, because := x.sayRoot(held, root, host, q); at != (Cause{}) {
			how += x.l.Of(", held by ") + p.Layer.Words(x.l).Holder
			if len(held) > 1 {
				how += x.l.Of(" as were ") + listPorts(held[1:])
			}
			return at, how + x.l.Of(", because ") + because
		}
	}
	x.tells |= tellsPlace
	return x.orFailed(x.portCause(port, q), how, f)
}

// heldLong reports whether a port was held for a good part of the time that a message's packets
// waited there, or with back what acknowledges them.
func (x *index) heldLong(p *record.Port, f *record.Message, back bool) bool {
	if !x.witnessed() {
		return p.HeldPS > 0 && p.PausedPS >= f.Life()/counts
	}
	at := x.metOn(f, p.ID(), back)
	if at.Packets > 0 {
		return at.Held > 0 && at.Held*counts >= at.Wait+at.Held
	}
	for _, t := range x.stages.read(f.Account) {
		if s := &x.stages.known[t.number]; s.port() == p.ID() && s.ack == back {
			switch s.base {
			case catalog.StagePaused, catalog.StageCredits:
				at.Held += t.time
			case catalog.StageQueue:
				at.Wait += t.time
			}
		}
	}
	return at.Held > 0 && at.Held*counts >= at.Wait+at.Held
}

// firstMarked is the port of a queue pair's path that marked in its class before the others and
// by the end of the time that is asked about; nil if none did.
func (x *index) firstMarked(q *record.QP) (first *record.Port) {
	var at units.Time
	for _, h := range q.Limits.Path {
		p := x.ports[portClass{h.Port, q.Limits.Class}]
		if p == nil {
			continue
		}
		mark := p.Layer.Vocabulary().Mark
		if a := x.acts[actKey{mark, p.Place()}]; x.done(mark, p.Place()) && (first == nil || a.First < at) {
			first, at = p, a.First
		}
	}
	return first
}

// firstDropped is the port of a queue pair's path that dropped in its class before the others,
// for one cause, on its way out or in, and by the end of the time that is asked about; nil if
// none did.
func (x *index) firstDropped(q *record.QP) (port *record.Port, first record.Drop) {
	for _, h := range q.Limits.Path {
		for _, end := range [...]record.PortID{h.Port, h.Peer} {
			p := x.ports[portClass{end, q.Limits.Class}]
			if p == nil {
				continue
			}
			for _, d := range p.DropCauses {
				late := x.known.to > 0 && d.First > x.known.to || port != nil && d.First >= first.First
				if d.Count > 0 && !late && d.Cause.Arriving() == (end == h.Peer) {
					port, first = p, d
				}
			}
		}
	}
	return port, first
}

// sayLoss tells of the time that a loss cost, and which port dropped.
func (x *index) sayLoss(stage catalog.Stage, own *Cause, q *record.QP, of *record.Message) (cause Cause, how string) {
	me := qpActor(q)
	cause = Cause{Kind: catalog.CauseLoss, Place: q.Place()}
	how = x.l.Of("a loss had to be noticed") + x.noticedBy(q)
	if stage == catalog.StageResending {
		cause.Place = own.Place
		how = x.l.Of("packets that ") + me + x.l.Of(" had sent before had to be sent again")
	}
	if at, because := x.lostWhere(of, q, Reads(of)); because != "" {
		return at, how + x.l.Of("; ") + because
	}
	if f := x.failureOn(q, of); f != nil {
		return failed(f), how + x.l.Of("; ") + x.sayFailure(f)
	}
	p, drop := x.dropped(q)
	if p == nil || linkFailed(drop.Cause) { // answers take another way, and tables change
		f := x.failed(of, func(record.Place) bool { return true })
		if f == nil && p != nil {
			f = x.failedBefore(of)
		}
		if f != nil {
			return failed(f), how + x.l.Of("; ") + x.sayFailure(f)
		}
	}
	if p == nil {
		return cause, how
	}
	return x.droppedBy(p, drop.Cause), how + x.l.Of("; ") + x.sayDropped(p, drop) + x.drainAfter(p, drop.Cause)
}

// lostWhere is what lost most of what a message's connection lost in its time, of its data or
// with answer of what goes back; of the other way where nothing was lost on that. because is
// empty where the record tells of nothing.
func (x *index) lostWhere(f *record.Message, q *record.QP, answer bool) (cause Cause, because string) {
	var most *record.Lost
	count := int64(0)
	lost := x.lost(f)
	for i := range lost {
		l := &lost[i]
		n := l.Acts.Total().Count
		if most == nil || l.Answer == answer && most.Answer != answer || l.Answer == most.Answer && n > count {
			most, count = l, n
		}
	}
	if most == nil {
		return Cause{}, ""
	}
	at := x.metPort(&record.Met{Port: most.Port})
	if linkFailed(most.Cause) {
		k := x.failureAt(at, f)
		if k == nil { // there was no way on from that switch
			k = cmp.Or(x.failureOn(q, f), x.failedBefore(f))
		}
		if k != nil && most.Cause == catalog.DropNoRoute && (k.ReroutedPS < 0 || most.Acts.Total().Last > k.ReroutedPS) {
			return failed(k), x.sayFailure(k) + x.l.Of("; ") + at.Node + x.l.Of(" had no other way to send it")
		}
		if l := x.loopAt(at.Node); k != nil && l != nil && most.Cause == catalog.DropTTL {
			return failed(k), x.l.Sprintf("%s; %s of its connection %s, and ended their TTL", x.sayFailure(k),
				plural(x.l, count, "frame"), SayLoop(x.l, l))
		}
		if k != nil {
			return failed(k), x.sayFailure(k)
		}
	}
	p := x.ports[portClass{at, int(most.Class)}]
	if p == nil {
		return Cause{}, ""
	}
	x.tells |= tellsDrops
	because = x.l.Sprintf("%s dropped %s of its connection (%s)", at, plural(x.l, count, "frame"), most.Cause)
	cause = x.droppedBy(p, most.Cause)
	switch {
	case p.Class != q.Limits.Class && most.Answer != Reads(f): // acknowledgements may have a class of their own
		because += x.l.Sprintf(", in priority %d, in which acknowledgements travel", p.Class)
	case most.Cause.Sign() == catalog.BufferDrop && p.Class != q.Limits.Class: // by a map of DSCPs or PCPs
		because += x.l.Sprintf(", in priority %d, where %s puts what %s sends in priority %d", p.Class, p.Node, q.Host,
			q.Limits.Class)
		cause.Why = catalog.ReasonMap
	case most.Cause == catalog.DropOversize:
		cause.Why = catalog.ReasonOversize
	case most.Cause == catalog.DropHeadroom && x.remapped(p) != nil:
		o := x.remapped(p)
		because += x.l.Sprintf(": %s sends in priority %d what %s pauses in priority %d", o.Node, o.Class, p.Node, p.Class)
		cause = atPort(o)
		cause.Why = catalog.ReasonMap
	case most.Cause == catalog.DropHeadroom:
		if short := shortHeadroom(x.l, p, q); short != "" {
			because += short
			if p.Limits.HeadroomNeed > 0 {
				because += x.l.Sprintf(", and the cable can need %s", FormatBytes(p.Limits.HeadroomNeed))
				cause.Why = catalog.ReasonHeadroom
			}
		}
	case most.Cause == catalog.DropStorm:
		held, port, host := x.walk(at, p.Class)
		if c, root := x.sayRoot(held, port, host, q); c != (Cause{}) {
			return c, because + x.l.Of(", which took it for a storm, because ") + root
		}
	}
	return cause, because + x.drainAfter(p, most.Cause)
}

// remapped is the port and class of a switch that sends to port p what p has in another class, so that its pauses do
// not stop that: none of that class was to be sent there, and none in the class of p was; nil: there is none.
func (x *index) remapped(p *record.Port) *record.Port {
	if x.hosts[p.Peer.Node] {
		return nil
	}
	if own := x.ports[portClass{p.Peer, p.Class}]; own != nil && carried(own) > 0 {
		return nil
	}
	for i := range x.r.Ports {
		o := &x.r.Ports[i]
		if o.ID() == p.Peer && o.Class != p.Class && carried(o) > 0 && x.users(o) == 0 {
			return o
		}
	}
	return nil
}

// shortHeadroom says, in words that follow, that a port's headroom was too small for what came after its
// pause; "": it had room for another packet of the queue pair, so that a pool that others share was full.
func shortHeadroom(l lang.Language, p *record.Port, q *record.QP) string {
	const headers = 100 // at most, of a packet
	if p.Limits.HeadroomBytes == 0 || p.PeakHeadroom+q.Limits.MTUBytes+headers <= p.Limits.HeadroomBytes {
		return ""
	}
	return l.Sprintf(": more came after its pause than its headroom of %s holds", FormatBytes(p.Limits.HeadroomBytes))
}

// linkFailed reports whether frames are dropped so because a link failed.
func linkFailed(why catalog.Drop) bool {
	switch why {
	case catalog.DropLinkDown, catalog.DropPortDown, catalog.DropNoRoute, catalog.DropTTL:
		return true
	}
	return false
}

// droppedBy is a port that dropped as a cause: the host whose receive buffer was full, the
// link that loses, or else more than the port could hold.
func (x *index) droppedBy(p *record.Port, why catalog.Drop) Cause {
	if why == catalog.DropReceive {
		return x.bufferOf(p.Node)
	}
	cause := atPort(p)
	if why.Sign() == catalog.NoMechanism {
		cause.Kind = catalog.CauseLoss
	}
	return cause
}

// drainAfter says how fast a host takes data whose receive buffer dropped, in words that follow.
func (x *index) drainAfter(p *record.Port, why catalog.Drop) string {
	if why != catalog.DropReceive {
		return ""
	}
	return x.drainOf(p)
}

// dropped is the port that dropped first on the path of a queue pair's packets, or
// if none did on that of its peer's.
func (x *index) dropped(q *record.QP) (*record.Port, record.Drop) {
	p, drop := x.firstDropped(q)
	if k, ok := x.peer(q); p == nil && ok {
		return x.firstDropped(&x.r.QPs[k])
	}
	return p, drop
}

// sayDropped says that a port dropped, where the record does not tell of which flows, nor how
// much in a message's time.
func (x *index) sayDropped(p *record.Port, d record.Drop) string {
	x.tells |= tellsDrops
	return x.l.Sprintf("%s dropped frames (%s)", p.ID(), d.Cause)
}

// noticedBy says how losses of a queue pair had been noticed by the end of the time that is asked
// about, in words that follow.
func (x *index) noticedBy(q *record.QP) string {
	var by []string
	if k, ok := x.peer(q); ok && x.done(catalog.NAKSent, x.r.QPs[k].Place()) {
		by = append(by, x.l.Of("a NAK"))
	}
	if x.done(catalog.AskedAgain, q.Place()) {
		by = append(by, x.l.Of("a missing response"))
	}
	if x.done(catalog.AckTimeout, q.Place()) {
		by = append(by, x.l.Of("a timeout"))
	}
	if len(by) == 0 {
		return ""
	}
	return x.l.Of(", by ") + strings.Join(by, " or ")
}

// alsoLost says what a loss had to do with a message whose time went elsewhere;
// "" if nothing.
func (x *index) alsoLost(f *record.Message) string {
	if !repeats(f.Account.Stages()) {
		return ""
	}
	defer x.restore(x.known.from, x.known.to)
	x.during(f)
	said := x.l.Of("part of it was lost on the way and sent again: ")
	q := x.actor(f, false)
	if _, because := x.lostWhere(f, q, Reads(f)); because != "" {
		return said + because
	}
	p, drop := x.dropped(q)
	if p == nil {
		return ""
	}
	return said + x.sayDropped(p, drop)
}

// repeats reports whether an account shows that something was lost: stages of a
// loss, or a hop that was passed twice.
func repeats(a record.Account) bool {
	type hop struct {
		stage catalog.Stage
		where record.Place
	}
	seen := map[hop]bool{}
	for i := range a {
		s := &a[i]
		switch at := (hop{s.Stage, s.Place()}); {
		case s.Stage.Is(catalog.Repeats):
			return true
		case s.Stage.Base() == catalog.StagePropagation:
			if seen[at] {
				return true
			}
			seen[at] = true
		}
	}
	return false
}

// drainOf says how fast a host port's receive buffer is drained, if that is
// limited, in words that follow.
func (x *index) drainOf(p *record.Port) string {
	if p.Limits.DrainBps == 0 {
		return ""
	}
	return x.l.Sprintf("; %s takes data at %s", p.Node, drainRate(x.l, &p.Limits))
}

// drainRate says how fast a receive buffer is drained.
func drainRate(l lang.Language, p *record.PortLimits) string {
	text := FormatRate(p.DrainBps)
	if p.Inside != nil {
		text += l.Of(" over ") + p.Inside.String() + InsideBut(l, p.Inside)
	}
	if p.StalledPS > 0 {
		text += l.Of(", less the time in which its NIC fetched what its caches did not hold")
	}
	return text
}

// filledBy names the host that paused a port, where links inside it take less than the
// port's: what waited there, and was marked, waited for these.
func (x *index) filledBy(p *record.Port) string {
	host := p.Peer.Node
	l := x.drain(host)
	if l == nil || l.Inside == nil || p.PausesReceived == 0 {
		return ""
	}
	in := l.Inside
	return x.l.Sprintf("; %s paused it, as %s takes %s%s", host, in, FormatRate(in.Bps), InsideBut(x.l, in))
}

// cachesOf are the caches of a host's card as a cause.
func cachesOf(host string) Cause {
	return Cause{Kind: catalog.CauseCaches, Place: record.Place{Kind: catalog.AtCardCaches, Node: host}}
}

// atPort is a port as a cause.
func atPort(p *record.Port) Cause { return Cause{Kind: catalog.CausePort, Place: p.Place()} }

// portCause is a port as a cause of what happened to a queue pair's class there.
func (x *index) portCause(at record.PortID, q *record.QP) Cause {
	return Cause{Kind: catalog.CausePort, Place: record.ClassAt(at.Node, at.Port, q.Limits.Class, q.Layer)}
}

// failed is the failure of a link as a cause.
func failed(f *record.Failure) Cause { return Cause{Kind: catalog.CauseFailure, Place: f.Link} }

// listPorts names ports.
func listPorts(ports []record.PortID) string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = p.String()
	}
	return strings.Join(names, ", ")
}

// mostlyStalled says for how long a host's card fetched what its caches did not
// hold, if that took its receiving pipeline longer than the data did; else "".
func (x *index) mostlyStalled(host string) string {
	said, known := x.stalls[host]
	if !known {
		said = x.findStalled(host)
		x.stalls[host] = said
	}
	return said
}

func (x *index) findStalled(host string) string {
	l := x.drains[host]
	if l == nil || l.StalledPS == 0 {
		return ""
	}
	arrived := int64(0)
	for i := range x.r.Ports {
		if p := &x.r.Ports[i]; p.Peer.Node == host {
			arrived += p.TxBytes
		}
	}
	took := units.Time(mulDiv(arrived, 8*int64(units.Second), int64(l.DrainBps)))
	if l.StalledPS < took {
		return ""
	}
	return x.l.Of("fetched contexts and translations that its caches did not hold, which took longer than all data at ") +
		FormatRate(l.DrainBps)
}

// sayReceiveBuffer tells what kept a packet in the receive buffer of a port: the
// rate at which the host takes data, or the misses of the card's caches.
func (x *index) sayReceiveBuffer(waited string, port record.PortID, q *record.QP) (cause Cause, how string) {
	host := port.Node
	how = waited + x.l.Of(" in the receive buffer of ") + port.String()
	if stall := x.mostlyStalled(host); stall != "" {
		return cachesOf(host), how + x.l.Of(": the NIC ") + stall
	}
	if f := x.faultOf(host); f != nil {
		return ofCard(host), how + x.l.Of(": the NIC ") + SayFault(x.l, f) + x.keepsUp(host)
	}
	rate := FormatRate(q.Limits.DrainBps)
	if l := x.drain(host); l != nil {
		rate = drainRate(x.l, l)
	}
	return x.bufferOf(host), how + x.l.Of(", drained at ") + rate
}
