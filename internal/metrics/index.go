package metrics

import (
	"strconv"
	"sync"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
)

// index finds what belongs together in a run's records.
type index struct {
	l        lang.Language // of sentences
	r        *record.Run
	ports    map[portClass]*record.Port
	acts     map[actKey]record.Act
	paths    *paths // requesters by the ports that they leave by and arrive at; nil: not looked up
	hosts    map[string]bool
	links    defects         // rates of links by tier, made when a pause tree asks for them
	queued   map[string]bool // hosts whose cores take frames out of receive queues
	span     float64         // spanOf
	pairs    *pairs
	last     int                           // the queue pair that was asked for latest: the next is often the one behind it
	happened map[catalog.Mechanism]bool    // someone did it
	queues   map[portClass]*record.Port    // what fullest found; nil: none
	drains   map[string]*record.PortLimits // of hosts that take data at a limited rate: see drain
	together *together                     // what the indices of several goroutines have in common
	keepers  []*stages                     // of accounts, once longest has been asked
	stages   stages
	blames   map[blameKey]Cause             // what blame found
	tells    tells                          // what say told of
	asked    asked                          // what requester found last
	causes   []Dominant                     // for dominant to use again
	spelled  []spell                        // likewise
	thorough bool                           // what is asked of one message looks at others as well
	previous []int32                        // of messages: what before found; nil: not looked for
	places   int                            // that Mechanisms is to keep of each, 0: all
	shut     map[portClass]record.Stretches // when ports might not send
	busy     map[hostCore]*record.CoreTimes
	stalls   map[string]string             // what mostlyStalled said, by host
	taken    map[qpKey]taken               // messages of requesters; nil: not added up
	posted   map[qpKey]int64               // payload of all messages of a requester; nil: not added up
	bound    map[boundsKey]Ceiling         // what bounds found
	loops    map[portClass]*record.PathHop // hops over links with credits
	known    knownMet
	passed   []passed // of newSeries
	epoch    uint32   // of passed
	duplex   duplex
	series   series // of newSeries
	kernel   map[hostCore]bool
	single   bool // no ports in series are looked for
	sliced   int  // how many accounts of earlier messages may still be looked at, and 1; 0: all
}

// asked is who requested a message: the queue pair k, an index into QPs.
type asked struct {
	src   string
	qp, k int
}

// portClass names a port and class.
type portClass struct {
	port  record.PortID
	class int
}

// together is what the indices of several goroutines find together, whichever needs it
// first.
type together struct {
	workers int
	once    sync.Once
	spent   map[spentAt]*spent // what addSpent found
	keepers []*stages          // and the accounts that it kept
	underWay
	traffic
}

// fork is an index for another goroutine.
func (x *index) fork() *index {
	x.along() // which all share
	f := *x
	f.stages, f.causes, f.spelled, f.blames, f.bound, f.posted = stages{}, nil, nil, nil, nil, nil
	f.known, f.passed, f.duplex, f.series = knownMet{}, nil, duplex{}, series{}
	f.queues, f.stalls = map[portClass]*record.Port{}, map[string]string{}
	return &f
}

type actKey struct {
	mechanism catalog.Mechanism
	actor     record.Place
}

func newIndex(r *record.Run) *index { return newIndexIn(lang.English, r) }

// newIndexIn is an index that speaks a language.
func newIndexIn(l lang.Language, r *record.Run) *index {
	x := &index{r: r, l: l, together: &together{workers: 1}, pairs: newPairs(r.QPs),
		ports: map[portClass]*record.Port{}, acts: map[actKey]record.Act{}, hosts: map[string]bool{}, queued: map[string]bool{},
		stalls: map[string]string{}, shut: map[portClass]record.Stretches{}, busy: map[hostCore]*record.CoreTimes{},
		happened: map[catalog.Mechanism]bool{}, queues: map[portClass]*record.Port{},
		loops: map[portClass]*record.PathHop{}, drains: map[string]*record.PortLimits{}}
	for i := range r.Ports {
		p := &r.Ports[i]
		x.ports[portClass{p.ID(), p.Class}] = p
		if p.Limits.DrainBps > 0 {
			x.drains[p.Node] = &p.Limits
		}
	}
	for i := range r.Ledger {
		e := &r.Ledger[i]
		x.acts[actKey{e.Mechanism, e.Actor}] = e.Act
		x.happened[e.Mechanism] = true
	}
	for i := range r.QPs {
		q := &r.QPs[i]
		if i == 0 || r.QPs[i-1].Host != q.Host {
			x.hosts[q.Host] = true
		}
		if q.Peer.Node != "" && (i == 0 || r.QPs[i-1].Peer.Node != q.Peer.Node) { // nothing may have come to it
			x.hosts[q.Peer.Node] = true
		}
		for _, h := range q.Limits.Path {
			if h.CreditPackets > 0 {
				x.loops[portClass{h.Port, q.Limits.Class}] = h
			}
		}
	}
	for i := range r.Messages {
		x.noteVerb(&r.Messages[i])
	}
	x.noteSummed()
	for i := range r.Processors {
		p := &r.Processors[i]
		x.queued[p.Host] = x.queued[p.Host] || p.FramesIn > 0 || p.RingDrops > 0
		for k := range p.ByCore {
			x.busy[hostCore{p.Host, p.ByCore[k].Core}] = &p.ByCore[k]
		}
	}
	if e := r.Evidence; e != nil {
		for i := range e.Shut {
			s := &e.Shut[i]
			x.shut[portClass{e.Ports[s.Port], int(s.Class)}] = s.Seen
		}
	}
	x.span = spanOf(r)
	return x
}

// noteVerb notes which queue pairs send a message's data.
func (x *index) noteVerb(f *record.Message) {
	k := x.pairs.find(record.HostOf(f.Src), f.QP)
	if k < 0 {
		return
	}
	if !Reads(f) {
		x.pairs.roles[k] |= roleWrites
		return
	}
	x.pairs.roles[k] |= roleReads
	if k, ok := x.sender(f); ok {
		x.pairs.roles[k] |= roleServes
	}
}

// noteSummed notes which queue pairs send the data of collectives whose messages were not kept.
func (x *index) noteSummed() {
	for i := range x.r.Collectives {
		c := &x.r.Collectives[i]
		if c.Sums == nil {
			continue
		}
		for k := range x.r.QPs {
			if q := &x.r.QPs[k]; q.SentBytes > 0 && (q.Workload == c.Workload || q.Workload == c.Slots) {
				x.pairs.roles[k] |= roleWrites
			}
		}
	}
}

// requester is the queue pair (an index into QPs) that posted a message.
func (x *index) requester(f *record.Message) (k int, ok bool) {
	if x.asked.src != f.Src || x.asked.qp != f.QP || x.asked.src == "" {
		x.asked.src, x.asked.qp, x.asked.k = f.Src, f.QP, x.pairs.find(record.HostOf(f.Src), f.QP)
	}
	k = x.asked.k
	return k, k >= 0 && len(x.r.QPs[k].Limits.Path) > 0
}

// peer is the queue pair (an index into QPs) at the other end of q.
func (x *index) peer(q *record.QP) (k int, ok bool) {
	k = x.pairs.find(q.Peer.Node, int(q.Peer.Number))
	return k, k >= 0
}

// sender is the queue pair (an index into QPs) that sends a message's data: the
// requester, or with a READ the responder.
func (x *index) sender(f *record.Message) (k int, ok bool) {
	k, ok = x.requester(f)
	if ok && Reads(f) {
		k, ok = x.peer(&x.r.QPs[k])
	}
	return k, ok
}

// actor is the queue pair that a stage of a message's time belongs to: the
// requester, or with response the responder. The record has one of them at least.
func (x *index) actor(f *record.Message, response bool) *record.QP {
	k, _ := x.requester(f)
	if response {
		k, _ = x.peer(&x.r.QPs[max(k, 0)])
	}
	return &x.r.QPs[max(k, 0)]
}

// responder reports whether q answers requests rather than making them.
func (x *index) responder(q *record.QP) bool {
	return len(q.Limits.Path) == 0 || x.role(q)&roleServes != 0
}

// sends reports whether q sends the data of messages.
func (x *index) sends(q *record.QP) bool { return x.role(q)&(roleServes|roleWrites) != 0 }

// takes reports whether the data of messages arrives at q.
func (x *index) takes(q *record.QP) bool {
	return x.role(q)&roleReads != 0 || x.responder(q)
}

// ClassName is how reports name a port's class: "prio 3", or "VL 0" on a link
// with credits.
func ClassName(p *record.Port) string {
	return p.Layer.English().Class + " " + strconv.Itoa(p.Class)
}

// qpActor is how the ledger names a queue pair.
func qpActor(q *record.QP) string { return q.Name() }

// hop is the place of a port in the path of queue pair i, -1 if it is not there.
func (x *index) hop(i int32, port record.PortID) int {
	for k, h := range x.r.QPs[i].Limits.Path {
		if h.Port == port {
			return k
		}
	}
	return -1
}

// frames is the number of frame bytes that n bytes of payload take in packets
// of the queue pair's MTU, the last one filled up: an upper bound.
func (x *index) frames(q *record.QP, n int64) int64 {
	mtu := max(q.Limits.MTUBytes, 1)
	packets := (n + mtu - 1) / mtu
	return packets * (mtu + int64(x.r.FrameHeader))
}
