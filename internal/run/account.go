package run

import (
	"fmt"
	"sort"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// stageNames are the stages of a requester's time.
var stageNames = [nic.NumStages]string{
	nic.Idle: record.StageIdle, nic.RNRWait: record.StageRNRWait, nic.AwaitAck: record.StageAwaitAck,
	nic.Window: record.StageWindow, nic.SlowRestart: record.StageSlowRestart, nic.Bitmap: record.StageBitmap, nic.Lost: record.StageLoss, nic.Fenced: record.StageFence, nic.Reads: record.StageReads, nic.Rate: record.StageRate, nic.Fetching: record.StageFetch, nic.WorkFetch: record.StageWorkFetch, nic.Reading: record.StageRead, nic.Copying: record.StageCopyOut, nic.Paused: record.StagePaused, nic.Control: record.StageControl,
	nic.Other: record.StageOther, nic.Sending: record.StageSending, nic.Resending: record.StageResending,
}

// wayNames are the stages of a packet's way.
type wayNames struct {
	paused, queue, buffer, pipeline, serialisation, propagation, latency, jitter, beyond string
}

// shutStage is the stage of the time for which a port's gate held a class.
func (r *runner) shutStage() string {
	if r.Valid.Wire.Block > 0 {
		return record.StageCredits
	}
	return record.StagePaused
}

// stagesOf returns the stages of a way, each after prefix; shut is that of a gate
// that held it.
func stagesOf(prefix, shut string) wayNames {
	return wayNames{
		paused: prefix + shut, queue: prefix + record.StageQueue, buffer: prefix + record.StageReceiveBuffer, pipeline: prefix + record.StagePipeline,
		serialisation: prefix + record.StageSerialisation, propagation: prefix + record.StagePropagation,
		latency: prefix + record.StageLatency, jitter: prefix + record.StageJitter, beyond: prefix + record.StageBeyond,
	}
}

// places are ports and their links, by global port number.
type places struct {
	port []string // names
	link []link
}

// link is what leads away from a port.
type link struct {
	name, peer     string
	delay, latency units.Time // latency: the pipeline's of the switch that it leads to
	ofHost         bool       // the port is a host's
	noisy          bool       // frames may take longer to arrive
}

func (r *runner) places() (p places) {
	g := r.Valid.Graph
	p.port, p.link = make([]string, 0, len(r.Place)), make([]link, 0, len(r.Place))
	for _, at := range r.Place {
		nd := &g.Nodes[at.Node]
		to := nd.Ports[at.Local].Peer
		l := link{name: fmt.Sprintf("%s to %s", nd.Name, g.Nodes[to].Name), peer: g.Nodes[to].Name,
			delay: g.LinkAt(at.Node, at.Local).Delay, ofHost: nd.Kind == topology.Host}
		if g.Nodes[to].Kind == topology.Switch {
			l.latency = r.Valid.Switches[to].Latency
			l.noisy = r.Valid.Noise.Pipeline > 0 || l.ofHost && r.Valid.Noise.Card > 0
		}
		p.port, p.link = append(p.port, r.portName(at.Node, at.Local)), append(p.link, l)
	}
	return p
}

// accountant joins what requester and responder wrote down about a message
// into one account that tiles its completion time (design, section 8).
type accountant struct {
	*runner
	places
	data, ack, response wayNames
	shut                string   // see shutStage
	lossy               []uint64 // a bit per connection of which something was dropped
	names               [nic.NumStages]string
	loss, reordered     string         // stages of the waits for what completed a message
	out                 record.Account // reused by the next account
	message             int            // whose note is at hand, from 1
	carrier, asker      int            // that message's connection, and the node of its requester
	noted               nic.MessageAccount
	took                nic.Acceptance // the responder's note, likewise
	tookNote            int            // which of the responder's it is; see taken
	hops                []fabric.Hop   // of the ways of that message, as far as they were asked for
	at                  units.Time     // accounted up to here
	segments            bool           // what is accounted is a TCP connection's
	clip                bool           // what lies before that is left out; else it is a bug
	// delivered is, by connection, when messages of services without
	// acknowledgements arrived, by when their last packet was sent.
	delivered [][]arrival
}

// note is what its requester wrote down of message i, good until that of another is
// asked for.
func (a *accountant) note(i int) *nic.MessageAccount {
	if a.message != i+1 {
		a.message, a.hops = i+1, a.hops[:0]
		m := a.Valid.Plan.At(i)
		from, _ := a.Valid.Plan.Ends(&m)
		a.carrier, a.asker = m.Conn, a.Valid.Graph.HostOf(from)
		a.Hosts[a.asker].Account(uint32(i), &a.noted)
	}
	return &a.noted
}

// conn is the connection of message i.
func (a *accountant) conn(i int) int {
	a.note(i)
	return a.carrier
}

// requester is runner.requester of message i.
func (a *accountant) requester(i int) int {
	a.note(i)
	return a.asker
}

// ordinal is the place of message i among those that its queue pair has begun; the
// highest number: it has not come to it.
func (r *runner) ordinal(i int) int {
	var m nic.MessageAccount
	r.Hosts[r.requester(i)].Account(uint32(i), &m)
	return int(m.Ordinal)
}

// wayOf is the way of a packet that a host kept, good as long as the note at hand.
func (a *accountant) wayOf(host *nic.Host, w nic.Way) []fabric.Hop {
	first := len(a.hops)
	a.hops = host.Hops(w, a.hops)
	return a.hops[first:len(a.hops):len(a.hops)]
}

// account returns where the time of message i went, which has completed: until its
// end (see ended).
func (a *accountant) account(i int) record.Account {
	m := a.note(i)
	c := &a.Valid.Plan.Conns[a.conn(i)]
	switch {
	case !a.placing(c) || a.Messages[i].Status != rdma.Success:
		return a.toCompletion(i)
	case c.Service != workload.RC:
		if taken := a.taken(i); taken != nil {
			return a.datagram(i, taken)
		}
		return a.toCompletion(i)
	case m.Verb < rdma.Read:
		return a.received(i)
	}
	a.toCompletion(i)
	a.place(a.Hosts[a.requester(i)], a.Messages[i].QP, m.Landed, m.Placed)
	return a.out
}

// toCompletion returns where the time of message i went until the requester's card
// knew that it was complete.
func (a *accountant) toCompletion(i int) record.Account {
	m := a.note(i)
	port := a.opening(i)
	switch {
	case a.Messages[i].Status != rdma.Success || a.Valid.Plan.Conns[a.conn(i)].Service != workload.RC:
		a.failed(i, port, unknown)
		a.times(&m.Before, port)
		a.rest(m.Rest, port)
		if a.at != m.Done {
			panic(fmt.Sprintf("run: BUG: message %d ended at %d ps, accounted up to %d: %v", i, m.Done, a.at, a.out))
		}
	case m.Verb == rdma.Read:
		a.read(i, port)
	default:
		taken, way := a.acceptance(i)
		a.failed(i, port, startOf(way))
		a.decisive(i, port, way, taken.At)
		a.acknowledged(i, taken)
	}
	return a.out
}

// opening begins the account of message i with the time until its queue pair came
// to it, and returns the port that it leaves by.
func (a *accountant) opening(i int) (port string) {
	m := a.note(i)
	src := a.Valid.Graph.Endpoints[a.Valid.Plan.Conns[a.conn(i)].Src].Node
	a.out, a.at = a.out[:0], a.Messages[i].Due
	host := a.Valid.Graph.Nodes[src].Name
	connect, register := a.Hosts[src].Prepared(uint32(i))
	a.add(record.StageConnect, host, connect)
	a.add(record.StageRegister, host, register)
	a.until(record.StageCPU, host, m.Posted)
	a.until(record.StageEarlierWork, "", m.After)
	return a.port[a.Hosts[src].GlobalPort(a.Messages[i].QP)]
}

// unknown stands for the time of a transmission that is not known.
const unknown units.Time = -1

// startOf is when a packet with the given way was sent.
func startOf(way []fabric.Hop) units.Time {
	if len(way) == 0 {
		return unknown
	}
	return way[0].Start
}

// failed books the transmissions of message i's last packet that a rewind made
// void, up to the one at start, which was accepted: only its ACK was late or lost.
func (a *accountant) failed(i int, port string, start units.Time) {
	m := a.note(i)
	for k := range m.Failed {
		f := &m.Failed[k]
		if f.Start == start {
			return
		}
		a.times(&f.Before, port)
		a.void(i, f)
	}
}

// void books the time up to the rewind that made a transmission of message i's last
// packet void.
func (a *accountant) void(i int, f *nic.Attempt) {
	if f.Refused > 0 {
		a.until(record.StageAwaitRNR, "", f.Rewound)
		return
	}
	a.missing(i, f.Rewound)
}

// rest books the time from the start of a message's last packet to its error:
// first it was on the wire.
func (a *accountant) rest(t *nic.Times, port string) {
	if t == nil {
		return
	}
	var sent nic.Times
	later := *t
	sent[nic.Sending], later[nic.Sending] = t[nic.Sending], 0
	a.times(&sent, port)
	a.times(&later, port)
}

// missing books the time up to the rewind at the given time, during which what
// message i waited for was not there: up to each rewind on the way what that told
// of, and then the wait that an RNR NAK asked for. Of TCP up to each expiry of the
// retransmission timer, and from the last what else told.
func (a *accountant) missing(i int, rewound units.Time) {
	host, q := a.Hosts[a.requester(i)], a.Messages[i].QP
	for _, at := range host.Timeouts(q) {
		if at > a.at && at <= rewound {
			a.until(record.StageTimeout, "", at)
		}
	}
	log := host.Rewinds(q)
	k := sort.Search(len(log), func(k int) bool { return log[k].At > a.at })
	for ; k < len(log) && log[k].At <= rewound; k++ {
		r := &log[k]
		if r.By != rdma.ByRNR {
			a.until(a.loss, "", r.At)
			continue
		}
		a.until(record.StageAwaitRNR, "", r.At)
		if r.At < rewound && k+1 < len(log) {
			a.until(record.StageRNRWait, "", min(r.At+log[k+1].Wait-r.Wait, log[k+1].At))
		}
	}
	a.until(a.loss, "", rewound)
}

// acknowledged books the time from the acceptance of message i to its completion.
func (a *accountant) acknowledged(i int, taken *nic.Acceptance) {
	m := a.note(i)
	c := &a.Valid.Plan.Conns[a.conn(i)]
	ack := a.wayOf(a.Hosts[a.Valid.Graph.Endpoints[c.Src].Node], m.Ack)
	responder := a.Valid.Graph.EndpointName(c.Dst)
	switch {
	case m.By == nic.Behind:
		a.until(record.StageInOrder, "", m.Done)
		return
	case m.By == nic.Implied && len(ack) > 0:
		a.until(record.StageImplied, responder, ack[0].In)
	case m.By == nic.Implied:
		a.until(record.StageImplied, responder, m.Done)
		return
	case taken.Held:
		if taken.Read > a.at {
			a.until(record.StageAckRead, responder, min(taken.Read, taken.FirstAck))
		}
		a.until(record.StageHeldAck, responder, taken.FirstAck)
	default:
		a.until(record.StageCoalesce, responder, taken.FirstAck)
	}
	names := &a.ack
	if m.Response {
		names = &a.response
	} else {
		stage := record.StageAckLost
		if !hasBit(a.lossy, a.conn(i)) {
			stage = record.StageAckOvertaken
		}
		a.until(stage, "", m.AckMade)
	}
	if len(ack) > 0 {
		a.way(names, ack, m.Done)
	} else {
		a.until(record.StageAckWay, "", m.Done)
	}
}

// acceptance is the responder's note of message i, which succeeded, and the way of
// the packet that ended it.
func (a *accountant) acceptance(i int) (*nic.Acceptance, []fabric.Hop) {
	to := a.Responders[a.conn(i)]
	a.took = a.Hosts[to.Node].Acceptance(to.QP, int(a.note(i).Ordinal))
	return &a.took, a.wayOf(a.Hosts[to.Node], a.took.Way)
}

// received is from the post of message i, of the reliable connected service, until
// its responder had all of it, with a server in memory; -1: not by the run's end.
func (r *runner) received(f *record.Flow, i int, end units.Time) units.Time {
	to := r.Responders[r.Valid.Plan.At(i).Conn]
	responder, k := r.Hosts[to.Node], r.ordinal(i)
	if r.Messages[i].Posted == units.Never || k >= responder.Accepted(to.QP) {
		return -1
	}
	placed := responder.Acceptance(to.QP, k).Placed
	if placed > end {
		return -1
	}
	return placed - f.StartPS
}

// decisive books the requester's time up to the transmission after which the
// responder had all of message i, and that packet's way until it arrived.
func (a *accountant) decisive(i int, port string, way []fabric.Hop, arrived units.Time) {
	m := a.note(i)
	if own := ownTime(m, way); own != nil {
		a.times(own, port)
		a.way(&a.data, way, arrived)
		return
	}
	a.times(&m.Before, port)
	again := a.resend(i, way)
	if again == nil || again.Rewound < m.Start {
		a.until(a.reordered, "", arrived) // the network changed their order
		return
	}
	a.missing(i, again.Rewound)
	a.times(&again.Before, port)
	a.way(&a.data, way, arrived)
}

// resend is the note of the packet whose way is given, if that was one sent
// again alone (selective repeat).
func (a *accountant) resend(i int, way []fabric.Hop) *nic.Resend {
	if len(way) == 0 {
		return nil
	}
	start := way[0].Start
	all := a.Hosts[a.requester(i)].Resends(a.Messages[i].QP)
	k := sort.Search(len(all), func(k int) bool { return all[k].Start >= start })
	if k == len(all) || all[k].Start != start {
		return nil
	}
	return &all[k]
}

// ownTime is the queue pair's time up to the transmission of the message's last
// packet that took the given way; nil if it was another packet.
func ownTime(m *nic.MessageAccount, way []fabric.Hop) *nic.Times {
	if len(way) == 0 {
		return nil
	}
	for k := range m.Failed {
		if m.Failed[k].Start == way[0].Start {
			return &m.Failed[k].Before
		}
	}
	if m.Start != way[0].Start {
		return nil
	}
	return &m.Before
}

// add books a stage; what took no time is left out.
func (a *accountant) add(name, where string, d units.Time) {
	switch {
	case d < 0:
		panic(fmt.Sprintf("run: BUG: stage %q at %q takes %d ps, after %v", name, where, d, a.out))
	case d > 0:
		a.at += d
		a.out = append(a.out, record.Stage{Name: name, Where: where, Time: d})
	}
}

// until books the time from where the account stands to t.
func (a *accountant) until(name, where string, t units.Time) {
	if t > a.at || !a.clip {
		a.add(name, where, t-a.at)
	}
}

// times books a requester's stages; what the port did stands beside its name.
func (a *accountant) times(t *nic.Times, port string) { a.timesOf("", t, port) }

// timesOf books a queue pair's stages, each after prefix.
func (a *accountant) timesOf(prefix string, t *nic.Times, port string) {
	a.timesUpTo(prefix, t, port, a.at+t.Total())
}

// timesUpTo books a queue pair's stages, which end at the given time, without what
// is accounted already.
func (a *accountant) timesUpTo(prefix string, t *nic.Times, port string, end units.Time) {
	skip := t.Total() - (end - a.at)
	for s, d := range t {
		cut := min(max(skip, 0), d)
		skip -= cut
		if d -= cut; d == 0 {
			continue
		}
		where := ""
		switch nic.Stage(s) {
		case nic.Paused, nic.Control, nic.Other, nic.Sending, nic.Resending:
			where = port
		}
		name := a.names[s]
		if nic.Stage(s) == nic.Paused {
			name = a.shut
		}
		a.add(prefix+name, where, d)
	}
}

// way books the hops of a stamped packet, up to its arrival at end.
func (a *accountant) way(names *wayNames, hops []fabric.Hop, end units.Time) {
	frame := a.frameOf(hops, end)
	for k := range hops {
		h := &hops[k]
		if h.In > a.at || h.In < a.at && !a.clip {
			panic(fmt.Sprintf("run: BUG: a packet is at hop %d of %v at %d ps, not at %d", k, hops, h.In, a.at))
		}
		if k == len(hops)-1 && k > 0 && a.places.link[h.Port].ofHost {
			a.until(names.pipeline, a.port[h.Port], min(h.In+a.pipeline(h, true), h.Start))
			a.until(names.buffer, a.port[h.Port], h.Start)
			continue
		}
		a.until(names.paused, a.port[h.Port], h.In+h.Paused)
		if k == 0 {
			a.until(names.pipeline, a.port[h.Port], min(max(a.at, h.In+a.pipeline(h, false)), h.Start))
		}
		a.until(names.queue, a.port[h.Port], h.Start)
		switch {
		case k+1 < len(hops):
			next := a.Place[hops[k+1].Port]
			a.link(names, h, hops[k+1].In, frame, a.Nets[next.Part].Rate(next.Index))
		case a.endsAtSwitch(h): // a way longer than fabric writes down
			a.until(names.beyond, "", end)
		default:
			a.link(names, h, end, frame, 0)
		}
	}
}

// pipeline is what a packet passes inside the card of a hop as it comes in, or as an answer
// on its way out (see nic.Host.Receive); 0 at switches and for TCP.
func (a *accountant) pipeline(h *fabric.Hop, in bool) units.Time {
	at := a.Place[h.Port].Node
	if a.Valid.Graph.Nodes[at].Kind != topology.Host || a.segments {
		return 0
	}
	n := &a.Valid.NICs[at]
	switch {
	case n.Server == nil && in:
		return n.Card.Send + n.Card.Receive
	case in:
		return n.Card.Receive
	case n.Server == nil:
		return 0
	}
	return n.Card.Send
}

// endsAtSwitch reports whether a hop's link leads to a switch.
func (a *accountant) endsAtSwitch(h *fabric.Hop) bool {
	g, at := a.Valid.Graph, a.Place[h.Port]
	return g.Nodes[g.Nodes[at.Node].Ports[at.Local].Peer].Kind == topology.Switch
}

// frameOf is the length of a stamped packet's frame, which the last link tells where it leads
// from a switch to a host: there is no noise. 0: it tells nothing.
func (a *accountant) frameOf(hops []fabric.Hop, end units.Time) uint32 {
	k := len(hops) - 1
	if k > 0 && a.places.link[hops[k].Port].ofHost { // it waited in the host's receive buffer
		end, k = hops[k].In, k-1
	}
	if k < 1 || a.endsAtSwitch(&hops[k]) {
		return 0
	}
	p := a.Place[hops[k].Port]
	return a.Nets[p.Part].FrameOf(p.Index, end-a.places.link[hops[k].Port].delay-hops[k].Start)
}

// link books serialisation, propagation and the next switch's pipeline, and what noise added
// to them; next is the rate of the port that sent the packet on.
func (a *accountant) link(names *wayNames, h *fabric.Hop, arrived units.Time, frame uint32, next units.Rate) {
	l := &a.places.link[h.Port]
	late := units.Time(0)
	if l.noisy && frame > 0 {
		p := a.Place[h.Port]
		late = max(0, arrived-l.latency-l.delay-a.Nets[p.Part].ArrivalTime(p.Index, frame, next)-h.Start)
	}
	a.until(names.serialisation, a.port[h.Port], arrived-l.delay-l.latency-late)
	a.until(names.propagation, l.name, arrived-l.latency-late)
	a.until(names.latency, l.peer, arrived-late)
	a.until(names.jitter, a.port[h.Port], arrived)
}

func (r *runner) portName(node, local int) string {
	return fmt.Sprintf("%s:%d", r.Valid.Graph.Nodes[node].Name, local+1)
}
