package metrics

import (
	"fmt"
	"sync"

	"github.com/hopscope/hopscope/internal/record"
)

// index finds what belongs together in a run's records.
type index struct {
	r      *record.Run
	ports  map[portClass]*record.Port
	acts   map[actKey]record.Act
	out    map[string][]int // requesters (indices into QPs) by the port they leave by
	in     map[string][]int // and by the port they arrive at
	hosts  map[string]bool
	queued map[string]bool // hosts whose cores take frames out of receive queues
	span   float64         // spanOf
	// requesters (indices into QPs) by the queue pair's name, and what each queue
	// pair's NAKs came to.
	requesters map[qpKey]int
	peers      map[string]int // indices into QPs, by the queue pair's name as its peer gives it
	// By the requester's name: it posted READs, or other verbs; by the responder's:
	// it answers READs.
	reads, writes, serves map[qpKey]bool
	naks                  map[string]int64
	queues                map[portClass]*record.Port    // what fullest found; nil: none
	drains                map[string]*record.PortLimits // of hosts that take data at a limited rate
	together              *together                     // what the indices of several goroutines have in common
	keepers               []*stages                     // of accounts, once longest has been asked
	stages                stages
	blames                map[blameKey]blame // what blame found
	causes                []Dominant         // for dominant to use again
	firstAt               []int
	places                int                          // that Mechanisms is to keep of each, 0: all
	full                  map[*record.QP]string        // what sayFullCores said
	stalls                map[string]string            // what mostlyStalled said, by host
	posted                map[qpKey]int64              // payload of all messages of a requester; nil: not added up
	bound                 map[boundsKey]Ceiling        // what bounds found
	load                  map[portClass]int            // requesters that leave by a port in a class
	loops                 map[portClass]*record.PathHop // hops over links with credits
}

// portClass names a port and class.
type portClass struct {
	port  string
	class int
}

// together is what the indices of several goroutines find together, whichever needs it
// first.
type together struct {
	workers int
	once    sync.Once
	spent   map[spentAt]*spent // what addSpent found
	keepers []*stages          // and the accounts that it kept
}

// fork is an index for another goroutine.
func (x *index) fork() *index {
	f := *x
	f.stages, f.causes, f.firstAt, f.blames, f.bound, f.posted = stages{}, nil, nil, nil, nil, nil
	f.queues, f.full, f.stalls = map[portClass]*record.Port{}, map[*record.QP]string{}, map[string]string{}
	return &f
}

type actKey struct {
	mechanism record.Mechanism
	actor     string
}

func newIndex(r *record.Run) *index {
	x := &index{r: r, together: &together{workers: 1}, ports: map[portClass]*record.Port{}, acts: map[actKey]record.Act{}, out: map[string][]int{}, in: map[string][]int{}, hosts: map[string]bool{}, queued: map[string]bool{}, full: map[*record.QP]string{}, stalls: map[string]string{},
		requesters: map[qpKey]int{}, peers: map[string]int{}, reads: map[qpKey]bool{}, writes: map[qpKey]bool{}, serves: map[qpKey]bool{}, naks: map[string]int64{}, queues: map[portClass]*record.Port{}, load: map[portClass]int{}, loops: map[portClass]*record.PathHop{}, drains: map[string]*record.PortLimits{}}
	for i := range r.Ports {
		p := &r.Ports[i]
		x.ports[portClass{PortName(p), p.Class}] = p
		if p.Limits.DrainBps > 0 {
			x.drains[p.Node] = &p.Limits
		}
	}
	for i := range r.Ledger {
		e := &r.Ledger[i]
		x.acts[actKey{e.Mechanism, e.Actor}] = e.Act
	}
	for i := range r.QPs {
		q := &r.QPs[i]
		x.hosts[q.Host] = true
		x.naks[qpActor(q)] = q.NAKsSent
		x.peers[qpActor(q)] = i
		if len(q.Limits.Path) > 0 {
			x.requesters[qpKey{q.Host, q.QP}] = i
		}
		for _, h := range q.Limits.Path {
			x.load[portClass{h.Port, q.Limits.Class}]++
			if h.CreditPackets > 0 {
				x.loops[portClass{h.Port, q.Limits.Class}] = h
			}
			x.out[h.Port] = append(x.out[h.Port], i)
			x.in[h.Peer] = append(x.in[h.Peer], i)
		}
	}
	for i := range r.Flows {
		x.noteVerb(&r.Flows[i])
	}
	for i := range r.Processors {
		p := &r.Processors[i]
		x.queued[p.Host] = x.queued[p.Host] || p.FramesIn > 0 || p.RingDrops > 0
	}
	x.span = spanOf(r)
	return x
}

// noteVerb notes which queue pairs send a message's data.
func (x *index) noteVerb(f *record.Flow) {
	key := flowQP(f)
	if !Reads(f) {
		x.writes[key] = true
		return
	}
	x.reads[key] = true
	if k, ok := x.sender(f); ok {
		q := &x.r.QPs[k]
		x.serves[qpKey{q.Host, q.QP}] = true
	}
}

// sender is the queue pair (an index into QPs) that sends a message's data: the
// requester, or with a READ the responder.
func (x *index) sender(f *record.Flow) (k int, ok bool) {
	k, ok = x.requesters[flowQP(f)]
	if ok && Reads(f) {
		k, ok = x.peers[x.r.QPs[k].Peer]
	}
	return k, ok
}

// actor is the queue pair that a stage of a message's time belongs to: the
// requester, or with response the responder. The record has one of them at least.
func (x *index) actor(f *record.Flow, response bool) *record.QP {
	k := x.requesters[flowQP(f)]
	if response {
		k = x.peers[x.r.QPs[k].Peer]
	}
	return &x.r.QPs[k]
}

// responder reports whether q answers requests rather than making them.
func (x *index) responder(q *record.QP) bool {
	return len(q.Limits.Path) == 0 || x.serves[qpKey{q.Host, q.QP}]
}

// sends reports whether q sends the data of messages.
func (x *index) sends(q *record.QP) bool {
	key := qpKey{q.Host, q.QP}
	return x.serves[key] || x.writes[key]
}

// takes reports whether the data of messages arrives at q.
func (x *index) takes(q *record.QP) bool {
	return x.reads[qpKey{q.Host, q.QP}] || x.responder(q)
}

// portActor is how the ledger names a port and class.
func portActor(p *record.Port) string { return PortName(p) + " " + ClassName(p) }

// ClassName is how reports name a port's class: "prio 3", or "VL 0" on a link
// with credits.
func ClassName(p *record.Port) string {
	if p.Limits.Credits != nil {
		return fmt.Sprintf("VL %d", p.Class)
	}
	return fmt.Sprintf("prio %d", p.Class)
}

// qpActor is how the ledger names a queue pair.
func qpActor(q *record.QP) string { return q.Name() }

// class keeps those of the queue pairs whose data is of class c.
func (x *index) class(qps []int, c int) (of []int) {
	for _, i := range qps {
		if x.r.QPs[i].Limits.Class == c {
			of = append(of, i)
		}
	}
	return of
}

// hop is the place of a port in the path of queue pair i, -1 if it is not there.
func (x *index) hop(i int, port string) int {
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
